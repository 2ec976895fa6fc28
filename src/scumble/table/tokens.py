"""Counts of words that records have several of (`columns.tokens`): what was counted, and the law of its noise.

Of each word, and of each pair of words in one record, a release has a noisy number of records. No model is fitted to
them: an interval is what the noise can be with the given confidence, rounded up to whole numbers, as noise is whole.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.columns.column import OTHER
from scumble.table.estimate import Estimate

if TYPE_CHECKING:
    from scumble.table.budgeting import Law

Floats = npt.NDArray[np.float64]


class Counted(NamedTuple):
    """Noisy numbers of records, the standard deviation of their noise, and its law."""

    words: tuple[str, ...]
    counts: Floats
    deviation: float
    law: Law

    def reach(self, confidence: float) -> float:
        """How many standard deviations the noise has at most."""
        if self.law == "laplace":
            return math.log(1 / (1 - confidence)) / math.sqrt(2)
        return NormalDist().inv_cdf((1 + confidence) / 2)

    def estimates(self, confidence: float) -> list[Estimate]:
        """Each number with its interval.

        >>> print(Counted(("a",), np.array([40.0]), 3.0, "gaussian").estimates(0.95)[0])
        40 (34 to 46)
        """
        half = math.ceil(self.reach(checks.confidence(confidence)) * self.deviation)
        ends = np.maximum([self.counts, self.counts - half, self.counts + half], 0.0).T.tolist()
        return [Estimate(value, low, high, self.deviation, confidence=confidence) for value, low, high in ends]

    def ranked(self, confidence: float) -> list[tuple[str, Estimate, int, int]]:
        """The words, most frequent first, with the ranks that each may have. "(other)" has none.

        The difference of two counts has twice the variance, and tails no heavier than those of one or of the normal
        law, in its own standard deviations.
        """
        places = [k for k, word in enumerate(self.words) if word != OTHER]
        found, counts = self.estimates(confidence), self.counts[places]
        usual = NormalDist().inv_cdf((1 + confidence) / 2)
        error = max(self.reach(confidence), usual) * math.sqrt(2) * self.deviation
        ordered = np.sort(counts)
        ahead = len(counts) - np.searchsorted(ordered, counts + error, "right")
        behind = np.searchsorted(ordered, counts - error, "left")
        order = np.argsort(-counts, kind="stable").tolist()
        return [(self.words[k := places[j]], found[k], 1 + int(ahead[j]), len(places) - int(behind[j])) for j in order]
