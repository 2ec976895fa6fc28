"""The questions that both a sketch and a release answer, with error bars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from scumble import checks
from scumble.checks import keywords
from scumble.errors import parameter, told_by_others, warn
from scumble.kernels.base import Records
from scumble.reading.layout import Estimate, Layout, Reader
from scumble.reading.shrinking import shrunk
from scumble.reading.student import reach

METHODS = ("mean", "median-of-means")
GROUPS = 9
"""Groups of rows for the median of means: odd, so the median is one of them."""

OF_TABLES = ("share", "sum", "mean", "quantile", "histogram", "crosstab", "faithfulness", "relation")
A_TABLE = (
    "that is asked of a table's release, which a build with a schema makes; of a density, ask `count`, `density`, "
    "`kernel_sum` and `interval`"
)
ELSEWHERE = {
    **dict.fromkeys((*OF_TABLES, "median", "avg", "groupby"), A_TABLE),
    "sample": "`scumble.learn.sample(release, n)` draws synthetic records of a grid",
}
"""What is asked of a density, and who answers it."""


class BeyondBounds(UserWarning):
    """Points that lie outside the bounds of a grid."""


def beyond(points: int) -> str:
    """What to say of so many points outside the bounds.

    >>> beyond(1)[:42]
    "1 point lies outside the release's bounds."
    """
    which = "1 point lies" if points == 1 else f"{points:,} points lie"
    return (
        f"{which} outside the release's bounds. Records from there were counted at the edge: the intervals allow for "
        "it."
    )


def _switch(name: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise parameter(name, "True or False", value)
    return bool(value)


class LaidOut(Protocol):
    """Parameters that know their layout."""

    @property
    def layout(self) -> Layout:
        """How the records are laid out in counters."""

    def asked(self, Q: object) -> object:
        """Points with what their columns were declared to hold as numbers."""


class Answers(ABC):
    """Kernel sums, densities and intervals from counters, exact or noisy."""

    _spec: LaidOut

    if not TYPE_CHECKING:  # to whom it would say that there is any name

        def __getattr__(self, name: str) -> Any:
            return told_by_others(self, name, ELSEWHERE)

    @abstractmethod
    def _reader(self) -> Reader:
        """What answers queries from the counters as they are now."""

    @property
    @abstractmethod
    def count(self) -> float:
        """The number of records."""

    @keywords
    def kernel_sum(self, Q: object, *, method: str = "mean") -> np.ndarray:
        """Estimate of f(q) = Σₓ k(x, q) for each query: unbiased, so it may be negative.

        `method="median-of-means"` bounds the influence of a few rows, at the cost of a small bias and more spread.
        Of queries beyond the bounds of a grid a :class:`BeyondBounds` warns: records from there were counted at the
        edge, and `interval` allows for it.
        """
        return self._asked(Q, method).value

    @keywords
    def standard_error(self, Q: object, *, method: str = "mean") -> np.ndarray:
        """The standard error of `kernel_sum`: hashing and noise together."""
        return np.sqrt(self._estimate(Q, method).variance)

    @keywords
    def interval(self, Q: object, confidence: float = 0.95, *, method: str = "mean") -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) for the kernel sum of each query, at the given confidence.

        The noise's share of the error is known; the hashing's share is estimated from independent replicates of the
        rows, and Student's t with the effective degrees of freedom (Welch–Satterthwaite) allows for that.

        Records beyond the bounds of a grid were counted at the edge, and may lie anywhere behind it. Moving all of them
        and the query to the nearest point within leaves no two of them further apart: so what is near a query beyond
        the bounds is at least nothing, and at most what is near that point.
        """
        lower, upper = self._interval(Q, checks.confidence(confidence), method)
        if self._spec.layout.spec.bounds is None:
            return lower, upper
        beyond, nearest = self._spec.layout.beyond(self._queries(Q))
        if beyond.any():
            lower[beyond] = np.minimum(lower[beyond], 0.0)
            upper[beyond] = np.maximum(upper[beyond], self._interval(nearest, confidence, method)[1])
        return lower, upper

    def _interval(self, Q: object, confidence: float, method: str) -> tuple[np.ndarray, np.ndarray]:
        """With every record where it was counted."""
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
        """The number of records that densities are shares of: `count`, or 1 if that is less."""
        return max(self.count, 1.0)

    @keywords
    def density(self, Q: object, *, method: str = "mean", shrink: bool = True) -> np.ndarray:
        """The mean kernel value over all records, f(q)/N, between 0 and 1: the paper's Algorithm 2.

        Where noise is larger than the answers of one call differ, they are drawn towards their mean, each within its
        own 95 % interval: far nearer to the truth, on average. Such an answer hangs on what else is asked in the same
        call, and where nobody is, it is too high; with ``shrink=False`` each stands by itself. `kernel_sum` and
        `interval` are never drawn.
        """
        found = self._asked(Q, method)
        sums = shrunk(found.value, found.noise_variance) if _switch("shrink", shrink) else found.value
        return np.minimum(np.maximum(sums / self.divisor, 0.0), 1.0)

    def _asked(self, Q: object, method: str) -> Estimate:
        """The estimate, and a warning of points beyond the bounds."""
        layout = self._spec.layout
        outside = 0 if layout.spec.bounds is None else np.count_nonzero(layout.beyond(self._queries(Q))[0])
        if outside:
            warn(BeyondBounds(beyond(int(outside))))
        return self._estimate(Q, method)

    def _estimate(self, Q: object, method: str) -> Estimate:
        if method not in METHODS:
            raise parameter("method", f"one of {', '.join(METHODS)}", method)
        return self._reader().estimate(self._queries(Q), groups=None if method == "mean" else GROUPS)

    def _queries(self, Q: object) -> list[Records]:
        hint = "Hint: leave out points that lack a value."
        return self._spec.layout.read(self._spec.asked(Q), invalid="error", hint=hint)[0]
