"""A number that is known up to noise."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from scumble.density.student import reach
from scumble.errors import plain_number, with_interval

Term: TypeAlias = "Estimate | float"
Operation: TypeAlias = Callable[[Any, Any], Any]
USUAL = 0.95
"""The confidence of an interval that is computed from others."""
DIGITS = 6
"""Of a number of records: further ones are rounding."""


def _arithmetic(operation: Operation) -> Callable[[Estimate, Term], Estimate]:
    return lambda one, other: _combined(one, other, operation)


def _comparison(operation: Operation) -> Callable[[Estimate, object], bool]:
    def compared(one: Estimate, other: object) -> bool:
        return operation(one.value, float(other)) if isinstance(other, Real | np.number | Estimate) else NotImplemented

    return compared


@dataclass(frozen=True)
class Estimate:
    """An answer and how sure it is. It is a number wherever one is wanted.

    Sums, differences, products and quotients of estimates, and of estimates and numbers, are estimates, with 95 %
    intervals. Estimates of one release know how their errors are related; those of different releases are taken to err
    independently.

    Parameters
    ----------
    value : float
        The answer.
    low, high : float
        The ends of its interval.
    standard_error : float
        The standard deviation of its error.
    remarks : tuple of str
        What else must be known of it, such as columns that were not counted together.
    draws : ndarray of float, optional
        The number on every draw from the release's posterior.
    identity : str
        Which release that is.
    confidence : float
        That of the interval.

    Examples
    --------
    >>> estimate = Estimate(41.0, 37.1, 44.9, 2.0)
    >>> float(estimate), round(estimate), f"{estimate:.1f}"
    (41.0, 41, '41.0')
    >>> value, low, high = estimate
    >>> print(estimate - 1)
    40.0 (36.1 to 43.9)
    """

    value: float
    low: float
    high: float
    standard_error: float
    remarks: tuple[str, ...] = ()
    draws: npt.NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    identity: str = field(default="", repr=False, compare=False)
    confidence: float = field(default=USUAL, repr=False, compare=False)

    def to_dict(self) -> dict[str, float]:
        """The answer, its interval and its standard error, by their names."""
        return {name: getattr(self, name) for name in ("value", "low", "high", "standard_error")}

    def __repr__(self) -> str:
        value, low, high = self._shown()
        return " ".join([f"{value} ({low} to {high}, {100 * self.confidence:g} %)", *self.remarks])

    def __float__(self) -> float:
        return self.value

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.low, self.high))

    def __round__(self, digits: int | None = None) -> float:
        return round(self.value, digits)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        value, low, high = self._shown()
        return " ".join([f"{value} ({low} to {high})", *self.remarks])

    def _shown(self) -> list[str]:
        """The three to the digits that tell them apart; dates and times, which quantiles may be, as they are."""
        three = [self.value, self.low, self.high]
        if not all(isinstance(one, Real) for one in three):
            return [plain_number(one) if isinstance(one, Real) else str(one) for one in three]
        return [*map(plain_number, three)] if self.low == self.high else with_interval(*map(float, three))

    # ---- comparison with numbers: of the value ----

    __lt__ = _comparison(operator.lt)
    __le__ = _comparison(operator.le)
    __gt__ = _comparison(operator.gt)
    __ge__ = _comparison(operator.ge)

    # ---- arithmetic ----

    __add__ = _arithmetic(operator.add)
    __radd__ = _arithmetic(lambda a, b: b + a)
    __sub__ = _arithmetic(operator.sub)
    __rsub__ = _arithmetic(lambda a, b: b - a)
    __mul__ = _arithmetic(operator.mul)
    __rmul__ = _arithmetic(lambda a, b: b * a)
    __truediv__ = _arithmetic(operator.truediv)
    __rtruediv__ = _arithmetic(lambda a, b: b / a)

    def __neg__(self) -> Estimate:
        return 0.0 - self


def _combined(one: Estimate, other: object, operation: Operation) -> Estimate:
    """Something computed of two numbers: draw by draw if one release gave both, else by their slopes."""
    plain = not isinstance(other, Estimate)
    if isinstance(other, Estimate):
        two = other
    elif isinstance(other, Real | np.number) and not isinstance(other, bool):
        number = float(other)
        two = Estimate(number, number, number, 0.0)
    else:
        raise TypeError(f"An estimate and {type(other).__name__} cannot be combined. Hint: estimates and numbers can.")
    remarks = tuple(dict.fromkeys((*one.remarks, *two.remarks)))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(operation(np.float64(one.value), np.float64(two.value)))
        related = two.draws is not None and one.identity == two.identity
        if one.draws is not None and (plain or related):
            each = np.asarray(operation(one.draws, two.value if plain else two.draws), np.float64)
            return around(value, each, USUAL, remarks, one.identity)
        return _independent(one, two, value, operation, remarks)


def _independent(
    one: Estimate, two: Estimate, value: float, operation: Operation, remarks: tuple[str, ...]
) -> Estimate:
    """Errors that have nothing to do with each other: what each alone would change, added in squares."""
    halves, errors = [], []
    for at, estimate in enumerate((one, two)):
        moved = []
        for number in (estimate.low, estimate.high, estimate.value + estimate.standard_error):
            both = [np.float64(one.value), np.float64(two.value)]
            both[at] = np.float64(number)
            moved.append(abs(float(operation(*both)) - value))
        halves.append(max(moved[:2]))
        errors.append(moved[2])
    half, error = math.hypot(*halves), math.hypot(*errors)
    return Estimate(value, value - half, value + half, error, remarks)


@lru_cache(maxsize=64)
def reach_of(draws: int, confidence: float) -> float:
    """Student's t for an interval out of so many draws: P(|T| ≤ t) is the confidence.

    >>> round(reach_of(11, 0.95), 4)
    2.2281
    """
    return float(reach(np.array([draws - 1.0]), confidence)[0])


def around(
    value: float,
    each: npt.NDArray[np.float64],
    confidence: float,
    remarks: tuple[str, ...] = (),
    identity: str = "",
    least: float = -math.inf,
    most: float = math.inf,
) -> Estimate:
    """A number and its interval, given the number on every draw from a posterior; all of it cut to what is possible.

    The truth is one more draw from the same law: mean ± t · s · √(1 + 1/M), Student's t of M − 1 degrees of freedom.
    Draws on which the number does not exist are left out; without two others nothing is known.

    >>> print(around(3.0, np.array([2.0, 4.0, 3.0, 3.0]), 0.95))
    3.0 (0.1 to 5.9)
    """
    known = each[np.isfinite(each)]
    if len(known) < 2 or not math.isfinite(value):
        return Estimate(math.nan, least, most, math.inf, remarks, confidence=confidence)
    error = float(known.std(ddof=1)) * math.sqrt(1 + 1 / len(known))
    half = reach_of(len(known), confidence) * error
    mean = float(known.mean())
    ends = value, min(value, mean - half), max(value, mean + half)
    value, low, high = (min(max(end, least), most) for end in ends)
    return Estimate(value, low, high, error, remarks, each, identity, confidence)


def outward(found: Estimate) -> Estimate:
    """The same of a whole number: whatever is between the ends of its interval lies between these, rounded outward.

    >>> print(outward(Estimate(0.25, 0.0, 0.75, 0.25)))
    0.2 (0.0 to 1.0)
    """
    low, high = (whole(round(end, DIGITS)) for whole, end in ((math.floor, found.low), (math.ceil, found.high)))
    return replace(found, low=float(low), high=float(high))
