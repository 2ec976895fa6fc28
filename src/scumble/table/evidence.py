"""What was measured: noisy counts of views, their variances, and the columns they speak of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from scumble.errors import parameter
from scumble.table.grouping import RUNS, Column, runs

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """The noisy cross-table of some columns.

    Parameters
    ----------
    columns : tuple of int
        Which columns, in rising order. None: the number of records.
    counts : ndarray of float
        One axis a column: all levels of a single column, the groups of levels of a pair.
    variance : float
        That of a cell's noise.
    levels : tuple of ndarray of int
        Of three columns or more: for each of them, where on its axis each of its levels is counted.
    """

    columns: tuple[int, ...]
    counts: Floats
    variance: float
    levels: tuple[Integers, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """All views of a table.

    Parameters
    ----------
    columns : tuple of Column
        The columns.
    groups : tuple of ndarray of int
        For each column the group of each level (`grouping.groups`): the levels of pairs.
    views : tuple of View
        What was measured; every column alone is among it.
    positions : mapping
        Of some columns, how many values have each digit of a position in their cells (`columns.cuts.Positions`).
    """

    columns: tuple[Column, ...]
    groups: tuple[Integers, ...]
    views: tuple[View, ...]
    positions: Mapping[tuple[int, int], View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        alone = {view.columns[0] for view in self.views if len(view.columns) == 1}
        if alone != set(range(len(self.columns))):
            raise parameter("views", "all columns alone, and pairs", f"{len(alone)} of {len(self.columns)} alone")
        for view in self.views:
            wanted = self._shape(view)
            if view.counts.shape != wanted or not view.variance >= 0:
                raise parameter(
                    f"view {view.columns}", f"of shape {wanted}, its variance not negative", view.counts.shape
                )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many groups each column has."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    @cached_property
    def count(self) -> float:
        """The number of records, at least one."""
        return max(1.0, self.total)

    @cached_property
    def total(self) -> float:
        """The totals of all views, by inverse variance, which may be anything."""
        totals = np.array([view.counts.sum() for view in self.views])
        return float((totals * self._precisions).sum() * self.count_variance)

    @cached_property
    def count_variance(self) -> float:
        """The variance of that number."""
        return 1.0 / float(self._precisions.sum())

    @cached_property
    def _precisions(self) -> Floats:
        """Of the views' totals: inverse variances."""
        return np.array([1.0 / (max(view.variance, 1e-12) * view.counts.size) for view in self.views])

    @cached_property
    def _found(self) -> dict[tuple[int, ...], View]:
        return {view.columns: view for view in self.views}

    def single(self, column: int) -> View:
        """A column alone."""
        return self._found[column,]

    def pair(self, columns: tuple[int, int]) -> View | None:
        """Two columns, if they were measured together."""
        return self._found.get(columns)

    def together(self, columns: Iterable[int]) -> bool:
        """Whether a view holds all these columns."""
        wanted = frozenset(columns)
        return wanted in self._held or any(wanted < view for view in self._held if len(view) > 2)

    @cached_property
    def _held(self) -> set[frozenset[int]]:
        return {frozenset(), *(frozenset(view.columns) for view in self.views)}

    @cached_property
    def shapes(self) -> tuple[Floats, ...]:
        """For each column the shares of levels within their groups, as its noisy single counts show them."""
        return tuple(
            shape_within(self.single(j).counts, self.single(j).variance, group) for j, group in enumerate(self.groups)
        )

    @cached_property
    def runs(self) -> tuple[int, ...]:
        """How many groups of each column have neighbours on its line; what stands apart has the last groups."""
        lines = ((column.ordered, group) for column, group in zip(self.columns, self.groups, strict=True))
        return tuple(int(group[:line].max()) + 1 if line else 0 for line, group in lines)

    def _shape(self, view: View) -> tuple[int, ...]:
        if len(view.columns) == 1:
            return (self.columns[view.columns[0]].levels,)
        if len(view.columns) > 2:
            return tuple(int(level.max()) + 1 for level in view.levels)
        return tuple(self.sizes[j] for j in view.columns)


def coarser(evidence: Evidence, column: int) -> Integers:
    """For each group of a column the run that it belongs to, of at most `grouping.RUNS` on the column's line."""
    line = evidence.runs[column]
    mass = np.bincount(evidence.groups[column], evidence.single(column).counts)[:line]
    first = runs(np.maximum(mass, 0.0), RUNS) if line else np.zeros(0, np.int64)
    apart = np.arange(evidence.sizes[column] - line) + (int(first.max()) + 1 if line else 0)
    return np.concatenate([first, apart])


def summed(evidence: Evidence, merged: Sequence[Integers]) -> Evidence:
    """The same views with groups put together, each with the ones of equal number in `merged`.

    A sum of m cells has m times the variance; a view has one variance for all, so the mean is taken.

    >>> column, fine = Column(20, ordered=20), np.arange(20)
    >>> alone = [View((j,), np.full(20, 5.0), 1.0) for j in (0, 1)]
    >>> both = Evidence((column, column), (fine, fine), (*alone, View((0, 1), np.full((20, 20), 0.25), 1.0)))
    >>> found = summed(both, [coarser(both, j) for j in (0, 1)])
    >>> found.sizes, float(found.views[2].counts.sum()), found.views[2].variance
    ((16, 16), 100.0, 1.5625)
    """
    views = []
    for view in evidence.views:
        if len(view.columns) == 2:
            one, two = (np.flatnonzero(np.diff(merged[j], prepend=-1)) for j in view.columns)
            counts = np.add.reduceat(np.add.reduceat(view.counts, one, axis=0), two, axis=1)
            view = View(view.columns, counts, view.variance * view.counts.size / counts.size)
        views.append(view)
    groups = (into[group] for into, group in zip(merged, evidence.groups, strict=True))
    return replace(evidence, groups=tuple(groups), views=tuple(views))


def shape_within(counts: Floats, variance: float, group: Integers) -> Floats:
    """The share of each level in its group: noisy counts, drawn towards equal shares as far as they are noise.

    In a group of m levels, noise alone makes the counts scatter around their mean by (m − 1)·variance in the summed
    square. The excess of the scatter over that is structure. So the deviations from the mean are kept by the factor
    1 − (m − 1)·variance/scatter, or not at all (James & Stein 1961; positive part), and then made a distribution.
    """
    return _shape_within(np.asarray(counts, float).tobytes(), float(variance), np.asarray(group, np.int64).tobytes())


@lru_cache(maxsize=1 << 10)
def _shape_within(noisy: bytes, variance: float, groups: bytes) -> Floats:
    """The same for as many columns as wide tables have: they are asked for at each step of a plan."""
    counts, group = np.frombuffer(noisy), np.frombuffer(groups, np.int64)
    share = np.ones(len(counts))
    for g in np.flatnonzero(np.bincount(group) > 1):
        within = np.flatnonzero(group == g)
        part = counts[within]
        mean = part.mean()
        scatter = float(((part - mean) ** 2).sum())
        kept = max(0.0, 1.0 - (len(within) - 1) * variance / scatter) if scatter > 0 else 0.0
        total = part.sum()
        share[within] = simplex((mean + kept * (part - mean)) / total) if total > 0 else 1.0 / len(within)
    share.flags.writeable = False
    return share


def simplex(values: Floats) -> Floats:
    """The nearest distribution (Euclidean): subtract what makes the positive parts sum to one (Held et al. 1974)."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum(values - excess[np.flatnonzero(falling > excess)[-1]], 0.0))
