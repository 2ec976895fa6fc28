"""The sum of a column's weights over all records, by the views alone: an exact law, and no model.

A sum Σ w_c n_c over a column's cells is known three times over: cell by cell from the column alone (variance σ² each),
group by group from the margins of its pairs (τ² each), and, as far as all weights are alike, from the number of records
that the other views tell (ν²). Their noise is independent. So w is written as α_c + β_g(c) + γ, and of all ways to
write it the one with the least variance

    σ² Σ α² + τ² Σ β² + ν² γ²

is taken (Gauss and Markov). In a group of m cells whose weights sum to S, β = σ² (S − γm) / (mσ² + τ²); then with
κ = σ²τ² / (mσ² + τ²) of each group, γ = Σ κS / (Σ κm + ν²).

It is unbiased whatever the table. A fit is not: it takes cells for empty that hold fewer records than their noise, and
a few records with large values can be half of a sum. No rehearsal shows that, as its world was fitted, too. So what is
asked of one column alone is answered by this law (`estimates.nearest`); and if other columns say whose values are
meant, and for quantiles, intervals reach over those of both readings.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from scumble.views.estimates import Estimate
from scumble.views.evidence import Evidence

Floats = npt.NDArray[np.float64]
LEAST = 1e-12
"""A variance to divide by, where there is none."""


class ColumnSums:
    """What a table's views tell of sums over single columns.

    Parameters
    ----------
    evidence : Evidence
        The noisy views.

    Examples
    --------
    >>> from scumble.views.evidence import View
    >>> from scumble.views.grouping import Column
    >>> single = View((0,), np.array([5.0, 7.0, 1.0]), variance=4.0)
    >>> evidence = Evidence((Column(3),), (np.arange(3),), (single,))
    >>> ColumnSums(evidence).sum(0, np.array([0.0, 1.0, 10.0]))
    Estimate(value=17.0, variance=404.0)
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._beside: dict[int, tuple[Floats, float, float, float]] = {}

    def sum(self, column: int, weights: Floats) -> Estimate:
        """The best unbiased linear estimate of Σ weight · records over a column's cells, and its exact variance."""
        (value,), (variance,) = self.sums(column, weights[None])
        return Estimate(float(value), float(variance))

    def sums(self, column: int, weights: Floats) -> tuple[Floats, Floats]:
        """The same for each row of a table of weights: all values, and all variances."""
        if column not in self._beside:
            self._beside[column] = *_margins(self._evidence, column), *_total(self._evidence, column)
        margins, of_margin, total, of_total = self._beside[column]
        single, group = self._evidence.single(column), self._evidence.groups[column]
        noise = max(single.variance, LEAST)
        cells, summed = np.bincount(group).astype(float), weights @ np.eye(len(margins))[group]
        less = 1.0 / (cells / of_margin + 1.0 / noise)  # κ; without pairs τ² is infinite
        common = (summed @ less / (less @ cells + of_total))[:, None]
        shared = less / of_margin * (summed - common * cells)
        rest = weights - shared[:, group] - common
        value = rest @ single.counts + shared @ margins + common[:, 0] * total
        parts = [(rest, noise), (shared, of_margin), (common, of_total)]
        return value, sum((part**2).sum(axis=1) * variance for part, variance in parts if math.isfinite(variance))


def _margins(evidence: Evidence, column: int) -> tuple[Floats, float]:
    """The records of each of a column's groups, by all its pairs, and the variance of one of them."""
    sums, precision = np.zeros(evidence.sizes[column]), 0.0
    for view in evidence.views:
        if len(view.columns) == 2 and column in view.columns:
            other = 1 - view.columns.index(column)
            sure = 1.0 / (max(view.variance, LEAST) * view.counts.shape[other])
            sums, precision = sums + sure * view.counts.sum(axis=other), precision + sure
    return (sums / precision, 1.0 / precision) if precision else (sums, math.inf)


def _total(evidence: Evidence, column: int) -> tuple[float, float]:
    """The number of records, by all views that do not speak of a column, and its variance."""
    sums, precision = 0.0, 0.0
    for view in evidence.views:
        if column not in view.columns:
            sure = 1.0 / (max(view.variance, LEAST) * view.counts.size)
            sums, precision = sums + sure * float(view.counts.sum()), precision + sure
    return (sums / precision, 1.0 / precision) if precision else (sums, math.inf)
