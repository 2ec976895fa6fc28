"""A purse: what the rows of one release may cost, fixed beforehand, when their scales are not.

How a budget is best divided may hang on what the first rows have published, such as the number of records. The claim,
though, is made and charged before any noise. So it is made for the dearest way to divide the budget that is allowed:
so many rows with the least scale that any row may have. Whatever is taken out of the purse then costs no more
(``calibration.proof.md``, *A purse*).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

from scumble.errors import ParameterError, PrivacyError, parameter
from scumble.privacy.calibration import Calibration
from scumble.privacy.claim import PrivacyClaim, stored_runs
from scumble.privacy.exact import Number, as_count, as_fraction, sum_above

SPARE = Fraction(1, 2**16)
"""Part of the budget that rows beyond the dearest ones have in the claim: it must count them all."""


def dearest(rows: int, most: int) -> list[Fraction]:
    """Shares of `rows` rows, to calibrate a claim for: `most` rows that have nearly everything.

    >>> [float(share) for share in dearest(3, 2)]
    [0.49999237060546875, 0.49999237060546875, 1.52587890625e-05]
    """
    few = as_count("most", most)
    if not few < rows:
        raise parameter("most", f"below {rows:,}, the number of rows", most)
    return [(1 - SPARE) / few] * few + [SPARE / (rows - few)] * (rows - few)


class Purse:
    """Scales for rows, one after the other, as long as the claim lasts.

    Parameters
    ----------
    calibration : Calibration
        Made with `dearest`.
    most : int
        As given to it: no row gets more than 1/most of the whole.

    Examples
    --------
    >>> from scumble.privacy import calibrate
    >>> purse = Purse(calibrate(10, epsilon=1, count_share=0, shares=dearest(10, 2)), 2)
    >>> round(float(purse.pay("1/4")), 4)
    4.0001
    """

    def __init__(self, calibration: Calibration, most: int) -> None:
        self._law, self._most = calibration.law, most
        self._least = calibration.row_scales[0]
        self._left = most * self._law.spent([1], self._least)

    def pay(self, share: Number, *, least: int = 1) -> Fraction:
        """The scale that this share of the whole pays for; at least so many times the least one.

        What rounding has left over is lost, never lent: the scales themselves are added up.
        """
        wanted = as_fraction("share", share)
        if wanted <= 0:
            raise parameter("share", "positive", share)
        scale = self._law.part(self._least, wanted * self._most)
        cost = self._law.spent([1], scale)
        if scale < least * self._least or cost > self._left:
            raise PrivacyError(
                "A row wants more of the budget than the claim leaves to it. "
                "Hint: shares add up to 1 at most, and none is larger than was announced."
            )
        self._left -= cost
        return scale


def written(scales: Sequence[Fraction]) -> list[list[int | str]]:
    """Scales for a file: runs of rows, and the fraction that they have."""
    return [[len(list(same)), str(scale)] for scale, same in groupby(scales)]


def read_back(data: Any, rows: int, claim: PrivacyClaim) -> tuple[Fraction, ...]:
    """The scales of so many rows, out of a file; refused if they cost more than the claim says."""
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
