"""The noise of the published code is N times too small: docs/published-noise.md, with real sketches."""

from __future__ import annotations

from math import exp

import numpy as np
from benchmarks.paper import race
from benchmarks.paper.functions.tables import exact_table

from scumble import EuclideanKernel

ROWS, BUCKETS, EPSILON, TRIALS = 10, 64, 1.0, 600


def guessed_right(scale: race.Scale) -> float:
    """How often an attacker who knows all other records tells whether one more is in the sketch."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2))
    tables = [exact_table(records, EuclideanKernel(1.0), ROWS, BUCKETS, 7) for records in (X[1:], X)]
    without, with_it = (table.counts.astype(float) for table in tables)
    assert np.abs(with_it - without).sum() == ROWS  # the sensitivity
    noise = scale(ROWS, len(X), EPSILON)
    right = 0
    for _ in range(TRIALS):
        present = int(rng.integers(0, 2))
        released = race.Race(tables[present]).with_noise(noise, rng).table.counts + 0.5  # the floor took ½ on average
        farther = np.abs(released - without).sum() - np.abs(released - with_it).sum()
        right += int(farther > 0.0) == present
    return right / TRIALS


def test_the_published_noise_hides_nobody() -> None:
    assert guessed_right(race.as_published) == 1.0


def test_the_noise_of_the_proof_does() -> None:
    """ε = 1 allows e/(1 + e) = 73 % on average; 600 trials exceed that by 9 points with probability below 1e-6."""
    assert guessed_right(race.honest) < exp(EPSILON) / (1.0 + exp(EPSILON)) + 0.09
