"""AdaOPS: posterior sampling whose ridge and precision adapt to the data.

A quarter of ε buys a lower bound of the least eigenvalue, a quarter an upper bound of the gradient at the ridge
solution, and half the posterior sample (Wang 2018, Algorithm 1, after the published code). Privacy hangs on both
bounds, so they must hold but for δ/6 each; the published code shifts them by √ln(6/δ) standard deviations, which a
normal variable exceeds far more often. Here the shift is its quantile, and the cap of the gradient is the greatest
length that a ridge solution can have, √n/(2√λ).
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from benchmarks.paper.method import APPROXIMATE, Method
from benchmarks.paper.regression.gaussian import wang_sigma
from benchmarks.paper.regression.ops import RHO, precision, sample


def scale(epsilon: float, delta: float) -> float:
    """Of the noise on the eigenvalue, and in units of its sensitivity on the logarithm of the gradient."""
    return wang_sigma(epsilon / 4.0, delta / 3.0)


def chosen_ridge(least: float, d: int, epsilon: float, delta: float) -> float:
    """λ: the least expected error, with at least what half of the sample's budget asks for."""
    logs = log(6.0 / delta)
    needed = max(2.0 * (1.0 + logs) / epsilon - least, 0.0)
    part = (-1.0 + sqrt(1.0 + logs * epsilon / 2.0)) / logs  # ½ logs part² + part = ε/4
    noise = (d / 2.0 + sqrt(d * log(1.0 / RHO)) + log(1.0 / RHO)) * logs / part**2
    growth = 2.0 * logs / (epsilon / 4.0)

    def error(t: float) -> float:
        h = exp(t) + least
        return log(noise) + growth * log1p(1.0 / h) - log(h)

    def total(t: float) -> float:
        return float(np.logaddexp(error(t), t))

    low = log(max(needed, 1e-6))
    best = minimize_scalar(total, bounds=(low, low + 30.0), method="bounded").x
    return max(needed, exp(best))


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    n, d = X.shape
    sigma, shift, logs = scale(epsilon, delta), norm.isf(delta / 6.0), log(6.0 / delta)
    gram, cross = X.T @ X + np.eye(d), X.T @ y
    least = max(np.linalg.eigvalsh(gram)[0] + sigma * (rng.normal() - shift), 0.0)
    ridge = chosen_ridge(least, d, epsilon, delta)
    h, gram = ridge + least, gram + ridge * np.eye(d)
    length = np.linalg.norm(np.linalg.solve(gram, cross))
    seen = log1p(length) + log1p(1.0 / h) * sigma * (rng.normal() + shift)
    gradient = min(exp(min(seen, 700.0)), 1.0 + sqrt(n / (4.0 * h)))
    return sample(gram, cross, precision(h, gradient, epsilon / 2.0, logs, a=gradient**2 / (2.0 * (h + 1.0))), rng)


METHOD = Method("AdaOPS", "Wang 2018, Algorithm 1, its bounds repaired", APPROXIMATE, fit)
