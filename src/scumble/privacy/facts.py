"""A few noisy facts before a release, the number of records and one or two more: what they cost, and what is left.

:mod:`scumble.density.planned_release` publishes them, and then what serves best by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import NamedTuple

from scumble.errors import parameter
from scumble.privacy.budget import DEFAULT_COUNT_SHARE, Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import disjoint, overlapping
from scumble.privacy.exact import as_fraction
from scumble.privacy.laws import GAUSSIAN

SHARES = {1: Fraction(9, 400), 2: Fraction(43, 800)}
"""Of the budget, for so many numbers next to a count: with the usual share of that they make 1/16 or 3/32, so what is
left of ε has few binary digits, and its scales are short fractions."""
ALONE = {1: Fraction(1, 32), 2: Fraction(1, 16)}
"""The same where no count is published."""
ENOUGH = {1: Fraction(1, 16), 2: Fraction(1, 8)}
"""The most of ε that these numbers get, for one record per person: a standard deviation of 23 records each. A smaller
one changes no choice, and from ε of about 3 on the noise of a counter falls as e^(−ε/2), no longer as 1/ε."""
AGAIN = Fraction(3, 16)
"""Of what the facts leave, for a second count where records lie densely: see `second_counts`."""


@dataclass(frozen=True)
class Facts:
    """What is published first. Public. `count` is None where no count is published."""

    count: int | None
    count_variance: float
    norm: int
    """The typical norm."""
    norm_variance: float
    """Of the noise on the norm, and on what follows."""
    clumping: int | None = None
    """What tells how clumped a grid's records are: the norm of its cells, as they were counted; None for rows."""


class Parts(NamedTuple):
    """A budget, divided: what the facts may cost, and the rows."""

    facts: Budget
    rows: Budget


def divided(budget: Budget, numbers: int = 1) -> Parts:
    """What is spent on the facts, a count and so many numbers, and what is left for the rows.

    δ is all for the rows: the noise of the facts is Laplace's. A budget in ρ is shared as it is, and so is its δ.
    """
    count = Fraction(0) if budget.neighbors == "replace" else as_fraction("count_share", budget.count_share)
    if not 0 <= count <= Fraction(1, 2):
        raise parameter("count_share", "from 0 to 1/2, where rows are chosen after counting", budget.count_share)
    first = count + SHARES[numbers] if count else ALONE[numbers]
    if budget.rho is None:
        epsilon = as_fraction("epsilon", budget.epsilon)
        enough = count * epsilon + ENOUGH[numbers] * budget.records_per_person
        first = min(first, Fraction(floor(64 * enough), 64) / epsilon)  # few binary digits, as said above
    return Parts(
        budget.share(first, 0, count_share=count / first),
        budget.share(1 - first, 1, count_share=count),
    )


def price(budget: Budget, rows: Sequence[int], numbers: int = 1) -> PrivacyClaim:
    """The claim of a release whose rows are chosen from these numbers: that of the most expensive choice."""
    facts, rest = divided(budget, numbers)
    choices = [(number, share) for number in sorted(set(rows)) for share in second_counts(rest, number)]
    return overlapping([facts.claim(numbers), disjoint([calibrated(rest, *choice) for choice in choices])])


def second_counts(budget: Budget, rows: int) -> tuple[Fraction | None, ...]:
    """The shares of what is left that a second count may get, next to so many rows; None stands for the usual one.

    With Gaussian noise the larger share serves densities above 0.2, by an eighth to three tenths; below, the usual one.
    A share that the caller named is taken as it is.
    """
    named = as_fraction("count_share", budget.count_share) != DEFAULT_COUNT_SHARE
    fixed = named or budget.neighbors == "replace" or calibrated(budget, rows).law is not GAUSSIAN
    return (None,) if fixed else (None, AGAIN)


@lru_cache(maxsize=256)
def calibrated(budget: Budget, rows: int, count_share: Fraction | None = None) -> PrivacyClaim:
    """The noise of so many rows, and of a second count: asked for the price, for the choice, and for the release.

    Gaussian noise on a second count is far quieter than the Laplace noise on the first. With Laplace rows there is
    none.
    """
    if count_share is not None:
        return replace(budget, count_share=count_share).claim(rows)
    found = budget.claim(rows)
    return found if found.law is GAUSSIAN else replace(budget, count_share=0).claim(rows)


def together(first: Facts, again: int | None, variance: float | None) -> tuple[int | None, float]:
    """The count of the facts and the one next to the rows, by inverse variance, and the variance of that.

    >>> together(Facts(1000, 300.0, 0, 0.0), 1100, 100.0)
    (1075, 75.08333333333333)
    """
    if first.count is None or again is None or not variance or not first.count_variance:
        return first.count, first.count_variance
    weight = variance / (variance + first.count_variance)
    mean = again + weight * (first.count - again)
    return round(mean), weight * first.count_variance + 1.0 / 12.0  # the last for rounding
