"""The questions that both a sketch and a release answer, with error bars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from scumble import checks
from scumble.checks import keywords
from scumble.density.layout import Estimate, Reader
from scumble.density.student import reach
from scumble.errors import parameter, suggest_attribute, warn
from scumble.kernels.base import Records

if TYPE_CHECKING:
    from scumble.density.spec import Spec

METHODS = ("mean", "median-of-means")
OF_TABLES = ("share", "sum", "mean", "quantile", "histogram", "crosstab", "faithfulness", "relation")
A_TABLE = "a table's release, built with a schema, answers that; a density has `count`, `density` and `interval`"
ELSEWHERE = {
    **dict.fromkeys((*OF_TABLES, "median", "avg", "groupby"), A_TABLE),
    "sample": "`scumble.learn.sample(release, n)` draws synthetic records of a grid",
}
"""Questions that a density does not answer, and what does."""


class BeyondBounds(UserWarning):
    """Points lie outside the bounds of a grid."""

    @staticmethod
    def of(points: int) -> BeyondBounds:
        """The warning for so many points."""
        which = "1 point lies" if points == 1 else f"{points:,} points lie"
        said = "outside the release's bounds. Records from there were counted at the edge: use `interval`."
        return BeyondBounds(f"{which} {said}")


T = TypeVar("T")


def of_spec(read: Callable[[Spec], T], doc: str) -> T:
    """A property that reads the spec; to type checkers, what it reads."""
    found: Any = property(lambda answers: read(answers._spec), doc=doc)
    return found


class Answers(ABC):
    """Kernel sums, densities and intervals from counters, exact or noisy."""

    _spec: Spec

    if not TYPE_CHECKING:  # to whom it would say that there is any name

        def __getattr__(self, name: str) -> Any:
            return suggest_attribute(self, name, ELSEWHERE)

    spec = of_spec(lambda spec: spec, "All public parameters.")
    kernel = of_spec(lambda spec: spec.kernel, "What near means.")
    rows = of_spec(lambda spec: spec.rows, "How many rows.")
    buckets = of_spec(lambda spec: spec.buckets, "How many counters a row has.")
    dimensions = of_spec(lambda spec: spec.dimensions, "How many columns a record has.")
    columns = of_spec(lambda spec: spec.columns, "The columns' names, or None.")
    seed = of_spec(lambda spec: spec.seed, "The public seed of the hash functions.")
    design = of_spec(lambda spec: spec.design, "How the rows are drawn, or grid.")

    @abstractmethod
    def _reader(self) -> Reader:
        """The reader of the current counters."""

    @property
    @abstractmethod
    def count(self) -> float:
        """The number of records."""

    @keywords
    def kernel_sum(self, Q: object, *, method: str = "mean") -> np.ndarray:
        """Unbiased estimate of f(q) = Σₓ k(x, q) for each query; it may be negative.

        `method="median-of-means"` bounds the influence of a few rows, at the cost of a small bias and more variance.
        Queries outside a grid's bounds cause a :class:`BeyondBounds` warning.
        """
        return self._asked(Q, method).value

    @keywords
    def standard_error(self, Q: object, *, method: str = "mean") -> np.ndarray:
        """The standard error of `kernel_sum`: hashing and noise together."""
        return np.sqrt(self._estimate(Q, method).variance)

    @keywords
    def interval(self, Q: object, confidence: float = 0.95, *, method: str = "mean") -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) for the kernel sum of each query, at the given confidence.

        The noise variance is known. The hashing variance is estimated from replicates of the rows: Student's t with
        the effective degrees of freedom (Welch–Satterthwaite). Outside the bounds of a grid, the interval covers
        everything from zero to the interval at the nearest point within.
        """
        lower, upper = self._interval(Q, checks.confidence(confidence), method)
        if self._spec.bounds is None:
            return lower, upper
        beyond, nearest = self._spec.layout.beyond(self._queries(Q))
        if beyond.any():
            lower[beyond] = np.minimum(lower[beyond], 0.0)
            upper[beyond] = np.maximum(upper[beyond], self._interval(nearest, confidence, method)[1])
        return lower, upper

    def _interval(self, Q: object, confidence: float, method: str) -> tuple[np.ndarray, np.ndarray]:
        """The interval with every record where it was counted."""
        estimate = self._estimate(Q, method)
        hashing = estimate.caution**2 * estimate.hashing_variance
        variance = estimate.noise_variance + hashing
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = estimate.degrees * (variance / hashing) ** 2
        degrees = np.where(np.isfinite(degrees), np.minimum(degrees, 1e6), 1e6)
        half = reach(degrees, confidence) * np.sqrt(variance)
        return estimate.value - half, estimate.value + half

    @property
    def divisor(self) -> float:
        """The number of records for densities: `count`, at least 1."""
        return max(self.count, 1.0)

    @keywords
    def density(self, Q: object, *, method: str = "mean", shrink: bool = True) -> np.ndarray:
        """The mean kernel value over all records, f(q)/N, between 0 and 1: the paper's Algorithm 2.

        Where noise and hashing exceed the spread of the answers of one call, these are shrunk toward their mean, each
        within its 95 % interval, unless ``shrink=False``. `kernel_sum` and `interval` are never shrunk.
        """
        if not isinstance(shrink, bool | np.bool_):
            raise parameter("shrink", "True or False", shrink)
        found = self._asked(Q, method)
        noisy = found.noise_variance.any()  # exact counters are left as they are
        sums = shrunk(found.value, found.variance) if shrink and noisy else found.value
        return np.minimum(np.maximum(sums / self.divisor, 0.0), 1.0)

    def _asked(self, Q: object, method: str) -> Estimate:
        """The estimate, with a warning for points outside the bounds."""
        if self._spec.bounds is not None:
            outside = int(np.count_nonzero(self._spec.layout.beyond(self._queries(Q))[0]))
            if outside:
                warn(BeyondBounds.of(outside))
        return self._estimate(Q, method)

    def _estimate(self, Q: object, method: str = "mean") -> Estimate:
        if method not in METHODS:
            raise parameter("method", f"one of {', '.join(METHODS)}", method)
        reader, queries = self._reader(), self._queries(Q)
        return reader.estimate(queries) if method == "mean" else reader.by_median(queries)

    def _queries(self, Q: object) -> list[Records]:
        hint = "Hint: leave out points that lack a value."
        return self._spec.layout.read(self._spec.asked(Q), invalid="error", hint=hint)[0]


NORMAL_95 = 1.959964
"""Half of a 95 % interval, in standard errors."""


def shrunk(values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Answers shrunk toward their mean where noise exceeds their spread (empirical Bayes; James & Stein 1961).

    With error variance v and spread s² of the truths (the variance of the answers less v, plus √(2/n) v), an answer
    keeps s²/(s² + v) of its distance from the mean, but moves by at most 1.96 standard errors (limited translation;
    Efron & Morris 1972). Where s² ≥ v, answers are unchanged.

    >>> shrunk(np.array([-70.0, 90.0, 30.0, -10.0]), np.full(4, 1e4)).round(1)
    array([-23.1,  43.1,  18.3,   1.7])
    """
    if not len(values):
        return values
    noise = float(np.mean(variances))
    spread = max(float(np.var(values)) - noise, 0.0) + noise * np.sqrt(2.0 / len(values))
    if spread >= noise:
        return values
    weights = 1.0 / (spread + variances)
    middle = max(float(weights @ values / weights.sum()), 0.0)
    reach = NORMAL_95 * np.sqrt(variances)
    return values + np.clip((1.0 - spread * weights) * (middle - values), -reach, reach)
