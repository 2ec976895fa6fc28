"""What the curator learns about a build: cells that were not counted at their own value, and rows that were left out.

A wrong declaration makes most cells of a column missing, or moves them to a bound. The numbers are as private as the
rows: they go to the curator's terminal and into no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from scumble.columns.column import OTHER, Column
from scumble.columns.column import Strays as OfBatch
from scumble.columns.kinds import shown
from scumble.columns.tokens import Tokens
from scumble.errors import UNPUBLISHED, many

Declared = Mapping[str, "Column | str"]
"""What is declared about each column: a column of a schema, or its bounds as text."""
Place = Callable[[tuple[int, int], int, int], str]
"""Where in its source a row is: by the position after its batch, the batch's rows, the row."""
MANY, SHARE_UNREAD = 10, 0.1
"""The least number and share of rows left out for a column for a line on how its cells must be written."""
NO_CLASS = "with none of the classes in"
NOTHING_COUNTED = f"WARNING: no record was counted, so the release is nothing but noise {UNPUBLISHED}."


# ---- cells ----


_IGNORES = {"strip": "blanks", "ignore_case": "case"}
"""What each setting of a category ignores."""


COUNTED = ("read", "unreadable", "outside_bounds", "unmatched", "near_misses")
"""What is counted of each column's cells, in the order of a batch's numbers."""


class Strays:
    """How many cells of each column were not counted at their own value."""

    def __init__(self) -> None:
        self._columns: dict[str, OfBatch] = {}
        self._first: dict[str, tuple[tuple[int, int], int, int]] = {}
        """The first unreadable cell: the position after its batch, the batch's rows, the row."""
        self.resumed = False
        """Whether earlier rows are not included."""

    def add(self, found: Mapping[str, OfBatch], rows: int = 0, position: tuple[int, int] | None = None) -> None:
        """Add a batch of so many `rows` that ended at `position`, if its rows are those of the source."""
        for name, batch in found.items():
            mine = self._columns.get(name, OfBatch(0))
            if batch.unread and not mine.unread and position is not None:
                self._first[name] = (position, rows, batch.first)
            self._columns[name] = OfBatch(*map(sum, zip(mine[: len(COUNTED)], batch, strict=False)))

    def numbers(self, columns: Sequence[str]) -> np.ndarray:
        """The counts of these columns as one array, which can be added to others."""
        found = [self._columns.get(name, OfBatch(0))[: len(COUNTED)] for name in columns]
        return np.array(found, np.int64).ravel()

    def add_numbers(self, columns: Sequence[str], numbers: np.ndarray) -> None:
        """Add what `numbers` gave."""
        of_columns = zip(columns, numbers.reshape(len(columns), -1).tolist(), strict=True)
        self.add({name: OfBatch(*counts) for name, counts in of_columns if any(counts)})

    def to_dict(self) -> dict[str, dict[str, int]]:
        """The counts of each column by name."""
        return {name: dict(zip(COUNTED, counts, strict=False)) for name, counts in self._columns.items()}

    def words(self, declared: Declared, place: Place | None = None, decimal: str = ".") -> Iterator[str]:
        """A line for each column with such cells; `decimal` is the decimal point of its file."""
        since = ", since the build was resumed" if self.resumed else ""
        for name, mine in self._columns.items():
            column = declared[name]
            if mine.unread and isinstance(column, Column):
                first = f"; the first is in {place(*self._first[name])}" if place and name in self._first else ""
                yield (
                    f"{_cells(mine.unread, mine.read + mine.unread, name)} could not be read and counted as missing"
                    f"{since}: {column.refused(decimal)}{first}"
                )
            if mine.beyond and isinstance(column, Tokens):
                beyond = f"{many(mine.beyond, 'token')} of {name!r} {'were' if mine.beyond > 1 else 'was'} not counted"
                yield f"{beyond}{since}, as a record has more than `most`, {column.most}"
            elif mine.beyond:
                bounds = column if isinstance(column, str) else as_written([column.low, column.high])  # type: ignore[attr-defined]
                yield (
                    f"{_cells(mine.beyond, mine.read, name)} lay outside its bounds, {bounds}, and counted at the "
                    f"nearest bound{since}{'. Hint: check the unit of the bounds' * (2 * mine.beyond > mine.read)}"
                )
            if mine.other:
                are = "is" if mine.other == 1 else "are"
                cells = _cells(mine.other, mine.read, name)
                yield f"{cells} {are} not in its vocabulary and counted as '{OTHER}'{since}"
            settings = [one for one in _IGNORES if not getattr(column, one, True)]
            if mine.near and settings:
                match = "match one of its words" if mine.near > 1 else "matches one of its words"
                yield (
                    f"{many(mine.near, 'value')} of {name!r} {match} except for "
                    f"{' or '.join(_IGNORES[one] for one in settings)}{since}. "
                    f"Hint: set {' and '.join(f'{one} = true' for one in settings)} in the schema"
                )


def _cells(count: int, read: int, name: str) -> str:
    share = ", all that it holds," if count == read else f", {min(round(100 * count / max(read, 1)), 99)} %,"
    return f"{many(count, 'value')} of {name!r}{share if 2 * count > read else ''}"


def as_written(ends: Sequence[str | float], kind: str | None = None) -> str:
    """The bounds of a column of this kind, in words."""
    return " to ".join(end if isinstance(end, str) else shown(end, kind, 12) for end in ends)


# ---- rows ----


def private(line: str) -> str:
    """A line for the curator alone, marked as private."""
    return f"{line} {UNPUBLISHED}."


def left_out(rows: int, why: Sequence[str] = ()) -> str:
    """A line on rows that were left out, and why."""
    causes = f": {', '.join(why)}" if why else ""
    return private(f"{many(rows, 'record')} {'was' if rows == 1 else 'were'} left out{causes}")


def undecoded(cells: Mapping[str, int], since: str = "") -> Iterator[str]:
    """A line for each column with cells that are no text in the given encoding."""
    for name, count in cells.items():
        were = "was" if count == 1 else "were"
        yield private(
            f"{many(count, 'value')} of {name!r} {were} read as missing{since}, because the bytes are no text in this "
            "encoding. Hint: choose another with --encoding (encoding=)"
        )


def many_unread(rows: int) -> int:
    """How many of so many rows must be left out for a column before its spelling is explained."""
    return max(MANY, round(SHARE_UNREAD * rows))


def more_lines(lines: int) -> Iterator[str]:
    """A line on lines of text that are no records of their own: perhaps a quote is left open."""
    if lines >= MANY:
        yield private(
            f"{many(lines, 'line')} are no records of their own, because they are blank or part of a quoted value. "
            "Hint: check for a quote that is left open"
        )


def no_record_of(classes: Sequence[str]) -> str:
    """The line on classes without a record."""
    return f"WARNING: no record was counted of {', '.join(map(repr, classes))} {UNPUBLISHED}."


def no_record_in(period: int) -> str:
    """The line on a period without a record."""
    return f"WARNING: no record was counted in period {period}, so what is published is noise alone {UNPUBLISHED}."
