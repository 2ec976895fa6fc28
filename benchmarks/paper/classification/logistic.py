"""Logistic regression by objective perturbation.

Minimize Σ ln(1 + exp(−y θᵀx)) + ½Λ|θ|² + bᵀθ, where b has the density ∝ exp(−ε'|b|) (Chaudhuri, Monteleoni & Sarwate
2011, Algorithm 2). With |x| ≤ 1 a record's gradient is at most 1 and the loss' curvature at most c = ¼. One record more
or less changes the density of θ by at most exp(ε')(1 + c/Λ): Λ is at least c/(exp(ε/2) − 1), so ε' =
ε − ln(1 + c/Λ) is at least ε/2. (The authors' constants are for replacing a record and are twice these.)
"""

from __future__ import annotations

from collections.abc import Callable
from math import expm1, log1p

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.paper.method import NONE, PURE, Method

CURVATURE = 0.25
RIDGE = 0.1
"""The least ridge, for budgets that would allow a smaller one."""


def parameters(epsilon: float) -> tuple[float, float]:
    """Λ and ε'."""
    ridge = max(RIDGE, CURVATURE / expm1(epsilon / 2.0))
    return ridge, epsilon - log1p(CURVATURE / ridge)


def on_ball(X: np.ndarray) -> np.ndarray:
    """[x, 1] with columns in [−1, 1], at a length of at most 1."""
    return np.column_stack([2.0 * X - 1.0, np.ones(len(X))]) / np.sqrt(X.shape[1] + 1.0)


def noise(d: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Of density ∝ exp(−rate·|b|): a random direction, and a length from the gamma law."""
    direction = rng.normal(size=d)
    return direction / np.linalg.norm(direction) * rng.gamma(d, 1.0 / rate)


def solve(Z: np.ndarray, y: np.ndarray, ridge: float, b: np.ndarray) -> np.ndarray:
    """The minimum, by Newton's method within a trust region."""
    sign, d = 2.0 * y - 1.0, Z.shape[1]

    def value(theta: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -sign * (Z @ theta)).sum() + 0.5 * ridge * theta @ theta + b @ theta)

    def gradient(theta: np.ndarray) -> np.ndarray:
        return -Z.T @ (sign * expit(-sign * (Z @ theta))) + ridge * theta + b

    def curvature(theta: np.ndarray) -> np.ndarray:
        p = expit(Z @ theta)
        return (Z.T * (p * (1.0 - p))) @ Z + ridge * np.eye(d)

    return minimize(value, np.zeros(d), jac=gradient, hess=curvature, method="trust-exact", options={"gtol": 1e-6}).x


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    Z, (ridge, rate) = on_ball(X), parameters(epsilon)
    theta = solve(Z, y, ridge, noise(Z.shape[1], rate, np.random.default_rng(seed)))
    return lambda Q: (on_ball(Q) @ theta > 0.0).astype(int)


def without_privacy(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    Z = on_ball(X)
    theta = solve(Z, y, 1e-3, np.zeros(Z.shape[1]))
    return lambda Q: (on_ball(Q) @ theta > 0.0).astype(int)


METHOD = Method("logistic regression", "objective perturbation, Chaudhuri et al. 2011", PURE, fit)
FLOOR = Method("logistic regression, not private", "without privacy", NONE, without_privacy)
