"""Errors of answers, and intervals that hold.

Rehearsals (`rehearsal`) say how far a question's answer was off, a few times, half of them in either of two worlds. So
few squares scatter widely. Questions of the same size and number of conditions err alike, so a law smooths them:
squared errors of random questions follow

    log E[error²] = β₀ + β₁ log p + β₂ log² p + β₃ (number of conditions),    p = min(share, 1 − share),

fitted by gamma regression. A question's variance is the mean of its own square and the law's value. Small counts err in
ways that rehearsals seldom show: below 0.3 % of the records the variance is at least the law's at 0.3 %.

**What is always taken off counts twice** (`mean_square`). Where noise hides structure, the model does without: it takes
two columns for independent, a group's levels for alike, a few full cells for flatter than they are. In rehearsals that
is a bias, an error of the same sign each time. But a rehearsal's world was fitted to noisy counts itself, and has lost
as much on its way from the table. So the square of the bias is added once more.

What was never measured, no rehearsal can show: `unseen` adds it.

Where single columns are all there is, the model is those columns made distributions, and how noise goes into that is
known (`_projected`): no variance is less, however little a few rehearsals erred.

Questions of one column need no rehearsal: the views' own law is exact (`columnsums`), and what a fit takes for empty is
not lost there (`estimates.nearest`). Of a pair that was measured there is an exact law beside the model, as far as its
groups tell the condition; what they do not tell, the model adds. If cells are surely farther from the model than their
noise takes them, the model is off by the rest at least (`apart`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.views.allowed import allowed
from scumble.views.budgeting import Law
from scumble.views.coarsening import coarser
from scumble.views.columnsums import ColumnSums
from scumble.views.estimates import Estimate, by_groups, combined, inside, spoken_of, spread, weights_of
from scumble.views.evidence import Evidence
from scumble.views.fitting import one_thread, several
from scumble.views.mixture import Condition, Mixture, together
from scumble.views.rehearsal import WORLDS, Rehearsal, rehearse
from scumble.views.unseen import CONDITIONS, Unseen, left_out

Floats = npt.NDArray[np.float64]

QUESTIONS = 200
RIDGE = 0.02
"""Of the law's slopes, beside as many questions."""
MOST_CONDITIONS = 4
SMALL = 0.003
SURE = 3.0
"""Standard deviations that noise hardly ever exceeds."""
SHARED_NOISE = 0.5
"""Correlation of a view's error and the model's, as the same noise is in both."""


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
        self._fits = np.cumsum([0, *(len(fit.weights) for fit in fits[:-1])])
        self._sums = ColumnSums(evidence)
        self._law = law
        self._seed = seed
        self._rehearsals: list[Rehearsal] = []
        self._coefficients: Floats = np.zeros(4)

    @cached_property
    def unseen(self) -> Unseen:
        """What no view shows."""
        generator = np.random.default_rng([self._seed, CONDITIONS])
        return Unseen(self.seen, self.model, left_out(self.seen, self.model, generator), self._sums)

    def prepare(self) -> None:
        """Rehearse, if that was not done: once, when errors are first asked for."""
        if not self._rehearsals:
            with one_thread():
                needed = len(self.model.weights) // len(self._fits)
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
        group, size = self.seen.groups[column], self.seen.sizes[column]
        told = self.model.columns[column] @ np.eye(size)[group]
        masses = self.model.weights @ told
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

    def count(self, condition: Condition, alike: float | None = None) -> Estimate:
        """How many records meet a condition on two columns or more, and the variance of that; of fewer, see `exact`.

        Weights may be any numbers, of size one at most; then `alike` is the share of an ordinary condition that errs as
        much: the mean square of the weights.
        """
        modelled = self.modelled(condition)
        share = modelled / self.evidence.count if alike is None else alike
        rehearsed = self._rehearsed(condition)
        unseen = self.unseen.variance(condition, signed=alike is not None)
        variance = self._variance(condition, share, rehearsed)
        told = by_groups(self.evidence, self.unseen.marginals, condition)
        if told is None:
            found = Estimate(modelled, variance + unseen)
        elif inside(self.evidence, condition):
            found = self._both(Estimate(modelled, variance + unseen), condition, told, rehearsed)
        else:  # neither cells nor model tell what is within groups
            found = self._both(Estimate(modelled, variance), condition, told, rehearsed)
            found = Estimate(found.value, found.variance + unseen)
        return Estimate(found.value, max(found.variance, self._projected(condition)))

    def allowed(self, condition: Condition, chance: float) -> tuple[float, float]:
        """Between what a count lies in any table with these counts, but for a chance."""
        return allowed(self.evidence, self._sums, self._law, condition, chance)

    def rehearsed_variance(self, condition: Condition) -> float:
        """The variance of the model's count, as rehearsals show it: without what no view shows."""
        rehearsed = self._variance(condition, self.model.share(condition), self._rehearsed(condition))
        return max(rehearsed, self._projected(condition))

    def _rehearsed(self, condition: Condition) -> Floats:
        self.prepare()
        return np.array([rehearsal.error(condition) for rehearsal in self._rehearsals])

    def _variance(self, condition: Condition, share: float, rehearsed: Floats) -> float:
        smooth = smoothed(self._coefficients, share, conditions(condition))
        variance = (mean_square(rehearsed, self._between(condition), len(self._fits)) + smooth) / 2
        if min(share, 1 - share) < SMALL:
            variance = max(variance, smooth)
        if not len(self._rehearsals[0].rows):  # the world was the table, so the chance of its records was left out
            variance += self.evidence.count * max(share * (1 - share), 0.0)
        return variance

    def _between(self, condition: Condition) -> float:
        """The variance of a count between the fits that the model is the mean of."""
        if len(self._fits) < 2:
            return 0.0
        masses = sum(coefficient * self.model.masses(product) for coefficient, product in condition)
        shares = np.add.reduceat(masses, self._fits) * len(self._fits)
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
            squares.append(mean_square(errors, self._between(condition), len(self._fits)))
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

    def _both(self, modelled: Estimate, condition: Condition, told: Condition, off: Floats) -> Estimate:
        """Cells and model together, `told` being the condition as far as the cells tell it; the rest is the model's.

        They share noise, so what both err by is also rehearsed.
        """
        beside = beyond_model(self.evidence, self.model, told)
        own = Estimate(modelled.value + beside.value, beside.variance)
        value, weight = combined(own, modelled, SHARED_NOISE)
        cells = [beyond_model(one.evidence, one.model, told).value for one in self._rehearsals]
        errors = off + weight * np.array(cells)
        summed = spread(own, modelled, weight, SHARED_NOISE)
        square = mean_square(errors, 0.0, 1)
        laws = weight**2 * own.variance, (1 - weight) ** 2 * modelled.variance  # of either alone
        variance = max((square + summed) / 2, *laws)
        least = max((1 - weight) ** 2 * apart(own, modelled), self.unseen.drowned(condition, own.variance))
        return Estimate(value, max(variance, least))


def beyond_model(evidence: Evidence, model: Mixture, told: Condition) -> Estimate:
    """How many records more than a model the cells of a view count, of a condition that they tell (`by_groups`)."""
    cells = inside(evidence, told)
    assert cells is not None
    return Estimate(cells.value - model.share(told) * evidence.count, cells.variance)


def apart(own: Estimate, modelled: Estimate) -> float:
    """By which square the model must be off, as it is farther from a view's own cells than their noise takes it.

    It widens the interval, and does not move the answer: one view alone may as well be what is far off.

    >>> apart(Estimate(100.0, 9.0), Estimate(113.0, 1.0)), apart(Estimate(100.0, 9.0), Estimate(108.0, 1.0))
    (16.0, 0.0)
    """
    return max(abs(own.value - modelled.value) - SURE * math.sqrt(own.variance), 0.0) ** 2


def mean_square(errors: Floats, between: float, fits: int) -> float:
    """The squared error of a count, as it would be with as many fits as the model has.

    `errors` are those of one fit in each rehearsal. The square of their mean, less what chance makes of it, is that of
    a bias, and counts twice. `between` is the variance of the answer between fits, and the mean of F fits has 1/F of
    that in its error; so what more fits take off is known. It is an estimate, and at least a quarter of the square is
    kept.

    >>> mean_square(np.array([1.0, -1.0]), 0.0, 1), mean_square(np.array([2.0, 2.0]), 0.0, 1)
    (1.0, 8.0)
    """
    bias = max(float(errors.mean() ** 2 - errors.var(ddof=1) / len(errors)), 0.0) if len(errors) > 1 else 0.0
    square = float((errors**2).mean()) + bias
    return max(square - (1 - 1 / fits) * between, square / 4)


def smoothed(coefficients: Floats, share: float, size: int) -> float:
    """The law's squared error of a question, in counts."""
    return float(np.exp(law_inputs(share, size) @ coefficients))


def gamma_regression(features: Floats, values: Floats, steps: int = 50) -> Floats:
    """β with E[value] = exp(features · β), by Fisher scoring of the gamma likelihood; the first feature is 1.

    A ridge holds the slopes near nought where the features hardly vary: with one column of few levels, questions of
    other shares than were seen are answered by the mean, not by a slope that chance has made.
    """
    values = np.maximum(values, 1e-9 * max(values.mean(), 1e-9))
    penalty = np.full(features.shape[1], RIDGE)
    penalty[0] = 1e-3
    middle = np.zeros(features.shape[1])
    middle[0] = np.log(values).mean()
    inverse = np.linalg.inv(features.T @ features + np.diag(penalty))
    beta = middle + inverse @ features.T @ (np.log(values) - middle[0])
    for _ in range(steps):
        rest = np.clip(values * np.exp(-features @ beta) - 1, -1, 3)
        beta = beta + inverse @ (features.T @ rest - penalty * (beta - middle))
    return np.asarray(beta, float)


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
