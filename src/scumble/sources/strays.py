"""Cells of a table that were counted where they do not stand: for the curator, whose schema may be wrong.

A column with ``missing=True`` counts as missing what it cannot read, and one with bounds counts what is outside as the
nearest bound. Both are meant for a few cells. A date of another spelling, or a bound that is too low, does it to all of
them, and the release would show nothing of it. The numbers go to the curator's terminal, and into nothing that is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scumble.errors import DataError
from scumble.schema import Schema
from scumble.schema.column import Column
from scumble.schema.column import Strays as OfBatch
from scumble.sources.source import Position, Source

SURELY_WRONG = 100
"""Cells of a column that hold something. If not one of so many can be read, its declaration is wrong."""


@dataclass
class _OfColumn:
    read: int = 0
    unread: int = 0
    beyond: int = 0
    first: tuple[Position, int, int] | None = None
    """Where the first unreadable cell is: the position after its batch, the batch's rows, the row."""


class Strays:
    """How many cells of each column were counted where they do not stand."""

    def __init__(self) -> None:
        self._columns: dict[str, _OfColumn] = {}
        self._rows = 0

    def add(self, found: Mapping[str, OfBatch], rows: int, position: Position | None) -> None:
        """Those of a batch of so many `rows`, which ended at that position (None: its rows are not the source's)."""
        self._rows += rows
        for name, batch in found.items():
            mine = self._columns.setdefault(name, _OfColumn())
            if batch.unread and not mine.unread and position is not None:
                mine.first = (position, rows, batch.first)
            mine.read += batch.read
            mine.unread += batch.unread
            mine.beyond += batch.beyond

    def words(self, schema: Schema, source: Source) -> Iterator[str]:
        """A line for each column that has such cells."""
        for name, mine in self._columns.items():
            if mine.unread:
                yield (
                    f"{_cells(mine.unread)} of {name!r}{_share(mine.unread, mine.read + mine.unread)} could not be "
                    f"read and counted as missing: {schema[name].refuses}{_first(mine, source)}"
                )
            if mine.beyond:
                yield (
                    f"{_cells(mine.beyond)} of {name!r}{_share(mine.beyond, mine.read)} lay outside its bounds, "
                    f"{_bounds(schema[name])}, and counted at the nearest"
                )

    def require_readable(self, schema: Schema, source: Source, rows: int) -> None:
        """Refuse a column of which nothing could be read, in so many `rows`, all of them seen here."""
        for name, mine in self._columns.items():
            if mine.unread >= SURELY_WRONG and not mine.read and rows == self._rows:
                raise DataError(
                    f"Not one cell of column {name!r} can be read, and all would count as missing: "
                    f"{schema[name].refuses}{_first(mine, source)}. Nothing was spent. Hint: correct the cells, or the "
                    "column's kind in the schema, or leave the column out of it; --invalid drop (invalid='drop') "
                    "releases it as it is."
                )


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"


def _share(part: int, whole: int) -> str:
    if part == whole:
        return ", all that it holds,"
    return ", most of what it holds," if 2 * part > whole else ""


def _first(found: _OfColumn, source: Source) -> str:
    return "" if found.first is None else f"; the first is in {source.place(*found.first)}"


def _bounds(column: Column) -> str:
    low, high = (getattr(column, side) for side in ("low", "high"))
    return f"{low} to {high}" if isinstance(low, str) else f"{low:.12g} to {high:.12g}"
