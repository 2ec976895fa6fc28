"""The cells of a grid, and counting records in them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil, prod
from threading import Lock

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.grid.profile import Profile
from scumble.kernels import Kernel

TILE = 1 << 16
"""Records at a time: finding their cells takes longer than starting a thread does."""


class Grid:
    """One row of counters: a box of public bounds cut into equal cells.

    A record counts in exactly one cell; one outside the bounds counts in the edge cell next to it. The cell of a record
    is a function of the record alone, so parts counted anywhere merge by addition.

    Whole numbers. If an axis has whole bounds, say 0 to 255, its data are often whole numbers too. Cells of 255/128
    would hold now one of them, now two, and never be centred on them. So wherever a whole step s fits such bounds with
    the given number of cells, the cells are [low − ½ + is, low − ½ + (i + 1)s): each holds s whole numbers and its
    centre is their mean. Likewise steps of 1/2, 1/3, … get a centre on every whole number. To other data the shift
    does no harm.

    Parameters
    ----------
    kernel : Kernel
        A stationary kernel, or a product of such.
    low, high : numpy.ndarray or sequence of float
        Public bounds, one for each column that the kernel reads.
    shape : sequence of int
        Cells along each of these columns.
    width, names : int, sequence of str or None
        How many columns the kernel's table has, and what they are called.
    whole : sequence of bool
        Of which of the kernel's columns it is known that they hold whole numbers: then it is known where in a cell
        records can lie.

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
        self.low, self.high = checked_bounds(low, high, self.profile.dimensions)
        self.shape = _checked_shape(shape, self.profile.dimensions)
        self.cells = prod(self.shape)
        sizes = [aligned(*axis) for axis in zip(self.low, self.high, self.shape, strict=True)]
        self.start = np.array([start for start, _, _ in sizes])
        self.step = np.array([step for _, step, _ in sizes])
        self.spread = np.array([spread for _, _, spread in sizes])
        worst = np.minimum(3.0 * np.square(1.0 - np.sqrt(1.0 - self.spread)), 1.0)  # all s numbers at one end
        self.hidden = np.where(whole, worst, 1.0) if len(whole) else np.ones(len(sizes))
        """What a cell can hide, by the variance of an even spread over it, h²/12."""

    def cell(self, values: np.ndarray) -> np.ndarray:
        """(n, columns) → the flat numbers of the records' cells: ⌊(x − start)/step⌋ along each axis, or the edge cell
        next to it."""
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
        """Add one for each record to `counts`, (1, cells).

        The threads find the cells of their records at the same time, which is most of the work, and add them one after
        the other.
        """
        parts, adding = range(0, len(values), TILE), Lock()

        def add(first: int) -> None:
            found = self.cell(values[first : first + TILE])
            counted = np.bincount(found, minlength=self.cells) if self.cells <= len(found) else None
            with adding:
                if counted is None:
                    np.add.at(counts[0], found, 1)
                else:
                    counts[0] += counted

        if min(threads, len(parts)) < 2:
            for first in parts:
                add(first)
            return
        with ThreadPoolExecutor(min(threads, len(parts))) as pool:
            list(pool.map(add, parts))


def aligned(low: float, high: float, cells: int) -> tuple[float, float, float]:
    """One axis: the first edge, the step, and the variance of the places in a cell, in units of step²/12."""
    span = high - low
    if low.is_integer() and high.is_integer() and span < 2.0**53:
        whole = float(ceil((span + 1.0) / cells))
        if cells > span and (cells - 1) % span == 0:
            step = span / (cells - 1)
            return low - step / 2.0, step, 0.0  # every whole number is the centre of a cell
        if cells <= span and (cells - 1) * whole < span + 1.0:
            return low - 0.5, whole, 1.0 - whole**-2.0  # s whole numbers in a row have variance (s² − 1)/12
    return low, span / cells, 1.0


def checked_bounds(
    low: np.ndarray | Sequence[float], high: np.ndarray | Sequence[float], dimensions: int
) -> tuple[np.ndarray, np.ndarray]:
    """Finite bounds with room between them, one pair a column, or a clear error."""
    lower, upper = (np.array(bound, dtype=np.float64, ndmin=1) for bound in (low, high))
    if lower.shape != (dimensions,) or upper.shape != (dimensions,):
        raise parameter("bounds", f"one low and one high for each of the {dimensions} columns", (low, high))
    with np.errstate(over="ignore", invalid="ignore"):
        good = np.isfinite(upper - lower) & (lower < upper)
    if not good.all():
        bad = int(np.argmin(good))
        raise ParameterError(
            f"`bounds` must be finite with low < high; column {bad} of the kernel (counted from 0) has {lower[bad]} to "
            f"{upper[bad]}. "
            "Hint: a constant column tells a kernel nothing, leave it out."
        )
    return lower, upper


def _checked_shape(shape: Sequence[int], dimensions: int) -> tuple[int, ...]:
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1 for n in shape)
    if len(shape) != dimensions or not whole:
        raise parameter("shape", f"{dimensions} whole numbers of at least 1", tuple(shape))
    return tuple(int(n) for n in shape)
