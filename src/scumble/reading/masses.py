"""The counters of cells as masses, none of them negative, and records drawn from them.

The cells are halved again and again, along one axis at a time. Half A of a node with mass m has the noisy count a, of
variance s². Its mass is the mean of what is plausible: a normal law around a, cut to [0, m], with some prior
probability that all the mass, or none, lies in A. So noise is averaged over wide empty regions before it can do harm.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scumble.checks import Sides
from scumble.grid import Grid
from scumble.machine.later import special
from scumble.reading.layout import Released


class CellMasses:
    """Masses of the cells, none negative, and uniform places within them.

    Parameters
    ----------
    grid : Grid
        The cells.
    which : sequence of int
        The column of each axis.
    release : Released
        Their counters.
    bounds : Sides
        Where to draw the columns that the kernel does not read.
    """

    def __init__(self, grid: Grid, which: Sequence[int], release: Released, bounds: Sides) -> None:
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
    """Noisy counts → masses that are not negative and sum to `total`.

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
    """Every first and every second block along an axis; an odd one out is paired with nothing."""
    if values.shape[axis] % 2:
        values = np.pad(values, [(0, int(one == axis)) for one in range(values.ndim)])
    n = values.shape[axis]
    return values.take(range(0, n, 2), axis=axis), values.take(range(1, n, 2), axis=axis)


def _plausible(a: np.ndarray, s: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The mean of a mass in [0, m], measured as a with error s; half the prior is even, a quarter each at 0 and m."""
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
    """Φ(z1) − Φ(z0), taken on the side where it is not lost in rounding."""
    return np.where(z0 > 0.0, special.ndtr(-z0) - special.ndtr(-z1), special.ndtr(z1) - special.ndtr(z0))
