"""The experiments on densities, on synthetic records: what they promise about their own figures."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paper.densities import PAPER, QUICK, SIZES, density_set, truth
from benchmarks.paper.experiments import ablations_density, close, density, timing
from benchmarks.paper.functions import METHODS
from benchmarks.paper.task import Task


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("experiment", [density, close, timing, ablations_density])
def test_tasks_have_keys_of_their_own(experiment, quick):
    keys = [task.key for task in experiment.tasks(quick)]
    assert len(set(keys)) == len(keys) > 0
    assert all(task.options == tuple(sorted(task.options)) for task in experiment.tasks(quick))


def test_every_method_is_in_every_set_at_every_budget_it_can_run_at():
    found = {(task.dataset, task.method, task.epsilon) for task in density.tasks(quick=False)}
    for dataset in PAPER:
        for method in METHODS:
            budgets = {epsilon for name, other, epsilon in found if (name, other) == (dataset, method.name)}
            always = method.private == "none" or method.why_not(*SIZES[dataset], 1.0)
            assert budgets == ({10.0} if always else {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0})


def test_sizes_are_those_of_the_sets():
    for name in QUICK:
        assert density_set(name).X.shape == SIZES[name]


def test_one_row_has_both_errors_and_the_setting():
    row = density.run(Task("density", "hills-1d", "Trigonometric polynomials", 1.0, 0))
    assert 0.0 < row["l2_error"] < row["relative_error"] < 0.3
    assert row["setting_terms"] in (8, 16, 32, 64, 128, 256, 512)
    assert "lattice" in density.run(Task("density", "hills-3d", "PFDA", 1.0, 0))["cannot"]


def test_a_close_call_is_the_mean_of_releases_of_its_own(monkeypatch):
    asked = []
    monkeypatch.setattr(density, "run", lambda task: asked.append(task) or {"relative_error": float(task.repetition)})
    first, second = (close.run(Task("close", "hills-1d", "PFDA", 1.0, k))["relative_error"] for k in (0, 1))
    assert (first, second) == (14.5, 24.5)
    assert {task.experiment for task in asked} == {"density"}
    assert len({task.repetition for task in asked}) == 20 and min(task.repetition for task in asked) == 10


def test_errors_are_against_the_exact_density():
    data = density_set("hills-3d")
    exact = truth("hills-3d", data.kernel)
    np.testing.assert_allclose(exact[:20], data.kernel(data.Q[:20], data.X).mean(axis=1), rtol=1e-6)
    assert density.errors(exact, exact) == {"relative_error": 0.0, "l2_error": 0.0}
    assert density.errors(1.1 * exact, exact)["relative_error"] == pytest.approx(0.1)


def test_the_setting_taken_in_hindsight_is_a_good_one():
    """At ε = 100 eight cosines are far worse than hundreds, at ε = 0.01 far better; the choice must see that."""
    method = density.BY_NAME["Fourier series"]
    assert dict(density.best_setting("hills-1d", method, 100.0))["terms"] >= 128
    assert dict(density.best_setting("hills-1d", method, 0.01))["terms"] <= 32


@pytest.mark.parametrize("dataset", QUICK)
@pytest.mark.parametrize("epsilon", [0.1, 10.0])
def test_the_bound_of_theorem_3_holds(dataset, epsilon):
    row = ablations_density.run(Task("ablations_density", dataset, "theorem 3", epsilon, 0, (("rows", 256),)))
    assert row["violations"] <= 0.05
    assert row["slack"] > 1.0


def test_the_own_count_is_far_better_than_that_of_all_counters():
    """Errors of 25 on average against 570: twelve of the latter average below 75 with probability 2e-9."""
    rows = [
        ablations_density.run(Task("ablations_density", "hills-1d", "count", 1.0, repetition, (("rows", 256),)))
        for repetition in range(12)
    ]
    theirs, own = (np.mean([row[f"count_error_{name}"] for row in rows]) for name in ("algorithm_2", "own"))
    assert own < theirs / 3


def test_the_floor_takes_half_a_count_off_every_counter():
    """1,024 counters per row; at ε = 1e6 the noise itself shifts their sum, the mean of 256 rows, by less than 1e-2."""
    row = ablations_density.run(Task("ablations_density", "hills-1d", "noise", 1e6, 0, (("rows", 256),)))
    assert row["count_shift_floor_of_laplace"] == pytest.approx(-512, abs=5)
    assert row["count_shift_discrete_laplace"] == pytest.approx(0, abs=5)


def test_times_are_told_for_each_step():
    row = timing.run(Task("timing", "hills-3d", "LSQ, fast Gauss transform", 1.0, 0, (("records", 500),)))
    assert {"seconds_prepare", "cpu_prepare", "seconds_open", "seconds_query"} <= set(row)
    assert all(row[name] >= 0.0 for name in row if name.startswith("seconds"))
