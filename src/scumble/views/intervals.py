"""Errors of answers, and intervals that hold.

Rehearsals (`rehearsal`) say how far a question's answer was off, a few times. So few squares scatter widely. Questions
of the same size and number of conditions err alike, so a law smooths them: squared errors of random questions follow

    log E[error²] = β₀ + β₁ log p + β₂ log² p + β₃ (number of conditions),    p = min(share, 1 − share),

fitted by gamma regression. A question's variance is the mean of its own squares and the law's value, times 1.18². Small
counts err in ways that rehearsals seldom show: below 0.3 % of the records the variance is at least the law's at 0.3 %.

What was never measured, no rehearsal can show. The view of a pair tells how two conditions hang together as far as its
groups tell the conditions; no view, nothing. A condition's variance p(1 − p) is that between groups and that within
them, T = B + W, and the unseen part of two conditions is T₁T₂ − B₁B₂ (T₁T₂ without a view). It may be correlated:
random conditions of two columns were, with a root mean square of 0.13 on Adult (0.08 to 0.13 on synthetic tables), and
of more on tables of bills and payments; φ = 0.16 is taken. So each pair adds φ² times its unseen part, times the
squared share of the other conditions; half of φ where the pair was measured, as what its groups tell comes first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
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
CAUTION = 1.18
SMALL = 0.003
UNKNOWN_CORRELATION = 0.16
SHARED_NOISE = 0.5
"""Correlation of a view's error and the model's, as the same noise is in both."""


@dataclass(frozen=True)
class _Variances:
    mean: float
    total: float
    between: float


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
        self._groups = coarser(evidence).groups  # what the model can tell apart
        with one_thread():
            fits = several(evidence, seed)
        self.model = together(fits)
        self._fits = np.cumsum([0, *(len(fit.weights) for fit in fits[:-1])])
        self._law = law
        self._seed = seed
        self._rehearsals: list[Rehearsal] = []
        self._coefficients: Floats = np.zeros(4)
        self._pairs = {view.columns for view in evidence.views if len(view.columns) == 2}
        self._marginals = [self.model.table([j]) for j in range(len(evidence.columns))]

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

    def count(self, condition: Condition, alike: float | None = None) -> Estimate:
        """How many records meet a condition, and the variance of that.

        Weights may be any numbers, of size one at most; then `alike` is the share of an ordinary condition that errs as
        much: the mean square of the weights.
        """
        modelled = self.model.share(condition) * self.evidence.count
        share = modelled / self.evidence.count if alike is None else alike
        rehearsed = self._rehearsed(condition)
        variance = self._variance(condition, share, rehearsed) + self._unseen(condition, signed=alike is not None)
        estimate = Estimate(modelled, variance)
        own = inside(self.evidence, condition)
        return estimate if own is None else self._both(own, estimate, condition, rehearsed)

    def rehearsed_variance(self, condition: Condition) -> float:
        """The variance of the model's count, as rehearsals show it: without what no view shows."""
        return self._variance(condition, self.model.share(condition), self._rehearsed(condition))

    def _rehearsed(self, condition: Condition) -> Floats:
        self.prepare()
        return np.array([rehearsal.error(condition) for rehearsal in self._rehearsals])

    def _variance(self, condition: Condition, share: float, rehearsed: Floats) -> float:
        smooth = smoothed(self._coefficients, share, conditions(condition))
        mixed = (mean_square(rehearsed, self._between(condition), len(self._fits)) + smooth) / 2
        variance = CAUTION**2 * (max(mixed, smooth) if min(share, 1 - share) < SMALL else mixed)
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
        evidence, world = self.evidence, rehearsals[0].world
        rows = world.draw(2 * QUESTIONS, generator)
        for number in range(QUESTIONS):
            size = min(1 + number % MOST_CONDITIONS, len(evidence.columns))
            condition = random_condition(evidence, rows[2 * number : 2 * number + 2], size, generator)
            features.append(law_inputs(world.share(condition), size))
            errors = np.array([rehearsal.error(condition) for rehearsal in rehearsals])
            squares.append(mean_square(errors, self._between(condition), len(self._fits)))
        return gamma_regression(np.array(features), np.array(squares))

    def _unseen(self, condition: Condition, *, signed: bool) -> float:
        """The variance for what no view shows of pairs of conditions."""
        variance = 0.0
        for coefficient, product in condition:
            whole = self.model.share([(1.0, product)]) * self.evidence.count
            parts = {j: self._variances(j, np.asarray(weights, float)) for j, weights in product.items()}
            for i, j in itertools.combinations(sorted(product), 2):
                unseen, phi = parts[i].total * parts[j].total, UNKNOWN_CORRELATION
                if (i, j) in self._pairs:
                    unseen, phi = unseen - parts[i].between * parts[j].between, UNKNOWN_CORRELATION / 2
                if signed:  # a mean may be nothing
                    others = {k: weights for k, weights in product.items() if k not in (i, j)}
                    rest = self.model.share([(1.0, others)]) * self.evidence.count
                else:
                    rest = whole / max(parts[i].mean * parts[j].mean, 1e-9)
                variance += (coefficient * phi * rest) ** 2 * unseen
        return variance

    def _variances(self, column: int, weights: Floats) -> _Variances:
        """A condition's mean, its variance, and the part of that between groups."""
        group, share = self._groups[column], self._marginals[column]
        mean = float(share @ weights)
        masses = np.bincount(group, share)
        means = np.bincount(group, share * weights) / np.maximum(masses, 1e-300)
        return _Variances(mean, float(share @ (weights - mean) ** 2), float(masses @ (means - mean) ** 2))

    def _both(self, own: Estimate, modelled: Estimate, condition: Condition, off: Floats) -> Estimate:
        """Cells and model together. They share noise, so what both err by is also rehearsed."""
        value, weight = combined(own, modelled, SHARED_NOISE)
        errors = []
        for rehearsal, model_off in zip(self._rehearsals, off, strict=True):
            cells = inside(rehearsal.evidence, condition)
            assert cells is not None  # the views are the same
            cells_off = cells.value - rehearsal.truth(condition) * rehearsal.size
            errors.append(weight * cells_off + (1 - weight) * model_off)
        rehearsed = float(np.mean(np.square(errors)))
        most = weight * math.sqrt(own.variance) + (1 - weight) * math.sqrt(modelled.variance)  # if wholly correlated
        return Estimate(value, (CAUTION**2 * rehearsed + most**2) / 2)


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
