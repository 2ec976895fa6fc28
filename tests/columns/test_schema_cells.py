"""A cell's level is a function of that cell and of the public column: in any container, next to any other cell.

The oracle is slow and obvious: it takes one cell, reads its canonical text, and goes through the levels one by one.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble.columns import clock, cuts, line
from scumble.columns.category import Boolean, Category
from scumble.columns.cells import number, number_in
from scumble.columns.column import OUTSIDE, UNFORESEEN, UNREADABLE, Column
from scumble.columns.containers import objects
from scumble.columns.date import Date
from scumble.columns.hashing import text_of
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from test_each_cell_alone import CELLS as ODD
from test_each_cell_alone import CONTAINERS

TIMES = [
    dt.datetime(2020, 5, 6, 23, 59, 59, 999_999),
    *(dt.datetime(2020, 5, 7, tzinfo=dt.timezone(dt.timedelta(hours=2))), dt.date(2019, 12, 31), dt.date(2021, 1, 1)),
    *("2020-05-06T12:30Z", "2020-05-06 12:30:00.25+05:30", "2020-05-06 22:30:00-05", "2020-05-06 22:30+0530"),
    *("2020-05-06 22:30+24:00", " 2020-05-06 ", "2020-05", "2020-13-01", "2020-02-30", "2020-00-01", "2020-05-00"),
    *("2020-00", "06.05.2020", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00+01:00"),
    *(np.datetime64("1969-12-31T23:59:59.999999999"), np.datetime64("0000-01-01"), np.datetime64("10000-01-01")),
    pd.Timestamp("2020-05-06 12:30:00.123456789"),
]
NUMBERS = [
    *(-math.inf, -1e308, -5e-324, 5e-324, 2.2250738585072014e-308, 0.1 + 0.2, 0.3, 17, 16.999999999999996, 90.0),
    *(90.00000000000001, 91, 9007199254740993, "9007199254740993", Decimal("9007199254740993"), -(10**30), "1e400"),
    *("-1e400", "1e-400", "0x10", "1_000", "١", " 41\t", "+41.", ".5e1", "TRUE", "inf", "nan", "", np.float16(0.1)),
    *(np.longdouble("0.1"), np.uint64(2**64 - 1), Fraction(1, 10)),
]
CELLS = [*ODD, *TIMES, *NUMBERS, "Yes", "off", b"T", "NA", b"N/A", "NULL", "n/a", " NA"]
CELLS += [" a", "A\t", "\u00a0é\u2009", "é ", "\u3000a", "straße", "-", "none ", "  ", b" a ", b"\xff a ", "a\ud800 "]

COLUMNS: dict[str, Column] = {
    "whole": Number(17, 90, whole=True),
    "whole with gaps": Number(edges=[-5, 0, 1, 41, 42, 1000], whole=True, outside="drop", missing=True),
    "real": Number(-1.0, 1.0, cells=10, outside="drop"),
    "real and missing": Number(0.1, 1e4, missing=True),
    "log": Number(0, 99_999, scale="log", missing=True),
    "log from one": Number(1, 1e6, scale="log", outside="drop"),
    "whole log": Number(0, 10**15, whole=True, scale="log", cells=30),
    "days": Date("2020-01-01", "2020-12-31", missing=True),
    "seconds": Date("1969-12-31T23:59:50", "2020-12-31T00:00:00", outside="drop"),
    "hours": Date("0001-01-01", "9999-12-31", resolution="hour", cells=1000),
    "category": Category(["a", "true", 5, 0.1, "2020-01-01", "2020-10-25T00:30:00Z", "é"]),
    "countries": Category(["NA", "NaN", "DE"]),
    "words as they stand": Category(["a", "é ", ""], strip=False),
    "words in any case": Category(["a", "É", "STRASSE"], ignore_case=True, missing_words=["-", "None"]),
    "closed category": Category(["a", "1", ""], other=False, missing=False),
    "boolean": Boolean(),
    "boolean and missing": Boolean(missing=True),
}


def compared(column: Category, text: bytes | None) -> str | None:
    """What of a text counts, letter by letter."""
    letters = None if text is None else [*text.decode(errors="surrogateescape")]
    while letters and column.strip and letters[-1] in " \t\n\v\f\r\u00a0\u2009\u202f":
        letters.pop()
    while letters and column.strip and letters[0] in " \t\n\v\f\r\u00a0\u2009\u202f":
        letters.pop(0)
    return None if letters is None else "".join(letters).casefold() if column.ignore_case else "".join(letters)


def slow(column: Column, cell: Any) -> int:
    """The level of one cell, by the definition."""
    text = text_of(cell)
    nothing = column.size - 1 if column.missing else UNREADABLE
    if isinstance(column, Category):
        texts = [compared(column, text_of(value)) for value in column.values]
        word = compared(column, text)
        if word is None or word in texts:
            return nothing if word is None else texts.index(word)
        gaps = ["", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", *column.missing_words]
        if word in [compared(column, text_of(gap)) for gap in gaps]:
            return nothing
        return len(texts) if column.other else UNFORESEEN
    if isinstance(column, Boolean):
        word = None if text is None else text.strip().lower()
        if word in (b"true", b"yes", b"y", b"t", b"on") or number_in(text) == 1:
            return 1
        if word in (b"false", b"no", b"n", b"f", b"off") or number_in(text) == 0:
            return 0
        return nothing
    if isinstance(cell, Fraction):
        text = text_of(number(cell))
    value = slow_number(text) if isinstance(column, Number) else slow_tick(text, column)
    if value is None:
        return nothing
    if isinstance(column, Number) and column.whole:
        value = math.floor(value)
    edges = [float(edge) for edge in column.cuts.values(np.array(column.cuts.edges))]
    if column.outside == "drop" and (value < edges[0] or value >= edges[-1]):
        return OUTSIDE
    return max(0, min(column.cuts.size - 1, sum(edge <= value for edge in edges) - 1))


def slow_number(text: bytes | None) -> float | None:
    try:
        word = (text or b"").decode().strip().lower()
    except UnicodeDecodeError:
        return None
    if word in ("true", "false"):
        return float(word == "true")
    if not word.isascii() or not any(letter.isdigit() for letter in word) or set(word) - set("0123456789.+-e"):
        return None
    try:
        value = float(Fraction(word.removesuffix("."))) if len(word) < 300 and "e" not in word else float(word)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def slow_tick(text: bytes | None, column: Date) -> int | None:
    try:
        word = (text or b"").decode("ascii").strip()
        if len(word) in (4, 7):
            word += "-01-01" if len(word) == 4 else "-01"
        moment = dt.datetime.fromisoformat(word.split(".")[0] + word.partition(".")[2].lstrip("0123456789"))
        zero = dt.datetime(1970, 1, 1, tzinfo=moment.tzinfo and dt.UTC)
        if moment.tzinfo is not None:
            moment.astimezone(dt.UTC)  # the time must exist in UTC
        return (moment - zero) // dt.timedelta(seconds=column.step)
    except (ValueError, OverflowError):
        return None


ALONE = {name: [int(column.encode(objects([cell])).codes[0]) for cell in CELLS] for name, column in COLUMNS.items()}


@pytest.mark.parametrize("name", COLUMNS)
def test_each_odd_cell_has_the_level_of_the_definition(name: str) -> None:
    column = COLUMNS[name]
    assert ALONE[name] == [slow(column, cell) for cell in CELLS]
    # The columns are such that something is at stake.
    assert len(set(ALONE[name])) >= min(3, column.size + (not column.missing))


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("make", CONTAINERS)
def test_a_cell_has_the_level_it_has_alone(make: str, name: str) -> None:
    cells = [*CELLS, *reversed(CELLS)]
    schema = Schema({"x": COLUMNS[name]})
    table = CONTAINERS[make](cells)
    codes, dropped = schema.encode(table, invalid="drop")
    assert codes[:, 0].tolist() == [*ALONE[name], *reversed(ALONE[name])]
    assert dropped.tolist() == [code < 0 for code in codes[:, 0]]


@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=20, deadline=None)
@given(places=st.lists(st.integers(0, len(CELLS) - 1), max_size=8))
def test_and_in_any_company(name: str, places: list[int]) -> None:
    found = COLUMNS[name].encode([CELLS[k] for k in places])
    assert found.codes.tolist() == [ALONE[name][k] for k in places]
    assert found.codes.dtype == np.int32 and (found.valid == (found.codes >= 0)).all()


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("1970", (0, 365 * 86_400)),
        ("1972", (730 * 86_400, 1096 * 86_400)),
        ("1970-01-01 05:00+05", (0, 60)),
        ("1970-01-01 05:30+05:30", (0, 60)),
        ("1970-01-01 05:30:00+0530", (0, 1)),
        ("1969-12-31 18:30-05:30", (0, 60)),
        ("1970-01-01 23:59+23:59", (0, 60)),
        ("1970-01-01 01:00+00:60", None),
        ("1970-01-02 00:00+24:00", None),
    ],
)
def test_a_text_stands_for_seconds_of_utc(text: str, span: tuple[int, int] | None) -> None:
    assert clock.seconds_in(text.encode()) == span
    assert clock.has_zone(text.encode()) == ("+" in text or text.count("-") == 3)
    assert not clock.has_zone(b"soon")


def test_a_moment_is_one_second_and_a_date_a_day() -> None:
    literals: list[Any] = [dt.datetime(1970, 1, 1), dt.date(1970, 1, 1), "soon", 0]
    assert [clock.seconds_of(literal) for literal in literals] == [(0, 1), (0, 86_400), None, None]


FLOATS = [0.1, 0.3, 17.0, 41.9, 90.0, 90.5, -0.0, 0.0, 5e-324, 1e300, -3.5, math.nan, math.inf, 2.0**53, 1.0]
WHOLES = [0, 1, 5, 17, 41, 42, 90, 91, -5, -6, 1000, 2**53 + 1, -(2**63), 2**63 - 1]
TEXTS = ["a", "true", "5", "0.1", "2020-01-01", "", "é", "41.9", " 17", "2020-05-06T12:30:00Z", "Yes", None]
MOMENTS = ["2020-05-06T12:30:00", "1969-12-31T23:59:59", "2020-12-31T00:00:01", "2020-01-01", "1677-09-22", None]
M8 = {unit: np.array(MOMENTS, f"M8[{unit}]") for unit in ("s", "ms", "us", "ns", "h", "m", "D", "W", "M", "Y", "25s")}

TYPED: dict[str, tuple[Any, list[Any]]] = {
    "float64": (np.array(FLOATS), FLOATS),
    "big-endian": (np.array(FLOATS, ">f8"), FLOATS),
    "strided": (np.array(FLOATS * 2)[::2], (FLOATS * 2)[::2]),
    "float32": (np.array(FLOATS, "f8").clip(-9, 99).astype("f4"), list(np.array(FLOATS).clip(-9, 99).astype("f4"))),
    "arrow float": (pa.chunked_array([FLOATS[:3], FLOATS[3:]]), FLOATS),
    "int64": (np.array(WHOLES), WHOLES),
    "arrow int": (pa.array([*WHOLES, None]), [*WHOLES, None]),
    "polars int": (pl.Series([*WHOLES, None]), [*WHOLES, None]),
    "nullable int": (pd.Series([*WHOLES, None], dtype="Int64"), [*WHOLES, None]),
    "uint8": (np.array([0, 1, 5, 255], np.uint8), [0, 1, 5, 255]),
    "bool": (np.array([True, False]), [True, False]),
    "arrow bool": (pa.array([True, None, False]), [True, None, False]),
    "decimal": (
        pa.array([Decimal("0.10"), Decimal("41.90"), Decimal("1.15"), None], pa.decimal128(30, 2)),
        [0.1, 41.9, 1.15, None],
    ),
    "text": (np.array([text or "" for text in TEXTS]), [text or "" for text in TEXTS]),
    "arrow text": (pa.array(TEXTS), TEXTS),
    "arrow dictionary": (pa.array(TEXTS).dictionary_encode(), TEXTS),
    "pandas text": (pd.Series(TEXTS, dtype="string[python]"), TEXTS),
    "pandas category": (pd.Series(TEXTS, dtype="category"), TEXTS),
    "pandas category of floats": (pd.Series(FLOATS[:5], dtype="category"), FLOATS[:5]),
    "polars text": (pl.Series(TEXTS), TEXTS),
    "polars category": (pl.Series(TEXTS, dtype=pl.Categorical), TEXTS),
    "bytes": (pa.array([text and text.encode() for text in TEXTS], pa.binary()), TEXTS),
    "arrow null": (pa.nulls(2), [None, None]),
    **{f"M8[{unit}]": (times, list(times)) for unit, times in M8.items()},
    "arrow ns": (pa.array(M8["ns"]), list(M8["ns"])),
    "arrow date": (pa.array(M8["D"]), list(M8["D"])),
    "arrow date64": (pa.array(M8["D"]).cast(pa.date64()), list(M8["D"])),
    "arrow UTC": (
        pa.array(M8["s"]).cast(pa.timestamp("s", "Europe/Berlin")),
        [None if np.isnat(one) else one.item().replace(tzinfo=dt.UTC) for one in M8["s"]],
    ),
    "arrow bytes": (pa.array([b"a", b"5", b"2020-01-01", None]), [b"a", b"5", b"2020-01-01", None]),
    "arrow dictionary of nulls": (pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.nulls(1)), [None, None]),
    "arrow dictionary of times": (pa.array(M8["us"]).dictionary_encode(), list(M8["us"])),
    "pandas times": (pd.Series(M8["ns"]).dt.tz_localize("UTC"), list(pd.Series(M8["ns"]).dt.tz_localize("UTC"))),
    "far away": (np.array([2**62, -(2**62), 0], "M8[s]"), list(np.array([2**62, -(2**62), 0], "M8[s]"))),
    "farther": (np.array([2**61, -(2**61), 0], "M8[m]"), list(np.array([2**61, -(2**61), 0], "M8[m]"))),
    "days from the flood on": (
        np.array([-(10**6), 3 * 10**6, 0], "M8[D]"),
        list(np.array([-(10**6), 3 * 10**6, 0], "M8[D]")),
    ),
    "the last nanosecond": (np.array([2**63 - 1, -(2**63) + 1], "M8[ns]"), ["2262-04-11T23:47:16", "1677-09-21T00:12"]),
}


@pytest.mark.parametrize("what", TYPED)
def test_a_declared_type_changes_no_level(what: str) -> None:
    """Typed columns are read quickly, objects one by one, with the same levels. Numbers alone refuse a type: times."""
    values, cells = TYPED[what]
    for name, column in COLUMNS.items():
        try:
            found = column.encode(values).codes.tolist()
        except scumble.DataError as problem:
            assert isinstance(column, Number), (name, problem)
            continue
        assert found == [slow(column, cell) for cell in cells], name
        assert column.encode(values[:0]).codes.tolist() == []


def test_what_types_are_refused() -> None:
    """By the declared type, which is public, whatever the cells are: also of no cells at all."""
    times, spans = np.empty(0, "M8[s]"), np.empty(0, "m8[s]")
    with pytest.raises(scumble.DataError):
        Schema(x=COLUMNS["whole"]).encode({"x": times})
    with pytest.raises(scumble.DataError):
        Schema(x=COLUMNS["days"]).encode({"x": spans})
    nested = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["2020-01-01"]).dictionary_encode())
    with pytest.raises(scumble.DataError, match="must hold dates or times"):
        COLUMNS["days"].encode(nested)
    for column in (COLUMNS["whole"], COLUMNS["days"], COLUMNS["category"], COLUMNS["boolean"]):
        with pytest.raises(scumble.DataError):
            column.encode(pa.array([[1]], pa.list_(pa.int64())))
        with pytest.raises(scumble.DataError):
            column.encode(np.zeros(1, complex))


@given(x=st.floats(allow_nan=False), y=st.floats(allow_nan=False))
def test_the_line_keeps_the_order_of_floats(x: float, y: float) -> None:
    a, b = line.place(np.array([x, y]))
    assert (a < b) == (x < y) and (a == b) == (x == y)
    assert line.value(np.array([a]))[0] == x
    if x < math.inf:
        assert line.place_of(math.nextafter(x, math.inf)) == a + 1


@pytest.mark.parametrize("name", ["whole", "whole with gaps", "real", "log", "whole log", "seconds", "hours"])
def test_many_cells_are_searched_as_few_are(name: str) -> None:
    """Beyond some thousands of cells the search is compiled: it has a twin that is not."""
    column = COLUMNS[name]
    if isinstance(column, Number):
        edges = column.spread.values(np.array(column.spread.edges))
        near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), edges + 0.5, FLOATS])
    else:
        near = (np.array(column.cuts.edges)[:, None] * column.step + [-1, 0, 1]).ravel().astype("M8[s]")  # type: ignore[attr-defined]
    many = np.resize(near, cuts.FEW)
    few = np.concatenate([column.encode(part).codes for part in np.array_split(many, 20)])
    assert np.array_equal(column.encode(many).codes, few) and len(set(few)) >= column.size
