"""What a source is: a stream of Arrow batches that can be entered again at any row."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scumble import checks, errors
from scumble.errors import DataError, ParameterError, PrivacyError
from scumble.machine.later import pa
from scumble.tables.names import doubt
from scumble.tables.roles import Roles

BATCH_ROWS = 65_536
"""Rows a batch at most: a few MB, whatever the source. (Parquet, where it is known what they take, has some more.)"""

BELOW_A_TITLE = (
    "The names are taken from the first line, and the next has more cells, as below a title. "
    "Hint: remove what stands above the names of the columns."
)
"""What is said of text whose header may be none."""

NO_HEADER = (
    "so it is not shown. Hint: if it is the names, of which each column needs its own, write there those that are "
    "asked for or, where you choose them, ask for them as they stand there. If it is a record, write the names above "
    "it: a file must begin with a line of column names, such as name,age,town."
)
"""What is said of text that may have no header, after the reason."""

Position = tuple[int, int]
"""Where to go on: which file, and how many of its rows are done."""


class Piece(NamedTuple):
    """A batch and where it came from."""

    batch: pa.RecordBatch
    """The rows; a table, where several batches were put together."""
    position: Position
    """The position after this batch."""
    done: float | None
    """The share of the source that has been read, or None if nobody knows."""

    def __repr__(self) -> str:
        return "Piece(secret)"


class Source(ABC):
    """A table as a stream. The same source gives the same rows in the same order each time."""

    names: tuple[str, ...]
    """The columns that its author declared: by a header, a schema, a query, the names of folders."""
    declared = True
    """Whether there is such a declaration. Where there is none, a column is there for whoever names it."""
    first_line = False
    """Whether the names are what stands first in a file: in one without a header, a record."""
    decimal = "."
    """What stands before the decimals of numbers in it, if they are text."""
    live = False
    """Whether rows may come one by one, so nobody should wait for many."""
    skipped: dict[int, int]
    """Lines that are no rows at all (too few or too many cells) and were dropped, by file."""

    @abstractmethod
    def pieces(self, roles: Roles, *, start: Position = (0, 0), invalid: str = "error") -> Iterator[Piece]:
        """The batches from a position on, with exactly the columns of `roles`, in that order.

        What is no row, or no text, stops a source ("error") or is left out ("drop"). Who asks for "mark" is stopped by
        lines that are no rows, and gets cells that are no text with marks in them (:mod:`scumble.sources.text`).
        """

    @abstractmethod
    def place(self, position: Position, rows: int, row: int) -> str:
        """Where row `row` of the batch of `rows` rows that ended at `position` is, for a person."""

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """What must be equal for the source to be the same as before; a refusal if that cannot be told."""

    def require_unchanged(self) -> None:  # noqa: B027  what comes from memory or a pipe is read once, as it is
        """After the last row: refuse a source that is not what it was before the first one."""

    def wake(self) -> None:  # noqa: B027  most sources do not keep a reader waiting
        """Nobody wants more rows: a read that waits for bytes ends."""

    def close(self) -> None:  # noqa: B027  most sources hold nothing open between two batches
        """Give back what the source holds open."""

    def columns(self, wanted: Sequence[str] | None, *, besides: Sequence[str | None] = ()) -> list[str]:
        """The columns `wanted`; None stands for all that are declared, `besides` some that have another use."""
        if wanted is not None:
            wanted = checks.names("columns", wanted)
            if twice := [name for k, name in enumerate(wanted) if name in wanted[:k]]:
                raise ParameterError(f"--columns (columns=) names {twice[0]!r} twice. Hint: name each column once.")
            return list(wanted)
        if not self.declared:
            raise PrivacyError(
                f"{self} declares no columns: JSON lines have no header, and the keys of the records are as private as "
                "the records. Hint: name the columns, --columns age,income (columns=['age', 'income'])."
            )
        found = [name for name in self.names if name not in besides]
        if self.first_line and not self.titled and (reason := doubt(self.names)):
            raise DataError(f"{self} may have no line of column names. What stands first there {reason}, {NO_HEADER}")
        if (numbers := [name for name in found if numbers_rows(name)]) and not self.titled:
            named = ",".join(name for name in found if name not in numbers)
            column = f"a column {numbers[0]!r}" if numbers[0].strip() else "a column without a name"
            raise DataError(
                f"{self} has {column}, as pandas and R call the numbers of their rows: they are no part of a record. "
                f"Hint: name the columns that are, --columns {named or 'A,B'} (columns=[...])."
            )
        return found

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        """The type that the author declared for each column, if there is one; no record is looked at."""
        return dict.fromkeys(columns)

    def keys(self) -> tuple[str, ...]:
        """All columns, even if read from the records: for public points, never for a private table."""
        return self.names

    @property
    def undecoded(self) -> Mapping[str, int]:
        """Cells, by column, whose bytes are no text in the encoding that was named, and which were read as missing."""
        return {}

    @property
    def money(self) -> Mapping[tuple[str, str], int]:
        """Cells of a text file, by column and sign of money, that were read as numbers."""
        return {}

    @property
    def repeated(self) -> int:
        """Rows that are the column names once more, as where files were joined."""
        return 0

    @property
    def more_lines(self) -> int:
        """Lines of text that rows take beyond one for each: in quotes, or left blank."""
        return 0

    @property
    def late(self) -> Sequence[str]:
        """Keys of public rows that came too late to be columns, of a stream that is read once; known at its end."""
        return ()

    @property
    def titled(self) -> bool:
        """Whether a line above its header is taken for that, by all that can be seen."""
        return False

    def require(self, wanted: Sequence[str]) -> None:
        """Refuse columns that are not declared, with a guess at what was meant."""
        if not self.declared:
            return
        for name in wanted:
            if name not in self.names:
                raise no_column(name, str(self), self.names, wanted, titled=self.titled, first_line=self.first_line)
            if self.names.count(name) > 1:
                raise DataError(f"{self} has {self.names.count(name)} columns {name!r}. Hint: give each its own name.")


def numbers_rows(name: str) -> bool:
    """Whether a column of this name holds the numbers of rows, by all that is usual: what other programs write there.

    >>> [numbers_rows(name) for name in ["", "Unnamed: 0", "__index_level_0__", "age"]]
    [True, True, True, False]
    """
    return re.fullmatch(r"\s*|Unnamed: 0(\.\d+)?|__index_level_\d+__", name) is not None


def changed(name: str) -> DataError:
    """Half of it may be from before the change and half from after: nothing true can be released."""
    return DataError(
        f"{name} has changed while it was read. Nothing is released. "
        "Hint: run it again when nobody writes there, or on a copy."
    )


def no_column(
    name: str, source: str, known: Sequence[str], wanted: Sequence[str], *, titled: bool, first_line: bool
) -> DataError:
    """What is said of a column that is not there.

    `titled` if the names of the others may be a title's words, `first_line` if they may be a record's cells.
    """
    what = f"There is no column {name!r} in {source}."
    if titled:
        return DataError(f"{what} {BELOW_A_TITLE}")
    return DataError(f"{what}{did_you_mean(name, known, wanted, first_line=first_line)}")


def did_you_mean(name: str, known: Sequence[str], wanted: Sequence[str] = (), *, first_line: bool = False) -> str:
    """' Did you mean ...? It has ...', on one line; what is `wanted` too, and there, was not meant.

    Where the names are a file's `first_line`, they are shown only if they look like names.

    >>> did_you_mean("age", ["age;income"])
    " It has one column, with ';' in its name. Hint: --delimiter ';' (delimiter=';')."
    """
    if len(known) == 1 and (marks := [mark for mark in ",;|\t" if mark in known[0]]):
        delimiter = "tab" if marks[0] == "\t" else marks[0]
        return (
            f" It has one column, with {delimiter!r} in its name. Hint: --delimiter {delimiter!r} "
            f"(delimiter={delimiter!r})."
        )
    if first_line and (reason := doubt(known)):
        return f" What stands first there {reason}, {NO_HEADER}"
    if first_line and _all_others(known, wanted):
        return f" What stands first there has none of the names that are asked for, and may be a record, {NO_HEADER}"
    guess = errors.did_you_mean(name, [one for one in known if one not in wanted])
    listed = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    return f"{guess} It has: {listed or 'no columns at all'}."


def _all_others(known: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether several columns are wanted, and nothing that is there is like any of them: words of a record, perhaps."""
    return len(wanted) > 1 and not any(errors.nearest(one, known) for one in wanted)


def cut(batches: Iterator[pa.RecordBatch], skip: int, times: int = 1) -> Iterator[pa.RecordBatch]:
    """The batches without their first `skip` rows, none larger than so many times BATCH_ROWS."""
    most = times * BATCH_ROWS
    for batch in batches:
        if skip >= batch.num_rows:
            skip -= batch.num_rows
            continue
        for first in range(skip, batch.num_rows, most):
            yield batch.slice(first, most)
        skip = 0


def row_bits(kinds: Sequence[pa.DataType]) -> int:
    """What a row of columns of these types takes in memory, or 0 if nobody knows."""
    return sum(int(kind.bit_width) for kind in kinds) if all(map(pa.types.is_primitive, kinds)) else 0
