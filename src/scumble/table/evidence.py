"""What was measured: noisy counts of views, their variances, and the columns they speak of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from scumble.errors import CorruptFileError, parameter
from scumble.table import prior
from scumble.table.grouping import Column, runs
from scumble.table.spec import TableSpec

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """The noisy cross-table of some columns, in rising order; of none, the number of records.

    Single columns have an axis of all levels, pairs of groups; of three columns or more, `levels` has for each column
    where on its axis each of its levels is counted. A cell's noise has the `variance`."""

    columns: tuple[int, ...]
    counts: Floats
    variance: float
    levels: tuple[Integers, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """All views of a table: every column alone is among them.

    For each column, `groups` has the group of each level in pairs (`grouping.groups`). `positions`: of some columns,
    how many values have each digit of a position in their cells (`columns.cuts.Positions`)."""

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
        """How many groups of each column have neighbors on its line; what stands apart has the last groups."""
        lines = ((column.ordered, group) for column, group in zip(self.columns, self.groups, strict=True))
        return tuple(int(group[:line].max()) + 1 if line else 0 for line, group in lines)

    def _shape(self, view: View) -> tuple[int, ...]:
        if len(view.columns) == 1:
            return (self.columns[view.columns[0]].levels,)
        if len(view.columns) > 2:
            return tuple(int(level.max()) + 1 for level in view.levels)
        return tuple(self.sizes[j] for j in view.columns)


def coarser(evidence: Evidence, column: int) -> Integers:
    """For each group of a column the run that it belongs to, of at most `prior.LEVELS` on the column's line."""
    line = evidence.runs[column]
    mass = np.bincount(evidence.groups[column], evidence.single(column).counts)[:line]
    first = runs(np.maximum(mass, 0.0), prior.LEVELS) if line else np.zeros(0, np.int64)
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
    """The share of each level in its group: noisy counts, drawn toward equal shares as far as they are noise.

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


Set = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Which levels a release tells apart in pairs.

    `groups`: for each column of the schema, the group of each of its levels in pairs (`TableSpec.axes`). `pairs`: those
    that were measured, in the order of the spec. `larger`: the larger sets that were measured, and for each column of a
    set the group of each of its levels there (`TableSpec.axes_of`)."""

    spec: TableSpec
    groups: tuple[Integers, ...]
    pairs: tuple[tuple[int, int], ...]
    larger: Mapping[Set, tuple[Integers, ...]] = field(default_factory=dict)

    def check(self) -> None:
        """Groups may come from a file: refuse what is none."""
        listed = set(self.pairs)
        if self.pairs != tuple(pair for pair in self.spec.pairs if pair in listed):
            raise CorruptFileError("The file has pairs of columns that were not counted.")
        if not {*self.larger} <= {*self.spec.together, *self.spec.triples}:
            raise CorruptFileError("The file has sets of columns that were not counted.")
        each = [(self.groups, self.spec.axes), *((of, self.spec.axes_of(own)) for own, of in self.larger.items())]
        for group, axis in (one for maps in each for one in zip(*maps, strict=True)):
            found = {*group.tolist()}  # np.unique would load numpy.ma
            if group.shape != (int(axis.max()) + 1,) or found != {*range(len(found))}:
                raise CorruptFileError("The file has groups of levels that are none.")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many groups each column has."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    @cached_property
    def sets(self) -> tuple[Set, ...]:
        """The pairs and larger sets that were measured, in the order of the spec."""
        measured = {*self.pairs, *self.larger}
        return tuple(own for own in self.spec.sets if own in measured)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The rows of the spec that were measured."""
        place = {own: self.spec.singles + k for k, own in enumerate(self.spec.sets)}
        return (*range(self.spec.singles), *(place[own] for own in self.sets), *self.spec.touches)

    @cached_property
    def times(self) -> tuple[int, ...]:
        """How many counters of each of these rows a record touches."""
        return tuple(self.spec.touches.get(row, 1) for row in self.rows)

    def maps(self, own: Set) -> tuple[Integers, ...]:
        """For each column of a set: the group of each of its levels there."""
        return self.larger[own] if len(own) > 2 else tuple(self.groups[j] for j in own)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The axes of each published row."""
        classes = () if self.spec.place is None else (self.spec.classes,)
        both = [(*classes, *(int(group.max()) + 1 for group in self.maps(own))) for own in self.sets]
        return (*self.spec.shapes_alone, *both, *(own.shape for own in self.spec.token_rows.values()))

    @property
    def crosstabs(self) -> list[int]:
        """Which of the published rows are cross-tables of columns: all but positions in cells, distinct values and
        tokens."""
        first = int(self.spec.place is not None)
        others = range(first, self.spec.singles - len(self.spec.counted))
        return [row for row in range(len(self.shapes) - len(self.spec.touches)) if row not in others]

    @property
    def length(self) -> int:
        """How many counters a release has."""
        return sum(map(math.prod, self.shapes))

    def tables(self, counts: Integers) -> list[Floats]:
        """The cross-table of each row."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        return [
            part.reshape(shape).astype(float) for part, shape in zip(np.split(counts, ends), self.shapes, strict=True)
        ]

    def cells(self, own: Set) -> Integers:
        """For each counter of a set of the spec, the counter of the release that it is added to."""
        return cells(self.spec.classes, self.maps(own))

    def evidence(
        self, counts: Integers, variances: Sequence[float], count: tuple[float, float] | None
    ) -> list[Evidence]:
        """The noisy views of each class. `count` is the noisy number of records and its variance."""
        spec = self.spec
        tables, kept = self.tables(counts), [row not in {*spec.occupancies, *spec.touches} for row in self.rows]
        columns = tuple(_column(spec, j) for j in spec.counted)
        groups = tuple(self.groups[j][spec.axes[j]] for j in spec.counted)
        number = {j: k for k, j in enumerate(spec.counted)}
        before, alone = spec.place is not None, [(k,) for k in range(len(columns))]
        which: list[tuple[int, ...]] = [*[()] * before, *alone, *(tuple(number[j] for j in one) for one in self.sets)]
        maps: list[tuple[Integers, ...]] = [()] * (before + len(alone))
        for one in self.sets:
            coarse = zip(self.maps(one), spec.axes_of(one), strict=True) if len(one) > 2 else ()
            maps.append(tuple(group[axis] for group, axis in coarse))
        placed = slice(before, before + len(spec.placed))
        found = []
        for c in range(spec.classes):
            each = [
                (np.asarray(table[c] if spec.place is not None else table), max(float(variance), 1e-9))
                for table, variance, own in zip(tables, variances, kept, strict=True)
                if own
            ]
            places = {
                (number[j], digit): View((number[j],), *one)
                for (j, digit), one in zip(spec.placed, each[placed], strict=True)
            }
            del each[placed]
            views = [View(of, *one, levels) for of, one, levels in zip(which, each, maps, strict=True)]
            if count is not None and spec.place is None:
                views.append(View((), np.array(count[0]), max(count[1], 1e-9)))
            found.append(Evidence(columns, groups, tuple(views), places))
        return found


def cells(classes: int, maps: Sequence[Integers]) -> Integers:
    """For each counter of a set, the counter that its levels' groups make, class by class.

    >>> cells(2, [np.array([0, 1, 1]), np.array([0, 0])])
    array([0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 3, 3])
    """
    found = np.arange(classes)
    for group in maps:
        found = (found[:, None] * (int(group.max()) + 1) + group[None, :]).ravel()
    return found


def _column(spec: TableSpec, place: int) -> Column:
    column = list(spec.schema.values())[place]
    line = column.size - column.missing if column.ordered else 0
    lone = getattr(column, "zero_level", None)
    above = tuple(spec.above(place)[0].tolist()) if spec.above(place) else ()
    return Column(column.size, line, column.missing, lone, above)
