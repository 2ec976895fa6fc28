"""Synthetic neighbouring tables: harmless ones, and as adversarial as they come.

A table is a list of records, and a record is a dict of cells: two numbers `x` and `y`, a number `z` to be learnt, a
`label`, a `thing` of some category, and `who` it belongs to. Each path turns it into what it reads.

A pair is spiteful in one way, its *trait*, and a path says which traits it can be given at all: a Parquet file has no
cells of odd types. Every path gets the plain pairs.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

Record = dict[str, Any]
Table = list[Record]

CLASSES = ("bus", "car")
THINGS = ("tea", "ink", "rope")


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


def pairs(neighbors: str = "add-remove", *, people: int = 1) -> Iterator[Pair]:
    """All pairs for a promise: of one record, or of a person with `people` of them."""
    table = base()
    yield from _person(table, neighbors, people)
    for name, trait, at, change in _spite(table):
        new = {**table[at], **change}
        if neighbors == "replace":
            yield Pair(name, table, [*table[:at], new, *table[at + 1 :]], trait)
        else:
            yield Pair(name, table, [*table[:at], new, *table[at:]], trait)
    if neighbors == "add-remove":
        one = table[:1]
        yield Pair("the only record", one, [], "empty")
        yield Pair("one of two records", table[:2], one)
        cars = [record for record in table if record["label"] == "car"]
        buses = [record for record in table if record["label"] == "bus"]
        yield Pair("the last of a class", [*buses, cars[0]], buses, "labels")


def _person(table: Table, neighbors: str, people: int) -> Iterator[Pair]:
    """Plain changes: a record (or a person's records) gone, or moved far away."""
    for at in (0, 5, 9):
        far = {**table[at], "x": 9.0 - table[at]["x"] % 7, "y": 1.5, "z": 8.0, "label": CLASSES[at % 2 == 0]}
        if neighbors == "replace":
            yield Pair(f"record {at} moved", table, [*table[:at], far, *table[at + 1 :]])
        else:
            yield Pair(f"record {at} gone", table, [*table[:at], *table[at + 1 :]])
    inside = {**table[4], "x": 4.5, "y": 4.5, "z": 4.5}
    if neighbors == "replace":
        yield Pair("a record within all bounds moved", [*table, inside], [*table, {**inside, "x": 5.5, "y": 3.5}])
        yield Pair("a record of somebody else", table, [*table[:-1], {**table[-1], "who": "she"}], "persons")
        return
    yield Pair("a record within all bounds", [*table, inside], table)
    if people > 1:
        mine = [{**inside, "who": "she", "x": 4.0 + k / 7, "label": CLASSES[k % 2]} for k in range(people)]
        yield Pair(f"a person's {people} records", [*mine[:1], *table, *mine[1:]], table, records=people)
        alike = [{**inside, "who": "she"}] * people
        yield Pair(f"a person's {people} equal records", [*table, *alike], table, records=people)
    hoarder = [{**inside, "who": "she", "x": 2.0 + k / 3} for k in range(people + 6)]
    woven = [record for both in zip(hoarder, table, strict=False) for record in both] + table[len(hoarder) :]
    yield Pair("a person with far too many records", woven, table, "persons", people)
    yield Pair("a record of nobody's", [{**inside, "who": None}, *table], table, "nobody")


def _spite(table: Table) -> Iterator[tuple[str, str, int, Record]]:
    """Ways to be spiteful: a name, a trait, where the record stands, and what is odd about it."""
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


# ---- cells of odd types, in columns of Python objects ----


class _Zone(datetime.tzinfo):
    """A zone whose clocks go back: an hour comes twice."""

    def utcoffset(self, when: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(hours=1 if when is not None and when.fold else 2)

    def dst(self, when: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(0)

    def tzname(self, when: datetime.datetime | None) -> str:
        return "a zone"


_EARLY = datetime.datetime(2020, 10, 25, 2, 30, tzinfo=_Zone())
_NAIVE = datetime.datetime(2020, 10, 25, 2, 30)
_UTC = datetime.UTC

ODD: Sequence[tuple[str, Any, Any]] = (
    ("the hour that comes twice", _EARLY.replace(fold=1), _EARLY),
    ("an aware time before naive ones", _NAIVE.replace(tzinfo=_UTC), _NAIVE),
    ("one moment in two zones", _NAIVE.replace(tzinfo=_UTC), _NAIVE.astimezone(_UTC)),
    ("a date among times", datetime.date(2020, 10, 25), datetime.datetime(2020, 10, 25)),
    ("NumPy times of two units", np.datetime64("2020-10-25", "D"), np.datetime64("2020-10-25T00:00:00", "s")),
    ("NumPy times of two fine units", np.datetime64("2020-10-25T00:00:00", "ns"), np.datetime64("2020-10-25", "D")),
    ("True among ones", True, 1),
    ("1.0 among ones", 1.0, 1),
    ("a text among ones", "1", 1),
    ("a decimal among ones", Decimal("1.0"), 1),
    ("a NumPy number among ones", np.float32(1.0), 1),
    ("a huge number among ones", 2**70, 1),
    ("minus zero among zeros", -0.0, 0.0),
    ("a float that is nearly another", np.float32(0.1), 0.1),
    ("bytes among texts", b"tea", "tea"),
    ("a NumPy text among texts", np.str_("tea"), "tea"),
    ("two ways to write a letter", "e\u0301", "é"),
    ("nothing among texts", None, "tea"),
    ("not a number among ones", float("nan"), 1),
    ("a time missing among times", None, np.datetime64("2020-10-25T00:00:00", "ns")),
    ("a list among texts", ["tea"], "tea"),
)
"""A cell that comes first, and those that follow it: equal to Python, or of one type with it to some container. A list
is an unreadable cell of its own record, and of no other."""

SPELT: Sequence[tuple[str, Any, Any]] = (
    ("a number among texts that say one", 2, "1"),
    ("a float among texts that say numbers", 0.5, "1"),
    ("a truth value among texts", True, "false"),
    ("a date among texts that say one", datetime.date(2020, 3, 1), "2020-10-25"),
)
"""For columns that read text: a frame has a type for texts alone, and none for texts beside another cell."""


def odd_pairs(neighbors: str = "add-remove") -> Iterator[Pair]:
    """The odd cell stands before, between and after three others; in the neighbour it is gone (or like them)."""
    for name, odd, usual in (*ODD, *SPELT):
        others = [{"cell": usual}] * 3
        for place, word in ((0, "first"), (3, "last")):
            here = [*others[:place], {"cell": odd}, *others[place:]]
            there = others if neighbors == "add-remove" else [*others, {"cell": usual}]
            trait = "spelt" if (name, odd, usual) in SPELT else "odd"
            yield Pair(f"{name}, {word}", here, there, trait)
