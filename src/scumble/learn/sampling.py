"""Synthetic records: for people who need rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from scumble.bundle import Bundle
from scumble.checks import sides, whole
from scumble.counting import engine
from scumble.errors import DataError, ParameterError, parameter
from scumble.machine.compiling import njit
from scumble.reading.layout import GridRow, HashedRows
from scumble.release import Release
from scumble.tables import Table

Sides = tuple[np.ndarray, np.ndarray]

PARTICLES = 4000
ROUNDS, STEPS, LAST_STEPS = 16, 10, 40
MOST_CODES = 1 << 21
"""Particles times rows: bounds the time to seconds and the memory to 8 MiB."""


def sample(release: Any, n: int, random_state: int | None = None, *, bounds: Any = None) -> Any:
    """Draw `n` synthetic records from what a release says about its table. Post-processing: it costs no privacy.

    Parameters
    ----------
    release : a Release, or a Bundle with one release per class: then labels are drawn too, in proportion to the counts.
    n : how many records.
    random_state : the seed of the draw; None takes a fresh one. (The release's noise was drawn long ago.)
    bounds : (low, high), public, each a number or one per column. Grids know theirs; hashed rows need them.

    Returns
    -------
    An (n, columns) array; for a bundle the pair of such an array and the labels.

    The records follow the counters themselves, not the density that `release.density` computes from them: that one is
    blurred by the kernel, and drawing from it would blur the records once more.

    *Grids.* The cells are halved again and again, along one axis at a time. Half A of a node with mass m has the noisy
    count a, of variance s². Its mass is the mean of what is plausible: a normal law around a, cut to [0, m], with some
    prior probability that all the mass, or none, lies in A. So noise is averaged over wide empty regions before it can
    do harm, no mass is negative, and all masses sum to the count. Within a cell records are spread evenly.

    *Hashed rows.* Each row is a histogram of the table along a random projection, so finding records from rows is
    tomography. A cloud of weighted particles is counted by the release's own hash functions. The weights follow
    w ← w · exp(η · mean over rows of (released − counted) at the particle's own buckets),
    the exponentiated gradient (Kivinen & Warmuth 1997) of the squared distance between both tables; heavy particles
    multiply, light ones die, and all move a little, in steps that shrink from the bounds' width to a part of the
    bandwidth.

    >>> import numpy as np, scumble
    >>> from scumble.learn import sample
    >>> X = np.random.default_rng(0).normal(3.0, 0.5, (5000, 2))
    >>> sketch = scumble.Sketch(scumble.EuclideanKernel(0.5), 2, bounds=(0, 6), design="grid")
    >>> synthetic = sample(sketch.update(X).release(epsilon=1.0), 2000, random_state=0)
    >>> synthetic.shape, bool(np.all((synthetic >= 0) & (synthetic <= 6)))     # their mean is about (3, 3)
    ((2000, 2), True)
    """
    n = whole("n", n, 0)
    rng = np.random.default_rng(random_state)
    if isinstance(release, Bundle):
        return _sample_bundle(release, int(n), rng, bounds)
    if not isinstance(release, Release):
        raise parameter("release", "a Release or a Bundle", type(release).__name__, "scumble.load reads a file.")
    return Sampler(release, rng, bounds=bounds).draw(int(n))


def _sample_bundle(bundle: Bundle, n: int, rng: np.random.Generator, bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    counts = np.array([max(release.count, 0.0) for release in bundle.values()])
    if counts.sum() <= 0.0:
        counts[:] = 1.0
    which = rng.choice(len(counts), n, p=counts / counts.sum())
    X = np.empty((n, bundle.spec.dimensions))
    for k, release in enumerate(bundle.values()):
        X[which == k] = Sampler(release, rng, bounds=bounds).draw(int(np.sum(which == k)))
    return X, np.array(bundle.classes)[which]


class Sampler:
    """What `sample` prepares once, for drawing from the same release again and again."""

    def __init__(self, release: Release, rng: np.random.Generator, *, bounds: Any = None) -> None:
        self.release, self.rng = release, rng
        self.bounds = bounds_of(release, bounds)
        layout = release.spec.layout
        self._source: _Cells | Particles
        if isinstance(layout, GridRow):
            self._source = _Cells(release, layout, self.bounds)
        else:
            assert isinstance(layout, HashedRows)
            self._source = Particles(release, layout, self.bounds, rng)

    def draw(self, n: int) -> np.ndarray:
        """(n, columns) records within the bounds."""
        return self._source.draw(n, self.rng)


def bounds_of(release: Release, bounds: Any) -> Sides:
    for factor in release.kernel.factors:
        if factor.reads != "number":
            raise DataError(
                f"Records cannot be drawn from a release with the {factor.name or type(factor).__name__} kernel: "
                "its columns are categories or sets, without bounds to draw within."
            )
    if bounds is None:
        bounds = release.bounds
    if bounds is None:
        raise ParameterError(
            "A release of hashed rows has no bounds to draw within. Hint: pass bounds=(low, high), each a number or "
            "one a column, from what is known without the data."
        )
    return sides(bounds, release.dimensions)


# ---- grids ----


class _Cells:
    """Masses of the cells, none negative, and uniform places within them."""

    def __init__(self, release: Release, layout: GridRow, bounds: Sides) -> None:
        self.layout, self.bounds = layout, bounds
        counts = release.counts.reshape(layout.grid.shape).astype(float)
        self.mass = masses(counts, release._counter_variance, max(release.count, 1.0)).ravel()

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        low, high = self.bounds
        X = rng.uniform(low, high, (n, len(low)))  # columns that the kernel does not read stay so
        grid = self.layout.grid
        cells = rng.choice(len(self.mass), n, p=self.mass / self.mass.sum())
        for axis, place in enumerate(np.unravel_index(cells, grid.shape)):
            column = self.layout.which[axis]
            X[:, column] = grid.start[axis] + (place + rng.uniform(size=n)) * grid.step[axis]
        return np.clip(X, low, high)


def masses(counts: np.ndarray, variance: float, total: float) -> np.ndarray:
    """Noisy counts → masses that are not negative and sum to `total`; see :func:`sample`.

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
    return np.where(z0 > 0.0, ndtr(-z0) - ndtr(-z1), ndtr(z1) - ndtr(z0))


# ---- hashed rows ----


class Particles:
    """A weighted cloud that the hash functions count as they counted the table.

    `rows` is the run of rows to learn from, all by default; `most` bounds the number of particles.
    """

    def __init__(
        self,
        release: Release,
        layout: HashedRows,
        bounds: Sides,
        rng: np.random.Generator,
        *,
        rows: slice | None = None,
        most: int = PARTICLES,
    ) -> None:
        self.layout, (self.low, self.high) = layout, bounds
        first, last, _ = (rows or slice(None)).indices(release.rows)
        self.rows = slice(first, min(last, first + MOST_CODES // 512))
        size = int(np.clip(MOST_CODES // (self.rows.stop - first), 512, most))
        total = max(release.count, 1.0)
        counts = release.counts[self.rows]
        width = self.high - self.low
        final = np.clip(0.03 * reach(release, self.low, self.high), 0.001, 0.3)
        used = layout.hasher.used if layout.hasher.direct else release.buckets
        # Every row sums to N: its excess is noise, spread over the row.
        target = (counts - (counts.sum(axis=1, keepdims=True) - total) / used) / total
        places = rng.uniform(size=(size, release.dimensions))
        for turn in range(ROUNDS):
            codes = self.codes(self.low + places * width)[self.rows]
            weights = _weights(codes, target, STEPS if turn < ROUNDS - 1 else LAST_STEPS)
            if turn < ROUNDS - 1:
                scale = 0.3 * (final / 0.3) ** (turn / (ROUNDS - 2))
                places = places[_systematic(weights, size, rng)]
                places = _reflected(
                    places + rng.normal(size=places.shape) * scale * rng.choice([0.0, 0.3, 1.0], (size, 1))
                )
        self.places, self.weights, self.jitter = places, weights, final

    def codes(self, X: np.ndarray) -> np.ndarray:
        """(rows, n): the buckets of points, by looking them up in a table that holds its own positions."""
        parts, _ = self.layout.read(X, invalid="error")
        return engine("auto").lookup(self.layout.hasher, parts, self._positions).astype(np.int32)

    @cached_property
    def _positions(self) -> np.ndarray:
        return np.tile(np.arange(self.layout.spec.buckets), (self.layout.spec.rows, 1))

    @property
    def points(self) -> np.ndarray:
        """Where the particles are."""
        return self.low + self.places * (self.high - self.low)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        chosen = self.places[rng.choice(len(self.places), n, p=self.weights)]
        return self.low + _reflected(chosen + rng.normal(size=chosen.shape) * self.jitter) * (self.high - self.low)


def _weights(codes: np.ndarray, target: np.ndarray, steps: int) -> np.ndarray:
    """Exponentiated gradient: weights of the particles under which their counters come near the target."""
    size = codes.shape[1]
    weights = np.full(size, 1.0 / size)
    for _ in range(steps):
        gradient, own = _compared(codes, target, weights)
        # `own` is the scale of the quadratic term: a step of 1 would settle a single particle at once, 2 still
        # converges.
        weights = weights * np.exp(np.clip(2.0 * gradient / own, -4.0, 4.0))
        weights /= weights.sum()
    return weights


@njit(cache=True)
def _compared(codes, target, weights):
    """Mean over rows of (target − counted) at each particle's bucket, and the mean of `counted` over all particles."""
    rows, size = codes.shape
    gradient, own = np.zeros(size), 0.0
    counted = np.empty(target.shape[1])
    for r in range(rows):
        counted[:] = 0.0
        for i in range(size):
            counted[codes[r, i]] += weights[i]
        for i in range(size):
            bucket = codes[r, i]
            gradient[i] += target[r, bucket] - counted[bucket]
            own += weights[i] * counted[bucket]
    return gradient / rows, own / rows


def _systematic(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Positions drawn in proportion to the weights, with the least possible chance in it."""
    return np.searchsorted(np.cumsum(weights), (np.arange(size) + rng.uniform()) / size).clip(max=len(weights) - 1)


def _reflected(places: np.ndarray) -> np.ndarray:
    """Steps that leave the unit cube come back from its walls."""
    folded = np.mod(places, 2.0)
    return np.where(folded > 1.0, 2.0 - folded, folded)


def alike(release: Release, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The release's kernel between plain arrays: columns that the kernel calls by name are found by position."""
    left, right = (Table.of(part, columns=release.columns, dimensions=release.dimensions) for part in (X, Y))
    return release.kernel(left, right)


def reach(release: Release, low: np.ndarray, high: np.ndarray, level: float = 0.5) -> np.ndarray:
    """For each column, the part of the bounds' width within which the kernel falls to `level`, at most 1.

    A kernel that averages over columns falls no further than the others allow. Where it stops falling above `level`,
    that part is taken of the way it falls at all.
    """
    middle, width, d = (low + high) / 2.0, high - low, len(low)
    shares = np.geomspace(1e-4, 1.0, 80)
    out = np.ones(d)
    for column in range(d):
        moved = np.repeat(middle[None, :], len(shares), axis=0)
        moved[:, column] += shares * width[column]
        values = alike(release, middle[None, :], moved)[0]
        drop, before = 1.0 - values[-1], 1.0 - values[-8]  # before: at less than half the width
        stopped = drop < 1.0 - level and 1e-9 < drop < 1.001 * before
        fallen = np.flatnonzero(values <= (1.0 - (1.0 - level) * drop if stopped else level))
        out[column] = shares[fallen[0]] if len(fallen) else 1.0
    return out
