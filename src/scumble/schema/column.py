"""What a column of a schema is: a public, frozen value that answers for itself.

A column has *levels*, numbered from 0: the cells of a line or the words of a vocabulary, then a level for missing cells
if there is one. `encode` sends each cell of a table to its level. It is a function of the cell's own canonical value
and of the column alone: nothing is learnt from the table, no cell is compared with another, and the same cell has the
same level in every container. A cell without a level is marked by a negative code, and its record is dropped or
refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from scumble.errors import DataError, ParameterError, did_you_mean, parameter
from scumble.machine.later import pa
from scumble.schema import line
from scumble.schema.line import Span, Spans
from scumble.tables import cells
from scumble.tables.containers import one_column
from scumble.tables.hashing import UnsupportedValue

UNREADABLE = -1
"""The code of a cell that is missing, unreadable or not finite, where the column has no level for such."""
OUTSIDE = -2
"""The code of a cell outside the bounds of a column that drops those."""
UNFORESEEN = -3
"""The code of a word that is not in the vocabulary of a column without a level for such."""
MISSING, OTHER = "(missing)", "(other)"
"""The names of the levels for missing cells and for words that are not in the vocabulary."""
BLANK = "<?>"
"""What a drafted schema has where a person must write something."""
ONE_VALUE = "a column of one value tells nothing: leave it out, or give it the room that it may need."
"""The next step where both bounds are one."""
MOST_LEVELS = 2**16


class Codes(NamedTuple):
    """The levels of a column's cells."""

    codes: np.ndarray
    """int32; negative where there is no level."""
    valid: np.ndarray
    """Whether there is one."""

    def __repr__(self) -> str:
        return "Codes(secret)"


class Strays(NamedTuple):
    """Cells that were counted where they do not stand: for the curator alone, whose declaration may be wrong."""

    read: int
    """Cells that were read."""
    unread: int = 0
    """Cells that hold something that could not be read, and were counted as missing."""
    first: int = -1
    """The row of the first of them, or −1."""
    beyond: int = 0
    """Cells outside the bounds that were counted at the nearest."""
    other: int = 0
    """Words that are not in the vocabulary, and were counted together."""
    coarse: int = 0
    """Dates that name a year or a month alone, and were counted on its first day."""
    near: int = 0
    """Words that are not in the vocabulary, and would be but for blanks or case; those of dropped records too."""

    def __repr__(self) -> str:
        return "Strays(secret)"


class Found(NamedTuple):
    """What a column's cells are, and which of them were counted where they do not stand."""

    codes: np.ndarray
    gone: np.ndarray
    """The rows of cells that were counted as missing, or cannot be counted."""
    unread: np.ndarray
    """The rows of those that hold something."""
    outside: np.ndarray | None
    """Which cells are outside the bounds and were counted at the nearest, if there are bounds."""
    other: int | None
    """The code of words that are not in the vocabulary, if they have one."""
    coarse: np.ndarray | None = None
    """Which cells name a year or a month alone, if some do, and have more than one level for its days."""
    near: int = 0
    """How many words are not in the vocabulary, and would be but for blanks or case."""

    def __repr__(self) -> str:
        return "Found(secret)"

    def strays(self, dropped: np.ndarray | None = None) -> Strays:
        """How many there are, but for the records that were `dropped`."""
        counted = np.ones(len(self.codes), bool) if dropped is None else ~dropped
        unread = self.unread[counted[self.unread]]
        outside, coarse = (
            0 if mask is None else int(np.count_nonzero(mask & counted)) for mask in (self.outside, self.coarse)
        )
        other = 0 if self.other is None else np.count_nonzero((self.codes == self.other) & counted)
        read = np.count_nonzero(counted) - np.count_nonzero(counted[self.gone])
        first = int(unread[0]) if len(unread) else -1
        return Strays(int(read), len(unread), first, outside, int(other), coarse, self.near)


class Part(NamedTuple):
    """A set of values of one column: what a condition asks for."""

    spans: Spans
    missing: bool = False


class Column(ABC):
    """A column of a schema; see the kinds of it."""

    kind: ClassVar[str]
    """What the column is called in files."""
    role: ClassVar[str]
    """What a source reads it as, so text files give numbers as numbers."""
    refuses: ClassVar[str] = ""
    """What it says of a cell that it cannot read, whatever its file."""
    ordered: ClassVar[bool]
    """Whether values can be compared by size."""
    registry: ClassVar[dict[str, type[Column]]] = {}
    missing: bool

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Column.registry[cls.kind] = cls

    def __new__(cls, *given: object, **named: object) -> Self:
        """Refuse what it does not take, and say what it takes."""
        takes = [field.name for field in fields(cls) if field.init]  # type: ignore[arg-type]
        first = [field.name for field in fields(cls) if field.init and not field.kw_only]  # type: ignore[arg-type]
        for name in named:
            if name not in takes:
                known = f"Hint: it takes {', '.join(takes)}."
                raise TypeError(f"A {cls.__name__} has no `{name}`.{did_you_mean(name, takes)} {known}")
        if len(given) > len(first):
            rest = ", ".join(f"{name}=…" for name in takes if name not in first)
            alone = " and ".join(f"`{name}`" for name in first) or "nothing"
            hint = f"{'write its words as one list, and ' * (first == ['values'])}name what follows: {rest}."
            raise TypeError(f"A {cls.__name__} takes {alone} without a name, not {len(given)} values. Hint: {hint}")
        return super().__new__(cls)

    # ---- levels ----

    @property
    @abstractmethod
    def line(self) -> Span:
        """Where the values stand; a level of missing cells is not on it."""

    @property
    @abstractmethod
    def levels(self) -> tuple[str, ...]:
        """The names of all levels, in the order of their codes."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many levels there are, one for missing cells included."""

    @property
    @abstractmethod
    def representative(self) -> np.ndarray:
        """For each level the mean of its values as float64; NaN where there is none."""

    @abstractmethod
    def words(self) -> str:
        """What it can hold, for people."""

    # ---- cells to levels and back ----

    def encode(self, values: object, label: str = "The column") -> Codes:
        """The level of each cell of a column of any make: an array, a series, an Arrow array, a list."""
        codes = self.find(values, label).codes
        return Codes(codes, codes >= 0)

    def find(self, values: object, label: str = "The column") -> Found:
        """The codes of `encode`, and which cells were counted where they do not stand."""
        column = one_column(values, "values")
        codes, outside = self._codes(column, label)
        outside = None if outside is None else outside & (codes >= 0)
        gone = np.flatnonzero(codes == UNREADABLE)
        unread = gone[:0]
        if self.missing and len(gone):
            codes[gone] = self.size - 1
            unread = gone[cells.there(column, gone, self.says_nothing)]
        return Found(codes, gone, unread, outside, self.unforeseen)

    def says_nothing(self, text: bytes) -> bool:
        """Whether a cell that could not be read, of this canonical text, is a missing one."""
        return cells.says_nothing(text)

    def refused(self, decimal: str = ".") -> str:
        """What it says of a cell that it cannot read, where that stands before the decimals of numbers."""
        return self.refuses

    @property
    def unforeseen(self) -> int | None:
        """The code of words that are not in its vocabulary; None if it has none for these."""
        return None

    @abstractmethod
    def _codes(self, column: cells.Column, label: str) -> tuple[np.ndarray, np.ndarray | None]:
        """The codes as int32, `UNREADABLE` for what is missing; and which cells are outside, if there are bounds."""

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest of its numbers."""
        return 0.0, float(max(self.line[1] - 1, 1))

    def numbers(self, values: object, label: str = "The column") -> np.ndarray:
        """Each cell as a number on the column's own line, float64; NaN where it has none, and beyond `limits` outside.

        Like its level, it is a function of the cell and of the column alone.
        """
        return self._numbers(one_column(values, "values"), label)

    def _numbers(self, column: cells.Column, label: str) -> np.ndarray:
        codes, _ = self._codes(column, label)
        return np.where(codes < 0, np.nan, codes)

    def decode(self, codes: object, generator: np.random.Generator) -> pa.Array:
        """A value drawn for each level, of the type that the table has; null for missing cells."""
        codes = np.asarray(codes)
        if codes.dtype.kind not in "iu" or codes.ndim != 1 or ((codes < 0) | (codes >= self.size)).any():
            raise parameter("codes", f"whole numbers from 0 to {self.size - 1}, on one axis", codes)
        gone = (codes == self.size - 1) & self.missing
        return self._draw(np.where(gone, 0, codes).astype(np.int64), gone, generator)

    @abstractmethod
    def _draw(self, codes: np.ndarray, gone: np.ndarray, generator: np.random.Generator) -> pa.Array:
        """The values of levels on the line."""

    @abstractmethod
    def _held(self, values: np.ndarray, gone: np.ndarray) -> pa.Array:
        """Such values (of words, their levels) as a table holds them."""

    def cells_at(self, numbers: np.ndarray, gone: np.ndarray) -> pa.Array:
        """The cells that such `numbers` stand for, the nearest there are; null where they are `gone`."""
        codes = np.clip(np.rint(numbers), 0, self.line[1] - 1).astype(np.int64)
        return self._held(codes, gone)

    def places(self, values: pa.ChunkedArray) -> np.ndarray:
        """Where the values that `decode` has drawn stand on the line: words at their levels; missing ones, anywhere."""
        return self.encode(values).codes.astype(np.int64)

    # ---- what conditions ask for ----

    @abstractmethod
    def span(self, literal: object) -> Span:
        """Where a value that somebody wrote stands. Raises a ParameterError that says what could be written."""

    def equals(self, literal: object) -> Span:
        """Where the cells that equal a literal stand."""
        return self.span(literal)

    @abstractmethod
    def _shares(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        """The share of each level on the line that lies in the spans, and whether it is a part of it only."""

    def weights(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """For every level the share of it that lies in a set of values, and whether that is a part of it only."""
        share, partly = self._shares(line.common(part.spans, (self.line,)))
        if not self.missing:
            return share, partly
        return np.append(share, float(part.missing)), np.append(partly, False)

    def touched(self, part: Part) -> Part:
        """All levels that have anything of a set of values, as wholes. No range cuts through a word."""
        return part

    def touches(self, part: Part) -> np.ndarray:
        """Which levels have anything of a set of values, be it a single one."""
        return np.asarray(self.weights(self.touched(part))[0] > 0)

    # ---- parameters ----

    def __repr__(self) -> str:
        first, rest = self._arguments()
        return f"{type(self).__name__}({', '.join([*map(repr, first), *(f'{k}={v!r}' for k, v in rest.items())])})"

    @abstractmethod
    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments that made it, positional ones first, defaults left out; as plain JSON values."""

    def to_dict(self) -> dict[str, Any]:
        """The column as plain JSON values: its kind, and the parameters that are not the defaults."""
        first, rest = self._arguments()
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {"kind": self.kind, **dict(zip(names, first, strict=False)), **rest}

    @staticmethod
    def from_dict(data: object, name: str) -> Column:
        """The column that `to_dict` described. Errors call it by its name."""
        if not isinstance(data, Mapping):
            raise ParameterError(f"Column {name!r} must be a table of settings. Hint: give it a `kind`.")
        settings = dict(data)
        kind = settings.pop("kind", None)
        if not isinstance(kind, str) or kind not in Column.registry:
            raise ParameterError(f"Column {name!r} needs a `kind`: {_no_kind(kind)}")
        maker = Column.registry[kind]
        known_keys = [field.name for field in fields(maker) if field.init]  # type: ignore[arg-type]
        for key in settings:
            if key not in known_keys:
                raise ParameterError(
                    f"Column {name!r} has a setting {_cut(repr(key), 60)} that a {kind} does not know."
                    f"{did_you_mean(key, known_keys)} Hint: it knows {', '.join(known_keys)}."
                )
        try:
            return maker(**settings)
        except ParameterError as problem:
            raise ParameterError(f"Column {name!r}: {_cut(str(problem), 400)}") from None


# ---- helpers of the kinds ----

_KINDS_ELSEWHERE = {
    "integer int int64 long bigint whole": 'kind = "number" and whole = true',
    "float float64 double decimal real numeric": 'kind = "number"',
    "string str text varchar enum factor categorical word": 'kind = "category" with its values',
    "bool logical": 'kind = "boolean"',
    "datetime timestamp time": 'kind = "date", to the second where a bound has a time of day',
}
"""What other programs call a kind, and how it is written here."""


def _no_kind(kind: object) -> str:
    known = f"one of {', '.join(map(repr, Column.registry))}"
    if not isinstance(kind, str):
        return f"{known}."
    for words, written in _KINDS_ELSEWHERE.items():
        if kind.lower() in words.split():
            return f"{known}, and {kind!r} is none. Hint: write {written}."
    return f"{known}, and {_cut(repr(kind), 60)} is none.{did_you_mean(kind, Column.registry)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def by_text(column: cells.Column, label: str, code: Callable[[bytes], int], must: str) -> np.ndarray:
    """Codes by the canonical text of each cell; each distinct text is asked for once."""
    try:
        found, places = cells.texts(column)
    except UnsupportedValue:
        raise wrong_type(column, label, must) from None
    codes = np.array([UNREADABLE if text is None else code(text) for text in found], np.int32)
    return codes[places]


def wrong_type(column: cells.Column, label: str, must: str) -> DataError:
    """The error of a column that holds another type than its schema says."""
    return DataError(
        f"{label} must hold {must}, got {cells.describe(column)}. Hint: give it another kind in the schema, turn it "
        f"into {must} first, or leave it out."
    )


def is_textual(column: cells.Column) -> bool:
    """Whether a column's declared type is text, or it declares nothing: then each cell says what it is."""
    if cells.is_arrow(column):
        kind = cells.plain_type(column)
        return cells.is_text(kind) or cells.is_bytes(kind) or pa.types.is_null(kind)
    return column.dtype.kind in "OUST"


def flag(name: str, value: object) -> bool:
    """True or False, and nothing like it."""
    if not isinstance(value, bool | np.bool_):
        hint = f"{name}=True, or leave it out."
        raise parameter(name, "True or False (in a schema's file, true or false without quotes)", value, hint)
    return bool(value)


def choice(name: str, value: object, known: tuple[str, ...]) -> str:
    """One of the known words."""
    if not isinstance(value, str) or value not in known:
        raise parameter(name, " or ".join(map(repr, known)), value, f"{name}={known[0]!r} is the default.")
    return value


def count_of_cells(value: object) -> int | str | None:
    """How many cells to cut a line into, "equal" for the usual number of equal ones, or None for round edges."""
    if value is None or (isinstance(value, str) and value in ("round", "equal")):
        return None if value != "equal" else "equal"
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value < MOST_LEVELS:
        hint = "cells=50, for example; `edges` lists the cells themselves."
        raise parameter("cells", f"a whole number from 1 to {MOST_LEVELS - 1}, or left out, for a default", value, hint)
    return int(value)
