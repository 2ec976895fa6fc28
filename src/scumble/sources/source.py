"""What a source is: a stream of Arrow batches that can be entered at any row."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scumble import checks, errors
from scumble.checks import Json
from scumble.columns.containers import doubt
from scumble.columns.curator import MANY, private
from scumble.columns.kinds import Roles, without_words
from scumble.errors import DataError, ParameterError, PrivacyError, many
from scumble.files.lazy_modules import pa

BATCH_ROWS = 65_536
"""The most rows of a batch: a few MB. Parquet may read several batches at once."""

NO_HEADER = (
    "so it is not shown. Hint: a file must begin with a line of column names, each different, such as name,age,town."
)
"""Message for a file that may have no header, after the reason."""

Position = tuple[int, int]
"""Where to continue: which file, and how many of its rows are done."""


class Piece(NamedTuple):
    """A batch (a table, if several were joined), the position after it, and the share of the source read, if known."""

    batch: pa.RecordBatch
    position: Position
    done: float | None

    def __repr__(self) -> str:
        return "Piece(secret)"


@dataclass
class Oddities:
    """What the curator sees of a text file; counts are as private as its rows."""

    undecoded: Counter[str] = field(default_factory=Counter)
    """Cells by column that are no text in the encoding, and were read as missing."""
    more_lines: int = 0
    """Lines of text beyond one per row: within quotes, or blank."""
    late: dict[str, None] = field(default_factory=dict)
    """Keys of a stream of public rows that came too late to be columns; known at its end."""

    def __add__(self, other: Oddities) -> Oddities:
        mine, its = vars(self).values(), vars(other).values()
        return Oddities(*(a | b if type(a) is dict else a + b for a, b in zip(mine, its, strict=True)))

    def words(self, since: str = "") -> Iterator[str]:
        """Lines for the curator."""
        for name, count in self.undecoded.items():
            were = "was" if count == 1 else "were"
            yield private(
                f"{many(count, 'value')} of {name!r} {were} read as missing{since}, because the bytes are no text in "
                "this encoding. Hint: choose another with --encoding (encoding=)"
            )
        if self.more_lines >= MANY:
            yield private(
                f"{many(self.more_lines, 'line')} are no records of their own, because they are blank or part of a "
                "quoted value. Hint: check for a quote that is left open"
            )


class Source(ABC):
    """A table as a stream, with the same rows in the same order each time."""

    names: tuple[str, ...]
    """The declared columns: by a header, a schema, a query, the names of folders."""
    declared = True
    """Whether columns are declared. If not, any column may be asked for."""
    first_line = False
    """Whether the names are the first line of a file, which may be a record."""
    decimal = "."
    """The decimal separator of numbers in text."""
    gaps_in_words = True
    """Whether NA and the like are missing cells of categories and sets, as in all files."""
    live = False
    """Whether rows may arrive one by one, so that batches are not joined."""
    skipped: dict[int, int]
    """Dropped lines with too few or too many cells, by file."""

    @property
    def oddities(self) -> Oddities:
        """What was odd in its text."""
        return Oddities()

    def pieces(self, roles: Roles, *, start: Position = (0, 0), invalid: str = "error") -> Iterator[Piece]:
        """The batches from a position on, with exactly the columns of `roles`, in that order.

        Lines that are no rows, and cells that are no text, are refused ("error") or left out ("drop"). With "mark",
        lines that are no rows are refused, and cells that are no text are marked (:mod:`scumble.sources.formats`).
        """
        for piece in self.read(roles, start, invalid):
            yield piece._replace(batch=without_words(piece.batch, roles)) if self.gaps_in_words else piece

    @abstractmethod
    def read(self, roles: Roles, start: Position, invalid: str) -> Iterator[Piece]:
        """The batches as they are in the source."""

    @abstractmethod
    def place(self, position: Position, rows: int, row: int) -> str:
        """Where row `row` of the batch of `rows` rows that ended at `position` is, in words."""

    @abstractmethod
    def fingerprint(self) -> Json:
        """Equal for the same unchanged source; refused if that cannot be known."""

    def require_unchanged(self) -> None:  # noqa: B027
        """After the last row: refuse a source that has changed since the first."""

    def settle(self, names: Iterable[str]) -> None:  # noqa: B027
        """Before the first row: let a row's own cells in these columns say where it comes, if a query decides that.

        A query may return rows in an order that depends on other rows, and of each person the first ones count.
        """

    def wake(self) -> None:  # noqa: B027
        """No more rows are needed: a read that waits for bytes ends."""

    def close(self) -> None:  # noqa: B027
        """Close what the source holds open."""

    def columns(self, wanted: Sequence[str] | None, *, besides: Sequence[str | None] = ()) -> list[str]:
        """The columns `wanted`, or all declared ones except `besides`, which have another use."""
        if wanted is not None:
            wanted = checks.names("columns", wanted)
            if twice := [name for k, name in enumerate(wanted) if name in wanted[:k]]:
                raise ParameterError(f"--columns (columns=) names {twice[0]!r} twice. Hint: name each column once.")
            return list(wanted)
        if not self.declared:
            raise PrivacyError(
                f"{self} declares no columns, as keys of records are private. Hint: --columns age,income (columns=)."
            )
        found = [name for name in self.names if name not in besides]
        if self.first_line and (reason := doubt(self.names)):
            raise DataError(f"{self} may have no line of column names: its first line {reason}, {NO_HEADER}")
        if numbers := [name for name in found if numbers_rows(name)]:
            named = ",".join(name for name in found if name not in numbers)
            column = f"a column {numbers[0]!r}" if numbers[0].strip() else "a column without a name"
            hint = f"Hint: name the other columns, --columns {named or 'A,B'} (columns=[...])."
            raise DataError(f"{self} has {column}, as pandas and R write row numbers. {hint}")
        return found

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        """The declared type of each column, if there is one; no record is read."""
        return dict.fromkeys(columns)

    def keys(self) -> tuple[str, ...]:
        """All columns, even if read from the records: for public points, never for a private table."""
        return self.names

    def require(self, wanted: Sequence[str]) -> None:
        """Refuse columns that are not declared, with a suggestion."""
        if not self.declared:
            return
        for name in wanted:
            if name not in self.names:
                raise no_column(name, str(self), self.names, wanted, first_line=self.first_line)
            if self.names.count(name) > 1:
                raise DataError(f"{self} has {self.names.count(name)} columns {name!r}. Hint: give each its own name.")


def numbers_rows(name: str) -> bool:
    """Whether a column of this name holds row numbers, as other programs write them.

    >>> [numbers_rows(name) for name in ["", "Unnamed: 0", "__index_level_0__", "age"]]
    [True, True, True, False]
    """
    return re.fullmatch(r"\s*|Unnamed: 0(\.\d+)?|__index_level_\d+__", name) is not None


def changed(name: str) -> DataError:
    """A source has changed while it was read."""
    return DataError(f"{name} has changed while it was read: nothing is released. Hint: run it again, on a copy.")


def no_column(name: str, source: str, known: Sequence[str], wanted: Sequence[str], *, first_line: bool) -> DataError:
    """A column does not exist; the known names may be a record, if they are a file's `first_line`."""
    told = did_you_mean(name, known, wanted, first_line=first_line)
    return DataError(f"There is no column {name!r} in {source}.{told}")


def did_you_mean(name: str, known: Sequence[str], wanted: Sequence[str] = (), *, first_line: bool = False) -> str:
    """' Did you mean ...? It has ...', without names that are `wanted` too.

    Names from a file's `first_line` are shown only if they look like names.

    >>> did_you_mean("age", ["age;income"])
    " It has one column, with ';' in its name. Hint: --delimiter ';' (delimiter=';')."
    """
    if len(known) == 1 and (marks := [mark for mark in ",;|\t" if mark in known[0]]):
        delimiter = "tab" if marks[0] == "\t" else marks[0]
        option = f"--delimiter {delimiter!r} (delimiter={delimiter!r})"
        return f" It has one column, with {delimiter!r} in its name. Hint: {option}."
    if first_line and (reason := doubt(known)):
        return f" Its first line {reason}, {NO_HEADER}"
    if first_line and len(wanted) > 1 and not any(errors.nearest(one, known) for one in wanted):
        return f" Its first line has none of the names, and may be a record, {NO_HEADER}"
    guess = errors.did_you_mean(name, [one for one in known if one not in wanted])
    listed = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    return f"{guess} It has: {listed or 'no columns at all'}."


def cut(batches: Iterator[pa.RecordBatch], skip: int, times: int = 1) -> Iterator[pa.RecordBatch]:
    """The batches without their first `skip` rows, none larger than `times` BATCH_ROWS."""
    most = times * BATCH_ROWS
    for batch in batches:
        if skip >= batch.num_rows:
            skip -= batch.num_rows
            continue
        for first in range(skip, batch.num_rows, most):
            yield batch.slice(first, most)
        skip = 0


def row_bits(kinds: Sequence[pa.DataType]) -> int:
    """The bits of a row of these types, or 0 if unknown."""
    return sum(int(kind.bit_width) for kind in kinds) if all(map(pa.types.is_primitive, kinds)) else 0
