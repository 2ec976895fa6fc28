"""Sufficient statistics perturbation: noise on XᵀX and Xᵀy, then the normal equations.

One record moves XᵀX by at most 1 in the Frobenius norm and Xᵀy by at most 1, together by √2: σ = √2 σ₀(ε, δ), with σ₀
the analytic Gaussian scale for 1. The published code has √ln(4/δ)/ε on each, two thirds of that.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from benchmarks.paper.method import APPROXIMATE, FALSE, Method
from benchmarks.paper.regression.gaussian import symmetric
from scumble.privacy import analytic_gaussian_sigma


def scale(epsilon: float, delta: float) -> float:
    return sqrt(2.0) * analytic_gaussian_sigma(epsilon, delta)


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    sigma, d = scale(epsilon, delta), X.shape[1]
    gram = X.T @ X + np.eye(d) + sigma * symmetric(rng, d)
    return np.linalg.solve(gram, X.T @ y + sigma * rng.normal(size=d))


def as_published(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    sigma, d = sqrt(log(4.0 / delta)) / epsilon, X.shape[1]
    gram = X.T @ X + np.eye(d) + sigma * rng.normal(size=(d, d))
    return np.linalg.solve(gram, X.T @ y + sigma * rng.normal(size=d))


METHOD = Method("SSP", "Vu & Slavković 2009; Foulds et al. 2016", APPROXIMATE, fit)
PUBLISHED = Method("SSP, published code", "the code of Wang 2018; less noise than ε asks for", FALSE, as_published)
