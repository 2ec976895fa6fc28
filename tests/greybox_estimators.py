"""Paths of the estimators: all of them, with each value of each option that could affect its release.

Estimators and their options are discovered. An option without a value in `VALUES` is a hole, which tests report.
"""

from __future__ import annotations

import inspect
import pkgutil
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from greybox_files import object_array, pandas
from scumble import learn
from scumble.audit.greybox import path
from scumble.audit.greybox.neighbors import CLASSES, THINGS, Table, arrow, numbers
from scumble.audit.greybox.sketches import COLUMNS, ledger_of
from scumble.audit.report import Options
from scumble.columns.category import Category
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.kernels import ColumnKernel, EuclideanKernel, ManhattanKernel
from scumble.learn.base import FACTS, PrivateEstimator
from scumble.learn.classifier import RULES

BASE: Options = {
    "bounds": (0.0, 10.0),
    "rows": 8,
    "buckets": 32,
    "classes": list(CLASSES),
    "target_bounds": (0.0, 10.0),
    "starts": 2,
}
"""What an estimator is given where it has the option; the search is short."""
KERNELS: dict[str, list[Any]] = {
    "PrivateKDEClassifier": [EuclideanKernel(2.0), [EuclideanKernel(2.0), ColumnKernel(0.5, 1)]],
}
SCHEMA = Schema(
    thing=Category(tuple(THINGS)), x=Number(0, 10, missing=True), y=Number(0, 10, scale="log", missing=True)
)
VALUES: dict[str, list[Any]] = {
    "delta": [1e-3],
    "rho": [0.02],
    "mu": [0.2],
    "neighbors": ["replace"],
    "rows": [None],
    "buckets": [None],
    "bounds": [((0.0, 1.0), (10.0, 9.0))],
    "schema": [SCHEMA],
    "records_per_person": [3],
    "normalize": [True],
    "refine": [False],
    "unknown": ["drop"],
    "calibration_share": [0.0, 0.4],
    "selection_share": [0.3],
    "threshold_share": [0.0, 0.4],
    "columns_share": [0.0, 0.5],
    "priors": [[0.25, 0.75]],
    "class_weight": [dict(zip(CLASSES, (1.0, 3.0), strict=True))],
    "knots": [3],
    "pair": [True, False],
    "length": [4.0],
}
"""Values besides the default to be tried; those of `kernel`, `public` and `rule` are discovered."""
TOGETHER: list[Options] = [
    {"delta": 1e-3, "neighbors": "replace"},
    {"calibration_share": 0.4, "class_weight": "balanced"},
    {"length": 4.0, "delta": 1e-3},
    {"unknown": "drop", "neighbors": "replace"},
    {"selection_share": 0.3, "kernel": KERNELS["PrivateKDEClassifier"][1]},
    {"selection_share": 0.2, "kernel": KERNELS["PrivateKDEClassifier"][1], "delta": 1e-3, "records_per_person": 3},
    {"selection_share": 0.2, "records_per_person": 3},
    {"threshold_share": 0.4, "delta": 1e-3},
    {"threshold_share": 0.0, "columns_share": 0.5},
]
"""Options that act together, for the estimators that have them all."""


def estimators() -> dict[str, type[PrivateEstimator]]:
    """Every estimator, by name."""
    for module in pkgutil.iter_modules(learn.__path__, "scumble.learn."):
        import_module(module.name)
    found: dict[str, type[PrivateEstimator]] = {}
    waiting: list[type[PrivateEstimator]] = [PrivateEstimator]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith("scumble.") and not inspect.isabstract(kind):
                found[kind.__name__] = kind
    return dict(sorted(found.items()))


def options(kind: type[PrivateEstimator]) -> list[str]:
    """The names of an estimator's options."""
    return list(inspect.signature(kind).parameters)


def values_of(kind: type[PrivateEstimator], name: str) -> list[Any]:
    """The values of an option that are tried besides its default."""
    if name == "rule":
        return list(RULES[1:])
    if name == "kernel":
        others = [EuclideanKernel(2.0), ManhattanKernel(2.0)]
        return next((KERNELS[one.__name__] for one in kind.__mro__ if one.__name__ in KERNELS), others)
    if name == "public":
        return [(fact,) for fact in FACTS if fact == "count" or fact in options(kind)]
    return VALUES.get(name, [])


def settings(kind: type[PrivateEstimator]) -> list[Options]:
    """No options, each option's values one at a time, and options that act together."""
    names = options(kind)
    alone = [{name: value} for name in names for value in values_of(kind, name)]
    return [{}, *alone, *(one for one in TOGETHER if set(one) <= set(names))]


def fitted(table: Table, folder: Path, kind: Any, labels: str = "list", charge: bool = False, **given: Any) -> Any:
    """An estimator with these options, fitted to a table."""
    names = options(kind)
    needed = {name: value for name, value in BASE.items() if name in names and name not in given.get("public", ())}
    if "schema" in given or "length" in given:
        del needed["bounds"]
    if "length" in given:  # of the vectors of moments, which have no rows
        needed = {name: value for name, value in needed.items() if name not in ("rows", "buckets")}
    X: Any = arrow(table).select(COLUMNS) if {"schema", "categories"} & set(given) else numbers(table)
    charged = ledger_of(folder) if charge else {}
    model = cast(Any, kind(**{**needed, **given}))
    if "target_bounds" in names:
        return model.fit(X, np.array([record["z"] for record in table], float), **charged)
    if "classes" not in names:
        return model.fit(X, **charged)
    words = [record["label"] for record in table]
    if labels == "numbers":  # but for a label that is none
        words = [CLASSES.index(word) if word in CLASSES else word for word in words]
    forms: Options = {"objects": object_array, "pandas": lambda words: pandas({"label": words})["label"]}
    return model.fit(X, forms.get(labels, list)(words), **charged)


def _shown(given: Options) -> str:
    short = {name: "..." if isinstance(value, Schema | list | dict) else value for name, value in given.items()}
    return ", ".join(f"{name}={value!r}" for name, value in short.items())


def _register(title: str, kind: type[PrivateEstimator]) -> None:
    run = partial(fitted, kind=kind)
    names = options(kind)
    some = 2 if "starts" in names else 3  # of each value; without options, all pairs, unless the search takes long
    for number, given in enumerate(settings(kind)):
        mixed = bool({"schema", "categories"} & set(given))
        traits = ["missing", "missing things"] if mixed else ["floats"]
        traits += ["labels"] if given.get("unknown") == "drop" else []
        # A classifier does not do "replace" where classes would then be counted in public.
        forbidden = given.get("neighbors") == "replace" and "classes" in names
        few = None if (title == "PrivateKDE" and mixed) or (not number and some > 2) else some
        each = {_shown(given): given}
        path(f"{title}({{}})", *traits, each=each, strict=True, forbidden=forbidden, few=few)(run)
    path(f"{title}(), charged to a ledger", each={"": {"charge": True}}, few=2)(run)
    if "classes" in names:
        forms = {form: {"labels": form, "unknown": "drop"} for form in ("objects", "pandas")}
        forms["numbers"] = {"labels": "numbers", "unknown": "drop", "classes": [0, 1]}  # type: ignore[dict-item]
        path(f"{title}(unknown='drop'), labels: {{}}", "labels", each=forms)(run)


for _title, _kind in estimators().items():
    _register(_title, _kind)
