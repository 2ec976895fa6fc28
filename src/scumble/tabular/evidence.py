"""A release's counters as the model takes them: one set of noisy views, or one per class.

Pairs are published in groups of levels (`views.grouping`). `Grouped` knows how the flat counters of a release lie: all
rows of the spec that were measured, one after the other, singles with all levels and pairs with groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.errors import CorruptFileError
from scumble.tabular.spec import TableSpec
from scumble.views.evidence import Evidence, View
from scumble.views.grouping import Column

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
    """

    spec: TableSpec
    groups: tuple[Integers, ...]
    pairs: tuple[tuple[int, int], ...]

    def check(self) -> None:
        """Groups may come from a file: refuse what is none."""
        known = {pair: number for number, pair in enumerate(self.spec.pairs)}
        places = [known.get(pair, -1) for pair in self.pairs]
        if -1 in places or places != sorted(set(places)):
            raise CorruptFileError("The file has pairs of columns that were not counted.")
        for group, axis in zip(self.groups, self.spec.axes, strict=True):
            found = {*group.tolist()}  # np.unique would load numpy.ma
            if group.shape != (int(axis.max()) + 1,) or found != {*range(len(found))}:
                raise CorruptFileError("The file has groups of levels that are none.")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many groups each column has."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The axes of each published row."""
        classes = () if self.spec.place is None else (self.spec.classes,)
        both = [(*classes, self.sizes[i], self.sizes[j]) for i, j in self.pairs]
        return (*self.spec.shapes[: self.spec.singles], *both)

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

    def cells(self, pair: tuple[int, int]) -> Integers:
        """For each counter of a pair of the spec, the counter of the release that it is added to."""
        i, j = pair
        fine = self.groups[i][:, None] * self.sizes[j] + self.groups[j][None, :]
        classes = np.arange(self.spec.classes)[:, None] * (self.sizes[i] * self.sizes[j])
        return np.asarray((classes + fine.ravel()[None, :]).ravel())

    def evidence(
        self, counts: Integers, variances: Sequence[float], count: tuple[float, float] | None
    ) -> list[Evidence]:
        """The noisy views of each class. `count` is the noisy number of records and its variance."""
        spec = self.spec
        tables = self.tables(counts)
        columns = tuple(_column(spec, j) for j in spec.counted)
        groups = tuple(self.groups[j][spec.axes[j]] for j in spec.counted)
        number = {j: k for k, j in enumerate(spec.counted)}
        own = (
            [(), *((k,) for k in range(len(columns)))]
            if spec.place is not None
            else [(k,) for k in range(len(columns))]
        )
        which: list[tuple[int, ...]] = [*own, *((number[i], number[j]) for i, j in self.pairs)]
        found = []
        for c in range(spec.classes):
            views = [
                View(columns_of, np.asarray(table[c] if spec.place is not None else table), max(float(variance), 1e-9))
                for columns_of, table, variance in zip(which, tables, variances, strict=True)
            ]
            if count is not None and spec.place is None:
                views.append(View((), np.array(count[0]), max(count[1], 1e-9)))
            found.append(Evidence(columns, groups, tuple(views)))
        return found


def _column(spec: TableSpec, place: int) -> Column:
    column = list(spec.schema.values())[place]
    line = column.size - column.missing if column.ordered else 0
    lone = getattr(column, "zero_level", None)
    return Column(column.size, ordered=line, missing=column.missing, dated=column.kind == "date", lone=lone)
