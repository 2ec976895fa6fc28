"""Density estimation: how many private records are like this one."""

from __future__ import annotations

from collections.abc import Sequence
from math import gamma, lgamma, log, pi
from typing import Any

import numpy as np

from scumble.density.answers import Answers
from scumble.errors import ParameterError, parameter
from scumble.kernels import EuclideanKernel, Kernel, ManhattanKernel
from scumble.learn.base import PrivateEstimator, default_kernel, estimator
from scumble.learn.columns import DensityMixin, check_is_fitted
from scumble.learn.sampling import refine, sample


@estimator
class PrivateKDE(DensityMixin, PrivateEstimator):
    """Private kernel density estimation, the paper's Algorithms 1 and 2.

    `density(q)` is the mean of k(x, q) over all private records x: between 0 and 1, and 1 only if all records equal q.
    Answers from hashed rows (many columns) within known bounds are refined (:func:`~scumble.learn.refine`); the first
    query then takes a few seconds more.

    For the other parameters, see :class:`~scumble.learn.base.PrivateEstimator`.

    Parameters
    ----------
    normalize : bool
        Whether densities are divided by the kernel's integral, ∫ k(x, q) dx, which exists only for Euclidean and
        Manhattan kernels with power > columns.
    refine : bool
        Whether answers from hashed rows are refined.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(5.0, 1.0, (10_000, 2))
    >>> kde = PrivateKDE(epsilon=1.0, bounds=(0, 10)).fit(X)
    >>> bool(kde.density([[5.0, 5.0]])[0] > 2 * kde.density([[9.0, 9.0]])[0])
    True
    >>> exact = kde.release_.kernel([[5.0, 5.0]], X).mean()
    >>> bool(abs(kde.density([[5.0, 5.0]])[0] / exact - 1) < 0.1)       # 12 standard errors
    True
    """

    normalize: bool = False
    refine: bool = True

    _made_again = ("_refined",)
    _plans_later = True

    def _learn(self) -> None:
        self._require_of(self.release_.kernel)

    def _require_of(self, kernel: Kernel) -> None:
        if self.normalize:
            integral(kernel, self._width, self._names())

    # ---- answers ----

    def density(self, X: object, *, shrink: bool = True) -> np.ndarray:
        """(n,): the mean kernel value over all records, with `normalize` over its integral.

        Answers that noise has drowned are drawn toward their mean, unless `shrink` is False; see
        :meth:`scumble.Release.density`.
        """
        X = self._read(X)
        return self._answers().density(X, shrink=shrink) / self._scale()

    def score_samples(self, X: object) -> np.ndarray:
        """The logarithm of the density, finite: a sum below half a record counts as half a record."""
        X, count = self._read(X), self.release_.divisor
        found: np.ndarray = np.log(np.clip(self._answers().kernel_sum(X), 0.5, count) / count) - log(self._scale())
        return found

    def score(self, X: object, y: object = None) -> float:
        """The sum of `score_samples`: a likelihood, up to the kernel's integral. `y` is ignored."""
        return float(np.sum(self.score_samples(X)))

    def interval(self, X: object, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) for the density of each query, at the given confidence."""
        X = self._read(X)
        scale = self.release_.divisor * self._scale()
        lower, upper = (np.maximum(side, 0.0) / scale for side in self._answers().interval(X, confidence))
        return lower, upper

    def sample(self, n_samples: int = 1, random_state: int | None = None) -> Any:
        """Synthetic records; see :func:`scumble.learn.sample`. Of a table with a schema, a pandas frame."""
        check_is_fitted(self)
        drawn = sample(self.release_, n_samples, random_state, bounds=self.bounds_)
        coded = self._coding()
        return drawn if coded is None else coded.table(drawn, "pandas")

    def _answers(self) -> Answers:
        """What answers queries: the release, or its refined version, made once."""
        if not self._refines():
            return self.release_
        if "_refined" not in vars(self):
            self._refined: Answers = refine(self.release_, self.bounds_)
        return self._refined

    def _refines(self) -> bool:
        return bool(self.refine) and self.bounds_ is not None

    def _scale(self) -> float:
        release = self.release_
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
        raise parameter("kernel", "a Euclidean or Manhattan kernel", kernel)
    return Kernel.from_dict({**kernel.to_dict(), "bandwidth": bandwidth})


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
