"""Objective perturbation: least squares with a random linear term, within the ball |θ| ≤ 1.

Minimize ½|y − Xθ|² + ½Λ|θ|² + bᵀθ, b ~ N(0, σ²I) (Kifer, Smith & Thakurta 2012, Algorithm 1). Within the ball a
record's gradient is g·x with |g| ≤ 2. One record more or less changes the density of θ

- by its Jacobian, a factor of at most 1 + 1/Λ; Λ = 2/ε keeps its logarithm below ε/2;
- by the noise: the loss is at most 2|b·x|/σ² + 2/σ² and b·x is normal, so with r = σ/2 it exceeds the rest ε' of
  the budget with probability at most 2Φ(1/(2r) − ε'r). This is set to δ.

The paper's own constant, σ = 2√(8 ln(2/δ) + 4ε)/ε, bounds the same tail a little more loosely. The published code of
Wang (2018) divides noise and ridge by ε once more and halves the solution; it is shown in its author's scaling only.
"""

from __future__ import annotations

from math import log, log1p, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from benchmarks.paper.method import APPROXIMATE, FALSE, Method

GRADIENT = 2.0


def parameters(epsilon: float, delta: float) -> tuple[float, float]:
    """Λ and σ."""
    ridge = 2.0 / epsilon
    left, tail = epsilon - log1p(1.0 / ridge), norm.isf(delta / 2.0)
    return ridge, GRADIENT * (tail + sqrt(tail * tail + 2.0 * left)) / (2.0 * left)


def within_ball(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """The least ½θᵀ gram θ − crossᵀθ with |θ| ≤ 1."""
    values, vectors = np.linalg.eigh(gram)
    turned = vectors.T @ cross

    def excess(multiplier: float) -> float:
        return float(np.linalg.norm(turned / (values + multiplier)) - 1.0)

    multiplier = brentq(excess, 0.0, np.linalg.norm(cross)) if excess(0.0) > 0.0 else 0.0
    return vectors @ (turned / (values + multiplier))


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    ridge, sigma = parameters(epsilon, delta)
    d = X.shape[1]
    return within_ball(X.T @ X + ridge * np.eye(d), X.T @ y - sigma * rng.normal(size=d))


def as_published(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    d = X.shape[1]
    noise = GRADIENT * sqrt(4.0 * log(2.0 / delta) + 2.0 * epsilon) / epsilon**2 * rng.normal(size=d)
    return within_ball(X.T @ X + 2.0 / epsilon**2 * np.eye(d), (X.T @ y - noise) / 2.0)


METHOD = Method("objective perturbation", "Kifer, Smith & Thakurta 2012", APPROXIMATE, fit)
PUBLISHED = Method("objective perturbation, published code", "the code of Wang 2018", FALSE, as_published)
