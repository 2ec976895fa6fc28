"""Coarser levels for pairs of columns, from the noisy single columns.

A pair bears so many levels an axis and no more (`budgeting`). Which levels stay is read off the single columns as they
are published, so it costs nothing: ordered levels are cut into runs of nearly equal mass, and of unordered ones the
rarest are pooled. The pairs' cells are sums of finer ones, so no second look at the records is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scumble.errors import parameter
from scumble.table.prior import LEVELS

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """A column as views see it: integer codes 0, …, levels − 1.

    The first `ordered` ones lie along a line: all cells of a number, none of a category. What follows them (missing,
    other) stands for itself; `missing`: whether the last level is that. `lone`: which of the ordered ones has a single
    value, zero: what lies next to it tells nothing of it. `above`: of words that lie within others, which those are."""

    levels: int
    ordered: int = 0
    missing: bool = False
    lone: int | None = None
    above: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.levels < 1:
            raise parameter("levels", "at least 1", self.levels)
        if not 0 <= self.ordered <= self.levels:
            raise parameter("ordered", f"between 0 and {self.levels}", self.ordered)


def groups(column: Column, counts: Floats, most: int, above: Sequence[Integers] = ()) -> Integers:
    """The group of each level: at most `most` of them, 0, 1, …, in the order of their first levels.

    `counts` are the single column's noisy ones. `above`: the levels of columns that a column of words lies within,
    nearest first.

    >>> groups(Column(6, ordered=6), np.array([9., 1., 1., 2., 2., 2.]), 3)
    array([0, 1, 1, 1, 2, 2])
    >>> groups(Column(5), np.array([5., 9., 1., 7., 2.]), 3)
    array([0, 1, 0, 2, 0])
    """
    if most < 1:
        raise parameter("most", "at least 1", most)
    if column.ordered == column.levels:
        most = min(most, max(LEVELS, most // 2))
    mass = np.maximum(np.asarray(counts, float), 0.0)
    if column.levels <= most:
        return np.arange(column.levels)
    line, others = mass[: column.ordered], mass[column.ordered :]
    if not len(others):
        return runs(line, most)
    if not len(line):
        return in_order(pooled(others, most, above))
    # Groups for what stands apart go to the heaviest of it; at least one is left for the line, and one for the rest.
    fair = mass.sum() / most
    apart = min(max(1, int((others >= fair / 2).sum())), len(others), max(most - 1, 1))
    if most == 1:
        return np.zeros(column.levels, np.int64)
    first = runs(line, most - apart)
    return np.concatenate([first, first.max() + 1 + in_order(pooled(others, apart))])


def runs(mass: Floats, most: int) -> Integers:
    """Cut a line of levels into at most `most` runs of nearly equal masses, so that the chance Σ M_g² that two records
    share a run is least. Found exactly, by the recursion over the last run:
    best(g, j) = min over i of best(g − 1, i) + (mass of levels i, …, j − 1)²."""
    if len(mass) <= most:
        return np.arange(len(mass))
    below = np.concatenate([[0.0], np.cumsum(mass)])
    squares = (below[None, :] - below[:, None]) ** 2  # [i, j]: the run from i to j − 1
    squares[np.tril_indices(len(below))] = np.inf  # no run is empty
    best = squares[0]
    cuts = []
    for _ in range(most - 1):
        sums = best[:, None] + squares
        cuts.append(sums.argmin(axis=0))
        best = sums.min(axis=0)
    starts = []
    end = len(mass)
    for cut in reversed(cuts):
        end = int(cut[end])
        starts.append(end)
    marks = np.zeros(len(mass), np.int64)
    marks[starts] = 1
    return np.cumsum(marks)


def pooled(mass: npt.NDArray[np.floating | np.integer], most: int, above: Sequence[Integers] = ()) -> Integers:
    """Keep the heaviest levels and pool the others: all of them, or those that lie within the same level above.

    >>> pooled(np.array([9, 5, 1, 2, 3]), 4, [np.array([0, 0, 1, 1, 1])])
    array([1, 2, 0, 0, 0])
    """
    if len(mass) <= most:
        return np.arange(len(mass))
    if above:
        _, first, parent = np.unique(above[0], return_index=True, return_inverse=True)
        room = most - len(first)
        if room <= 0:
            return pooled(np.bincount(parent, mass), most, [levels[first] for levels in above[1:]])[parent]
        parent[np.argsort(-mass, kind="stable")[:room]] = len(first) + np.arange(room)
        return np.unique(parent, return_inverse=True)[1]
    kept = np.argsort(-mass, kind="stable")[: most - 1]
    group = np.full(len(mass), most - 1, np.int64)
    group[kept] = np.arange(most - 1)
    return group


def in_order(group: Integers) -> Integers:
    """Number the groups by their first levels."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)
