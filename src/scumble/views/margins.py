"""Draws of a single column: how many records each of its levels has, given all that was counted of it.

A column's levels are halved, and the halves again, down to single levels: a tree (Lavine 1992 calls it a Pólya tree).
Of each node's records n, some part x lies in its left half. What was counted tells the contrast between the halves with
normal noise of known variance. The prior of x is a Beta law, or nothing at all in either half (`prior.EMPTY`). Their
product is the posterior, evaluated on a grid and drawn from by inversion. So no level is negative, sums over wide
ranges follow the counts, and cells whose counts are noise are empty or alike.

**What was counted.** A contrast Σ r_c n_c, with weights that sum to zero, is known twice: cell by cell from the column
alone (variance σ²), and group by group from the margins of its pairs (variance τ²). With b_g the mean weight of group
g, a share λ of what lies between groups is taken from the margins; the variance is least at λ = A/(A + B), where
A = σ² Σ_c b², B = τ² Σ_g b². One λ serves all groups of a contrast: groups were cut by noisy counts, and a λ for each
would keep the noise of one sort of cell and lose that of another.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from scumble.views import prior
from scumble.views.evidence import Evidence
from scumble.views.grouping import Column

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

GRID = 32
"""Cells that a node's posterior is evaluated on, over ten standard deviations."""
REACH = 5.0
AT_ONCE = 1 << 10
"""Nodes that are drawn at once: enough for speed, in little memory."""
LEAST = 1e-12
"""A variance to divide by, where there is none."""


def pair_margins(evidence: Evidence, column: int) -> tuple[Floats, float]:
    """The records of each of a column's groups, by all its pairs, and the inverse of the variance of one of them."""
    sums, precision = np.zeros(evidence.sizes[column]), 0.0
    for view in evidence.views:
        if len(view.columns) == 2 and column in view.columns:
            other = 1 - view.columns.index(column)
            sure = 1.0 / (max(view.variance, LEAST) * view.counts.shape[other])
            sums, precision = sums + sure * view.counts.sum(axis=other), precision + sure
    return sums / precision if precision else sums, precision


def level_variances(evidence: Evidence, column: int) -> Floats:
    """The variance of the count of each of a column's levels, by the column alone and the margins of its pairs.

    In a group of m levels, b = 1/m: A = σ²/m, B = τ²/m², and A²/(A + B) is what the margins take away.
    """
    noise, sure = evidence.single(column).variance, pair_margins(evidence, column)[1]
    each = np.bincount(evidence.groups[column])[evidence.groups[column]]
    return np.asarray(noise - noise**2 * sure / (noise * sure * each + 1))


class Tree:
    """The splits of one column, and what was counted of each.

    Parameters
    ----------
    evidence : Evidence
        The noisy views.
    column : int
        Which column.
    """

    def __init__(self, evidence: Evidence, column: int) -> None:
        self.column, self.group = evidence.columns[column], evidence.groups[column]
        self.single, self.noise = evidence.single(column).counts, max(evidence.single(column).variance, LEAST)
        self.told, self.sure = pair_margins(evidence, column)
        self.order = _ordered(self.column, self.single)
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
        deviation = np.sqrt(variance)
        centre = contrast + share * records
        low, high = (np.clip(centre + side * REACH * deviation, 0.0, records) for side in (-1, 1))
        width = (high - low) / GRID
        steps = np.arange(GRID) + 0.5
        x = low[..., None] + width[..., None] * steps
        part = np.clip(x / np.maximum(records, LEAST)[..., None], 1e-6, 1 - 1e-6)
        a, b = 2 * prior.EVEN * share, 2 * prior.EVEN * (1 - share)
        beta = np.array([math.lgamma(p + q) - math.lgamma(p) - math.lgamma(q) for p, q in zip(a, b, strict=True)])
        logs = np.empty((*centre.shape, GRID + 2))
        logs[..., 1:-1] = (
            beta[:, None]
            + (a - 1)[:, None] * np.log(part)
            + (b - 1)[:, None] * np.log1p(-part)
            - ((x - centre[..., None]) / deviation[:, None]) ** 2 / 2
            + np.log(np.maximum(width, LEAST) / np.maximum(records, LEAST) * (1 - 2 * prior.EMPTY))[..., None]
        )
        for place, end_at in ((0, 0.0), (-1, records)):
            logs[..., place] = math.log(prior.EMPTY) - ((end_at - centre) / deviation) ** 2 / 2
        logs -= logs.max(axis=-1, keepdims=True)
        upto = np.cumsum(np.exp(logs), axis=-1)
        mark = uniforms * upto[..., -1]
        cell = np.minimum((upto <= mark[..., None]).sum(axis=-1), GRID + 1)
        here = np.take_along_axis(upto, cell[..., None], -1)[..., 0]
        before = np.take_along_axis(upto, np.maximum(cell - 1, 0)[..., None], -1)[..., 0]
        within = np.clip((mark - before) / np.maximum(here - before, 1e-300), 0.0, 1.0)
        inside = low + width * (cell - 1 + within)
        return np.clip(np.where(cell == 0, 0.0, np.where(cell == GRID + 1, records, inside)), 0.0, records)


def _ordered(column: Column, counts: Floats) -> Integers:
    """Levels as the tree halves them: those without neighbours first, the most frequent before others; then the line.

    >>> _ordered(Column(5, ordered=4, missing=True, lone=0), np.array([9.0, 1.0, 2.0, 3.0, 4.0]))
    array([0, 4, 1, 2, 3])
    """
    levels = np.arange(column.levels)
    line = (levels < column.ordered) & (levels != column.lone)
    apart = levels[~line]
    return np.concatenate([apart[np.argsort(-counts[apart], kind="stable")], levels[line]])
