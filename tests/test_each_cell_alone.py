"""A cell is read by itself: what it becomes does not depend on the other cells, in any container, for any role.

The check is the definition. Each cell is read in a column of its own, and again among others; both must agree.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scumble
from scumble.columns.containers import objects
from scumble.columns.hashing import stable_hash
from scumble.columns.table import Table
from scumble.kernels import EuclideanKernel, HammingKernel, JaccardKernel
from scumble.sources import Build

BERLIN = ZoneInfo("Europe/Berlin")
TWICE = dt.datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN)  # this hour came twice
AGAIN = TWICE.replace(fold=1)


class Everybody:
    """Equal to whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("a")


class Loud(str):
    """Text that says something else of itself."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no")

    def encode(self, *_: Any) -> bytes:  # type: ignore[override]
        raise RuntimeError("no")

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Nowhere(dt.tzinfo):
    """A zone that does not tell: Python would take this machine's."""

    def utcoffset(self, _: Any) -> None:
        return None


class Broken(dt.tzinfo):
    def utcoffset(self, _: Any) -> Any:
        raise RuntimeError("41.7172")


CELLS = [
    *(TWICE, AGAIN, TWICE.replace(tzinfo=None), AGAIN.replace(tzinfo=None), TWICE.replace(tzinfo=Nowhere())),
    *(TWICE.replace(tzinfo=Broken()), pd.Timestamp(TWICE), pd.Timestamp(AGAIN), pd.Timestamp("2020-10-25 02:30")),
    *(np.datetime64("2020"), np.datetime64("2020-01"), np.datetime64("2020-01-01")),
    *(np.datetime64("2020-01-01T00", "h"), np.datetime64("2020-01-01T00:00:00", "ns"), np.datetime64(2**62, "s")),
    *(np.datetime64("NaT", "s"), dt.date(2020, 1, 1), dt.time(2, 30), dt.time(2, 30, fold=1), dt.timedelta(1), 0.0),
    *(-0.0, 0, False, True, 1, 1.0, np.float32(0.1), 0.1, Decimal("0.1"), Decimal("1.0"), Decimal("1.00")),
    *(Decimal("sNaN"), Decimal("1E+500"), Fraction(1, 3), Fraction(10**400, 3), 10**400, -(2**63) - 1, 2**64 - 1),
    *(2**53 + 1, float(2**53), float("nan"), float("inf"), None, pd.NA, pd.NaT, 1j, "", "a", "a b", "a\u2003b"),
    *("\ud800", "1", "1.0", "n/a", Loud("a"), np.str_("a"), b"a b", b"\xff a", bytearray(b"a"), {"a", "b"}),
    *(("a", 1.0), ["a", None], np.array([1.0, 2.0]), np.array(["2020-01-01"], "M8[ns]"), {"a": 1}, object()),
    Everybody(),
]
NUMBERS_ONLY = [cell for cell in CELLS if type(cell) in (int, float, bool, Decimal) or cell is None]

CONTAINERS: dict[str, Any] = {
    "list of rows": lambda cells: [[cell] for cell in cells],
    "dict of lists": lambda cells: {"x": list(cells)},
    "object array": objects,
    "masked objects": lambda cells: np.ma.array(objects(cells), mask=np.zeros(len(cells), bool)),
    "pandas objects": lambda cells: pd.DataFrame({"x": pd.Series(list(cells), dtype=object)}),
    "polars objects": lambda cells: pl.DataFrame({"x": pl.Series(list(cells), dtype=pl.Object)}),
}


def read(container: Any, role: str) -> list[Any]:
    """A column's cells as the role reads them; NaN has itself as its only equal, and so is known by its name."""
    table = Table.of(container, dimensions=1)
    if role == "number":
        return [repr(float(cell)) for cell in table.numeric([0])[:, 0]]
    if role == "category":
        return [repr(float(cell)) for cell in table.categories([0])[:, 0]]
    values, offsets, gone = table.tokens([0])
    return [
        "gone" if lost else values[first:last].tolist()
        for first, last, lost in zip(offsets, offsets[1:], gone, strict=False)
    ]


ALONE = {role: [read(objects([cell]), role)[0] for cell in CELLS] for role in ("number", "category", "tokens")}


@pytest.mark.parametrize("role", ALONE)
@pytest.mark.parametrize("make", CONTAINERS)
@settings(max_examples=25, deadline=None)
@example(places=[*range(len(CELLS)), *reversed(range(len(CELLS)))])
@given(places=st.lists(st.integers(0, len(CELLS) - 1), min_size=1, max_size=12))
def test_a_cell_is_read_as_if_it_were_alone(make: str, role: str, places: list[int]) -> None:
    """Among some others, and with every pair side by side, in both orders."""
    found = read(CONTAINERS[make]([CELLS[k] for k in places]), role)
    assert found == [ALONE[role][k] for k in places]


def test_what_the_cells_become() -> None:
    """Spot checks of the table that the others are compared with."""
    texts = ["2020-10-25T00:30:00Z", "2020-10-25T01:30:00Z"]
    assert read([TWICE, AGAIN], "category") == [repr(stable_hash(text)) for text in texts]
    assert read([TWICE.replace(tzinfo=Nowhere())], "category") == read([TWICE.replace(tzinfo=None)], "category")
    assert read([Loud("a"), Everybody()], "category") == [repr(stable_hash("a")), "nan"]
    assert read([1, "41.5", None, True], "number") == ["1.0", "nan", "nan", "1.0"]


# ------------------------------------------------------------- columns of a declared type


def masked(dtype: str) -> Any:
    return lambda cells, mask: np.ma.array(np.array(cells, dtype), mask=mask)


TYPED: dict[str, tuple[Any, Any, Any]] = {
    "masked datetime64[ns]": (masked("M8[ns]"), ["2020-01-01", "2020-01-01T12:30"], "1999-12-31"),
    "masked datetime64[us]": (masked("M8[us]"), ["2020-01-01"], "1999-12-31"),
    "masked datetime64[D]": (masked("M8[D]"), ["2020-01-01"], "1999-12-31"),
    "masked float32": (masked("f4"), [0.1, 2.0, -0.0], 5.0),
    "masked int64": (masked("i8"), [2**53 + 1, 5], 7),
    "masked uint64": (masked("u8"), [2**64 - 1, 5], 7),
    "masked bool": (masked("?"), [True, False], True),
    "masked text": (masked("U3"), ["a", "1"], "b"),
    "masked bytes": (masked("S3"), [b"a", b"1"], b"b"),
    "nullable integers": (lambda t, m: pd.Series(pd.arrays.IntegerArray(np.array(t), m)), [2**53 + 1, 5], 7),
    "nullable text": (lambda t, m: pd.Series(t, dtype="string[python]").mask(m), ["a", "é"], "b"),
}


@pytest.mark.parametrize("role", ["number", "category"])
@pytest.mark.parametrize("what", TYPED)
def test_one_masked_cell_moves_no_other(what: str, role: str) -> None:
    """Whether any cell is masked is a fact about the records."""
    make, cells, hidden = TYPED[what]
    none = np.zeros(len(cells) + 1, bool)
    one = none.copy()
    one[-1] = True
    try:
        whole = read(make([*cells, hidden], none), role)
    except scumble.DataError as refused:
        with pytest.raises(scumble.DataError, match=str(refused).split(",")[0]):
            read(make([*cells, hidden], one), role)
        return
    assert read(make([*cells, hidden], one), role) == [*whole[:-1], "nan"]


def test_text_that_is_no_unicode_moves_no_other() -> None:
    plain, odd = (pd.Series(["a", "é", last], dtype="string[python]") for last in ("b", "\ud800"))
    assert read(plain, "category")[:2] == read(odd, "category")[:2]
    for series in (plain, odd):
        with pytest.raises(scumble.DataError, match="must hold numbers, got text"):
            read(series, "number")
    bad = pa.chunked_array([pa.array(["a", "é"]), pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())])
    assert read(bad, "category") == [repr(stable_hash(one)) for one in ("a", "é", b"\xff")]
    words = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a\xe2\x80\x83b", b"\xff"]).buffers())
    assert read(words, "tokens")[0] == read(["a\u2003b"], "tokens")[0]


def test_categories_of_mixed_types() -> None:
    """pandas keeps the categories of a categorical column in an array of objects, which Arrow would convert whole."""
    naive = dt.datetime(2020, 1, 1, 12)
    for categories in ([naive, naive.replace(tzinfo=dt.UTC)], [naive, TWICE], [1, "a"], [0.5, True, "x"]):
        series = pd.Series(
            pd.Categorical.from_codes([0, 1, -1], categories=pd.Index(objects(categories), dtype=object))
        )
        want = [repr(stable_hash(one)) for one in (*categories[:2], None)]
        assert read(series, "category") == want and read(pd.Index(series), "category") == want


def test_a_dictionary_may_have_more_values_than_its_indices_can_tell_apart() -> None:
    """Two chunks of 100 towns each fit 8 bits; the 200 of both do not, and Arrow refuses to unite them."""
    towns = [[f"{side}{k}" for k in range(100)] for side in "ab"]
    parts = [pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), pa.array(names)) for names in towns]
    found = Table.of(pa.chunked_array(parts)).categories([0])[:, 0]
    assert found.tolist() == [stable_hash(town) for town in (*towns[0], *towns[1])]


def test_a_time_beyond_all_calendars_is_missing_in_every_container() -> None:
    """NumPy's NaT is the least number of ticks; Arrow has it as a number like any other."""
    stamps = np.array(["NaT", "2020-01-01"], "M8[us]")
    ticks = pa.array(stamps.view(np.int64)).view(pa.timestamp("us"))
    assert read(stamps, "category") == read(ticks, "category") == ["nan", repr(stable_hash("2020-01-01"))]


# ---------------------------------------------------------------------- persons


def test_persons_are_told_apart_by_their_own_names() -> None:
    assert TWICE == AGAIN
    assert scumble.PersonLimit(1).keep([TWICE, AGAIN, TWICE, AGAIN]).tolist() == [True, True, False, False]
    cells = [cell for cell, category in zip(CELLS, ALONE["category"], strict=True) if category != "nan"]
    names = [category for category in ALONE["category"] if category != "nan"]
    first = [name not in names[:k] for k, name in enumerate(names)]
    for make in (list, objects, lambda cells: pl.Series(cells, dtype=pl.Object)):
        assert scumble.PersonLimit(1).keep(make(cells)).tolist() == first


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_a_person_is_the_same_in_every_unit(unit: str) -> None:
    limit = scumble.PersonLimit(1)
    day = np.array(["2020-01-01"], f"M8[{unit}]")
    assert limit.keep(day).tolist() == [True]
    for again in (day.astype("M8[s]"), [dt.date(2020, 1, 1)], pa.array([dt.date(2020, 1, 1)]), pd.Series(day)):
        assert limit.keep(again).tolist() == [False]


# ------------------------------------------------------------------- whole builds


def counted(source: Any, kernel: Any) -> np.ndarray:
    size: dict[str, Any] = {"rows": 16, "buckets": 4096, "seed": 3, "design": "iid"}
    job = Build(source, kernel, ["x"], **size, invalid="drop", allow_empty=True)
    return np.sum([sketch._counts for sketch in job.count().sketches], axis=0)


MAKES: dict[str, Any] = {
    "pandas": CONTAINERS["pandas objects"],
    "polars": CONTAINERS["polars objects"],
    "a frame for each": lambda cells: iter([pd.DataFrame({"x": pd.Series([cell], dtype=object)}) for cell in cells]),
}


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("kernel", [EuclideanKernel(1.0), HammingKernel(), JaccardKernel()], ids=lambda k: k.name)
def test_one_more_record_moves_one_counter_of_each_row(make: str, kernel: Any) -> None:
    """The promise itself, on the counters: one odd record before the others adds itself and changes nothing else."""
    others = [dt.datetime(2020, 1, 1, hour) for hour in range(5)] + ["a b", 1.5, 2, True, {"a"}]
    without = counted(MAKES[make](others), kernel)
    for odd in CELLS[:: 3 if make == "a frame for each" else 1]:  # each in a table of its own: slow
        moved = counted(MAKES[make]([odd, *others]), kernel) - without
        assert moved.min() >= 0 and set(moved.sum(axis=1)) <= {0, 1}, type(odd)
    assert without.sum() > 0


def test_classes_and_persons_of_objects() -> None:
    kernel = EuclideanKernel(1.0)
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "who": [TWICE, AGAIN, TWICE, None], "mode": ["1", 1, 1.0, True]})
    frame = frame.astype({"who": object, "mode": object})
    options: dict[str, Any] = {"rows": 4, "buckets": 8, "invalid": "drop"}
    job = Build(frame[["x", "who"]], kernel, ["x"], person_column="who", **options)
    assert job.count().sketches[0].count == 2 and (job.tally.over, job.tally.dropped) == (1, 1)
    job = Build(frame[["x", "mode"]], kernel, ["x"], label="mode", classes=[1, "true"], **options)
    assert [sketch.count for sketch in job.count().sketches] == [3, 1]


def test_frames_that_differ_in_type_from_batch_to_batch() -> None:
    kernel = HammingKernel()
    frames = [
        pd.DataFrame({"x": [5, 6]}),
        pd.DataFrame({"x": [5.0, np.nan]}),
        pd.DataFrame({"x": ["5", "6"]}),
        pd.DataFrame({"x": pd.Categorical(["6", "5"])}),
        pa.table({"x": pa.array([5, 6], pa.uint8())}),
    ]
    whole = counted(iter(frames), kernel)
    assert np.array_equal(whole, counted(pa.table({"x": ["5", "6", "5", "5", "6", "6", "5", "5", "6"]}), kernel))
    with pytest.raises(scumble.DataError, match="no column 'x' in one of the tables"):
        counted(iter([frames[0], pd.DataFrame({"y": [1]})]), kernel)


def test_text_that_says_a_number_says_it_beside_other_cells_too() -> None:
    """pandas has a type for a column of texts alone, and none for one that also holds a number."""
    schema = scumble.Schema(x=scumble.Number(0, 9, whole=True, missing=True))

    def levels(cells: list[Any]) -> list[int]:
        job = Build(pd.DataFrame({"x": cells}), schema=schema)
        return job.count().sketches[0].secret.counts.tolist()[:11]

    texts = ["5", " 6.0 ", "$7", "NA", "five", "true"]
    alone = levels(texts)
    assert alone == [0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 2]
    for odd, place in ((3, 3), (2.5, 2), (np.nan, 10), (b"4", 4)):
        beside = levels([*texts, odd])
        assert [new - old for new, old in zip(beside, alone, strict=True)] == [k == place for k in range(11)]
