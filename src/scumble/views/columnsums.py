"""The sum of a column's weights over all records, by the views alone: an exact law, and no model.

A sum Σ w_c n_c over a column's cells c is known three times over: cell by cell from the column alone (n_c, of variance
σ²), group by group from the margins of its pairs (m_g, of τ²), and, as far as all weights are alike, from the number of
records N that all views together tell. So weights are written as their mean over all cells, the means of groups beside
that, and the rest, w_c = w + b_g(c) + r_c. Only the cells tell the rest. What is between groups both tell, and one
share λ of it is taken from the margins:

    w N + Σ (r_c + (1 − λ) b_g(c)) n_c + λ Σ b_g m_g.

λ is that of the least variance. Cells and N are uncorrelated here, as r_c and b_g(c) sum to nought over all cells; with
V the variance of N, each of G margins has the covariance V/G with it, so λ = (A − K) / (A + B), where
A = σ² Σ_c b², B = τ² Σ_g b² and K = w Σ_g b_g V/G.

**Why one share for all groups.** Gauss and Markov's sum has a λ for each group, nearer to one the more cells it has.
But groups were cut by the noisy counts n (`grouping`): a cell to which noise has added much stands alone, those from
which it has taken stand together. Where a column is mostly noise, such a sum keeps the noise of the one sort and loses
that of the other: tails of skewed columns came out too large by half a standard deviation. One share for all is blind
to the sign of the noise; it costs 0 to 5 % of the standard deviation as a rule, and seldom as much as a third. (What
noise still decides, λ itself and the group that a range cuts, moved tails by no more than 0.2.)

It is unbiased whatever the table. A fit is not: it takes cells for empty that hold fewer records than their noise, and
a few records with large values can be half of a sum. No rehearsal shows that, as its world was fitted, too. So what is
asked of one column alone is answered by this law (`estimates.nearest`); and if other columns say whose values are
meant, and for quantiles, intervals reach over those of both readings.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scumble.views.estimates import Estimate
from scumble.views.evidence import Evidence

Floats = npt.NDArray[np.float64]
LEAST = 1e-12
"""A variance to divide by, where there is none."""
MOST_KNOWN = 1 << 12
"""Sums that are kept."""
ROUNDED = 1e-12
"""Of the largest weight: what differs by less, differs by rounding. (λ grows without bound as b vanishes.)"""


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
        self._margins: dict[int, tuple[Floats, float]] = {}
        self._known: dict[tuple[int, bytes], Estimate] = {}

    def sum(self, column: int, weights: Floats) -> Estimate:
        """An unbiased linear estimate of Σ weight · records over a column's cells, and its exact variance.

        All cells in a row of a cross-table ask for the same: what was asked of late is known.
        """
        asked = column, np.asarray(weights, float).tobytes()
        found = self._known.get(asked)
        if found is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            (value,), (variance,) = self.sums(column, weights[None])
            found = self._known[asked] = Estimate(float(value), float(variance))
        return found

    def sums(self, column: int, weights: Floats) -> tuple[Floats, Floats]:
        """The same for each row of a table of weights: all values, and all variances."""
        if column not in self._margins:
            self._margins[column] = margins(self._evidence, column)
        told, sure = self._margins[column]
        single, group = self._evidence.single(column), self._evidence.groups[column]
        noise, of_total = max(single.variance, LEAST), self._evidence.count_variance
        mean = weights.mean(axis=1)
        between = np.array([np.bincount(group, row) for row in weights]) / np.bincount(group) - mean[:, None]
        between[np.abs(between) < ROUNDED * np.abs(weights).max(axis=1, keepdims=True)] = 0.0
        squares = (between**2).sum(axis=1)
        cells = noise * (between[:, group] ** 2).sum(axis=1)  # A
        common = mean * between.sum(axis=1) * of_total / len(told)  # K
        both = sure * cells + squares  # (A + B)/τ²; without pairs 1/τ² is nought
        gain = np.divide(cells - common, both, out=np.zeros_like(both), where=both > 0)  # τ² λ
        shared = sure * gain[:, None] * between
        rest = weights - mean[:, None] - shared[:, group]
        value = mean * self._evidence.total + rest @ single.counts + shared @ told
        variance = mean**2 * of_total + noise * (rest**2).sum(axis=1) + sure * gain * (gain * squares + 2 * common)
        return value, variance


def margins(evidence: Evidence, column: int) -> tuple[Floats, float]:
    """The records of each of a column's groups, by all its pairs, and the inverse of the variance of one of them."""
    sums, precision = np.zeros(evidence.sizes[column]), 0.0
    for view in evidence.views:
        if len(view.columns) == 2 and column in view.columns:
            other = 1 - view.columns.index(column)
            sure = 1.0 / (max(view.variance, LEAST) * view.counts.shape[other])
            sums, precision = sums + sure * view.counts.sum(axis=other), precision + sure
    return sums / precision if precision else sums, precision
