"""Cells that were counted where they do not stand: for the curator, whose declarations may be wrong.

A schema's column with ``missing=True`` counts as missing what it cannot read; one with bounds, like an axis of a grid,
counts what is outside as the nearest bound; one of words counts together those that are not in its vocabulary. All
three are meant for a few cells. A date of another spelling, a bound that is too low, or a word in capitals does it to
all of them, and the release would hardly show it. The numbers go to the curator's terminal, and into nothing that is
kept. Records that are left out have no strays: they are told elsewhere (:mod:`scumble.sources.causes`).

Of a column without a single cell that can be read, with none of its words, or with all that it holds outside the
bounds, a build is refused, before anything is charged or drawn. That depends on the records, and no noise covers it:
whoever learns of the refusal, or that there was none, learns one bit, as with a bad cell that stops a build. Such
tables are outside the promise's domain (``counting/sensitivity.proof.md``, precondition 3), and ``invalid="drop"``
refuses none. A column most of which strays is therefore not refused, however likely a mistake: the curator is told,
which costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scumble.errors import DataError
from scumble.machine.later import pa
from scumble.schema.column import OTHER, Column
from scumble.schema.column import Strays as OfBatch
from scumble.schema.kinds import OTHER_DATES, shown
from scumble.sources.source import Position, Source
from scumble.spec import Spec
from scumble.tables import Table
from scumble.tabular.spec import TableSpec

SURELY_WRONG = 100
"""Cells of a column that hold something. If not one of so many can be read, has one of the column's words, or lies
between its bounds, the declaration is wrong."""
_MISSED = (
    ": capitals and blanks at the ends count, so perhaps the schema's values are not written as the cells are; the "
    "release will say little of this column"
)
_AS_IT_IS = "--invalid drop (invalid='drop') releases it as it is."


@dataclass(repr=False)
class _OfColumn:
    read: int = 0
    unread: int = 0
    beyond: int = 0
    other: int = 0
    first: tuple[Position, int, int] | None = None
    """Where the first unreadable cell is: the position after its batch, the batch's rows, the row."""


def beyond_grid(batch: pa.RecordBatch, spec: Spec) -> dict[str, OfBatch]:
    """Of each axis of a grid, how many cells of a batch are outside its bounds, in records that it counts."""
    if spec.bounds is None or spec.columns is None:
        return {}
    table = Table.of(spec.declared(batch), columns=spec.columns, dimensions=spec.dimensions)
    axes = spec.kernel.which(spec.dimensions, spec.columns)
    values = table.numeric(axes)
    values = values[np.isfinite(values).all(axis=1)]
    low, high = (np.array(side)[list(axes)] for side in spec.bounds)
    outside = np.count_nonzero((values < low) | (values > high), axis=0).tolist()
    return {spec.columns[j]: OfBatch(len(values), beyond=beyond) for j, beyond in zip(axes, outside, strict=True)}


class Strays:
    """How many cells of each column were counted where they do not stand."""

    def __init__(self) -> None:
        self._columns: dict[str, _OfColumn] = {}
        self.resumed = False
        """Whether there were rows before that nobody can tell of any more."""

    def add(self, found: Mapping[str, OfBatch], rows: int = 0, position: Position | None = None) -> None:
        """Those of a batch of so many `rows`, which ended at that position (None: its rows are not the source's)."""
        for name, batch in found.items():
            mine = self._columns.setdefault(name, _OfColumn())
            if batch.unread and not mine.unread and position is not None:
                mine.first = (position, rows, batch.first)
            mine.read += batch.read
            mine.unread += batch.unread
            mine.beyond += batch.beyond
            mine.other += batch.other

    def numbers(self, columns: Sequence[str]) -> np.ndarray:
        """Those of each of the columns, to be added to others: a task of a cluster hands them on with its counters."""
        found = [self._columns.get(name, _OfColumn()) for name in columns]
        return np.array([(one.read, one.unread, one.beyond, one.other) for one in found], np.int64).ravel()

    def add_numbers(self, columns: Sequence[str], numbers: np.ndarray) -> None:
        """Those that `numbers` gave."""
        of_columns = zip(columns, numbers.reshape(len(columns), -1).tolist(), strict=True)
        found = {name: OfBatch(read, unread, -1, beyond, other) for name, (read, unread, beyond, other) in of_columns}
        self.add(found)

    def words(self, spec: Spec | TableSpec, source: Source) -> Iterator[str]:
        """A line for each column that has such cells."""
        since = ", since the build was resumed" if self.resumed else ""
        for name, mine in self._columns.items():
            if mine.unread and isinstance(spec, TableSpec):
                yield (
                    f"{_cells(mine.unread)} of {name!r}{_share(mine.unread, mine.read + mine.unread)} could not be "
                    f"read and counted as missing{since}: {spec.schema[name].refuses}{_first(mine, source)}"
                )
            if mine.beyond:
                yield (
                    f"{_cells(mine.beyond)} of {name!r}{_share(mine.beyond, mine.read)} lay outside its bounds, "
                    f"{_bounds(spec, name)}, and counted at the nearest{since}"
                )
            if mine.other:
                mostly = 2 * mine.other > mine.read
                yield (
                    f"{_cells(mine.other)} of {name!r}{_share(mine.other, mine.read)} held none of its words, and "
                    f"counted as '{OTHER}'{since}{_MISSED if mostly else ''}"
                )

    def require_readable(self, spec: Spec | TableSpec, source: Source) -> None:
        """Refuse a column of which nothing could be read, or all is outside its vocabulary or its bounds, if all rows
        were seen here.

        This tells one bit of the records; see above.
        """
        if self.resumed:
            return
        for name, mine in self._columns.items():
            if mine.read == mine.beyond >= SURELY_WRONG:
                raise DataError(
                    f"Not one cell of column {name!r} lies between its bounds, {_bounds(spec, name)}, and all would "
                    "count at the nearest. Nothing was spent. Hint: correct the bounds by what is known beforehand (a "
                    f"unit, a currency, a century), or leave the column out; {_AS_IT_IS}"
                )
            if not isinstance(spec, TableSpec):
                continue
            if not mine.read and mine.unread >= SURELY_WRONG:
                raise DataError(
                    f"Not one cell of column {name!r} can be read, and all would count as missing: "
                    f"{spec.schema[name].refuses}{_first(mine, source)}. Nothing was spent. Hint: correct the cells, "
                    f"or the column's kind in the schema, or leave the column out of it{_dated(spec.schema[name])}; "
                    f"{_AS_IT_IS}"
                )
            if mine.read == mine.other >= SURELY_WRONG:
                raise DataError(
                    f"Not one cell of column {name!r} holds a word of its vocabulary, and all would count as "
                    f"'{OTHER}'. Nothing was spent. Hint: capitals and blanks at the ends count; correct the cells, or "
                    f"the column's values in the schema, or leave the column out of it; {_AS_IT_IS}"
                )


def _dated(column: Column) -> str:
    """How dates of another spelling are converted."""
    return f"; dates are read as ISO 8601 has them, and {OTHER_DATES}" if column.kind == "date" else ""


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"


def _share(part: int, whole: int) -> str:
    if part == whole:
        return ", all that it holds,"
    return f", {100 * part // whole} % of what it holds," if 2 * part > whole else ""


def _first(found: _OfColumn, source: Source) -> str:
    return "" if found.first is None else f"; the first is in {source.place(*found.first)}"


def _bounds(spec: Spec | TableSpec, name: str) -> str:
    if isinstance(spec, TableSpec):
        ends = [getattr(spec.schema[name], side) for side in ("low", "high")]
        kind = None
    else:
        assert spec.bounds is not None and spec.columns is not None
        ends = [side[spec.columns.index(name)] for side in spec.bounds]
        kind = spec.kinds.get(name)
    return " to ".join(end if isinstance(end, str) else shown(end, kind, 12) for end in ends)
