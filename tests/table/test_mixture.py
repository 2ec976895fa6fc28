"""Closed forms of a mixture of products against sums over all cells of small tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from scumble.table.mixture import EVERYTHING, Condition, Mixture, first_above, labeled, together

SIZES = (3, 2, 4)
CELLS = list(itertools.product(*(range(size) for size in SIZES)))


def mixture(seed: int = 0, components: int = 5, sizes: tuple[int, ...] = SIZES) -> Mixture:
    generator = np.random.default_rng(seed)
    columns = tuple(generator.dirichlet(np.ones(size), components) for size in sizes)
    return Mixture(generator.dirichlet(np.ones(components)), columns)


def chances(model: Mixture) -> dict[tuple[int, ...], float]:
    """p(x) of every cell, by the definition."""
    return {
        cell: sum(
            model.weights[k] * math.prod(model.columns[j][k, x] for j, x in enumerate(cell))
            for k in range(len(model.weights))
        )
        for cell in CELLS
    }


def weight(condition: Condition, cell: tuple[int, ...]) -> float:
    return sum(c * math.prod(np.asarray(v)[cell[j]] for j, v in product.items()) for c, product in condition)


UNION: Condition = [(1.0, {0: [1, 0, 1]}), (1.0, {2: [0, 1, 1, 0]}), (-1.0, {0: [1, 0, 1], 2: [0, 1, 1, 0]})]
DISJOINT: Condition = [(1.0, {0: [1, 0, 0], 1: [0, 1]}), (1.0, {0: [0, 0, 1]})]
SOFT: Condition = [(1.0, {0: [0.5, 0.25, 1.0], 2: [1, 0, 0.5, 0]})]
CONDITIONS = [EVERYTHING, UNION, DISJOINT, SOFT]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_shares_tables_and_means_are_sums_over_cells(condition: Condition) -> None:
    model = mixture()
    p = chances(model)
    assert sum(p.values()) == pytest.approx(1)
    share = sum(p[cell] * weight(condition, cell) for cell in CELLS)
    assert model.share(condition) == pytest.approx(share, abs=1e-12)
    for columns in [(0,), (2, 0), (0, 1, 2)]:
        slow = np.zeros([SIZES[j] for j in columns])
        for cell in CELLS:
            slow[tuple(cell[j] for j in columns)] += p[cell] * weight(condition, cell)
        np.testing.assert_allclose(model.table(columns, condition), slow, atol=1e-12)


def test_records_that_meet_a_product_are_a_mixture_again() -> None:
    model = mixture()
    product = {0: [0.5, 0.0, 1.0], 2: [0, 1, 1, 0]}
    p, given = chances(model), chances(model.given(product))
    total = sum(p[cell] * weight([(1.0, product)], cell) for cell in CELLS)
    for cell in CELLS:
        assert given[cell] == pytest.approx(p[cell] * weight([(1.0, product)], cell) / total, abs=1e-12)


def test_a_mixture_of_mixtures() -> None:
    one, other = mixture(1), mixture(2, components=3)
    whole = chances(together([one, other], [0.25, 0.75]))
    for cell in CELLS:
        assert whole[cell] == pytest.approx(0.25 * chances(one)[cell] + 0.75 * chances(other)[cell])


def test_classes_come_in_as_a_column() -> None:
    parts = [mixture(1, sizes=(3, 4)), mixture(2, components=3, sizes=(3, 4))]
    model = labeled(parts, [30.0, 10.0], column=1)
    for c, share in ((0, 0.75), (1, 0.25)):
        np.testing.assert_allclose(model.table([0, 1, 2])[:, c], share * parts[c].table([0, 1]))
    assert labeled(parts, [-3.0, 10.0], column=1).share([(1.0, {1: [1, 0]})]) == 0
    assert labeled(parts, [-3.0, -1.0], column=1).share([(1.0, {1: [1, 0]})]) == pytest.approx(0.5)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_draws_have_the_law(condition: Condition) -> None:
    """Bernstein: P(|k/n − p| > t) ≤ 2 exp(−n t²/(2p(1 − p) + 2t/3)); t is where that is 10⁻⁸ for each of 24 cells.

    False alarms: 4 conditions · 24 cells · 10⁻⁸ < 10⁻⁶ for a random seed; this one is fixed.
    """
    model, size = mixture(), 40_000
    rows = model.draw(size, np.random.default_rng(3), condition)
    assert rows.shape == (size, 3)
    p = chances(model)
    total = sum(p[cell] * weight(condition, cell) for cell in CELLS)
    seen = dict.fromkeys(CELLS, 0)
    for cell in map(tuple, rows.tolist()):
        seen[cell] += 1
    log = math.log(2e8)
    for cell in CELLS:
        share = p[cell] * weight(condition, cell) / total
        variance = share * (1 - share)
        bound = log / (3 * size) + math.sqrt((log / (3 * size)) ** 2 + 2 * variance * log / size)
        assert abs(seen[cell] / size - share) <= bound
        assert share > 0 or not seen[cell]


def test_draws_are_those_of_one_component_after_the_other() -> None:
    """The same numbers from the same generator, searched for by NumPy, component by component."""
    model, size = mixture(components=7, sizes=(5, 1, 300)), 500
    generator = np.random.default_rng(5)
    counts = generator.multinomial(size, model.weights)
    slow = np.empty((size, 3), np.int64)
    for j, table in enumerate(model.columns):
        place = 0
        for k in np.flatnonzero(counts):
            above = np.cumsum(table[k])
            uniform = generator.random(counts[k]) * above[-1]
            slow[place : place + counts[k], j] = np.searchsorted(above, uniform, side="right")
            place += counts[k]
    assert (model.draw(size, np.random.default_rng(5)) == slow[generator.permutation(size)]).all()


@pytest.mark.parametrize("levels", [1, 2, 3, 8, 9, 100])
def test_what_is_first_above_is_found_in_every_row(levels: int) -> None:
    generator = np.random.default_rng(levels)
    above = np.cumsum(generator.random((6, levels)) * (generator.random((6, levels)) < 0.5), axis=1)
    above[:, -1] += 1.0
    row = generator.integers(6, size=400)
    mark = generator.random(400) * above[row, -1]
    mark[:200] = np.minimum(above[row[:200], generator.integers(levels, size=200)], above[row[:200], -1] - 1e-9)  # ties
    expected = [np.searchsorted(above[k], x, side="right") for k, x in zip(row, mark, strict=True)]
    assert (first_above(above, row, mark) == expected).all()


def test_draws_come_in_random_order() -> None:
    """Not sorted by component: the longest run of one component's level would give them away."""
    model = Mixture(np.array([0.5, 0.5]), (np.eye(2),))
    rows = model.draw(1000, np.random.default_rng(0))[:, 0]
    runs = 1 + int((np.diff(rows) != 0).sum())
    assert 300 < runs < 700  # 500 ± 15.8: more than 12 deviations


def test_nothing_is_drawn_where_nothing_can_be() -> None:
    model = mixture()
    for condition in ([(1.0, {0: [0, 0, 0]})], [], [(-1.0, {})], [(1.0, {}), (-1.0, {})]):
        assert model.draw(5, np.random.default_rng(0), condition).shape == (0, 3)
    assert model.draw(0, np.random.default_rng(0)).shape == (0, 3)
