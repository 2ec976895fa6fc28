"""Regression as the paper has it: signed projections of z and −z, and a search for the least answer.

z = [x, 1, y]; asked at [θ, −1], the sketch answers with a surrogate of the squared residual. Every record is inserted
twice, so that the honest noise is twice that of Algorithm 1. The paper names neither rows nor planes; these are the
smallest of the sizes that it recommends, as noise grows with the rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import scumble
from benchmarks.paper import race
from benchmarks.paper.method import NONE, PURE, Method
from scumble.learn.erm import minimize

ROWS, PLANES = 100, 4
Predict = Callable[[np.ndarray], np.ndarray]
Scale = Callable[[int, int, float], float]


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int, scale: Scale | None) -> Predict:
    """X and y within [−1, 1]. Returns the model."""
    z = np.column_stack([X, np.ones(len(X)), y])
    kernel = scumble.AngularKernel(PLANES)
    asked = race.exact(np.vstack([z, -z]), kernel, ROWS, 2**PLANES, seed)
    if scale is not None:
        noise = 2.0 * scale(ROWS, len(X), epsilon)
        asked = race.with_noise(asked, noise, np.random.default_rng(seed))
    theta = minimize(
        asked,  # type: ignore[arg-type]
        lambda models: np.column_stack([models, np.full(len(models), -1.0)]),
        X.shape[1] + 1,
    )
    return lambda Q: Q @ theta[:-1] + theta[-1]


METHOD = Method(
    "paper's RACE",
    "Algorithm 1 with honest noise",
    PURE,
    lambda X, y, epsilon, delta, seed: fit(X, y, epsilon, seed, race.honest),
)
PUBLISHED = Method(
    "RACE as published",
    "noise R/(Nε) on counts",
    NONE,
    lambda X, y, epsilon, delta, seed: fit(X, y, epsilon, seed, race.as_published),
)
WITHOUT_NOISE = Method(
    "RACE without noise",
    "the floor of the paper's method",
    NONE,
    lambda X, y, epsilon, delta, seed: fit(X, y, epsilon, seed, None),
)
