"""A count read twice: off the view's own cells, whose law is known, and off the model; then the best mean of both.

Cells of a view are noisy but unbiased: a weighted sum of them has variance Σ w²·variance, exactly. The model is less
noisy but may be off. The surer one weighs more; and as the same noise is in both, one that is far less sure weighs
nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scumble.views.evidence import Evidence, View
from scumble.views.mixture import Condition

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number and the variance of its error."""

    value: float
    variance: float


def inside(evidence: Evidence, condition: Condition) -> Estimate | None:
    """The count of a condition from the cells of one view, or None if no view holds it.

    A pair holds what does not tell apart levels of one group.

    >>> from scumble.views.grouping import Column
    >>> single = View((0,), np.array([5.0, 7.0, 1.0]), variance=4.0)
    >>> evidence = Evidence((Column(3),), (np.arange(3),), (single,))
    >>> inside(evidence, [(1.0, {0: [0, 1, 1]})])
    Estimate(value=8.0, variance=8.0)
    """
    columns = tuple(sorted({j for _, product in condition for j in product}))
    if len(columns) == 1:
        return _read(evidence.single(columns[0]), _weights(evidence, condition, columns))
    view = evidence.pair((columns[0], columns[1])) if len(columns) == 2 else None
    if view is None:
        return None
    weights = _weights(evidence, condition, columns)
    for axis, j in enumerate(columns):
        group = evidence.groups[j]
        first = np.unique(group, return_index=True)[1]
        coarse = weights.take(first, axis)
        if not np.array_equal(coarse.take(group, axis), weights):
            return None
        weights = coarse
    return _read(view, weights)


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


def _weights(evidence: Evidence, condition: Condition, columns: tuple[int, ...]) -> Floats:
    """Σ_i c_i Π_j v_ij over all cells of these columns."""
    total = np.zeros([evidence.columns[j].levels for j in columns])
    for coefficient, product in condition:
        term: Floats = np.array(coefficient)
        for j in columns:
            term = np.multiply.outer(term, np.asarray(product.get(j, np.ones(evidence.columns[j].levels)), float))
        total += term
    return total


def _read(view: View, weights: Floats) -> Estimate:
    return Estimate(float((view.counts * weights).sum()), view.variance * float((weights**2).sum()))
