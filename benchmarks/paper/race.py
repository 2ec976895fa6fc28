"""The paper's Algorithms 1 and 2 to the letter: independent rows, the floor of continuous Laplace noise, and the count
from all counters.

For the record only. The noise is seeded and continuous, two things that a release must not be; scumble's own releases
never come this way. `honest` is the scale that the paper's proof asks for, R/ε. `as_published` is what its published
code adds, R/(Nε): N times too little, so that the result is Nε-private, and not private at the stated ε.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import scumble
from scumble.counting import cpu


def honest(rows: int, n: int, epsilon: float) -> float:
    return rows / epsilon


def as_published(rows: int, n: int, epsilon: float) -> float:
    return rows / (n * epsilon)


class Race(NamedTuple):
    """What Algorithm 1 releases, and Algorithm 2, which asks it."""

    sketch: scumble.Sketch
    counters: np.ndarray

    @property
    def count(self) -> float:
        """N̂ = R⁻¹ Σ S[i, j]."""
        return float(self.counters.sum() / len(self.counters))

    def kernel_sum(self, Q: np.ndarray) -> np.ndarray:
        """The mean of S[r, l_r(q)] over the rows."""
        layout = self.sketch.spec.layout
        parts, _ = layout.read(Q, invalid="error")
        return cpu.lookup(layout.hasher, parts, self.counters, threads=1).mean(axis=0)

    def density(self, Q: np.ndarray) -> np.ndarray:
        return self.kernel_sum(Q) / self.count


def exact(X: np.ndarray, kernel: scumble.Kernel, rows: int, buckets: int, seed: int) -> Race:
    """The sketch before its noise: plain RACE."""
    sketch = scumble.Sketch(kernel, X.shape[1], rows=rows, buckets=buckets, seed=seed, design="iid").update(X)
    return Race(sketch, sketch._counts.astype(float))


def with_noise(race: Race, scale: float, rng: np.random.Generator) -> Race:
    """⌊S + Z⌋ with Z ~ Lap(scale) on every counter."""
    return Race(race.sketch, np.floor(race.counters + rng.laplace(0.0, scale, race.counters.shape)))
