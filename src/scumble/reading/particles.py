"""Records that hash as the table did: what hashed rows say about places.

Each row is a histogram of the table along a random projection, so finding records from rows is tomography. A cloud of
weighted particles is counted by the release's own hash functions. The weights follow
w ← w · exp(η · mean over rows of (released − counted) at the particle's own buckets),
the exponentiated gradient (Kivinen & Warmuth 1997) of the squared distance between both tables; heavy particles
multiply, light ones die, and all move a little, in steps that shrink from the bounds' width to a part of the bandwidth.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from scumble.checks import Sides
from scumble.counting import engine
from scumble.machine.compiling import njit
from scumble.reading.layout import Layout, Released
from scumble.reading.likeness import reach

PARTICLES = 4000
ROUNDS, STEPS, LAST_STEPS = 16, 10, 12
"""Forty last steps were tried and gain nothing; half of the steps, or of the rows below, cost a tenth of the gain."""
MOVING_ROWS = 256
"""Rows that particles look at while they still move; all are for their last weights."""
MOST_CODES = 1 << 21
"""Particles times rows: bounds the time to seconds and the memory to 8 MiB."""


class Particles:
    """A weighted cloud that the hash functions count as they counted the table.

    `rows` is the run of rows to learn from, all by default; `most` bounds the number of particles.
    """

    def __init__(
        self,
        layout: Layout,
        release: Released,
        bounds: Sides,
        rng: np.random.Generator,
        *,
        rows: slice | None = None,
        most: int = PARTICLES,
    ) -> None:
        self.layout, (self.low, self.high) = layout, bounds
        spec, hasher = layout.spec, layout.hasher
        first, last, _ = (rows or slice(None)).indices(spec.rows)
        self.rows = slice(first, min(last, first + MOST_CODES // 512))
        size = int(np.clip(MOST_CODES // (self.rows.stop - first), 512, most))
        total = release.divisor
        counts = release.counts[self.rows]
        width = self.high - self.low
        final = np.clip(0.03 * reach(spec, self.low, self.high), 0.001, 0.3)
        used = hasher.used if hasher.direct else spec.buckets
        # Every row sums to N: its excess is noise, spread over the row.
        target = (counts - (counts.sum(axis=1, keepdims=True) - total) / used) / total
        places = rng.uniform(size=(size, spec.dimensions))
        for turn in range(ROUNDS):
            moving = turn < ROUNDS - 1
            some = slice(first, min(self.rows.stop, first + MOVING_ROWS)) if moving else self.rows
            codes = self.codes(self.low + places * width, some)
            weights = _weights(codes, target[: len(codes)], STEPS if moving else LAST_STEPS)
            if moving:
                scale = 0.3 * (final / 0.3) ** (turn / (ROUNDS - 2))
                places = places[_systematic(weights, size, rng)]
                places = _reflected(
                    places + rng.normal(size=places.shape) * scale * rng.choice([0.0, 0.3, 1.0], (size, 1))
                )
        self.places, self.weights, self.jitter = places, weights, final

    def codes(self, X: np.ndarray, rows: slice | None = None) -> np.ndarray:
        """(rows, n): the buckets of points, by looking them up in a table that holds its own positions."""
        parts, _ = self.layout.read(X, invalid="error")
        hasher = self.layout.hasher if rows is None else self.layout.hasher.some(rows)
        small = np.uint16 if self.layout.spec.buckets <= 1 << 16 else np.int32
        return engine("auto").lookup(hasher, parts, self._positions[: hasher.rows]).astype(small)

    @cached_property
    def _positions(self) -> np.ndarray:
        return np.tile(np.arange(self.layout.spec.buckets), (self.layout.spec.rows, 1))

    @property
    def points(self) -> np.ndarray:
        """Where the particles are."""
        return self.low + self.places * (self.high - self.low)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, columns) records within the bounds."""
        chosen = self.places[rng.choice(len(self.places), n, p=self.weights)]
        return self.low + _reflected(chosen + rng.normal(size=chosen.shape) * self.jitter) * (self.high - self.low)


def _weights(codes: np.ndarray, target: np.ndarray, steps: int) -> np.ndarray:
    """Exponentiated gradient: weights of the particles under which their counters come near the target."""
    size = codes.shape[1]
    weights = np.full(size, 1.0 / size)
    aim = _left(codes, target, np.zeros(size))
    for _ in range(steps):
        gradient = _left(codes, target, weights)
        own = float(weights @ (aim - gradient))  # the mean of what is counted, over rows and particles
        # `own` is the scale of the quadratic term: a step of 1 would settle a single particle at once, 2 still
        # converges.
        weights = weights * np.exp(np.clip(2.0 * gradient / own, -4.0, 4.0))
        weights /= weights.sum()
    return weights


@njit(cache=True)
def _left(codes, target, weights):
    """Mean over rows of what the target has at each particle's bucket, less the particles that are counted there."""
    rows, size = codes.shape
    total = np.zeros(size)
    left = np.empty(target.shape[1])
    for r in range(rows):
        left[:] = target[r]
        for i in range(size):
            left[codes[r, i]] -= weights[i]
        for i in range(size):
            total[i] += left[codes[r, i]]
    return total / rows


def _systematic(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Positions drawn in proportion to the weights, with the least possible chance in it."""
    return np.searchsorted(np.cumsum(weights), (np.arange(size) + rng.uniform()) / size).clip(max=len(weights) - 1)


def _reflected(places: np.ndarray) -> np.ndarray:
    """Steps that leave the unit cube come back from its walls."""
    folded = np.mod(places, 2.0)
    return np.where(folded > 1.0, 2.0 - folded, folded)
