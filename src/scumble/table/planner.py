"""What to publish next of a table: the count first, then single columns, then pairs, each by what is public by then.

The number of records, with its noise, decides how much goes to single columns and how much to pairs, and whether all
pairs are published, a few that are chosen, or none (`table.budgeting`). The noisy single columns decide which levels
the pairs tell apart (`table.grouping`). Where pairs are chosen, a model of all that is published so far says what each
pair should look like, and the pair that is farthest from it is asked for next (McKenna, Mullins, Sheldon & Miklau 2022,
"AIM"): the secret sketch has all pairs, so nothing is counted again. Triples are chosen in the same way, after pairs.

What the curator has named, sets of columns (`together`) and columns or pairs that are `important`, is always published,
and has a part of the budget for itself.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.gate.rows import NONE, Contest, PublishedRows, Wanted, shares_touched
from scumble.privacy.budget import Budget, worst_case
from scumble.table import budgeting
from scumble.table.budgeting import Choice, Noise, Plan
from scumble.table.evidence import Evidence, Grouped
from scumble.table.evidence import cells as cells_of
from scumble.table.fitting import fitted, one_thread
from scumble.table.grouping import Column, groups, in_order
from scumble.table.mixture import Mixture
from scumble.table.prior import CHOOSING, EXTRA, FAVORED, LEVELS, SINGLES
from scumble.table.spec import TableSpec

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

DEFAULT_RECORDS = 100_000
"""What a plan reckons with, if no count is published and nobody says how many there are."""
MOST_RECORDS = 2**53
"""Up to here float64 tells whole numbers apart, and what a contest adds up stays below 2**61."""


class Predicted(NamedTuple):
    """What a plan comes to, before anything is counted."""

    plan: Plan
    singles: tuple[float, ...]
    """The standard deviation of the noise on a counter, for each view of one column."""
    pairs: tuple[float, ...]
    """The same for each pair that is published."""
    levels: tuple[float, ...]
    """The standard error of the records at a level of each column, by all views that tell of it."""


class Planner:
    """A plan for `publish_as_planned`: the views that were counted, what all of them may cost, and how many records
    there are, if that is public. No view gets more than one part in `most` of the budget."""

    def __init__(self, spec: TableSpec, budget: Budget, n: int | None = None, most: int | None = None) -> None:
        self.spec, self._n = spec, None if n is None else checks.whole("n", n, 1, MOST_RECORDS)
        self.noise = alone(budget, spec.rows)
        named, pairs = {*spec.together, *spec.important}, {*spec.pairs}
        self.favored = (
            *((j,) for j in spec.counted if (j,) in named),
            *(own for own in spec.sets if own in named or (own in pairs and any((j,) in named for j in own))),
        )
        """What has a part of the budget for itself: named sets, important pairs, important columns and their pairs."""
        self.most = math.floor(1 / self._largest()) if most is None else most
        """No view gets more than one part in so many."""
        self._plan: Plan | None = None
        self.grouped = Grouped(spec, tuple(map(np.arange, spec.widths)), ())
        self._known: dict[int, Integers] = {}
        self._coarse: dict[int, Integers] = {}
        self._asked: Contest | None = None

    def predicted(self, n: float) -> Predicted:
        """What would come of so many records."""
        spec = self.spec
        plan = self._planned(max(n, 1.0) / spec.classes)
        if not spec.pairs:  # nothing to plan
            equal = with_positions(spec, np.ones(spec.singles - len(spec.placed) - len(spec.sketched)))
            singles = tuple(map(self.noise.deviation_at, equal))
            return Predicted(plan, singles, (), self._of_levels(singles, {}))
        most = self._levels_of(max(n, 1.0) / spec.classes, plan)
        axes = [min(levels, width) for levels, width in zip(most, spec.widths, strict=True)]
        favored: dict[tuple[int, ...], Fraction]
        favored = {own: one for own, one in self._of_favored().items() if len(own) == 2}
        if plan.choice == "all pairs":
            pairs = [*self._of_all_pairs(axes, plan, favored).values()]
        else:
            pairs = [*([self._round(plan) * (1 - CHOOSING)] * plan.rounds if plan.rounds else []), *favored.values()]
        alone = self._shares(self._singles(plan.singles), plan.singles)
        singles, together = (tuple(self.noise.deviation_at(float(one)) for one in shares) for shares in (alone, pairs))
        return Predicted(
            plan, singles, together, self._of_levels(singles, self._beside(axes, together) if pairs else {})
        )

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

    def __call__(self, found: PublishedRows, winners: tuple[int, ...]) -> Mapping[int, Wanted] | Contest:
        """What comes next."""
        spec = self.spec
        if not found.rows:
            known = found.noisy_count if self._n is None else self._n
            self._plan = self._planned((DEFAULT_RECORDS if known is None else max(known, 1)) / spec.classes)
            return self._wanted_singles(self._plan)
        plan = self._plan
        assert plan is not None
        done = {row.row for row in found.rows}
        if len(done) == spec.singles + len(spec.touches) and not winners:
            plan = self._plan = self._again(found, plan)
            if step := self._first_sets(found, plan):
                return step
        if winners and winners[-1] != NONE and winners[-1] not in done:
            return self._won(winners[-1], plan)
        triples = self._row(len(spec.pairs) + len(spec.together))
        of_pairs = [row for row in winners if 0 <= row < triples]
        if plan.choice == "adaptive" and len(of_pairs) < plan.rounds and len(of_pairs) == len(winners):
            left = [row for row in range(spec.singles, self._row(len(spec.pairs))) if row not in done]
            if left:
                return self._contest_of_pairs(found, left, plan, len(winners))
        if plan.triples and NONE not in winners and len(winners) - len(of_pairs) < plan.triple_rounds:
            left = [row for row in range(triples, len(spec.views)) if row not in done]
            if left:
                return self._contest_of_triples(found, left, plan, len(winners))
        return {}

    def _first_sets(self, found: PublishedRows, plan: Plan) -> Mapping[int, Wanted]:
        """After single columns: what is favored, and all other pairs if all are published.

        Pairs tell apart whatever larger sets do: then each cell of these is a sum of the model's.
        """
        spec, records = self.spec, records_of(self.spec, found)
        shares = {own: share for own, share in self._of_favored().items() if len(own) > 1}
        larger = {
            own: self._maps(found, own, records / self.noise.deviation_at(float(share)))
            for own, share in shares.items()
            if len(own) > 2
        }
        apart: dict[int, list[Integers]] = {j: [] for j in spec.counted}
        for own, maps in larger.items():
            for j, group, axis in zip(own, maps, spec.axes_of(own), strict=True):
                apart[j].append(group[axis])
        if plan.triples:
            share = float(self._triple_round(plan) * (1 - CHOOSING))
            cells = budgeting.cells_of_triples(records, self.noise.deviation_at(share))
            for j in {j for own in spec.triples for j in own}:
                axis = spec.axis_of(j, LEVELS)
                self._coarse[j] = groups_of(spec, found, j, axis, int(cells ** (1 / 3) + 1e-9))
                apart[j].append(self._coarse[j][axis])
        self.grouped = grouped_by(spec, found, self._levels_of(records, plan), apart)
        pairs = [own for own in spec.pairs if own in shares or plan.choice == "all pairs"]
        self.grouped = replace(self.grouped, pairs=tuple(pairs), larger=larger)
        if plan.choice == "all pairs":
            few = enumerate(zip(self.grouped.sizes, self._axes(plan.levels), strict=True))
            sizes = [axis if j in spec.schema.derived else size for j, (size, axis) in few]
            shares |= self._of_all_pairs(sizes, plan, shares)
        place = {own: self._row(k) for k, own in enumerate(spec.sets)}
        return {place[own]: Wanted(share, self.grouped.cells(own)) for own, share in shares.items()}

    def _won(self, row: int, plan: Plan) -> Mapping[int, Wanted]:
        """The winner of a contest is published."""
        own = self._set(row)
        if len(own) == 2:
            self.grouped = replace(self.grouped, pairs=tuple(sorted((*self.grouped.pairs, own))))
            return {row: Wanted(self._round(plan) * (1 - CHOOSING), self._cells_of(row))}
        self.grouped = replace(self.grouped, larger={**self.grouped.larger, own: tuple(self._coarse[j] for j in own)})
        return {row: Wanted(self._triple_round(plan) * (1 - CHOOSING), self.grouped.cells(own))}

    def _again(self, found: PublishedRows, plan: Plan) -> Plan:
        """The same, now that classes are known; what single columns have got, they have."""
        if plan.choice == "singles":
            return plan
        again = self._planned(records_of(self.spec, found))
        if again.choice == "singles":  # no pair tells anything, but they are paid for: the fewest that noise allows
            few: Choice = "adaptive" if self.noise.law == "laplace" else "all pairs"
            again = replace(again, choice=few, rounds=min(plan.rounds, len(self.spec.counted)), levels=2)
        triples = min(again.triples, plan.triples)
        pairs = plan.pairs + plan.triples - triples
        rounds = min(max(again.rounds, math.ceil(pairs * self.most)), len(self.spec.pairs))
        return replace(again, singles=plan.singles, pairs=pairs, rounds=rounds, triples=triples)

    def _planned(self, records: float) -> Plan:
        """The plan for so many records in a set of views."""
        spec, columns = self.spec, len(self.spec.counted)
        apart = share_of_distinct(spec) * len(spec.sketched) + share_of_tokens(spec) * len(spec.touches)
        rest = 1.0 - float((FAVORED if self.favored else 0) + apart)
        most, triples = budgeting.for_triples(records, len(spec.triples), self.noise)
        for share in (most, 0.0):
            common = budgeting.Noise(self.noise.law, self.noise.scale_at(rest - share))
            plan = budgeting.plan(records, columns, common, self.most * (rest - share), self._cells)
            if plan.choice != "singles" or not share:
                break
        if plan.choice != "singles" and spec.schema.derived:
            axes = self._axes(plan.levels)
            own = [pair for one in self._families.values() for pair in itertools.combinations(one, 2)]
            freed = sum(self.noise.weight(axes[a] * axes[b]) for a, b in own)
            part = plan.pairs * freed / (freed + float(self._weights(spec.pairs, axes).sum()))
            plan = replace(plan, singles=plan.singles + part, pairs=plan.pairs - part)
        singles, pairs = plan.singles * (rest - share), plan.pairs * (rest - share)
        return replace(plan, singles=singles, pairs=pairs, triples=share, triple_rounds=triples)

    @property
    def _cells(self) -> float:
        """How many cells a pair has in the mean, of columns whose levels are as fine as could pay."""
        levels = [min(width, LEVELS) for width in self.spec.widths]
        return float(np.mean([levels[a] * levels[b] for a, b in self.spec.pairs])) if self.spec.pairs else 1.0

    def _levels_of(self, records: float, plan: Plan) -> list[int]:
        """How many levels pairs tell apart, of each column of the schema: those that are important bear more."""
        spec = self.spec
        found, columns = [plan.levels] * len(spec.schema), list(spec.schema.values())
        for own, share in self._of_favored().items():
            if len(own) != 2:
                continue
            cells = max(records, 0.0) / self.noise.deviation_at(float(share))
            sizes = [spec.widths[j] for j in own]
            for j, size, other in zip(own, sizes, reversed(sizes), strict=True):
                beside = min(other, LEVELS) if not columns[j].ordered else max(min(other, math.sqrt(cells)), 1)
                found[j] = max(found[j], min(size, int(cells / beside)))
        return found

    def _maps(self, found: PublishedRows, own: tuple[int, ...], cells: float) -> tuple[Integers, ...]:
        """Groups of the levels of a named set, so that it has at most so many cells, as equal parts as can be."""
        axes = self.spec.axes_of(own)
        sizes = [int(axis.max()) + 1 for axis in axes]
        fitting = (m for m in range(max(sizes), 2, -1) if math.prod(min(m, size) for size in sizes) <= cells)
        most = next(fitting, 2)
        return tuple(groups_of(self.spec, found, j, axis, most) for j, axis in zip(own, axes, strict=True))

    # ---- adaptive choice ----

    def _contest_of_pairs(self, found: PublishedRows, left: list[int], plan: Plan, seed: int) -> Contest:
        models, evidence = self._fitted(found, seed)
        with one_thread():
            expected = self._expected(left, models, evidence)
        return self._contest(self._round(plan), {row: self._cells_of(row) for row in left}, expected)

    def _contest_of_triples(self, found: PublishedRows, left: list[int], plan: Plan, seed: int) -> Contest:
        """Which triple is farthest from the model, by more than noise would be; or none.

        A triple is measured in few cells: all their noise together is a part of the records (`budgeting.for_triples`).
        """
        if self._asked is None:  # the model of the first contest serves all
            models, evidence = self._fitted(found, seed)
            number, axes = {j: k for k, j in enumerate(self.spec.counted)}, {}
            for j, of in self._coarse.items():
                onto = np.eye(int(of.max()) + 1)[of[self.spec.axis_of(j, LEVELS)]]
                axes[j] = [model.columns[number[j]] @ onto for model in models]
            cells, expected = dict[int, Integers](), dict[int, Integers]()
            for row in left:
                own = self._set(row)
                each = [
                    np.einsum("k,ka,kb,kc->abc", one.count * model.weights, *(axes[j][k] for j in own), optimize=True)
                    for k, (model, one) in enumerate(zip(models, evidence, strict=True))
                ]
                expected[row] = np.rint(np.stack(each)).astype(np.int64).ravel()
                cells[row] = cells_of(self.spec.classes, [self._coarse[j] for j in own])
            self._asked = self._contest(self._triple_round(plan), cells, expected)._replace(or_none=True)
        groups, expected = ({row: of[row] for row in left} for of in (self._asked.groups, self._asked.expected))
        return self._asked._replace(groups=groups, expected=expected)

    def _contest(self, share: Fraction, cells: dict[int, Integers], expected: dict[int, Integers]) -> Contest:
        """With handicaps: the distances that noise alone would make. E|noise| is about √(2/π) deviations."""
        deviation = self.noise.deviation_at(float(share * (1 - CHOOSING)))
        handicaps = {row: round(math.sqrt(2 / math.pi) * deviation * len(own)) for row, own in expected.items()}
        return Contest(share * CHOOSING, cells, expected, handicaps)

    def _fitted(self, found: PublishedRows, seed: int) -> tuple[list[Mixture], list[Evidence]]:
        count = None if found.noisy_count is None else (float(found.noisy_count), found.count_variance)
        counts = np.concatenate([row.counts for row in found.rows])
        evidence = self.grouped.evidence(counts, [row.variance for row in found.rows], count)
        with one_thread():
            return [fitted(one, seed) for one in evidence], evidence

    def _cells_of(self, row: int) -> Integers:
        """The groups of a pair's cells: the same in all rounds."""
        if row not in self._known:
            self._known[row] = self.grouped.cells(self._set(row))
        return self._known[row]

    def _expected(
        self, rows: Sequence[int], models: Sequence[Mixture], evidence: Sequence[Evidence]
    ) -> dict[int, Integers]:
        """The cells of some pairs, by the model: whole numbers, class by class."""
        places = {row: [self.spec.counted.index(j) for j in self._set(row)] for row in rows}
        found: dict[int, list[Integers]] = {row: [] for row in rows}
        for model, one in zip(models, evidence, strict=True):
            groups = [
                table @ np.eye(size)[of] for table, size, of in zip(model.columns, one.sizes, one.groups, strict=True)
            ]
            weighed = [table.T * (one.count * model.weights) for table in groups]
            for row, (first, second) in places.items():
                found[row].append(np.rint(weighed[first] @ groups[second]).astype(np.int64).ravel())
        return {row: np.concatenate(each) for row, each in found.items()}

    # ---- shares ----

    def _singles(self, share: float) -> Floats:
        alone = [*[()] * (self.spec.place is not None), *((j,) for j in self.spec.counted)]
        return share * with_positions(self.spec, self._weights(alone, self.spec.schema.sizes))

    @cached_property
    def _families(self) -> dict[int, list[int]]:
        """Each column that is counted, and those that follow from it."""
        derived = self.spec.schema.derived
        return {j: [j, *(k for k, one in derived.items() if one.root == j)] for j in self.spec.counted}

    def _axes(self, levels: int) -> list[int]:
        """How many groups each column has in pairs, at most."""
        return [min(levels, width) for width in self.spec.widths]

    def _weights(self, views: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> Floats:
        """How views divide their share, by the sizes of columns: each has what views of the columns that follow from
        its own would have, too."""
        found = []
        for view in views:
            each = itertools.product(*(self._families[j] for j in view))
            found.append(sum(self.noise.weight(self.spec.classes * math.prod(sizes[j] for j in own)) for own in each))
        return np.array(found)

    def _largest(self) -> float:
        """The largest share of a view in any plan: of a column where nothing else is published, of a pair, or of what
        is favored."""
        pairs = len(self.spec.pairs)
        fair = 2 * (1 - SINGLES["all pairs"]) / pairs if pairs else 0.0
        alone = float(self._singles(1.0).max())
        favored = float(FAVORED) * (1 + max(alone, fair)) if self.favored else 0.0
        triples = float(EXTRA) if self.spec.triples else 0.0
        others = max(share_of_distinct(self.spec), share_of_tokens(self.spec))
        return min(1.0, max(alone, fair, favored, triples, float(others)))

    def _of_all_pairs(
        self, sizes: Sequence[int], plan: Plan, favored: Mapping[tuple[int, ...], Fraction]
    ) -> dict[tuple[int, ...], Fraction]:
        """The share of each pair if all are published; those that are favored have theirs above it."""
        each = zip(self.spec.pairs, self._shares(self._weights(self.spec.pairs, sizes), plan.pairs), strict=True)
        return {own: min(share + favored.get(own, 0), Fraction(1, self.most)) for own, share in each}

    def _round(self, plan: Plan) -> Fraction:
        """What choosing a pair and publishing it take together."""
        return min(_rounded(Fraction(plan.pairs) / plan.rounds), Fraction(1, self.most))

    def _triple_round(self, plan: Plan) -> Fraction:
        """What choosing a triple and publishing it take together."""
        return _rounded(Fraction(plan.triples) / plan.triple_rounds)

    def _of_favored(self) -> dict[tuple[int, ...], Fraction]:
        """The shares of what is favored: known before anything is published."""
        if not self.favored:
            return {}
        sizes = self.spec.schema.sizes
        cells = [math.prod(min(sizes[j], LEVELS if len(own) > 1 else sizes[j]) for j in own) for own in self.favored]
        shares = self._shares(self.noise.shares(cells), float(FAVORED))
        return dict(zip(self.favored, shares, strict=True))

    def _wanted_singles(self, plan: Plan) -> dict[int, Wanted]:
        spec = self.spec
        shares = self._shares(self._singles(plan.singles), plan.singles)
        more = self._of_favored()
        first = len(shares) - len(spec.counted)
        for k, j in enumerate(spec.counted):
            shares[first + k] = min(shares[first + k] + more.get((j,), 0), Fraction(1, self.most))
        shares[first:first] = [share_of_distinct(spec)] * len(spec.sketched)
        tokens = dict.fromkeys(spec.touches, Wanted(share_of_tokens(spec)))
        return {row: Wanted(share) for row, share in enumerate(shares)} | tokens

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

    def _row(self, number: int) -> int:
        return self.spec.singles + number

    def _set(self, row: int) -> tuple[int, ...]:
        return self.spec.sets[row - self.spec.singles]


def with_positions(spec: TableSpec, weights: npt.ArrayLike) -> Floats:
    """The parts of the rows before the pairs, which sum to one, by the weights of those that are cross-tables.

    Distinct values, whose share is fixed, are not among them.
    """
    own = np.asarray(weights, float)
    first = int(spec.place is not None)
    # An eighth of the weight is worth 8^(−2/3) of the share.
    placed = [float(EXTRA) / 4**digit * own[first + spec.counted.index(j)] for j, digit in spec.placed]
    found = np.concatenate([own[:first], placed, own[first:]])
    return np.asarray(found / found.sum())


def share_of_distinct(spec: TableSpec) -> Fraction:
    """What each count of distinct values gets of the budget; a float has all of these parts exactly."""
    return _rounded(min(2 * EXTRA, FAVORED / max(len(spec.sketched), 1))) if spec.sketched else Fraction(0)


def share_of_tokens(spec: TableSpec) -> Fraction:
    """What each row of tokens gets of the budget: all of them what their columns would have next to the others."""
    columns = len(spec.schema.tokens)
    whole = min(Fraction(columns, columns + len(spec.counted)), FAVORED)
    return _rounded(whole / len(spec.touches)) if columns else Fraction(0)


def alone(budget: Budget, rows: int) -> Noise:
    """The budget as one view alone would have it, with noise of the law that so many rows get."""
    law = budget.claim(rows).law  # as the release will take it, count and all
    calibration = replace(budget, count_share=0).claim(rows, mechanism=law.name)
    scale = float(calibration.scales.counters)
    if calibration.law.pure:
        return Noise("laplace", scale / rows)
    return Noise("gaussian", scale / math.sqrt(rows))


def grouped_by(
    spec: TableSpec, public: PublishedRows, most: Sequence[int], apart: Mapping[int, Sequence[Integers]]
) -> Grouped:
    """The groups of levels that pairs bear, about so many of each column, by the noisy single columns.

    `apart`: for each column how larger sets group its levels; levels that these tell apart are in different groups.
    """
    found = [np.zeros(width, np.int64) for width in spec.widths]
    for j in spec.counted:
        axis, others = spec.axes[j], apart.get(j, ())
        group = groups_of(spec, public, j, axis, most[j])
        if others and len(group) > (size := int(group.max()) + 1):  # cuts of others take the place of own ones
            group = groups_of(spec, public, j, axis, max(size - sum(int(of.max()) for of in others), size // 2))
            first = np.unique(axis, return_index=True)[1]
            for of in others:
                group = in_order(group * (int(of.max()) + 1) + of[first])
        found[j] = group
    return Grouped(spec, tuple(found), ())


def groups_of(spec: TableSpec, public: PublishedRows, j: int, axis: Integers, most: int) -> Integers:
    """Groups of a column's levels on an axis, by the noisy single column."""
    first = spec.singles - len(spec.counted)
    (own,) = (row.counts for row in public.rows if row.row == first + spec.counted.index(j))
    column, size = list(spec.schema.values())[j], int(axis.max()) + 1
    line = size - column.missing if column.ordered else 0
    mass = np.bincount(axis, own.astype(float).reshape(spec.classes, -1).sum(axis=0)).astype(float)
    above = [levels[np.unique(axis, return_index=True)[1]] for levels in spec.above(j)]
    return groups(Column(size, ordered=line), mass, max(most, 2), above)


def records_of(spec: TableSpec, public: PublishedRows) -> float:
    """About how many records a set of views has."""
    if spec.place is not None:
        each = np.maximum(public.rows[0].counts.astype(float), 0.0)
        return float(each @ each / max(each.sum(), 1.0))  # of the class that a record is in
    if public.noisy_count is not None:
        return max(float(public.noisy_count), 0.0)
    apart = {*spec.occupancies, *spec.touches}
    return max(float(np.median([row.counts.sum() for row in public.rows if row.row not in apart])), 0.0)


def _rounded(share: Fraction) -> Fraction:
    """Rounded down: shares add up to no more than they were meant to."""
    return Fraction(math.floor(share * 2**40), 2**40)


def shares_of_claim(spec: TableSpec, budget: Budget) -> tuple[Fraction, ...]:
    """The shares of the budget that a release's claim is made for, a row each."""
    if not spec.pairs:
        return tuple(shares_touched(spec, shares_of(spec)))
    return tuple(worst_case(spec.rows, Planner(spec, budget).most))


def shares_of(spec: TableSpec) -> list[Fraction]:
    """Where there is nothing to plan, all columns get the same, next to what distinct values and tokens get."""
    of_distinct = [share_of_distinct(spec)] * len(spec.sketched)
    of_tokens = [share_of_tokens(spec)] * len(spec.touches)
    parts = with_positions(spec, np.ones(len(spec.views) - len(spec.placed) - len(of_distinct)))
    rest = float(1 - sum(of_distinct) - sum(of_tokens))
    shares = [Fraction(share).limit_denominator(2**20) for share in (rest * parts).tolist()]
    first = len(spec.placed) + (spec.place is not None)
    return [*shares[:first], *of_distinct, *shares[first:], *of_tokens]
