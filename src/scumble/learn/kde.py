"""Density estimation: how many private records are like this one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gamma, inf, lgamma, log, pi
from typing import Any, Self

import numpy as np

from scumble.density.answers import Answers
from scumble.density.release import Release
from scumble.density.sketch import Sketch, release_disjoint
from scumble.errors import ParameterError, parameter
from scumble.kernels import EuclideanKernel, Kernel, ManhattanKernel
from scumble.learn.base import PrivateEstimator, default_kernel, estimator, release_of
from scumble.learn.columns import DensityMixin, check_is_fitted
from scumble.learn.sampling import refine, sample
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping


@estimator
class PrivateKDE(DensityMixin, PrivateEstimator):
    """Private kernel density estimation, the paper's Algorithms 1 and 2.

    `density(q)` is the mean of k(x, q) over all private records x: between 0 and 1, and 1 only if all records equal q.
    Answers from hashed rows (many columns) within known bounds are refined (:func:`~scumble.learn.refine`); the first
    query then takes a few seconds more.

    For the other parameters, see :class:`~scumble.learn.base.PrivateEstimator`.

    Parameters
    ----------
    bandwidths : sequence of float or None
        Several bandwidths instead of the kernel's one, in the kernel's units; without a kernel, in units of the bounds'
        widths. Each gets a release for an equal share of the budget, and every answer takes `bandwidth=`, one of them
        or "all".
    normalize : bool
        Whether densities are divided by the kernel's integral, ∫ k(x, q) dx, which exists only for Euclidean and
        Manhattan kernels with power > columns.
    refine : bool
        Whether answers from hashed rows are refined.

    Attributes
    ----------
    release_, releases_ : Release, list of Release
        The release; with `bandwidths`, the first one, and all in their order.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(5.0, 1.0, (10_000, 2))
    >>> kde = PrivateKDE(epsilon=1.0, bounds=(0, 10)).fit(X)
    >>> bool(kde.density([[5.0, 5.0]])[0] > 2 * kde.density([[9.0, 9.0]])[0])
    True
    >>> exact = kde.release_.kernel([[5.0, 5.0]], X).mean()
    >>> bool(abs(kde.density([[5.0, 5.0]])[0] / exact - 1) < 0.1)       # 12 standard errors
    True
    """

    bandwidths: Sequence[float] | None = None
    normalize: bool = False
    refine: bool = True

    _learnt = ("bandwidths_",)
    _made_again = ("_refined",)
    _plans_later = True

    def _publish(self, X: np.ndarray, y: np.ndarray, account: Account | None) -> None:
        if self.bandwidths is None:
            self.release_ = self._release(X, account)
        else:
            self.releases_ = self._release_each(X, account)
            self.release_ = self.releases_[0]

    def _release_each(self, X: np.ndarray, account: Account | None) -> list[Release]:
        """One release for each bandwidth, each for an equal share of the budget."""
        kernels = [with_bandwidth(self._kernel(), b) for b in _distinct(self.bandwidths)]
        for kernel in kernels:
            self._require_of(kernel)
        planned = self.price().split(len(kernels))[0]
        sketches = [self._sketch(kernel, X, planned).update(X) for kernel in kernels]
        budget = self._shared(sketches)
        counters = sum(sketch.rows * sketch.buckets for sketch in sketches)
        paid = self._pay([sketch.price(budget) for sketch in sketches], account, counters=counters)
        refined = self._refines()
        return [release_disjoint([sketch], budget, paid, refined=refined)[0] for sketch in sketches]

    def _shared(self, sketches: Sequence[Sketch]) -> Budget:
        """What each release gets: equal shares of ε, or with a δ of ρ, where these have less noise."""

        def claims(budgets: Sequence[Budget]) -> list[PrivacyClaim]:
            return [sketch.price(budget) for sketch, budget in zip(sketches, budgets, strict=True)]

        number, rows = len(sketches), max(sketch.rows for sketch in sketches)
        shared = self.price().split(number)[0], self.price().divide([Fraction(1, number)] * number, claims)[0]
        return min(shared, key=lambda budget: budget.claim(rows).counter_variance)

    @classmethod
    def from_release(cls, release: object, **parameters: Any) -> Self:
        """A fitted estimator from a release, or from a list of releases with different bandwidths."""
        if not isinstance(release, (list, tuple)):
            return super().from_release(release, **parameters)
        releases = [release_of(one) for one in release]
        if not releases:
            raise parameter("release", "at least one release", release)
        model: PrivateKDE = super().from_release(releases[0], **parameters)
        model.releases_ = releases
        model.bandwidths = [_bandwidth(one) for one in releases]
        model._learn()
        return model

    def _learn(self) -> None:
        self._refined: dict[str, Answers] = {}
        self._require_of(self.release_.kernel)
        if "releases_" in vars(self):
            self.bandwidths_ = [_bandwidth(release) for release in self.releases_]

    def _require_of(self, kernel: Kernel) -> None:
        if self.normalize:
            integral(kernel, self._width, self._names())

    def _claim(self) -> PrivacyClaim:
        return overlapping(release.privacy for release in vars(self).get("releases_", [self.release_]))

    # ---- answers ----

    def density(self, X: object, *, bandwidth: float | str | None = None, shrink: bool = True) -> np.ndarray:
        """The mean kernel value over all records (over its integral, with `normalize`): (n,), or (n, m) for "all".

        Answers that noise has drowned are drawn toward their mean, unless `shrink` is False; see
        :meth:`scumble.Release.density`.
        """
        X = self._read(X)

        def answered(release: Release) -> np.ndarray:
            return self._answers(release).density(X, shrink=shrink) / self._scale_of(release)

        return self._each(bandwidth, answered)

    def score_samples(self, X: object, *, bandwidth: float | str | None = None) -> np.ndarray:
        """The logarithm of the density, finite: a sum below half a record counts as half a record."""
        X = self._read(X)

        def score(release: Release) -> np.ndarray:
            sums, count = self._answers(release).kernel_sum(X), release.divisor
            return np.log(np.clip(sums, 0.5, count) / count) - log(self._scale_of(release))

        return self._each(bandwidth, score)

    def score(self, X: object, y: object = None) -> float:
        """The sum of `score_samples`: a likelihood, up to the kernel's integral. `y` is ignored."""
        return float(np.sum(self.score_samples(X)))

    def interval(
        self, X: object, confidence: float = 0.95, *, bandwidth: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) for the density of each query, at the given confidence."""
        X = self._read(X)
        release = self._chosen(bandwidth)
        scale = release.divisor * self._scale_of(release)
        lower, upper = (np.maximum(side, 0.0) / scale for side in self._answers(release).interval(X, confidence))
        return lower, upper

    def sample(self, n_samples: int = 1, random_state: int | None = None) -> Any:
        """Synthetic records; see :func:`scumble.learn.sample`. Of a table with a schema, a pandas frame."""
        check_is_fitted(self)
        drawn = sample(self.release_, n_samples, random_state, bounds=self.bounds_)
        coded = self._coding()
        return drawn if coded is None else coded.table(drawn, "pandas")

    def _answers(self, release: Release) -> Answers:
        """What answers queries to a release: itself, or its refined version, made once."""
        if not self._refines():
            return release
        made: dict[str, Answers] = self.__dict__.setdefault("_refined", {})
        if release.identity not in made:
            made[release.identity] = refine(release, self.bounds_)
        return made[release.identity]

    def _refines(self) -> bool:
        return bool(self.refine) and self.bounds_ is not None

    def _chosen(self, bandwidth: float | None) -> Release:
        if bandwidth is None:
            return self.release_
        known = vars(self).get("bandwidths_", [])
        if bandwidth not in known:
            raise parameter("bandwidth", f"one of {known}" if known else "left out: there is only one", bandwidth)
        return self.releases_[known.index(bandwidth)]

    def _each(self, bandwidth: Any, answer: Any) -> np.ndarray:
        if isinstance(bandwidth, str) and bandwidth == "all":
            return np.column_stack([answer(release) for release in vars(self).get("releases_", [self.release_])])
        return answer(self._chosen(bandwidth))

    def _scale_of(self, release: Release) -> float:
        return integral(release.kernel, release.dimensions, release.columns) if self.normalize else 1.0

    def _default_kernel(self) -> Kernel:
        assert self.bounds_ is not None
        if not self.normalize:
            return default_kernel(self.bounds_)
        # A normalized density needs power > columns; the bandwidth grows with it to keep the kernel's core as wide.
        d = len(self.bounds_[0])
        power = max(2, d + 1)
        return default_kernel(self.bounds_, bandwidth=np.sqrt(d) / 6.0 * power / 2.0, power=power)


def with_bandwidth(kernel: Kernel, bandwidth: float) -> Kernel:
    """The same kernel with another bandwidth."""
    if not isinstance(kernel, (EuclideanKernel, ManhattanKernel)):
        raise parameter("kernel", "a Euclidean or Manhattan kernel, where `bandwidths` are given", kernel)
    return Kernel.from_dict({**kernel.to_dict(), "bandwidth": bandwidth})


def _distinct(bandwidths: Any) -> list[float]:
    try:
        found = [float(one) for one in bandwidths]
    except (TypeError, ValueError):
        raise parameter("bandwidths", "a list of positive numbers", bandwidths) from None
    if not found or len(set(found)) < len(found) or not all(0 < one < inf for one in found):
        raise parameter("bandwidths", "a list of positive numbers that differ", bandwidths)
    return found


def integral(kernel: Kernel, dimensions: int, names: Sequence[str] | None = None) -> float:
    """∫ k(x, q) dx over all x, where it exists: for the kernels that depend on a norm of x − q, with power > columns.

    In d dimensions it is S ∫ rᵈ⁻¹ k(r) dr times the scales of the columns, S being the surface of the norm's unit ball.

    >>> round(integral(EuclideanKernel(1.0, power=2), 1), 4)
    1.1861
    """
    from scipy.integrate import quad

    value, seen = 1.0, set[int]()
    for factor in kernel.factors:
        which = factor.which(dimensions, names)
        d = len(which)
        if not isinstance(factor, (EuclideanKernel, ManhattanKernel)) or seen & set(which):
            raise ParameterError(f"The integral of {kernel!r} is not known. Hint: leave `normalize` out.")
        if factor.power <= d:
            raise ParameterError(
                f"{factor!r} has no finite integral over {d} columns. Hint: use power={d + 1} or more, or leave "
                "`normalize` out; ratios do not need it."
            )
        seen |= set(which)
        if isinstance(factor, EuclideanKernel):
            surface = 2.0 * pi ** (d / 2.0) / gamma(d / 2.0)
        else:
            surface = np.exp(d * log(2.0) - lgamma(d))
        unit = Kernel.from_dict({"kernel": factor.name, "bandwidth": 1.0, "power": factor.power})

        def shell(r: float, unit: Kernel = unit, d: int = d) -> float:
            return r ** (d - 1) * float(unit([[0.0]], [[r]])[0, 0])

        inside = quad(shell, 0.0, 1.0)[0] + quad(lambda u: shell(1.0 / u) / u**2, 0.0, 1.0)[0]
        value *= surface * inside * factor.bandwidth**d * float(np.prod(factor._scales(names, which)))
    if len(seen) < dimensions:
        raise ParameterError("The kernel does not read all columns, so its integral is not finite.")
    return float(value)


def _bandwidth(release: Release) -> float:
    found = getattr(release.kernel, "bandwidth", None)
    if found is None:
        raise parameter("release", "releases of a kernel with a bandwidth", release.kernel)
    return float(found)
