"""A budget for rows of one release whose scales are chosen later.

The claim is charged before any noise, so it is made for the worst case allowed: as many rows as possible with the least
scale that any row may have. Whatever is paid for afterwards costs no more (``claim.proof.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from scumble.errors import ParameterError, PrivacyError, parameter
from scumble.privacy.claim import PrivacyClaim, stored_runs
from scumble.privacy.exact import Number, as_count, as_fraction, sum_above

SPARE = Fraction(1, 2**16)
"""Share of the budget in the claim for the rows beyond `most`: it must count them all."""


def worst_case(rows: int, most: int) -> list[Fraction]:
    """Shares of `rows` rows to calibrate a claim for: `most` rows have nearly everything.

    >>> [float(share) for share in worst_case(3, 2)]
    [0.49999237060546875, 0.49999237060546875, 1.52587890625e-05]
    """
    few = as_count("most", most)
    if not few < rows:
        raise parameter("most", f"below {rows:,}, the number of rows", most)
    return [(1 - SPARE) / few] * few + [SPARE / (rows - few)] * (rows - few)


class AdaptiveBudget:
    """Scales for rows, one after the other, as long as the claim of a `worst_case` calibration lasts.

    No row gets more than 1/`most` of the whole.

    >>> from scumble.privacy import calibrate
    >>> budget = AdaptiveBudget(calibrate(10, epsilon=1, count_share=0, shares=worst_case(10, 2)), 2)
    >>> round(float(budget.pay("1/4")), 4)
    4.0001
    """

    def __init__(self, claim: PrivacyClaim, most: int) -> None:
        self._law, self._most = claim.law, most
        self._least = claim.row_scales[0]
        self._left = most * self._law.spent([1], self._least)

    def pay(self, share: Number, *, least: int = 1) -> Fraction:
        """The scale that this share of the whole pays for; at least `least` times the least one.

        The rounded scales themselves are added up, so rounding never overspends.
        """
        wanted = as_fraction("share", share)
        if wanted <= 0:
            raise parameter("share", "positive", share)
        scale = self._law.part(self._least, wanted * self._most)
        cost = self._law.spent([1], scale)
        if scale < least * self._least or cost > self._left:
            raise PrivacyError(
                "A row asks for more of the budget than the claim covers. "
                "Hint: shares may add up to 1, and none may exceed 1/most."
            )
        self._left -= cost
        return scale


def written(scales: Sequence[Fraction]) -> list[list[int | str]]:
    """Scales for a file: runs of rows with one fraction each."""
    return [[len(list(same)), str(scale)] for scale, same in groupby(scales)]


def read_back(data: Sequence[object], rows: int, claim: PrivacyClaim) -> tuple[Fraction, ...]:
    """The scales of so many rows from a file; refused if they cost more than the claim says."""
    runs = stored_runs(data) or ()
    if sum(count for count, _ in runs) != rows or min(count for count, _ in runs) < 1:
        raise parameter("scales", f"those of {rows:,} rows", len(runs))
    found = [(count, Fraction(scale)) for count, scale in runs]
    own = claim.scales
    spent = sum_above(count * claim.law.spent([1], scale) for count, scale in found)
    whole = sum_above(count * claim.law.spent([1], scale) for count, scale in own.runs(claim.rows or 1))
    if spent > whole or min(scale for _, scale in found) < own.counters:
        raise ParameterError("The rows have less noise than the privacy claim says.")
    return tuple(scale for count, scale in found for _ in range(count))
