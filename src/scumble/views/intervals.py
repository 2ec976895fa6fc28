"""Errors of answers, and intervals that hold.

Rehearsals (`rehearsal`) say how far a question's answer was off, a few times, half of them in either of two worlds.
Questions of the same size and number of conditions err alike, so a law smooths what they say (`smoothing`): squared
errors of random questions follow

    log E[error²] = β₀ + β₁ log p + β₂ log² p + β₃ (number of conditions),    p = min(share, 1 − share),

fitted by gamma regression. A question's variance is the mean of its own square and the law's value. Small counts err in
ways that rehearsals seldom show: below 0.3 % of the records the variance is at least the law's at 0.3 %.

What was never measured, no rehearsal can show: `unseen` adds it.

Where single columns are all there is, the model is those columns made distributions, and how noise goes into that is
known (`_projected`): no variance is less, however little a few rehearsals erred.

Questions of one column need no rehearsal: the views' own law is exact (`columnsums`), and what a fit takes for empty is
not lost there (`estimates.nearest`). Of a pair that was measured there is an exact law beside the model, as far as its
groups tell the condition (`interaction`); what they do not tell, the model adds. How far the model is off there, is
rehearsed cell by cell (`misfit`). If cells are farther from the model than their noise usually takes them, the model is
off by the rest at least (`apart`).

**A sum whose weights have both signs asks for a tie**: how far a condition moves a column, which is what means and
quantiles ask. A fit that noise lets do without a tie counts cells about as well as one that has it; but of such a sum
it says nought, and so do the worlds of its rehearsals. So there the model's variance is at least what its distance from
the cells shows (`apart`), what missing cells usually have to do with other columns, and what the noise of the cells
hides of a tie of usual size (`unseen`). Then the cells count, whose law is exact: no variance becomes larger than
theirs. And a sum over the records that meet two conditions or more is no surer than its part in the sum of each
measured pair (`_of_pairs`). Of 4,140 quantiles within conditions (six made tables, ten releases of each at ε = 0.3, 1
and 3) 4,116 held, where 3,833 had by the model's shares alone, before ties of usual size counted; between their ends
lay 0.44, 0.25 and 0.22 of the records, where it had been 0.35, 0.23, 0.21.

**No count is surer than the columns it is made of** (`_scaled`). A fit may take a word for empty that has some fifty
records or none, and then it takes all of them for empty that are of one sort. But if it had fifty, the usual part of
them would be of that sort. So the variance is at least that of each column's own sum, by the views alone, in which each
record counts by the part that meets the other conditions.

**Nor surer than one record's presence.** A record adds one to a cell of each view. So even who knew all others would
tell whether it is there with the variance 1 / Σ 1/σ² over all views, and no better (`Evidence.record_variance`). A cell
that nobody seems to be in may hold what that hides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.machine.onethread import one_thread
from scumble.views.allowed import allowed
from scumble.views.budgeting import Law
from scumble.views.coarsening import coarser
from scumble.views.columnsums import ColumnSums
from scumble.views.estimates import (
    LEAST,
    Estimate,
    by_groups,
    cells_of,
    combined,
    inside,
    spoken_of,
    spread,
    weights_of,
)
from scumble.views.evidence import Evidence
from scumble.views.fitting import several
from scumble.views.interaction import pair_sum
from scumble.views.misfit import Misfit, misfit_of
from scumble.views.mixture import Condition, Product, absolute, squared, together
from scumble.views.rehearsal import WORLDS, Rehearsal, rehearse
from scumble.views.smoothing import gamma_regression, mean_square
from scumble.views.ties import seen_above, tie, unseen_above
from scumble.views.unseen import CONDITIONS, Unseen, left_out

Floats = npt.NDArray[np.float64]

QUESTIONS = 200
MOST_CONDITIONS = 4
SMALL = 0.003
USUAL = 1.5
"""Standard deviations that noise does not exceed, as a rule."""
SHARED_NOISE = 0.5
"""Correlation of a view's error and the model's, at least, as the same noise is in both (`misfit`)."""


class Reading:
    """All that one set of views can tell: the model, and the errors of its answers.

    Parameters
    ----------
    evidence : Evidence
        The noisy views.
    law : {"laplace", "gaussian"}
        The law of their noise.
    seed : int
        The release's own number: everything else follows from it.
    """

    def __init__(self, evidence: Evidence, law: Law, seed: int) -> None:
        self.evidence = evidence
        self.seen = coarser(evidence)
        """What the model can tell apart."""
        with one_thread():
            fits = several(self.seen, seed)
        self.model = together(fits)
        self.fits = np.cumsum([0, *(len(fit.weights) for fit in fits[:-1])])
        """Where in the model each of the fits begins that it is the mean of."""
        self._sums = ColumnSums(evidence)
        self._law = law
        self._seed = seed
        self._rehearsals: list[Rehearsal] = []
        self._coefficients: Floats = np.zeros(4)
        self._misfits: dict[tuple[int, ...], Misfit] = {}
        self._told: dict[int, tuple[Floats, Floats]] = {}
        self._ties: dict[tuple[int, int], float] = {}

    @cached_property
    def unseen(self) -> Unseen:
        """What no view shows."""
        generator = np.random.default_rng([self._seed, CONDITIONS])
        return Unseen(self.seen, self.model, left_out(self.seen, self.model, generator), self._sums)

    def prepare(self) -> None:
        """Rehearse, if that was not done: once, when errors are first asked for."""
        if not self._rehearsals:
            with one_thread():
                needed = len(self.model.weights) // len(self.fits)
                rehearsals = rehearse(self.evidence, self._law, self._seed, components=max(needed, 1))
                generator = np.random.default_rng([self._seed, QUESTIONS])
                self._coefficients = self._error_law(rehearsals, generator)
            self._rehearsals = rehearsals

    @property
    def rehearsals(self) -> list[Rehearsal]:
        """Releases of synthetic tables like this one, whose truth is known."""
        self.prepare()
        return self._rehearsals

    def column_sums(self, condition: Condition, column: int, values: Floats) -> tuple[Floats, Floats]:
        """Σ value over the records that meet a condition, by the views of the valued column alone, and its variance.

        There is one of either for each row of `values`. How many of the records in each of the column's cells meet the
        condition is the model's: alike for all cells of a group.
        """
        if column not in self._told:
            each = self.model.columns[column] @ np.eye(self.seen.sizes[column])[self.seen.groups[column]]
            self._told[column] = each, self.model.weights @ each
        (told, masses), group = self._told[column], self.seen.groups[column]
        meet = np.zeros(len(group))
        for coefficient, product in condition:
            others = self.model.masses({j: weights for j, weights in product.items() if j != column})
            shares = np.where(masses > 0, others @ told / np.where(masses > 0, masses, 1.0), others.sum())
            meet += coefficient * shares[group] * np.asarray(product.get(column, 1.0), float)
        return self._sums.sums(column, meet * values)

    def exact(self, condition: Condition) -> Estimate | None:
        """How many records meet a condition on one column at most, by the views alone; weights may be any numbers."""
        columns = spoken_of(condition)
        if len(columns) == 1:
            return self._sums.sum(columns[0], weights_of(self.evidence, condition))
        factor = sum(coefficient for coefficient, _ in condition)
        return None if columns else Estimate(factor * self.evidence.count, factor**2 * self.evidence.count_variance)

    def modelled(self, condition: Condition) -> float:
        """How many records meet a condition by the model alone."""
        return self.model.share(condition) * self.evidence.count

    @one_thread()
    def count(self, condition: Condition, alike: float | None = None) -> Estimate:
        """How many records meet a condition on two columns or more, and the variance of that; of fewer, see `exact`.

        Weights may be any numbers, of size one at most; then `alike` is the share of an ordinary condition that errs as
        much: the mean square of the weights.
        """
        modelled, signed = self.modelled(condition), alike is not None
        share = modelled / self.evidence.count if alike is None else alike
        unseen = self.unseen.variance(condition, signed=signed)
        told = by_groups(self.evidence, self.unseen.marginals, condition)
        if told is None:
            variance = max(self._variance(condition, share), self._of_pairs(condition) if signed else 0.0)
            found = Estimate(modelled, variance + unseen)
        elif inside(self.evidence, condition):
            model = Estimate(modelled, self._of_cells(told, share) + unseen)
            found = self._both(model, condition, told, signed=signed)
        else:  # neither cells nor model tell what is within groups
            model = Estimate(modelled, self._of_cells(told, share))
            found = self._both(model, condition, told, signed=signed)
            found = Estimate(found.value, found.variance + unseen)
        least = max(self._scaled(condition), self.evidence.record_variance) if alike is None else 0.0
        return Estimate(found.value, max(found.variance, self._projected(condition), least))

    def _of_pairs(self, condition: Condition) -> float:
        """The largest square by which a sum may be off as those of its measured pairs are, of which it is a part."""
        largest, size = 0.0, self.model.share(absolute(condition))
        for pair in itertools.combinations(spoken_of(condition), 2):
            both = [(c, {j: product[j] for j in pair if j in product}) for c, product in condition]
            share = self.model.share(absolute(both))
            if self.evidence.pair(pair) is None or not share > 0:
                continue
            found = self.count(both, self.model.share(squared(both)))
            off = (found.value - self.modelled(both)) ** 2 + found.variance
            largest = max(largest, (size / share) ** 2 * off)
        return largest

    def allowed(self, condition: Condition, chance: float) -> tuple[float, float]:
        """Between what a count lies in any table with these counts, but for a chance."""
        return allowed(self.evidence, self._sums, self._law, condition, chance)

    def above(self, condition: Condition, chance: float, answer: float | None = None) -> float:
        """How far above its answer a count may be, but for a chance, as words may have their own places (`ties`).

        Whoever knows the answer to a single product need not have it found again.
        """
        each = (coefficient * self._above(product, chance, answer) for coefficient, product in condition)
        return math.hypot(*each)

    def _above(self, product: Product, chance: float, answer: float | None) -> float:
        """The same of one product: for the word, and the column beside it, that let it be the farthest."""
        asked: Condition = [(1.0, product)]
        own, farthest = None, 0.0
        for word, other in itertools.permutations(product, 2):
            tied = self.tie(word, other) * self._one(word, product)
            if not tied > 0:
                continue
            beside: Condition = [(1.0, {j: weights for j, weights in product.items() if j != other})]
            levels = np.ones((1, self.evidence.columns[word].levels))
            (value,), (variance,) = self.column_sums(beside, word, levels)
            if not self.unseen.is_told(word, np.asarray(product[word], float)):
                share = min(self.model.share(asked) / max(self.model.share(beside), LEAST), 1.0)
                records = Estimate(float(value), float(variance))
                farthest = max(farthest, unseen_above(share, tied, records, self._law, chance))
            elif inside(self.evidence, asked):
                own = own or self._cells(asked)
                answer = self.count(asked).value if answer is None else answer
                farthest = max(farthest, seen_above(answer, own, tied, float(value), self._law, chance))
        return farthest

    def _one(self, word: int, product: Product) -> float:
        """Σ n²/(Σ n)² of the words that a product names: one, if it is a single one; nought, if they are no words."""
        records = self.unseen.marginals[word] * np.asarray(product[word], float)
        if self.evidence.columns[word].ordered:
            return 0.0
        return float((records**2).sum()) / float(records.sum()) ** 2 if records.sum() > 0 else 1.0

    def tie(self, word: int, other: int) -> float:
        """How far the words of a column differ in another one, that was measured with it."""
        if (word, other) not in self._ties:
            view = self.evidence.pair((min(word, other), max(word, other)))
            found = 0.0 if view is None else tie(view, view.columns.index(word), self.evidence.groups[word])
            self._ties[word, other] = found
        return self._ties[word, other]

    def rehearsed_variance(self, condition: Condition) -> float:
        """The variance of the model's count, as rehearsals show it: without what no view shows."""
        return max(self._variance(condition, self.model.share(condition)), self._projected(condition))

    def _rehearsed(self, condition: Condition) -> Floats:
        self.prepare()
        return np.array([rehearsal.error(condition) for rehearsal in self._rehearsals])

    def _variance(self, condition: Condition, share: float) -> float:
        rehearsed = self._rehearsed(condition)
        smooth = smoothed(self._coefficients, share, conditions(condition))
        variance = (mean_square(rehearsed, self._between(condition), len(self.fits)) + smooth) / 2
        if min(share, 1 - share) < SMALL:
            variance = max(variance, smooth)
        return variance + self._chance(share)

    def _of_cells(self, told: Condition, share: float) -> float:
        """The variance of the model's count of a condition that the cells of a measured pair tell (`misfit`)."""
        (one, two), count = spoken_of(told), self.evidence.count
        misfit, cells = self.misfit((one, two)), cells_of(self.evidence, told)
        square = mean_square(misfit.off(cells), self._between(told), len(self.fits))
        law = misfit.smoothed(cells, min(share, 1 - share) * count)
        usual = smoothed(self._coefficients, share, conditions(told))
        return (square + law + max(law, usual)) / 3 + self._chance(share)

    def misfit(self, pair: tuple[int, int]) -> Misfit:
        """How far the model is off in the cells of a measured pair."""
        self.prepare()
        if pair not in self._misfits:
            view = self.evidence.pair(pair)
            assert view is not None
            fits = self.model.parts(self.fits)
            self._misfits[pair] = misfit_of(view, self.evidence, fits, self._rehearsals, self._seed)
        return self._misfits[pair]

    @property
    def usual_law(self) -> Floats:
        """β of the law above, in counts."""
        self.prepare()
        return self._coefficients

    @property
    def drawn(self) -> bool:
        """Whether rehearsals drew records; else the world was the table, and the chance of its records was left out."""
        self.prepare()
        return bool(len(self._rehearsals[0].rows))

    def _chance(self, share: float) -> float:
        return 0.0 if self.drawn else self.evidence.count * max(share * (1 - share), 0.0)

    def _scaled(self, condition: Condition) -> float:
        """The largest variance of the columns' own sums, in which records count by the part that meets the rest."""
        levels = ((j, self.evidence.columns[j].levels) for j in spoken_of(condition))
        return max(float(self.column_sums(condition, j, np.ones((1, size)))[1][0]) for j, size in levels)

    def _between(self, condition: Condition) -> float:
        """The variance of a count between the fits that the model is the mean of."""
        if len(self.fits) < 2:
            return 0.0
        masses = sum(coefficient * self.model.masses(product) for coefficient, product in condition)
        shares = np.add.reduceat(masses, self.fits) * len(self.fits)
        return float(np.var(shares, ddof=1)) * self.evidence.count**2

    def _error_law(self, rehearsals: Sequence[Rehearsal], generator: np.random.Generator) -> Floats:
        """β of the law above, in counts."""
        features, squares = [], []
        evidence, worlds = self.evidence, [rehearsal.world for rehearsal in rehearsals[:WORLDS]]
        drawn = [world.draw(2 * QUESTIONS, generator) for world in worlds]
        for number in range(QUESTIONS):
            size = min(1 + number % MOST_CONDITIONS, len(evidence.columns))
            turn = number // MOST_CONDITIONS % len(worlds)
            condition = random_condition(evidence, drawn[turn][2 * number : 2 * number + 2], size, generator)
            features.append(law_inputs(worlds[turn].share(condition), size))
            errors = np.array([rehearsal.error(condition) for rehearsal in rehearsals])
            squares.append(mean_square(errors, self._between(condition), len(self.fits)))
        return gamma_regression(np.array(features), np.array(squares))

    def _projected(self, condition: Condition) -> float:
        """The variance of a product of single columns, if the levels that are not empty stay the same; else nothing.

        The nearest distribution takes the same from each such level: of noise in the direction g, g less its mean is
        left. A question's g of a column is how its count grows with the records of each level.
        """
        variance = 0.0
        for j in set() if self.evidence.paired else {j for _, product in condition for j in product}:
            shares = self.model.table([j])
            grows = self.model.table([j], condition)[shares > 0] / shares[shares > 0]
            variance += self.evidence.single(j).variance * float(((grows - grows.mean()) ** 2).sum())
        return variance

    def _cells(self, told: Condition) -> Estimate:
        """A count that the cells of a measured pair tell, by views alone."""
        one, two = spoken_of(told)
        view = self.evidence.pair((one, two))
        assert view is not None
        return pair_sum(self.evidence, self._sums, view, cells_of(self.evidence, told))

    def _both(self, modelled: Estimate, condition: Condition, told: Condition, *, signed: bool) -> Estimate:
        """Cells and model together, `told` being the condition as far as the cells tell it; the rest is the model's."""
        own = self._cells(told)
        own = Estimate(modelled.value + own.value - self.model.share(told) * self.evidence.count, own.variance)
        off = apart(own, modelled)
        if signed:
            hidden = max(self.unseen.gaps(condition), self.unseen.hidden(condition, own.variance))
            modelled = replace(modelled, variance=max(modelled.variance, off, hidden))
        value, weight = combined(own, modelled, SHARED_NOISE)
        one, two = spoken_of(told)
        variance = spread(own, modelled, weight, max(self.misfit((one, two)).shared, SHARED_NOISE))
        least = max((1 - weight) ** 2 * off, self.unseen.drowned(condition, own.variance))
        return Estimate(value, max(variance, least))


def apart(own: Estimate, modelled: Estimate) -> float:
    """By which square the model must be off, as it is farther from a view's own cells than their noise takes it.

    It widens the interval, and does not move the answer: one view alone may as well be what is far off.

    >>> apart(Estimate(100.0, 4.0), Estimate(107.0, 1.0)), apart(Estimate(100.0, 4.0), Estimate(103.0, 1.0))
    (16.0, 0.0)
    """
    return max(abs(own.value - modelled.value) - USUAL * math.sqrt(own.variance), 0.0) ** 2


def smoothed(coefficients: Floats, share: float, size: int) -> float:
    """The law's squared error of a question, in counts."""
    return float(np.exp(law_inputs(share, size) @ coefficients))


def conditions(condition: Condition) -> int:
    """How many columns a condition speaks of at once."""
    return max((len(product) for _, product in condition), default=0)


def law_inputs(share: float, size: int) -> Floats:
    """What the law is linear in: 1, log p, log² p and the number of conditions."""
    rarity = math.log(max(min(share, 1 - share), SMALL))
    return np.array([1.0, rarity, rarity**2, size])


def random_condition(
    evidence: Evidence, pair: npt.NDArray[np.int64], size: int, generator: np.random.Generator
) -> Condition:
    """Ranges between two records' cells, or one record's level."""
    columns = generator.choice(len(evidence.columns), size, replace=False)
    return [(1.0, {int(j): evidence.columns[j].between(*pair[:, j]) for j in columns})]
