"""A release's counters as the model takes them: one set of noisy views, or one per class.

Pairs are published in groups of levels (`table.grouping`), the same in all pairs of a column; larger sets have groups
of their own. `Grouped` knows how the flat counters of a release lie: all rows of the spec that were measured, one after
the other, singles with all levels and sets with groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.errors import CorruptFileError
from scumble.table.evidence import Evidence, View
from scumble.table.grouping import Column
from scumble.table.spec import TableSpec

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Set = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Which levels a release tells apart in pairs.

    Parameters
    ----------
    spec : TableSpec
        The views as they were counted.
    groups : tuple of ndarray of int
        For each column of the schema, the group of each of its levels in pairs (`TableSpec.axes`).
    pairs : tuple of pair of int
        The pairs that were measured, in the order of the spec.
    larger : mapping
        Larger sets that were measured: for each column of the set the group of each of its levels there
        (`TableSpec.axes_of`).
    """

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
        return (*range(self.spec.singles), *(place[own] for own in self.sets))

    def maps(self, own: Set) -> tuple[Integers, ...]:
        """For each column of a set: the group of each of its levels there."""
        return self.larger[own] if len(own) > 2 else tuple(self.groups[j] for j in own)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The axes of each published row."""
        classes = () if self.spec.place is None else (self.spec.classes,)
        both = [(*classes, *(int(group.max()) + 1 for group in self.maps(own))) for own in self.sets]
        return (*self.spec.shapes[: self.spec.singles], *both)

    @property
    def crosstabs(self) -> list[int]:
        """Which of the published rows are cross-tables of columns: all but positions in cells."""
        first = int(self.spec.place is not None)
        positions = range(first, first + len(self.spec.placed))
        return [row for row in range(len(self.shapes)) if row not in positions]

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
        tables = self.tables(counts)
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
                for table, variance in zip(tables, variances, strict=True)
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
    return Column(column.size, line, column.missing, column.kind == "date", lone, above)
