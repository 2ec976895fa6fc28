"""The noise of the rivals: NumPy's generator, which is good enough for a benchmark and no more.

Neighbors add or remove a record. A share of the budget pays for a noisy count, as scumble's releases do.
"""

from __future__ import annotations

import numpy as np

from scumble.privacy import DEFAULT_COUNT_SHARE, analytic_gaussian_sigma

COUNT_SHARE = float(DEFAULT_COUNT_SHARE)


def laplace_scale(sensitivity: float, epsilon: float) -> float:
    """Scale for a vector of this L1 sensitivity, after the count has taken its share of ε."""
    return sensitivity / ((1.0 - COUNT_SHARE) * epsilon)


def laplace_count(n: float, epsilon: float, rng: np.random.Generator) -> float:
    """N with the noise of its share of ε; at least 1."""
    return max(1.0, n + rng.laplace(0.0, 1.0 / (COUNT_SHARE * epsilon)))


def gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """σ for a vector of this L2 sensitivity (Balle & Wang 2018: right for every ε), after the count's share."""
    return analytic_gaussian_sigma(epsilon, delta, sensitivity) / np.sqrt(1.0 - COUNT_SHARE)


def gaussian_count(n: float, epsilon: float, delta: float, rng: np.random.Generator) -> float:
    """N with the noise of its share; at least 1. Together with `gaussian_sigma` the two are (ε, δ)."""
    return max(1.0, n + rng.normal(0.0, analytic_gaussian_sigma(epsilon, delta) / np.sqrt(COUNT_SHARE)))
