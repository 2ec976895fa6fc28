"""Paths of rows that are chosen after counting (:mod:`scumble.releasing.planned`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import scumble
from scumble import Release, Sketch
from scumble.audit.greybox.neighbors import Table
from scumble.audit.greybox.paths import BUDGETS, add, path, promise_of
from scumble.audit.greybox.sketches import KERNEL, numbers
from scumble.planning.later import Menu
from scumble.privacy.budget import Budget
from scumble.releasing.planned import publish_planned
from scumble.sketch import release_disjoint

OPEN: dict[str, dict[str, Any]] = {
    "rows": {"buckets": 4, "design": "iid"},
    "a grid": {"bounds": (0.0, 10.5), "design": "grid"},
}
"""What is left open: how many rows, or how coarse a grid."""


def _open(table: Table, what: str = "rows", **options: Any) -> Sketch:
    return _empty(what, **options).update(numbers(table))


def _empty(what: str = "rows", **options: Any) -> Sketch:
    """A sketch that leaves open what a user may leave open, but small."""
    made = Sketch(KERNEL, dimensions=2, **{"invalid": "drop", **OPEN[what], **options})
    assert made.planned
    small: dict[str, Any] = {"rows": 32} if what == "rows" else {"shape": (12, 12), "buckets": 144}
    spec = replace(made.spec, **small)
    return Sketch.from_spec(spec, planned=True, **{"invalid": "drop", **options})


def _add_open() -> None:
    for what in OPEN:
        for name, budget in BUDGETS.items():
            if what == "a grid" and name not in ("pure", "gaussian replace", "rho", "persons"):  # for speed
                continue
            exact = budget.get("neighbors") == "replace"
            invalid = {"invalid": "error"} if exact else {}

            def run(
                table: Table,
                folder: Path,
                budget: dict[str, Any] = budget,
                invalid: dict[str, Any] = invalid,
                what: str = what,
            ) -> Release:
                return _open(table, what, **invalid).release(**budget)

            traits = ("floats",) if exact else ("floats", "missing", "empty")
            add(f"Sketch.release, {what} left open, {name}", run, *traits, **promise_of(budget), strict=exact, few=6)


def _add_cells() -> None:
    """Grids of up to three axes that are published as rows of their cells, whatever the facts say."""
    for name, axes in (("gaussian", 3), ("gaussian replace", 3), ("gaussian", 2)):

        def run(table: Table, folder: Path, budget: dict[str, Any] = BUDGETS[name], axes: int = axes) -> Release:
            values = numbers(table)
            sketch = _cells(values[:, [0, 1, 0][:axes]], budget.get("neighbors") == "replace")
            menu = Menu(sketch.spec, Budget.of(**budget), sketch.planned)
            rows = replace(sketch.spec, shape=None, design="iid", rows=16, buckets=4)
            (found,) = publish_planned(
                [sketch.secret],
                Budget.of(**budget),
                rows=menu.rows,
                choose=lambda facts: menu.choice_of(rows),
                fold=menu.fold(),
                clumping=menu.clumping,
            )
            return sketch._published(found.made, rows)

        promise = promise_of(BUDGETS[name])
        exact = "replace" in name
        of = "" if axes == 3 else f" of {axes} axes"
        add(f"publish_planned, rows of a grid's cells{of}, {name}", run, "floats", **promise, strict=exact, few=4)


def _cells(values: Any, exact: bool) -> Sketch:
    axes = values.shape[1]
    made = Sketch(KERNEL, dimensions=axes, bounds=(0.0, 10.5))
    spec = replace(made.spec, shape=(6,) * axes, buckets=6**axes)
    sketch = Sketch.from_spec(spec, planned=made.planned, invalid="error" if exact else "drop")
    return sketch.update(values)


@path("Sketch.save, rows left open", few=2)
def _saved(table: Table, folder: Path) -> Release:
    _open(table).save(folder / "part.secret")
    return scumble.load_secret(folder / "part.secret").release(epsilon=1.0)


@path("scumble.merge, rows left open", few=2)
def _merged(table: Table, folder: Path) -> Release:
    return scumble.merge([_open(table[::2]), _open(table[1::2])]).release(epsilon=1.0, count_share=0)


@path("Sketch.start_with_noise, rows left open", few=2)
def _noise_first(table: Table, folder: Path) -> Release:
    return _empty().start_with_noise(epsilon=1.0).update(numbers(table)).release()


@path("Sketch.release_share, a grid left open", few=2)
def _shares(table: Table, folder: Path) -> Release:
    return scumble.combine(
        [_open(part, "a grid").release_share(epsilon=1.0, custodians=2) for part in (table[::2], table[1::2])]
    )


@path("release_disjoint, classes with rows left open", "labels", few=4)
def _classes(table: Table, folder: Path) -> list[Release]:
    parts = [[record for record in table if record["label"] == label] for label in ("bus", "car")]
    return release_disjoint([_open(part) for part in parts], Budget(1.0), refined=True)


@path("Sketch.release, rows left open, opendp", few=2)
def _opendp(table: Table, folder: Path) -> Release:
    return _open(table).release(epsilon=1.0, backend="opendp")


_add_open()
_add_cells()
