"""Where cells begin, what lies in them, and that a synthetic value comes back to its level."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble.columns import line
from scumble.columns.category import Boolean, Category
from scumble.columns.column import UNFORESEEN, Column, Part
from scumble.columns.cuts import real_edges, whole_edges
from scumble.columns.date import Date
from scumble.columns.number import Number
from scumble.columns.schema import Schema


def test_the_cells_of_a_file_stay_what_they_are() -> None:
    """These very numbers: another edge would move records of sketches that were made before."""
    assert whole_edges(0, 99_999, 12, log=True) == [0, 1, 2, 5, 15, 45, 135, 406, 1221, 3673, 11049, 33240, 100000]
    assert whole_edges(-3, 1000, 7, log=False) == [-3, 140, 283, 427, 570, 714, 857, 1001]
    assert real_edges(0.0, 50.0, 6, log=True) == [0.0, 5e-05, 0.0015811388300841897, 0.05, 1.5811388300841898, 50.0]
    assert real_edges(-0.1, 0.2, 3, log=False) == [-0.1, 0.0, 0.1, 0.2]
    assert (
        Number(0, 1, cells="equal").size == 64
        and Number(1, 128, whole=True).size == 128
        and Number(1, 129, whole=True, cells="equal").size == 64
    )
    for years in (("2020", "2021"), (2020, 2021), ("2020-01", "2021-12")):  # the whole of both, as in --bounds
        assert Date(*years) == Date("2020-01-01", "2021-12-31")  # type: ignore[arg-type]
    assert Date("2020-01-01", "2020-02-29").size == 60 and Date("2020-01-01", "2020-12-31", cells="equal").size == 64


def test_stored_columns_without_a_word_on_cells_have_equal_ones() -> None:
    said = [{"kind": "number", "low": 0, "high": 99_999}, {"kind": "date", "low": "2020-01-01", "high": "2025-12-31"}]
    cut = {"kind": "number", "low": 0, "high": 9, "edges": [0, 5, 9]}
    stored = Schema.from_dict({"columns": [{"name": str(k), **one} for k, one in enumerate([*said, cut])]})
    assert stored["0"] == Number(0, 99_999, cells=64) and stored["1"] == Date("2020", "2025", cells=64)
    assert stored["2"].size == 2 and Schema.from_dict(stored.to_dict()) == stored
    today = Schema(n=Number(0, 99_999), d=Date("2020", "2025"))
    assert Schema.from_dict(today.to_dict()) == today != stored


@pytest.mark.parametrize(
    ("column", "edges"),
    [
        (Number(0, 99_999, zeros=False), [*range(0, 99_000, 2000), 99_999]),
        (Number(0, 99_999, whole=True, zeros=False), [*range(0, 99_000, 2000), 100_000]),
        (Number(17, 1000, whole=True), [17, *range(40, 1000, 20), 1001]),
        (Number(49.9, 51), [49.9, *(k / 50 for k in range(2496, 2550)), 51.0]),
        (Number(1, 129, whole=True), [1, *range(2, 130, 2), 130]),
    ],
)
def test_cells_that_nobody_chose_have_round_edges(column: Number, edges: list[float]) -> None:
    found = column.cuts.values(np.array(column.cuts.edges))
    found[-1] = column.high if column.cuts.real else found[-1]
    assert found.tolist() == edges


@given(low=st.floats(1e-200, 1e200), ratio=st.floats(1.001, 1e50), zero=st.booleans())
@settings(deadline=None, max_examples=60)
def test_round_edges_cover_the_bounds_in_about_as_many_cells(low: float, ratio: float, zero: bool) -> None:
    for scale in ("linear", "log"):
        column = Number(0 if zero else low, low * ratio, scale=scale, zeros=False if scale == "linear" else None)
        edges = column.cuts.values(np.array(column.cuts.edges))
        assert 40 <= column.size <= 100 and (edges[0], edges[-2] < column.high) == (column.low, True)
        lengths = column.cuts.lengths[2 if zero and scale == "log" else 0 :]
        assert lengths.max() <= 2.2 * lengths.mean()  # each edge is rounded by less than half a step
        shown = [f"{edge:.17g}" for edge in edges[1:-1]]
        assert all(float(f"{edge:.6g}") == edge for edge in edges[1:-1] if edge > 1e-300) or ratio < 1.1, shown


@given(low=st.floats(1e-200, 1e200), ratio=st.floats(1.001, 1e50), cells=st.integers(1, 40))
@settings(deadline=None, max_examples=60)
def test_logarithmic_edges_are_correctly_rounded(low: float, ratio: float, cells: int) -> None:
    high = low * ratio
    with mpmath.workdps(60):
        want = [float(mpmath.mpf(low) * (mpmath.mpf(high) / low) ** (mpmath.mpf(k) / cells)) for k in range(1, cells)]
    assert real_edges(low, high, cells, log=True) == [low, *want, high]


@given(low=st.floats(-1e100, 1e100), high=st.floats(-1e100, 1e100), cells=st.integers(1, 40))
def test_linear_edges_are_correctly_rounded(low: float, high: float, cells: int) -> None:
    if low < high:
        width = Fraction(high) - Fraction(low)
        want = {float(Fraction(low) + width * Fraction(k, cells)) for k in range(cells + 1)}
        assert real_edges(low, high, cells, log=False) == sorted(want)


@given(low=st.integers(0, 10**6), span=st.integers(1, 10**9), cells=st.integers(1, 200), log=st.booleans())
def test_whole_cells_are_as_many_as_asked_for(low: int, span: int, cells: int, log: bool) -> None:
    edges = whole_edges(low, low + span, cells, log=log)
    assert edges[0] == low and edges[-1] == low + span + 1
    assert all(one < other for one, other in pairwise(edges))
    most = min(cells, span + 1)
    assert len(edges) - 1 == (2 if log and low == 0 and most == 1 else most)


BOUND = st.integers(-50, 50)


@st.composite
def numbers(draw: Any) -> Number:
    whole, log = draw(st.booleans()), draw(st.booleans())
    low = draw(st.integers(0, 5) if log else BOUND)
    high = low + draw(st.integers(1, 2000))
    options: dict[str, Any] = {"whole": whole, "scale": "log" if log else "linear", "missing": draw(st.booleans())}
    if draw(st.booleans()):
        inner = draw(st.lists(st.integers(low + 1, high), max_size=5, unique=True))
        return Number(edges=sorted({low, *inner, high}), **options)
    return Number(low, high, cells=draw(st.sampled_from([None, 1, 2, 3, 7, 40])), **options)


@st.composite
def dates(draw: Any) -> Date:
    resolution = draw(st.sampled_from([None, "day", "hour", "minute", "second"]))
    low = draw(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)))
    high = low + dt.timedelta(days=draw(st.integers(1, 400)))
    cells = draw(st.sampled_from([None, 1, 5]))
    return Date(low, high.isoformat(), resolution=resolution, cells=cells, missing=draw(st.booleans()))


WORDS = st.one_of(st.text("abé\"'\\\n\x7f#", max_size=3), st.integers(-3, 3), st.just(0.5), st.booleans())


@st.composite
def categories(draw: Any) -> Category:
    words = draw(st.lists(WORDS, min_size=1, max_size=6, unique_by=lambda word: str(word).strip().casefold()))
    flags = {name: draw(st.booleans()) for name in ("other", "missing", "strip", "ignore_case")}
    return Category(words, **flags, missing_words=draw(st.sampled_from([(), ["-"], ["-", "n/a"]])))


COLUMNS = st.one_of(numbers(), dates(), categories(), st.builds(Boolean, missing=st.booleans()))


@settings(deadline=None, max_examples=150)
@given(column=COLUMNS, seed=st.integers(0, 2**32))
def test_what_is_drawn_comes_back_to_its_level(column: Column, seed: int) -> None:
    codes = np.repeat(np.arange(column.size), 5)
    drawn = column.decode(codes, np.random.default_rng(seed))
    back = column.encode(drawn).codes
    assert back.tolist() == codes.tolist()
    gone = column.missing * (codes == column.size - 1)
    assert [cell is None for cell in drawn.to_pylist()] == gone.tolist()
    if isinstance(column, Category | Boolean):
        assert column.places(drawn).tolist() == codes.tolist()


@settings(deadline=None, max_examples=100)
@given(column=COLUMNS)
def test_levels_have_names_of_their_own(column: Column) -> None:
    assert len(column.levels) == column.size == len(set(column.levels)) == len(column.representative)
    everything = column.weights(Part((column.line,), True))
    assert everything[0].tolist() == [1.0] * column.size and not everything[1].any()
    nothing = column.weights(Part(()))
    assert nothing[0].tolist() == [0.0] * column.size and not nothing[1].any()
    assert eval(repr(column), {type(column).__name__: type(column)}) == column
    assert Column.from_dict(column.to_dict(), "x") == column and hash(column) is not None


@settings(deadline=None, max_examples=150)
@given(column=numbers(), shares=st.lists(st.floats(0, 1, exclude_max=True), min_size=2, max_size=2))
def test_the_share_of_a_cell_is_where_its_values_lie(column: Number, shares: list[float]) -> None:
    """`at` and `shares` are two readings of one law: the share below the value at share u is u."""
    codes = np.arange(column.cuts.size)
    values = column.cuts.at(codes, np.full(len(codes), shares[0]))
    for code, value in zip(codes, values, strict=True):
        first, end = column.cuts.edges[code : code + 2]
        place = line.place_of(float(value)) if column.cuts.real else int(value)
        below, _ = column.cuts.shares(line.joined(((column.line[0], place),)))
        upto, _ = column.cuts.shares(((column.line[0], place + 1),))
        assert first <= place < end
        assert below[code] - 1e-9 <= shares[0] <= upto[code] + 1e-9


@settings(deadline=None, max_examples=40)
@given(column=numbers())
def test_the_mean_of_a_cell_is_the_mean_of_its_values(column: Number) -> None:
    steps = (np.arange(4_000) + 0.5) / 4_000
    for code, mean in enumerate(column.cuts.means):
        values = column.cuts.at(np.full(len(steps), code), steps)
        width = float(np.ptp(values)) + 1e-12 * abs(mean)
        assert abs(values.mean() - mean) <= 1e-3 * width + 1e-12


def test_cells_as_narrow_as_floats_are() -> None:
    narrow = Number(1, math.nextafter(math.nextafter(1, 2), 2), cells=9, missing=True)
    one, two, three = 1.0, math.nextafter(1, 2), math.nextafter(math.nextafter(1, 2), 2)
    assert narrow.encode([one, two, three, 0, 9]).codes.tolist() == [0, 1, 1, 0, 1]
    assert len(set(narrow.levels)) == 3
    share, partly = narrow.weights(Part(((line.place_of(three), narrow.line[1]),)))
    assert share.tolist() == [0, 0.5, 0] and partly.tolist() == [False, True, False]
    wide = Number(-1e300, 1e300, cells=2)
    assert wide.weights(Part(((line.place_of(-5e299), 0),)))[0] == pytest.approx([0.5, 0])
    assert [wide.encode([x]).codes[0] for x in (-1e308, -5e-324, 0, 1e308)] == [0, 0, 1, 1]


def test_zero_has_a_cell_of_its_own() -> None:
    for column in (
        Number(0, 99_999, scale="log"),
        Number(edges=[0, 10, 99_999], scale="log"),
        Number(0, 1e-9, scale="log"),
    ):
        codes = column.encode([0, -0.0, -3, 5e-324, 1e-320]).codes
        assert codes.tolist() == [0, 0, 0, 1, 1], column
        assert column.levels[0] == "0" and column.representative[0] == 0
    whole = Number(0, 99, scale="log", whole=True, edges=[0, 10, 99])
    assert whole.levels == ("0", "1 to 9", "10 to 99")


def test_types_of_synthetic_values() -> None:
    rng = np.random.default_rng(0)
    kinds = {
        Number(0, 9, whole=True, missing=True): pa.int64(),
        Number(0, 9): pa.float64(),
        Date("2020-01-01", "2020-01-09"): pa.date32(),
        Date("2020-01-01T00:00", "2020-01-09"): pa.timestamp("s"),
        Date("2020-01-01T00:00Z", "2020-01-09"): pa.timestamp("s", "UTC"),
        Date("2020-01-01", "2020-01-09", resolution="hour"): pa.timestamp("s"),
        Boolean(): pa.bool_(),
        Category(["a"]): pa.dictionary(pa.int32(), pa.string()),
        Category([1, 2]): pa.dictionary(pa.int32(), pa.string()),
        Category([1, 2], other=False): pa.int64(),
        Category([1, 2.5], other=False): pa.float64(),
        Category([True, False], other=False): pa.bool_(),
        Category([True, 2], other=False): pa.dictionary(pa.int32(), pa.string()),
    }
    for column, kind in kinds.items():
        assert column.decode([0, column.size - 1], rng).type == kind, column
    assert Category(["a"]).decode([0, 1, 2], rng).to_pylist() == ["a", "(other)", None]
    for bad in ([0, 9], [-1], [0.5], [[0]]):
        with pytest.raises(scumble.ParameterError):
            Boolean().decode(bad, rng)


BAD = r"""
Number() | Number(0) | Number(5, 5) | Number(math.nan, 5) | Number(0, math.inf) | Number(0, 1e301) |
Number(0, 10**5000) | Number(0, 1e-300, scale="log") | Number(1e-300, 1, scale="log") | Number("0", 1) |
Number(True, 5) | Number(0.5, 5, whole=True) | Number(0, 2**53, whole=True) | Number(-1, 5, scale="log") |
Number(0, 5, scale="logarithmic") | Number(0, 5, cells=0) | Number(0, 5, cells=2**16) | Number(0, 5, cells=True) |
Number(0, 5, cells=3, edges=[0, 5]) | Number(edges=[0, 5, 5]) | Number(edges=[0]) | Number(edges="05") |
Number(1, edges=[0, 5]) | Number(0, 5, outside="wrap") | Number(0, 5, missing="yes") | Date() |
Date("2020-01-01", "2019-01-01") | Date("soon", "2019-01-01") | Date(edges=["2019", "spring", "2021"]) |
Date(20200101, 20211231) | Date("2020-01-01T12:30", "2021-01-01", resolution="day") |
Date("2020-01-01", "2021-01-01", resolution="week") | Date(edges=["2020-01-01", "2020-01-01", "2020-02-01"]) |
Date("2020-01-01", "2021-01-01", edges=["2020-01-01", "2020-02-01"]) | Category([]) | Category("ab") |
Category(["a", "a"]) | Category([5, "5"]) | Category(["(other)"]) | Category([None]) | Category([math.nan]) |
Category(["\ud800"]) | Category(["a" * 10_001]) | Category([2**63]) | Category(["<?>"]) | Category() |
Category(list(range(2**16))) | Boolean(missing=1) | Number(edges=[0, 1.5, 3], whole=True) |
Date("2020-02-30", "2021") | Date("2020", "2021", cells="fortnight") | Schema() | Schema("town.toml") |
Schema(a="number") | Schema({"a": Boolean()}, a=Boolean()) | Schema({"": Boolean()}) | Schema([("a", Boolean())]) |
Category(list(range(2**16 - 1))) | Category(["a"], missing_words="-") | Category(["a"], missing_words=5) |
Category(["a"], missing_words=["-", 5]) | Category(["a"], missing_words=["\n"])
"""


@pytest.mark.parametrize("call", BAD.replace("\n", " ").strip().split(" | "))
def test_bad_parameters_are_refused(call: str) -> None:
    with pytest.raises(scumble.ParameterError):
        eval(call)


def test_edges_are_written_as_conditions_write_them() -> None:
    """Without a power of ten up to the trillions, and no two levels alike."""
    column = Number(-2e12, 2e12, cells=4, zeros=False)
    assert (
        column.levels[0] == "[-2000000000000, -1000000000000)" and column.levels[-1] == "[1000000000000, 2000000000000]"
    )
    near = Number(1e13, 1e13 + 4, cells=4)
    assert near.levels[1] == "[10000000000001.0, 10000000000002.0)" and len({*near.levels}) == 4
    for one in (column, near):
        ends = [[float(end) for end in level.strip("[)]").split(", ")] for level in one.levels]
        assert one.encode([low for low, _ in ends]).codes.tolist() == [0, 1, 2, 3]


def test_the_last_day_is_included_to_its_end() -> None:
    hours = Date("2020-01-01", "2020-01-02", resolution="hour", outside="drop")
    assert hours.size == 48 and hours.levels[-1] == "2020-01-02T23:00"
    assert hours.encode(["2020-01-02T23:59:59.9", "2020-01-03"]).codes.tolist() == [47, -2]


def test_columns_are_values() -> None:
    assert Number(0, 9) == Number(0.0, 9.0) != Number(0, 9, whole=True)
    assert Date(dt.date(2020, 1, 1), "2020-02-01") == Date("2020-01-01", np.datetime64("2020-02-01"))
    assert Date("2020-01-01T12:00+02:00", "2021-01-01T00:00Z").low == "2020-01-01T10:00:00Z"
    assert Category(["a", np.int64(5)]) == Category(("a", 5)) and Category(["a", "b"]) != Category(["b", "a"])
    assert len({Category([1]), Category([True]), Category([1.0]), Category(["1"])}) == 4
    assert Category([dt.date(2020, 1, 1)]).values == ("2020-01-01",)
    assert Category(list(range(2**16 - 2))).size == 2**16
    with pytest.raises(AttributeError):
        Number(0, 9).low = 1  # type: ignore[misc]
    assert repr(Number(0, 9, whole=True, missing=True)) == "Number(0, 9, whole=True, missing=True)"


def test_what_is_no_word_has_no_place() -> None:
    assert Category(["a"]).span("(other)") == (1, 2)
    for word in ("(other)", None, "b"):
        with pytest.raises(scumble.ParameterError):
            Category(["a"], other=False).span(word)


def test_a_column_that_is_not_there_is_a_key_error_with_the_nearest() -> None:
    schema = scumble.Schema(age=scumble.Number(0, 99), town=scumble.Category(["Ulm"]))
    with pytest.raises(KeyError, match="Did you mean 'age'") as caught:
        schema["agee"]
    assert isinstance(caught.value, scumble.ParameterError)
    assert schema.get("agee") is None and "agee" not in schema and "age" in schema


@pytest.mark.parametrize("words", [{"Ulm": "BW"}, {"Ulm": "BW", "Bonn": "NRW"}], ids=["one word", "two words"])
def test_a_word_that_is_unknown_leaves_its_record_out_however_few_there_are(words: dict[str, str]) -> None:
    closed = {"other": False, "missing": False}
    schema = scumble.Schema(
        town=scumble.Category([*words], within="state", parents=words, **closed),
        state=scumble.Category([*words.values()], **closed),
    )
    table = {"town": ["Ulm", "Rome", None], "state": ["BW", "BW", "BW"]}
    found = schema.encode(table, invalid="drop")
    assert found.dropped.tolist() == [False, True, True] and found.codes[0].tolist() == [0, 0]
    assert found.codes[1].tolist() == [UNFORESEEN, UNFORESEEN]
    assert scumble.TableSketch(schema, invalid="drop").update(table).count == 1
