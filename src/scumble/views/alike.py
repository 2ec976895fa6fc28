"""Columns, and words, whose counts are alike within their noise: they may be one thing, given twice.

**Columns.** Counts that are the same at all levels are alike too often to tell anything; those of other columns seldom
are, at all levels at once (`equal`).

**Words** of two columns that are nearly functions of each other: the court's name and its sort, the sexes of the two
who are a couple. Such words have about the same number of records, or one has as many as do not have the other, and
where no view has counted the two together nothing else tells it (`one_word`). Words that are rarer than their noise are
all alike, and noise has their intervals wide enough. Of words that were one thing, or nearly, in four lists (ε = 0.3, 1
and 3) 41 of 53 intervals hold, and 30 did; those of all other pairs of words that were not counted together are 1.12,
1.07 and 1.11 times as wide, of which 9,865 of 9,905 held and 9,878 do. What is missed are rare words, and those that
noise has taken apart.

Two that half of all records have, up to noise, are alike both ways, and may be either. A film's test is passed by 803
of 1,794, and 803 are "ok": in eight releases of ε = 0.3 that had not counted the two together one interval of both held
while halves were left out, and eight do. Of 23,755 other pairs in 48 releases (three lists, and two made tables of
independent words) 37 are wider for it, all together by 0.2 %.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from scumble.views.estimates import Estimate
from scumble.views.evidence import View

Floats = npt.NDArray[np.float64]

SURE = 3.0
"""Standard deviations that noise hardly ever exceeds."""
ALIKE = 2.0
"""Standard deviations that noise seldom exceeds."""


def equal(one: View, other: View | float) -> bool:
    """Whether counts differ by no more than noise: Σ d²/variance of m cells is m, with a variance of 5 m at most."""
    counts, noise = (other.counts, other.variance) if isinstance(other, View) else (other, 0.0)
    square = float(((one.counts - counts) ** 2).sum()) / max(one.variance + noise, 1e-12)
    return square <= one.counts.size + SURE * math.sqrt(5 * one.counts.size)


def is_word(weights: Floats) -> bool:
    """Whether weights are those of one level, or of all but one.

    >>> [is_word(np.array(weights)) for weights in ([0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0])]
    [True, True, False]
    """
    there = int((weights == 1).sum())
    return there + int((weights == 0).sum()) == len(weights) and there in (1, len(weights) - 1)


def one_word(one: Estimate, two: Estimate, records: float) -> bool:
    """Whether two words, of so many records, may be the same, or one and all but it.

    >>> [one_word(Estimate(205.0, 50.0), Estimate(number, 50.0), 1000.0) for number in (210.0, 790.0, 500.0)]
    [True, True, False]
    >>> one_word(Estimate(5.0, 50.0), Estimate(8.0, 50.0), 1000.0)  # below their noise
    False
    >>> one_word(Estimate(505.0, 50.0), Estimate(510.0, 50.0), 1000.0)  # either, for all that half of all tell
    True
    """
    noise = math.sqrt(one.variance + two.variance)
    rarest = min(end for word in (one, two) for end in (word.value, records - word.value))
    return rarest >= noise and min(abs(one.value - two.value), abs(one.value + two.value - records)) <= ALIKE * noise
