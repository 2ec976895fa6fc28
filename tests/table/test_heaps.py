"""Records beyond the bounds count at them: where that shows, whoever asks is told."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.cli import main
from scumble.show.cards import card, lines

HEAP = "Far more records are at the bound 1990 of 'year' than beside it"


def release(year: np.ndarray, column: scumble.Number) -> scumble.TableRelease:
    table = pa.table({"year": year, "sex": np.arange(len(year)) % 2 == 0})
    schema = scumble.Schema(year=column, sex=scumble.Boolean())
    return scumble.TableSketch(schema).update(table).release(epsilon=2.0)


@pytest.fixture(scope="module")
def years() -> np.ndarray:
    return np.random.default_rng(5).integers(1950, 2010, 6_000)


@pytest.mark.parametrize(
    "ask",
    [
        lambda found: found.count("year == 1990"),
        lambda found: found.count("sex == True and year <= 1990"),
        lambda found: found.mean("year"),
        lambda found: found.sum("year", where="sex == True"),
        lambda found: found.quantile("year", [0.9, 0.95]),
        lambda found: found.histogram("year"),
        lambda found: found.count(by="year"),
    ],
)
def test_whoever_asks_about_a_heap_at_a_bound_is_told_once(years: np.ndarray, ask: object) -> None:
    found = release(years, scumble.Number(1950, 1990, whole=True))
    with pytest.warns(UserWarning, match=HEAP) as told:
        ask(found)  # type: ignore[operator]
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(found)  # type: ignore[operator]


def test_nobody_is_told_where_nothing_heaps(years: np.ndarray) -> None:
    """Bounds that hold all, records left out instead, zeros, few that heap, a question about another column."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(years, scumble.Number(1950, 2009, whole=True)).mean("year")
        release(years, scumble.Number(1950, 1990, whole=True, outside="drop")).mean("year")
        release(np.maximum(years - 1990, 0), scumble.Number(0, 30, whole=True)).mean("year")
        few = np.append(np.arange(6_000) % 30 + 1950, [1990] * 55)
        release(few, scumble.Number(1950, 1990, whole=True)).mean("year")
        release(years, scumble.Number(1950, 1990, whole=True)).count("sex == True")


def test_zeros_in_the_first_cell_are_no_heap_at_the_bound() -> None:
    """Half of the numbers are 0, and the first of 64 cells begins a little below: none of them lay beyond it."""
    profit = np.where(np.arange(6_000) % 2 == 0, 0.0, np.random.default_rng(7).exponential(40_000, 6_000))
    for column in (scumble.Number(-100, 500_000), scumble.Number(-100, 500_000, zeros=True)):
        found = release(profit, column)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            above, below = found.count("year > 0"), found.count("year < -99")
        # Of 3,000 and none: 25 standard errors or more, and Laplace's tail is below 1e-14 there.
        assert above.value > 2_500 and below.value < 500
    assert above.standard_error < 100 and abs(above.value - 3_000) < 500


def falling(low: int) -> np.ndarray:
    """Counts from `low` on, each a fifth as frequent as the one before it."""
    return np.minimum(low + np.random.default_rng(3).geometric(0.8, 6_000) - 1, low + 9)


def test_counts_that_begin_at_one_heap_there_by_nature() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(falling(1), scumble.Number(1, 10, whole=True)).mean("year")


@pytest.mark.parametrize(
    ("years", "column", "bound"),
    [
        (falling(2), scumble.Number(2, 11, whole=True), "2"),
        (falling(1) + 0.5, scumble.Number(1, 11, cells=10), "1"),
        (11 - falling(1), scumble.Number(1, 10, whole=True), "10"),
    ],
)
def test_other_bounds_of_counts_are_told_as_before(years: np.ndarray, column: scumble.Number, bound: str) -> None:
    """About 4,800 at the bound and 960 beside it: 4,800 − 3 × 960 is 1,920. At ε = 2 a counter's noise has a scale b of
    at most 9, what is compared a standard error of at most √10 × √2 b < 41, and the warning asks for four of these: it
    is missed only if the noise of one is beyond 870, or that of the other beyond 290: 2 e^(−290 / 9), below 1e-13."""
    with pytest.warns(UserWarning, match=f"at the bound {bound} of 'year'"):
        release(years, column).mean("year")


def test_the_card_says_what_columns_hold_and_the_command_line_tells_of_heaps(
    years: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = release(years, scumble.Number(1950, 1990, whole=True))
    told = " ".join(card(found, "t").split())
    assert "Columns year: whole number, 1950 to 1990; sex: boolean" in told
    assert "What lies outside bounds counts at the nearest." in told
    found.save(tmp_path / "t.scumble")
    assert main(["count", str(tmp_path / "t.scumble"), "--where", "year == 1990", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["remarks"][0].startswith(HEAP)


def test_a_long_vocabulary_is_cut_between_words() -> None:
    words = [f"word number {k}" for k in range(40)]
    schema = scumble.Schema(c=scumble.Category(words, other=False))
    found = scumble.TableSketch(schema).update(pa.table({"c": words * 30})).release(epsilon=2.0)
    assert "'word number 2', …, others not counted, missing." in " ".join(card(found, "t").split())


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (scumble.Category(["TV-MA", "TV-14", "R", "PG-13", "TV-Y", "Köln"]), "'TV-Y', 'Köln', others, missing."),
        (scumble.Category(["yes", "no"], other=False, missing=False), "'yes', 'no', others not counted."),
        (scumble.Category(["yes" * 40], other=False), f"'{'yes' * 19}ye…, others not counted, missing."),
        (scumble.Category(["yes" * 40, "no"], missing=False), f"'{'yes' * 19}ye…, …, others."),
    ],
)
def test_dots_stand_for_words_alone_and_what_becomes_of_others_is_told(column: scumble.Category, told: str) -> None:
    found = scumble.TableSketch(scumble.Schema(c=column), invalid="drop").update(pa.table({"c": ["no"]}))
    assert told in dict(lines(found.release(epsilon=2.0)))["Columns"]


def test_cells_of_any_width_and_few_of_them_are_no_heaps() -> None:
    """A wide last cell holds more than a narrow one beside it, and of five grades the best may be the commonest."""
    ages, grades = np.random.default_rng(2).uniform(0, 90, 6_000), np.array([5] * 70 + [4, 3, 2] * 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(ages, scumble.Number(0, 100, edges=[0, 1, 2, 3, 4, 5, 6, 7, 8, 100])).mean("year")
        release(np.repeat(grades, 50), scumble.Number(1, 5, whole=True)).mean("year")


def at_bounds(where: str, outside: str = "clip") -> tuple[scumble.Estimate, scumble.Estimate]:
    """A count, and that of its contrary, of 873 records above the bounds, 1,200 below them, and 20,000 in between."""
    pay = np.concatenate([np.linspace(20, 90, 20_000), np.full(873, 130.0), np.full(1_200, 3.0)])
    schema = scumble.Schema(pay=scumble.Number(10, 100, outside=outside), sex=scumble.Boolean())
    sketch = scumble.TableSketch(schema).update(pa.table({"pay": pay, "sex": np.arange(len(pay)) % 2 == 0}))
    found = sketch.release(epsilon=50.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return found.count(where), found.count(f"not ({where})")


@pytest.mark.parametrize(
    ("where", "truth"),
    [
        ("pay >= 100", 873),
        ("pay == 100", 873),
        ("pay > 99.9", 873),
        ("pay <= 10", 1_200),
        ("pay == 10", 1_200),
        ("pay < 100 and pay > 10", 20_000),
        ("pay >= 100 and sex == True", 436),
    ],
)
def test_what_heaps_at_a_bound_is_meant_by_whoever_asks_for_the_bound(where: str, truth: int) -> None:
    """A bound is one value of its cell, and what lay beyond it counts there."""
    found, contrary = at_bounds(where)
    assert found.value == pytest.approx(truth, abs=30) and found.low <= truth <= found.high
    assert found.value + contrary.value == pytest.approx(22_073, abs=60)


def test_where_nothing_can_heap_a_bound_is_one_value_of_its_cell() -> None:
    """Records beyond the bounds were left out; and at zero, coarse cells cannot tell."""
    assert at_bounds("pay >= 100", "drop")[0].value == pytest.approx(0, abs=10)
    crowded = np.random.default_rng(1).exponential(10.0, 6_000)
    found = release(crowded, scumble.Number(0, 1_000, zeros=False))
    for bound in ("year <= 0", "year >= 1000"):
        assert found.count(bound).value == pytest.approx(0, abs=1e-9)
    assert found.count("year <= 0").high > 1_000


def test_only_a_bound_is_a_number_that_cells_can_tell() -> None:
    found = release(np.linspace(1951, 1989, 6_000), scumble.Number(1950, 1990))
    with pytest.raises(scumble.ParameterError, match="cannot tell a single number"):
        found.count("year == 1960")
    assert found.count("year == 1990").value == pytest.approx(0, abs=1e-9)
