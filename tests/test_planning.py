"""The plan: sane, from public facts alone, and right about the error."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import scumble
from scumble.density.expected_error import grid_errors
from scumble.density.plan import EPSILONS, plan_within
from scumble.privacy.budget import Budget
from scumble.privacy.wording import belief

KERNEL = scumble.EuclideanKernel(1.0)


def test_bounds_bring_the_grid_into_play() -> None:
    with_bounds = scumble.plan(n=20_000, dimensions=1, epsilon=1.0, kernel=KERNEL, bounds=(0.0, 50.0))
    assert with_bounds.design == "grid" and with_bounds.rows == 1
    assert scumble.plan(n=20_000, dimensions=1, epsilon=1.0, kernel=KERNEL).design == "sobol"
    sketch = scumble.Sketch(KERNEL, 1, bounds=(0.0, 50.0))
    assert sketch.design == "grid"
    assert scumble.Sketch(KERNEL, 1, bounds=(0.0, 50.0), rows=100).design == "sobol"


def test_a_plan_makes_its_sketch() -> None:
    for bounds in (None, (0.0, 30.0)):
        plan = scumble.plan(n=20_000, dimensions=2, epsilon=0.5, kernel=KERNEL, bounds=bounds)
        sketch = scumble.Sketch(KERNEL, 2, **plan.parameters())
        assert (sketch.rows, sketch.buckets, sketch.design) == (plan.rows, plan.buckets, plan.design)
        assert sketch.spec.shape == plan.shape
        assert json.loads(json.dumps(plan.to_dict()))["rows"] == plan.rows


@pytest.mark.parametrize(
    "options",
    [
        *({"n": 0}, {"epsilon": 0.0}, {"epsilon": -1}, {"delta": 0.5}, {"density": 0.0}, {"kernel": None}),
        *({"epsilon": None, "error": wrong} for wrong in (0, "much", 1e-6)),
        {"error": 0.1},
    ],
)
def test_bad_facts_and_errors_that_cannot_be_had_are_refused(options: dict) -> None:
    facts: dict = {"n": 1000, "dimensions": 2, "epsilon": 1.0, "kernel": KERNEL, **options}
    with pytest.raises(scumble.ParameterError):
        scumble.plan(**facts)


@pytest.mark.parametrize(
    "options", [{"bounds": None}, {"kernel": scumble.AngularKernel()}, {"dimensions": 9}, {"rows": 100}]
)
def test_a_grid_that_cannot_serve_is_refused(options: dict) -> None:
    facts: dict = {"kernel": KERNEL, "dimensions": 2, "design": "grid", "bounds": (0.0, 1.0), **options}
    with pytest.raises(scumble.ParameterError):
        scumble.Sketch(**facts)


def test_a_wanted_error_gets_the_least_budget() -> None:
    facts: dict = {"n": 100_000, "dimensions": 8, "kernel": KERNEL}
    plan = scumble.plan(**facts, error="2%")
    less = EPSILONS[EPSILONS.index(plan.epsilon) - 1]
    assert plan.relative_error <= 0.02 < scumble.plan(**facts, epsilon=less).relative_error
    assert scumble.plan(**facts, error=0.02, delta=1e-6).epsilon < scumble.plan(**facts, error=0.02).epsilon
    assert sorted(set(EPSILONS)) == EPSILONS


def test_beliefs_after_a_release_follow_from_bayes_rule() -> None:
    """Against the worst answer of randomized response, for which the promise is tight."""
    for epsilon in (0.1, 1.0, 5.0):
        yes, no = np.exp(epsilon) / (1 + np.exp(epsilon)), 1 / (1 + np.exp(epsilon))
        for before in (0.01, 0.5, 0.9):
            assert np.isclose(belief(before, epsilon), before * yes / (before * yes + (1 - before) * no))
    assert "73.2 %" in scumble.plan(n=10_000, dimensions=2, epsilon=1.0, kernel=KERNEL).sentence()


def test_a_plan_takes_the_better_of_grid_and_rows() -> None:
    found = set()
    for width, axes, delta in ((0.05, 4, 0.0), (0.39, 3, 0.0), (0.39, 4, 1e-6), (3.0, 4, 0.0)):
        kernel = scumble.EuclideanKernel(width, 2)
        decide = partial(plan_within, Budget(1.0, delta), 100_000, axes, kernel, bounds=(-2.0, 2.0), later=False)
        grid, rows, chosen = (decide(design=design) for design in ("grid", "sobol", "auto"))
        assert chosen.relative_error == min(grid.relative_error, rows.relative_error)
        found.add((axes, chosen.design))
    assert {(4, "grid"), (4, "sobol"), (3, "grid")} <= found


NARROW, WIDE = 1e-5, 2.0


@pytest.mark.parametrize(
    ("dimensions", "bounds", "width", "delta"),
    [
        *((8, None, 1.0, delta) for delta in (0.0, 1e-6)),
        *((axes, (0.0, 1.0), width, 0.0) for axes, width in ((1, NARROW), (3, WIDE))),
        *((axes, (0, 60), width, 1e-6) for axes, width in ((1, WIDE), (3, NARROW), (4, WIDE))),
    ],
)
def test_more_budget_or_more_records_never_mean_more_error(
    dimensions: int, bounds: object, width: float, delta: float
) -> None:
    kernel = scumble.ManhattanKernel(width) if dimensions == 4 else scumble.EuclideanKernel(width, 2)
    decide = partial(scumble.plan, dimensions=dimensions, delta=delta, kernel=kernel, bounds=bounds)
    budgets = [decide(200_000, epsilon=epsilon) for epsilon in (0.1, 1.0, 3.0, 10.0)]
    tables = [decide(n, epsilon=1.0) for n in (2_000, 20_000, 200_000)]
    for plans in (budgets, tables):
        assert all(a.relative_error >= b.relative_error for a, b in pairwise(plans))
    assert all(plan.relative_error < 100.0 for plan in budgets)  # of a kernel that sees nothing, too


@pytest.mark.parametrize(("dimensions", "width"), [(2, 5.0), (3, 20.0)])
def test_errors_fall_with_the_budget_where_a_grid_takes_the_place_of_rows(dimensions: int, width: float) -> None:
    decide = partial(scumble.plan, 100_000, dimensions, delta=1e-6, kernel=scumble.EuclideanKernel(width, 2))
    plans = [decide(epsilon=epsilon, bounds=(0.0, 100.0)) for epsilon in np.geomspace(0.3, 2.0, 6).tolist()]
    assert {plan.design for plan in plans} == {"sobol", "grid"}
    assert all(a.relative_error >= b.relative_error for a, b in pairwise(plans))


@pytest.mark.parametrize(("dimensions", "width", "delta"), [(1, 0.01, 0.0), (2, 0.05, 1e-6), (3, 0.4, 1e-6)])
def test_of_records_as_dense_as_assumed_the_error_is_as_predicted(dimensions: int, width: float, delta: float) -> None:
    """Within a factor of 5 below and 2 above: records that lie smoothly err less than those that are usual.

    A mean of 150 errors is off by less than a factor of 2 but for a chance far below 1e-6: most of them are
    independent, and each has a standard deviation of three quarters of its mean.
    """
    rng = np.random.default_rng(0)
    X, Q = 0.25 + 0.5 * rng.random((20_000, dimensions)), 0.25 + 0.5 * rng.random((150, dimensions))
    kernel = scumble.EuclideanKernel(width, 2)
    truth = kernel(Q, X).mean(axis=1)
    facts: dict = {"kernel": kernel, "bounds": (0.0, 1.0), "density": float(np.median(truth))}
    plan = scumble.plan(20_000, dimensions, 1.0, delta, **facts)
    release = scumble.Sketch(kernel, dimensions, seed=0, **plan.parameters()).update(X).release(1.0, delta)
    seen = np.mean(np.abs(release.density(Q) / truth - 1.0))
    assert plan.relative_error / 5.0 <= seen <= 2.0 * plan.relative_error


@pytest.mark.parametrize(("width", "cells", "noise"), [(0.01, 200, 0.0), (0.01, 200, 3.0), (0.02, 100, 10.0)])
def test_half_of_the_records_in_crowds_err_as_predicted(width: float, cells: int, noise: float) -> None:
    """Where crowds hold most of the near pairs, queries outside have few records near them. No chance plays a part."""
    rng, n, shape = np.random.default_rng(0), 10_000, (10_200, 2)
    crowds = rng.normal(0.5, 0.12, (30, 2))[rng.integers(0, 30, shape[0])]
    points = np.clip(np.where(rng.random((shape[0], 1)) < 0.5, crowds, rng.normal(0.5, 0.12, shape)), 0.0, 1.0)
    X, Q, kernel = points[200:], points[:200], scumble.EuclideanKernel(width, 2)
    truth = kernel(Q, X).mean(axis=1)
    _, times = np.unique(X, axis=0, return_counts=True)
    shared = np.sum((times / n) ** 2) / truth.mean()
    sketch = scumble.Sketch(kernel, 2, bounds=(0.0, 1.0), buckets=(cells, cells)).update(X)
    layout = sketch.spec.layout
    found = layout.reader(sketch.secret.counts, noise**2, (n, 0.0)).estimate(layout.read(Q, invalid="error")[0])
    noisy = found.value + np.sqrt(found.noise_variance) * rng.normal(size=(200, len(Q)))
    seen = np.mean(np.abs(noisy / n / truth - 1.0))
    errors = grid_errors(sketch.spec, [(cells, cells)])
    predicted = errors.clumped(n, noise, truth.mean(keepdims=True), np.array([shared])).item()
    assert 0.7 < predicted / seen < 1.7
