"""What is allowed for where no view tells: by what the columns are, and by how alike they are."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from scumble.views.columnsums import ColumnSums
from scumble.views.evidence import Evidence, View
from scumble.views.grouping import Column
from scumble.views.intervals import Reading
from scumble.views.mixture import Mixture
from scumble.views.unseen import ANY, LEAST, LEAST_LINES, MISSING, POOLED, UNKNOWN, UNKNOWN_LINES, WITHIN, Unseen

N = 10_000.0
HALF = np.array([1.0, 1.0, 0.0, 0.0])


def of(
    columns: tuple[Column, ...], counts: list[np.ndarray], *pairs: View, phi: float = UNKNOWN, noise: float = 1.0
) -> Unseen:
    """A model of independent columns, beside views of their own counts."""
    views = (*(View((j,), np.asarray(one, float), noise) for j, one in enumerate(counts)), *pairs)
    groups = tuple(np.arange(column.levels) for column in columns)
    seen = Evidence(columns, groups, views)
    model = Mixture(np.ones(1), tuple(np.asarray(one, float)[None] / np.sum(one) for one in counts))
    return Unseen(seen, model, phi, ColumnSums(seen))


def deviation(unseen: Unseen, *weights: np.ndarray) -> float:
    return math.sqrt(unseen.variance([(1.0, dict(enumerate(weights)))], signed=False))


FLAT, RISING = np.full(4, N / 4), np.array([0.15, 0.35, 0.3, 0.2]) * N


@pytest.mark.parametrize(
    ("one", "two", "phi"),
    [
        (Column(4), Column(4), UNKNOWN),
        (Column(4, 4), Column(4), UNKNOWN),
        (Column(4, 4), Column(4, 4), UNKNOWN_LINES),
        (Column(4, 4), Column(4, 4, dated=True), UNKNOWN_LINES),
        (Column(4, 4, dated=True), Column(4, 4, dated=True), ANY),
    ],
)
def test_two_lines_hang_together_more_than_words_and_two_dates_most(one: Column, two: Column, phi: float) -> None:
    assert deviation(of((one, two), [FLAT, RISING]), HALF, HALF) == pytest.approx(phi * N / 4)


def test_lines_that_were_left_out_are_dear_and_not_unrelated() -> None:
    """Both were measured with a third column, and told nothing of each other."""
    columns = (Column(4, 4), Column(4, 4), Column(2))
    pairs = [View((j, 2), np.full((4, 2), N / 8), 1.0) for j in (0, 1)]
    found = of(columns, [FLAT, RISING, np.full(2, N / 2)], *pairs, phi=0.07)
    assert deviation(found, HALF, HALF) == pytest.approx(LEAST_LINES * N / 4)
    words = of((Column(4), *columns[1:]), [FLAT, RISING, np.full(2, N / 2)], *pairs, phi=0.07)
    assert deviation(words, HALF, HALF) == pytest.approx(0.07 * N / 4)


def test_cells_that_are_missing_may_be_missing_together() -> None:
    """One in ten of either: any dependence is allowed for, and of values that are there, what is usual."""
    line = Column(5, 4, missing=True)
    counts = [np.append(0.9 * FLAT, N / 10), np.append(0.9 * RISING, N / 10)]
    found, gone = of((line, line), counts), np.eye(5)[4]
    most = N / 10 - N / 100
    assert deviation(found, gone, gone) == pytest.approx(ANY * most, rel=0.01) and 1.96 * ANY > 1
    assert deviation(found, 1 - gone, gone) == pytest.approx(ANY * most, rel=0.01)
    known = replace(line, missing=False)
    usual = deviation(of((known, known), counts), gone, gone)
    assert usual == pytest.approx(UNKNOWN_LINES * most)
    half = np.append(HALF, 0.0)  # 0.45 of all: 0.45 · 0.55 in all, and 0.1 · 0.9 / 4 of that whether there is a value
    variance = UNKNOWN_LINES**2 * (0.45 * 0.55) ** 2 + (ANY**2 - UNKNOWN_LINES**2) * (0.09 / 4) ** 2
    first = of((line, line), [counts[0], counts[0] + np.array([50, -50, 0, 0, 0])])
    assert deviation(first, half, half) == pytest.approx(N * math.sqrt(variance), rel=0.01)


def excluding(one: Column, two: Column, share: float) -> Unseen:
    """A fit of three columns, of which the third was measured with both, and says that the last levels of the first and
    of the second, which is a little rarer, exclude each other: each component has one of them."""
    shares = share, 0.8 * share
    counts = [np.array([1 - often, often]) * N for often in shares]
    views = [View((j,), each, 1.0) for j, each in enumerate(counts)]
    pairs = [View((j, 2), np.stack([each, each], 1) / 2, 1.0) for j, each in enumerate(counts)]
    groups = (np.arange(2),) * 3
    seen = Evidence((one, two, Column(2)), groups, (*views, View((2,), np.full(2, N / 2), 1.0), *pairs))
    never, first, second = np.array([1.0, 0.0]), *(np.array([1 - 2 * often, 2 * often]) for often in shares)
    tables = np.stack([first, never]), np.stack([never, second]), np.full((2, 2), 0.5)
    return Unseen(seen, Mixture(np.full(2, 0.5), tables), LEAST, ColumnSums(seen))


LAST = np.array([0.0, 1.0])


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4, 0.5])
@pytest.mark.parametrize(
    "column", [Column(2, 1, missing=True), Column(2, 2, dated=True), Column(2, 2, lone=0)], ids=["gap", "date", "zero"]
)
def test_what_a_third_column_makes_a_fit_say_is_no_measurement(column: Column, share: float) -> None:
    """Any dependence is allowed for, though by the model nobody has both: up to as many as have either."""
    found = excluding(column, column, share)
    assert found.model.share([(1.0, {0: LAST, 1: LAST})]) == 0
    assert 1.96 * deviation(found, LAST, LAST) >= 0.8 * share * N
    assert 1.96 * deviation(found, LAST, LAST, 1 - LAST) >= 0.8 * share * N / 2


def test_what_is_usual_is_allowed_for_where_a_fit_says_that_nobody_is() -> None:
    varied = math.sqrt(0.1 * 0.9 * 0.08 * 0.92) * N
    assert deviation(excluding(Column(2), Column(2), 0.1), LAST, LAST) == pytest.approx(LEAST * varied, rel=0.01)
    gaps = excluding(Column(2, 1, missing=True), Column(2), 0.1)
    assert deviation(gaps, LAST, LAST) == pytest.approx(MISSING * varied, rel=0.01)


def test_numbers_that_are_mostly_zero_may_be_above_it_together() -> None:
    """Of two columns with a cell for zero alone, or of one and missing cells, or words; not of one and a line."""
    counts = [np.array([0.8, 0.1, 0.06, 0.04]) * N, np.array([0.85, 0.05, 0.05, 0.05]) * N]
    above, zeros = np.array([0.0, 1.0, 1.0, 1.0]), math.sqrt(0.8 * 0.2 * 0.85 * 0.15)
    lone, line = Column(4, 4, lone=0), Column(4, 4)
    for one, two, phi in ((lone, lone, ANY), (lone, line, UNKNOWN_LINES), (lone, Column(4), ANY)):
        assert deviation(of((one, two), counts), above, above) == pytest.approx(phi * zeros * N)
    third = np.eye(4)[2]  # 0.06 of all, 0.3 of what is not zero: 0.06 · 0.94 in all, 0.8 · 0.2 · 0.3² of that by zeros
    variance = UNKNOWN_LINES**2 * 0.06 * 0.94 + (ANY**2 - UNKNOWN_LINES**2) * 0.8 * 0.2 * 0.3**2
    found = deviation(of((lone, lone), counts), third, above)
    assert found == pytest.approx(N * math.sqrt(0.85 * 0.15 * variance))
    missing = of((lone, Column(4, 3, missing=True)), [counts[0], np.array([0.45, 0.2, 0.2, 0.15]) * N])
    assert deviation(missing, above, np.eye(4)[3]) == pytest.approx(ANY * zeros * N, rel=0.01)


def test_missing_cells_that_a_fit_takes_for_none_are_still_allowed_for() -> None:
    line, counts = Column(5, 4, missing=True), np.append(FLAT, 0.0)
    views = tuple(View((j,), np.append(FLAT, 30.0), 40.0**2) for j in (0, 1))
    seen = Evidence((line, line), (np.arange(5),) * 2, views)
    model = Mixture(np.ones(1), (counts[None] / N,) * 2)
    gone = np.eye(5)[4]
    assert deviation(Unseen(seen, model, UNKNOWN, ColumnSums(seen)), gone, gone) > ANY * 55


def test_a_word_that_was_pooled_may_be_unlike_its_pool() -> None:
    """The first word has a group of its own, the others share one."""
    columns, groups = (Column(4), Column(4, 4)), (np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1]))
    alone = tuple(View((j,), counts, 1.0) for j, counts in enumerate((FLAT, RISING)))
    seen = Evidence(columns, groups, (*alone, View((0, 1), np.outer([0.25, 0.75], [N / 2, N / 2]), 1.0)))
    model = Mixture(np.ones(1), (FLAT[None] / N, RISING[None] / N))
    found = Unseen(seen, model, 0.0, ColumnSums(seen))
    own, pooled = (deviation(found, np.eye(4)[level], HALF) for level in (0, 1))
    assert own == pytest.approx(0, abs=1e-6)
    within = 3 / 16 - 1 / 48  # of the word's variance, all but the square of ¾ · (⅓ − ¼)² + ¼ · ¼²
    assert pooled == pytest.approx(POOLED * N * math.sqrt(within / 4))
    cut = deviation(found, np.eye(4)[0], np.array([1.0, 0, 0, 0]))
    total, between = 0.15 * 0.85, 0.15**2  # of runs of ½, 0.3 in one and none in the other
    assert cut == pytest.approx(WITHIN * N * math.sqrt(3 / 16 * (total - between)))


def test_columns_whose_counts_are_alike_may_be_one_column() -> None:
    """Five times the same column of three words, of which 6,000 of 20,000 records have the first: so many have it in
    all of them, where each by itself would say 49. Columns that are as likely unlike are not taken for one."""
    rng = np.random.default_rng(1)
    counts = np.array([6_000.0, 9_000.0, 5_000.0])
    views = [View((j,), counts + rng.normal(0, 20, 3), 400.0) for j in range(5)]
    seen = Evidence((Column(3),) * 5, (np.arange(3),) * 5, tuple(views))
    reading = Reading(seen, "gaussian", 1)
    asked = [(1.0, {j: np.eye(3)[0] for j in range(5)})]
    found, most = reading.count(asked), reading.allowed(asked, 0.0125)[1]
    assert found.value < 100
    assert min(found.value + 1.96 * math.sqrt(found.variance), most) > 6_000
    assert 6_000 < most < 6_100
    other = [(1.0, {j: np.eye(3)[j % 2] for j in range(2, 4)})]  # the first word in one, the second in another: nobody
    empty = reading.count(other)
    assert empty.value - 1.96 * math.sqrt(empty.variance) < 0
    uneven = replace(seen, views=tuple(replace(v, counts=v.counts + [400 * v.columns[0], 0, 0]) for v in views))
    unlike = Reading(uneven, "gaussian", 1).count(asked)
    assert unlike.variance < found.variance / 100


@pytest.mark.parametrize(
    ("two", "asked", "phi"),
    [
        (np.array([0.1, 0.9]), np.array([1.0, 0.0]), ANY),  # as many records as the word of the other column has
        (np.array([0.1, 0.9]), np.array([0.0, 1.0]), ANY),  # as many as do not have it
        (np.array([0.1, 0.5, 0.4]), np.array([0.0, 1.0, 1.0]), ANY),  # all words but that
        (np.array([0.11, 0.89]), np.array([1.0, 0.0]), UNKNOWN),  # more than noise would make of it
        (np.array([0.05, 0.05, 0.4, 0.5]), np.array([1.0, 1.0, 0.0, 0.0]), UNKNOWN),  # two words
    ],
)
def test_words_whose_counts_are_alike_may_be_one_word(two: np.ndarray, asked: np.ndarray, phi: float) -> None:
    word, (share, number) = np.array([1.0, 0.0, 0.0]), (0.1, float(two @ asked))
    found = of((Column(3), Column(len(two))), [np.array([share, 0.6, 0.3]) * N, two * N])
    alone = math.sqrt(share * (1 - share) * number * (1 - number)) * N
    assert deviation(found, word, asked) == pytest.approx(phi * alone)
    line = of((Column(3, 3), Column(len(two))), [np.array([share, 0.6, 0.3]) * N, two * N])
    assert deviation(line, word, asked) == pytest.approx(UNKNOWN * alone)


@pytest.mark.parametrize("asked", [[1.0, 0.0], [0.0, 1.0]])
@pytest.mark.parametrize(("share", "phi"), [(0.5, ANY), (0.505, ANY), (0.6, UNKNOWN)])
def test_so_may_words_that_half_of_all_records_have(share: float, phi: float, asked: list[float]) -> None:
    """Each is alike both to a word and to all but it: which of them it is, counts do not tell."""
    found = of((Column(2), Column(2)), [np.array([0.5, 0.5]) * N, np.array([share, 1 - share]) * N], noise=40.0**2)
    alone = math.sqrt(0.25 * share * (1 - share)) * N
    assert deviation(found, np.array([1.0, 0.0]), np.array(asked)) == pytest.approx(phi * alone)


def test_missing_cells_may_hang_together_with_a_word_more_than_is_usual() -> None:
    """Of a line's missing cells and a word, not of a range; nor of a number beside them."""
    line, gaps = np.array([0.3, 0.4, 0.2, 0.1]) * N, np.array([0.0, 0.0, 0.0, 1.0])
    gone, word = math.sqrt(0.1 * 0.9), math.sqrt(0.25 * 0.75)
    for two, phi in ((Column(4), MISSING), (Column(4, 4), UNKNOWN_LINES)):
        found = of((Column(4, 3, missing=True), two), [line, FLAT], phi=0.07)
        assert deviation(found, gaps, np.eye(4)[1]) == pytest.approx(phi * gone * word * N, rel=0.01)
    ranged = of((Column(4, 3, missing=True), Column(4)), [line, FLAT], phi=0.07)
    told = deviation(ranged, np.array([1.0, 0.0, 0.0, 0.0]), np.eye(4)[1])
    assert UNKNOWN < told / (math.sqrt(0.3 * 0.7) * word * N) < MISSING


def test_what_seems_to_be_empty_may_hold_what_its_noise_hides() -> None:
    """A pooled word without records, under a noise of nearly 20: as if it had as many, unlike those of its pool."""
    columns, counts = (Column(4), Column(2)), [np.array([5000.0, 4990.0, 10.0, 0.0]), np.array([2000.0, 8000.0])]
    groups, pool = (np.array([0, 1, 2, 2]), np.arange(2)), np.array([[1000.0, 4000.0], [998.0, 3992.0], [2.0, 8.0]])
    views = (*(View((j,), one, 400.0) for j, one in enumerate(counts)), View((0, 1), pool, 1e9))
    seen = Evidence(columns, groups, views)
    model = Mixture(np.ones(1), tuple(one[None] / N for one in counts))
    found = Unseen(seen, model, UNKNOWN, ColumnSums(seen))
    asked = np.eye(4)[3], np.eye(2)[0]
    hidden = math.sqrt(found.sums.sum(0, asked[0]).variance)
    assert 18 < hidden < 20 and deviation(found, *asked) == pytest.approx(POOLED * math.sqrt(hidden * N * 0.16))
    assert deviation(found, np.array([0.0, 0.0, 1.0, 1.0]), np.eye(2)[0]) == 0.0


def test_of_a_tie_that_noise_may_hide_a_fit_tells_no_more_than_its_cells_and_what_is_usual() -> None:
    """The posterior variance: the tie's own where cells tell nothing, the cells' where they tell all."""
    found, asked = of((Column(4), Column(4, 4)), [FLAT, RISING]), {0: np.eye(4)[1], 1: np.array([1.0, 1.0, -1.0, -1.0])}
    usual = UNKNOWN**2 * N**2 * 3 / 16 * float(np.mean(RISING / N * 4 * (asked[1] - RISING @ asked[1] / N) ** 2))
    for noise in (usual, usual / 1e6, usual * 1e6):
        assert found.hidden([(1.0, asked)], noise) == pytest.approx(1 / (1 / usual + 1 / noise))
        assert found.hidden([(-2.0, asked)], noise) == pytest.approx(1 / (0.25 / usual + 1 / noise))
    assert found.hidden([(1.0, asked)], 0.0) == 0.0
