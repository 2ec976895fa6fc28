"""Paths of moments (:mod:`scumble.moments`): each kind, with each budget, and on each engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from scumble.audit.greybox.neighbors import CLASSES, Table
from scumble.audit.greybox.paths import BUDGETS, add, promise_of
from scumble.audit.greybox.sketches import gpu_is_there, ledger_of, numbers
from scumble.moments.hats import HatMoments
from scumble.moments.products import ClassMoments, LinearMoments, UnitMoments
from scumble.moments.release import MomentRelease
from scumble.moments.sketch import MomentSketch
from scumble.moments.spec import MomentSpec

BOUNDS = ((0.0, 0.0), (10.0, 10.0))


def _specs(pure: bool) -> list[MomentSpec]:
    return [
        LinearMoments(BOUNDS, None, pure, 1.0, (0.0, 10.0)),
        HatMoments(BOUNDS, None, pure, (0.0, 10.0), 3),
        HatMoments(BOUNDS, None, pure, (0.0, 10.0), ((0.0, 1.0, 2.5), (3.0, 8.0))),
        ClassMoments(BOUNDS, None, pure, 1.0, len(CLASSES)),
        UnitMoments(((-5.0, -5.0), (5.0, 5.0)), None, pure, 0.5, len(CLASSES)),
    ]


def _title(spec: MomentSpec) -> str:
    placed = "placed " if isinstance(getattr(spec, "knots", None), tuple) else ""
    return f"{placed}{spec.kind} moments"


def _released(spec: MomentSpec, table: Table, engine: str = "auto", **money: Any) -> MomentRelease:
    X = numbers(table)[:, :2]
    y: list[Any] = [record["z"] for record in table]
    if isinstance(spec, ClassMoments):
        y = [CLASSES.index(record["label"]) if record["label"] in CLASSES else 0 for record in table]
    kind = np.int64 if isinstance(spec, ClassMoments) else np.float64
    return MomentSketch(spec, engine=engine).update(X, np.array(y, kind)).release(**money)


def _add_moments() -> None:
    for name, money in BUDGETS.items():
        pure = not any(money.get(word) for word in ("delta", "rho", "mu"))
        for spec in _specs(pure):

            def run(table: Table, folder: Path, spec: MomentSpec = spec, money: dict[str, Any] = money) -> Any:
                return _released(spec, table, **money)

            add(f"{_title(spec)}, {name}", run, "floats", **promise_of(money), strict=True, few=4)

    for engine in ("cpu", "gpu") if gpu_is_there() else ("cpu",):
        for spec in _specs(pure=False):

            def by(table: Table, folder: Path, spec: MomentSpec = spec, engine: str = engine) -> Any:
                return _released(spec, table, engine, **BUDGETS["gaussian"])

            add(f"{_title(spec)}, engine {engine}", by, "floats", strict=True, few=2)

    def charged(table: Table, folder: Path) -> Any:
        return _released(_specs(True)[0], table, epsilon=1.0, ledger=ledger_of(folder), dataset="d")

    add("moments, charged to a ledger", charged, few=2)


_add_moments()
