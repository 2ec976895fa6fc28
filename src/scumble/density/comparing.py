"""Differences of statistics, each the sum of noise of known laws and of errors that are as good as normal.

**Tails.** With the cumulant generating function K of the error, the chance that it exceeds x is
1 − Φ(r) + φ(r)(1/u − 1/r) at the saddlepoint s, where K'(s) = x, r² = 2(sx − K(s)) and u² = s²K''(s) (Lugannani & Rice
1980). That holds far out, where corrected p-values are decided and a Laplace law weighs far more than a normal one. A
discrete Laplace number of variance σ² and coefficient c has K(s) = −log(1 − σ²(cosh cs − 1)). All errors are symmetric.

**Many comparisons.** Holm's correction (1979): under any dependence, the chance of any false finding among all rows is
at most the level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scumble.errors import MergeError, ParameterError, parameter
from scumble.files.lazy_modules import loaded

if TYPE_CHECKING:
    from scumble.density.release import Release
    from scumble.show.comparison import Comparison

Floats = npt.NDArray[np.float64]
CLAIMS = {
    "tables": "about the two tables: noise is the only error",
    "populations": "about the populations that the tables are random samples of: errors are noise and sampling",
}
SEEN = 4.0
"""Standard errors of a number of records at which something can be divided by it."""
FARTHEST = 38.0
"""Standard deviations at which a normal tail is below what float64 can tell from zero."""


@dataclass(frozen=True)
class Laplaces:
    """Independent discrete Laplace numbers: `times` of them with each of the `coefficients`, of variance `variance`."""

    coefficients: Floats
    variance: float
    times: int = 1


@dataclass(frozen=True)
class Error:
    """The law of an error: normal with a variance, and Laplace numbers added."""

    normal: float
    others: tuple[Laplaces, ...] = ()

    @property
    def variance(self) -> float:
        """All of it."""
        return self.normal + sum(one.times * one.variance * float((one.coefficients**2).sum()) for one in self.others)

    def __add__(self, other: Error) -> Error:
        return Error(self.normal + other.normal, self.others + other.others)

    def tail(self, x: float) -> float:
        """The chance of an error at least as far from zero as x."""
        if self.variance <= 0:
            return float(x == 0)
        return self._beyond(self._root(lambda s: self._cumulants(s)[1] - abs(x)))

    def reach(self, confidence: float) -> float:
        """How far from zero errors are with this probability."""
        if self.variance <= 0:
            return 0.0
        return self._cumulants(self._root(lambda s: 1 - confidence - self._beyond(s)))[1]

    def _root(self, rising: Callable[[float], float]) -> float:
        """Where a function is zero, between zero and where K ends; else one of these ends."""
        from scipy.optimize import brentq

        ends = [
            float(np.arccosh(1 + 1 / one.variance) / np.abs(one.coefficients).max())
            for one in self.others
            if one.variance > 0 and one.coefficients.any()
        ]
        end = min([FARTHEST / self.normal**0.5, *ends] if self.normal > 0 else ends) * (1 - 1e-12)
        if rising(end) <= 0:
            return end
        return float(brentq(rising, 0.0, end, xtol=1e-12 * end)) if rising(0.0) < 0 else 0.0

    def _cumulants(self, s: float) -> tuple[float, float, float]:
        """K and its first two derivatives."""
        found = np.array([self.normal * s**2 / 2, self.normal * s, self.normal])
        for one in self.others:
            c, v = one.coefficients, one.variance
            left = 1 - 2 * v * np.sinh(c * s / 2) ** 2
            slope = v * c * np.sinh(c * s) / left
            bend = v * c**2 * np.cosh(c * s) / left + slope**2
            found += one.times * np.array([-np.log(left).sum(), slope.sum(), bend.sum()])
        return float(found[0]), float(found[1]), float(found[2])

    def _beyond(self, s: float) -> float:
        """The chance of an error at least as far from zero as K'(s)."""
        from scipy.special import log_ndtr, ndtr

        k, x, bend = self._cumulants(s)
        r, u = np.sqrt(max(2 * (s * x - k), 0.0)), s * np.sqrt(bend)
        if r < 1e-3:
            return float(min(2 * ndtr(-r), 1.0))
        density = np.exp(-(r**2) / 2) / np.sqrt(2 * np.pi)
        return float(np.clip(2 * (np.exp(log_ndtr(-r)) + density * (1 / u - 1 / r)), 0.0, 1.0))


def row(named: dict[str, Any], first: float, second: float, error: Error | None, confidence: float) -> dict[str, Any]:
    """A row of a comparison; without an error nothing is known."""
    if error is None or not np.isfinite(second - first):
        numbers = (np.nan, -np.inf, np.inf, 1.0)
    else:
        half = error.reach(confidence)
        numbers = (second - first, second - first - half, second - first + half, error.tail(second - first))
    told = dict(zip(("difference", "low", "high", "p_value"), numbers, strict=True))
    return {**named, "first": first, "second": second, **told}


def compared(
    rows: Sequence[dict[str, Any]], of: str, confidence: float, remarks: Sequence[str] = (), **more: object
) -> Comparison:
    """The rows as a frame, with corrected p-values; what is claimed stands in its ``attrs``, with `more`."""
    loaded("pandas")  # which says what to install
    from scumble.show.comparison import Comparison

    found = Comparison([*rows])
    found["p_adjusted"] = holm(found["p_value"].to_numpy())
    found.attrs |= {"of": of, "claim": CLAIMS[of], "correction": "Holm", "comparisons": len(rows)}
    found.attrs |= {"confidence": confidence, **more}
    if remarks:
        found.attrs["remarks"] = [*remarks]
    return found


def holm(p: Floats) -> Floats:
    """P-values corrected by Holm's method.

    >>> holm(np.array([0.03, 0.01, 0.04])).round(4)
    array([0.06, 0.03, 0.06])
    """
    order = np.argsort(p, kind="stable")
    found = np.empty(len(p))
    found[order] = np.minimum(np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p)))), 1.0)
    return found


def claim(of: str) -> str:
    """What a comparison is about, or a refusal."""
    if of not in CLAIMS:
        raise parameter("of", "'tables' (noise alone) or 'populations' (noise and sampling)", of)
    return of


def require_two(one: Any, other: Any) -> None:
    """Refuse to compare a release with itself."""
    if one.identity == other.identity:
        raise MergeError("Both are the same release. Hint: compare it with the release of another table.")


def densities(first: Release, second: Release, at: Any, of: str, confidence: float) -> Comparison:
    """How the mean kernel value over all records differs between two releases, at each of the points `at`.

    The variance of k(x, q) over records is at most f(1 − f), as k is at most 1; that is the sampling error. Releases
    that share noise, as two periods of a stream do, have standard errors that are added instead of their squares.
    """
    require_two(first, second)
    if first.kernel != second.kernel or first.columns != second.columns:
        raise ParameterError("The releases have other kernels or columns. Hint: build both with the same kernel.")
    (one, noise), (two, its) = shares(first, at), shares(second, at)
    variance = (noise + its) ** 2 if {*first._parts} & {*second._parts} else noise**2 + its**2
    if of == "populations":
        for release, share in ((first, one), (second, two)):
            inner = np.clip(share, 0.0, 1.0)
            variance = variance + inner * (1 - inner) / release.divisor
    numbers = enumerate(zip(one.tolist(), two.tolist(), variance.tolist(), strict=True))
    rows = [row({"point": place}, a, b, Error(each), confidence) for place, (a, b, each) in numbers]
    return compared(rows, of, confidence, (), **_places(first, second, at))


def shares(release: Release, at: Any) -> tuple[Floats, Floats]:
    """The mean kernel value over all records at each point, with its standard error of noise and hashing."""
    n, share = release.divisor, release.kernel_sum(at) / release.divisor
    return share, np.hypot(release.standard_error(at) / n, share * release.count_standard_error / n)


def _places(first: Release, second: Release, at: object) -> dict[str, object]:
    """The points, column by column; and of two parts of a stream, which periods."""
    from scumble.columns.kinds import shown
    from scumble.columns.table import Table
    from scumble.counting.engines import on_device, to_host

    names = first.columns or tuple(f"column {j}" for j in range(first.dimensions))
    asked = first.spec.asked(to_host(at) if on_device(at) else at)
    table = Table.of(asked, columns=first.columns, dimensions=first.dimensions)

    def said(name: str, cell: Any) -> Any:
        if name in first.kinds:
            return shown(cell, first.kinds[name])
        return float(cell) if isinstance(cell, int | float) else str(cell)

    columns = ((name, table.column(j)) for j, name in enumerate(names))
    points = {
        name: [said(name, one) for one in getattr(column, "to_pylist", column.tolist)()] for name, column in columns
    }
    spans = [(one.stream.first, one.stream.last) for one in (first, second) if one.stream]
    return {"points": points, **({"periods": spans} if len(spans) == 2 else {})}
