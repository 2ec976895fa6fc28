"""Coarser evidence for fits: of a number, more runs than help only make a fit slow.

A step of a fit takes a time that grows with the square of all groups together. Where there are many records, pairs bear
dozens of runs of a number; but neighbours resemble each other, and what lies within a run is known from the single
column. On a million records with Adult's structure, sixteen runs gave answers as near to the truth as all of them;
where columns are sharp functions of each other, a tenth is lost (docs/benchmarks.md). So fits see sums of the published
cells; questions inside one view are still answered by its own cells, too. Words are never taken together: they have no
neighbours.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from scumble.views.evidence import Evidence, View
from scumble.views.grouping import RUNS, runs

Integers = npt.NDArray[np.int64]


def coarser(evidence: Evidence) -> Evidence:
    """The same views, in which no ordered column has more than `RUNS` groups.

    >>> from scumble.views.grouping import Column
    >>> column, fine = Column(20, ordered=20), np.arange(20)
    >>> alone = [View((j,), np.full(20, 5.0), 1.0) for j in (0, 1)]
    >>> both = View((0, 1), np.full((20, 20), 0.25), 1.0)
    >>> found = coarser(Evidence((column, column), (fine, fine), (*alone, both)))
    >>> found.sizes, float(found.views[2].counts.sum())
    ((16, 16), 100.0)
    """
    merged = [_merged(evidence, j) for j in range(len(evidence.columns))]
    if all(len(into) == into.max() + 1 for into in merged):
        return evidence
    views = tuple(_summed(view, merged) if len(view.columns) == 2 else view for view in evidence.views)
    groups = tuple(into[group] for into, group in zip(merged, evidence.groups, strict=True))
    return replace(evidence, groups=groups, views=views)


def _merged(evidence: Evidence, column: int) -> Integers:
    """The coarser group of each group."""
    group, on_line = evidence.groups[column], evidence.runs[column]
    if on_line <= RUNS:
        return np.arange(evidence.sizes[column])
    first = runs(np.maximum(np.bincount(group, evidence.single(column).counts), 0.0)[:on_line], RUNS)
    return np.concatenate([first, first.max() + 1 + np.arange(evidence.sizes[column] - on_line)])


def _summed(view: View, merged: list[Integers]) -> View:
    """Sums of cells. A sum of m has m times the variance; the view has one for all, so their mean is taken."""
    one, other = (np.flatnonzero(np.diff(merged[j], prepend=-1)) for j in view.columns)
    counts = np.add.reduceat(np.add.reduceat(view.counts, one, axis=0), other, axis=1)
    return replace(view, counts=counts, variance=view.variance * view.counts.size / counts.size)
