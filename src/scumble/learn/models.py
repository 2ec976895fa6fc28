"""Fitted estimators in files: the container of releases, kind "model". No pickle: what is written is listed here.

The metadata hold the estimator's name, its parameters and what it learned, as JSON. Values that JSON does not know
are written as an object with one key, their kind::

    {"@array": "a3"}            an array of numbers, in the container under that name
    {"@texts": [...]}           an array of texts
    {"@tuple": [...]}           a tuple
    {"@float": "nan"}           a number that is not finite
    {"@fraction": "1/3"}        an exact number, such as ε
    {"@kernel": {...}}          a kernel; likewise "@schema"
    {"@release": {...}}         a release: its metadata, and the names of its arrays; likewise "@moments" and "@table"
    {"@bundle": {...}}          several releases, one per class
    {"@pairs": [[key, value]]}  a dict whose keys are not texts
"""

from __future__ import annotations

import os
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble import files, learn
from scumble.checks import Json, sides
from scumble.columns.schema import Schema
from scumble.density.bundle import Bundle
from scumble.density.release import Release
from scumble.errors import CorruptFileError, ForeignFileError, ParameterError
from scumble.kernels import Kernel
from scumble.learn import HOMES
from scumble.learn.moment_release import MomentRelease
from scumble.table.release import TableRelease

if TYPE_CHECKING:
    from scumble.learn.base import PrivateEstimator

ALWAYS = ("release_", "bounds_", "n_features_in_", "feature_names_in_", "identity_", "schema_")
"""Fitted attributes that a model's file holds, besides the estimator's own."""
RETIRED = ("bandwidths", "categories")
"""Parameters that files may have, without a value."""
_ANSWERS = ("predict", "predict_proba", "decision_function", "score_samples", "count_within", "keep_probability")


# ---- writing ----


def save(model: PrivateEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator."""
    files.write(path, "model", *contents(model))


def to_bytes(model: PrivateEstimator) -> bytes:
    """The bytes that `save` would write."""
    return files.to_bytes("model", *contents(model))


def contents(model: PrivateEstimator) -> tuple[Json, dict[str, np.ndarray]]:
    """What a model's file holds, metadata and arrays."""
    arrays: dict[str, np.ndarray] = {}
    learnt = {name: vars(model)[name] for name in dict.fromkeys((*ALWAYS, *model._learnt)) if name in vars(model)}
    parameters = model.get_params(deep=False)
    if model.schema_ is not None:  # in its one form: never the path of a file
        parameters |= {"schema": model.schema_, "bounds": None}
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
    if isinstance(value, Release | MomentRelease):
        kind = "@release" if isinstance(value, Release) else "@moments"
        return {kind: {"metadata": value.metadata(), "counts": _keep(value.counts, arrays)}}
    if isinstance(value, TableRelease):
        metadata, held = value._contents()
        return {"@table": {"metadata": metadata, "arrays": {name: _keep(held[name], arrays) for name in held}}}
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


# ---- reading ----


def load(path: str | os.PathLike[str]) -> PrivateEstimator:
    """Read a fitted estimator from its file. Nothing in the file is run."""
    return from_container(files.read(path, expect="model"))


def from_bytes(data: bytes) -> PrivateEstimator:
    """The fitted estimator in such bytes."""
    return from_container(files.from_bytes(data, expect="model"))


def from_container(container: files.Container) -> PrivateEstimator:
    """An estimator out of a file's content; what does not fit together is refused."""
    try:
        name = container.metadata["estimator"]
        if not isinstance(name, str) or name not in HOMES:
            raise ForeignFileError(f"The estimator {name!r} is not known here. Hint: pip install --upgrade scumble.")
        kind = getattr(learn, name)
        given = _decode(container.metadata["parameters"], container)
        parameters = {key: value for key, value in given.items() if value is not None or key not in RETIRED}
        learnt = _decode(container.metadata["learnt"], container)
        if {*parameters} & {*RETIRED} or (name == "PrivateKDEClassifier" and len(learnt["releases_"]) != 1):
            raise ForeignFileError(
                f"This {name} was made of several kernels or bandwidths, which an earlier version took. "
                "Hint: read it with that version, or fit one model for each."
            )
        if not set(learnt) <= {*ALWAYS, *kind._learnt}:
            raise CorruptFileError(f"The model holds attributes that {name} does not have.")
        model = kind(**parameters)
        for attribute, value in learnt.items():
            setattr(model, attribute, value)
        _require_whole(model)
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as problem:
        if isinstance(problem, CorruptFileError | ForeignFileError):
            raise
        raise CorruptFileError(f"The file lacks a part of a model: {problem}.") from problem
    _require_answers(model)
    return model


def _require_whole(model: PrivateEstimator) -> None:
    """Releases that are releases, as many columns as these can have, and bounds for each."""
    held = vars(model)
    releases = [*([held["release_"]] if "release_" in held else []), *held.get("releases_", [])]
    if type(held.get("identity_", "")) is not str:
        raise ValueError("identity")
    if len(releases) == 1 and isinstance(releases[0], TableRelease):
        _require_table(model)
        return
    if not releases or not all(isinstance(release, Release | Bundle | MomentRelease) for release in releases):
        raise ValueError("no release")
    specs = [release.spec for release in releases]
    wide = _width(model)
    if type(wide) is not int or not 1 <= wide <= max(spec.dimensions for spec in specs):
        raise ValueError("columns")
    if held["bounds_"] is not None:
        model.bounds_ = sides(held["bounds_"], wide)


def _width(model: PrivateEstimator) -> int:
    """How many numbers a record has; what the file says of a table's columns must be what its schema says."""
    if model.schema_ is None:
        if "feature_names_in_" in vars(model):  # as of a frame
            names = vars(model)["feature_names_in_"].tolist()
            if len(names) != model.n_features_in_ or not all(type(name) is str for name in names):
                raise ValueError("names")
        return model.n_features_in_
    if not isinstance(model.schema_, Schema) or model.n_features_in_ != len(model.schema_):
        raise ValueError("schema")
    if vars(model)["feature_names_in_"].tolist() != list(model.schema_):
        raise ValueError("names")
    coded = model._coding()
    assert coded is not None
    if any((one != other).any() for one, other in zip(sides(model.bounds_, coded.width), coded.bounds, strict=True)):
        raise ValueError("bounds")
    return int(coded.width)


def _require_table(model: PrivateEstimator) -> None:
    """As many weights as there are levels, and the columns that the table has."""
    held, levels = vars(model), model._levels()
    assert levels is not None
    if held.get("bounds_") is not None or held["n_features_in_"] != len(levels.names):
        raise ValueError("columns")
    if held["feature_names_in_"].tolist() != list(levels.names):
        raise ValueError("names")
    if "weights_" in held and held["weights_"].shape != (len(held["classes_"]), levels.size):
        raise ValueError("weights")
    if "coef_" in held and held["coef_"].shape != (levels.size,):
        raise ValueError("weights")


def _require_answers(model: PrivateEstimator) -> None:
    """One answer of each kind: a file that cannot answer is better refused now than later."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of columns without names
            for rows in (2, 3):  # what fits one number of records only is no answer
                for name in _ANSWERS:
                    if hasattr(model, name):
                        getattr(model, name)(model._example(rows))
            model.privacy_.to_dict()
            contents(model)
    except Exception as problem:
        raise CorruptFileError(
            f"The model in the file cannot answer: {type(problem).__name__}. "
            "Hint: save it again from where it was fitted."
        ) from problem


_RELEASES: dict[str, Any] = {"@release": Release, "@moments": MomentRelease, "@table": TableRelease}


def _decode(value: object, container: files.Container) -> Any:
    if isinstance(value, list):
        return [_decode(item, container) for item in value]
    if not isinstance(value, dict):
        return value
    kind = next((key for key in value if key.startswith("@")), None)
    if kind is None:
        return {key: _decode(item, container) for key, item in value.items()}
    content = value[kind]
    if kind in _RELEASES:
        places = content["arrays"] if kind == "@table" else {"counts": content["counts"]}
        held = {name: container.arrays[place] for name, place in places.items()}
        box = files.Container(kind[1:], content["metadata"], held, container.version, container.library)
        return _RELEASES[kind].from_container(box)
    if kind == "@array":
        array = container.arrays[content]
        return array.astype(bool) if value.get("bool") else array.copy()
    if kind == "@texts":
        items = [_decode(item, container) for item in content]
        return np.array(items, dtype=object) if value["object"] else np.array(items)
    if kind == "@tuple":
        return tuple(_decode(item, container) for item in content)
    if kind == "@float":
        return float(content)
    if kind == "@fraction":
        above, below = content.split("/")  # not a number with an exponent, which could be of any length
        return Fraction(int(above), int(below))
    if kind == "@schema":
        return Schema.from_dict(content)
    if kind == "@kernel":
        return Kernel.from_dict(content)
    if kind == "@bundle":
        parts = {_decode(name, container): _decode(release, container) for name, release in content["parts"]}
        return Bundle(parts, label=content["label"], extra=content["extra"])
    if kind == "@pairs":
        return {_decode(key, container): _decode(item, container) for key, item in content}
    raise CorruptFileError("The model holds a kind of value that this scumble does not know.")
