"""Gaussian naive Bayes from noisy moments (after Vaidya et al. 2013).

A record is in one class only, so each class has the whole budget: a third for its count, a third for the sums of
its d columns, a third for the sums of their squares. With columns within [−1, 1] a record moves the sums by at most d
together, and the squares too: Laplace noise of scale 3/ε on the count and 3d/ε on each sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.paper.method import PURE, Method

LEAST_VARIANCE = 1e-3


def scales(d: int, epsilon: float) -> tuple[float, float]:
    """Of the noise on the count, and on each sum."""
    return 3.0 / epsilon, 3.0 * d / epsilon


def moments(Z: np.ndarray, epsilon: float, rng: np.random.Generator) -> tuple[float, np.ndarray, np.ndarray]:
    """Noisy count, means and variances of one class."""
    d = Z.shape[1]
    one, many = scales(d, epsilon)
    count = max(len(Z) + rng.laplace(0.0, one), 1.0)
    means = np.clip((Z.sum(axis=0) + rng.laplace(0.0, many, d)) / count, -1.0, 1.0)
    squares = ((Z**2).sum(axis=0) + rng.laplace(0.0, many, d)) / count
    return count, means, np.clip(squares - means**2, LEAST_VARIANCE, 1.0)


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    classes = [moments(2.0 * X[y == c] - 1.0, epsilon, rng) for c in (0, 1)]

    def score(Z: np.ndarray, count: float, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        return np.log(count) - 0.5 * np.sum((Z - means) ** 2 / variances + np.log(variances), axis=1)

    return lambda Q: np.argmax([score(2.0 * Q - 1.0, *one) for one in classes], axis=0)


METHOD = Method("naive Bayes", "Vaidya et al. 2013", PURE, fit)
