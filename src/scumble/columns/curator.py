"""What the curator learns about a build: cells that were not counted at their own value, and rows that were left out.

A wrong declaration makes most cells of a column missing, or moves them to a bound. The numbers are as private as the
rows: they go to the curator's terminal and into no file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble.columns.cells import there
from scumble.columns.column import GAP, OTHER, OUTSIDE, UNFORESEEN, UNREAD, UNREADABLE, Column, Found
from scumble.columns.column import Strays as OfBatch
from scumble.columns.kinds import shown
from scumble.columns.tokens import Tokens
from scumble.errors import UNPUBLISHED, DataError, many
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    from scumble.columns.schema import Schema

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
        """Add a batch of `rows` rows. `position` is where it ended in the source; None if rows were left out before."""
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

NO_CELL = "with a missing value in"
BAD_CELL = "with an unreadable or infinite value in"
NO_WORD = "with a word outside the vocabulary of"
BEYOND = "outside the bounds of"
RAGGED, ONE_RAGGED = "lines that are not records", "line that is not a record"
ELSEWHERE = "before the build was resumed, or on another machine"

Bad = dict[tuple[str, str], np.ndarray]
"""For each cause and column, which rows it leaves out."""


def causes_of(found: Mapping[str, Any]) -> Bad:
    """Which rows have cells without a level, in what `Schema.find` found in each column."""
    bad: Bad = {}
    for name, one in found.items():
        if isinstance(one, Found) and (one.codes < 0).any():
            lost = one.codes == UNREADABLE
            masks = {BEYOND: one.codes == OUTSIDE, NO_WORD: one.codes == UNFORESEEN}
            masks |= {NO_CELL: lost & (one.fates == GAP), BAD_CELL: lost & (one.fates == UNREAD)}
            bad |= {(cause, name): mask for cause, mask in masks.items() if mask.any()}
    return bad


def without_level(batch: pa.RecordBatch, schema: Schema) -> Bad:
    """Which rows of a batch have cells without a level in the schema."""
    return causes_of(schema.find(batch, invalid="drop")[1])


def without_value(batch: pa.RecordBatch, name: str, bad: np.ndarray | None) -> Bad:
    """Which of a column's bad cells are missing, and which are unreadable."""
    if bad is None or not bad.any():
        return {}
    rows = np.flatnonzero(bad)
    unread = np.zeros(len(bad), bool)
    unread[rows[there(batch[name], rows)]] = True
    return {(cause, name): mask for cause, mask in ((NO_CELL, bad & ~unread), (BAD_CELL, unread)) if mask.any()}


class Causes:
    """How many rows were left out, and why."""

    def __init__(self) -> None:
        self._rows: Counter[tuple[str, str]] = Counter()

    def add(self, cause: str, column: str, rows: int) -> None:
        """Add rows of a cause."""
        if rows:
            self._rows[cause, column] += rows

    def take(self, found: Bad, rows: int) -> np.ndarray:
        """Add the rows that were found, each once, for its first cause; returns which of the `rows` they are."""
        counted = np.zeros(rows, bool)
        for (cause, column), mask in found.items():
            self.add(cause, column, int(np.count_nonzero(mask & ~counted)))
            counted |= mask
        return counted

    @property
    def total(self) -> int:
        """How many rows were left out."""
        return self._rows.total()

    def rows(self, cause: str) -> int:
        """How many rows a cause has left out, in all columns."""
        return sum(rows for (one, _), rows in self._rows.items() if one == cause)

    def columns(self, least: int = 1) -> list[str]:
        """Columns with unreadable cells in at least `least` rows, the most frequent first."""
        return [column for (cause, column), rows in self._rows.most_common() if cause == BAD_CELL and rows >= least]

    def words(self, dropped: int, skipped: int) -> Iterator[str]:
        """Each cause with its count, of `dropped` rows and `skipped` lines."""
        for (cause, column), rows in self._rows.most_common():
            yield f"{rows:,} {cause} {column!r}"
        if dropped > self.total:
            yield f"{dropped - self.total:,} {ELSEWHERE}"
        if skipped:
            yield f"{skipped:,} {ONE_RAGGED if skipped == 1 else RAGGED}"


def refusal(bad: Bad, place: Callable[[int], str], what: str, hint: str) -> DataError | None:
    """The error for bad cells, with the place of the first; None if there are only those that a schema leaves out."""
    cells: Counter[str] = Counter()
    rows = []
    for (cause, name), mask in bad.items():
        if cause != BEYOND:
            cells[name] += int(np.count_nonzero(mask))
            rows.append(int(np.argmax(mask)))
    if not cells:
        return None
    values = "1 value is" if cells.total() == 1 else f"{cells.total():,} values are"
    where = ", ".join(f"{count:,} in column {name!r}" for name, count in list(cells.items())[:10])
    return DataError(f"{place(min(rows))}: {values} {what}: {where} {UNPUBLISHED}. Hint: {hint}.")


def declared_otherwise(found: Iterable[tuple[str, str]]) -> str:
    """How a schema can declare columns so that these cells count.

    >>> declared_otherwise([(NO_CELL, "age"), (NO_WORD, "town")])
    "declare 'age' with missing = true (missing=True), 'town' with other = true (other=True)"
    """
    settings = ((name, "other" if cause == NO_WORD else "missing") for cause, name in found)
    declared = [f"{name!r} with {setting} = true ({setting}=True)" for name, setting in dict.fromkeys(settings)]
    return f"declare {', '.join(declared[:10])}"


def private(line: str) -> str:
    """A line for the curator alone, marked as private."""
    return f"{line} {UNPUBLISHED}."


def left_out(rows: int, why: Sequence[str] = ()) -> str:
    """A line on rows that were left out, and why."""
    causes = f": {', '.join(why)}" if why else ""
    return private(f"{many(rows, 'record')} {'was' if rows == 1 else 'were'} left out{causes}")


def many_unread(rows: int) -> int:
    """How many of `rows` must be left out because of a column before its format is explained."""
    return max(MANY, round(SHARE_UNREAD * rows))


def no_record_of(classes: Sequence[str]) -> str:
    """The line on classes without a record."""
    return f"WARNING: no record was counted of {', '.join(map(repr, classes))} {UNPUBLISHED}."


def no_record_in(period: int) -> str:
    """The line on a period without a record."""
    return f"WARNING: no record was counted in period {period}, so what is published is noise alone {UNPUBLISHED}."
