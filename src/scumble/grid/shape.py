"""How many cells: from public facts alone.

One formula has the error to expect of a grid, `Errors.clumped`: noise, and where in their cells the records lie. The
latter depends on how clumped records are. Where nothing tells, `Errors.relative` takes the mean of the error's
logarithm over what is usual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log10, prod
from typing import NamedTuple

import numpy as np

from scumble.errors import parameter
from scumble.grid.cells import aligned, checked_bounds
from scumble.grid.profile import Profile, lattice
from scumble.kernels import Kernel

# The FFT pads every axis to twice its length: this bounds its memory, which matters in four dimensions.
MAX_PADDED = 2**25
# Gauss–Legendre nodes along each of d axes: good to 1 % if the bounds are some 10⁴ half-widths long, else far better.
NODES = (0, 64, 32, 20, 12)
FULLER = {1: 1.5, 2: 2.2}
"""How many times as densely as if they filled half of the bounds along each axis records lie, with so many axes: about
as if they filled a third. The median of 60 tables and bandwidths; with two axes, of bounds wider than the data, too.
With more axes bounds say less."""
FAINTEST = 1e-5
"""No plan looks at a lower density: of 100,000 records it is one, the query itself if it is like a record."""
SMOOTH = {1: (0.0097, 0.08, 1.18), 2: (0.003, 0.33, 1.38), 3: (0.002, 0.8, 1.2), 4: (0.004, 0.0, 1.0)}
"""The places' error of a grid of so many axes where records lie smoothly: see `Errors.clumped`."""
CLUMPINGS = np.geomspace(0.0008, 0.6, 25)
CLUMPED = {1: (0.025, 1.2), 2: (0.035, 0.8), 3: (0.016, 0.8), 4: (0.016, 0.8)}
"""How clumped records are, with so many axes: the median, and the standard deviation of the logarithm. With four it is
taken to be as with three."""
LOST = 1.0
"""The most that is lost, relative to the answer, in cells so large that the kernel does not see them: all of it."""
LARGE = {2: (1.2, 6.5)}
"""What grids of so many axes do in large cells, (p, a). The error x of the places ends at LOST softly, as
(x^−p + LOST^−p)^(−1/p). And an answer's noise is 1 + (apart/a)⁴ times less than the root of the mean of its square: it
gathers few cells, and most queries lie far from the centres. Measured in 97 cases of 37 pairs of columns."""
REMOTE = {1: (1.2, 0.7, 0.3), 2: (1.2, 0.8, 0.2)}
"""Queries of mean density ρ in bounds that would give ρ₀ have a mean inverse density of about 1.2 ρ^−0.8 ρ₀^−0.2 with
two axes: where records fill little of their bounds, some may lie far from the others, or the bounds are wide. If they
were the data's own, 1.3 ρ^−0.55 ρ₀^−0.45 would be nearer; but public bounds are wider than that, and the less a plan
leans on them the better. Chosen in 97 cases of 37 pairs of columns, by bounds 1, 1.6 and 2.6 times as wide as the
data. With one axis it was 1.6 times what is told here at the median; but to reckon so chose no better."""
LONG_TAILED = {1: (0.7, 0.8), 2: (0.55, 0.8)}
"""Kernels of power 1 fall as 1/distance, and answers gather much from afar: there places within a cell hardly matter,
and queries differ less. Of those with so many axes, the places' error is 0.7 or 0.55 times what is told here, and the
mean inverse density 0.8 times. (All else here was measured with power 2.)"""
MIDDLING = 0.03
RARE = 0.08
"""Queries of mean density ρ have a mean inverse density of about ρ^−RARE/ρ: some of them lie less densely. Measured."""


def choose_shape(
    kernel: Kernel,
    low: np.ndarray | Sequence[float],
    high: np.ndarray | Sequence[float],
    *,
    n: int,
    epsilon: float = 1.0,
    delta: float = 0.0,
    counter_sd: float,
    width: int,
    names: Sequence[str] | None = None,
    max_cells: int = 2**22,
    density: float | None = None,
) -> tuple[tuple[int, ...], float]:
    """The best number of cells along each axis, and the mean relative error of a density to expect.

    Small cells know the places of the records, large ones gather less noise. The variance of the noise at a query is
    counter_sd² cells (mean k² − (mean k)²), means over the bounds; it falls with the volume of a cell. The error of the
    places grows with the step. Both are taken relative to f = n `density`. Steps are equal in units of the kernel's
    half-width. The data play no part.

    Parameters
    ----------
    n : int
        About how many records; public.
    epsilon, delta : float
        The budget of the release; it counts through `counter_sd` alone.
    counter_sd : float
        Standard deviation of the noise on one counter, √2/ε for pure ε.
    max_cells : int
        The most that the grid may have.
    density : float or None
        Of a typical query. None: E k(x, y), for records spread evenly over half of the bounds along each axis.

    >>> from scumble.kernels import EuclideanKernel
    >>> choose_shape(EuclideanKernel(5.0), [0, 0, 0], [255, 255, 255], n=240_000, counter_sd=1.5, width=3)[0]
    (128, 128, 128)
    >>> choose_shape(EuclideanKernel(5.0), [0, 0, 0], [255, 255, 255], n=240_000, counter_sd=15, width=3)[0]
    (86, 86, 86)
    """
    if max_cells < 1:
        raise parameter("max_cells", "at least 1", max_cells)
    profile = Profile(kernel, width, names)
    lower, upper = checked_bounds(low, high, profile.dimensions)
    shapes = list(_candidates(profile, lower, upper, max_cells))
    if density is None:
        density = _moments(profile, upper - lower)[0]
    error = shape_errors(profile, lower, upper, shapes).relative(n, counter_sd, density)
    best = int(np.argmin(error))
    return shapes[best], float(error[best])


def typical_density(
    kernel: Kernel,
    low: np.ndarray | Sequence[float],
    high: np.ndarray | Sequence[float],
    *,
    width: int,
    names: Sequence[str] | None = None,
) -> float:
    """E k(x, y) for records spread evenly over half of the bounds along each axis."""
    profile = Profile(kernel, width, names)
    lower, upper = checked_bounds(low, high, profile.dimensions)
    return max(_moments(profile, upper - lower)[0], FAINTEST)


def usual_density(spread: float, axes: int) -> float:
    """The density at a record that is usual within bounds in which records that fill half of them have this one."""
    return min(1.0, FULLER.get(axes, 1.0) * spread)


def covered(profile: Profile, lower: np.ndarray, upper: np.ndarray, shape: Sequence[int]) -> float:
    """How many cells a kernel in the middle of the bounds covers: the sum of its values over them."""
    return max(1.0, prod(shape) * _moments(profile, upper - lower)[2])


class Errors(NamedTuple):
    """What is to be expected of some shapes: the noise of an answer, and what its records' places do to it."""

    noise: np.ndarray
    """For counters of variance 1."""
    steep: np.ndarray
    """√Σ (1/k − 1)², k being the kernel one step away along each axis."""
    apart: np.ndarray
    """√Σ (log k)²: a step's length, as the kernel sees it."""
    axes: int
    spread: float
    """The density of records that fill half of the bounds along each axis, ρ₀."""
    long_tailed: bool = False
    """Whether the kernel is: see `LONG_TAILED`."""

    def relative(self, n: float, counter_sd: float, density: float) -> np.ndarray:
        """The mean relative error of a density, for queries of this typical density and records as clumped as usual."""
        errors = self.clumped(n, counter_sd, np.array([density]), CLUMPINGS)[0]
        return np.asarray(np.exp(usual_clumping(self.axes) @ np.log(errors)))

    def clumped(self, n: float, counter_sd: float, density: np.ndarray, clumping: np.ndarray) -> np.ndarray:
        """(densities, clumpings, shapes): the same for records so dense and so clumped.

        The places' error has two parts. Records that lie smoothly have a·(ρ/0.03)^q·steep^b, (a, q, b) being `SMOOTH`:
        cells of the same size for the kernel are large for the data where the kernel is wide. Clumps, whose records
        move together, add φ·apart: φ is the clumping. Measured on ten tables of three columns with three bandwidths
        each: with the φ of each, this is within a factor of 1.45 of the error at all shapes (root mean square of the
        logarithm, errors of 0.4 to 40 %); φ goes from below 0.002 (Gaussian) to 0.04, and differs little by bandwidth.
        Of one column, 26 tables, within 1.33, φ from 0.002 to 0.2; of two, 25 tables, within 1.45, 0.003 to 0.17.
        """
        factor, wide, power = SMOOTH[self.axes]
        with np.errstate(over="ignore"):
            smooth = factor * (density[:, None, None] / MIDDLING) ** wide * self.steep**power
        places = self._ended(np.hypot(smooth, clumping[:, None] * self.apart) * self._tails[0])
        noise = self.inverse(density)[:, None, None] * counter_sd * self._gathered / max(n, 1)
        errors: np.ndarray = np.hypot(noise * np.sqrt(2.0 / np.pi), places)
        return errors

    def inverse(self, density: np.ndarray) -> np.ndarray:
        """The mean inverse density of queries, for each of these densities of theirs."""
        if self.axes not in REMOTE:
            return np.asarray(density**-RARE / density)
        times, near, far = REMOTE[self.axes]
        return np.asarray(self._tails[1] * times * density**-near * max(self.spread, FAINTEST) ** -far)

    def _ended(self, places: np.ndarray) -> np.ndarray:
        """The places' error, where all that can be lost is LOST."""
        if self.axes not in LARGE:
            return np.minimum(places, LOST)
        power, _ = LARGE[self.axes]
        with np.errstate(divide="ignore"):
            return np.asarray((places**-power + LOST**-power) ** (-1.0 / power))

    @property
    def _gathered(self) -> np.ndarray:
        """The noise of an answer, of counters of variance 1, in large cells too."""
        if self.axes not in LARGE:
            return self.noise
        _, apart = LARGE[self.axes]
        return np.asarray(np.sqrt(np.maximum(self.noise**2 - 1.0, 0.0)) / (1.0 + (self.apart / apart) ** 4))

    @property
    def _tails(self) -> tuple[float, float]:
        return LONG_TAILED.get(self.axes, (1.0, 1.0)) if self.long_tailed else (1.0, 1.0)


def usual_clumping(axes: int) -> np.ndarray:
    """How usual each of `CLUMPINGS` is; the weights add up to 1."""
    middle, spread = CLUMPED[axes]
    weights: np.ndarray = np.exp(-0.5 * (np.log(CLUMPINGS / middle) / spread) ** 2)
    return weights / weights.sum()


def shape_errors(
    profile: Profile,
    lower: np.ndarray,
    upper: np.ndarray,
    shapes: Sequence[tuple[int, ...]],
    whole: Sequence[bool] | None = None,
) -> Errors:
    """What to expect of these numbers of cells. Along axes of `whole` numbers, cells of one hide no place."""
    d = profile.dimensions
    spread, square, mean = _moments(profile, upper - lower)
    bounds = list(zip(lower.tolist(), upper.tolist(), strict=True))
    steps = [[aligned(*ends, cells)[1] for ends, cells in zip(bounds, shape, strict=True)] for shape in shapes]
    cells = np.array([prod(shape) for shape in shapes], np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        nearby = profile(np.array(steps)[:, None, :] * np.eye(d))  # the kernel one step away along each axis
        hidden = (np.array(steps) > 1.0) | ~np.array([False] * d if whole is None else whole)
        steep = np.sqrt(np.sum(np.square(1.0 / nearby - 1.0), axis=1, where=hidden))
        apart = np.sqrt(np.sum(np.square(np.log(nearby)), axis=1, where=hidden))
    noise = np.sqrt(cells * (square - mean**2) + 1.0)
    return Errors(noise, steep, apart, d, spread, profile.long_tailed)


def _candidates(profile: Profile, lower: np.ndarray, upper: np.ndarray, max_cells: int) -> Iterator[tuple[int, ...]]:
    """Shapes, each once, from one cell to as many as are allowed."""
    longest = max(1.0, float(np.max((upper - lower) / profile.half_widths)))
    wishes = np.geomspace(2.0 * longest, 1e-4, 60 * ceil(log10(longest) + 4))
    bounds, before = list(zip(lower.tolist(), upper.tolist(), strict=True)), None
    for wish in (wishes[:, None] * profile.half_widths).tolist():
        shape = tuple(_cells(*ends, step) for ends, step in zip(bounds, wish, strict=True))
        if prod(shape) > max_cells or prod(2 * cells + 8 for cells in shape) > MAX_PADDED:
            return
        if shape != before:
            yield shape
        before = shape


def _cells(low: float, high: float, step: float) -> int:
    """Cells along one axis: their step as near to the wish as bounds and whole numbers allow."""
    span = high - low
    if low.is_integer() and high.is_integer() and step >= 1e-3:  # then `aligned` finds a whole step, or 1/whole
        return ceil((span + 1.0) / round(step)) if step >= 0.7 else int(span * round(1.0 / step)) + 1
    return max(1, round(span / step))


def _moments(profile: Profile, lengths: np.ndarray) -> tuple[float, float, float]:
    """E k(x, y) between records, and the mean of k² and of k over the bounds, seen from their middle.

    The bounds reach half their length from the middle; and as data fill about half of their public bounds along each
    axis, the difference of two records reaches half the length too: all three are means of the same k.
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
