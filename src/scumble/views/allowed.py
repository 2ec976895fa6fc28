"""What a count can be at all: bounds that every table with the measured counts obeys.

Of records that meet several conditions there are no more than meet any one of them, and no fewer than are left when all
that fail any one are taken away (Fréchet 1935):

    Σ_j n_j − (k − 1) n  ≤  N  ≤  min_j n_j,

whatever the dependence. Where a pair was measured, its view bounds the count again, and more closely: the cells of all
groups that a condition touches hold at least those who meet it, and the cells of all groups that it takes whole hold no
more. So a word that was pooled with others has no more records than the whole pool has in the other condition.

All n are noisy, each within so many standard deviations but for a small chance; one below zero is noise, and counts as
zero, or an unlucky draw would say that surely nobody is there. Bounds share that chance (Bonferroni): that one of them
fails is no more probable than all of it, however many columns are asked about.

An interval that allows for a dependence nobody has measured is cut to this. Weights between 0 and 1 obey the same
bounds, as Π w_j ≤ min w_j, and Π w_j ≥ Σ w_j − (k − 1).
"""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from scumble.views.budgeting import Law
from scumble.views.columnsums import ColumnSums
from scumble.views.estimates import Estimate
from scumble.views.evidence import Evidence, View
from scumble.views.mixture import Condition, Product

Floats = npt.NDArray[np.float64]
ANYTHING = (0.0, math.inf)
RARE = 1e-5
"""The chance that a lower bound fails, at most. Most cells of large tables are empty, and a bound that failed would say
that surely somebody is in one of them: of thousands of cells, no one should be such."""


def allowed(evidence: Evidence, sums: ColumnSums, law: Law, condition: Condition, chance: float) -> tuple[float, float]:
    """Between what a count lies, but for a chance; its products must exclude each other.

    >>> from scumble.views.grouping import Column
    >>> alone = [View((j,), np.array([60.0, 40.0]), variance=1e-6) for j in (0, 1)]
    >>> evidence = Evidence((Column(2), Column(2)), (np.arange(2), np.arange(2)), tuple(alone))
    >>> both = [(1.0, {0: np.array([1.0, 0.0]), 1: np.array([1.0, 0.0])})]
    >>> [round(end) for end in allowed(evidence, ColumnSums(evidence), "gaussian", both, 0.01)]
    [20, 60]
    """
    if any(coefficient != 1.0 or len(product) < 2 or not _plain(product) for coefficient, product in condition):
        return ANYTHING
    least = most = 0.0
    for _, product in condition:
        low, high = _of_product(evidence, sums, law, product, chance / len(condition))
        least, most = least + low, most + high
    return (least, most) if least <= most else ANYTHING  # noise went beyond what is reckoned with


def reach(law: Law, chance: float) -> float:
    """How many standard deviations noise exceeds to one side with so small a chance, at most.

    Sums of Laplace noise have lighter tails than one alone.

    >>> round(reach("gaussian", 0.025), 2), round(reach("laplace", 0.025), 2)
    (1.96, 2.12)
    """
    normal = -NormalDist().inv_cdf(chance)
    return normal if law == "gaussian" else max(normal, -math.log(2 * chance) / math.sqrt(2))


def _of_product(evidence: Evidence, sums: ColumnSums, law: Law, product: Product, chance: float) -> tuple[float, float]:
    weights = {j: np.asarray(given, float) for j, given in product.items()}
    each = [sums.sum(j, given) for j, given in weights.items()]
    views = [view for pair in itertools.combinations(sorted(weights), 2) if (view := evidence.pair(pair)) is not None]
    touched = [_cells(evidence, view, weights, np.maximum) for view in views]
    whole = [_cells(evidence, view, weights, np.minimum) for view in views if len(weights) == 2]
    every = Estimate((1.0 - len(each)) * evidence.count, (len(each) - 1.0) ** 2 * evidence.count_variance)
    beyond = reach(law, chance / (len(each) + len(touched) + len(whole) + 1))
    lows = [sum(each, every), *whole]
    highs = [*each, *touched]
    sure = max(beyond, reach(law, RARE))
    least = max(one.value - sure * math.sqrt(one.variance) for one in lows)
    most = min(max(one.value, 0.0) + beyond * math.sqrt(one.variance) for one in highs)
    return max(least, 0.0), most


def _cells(evidence: Evidence, view: View, weights: dict[int, Floats], taken: np.ufunc) -> Estimate:
    """The records of all cells of a view, each by the largest or the least weight of its levels."""
    one, two = (_by_group(evidence, j, weights[j], taken) for j in view.columns)
    total = float(one @ view.counts @ two)
    return Estimate(total, view.variance * float((one**2).sum() * (two**2).sum()))


def _by_group(evidence: Evidence, column: int, weights: Floats, taken: np.ufunc) -> Floats:
    found = np.full(evidence.sizes[column], 0.0 if taken is np.maximum else 1.0)
    taken.at(found, evidence.groups[column], weights)
    return found


def _plain(product: Product) -> bool:
    return all(bool(((given := np.asarray(weights)) >= 0).all() and (given <= 1).all()) for weights in product.values())
