"""A number that is known up to noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from scumble.errors import parameter


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

    Examples
    --------
    >>> float(Estimate(41.0, 37.1, 44.9, 2.0))
    41.0
    """

    value: float
    low: float
    high: float
    standard_error: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:,.6g} ({self.low:,.6g} to {self.high:,.6g})"


def interval(
    value: float, variance: float, confidence: float, least: float = -math.inf, most: float = math.inf
) -> Estimate:
    """The estimate with its interval, cut to what is possible."""
    error = math.sqrt(max(variance, 0.0))
    reach = deviations(confidence) * error
    low, high = (min(max(end, least), most) for end in (value - reach, value + reach))
    return Estimate(min(max(value, least), most), low, high, error)


def deviations(confidence: float) -> float:
    """How many standard deviations an interval reaches to either side.

    >>> round(deviations(0.95), 2)
    1.96
    """
    if not (isinstance(confidence, int | float) and 0 < confidence < 1):
        raise parameter("confidence", "between 0 and 1", confidence)
    return float(ndtri((1 + confidence) / 2))
