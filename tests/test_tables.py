"""Tables: the same data gives the same arrays, in whatever container; errors never show a value."""

from __future__ import annotations

import datetime as dt
import itertools
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from scumble.columns import table as tables
from scumble.columns.cells import number_in
from scumble.columns.containers import objects
from scumble.columns.hashing import stable_hash
from scumble.columns.kinds import numbers_from_text
from scumble.columns.table import Table, ends
from scumble.errors import DataError, ParameterError
from scumble.files.compiling import Patience

NUMBERS = {"a": [1.0, 2.5, -0.0], "b": [4, 5, 6], "c": [True, False, True]}
EXPECTED = np.array([[1.0, 4, 1], [2.5, 5, 0], [0.0, 6, 1]])


def containers(data: dict[str, list]) -> dict[str, object]:
    """One table in every container (columns are Python lists; None is missing)."""
    table = pa.table(data)
    rows = list(zip(*data.values(), strict=True))
    halves = pa.Table.from_batches(table.to_batches(max_chunksize=1), table.schema)
    return {
        "dict": data,
        "rows": rows,
        "lists": [list(row) for row in rows],
        "objects": np.array(rows, dtype=object).reshape(-1, len(data)),
        "pandas": pd.DataFrame(data),
        "pandas object": pd.DataFrame(data, dtype=object),
        "pandas nullable": pd.DataFrame(data).convert_dtypes(),
        "pandas arrow": table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.DataFrame(data, strict=False),
        "polars lazy": pl.LazyFrame(data, strict=False),
        "arrow": table,
        "arrow chunks": halves,
        "arrow batch": table.combine_chunks().to_batches()[0] if len(table) else table,
        "arrow slice": pa.concat_tables([table, table]).combine_chunks().slice(len(table)),
        "arrow dictionary": pa.table([c.dictionary_encode() for c in halves.columns], names=table.column_names),
        "stream": Stream(table),
    }


class Stream:
    """Any library that speaks Arrow's C interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize("name", containers(NUMBERS))
def test_numbers_agree_between_containers(name):
    table = Table.of(containers(NUMBERS)[name], dimensions=3)
    found = table.numeric([0, 1, 2])
    assert (table.rows, table.width) == (3, 3)
    assert found.dtype == np.float64 and found.flags.c_contiguous
    np.testing.assert_array_equal(found, EXPECTED)
    np.testing.assert_array_equal(table.numeric([2, 0]), EXPECTED[:, [2, 0]])
    np.testing.assert_array_equal(table.numeric([1]), EXPECTED[:, [1]])
    assert table.numeric([]).shape == (3, 0)


@pytest.mark.parametrize("name", containers(NUMBERS))
def test_missing_numbers_are_nan_in_every_container(name):
    data = {"a": [1.0, None, 3.0], "b": [4, 5, None], "c": [None, True, False]}
    found = Table.of(containers(data)[name]).numeric([0, 1, 2])
    np.testing.assert_array_equal(found, [[1, 4, np.nan], [np.nan, 5, 1], [3, np.nan, 0]])


@pytest.mark.parametrize(
    "name", sorted(containers(NUMBERS).keys() - {"rows", "lists"})
)  # those have no columns: see below
def test_empty_tables_are_tables(name):
    X = containers({"a": [], "b": []})[name]
    table = Table.of(X, dimensions=2)
    assert (table.rows, table.width) == (0, 2)
    assert table.categories([0, 1]).shape == (0, 2)
    assert table.numeric([0, 1]).shape == (0, 2)
    assert [x.tolist() for x in table.tokens([0, 1])] == [[], [0], []]
    assert [x.tolist() for x in table.tokens([0])] == [[], [0], []]
    assert Table.of([], dimensions=3).numeric([0, 1, 2]).shape == (0, 3) and Table.of([]).width == 1
    assert Table.of([], columns=["a", "b"]).names == ("a", "b")
    assert Table.of({}).width == 0 and Table.of(np.empty((5, 0))).numeric([]).shape == (5, 0)


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", ">f8", ">i4", ">u2", "O"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_real_dtype(dtype, order):
    X = np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype, order=order)
    found = Table.of(X, dimensions=3).numeric(range(3))
    assert found.dtype == np.float64 and found.flags.c_contiguous
    np.testing.assert_array_equal(found, X.astype(float))
    np.testing.assert_array_equal(Table.of(X[:, ::-1]).numeric([0, 2]), X.astype(float)[:, [2, 0]])


def test_large_integers_become_the_nearest_float():
    big = [2**63 - 1, 2**53 + 1, -(2**63)]
    want = [[float(x)] for x in big]
    nullable = pd.array(big, dtype="Int64").to_numpy()
    for X in (np.array(big), pa.array(big), pl.Series(big), pd.Series(big), nullable, big):
        assert Table.of(X).numeric([0]).tolist() == want
    assert Table.of(np.array([2**64 - 1], dtype=np.uint64)).numeric([0]).tolist() == [[float(2**64 - 1)]]
    assert Table.of(pa.array([2**64 - 1, None], pa.uint64())).numeric([0])[0, 0] == float(2**64 - 1)
    assert Table.of([10**400, -(10**400), 1]).numeric([0]).tolist() == [[np.inf], [-np.inf], [1.0]]
    assert Table.of(pl.Series([2**100, None], dtype=pl.Int128)).numeric([0])[0, 0] == 2.0**100
    beyond = Table.of(np.array([[np.longdouble("1e400")]])).numeric([0])[0, 0]
    assert np.isinf(beyond) or np.finfo(np.longdouble).maxexp == 1024


def test_decimals_fractions_and_other_numbers():
    values = [Decimal("1.25"), None, Decimal("-3")]
    arrow = pd.Series(values, dtype=pd.ArrowDtype(pa.decimal128(9, 2)))
    for X in (pa.array(values), pl.Series(values), values, pd.Series(values), arrow):
        np.testing.assert_array_equal(Table.of(X).numeric([0]), [[1.25], [np.nan], [-3]])
    mixed = [Fraction(1, 2), np.float32(0.5), np.int8(3), True, None, pd.NA, np.nan, Decimal("NaN"), Decimal("sNaN")]
    np.testing.assert_array_equal(Table.of(mixed).numeric([0])[:, 0], [0.5, 0.5, 3, 1] + [np.nan] * 5)
    bits = pa.array([1, 0], pa.int8())
    kinds = (pa.float16(), pa.float32(), pa.int8(), pa.uint16(), pa.decimal32(5, 1), pa.decimal256(40, 1))
    for cells in (*map(bits.cast, kinds), pa.ExtensionArray.from_storage(pa.bool8(), bits)):
        column = pa.chunked_array([pa.nulls(1, cells.type), cells])
        np.testing.assert_array_equal(Table.of(column).numeric([0])[:, 0], [np.nan, 1, 0])


def test_masked_cells_are_missing():
    X = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(Table.of(X).numeric([0, 1]), [[1, np.nan], [3, 4]])
    assert np.isnan(Table.of(X).categories([0, 1])).tolist() == [[False, True], [False, False]]
    np.testing.assert_array_equal(Table.of(np.ma.array([[1.0]])).numeric([0]), [[1]])
    B = np.ma.array([True, False], mask=[False, True])
    assert Table.of(B).categories([0])[0, 0] == stable_hash(True)
    table = Table.of(np.array([(1, b"x"), (2, b"y")], dtype=[("n", "i4"), ("s", "S3")]), columns=["s", "n"])
    assert table.names == ("s", "n") and table.numeric([1]).tolist() == [[1], [2]]
    assert table.categories([0]).tolist() == [[stable_hash("x")], [stable_hash("y")]]


def test_run_ends_nulls_and_nested_dictionaries():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1.5, None]))
    np.testing.assert_array_equal(Table.of(runs).numeric([0])[:, 0], [1.5, 1.5, np.nan])
    np.testing.assert_array_equal(Table.of(runs).categories([0])[:, 0], [stable_hash(1.5)] * 2 + [np.nan])
    assert np.isnan(Table.of(pa.nulls(2)).numeric([0])).all() and np.isnan(Table.of(pa.nulls(2)).categories([0])).all()
    hole = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([7, None]))
    np.testing.assert_array_equal(Table.of(hole).numeric([0])[:, 0], [7, np.nan, np.nan])
    np.testing.assert_array_equal(Table.of(hole).categories([0])[:, 0], [stable_hash(7), np.nan, np.nan])


# -------------------------------------------------------------- zero copy


def test_float64_is_not_copied():
    X = np.arange(6.0).reshape(3, 2)
    assert Table.of(X).numeric([0, 1]) is X
    assert np.shares_memory(Table.of(X[:, 0].copy()).numeric([0]), X) is False
    column = np.arange(3.0)
    assert np.shares_memory(Table.of(column).numeric([0]), column)
    assert np.shares_memory(Table.of(X, columns=["a", "b"]).numeric([0, 1]), X)
    frame = pd.DataFrame(X, copy=False)
    assert np.shares_memory(Table.of(frame).numeric([0, 1]), X)
    array = pa.array(column)
    assert np.shares_memory(Table.of(array).numeric([0]), column)
    assert np.shares_memory(Table.of(pa.table({"a": array})).numeric([0]), column)
    series = pl.Series(column)
    view = np.frombuffer(pa.chunked_array(series).chunk(0).buffers()[1])
    assert np.shares_memory(Table.of(series).numeric([0]), view)
    nullable = pd.Series(column, dtype=pd.ArrowDtype(pa.float64()))
    assert Table.of(nullable).numeric([0]).tolist() == [[0], [1], [2]]
    assert Table.of(Table.of(X)).numeric([0, 1]) is X


# ------------------------------------------------------------- categories

GOLDEN = {
    "": 8444710886577916,
    "a": 151034540435857,
    "5": 1018184921158822,
    "-17": 8429279835681002,
    "0.1": 3384142972340289,
    "true": 1774056729402909,
    "false": 5287679742187683,
    "scumble": 3138221643013314,
    "é☃": 3933116104817185,
    "2020-02-29": 3339791478897627,
    "x" * 1000: 2277465396112546,
}


def test_hashes_never_change():
    assert {text: stable_hash(text) for text in GOLDEN} == GOLDEN


SAME = {
    "5": [5, 5.0, np.int8(5), np.uint64(5), np.float16(5), np.longdouble(5), b"5", Decimal("5.00"), Fraction(5)],
    "0": [0, 0.0, -0.0, Decimal("-0.0"), Decimal("0E+500")],
    "-3": [-3, -3.0, "-3", Decimal(-3)],
    "0.1": [0.1, "0.1", Decimal("0.1"), np.float64(0.1), Fraction(1, 10)],
    "1e-07": [1e-7, Decimal("1e-7")],
    "true": [True, np.True_, "true", b"true"],
    "false": [False, np.False_, "false"],
    "inf": [float("inf"), np.float32("inf"), Decimal("inf")],
    "100000000000000000000": [10**20, 1e20, Decimal("1e20")],
    "1" + "0" * 399: [10**399, Decimal("1e399"), Fraction(10**399)],
    "12E499": [Decimal("120E498"), Decimal("1.2E500")],
    "é☃": ["é☃", "é☃".encode()],
    "2020-02-29": [
        dt.date(2020, 2, 29),
        dt.datetime(2020, 2, 29),
        np.datetime64("2020-02-29"),
        np.datetime64("2020-02-29T00:00", "ns"),
        np.datetime64("2020-02-29T00", "h"),
        pd.Timestamp("2020-02-29"),
    ],
    "2020-02-29T12:30:00": [np.datetime64("2020-02-29T12:30", "m"), dt.datetime(2020, 2, 29, 12, 30)],
    "2020-02-29T12:30:00.5": [
        dt.datetime(2020, 2, 29, 12, 30, 0, 500_000),
        np.datetime64("2020-02-29T12:30:00.500"),
        pd.Timestamp("2020-02-29T12:30:00.5"),
    ],
    "2020-02-29T12:00:00Z": [
        dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC),
        dt.datetime(2020, 2, 29, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        pd.Timestamp("2020-02-29T13:00:00+01:00"),
    ],
    "2020-02-29T00:00:00.000000001": [
        pd.Timestamp("2020-02-29T00:00:00.000000001"),
        np.datetime64("2020-02-29T00:00:00.000000001"),
    ],
    "12:30:00": [dt.time(12, 30)],
}


@pytest.mark.parametrize("text", SAME)
def test_values_that_mean_the_same_agree(text):
    want = stable_hash(text)
    assert [stable_hash(value) for value in SAME[text]] == [want] * len(SAME[text])
    assert 0 <= want < 2**53 and want == int(want)
    column = Table.of(np.fromiter(SAME[text], object)).categories([0])
    assert column.tolist() == [[want]] * len(SAME[text])


def test_values_that_differ_differ():
    values = [
        *("", " ", "a", "A", "5", "5.0", "05", 5, -5, 5.5, True, "True", False, None, "None", "nan", b"\xff", "1e20")
    ]
    found = {stable_hash(value) for value in values if value is not None}
    assert len(found) == len(values) - 2  # 5 is "5", and None is no value
    for gone in (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s"), Decimal("NaN")):
        assert np.isnan(stable_hash(gone))
    for value, text in ((10**5000, hex(10**5000)), (-(10**5000), hex(-(10**5000))), ("\udc80", "\udc80")):
        assert Table.of([value]).categories([0]).tolist() == [[stable_hash(text)]]


text_columns = st.lists(
    st.none() | st.sampled_from(["", "a", "é", "5", "x y", "\0"]) | st.text(st.characters(codec="utf-8")),
    min_size=1,
    max_size=8,
)
int_columns = st.lists(st.none() | st.integers(-(2**53), 2**53), min_size=1, max_size=8)
float_columns = st.lists(st.none() | st.floats(allow_nan=False), min_size=1, max_size=8)
bool_columns = st.lists(st.none() | st.booleans(), min_size=1, max_size=8)
date_columns = st.lists(st.none() | st.dates(dt.date(1700, 1, 1), dt.date(2200, 1, 1)), min_size=1, max_size=8)
time_columns = st.lists(
    st.none() | st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)), min_size=1, max_size=8
)


@settings(max_examples=50, deadline=None)
@given(st.one_of(text_columns, int_columns, float_columns, bool_columns, date_columns, time_columns))
def test_categories_agree_between_containers(values):
    want = np.array([[stable_hash(value)] for value in values])
    for name, X in containers({"a": values}).items():
        found = Table.of(X).categories([0])
        np.testing.assert_array_equal(found, want, err_msg=name)


@pytest.mark.parametrize(
    "column",
    [
        *(np.array(["b", "a", "b"]), np.array([b"b", b"a", b"b"])),
        *(np.array(["b", "a", "b"], dtype=np.dtypes.StringDType()), np.array(["b", "a", "b"], dtype=object)),
        *(pd.Series(["b", "a", "b"], dtype="category"), pd.Series(["b", "a", "b"], dtype="string")),
        *(pl.Series(["b", "a", "b"], dtype=pl.Categorical), pl.Series(["b", "a", "b"], dtype=pl.Enum(["a", "b"]))),
        *(pa.array(["b", "a", "b"], pa.large_string()), pa.array(["b", "a", "b"], pa.string_view())),
        *(pa.array([b"b", b"a", b"b"], pa.binary()), pa.array([b"b", b"a", b"b"], pa.binary(1))),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.chunked_array([pa.array(["b"]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()]),
        ["b", "a", "b"],
    ],
)  # fmt: skip
def test_every_make_of_text(column):
    a, b = stable_hash("a"), stable_hash("b")
    assert Table.of(column).categories([0]).tolist() == [[b], [a], [b]]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_agree_whatever_their_unit(unit):
    want = [stable_hash("2020-02-29"), stable_hash("2020-02-29T12:30:05"), np.nan]
    stamps = np.array(["2020-02-29T00:00:00", "2020-02-29T12:30:05", "NaT"], dtype=f"M8[{unit}]")
    moments = [dt.datetime(2020, 2, 29), dt.datetime(2020, 2, 29, 12, 30, 5), None]
    zoned = pa.array(moments, pa.timestamp(unit, tz="Europe/Berlin"))
    for X in (stamps, pd.Series(stamps), pa.array(moments, pa.timestamp(unit)), pl.Series(moments)):
        np.testing.assert_array_equal(Table.of(X).categories([0])[:, 0], want)
    found = Table.of(zoned).categories([0])[:, 0]
    assert found[0] == stable_hash("2020-02-29T00:00:00Z") and np.isnan(found[2])
    np.testing.assert_array_equal(Table.of(zoned.to_pandas()).categories([0])[:, 0], found)
    if unit != "s":
        of_day = pa.array([dt.time(12, 30), dt.time(0, 0), None], pa.time32("ms") if unit == "ms" else pa.time64(unit))
        want = [stable_hash("12:30:00"), stable_hash("00:00:00"), np.nan]
        np.testing.assert_array_equal(Table.of(of_day).categories([0])[:, 0], want)
        np.testing.assert_array_equal(Table.of([dt.time(12, 30), dt.time(0, 0), None]).categories([0])[:, 0], want)


def test_mixed_categories_of_pandas():
    found = Table.of(pd.Series(pd.Categorical([1, "a", None, 1]))).categories([0])[:, 0]
    np.testing.assert_array_equal(found, [stable_hash(1), stable_hash("a"), np.nan, stable_hash(1)])
    sparse = pd.Series(pd.arrays.SparseArray([0, 1, 0]))
    assert Table.of(sparse).numeric([0]).tolist() == [[0], [1], [0]]


# ----------------------------------------------------------------- tokens


def sets(found) -> list[set[float] | None]:
    values, offsets, gone = found
    assert values.dtype == np.float64 and offsets.dtype == np.int64 and gone.dtype == bool
    assert offsets[0] == 0 and offsets[-1] == len(values) and len(offsets) == len(gone) + 1
    groups = [values[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    assert all(group == sorted(set(group)) for group in groups)
    return [None if lost else set(group) for group, lost in zip(groups, gone, strict=True)]


BAGS = [["a", "b", "a"], [], None, ["c"], ["a", None], ["é"]]
WANT = [{stable_hash("a"), stable_hash("b")}, set(), None, {stable_hash("c")}, None, {stable_hash("é")}]
lists = pa.array(BAGS)


@pytest.mark.parametrize(
    "column",
    [
        *(lists, pa.array(BAGS, pa.large_list(pa.string_view())), pa.array(BAGS, pa.list_view(pa.string()))),
        pa.array(BAGS, pa.large_list_view(pa.string())),
        pa.array(BAGS, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        *(pa.chunked_array([lists.slice(0, 2), lists.slice(2)]), pa.concat_arrays([lists, lists]).slice(6)),
        *(pa.table({"x": lists}), pl.Series(BAGS), pl.DataFrame({"x": BAGS}), pd.Series(BAGS)),
        *(pd.Series(BAGS, dtype=pd.ArrowDtype(lists.type)), np.fromiter(BAGS, object)),
        np.fromiter([bag if bag is None else set(bag) for bag in BAGS], object),
        np.fromiter([bag if bag is None else np.array(bag, dtype=object) for bag in BAGS], object),
        [bag if bag is None else frozenset(bag) for bag in BAGS],
        {"x": [bag if bag is None else set(bag) for bag in BAGS]},
    ],
)
def test_sets_agree_between_containers(column):
    assert sets(Table.of(column).tokens([0])) == WANT


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1, 2], [2, 2], None], pa.list_(pa.int64(), 2)),
        pl.Series([[1, 2], [2, 2], None], dtype=pl.Array(pl.Int64, 2)),
        np.fromiter([(1, 2), (2, 2), None], object),
        np.fromiter([np.array([1.0, 2.0]), np.array([2, 2]), None], object),
        ["1 2", "2\t2 \n", None],
        pa.array(["1 2", "2  2", None], pa.string_view()),
        pa.array(["1 2", "2  2", None]).dictionary_encode(),
        pd.Series(["1 2", "2  2", None]),
        pl.Series(["1 2", "2  2", None], dtype=pl.Categorical),
        pl.Series(["1 2", "2  2", None]),
        np.array([b"1 2", b"2 2", None]),
        ["1\u20032", " 2 ", None],
    ],
)
def test_numbers_and_text_as_tokens(column):
    one, two = stable_hash(1), stable_hash(2)
    assert sets(Table.of(column).tokens([0])) == [{one, two}, {two}, None]


@pytest.mark.parametrize("name", containers(NUMBERS))
def test_columns_of_flags(name):
    data = {"skip": ["p", "q", "r", "s"], "x": [1, 0, 0, 1], "y": [True, False, None, True], "z": [0.0, 0.0, 1.0, 2.5]}
    table = Table.of(containers(data)[name])
    zero, one, two = (stable_hash(j) for j in range(3))
    assert sets(table.tokens([1, 2, 3])) == [{zero, one}, set(), None, {zero, one, two}]
    assert sets(table.tokens([3, 1])) == [{one}, set(), {zero}, {zero, one}]
    assert sets(table.tokens([1])) == [{zero}, set(), set(), {zero}]


def test_tokens_that_cannot_be():
    with pytest.raises(DataError):
        Table.of({"a": [1], "b": np.array(["x"])}).tokens([0, 1])
    struct, nested = pa.array([{"a": 1}]), pa.array([[["a"]]])
    for column in (struct, nested, np.array([1j]), np.array(["2020"], dtype="M8[D]"), pl.Series([dt.time(1)])):
        with pytest.raises(DataError):
            Table.of(column).tokens([0])
    for bad in (np.array([[np.inf, 1], [1, 1]]), np.array([[1, -1], [1, 1]]), {"a": [1, 1], "b": ["x", 1]}):
        assert [one is None for one in sets(Table.of(bad).tokens([0, 1]))] == [True, False]
    found = sets(Table.of(objects([{"a": 1}, [["a"]], ["a"], -1, object()])).tokens([0]))
    assert found == [None, None, {stable_hash("a")}, None, None]

    class Odd(list):
        @property
        def ndim(self):
            raise RuntimeError("hush")

    found = sets(Table.of(objects([Odd(["a"]), ["b"]])).tokens([0]))
    assert found == [{stable_hash("a")}, {stable_hash("b")}], "what a cell's class says of itself stops no others"


# --------------------------------------------------------- names and width


@pytest.mark.parametrize("name", containers(NUMBERS))
def test_columns_are_picked_by_name(name):
    X = containers(NUMBERS)[name]
    named = name not in ("rows", "lists", "objects")
    if not named:
        assert Table.of(X).names is None
        assert Table.of(X, columns=["c", "a", "b"]).names == ("c", "a", "b")
        with pytest.raises(DataError, match="no column names and 3 columns, but 2 were asked for"):
            Table.of(X, columns=["c", "a"])
        return
    table = Table.of(X, columns=["c", "a"], dimensions=2)
    assert table.names == ("c", "a")
    np.testing.assert_array_equal(table.numeric([0, 1]), EXPECTED[:, [2, 0]])
    with pytest.raises(DataError):
        Table.of(X, columns=["A"])


def test_a_name_that_stands_twice_is_ambiguous():
    twice = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "a", "b"])
    for X in (twice, twice.to_pandas()):
        assert Table.of(X).names == ("a", "a", "b")
        assert Table.of(X, columns=["b"]).numeric([0]).tolist() == [[3]]
        with pytest.raises(DataError, match="has 2 columns 'a'"):
            Table.of(X, columns=["a"])


def test_series_have_names():
    assert Table.of(pd.Series([1, 2], name="x"), columns=["x"]).names == ("x",)
    assert Table.of(pl.Series("x", [1, 2]), columns=["x"]).names == ("x",)
    assert Table.of(pl.Series([1, 2]), columns=["x"]).names == ("x",)
    frame = pd.DataFrame(np.eye(2))  # its numbers are no names
    assert Table.of(pd.Series([1, 2])).names is Table.of(frame).names is None
    assert Table.of(frame, columns=["x", "y"]).names == ("x", "y")
    with pytest.raises(DataError):
        Table.of(pd.Series([1, 2], name="x"), columns=["y"])
    for wrong in ("age", [1, 2], [None]):
        with pytest.raises(ParameterError):
            Table.of(np.eye(2), columns=wrong)


def test_a_lazy_frame_reads_only_what_is_asked_for():
    lazy = pl.LazyFrame({"a": [1, 2], "b": [3, 4]}).with_columns(
        pl.col("b").map_batches(_never, return_dtype=pl.Int64).alias("c")
    )
    assert Table.of(lazy, columns=["a"]).numeric([0]).tolist() == [[1], [2]]


def _never(series):
    raise AssertionError("this column was not asked for")


def test_the_width_must_fit():
    for wrong in (1, 3):
        with pytest.raises(DataError):
            Table.of(np.eye(2), dimensions=wrong)
    for flat in (np.arange(3.0), [1.0, 2.0, 3.0], pd.Series([1.0, 2, 3]), pl.Series([1, 2, 3]), pa.array([1, 2, 3])):
        with pytest.raises(DataError):
            Table.of(flat, dimensions=3)
        assert Table.of(flat, dimensions=1).numeric([0]).shape == (3, 1)


# ----------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "cell", ["text", b"bytes", object(), {1, 2}, [1], 1j, dt.timedelta(1), dt.date(2020, 1, 1), pd.Period("2020")]
)
@pytest.mark.parametrize("make", [objects, list, pd.Series, lambda cells: pl.Series(cells, dtype=pl.Object)])
def test_an_object_that_is_no_number_is_a_bad_cell_of_its_own_record(cell, make):
    column = make([1.5, cell, 2.5]) if make is not pd.Series else pd.Series([1.5, cell, 2.5], dtype=object)
    column = [[one] for one in column] if isinstance(column, list) else column
    np.testing.assert_array_equal(Table.of(column).numeric([0])[:, 0], [1.5, np.nan, 2.5])


@pytest.mark.parametrize(
    "cell",
    [
        object(),
        {1, 2},
        dt.timedelta(1),
        dt.time(1, tzinfo=dt.UTC),
        dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5))),  # before the first year in UTC
        pd.Period("2020"),
    ],
)
def test_an_object_that_is_no_category_is_a_bad_cell_of_its_own_record(cell):
    found = Table.of(objects(["a", cell, 7])).categories([0])[:, 0]
    np.testing.assert_array_equal(found, [stable_hash("a"), np.nan, stable_hash(7)])


SECRET = "Rosebud"
NOT_NUMBERS = {
    "text in NumPy": np.array([SECRET]),
    "text in pandas": pd.Series([SECRET]),
    "text in polars": pl.Series([SECRET]),
    "categories in polars": pl.Series([SECRET], dtype=pl.Categorical),
    "text in Arrow": pa.array([SECRET]),
    "bytes": np.array([SECRET.encode()]),
    "times": np.array(["2020-01-01"], dtype="M8[s]"),
    "times in pandas": pd.Series(pd.to_datetime(["2020-01-01"], utc=True)),
    "times in polars": pl.Series([dt.datetime(2020, 1, 1)]),
    "durations": np.array([5], dtype="m8[s]"),
    "complex": np.array([1j]),
    "lists": pa.array([[1.0]]),
    "structs": pa.array([{"x": 1}]),
    "periods": pd.Series(pd.period_range("2020", periods=1, freq="M")),
    "intervals": pd.Series(pd.interval_range(0, 1)),
    "durations in Arrow": pa.array([dt.timedelta(1)]),
    "durations in polars": pl.Series([dt.timedelta(1)]),
    "structs in polars": pl.Series([{"x": 1}]),
}
CATEGORIES = ("text", "categories", "bytes", "times")
"""What is one nevertheless, by how its name begins."""


class Broken:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no")


@pytest.mark.parametrize("what", NOT_NUMBERS)
def test_what_is_no_number_is_refused_without_showing_it(what):
    with pytest.raises(DataError) as caught:
        Table.of(NOT_NUMBERS[what]).numeric([0])
    assert SECRET not in str(caught.value) and "2020" not in str(caught.value)
    if not what.startswith(CATEGORIES):
        with pytest.raises(DataError):
            Table.of(NOT_NUMBERS[what]).categories([0])


@pytest.mark.parametrize(
    "X",
    [
        *(scipy.sparse.eye_array(3).tocsr(), scipy.sparse.csr_matrix(np.eye(2)), scipy.sparse.dok_array(np.eye(2))),
        *(None, "people.csv", 5, iter([1]), np.float64(5), np.zeros((2, 2, 2)), Broken()),
        *([[1, 2], [3]], [[1, 2], 3], [{"a": 1}], {"a": [1], "b": [1, 2]}, {"a": np.eye(2)}),
    ],
)
def test_what_is_no_table_is_refused(X):
    with pytest.raises(DataError):
        Table.of(X)


# ------------------------------------------------------------- dependencies


def test_neither_pandas_nor_polars_is_imported(tmp_path: Path) -> None:
    """It takes a second and more to import, and ``pa.array(mask)`` does it."""
    pq.write_table(pa.table({"x": [1.0, 2.0, np.nan, 3.0], "c": ["u", "v", "u", "w"]}), tmp_path / "a.parquet")
    code = """
import sys, warnings, scumble
import numpy as np
from scumble.columns.table import Table
for X in (np.eye(2), [["a", 1], ["b", None]], {"a": ["x y", None]}):
    table = Table.of(X)
    table.categories([0]); table.tokens([0])
warnings.simplefilter("ignore")
options = {"label": "c", "classes": ["u", "v"], "invalid": "drop", "rows": 4, "buckets": 8, "epsilon": 1}
scumble.build_by("a.parquet", scumble.EuclideanKernel(1.0), ["x"], **options)
print("pandas" in sys.modules, "polars" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "False False"


DRESSED = {
    "$326": 326.0,
    "-$1,234.50": -1234.5,
    "$-1,234.50": -1234.5,
    "€ 12": 12.0,
    "-€\u202f1,234": -1234.0,
    "12.5 %": 12.5,
    "12\u00a0%": 12.0,
    "+7": 7.0,
    "5\n": 5.0,
    "\u00a05\u202f": 5.0,
    "7\u2009000": 7000.0,
    "1,234,567": 1234567.0,
    "1 234 567.5": 1234567.5,
    "1\u00a0234\u202f567": 1234567.0,
    "3€": 3.0,
    **dict.fromkeys(["-$-1", "12,5", "1,23,456", "1234,567", ",123", "$", "%", "$1 %5", "1 2", "1.2.3", "$1e3", "+-5"]),
    **dict.fromkeys(["++5", "١٢", "1 23", "1 2345", "1  234", "1 234,567"]),
}


@pytest.mark.parametrize("text", DRESSED)
def test_numbers_as_people_write_them(text: str) -> None:
    (arrow,) = numbers_from_text(pa.array([text])).to_pylist()
    single = number_in(text.encode())
    assert arrow == DRESSED[text] and (single == arrow if arrow is not None else np.isnan(single))


@given(st.text(alphabet="0123456789+-.,$€% \u00a0\u202fe\n", max_size=12))
def test_text_says_the_same_number_in_either_reader(text: str) -> None:
    (arrow,) = numbers_from_text(pa.array([text])).to_pylist()
    single = number_in(text.encode())
    assert (arrow is None and np.isnan(single)) or arrow == single


# ---- columns side by side, by NumPy and by a compiled loop ----


WAYS = pytest.mark.parametrize("way", ["numpy", "compiled"])


@pytest.fixture
def goes(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Has columns written in one of the ways; gives the list that tells which was gone."""

    def go(way: str) -> list[str]:
        gone: list[str] = []
        slow, quick = tables._by_numpy, tables._rows
        monkeypatch.setattr(tables, "numpy_first", Patience(*[0 if way == "compiled" else 1 << 62] * 2))
        monkeypatch.setattr(tables, "_by_numpy", lambda *args: gone.append("numpy") or slow(*args))
        monkeypatch.setattr(tables, "_rows", lambda *args: gone.append("compiled") or quick(*args))
        return gone

    return go


@WAYS
@pytest.mark.parametrize("many", [*range(1, 10), 16, 19])
@pytest.mark.parametrize("rows", [0, 1, 2 * tables.BLOCK + 5])
def test_every_column_stands_in_its_place(way: str, many: int, rows: int, goes: Callable[[str], list[str]]) -> None:
    values = np.random.default_rng(many).normal(size=(rows, many))
    gone = goes(way)
    found = Table.of({f"c{j}": values[:, j].copy() for j in range(many)}).numeric(range(many))
    assert found.tobytes() == values.tobytes() and found.flags.c_contiguous
    assert set(gone) <= {way} and (gone or many == 1)


@WAYS
def test_arrow_in_any_shape(way: str, goes: Callable[[str], list[str]]) -> None:
    """Missing cells, columns of other types, slices, and tables in pieces."""
    values = np.random.default_rng(0).normal(size=(500, 3))
    there = np.arange(500) % 7 == 0
    columns = [pa.array(values[:, j], mask=there if j == 1 else None) for j in range(3)]
    wanted = np.where(there[:, None] & [False, True, False], np.nan, values)
    whole = pa.record_batch(columns, names=["a", "b", "c"])
    gone = goes(way)
    for table, expected in (
        (whole, wanted),
        (whole.slice(9, 400), wanted[9:409]),
        (pa.Table.from_batches([whole, whole.slice(3)]), np.vstack([wanted, wanted[3:]])),
        (whole.set_column(2, "c", columns[2].cast(pa.float32())), np.c_[wanted[:, :2], values[:, 2].astype("f4")]),
    ):
        assert np.array_equal(Table.of(table).numeric([2, 1, 0]), expected[:, [2, 1, 0]], equal_nan=True)
    assert gone == [way] * 5


@WAYS
@pytest.mark.parametrize("many", [2, 8, 11])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, None])
def test_the_ends_are_those_of_the_matrix(
    way: str, many: int, odd: float | None, goes: Callable[[str], list[str]]
) -> None:
    """In one piece and in three. What is no number takes the ends of its line of columns along, and of no other."""
    values = np.random.default_rng(many).normal(size=(3_000, many))
    if odd is not None:
        values[1_500, 1] = odd
    batches = [pa.record_batch(list(part.T.copy()), names=[*map(str, range(many))]) for part in np.split(values, 3)]
    goes(way)
    for table in (pa.Table.from_batches(batches), {str(j): values[:, j].copy() for j in range(many)}):
        matrix, (low, high) = Table.of(table).with_ends(range(many))
        assert np.array_equal(matrix, values, equal_nan=True)
        for found, wanted in zip((low, high), ends(values), strict=True):
            lost = np.isnan(wanted[1]) & (np.arange(many) < tables.LINE)
            assert np.isnan(found[lost]).all() and np.array_equal(found[~lost], wanted[~lost])
