"""The rivals of classification: as private as they say, and right once noise no longer matters."""

from __future__ import annotations

from math import log1p

import numpy as np
import pytest
from benchmarks.paper import race as algorithm
from benchmarks.paper.classification import logistic, naive_bayes
from benchmarks.paper.functions.tables import exact_table

from scumble import EuclideanKernel

EPSILONS = (0.001, 0.1, 1.0, 10.0)


@pytest.fixture(scope="module")
def clouds() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 3000)
    return np.clip(0.4 + 0.2 * y[:, None] + rng.normal(0.0, 0.1, (3000, 4)), 0.0, 1.0), y


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_budget_of_logistic_regression(epsilon: float) -> None:
    """Noise and Jacobian together cost ε, and the noise has at least half of it."""
    ridge, rate = logistic.parameters(epsilon)
    assert rate + log1p(logistic.CURVATURE / ridge) == pytest.approx(epsilon)
    assert rate >= epsilon / 2.0 * (1.0 - 1e-9)


def test_one_record_moves_the_noise_of_a_model_by_at_most_one(clouds, rng: np.random.Generator) -> None:
    """The noise that leads to a given model is the negative gradient: with and without any record of the cube."""
    X, _ = clouds
    Z = logistic.on_ball(np.vstack([X[:50], rng.integers(0, 2, (200, 4))]))
    assert np.linalg.norm(Z, axis=1).max() <= 1.0 + 1e-12
    for theta in rng.normal(0.0, 5.0, (20, 5)):
        margin = Z @ theta
        slope = 1.0 / (1.0 + np.exp(-np.abs(margin)))  # the larger of both labels' gradients
        assert (slope * np.linalg.norm(Z, axis=1)).max() <= 1.0
        assert (slope * (1.0 - slope) * np.sum(Z * Z, axis=1)).max() <= logistic.CURVATURE


def test_the_noise_of_logistic_regression_has_its_length(rng: np.random.Generator) -> None:
    """A gamma law of shape d: mean d/rate, variance d/rate² (4,000 draws; 6.2 sd of the mean are 0.11)."""
    lengths = [np.linalg.norm(logistic.noise(5, 2.0, rng)) for _ in range(4000)]
    assert np.mean(lengths) == pytest.approx(2.5, abs=0.11)
    assert np.var(lengths) == pytest.approx(1.25, abs=0.2)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_budget_of_naive_bayes(epsilon: float) -> None:
    """One record moves the count by 1, the sums and the squares of d columns by at most 1 each."""
    for d in (1, 8, 25):
        one, many = naive_bayes.scales(d, epsilon)
        assert 1.0 / one + d / many + d / many == pytest.approx(epsilon)


def test_algorithm_1_adds_the_noise_that_its_proof_asks_for(clouds) -> None:
    """The floor of Laplace noise of scale R/ε: its mean is −½, its mean size R/ε (6,400 counters; 6.2 sd)."""
    X, _ = clouds
    exact = algorithm.Race(exact_table(X, EuclideanKernel(0.5), 100, 64, 1))
    scale = algorithm.honest(100, len(X), 0.5)
    assert scale == 200.0
    drawn = exact.with_noise(scale, np.random.default_rng(0)).table.counts - exact.table.counts
    assert drawn.mean() == pytest.approx(-0.5, abs=6.2 * 200.0 * np.sqrt(2.0 / drawn.size))
    assert np.abs(drawn + 0.5).mean() == pytest.approx(200.0, abs=6.2 * 200.0 / np.sqrt(drawn.size))


def test_the_published_noise_is_n_times_less() -> None:
    assert algorithm.honest(100, 4000, 1.0) / algorithm.as_published(100, 4000, 1.0) == pytest.approx(4000.0)
