"""Regression as the paper has it: signed projections of z and −z, and a search for the least answer.

z = [x, 1, y]; asked at [θ, −1], the sketch answers with a surrogate of the squared residual. Every record is inserted
twice, so the honest noise is twice that of Algorithm 1. The paper names neither rows nor planes nor the search. Of
100 and 1,000 rows, the ends of the range that it recommends, 100 are better with honest noise and 1,000 without; four
planes and a search that starts near zero were the best of a few, tried on other splits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import scumble
from benchmarks.paper import race
from benchmarks.paper.functions.tables import exact_table
from benchmarks.paper.method import FALSE, NONE, PURE, Method
from scumble.learn.sampling import minimize

ROWS, MANY_ROWS, PLANES, SPREAD = 100, 1000, 4, 0.1
Predict = Callable[[np.ndarray], np.ndarray]


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int, rows: int, scale: race.Scale | None) -> Predict:
    """X and y within [−1, 1]. Returns the model."""
    z = np.column_stack([X, np.ones(len(X)), y])
    table = exact_table(np.vstack([z, -z]), scumble.AngularKernel(PLANES), rows, 2**PLANES, seed, rehash="universal")
    asked = race.Race(table)
    if scale is not None:
        asked = asked.with_noise(2.0 * scale(rows, len(X), epsilon), np.random.default_rng(seed))
    theta = minimize(
        asked,  # type: ignore[arg-type]
        lambda models: np.column_stack([models, np.full(len(models), -1.0)]),
        X.shape[1] + 1,
        spread=SPREAD,
    )
    return lambda Q: Q @ theta[:-1] + theta[-1]


METHOD = Method(
    "Private RACE, Algorithms 1 and 2",
    "Coleman & Shrivastava 2020",
    PURE,
    lambda X, y, epsilon, delta, seed: fit(X, y, epsilon, seed, ROWS, race.honest),
)
PUBLISHED = Method(
    "Private RACE, as published",
    "Coleman & Shrivastava 2020, code",
    FALSE,
    lambda X, y, epsilon, delta, seed: fit(X, y, epsilon, seed, MANY_ROWS, race.as_published),
)
WITHOUT_NOISE = Method(
    "RACE without noise",
    "Coleman & Shrivastava 2020",
    NONE,
    lambda X, y, epsilon, delta, seed: fit(X, y, epsilon, seed, MANY_ROWS, None),
)
