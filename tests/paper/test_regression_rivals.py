"""The rivals of linear regression: as private as they say, and right once noise no longer matters."""

from __future__ import annotations

from math import exp, pi, sqrt

import numpy as np
import pytest
from benchmarks.paper.regression import adaops, adassp, least_squares, objective, ops, ssp
from benchmarks.paper.regression.gaussian import gaussian_delta, symmetric

DELTA = 1e-6
EPSILONS = (0.001, 0.01, 0.1, 1.0, 10.0)
RIVALS = (ssp.METHOD, adassp.METHOD, adassp.TIGHT, ops.METHOD, adaops.METHOD, objective.METHOD)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_noise_is_enough(epsilon: float) -> None:
    """Every part moves by at most 1; parts compose as Gaussians do."""
    assert gaussian_delta(epsilon, sqrt(2.0) / ssp.scale(epsilon, DELTA)) <= DELTA * 1.0001
    assert gaussian_delta(epsilon, sqrt(3.0) / adassp.scale(epsilon, DELTA)) <= DELTA
    assert gaussian_delta(epsilon, sqrt(3.0) / adassp.tight_scale(epsilon, DELTA)) == pytest.approx(DELTA, rel=1e-3)
    # Two Gaussian parts within ε/2; the bounds that fail with δ/6 each; and the sample, (ε/2, δ/3).
    assert gaussian_delta(epsilon / 2.0, sqrt(2.0) / adaops.scale(epsilon, DELTA)) <= DELTA / 3.0


def test_the_published_noise_of_ssp_is_not_enough() -> None:
    published = sqrt(np.log(4.0 / DELTA))
    assert published / ssp.scale(1.0, DELTA) == pytest.approx(0.65, abs=0.01)
    assert gaussian_delta(1.0, sqrt(2.0) / published) > 10.0 * DELTA


def test_symmetric_noise_is_the_same_in_every_direction(rng: np.random.Generator) -> None:
    """The inner product with a symmetric matrix of Frobenius norm 1 has variance 1 (20,000 draws: 6.2 sd are 0.062)."""
    direction = rng.normal(size=(4, 4))
    direction = direction + direction.T
    direction /= np.linalg.norm(direction)
    for unit in (direction, np.diag([1.0, 0, 0, 0])):
        seen = [float(np.sum(symmetric(rng, 4) * unit)) for _ in range(20_000)]
        assert np.var(seen) == pytest.approx(1.0, abs=0.062)


def hockey_stick(p: tuple[float, float], q: tuple[float, float], epsilon: float, clip: float = np.inf) -> float:
    """∫ max(p − e^ε q, 0) for two normal laws, both clipped to [−clip, clip]."""
    from scipy.stats import norm

    edge = min(clip, 40.0 * max(p[1], q[1]) + max(abs(p[0]), abs(q[0])))
    t = np.linspace(-edge, edge, 40_001)

    def law(one: tuple[float, float]) -> np.ndarray:
        return np.exp(-0.5 * ((t - one[0]) / one[1]) ** 2) / (one[1] * sqrt(2.0 * pi))

    inside = float(np.sum(np.maximum(law(p) - exp(epsilon) * law(q), 0.0)) * (t[1] - t[0]))
    if clip == np.inf:
        return inside
    atoms = [(norm.cdf(-clip, *p), norm.cdf(-clip, *q)), (norm.sf(clip, *p), norm.sf(clip, *q))]
    return inside + sum(max(float(a - exp(epsilon) * b), 0.0) for a, b in atoms)


def neighbours() -> list[tuple[float, float, float, float]]:
    """(Σx², Σxy) without and with one more record, in one dimension: quiet and loud data, all extreme records."""
    tables = [(n * x * x, n * x * y) for n, x, y in ((0, 0.0, 0.0), (400, 0.05, 1.0), (400, 1.0, 1.0), (50, 1.0, 0.0))]
    return [(g, c, g + x * x, c + x * y) for g, c in tables for x, y in ((1.0, -1.0), (1.0, 1.0), (0.3, -1.0))]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_a_posterior_sample_is_private(epsilon: float) -> None:
    """In one dimension the two laws are normal and δ(ε) is an integral. At most 401 records: n is public."""
    ridge, gamma = ops.parameters(401, 1, epsilon, DELTA)
    for gram, cross, other_gram, other_cross in neighbours():
        laws = [
            (c / (g + 1.0 + ridge), 1.0 / sqrt(gamma * (g + 1.0 + ridge)))
            for g, c in ((gram, cross), (other_gram, other_cross))
        ]
        assert hockey_stick(*laws, epsilon) <= DELTA
        assert hockey_stick(*laws[::-1], epsilon) <= DELTA


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_a_perturbed_objective_is_private(epsilon: float) -> None:
    """In one dimension the minimum is normal, clipped to the ball."""
    ridge, sigma = objective.parameters(epsilon, DELTA)
    for gram, cross, other_gram, other_cross in neighbours():
        laws = [(c / (g + ridge), sigma / (g + ridge)) for g, c in ((gram, cross), (other_gram, other_cross))]
        assert hockey_stick(*laws, epsilon, clip=1.0) <= DELTA
        assert hockey_stick(*laws[::-1], epsilon, clip=1.0) <= DELTA


def test_a_tenth_of_the_noise_would_be_seen() -> None:
    """The test above can fail."""
    ridge, sigma = objective.parameters(1.0, DELTA)
    p = (200.0 / (400.0 + ridge), sigma / 10.0 / (400.0 + ridge))
    q = (199.0 / (401.0 + ridge), sigma / 10.0 / (401.0 + ridge))
    assert hockey_stick(p, q, 1.0, clip=1.0) > 10.0 * DELTA


@pytest.fixture(scope="module")
def line() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records in the unit ball, targets within [−1, 1], and the least squares solution, of length below 1."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (4000, 3)) / sqrt(3.0)
    y = np.clip(X @ [0.6, -0.4, 0.2] + rng.normal(0.0, 0.05, 4000), -1.0, 1.0)
    return X, y, least_squares.METHOD.fit(X, y)


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: rival.name)
def test_rivals_come_to_the_truth_as_the_budget_grows(rival, line) -> None:
    X, y, truth = line

    def error(epsilon: float) -> float:
        draws = [rival.fit(X, y, epsilon, DELTA, np.random.default_rng(seed)) for seed in range(9)]
        return float(np.median([np.linalg.norm(draw - truth) for draw in draws]))

    small, medium, large = error(0.05), error(1.0), error(1e7)
    assert small > medium > large
    assert large < 0.01


def test_the_ball_holds_and_its_solution_is_the_best_in_it(rng: np.random.Generator) -> None:
    gram, cross = np.diag([1.0, 3.0]), np.array([4.0, 1.0])
    best = objective.within_ball(gram, cross)
    assert np.linalg.norm(best) == pytest.approx(1.0)
    others = rng.normal(size=(2000, 2))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    values = 0.5 * np.einsum("ni,ij,nj->n", others, gram, others) - others @ cross
    assert 0.5 * best @ gram @ best - cross @ best <= values.min() + 1e-9
