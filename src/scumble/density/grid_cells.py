"""A kernel as a function of x − y alone; the cells of a grid, counting records in them, and coarser grids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil, prod
from threading import Lock
from typing import Any

import numpy as np

from scumble.checks import Json, sides
from scumble.checks import whole as whole_number
from scumble.errors import ParameterError, parameter
from scumble.kernels import Kernel

MAX_DIMENSIONS = 4
TILE = 1 << 16
"""Values or records of a tile: they fit into the cache."""
REACH = 2
"""Cells beyond the two around a query for which the exact kernel replaces the interpolated one."""


def supports(kernel: Kernel, width: int, names: Sequence[str] | None = None) -> str | None:
    """None if a grid supports the kernel, else the reason why not."""
    for factor in kernel.factors:
        if not factor.stationary:
            return f"the {factor.name or type(factor).__name__} kernel does not depend on x − y alone"
    dimensions = len(kernel.which(width, names))
    if dimensions > MAX_DIMENSIONS:
        return f"the kernel reads {dimensions} columns and a grid can have {MAX_DIMENSIONS} at most"
    return None


class Profile:
    """k(x, y) = profile(x − y), over the columns that the kernel reads.

    >>> from scumble.kernels import EuclideanKernel
    >>> profile = Profile(EuclideanKernel(2.0, power=2, scale=10.0), width=1)
    >>> profile(np.array([[0.0], [20.0]])).round(4)
    array([1.   , 0.136])
    >>> profile.half_widths.round(2)
    array([7.36])
    """

    def __init__(self, kernel: Kernel, width: int, names: Sequence[str] | None = None) -> None:
        reason = supports(kernel, width, names)
        if reason is not None:
            raise ParameterError(f"A grid cannot serve this kernel: {reason}. Hint: use hashed rows, design='sobol'.")
        columns = kernel.which(width, names)
        self.dimensions = len(columns)
        self._factors: list[tuple[Any, list[int], np.ndarray]] = []
        for factor in kernel.factors:
            which = factor.which(width, names)
            self._factors.append((factor, [columns.index(i) for i in which], factor._scales(names, which)))
        self.half_widths = self._half_widths()
        self.even = self._is_even()
        self.ridged = self._is_ridged()

    def __call__(self, differences: np.ndarray) -> np.ndarray:
        out: np.ndarray | None = None
        with np.errstate(over="ignore", under="ignore"):  # far beyond every bandwidth k is 0, and that is right
            for factor, columns, scales in self._factors:
                mine = differences if len(columns) == self.dimensions else differences[..., columns]
                value = factor.profile(mine if np.all(scales == 1.0) else mine / scales)
                value = value if factor.power == 1 else value**factor.power
                out = value if out is None else out * value
        assert out is not None
        return out

    def on_page(self) -> list[Json]:
        """The factors, for the web page."""
        return [
            {
                "kernel": factor.name,
                "bandwidth": factor.bandwidth,
                "power": factor.power,
                "columns": columns,
                "scales": scales.tolist(),
            }
            for factor, columns, scales in self._factors
        ]

    def _half_widths(self) -> np.ndarray:
        """The distance along each axis at which the kernel is one half, by repeated division of the range."""
        low, high, axes = np.full(self.dimensions, -300.0), np.full(self.dimensions, 300.0), np.arange(self.dimensions)
        for _ in range(12):
            places = np.linspace(low, high, 33)
            near = self(10.0 ** places[1:-1, :, None] * np.eye(self.dimensions)) > 0.5
            last = np.logical_and.accumulate(near).sum(axis=0)
            low, high = places[last, axes], places[last + 1, axes]
        return 10.0**low

    def _is_even(self) -> bool:
        """Whether signs of the differences are irrelevant, by trial."""
        place = np.arange(1, 257)[:, None] * np.sqrt([2.0, 3.0, 5.0, 7.0][: self.dimensions])
        points = self.half_widths * (0.1 + 2.9 * (place % 1.0))
        flips = np.where((7.3 * place) % 1.0 < 0.5, -1.0, 1.0)
        return bool(np.allclose(self(points), self(points * flips), rtol=1e-12, atol=0.0))

    def _is_ridged(self) -> bool:
        """Whether the kernel has kinks along the axes away from x = y, as Manhattan distance and products have."""
        for axis in range(self.dimensions if self.dimensions > 1 else 0):
            away = np.where(np.arange(self.dimensions) == axis, 0.0, self.half_widths)
            aside = np.where(np.arange(self.dimensions) == axis, self.half_widths, 0.0)
            bends = [
                abs(float(np.diff(self(np.stack([away - e * aside, away, away + e * aside])), 2)[0]))
                for e in (1e-3, 2e-3)
            ]
            if bends[1] < 3.0 * bends[0]:  # a smooth function bends four times as much, a kink twice
                return True
        return False

    def table(self, step: np.ndarray, reach: Sequence[int] | np.ndarray) -> np.ndarray:
        """The kernel at integer multiples of the step, from −reach to reach along each axis."""
        return self._shifted(step, np.asarray(reach), np.zeros(self.dimensions))

    def smooth_table(self, step: np.ndarray, reach: Sequence[int] | np.ndarray) -> np.ndarray:
        """Like `table`, for interpolation without bias at kinks.

        Interpolation between multiples of the step overestimates a kernel near a kink by |k′| step/6 on average
        (Euler–Maclaurin). The mean of k a fifth of a step to either side, sharpened, removes this and is exact to
        fourth order where k is smooth.
        """
        if not self.ridged:
            return self.table(step, reach)
        sides = 0.4 * np.array(list(np.ndindex(*[2] * self.dimensions))) - 0.2
        mean = sum(self._shifted(step, np.asarray(reach) + 1, side) for side in sides) / len(sides)
        return sharpened(np.asarray(mean), np.full(self.dimensions, 12 * 0.2**2))

    def _shifted(self, step: np.ndarray, reach: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """The kernel at (integers + shift) × step; for an even kernel one side and its mirror image."""
        axes = [np.arange(0 if self.even else -r, r + 1) + s for r, s in zip(reach, shift, strict=True)]
        first, *rest = axes
        out = np.empty([len(axis) for axis in axes])
        for here in tiles(out):
            out[here] = self(lattice([first[here], *rest], step))
        for j in range(self.dimensions if self.even else 0):
            out = np.concatenate([out[(*[slice(None)] * j, slice(None, 0, -1))], out], axis=j)
        return out


def tiles(values: np.ndarray) -> Iterator[slice]:
    """Parts along the first axis that fit into the processor's cache."""
    tile = max(1, TILE // max(1, prod(values.shape[1:])))
    return (slice(begin, begin + tile) for begin in range(0, len(values), tile))


def sharpened(values: np.ndarray, spread: np.ndarray, first_axis: int = 0) -> np.ndarray:
    """a − Σ_axes spread Δ²a/24, at points with both neighbors: undoes a blur of variance spread/12."""
    whole = (slice(None),) * first_axis
    out = np.empty_like(values[(*whole, *[slice(1, -1)] * (values.ndim - first_axis))])
    for here in tiles(out):
        around = values[here] if first_axis else values[here.start : here.stop + 2]
        middle = (*whole, *[slice(1, -1)] * (values.ndim - first_axis))
        part = np.multiply(around[middle], 1.0 + np.sum(spread) / 12.0, out=out[here])
        for axis, share in enumerate(spread, start=first_axis):
            for shift in (slice(None, -2), slice(2, None)):
                part -= around[(*middle[:axis], shift, *middle[axis + 1 :])] * (share / 24.0)
    return out


def lattice(axes: Sequence[np.ndarray], step: np.ndarray) -> np.ndarray:
    """(n₁, …, n_d, d): the points of a lattice."""
    places = np.meshgrid(*[axis * s for axis, s in zip(axes, step, strict=True)], indexing="ij", copy=False)
    return np.moveaxis(np.stack(places), 0, -1)  # in memory one coordinate after the other: sums over them are quick


def fast_length(least: int) -> int:
    """The next number with no prime factor beyond 5: an FFT is fast at these.

    >>> [fast_length(n) for n in (1, 7, 11, 121, 1081)]
    [1, 8, 12, 125, 1125]
    """
    found = least
    while True:
        rest = found
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return found
        found += 1


class Grid:
    """One row of counters: a box of public bounds cut into equal cells.

    A record counts in exactly one cell; outside the bounds, in the nearest edge cell. Where bounds are whole numbers
    and a whole step s fits, the cells are [low − ½ + is, low − ½ + (i + 1)s), so each holds s whole numbers and is
    centered on their mean; steps of 1/2, 1/3, … have a center on every whole number.

    `low`, `high`, `shape` and `whole` (declared to hold whole numbers) are given per column that the kernel reads;
    `width` and `names` are those of the table.

    >>> from scumble.kernels import EuclideanKernel
    >>> grid = Grid(EuclideanKernel(5.0), low=[0, 0], high=[255, 10.5], shape=(128, 3), width=2)
    >>> grid.cell(np.array([[0.0, 0.0], [1.0, 4.0], [2.0, 4.0], [1e300, -7.0]]))
    array([  0,   1,   4, 381])
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        low: np.ndarray | Sequence[float],
        high: np.ndarray | Sequence[float],
        shape: Sequence[int],
        width: int,
        names: Sequence[str] | None = None,
        whole: Sequence[bool] = (),
    ) -> None:
        self.profile = Profile(kernel, width, names)
        self.low, self.high = sides((low, high), self.profile.dimensions)
        if len(shape) != self.profile.dimensions:
            raise parameter("shape", f"{self.profile.dimensions} whole numbers of at least 1", tuple(shape))
        self.shape = tuple(int(whole_number("shape", cells)) for cells in shape)
        self.cells = prod(self.shape)
        sizes = [aligned(*axis) for axis in zip(self.low, self.high, self.shape, strict=True)]
        self.start, self.step, self.spread = np.transpose(sizes)
        worst = np.minimum(3.0 * np.square(1.0 - np.sqrt(1.0 - self.spread)), 1.0)  # all s numbers at one end
        self.hidden = np.where(whole, worst, 1.0) if len(whole) else np.ones(len(sizes))
        """The largest variance of places within a cell, in units of h²/12."""

    @property
    def margin(self) -> np.ndarray:
        """Cells beyond the bounds that the FFT covers: a few, and those that fill a fast length."""
        lengths = [fast_length(2 * (n + REACH + 4) + 1) for n in self.shape]
        return (np.array(lengths) - 1) // 2 - np.array(self.shape)

    @property
    def place_reach(self) -> np.ndarray:
        """How many cells away a record's place within its cell still matters: eight half-widths."""
        local = np.ceil(8.0 * self.profile.half_widths / self.step)
        return np.minimum(local, np.array(self.shape) + self.margin).astype(int)

    def cell(self, values: np.ndarray) -> np.ndarray:
        """(n, columns) → flat cell numbers: ⌊(x − start)/step⌋ along each axis, clipped to the grid."""
        out, place = np.zeros((2, len(values)))  # whole numbers below 2⁵³
        with np.errstate(all="ignore"):  # a warning could tell of a record
            for axis, cells in enumerate(self.shape):
                np.subtract(values[:, axis], self.start[axis], out=place)
                np.floor(np.divide(place, self.step[axis], out=place), out=place)
                np.fmax(place, 0.0, out=place)  # also where it is not a number
                np.minimum(place, cells - 1.0, out=place)
                out *= cells
                out += place
        return out.astype(np.int64)

    def count(self, values: np.ndarray, counts: np.ndarray, threads: int = 1) -> None:
        """Add one for each record to `counts`, (1, cells). Threads find cells in parallel and add in turn."""
        parts, adding = range(0, len(values), TILE), Lock()

        def add(first: int) -> None:
            found = self.cell(values[first : first + TILE])
            counted = np.bincount(found, minlength=self.cells) if self.cells <= len(found) else None
            with adding:
                if counted is None:
                    np.add.at(counts[0], found, 1)
                else:
                    counts[0] += counted

        if threads == 1 or len(parts) < 2:
            for first in parts:
                add(first)
            return
        with ThreadPoolExecutor(min(threads, len(parts))) as pool:
            list(pool.map(add, parts))


def aligned(low: float, high: float, cells: int) -> tuple[float, float, float]:
    """For one axis: the first edge, the step, and the variance of places in a cell in units of step²/12."""
    span = high - low
    if low.is_integer() and high.is_integer() and span < 2.0**53:
        whole = float(ceil((span + 1.0) / cells))
        if cells > span and (cells - 1) % span == 0:
            step = span / (cells - 1)
            return low - step / 2.0, step, 0.0  # every whole number is the center of a cell
        if cells <= span and (cells - 1) * whole < span + 1.0:
            return low - 0.5, whole, 1.0 - whole**-2.0  # s whole numbers in a row have variance (s² − 1)/12
    return low, span / cells, 1.0


FAR_FINER = 8
"""With this many fine cells per coarse cell, edges need not agree."""
TURNS = (0.8705505632961241, 0.757858283255199, 0.6597539553864471, 0.5743491774985175)
"""Powers of the fifth root of one half: no integer combination is an integer."""
_FACTORS = tuple(dict.fromkeys([*range(1, 17), *np.round(np.geomspace(16, 2**22, 80)).astype(int).tolist()]))


def coarser(
    low: np.ndarray, high: np.ndarray, shape: Sequence[int], wished: Sequence[int] | None = None
) -> Iterator[tuple[int, ...]]:
    """Shapes that a grid can be summed to, each once, finest first.

    An axis of few whole numbers has fewer cells than `wished`; it keeps them until the cells of the other axes are as
    coarse.

    >>> ends = np.array([0.0, 0.0]), np.array([64.0, 7.0])
    >>> list(coarser(*ends, (64, 8), wished=(64, 64)))[:4]
    [(64, 8), (32, 8), (16, 8), (8, 8)]
    """
    seen: set[tuple[int, ...]] = set()
    kept = [cells / more for cells, more in zip(shape, wished or shape, strict=True)]
    for factor in _FACTORS:
        by = [max(1, round(factor * share / max(kept))) for share in kept]
        coarse = tuple(-(-cells // along) for cells, along in zip(shape, by, strict=True))
        if coarse not in seen and all(map(_nested, low.tolist(), high.tolist(), shape, coarse)):
            seen.add(coarse)
            yield coarse
        if max(coarse) == 1:
            return


def groups(low: np.ndarray, high: np.ndarray, shape: Sequence[int], coarse: Sequence[int]) -> np.ndarray:
    """For each cell of the fine grid, the flat number of its coarse cell.

    Fine cells cut by a coarse edge go to either side in proportion to their parts, by a fixed low-discrepancy pattern:
    rounding all of them to the same side would bias answers.

    >>> groups(np.array([0.0]), np.array([1.0]), (6,), (2,))
    array([0, 0, 0, 1, 1, 1])
    """
    strides, cuts = [prod(coarse[axis + 1 :]) for axis in range(len(shape))], []
    out = np.zeros(shape, np.int64)
    for axis, ends in enumerate(zip(low.tolist(), high.tolist(), shape, coarse, strict=True)):
        begin, end = _fine_edges(*ends)
        below, above = (np.clip(np.floor(side), 0, ends[3] - 1).astype(np.int64) for side in (begin, end))
        cut = np.flatnonzero(above > below)
        out += (below * strides[axis]).reshape([-1] + [1] * (len(shape) - axis - 1))
        cuts.append((cut, ((end - above) / (end - begin))[cut].reshape([-1] + [1] * (len(shape) - axis - 1))))
    for axis, (cut, share) in enumerate(cuts):
        places = np.ix_(*(cut if other == axis else np.arange(n) for other, n in enumerate(shape)))
        point = sum((place * TURNS[(other - axis) % len(shape)] for other, place in enumerate(places)), 0.5) % 1.0
        out[places] += strides[axis] * (point < share)
    return out.reshape(prod(shape))


def _fine_edges(low: float, high: float, fine: int, coarse: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the fine cells begin and end, in coarse steps from the first coarse edge, up to rounding."""
    (start, step, _), (first, stride, _) = aligned(low, high, fine), aligned(low, high, coarse)
    middle, half = (start + (np.arange(fine) + 0.5) * step - first) / stride, (0.5 - 1e-6) * step / stride
    return middle - half, middle + half


def _nested(low: float, high: float, fine: int, coarse: int) -> bool:
    """Whether every fine cell lies within one coarse cell, or is far smaller."""
    step, stride = (aligned(low, high, cells)[1] for cells in (fine, coarse))
    if fine == coarse or coarse == 1 or stride >= FAR_FINER * step:
        return True
    begin, end = map(np.floor, _fine_edges(low, high, fine, coarse))
    return bool(np.array_equal(begin, end))
