"""AdaSSP: sufficient statistics perturbation with a ridge that adapts to the data's least eigenvalue.

A third of the budget buys the least eigenvalue of XᵀX, the others buy XᵀX and Xᵀy. The ridge is what noise alone could
show, less the eigenvalue (Wang 2018, Algorithm 2, ϱ = 0.05; constants of the published code).

The three parts are Gaussian, so together they are one Gaussian release that moves by √3 (Dong, Roth & Su 2022). The
published noise is 1.2 to 2.8 times what this needs; "tight" is the same algorithm with no more noise than ε asks for.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from benchmarks.paper.method import APPROXIMATE, Method
from benchmarks.paper.regression.gaussian import symmetric, wang_sigma
from scumble.privacy import analytic_gaussian_sigma

RHO = 0.05


def scale(epsilon: float, delta: float) -> float:
    """Of each of the three parts."""
    return wang_sigma(epsilon / 3.0, delta / 3.0)


def tight_scale(epsilon: float, delta: float) -> float:
    return sqrt(3.0) * analytic_gaussian_sigma(epsilon, delta)


def solve(X: np.ndarray, y: np.ndarray, sigma: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    d = X.shape[1]
    gram, cross = X.T @ X + np.eye(d), X.T @ y
    least = max(np.linalg.eigvalsh(gram)[0] + sigma * (rng.normal() - sqrt(log(6.0 / delta))), 0.0)
    ridge = max(sqrt(d * log(2.0 * d * d / RHO)) * sigma - least, 0.0)
    return np.linalg.solve(gram + sigma * symmetric(rng, d) + ridge * np.eye(d), cross + sigma * rng.normal(size=d))


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    return solve(X, y, scale(epsilon, delta), delta, rng)


def fit_tight(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    return solve(X, y, tight_scale(epsilon, delta), delta, rng)


METHOD = Method("AdaSSP", "Wang 2018, Algorithm 2", APPROXIMATE, fit)
TIGHT = Method("AdaSSP, tight noise", "the same with exact composition of its three parts", APPROXIMATE, fit_tight)
