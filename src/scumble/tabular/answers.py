"""Answers out of a release: its posterior over tables, drawn when the first answer needs it and then kept.

Each statistic is computed on every draw (`views.posterior`); :meth:`Answers.told` turns the numbers into a value and an
interval. It is the one place where that happens.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.tabular.estimate import Estimate, around
from scumble.tabular.pooled import is_part
from scumble.tabular.questions import Question
from scumble.tabular.spec import TableSpec
from scumble.views.budgeting import Law
from scumble.views.evidence import Evidence
from scumble.views.margins import level_variances
from scumble.views.mixture import Condition, Mixture
from scumble.views.posterior import Draws, Posterior, drawn, leans

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
NONE = 0.5
"""A number of records below it counts as none: nothing can be said about their values."""


class Noisy(NamedTuple):
    """A number and the variance of its noise."""

    value: float
    variance: float


class Answers:
    """What the views of a table tell.

    Parameters
    ----------
    spec : TableSpec
        The views.
    evidence : sequence of Evidence
        The noisy views of each class.
    law : {"laplace", "gaussian"}
        The law of their noise.
    identity : str
        The release's: draws are derived from it, so that answers are the same each time.
    """

    def __init__(self, spec: TableSpec, evidence: Sequence[Evidence], law: Law, identity: str) -> None:
        self._spec, self.evidence, self.law, self.identity = spec, evidence, law, identity
        self._seed = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:6], "big")
        self._number = {j: k for k, j in enumerate(spec.counted)}
        self.inferred: dict[tuple[int, int], None] = {}
        """Pairs of columns that were asked about together so far and that no view holds together."""
        self._posterior: Posterior | None = None
        self._lock = threading.Lock()

    @property
    def place(self) -> int | None:
        """Where the column stands whose classes have views of their own."""
        return self._spec.place

    @property
    def total(self) -> Noisy:
        """The number of records, by the sums of all views: no draw is needed."""
        return Noisy(
            *(float(sum(each)) for each in zip(*((e.count, e.count_variance) for e in self.evidence), strict=True))
        )

    @property
    def posterior(self) -> Posterior:
        """The draws, made at the first call."""
        with self._lock:
            if self._posterior is None:
                each = [drawn(one, self.law, self._seed + number) for number, one in enumerate(self.evidence)]
                self._posterior = Posterior(each, self.place)
            return self._posterior

    def hold(self, classes: Sequence[Draws]) -> None:
        """Take draws out of a file, so that none has to be made."""
        self._posterior = Posterior(classes, self.place)

    @cached_property
    def model(self) -> Mixture:
        """The mean of all draws: the distribution that synthetic rows follow."""
        return self.posterior.mean()

    @cached_property
    def lean(self) -> Floats:
        """(draws,) from −1 to 1: where in their cells the values of a draw lie, from all low to all high."""
        return leans(self._seed, self.posterior.size)

    def leaning(self, middle: Floats, low: Floats, high: Floats) -> Floats:
        """For each draw something between the least and the most that it can be, by where its values lie in cells."""
        lean = self.lean.reshape(-1, *[1] * (np.ndim(middle) - 1))
        return np.where(lean > 0, middle + lean * (high - middle), middle + lean * (middle - low))

    # ---- statistics of each draw ----

    def counts(self, asked: Question, *, even: bool = False) -> Floats:
        """(draws,): how many records are meant; on request with values spread evenly in the cells that are cut."""
        self._note(asked.even)
        middle = self.posterior.counts(asked.even)
        if even or not asked.cuts:
            return middle
        low, high = (self.posterior.counts(side) for side in (asked.sure, asked.maybe))
        return self.leaning(middle, np.minimum(low, middle), np.clip(high, middle, self.posterior.totals))

    def levels(self, asked: Question, column: int, *, even: bool = False) -> Floats:
        """(draws, levels): how many of them each level of a column has."""
        self._note(asked.even, column)
        middle = self.posterior.cells([column], asked.even)
        if even or not asked.cuts:
            return np.maximum(middle, 0.0)
        low, high = (self.posterior.cells([column], side) for side in (asked.sure, asked.maybe))
        return np.maximum(self.leaning(middle, np.minimum(low, middle), np.maximum(high, middle)), 0.0)

    def told(
        self,
        each: Floats,
        confidence: float,
        least: float = -math.inf,
        most: float = math.inf,
        even: Floats | None = None,
    ) -> Estimate:
        """A statistic's value and interval out of its values on all draws, cut to what is possible.

        The value is the mean over the draws on which the statistic exists (`estimate.around`); if `even` is given, the
        mean of that: the statistic where values are spread evenly in their cells.
        """
        known = each if even is None else even
        known = known[np.isfinite(known)]
        value = float(known.mean()) if len(known) else math.nan
        return around(value, each, checks.confidence(confidence), (), self.identity, least, most)

    # ---- what was measured ----

    def of_levels(self, column: int) -> Floats:
        """The variance of the noise on each level of a column, by all its views."""
        if column == self.place:
            return np.array([one.count_variance for one in self.evidence])
        each = [level_variances(one, self._number[column]) for one in self.evidence]
        return np.asarray(np.sum(each, axis=0))

    def singles(self, column: int) -> tuple[Floats, float]:
        """The noisy count of each level of a column alone, and the variance of one of them."""
        if column == self.place:
            return np.array([one.count for one in self.evidence]), max(one.count_variance for one in self.evidence)
        views = [one.single(self._number[column]) for one in self.evidence]
        return np.sum([view.counts for view in views], axis=0), sum(view.variance for view in views)

    def _note(self, asked: Condition, *besides: int) -> None:
        self.inferred |= dict.fromkeys(self.not_measured(asked, besides))

    def not_measured(self, asked: Condition, besides: Iterable[int] = ()) -> Iterator[tuple[int, int]]:
        """Pairs of columns that a question joins, with each other or with some `besides`, and no view does."""
        for _, product in asked:
            for pair in itertools.combinations(sorted({*product, *besides} - {self.place}), 2):
                one, two = sorted(self._number[j] for j in pair)
                if any(evidence.pair((one, two)) is None for evidence in self.evidence):
                    yield pair

    def measured(self, columns: tuple[int, int]) -> bool:
        """Whether a view holds two columns together."""
        return self.place in columns or not any(self.not_measured([(1.0, {})], columns))

    def pooled(self, meant: Iterable[tuple[int, Floats]], besides: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """Columns of which levels are meant that pairs count as one with others; and which of all columns that are
        asked about they are measured with."""
        those = [(j, weights) for j, weights in meant if j != self.place]
        asked = sorted({*besides, *(j for j, _ in those)} - {self.place})
        apart = {frozenset(pair) for pair in self.not_measured([(1.0, {})], asked)}
        beside = {j: tuple(k for k in asked if k != j and frozenset((j, k)) not in apart) for j in asked}
        return {j: beside[j] for j, weights in those if beside[j] and is_part(weights, self.group_of(j))}

    def group_of(self, column: int) -> Integers:
        """The group of each level of a column in pairs, which classes have in common."""
        return self.evidence[0].groups[self._number[column]]
