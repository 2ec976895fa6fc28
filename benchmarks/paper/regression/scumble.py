"""Ours, as anyone would use it: the estimator with its defaults."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.paper import protocol
from benchmarks.paper.method import APPROXIMATE, PURE, Method
from scumble.learn import PrivateLinearRegression

PUBLIC = {"bounds": (-1, 1), "target_bounds": (-1, 1)}


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """X and y within [−1, 1]. Returns the model."""
    return PrivateLinearRegression(epsilon=epsilon, delta=delta, random_state=seed, **PUBLIC).fit(X, y).predict


METHOD = Method(f"scumble, δ = {protocol.DELTA:g}", "this project", APPROXIMATE, fit)
PURE_METHOD = Method(
    "scumble, δ = 0",
    "this project",
    PURE,
    lambda X, y, epsilon, delta, seed: fit(X, y, epsilon, 0.0, seed),
)
