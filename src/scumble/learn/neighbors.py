"""Neighbors, without ever holding a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, log2
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from scumble import checks
from scumble.density.layout import alike
from scumble.density.release import Release
from scumble.density.sketch import Sketch
from scumble.errors import DataError, ParameterError, parameter, warn
from scumble.kernels import EuclideanKernel, Kernel
from scumble.learn.base import PrivateEstimator, estimator, opened
from scumble.learn.kde import with_bandwidth
from scumble.privacy.budget import Budget

SHARPNESS = 4
"""The default kernel's power. Higher ones are sharper, with more hashing variance."""
NEAR, SMALL = 1000, 250
"""How many records lie near a typical query, and near one that few are: a prior."""
LEAST_ROWS, ROWS, GAUSSIAN_ROWS, BUCKETS = 64, 512, 2048, 256
"""Of hashed rows: more than the plan takes for one broad table, since groups are smaller and tighter. Fewer than the
least cannot tell a crowd from half as many, whatever the noise."""


def _rows_within(epsilon: float) -> int:
    """The rows for pure ε, a power of two: R rows add the noise √(2R)/ε to f, and the hashing error of about 0.7 f/√R.

    >>> [_rows_within(epsilon) for epsilon in (0.05, 0.3, 1.0, 10.0)]
    [64, 256, 512, 512]
    """
    best = 0.7 * NEAR * epsilon / 2**0.5  # both are equal
    return min(ROWS, max(LEAST_ROWS, 1 << ceil(log2(best))))


class Counts(NamedTuple):
    """Numbers of neighbors, one per query, with their interval."""

    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@estimator
class PrivateNeighbors(PrivateEstimator):
    """How many private records lie near a query, whether any crowd does, and what is nearest.

    Counts are soft: a neighbor at the query itself counts as 1, one at the radius as ½, one far away as about 0.

    **Crowds.** A single record cannot be found; a crowd can. `is_near` with `crowd` = m decides between "at least m"
    and "at most m/2" neighbors; each answer is wrong with probability `error_rate` at most, and in between both are
    right. `smallest_crowd` is the smallest m for which the release can do so.

    For the other parameters, see :class:`~scumble.learn.base.PrivateEstimator`.

    Parameters
    ----------
    radius : float or None
        The distance at which a neighbor counts as ½, in the columns' own units (divided by the kernel's `scale`, if a
        kernel is given). None: a tenth of the bounds' diagonal, all columns scaled to their bounds' widths. `radius_`
        is that of the release's kernel.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(5.0, 0.1, (1000, 2))
    >>> model = PrivateNeighbors(radius=1.0, bounds=(0, 10)).fit(X)
    >>> model.is_near([[5.0, 5.0], [1.0, 9.0]], crowd=500)      # 13 standard errors above and below
    array([ True, False])
    """

    radius: float | None = None

    _learnt = ("radius_",)

    def _sketch(self, kernel: Kernel, X: np.ndarray, budget: Budget, **options: Any) -> Sketch:
        sketch = super()._sketch(kernel, X, budget, **options)
        if not sketch.spec.layout.hashed:
            return sketch
        rows = self.rows or (GAUSSIAN_ROWS if not self.price().pure else _rows_within(float(budget.epsilon)))
        noise = budget.claim(rows).counter_variance / rows
        crowd = 4.0 * NormalDist().inv_cdf(0.95) * noise**0.5  # `smallest_crowd` but for the hashing error
        if not self.rows and crowd > SMALL:
            warn(
                f"With this budget a crowd has about {crowd:,.0f} records or more; smaller ones are not found. "
                "Hint: give a larger epsilon, delta > 0, or bounds in up to three columns."
            )
        return super()._sketch(kernel, X, budget, rows=rows, buckets=self.buckets or BUCKETS, **options)

    def _kernel(self) -> Kernel:
        kernel = super()._kernel()
        if self.kernel is None or self.radius is None:
            return kernel
        return _with_radius(kernel, _positive(self.radius))

    def _default_kernel(self) -> Kernel:
        assert self.bounds_ is not None
        low, high = self.bounds_
        if self.radius is None:
            return _with_radius(EuclideanKernel(1.0, SHARPNESS, scale=(high - low).tolist()), 0.1 * np.sqrt(len(low)))
        return _with_radius(EuclideanKernel(1.0, SHARPNESS), _positive(self.radius))

    def _require_of(self, kernel: Kernel) -> None:
        half_radius(kernel)

    def _learn(self) -> None:
        self.radius_ = half_radius(self.release_.kernel)
        if self.radius is not None and not np.isclose(_positive(self.radius), self.radius_, rtol=1e-6):
            hint = "leave it out; a grid answers other radiuses by count_within(Q, radius=...)."
            raise parameter("radius", f"that of the release, {self.radius_:.6g}", self.radius, hint)

    # ---- counting ----

    def count_within(self, Q: object, radius: float | None = None, *, confidence: float = 0.95) -> Counts:
        """Soft counts of the private records near each query; hashed rows know the radius of their kernel alone."""
        Q = self._read(Q)
        release = self._at(radius)
        lower, upper = release.interval(Q, confidence)
        return Counts(release.kernel_sum(Q), lower, upper)

    def smallest_crowd(self, Q: object, radius: float | None = None, *, error_rate: float = 0.05) -> np.ndarray:
        """For each query, the smallest crowd that `is_near` can tell from one half as large."""
        Q = self._read(Q)
        return 4.0 * self._half_interval(self._at(radius), Q, error_rate)

    def is_near(
        self, Q: object, radius: float | None = None, *, crowd: float | None = None, error_rate: float = 0.05
    ) -> np.ndarray:
        """Whether a crowd (None: the smallest that can be distinguished) is within `radius` of each query."""
        return self._decide(self._read(Q), self._at(radius), crowd, error_rate)

    def _decide(self, Q: np.ndarray, release: Release, crowd: float | None, error_rate: float) -> np.ndarray:
        half = self._half_interval(release, Q, error_rate)
        value = release.kernel_sum(Q)
        if crowd is None:
            return value >= 3.0 * half  # three quarters of the smallest crowd
        # A query far above or far below is decided whatever its error.
        open_ = (4.0 * half > crowd) & (value - half < crowd) & (value + half > crowd / 2.0)
        if np.any(open_):
            raise ParameterError(
                f"This release cannot tell {crowd:g} records from half as many at error rate {error_rate:g}. "
                f"Hint: ask for crowd={np.ceil(4.0 * np.max(half[open_])):.0f} or more, or for a greater error rate."
            )
        return value >= 0.75 * crowd

    def _half_interval(self, release: Release, Q: np.ndarray, error_rate: float) -> np.ndarray:
        if not 0.0 < error_rate < 0.5:
            raise parameter("error_rate", "between 0 and 0.5", error_rate)
        lower, upper = release.interval(Q, 1.0 - 2.0 * error_rate)  # one side of it is missed with the error rate
        return (upper - lower) / 2.0

    def _at(self, radius: float | None) -> Release:
        if radius is None or np.isclose(_positive(radius), self.radius_, rtol=1e-6):
            return self.release_
        if not self.release_.spec.layout.has_places:
            raise ParameterError(
                f"Hashed rows know the radius of their kernel only, {self.radius_:.6g}, not {radius:g}. "
                "Hint: fit with radius=..., or with bounds in up to three columns, which take a grid."
            )
        wanted = _with_radius(self.release_.kernel, radius)
        return self.release_._with(replace(self.release_.spec, kernel=wanted))  # another question to the same grid

    # ---- what is nearest ----

    def nearest(
        self, Q: object, k: int = 1, *, groups: object = None, catalogue: object = None, error_rate: float = 0.05
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, k) names of the nearest groups, or positions in a public catalogue, and the (n, k) numbers they rank by.

        `groups`, releases of one kernel in a mapping, Bundle or list, are ranked by their own density at the query. Of
        a `catalogue`, items around which the release has a crowd are ranked by their distance; where there are fewer:
        −1.
        """
        if (groups is None) == (catalogue is None):
            raise ParameterError("Give either `groups`, several releases, or `catalogue`, public records.")
        Q = self._read(Q)
        k = checks.whole("k", k)
        return nearest_groups(groups, Q, k) if catalogue is None else self._in_catalogue(Q, k, catalogue, error_rate)

    def _in_catalogue(
        self, Q: np.ndarray, k: int, catalogue: object, error_rate: float
    ) -> tuple[np.ndarray, np.ndarray]:
        items = self._read(catalogue)
        there = np.flatnonzero(self._decide(items, self.release_, None, error_rate))
        # The kernel falls with its own distance, whatever its scale is, but not evenly: rank by it, return distances.
        values = alike(self.release_, Q, items[there]) if len(there) else np.empty((len(Q), 0))
        order = np.argsort(-values, axis=1, kind="stable")[:, :k]
        found = np.full((len(Q), k), -1)
        distances = np.full((len(Q), k), np.inf)
        found[:, : order.shape[1]] = there[order] if len(there) else 0
        kernel = self.release_.kernel
        scale = kernel._scales(self._names(), range(self._width)) if len(kernel.factors) == 1 else np.ones(self._width)
        for i, places in enumerate(order):
            distances[i, : len(places)] = np.linalg.norm((Q[i] - items[there[places]]) / scale, axis=1)
        return found, distances


def nearest_groups(groups: Any, Q: np.ndarray, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """For each query the k groups of the highest density there, and these densities; see `PrivateNeighbors.nearest`."""
    if isinstance(groups, Mapping):
        names, releases = list(groups), [opened(one, PrivateNeighbors) for one in groups.values()]
    else:
        releases = [opened(one, PrivateNeighbors) for one in groups]
        names = list(range(len(releases)))
    if not 1 <= k <= len(releases):
        raise parameter("k", f"from 1 to the number of groups, {len(releases)}", k)
    kernels = {release.kernel for release in releases}
    if len(kernels) > 1:
        raise DataError("The groups' releases have different kernels, so their densities cannot be compared.")
    densities = np.column_stack([one.kernel_sum(Q) / one.divisor for one in releases])
    order = np.argsort(-densities, axis=1, kind="stable")[:, :k]
    return np.array(names)[order], np.take_along_axis(densities, order, axis=1)


def half_radius(kernel: Kernel) -> float:
    """The distance, in units of its scale, at which a Euclidean or Manhattan kernel has fallen to ½."""
    with_bandwidth(kernel, 1.0)  # refuses other kernels
    plain = Kernel.from_dict({name: v for name, v in kernel.to_dict().items() if name not in ("scale", "columns")})
    low, high = -300.0, 300.0
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if plain([[0.0]], [[10.0**middle]])[0, 0] > 0.5 else (low, middle)
    return float(10.0**low)


def _with_radius(kernel: Kernel, radius: float) -> Kernel:
    """The same kernel with the bandwidth that makes it ½ at the radius."""
    return with_bandwidth(kernel, radius / half_radius(with_bandwidth(kernel, 1.0)))


def _positive(radius: object) -> float:
    return checks.number("radius", radius, "a positive, finite number", lambda far: 0.0 < far < np.inf)
