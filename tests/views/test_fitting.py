"""The fit: its gradient, that it finds what can be represented, and that it is the same each time."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from scumble.errors import ParameterError
from scumble.views import fitting, rehearsal
from scumble.views.descent import Slope, distribution
from scumble.views.evidence import Evidence, View, shape_within, simplex
from scumble.views.fitting import begun, descend, fitted
from scumble.views.grouping import Column
from scumble.views.mixture import Mixture
from scumble.views.targets import Targets

SIZES = (3, 4, 2, 5)


def world(components: int = 3, seed: int = 0) -> Mixture:
    generator = np.random.default_rng(seed)
    columns = tuple(generator.dirichlet(np.ones(size), components) for size in SIZES)
    return Mixture(generator.dirichlet(np.full(components, 5.0)), columns)


def exact(model: Mixture, count: float = 1000.0, variance: float = 1.0) -> Evidence:
    """All its singles and pairs, without noise."""
    sizes = [table.shape[1] for table in model.columns]
    marginals = [(j,) for j in range(len(sizes))] + list(itertools.combinations(range(len(sizes)), 2))
    views = [View(columns, count * model.table(columns), variance) for columns in marginals]
    itself = tuple(np.arange(size) for size in sizes)
    return Evidence(tuple(Column(size) for size in sizes), itself, (View((), np.array(count), variance), *views))


def slow_chi(evidence: Evidence, model: Mixture, besides: tuple[int, ...] = ()) -> float:
    """χ² per cell by its definition, of all views but one."""
    views = [view for view in evidence.views if view.columns not in ((), besides)]
    total = sum(
        float(((evidence.count * model.table(view.columns) - view.counts) ** 2 / view.variance).sum()) for view in views
    )
    return total / sum(view.counts.size for view in views)


def doubled(targets: Targets) -> Targets:
    """In float64: differences of float32 are too coarse for slopes."""
    return replace(targets, shares=targets.shares.astype(np.float64), precision=targets.precision.astype(np.float64))


@pytest.mark.parametrize("rows", [200, 4])
def test_chi_is_what_it_says_and_its_gradient_is_its_slope(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows at once, and four at a time: the last ones are fewer."""
    monkeypatch.setattr("scumble.views.targets.BLOCK", rows)
    evidence = exact(world(), variance=7.0)
    targets = doubled(Targets.of(evidence))
    logs = begun(targets, 4, np.random.default_rng(1)).astype(np.float64)
    logs[-1] = [0.3, -0.2, 0.0, 0.5]
    weights, stack = distribution(targets, logs)
    model = Mixture(weights, tuple(np.split(stack.T, np.cumsum(SIZES)[:-1], axis=1)))
    slope, step = Slope(targets, logs), 1e-5
    assert slope() == pytest.approx(slow_chi(evidence, model), rel=1e-5)
    gradient = slope.gradient.copy()
    for place in np.ndindex(*logs.shape):
        ends = []
        for sign in (1, -1):
            logs[place] += sign * step
            ends.append(slope())
            logs[place] -= sign * step
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("rows", [48, 5])
def test_what_was_not_measured_is_left_out_of_a_slope(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of columns, and one by itself: the same by all cells of the matrix, and by those that were measured."""
    generator = np.random.default_rng(3)
    model = Mixture(np.full(2, 0.5), tuple(generator.dirichlet(np.ones(4), 2) for _ in range(9)))
    every = exact(model, variance=7.0)
    chain = {(j, j + 1) for j in range(5)} | {(6, 7)}
    views = tuple(view for view in every.views if len(view.columns) < 2 or view.columns in chain)
    evidence = replace(every, views=views)
    found = []
    for dense, size in ((0.0, 200), (1.0, rows)):
        monkeypatch.setattr("scumble.views.targets.DENSE", dense)
        monkeypatch.setattr("scumble.views.targets.SPARSE_BLOCK", size)
        targets = doubled(Targets.of(evidence))
        assert len(targets.shares) == 8 * 4 + 1  # the ninth column has no pair
        logs = begun(targets, 4, np.random.default_rng(1)).astype(np.float64)
        slope = Slope(targets, logs)
        found.append((slope(), slope.gradient, sum(block.shares.size for block in targets.blocks)))
    (chi, gradient, all_cells), (same, also, fewer) = found
    assert same == pytest.approx(chi, rel=1e-12)
    np.testing.assert_allclose(also, gradient, atol=1e-12 * np.abs(gradient).max())
    assert fewer < all_cells / 2 or rows == 48
    weights, stack = distribution(targets, logs)
    tables = dict(zip(sorted(evidence.tied), np.split(stack.T, 8, axis=1), strict=True))
    fit = Mixture(weights, tuple(tables.get(j, np.full((4, 4), 0.25)) for j in range(9)))
    assert chi == pytest.approx(slow_chi(evidence, fit, besides=(8,)), rel=1e-5)


def test_single_precision_is_enough_for_a_slope() -> None:
    targets = Targets.of(exact(world(), variance=7.0))
    logs = begun(targets, 4, np.random.default_rng(1))
    single, double = Slope(targets, logs), Slope(doubled(targets), logs.astype(np.float64))
    assert single() == pytest.approx(double(), rel=1e-4)
    largest = np.abs(double.gradient).max()
    np.testing.assert_allclose(single.gradient, double.gradient, rtol=1e-3, atol=1e-5 * largest)


def test_wide_tables_have_fewer_fits() -> None:
    assert [fitting.fits_for(groups) for groups in (10, 400, 800, 10_000)] == [8, 8, 4, 2]
    assert [fitting.fits_for(groups, 200) for groups in (260, 457, 800)] == [4, 4, 4]  # so have those with much to fit


def test_what_a_mixture_can_say_is_found() -> None:
    """Without noise: all pairs to 1 in 1,000 of the records, from five starts."""
    truth = world()
    evidence = exact(truth, variance=0.01)
    for seed in range(5):
        model = fitted(evidence, seed, goal=0.5)
        for pair in itertools.combinations(range(len(SIZES)), 2):
            np.testing.assert_allclose(model.table(pair), truth.table(pair), atol=1e-3)


def test_a_fit_stops_at_its_goal() -> None:
    generator = np.random.default_rng(2)
    clean = exact(world(), variance=100.0)
    noisy = replace(
        clean, views=tuple(replace(v, counts=v.counts + generator.normal(0, 10, v.counts.shape)) for v in clean.views)
    )
    reached = [slow_chi(noisy, fitted(noisy, 0, fits=1, goal=goal)) for goal in (3.0, 1.5, 0.8)]
    assert reached[0] > reached[1] > reached[2]
    assert all(chi <= goal for chi, goal in zip(reached, (3.0, 1.5, 0.8), strict=True))


def test_the_same_seed_gives_the_same_model() -> None:
    evidence = exact(world(), variance=25.0)
    one, other, third = fitted(evidence, 5), fitted(evidence, 5), fitted(evidence, 6)
    assert np.array_equal(one.weights, other.weights)
    assert all(np.array_equal(a, b) for a, b in zip(one.columns, other.columns, strict=True))
    assert not np.array_equal(one.weights, third.weights)


def diagonal(variance: float) -> Evidence:
    """Two columns that say the same: of rank 12."""
    columns = (Column(12), Column(12))
    singles = (View((j,), np.full(12, 50.0), variance) for j in (0, 1))
    return Evidence(columns, (np.arange(12),) * 2, (*singles, View((0, 1), np.eye(12) * 50, variance)))


def test_there_are_more_components_where_there_is_more_to_tell() -> None:
    """χ² of independent columns: each of 12 cells is off by 50 · 11/12 and each of 132 by 50/12, of 168 in all."""
    alone = 12 * (50 * 11 / 12) ** 2 + 132 * (50 / 12) ** 2
    told = [
        fitting.components_for(fitting.apart(Targets.of(diagonal(alone / 168 / chi))))
        for chi in (0.5, 9, 11, 30, 33, 1e5)
    ]
    assert told == [50, 50, 100, 100, 200, 200]
    assert len(fitted(diagonal(alone / 168 / 11), 0, fits=1).weights) == 100
    assert len(fitted(diagonal(1.0), 0, fits=1, components=3).weights) == 3


@pytest.mark.parametrize(("chi", "sizes"), [(1.0, [100, 200, 400]), (0.9, [100]), (30.0, [100])])
def test_components_double_where_a_fit_comes_near_its_goal_and_no_nearer(
    chi: float, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def reached(targets: Targets, components: int, *_: object, **__: object) -> tuple[np.ndarray, float]:
        asked.append(components)
        return np.zeros((len(targets.shares), components), np.float32), chi

    monkeypatch.setattr(fitting, "descend", reached)
    fitted(diagonal(15.0), 0, fits=1)
    assert asked == sizes


@pytest.mark.parametrize(("told", "goals"), [(1.9, [0.94, 0.74]), (2.1, [0.7, 0.55])])
def test_a_fit_goes_on_below_one_where_independent_columns_do_not_tell_all(
    told: float, goals: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of all cells hides a few that are far off; and a world is nearer to the views than a model, always."""
    asked = []

    def reached(targets: Targets, components: int, *_: object, goal: float) -> tuple[np.ndarray, float]:
        asked.append(goal)
        return np.zeros((len(targets.shares), components), np.float32), goal

    monkeypatch.setattr(fitting, "descend", reached)
    evidence = diagonal(fitting.apart(Targets.of(diagonal(1.0))) / told)
    fitted(evidence, 0, fits=1)
    fitted(evidence, 0, fits=1, goal=rehearsal.WORLD_GOAL)
    assert asked == pytest.approx(goals, abs=0.005)


def test_a_few_rows_unlike_all_others_are_not_lost_in_the_mean_of_all_cells() -> None:
    """In two of twenty years a second column is there, which is missing in all others; a third one has no part in it.

    The expected counts with noise of one generator, so nothing is left to chance: a fit that ends at a χ² of one has
    the column missing from 45 and 56 of 250 records too many in those years, a cell's noise being 10.
    """
    years, present = np.full(20, 0.05), (np.arange(20) % 10 == 0).astype(float)
    second, third = np.stack([1 - present, *np.tile(present / 9, (9, 1))], axis=1), np.full((20, 10), 0.1)
    truth = Mixture(years, (np.eye(20), second, third))
    clean = exact(truth, 5000.0, variance=100.0)
    noise = np.random.default_rng(3)
    views = tuple(replace(v, counts=v.counts + noise.normal(0, 10, v.counts.shape)) for v in clean.views)
    model = fitted(replace(clean, views=views), 0)
    off = 5000 * (model.table([0, 1]) - truth.table([0, 1]))[present > 0, 0]
    assert np.abs(off).max() < 30


def test_a_fit_that_misses_its_goal_takes_all_its_steps() -> None:
    """Four components cannot say a diagonal of twelve, and come nearer to it until the last step."""
    targets = Targets.of(diagonal(1.0))
    (_, before), (logs, reached) = (descend(targets, 4, np.random.default_rng(0), goal=goal) for goal in (130.0, 0.0))
    assert 0 < reached < before <= 130.0
    assert np.isfinite(logs).all()


def test_columns_of_no_pair_stay_independent() -> None:
    truth = world()
    whole = exact(truth)
    views = tuple(v for v in whole.views if len(v.columns) < 2)
    model = fitted(replace(whole, views=views), 0)
    np.testing.assert_allclose(model.table([0, 1]), np.outer(model.table([0]), model.table([1])), atol=1e-9)
    one = tuple(v for v in whole.views if len(v.columns) < 2 or v.columns == (0, 1))
    model = fitted(replace(whole, views=one), 0)
    np.testing.assert_allclose(model.table([0, 1]), truth.table([0, 1]), atol=5e-3)
    np.testing.assert_allclose(model.table([2, 3]), np.outer(model.table([2]), model.table([3])), atol=1e-9)
    np.testing.assert_allclose(model.table([3]), truth.table([3]), atol=1e-6)


def test_levels_within_a_group_have_the_shares_of_the_single_column() -> None:
    columns = (Column(4, 4), Column(2))
    groups = (np.array([0, 0, 1, 1]), np.arange(2))
    views = (
        View((0,), np.array([30.0, 10.0, 40.0, 20.0]), 1e-6),
        View((1,), np.array([60.0, 40.0]), 1e-6),
        View((0, 1), np.array([[30.0, 10.0], [30.0, 30.0]]), 1e-6),
    )
    model = fitted(Evidence(columns, groups, views), 0, goal=1000.0)
    table = model.table([0, 1])
    np.testing.assert_allclose(table[0] / table[1], 3.0, rtol=1e-4)
    np.testing.assert_allclose(table[2] / table[3], 2.0, rtol=1e-4)


def test_shapes_that_are_all_noise_are_equal_shares() -> None:
    counts = np.array([3.0, -2.0, 1.0, 500.0, 100.0])
    shape = shape_within(counts, 100.0, np.array([0, 0, 0, 1, 1]))
    np.testing.assert_allclose(shape[:3], 1 / 3)
    assert shape[3] == pytest.approx(5 / 6, abs=0.01)
    assert shape_within(np.array([-3.0, -4.0]), 1.0, np.zeros(2, int)).tolist() == [0.5, 0.5]


def test_the_nearest_distribution() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        values = generator.normal(0.2, 0.5, 6)
        nearest = simplex(values)
        assert nearest.min() >= 0
        assert nearest.sum() == pytest.approx(1)
        others = generator.dirichlet(np.full(6, 0.5), 200)
        assert ((nearest - values) ** 2).sum() <= ((others - values) ** 2).sum(axis=1).min() + 1e-12


def test_the_number_of_records_is_the_mean_of_all_totals_by_inverse_variance() -> None:
    views = (View((), np.array(100.0), 1.0), View((0,), np.array([50.0, 60.0]), 2.0))
    assert Evidence((Column(2),), (np.arange(2),), views).count == pytest.approx((100 + 110 / 4) / (1 + 1 / 4))
    empty = (View((0,), np.array([-5.0, -6.0]), 2.0),)
    assert Evidence((Column(2),), (np.arange(2),), empty).count == 1


def test_evidence_must_fit_its_columns() -> None:
    with pytest.raises(ParameterError, match="alone"):
        Evidence((Column(2),), (np.arange(2),), ())
    with pytest.raises(ParameterError, match="shape"):
        Evidence((Column(2),), (np.arange(2),), (View((0,), np.ones(3), 1.0),))
