"""Gaussian noise as the regression rivals use it."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from scipy.stats import norm


def wang_sigma(epsilon: float, delta: float) -> float:
    """Noise for a sensitivity of 1 as Wang (2018) has it, √ln(2/δ)/ε: √2 below the classical formula.

    Not enough on its own; AdaSSP and AdaOPS use it for parts of a budget that they add up generously, and together
    that is enough (a test computes it).
    """
    return sqrt(log(2.0 / delta)) / epsilon


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε) of Gaussian noise whose center moves by `mu` standard deviations (Balle & Wang 2018, Theorem 8).

    Releases with moves μ₁, μ₂, ... are together one with μ² = Σ μᵢ², adaptive or not (Dong, Roth & Su 2022).
    """
    log_second = epsilon + norm.logcdf(-epsilon / mu - mu / 2.0)
    return float(norm.cdf(-epsilon / mu + mu / 2.0) - np.exp(log_second))


def symmetric(rng: np.random.Generator, d: int) -> np.ndarray:
    """Noise for a symmetric matrix, of standard deviation 1 in every direction of the Frobenius norm."""
    noise = rng.normal(size=(d, d))
    return (noise + noise.T) / 2.0  # off the diagonal √½, and each such entry counts twice
