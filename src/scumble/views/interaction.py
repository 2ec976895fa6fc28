"""A sum over the cells of a measured pair, by views alone: margins from all views, the interaction from the pair's own.

What a pair's view alone can tell is the *interaction* of its columns: what is left of its cells when the means of rows
and of columns are taken off. Margins are known better from elsewhere: each column alone, and all its other pairs. So
the weights w of a sum are divided as in an analysis of variance,

    w_gh = c + a_g + b_h + i_gh,    a, b and the rows and columns of i having the sum nought,

and Σ i_gh n_gh is read off the view's cells, Σ (c + a_g) n_g and Σ b_h n_h off all views (`columnsums`). Noise of equal
variance in all cells is uncorrelated in these parts, so their variances add up: the law is exact. Of one cell of G × H
the interaction has (G − 1)(H − 1)/GH of the cell's variance, a quarter of a cell of two booleans; of half the rows and
half the columns, a quarter of the sum of its cells', always.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scumble.views.columnsums import ColumnSums
from scumble.views.estimates import Estimate
from scumble.views.evidence import Evidence, View

Floats = npt.NDArray[np.float64]


def interaction(cells: Floats) -> Floats:
    """Cells less the means of their rows and columns, and the mean of all once more.

    >>> interaction(np.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    return np.asarray(cells - cells.mean(axis=0) - cells.mean(axis=1, keepdims=True) + cells.mean())


def pair_sum(evidence: Evidence, sums: ColumnSums, view: View, cells: Floats) -> Estimate:
    """Σ weight · records over the cells of a view, unbiased, and its exact variance.

    >>> from scumble.views.grouping import Column
    >>> alone = [View((j,), np.array([60.0, 40.0]), variance=1e-6) for j in (0, 1)]
    >>> both = View((0, 1), np.array([[52.0, 10.0], [10.0, 32.0]]), variance=4.0)
    >>> evidence = Evidence((Column(2), Column(2)), (np.arange(2), np.arange(2)), (*alone, both))
    >>> found = pair_sum(evidence, ColumnSums(evidence), both, np.array([[1.0, 0.0], [0.0, 0.0]]))
    >>> round(found.value, 3), round(found.variance, 3)
    (51.0, 1.0)
    """
    one, two = (evidence.groups[j] for j in view.columns)
    own = interaction(cells)
    across = cells.mean(axis=0) - cells.mean()
    interacting = Estimate(float((own * view.counts).sum()), view.variance * float((own**2).sum()))
    margins = sums.sum(view.columns[0], cells.mean(axis=1)[one]) + sums.sum(view.columns[1], across[two])
    return interacting + margins
