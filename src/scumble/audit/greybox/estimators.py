"""Paths of the estimators: each that there is, with each value of each option that could touch its release.

Estimators are found by walking the subclasses of `PrivateEstimator`, and their options by their constructors. An option
that is in neither `VALUES` nor `AFTERWARDS` is a hole, which :mod:`scumble.audit.greybox.coverage` reports.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from scumble import learn
from scumble.audit.greybox.forms import arrow
from scumble.audit.greybox.neighbors import CLASSES, THINGS, Table
from scumble.audit.greybox.paths import add, promise_of
from scumble.audit.greybox.sketches import ledger_of, numbers
from scumble.kernels import AngularKernel, ColumnKernel, EuclideanKernel, FoldedKernel, ManhattanKernel
from scumble.learn.base import FACTS, PrivateEstimator
from scumble.privacy.sensitivity import NEIGHBORS
from scumble.schema import Category, Number, Schema

COMMON: dict[str, Any] = {"bounds": (0.0, 10.0), "rows": 8, "buckets": 32}
NEEDED: dict[str, Any] = {"classes": list(CLASSES), "target_bounds": (0.0, 10.0), "starts": 2}
"""What an estimator that has such an option is told: what it must be, and a search that is short."""

KERNELS: dict[str, list[Any]] = {
    "PrivateKDEClassifier": [EuclideanKernel(2.0), [EuclideanKernel(2.0), ColumnKernel(0.5, 1)]],
    "PrivateLinearClassifier": [AngularKernel(power=2)],
    "PrivateLinearRegression": [FoldedKernel(projections=3)],
}
OTHER_KERNELS = [EuclideanKernel(2.0), ManhattanKernel(2.0)]

SCHEMA = Schema(
    thing=Category(tuple(THINGS)), x=Number(0, 10, missing=True), y=Number(0, 10, scale="log", missing=True)
)
MIXED = ("schema", "categories")
"""Options with which tables come as they are, with a category and missing cells."""

VALUES: dict[str, Any] = {
    "delta": [1e-3],
    "rho": [0.02],
    "mu": [0.2],
    "neighbors": list(NEIGHBORS),
    "rows": [None],
    "buckets": [None],
    "bounds": [((0.0, 1.0), (10.0, 9.0))],
    "schema": [SCHEMA],
    "categories": [{"thing": list(THINGS)}],
    "records_per_person": [3],
    "bandwidths": [[0.1, 0.5]],
    "normalize": [True],
    "refine": [False],
    "unknown": ["drop"],
    "calibration_share": [0.0, 0.4],
    "selection_share": [0.3],
    "threshold_share": [0.0, 0.4],
    "columns_share": [0.0, 0.5],
    "priors": [[0.25, 0.75]],
    "knots": [3],
    "pair": [True, False],
    "length": [4.0],
}
"""Values beside the default to be tried; `kernel`, `public`, `rule` and `method` are found out."""
AFTERWARDS = {
    "epsilon": "is in every claim; the noise's scale hangs on it and nothing else does",
    "random_state": "the public seed",
    "contamination": "where the released scores are cut",
    "radius": "how far the released counters are summed up",
    "tau": "how the released densities are thinned out",
    "starts": "how often the search in the release begins",
    "significance": "which of the released peaks count",
    "classes": "public; all are needed in every case",
    "target_bounds": "public; needed in every case",
}
"""Options that act on the release alone, or are public, and why."""


def estimators() -> dict[str, type[PrivateEstimator]]:
    """Every estimator, by name."""
    for module in pkgutil.iter_modules(learn.__path__, "scumble.learn."):
        import_module(module.name)
    found: dict[str, type[PrivateEstimator]] = {}
    waiting: list[type[PrivateEstimator]] = [PrivateEstimator]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith("scumble.") and hasattr(kind, "fit"):  # others are what some have in common
                found[kind.__name__] = kind
    return dict(sorted(found.items()))


def options(kind: type[PrivateEstimator]) -> list[str]:
    """The names of an estimator's options."""
    return list(inspect.signature(kind).parameters)


def values_of(kind: type[PrivateEstimator], name: str) -> list[Any]:
    """The values of an option that are tried beside its default."""
    if name in ("rule", "method"):
        named = (getattr(import_module(one.__module__), f"{name.upper()}S", None) for one in kind.__mro__)
        return list(next(filter(None, named)))
    if name == "kernel":
        return next((KERNELS[one.__name__] for one in kind.__mro__ if one.__name__ in KERNELS), OTHER_KERNELS)
    if name == "public":
        taken = {"classes": "classes", "target_bounds": "target_bounds", "bounds": "bounds"}
        return [(fact,) for fact in FACTS if fact == "count" or taken[fact] in options(kind)]
    return VALUES.get(name, [])


def settings(kind: type[PrivateEstimator]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each option's values, one at a time; and the pairs of options that only work together."""
    names = options(kind)
    base = {**COMMON, **{name: value for name, value in NEEDED.items() if name in names}}
    yield "", base
    for name in names:
        for value in values_of(kind, name):
            if inspect.signature(kind).parameters[name].default != value or name not in ("rule", "method", "neighbors"):
                yield f"{name}={_shown(value)}", _with(base, name, value)
    yield "delta=0.001, neighbors='replace'", {**base, "delta": 1e-3, "neighbors": "replace"}
    if "moments" in values_of(kind, "method") if "method" in names else False:
        moments = {**base, "method": "moments"}
        yield "moments, delta=0.001", {**moments, "delta": 1e-3}
        yield "moments, neighbors='replace'", {**moments, "neighbors": "replace"}
        yield "auto", {**base, "rows": None, "buckets": None}
    if "length" in names:
        yield "length=4.0, delta=0.001", {**_with(base, "length", 4.0), "delta": 1e-3}
    if "unknown" in names:
        yield "unknown='drop', neighbors='replace'", {**base, "unknown": "drop", "neighbors": "replace"}
    if "bandwidths" in names:
        yield "bandwidths, delta=0.001", {**base, "bandwidths": [0.1, 0.5], "delta": 1e-3}
        yield "bandwidths, normalize", {**base, "bandwidths": [0.1, 0.5], "normalize": True}
    if "selection_share" in names:
        several = {**base, "kernel": KERNELS["PrivateKDEClassifier"][1]}
        yield "several kernels, selection_share=0.3", {**several, "selection_share": 0.3}
        yield "several kernels, delta=0.001", {**several, "delta": 1e-3}
        people = {**several, "selection_share": 0.2, "records_per_person": 3, "delta": 1e-3}
        yield "several kernels, selection_share=0.2, delta=0.001, records_per_person=3", people
        columns = {**base, "selection_share": 0.2, "records_per_person": 3}
        yield "columns, selection_share=0.2, records_per_person=3", columns
    if "threshold_share" in names:
        yield "threshold_share=0.4, delta=0.001", {**base, "threshold_share": 0.4, "delta": 1e-3}
        yield "threshold_share=0, columns_share=0.5", {**base, "threshold_share": 0.0, "columns_share": 0.5}


def _with(base: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    changed = {**base, name: value}
    if name in ("schema", "length"):
        del changed["bounds"]
    if name == "length":  # of the vectors of moments
        changed |= {"rows": None, "buckets": None}
    if name == "public":
        for fact in value:
            changed.pop(fact, None)  # what is public is read off the data
    return changed


def _shown(value: Any) -> str:
    if isinstance(value, Schema):
        return "..."
    return "[several]" if isinstance(value, list) and value and hasattr(value[0], "to_dict") else repr(value)


def fitted(
    kind: type[PrivateEstimator], table: Table, given: dict[str, Any], labels: str = "list", **charged: Any
) -> Any:
    """The estimator, fitted to a table."""
    names = options(kind)
    mixed = any(name in given for name in MIXED)
    X: Any = arrow(table).select(["x", "y", "thing"]) if mixed else numbers(table)
    model = cast(Any, kind(**given))
    if "target_bounds" in names:
        return model.fit(X, np.array([record["z"] for record in table], float), **charged)
    if "classes" in names:
        return model.fit(X, _labels(table, labels), **charged)
    return model.fit(X, **charged)


def _labels(table: Table, form: str) -> Any:
    words = [record["label"] for record in table]
    if form == "list":
        return words
    if form == "objects":
        return np.array(words, object)
    if form == "pandas":
        import pandas as pd

        return pd.Series(words)
    # Numbers, but for a label that is none.
    return [CLASSES.index(word) if word in CLASSES else word for word in words]


def _add(name: str, run: Any, kind: type[PrivateEstimator], given: dict[str, Any], *traits: str) -> None:
    promise = promise_of(given)
    words = given.get("public", ())
    classifies = "classes" in options(kind) and given.get("unknown") == "drop"
    replaced = promise["neighbors"] == "replace"
    mixed = any(name in given for name in MIXED)
    few = 2 if "starts" in options(kind) else None if len(name) < 30 else 6  # the search takes its time
    if mixed:  # all read such tables by one coding, so one estimator tries everything
        few = None if kind.__name__ == "PrivateKDE" else min(few or 5, 5)
    add(
        name,
        run,
        *(("missing", "missing things") if mixed else ()),
        *(("floats",) if not mixed or kind.__name__ == "PrivateKDE" else ()),
        *(("labels",) if classifies else ()),
        *traits,
        **promise,
        public=tuple(words),
        strict=True,
        # A classifier does not do "replace" where classes would then be counted in public.
        forbidden=replaced and "classes" in options(kind),
        few=few,
    )


def _add_all() -> None:
    for title, kind in estimators().items():
        for name, given in settings(kind):

            def run(table: Table, folder: Path, kind: Any = kind, given: dict[str, Any] = given) -> Any:
                return fitted(kind, table, given)

            _add(f"{title}({name})", run, kind, given)

        def charged(table: Table, folder: Path, kind: Any = kind) -> Any:
            given = next(settings(kind))[1]
            return fitted(kind, table, given, ledger=ledger_of(folder), dataset="d")

        add(f"{title}(), charged to a ledger", charged, few=2)
        if "classes" in options(kind):
            _add_labels(title, kind)


def _add_labels(title: str, kind: type[PrivateEstimator]) -> None:
    """Labels in every container, one of them unknown."""
    for form in ("objects", "pandas", "numbers"):
        given = {**COMMON, "classes": [0, 1] if form == "numbers" else list(CLASSES), "unknown": "drop"}

        def run(table: Table, folder: Path, kind: Any = kind, given: dict[str, Any] = given, form: str = form) -> Any:
            return fitted(kind, table, given, form)

        add(f"{title}(unknown='drop'), labels: {form}", run, "labels", strict=False)


_add_all()
