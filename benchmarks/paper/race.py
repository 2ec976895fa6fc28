"""The paper's Algorithms 1 and 2 to the letter: independent rows, the floor of continuous Laplace noise, and the count
from all counters.

For the record only. The noise is seeded and continuous, two things that a release must not be; scumble's own releases
never come this way. `honest` is the scale that the paper's proof asks for, R/ε. `as_published` is what its published
code adds, R/(Nε): N times too little, so the result is Nε-private, and not private at the stated ε.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.paper.functions.tables import Table

Scale = Callable[[int, int, float], float]
"""From rows, records and ε to the scale of the noise."""


def honest(rows: int, n: int, epsilon: float) -> float:
    return rows / epsilon


def as_published(rows: int, n: int, epsilon: float) -> float:
    return rows / (n * epsilon)


class Race(NamedTuple):
    """What Algorithm 1 releases, and Algorithm 2, which asks it."""

    table: Table

    @property
    def count(self) -> float:
        """N̂ = R⁻¹ Σ S[i, j]; at least 1."""
        return max(1.0, float(self.table.counts.sum() / len(self.table.counts)))

    def kernel_sum(self, Q: np.ndarray) -> np.ndarray:
        """The mean of S[r, l_r(q)] over the rows."""
        return self.table.read(Q).mean(axis=0)

    def density(self, Q: np.ndarray) -> np.ndarray:
        return self.kernel_sum(Q) / self.count

    def with_noise(self, scale: float, rng: np.random.Generator) -> Race:
        """⌊S + Z⌋ with Z ~ Lap(scale) on every counter."""
        counts = self.table.counts
        return Race(Table(self.table.hasher, np.floor(counts + rng.laplace(0.0, scale, counts.shape))))
