"""Cells that were counted where they do not stand: for the curator, whose declarations may be wrong.

A schema's column with ``missing=True`` counts as missing what it cannot read; one with bounds, like an axis of a grid,
counts what is outside as the nearest bound; one of words counts together those that are not in its vocabulary; one of
dates counts a year on its first day. All four are meant for a few cells. A date of another spelling, a bound that is
too low, or a word in capitals does it to all of them, and the release would hardly show it. The numbers go to the
curator's terminal, and into nothing that is kept. Records that are left out have no strays: they are told elsewhere
(:mod:`scumble.sources.causes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scumble.schema.column import OTHER, Column
from scumble.schema.column import Strays as OfBatch
from scumble.schema.kinds import shown
from scumble.schema.spelling import others

Declared = Mapping[str, "Column | str"]
"""What is declared of each column: a column of a schema, or its bounds as they are written."""
Place = Callable[[Any, int, int], str]
"""Where in its source a row is: by the position after its batch, the batch's rows, the row."""

_MISSED = (
    ": perhaps the schema's values are not written as the cells are (ignore_case = true ignores capitals); the release "
    "will say little of this column"
)
_BEYOND = (
    ": perhaps the bounds are of another unit, currency or century than the cells; the release will say little of this "
    "column"
)


@dataclass(repr=False)
class _OfColumn:
    read: int = 0
    unread: int = 0
    beyond: int = 0
    other: int = 0
    coarse: int = 0
    near: int = 0
    first: tuple[Any, int, int] | None = None
    """Where the first unreadable cell is: the position after its batch, the batch's rows, the row."""


class Strays:
    """How many cells of each column were counted where they do not stand."""

    def __init__(self) -> None:
        self._columns: dict[str, _OfColumn] = {}
        self.resumed = False
        """Whether there were rows before that nobody can tell of any more."""

    def add(self, found: Mapping[str, OfBatch], rows: int = 0, position: Any = None) -> None:
        """Those of a batch of so many `rows`, which ended at that position (None: its rows are not the source's)."""
        for name, batch in found.items():
            mine = self._columns.setdefault(name, _OfColumn())
            if batch.unread and not mine.unread and position is not None:
                mine.first = (position, rows, batch.first)
            mine.read += batch.read
            mine.unread += batch.unread
            mine.beyond += batch.beyond
            mine.other += batch.other
            mine.coarse += batch.coarse
            mine.near += batch.near

    def numbers(self, columns: Sequence[str]) -> np.ndarray:
        """Those of each of the columns, to be added to others: a task of a cluster hands them on with its counters."""
        found = [self._columns.get(name, _OfColumn()) for name in columns]
        return np.array(
            [(one.read, one.unread, one.beyond, one.other, one.coarse, one.near) for one in found], np.int64
        ).ravel()

    def add_numbers(self, columns: Sequence[str], numbers: np.ndarray) -> None:
        """Those that `numbers` gave."""
        of_columns = zip(columns, numbers.reshape(len(columns), -1).tolist(), strict=True)
        seen = {name: of for name, of in of_columns if any(of)}  # of the others nothing is declared
        self.add({name: OfBatch(of[0], of[1], -1, *of[2:]) for name, of in seen.items()})

    def to_dict(self) -> dict[str, dict[str, int]]:
        """The numbers of each column, by what they count."""
        return {
            name: {
                "read": mine.read,
                "unreadable": mine.unread,
                "outside_bounds": mine.beyond,
                "unmatched": mine.other,
                "near_misses": mine.near,
                "year_or_month_alone": mine.coarse,
            }
            for name, mine in self._columns.items()
        }

    def words(self, declared: Declared, place: Place | None = None, decimal: str = ".") -> Iterator[str]:
        """A line for each column that has such cells, where that stands before the `decimal`s of numbers."""
        since = ", since the build was resumed" if self.resumed else ""
        for name, mine in self._columns.items():
            column = declared[name]
            if mine.unread and isinstance(column, Column):
                reads = others(column.kind, decimal) if not mine.read else ""
                yield (
                    f"{_cells(mine.unread)} of {name!r}{_share(mine.unread, mine.read + mine.unread)} could not be "
                    f"read and counted as missing{since}: {column.refused(decimal)}{_first(mine, place)}{reads}"
                )
            if mine.coarse:
                yield (
                    f"{_cells(mine.coarse)} of {name!r} named a year or a month alone, and counted on its first "
                    f"day{since}"
                )
            if mine.beyond:
                mostly = 2 * mine.beyond > mine.read
                yield (
                    f"{_cells(mine.beyond)} of {name!r}{_share(mine.beyond, mine.read)} lay outside its bounds, "
                    f"{_bounds(column)}, and counted at the nearest{since}{_BEYOND if mostly else ''}"
                )
            if mine.other:
                mostly = 2 * mine.other > mine.read
                yield (
                    f"{_cells(mine.other)} of {name!r}{_share(mine.other, mine.read)} held none of its words, and "
                    f"counted as '{OTHER}'{since}{_MISSED if mostly else ''}"
                )
            if mine.near:
                yield (
                    f"{_cells(mine.near)} of {name!r} match one of its words but for blanks or case{since}. "
                    "Hint: strip = true and ignore_case = true in the schema count them as that word"
                )


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"


def _share(part: int, whole: int) -> str:
    if part == whole:
        return ", all that it holds,"
    return f", {min(round(100 * part / whole), 99)} % of what it holds," if 2 * part > whole else ""


def _first(found: _OfColumn, place: Place | None) -> str:
    return "" if found.first is None or place is None else f"; the first is in {place(*found.first)}"


def _bounds(column: Column | str) -> str:
    return column if isinstance(column, str) else as_written([column.low, column.high])  # type: ignore[attr-defined]


def as_written(ends: Sequence[Any], kind: str | None = None) -> str:
    """Bounds of a column of such a kind, as somebody would write them."""
    return " to ".join(end if isinstance(end, str) else shown(end, kind, 12) for end in ends)
