"""A count read twice: off the views' own cells, whose law is known, and off the model; then one answer of both.

Cells of a view are noisy but unbiased: a weighted sum of them has variance Σ w²·variance, exactly. The model is less
noisy but may be off.

**Of one column** all views together tell nearly as much as the model (`columnsums`), so their law is what counts, and
the model only says where within its noise to look (`nearest`).

**Of two columns** a view's cells are noisy, and both are weighed (`combined`): the surer one weighs more; and as the
same noise is in both, one that is far less sure weighs nothing. That errs by a quarter to a third less than the cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scumble.views.evidence import Evidence
from scumble.views.mixture import Condition

Floats = npt.NDArray[np.float64]

LEAST = 1e-300
"""A share to divide by, where there is none."""
NEAR = 0.5
"""How far a model's answer may be from the exact law's, in its standard deviations."""


@dataclass(frozen=True)
class Estimate:
    """A number and the variance of its error."""

    value: float
    variance: float

    def __add__(self, other: Estimate) -> Estimate:
        """The sum of two numbers whose errors are independent."""
        return Estimate(self.value + other.value, self.variance + other.variance)


NOTHING = Estimate(0.0, 0.0)


def nearest(modelled: float, exact: Estimate) -> Estimate:
    """The model's number, drawn to within half a standard deviation s of a reading whose law is exact.

    The square of its distance from that reading counts as variance. So an interval holds however far the model is off:
    of 95 % it then is s/2 beside the reading's own, and √1.25 times as wide, and P(|Z + ½| < 1.96·√1.25) = 0.951. (Of
    90 and 99 % it is 0.900 and 0.991.)

    Half is chosen by error, on some sixty tables at six budgets, with the reading of least variance. Of random ranges,
    of the highest 0.5 % and of single cells the root mean squares were 0.95, 0.90 and 0.85 s; of that reading alone,
    cut at nought, 0.97, 0.84 and 0.91; of the model 1.05, 1.34 and 0.88. Nearer to the reading, histograms of mostly
    empty cells would sum to too much.

    >>> nearest(30.0, Estimate(10.0, 16.0)), nearest(9.0, Estimate(10.0, 16.0))
    (Estimate(value=12.0, variance=20.0), Estimate(value=9.0, variance=17.0))
    """
    reach = NEAR * math.sqrt(exact.variance)
    value = min(max(modelled, exact.value - reach), exact.value + reach)
    return Estimate(value, exact.variance + (value - exact.value) ** 2)


def inside(evidence: Evidence, condition: Condition) -> Estimate | None:
    """The count of a condition on two columns from the cells of their view, or None if no view holds it.

    A view holds what does not tell apart levels of one group.

    >>> from scumble.views.evidence import View
    >>> from scumble.views.grouping import Column
    >>> views = [View((j,), np.array([5.0, 5.0]), variance=1.0) for j in (0, 1)]
    >>> both = View((0, 1), np.array([[4.0, 1.0], [1.0, 4.0]]), variance=2.0)
    >>> evidence = Evidence((Column(2), Column(2)), (np.arange(2), np.arange(2)), (*views, both))
    >>> inside(evidence, [(1.0, {0: [1, 0]}), (1.0, {1: [1, 0]}), (-1.0, {0: [1, 0], 1: [1, 0]})])
    Estimate(value=6.0, variance=6.0)
    """
    columns = spoken_of(condition)
    view = evidence.pair((columns[0], columns[1])) if len(columns) == 2 else None
    if view is None:
        return None
    weights = weights_of(evidence, condition)
    for axis, j in enumerate(columns):
        group = evidence.groups[j]
        first = np.unique(group, return_index=True)[1]
        coarse = weights.take(first, axis)
        if not np.array_equal(coarse.take(group, axis), weights):
            return None
        weights = coarse
    return Estimate(float((view.counts * weights).sum()), view.variance * float((weights**2).sum()))


def by_groups(evidence: Evidence, shares: Sequence[Floats], condition: Condition) -> Condition | None:
    """A condition on two columns as far as their view tells it: in each group, levels have the mean of their weights.

    `shares` are those of the levels of each column. None if the two were not measured together, or if more than two are
    asked about.

    >>> from scumble.views.evidence import View
    >>> from scumble.views.grouping import Column
    >>> alone = View((0,), np.array([2.0, 6.0, 8.0]), 0.0), View((1,), np.array([9.0, 7.0]), 0.0)
    >>> both = View((0, 1), np.array([[4.0, 4.0], [5.0, 3.0]]), 0.0)
    >>> evidence = Evidence((Column(3), Column(2)), (np.array([0, 0, 1]), np.arange(2)), (*alone, both))
    >>> shares = np.array([0.2, 0.6, 0.2]), np.array([0.5, 0.5])
    >>> ((_, product),) = by_groups(evidence, shares, [(1.0, {0: [1, 0, 1], 1: [1, 0]})])
    >>> [weights.tolist() for weights in product.values()]
    [[0.25, 0.25, 1.0], [1.0, 0.0]]
    """
    columns = spoken_of(condition)
    if len(columns) != 2 or evidence.pair((columns[0], columns[1])) is None:
        return None

    def evened(j: int, weights: Floats) -> Floats:
        group, share = evidence.groups[j], np.maximum(shares[j], LEAST)
        return np.asarray((np.bincount(group, share * weights) / np.bincount(group, share))[group])

    return [
        (c, {j: evened(j, np.asarray(weights, float)) for j, weights in product.items()}) for c, product in condition
    ]


def cells_of(evidence: Evidence, told: Condition) -> Floats:
    """The weights of a view's cells in a condition on two columns that they tell (`by_groups`)."""
    columns = spoken_of(told)
    first = {j: np.unique(evidence.groups[j], return_index=True)[1] for j in columns}
    total = np.zeros([len(first[j]) for j in columns])
    for coefficient, product in told:
        one, two = (
            np.asarray(product[j], float)[first[j]] if j in product else np.ones(len(first[j])) for j in columns
        )
        total += coefficient * np.multiply.outer(one, two)
    return total


def spoken_of(condition: Condition) -> tuple[int, ...]:
    """The columns that a condition speaks of, in rising order."""
    return tuple(sorted({j for _, product in condition for j in product}))


def weights_of(evidence: Evidence, condition: Condition) -> Floats:
    """Σ_i c_i Π_j v_ij over all cells of the columns that a condition speaks of."""
    columns = spoken_of(condition)
    total = np.zeros([evidence.columns[j].levels for j in columns])
    for coefficient, product in condition:
        term: Floats = np.array(coefficient)
        for j in columns:
            term = np.multiply.outer(term, np.asarray(product.get(j, np.ones(evidence.columns[j].levels)), float))
        total += term
    return total


def combined(one: Estimate, other: Estimate, correlation: float = 0.0) -> tuple[float, float]:
    """The best mean of two estimates, and the weight of the first in it.

    For errors of deviations s, t and correlation ρ, w² s² + (1 − w)² t² + 2ρ w(1 − w) s t is least at
    w = (t² − ρ s t)/(s² + t² − 2ρ s t); by inverse variance, if they are independent. Neither weight is negative.
    """
    shared = correlation * math.sqrt(one.variance * other.variance)
    total = one.variance + other.variance - 2 * shared
    weight = min(max((other.variance - shared) / total, 0.0), 1.0) if total > 0 else 0.5
    return weight * one.value + (1 - weight) * other.value, weight


def spread(one: Estimate, other: Estimate, weight: float, correlation: float) -> float:
    """The variance of a mean of two estimates, the first of which has this weight."""
    s, t = weight * math.sqrt(one.variance), (1 - weight) * math.sqrt(other.variance)
    return s**2 + t**2 + 2 * correlation * s * t
