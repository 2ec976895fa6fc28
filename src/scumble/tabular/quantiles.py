"""Where a line's records reach a share: found by counts, with all that is known of their errors.

Up to a cell lies a share of at least q of the records if the sum of 1 − q over those up to it and of −q over those
beyond is not negative. Such a sum is a question like any other (`Answers.sum`): views and model answer it together, and
its variance is that of the records up to there and of all who meet the condition at once. So a quantile lies in the
first cell where the sum is not negative; and its interval reaches from the first cell where it may be none to the
first where it surely is none (Fieller 1954). Each is found by halving the line.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache
from typing import Any

import numpy as np

from scumble.tabular.answers import Answers, over
from scumble.tabular.estimate import Estimate, deviations
from scumble.tabular.questions import Floats, Question, sums_between, zero_if_tiny

NO_DATE: Any = np.datetime64("NaT", "s")


def quantile(
    answers: Answers,
    column: Any,
    place: int,
    asked: Question,
    between: tuple[Floats, Floats],
    q: float,
    confidence: float,
) -> Estimate:
    """The value below which a share `q` of the records that meet a condition lies, of an ordered column.

    Where the number of records is told as 0 there is no value, NaN or, of dates, NaT, and the interval is the whole
    line. `between`: for each level the shares of the records that surely meet the condition, and that may.
    """
    cuts = column.cuts
    shares = np.maximum(answers.model.table([place], asked.even)[: cuts.size], 0.0)
    known = np.arange(column.size) < cuts.size
    if not shares.sum() > 0 or answers.nobody(asked.even, place, known, confidence):
        low, high = _at(column, [0, cuts.size - 1], [0.0, 1.0])
        return Estimate(NO_DATE if column.kind == "date" else math.nan, low, high, math.inf)
    few, many = (side[: cuts.size] for side in between)
    records = answers.total.value

    @cache
    def more_upto(cell: int) -> Estimate:
        """By how many records there are more up to a cell than a share q of all."""
        weights = (np.arange(cuts.size) <= cell).astype(float) - q
        least, most = sums_between(few, many, weights, weights)
        even = float(shares @ weights)
        found = answers.sum(asked.even, place, np.append(weights, [0.0] * column.missing))
        cut = {"below": records * max(even - least, 0.0), "above": records * max(most - even, 0.0)}
        return over(found, confidence, **cut)

    last = cuts.size - 1
    cell = bisect_left(range(last), True, key=lambda at: more_upto(at).value >= 0)
    first = bisect_left(range(cell), True, key=lambda at: more_upto(at).high >= 0)
    end = bisect_left(range(last), True, lo=cell, key=lambda at: more_upto(at).low >= 0)
    before = -more_upto(cell - 1).value if cell else q * records * shares.sum()
    within = before + max(more_upto(cell).value, 0.0)
    part = before / within if within > 0 else 0.5
    value, low, high = _at(column, [cell, first, end], [part, 0.0, 1.0])
    spread = (high - low) / (2 * deviations(confidence)) if column.kind == "number" else math.nan
    return Estimate(value, low, high, spread)


def _at(column: Any, cells: list[int], shares: list[float]) -> list[Any]:
    """Values of a column, each so far into a cell."""
    found = column.cuts.at(np.array(cells), np.array(shares))
    return [column.moment(int(tick)) for tick in found] if column.kind == "date" else [zero_if_tiny(x) for x in found]
