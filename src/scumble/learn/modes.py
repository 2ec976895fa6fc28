"""Where records are densest: the modes of a released density."""

from __future__ import annotations

from typing import Any

import numpy as np

from scumble import checks
from scumble.density.layout import alike, reach
from scumble.errors import DataError, ParameterError
from scumble.kernels import Kernel
from scumble.learn.base import PrivateEstimator, default_kernel, estimator
from scumble.learn.columns import check_is_fitted
from scumble.learn.sampling import Sampler

BATCH = 24  # points that each climber asks for at a time
PACES = (0.5, 0.5, 0.5, 0.35, 0.35, 0.35, 0.25, 0.25, 0.25, 0.15, 0.15, 0.15, 0.1, 0.1, 0.1)
HINTED = 0.2  # a significance so low that it shows what noise could explain
SEGMENT = 24  # points on the way between two modes


class NoSchema(ParameterError, AttributeError):
    """Records are asked of a model of plain numbers. To whatever lists a model's attributes, it has none."""


@estimator
class PrivateModes(PrivateEstimator):
    """The modes of the private density: places from which it falls in all directions (the paper's section 4).

    Starts are records drawn from the release and random points within the bounds. Each asks for the density at points
    around it and moves to their mean, weighted by rank (an evolution strategy with weighted recombination, Hansen &
    Ostermeier 2001), in steps from half the kernel's width to a tenth. End points are merged unless the density between
    them falls into a valley deeper than `significance` standard errors, and must stand out from the noise by as much.

    For the other parameters, see :class:`~scumble.learn.base.PrivateEstimator`. Bounds are always needed.

    Parameters
    ----------
    starts : int
        How many starts.
    significance : float
        In standard errors, how far a mode must stand above noise and valleys.

    Attributes
    ----------
    modes_, densities_, intervals_ : numpy.ndarray
        (m, columns), the highest first; the mean kernel value over all records there; and its 95 % intervals, (m, 2),
        for fixed places.
    records_ : pandas.DataFrame
        With a `schema`: `modes_` as records of the table.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.array([[2.0, 2.0], [7.0, 5.0]])[rng.integers(0, 2, 20_000)] + rng.normal(0.0, 0.3, (20_000, 2))
    >>> model = PrivateModes(bounds=(0, 10)).fit(X)
    >>> found = model.modes_                        # near (2, 2) and (7, 5)
    >>> found.shape[1], bool(np.all(np.diff(model.densities_) <= 0))          # columns; the densest comes first
    (2, True)
    """

    starts: int = 100
    significance: float = 5.0

    _learnt = ("modes_", "densities_", "intervals_")
    _always_needs_bounds = True

    def _check(self) -> None:
        checks.whole("starts", self.starts)
        must, hint = "positive, in standard errors", "5 is cautious."
        checks.number("significance", self.significance, must, lambda many: many > 0, hint)

    def _require_of(self, kernel: Kernel) -> None:
        if not kernel.numeric:
            raise DataError(f"Modes need numeric columns; the kernel is {kernel!r}.")

    def _default_kernel(self) -> Kernel:
        # Sharper than for densities, to separate modes.
        assert self.bounds_ is not None
        return default_kernel(self.bounds_, bandwidth=0.09 * np.sqrt(len(self.bounds_[0])))

    # ---- from the release alone ----

    def _learn(self) -> None:
        assert self.bounds_ is not None
        release, (low, high) = self.release_, self.bounds_
        self._require_of(release.kernel)
        rng = np.random.default_rng(self._seed())
        random = max(1, int(self.starts) // 4)
        points = np.vstack(
            [
                Sampler(release, rng, bounds=self.bounds_).draw(max(1, int(self.starts) - random)),
                rng.uniform(low, high, (random, len(low))),
            ]
        )
        width = np.minimum(reach(release, low, high, 0.3), 0.5) * (high - low)
        points = self._climb(points, width, rng)
        self._ends = self._of_records(points[np.isfinite(points).all(axis=1)])
        self.modes_ = self._significant(self._ends, self.significance)
        total = release.divisor
        self.densities_ = release.density(self.modes_, shrink=False) if len(self.modes_) else np.empty(0)
        sides = release.interval(self.modes_) if len(self.modes_) else (np.empty(0), np.empty(0))
        self.intervals_ = np.clip(np.column_stack(sides) / total, 0.0, 1.0)

    def _of_records(self, points: np.ndarray) -> np.ndarray:
        """The nearest points at which a record can be: between the levels of a category there is none."""
        coded = self._coding()
        return points if coded is None or not len(points) else np.unique(coded.read(coded.table(points))[0], axis=0)

    @property
    def records_(self) -> Any:
        """The modes of a table with a schema as records of it: a pandas frame, the densest first."""
        check_is_fitted(self)
        coded = self._coding()
        if coded is None:
            raise NoSchema("This model has no schema. Hint: `modes_` are the points.")
        return coded.table(self.modes_, "pandas")

    def _sums(self, points: np.ndarray) -> np.ndarray:
        return self.release_.kernel_sum(points)

    def _climb(self, points: np.ndarray, width: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Each point moves repeatedly to the mean of the better half of a batch around it."""
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
            np.clip(points, low, high, out=points)  # of points at an edge, the mean may be rounded beyond it
        return points

    def _thinned(self, points: np.ndarray, *, least: float = 0.3, most: int = 20) -> np.ndarray:
        """The densest points, none of them so near to a denser one that the kernel calls them alike."""
        points = points[np.argsort(-self._sums(points))]
        kept = points[:1]
        for point in points[1:]:
            if len(kept) < most and np.max(alike(self.release_, point[None, :], kept)) < least:
                kept = np.vstack([kept, point])
        return kept

    # ---- what is there, and what noise may have made ----

    def _significant(self, points: np.ndarray, significance: float) -> np.ndarray:
        """The highest points, each separated from all higher ones by a valley that noise does not explain.

        A climber finds the highest of many noise values, and the greatest of n normal ones is about √(2 ln n) standard
        deviations: an allowance of that is added, n being the number of places that the kernel separates.
        """
        assert self.bounds_ is not None
        allowance = np.sqrt(2.0 * np.sum(np.log(1.0 / reach(self.release_, *self.bounds_))))
        sums, errors, noises = self._with_errors(points)
        order = np.argsort(-sums)
        points, sums, errors, noises = points[order], sums[order], errors[order], noises[order]
        kept: list[int] = []
        between = np.linspace(0.0, 1.0, SEGMENT + 2)[1:-1, None]
        for i in np.flatnonzero(sums > significance * errors + allowance * noises):
            if kept:
                way = points[i] + between[:, None] * (points[kept] - points[i])  # (points, kept, d)
                there, error, _ = self._with_errors(way.reshape(-1, points.shape[1]))
                deep = sums[i] - there > significance * np.hypot(errors[i], error) + allowance * noises[i]
                if not deep.reshape(SEGMENT, len(kept)).any(axis=0).all():
                    continue
            kept.append(int(i))
        return points[kept]

    def _as_dense(self) -> int:
        """How many more places `HINTED` shows that are as dense by estimate as a mode; of a model from a file, 0."""
        if "_ends" not in vars(self) or not len(self.modes_) or self.significance <= HINTED:
            return 0
        more = self._significant(self._ends, HINTED)
        new = ~(more[:, None, :] == self.modes_).all(axis=2).any(axis=1)
        return int(np.count_nonzero(new & (self._sums(more) >= self._sums(self.modes_).min())))

    def _with_errors(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kernel sums, their standard errors, and the noise's share of these."""
        estimate = self.release_._estimate(points)
        return estimate.value, np.sqrt(estimate.variance), np.sqrt(estimate.noise_variance)
