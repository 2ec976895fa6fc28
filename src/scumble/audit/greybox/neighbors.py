"""Synthetic neighboring tables, harmless and adversarial.

A record has numbers `x` and `y`, a number `z` to be learned, a `label`, a `thing`, and `who` it belongs to. A pair is
adversarial in one way, its *trait*, and a path says which traits it can be given. Every path gets the plain pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

Record = dict[str, Any]
Table = list[Record]

CLASSES = ("bus", "car")
THINGS = ("tea", "ink", "rope")
NUMBERS, TEXTS = ("x", "y", "z"), ("label", "thing", "who")
NAMES = (*NUMBERS, *TEXTS)


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in `records` records: one's own, or all of a person's."""

    name: str
    here: Table
    there: Table
    trait: str = "plain"
    records: int = 1


def base(n: int = 10) -> Table:
    """A harmless table: numbers between 1 and 9, both classes, five people with two records each."""
    return [
        {
            "x": 1.0 + (37 * k) % 80 / 10.0,
            "y": 1.0 + (53 * k + 11) % 80 / 10.0,
            "z": 1.0 + (29 * k + 5) % 80 / 10.0,
            "label": CLASSES[k % 2],
            "thing": THINGS[k % 3],
            "who": f"person {k // 2}",
        }
        for k in range(n)
    ]


def side(record: Record, parts: int = 2) -> int:
    """Which of several parts a record is in: a function of the record alone."""
    return sum(repr((record["x"], record["y"])).encode()) % parts


def halves(table: Table) -> list[Table]:
    """The records of each side."""
    return [[record for record in table if side(record) == k] for k in range(2)]


def by_class(table: Table) -> list[Table]:
    """The records of each class."""
    return [[record for record in table if record["label"] == label] for label in CLASSES]


def pairs(neighbors: str = "add-remove", *, people: int = 1) -> Iterator[Pair]:
    """All pairs for a promise: of one record, or of a person with `people` of them."""
    table = base()
    for at in (0, 5, 9):
        far = {**table[at], "x": 9.0 - table[at]["x"] % 7, "y": 1.5, "z": 8.0, "label": CLASSES[at % 2 == 0]}
        moved = [far] if neighbors == "replace" else []
        yield Pair(f"record {at} {'moved' if moved else 'gone'}", table, [*table[:at], *moved, *table[at + 1 :]])
    yield from (_of_persons_replaced(table) if neighbors == "replace" else _of_persons(table, people))
    for name, trait, at, change in _adversarial():
        rest = table[at + 1 :] if neighbors == "replace" else table[at:]
        yield Pair(name, table, [*table[:at], {**table[at], **change}, *rest], trait)
    if neighbors == "add-remove":
        buses, cars = by_class(table)
        yield Pair("the only record", table[:1], [], "empty")
        yield Pair("one of two records", table[:2], table[:1])
        yield Pair("the last of a class", [*buses, cars[0]], buses, "labels")


INSIDE: Record = {**base()[4], "x": 4.5, "y": 4.5, "z": 4.5}
"""A record within all bounds."""


def _of_persons_replaced(table: Table) -> Iterator[Pair]:
    yield Pair("a record within all bounds moved", [*table, INSIDE], [*table, {**INSIDE, "x": 5.5, "y": 3.5}])
    yield Pair("a record of somebody else", table, [*table[:-1], {**table[-1], "who": "she"}], "persons")


def _of_persons(table: Table, people: int) -> Iterator[Pair]:
    yield Pair("a record within all bounds", [*table, INSIDE], table)
    if people > 1:
        mine = [{**INSIDE, "who": "she", "x": 4.0 + k / 7, "label": CLASSES[k % 2]} for k in range(people)]
        yield Pair(f"a person's {people} records", [*mine[:1], *table, *mine[1:]], table, records=people)
        alike = [{**INSIDE, "who": "she"}] * people
        yield Pair(f"a person's {people} equal records", [*table, *alike], table, records=people)
    hoarder = [{**INSIDE, "who": "she", "x": 2.0 + k / 3} for k in range(people + 6)]
    woven = [record for both in zip(hoarder, table, strict=False) for record in both] + table[len(hoarder) :]
    yield Pair("a person with far too many records", woven, table, "persons", people)
    yield Pair("a record of nobody's", [{**INSIDE, "who": None}, *table], table, "nobody")


def _adversarial() -> Iterator[tuple[str, str, int, Record]]:
    """A name, a trait, where the record stands, and what is odd about it."""
    for value in (1e308, -1e308, 5e-324, -1e-310, -0.0, 2.0**53, 1e16, 4.35e15, 2.0**-1022):
        yield f"x = {value!r}", "floats", 0, {"x": value}
    yield "all numbers huge", "floats", 3, {"x": 1.7e308, "y": -1.7e308, "z": 1.7e308}
    for empty in (float("nan"), float("inf"), float("-inf"), None):
        yield f"x = {empty!r}", "missing", 0, {"x": empty}
    yield "a thing is missing", "missing things", 0, {"thing": None}
    for label in ("n/a", "", "BUS", "bus ", "1"):
        yield f"the label is {label!r}", "labels", 0, {"label": label}
    yield "the label is missing", "missing labels", 0, {"label": None}
    for text in ("", "NA", "nan", "1e999", "0x10", "true", " 7", "1,5", "7.0", "2020-01-01", "-", "\u0667"):
        yield f"a number reads {text!r}", "texts", 0, {"x": text}
        yield f"a thing reads {text!r}", "texts", 0, {"thing": text}
    yield "a key that no other record has", "keys", 0, {"extra": 1.0}
    yield "a key that no other record has, in the end", "keys", 9, {"another": "a"}


# ---- a table as arrays ----


def numbers(table: Table) -> np.ndarray:
    """x and y as an array of float64."""
    cells = [[np.nan if record[name] is None else float(record[name]) for name in "xy"] for record in table]
    return np.array(cells, float).reshape(-1, 2)


def arrow(table: Table) -> pa.Table:
    """An Arrow table, typed, whatever is in it."""
    kinds = {name: pa.string() if name in TEXTS else pa.float64() for name in NAMES}
    return pa.table({name: pa.array([record[name] for record in table], kind) for name, kind in kinds.items()})
