"""What no view shows of two conditions together, and how much of it to allow for.

The view of a pair tells how two conditions hang together as far as its groups tell the conditions; no view, nothing. A
condition's variance p(1 − p) is that between groups and that within them, T = B + W, and the unseen part of two
conditions is T₁T₂ − B₁B₂ (T₁T₂ without a view). It may be correlated. So each pair of conditions adds φ² times its
unseen part, times the squared number of records that meet the other conditions.

How large φ is depends on the table. On fifty real ones, 95 % of random pairs of conditions were correlated by less than
1.96 times 0.12 (geometric mean; 0.06 to 0.26 for all but five), and a release of single columns tells nothing of it:
`UNKNOWN` is taken. Where some pairs were chosen and others left out, those chosen tell: with c the mean over measured
pairs of the root mean square correlation of random conditions, and s the share of all pairs that was measured, left-out
pairs had φ ≈ 0.08 (c/s)^0.3 on 25 tables, within a factor of 1.35 in two of three; a little less is taken, as there are
other errors beside.

That is a guess, and it is lowest where it is worst founded: with little budget, pairs are measured that are cheap, of
few levels, however little they tell. So no less than `LEAST` is taken. And a column that was measured with no other may
hang together with all of them: dates are dear to measure, and are left out however much they would tell. Of such a
column the measured pairs tell nothing, and either column of a pair has its half: φ is the geometric mean of what is
known of one column and of the other. On 17 tables at ε = 1, 95 % of pairs of conditions were correlated by less than
1.96 times 0.06 if both columns were measured with others, 0.09 if one was, and 0.17 if none.

**What the columns are matters more.** Two lines (numbers, dates) hang together more than words do, and their pairs have
the most cells: with little budget they are left out however much they would tell. So of two lines φ is `UNKNOWN_LINES`
and no less than `LEAST_LINES`. Two dates of one record, and cells that are missing from two columns, are as often as
not the same thing twice. There any dependence is allowed for: with φ = `ANY` a 95 % interval reaches beyond a
correlation of one. (`allowed` cuts it to what the counts of either column allow.) Of a condition, the part that varies
between missing cells and others counts as such: s(1 − s)(m − w)², with the mean m where cells are there, w where they
are missing, and their share s. That is taken one standard deviation larger than it was found, as a fit takes few
records for none. Cells are often missing because of what a word says (a bird has no hind foot): of that part and a word
φ is `MISSING` at least. On two made tables where it was so (ε = 0.3) 134 of 147 intervals of such counts held before,
and 144 do, at 1.5 times the width.

Of two lines φ was a fifth smaller once. Where no view has counted them together (13 tables, ε = 0.3, 1 and 3; counts,
and means and quantiles of the one where the other lies in a range) 3,395 of 3,618 intervals hold, and 3,308 did, at
1.11 times the width; without a table whose columns are all functions of each other 3,029 of 3,140, and 2,970. What is
missed are lines that all but determine each other: an allowance for usual tables does not reach so far.

Numbers that are mostly zero are like that, too, where zero has a cell of its own: rain and snow, gains and losses, what
was billed and what was paid. That the one is not zero tells as a rule that the other is not, or that it is. So between
zeros and other numbers of two columns any dependence is allowed for, and so it is between zeros of the one and missing
cells of the other. On a made table where it was so (ε = 1, 15 columns, the two not counted together) the median of the
one where the other is above zero was 0 (0 to 0), and held in none of eight releases; it does in all.
And a word often says that a number is zero (a ship that is stationary has no speed): between zeros and words any
dependence is allowed for, too.

**What a model infers of two columns from a third is no measurement.** A fit may say that two of their levels exclude
each other, which noise in the third column's cells is enough for. So as much is allowed for as if it had said nothing
(and more, if it says that the two come together), and where any dependence is, the way back from the correlation that
it infers comes on top. In a survey of 4,042 records (ε = 0.3, 1 and 3, three releases each) all 743 intervals of cells
missing from two columns that were not measured together held, where 714 had when the model's count was believed, at
1.06 times the width; of words and missing cells all 2,144 (2,140), at 1.11 times.

**No condition is rarer than its noise.** Of a level that holds less than its noise a fit may say that it is empty, and
then all of its counts would surely be nought. So T is no less than one standard deviation of the column's own sum, over
the number of records (`_possible`): as if as many records were there as may hide.

**Columns whose counts are alike** within their noise may be one column, given several times (`_doubled`): then a
condition on all of them would be one on one of them, and the distance to what that comes to is allowed for, in any
number of columns. And words whose counts are alike may be one word: of these any dependence is allowed for (`alike`).

How rare the conditions are hardly matters beside this: in all pairs of 29 tables φ fell with the rarer share a as
0.4 a^0.45, and in those that were left out as a^0.25. So rare words have intervals that are wider than they need to be,
for most columns, and still too narrow for some.

**Noise hides what was measured.** Of a rare word the cells of a view may tell nothing: V, the variance of a count that
φ = `LEAST` would make, is less than that of their noise, N. A fit then does without what was there, and so do the
worlds of rehearsals. Whoever keeps V/(V + N) of what cells show, as is best, is off by the square V (N/(V + N))²; the
variance is no less (`drowned`). Where cells are surer than that, it is nothing.

A sum whose weights have both signs is that tie and nothing else, so there the fit's own variance counts, before cells
and fit are weighed. Who knows nothing of a tie but its usual size (φ = `UNKNOWN`) and these cells knows it with the
variance VN/(V + N): a fit to the same cells is no surer (`hidden`). Of means within words that hang together with the
number 712 of 720 held, where 680 had (four made tables, twelve releases of each at ε = 0.3, 1 and 3, two of them with
four in five cells missing), with root mean square errors 1 to 15 % less, in intervals 1.09 to 1.27 times as wide. On
two where nothing hangs together they are 1.2 and 1.3 times as wide, and errors 6 and 8 % larger.

Within the groups of a measured pair what its groups tell has come first, and little is left: φ is `WITHIN`. But words
that were pooled have nothing in common except that they are rare; of them φ is `POOLED`.

But not where records clump, as places on a map do. Of a cell of the view that a condition cuts in two, either part may
hold everything. So each cell adds ψ² n² times the variance of the condition within it, n being its records. ψ² is
found where it can be seen, one step up: how far the halves of two neighbouring groups together are from sharing their
records as the whole column does (`clumping`). On ordinary tables that is next to nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.views.alike import equal, is_word, one_word
from scumble.views.columnsums import ColumnSums
from scumble.views.evidence import Evidence
from scumble.views.mixture import Condition, Mixture, Product, at_level

Floats = npt.NDArray[np.float64]

UNKNOWN, UNKNOWN_LINES, MISSING, ANY = 0.18, 0.25, 0.2, 0.6
WITHIN, POOLED = 0.05, 0.13
LEFT_OUT, POWER, LEAST, LEAST_LINES = 0.075, 0.3, 0.07, 0.15
CONDITIONS = 24
"""Random pairs of conditions for each measured pair of columns."""


class _Parts(NamedTuple):
    """A condition's mean, its variance, and the parts of that between groups, between missing cells and others, and
    between zeros and other numbers."""

    mean: float
    total: float
    between: float
    gaps: float
    zeros: float


@dataclass(frozen=True)
class Unseen:
    """What the views of a table do not show.

    Parameters
    ----------
    seen : Evidence
        The views, in the groups that the model tells apart.
    model : Mixture
        The model.
    correlation : float
        φ of pairs that were not measured, of columns that were measured with others (`left_out`).
    sums : ColumnSums
        What the views tell of single columns.
    """

    seen: Evidence
    model: Mixture
    correlation: float
    sums: ColumnSums

    def variance(self, condition: Condition, *, signed: bool) -> float:
        """The variance of a count for all pairs of conditions; weights that are `signed` may have a mean of nought."""
        variance = 0.0
        for pair, one, two, rest, often, alike in self._pairs_of(condition, signed=signed):
            if self.seen.pair(pair) is None:
                inferred = _inferred(one, two, rest, often)
                variance += max(rest, often) ** 2 * self._apart(pair, one, two, inferred, alike=alike)
            else:
                variance += often**2 * self._within(pair, one, two)
        for coefficient, product in condition:
            variance += self._clumped(coefficient, product) + self._doubled(coefficient, product)
        return variance

    def drowned(self, condition: Condition, noise: float) -> float:
        """The least variance of a count inside the view of a pair, whose own cells have so much noise."""
        usual = self._tie(condition, LEAST)
        return usual * (noise / (usual + noise)) ** 2 if noise > 0 else 0.0

    def hidden(self, condition: Condition, noise: float) -> float:
        """The least variance of the model's sum, where weights have both signs: of what it may tell of the tie."""
        usual = self._tie(condition, UNKNOWN)
        return usual * noise / (usual + noise) if noise > 0 else 0.0

    def _tie(self, condition: Condition, phi: float) -> float:
        """The variance that a tie of this size makes, of pairs of conditions."""
        variance = 0.0
        for coefficient, product in condition:
            if len(product) == 2:
                each = (self._parts(j, np.asarray(weights, float)).total for j, weights in product.items())
                variance += (phi * coefficient * self.seen.count) ** 2 * math.prod(each)
        return variance

    def gaps(self, condition: Condition) -> float:
        """The variance of a count inside the view of a pair, by what missing cells may have to do with other columns.

        A fit that need not know of it does without.
        """
        variance = 0.0
        for coefficient, product in condition:
            if len(product) == 2:
                one, two = (self._parts(j, np.asarray(weights, float)) for j, weights in product.items())
                either = max(one.gaps * two.total, one.total * two.gaps)
                variance += (MISSING * coefficient * self.seen.count) ** 2 * either
        return variance

    def _correlation(self, pair: tuple[int, int]) -> float:
        """φ of a pair that was not measured: half of its logarithm for either column."""
        lines = all(self.seen.columns[j].ordered for j in pair)
        told = sum(j in self.seen.tied for j in pair) / 2
        known = max(self.correlation, LEAST_LINES) if lines else self.correlation
        return float(known**told * (UNKNOWN_LINES if lines else UNKNOWN) ** (1 - told))

    def _apart(self, pair: tuple[int, int], one: _Parts, two: _Parts, inferred: float, *, alike: bool) -> float:
        """φ² times the unseen part of two conditions whose pair was not measured, and is taken for so correlated."""
        dated, farther = all(self.seen.columns[j].dated for j in pair), (ANY * (1 + abs(inferred))) ** 2
        usual = farther if dated or alike else self._correlation(pair) ** 2
        alone = (one.gaps + one.zeros) * (two.gaps + two.zeros)
        variance = usual * one.total * two.total + max(farther - usual, 0.0) * alone
        for j, part, word in ((pair[1], one, two), (pair[0], two, one)):
            if not self.seen.columns[j].ordered:
                phi = max(MISSING**2 - usual, 0.0) * part.gaps + max(farther - usual, 0.0) * part.zeros
                variance += phi * max(word.total - word.gaps, 0.0)
        return variance

    def _within(self, pair: tuple[int, int], one: _Parts, two: _Parts) -> float:
        """φ² times the unseen part of two conditions whose pair was measured."""
        first, second = (WITHIN**2 if self.seen.columns[j].ordered else POOLED**2 for j in pair)
        rest, other = (max(part.total - part.between, 0.0) for part in (one, two))
        alone = first * rest * two.between + second * one.between * other
        return alone + max(first if rest else 0.0, second if other else 0.0) * rest * other

    def _doubled(self, coefficient: float, product: Product) -> float:
        """The variance of a count if columns whose counts are alike were one column, given several times."""
        one = dict[int, Floats]()
        for j, weights in sorted(product.items()):
            same = next((i for i in one if (i, j) in self._alike), j)
            one[same] = one.get(same, 1.0) * np.asarray(weights, float)
        if len(one) == len(product):
            return 0.0
        off = self.model.share([(1.0, one)]) - self.model.share([(1.0, product)])
        return (ANY * coefficient * self.seen.count * off) ** 2

    def _one_word(self, i: int, j: int, product: Product) -> bool:
        """Whether the words that two columns are asked for may be one and the same, or one and all but it."""
        words = {k: np.asarray(product[k], float) for k in (i, j)}
        if any(self.seen.columns[k].ordered or not is_word(weights) for k, weights in words.items()):
            return False
        one, two = (self.sums.sum(k, weights) for k, weights in words.items())
        return one_word(one, two, self.seen.count)

    @cached_property
    def _alike(self) -> frozenset[tuple[int, int]]:
        """Pairs that were not measured, of columns whose counts differ by no more than noise, and are not all equal."""
        seen = self.seen
        uneven = [j for j in range(len(seen.columns)) if not equal(seen.single(j), float(seen.single(j).counts.mean()))]
        pairs = (pair for pair in itertools.combinations(uneven, 2) if seen.pair(pair) is None)
        return frozenset(
            pair
            for pair in pairs
            if seen.columns[pair[0]] == seen.columns[pair[1]] and equal(*(seen.single(j) for j in pair))
        )

    def _clumped(self, coefficient: float, product: Product) -> float:
        """The variance of a count from clumps within the groups of measured pairs."""
        variance = 0.0
        for pair in itertools.combinations(sorted(product), 2):
            if self.seen.pair(pair) is None:
                continue
            others = {j: weights for j, weights in product.items() if j not in pair}
            cells = coefficient * self.seen.count * self._by_group(pair, others)
            told = [self._told(j, np.asarray(product[j], float)) for j in pair]
            for axis in (0, 1):
                (_, varied), (mean, other) = told[axis], told[1 - axis]
                shares = (cells if axis == 0 else cells.T) ** 2 * self._clumping[pair][axis]
                variance += float(varied @ shares @ (mean**2 + other / 2))
        return variance

    def _told(self, column: int, weights: Floats) -> tuple[Floats, Floats]:
        """The mean of a condition in each group of a column, and its variance there."""
        group, share = self.seen.groups[column], self.marginals[column]
        masses = np.maximum(np.bincount(group, share), 1e-300)
        mean = np.bincount(group, share * weights) / masses
        return mean, np.maximum(np.bincount(group, share * weights**2) / masses - mean**2, 0.0)

    def _by_group(self, pair: tuple[int, int], others: Product = MappingProxyType({})) -> Floats:
        """The shares of records in each cell of a pair's view, by the model; of those that meet other conditions."""
        one, two = (self._grouped[j] for j in pair)
        return np.asarray(one.T @ (self.model.masses(others)[:, None] * two))

    @cached_property
    def _grouped(self) -> list[Floats]:
        """The model's columns in the groups that pairs tell apart."""
        columns = zip(self.model.columns, self.seen.groups, strict=True)
        return [table @ np.eye(int(group.max()) + 1)[group] for table, group in columns]

    @cached_property
    def _clumping(self) -> dict[tuple[int, int], tuple[Floats, Floats]]:
        """ψ² of each measured pair, along either column, for each group of the other."""
        found = {}
        for pair in (view.columns for view in self.seen.views if len(view.columns) == 2):
            shares = self._by_group(pair)
            runs = [self.seen.runs[j] for j in pair]
            found[pair] = clumping(shares[: runs[0]]), clumping(shares.T[: runs[1]])
        return found

    def _pairs_of(
        self, condition: Condition, *, signed: bool
    ) -> Iterator[tuple[tuple[int, int], _Parts, _Parts, float, float, bool]]:
        """Pairs of columns that are asked about together; how many records meet all other conditions, by the model, and
        as many as would make the model's count if the two were independent; and whether both may be one word."""
        for coefficient, product in condition:
            whole = self.model.share([(1.0, product)]) * self.seen.count
            parts = {j: self._possible(j, np.asarray(weights, float), signed=signed) for j, weights in product.items()}
            for i, j in itertools.combinations(sorted(product), 2):
                others = {k: weights for k, weights in product.items() if k not in (i, j)}
                rest, both = self.model.share([(1.0, others)]) * self.seen.count, parts[i].mean * parts[j].mean
                often = rest if signed or not both > 1e-9 else whole / both
                alike = not signed and self._one_word(i, j, product)
                yield (i, j), parts[i], parts[j], abs(coefficient) * rest, abs(coefficient) * often, alike

    @cached_property
    def marginals(self) -> list[Floats]:
        """The shares of all levels of each column, by the model."""
        return [self.model.table([j]) for j in range(len(self.seen.columns))]

    def _parts(self, column: int, weights: Floats) -> _Parts:
        group, share = self.seen.groups[column], self.marginals[column]
        mean = float(share @ weights)
        masses = np.bincount(group, share)
        off = np.bincount(group, share * weights) / np.maximum(masses, 1e-300) - mean
        gaps = self._gaps[column] * float(share[:-1] @ weights[:-1] / max(share[:-1].sum(), 1e-300) - weights[-1]) ** 2
        zeros = self._zeros(column, weights)
        return _Parts(mean, float(share @ (weights - mean) ** 2), float(masses @ off**2), gaps, zeros)

    def _zeros(self, column: int, weights: Floats) -> float:
        """The part of a condition's variance between zeros, where these have a cell of their own, and other numbers."""
        seen, share = self.seen.columns[column], self.marginals[column]
        if seen.lone is None:
            return 0.0
        others = share[: seen.ordered] * (np.arange(seen.ordered) != seen.lone)
        mean = float(others @ weights[: seen.ordered]) / max(float(others.sum()), 1e-300)
        zero = float(share[seen.lone])
        return zero * (1 - zero) * float(mean - weights[seen.lone]) ** 2

    @cached_property
    def _gaps(self) -> list[float]:
        """s(1 − s) of the share s of each column's cells that are missing, or may be by one standard deviation."""
        found = []
        for j, column in enumerate(self.seen.columns):
            own, share = self.sums.sum(j, at_level(-1, column.levels)), float(self.marginals[j][-1])
            most = min(max(own.value + math.sqrt(own.variance), 0.0) / self.seen.count, 0.5)
            found.append(max(share * (1 - share), most * (1 - most)) if column.missing else 0.0)
        return found

    def _possible(self, column: int, weights: Floats, *, signed: bool) -> _Parts:
        """A condition's parts, where a fit may have taken for empty what holds less than its noise.

        Its variance is no less than one standard deviation of what the column's own views tell of it. If weights are
        signed it is what these tell and one deviation more, as a few records far out may vary more than all others.
        """
        part = self._parts(column, weights)
        own = self.sums.sum(column, (weights - part.mean) ** 2)
        least = (own.value if signed else 0.0) + math.sqrt(own.variance)
        more = max(least / self.seen.count - part.total, 0.0)
        told = not self.seen.columns[column].ordered if signed else self.is_told(column, weights)
        return part._replace(total=part.total + more, between=part.between + more * told)

    def is_told(self, column: int, weights: Floats) -> bool:
        """Whether the groups of a column tell a condition."""
        return bool((weights == weights[self._firsts[column]][self.seen.groups[column]]).all())

    @cached_property
    def _firsts(self) -> list[npt.NDArray[np.int64]]:
        """The first level of each group of each column."""
        return [np.unique(group, return_index=True)[1] for group in self.seen.groups]


def _inferred(one: _Parts, two: _Parts, rest: float, often: float) -> float:
    """The correlation of two conditions by the model, among so many records that meet the others."""
    varied = rest * math.sqrt(one.total * two.total)
    return min(max((often - rest) * one.mean * two.mean / varied, -1.0), 1.0) if varied > 0 else 0.0


def clumping(cells: Floats) -> Floats:
    """ψ² along the first axis, for each line of cells: how far the halves of two neighbours together are from alike.

    Neighbours share what they hold as all records do, r and 1 − r, but for chance with the variance ψ² r(1 − r). What
    holds for two groups together is taken to hold within one. A line has its own ψ², or that of all, if it is more.

    >>> clumping(np.full((4, 2), 1 / 8)), clumping(np.eye(4) / 4)
    (array([0., 0.]), array([1., 1., 1., 1.]))
    """
    first, second = cells[: len(cells) // 2 * 2 : 2], cells[1::2]
    both, whole = first + second, (first + second).sum(1)
    half = (first.sum(1) / np.maximum(whole, 1e-300))[:, None]
    off, chance = (first - half * both) ** 2, both**2 * half * (1 - half)
    if not chance.sum() > 1e-12:
        return np.zeros(cells.shape[1])
    each = off.sum(0) / np.maximum(chance.sum(0), 1e-12 * chance.sum())
    return np.asarray(np.clip(np.maximum(each, off.sum() / chance.sum()), 0.0, 1.0))


def left_out(seen: Evidence, model: Mixture, generator: np.random.Generator) -> float:
    """φ of pairs that were not measured, by those that were."""
    measured = [view.columns for view in seen.views if len(view.columns) == 2]
    pairs = len(seen.columns) * (len(seen.columns) - 1) // 2
    if len(measured) in (0, pairs):  # nothing is known, or nothing was left out
        return 0.0 if measured else UNKNOWN
    drawn = model.draw(2 * CONDITIONS, generator).reshape(CONDITIONS, 2, -1)
    asked = [np.array([column.between(*pair[:, j]) for pair in drawn]) for j, column in enumerate(seen.columns)]
    mean = float(np.mean([correlation(model.table(pair), *(asked[j] for j in pair)) for pair in measured]))
    return min(max(LEFT_OUT * float((mean * pairs / len(measured)) ** POWER), LEAST), UNKNOWN)


def correlation(table: Floats, first: Floats, second: Floats) -> float:
    """The root mean square correlation of pairs of conditions, in a table of shares; a row for each condition.

    >>> round(correlation(np.array([[0.4, 0.1], [0.1, 0.4]]), np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])), 3)
    0.6
    """
    one, two = first @ table.sum(1), second @ table.sum(0)
    both = np.einsum("ci,ij,cj->c", first, table, second, optimize=True)
    variance = np.maximum(one * (1 - one) * two * (1 - two), 1e-6)
    return float(np.sqrt(np.mean((both - one * two) ** 2 / variance)))
