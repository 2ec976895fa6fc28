"""Errors of answers, and intervals that hold.

Rehearsals (`rehearsal`) say how far a question's answer was off, a few times. So few squares scatter widely. Questions
of the same size and number of conditions err alike, so a law smooths them: squared errors of random questions follow

    log E[error²] = β₀ + β₁ log p + β₂ log² p + β₃ (number of conditions),    p = min(share, 1 − share),

fitted by gamma regression. A question's variance is the mean of its own squares and the law's value, times 1.1². Small
counts err in ways that rehearsals seldom show: below 0.3 % of the records the variance is at least the law's at 0.3 %.
Of the two worlds that are rehearsed, that one counts in which the question errs more.

What was never measured, no rehearsal can show. The view of a pair tells how two conditions hang together as far as its
groups tell the conditions; no view, nothing. A condition's variance p(1 − p) is that between groups and that within
them, T = B + W, and the unseen part of two conditions is T₁T₂ − B₁B₂ (T₁T₂ without a view). It may be correlated:
random conditions of two columns were, with a root mean square of 0.13 on Adult (0.08 to 0.13 on synthetic tables), and
of more on tables of bills and payments; φ = 0.16 is taken. So each pair adds φ² times its unseen part, times the
squared share of the other conditions; half of φ where the pair was measured, as what its groups tell comes first, and
0.11 where it was left out when others were chosen.

What noise hides of a pair that was measured, rehearsals do not show either. The model takes what is weaker than the
noise for independence, and the world that rehearsals are drawn from was fitted to the same noise. Between groups the
covariance of two conditions may be φ √(B₁B₂), and the view shows it up to noise of variance s² = v Σ d₁² Σ d₂²/n², v
being that of a cell and d the groups' deviations from the mean. Knowing both leaves 1/(1/(φ² B₁B₂) + 1/s²), times the
squared number of records that meet the other conditions. It is the same noise that is rehearsed: the larger of the two
variances counts, not their sum.

Where single columns are all there is, the model is those columns made distributions, and how noise goes into that is
known (`_projected`): no variance is less, however little a few rehearsals erred.

Inside one view there is an exact law beside the model. If its cells are farther from the model than their noise takes
them, the model is off by the rest at least (`apart`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scumble.views.budgeting import Law
from scumble.views.coarsening import coarser
from scumble.views.estimates import Estimate, combined, inside
from scumble.views.evidence import Evidence
from scumble.views.fitting import one_thread, several
from scumble.views.mixture import Condition, together
from scumble.views.rehearsal import Rehearsal, rehearse

Floats = npt.NDArray[np.float64]

QUESTIONS = 200
RIDGE = 0.02
"""Of the law's slopes, beside as many questions."""
MOST_CONDITIONS = 4
CAUTION = 1.1
SMALL = 0.003
UNKNOWN_CORRELATION = 0.16
LEFT_OUT = 0.11
"""The same of pairs that were not measured while others were: those were chosen for hanging together more."""
SHARED_NOISE = 0.5
"""Correlation of a view's error and the model's, as the same noise is in both."""


@dataclass(frozen=True)
class _Variances:
    """A condition's mean, its variance, the part of that between groups, and the summed square of groups' deviations:
    how much noise of the groups' cells it gathers."""

    mean: float
    total: float
    between: float
    spread: float


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
        self._law = law
        self._seed = seed
        self._rehearsals: list[Rehearsal] = []
        self._worlds = 1
        self._coefficients: Floats = np.zeros(4)
        self._pairs = {(v.columns[0], v.columns[1]): v.variance for v in self.seen.views if len(v.columns) == 2}
        self._marginals = [self.model.table([j]) for j in range(len(evidence.columns))]

    def prepare(self) -> None:
        """Rehearse, if that was not done: once, when errors are first asked for."""
        if not self._rehearsals:
            with one_thread():
                needed = len(self.model.weights) // len(self._fits)
                rehearsals = rehearse(self.evidence, self._law, self._seed, components=max(needed, 1))
                self._worlds = len({id(rehearsal.world) for rehearsal in rehearsals})
                generator = np.random.default_rng([self._seed, QUESTIONS])
                self._coefficients = self._error_law(rehearsals, generator)
            self._rehearsals = rehearsals

    @property
    def rehearsals(self) -> list[Rehearsal]:
        """Releases of synthetic tables like this one, whose truth is known."""
        self.prepare()
        return self._rehearsals

    def count(self, condition: Condition, alike: float | None = None) -> Estimate:
        """How many records meet a condition, and the variance of that.

        Weights may be any numbers, of size one at most; then `alike` is the share of an ordinary condition that errs as
        much: the mean square of the weights.
        """
        modelled = self.model.share(condition) * self.evidence.count
        share = modelled / self.evidence.count if alike is None else alike
        rehearsed, signed = self._rehearsed(condition), alike is not None
        variance = max(self._variance(condition, share, rehearsed), self._hidden(condition, signed=signed))
        estimate = Estimate(modelled, variance + self._unseen(condition, signed=signed))
        own = inside(self.evidence, condition)
        found = estimate if own is None else self._both(own, estimate, condition, rehearsed)
        return Estimate(found.value, max(found.variance, self._projected(condition)))

    def rehearsed_variance(self, condition: Condition) -> float:
        """The variance of the model's count, as rehearsals show it or noise hides it: without what no view shows."""
        rehearsed = self._variance(condition, self.model.share(condition), self._rehearsed(condition))
        return max(rehearsed, self._hidden(condition, signed=False), self._projected(condition))

    def _rehearsed(self, condition: Condition) -> Floats:
        self.prepare()
        return np.array([rehearsal.error(condition) for rehearsal in self._rehearsals])

    def _variance(self, condition: Condition, share: float, rehearsed: Floats) -> float:
        smooth = smoothed(self._coefficients, share, conditions(condition))
        mixed = (self._square(rehearsed, self._between(condition)) + smooth) / 2
        variance = CAUTION**2 * (max(mixed, smooth) if min(share, 1 - share) < SMALL else mixed)
        if not len(self._rehearsals[0].rows):  # the world was the table, so the chance of its records was left out
            variance += self.evidence.count * max(share * (1 - share), 0.0)
        return variance

    def _square(self, errors: Floats, between: float = 0.0) -> float:
        """The mean square of rehearsed errors, in the world where it is larger. (Worlds take turns.)"""
        return max(mean_square(errors[k :: self._worlds], between, len(self._fits)) for k in range(self._worlds))

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
        evidence, worlds = self.evidence, [rehearsal.world for rehearsal in rehearsals[: self._worlds]]
        drawn = [world.draw(2 * QUESTIONS, generator) for world in worlds]
        for number in range(QUESTIONS):
            size = min(1 + number % MOST_CONDITIONS, len(evidence.columns))
            turn = number // MOST_CONDITIONS % self._worlds
            condition = random_condition(evidence, drawn[turn][2 * number : 2 * number + 2], size, generator)
            features.append(law_inputs(worlds[turn].share(condition), size))
            errors = np.array([rehearsal.error(condition) for rehearsal in rehearsals])
            squares.append(self._square(errors, self._between(condition)))
        return gamma_regression(np.array(features), np.array(squares))

    def _unseen(self, condition: Condition, *, signed: bool) -> float:
        """The variance for what no view shows of pairs of conditions."""
        variance = 0.0
        for pair, one, two, often in self._pairs_of(condition, signed=signed):
            unseen, phi = one.total * two.total, LEFT_OUT if self._pairs else UNKNOWN_CORRELATION
            if pair in self._pairs:
                unseen, phi = unseen - one.between * two.between, UNKNOWN_CORRELATION / 2
            variance += (phi * often) ** 2 * unseen
        return variance

    def _hidden(self, condition: Condition, *, signed: bool) -> float:
        """The variance for what noise hides of the pairs that were measured."""
        variance = 0.0
        for pair, one, two, often in self._pairs_of(condition, signed=signed):
            if pair in self._pairs:
                known = UNKNOWN_CORRELATION**2 * one.between * two.between
                noise = self._pairs[pair] * one.spread * two.spread / self.evidence.count**2
                variance += often**2 * known * noise / max(known + noise, 1e-300)
        return variance

    def _projected(self, condition: Condition) -> float:
        """The variance of a product of single columns, if the levels that are not empty stay the same; else nothing.

        The nearest distribution takes the same from each such level: of noise in the direction g, g less its mean is
        left. A question's g of a column is how its count grows with the records of each level.
        """
        variance = 0.0
        for j in set() if self._pairs else {j for _, product in condition for j in product}:
            full = self._marginals[j] > 0
            grows = self.model.table([j], condition)[full] / self._marginals[j][full]
            variance += self.evidence.single(j).variance * float(((grows - grows.mean()) ** 2).sum())
        return variance

    def _pairs_of(
        self, condition: Condition, *, signed: bool
    ) -> Iterator[tuple[tuple[int, int], _Variances, _Variances, float]]:
        """Pairs of columns that are asked about together, and how many records meet all other conditions."""
        for coefficient, product in condition:
            whole = self.model.share([(1.0, product)]) * self.evidence.count
            parts = {j: self._variances(j, np.asarray(weights, float)) for j, weights in product.items()}
            for i, j in itertools.combinations(sorted(product), 2):
                if signed:  # a mean may be nothing
                    others = {k: weights for k, weights in product.items() if k not in (i, j)}
                    rest = self.model.share([(1.0, others)]) * self.evidence.count
                else:
                    rest = whole / max(parts[i].mean * parts[j].mean, 1e-9)
                yield (i, j), parts[i], parts[j], coefficient * rest

    def _variances(self, column: int, weights: Floats) -> _Variances:
        group, share = self.seen.groups[column], self._marginals[column]
        mean = float(share @ weights)
        masses = np.bincount(group, share)
        off = np.bincount(group, share * weights) / np.maximum(masses, 1e-300) - mean
        return _Variances(mean, float(share @ (weights - mean) ** 2), float(masses @ off**2), float(off @ off))

    def _both(self, own: Estimate, modelled: Estimate, condition: Condition, off: Floats) -> Estimate:
        """Cells and model together. They share noise, so what both err by is also rehearsed."""
        value, weight = combined(own, modelled, SHARED_NOISE)
        errors = []
        for rehearsal, model_off in zip(self._rehearsals, off, strict=True):
            cells = inside(rehearsal.evidence, condition)
            assert cells is not None  # the views are the same
            cells_off = cells.value - rehearsal.truth(condition) * rehearsal.size
            errors.append(weight * cells_off + (1 - weight) * model_off)
        rehearsed = self._square(np.array(errors))
        most = weight * math.sqrt(own.variance) + (1 - weight) * math.sqrt(modelled.variance)  # if wholly correlated
        variance = max((CAUTION**2 * rehearsed + most**2) / 2, weight**2 * own.variance)  # cells have their exact law
        return Estimate(value, max(variance, (1 - weight) ** 2 * apart(own, modelled)))


def apart(own: Estimate, modelled: Estimate) -> float:
    """By which square the model must be off, as it is farther from a view's own cells than their noise takes it.

    It widens the interval, and does not move the answer: one view alone may as well be what is far off.

    >>> apart(Estimate(100.0, 9.0), Estimate(105.0, 1.0)), apart(Estimate(100.0, 9.0), Estimate(101.0, 1.0))
    (16.0, 0.0)
    """
    return max((own.value - modelled.value) ** 2 - own.variance, 0.0)


def mean_square(errors: Floats, between: float, fits: int) -> float:
    """The squared error of a count, as it would be with as many fits as the model has.

    `errors` are those of one fit in each rehearsal, `between` is the variance of the answer between fits. The mean of F
    fits has 1/F of that in its error; so what more fits take off is known. It is an estimate, and at least a quarter of
    the square is kept.
    """
    square = float((errors**2).mean())
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
    product = {}
    for j in generator.choice(len(evidence.columns), size, replace=False):
        low, high = sorted(pair[:, j])
        levels = np.arange(evidence.columns[j].levels)
        chosen = (levels >= low) & (levels <= high) if high < evidence.columns[j].ordered else levels == pair[0, j]
        product[int(j)] = chosen.astype(float)
    return [(1.0, product)]
