"""OPS: one sample from the posterior of ridge regression is private by itself (one posterior sample).

θ ~ N(θ̂, H⁻¹/γ) with H = XᵀX + λI. If the model's gradient at any record is at most L, the privacy loss at δ is at most

    γL²/(2(λ + 1)) + L√(γ ln(2/δ)/λ) + (1 + ln(2/δ))/(2λ)

(Wang 2018). λ balances the noise and the ridge, and γ spends what is left of ε: "OPS-balanced", the
variant that the author shows. The number of records is taken as public.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from benchmarks.paper.method import APPROXIMATE, Method

RHO = 0.05


def parameters(n: int, d: int, epsilon: float, delta: float) -> tuple[float, float]:
    """λ and γ."""
    logs, part = log(2.0 / delta), min(epsilon / 2.0, sqrt(epsilon / 2.0))
    noise = (d / 2.0 + sqrt(d * log(1.0 / RHO)) + log(1.0 / RHO)) * logs / part**2
    ridge = max((noise * n / 2.0) ** (1.0 / 3.0), (1.0 + logs) / epsilon)
    gradient = 1.0 + min(sqrt(n / (2.0 * ridge)), n / ridge)
    return ridge, precision(ridge, gradient, epsilon, logs, a=gradient**2 / (ridge + 1.0))


def precision(ridge: float, gradient: float, epsilon: float, logs: float, a: float) -> float:
    """The greatest γ with aγ + L√(γ logs/λ) + (1 + logs)/(2λ) ≤ ε."""
    b, c = gradient * sqrt(logs / ridge), (1.0 + logs) / (2.0 * ridge) - epsilon
    return ((-b + sqrt(b * b - 4.0 * a * c)) / (2.0 * a)) ** 2


def sample(gram: np.ndarray, cross: np.ndarray, gamma: float, rng: np.random.Generator) -> np.ndarray:
    """From N(H⁻¹ Xᵀy, H⁻¹/γ)."""
    root = np.linalg.cholesky(gram)
    return np.linalg.solve(gram, cross) + np.linalg.solve(root.T, rng.normal(size=len(gram))) / sqrt(gamma)


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    n, d = X.shape
    ridge, gamma = parameters(n, d, epsilon, delta)
    return sample(X.T @ X + (1.0 + ridge) * np.eye(d), X.T @ y, gamma, rng)


METHOD = Method("OPS", "Dimitrakakis et al. 2014; Wang, Fienberg & Smola 2015; Wang 2018", APPROXIMATE, fit)
