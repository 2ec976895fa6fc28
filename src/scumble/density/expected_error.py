"""The expected error of grids and of hashed rows: one formula, from public facts alone.

For queries of density ρ among n records, the mean of |error|/density is √(hashing² + places² + noise²).

**Hashing**, for R rows of W buckets and a kernel of power p: α/√R, α² = (0.23 ρ^−(0.065 + 0.21 log₂ p))² + 3/(W ρ).
Sparse places hash worse; 3/(W ρ) is due to collisions.

**Places** of records in a grid's cells, unknown within each cell: smooth records err by a (ρ/0.03)^q steep^b; clumps,
whose records share a place, add φ·apart for a clumping φ. `steep` and `apart` measure how much the kernel changes from
one cell to the next.

**Noise** of standard deviation σ on a counter: √(2/π) σ g/n times the mean inverse density of the queries. The gain g
is 1/√R for rows and √(cells (E k² − (E k)²) + 1) for a grid.

The constants are fitted to public tables (``python -m benchmarks.plans``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import ceil, log2, pi, prod, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scumble.checks import sides
from scumble.columns.kinds import ON_WHOLE_NUMBERS
from scumble.density.grid_cells import Profile, aligned, lattice
from scumble.kernels import Kernel

if TYPE_CHECKING:
    from scumble.density.spec import Spec

MEAN = sqrt(2.0 / pi)
"""The mean of |x| for a standard normal x."""
DEFAULT_DENSITY = 0.1
"""The assumed density of a query at power 1, where no bounds are given."""
FAINTEST = 1e-5
"""The least density of a plan."""
FULLER = 2.0
"""The median density relative to records that fill half of the bounds along each axis."""
RARE = 0.08
"""Queries of mean density ρ have a mean inverse density of about ρ^−RARE/ρ."""
REMOTE = 1.2, 0.2
"""(c, s): in bounds that give ρ₀, it is about c (ρ/ρ₀)^s/ρ: where records fill less of the bounds, queries lie farther
from most of them."""

ROW, SPARSE, STEEPER, COLLISIONS = 0.23, 0.065, 0.21, 3.0
DESIGNS = {"sobol": 1.0, "orthogonal": 1.15, "iid": 1.35}
"""The hashing error of each design relative to Sobol rows."""
REFINED_ROWS = 64, 4096
"""Refining (`scumble.learn.refine`) helps between these numbers of rows."""

SMOOTH, MIDDLING = (0.004, 0.3, 1.2), 0.03
"""(a, q, b) of the places of smooth records, and the density to which a refers."""
CLUMPINGS = np.geomspace(0.0008, 0.6, 25)
CLUMPED = 0.025, 1.0
"""The prior of clumpings: the median, and the standard deviation of the logarithm."""
LOST = 1.0
"""The largest relative error from places, in cells far larger than the kernel."""

MOST_CELLS, MOST_PADDED = 2**22, 2**25
"""The most cells of a grid. The FFT pads every axis to twice its length, which the second limit bounds."""
FINEST = 1000.0
"""The most cells in the kernel's half-width: smaller ones err by less than a thousandth."""
NODES = (0, 64, 32, 20, 12)
"""Gauss–Legendre nodes along each of d axes: good to 1 % where bounds are 10⁴ half-widths long, else far better."""


def combined(
    hashing: np.ndarray | float, places: np.ndarray | float, noise: np.ndarray | float, inverse: np.ndarray, n: float
) -> np.ndarray:
    """The formula: `noise` is that of an answer, `inverse` the mean inverse density of the queries."""
    return np.sqrt(np.square(hashing) + np.square(places) + np.square(MEAN * noise * inverse / max(n, 1.0)))


def inverse_of(spec: Spec, density: np.ndarray) -> np.ndarray:
    """The mean inverse density of queries, for each typical density."""
    return np.asarray(density ** -(1.0 + RARE)) if spec.bounds is None else box_of(spec).inverse(density)


def noise_of_sums(spec: Spec, variance: float, n: float, density: float) -> float:
    """The relative standard error of a typical sum from counter noise of this variance alone."""
    gain = 1.0 / sqrt(spec.rows) if spec.shape is None else float(box_of(spec).gain(np.array([prod(spec.shape)]))[0])
    return sqrt(variance) * gain * float(inverse_of(spec, np.array(density))) / n


def hashes(kernel: Kernel) -> int:
    """The hashes of a row: the powers of all factors together."""
    return sum(factor.power for factor in kernel.factors)


def numbers_of(kernel: Kernel, dimensions: int) -> int:
    """Approximate number of values in the hash functions of a row."""
    widths = [dimensions if factor.columns is None else len(factor.columns) for factor in kernel.factors]
    return sum(factor.power * (width + 2) for factor, width in zip(kernel.factors, widths, strict=True))


def default_density(kernel: Kernel) -> float:
    """The assumed density of a query without bounds."""
    return DEFAULT_DENSITY / hashes(kernel)


def row_error(spec: Spec, density: np.ndarray) -> np.ndarray:
    """α: the relative hashing error of one row."""
    steep = SPARSE + STEEPER * min(log2(hashes(spec.kernel)), 3.0)
    own = DESIGNS[spec.design] * ROW * density**-steep
    return np.asarray(np.sqrt(own**2 + COLLISIONS / (spec.buckets * density)))


def hashing_error(spec: Spec, density: np.ndarray, *, refined: bool = False) -> np.ndarray:
    """The relative hashing error of all rows; less if answers are `refined`."""
    error = row_error(spec, density) / sqrt(spec.rows)
    if refined and spec.design == "sobol" and REFINED_ROWS[0] <= spec.rows <= REFINED_ROWS[1]:
        error = error * left_by_refining(spec.rows, density, spec.dimensions)
    return np.asarray(error)


def left_by_refining(rows: int, density: np.ndarray, dimensions: int) -> np.ndarray:
    """The approximate fraction of the hashing error that refining leaves (``python -m benchmarks.refining``)."""
    left = 0.25 * (0.1 / density * 512.0 / min(rows, 1024)) ** 0.25
    return np.minimum(1.0, 0.7 * left if dimensions == 1 else left)


def row_spread(spec: Spec, n: float, f: float) -> float:
    """The hashing variance of one row's answer f among n records."""
    return float((row_error(spec, np.array(min(f / n, 1.0))) * f / MEAN) ** 2)


class Box:
    """A kernel over public bounds: what the expected error of its grids depends on."""

    def __init__(
        self, kernel: Kernel, dimensions: int, columns: Sequence[str] | None, bounds: Sequence[Sequence[float]]
    ) -> None:
        self.profile = Profile(kernel, dimensions, columns)
        which = kernel.which(dimensions, columns)
        self.axes = len(which)
        low, high = ([side[i] for i in which] for side in bounds)
        self.low, self.high = sides((low, high), self.axes)
        spread, self._square, self._mean = _moments(self.profile, self.high - self.low)
        self.spread = max(spread, FAINTEST)
        """The density of records that fill half of the bounds along each axis, ρ₀."""

    @property
    def density(self) -> float:
        """The typical density at a record."""
        return min(1.0, FULLER * self.spread)

    def covered(self, shape: Sequence[int]) -> float:
        """How many cells a kernel in the middle of the bounds covers: the sum of its values over them."""
        return max(1.0, prod(shape) * self._mean)

    def inverse(self, density: np.ndarray) -> np.ndarray:
        """The mean inverse density of queries, for each typical density."""
        times, remote = REMOTE
        return np.asarray(times * (density / self.spread) ** remote / density)

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """Useful numbers of cells along each axis, finest first; steps are equal in units of the half-width."""
        longest = max(1.0, float(np.max((self.high - self.low) / self.profile.half_widths)))
        found = []
        for share in np.geomspace(1.0 / FINEST, 2.0 * longest, 400):
            shape = tuple(map(_cells, self.low.tolist(), self.high.tolist(), self.profile.half_widths * share))
            if prod(shape) <= MOST_CELLS and prod(2 * cells + 8 for cells in shape) <= MOST_PADDED:
                found.append(shape)
        return list(dict.fromkeys([*found, (1,) * self.axes]))

    @property
    def finest(self) -> tuple[int, ...]:
        """The finest useful grid."""
        return self.shapes[0]

    def rounding(self) -> float:
        """The relative error of rows made of the finest grid's cells, if all records near a query lie on one side of
        their cells' centers, as rounded data do."""
        total = 0.0
        for axis, ends in enumerate(zip(self.low.tolist(), self.high.tolist(), self.finest, strict=True)):
            _, step, spread = aligned(*ends)
            place = np.eye(self.axes)[axis] * self.profile.half_widths
            inside, outside = self.profile(np.stack([0.9 * place, 1.1 * place]))
            slope = np.log(inside / outside) / (0.2 * self.profile.half_widths[axis])
            total += float(slope * step) ** 2 * spread / 12.0
        return SLOPE * sqrt(total)

    def errors(self, shapes: Sequence[tuple[int, ...]], whole: Sequence[bool]) -> GridErrors:
        """The errors of these shapes. Along axes of `whole` numbers, cells of one number hide no place."""
        bounds = list(zip(self.low.tolist(), self.high.tolist(), strict=True))
        steps = np.array(
            [[aligned(*ends, cells)[1] for ends, cells in zip(bounds, shape, strict=True)] for shape in shapes]
        )
        hidden = (steps > 1.0) | ~np.array(whole, bool)
        with np.errstate(divide="ignore", over="ignore"):
            nearby = self.profile(steps[:, None, :] * np.eye(self.axes))  # the kernel one step away along each axis
            steep = np.sqrt(np.sum(np.square(1.0 / nearby - 1.0), axis=1, where=hidden))
            apart = np.sqrt(np.sum(np.square(np.log(nearby)), axis=1, where=hidden))
        return GridErrors(self, self.gain(np.array([prod(shape) for shape in shapes], np.float64)), steep, apart)

    def gain(self, cells: np.ndarray) -> np.ndarray:
        """The noise of an answer for counters of variance 1, by the number of cells."""
        return np.asarray(np.sqrt(cells * (self._square - self._mean**2) + 1.0))


SLOPE = 0.25
"""The relative slope of a sum of kernels at a record, over that of one kernel at its half-width."""


class GridErrors(NamedTuple):
    """Expected errors of some shapes."""

    box: Box
    gain: np.ndarray
    """The noise of an answer for counters of variance 1."""
    steep: np.ndarray
    """√Σ (1/k − 1)², k being the kernel one step away along each axis."""
    apart: np.ndarray
    """√Σ (log k)²: the length of a step in units of the kernel."""

    def places(self, density: np.ndarray, clumping: np.ndarray) -> np.ndarray:
        """(densities, clumpings, shapes): the error from places in cells, at most LOST."""
        factor, wide, power = SMOOTH
        with np.errstate(over="ignore"):
            smooth = factor * (density[:, None, None] / MIDDLING) ** wide * self.steep**power
        return np.minimum(np.hypot(smooth, clumping[:, None] * self.apart), LOST)

    def clumped(self, n: float, counter_sd: float, density: np.ndarray, clumping: np.ndarray) -> np.ndarray:
        """(densities, clumpings, shapes): the mean relative error for records of this density and clumping."""
        inverse = self.box.inverse(density)[:, None, None]
        return combined(0.0, self.places(density, clumping), counter_sd * self.gain, inverse, n)

    def relative(self, n: float, counter_sd: float, density: float) -> np.ndarray:
        """The mean relative error at this typical density, averaged over the prior of clumpings."""
        errors = self.clumped(n, counter_sd, np.array([density]), CLUMPINGS)[0]
        with np.errstate(divide="ignore"):  # without noise, cells of one whole number each err by nothing
            return np.asarray(np.exp(usual_clumping() @ np.log(errors)))


_box = lru_cache(maxsize=16)(Box)


def box_of(spec: Spec) -> Box:
    """The kernel and the bounds of a spec."""
    assert spec.bounds is not None
    return _box(spec.kernel, spec.dimensions, spec.columns, spec.bounds)


def on_whole_numbers(spec: Spec) -> list[bool]:
    """Which axes of a grid hold whole numbers."""
    which, names = spec.kernel.which(spec.dimensions, spec.columns), spec.columns
    return [names is not None and spec.kinds.get(names[j]) in ON_WHOLE_NUMBERS for j in which]


def usual_clumping() -> np.ndarray:
    """The prior weights of `CLUMPINGS`, which sum to 1."""
    middle, spread = CLUMPED
    weights: np.ndarray = np.exp(-0.5 * (np.log(CLUMPINGS / middle) / spread) ** 2)
    return weights / weights.sum()


def _cells(low: float, high: float, step: float) -> int:
    """Cells along one axis, with a step close to `step`, that can be summed in groups of many sizes.

    Where bounds are whole numbers, the step is whole or 1/whole, as `aligned` wants it.
    """
    span = high - low
    if low.is_integer() and high.is_integer() and step >= 1e-3:
        return ceil((span + 1.0) / round(step)) if step >= 0.7 else int(span * _divisible(round(1.0 / step))) + 1
    return _divisible(max(1, round(span / step)))


def _divisible(number: int) -> int:
    """At most this number, with many divisors."""
    return number - number % (12 if number >= 48 else 6 if number >= 12 else 1)


def _moments(profile: Profile, lengths: np.ndarray) -> tuple[float, float, float]:
    """E k(x, y) between records, and the means of k² and k over the bounds, seen from their middle.

    Records are taken to fill half of the bounds along each axis, so all three are means over the same differences.
    """
    d = profile.dimensions
    points, gaps = np.polynomial.legendre.leggauss(NODES[d])
    nodes, weights = np.empty((2, d, NODES[d] + 1))
    for j, (length, half) in enumerate(zip(lengths, profile.half_widths, strict=True)):
        # In the logarithm from well inside the kernel to the end of the bounds: that may be many powers of ten.
        inside = min(half, length) / 16.0
        decades = np.log(length / inside) / 2.0
        outside = inside * np.exp(decades * (points + 1.0))
        nodes[j], weights[j] = np.append(inside / 2.0, outside), np.append(inside, outside * decades * gaps)
    weights /= weights.sum(axis=1, keepdims=True)  # to rounding they add up to the length already
    k = profile(lattice(list(nodes), np.full(d, 0.5)))
    triangle = 2.0 * (1.0 - nodes / lengths[:, None])  # the law of |x − y|, both uniform
    return _mean(k, weights * triangle), _mean(k**2, weights), _mean(k, weights)


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    """Σ values Πⱼ weights[j], one axis after the other."""
    for axis in weights[::-1]:
        values = values @ axis
    return float(values)
