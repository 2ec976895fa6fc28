"""The plan: sane, from public facts alone, and right about the error."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import scumble

KERNEL = scumble.EuclideanKernel(1.0)


def test_more_budget_buys_more_rows_and_less_error() -> None:
    plans = [scumble.plan(n=50_000, dimensions=8, epsilon=e, kernel=KERNEL) for e in (0.01, 0.1, 1.0, 10.0)]
    assert all(a.rows <= b.rows for a, b in pairwise(plans))
    assert all(a.relative_error > b.relative_error for a, b in pairwise(plans))


def test_gaussian_noise_makes_rows_free() -> None:
    pure = scumble.plan(n=50_000, dimensions=8, epsilon=0.1, kernel=KERNEL)
    approximate = scumble.plan(n=50_000, dimensions=8, epsilon=0.1, delta=1e-6, kernel=KERNEL)
    assert approximate.rows > pure.rows and approximate.relative_error < pure.relative_error


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


def test_cells_along_each_axis_can_be_given() -> None:
    sketch = scumble.Sketch(KERNEL, 2, buckets=(10, 30), bounds=(0.0, 1.0))
    assert sketch.design == "grid" and sketch.buckets == 300 and sketch.spec.shape == (10, 30)
    for options in ({"bounds": None}, {"bounds": (0, 1), "design": "sobol"}, {"bounds": (0, 1), "buckets": (5,)}):
        with pytest.raises(scumble.ParameterError, match="`buckets` must be"):
            scumble.Sketch(KERNEL, 2, **{"buckets": (10, 30), **options})


def test_the_grid_says_why_it_cannot_serve() -> None:
    with pytest.raises(scumble.ParameterError, match="no `bounds`"):
        scumble.Sketch(KERNEL, 1, design="grid")
    with pytest.raises(scumble.ParameterError, match="A grid cannot serve"):
        scumble.Sketch(scumble.AngularKernel(), 2, design="grid", bounds=(0.0, 1.0))
    with pytest.raises(scumble.ParameterError, match="A grid cannot serve"):
        scumble.Sketch(KERNEL, 9, design="grid", bounds=(0.0, 1.0))
    with pytest.raises(scumble.ParameterError, match="`rows` must be 1"):
        scumble.Sketch(KERNEL, 1, design="grid", bounds=(0.0, 1.0), rows=100)


@pytest.mark.parametrize("options", [{"n": 0}, {"epsilon": 0.0}, {"epsilon": -1}, {"delta": 0.5}, {"density": 0.0}])
def test_bad_facts_are_refused(options: dict) -> None:
    facts: dict = {"n": 1000, "dimensions": 2, "epsilon": 1.0, "kernel": KERNEL, **options}
    with pytest.raises(scumble.ParameterError):
        scumble.plan(**facts)
    with pytest.raises(scumble.ParameterError, match="kernel"):
        scumble.plan(n=10, dimensions=2, epsilon=1.0)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("dimensions", [2, 6])
def test_the_expected_error_is_about_right(dimensions: int, delta: float) -> None:
    """Within a factor of 2.5 either way, for queries of about the assumed density."""
    rng = np.random.default_rng(3)
    X, Q = rng.normal(size=(2, 20_000, dimensions))
    kernel = scumble.EuclideanKernel(0.8 * np.sqrt(dimensions) / 2)
    Q = Q[:150]
    truth = kernel(Q, X).mean(axis=1)
    plan = scumble.plan(
        n=20_000, dimensions=dimensions, epsilon=1.0, delta=delta, kernel=kernel, density=float(np.median(truth))
    )
    errors = [
        scumble.Sketch(kernel, dimensions, seed=s, **plan.parameters()).update(X).release(1.0, delta).density(Q)
        for s in range(5)
    ]
    relative = np.sqrt(np.mean(((np.array(errors) - truth) / truth) ** 2))
    assert plan.relative_error / 2.5 <= relative <= plan.relative_error * 2.5
