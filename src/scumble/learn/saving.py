"""Fitted estimators written to files; :mod:`scumble.learn.models` reads them, and says what is in them."""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from scumble import files
from scumble.bundle import Bundle
from scumble.errors import ParameterError
from scumble.kernels import Kernel
from scumble.moments.release import MomentRelease
from scumble.release import Release
from scumble.schema import Schema
from scumble.tabular.release import TableRelease

ALWAYS = ("bounds_", "n_features_in_", "feature_names_in_", "identity_", "schema_")
"""Fitted attributes that every model's file holds, beside the estimator's own."""


class Estimator(Protocol):
    """An estimator, as far as its file needs to know it."""

    _learnt: ClassVar[tuple[str, ...]]
    bounds_: Any
    schema_: Any
    n_features_in_: int

    def _levels(self) -> Any:
        """How records are read, where the release is that of a table."""

    def _coding(self) -> Any:
        """How the records of a table become numbers, where there is a schema."""

    def _example(self, rows: int) -> Any:
        """Some records that can be read."""

    @property
    def privacy_(self) -> Any:
        """What one fit promises."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters."""


def save(model: Estimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator."""
    files.write(path, "model", *contents(model))


def to_bytes(model: Estimator) -> bytes:
    """The bytes that `save` would write."""
    return files.to_bytes("model", *contents(model))


def contents(model: Estimator) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a model's file holds, metadata and arrays."""
    arrays: dict[str, np.ndarray] = {}
    held = ("release_", "releases_", *ALWAYS, *model._learnt)
    learnt = {name: vars(model)[name] for name in dict.fromkeys(held) if name in vars(model)}
    parameters = model.get_params(deep=False)
    if model.schema_ is not None:  # in its one form: never the path of a file
        parameters |= {"schema": model.schema_, "categories": None, "bounds": None}
    metadata = {
        "estimator": type(model).__name__,
        "parameters": encode(parameters, arrays),
        "learnt": encode(learnt, arrays),
    }
    return metadata, arrays


def encode(value: object, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON, its arrays kept apart."""
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.generic):
        return encode(value.item(), arrays)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else {"@float": str(float(value))}
    if isinstance(value, Fraction | Decimal):
        return {"@fraction": "{}/{}".format(*value.as_integer_ratio())}
    if isinstance(value, np.ndarray):
        return _array(value, arrays)
    if isinstance(value, list):
        return [encode(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"@tuple": [encode(item, arrays) for item in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("@") for key in value):
            return {key: encode(item, arrays) for key, item in value.items()}
        return {"@pairs": [[encode(key, arrays), encode(item, arrays)] for key, item in value.items()]}
    if isinstance(value, Schema):
        return {"@schema": value.to_dict()}
    if isinstance(value, Kernel):
        return {"@kernel": value.to_dict()}
    if isinstance(value, Release):
        return {"@release": {"metadata": value.metadata(), "counts": _keep(value.counts, arrays)}}
    if isinstance(value, TableRelease):
        metadata, held = value._contents()
        return {"@table": {"metadata": metadata, "arrays": {name: _keep(held[name], arrays) for name in held}}}
    if isinstance(value, MomentRelease):
        return {"@moments": {"metadata": value.metadata(), "counts": _keep(value.counts, arrays)}}
    if isinstance(value, Bundle):
        parts = [[encode(name, arrays), encode(release, arrays)] for name, release in value.items()]
        return {"@bundle": {"parts": parts, "label": value.label, "extra": value.extra}}
    raise ParameterError(
        f"A model cannot be saved with a {type(value).__name__} in it. Hint: pass plain values and kernels."
    )


def _array(value: np.ndarray, arrays: dict[str, np.ndarray]) -> Any:
    if value.dtype.kind in "OU":
        return {"@texts": [encode(item, arrays) for item in value.tolist()], "object": value.dtype.kind == "O"}
    if value.dtype.kind == "b":
        return {"@array": _keep(value.astype(np.uint8), arrays), "bool": True}
    if value.dtype.kind in "iu" and value.dtype != np.uint64:
        value = value.astype(np.int64)
    elif value.dtype.kind == "f":
        value = value.astype(np.float64)
    return {"@array": _keep(value, arrays)}


def _keep(value: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    name = f"a{len(arrays)}"
    arrays[name] = value
    return name
