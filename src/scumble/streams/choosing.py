"""Which method is the quietest for a stream, and what to expect of it: from public numbers alone.

Methods are compared by the running total, root mean square over all periods. For single periods nothing is quieter than
daily releases, nor for windows of up to about a week (with δ) or 50 periods (with ε alone).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Unpack

from scumble.checks import Json
from scumble.errors import ParameterError, parameter
from scumble.privacy.account import Promise, charged
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number
from scumble.privacy.laws import GAUSSIAN, LAPLACE
from scumble.streams.method import Bridge, Daily, Method, whole_periods
from scumble.streams.toeplitz import Toeplitz

METHODS: dict[str, type[Method]] = {kind.name: kind for kind in (Daily, Bridge, Toeplitz)}
"""Every method by the name it has in files. Where two are equally quiet, the first is taken."""

WEEK = 7
LARGEST_SCALE = 2**40
"""Of noise in a stream: sums of many nodes must fit into 64 bits."""


@dataclass(frozen=True)
class Expected:
    """What a method promises for a stream: standard deviations of one counter, root mean square over the periods."""

    method: Method
    calibration: PrivacyClaim
    single: float
    """Of a single release with the same budget and the same law: what the others are compared with."""
    times: tuple[float, float | None, float]
    """`total`, `week` and `period` divided by `single`, also where these are too small for a float."""

    @staticmethod
    def of(method: Method, calibration: PrivacyClaim) -> Expected:
        """What to expect of a method with this noise."""
        column = method.column
        squared = column.total**2 if calibration.law.pure else column.squared
        widths = [width for width in (0, WEEK, 1) if width <= method.periods]
        times = {width: math.sqrt(float(squared) * float(method.variances(width).mean())) for width in widths}
        single = math.sqrt(calibration.counter_variance / squared)
        return Expected(method, calibration, single, (times[0], times.get(WEEK), times[1]))

    @property
    def total(self) -> float:
        """Of the running total."""
        return self.times[0] * self.single

    @property
    def week(self) -> float | None:
        """Of windows of seven periods; None if there are fewer."""
        return self.times[1] and self.times[1] * self.single

    @property
    def period(self) -> float:
        """Of single periods."""
        return self.times[2] * self.single

    def to_dict(self) -> Json:
        """As JSON values."""
        return {
            **self.method.to_dict(),
            "mechanism": self.calibration.mechanism,
            "total": self.total,
            "window_of_7": self.week,
            "period": self.period,
            "single_release": self.single,
        }

    def __str__(self) -> str:
        def worded(total: float, week: float | None, period: float) -> str:
            of_week = "" if week is None else f", a window of 7 {week:.2f}"
            return f"the running total {total:.2f}{of_week}, one period {period:.2f}"

        noise = worded(*self.times)
        merged = math.sqrt((self.method.periods + 1) / 2)
        apart = worded(merged, None if self.week is None else math.sqrt(WEEK), 1.0)
        beside = "" if noise == apart else f"; if each period were released by itself, {apart}"
        return (
            f"{self.method.name}, {self.calibration.law.family} noise, so many times that of a single release "
            f"with this budget: {noise}{beside}"
        )


def compare(
    periods: int, rows: int, epsilon: Number | None = None, delta: Number = 0.0, **promise: Unpack[Promise]
) -> list[Expected]:
    """What each method promises for a stream of so many periods of a sketch with so many rows; the quietest first.

    >>> [one.method.name for one in compare(365, 1000, epsilon=1.0, delta=1e-6)]
    ['toeplitz', 'daily', 'bridge']
    >>> [one.method.name for one in compare(7, 1000, epsilon=1.0)]
    ['daily', 'bridge']
    """
    budget, _ = charged(epsilon, delta, promise)
    found = [_expected(method, rows, budget) for method in _methods(whole_periods(periods), budget)]
    return sorted(found, key=lambda one: one.total)


def chosen(method: str, periods: int, rows: int, budget: Budget) -> Expected:
    """The method of this name; "auto": the quietest."""
    if method not in ("auto", *METHODS):
        raise parameter("method", f"'auto' or one of {', '.join(METHODS)}", method)
    fit = [one for one in _methods(whole_periods(periods), budget) if method in ("auto", one.name)]
    if not fit:
        raise ParameterError(
            f"The method {method!r} does not go with this budget: 'bridge' needs epsilon=, 'toeplitz' delta= above 0. "
            "Hint: leave the method out; the quietest is taken."
        )
    found = min((_expected(one, rows, budget) for one in fit), key=lambda one: one.total)
    if found.calibration.scales.counters > LARGEST_SCALE:
        raise parameter("epsilon", "large enough for noise that fits into 64 bits", budget.epsilon, "use fewer rows.")
    return found


def method_of(about: Json) -> Method:
    """A method, from what `Method.to_dict` gave; anything else is refused."""
    if not isinstance(about, dict) or not isinstance(about.get("method"), str) or about["method"] not in METHODS:
        raise parameter("method", f"one of {', '.join(METHODS)}", type(about).__name__)
    return _made(json.dumps(about, sort_keys=True))


@lru_cache(maxsize=16)
def _made(text: str) -> Method:
    about = json.loads(text)
    options = {name: value for name, value in about.items() if name != "method"}
    try:
        found = METHODS[about["method"]](**options)
    except TypeError:
        raise parameter("method", "described by its periods and its own parameters", list(options)) from None
    if found.to_dict() != about:
        raise parameter("method", "described in full", list(options))
    return found


def _methods(periods: int, budget: Budget) -> list[Method]:
    """Those whose law of noise serves the budget."""
    pure = budget.rho is None and budget.pure
    unfit = GAUSSIAN.name if pure else LAPLACE.name if budget.rho is not None else None
    return [kind(periods) for kind in METHODS.values() if kind.law is None or kind.law != unfit]


def _expected(method: Method, rows: int, budget: Budget) -> Expected:
    mechanism = method.law if budget.rho is None else None
    return Expected.of(method, budget.claim(rows, column=method.column, mechanism=mechanism))
