"""A number that is known up to noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from statistics import NormalDist

from scumble import checks
from scumble.errors import plain_number

NOTHING = 1e-9
"""What is next to nothing, beside the width of an interval."""


@dataclass(frozen=True)
class Estimate:
    """An answer and how sure it is. It is a number wherever one is wanted.

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

    Examples
    --------
    >>> float(Estimate(41.0, 37.1, 44.9, 2.0))
    41.0
    """

    value: float
    low: float
    high: float
    standard_error: float
    remarks: tuple[str, ...] = ()

    def numbers(self) -> dict[str, float]:
        """The answer, its interval and its standard error, by their names."""
        return {name: getattr(self, name) for name in ("value", "low", "high", "standard_error")}

    def __repr__(self) -> str:
        told = {**self.numbers(), **({"remarks": self.remarks} if self.remarks else {})}
        return f"Estimate({', '.join(f'{name}={value!r}' for name, value in told.items())})"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        three = self.value, self.low, self.high
        least = NOTHING * max((abs(one) for one in three if isinstance(one, Real) and math.isfinite(one)), default=0.0)
        value, low, high = (_shown(one, least) for one in three)
        return " ".join([f"{value} ({low} to {high})", *self.remarks])


def _shown(answer: object, least: float) -> str:
    """A number to six digits, 0 below the least that counts; a date or a time, which a quantile may be, as it is."""
    if not isinstance(answer, Real):
        return str(answer)
    return plain_number(0.0 if abs(float(answer)) < least else float(answer))


def interval(
    value: float,
    variance: float,
    confidence: float,
    least: float = -math.inf,
    most: float = math.inf,
    *,
    below: float = 0.0,
    above: float = 0.0,
) -> Estimate:
    """The estimate with its interval, cut to what is possible: first the value, so that noise leaves no interval empty.

    Beside an error of known variance there may be one that is known by its bounds alone: the truth may be `below` lower
    or `above` higher. Both bounds are added in full; in the standard error they count as if all between were alike. Nor
    is the standard error larger than what the value can be off at all.

    >>> interval(10.0, 0.0, 0.95, below=1.0, above=2.0)
    Estimate(value=10.0, low=9.0, high=12.0, standard_error=0.8660254037844386)
    >>> interval(4.0, 280.0**2, 0.95, least=1.0, most=10.0)
    Estimate(value=4.0, low=1.0, high=10.0, standard_error=6.0)
    >>> print(interval(-5.0, 1.0, 0.95, least=0.0))
    0 (0 to 1.95996)
    """
    variance, value = max(variance, 0.0), min(max(value, least), most)
    reach = deviations(confidence) * math.sqrt(variance)
    low, high = (min(max(end, least), most) for end in (value - reach - below, value + reach + above))
    most_off = max(value - least, most - value)
    return Estimate(value, low, high, min(math.sqrt(variance + (below + above) ** 2 / 12), most_off))


def reaching(found: Estimate, other: Estimate) -> Estimate:
    """An estimate whose interval reaches over that of another reading of the same number.

    >>> print(reaching(Estimate(5.0, 4.0, 6.0, 0.5), Estimate(7.0, 3.0, 11.0, 2.0)))
    5 (3 to 11)
    """
    error = max(found.standard_error, other.standard_error)
    return Estimate(found.value, min(found.low, other.low), max(found.high, other.high), error)


def part_of(found: Estimate, all_of: Estimate) -> Estimate:
    """A number of records as a share of all: both are known with an error, and neither tells the other's.

    >>> part_of(Estimate(96.0, 95.0, 97.0, 0.5), Estimate(100.0, 98.0, 102.0, 1.0))
    Estimate(value=0.96, low=0.938..., high=0.981..., standard_error=0.010...)
    """
    total = max(all_of.value, 1.0)
    share = min(found.value / total, 1.0)
    below, above = (
        math.hypot(found.value - end, share * off) / total
        for end, off in ((found.low, all_of.high - all_of.value), (found.high, all_of.value - all_of.low))
    )
    error = math.hypot(found.standard_error, share * all_of.standard_error) / total
    return Estimate(share, max(share - below, 0.0), min(share + above, 1.0), error)


def possible(found: Estimate, least: float, most: float) -> Estimate:
    """An estimate, all of it cut to what is possible; next to nothing is 0.

    >>> print(possible(Estimate(55.0, -19.0, 165.0, 45.0), 0.0, math.inf))
    55 (0 to 165)
    >>> possible(Estimate(7e-296, -19.0, 165.0, 45.0), 0.0, math.inf).value
    0.0
    """
    value, low, high = (min(max(one, least), most) for one in (found.value, found.low, found.high))
    return replace(found, value=value if abs(value) > NOTHING * (high - low) else 0.0, low=low, high=high)


def of_records(found: Estimate, records: Estimate, least: float, most: float) -> Estimate:
    """A sum's estimate, no surer than the number of the records that have it, each with so much between two bounds.

    >>> print(of_records(Estimate(20_000.0, 19_900.0, 20_100.0, 50.0), Estimate(10.0, 4.0, 16.0, 3.0), 0.0, 3_000.0))
    20,000 (8,000 to 32,000)
    >>> print(of_records(Estimate(0.0, 0.0, 17_340.0, 8_000.0), Estimate(0.0, 0.0, 40.0, 18.0), 1990.0, 2010.0))
    0 (0 to 79,600)
    """
    some, of = (found.value, records.value) if records.value > 0 else (found.high - found.value, records.high)
    each = min(max(some / of, least), most) if of > 0 else 0.0
    low, high = sorted(found.value + each * (end - records.value) for end in (records.low, records.high))
    return reaching(found, Estimate(found.value, low, high, abs(each) * records.standard_error))


def drawn(found: Estimate, impossible: float, model: float) -> Estimate:
    """A mean's estimate, drawn to the `model`'s by the chance that it gives to what is impossible; its interval as it
    is.

    Of few records a mean is a quotient of noise, which may be anywhere: cut to what is possible, it would be told at
    the very end of it. The model's mean is always possible. Of 3,286 means within conditions (three lists, ε = 0.3, 1
    and 3) 45 came out beyond a bound: the root mean square of their errors was 0.275 of what the column spans, and is
    0.231; of all, 0.0968 and 0.0945. Thirty were told at a bound, and none is.

    Sums that cannot be below nought are drawn, too, so that they agree with means: of 504 the root mean square of
    errors is what it was.

    >>> print(drawn(Estimate(180.0, 36.0, 180.0, 73.0), 0.75, 100.0))
    120 (36 to 180)
    >>> print(drawn(Estimate(180.0, 170.0, 180.0, 5.0), 1.0, 100.0))
    170 (170 to 180)
    """
    return replace(found, value=found.value + impossible * (min(max(model, found.low), found.high) - found.value))


def at_least(found: Estimate, median: float, mean: float, least: float) -> Estimate:
    """A mean's estimate, not below what the same release's median implies; its interval as it is.

    A column's own cells tell the mean of very skewed values with so much noise that it may come out at the least
    possible, while half of the records surely have far more. `mean` is what there would be if nobody had more than the
    `median`. It counts only if noise is larger than all that the median is above the `least`.

    >>> print(at_least(Estimate(1e3, 1e3, 9e5, 4e5), 1.2e5, 8e4, 1e3))
    80,000 (1,000 to 900,000)
    >>> print(at_least(Estimate(7e4, 5e4, 9e4, 1e4), 1.2e5, 8e4, 1e3))
    70,000 (50,000 to 90,000)
    """
    if found.standard_error <= median - least:
        return found
    return replace(found, value=max(found.value, min(mean, found.high)))


def widened(found: Estimate, few: Estimate, many: Estimate) -> Estimate:
    """An estimate of something between `few` and `many`, nobody knows where: its interval reaches over both of theirs.

    In the standard error all between them count as alike.

    >>> print(widened(Estimate(5.0, 4.0, 6.0, 0.5), Estimate(2.0, 1.0, 3.0, 0.5), Estimate(9.0, 7.0, 11.0, 1.0)))
    5 (1 to 11)
    """
    three = (found, few, many)
    error = math.hypot(max(one.standard_error for one in three), max(many.value - few.value, 0.0) / math.sqrt(12))
    return Estimate(found.value, min(one.low for one in three), max(one.high for one in three), error)


def deviations(confidence: float) -> float:
    """How many standard deviations an interval reaches to either side.

    >>> round(deviations(0.95), 2)
    1.96
    """
    return -NormalDist().inv_cdf((1 - checks.confidence(confidence)) / 2)
