"""Where records are densest: the modes of a released density."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity, vstack

from scumble.errors import DataError, parameter
from scumble.kernels import Kernel
from scumble.kernels.projection import ProjectionKernel
from scumble.learn.base import PrivateEstimator, default_kernel
from scumble.learn.sampling import Sampler, alike, reach
from scumble.privacy.account import Account
from scumble.reading.layout import GridRow, HashedRows

METHODS = ("climb", "lp")
BATCH = 24  # points that each climber asks for at a time
PACES = (0.5, 0.5, 0.5, 0.35, 0.35, 0.35, 0.25, 0.25, 0.25, 0.15, 0.15, 0.15, 0.1, 0.1, 0.1)
SEGMENT = 24  # points on the way between two modes
LP_ROWS = 128


class PrivateModes(PrivateEstimator):
    """The modes of the private density: places from which it falls in all directions.

    The paper's section 4 gives two ways, and both are here. A release has no gradient (its density is a sum of steps),
    so neither uses one.

    ``method="climb"``. Starts are records drawn from the release (they crowd where its buckets are heavy) and random
    points within the bounds. Each start asks for the density at points around it and moves to their mean, weighted by
    rank (an evolution strategy with weighted recombination, Hansen & Ostermeier 2001). Steps shrink from half the
    kernel's width to a tenth. Means over many points average out the noise, and ranks do not depend on how large it is.

    ``method="lp"``. Every hash cuts space into slabs v ≤ a·x + b < v + 1. From each start, the heaviest slab of every
    row among its own and the neighbouring ones is taken, and the point sought that lies in as many of these, weighted
    by their counts, as possible: with slacks sᵣ that is the linear program

        min Σ cᵣ sᵣ   subject to   vᵣ − sᵣ ≤ aᵣ·x + bᵣ ≤ vᵣ + 1 + sᵣ,   s ≥ 0,   low ≤ x ≤ high.

    Then, in both: end points are merged unless the density between them falls into a valley deeper than
    `significance` standard errors, and must themselves stand out from the noise by as much. So a mode that is reported
    is there; a mode that the noise could have made is not reported.

    Parameters
    ----------
    method : "climb" or "lp".
    starts : how many starts.
    significance : in standard errors, how far a mode must stand above noise and valleys.
    others : see :class:`~scumble.learn.base.PrivateEstimator`. Bounds are always needed, to start within.

    Attributes
    ----------
    modes_ : (m, columns), the highest first.
    densities_ : (m,), the mean kernel value over all records there.
    intervals_ : (m, 2), 95 % intervals of `densities_`, for fixed places.
    release_ : the release that all of it was read from.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.array([[2.0, 2.0], [7.0, 5.0]])[rng.integers(0, 2, 20_000)] + rng.normal(0.0, 0.3, (20_000, 2))
    >>> model = PrivateModes(bounds=(0, 10)).fit(X)
    >>> found = model.modes_                        # near (2, 2) and (7, 5)
    >>> found.shape[1], bool(np.all(np.diff(model.densities_) <= 0))          # columns; the densest comes first
    (2, True)
    """

    _learnt = ("modes_", "densities_", "intervals_")
    _always_needs_bounds = True

    def __init__(
        self,
        *,
        method: str = "climb",
        starts: int = 100,
        significance: float = 5.0,
        epsilon: float = 1.0,
        delta: float = 0.0,
        neighbors: str = "add-remove",
        kernel: Kernel | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        bounds: Any = None,
        public: Sequence[str] = (),
        records_per_person: int = 1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            kernel=kernel,
            rows=rows,
            buckets=buckets,
            bounds=bounds,
            public=public,
            records_per_person=records_per_person,
            random_state=random_state,
        )
        self.method = method
        self.starts = starts
        self.significance = significance

    def fit(
        self, X: Any, y: Any = None, *, ledger: Any = None, dataset: str | None = None, part: str | None = None
    ) -> PrivateModes:
        """Release a sketch of X and find the modes of its density.

        `y` is ignored; `ledger`, `dataset`, `part`: where to charge it.
        """
        self._check()
        account = Account.of(ledger, dataset, part)
        X = self._begin(X)
        self.release_ = self._release(X, account)
        self._learn()
        return self

    def _check(self) -> None:
        if self.method not in METHODS:
            raise parameter("method", f"one of {', '.join(METHODS)}", self.method)
        if isinstance(self.starts, bool) or not isinstance(self.starts, (int, np.integer)) or self.starts < 1:
            raise parameter("starts", "a whole number of at least 1", self.starts)
        if not self.significance > 0:
            raise parameter("significance", "positive, in standard errors", self.significance, "5 is cautious.")

    def _default_kernel(self) -> Kernel:
        # Sharper than for densities: modes are to be told apart.
        assert self.bounds_ is not None
        return default_kernel(self.bounds_, bandwidth=0.09 * np.sqrt(len(self.bounds_[0])))

    # ---- from the release alone ----

    def _learn(self) -> None:
        self._check()
        assert self.bounds_ is not None
        release, (low, high) = self.release_, self.bounds_
        if not release.kernel.numeric:
            raise DataError(f"Modes need numeric columns; this release has {release.kernel!r}.")
        rng = np.random.default_rng(self._seed())
        random = max(1, int(self.starts) // 4)
        points = np.vstack(
            [
                Sampler(release, rng, bounds=self.bounds_).draw(max(1, int(self.starts) - random)),
                rng.uniform(low, high, (random, len(low))),
            ]
        )
        width = np.minimum(reach(release, low, high, 0.3), 0.5) * (high - low)
        if self.method == "climb":
            points = self._climb(points, width, rng)
        else:
            points = self._by_programs(self._thinned(points))
        self.modes_ = self._significant(points)
        total = max(release.count, 1.0)
        self.densities_ = release.density(self.modes_) if len(self.modes_) else np.empty(0)
        sides = release.interval(self.modes_) if len(self.modes_) else (np.empty(0), np.empty(0))
        self.intervals_ = np.clip(np.column_stack(sides) / total, 0.0, 1.0)

    def _sums(self, points: np.ndarray) -> np.ndarray:
        return self.release_.kernel_sum(points)

    def _climb(self, points: np.ndarray, width: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Each point moves to the mean of the better half of a batch around it, again and again."""
        assert self.bounds_ is not None
        low, high = self.bounds_
        m, d = points.shape
        batch = max(BATCH, 4 * d)
        weights = np.log(batch / 2 + 0.5) - np.log(np.arange(1, batch // 2 + 1))
        weights /= weights.sum()
        for pace in PACES:
            if pace < PACES[0]:  # climbers that have met go on as one
                points = self._thinned(points, least=0.7, most=self.starts)
                m = len(points)
            around = rng.normal(size=(m, batch, d)) * (pace * width / np.sqrt(d)) + points[:, None, :]
            np.clip(around, low, high, out=around)
            order = np.argsort(-self._sums(around.reshape(-1, d)).reshape(m, batch), axis=1)[:, : batch // 2]
            points = np.einsum("k,mkd->md", weights, np.take_along_axis(around, order[:, :, None], axis=1))
        return points

    # ---- linear programs ----

    def _thinned(self, points: np.ndarray, *, least: float = 0.3, most: int = 20) -> np.ndarray:
        """The densest points, none of them so near to a denser one that the kernel calls them alike."""
        points = points[np.argsort(-self._sums(points))]
        kept = points[:1]
        for point in points[1:]:
            if len(kept) < most and np.max(alike(self.release_, point[None, :], kept)) < least:
                kept = np.vstack([kept, point])
        return kept

    def _by_programs(self, points: np.ndarray) -> np.ndarray:
        layout = self.release_.spec.layout
        if isinstance(layout, GridRow):
            return np.array([self._heaviest_cell(layout, point) for point in points])
        assert isinstance(layout, HashedRows)
        if not all(isinstance(factor, ProjectionKernel) for factor in self.release_.kernel.factors):
            raise DataError("method='lp' needs a Euclidean or Manhattan kernel. Hint: use method='climb'.")
        slabs = _Slabs(self.release_, layout)
        for _ in range(3):
            points = np.array([slabs.program(point, self.bounds_) for point in points])
        return points

    def _heaviest_cell(self, layout: GridRow, point: np.ndarray) -> np.ndarray:
        """On a grid the cells are boxes: the program's answer is the centre of the heaviest one nearby."""
        grid, which = layout.grid, layout.which
        counts = self.release_.counts.reshape(grid.shape)
        around = np.maximum(1, np.ceil(grid.profile.half_widths / grid.step)).astype(int)
        place = np.clip((point[which] - grid.start) / grid.step, 0, np.array(grid.shape) - 1).astype(int)
        first = np.maximum(place - around, 0)
        block = counts[tuple(slice(a, b) for a, b in zip(first, place + around + 1, strict=True))]
        best = np.array(np.unravel_index(np.argmax(block), block.shape)) + first
        out = point.copy()
        out[which] = grid.start + (best + 0.5) * grid.step
        return out

    # ---- what is there, and what noise may have made ----

    def _significant(self, points: np.ndarray) -> np.ndarray:
        """The highest points, each separated from all higher ones by a valley that noise does not explain.

        A climber finds the highest of many noise values: the greatest of n normal ones is about √(2 ln n) standard
        deviations. Here n is the number of places within the bounds that the kernel can tell apart. This much is added
        as an allowance.
        """
        assert self.bounds_ is not None
        luck = np.sqrt(2.0 * np.sum(np.log(1.0 / reach(self.release_, *self.bounds_))))
        points = points[np.isfinite(points).all(axis=1)]
        sums, errors, noises = self._with_errors(points)
        order = np.argsort(-sums)
        points, sums, errors, noises = points[order], sums[order], errors[order], noises[order]
        kept: list[int] = []
        between = np.linspace(0.0, 1.0, SEGMENT + 2)[1:-1, None]
        for i in np.flatnonzero(sums > self.significance * errors + luck * noises):
            if kept:
                way = points[i] + between[:, None] * (points[kept] - points[i])  # (points, kept, d)
                there, error, _ = self._with_errors(way.reshape(-1, points.shape[1]))
                deep = sums[i] - there > self.significance * np.hypot(errors[i], error) + luck * noises[i]
                if not deep.reshape(SEGMENT, len(kept)).any(axis=0).all():
                    continue
            kept.append(int(i))
        return points[kept]

    def _with_errors(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kernel sums, their standard errors, and the noise's share of these."""
        estimate = self.release_._estimate(points, "mean")
        return estimate.value, np.sqrt(estimate.variance), np.sqrt(estimate.noise_variance)


class _Slabs:
    """The hash functions of a release with floor hashes, as the linear programs see them."""

    def __init__(self, release: Any, layout: HashedRows) -> None:
        hasher = layout.hasher
        self.counts, self.buckets = release.counts - release.counts.mean(axis=1, keepdims=True), release.buckets
        self.start, self.multipliers = hasher.start, hasher.multipliers
        rows, d = release.rows, release.dimensions
        # All hashes of a row, whatever factor they belong to, as directions over all columns.
        self.offsets = np.hstack([parameters[:, :, 0] for parameters in hasher.parameters])
        self.directions = np.zeros((rows, self.offsets.shape[1], d))
        for place, which, parameters in zip(hasher.slices, hasher.which, hasher.parameters, strict=True):
            self.directions[:, place, which] = parameters[:, :, 1:]

    def count(self, codes: np.ndarray) -> np.ndarray:
        """(rows, n, hashes) codes → (rows, n) released counts, less the row's mean; see `counting.hasher`."""
        with np.errstate(over="ignore"):
            total = self.start[:, None] + np.sum(
                codes.astype(np.int64).astype(np.uint64) * self.multipliers[:, None, :], -1
            )
        bucket = ((total >> np.uint64(32)) * np.uint64(self.buckets)) >> np.uint64(32)
        return np.take_along_axis(self.counts, bucket.astype(np.int64), axis=1)

    def program(self, point: np.ndarray, bounds: Any) -> np.ndarray:
        """The point that lies in the heaviest slabs near `point`, as far as one point can."""
        hashes = self.offsets.shape[1]
        here = self.offsets + self.directions @ point
        near = np.floor(here)
        # The slab itself, and across the nearest wall of one hash: p + 1 codes per row.
        step = np.where(here - near < 0.5, -1.0, 1.0)
        moves = np.concatenate([np.zeros((1, hashes)), np.eye(hashes)])
        codes = near[:, None, :] + moves[None, :, :] * step[:, None, :]
        counts = self.count(codes)
        best = np.argmax(counts, axis=1)
        weight = np.take_along_axis(counts, best[:, None], axis=1)[:, 0]
        chosen = np.argsort(-weight)[:LP_ROWS]
        chosen = chosen[weight[chosen] > 0.0]
        if not len(chosen):
            return point
        v = np.take_along_axis(codes, best[:, None, None], axis=1)[chosen, 0].ravel()
        a = self.directions[chosen].reshape(len(v), -1)
        c = np.repeat(weight[chosen], hashes)
        lower = v - self.offsets[chosen].ravel()
        slack = -identity(len(v), format="csr")
        A = vstack([hstack([csr_array(a), slack]), hstack([csr_array(-a), slack])], format="csr")
        low, high = bounds
        limits = [*zip(low, high, strict=True), *[(0.0, None)] * len(v)]
        cost = np.concatenate([np.zeros(len(point)), c / c.sum()])
        # Half a slab of margin asks for the slabs' middle: walls are where the neighbours' counts begin.
        found = linprog(cost, A, np.concatenate([lower + 0.5, -lower - 0.5]), bounds=limits, method="highs")
        return found.x[: len(point)] if found.status == 0 else point
