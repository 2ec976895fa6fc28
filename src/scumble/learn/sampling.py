"""What follows from a release alone: synthetic records, sharper answers by these, and any loss that is a kernel sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from scumble.checks import Sides, by_column, sides, whole
from scumble.columns.kinds import bounds_by, nearest
from scumble.columns.table import Table
from scumble.density.answers import Answers
from scumble.density.bundle import Bundle
from scumble.density.draws import Particles
from scumble.density.expected_error import REFINED_ROWS
from scumble.density.layout import Estimate, Reader, alike
from scumble.density.release import Release
from scumble.density.spec import Spec
from scumble.errors import DataError, ParameterError, parameter


def sample(release: Release | Bundle, n: int, random_state: int | None = None, *, bounds: object = None) -> Any:
    """(n, columns) synthetic records by what a release says about its table: post-processing, which costs no privacy.

    From a Bundle, with one release per class, a pair of such an array and the labels, in proportion to the counts.
    `random_state` is the seed of the draw, None a fresh one. `bounds` are public, (low, high), each a number or one per
    column: grids know theirs, hashed rows need them.

    The records follow the counters, not the density, which is blurred by the kernel (:mod:`scumble.density.draws`).
    Columns that the release declares as whole numbers, dates or booleans (`release.kinds`) get such.

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


def _sample_bundle(bundle: Bundle, n: int, rng: np.random.Generator, bounds: object) -> tuple[np.ndarray, np.ndarray]:
    counts = np.array([max(release.count, 0.0) for release in bundle.values()])
    if counts.sum() <= 0.0:
        counts[:] = 1.0
    which = rng.choice(len(counts), n, p=counts / counts.sum())
    X = np.empty((n, bundle.spec.dimensions))
    for k, release in enumerate(bundle.values()):
        X[which == k] = Sampler(release, rng, bounds=bounds).draw(int(np.sum(which == k)))
    return X, np.array(bundle.classes)[which]


class Sampler:
    """What `sample` prepares once, for drawing from a release again and again."""

    def __init__(self, release: Release, rng: np.random.Generator, *, bounds: object = None) -> None:
        self.release, self.rng = release, rng
        self.bounds = bounds_of(release, bounds)
        self._source = release.spec.layout.source(release, self.bounds, rng)

    def draw(self, n: int) -> np.ndarray:
        """(n, columns) records within the bounds; columns that hold whole numbers have such."""
        X = self._source.draw(n, self.rng)
        for name, kind in self.release.kinds.items():
            j = (self.release.columns or ()).index(name)
            X[:, j] = np.clip(nearest(X[:, j], kind), self.bounds[0][j], self.bounds[1][j])
        return X


VOTERS = 10_000
"""Records drawn: their sampling error, 1 % of the records at most, is small next to most noise."""


def votes(release: Release, candidates: object, *, bounds: object = None) -> np.ndarray:
    """How many private records are nearest to each of several public candidates: estimates, which cost no privacy.

    Candidates are points such as embeddings of labels, prompts or synthetic texts. Records drawn from the release vote
    for the candidate that the kernel calls most like them, so a search can ask as often as it likes, while votes of the
    records themselves would cost budget in every round. Of hashed rows, `bounds` say where to draw.

    >>> import numpy as np, scumble
    >>> X = np.random.default_rng(0).normal([2.0, 7.0], 0.5, (5000, 2))
    >>> sketch = scumble.Sketch(scumble.EuclideanKernel(0.5), 2, bounds=(0, 10), design="grid")
    >>> found = votes(sketch.update(X).release(epsilon=1.0), [[7.0, 2.0], [2.0, 6.0], [5.0, 5.0]])
    >>> int(found.argmax()), bool(found[1] > 4500)
    (1, True)
    """
    within = tuple(tuple(side.tolist()) for side in bounds_of(release, bounds))
    drawn = _voters(release, within)
    try:
        points = np.asarray(candidates, float)
    except (TypeError, ValueError):  # NumPy's words would quote it
        points = np.empty(0)
    if points.ndim != 2 or not len(points) or points.shape[1] != drawn.shape[1] or not np.isfinite(points).all():
        raise parameter("candidates", f"points of {drawn.shape[1]} finite numbers", candidates)
    tiles = (drawn[first : first + TILE] for first in range(0, VOTERS, TILE))
    nearest_ = np.concatenate([alike(release, tile, points).argmax(axis=1) for tile in tiles])
    return np.asarray(np.bincount(nearest_, minlength=len(points)) * (release.divisor / VOTERS))


@lru_cache(maxsize=4)
def _voters(release: Release, bounds: Any) -> np.ndarray:
    """The same ones in every round."""
    return Sampler(release, np.random.default_rng(release.seed), bounds=bounds).draw(VOTERS)


def bounds_of(release: Release, bounds: object) -> Sides:
    """The bounds to draw records within: those given, or the release's own."""
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
            "A release of hashed rows has no bounds to draw within. Hint: --bounds 0:100 (bounds=(0, 100)), or a pair "
            "per column."
        )
    return sides(by_column(bounds_by(release.kinds, bounds), release.columns), release.dimensions)


COMPANIONS, SOME = 2000, 8
"""Particles in each of the two companions. Every eighth of them is enough to see how far to trust them."""
TILE, PAIRS = 1000, 1 << 20
"""Records, and kernel values, at a time."""


def refine(release: Release, bounds: object = None) -> Release | Refined:
    """Answers from a release of hashed rows with about half the error of hashing. It costs no privacy.

    A *companion*, a cloud of weighted points z drawn from the release and counted by the same hash functions, has
    hashing errors in the same direction, and its true answer is known. So

        f̂(q) = Σ w k(z, q) + mean over rows of (released − counted from the companion)

    is a control variate: unbiased whatever the companion is. There are two: the rows of either half are compared with
    the one that was made from the other half. How far each is trusted, a factor of its weights between 0 and 1, is the
    slope of the rows of its half on its own.

    A query costs the kernel of some 4,000 points. Releases with fewer than 64 or more than 4,096 rows, with a grid, or
    of categories are returned as they are. `bounds` are public: where to look for the records.

    >>> import numpy as np, scumble
    >>> X = np.random.default_rng(0).normal(0.0, 1.0, (5000, 6))
    >>> sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=6, rows=256, buckets=1024)
    >>> refined = refine(sketch.update(X).release(epsilon=1.0), bounds=(-5, 5))
    >>> refined.density(X[:200]).shape
    (200,)
    """
    hashed = release.spec.layout.hashed and REFINED_ROWS[0] <= release.rows <= REFINED_ROWS[1]
    return Refined(release, bounds) if release.kernel.numeric and hashed and release.count >= 1.0 else release


class Refined(Answers):
    """A release with its companions; see :func:`refine`. Made once, it answers as the release does."""

    _spec: Spec

    def __init__(self, release: Release, bounds: object = None) -> None:
        self.release, self._spec = release, release.spec
        rng = np.random.default_rng(release.seed)  # any will do; a fixed one gives the same answers to everybody
        half = release.rows // 2
        sides = bounds_of(release, bounds)
        self._halves = [
            _Companion(release, sides, rng, learn=slice(half, None), serve=slice(0, half)),
            _Companion(release, sides, rng, learn=slice(0, half), serve=slice(half, None)),
        ]
        self._shares = [half / release.rows, 1.0 - half / release.rows]

    @property
    def count(self) -> float:
        """Estimated number of records."""
        return self.release.count

    @property
    def divisor(self) -> float:
        """The number of records that densities are shares of."""
        return self.release.divisor

    def _estimate(self, Q: object, method: str = "mean") -> Estimate:
        if method != "mean":  # groups of rows of either half would be compared with different companions
            raise parameter("method", "'mean', where answers are refined", method, "the release itself has the others.")
        # By as much as the companions differ, the rows' spread is overstated: intervals are a little wide.
        left = super()._estimate(Q, method)
        queries = self._numbers(Q)
        known = sum(share * half.sums(queries) for share, half in zip(self._shares, self._halves, strict=True))
        return replace(left, value=left.value + known)

    def _reader(self) -> Reader:
        return self._difference

    @cached_property
    def _difference(self) -> Reader:
        """What answers from the counters of the release less those of the companions."""
        release, counts = self.release, self.release.counts.copy()
        for half in self._halves:
            counts[half.serve] -= half.counted
        taken = sum(share * half.weights.sum() for share, half in zip(self._shares, self._halves, strict=True))
        count = None if release.noisy_count is None else (release.noisy_count - taken, release.count_variance)
        return self._spec.layout.reader(counts, release.counter_variance, count, engine_name=release._engine)

    def _numbers(self, Q: object) -> np.ndarray:
        """The columns that the kernel reads; zeros elsewhere."""
        table = Table.of(Q, columns=self._spec.columns, dimensions=self._spec.dimensions)
        which = self._spec.kernel.which(table.width, table.names)
        values = np.zeros((table.rows, table.width))
        values[:, which] = table.numeric(which)
        return values


class _Companion:
    """A cloud that learned from some rows and serves the others. Weights are whole numbers, as counters are."""

    def __init__(self, release: Release, sides: Sides, rng: np.random.Generator, learn: slice, serve: slice) -> None:
        self.release, self.serve = release, serve
        cloud = Particles(release.spec.layout, release, sides, rng, rows=learn, most=COMPANIONS)
        self.points, shares = cloud.points, cloud.weights * release.count
        codes = cloud.codes(self.points, serve)
        trust = self._slope(codes, _counted(codes, shares, release.buckets), shares, np.arange(0, len(shares), SOME))
        self.weights = np.round(trust * shares).astype(np.int64)
        self.counted = _counted(codes, self.weights, release.buckets).astype(np.int64)

    def _slope(self, codes: np.ndarray, counted: np.ndarray, shares: np.ndarray, some: np.ndarray) -> float:
        """By how much the rows served deviate where the companion's do, at some of its points: 1 if they are equal."""
        theirs, mine = (
            np.take_along_axis(table - table.mean(axis=1, keepdims=True), codes[:, some], axis=1)
            for table in (self.release.counts[self.serve], counted)
        )
        mine -= alike(self.release, self.points[some], self.points) @ shares
        theirs -= theirs.mean(axis=0)
        common, own = (float(np.sum((mine * other) @ shares[some])) for other in (theirs, mine))
        return float(np.clip(common / own, 0.0, 1.0)) if own > 0.0 else 0.0

    def sums(self, queries: np.ndarray) -> np.ndarray:
        """Σ w k(z, q), a few queries at a time."""
        tile = PAIRS // len(self.points)
        sums = np.empty(len(queries))
        for first in range(0, len(queries), tile):
            here = slice(first, first + tile)
            sums[here] = alike(self.release, queries[here], self.points) @ self.weights
        return sums


def _counted(codes: np.ndarray, weights: np.ndarray, buckets: int) -> np.ndarray:
    """The weights counted by the rows' buckets, (rows, buckets)."""
    return np.stack([np.bincount(row, weights, buckets) for row in codes])


def minimize(
    release: Release,
    loss: Callable[[np.ndarray], np.ndarray],
    start: object,
    *,
    penalty: Callable[[np.ndarray], np.ndarray] | None = None,
    spread: float = 0.5,
    rounds: int = 60,
    random_state: int = 0,
) -> np.ndarray:
    """The parameters θ that minimize Σₓ k(φ(x), ψ(θ)) + penalty(θ), from the release alone (the paper's section 4).

    A sketch of φ(x) answers the empirical risk of every model θ whose loss is k(φ(x), ψ(θ)). The answers are noisy and
    flat between hyperplanes, so the search uses no gradient: it moves a cloud of models to the weighted mean of its
    better half (a (μ/μ, λ) evolution strategy with a diagonal cloud; Beyer & Schwefel 2002).

    Parameters
    ----------
    release : Release
        The release of φ(x) for all records x.
    loss, penalty : callable
        ψ, from an array of models, (n, parameters), to queries, (n, columns); and from models to (n,) numbers.
    start : int or array-like
        The first model, or how many parameters there are.
    spread, rounds, random_state : float, int, int
        How far from `start` to look initially, how long, and the seed of the search.

    *A linear classifier*: insert y·x with the angular kernel of power p and ask at −θ. A record on the correct side of
    θ is far from −θ and seldom meets it, so Σ k is the margin loss (1 − acos(−t)/π)^p:

    >>> import numpy as np, scumble
    >>> X = np.random.default_rng(0).normal([2.0, -1.0], 0.5, (5000, 2))
    >>> y = np.where(X[:, 0] > 2.0, 1.0, -1.0)
    >>> sketch = scumble.Sketch(scumble.AngularKernel(power=4), 2, rows=500, buckets=16, seed=1)
    >>> release = sketch.update(y[:, None] * (X - [2.0, -1.0])).release(epsilon=1.0)
    >>> minimize(release, lambda theta: -theta, [0.0, 1.0]).shape        # in the direction of (1, 0)
    (2,)
    """
    try:
        middle = np.zeros(start) if isinstance(start, int) else np.array(start, float)
    except (TypeError, ValueError):  # NumPy's words would quote it
        middle = np.empty(0)
    if middle.ndim != 1 or not middle.size or not np.isfinite(middle).all():
        raise parameter("start", "a list of finite numbers, or how many parameters there are", start)
    if not spread > 0.0 or rounds < 1:
        raise parameter("spread", "positive, with at least one round", f"{spread} with {rounds}")
    rng = np.random.default_rng(random_state)
    size = 8 + 4 * int(np.ceil(np.sqrt(middle.size)) + np.log2(1 + middle.size))
    widths = np.full(middle.size, float(spread))
    kept = size // 2
    weights = np.log(kept + 0.5) - np.log(np.arange(1, kept + 1))
    weights /= weights.sum()
    trail = []
    for turn in range(rounds):
        # Mirrored pairs: what is odd in the noise cancels.
        half = rng.normal(size=(size // 2, middle.size))
        cloud = middle + widths * np.vstack([half, -half])
        values = release.kernel_sum(loss(cloud))
        if penalty is not None:
            values = values + penalty(cloud)
        best = cloud[np.argsort(values)[:kept]]
        moved = weights @ best
        step = np.sqrt(weights @ (best - middle) ** 2)
        widths = 0.7 * widths + 0.3 * np.maximum(step, 1e-4 * spread)
        widths *= 0.97
        middle = moved
        if turn >= rounds // 2:
            trail.append(middle)
    return np.mean(trail, axis=0)
