"""The rivals of linear regression: as private as they say, and right once noise no longer matters."""

from __future__ import annotations

from math import exp, pi, sqrt

import numpy as np
import pytest
from benchmarks.paper.regression import adaops, adassp, objective, ops, ssp
from benchmarks.paper.regression.gaussian import gaussian_delta

DELTA = 1e-6
EPSILONS = (0.001, 0.01, 0.1, 1.0, 10.0)


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


def neighbors() -> list[tuple[float, float, float, float]]:
    """(Σx², Σxy) without and with one more record, in one dimension: quiet and loud data, all extreme records."""
    tables = [(n * x * x, n * x * y) for n, x, y in ((0, 0.0, 0.0), (400, 0.05, 1.0), (400, 1.0, 1.0), (50, 1.0, 0.0))]
    return [(g, c, g + x * x, c + x * y) for g, c in tables for x, y in ((1.0, -1.0), (1.0, 1.0), (0.3, -1.0))]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_a_posterior_sample_is_private(epsilon: float) -> None:
    """In one dimension the two laws are normal and δ(ε) is an integral. At most 401 records: n is public."""
    ridge, gamma = ops.parameters(401, 1, epsilon, DELTA)
    for gram, cross, other_gram, other_cross in neighbors():
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
    for gram, cross, other_gram, other_cross in neighbors():
        laws = [(c / (g + ridge), sigma / (g + ridge)) for g, c in ((gram, cross), (other_gram, other_cross))]
        assert hockey_stick(*laws, epsilon, clip=1.0) <= DELTA
        assert hockey_stick(*laws[::-1], epsilon, clip=1.0) <= DELTA


def test_a_tenth_of_the_noise_would_be_seen() -> None:
    """The test above can fail."""
    ridge, sigma = objective.parameters(1.0, DELTA)
    p = (200.0 / (400.0 + ridge), sigma / 10.0 / (400.0 + ridge))
    q = (199.0 / (401.0 + ridge), sigma / 10.0 / (401.0 + ridge))
    assert hockey_stick(p, q, 1.0, clip=1.0) > 10.0 * DELTA
