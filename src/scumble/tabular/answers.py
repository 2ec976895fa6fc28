"""Answers out of a release: the model of each class, and how far its answers may be off.

Both are prepared when they are first asked for, and kept. Classes are disjoint and have noise of their own: what is
asked of the table is the sum of what is asked of each class, and variances add up.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.tabular.estimate import Estimate as Interval
from scumble.tabular.estimate import deviations, interval, reaching
from scumble.tabular.pooled import Integers, is_part
from scumble.tabular.questions import narrowed
from scumble.tabular.spec import TableSpec
from scumble.views.budgeting import Law
from scumble.views.columnsums import ColumnSums
from scumble.views.estimates import LEAST, NOTHING, Estimate, nearest
from scumble.views.evidence import Evidence
from scumble.views.intervals import Reading
from scumble.views.mixture import Condition, Mixture, labelled, squared

Floats = npt.NDArray[np.float64]
SOME = 64
"""Levels that stand for all of a column."""
BEYOND = 0.25
"""The part of an interval's error that bounds on counts may have."""
NONE = 0.5
"""A number of records below it is told as 0."""
FAR = 1.5
"""How far the model's mean of a line may be from the exact law's, in its standard deviations."""


class Weighed(NamedTuple):
    """A sum or a mean of a column's values, read twice."""

    value: float
    variance: float
    """Nought, where `own` tells all of it."""
    own: Estimate
    """By the views of the column alone (`views.columnsums`)."""

    def least_sure(self, others: Sequence[Weighed]) -> Weighed:
        """The same values, no surer than any of some others."""
        own = replace(self.own, variance=max(one.own.variance for one in (self, *others)))
        return Weighed(self.value, max(one.variance for one in (self, *others)), own)

    def impossible(self, least: float, most: float) -> float:
        """The chance that the value and its noise give to what lies beyond bounds.

        >>> [Weighed(value, 4.0, NOTHING).impossible(0.0, 20.0) for value in (-99.0, 0.0, 10.0)]
        [1.0, 0.5, 5.7...e-07]
        """
        law = NormalDist(self.value, max(math.sqrt(max(self.variance, self.own.variance)), LEAST))
        return law.cdf(least) + 1 - law.cdf(most)


def over(found: Weighed, confidence: float, **ends: float) -> Interval:
    """The answer, with an interval that reaches over those of both readings."""
    own = interval(found.own.value, found.own.variance, confidence, **ends)
    return reaching(interval(found.value, found.variance, confidence, **ends), own)


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
        The release's: starts of fits are derived from it, so that answers are the same each time.
    """

    def __init__(self, spec: TableSpec, evidence: Sequence[Evidence], law: Law, identity: str) -> None:
        self._spec, self._evidence, self._law = spec, evidence, law
        self._seed = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:6], "big")
        self._number = {j: k for k, j in enumerate(spec.counted)}
        self.inferred: dict[tuple[int, int], None] = {}
        """Pairs of columns that were asked about together so far, and that no view shows together."""
        self._readings: list[Reading] | None = None
        self._whole: Mixture | None = None
        self._lock = threading.Lock()

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return self._law

    @property
    def place(self) -> int | None:
        """Where the column stands whose classes have views of their own."""
        return self._spec.place

    @property
    def total(self) -> Estimate:
        """The number of records, by the sums of all views: an exact law, and no model."""
        return sum((Estimate(one.count, one.count_variance) for one in self._evidence), NOTHING)

    @property
    def readings(self) -> list[Reading]:
        """The model of each class."""
        with self._lock:
            if self._readings is None:
                self._readings = [
                    Reading(evidence, self._law, self._seed + number) for number, evidence in enumerate(self._evidence)
                ]
            return self._readings

    @property
    def model(self) -> Mixture:
        """One distribution over the whole table, with all columns of the schema."""
        readings = self.readings
        if self._whole is None:
            models = [reading.model for reading in readings]
            place = self._spec.place
            counts = [evidence.count for evidence in self._evidence]
            self._whole = models[0] if place is None else labelled(models, counts, place)
        return self._whole

    # ---- counts ----

    def of_levels(self, column: int) -> Floats:
        """The variances of the numbers of records at some levels of a column, by the exact law: without a model."""
        if column == self._spec.place:
            return np.array([one.count_variance for one in self._evidence])
        number = self._number[column]
        size = len(self._evidence[0].single(number).counts)
        levels = np.unique(np.linspace(0, size - 1, min(size, SOME)).astype(int))
        ones = np.zeros((len(levels), size))
        ones[np.arange(len(levels)), levels] = 1.0
        each = [ColumnSums(one).sums(number, ones)[1] for one in self._evidence]
        return np.asarray(np.sum(each, axis=0))

    def count(self, asked: Condition) -> Estimate:
        """How many records meet a condition."""
        if all(not product for _, product in asked):  # all of them, or none
            factor = sum(coefficient for coefficient, _ in asked)
            return Estimate(factor * self.total.value, factor**2 * self.total.variance)
        return self._summed(asked)

    def allowed(self, asked: Condition, chance: float) -> tuple[float, float]:
        """Between what a count lies in any table with the published counts, but for a chance that all classes share."""
        each = [
            reading.allowed(mine, chance / len(self.readings))
            for number, reading in enumerate(self.readings)
            if (mine := self._of_class(asked, number))
        ]
        return sum(low for low, _ in each), sum(high for _, high in each) if each else math.inf

    def counted(self, asked: Condition, confidence: float) -> Interval:
        """The same with its interval: as far as words let it reach that may have their own places (`views.ties`), cut
        to what the published counts allow at all. No more are told than there are records, or than of each column's own
        levels that are asked for: these have less noise. The interval stays, and reaches down to that."""
        found, error = self.count(asked), 1 - checks.confidence(confidence)
        least, most = self.allowed(asked, BEYOND * error)
        usual = deviations(confidence) * math.sqrt(found.variance)
        above = max(self.above(asked, error / 2, found.value) - usual, 0.0)
        answer = interval(found.value, found.variance, confidence, least, most, above=above)
        value = min(answer.value, *self._wholes(asked))
        return replace(answer, value=value, low=min(answer.low, value))

    def _wholes(self, asked: Condition) -> Iterator[float]:
        """How many records there are, and of a product of several columns, how many each of them has alone."""
        yield max(self.total.value, 0.0)
        if len(asked) == 1 and asked[0][0] == 1.0 and len(asked[0][1]) > 1:
            for column, weights in asked[0][1].items():
                yield max(self.count([(1.0, {column: weights})]).value, 0.0)

    def nobody(self, asked: Condition, column: int, known: npt.NDArray[np.bool_], confidence: float) -> bool:
        """Whether the number of records that meet a condition is told as 0, or of those at the levels of a column that
        are `known`: then nothing of their values is."""
        some = [asked] if known.all() else [asked, narrowed(asked, column, known.astype(float))]
        return any(self.counted(one, confidence).value < NONE for one in some)

    def above(self, asked: Condition, chance: float, answer: float) -> float:
        """How far above its answer a count may be, but for a chance, as words may have their own places."""
        known = answer if len(self.readings) == len(asked) == 1 else None
        mine = (self._of_class(asked, number) for number in range(len(self.readings)))
        return math.hypot(
            *(reading.above(one, chance, known) for reading, one in zip(self.readings, mine, strict=True))
        )

    def _summed(self, asked: Condition, alike: Condition | None = None) -> Estimate:
        """The sum over all classes. Those whose laws are exact are summed first: only then the model's sum is drawn to
        theirs, as it may be off by as much in each."""
        exact, modelled, others = self._read(asked, alike)
        return nearest(modelled, exact) + others

    def _read(self, asked: Condition, alike: Condition | None = None) -> tuple[Estimate, float, Estimate]:
        """The sum over classes whose laws are exact, by these and by the model; and that over the others."""
        exact = others = NOTHING
        modelled = 0.0
        self.inferred |= dict.fromkeys(self.not_measured(asked))
        for number, reading in enumerate(self.readings):
            mine = self._of_class(asked, number)
            own = reading.exact(mine)
            if own is None:
                weight = None if alike is None else reading.model.share(self._of_class(alike, number))
                others += reading.count(mine, weight)
            else:
                exact, modelled = exact + own, modelled + reading.modelled(mine)
        return exact, modelled, others

    def not_measured(self, asked: Condition, besides: Iterable[int] = ()) -> Iterator[tuple[int, int]]:
        """Pairs of columns that a question joins, with each other or with some `besides`, and no view does."""
        for _, product in asked:
            for pair in itertools.combinations(sorted({*product, *besides} - {self._spec.place}), 2):
                one, two = sorted(self._number[j] for j in pair)
                if any(evidence.pair((one, two)) is None for evidence in self._evidence):
                    yield pair

    def pooled(self, meant: Iterable[tuple[int, Floats]], besides: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """Columns of which levels are meant that pairs count as one with others; and which of all columns that are
        asked about they are measured with."""
        those = [(j, weights) for j, weights in meant if j != self._spec.place]
        asked = sorted({*besides, *(j for j, _ in those)} - {self._spec.place})
        apart = {frozenset(pair) for pair in self.not_measured([(1.0, {})], asked)}
        beside = {j: tuple(k for k in asked if k != j and frozenset((j, k)) not in apart) for j in asked}
        return {j: beside[j] for j, weights in those if beside[j] and is_part(weights, self.group_of(j))}

    def group_of(self, column: int) -> Integers:
        """The group of each level of a column in pairs, which classes have in common."""
        return self._evidence[0].groups[self._number[column]]

    def _of_class(self, asked: Condition, number: int) -> Condition:
        """The same question, to the records of one class."""
        place = self._spec.place
        found = []
        for coefficient, product in asked:
            factor = coefficient
            if place is not None and place in product:
                factor *= float(np.asarray(product[place])[number])
            if factor:
                found.append((factor, {self._number[j]: weights for j, weights in product.items() if j != place}))
        return found

    # ---- sums and means ----

    def sum(self, asked: Condition, column: int, values: Floats) -> Weighed:
        """The sum of a column's values over the records that meet a condition."""
        return self._weighed(asked, column, np.nan_to_num(values))

    def mean(self, asked: Condition, column: int, values: Floats) -> Weighed:
        """The mean of a column's values over the records that meet a condition; levels without a value are left out.

        The model's mean μ₀ comes first. What is left, Σ (value − μ₀) over the records, is a question like any other:
        its answer over the number of records corrects μ₀, and its variance is that of the mean.

        Where the views of the column answer it alone, their interval stands as it is, and the model says where in it
        to look, as far as `FAR`. A few cells far out have most of the noise in such a sum, and the model knows which of
        them are empty (`views.halving`); so means of all records and of groups agree.
        """
        known = np.isfinite(values)
        values = np.where(known, values, 0.0)
        records = self.count(narrowed(asked, column, known.astype(float))).value
        table = self.model.table([column], asked) * known
        if not (records > 0 and table.sum() > 0):
            return Weighed(math.nan, math.inf, Estimate(math.nan, math.inf))
        first = float(table @ values / table.sum())
        rest = self._weighed(asked, column, np.where(known, values - first, 0.0))
        own = Estimate(first + rest.own.value / records, rest.own.variance / records**2)
        return Weighed(first + rest.value / records, rest.variance / records**2, own)

    def _weighed(self, asked: Condition, column: int, values: Floats) -> Weighed:
        scale = float(np.abs(values).max(initial=0.0)) or 1.0
        weighed = narrowed(asked, column, values / scale)
        exact, modelled, others = self._read(weighed, squared(weighed))
        alone = self._alone(weighed, column)
        if alone and self._is_line(column):
            reach = FAR * math.sqrt(exact.variance)
            value = min(max(modelled, exact.value - reach), exact.value + reach) + others.value
            own = exact + others
            return Weighed(scale * value, 0.0, Estimate(scale * own.value, scale**2 * own.variance))
        found = nearest(modelled, exact) + others
        value, variance = scale * found.value, scale**2 * found.variance
        if alone:
            return Weighed(value, variance, Estimate(value, variance))
        (own,), (of_own,) = self.column_sums(asked, column, values[None])
        return Weighed(value, variance, Estimate(float(own), float(of_own)))

    def _alone(self, asked: Condition, column: int) -> bool:
        """Whether a question has one reading only: the views of the column answer it, or it is the one of the classes,
        which have no other views."""
        place = self._spec.place
        return column == place or all(j in (column, place) for _, product in asked for j in product)

    def _is_line(self, column: int) -> bool:
        return column != self._spec.place and list(self._spec.schema.values())[column].ordered

    def column_sums(self, asked: Condition, column: int, values: Floats) -> tuple[Floats, Floats]:
        """Sums over the records that meet a condition, and their variances, by the views of the column alone; one for
        each row of `values`."""
        each = [
            reading.column_sums(self._of_class(asked, number), self._number[column], values)
            for number, reading in enumerate(self.readings)
        ]
        return np.sum([sums for sums, _ in each], axis=0), np.sum([variances for _, variances in each], axis=0)
