"""Error bars on columns in steps: few values, rounded values, many records at one point."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from rates import most
from scumble import EuclideanKernel
from scumble.density.field import Field, roughness, stepped
from scumble.density.grid_cells import Grid
from scumble.density.grid_layout import CAUTION

# ---- roughness ----


def test_roughness_is_the_number_of_records_and_free_of_noise() -> None:
    """Poisson cells of mean 9: cells, slabs and thick slabs give 9, 4.5 and 9 on average.

    60 × 60 cells: the mean of squared differences has a relative error of about √(3/3600) = 0.03, of slabs of five
    √5 times as much: six of these are 1.1 times the mean; noise of variance 200 adds 22 times as much.
    """
    rng = np.random.default_rng(51)
    counts = rng.poisson(9.0, (60, 60)).astype(float)
    noise = rng.geometric(0.095, (60, 60)) - rng.geometric(0.095, (60, 60))
    variance = 2.0 * 0.905 / 0.095**2
    for axis in (0, 1):
        assert abs(roughness(counts, 0.0, [2, 2])[axis, 2:-2, 2:-2].mean() - 22.5) < 10.0
        assert abs(roughness(counts + noise, variance, [2, 2])[axis, 2:-2, 2:-2].mean() - 22.5) < 220.0


def test_a_clump_counts_as_its_square_also_when_it_is_spread_over_a_slab() -> None:
    clump = np.zeros((9, 9))
    clump[4, 4] = 100.0
    assert np.all(roughness(clump, 0.0, [1, 1]).sum(axis=(1, 2)) >= 100.0**2)
    rounded = np.zeros((9, 30))
    rounded[4] = 100.0  # one value of the first column, and any of the second
    along, across = roughness(rounded, 0.0, [2, 2])
    assert np.all(along[4, 5:-5] >= 0.6 * 5 * 100.0**2)  # five cells that move together
    assert np.all(across == 0.0)


def test_smooth_counters_have_no_steps_and_rounded_ones_do() -> None:
    """Smooth ones: 100 tables; chance alone must exceed three standard deviations by far to count as a hundredth."""
    rng = np.random.default_rng(3)
    for side in (12, 40):
        smooth = 3000.0 * np.exp(-0.5 * np.square((np.arange(side) - side / 2) / (side / 5)))
        for _ in range(50):
            seen = rng.poisson(smooth[:, None] / side * np.ones(side)) + rng.normal(0.0, 15.0, (side, side))
            assert np.all(stepped(seen, 225.0) < 0.02)
    thin = rng.poisson(0.05, 20_000).astype(float)  # nearly all cells empty, and no two records together
    assert stepped(thin, 0.0) < 0.01
    rounded = np.histogram(np.round(rng.normal(50.0, 10.0, 5000)), np.linspace(20.0, 80.3, 76))[0]
    assert stepped(rounded * 1.0, 2.0) > 0.45  # 61 values in 75 cells
    assert np.all(stepped(np.stack([rounded] * 9), 2.0) > 0.45)  # along one axis of two


def test_steps_add_what_moving_all_records_at_once_does() -> None:
    """Σ h²/12 (∂f)² against differences of the answers themselves, from tables, one by one, and far outside."""
    rng, kernel = np.random.default_rng(5), EuclideanKernel(3.0, power=2)
    X = np.stack([np.round(rng.normal(20.0, 4.0, 4000)), rng.normal(20.0, 4.0, 4000)], axis=1)
    grid = Grid(kernel, low=[0.3, 0.3], high=[40.0, 40.0], shape=(190, 180), width=2)
    counts = np.zeros((1, grid.cells), np.int64)
    grid.count(X, counts)
    Q = np.concatenate([rng.normal(20.0, 4.0, (20, 2)), [[-90.0, 20.0]]])
    field, alone = Field(grid, counts, 0.01), Field(grid, counts, 0.01)
    assert field._stepped.tolist() == [0.5, 0.5]
    ends = [(field.estimate(Q + side)[0] - field.estimate(Q - side)[0]) for side in np.diag(grid.step / 2)]
    expected = np.sum(np.square(ends), axis=0) / 12.0
    vars(alone)["_stepped"] = np.zeros(2)
    added = 2.0 * (field.estimate(Q)[2] - alone.estimate(Q)[2])
    np.testing.assert_allclose(added, expected, rtol=0.1, atol=0.03 * expected.max())
    one_by_one = np.array([Field(grid, counts, 0.01).estimate(Q[k : k + 1])[2][0] for k in range(3)])
    np.testing.assert_allclose(one_by_one, field.estimate(Q)[2][:3], rtol=0.1)


# ---- coverage ----


def quakes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Magnitudes from 5.5 on in steps of a tenth, and the place along a fault; a third of these are repeated."""
    magnitudes = np.clip(np.round(5.45 + rng.exponential(0.38, n), 1), 5.5, 9.1)
    places, repeated = rng.uniform(0.0, 3.0, n), np.random.default_rng(3).uniform(0.0, 3.0, 12)
    return np.stack([magnitudes, np.where(rng.random(n) < 1 / 3, rng.choice(repeated, n), places)], axis=1)


def missed(
    rng: np.random.Generator, kernel: EuclideanKernel, grid: Grid, X: np.ndarray, q: np.ndarray, p: float
) -> bool:
    """Whether a 95 % interval misses the truth at q, the counters having noise of Laplace's law by geometric draws."""
    counts = np.zeros((1, grid.cells), np.int64)
    grid.count(X, counts)
    noise = rng.geometric(p, counts.shape) - rng.geometric(p, counts.shape)
    value, by_noise, by_places = Field(grid, counts + noise, 2.0 * (1.0 - p) / p**2).estimate(q)
    error = abs(float(value[0]) - float(kernel(q, X).sum()))
    return bool(error > 1.96 * np.sqrt(by_noise[0] + CAUTION**2 * by_places[0]))


def test_intervals_cover_values_that_lie_to_one_side_of_their_cells() -> None:
    """37 values in 39 cells, one to a cell and each a little further left in its own; only the places jump.

    One query of each of 60 tables: at most binomial(60, 5 %) misses. Slabs that move each for itself miss 35.
    """
    rng, kernel, misses, draws = np.random.default_rng(12), EuclideanKernel(1.5, power=2), 0, 60
    grid = Grid(kernel, low=[5.5, 0.0], high=[9.1, 3.0], shape=(39, 24), width=2)
    for _ in range(draws):
        X, q = quakes(rng, 20_000), quakes(rng, 1)
        misses += missed(rng, kernel, grid, X, q, 0.7)
    assert misses <= most(draws, 0.05)


def few_values(rng: np.random.Generator, n: int) -> np.ndarray:
    """A column of 25 values, some with many records, and a smooth one."""
    fixed = np.random.default_rng(1)
    x = rng.choice(fixed.uniform(0, 100, 25), n, p=fixed.dirichlet(np.ones(25)))
    return np.stack([x, rng.normal(50.0 + 0.2 * (x - 50.0), 12.0, n)], axis=1)


def two_of_few(rng: np.random.Generator, n: int) -> np.ndarray:
    fixed = np.random.default_rng(2)
    return np.stack([rng.choice(fixed.uniform(0, 100, values), n) for values in (25, 31)], axis=1)


def test_intervals_cover_data_in_steps() -> None:
    """In each of 100 draws of table, cells and noise, one query like the records: at most binomial(100, 5 %) misses.

    Cells judged by themselves, without slabs, miss 31 of them.
    """
    rng, kernel, misses, draws = np.random.default_rng(8), EuclideanKernel(30.0), 0, 100
    for turn in range(draws):
        sample = (few_values, two_of_few)[turn % 2]
        X, q = sample(rng, 20_000), sample(rng, 1)
        low = -rng.uniform(0.0, 2.5, 2)  # the cells lie anywhere
        grid = Grid(kernel, low=low, high=low + 101.5, shape=(41, 41), width=2)
        misses += missed(rng, kernel, grid, X, q, 0.9)
    assert misses <= most(draws, 0.05)


@pytest.mark.parametrize("design", ["sobol", "iid"])
def test_hashed_rows_cover_a_point_with_many_records_over_draws(design: str) -> None:
    """All queries at one point share one error, so a single draw covers all of them or none: draws are what counts."""
    rng, kernel, draws = np.random.default_rng(0), EuclideanKernel(2.0), 60
    X = rng.normal(0.0, 1.0, (800, 3))
    X[:240] = 1.0
    truth, misses = kernel(X[:1], X).sum(), 0
    for seed in range(draws):
        sketch = scumble.Sketch(kernel, 3, rows=64, buckets=64, seed=seed, design=design)
        low, high = sketch.update(X).release(epsilon=2.0).interval(X[:2])
        assert low[0] == low[1] and high[0] == high[1]
        misses += not low[0] <= truth <= high[0]
    assert misses <= most(draws, 0.05)
