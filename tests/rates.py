"""How far chance goes: bounds that a check leaves with a known probability, the same everywhere, derived once."""

from __future__ import annotations

from math import log, sqrt

from scipy import stats

RATE = 1e-9
"""False alarms of one comparison, unless it says otherwise: a thousand of them stay below 1e-6."""


def normal(rate: float = RATE) -> float:
    """Standard deviations that a normal number leaves with probability `rate`: sums and means of very many.

    >>> round(normal(), 2)
    6.11
    """
    return float(stats.norm.isf(rate / 2))


def laplace(rate: float = RATE) -> float:
    """The same for a Laplace number, such as a noisy count: P(|Z| > t sd) = exp(−√2 t), and at most twice that for the
    discrete law.

    >>> round(laplace(), 2)
    15.14
    """
    return log(2 / rate) / sqrt(2)


def most(n: int, chance: float, rate: float = RATE) -> int:
    """What a binomial number exceeds with probability `rate`.

    >>> most(120, 0.05)
    25
    """
    return int(stats.binom.isf(rate, n, chance))
