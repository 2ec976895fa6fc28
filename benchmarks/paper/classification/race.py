"""Classification as the paper has it: one sketch a class, and the class with the larger answer of Algorithm 2.

The kernel has the paper's bandwidth, in the unit cube. Of the sizes that the paper recommends, 100 to 1,000, the
smallest (and 128 buckets, a power of two): noise grows with the rows, and that of the count also with the buckets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import scumble
from benchmarks.paper import race
from benchmarks.paper.functions.tables import exact_table
from benchmarks.paper.method import FALSE, NONE, PURE, Method

BANDWIDTH = {"nomao": 0.6, "occupancy": 0.5, "pulsar": 0.1}
ROWS, BUCKETS = 100, 128
Predict = Callable[[np.ndarray], np.ndarray]


def fit(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int, bandwidth: float, scale: race.Scale | None) -> Predict:
    kernel, rng = scumble.EuclideanKernel(bandwidth), np.random.default_rng(seed)
    classes = []
    for c in (0, 1):
        released = race.Race(exact_table(X[y == c], kernel, ROWS, BUCKETS, seed))
        if scale is not None:
            released = released.with_noise(scale(ROWS, int(np.sum(y == c)), epsilon), rng)
        classes.append(released)
    return lambda Q: np.argmax([one.density(Q) for one in classes], axis=0)


def _with(scale: race.Scale | None) -> Callable[..., Predict]:
    return lambda X, y, epsilon, seed, bandwidth: fit(X, y, epsilon, seed, bandwidth, scale)


METHOD = Method("Private RACE, Algorithms 1 and 2", "Coleman & Shrivastava 2020", PURE, _with(race.honest))
PUBLISHED = Method("Private RACE, as published", "Coleman & Shrivastava 2020, code", FALSE, _with(race.as_published))
WITHOUT_NOISE = Method("RACE without noise", "Coleman & Shrivastava 2020", NONE, _with(None))
