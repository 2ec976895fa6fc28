"""Paths of `TableSketch`, and of `build` with a schema: every promise, classes, odd cells, files, merges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scumble
from scumble import Boolean, Category, Date, Number, Schema, TableRelease, TableSketch
from scumble.audit.greybox.forms import arrow, file_of
from scumble.audit.greybox.neighbors import CLASSES, THINGS, Table
from scumble.audit.greybox.paths import BUDGETS, add, path, promise_of
from scumble.audit.greybox.sketches import CONTAINERS, _cells, ledger_of

SCHEMA = Schema(
    x=Number(0, 10, cells=6),
    y=Number(0, 10, cells=4, missing=True),
    thing=Category(tuple(THINGS)),
    label=Category(tuple(CLASSES), other=False, missing=False),
)
STRICT = Schema({**SCHEMA, "x": Number(0, 10, cells=6, missing=True)})
"""Where no record can be left out because of what it says, classes apart."""
DROPPING = Schema({**SCHEMA, "x": Number(2, 8, cells=6, outside="drop")})
TRAITS = ("floats", "missing", "missing things", "labels", "missing labels", "empty")


def sketch_of(table: Table, schema: Schema = SCHEMA, **options: Any) -> TableSketch:
    """The sketch of a table, unreadable records dropped."""
    return TableSketch(schema, **{"invalid": "drop", **options}).update(arrow(table))


def _add_promises() -> None:
    for name, budget in BUDGETS.items():
        exact = budget.get("neighbors") == "replace"  # then unreadable records are an error, not dropped
        for target in (None, "label"):

            def run(
                table: Table,
                folder: Path,
                budget: dict[str, Any] = budget,
                target: str | None = target,
                exact: bool = exact,
            ) -> TableRelease:
                options: dict[str, Any] = {"invalid": "error", "schema": STRICT} if exact else {}
                return sketch_of(table, target=target, **options).release(**budget)

            traits = ("floats",) if exact else TRAITS
            add(
                f"TableSketch.release, {name}, target={target}",
                run,
                *traits,
                strict=exact,
                few=24,
                **promise_of(budget),
            )


def _add_options() -> None:
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "few levels": ({"levels": 2}, {"epsilon": 1.0}),
        "no count": ({}, {"epsilon": 1.0, "count_share": 0}),
        "a guess of the size": ({}, {"epsilon": 1.0, "n": 10}),
        "outside dropped": ({"schema": DROPPING}, {"epsilon": 1.0}),
        "singles only": ({}, {"epsilon": 1.0, "n": 2}),
        "all pairs": ({}, {"epsilon": 1.0, "n": 10**7}),
        "chosen pairs": ({"levels": 3}, {"epsilon": 1.0, "n": 1500}),
        "in rho": ({}, {"rho": 0.1}),
        "in mu": ({}, {"mu": 0.3}),
    }
    for name, (options, release) in ways.items():

        def run(
            table: Table, folder: Path, options: dict[str, Any] = options, release: dict[str, Any] = release
        ) -> TableRelease:
            return sketch_of(table, **options).release(**release)

        add(f"TableSketch.release, {name}", run, *TRAITS, few=6)


def _add_containers() -> None:
    """Each kind of column reads odd cells in its own way; containers are the same as everywhere."""
    columns: dict[str, Any] = {
        "words": Category(("tea", "1")),
        "numbers": Number(0, 3, cells=3, missing=True),
        "dates": Date("2020-01-01", "2020-12-31", missing=True),
        "booleans": Boolean(missing=True),
    }
    for kind, column in columns.items():
        container = CONTAINERS["an array of objects"]

        def run(table: Table, folder: Path, container: Any = container, column: Any = column) -> TableRelease:
            sketch = TableSketch(Schema(cell=column), invalid="drop")
            return sketch.update(container(_cells(table))).release(epsilon=1.0)

        add(f"TableSketch.update, {kind} in an array of objects", run, "odd")

        def framed(table: Table, folder: Path, column: Any = column) -> Any:
            frame = CONTAINERS["pandas as it likes"](_cells(table))
            return scumble.build(frame, schema=Schema(cell=column), epsilon=1.0, invalid="drop")

        add(f"build with a schema, {kind} in a pandas frame", framed, "spelt")


@path("TableSketch.save, load_secret, release", *TRAITS, few=6)
def _saved(table: Table, folder: Path) -> TableRelease:
    sketch_of(table).save(folder / "part.secret")
    return scumble.load_secret(folder / "part.secret", invalid="drop").release(epsilon=1.0)


@path("merge of two table sketches, then release", *TRAITS, few=6)
def _merged(table: Table, folder: Path) -> TableRelease:
    return scumble.merge([sketch_of(table[::2]), sketch_of(table[1::2])]).release(epsilon=1.0)


@path("TableSketch.merge, then release", *TRAITS, few=6)
def _merged_in_place(table: Table, folder: Path) -> TableRelease:
    return sketch_of(table[::2]).merge(sketch_of(table[1::2])).release(epsilon=1.0, delta=1e-6)


@path("TableSketch.release, kept and released again", "floats", few=6)
def _kept(table: Table, folder: Path) -> list[TableRelease]:
    sketch, ledger = sketch_of(table), ledger_of(folder)
    first = sketch.release(epsilon=1.0, ledger=ledger, dataset="d", keep=True)
    return [first, sketch.release(epsilon=0.5, ledger=ledger, dataset="d")]


def _add_builds() -> None:
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "plain": ({}, {}),
        "a target": ({"target": "label", "levels": 3, "n": 10}, {}),
        "gaussian": ({"delta": 1e-6}, {}),
        "persons": ({"person_column": "who", "records_per_person": 3}, {"people": 3}),
    }
    for name, (options, promise) in ways.items():

        def run(table: Table, folder: Path, options: dict[str, Any] = options) -> Any:
            more = {"invalid": "drop", "allow_empty": True, "epsilon": 1.0, **options}
            return scumble.build(str(file_of(table, folder)), schema=SCHEMA, **more)

        traits = ("persons",) if promise else ("floats", "missing")
        add(f"build with a schema, {name}", run, *traits, few=6, **promise)


_add_promises()
_add_options()
_add_containers()
_add_builds()
