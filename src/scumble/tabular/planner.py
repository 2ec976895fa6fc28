"""What to publish next of a table: the count first, then single columns, then pairs, each by what is public by then.

The number of records, with its noise, decides how much goes to single columns and how much to pairs, and whether all
pairs are published, a few that are chosen, or none (`views.budgeting`). The noisy single columns decide which levels
the pairs tell apart (`views.grouping`). Where pairs are chosen, a model of all that is published so far says what each
pair should look like, and the pair that is farthest from it is asked for next (McKenna, Mullins, Sheldon & Miklau 2022,
"AIM"): the secret sketch has all pairs, so nothing is counted again.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.machine.onethread import one_thread
from scumble.privacy.budget import Budget
from scumble.releasing.adaptive import Contest, Wanted
from scumble.releasing.steps import PublishedRow, PublishedRows
from scumble.tabular.evidence import Grouped
from scumble.tabular.spec import TableSpec
from scumble.views import budgeting
from scumble.views.budgeting import CHOOSING, Choice, Noise, Plan
from scumble.views.evidence import Evidence
from scumble.views.fitting import fitted
from scumble.views.grouping import Column, groups
from scumble.views.mixture import Mixture

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

DEFAULT_RECORDS = 100_000
"""What a plan reckons with, if no count is published and nobody says how many there are."""
MOST_RECORDS = 2**53
"""Up to here float64 tells whole numbers apart, and what a contest adds up stays below 2**61."""
RARE = 0.01
"""Classes that hold less than this of the records do not decide how fine the views are."""


class Foretold(NamedTuple):
    """What a plan comes to, before anything is counted."""

    plan: Plan
    singles: tuple[float, ...]
    """The standard deviation of the noise on a counter, for each view of one column."""
    pairs: tuple[float, ...]
    """The same for each pair that is published."""
    levels: tuple[float, ...]
    """The standard error of the records at a level of each column, by all views that tell of it."""
    cells: int
    """Counters of all pairs together."""


class Planner:
    """A plan for `publish_as_planned`.

    Parameters
    ----------
    spec : TableSpec
        The views that were counted.
    budget : Budget
        What all of them may cost.
    n : int, optional
        How many records there are, if that is public.
    """

    def __init__(self, spec: TableSpec, budget: Budget, n: int | None = None) -> None:
        self.spec, self._n = spec, None if n is None else checks.whole("n", n, 1, MOST_RECORDS)
        self.noise = alone(budget, spec.rows)
        self.most = max(1, math.floor(1 / self._largest()))
        """No view gets more than one part in so many."""
        self._plan: Plan | None = None
        self.grouped = Grouped(spec, tuple(np.arange(int(axis.max()) + 1) for axis in spec.axes), ())
        self._known: dict[int, Integers] = {}

    def foretold(self, n: float) -> Foretold:
        """What would come of so many records."""
        spec = self.spec
        plan = self._planned(max(n, 1.0) / spec.classes)
        if not spec.pairs:  # nothing to plan: all rows alike
            singles = (self.noise.deviation_at(1 / spec.rows),) * spec.rows
            return Foretold(plan, singles, (), self._of_levels(singles, {}), 0)
        alone = self._shares(self._singles(plan.singles), plan.singles)
        axes = [min(plan.levels, int(axis.max()) + 1) for axis in spec.axes]
        cells = [axes[a] * axes[b] for a, b in spec.pairs]
        pairs = list[Fraction]()
        if plan.choice == "all pairs":
            pairs = self._shares(self.noise.shares(cells), plan.pairs)
        elif plan.choice == "adaptive":
            pairs = [self._round(plan) * (1 - CHOOSING)] * plan.rounds
        singles, together = (tuple(self.noise.deviation_at(float(one)) for one in shares) for shares in (alone, pairs))
        most = sum(sorted(cells, reverse=True)[: len(pairs)])
        levels = self._of_levels(singles, self._beside(axes, together) if pairs else {})
        return Foretold(plan, singles, together, levels, most * spec.classes)

    def _beside(self, axes: list[int], pairs: tuple[float, ...]) -> dict[int, tuple[int, float]]:
        """For each column how many groups pairs see of it, and how surely they tell a group: the inverse variance.

        A pair tells a group by the sum of its cells. Which pairs are chosen nobody knows yet: each is, by its chance.
        """
        spec = self.spec
        chance = len(pairs) / len(spec.pairs)
        each = pairs if chance == 1.0 else (max(pairs, default=math.inf),) * len(spec.pairs)
        found = dict.fromkeys({j for pair in spec.pairs for j in pair}, 0.0)
        for (a, b), deviation in zip(spec.pairs, each, strict=True):
            found[a] += chance / (axes[b] * deviation**2)
            found[b] += chance / (axes[a] * deviation**2)
        return {column: (axes[column], told) for column, told in found.items()}

    def _of_levels(self, singles: tuple[float, ...], beside: Mapping[int, tuple[int, float]]) -> tuple[float, ...]:
        """The standard error of a level: by its own counter, and by its group's sum in pairs."""
        found = []
        counted = self.spec.counted
        for column, deviation in zip(counted, singles[-len(counted) :], strict=True):
            size, variance = self.spec.schema.sizes[column], deviation**2
            groups, told = beside.get(column, (size, 0.0))
            levels = size / groups
            group = 1.0 / (1.0 / (levels * variance) + told)
            one = variance * (1.0 - 1.0 / levels) + group / levels**2
            found.append(math.sqrt(one * self.spec.classes))
        return tuple(found)

    def columns_of_all_pairs(self, n: float) -> int:
        """How many columns could be told with all their pairs."""
        columns = len(self.spec.counted)
        while columns > 1:
            plan = budgeting.plan(max(n, 1.0) / self.spec.classes, columns, self.noise, cells=self._cells)
            if plan.choice == "all pairs" or plan.rounds == math.comb(columns, 2):
                break
            columns -= 1
        return columns

    def __call__(self, found: PublishedRows, winners: tuple[int, ...]) -> Mapping[int, Wanted] | Contest:
        """What comes next."""
        spec = self.spec
        if not found.rows:
            records = self._n or found.noisy_count or DEFAULT_RECORDS
            self._plan = self._planned(max(records, 1) / spec.classes)
            return self._wanted(range(spec.singles), self._singles(self._plan.singles), self._plan.singles)
        plan = self._plan
        assert plan is not None
        if len(found.rows) == spec.singles and not winners:
            plan = self._plan = self._again(found, plan)
            self.grouped = grouped_by(spec, found, plan.levels)
        if plan.choice == "all pairs":
            if len(found.rows) > spec.singles:
                return {}
            cells = [math.prod(self.grouped.sizes[j] for j in pair) for pair in spec.pairs]
            self.grouped = replace(self.grouped, pairs=spec.pairs)
            rows = range(spec.singles, spec.rows)
            return self._wanted(rows, self.noise.shares(cells), plan.pairs)
        if plan.choice == "adaptive":
            return self._adaptive(found, winners, plan)
        return {}

    def _again(self, found: PublishedRows, plan: Plan) -> Plan:
        """The same, now that classes are known; what single columns have got, they have."""
        if plan.choice == "singles":
            return plan
        again = self._planned(records_of(self.spec, found))
        if again.choice == "singles":  # no pair tells anything, but they are paid for: the fewest that noise allows
            few: Choice = "adaptive" if self.noise.law == "laplace" else "all pairs"
            again = replace(again, choice=few, rounds=min(plan.rounds, len(self.spec.counted)), levels=2)
        rounds = min(max(again.rounds, budgeting.spending(plan.pairs, self.most)), len(self.spec.pairs))
        return replace(again, singles=plan.singles, pairs=plan.pairs, rounds=rounds)

    def _planned(self, records: float) -> Plan:
        """The plan for so many records in a set of views."""
        return budgeting.plan(records, len(self.spec.counted), self.noise, self.most, self._cells)

    @property
    def _cells(self) -> float:
        """How many cells a pair has in the mean, of columns whose levels are told apart as finely as could pay."""
        levels = [min(float(axis.max()) + 1.0, budgeting.FINE) for axis in self.spec.axes]
        return float(np.mean([levels[a] * levels[b] for a, b in self.spec.pairs])) if self.spec.pairs else 1.0

    # ---- adaptive choice ----

    def _adaptive(self, found: PublishedRows, winners: tuple[int, ...], plan: Plan) -> Mapping[int, Wanted] | Contest:
        spec = self.spec
        done = {row.row for row in found.rows}
        share = self._round(plan)
        if winners and winners[-1] not in done:
            pair = self._pair(winners[-1])
            self.grouped = replace(self.grouped, pairs=tuple(sorted((*self.grouped.pairs, pair))))
            return {winners[-1]: Wanted(share * (1 - CHOOSING), self._cells_of(winners[-1]))}
        if len(winners) >= plan.rounds or len(done) == spec.rows:
            return {}
        left = [row for row in range(spec.singles, spec.rows) if row not in done]
        evidence = evidence_of(self.grouped, found)
        with one_thread():
            models = [fitted(one, len(winners)) for one in evidence]
            expected = self._expected(left, models, evidence)
        deviation = self.noise.deviation_at(float(share * (1 - CHOOSING)))
        cells = {row: self._cells_of(row) for row in left}
        handicaps = {row: round(math.sqrt(2 / math.pi) * deviation * len(expected[row])) for row in left}
        return Contest(share * CHOOSING, cells, expected, handicaps)

    def _cells_of(self, row: int) -> Integers:
        """The groups of a pair's cells: the same in all rounds."""
        if row not in self._known:
            self._known[row] = self.grouped.cells(self._pair(row))
        return self._known[row]

    def _expected(
        self, rows: Sequence[int], models: Sequence[Mixture], evidence: Sequence[Evidence]
    ) -> dict[int, Integers]:
        """The cells of some pairs, by the model: whole numbers, class by class.

        All pairs that a column comes first in are one product: its groups beside all others'.
        """
        number, each = {j: k for k, j in enumerate(self.spec.counted)}, dict[int, list[Integers]]()
        places = {row: tuple(number[j] for j in self._pair(row)) for row in rows}
        for model, one in zip(models, evidence, strict=True):
            groups = [
                table @ np.eye(size)[of] for table, size, of in zip(model.columns, one.sizes, one.groups, strict=True)
            ]
            ends = np.cumsum([0, *one.sizes])
            beside = np.hstack(groups) * (one.count * model.weights)[:, None]
            for first, those in itertools.groupby(sorted(rows, key=places.__getitem__), lambda row: places[row][0]):
                together = np.rint(groups[first].T @ beside).astype(np.int64)
                for row in those:
                    second = places[row][1]
                    each.setdefault(row, []).append(together[:, ends[second] : ends[second + 1]].ravel())
        return {row: parts[0] if len(parts) == 1 else np.concatenate(parts) for row, parts in each.items()}

    # ---- shares ----

    def _singles(self, share: float) -> Floats:
        lengths = [length // self.spec.classes for length in self.spec.lengths[: self.spec.singles]]
        return self.noise.shares(lengths, share)

    def _largest(self) -> float:
        """The largest share of a view in any plan: of a column where nothing else is published, or of a pair."""
        pairs = len(self.spec.pairs)
        fair = 2 * (1 - budgeting.SINGLES_SHARE) / pairs if pairs else 0.0
        return min(1.0, max(float(self._singles(1.0).max()), fair))

    def _round(self, plan: Plan) -> Fraction:
        """What choosing a pair and publishing it take together."""
        return min(_rounded(Fraction(plan.pairs) / plan.rounds), Fraction(1, self.most))

    def _shares(self, weights: Floats, total: float) -> list[Fraction]:
        """Shares of `total` in proportion to weights, which are made powers of √2: few scales, a short file.

        Views that would have more than a view may have get just that, and the others divide what is left. The sums are
        exact: what is planned can be paid.
        """
        steps = [round(2 * math.log2(weight)) for weight in weights]
        views, largest = Counter(steps), Fraction(1, self.most)
        weight = {step: Fraction(2.0 ** (step / 2)) for step in views}
        left, whole = Fraction(total), sum(weight[step] * views[step] for step in views)
        shares = dict[int, Fraction]()
        for step in sorted(views, reverse=True):
            shares[step] = min(_rounded(left * weight[step] / whole), largest)
            if shares[step] == largest:
                left, whole = left - views[step] * largest, whole - views[step] * weight[step]
        return [shares[step] for step in steps]

    def _wanted(self, rows: Sequence[int], weights: Floats, total: float) -> dict[int, Wanted]:
        of = {row: None if row < self.spec.singles else self.grouped.cells(self._pair(row)) for row in rows}
        return {row: Wanted(share, of[row]) for row, share in zip(rows, self._shares(weights, total), strict=True)}

    def _pair(self, row: int) -> tuple[int, int]:
        return self.spec.pairs[row - self.spec.singles]


def alone(budget: Budget, rows: int) -> Noise:
    """The budget as one view alone would have it, with noise of the law that so many rows get."""
    law = budget.calibrate(rows).law  # as the release will take it, count and all
    calibration = replace(budget, count_share=0).calibrate(rows, mechanism=law.name)
    scale = float(calibration.counter_scale)
    if calibration.law.pure:
        return Noise("laplace", scale / rows)
    return Noise("gaussian", scale / math.sqrt(rows))


def grouped_by(spec: TableSpec, public: PublishedRows, most: int) -> Grouped:
    """The groups of levels that pairs bear, by the noisy single columns."""
    counts = {row.row: row.counts.astype(float) for row in public.rows}
    first = spec.singles - len(spec.counted)
    found = [np.zeros(int(axis.max()) + 1, np.int64) for axis in spec.axes]
    for number, j in enumerate(spec.counted):
        column, axis = list(spec.schema.values())[j], spec.axes[j]
        size = int(axis.max()) + 1
        own = counts[first + number].reshape(spec.classes, -1).sum(axis=0)
        line = size - column.missing if column.ordered else 0
        found[j] = groups(Column(size, ordered=line), np.bincount(axis, own).astype(float), max(most, 2))
    return Grouped(spec, tuple(found), ())


def records_of(spec: TableSpec, public: PublishedRows) -> float:
    """About how many records a set of views has."""
    if spec.place is not None:
        each = public.rows[0].counts.astype(float)
        often = each[each > RARE * each.sum()]
        return max(float(often.mean()), 0.0) if len(often) else 0.0
    if public.noisy_count is not None:
        return max(float(public.noisy_count), 0.0)
    return max(float(np.median([row.counts.sum() for row in public.rows])), 0.0)


def evidence_of(grouped: Grouped, public: PublishedRows) -> list[Evidence]:
    """What is published so far, as models take it."""
    rows: tuple[PublishedRow, ...] = public.rows
    count = None if public.noisy_count is None else (float(public.noisy_count), public.count_variance)
    return grouped.evidence(np.concatenate([row.counts for row in rows]), [row.variance for row in rows], count)


def _rounded(share: Fraction) -> Fraction:
    """Rounded down: shares add up to no more than they were meant to."""
    return Fraction(math.floor(share * 2**40), 2**40)
