"""Synthetic records: drawn from a grid's cells, or from particles that hash as the table did.

**Cells** are halved repeatedly along one axis at a time. Half A of a node of mass m has a noisy count a with variance
s². Its mass is the posterior mean of a normal law around a, cut to [0, m], with prior probability at 0 and m.

**Particles** are counted by the release's own hash functions. Their weights follow w ← w · exp(η · mean over rows of
(released − counted) at the particle's buckets), the exponentiated gradient (Kivinen & Warmuth 1997) of the squared
distance between both tables. Particles are resampled and moved in shrinking steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from scumble.checks import Sides
from scumble.counting import engine
from scumble.density.grid_cells import Grid
from scumble.density.layout import Layout, reach
from scumble.files.lazy_modules import special

if TYPE_CHECKING:
    from scumble.density.release import Release


class CellMasses:
    """Masses of the cells, and uniform places within them; `which` is the column of each axis.

    Columns that the kernel does not read are drawn within the bounds.
    """

    def __init__(self, grid: Grid, which: Sequence[int], release: Release, bounds: Sides) -> None:
        self.grid, self.which, self.bounds = grid, which, bounds
        counts = release.counts.reshape(grid.shape).astype(float)
        self.mass = masses(counts, release.counter_variance, release.divisor).ravel()

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, columns) records within the bounds."""
        low, high = self.bounds
        X = rng.uniform(low, high, (n, len(low)))  # columns that the kernel does not read stay so
        grid = self.grid
        cells = rng.choice(len(self.mass), n, p=self.mass / self.mass.sum())
        for axis, place in enumerate(np.unravel_index(cells, grid.shape)):
            X[:, self.which[axis]] = grid.start[axis] + (place + rng.uniform(size=n)) * grid.step[axis]
        return np.clip(X, low, high)


def masses(counts: np.ndarray, variance: float, total: float) -> np.ndarray:
    """Noisy counts → nonnegative masses that sum to `total`.

    >>> masses(np.array([50.0, -1.0, 1.0, 0.0]), variance=2.0, total=50.0).round(1)
    array([49.8,  0. ,  0.1,  0.1])
    """
    # Sums over ever larger blocks: the longest axis is halved in turn.
    levels = []
    sums, sizes = counts, np.ones(counts.shape)
    while sums.size > 1:
        axis = int(np.argmax(sums.shape))
        levels.append((sums, sizes, axis))
        sums, sizes = (np.add(*_halves(values, axis)) for values in (sums, sizes))
    mass = np.full(sums.shape, total)
    for children, cells, axis in reversed(levels):
        (a, b), (m, n) = _halves(children, axis), _halves(cells, axis)
        measured = a + (mass - a - b) * m / (m + n)  # the parent knows better what both have together
        part = np.where(n > 0.0, _plausible(measured, np.sqrt(variance * m * n / (m + n)), mass), mass)
        both = np.stack([part, mass - part], axis=axis + 1).reshape(*mass.shape[:axis], -1, *mass.shape[axis + 1 :])
        mass = both.take(range(children.shape[axis]), axis=axis)
    return mass


def _halves(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Every first and every second block along an axis; an odd one is paired with zero."""
    if values.shape[axis] % 2:
        values = np.pad(values, [(0, int(one == axis)) for one in range(values.ndim)])
    n = values.shape[axis]
    return values.take(range(0, n, 2), axis=axis), values.take(range(1, n, 2), axis=axis)


def _plausible(a: np.ndarray, s: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The mean of a mass in [0, m], measured as a with error s; prior: half uniform, a quarter each at 0 and m."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        exact = np.clip(a, 0.0, m)
        z0, z1 = -a / s, (m - a) / s
        # All three weights relative to the likelihood at the nearest possible mass, so none of them vanishes.
        peak = np.square((a - exact) / s)
        at_0, at_m, inner = (0.3989 * np.exp(-0.5 * (z * z - peak)) for z in (z0, z1, (a - exact) / s))
        area = _area(z0, z1) * np.exp(0.5 * peak)
        area = np.where(np.isfinite(area), area, inner / np.maximum(np.abs(z0 * (a < 0)) + np.abs(z1 * (a > m)), 1.0))
        slab = 0.5 * area / m
        spike_0, spike_m = 0.25 * at_0 / s, 0.25 * at_m / s
        middle = np.clip(a + s * (at_0 - at_m) / area, 0.0, m)
        mean = (slab * middle + spike_m * m) / (slab + spike_0 + spike_m)
    good = (s > 0.0) & (m > 0.0) & np.isfinite(mean)
    return np.where(good, np.clip(mean, 0.0, m), exact)


def _area(z0: np.ndarray, z1: np.ndarray) -> np.ndarray:
    """Φ(z1) − Φ(z0), computed in the tail without cancellation."""
    return np.where(z0 > 0.0, special.ndtr(-z0) - special.ndtr(-z1), special.ndtr(z1) - special.ndtr(z0))


PARTICLES = 4000
ROUNDS, STEPS, LAST_STEPS = 16, 10, 12
MOVING_ROWS = 256
"""Rows used while particles move; the final weights use all."""
MOST_CODES = 1 << 21
"""Particles times rows: bounds time and memory."""


class Particles:
    """A weighted cloud that the hash functions count like the table.

    `rows` are the rows to learn from, all by default; `most` bounds the number of particles.
    """

    def __init__(
        self,
        layout: Layout,
        release: Release,
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
        total, counts, width = release.divisor, release.counts[self.rows], self.high - self.low
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
                places = places[_systematic(weights, size, rng)]
                steps = rng.normal(size=places.shape) * (0.3 * (final / 0.3) ** (turn / (ROUNDS - 2)))
                places = _reflected(places + steps * rng.choice([0.0, 0.3, 1.0], (size, 1)))
        self.places, self.weights, self.jitter = places, weights, final

    def codes(self, X: np.ndarray, rows: slice | None = None) -> np.ndarray:
        """(rows, n): the buckets of points, looked up in a table of positions."""
        parts, _ = self.layout.read(X, invalid="error")
        hasher = self.layout.hasher if rows is None else self.layout.hasher.some(rows)
        small = np.uint16 if self.layout.spec.buckets <= 1 << 16 else np.int32
        return engine("auto").sums(hasher, parts, self._positions[: hasher.rows]).astype(small)

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
    """Exponentiated gradient: weights with which the particles' counters approach the target."""
    size = codes.shape[1]
    weights = np.full(size, 1.0 / size)
    aim = _left(codes, target, np.zeros(size))
    for _ in range(steps):
        gradient = _left(codes, target, weights)
        # The mean of what is counted: a step of one over it would settle a single particle at once; two converges, too.
        own = float(weights @ (aim - gradient))
        weights = weights * np.exp(np.clip(2.0 * gradient / own, -4.0, 4.0))
        weights /= weights.sum()
    return weights


def _left(codes: np.ndarray, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean over rows of target minus counted particles at each particle's bucket."""
    total = np.zeros(len(weights))
    for code, aim in zip(codes, target, strict=True):
        total += (aim - np.bincount(code, weights, len(aim)))[code]
    return total / len(codes)


def _systematic(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Systematic resampling: positions in proportion to the weights."""
    return np.searchsorted(np.cumsum(weights), (np.arange(size) + rng.uniform()) / size).clip(max=len(weights) - 1)


def _reflected(places: np.ndarray) -> np.ndarray:
    """Reflect steps that leave the unit cube."""
    folded = np.mod(places, 2.0)
    return np.where(folded > 1.0, 2.0 - folded, folded)
