"""Draws of a single column: how many records each of its levels has, given all that was counted of it.

A column's levels are halved, and the halves again, down to single levels: a tree (Lavine 1992 calls it a Pólya tree).
Of each node's records n, some part x lies in its left half. The counts give the contrast between the halves with
normal noise of known variance. The prior of x is flat, or that of its logarithm is (`prior.UNEVEN`), so the posterior
has truncated normal laws as its pieces, drawn from by inversion (`split`). No level is negative, sums over wide ranges
follow the counts, and cells whose counts are noise are nearly empty or alike.

**What was counted.** A contrast Σ r_c n_c, with weights that sum to zero, is known twice: cell by cell from the column
alone (variance σ²), and group by group from the margins of its pairs (variance τ²). With b_g the mean weight of group
g, a share λ of what lies between groups is taken from the margins; the variance is least at λ = A/(A + B), where
A = σ² Σ_c b², B = τ² Σ_g b². One λ serves all groups of a contrast: groups were cut by noisy counts, and a λ for each
would keep the noise of one sort of cell and lose that of another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scumble.table import prior
from scumble.table.evidence import Evidence
from scumble.table.grouping import Column

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BANDS = 16.0 ** -np.arange(6)
"""Upper ends of the parts of (0, 1) that stand for a log-uniform number: below the last, a half is as good as empty."""
FARTHEST = 6.0
"""Standard deviations below zero at which a contrast is taken for no further away."""
AT_ONCE = 1 << 10
"""Nodes that are drawn at once: enough for speed, in little memory."""
LEAST, TINY = 1e-12, 1e-300
"""A variance to divide by, where there is none; a probability to divide by."""


def pair_margins(evidence: Evidence, column: int) -> tuple[Floats, float]:
    """The records of each of a column's groups, by all its pairs, and the inverse of the variance of one of them.

    Larger sets take part if they tell the same groups apart.
    """
    sums, precision, group = np.zeros(evidence.sizes[column]), 0.0, evidence.groups[column]
    for view in evidence.views:
        if len(view.columns) < 2 or column not in view.columns:
            continue
        axis = view.columns.index(column)
        own = group if len(view.columns) == 2 else view.levels[axis]
        if {len({*zip(own.tolist(), group.tolist(), strict=True)}), view.counts.shape[axis]} != {len(sums)}:
            continue
        margin = np.moveaxis(view.counts, axis, 0).reshape(view.counts.shape[axis], -1).sum(axis=1)
        places = np.zeros(len(sums), np.int64)
        places[group] = own
        sure = margin.size / (max(view.variance, LEAST) * view.counts.size)
        sums, precision = sums + sure * margin[places], precision + sure
    return sums / precision if precision else sums, precision


def level_variances(evidence: Evidence, column: int) -> Floats:
    """The variance of the count of each of a column's levels, by the column alone and the margins of its pairs.

    In a group of m levels, b = 1/m: A = σ²/m, B = τ²/m², and A²/(A + B) is what the margins take away.
    """
    noise, sure = evidence.single(column).variance, pair_margins(evidence, column)[1]
    each = np.bincount(evidence.groups[column])[evidence.groups[column]]
    return np.asarray(noise - noise**2 * sure / (noise * sure * each + 1))


class Tree:
    """The splits of one column, and what noisy views counted of each."""

    def __init__(self, evidence: Evidence, column: int) -> None:
        self.column, self.group = evidence.columns[column], evidence.groups[column]
        self.single, self.noise = evidence.single(column).counts, max(evidence.single(column).variance, LEAST)
        self.told, self.sure = pair_margins(evidence, column)
        self.order = _ordered(self.column)
        groups = np.zeros((len(self.order) + 1, len(self.told)))
        groups[np.arange(1, len(groups)), self.group[self.order]] = 1.0
        self._groups, self._sums = np.cumsum(groups, axis=0), np.append(0.0, np.cumsum(self.single[self.order]))
        self._each = np.bincount(self.group).astype(float)
        self._off = self.told - np.bincount(self.group, self.single)

    def draw(self, totals: Floats, uniforms: Floats) -> Floats:
        """The records of each level, (draws, levels); `uniforms` has one number for each draw and split."""
        levels = len(self.order)
        found = np.empty((len(totals), levels))
        first, end, records, used = np.array([0]), np.array([levels]), totals[:, None], 0
        while len(first):
            leaf = end - first == 1
            found[:, self.order[first[leaf]]] = records[:, leaf]
            first, end, records = first[~leaf], end[~leaf], records[:, ~leaf]
            middle = (first + end + 1) // 2
            left = np.empty_like(records)
            for some in (slice(at, at + AT_ONCE) for at in range(0, len(first), AT_ONCE)):
                own = uniforms[:, used : used + len(first)][:, some]
                left[:, some] = self._left(first[some], middle[some], end[some], records[:, some], own)
            used += len(first)
            first, end = np.concatenate([first, middle]), np.concatenate([middle, end])
            records = np.concatenate([left, records - left], axis=1)
        return found

    def _contrast(self, first: Integers, middle: Integers, end: Integers, share: Floats) -> tuple[Floats, Floats]:
        """left − share · (left + right) as it was counted, and its variance."""
        value = (1 - share) * (self._sums[middle] - self._sums[first]) - share * (self._sums[end] - self._sums[middle])
        one, two = self._groups[middle] - self._groups[first], self._groups[end] - self._groups[middle]
        weights = (1 - share)[:, None] * one - share[:, None] * two
        between = weights / self._each
        cells, squares = self.noise * (self._each * between**2).sum(axis=1), (between**2).sum(axis=1)
        both = self.sure * cells + squares
        gain = np.divide(cells, both, out=np.zeros_like(both), where=both > 0)  # τ² λ
        shared = (self.sure * gain)[:, None] * between
        own = (1 - share) ** 2 * (middle - first) + share**2 * (end - middle)
        own += (shared * (self._each * shared - 2 * weights)).sum(axis=1)
        variance = self.noise * np.maximum(own, 0.0) + self.sure * gain**2 * squares
        return value + shared @ self._off, np.maximum(variance, LEAST)

    def _left(self, first: Integers, middle: Integers, end: Integers, records: Floats, uniforms: Floats) -> Floats:
        """Draws of how many records of each node lie in its left half."""
        share = (middle - first) / (end - first)
        contrast, variance = self._contrast(first, middle, end, share)
        return split(contrast + share * records, np.sqrt(variance), records, share, uniforms)


def split(center: Floats, deviation: Floats, records: Floats, share: npt.ArrayLike, uniforms: Floats) -> Floats:
    """How many of a node's records lie in its left half, drawn by inversion; (draws, nodes), or (nodes,) for all draws.

    The counts say center ± deviation. The prior expects the share s: with probability 1 − s the share is below that, s
    times a number of density h on (0, 1), else above, and 1 − s times one is missing to 1. h is flat, or with
    probability `prior.UNEVEN` log-uniform: flat within each of the `BANDS`, which are equally likely.
    """
    from scipy.special import ndtr, ndtri  # loaded by fits alone

    turned = center > records / 2  # mirrored, so that tails are computed where they are small
    center = np.maximum(np.where(turned, records - center, center), -FARTHEST * deviation)
    s = np.where(turned, 1.0 - np.asarray(share), share)
    each = (-1, *[1] * s.ndim)
    small = np.append(BANDS, 0.0).reshape(each)
    density = 1 - prior.UNEVEN - prior.UNEVEN / len(BANDS) / np.diff(small, axis=0)
    ends = records * np.concatenate([s * small[::-1], 1 - (1 - s) * small[1:]])
    above = ndtr((center - ends) / deviation)
    within = -np.diff(above, axis=0)
    parts = np.concatenate([(1 - s) / s * density[::-1], s / (1 - s) * density]) * within
    upto = np.cumsum(parts, axis=0)
    mark = np.where(turned, 1 - uniforms, uniforms) * upto[-1]
    here = np.minimum((upto < mark).sum(axis=0), len(parts) - 1)[None]

    def of(pieces: Floats) -> Floats:
        return np.asarray(np.take_along_axis(pieces, here, axis=0)[0])

    left = np.clip((of(upto) - mark) / np.maximum(of(parts), TINY), 0.0, 1.0)
    found = center - deviation * ndtri(np.maximum(of(above[1:]) + left * of(within), TINY))
    found = np.clip(found, of(ends[:-1]), of(ends[1:]))
    return np.asarray(np.where(turned, records - found, found))


def _ordered(column: Column) -> Integers:
    """Levels as the tree halves them: those without neighbors, then the line.

    Counts have no say: of levels that were sorted by them, a half would hold those whose noise is low.

    >>> _ordered(Column(5, ordered=4, missing=True, lone=0))
    array([0, 4, 1, 2, 3])
    """
    levels = np.arange(column.levels)
    line = (levels < column.ordered) & (levels != column.lone)
    return np.concatenate([levels[~line], levels[line]])
