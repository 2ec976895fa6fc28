"""Bounds on counts hold for every table with the same views, and are reached by some; their error is shared."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from scumble.views.allowed import ANYTHING, allowed, reach
from scumble.views.columnsums import ColumnSums
from scumble.views.evidence import Evidence, View
from scumble.views.grouping import Column

COLUMNS = (Column(4, 4), Column(5), Column(3))
GROUPS = (np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2, 2]), np.arange(3))
TINY = 1e-9


def exact(rows: np.ndarray, pairs: list[tuple[int, int]]) -> Evidence:
    """The views of a table, next to without noise."""
    views = []
    for columns in [(0,), (1,), (2,), *pairs]:
        maps = [GROUPS[j] if len(columns) > 1 else np.arange(COLUMNS[j].levels) for j in columns]
        counts = np.zeros([int(m.max()) + 1 for m in maps])
        for record in rows.tolist():
            counts[tuple(m[record[j]] for j, m in zip(columns, maps, strict=True))] += 1
        views.append(View(columns, counts, TINY))
    return Evidence(COLUMNS, GROUPS, tuple(views))


def bounds(evidence: Evidence, product: dict[int, np.ndarray], chance: float = 0.01) -> tuple[float, float]:
    return allowed(evidence, ColumnSums(evidence), "gaussian", [(1.0, product)], chance)


@pytest.mark.parametrize("pairs", [[], [(0, 1)], [(0, 1), (0, 2), (1, 2)]])
def test_no_table_is_beyond_the_bounds_of_its_own_views(pairs: list[tuple[int, int]]) -> None:
    """Tables that hang together in all ways, all conditions of 0, ½ and 1 on some of their columns."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        hidden = rng.integers(5, size=(60, 1))
        mixed = np.where(rng.random((60, 3)) < rng.random(), hidden, rng.integers(5, size=(60, 3)))
        rows = mixed % [column.levels for column in COLUMNS]
        evidence = exact(rows, pairs)
        for columns in itertools.chain(itertools.combinations(range(3), 2), [(0, 1, 2)]):
            product = {j: rng.choice([0.0, 0.5, 1.0], COLUMNS[j].levels) for j in columns}
            count = np.prod([weights[rows[:, j]] for j, weights in product.items()], axis=0).sum()
            low, high = bounds(evidence, product)
            assert low - 0.01 <= count <= high + 0.01


def test_the_bounds_are_reached_where_columns_are_one_and_where_they_exclude_each_other() -> None:
    one = np.arange(60) % 4
    same, other = {0: np.array([1.0, 0, 0, 0]), 1: np.array([1.0, 0, 0, 0, 0])}, {0: np.ones(4), 1: np.ones(5)}
    evidence = exact(np.stack([one, one, one % 3], axis=1), [])
    assert bounds(evidence, same)[1] == pytest.approx(15, abs=0.01)
    most = {0: np.array([1.0, 1, 1, 0]), 1: np.array([0.0, 1, 1, 1, 1])}
    assert bounds(evidence, most) == pytest.approx((30, 45), abs=0.01), "60 less 15 and 15, and the lesser of 45 and 45"
    assert bounds(evidence, other) == pytest.approx((60, 60), abs=0.01)


def test_a_pooled_word_has_no_more_records_than_its_pool_has() -> None:
    """Words 2, 3 and 4 are pooled; 30 of 60 records have the first run, and of those 3 are in the pool."""
    one = np.repeat([0, 3], 30)
    word = np.concatenate([np.zeros(27, int), [2, 3, 4], np.repeat([1, 2, 3], 10)])
    rows = np.stack([one, word, word % 3], axis=1)
    asked = {0: np.array([1.0, 1, 0, 0]), 1: np.eye(5)[2]}
    assert bounds(exact(rows, []), asked) == pytest.approx((0, 11), abs=0.01)
    assert bounds(exact(rows, [(0, 1)]), asked) == pytest.approx((0, 3), abs=0.01)
    whole = {0: np.array([1.0, 1, 0, 0]), 1: np.array([1.0, 0, 0, 0, 0])}
    assert bounds(exact(rows, [(0, 1)]), whole) == pytest.approx((27, 27), abs=0.01)


def test_a_cell_far_below_zero_does_not_say_that_surely_nobody_is_there() -> None:
    """Five deviations below, which some of thousands of cells are: the bound is as far as noise reaches, not none."""
    single = [View((j,), np.array([60.0, 40.0]), 4.0) for j in (0, 1)]
    cells = np.array([[60.0, 0.0], [40.0, -10.0]])
    evidence = Evidence((Column(2), Column(2)), (np.arange(2), np.arange(2)), (*single, View((0, 1), cells, 4.0)))
    asked = [(1.0, {0: np.eye(2)[1], 1: np.eye(2)[1]})]
    low, high = allowed(evidence, ColumnSums(evidence), "laplace", asked, 0.02)
    assert (low, high) == (0.0, pytest.approx(2 * reach("laplace", 0.02 / 5)))


def test_an_empty_cell_is_hardly_ever_said_to_hold_somebody() -> None:
    """Noise of one in ten thousand in a cell of a measured pair: the cell may be empty all the same."""
    unlucky = -math.log(2e-4) / math.sqrt(2) * 10.0
    views = [View((j,), np.full(4, 1_000.0), variance=100.0) for j in (0, 1)]
    pair = np.full((4, 4), 250.0)
    pair[0, 0] = unlucky
    evidence = Evidence((Column(4),) * 2, (np.arange(4),) * 2, (*views, View((0, 1), pair, variance=100.0)))
    asked = [(1.0, {0: np.eye(4)[0], 1: np.eye(4)[0]})]
    least, most = allowed(evidence, ColumnSums(evidence), "laplace", asked, 0.0125)
    assert least == 0.0 and most > unlucky
    assert unlucky - reach("laplace", 0.0125 / 5) * 10.0 > 0  # so much would have been sure by its share of the error


def test_bounds_share_their_error() -> None:
    """Of three columns there are three highs and a low: each has a quarter of the chance."""
    alone = tuple(View((j,), np.array([40.0, 60.0]), 100.0) for j in range(3))
    evidence = Evidence((Column(2),) * 3, (np.arange(2),) * 3, alone)
    first = ColumnSums(evidence).sum(0, np.array([1.0, 0.0]))
    for law in ("gaussian", "laplace"):
        asked = [(1.0, {j: np.array([1.0, 0.0]) for j in range(3)})]
        high = allowed(evidence, ColumnSums(evidence), law, asked, 0.02)[1]
        assert high == pytest.approx(first.value + reach(law, 0.005) * math.sqrt(first.variance))
    union = [(1.0, {0: np.eye(2)[0], 1: np.eye(2)[0]}), (1.0, {0: np.eye(2)[1], 1: np.eye(2)[1]})]
    ends = allowed(evidence, ColumnSums(evidence), "gaussian", union, 0.02)
    each = [allowed(evidence, ColumnSums(evidence), "gaussian", [part], 0.01) for part in union]
    assert ends == pytest.approx(tuple(np.sum(each, axis=0)))


def test_noise_stays_within_reach() -> None:
    """By the laws themselves: one Laplace noise of variance one is beyond t with the chance e^(−√2 t)/2."""
    for chance in (0.1, 0.01, 1e-5):
        assert math.exp(-math.sqrt(2) * reach("laplace", chance)) / 2 <= chance * (1 + 1e-9)
        assert math.erfc(reach("gaussian", chance) / math.sqrt(2)) / 2 == pytest.approx(chance, rel=1e-6)


def test_what_is_no_count_has_no_bounds() -> None:
    evidence = exact(np.zeros((9, 3), int), [])
    sums = ColumnSums(evidence)
    for asked in (
        [(1.0, {0: np.ones(4)})],
        [(-1.0, {0: np.ones(4), 1: np.ones(5)})],
        [(1.0, {0: -np.ones(4), 1: np.ones(5)})],
    ):
        assert allowed(evidence, sums, "gaussian", asked, 0.01) == ANYTHING
