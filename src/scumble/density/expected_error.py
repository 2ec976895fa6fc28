"""The expected error of grids and of hashed rows: one formula, from public facts alone.

For queries of density ρ among n records, the mean of |error|/density is √(hashing² + places² + noise²).

**Hashing**, for R rows of W buckets and a kernel of power p: α/√R, α² = (0.23 ρ^−(0.065 + 0.21 log₂ p))² + 3/(W ρ).
Sparse places hash worse; 3/(W ρ) is due to collisions.

**Places** of records within a grid's cells are unknown. Records are modeled as uniform over a share s of the bounds
along each axis, with s such that E k = ρ. Let V be the mean variance of k(q, x) for x in its cell, and P = 1/n + cρ the
probability that two records share a place, c being the share of near pairs that do. Then the square of the error is

    P V/ρ² u²  +  Q²  +  C²,        u = 1/√(1 − c).

u is how unequal densities are: if all records are in crowds alike, ρ is what each has near it; if few are, the others
have (1 − c)ρ. Between the mean inverse densities of the two, 1/ρ and 1/((1 − c)ρ), the geometric mean is taken.

Q is the lattice sum of a kernel with a cusp against its integral: by Euler–Maclaurin a quadratic B₂ of the query's
place in its cell, √(4/45) times the difference between sums over the centers and over the edges. C is what sharpening
leaves of the curvature of the sum: with density τ, (3/640) h⁴ E|He₄|/τ⁴, where τ²= σ² (1 + r)/(1 − r) for records of
variance σ² and r = ρ^(2/d), as of normal records and a normal kernel.

**Noise** of standard deviation σ on a counter: √(2/π) σ g u/n times the mean inverse density of the queries. The gain g
is 1/√R for rows and √(cells (E k² − (E k)²)) for a grid.

The constants of hashing and of inverse densities are fitted to public tables (``python -m benchmarks.plans``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import ceil, log, log2, pi, prod, sqrt
from typing import TYPE_CHECKING

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

SHARED = np.geomspace(1e-5, 1.0, 23)
MOST_SHARED = float(np.sqrt(SHARED[-2] * SHARED[-1]))
"""The least share that the last of these stands for."""
USUALLY_SHARED = 0.02, 2.0
"""The prior of the share c of near pairs: the median, and the standard deviation of the logarithm."""
USUALLY: np.ndarray = np.exp(-0.5 * (np.log(SHARED / USUALLY_SHARED[0]) / USUALLY_SHARED[1]) ** 2)
USUALLY /= USUALLY.sum()
"""Its weights at `SHARED`."""
CURVED = 3.0 / 640.0 * 2.799
"""(3/640) E|He₄| of a standard normal."""
LOST = 1.0
"""The largest relative error from places, in cells far larger than the kernel."""

MOST_CELLS, MOST_PADDED = 2**22, 2**25
"""The most cells of a grid. The FFT pads every axis to twice its length, which the second limit bounds."""
FINEST = 1000.0
"""The most cells in the kernel's half-width: smaller ones err by less than a thousandth."""
NODES = (0, 64, 32, 20, 12)
"""Gauss–Legendre nodes along each of d axes: good to 5 % where bounds are 10⁴ half-widths long, else far better."""
SHARES, STEPS, SUMMED = np.geomspace(1 / 64, 1.0, 12), 10, 16
"""For which shares of the bounds and for how many steps V and Q are tabulated; the cells of a sum for Q."""


def combined(
    hashing: np.ndarray | float, places: np.ndarray | float, noise: np.ndarray | float, inverse: np.ndarray, n: float
) -> np.ndarray:
    """The formula: `noise` is that of an answer, `inverse` the mean inverse density of the queries."""
    return np.sqrt(np.square(hashing) + np.square(places) + np.square(MEAN * noise * inverse / max(n, 1.0)))


def inverse_of(spec: Spec, density: np.ndarray) -> np.ndarray:
    """The mean inverse density of queries, for each typical density."""
    return np.asarray(density ** -(1.0 + RARE)) if spec.bounds is None else box_of(spec).inverse(density)


def unequal(shared: np.ndarray) -> np.ndarray:
    """u: by how much inverse densities are larger, for each share c of near pairs at one place."""
    return np.asarray(1.0 / np.sqrt(1.0 - np.minimum(shared, MOST_SHARED)))


def noise_of_sums(spec: Spec, variance: float, n: float, density: float) -> float:
    """The relative standard error of a typical sum from counter noise of this variance alone."""
    gain = 1.0 / sqrt(spec.rows) if spec.shape is None else float(box_of(spec).gain(np.array([prod(spec.shape)]))[0])
    return sqrt(variance) * gain * float(inverse_of(spec, np.array(density))) / n


def hashes(kernel: Kernel) -> int:
    """The hashes of a row: the powers of all factors together."""
    return sum(factor.power for factor in kernel.factors)


def numbers_of(kernel: Kernel, dimensions: int) -> int:
    """Approximate number of values in the hash functions of a row."""
    return sum(one.power * (2 + (dimensions if one.columns is None else len(one.columns))) for one in kernel.factors)


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
        self._nodes, self._weights = _nodes(self.profile, self.high - self.low)
        k = self.profile(lattice(list(self._nodes), np.full(self.axes, 0.5)))  # as seen from the middle of the bounds
        self._square, self._mean = _mean(k**2, self._weights), _mean(k, self._weights)
        spread = _mean(k, self._law(1.0))
        self.spread = max(spread, FAINTEST)
        """The density of records that fill half of the bounds along each axis, ρ₀."""

    @property
    def density(self) -> float:
        """The typical density at a record."""
        return min(1.0, FULLER * self.spread)

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

    @cached_property
    def _by_share(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For records that fill `SHARES` of the bounds: E k, and (axes, steps, shares) V and Q along each axis."""
        nodes, axes = list(self._nodes), range(self.axes)
        laws = [self._law(share) for share in SHARES]
        grid = lattice(nodes, np.ones(self.axes))
        k = self.profile(grid)
        density = np.array([_mean(k, law) for law in laws])
        off, between = np.zeros((2, self.axes, STEPS, len(SHARES)))
        signs = np.resize([2.0, -2.0], SUMMED + 1) / np.where(np.isin(np.arange(SUMMED + 1), [0, SUMMED]), 2.0, 1.0)
        for j in axes:
            for m, step in enumerate(self.profile.half_widths[j] * np.exp(self._log_steps(j))):
                aside = np.eye(self.axes)[j] * step / 2.0
                moved = np.square(self.profile(grid + aside) - self.profile(grid - aside)) / 12.0
                line = [step / 2.0 * np.arange(SUMMED + 1) if i == j else nodes[i] for i in axes]
                apart = np.tensordot(signs, self.profile(lattice(line, np.ones(self.axes))), (0, j))
                for s, (share, law) in enumerate(zip(SHARES, laws, strict=True)):
                    off[j, m, s] = _mean(moved, law)
                    rest = _mean(apart, [law[i] for i in axes if i != j])
                    between[j, m, s] = B2 * step * abs(rest) / (share * (self.high - self.low)[j] * density[s])
        return density, off, between

    def _log_steps(self, axis: int) -> np.ndarray:
        """The logarithms of tabulated steps along an axis, in half-widths."""
        longest = (self.high - self.low)[axis] / self.profile.half_widths[axis]
        return np.linspace(log(1.0 / 64.0), log(max(2.0, 2.0 * longest)), STEPS)

    def _law(self, share: float) -> np.ndarray:
        """The weights of the nodes for |x − y|, both uniform over this share of the bounds."""
        weights = self._weights * np.maximum(1.0 - self._nodes / (share * (self.high - self.low))[:, None], 0.0)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def gain(self, cells: np.ndarray) -> np.ndarray:
        """The noise of an answer for counters of variance 1, by the number of cells."""
        return np.asarray(np.sqrt(cells * (self._square - self._mean**2)))


SLOPE = 0.25
"""The relative slope of a sum of kernels at a record, over that of one kernel at its half-width."""
B2 = sqrt(4.0 / 45.0)
"""The standard deviation of B₂ over its range on one cell."""


class GridErrors:
    """Expected errors of some shapes. Along axes of `whole` numbers, cells of one number hide no place."""

    def __init__(self, box: Box, shapes: Sequence[tuple[int, ...]], whole: Sequence[bool]) -> None:
        self.box, lengths = box, box.high - box.low
        low, high = box.low.tolist(), box.high.tolist()
        steps = np.array([[aligned(*axis)[1] for axis in zip(low, high, shape, strict=True)] for shape in shapes])
        hidden = (steps > 1.0) | ~np.array(whole, bool)
        density, *tables = box._by_share
        self.gain = box.gain(np.array([prod(shape) for shape in shapes], np.float64))
        """The noise of an answer for counters of variance 1."""
        self.variance, self.regular = np.zeros((2, len(density), len(shapes)))
        """(shares, shapes): V; and Q² + C²."""
        scale = (1.0 + density ** (2.0 / box.axes)) / (1.0 - density ** (2.0 / box.axes))
        for j, (length, step) in enumerate(zip(lengths, steps.T, strict=True)):
            place = np.log(step / box.profile.half_widths[j])
            off, between = (
                np.array([np.exp(np.interp(place, box._log_steps(j), np.log(one + 1e-200))) for one in table[j].T])
                for table in tables
            )
            curved = CURVED * step**4 / np.square((SHARES * length) ** 2 / 12.0 * scale)[:, None]
            self.variance += off * hidden[:, j]
            self.regular += (between**2 + curved**2) * hidden[:, j]
        self.sharing = np.prod(np.minimum(steps / lengths / SHARES[:, None, None], 1.0), axis=2)
        """(shares, shapes): the probability that two records share a cell."""

    def at(self, table: np.ndarray, density: np.ndarray) -> np.ndarray:
        """(densities, shapes): a table by share at these densities."""
        known = self.box._by_share[0][::-1]
        place = np.interp(np.log(density), np.log(known), np.arange(len(known)))
        below = np.minimum(place.astype(int), len(known) - 2)
        part = (place - below)[:, None]
        return np.asarray((1.0 - part) * table[::-1][below] + part * table[::-1][below + 1])

    def places(self, n: float, density: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """(densities, shared, shapes): the error from places in cells, at most LOST."""
        together = (1.0 / n + density[:, None] * shared) * np.square(unequal(shared) / density[:, None])
        squares = together[:, :, None] * self.at(self.variance, density)[:, None]
        return np.sqrt(np.minimum(squares + self.at(self.regular, density)[:, None], LOST**2))

    def clumped(self, n: float, counter_sd: float, density: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """(densities, shared, shapes): the mean relative error for records of this density."""
        inverse = (self.box.inverse(density)[:, None] * unequal(shared))[:, :, None]
        return combined(0.0, self.places(n, density, shared), counter_sd * self.gain, inverse, n)


_box = lru_cache(maxsize=16)(Box)


def box_of(spec: Spec) -> Box:
    """The kernel and the bounds of a spec."""
    assert spec.bounds is not None
    return _box(spec.kernel, spec.dimensions, spec.columns, spec.bounds)


def grid_errors(spec: Spec, shapes: Sequence[tuple[int, ...]]) -> GridErrors:
    """The errors of grids of these shapes over the kernel and the bounds of a spec."""
    return GridErrors(box_of(spec), shapes, on_whole_numbers(spec))


def on_whole_numbers(spec: Spec) -> list[bool]:
    """Which axes of a grid hold whole numbers."""
    which, names = spec.kernel.which(spec.dimensions, spec.columns), spec.columns
    return [names is not None and spec.kinds.get(names[j]) in ON_WHOLE_NUMBERS for j in which]


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


def _nodes(profile: Profile, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(axes, nodes): differences from 0 to each length, and their weights, which sum to 1."""
    points, gaps = np.polynomial.legendre.leggauss(NODES[profile.dimensions])
    nodes, weights = np.empty((2, profile.dimensions, len(points) + 1))
    for j, (length, half) in enumerate(zip(lengths, profile.half_widths, strict=True)):
        # In the logarithm from well inside the kernel to the end of the bounds: that may be many powers of ten.
        inside = min(half, length / 4.0) / 16.0
        decades = np.log(length / inside) / 2.0
        outside = inside * np.exp(decades * (points + 1.0))
        nodes[j], weights[j] = np.append(inside / 2.0, outside), np.append(inside, outside * decades * gaps)
    return nodes, weights / weights.sum(axis=1, keepdims=True)  # to rounding they add up to the length already


def _mean(values: np.ndarray, weights: Sequence[np.ndarray] | np.ndarray) -> float:
    """Σ values Πⱼ weights[j], one axis after the other."""
    for axis in weights[::-1]:
        values = values @ axis
    return float(values)
