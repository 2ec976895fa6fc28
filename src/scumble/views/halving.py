"""The shares of a line's cells, where most of them may be empty: halved, and the halves again.

Noisy counts of a number's or a date's cells are to become shares: none negative, all of them one. The nearest such
distribution (`evidence.simplex`) takes the same from every cell and forgets what is below nought. So of many empty
cells those stay whose noise was above it, and what they hold is taken from the full ones. Where a long tail is empty,
as of incomes or distances, that makes records far out, and the mean of a column several times what it is.

Sums of many cells know better. Here all records are divided between the two parts of the line, and those of each part
again, down to single cells; what a part got, it keeps. Its noisy sum is compared with an even division of what there is
to divide, and drawn to that as far as it may be noise (James & Stein 1961; positive part). A part that has less than
`EMPTY` standard deviations then is empty, with all its cells. So a tail gets what is sure of its sum, not what is
positive of its cells. Where the line is cut matters little for most cells and much for some: the mean over five ways of
cutting it is taken.

Seven columns of 64 cells (lognormal, gamma, exponential, even, heaped, two peaks, mostly zero), 20,000 records, Laplace
noise of 10, 30 and 90, their number known as well as one cell, 20 draws each; root mean square error in units of the
noise. Random ranges 3.0, 2.5 and 2.3 (the nearest distribution: 3.7, 3.7, 3.5), what is from a record on 2.5, 2.2, 2.3
(2.6, 2.7, 2.8), a record's own cell 1.04, 1.03 and 0.99 (1.06, 1.11, 1.05); means 0.64, 0.46 and 0.54 of its error.

A cell of a single value, zero, is no part of the line: what is beside it tells nothing of it. It has what was counted
there, or is empty if that may be noise.

A heap in one cell is sure, however little is sure of all that is around: where values are tied, or lie beyond the
bounds and count there. What it has more than the cells beside it is taken off first, and is not divided.

**Two readings of a cell.** The margins of pairs tell the sums of groups again. Cells are drawn to them by one share for
all groups (why one: `columnsums`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.views.columnsums import LEAST, margins
from scumble.views.evidence import Evidence

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

EMPTY = 1.5
"""Standard deviations below which a part of a line is empty."""
FEW = 2.0
"""Standard deviations below which a group of a fit may be empty."""
HEAP = 4.0
"""Standard deviations by which a cell that surely is a heap has more than those beside it."""
CUTS = (0.35, 0.42, 0.5, 0.58, 0.65)
"""Where lines are cut: each tree has one of these."""


class Line(NamedTuple):
    """An ordered column."""

    shares: Floats
    """Of all its levels."""
    groups: Floats
    """Of its groups."""
    few: npt.NDArray[np.bool_]
    """Which of those may be empty."""

    def within(self, group: Integers, shape: Floats) -> Floats:
        """The share of each level in its group, as `shape` has it where the group is empty."""
        whole = self.groups[group]
        return np.where(whole > 0, self.shares / np.where(whole > 0, whole, 1.0), shape)

    def with_fit(self, fitted: Floats) -> Floats:
        """The shares of the groups by this line and by a fit together.

        A fit knows more: the pairs of all columns are in it. But groups that may be empty have too much in it, taken
        from the others, from each as much. So it gives that back, and the mean of both is taken.

        >>> Line(np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.5, 0.0]), np.array([False, False, True])).with_fit(
        ...     np.array([0.6, 0.3, 0.1])
        ... ).round(3).tolist()
        [0.575, 0.425, 0.0]
        """
        if self.few.all():
            return self.groups
        less = np.where(self.few, self.groups, fitted)
        less = np.maximum(less + np.where(self.few, 0.0, (1 - less.sum()) / (~self.few).sum()), 0.0)
        return np.asarray((self.groups + less / less.sum()) / 2)


def line_of(evidence: Evidence, column: int) -> Line:
    """The shares of all levels of an ordered column; those that stand apart have what was counted there.

    >>> from scumble.views.evidence import View
    >>> from scumble.views.grouping import Column
    >>> noisy = np.array([420.0, 585.0, -9.0, 11.0, 7.0, -12.0, 8.0, -10.0])
    >>> evidence = Evidence((Column(8, ordered=8),), (np.arange(8),), (View((0,), noisy, variance=100.0),))
    >>> [round(share, 2) for share in line_of(evidence, 0).shares.tolist()]
    [0.42, 0.58, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    seen, group = evidence.columns[column], evidence.groups[column]
    counts, noise, less = _levels(evidence, column)
    found = np.zeros(len(counts))
    line = np.flatnonzero(np.arange(seen.ordered) != seen.lone)
    found[seen.ordered :] = np.maximum(counts[seen.ordered :], 0.0)
    if seen.lone is not None and counts[seen.lone] >= EMPTY * np.sqrt(noise):
        found[seen.lone] = counts[seen.lone]
    heaps = _heaps(counts[line], noise)
    left = max(evidence.count - float(found.sum() + heaps.sum()), 0.0)
    found[line] = heaps + _halved(counts[line] - heaps, noise, less[line], left).mean(axis=0)
    total = float(found.sum())
    shares = found / total if total > 0 else np.full(len(found), 1 / len(found))
    groups, each = np.bincount(group, shares).astype(float), np.bincount(group)
    variance = noise * each - less.sum(axis=0) ** 2
    return Line(shares, groups, groups * evidence.count < FEW * np.sqrt(np.maximum(variance, 0.0)))


def _levels(evidence: Evidence, column: int) -> tuple[Floats, float, Floats]:
    """Each level's records, drawn to the margins of pairs; the variance of a cell's own noise; and by how much that of
    the sum of several cells is less than the sum of theirs.

    Of the last there is a row for each level, with one number in the column of its group. The sum of those over some
    levels of a group, squared, is what their variance is less.
    """
    single, group = evidence.single(column), evidence.groups[column]
    told, sure = margins(evidence, column)
    sizes = np.bincount(group)
    noise = max(single.variance, LEAST)
    share = noise * sure / (noise * sure + len(sizes) / len(group))
    off = (told - np.bincount(group, single.counts)) / sizes
    less = (2 * share - share**2) * noise / sizes - (share**2 / sure if sure else 0.0) / sizes**2
    return single.counts + share * off[group], noise, np.eye(len(sizes))[group] * np.sqrt(np.maximum(less, 0.0))


def _heaps(counts: Floats, noise: float) -> Floats:
    """By how much cells have more than those beside them, if that is no noise."""
    if len(counts) < 2:
        return np.zeros(len(counts))
    beside = np.concatenate([counts[1:2], (counts[:-2] + counts[2:]) / 2, counts[-2:-1]])
    more = counts - np.maximum(beside, 0.0)
    return np.where(more > HEAP * np.sqrt(2 * noise), more, 0.0)


def _halved(counts: Floats, noise: float, less: Floats, total: float) -> Floats:
    """A total divided between the two parts of a line, and so on: a row for each way of cutting it.

    All parts of one depth are divided at a time.
    """
    found = np.zeros((len(CUTS), len(counts)))
    sums = np.append(0.0, np.cumsum(counts))
    known = np.vstack([np.zeros(less.shape[1]), np.cumsum(less, axis=0)])
    tree, first, end = np.arange(len(CUTS)), np.zeros(len(CUTS), np.int64), np.full(len(CUTS), len(counts))
    records = np.full(len(CUTS), total)

    def variance(a: Integers, b: Integers) -> Floats:
        return np.asarray(np.maximum(noise * (b - a) - ((known[b] - known[a]) ** 2).sum(axis=1), LEAST))

    while len(tree):
        one = end - first == 1
        found[tree[one], first[one]] = records[one]
        more = ~one & (records > 0)
        tree, first, end, records = tree[more], first[more], end[more], records[more]
        middle = first + np.rint((end - first) * np.take(CUTS, tree)).astype(np.int64)
        middle = np.clip(middle, first + 1, end - 1)
        of_left, of_right = variance(first, middle), variance(middle, end)
        left, right = sums[middle] - sums[first], sums[end] - sums[middle]
        left = left + (records - left - right) * of_left / (of_left + of_right)
        square = of_left * of_right / (of_left + of_right)
        even = records * (middle - first) / (end - first)
        off = left - even
        left = even + off * np.maximum(1 - square / np.maximum(off**2, LEAST), 0.0)
        less_left = 2 * left < records
        few = np.minimum(left, records - left) < EMPTY * np.sqrt(np.where(less_left, of_left, of_right))
        left = np.where(few, np.where(less_left, 0.0, records), left)
        tree, first, end = np.tile(tree, 2), np.concatenate([first, middle]), np.concatenate([middle, end])
        records = np.concatenate([left, records - left])
    return found
