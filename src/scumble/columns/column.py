"""The base of a schema's columns.

A column has *levels*, numbered from 0: the cells of a line or the words of a vocabulary, then perhaps one for missing
cells. `encode` sends each cell of a table to its level, a function of the cell's canonical value and of the column
alone: the same cell has the same level in every container. A cell without a level has a negative code, and its record
is dropped or refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeAlias

import numpy as np

from scumble.columns import cells, line
from scumble.columns.containers import one_column
from scumble.columns.cuts import Cuts, Positions
from scumble.columns.hashing import UnsupportedValue
from scumble.columns.line import Span, Spans
from scumble.errors import DataError, ParameterError, did_you_mean, parameter
from scumble.files.lazy_modules import pa

UNREADABLE = -1
"""The code of a cell that is missing, unreadable or not finite, if the column has no level for missing cells."""
OUTSIDE = -2
"""The code of a cell outside the bounds of a column that drops those."""
UNFORESEEN = -3
"""The code of a word that is not in the vocabulary, if the column has no level for other words."""
MISSING, OTHER = "(missing)", "(other)"
"""The names of the levels for missing cells and for words that are not in the vocabulary."""
Arguments: TypeAlias = tuple[list[object], dict[str, object]]
"""Positional arguments and keywords, as JSON values."""
Coded: TypeAlias = tuple[np.ndarray, np.ndarray | None, Sequence[np.ndarray]]
"""Codes as int32; which cells are outside the bounds, if any; and positions in cells, if the column tells them."""
BLANK = "<?>"
"""What a drafted schema has where a person must write something."""
ONE_VALUE = "leave out a column that has only one value."
MOST_LEVELS = 2**16
_CHOICES = {"scale": ("linear", "log"), "outside": ("clip", "drop"), "decimal": (".", ",")}
"""The words that some parameters can be."""


class Codes(NamedTuple):
    """The levels of a column's cells, as int32: negative where there is none."""

    codes: np.ndarray
    valid: np.ndarray

    def __repr__(self) -> str:
        return "Codes(secret)"


class Strays(NamedTuple):
    """How many cells were not counted at their own value: for the curator alone, whose declaration may be wrong.

    Of the cells that were `read`: unreadable ones, counted as missing; those `beyond` the bounds, counted at the
    nearest; words outside the vocabulary, counted together as `other`, and those of them that are `near` a word, but
    for blanks or case. And the row of the first unreadable one, or −1.
    """

    read: int
    unread: int = 0
    beyond: int = 0
    other: int = 0
    near: int = 0
    first: int = -1

    def __repr__(self) -> str:
        return "Strays(secret)"


OWN, BEYOND, OTHERS, NEAR, GAP, UNREAD = range(6)
"""What a cell is counted as: its own value; a bound; a word outside the vocabulary, which may match one but for blanks
or case; missing, or unreadable."""


class Found(NamedTuple):
    """The codes of a column's cells, and what each is counted as."""

    codes: np.ndarray
    fates: np.ndarray
    """`OWN` and so on, as uint8. Those of cells without a code say why their records are left out."""
    positions: Sequence[np.ndarray] = ()
    """Where in its cell each value lies, digit by digit, if the column tells (`Column.positions`)."""
    words: cells.Texts | None = None
    """The distinct words, and where each cell's is among them, if they are still to be found."""

    def __repr__(self) -> str:
        return "Found(secret)"

    def strays(self, dropped: np.ndarray | None = None) -> Strays:
        """How many there are, without those of the `dropped` records."""
        fates = self.fates if dropped is None else self.fates[~dropped]
        if not self.fates.any():
            return Strays(len(fates))
        kept = self.codes >= 0 if dropped is None else (self.codes >= 0) & ~dropped
        own = fates if len(fates) == len(kept) and kept.all() else self.fates[kept]
        beyond, others, near, unread = (np.count_nonzero(own == fate) for fate in (BEYOND, OTHERS, NEAR, UNREAD))
        return Strays(
            read=int(np.count_nonzero(fates < GAP)),
            unread=int(unread),
            beyond=int(beyond),
            other=int(others + near),
            near=int(near + np.count_nonzero((self.fates == NEAR) & (self.codes < 0))),
            first=int(np.argmax(kept & (self.fates == UNREAD))) if unread else -1,
        )


class Part(NamedTuple):
    """A set of values of one column."""

    spans: Spans
    missing: bool = False


class Column(ABC):
    """A column of a schema."""

    kind: ClassVar[str]
    """Its name in files."""
    role: ClassVar[str]
    """What a source reads it as."""
    refuses: ClassVar[str] = ""
    """What the curator learns about a cell that cannot be read."""
    ordered: ClassVar[bool]
    """Whether values can be compared by size."""
    registry: ClassVar[dict[str, type[Column]]] = {}
    missing: bool
    missing_words: Sequence[str]

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            Column.registry[cls.kind] = cls

    @property
    def read_as(self) -> str:
        """What a source reads this column as."""
        return self.role

    # ---- levels ----

    @property
    @abstractmethod
    def line(self) -> Span:
        """Where the values are; a level for missing cells is not on it."""

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """The names of all levels, in the order of their codes."""
        return (*self._named(), MISSING) if self.missing else self._named()

    @abstractmethod
    def _named(self) -> tuple[str, ...]:
        """The names of the levels on the line."""

    @property
    def size(self) -> int:
        """The number of levels."""
        return self.line[1] + self.missing

    @property
    def representative(self) -> np.ndarray:
        """The mean of each level's values; NaN if it has none."""
        return np.append(self._means(), np.nan) if self.missing else self._means()

    def _means(self) -> np.ndarray:
        return np.full(self.line[1], np.nan)

    @abstractmethod
    def words(self) -> str:
        """What it can hold, in words."""

    @property
    def positions(self) -> Positions | None:
        """The positions that values have in their cells; None if none is needed."""
        return None

    # ---- cells to levels and back ----

    def encode(self, values: object, label: str = "The column") -> Codes:
        """The level of each cell of an array, a series, an Arrow array or a list."""
        codes = self.find(values, label).codes
        return Codes(codes, codes >= 0)

    def find(self, values: object, label: str = "The column") -> Found:
        """The codes of `encode`, and what each cell is counted as."""
        column = one_column(values, "values")
        codes, outside, positions = self._codes(column, label)
        fates = np.zeros(len(codes), np.uint8)
        if outside is not None:
            fates[outside] = BEYOND
        gone = np.flatnonzero(codes == UNREADABLE)
        if len(gone):
            fates[gone] = GAP
            fates[self._unread(column, gone)] = UNREAD
            if self.missing:
                codes[gone] = self.size - 1
        return Found(codes, fates, positions)

    def says_nothing(self, text: bytes) -> bool:
        """Whether this canonical text stands for a missing cell."""
        return cells.says_nothing(text) or text.decode(errors="replace").strip(cells.BLANKS) in self.missing_words

    def _unread(self, column: cells.Column, gone: np.ndarray) -> np.ndarray:
        """Which of these rows, all without a value, hold something else than a gap."""
        return np.asarray(gone[cells.there(column, gone, self.says_nothing)])

    def refused(self, decimal: str = ".") -> str:
        """What the curator learns about a cell that cannot be read; `decimal` is the decimal point."""
        return self.refuses

    @property
    def unforeseen(self) -> int | None:
        """The code of words outside the vocabulary, if there is one."""
        return None

    @abstractmethod
    def _codes(self, column: cells.Column, label: str) -> Coded:
        """Codes of the cells, `UNREADABLE` for missing ones."""

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest of its `numbers`."""
        return 0.0, float(max(self.line[1] - 1, 1))

    def numbers(self, values: object, label: str = "The column") -> np.ndarray:
        """Each cell as a float64 on the column's own scale; NaN where it has none, beyond `limits` if outside."""
        return self._numbers(one_column(values, "values"), label)

    def _numbers(self, column: cells.Column, label: str) -> np.ndarray:
        codes = self._codes(column, label)[0]
        return np.where(codes < 0, np.nan, codes)

    def decode(self, codes: object, generator: np.random.Generator, powers: np.ndarray | None = None) -> pa.Array:
        """A value drawn for each level, of the type that the table has; null for missing cells.

        Values lie evenly within a level, or as u**power with u even: near its lower end, if the power is above one.
        """
        codes = np.asarray(codes)
        if codes.dtype.kind not in "iu" or codes.ndim != 1 or ((codes < 0) | (codes >= self.size)).any():
            raise parameter("codes", f"whole numbers from 0 to {self.size - 1}, on one axis", codes)
        gone = (codes == self.size - 1) & self.missing
        levels = np.where(gone, 0, codes).astype(np.int64)
        share = generator.random(len(levels)) if self.kind in ("number", "date") else np.empty(0)
        return self._draw(levels, gone, share if powers is None or not len(share) else share ** powers[levels])

    def _draw(self, codes: np.ndarray, gone: np.ndarray, share: np.ndarray) -> pa.Array:
        """The values of levels on the line, each so far up in its level."""
        return self._held(codes, gone)

    @abstractmethod
    def _held(self, values: np.ndarray, gone: np.ndarray) -> pa.Array:
        """Values (for words, their levels) as an Arrow array."""

    def cells_at(self, numbers: np.ndarray, gone: np.ndarray) -> pa.Array:
        """The inverse of `numbers`: the nearest cells, null where they are `gone`."""
        codes = np.clip(np.rint(numbers), 0, self.line[1] - 1).astype(np.int64)
        return self._held(codes, gone)

    def places(self, values: pa.ChunkedArray) -> np.ndarray:
        """Where the values drawn by `decode` are on the line; missing ones are anywhere."""
        return self.encode(values).codes.astype(np.int64)

    # ---- what conditions ask for ----

    @abstractmethod
    def span(self, literal: object) -> Span:
        """Where the value of a condition is on the line; a ParameterError if it has no place there."""

    def equals(self, literal: object) -> Span:
        """Where the cells that equal a literal are."""
        return self.span(literal)

    def _shares(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        """The share of each level on the line that lies in the spans, and whether the level is cut."""
        share = np.zeros(self.line[1])
        for first, end in spans:
            share[first:end] = 1.0
        return share, np.zeros(len(share), bool)

    def weights(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """The share of each level that lies in a set of values, and whether the level is cut."""
        share, partly = self._shares(line.common(part.spans, (self.line,)))
        if not self.missing:
            return share, partly
        return np.append(share, float(part.missing)), np.append(partly, False)

    def touched(self, part: Part) -> Part:
        """A set of values extended to whole levels."""
        return part

    def touches(self, part: Part) -> np.ndarray:
        """Which levels overlap with a set of values."""
        return np.asarray(self.weights(self.touched(part))[0] > 0)

    # ---- parameters ----

    def __repr__(self) -> str:
        first, rest = self._arguments()
        return f"{type(self).__name__}({', '.join([*map(repr, first), *(f'{k}={v!r}' for k, v in rest.items())])})"

    def _settle(self) -> None:
        """Check the parameters that several kinds have."""
        for one in fields(self):  # type: ignore[arg-type]
            if one.init and isinstance(one.default, bool):
                self.__dict__[one.name] = flag(one.name, getattr(self, one.name))
            elif one.name in _CHOICES:
                self.__dict__[one.name] = choice(one.name, getattr(self, one.name), _CHOICES[one.name])
        self.__dict__["missing_words"] = words_for_nothing(self.missing_words)

    def _arguments(self) -> Arguments:
        """Its arguments as JSON values: the positional ones, and the keywords that are not the default."""
        first, rest = list[object](), dict[str, object]()
        for one in fields(self):  # type: ignore[arg-type]
            if one.init and (not one.kw_only or getattr(self, one.name) != one.default):
                value = getattr(self, one.name)
                value = (
                    list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
                )
                rest[one.name] = value
                if not one.kw_only:
                    first.append(rest.pop(one.name))
        return first, rest

    def to_dict(self) -> dict[str, object]:
        """The column as JSON values: its kind, and the parameters that are not the default."""
        first, rest = self._arguments()
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {"kind": self.kind, **dict(zip(names, first, strict=False)), **rest}

    @staticmethod
    def from_dict(data: object, name: str) -> Column:
        """The column that `to_dict` described; `name` is for errors."""
        if not isinstance(data, Mapping):
            raise ParameterError(f"Column {name!r} must have settings. Hint: give it a `kind`.")
        settings = dict(data)
        kind = settings.pop("kind", None)
        if not isinstance(kind, str) or kind not in Column.registry:
            guess = did_you_mean(kind, Column.registry) if isinstance(kind, str) else ""
            raise ParameterError(f"Column {name!r} needs a `kind`: {', '.join(map(repr, Column.registry))}.{guess}")
        maker = Column.registry[kind]
        known_keys = [field.name for field in fields(maker) if field.init]  # type: ignore[arg-type]
        for key in settings:
            if key not in known_keys:
                what = f"Column {name!r} has {str(key)[:60]!r}, which is no setting of a {kind}"
                raise ParameterError(f"{what}.{did_you_mean(key, known_keys)} Hint: use {', '.join(known_keys)}.")
        try:
            return maker(**settings)
        except ParameterError as problem:
            raise ParameterError(f"Column {name!r}: {problem}") from None


class Ordered(Column):
    """A column between two public bounds, counted in cells of a line."""

    ordered: ClassVar[bool] = True
    cells: int | str | None
    edges: tuple[object, ...] | None
    outside: str
    cuts: Cuts

    def _unread(self, column: Any, gone: np.ndarray) -> np.ndarray:
        unread = super()._unread(column, gone)
        return unread[~np.isin(self._read(column, "")[unread], self.gaps)] if len(self.gaps) else unread

    nothing: ClassVar[float]
    """What `_read` has for a cell that cannot be read."""

    @abstractmethod
    def _read(self, column: Any, label: str) -> np.ndarray:
        """What the cells say, as float64 or as ticks."""

    @cached_property
    def gaps(self) -> np.ndarray:
        """The values that stand for a missing cell, such as 999: those of `missing_words` that can be read."""
        found = self._read(np.array([*self.missing_words], object), "`missing_words`")
        return found[found > np.iinfo(np.int64).min]  # neither NaN nor a tick that stands for no time

    def _values(self, column: Any, label: str) -> np.ndarray:
        """The same, `nothing` for what stands for a missing cell too."""
        values = self._read(column, label)
        return np.where(np.isin(values, self.gaps), self.nothing, values) if len(self.gaps) else values

    @property
    def line(self) -> Span:
        return self.cuts.line

    @property
    def size(self) -> int:
        return self.cuts.size + self.missing

    @property
    def each_apart(self) -> bool:
        """Whether each value has a cell to itself."""
        first, end = self.line
        return not self.cuts.real and self.cuts.size == end - first

    def _means(self) -> np.ndarray:
        return self.cuts.means

    def _besides(self) -> str:
        """What happens to other cells, in words."""
        return "; outside dropped" * (self.outside == "drop") + "; missing" * self.missing

    def _coded(self, places: np.ndarray, cuts: Cuts, bad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The codes of places on the line of these cells, and which are outside the bounds."""
        codes, outside = cuts.find(places), ~cuts.holds(places)
        if self.outside == "drop":
            codes[outside] = OUTSIDE
        codes[bad] = UNREADABLE
        return codes, outside

    def _require_edges(self, given: object, what: str, example: str) -> None:
        """Refuse edges that are no list, or next to `cells`."""
        if self.cells is not None:
            raise ParameterError("`cells` and `edges` exclude each other. Hint: leave out `cells`.")
        if not isinstance(given, list | tuple | np.ndarray | range) or not 2 <= len(given) < MOST_LEVELS:
            raise parameter("edges", f"a list of 2 to {MOST_LEVELS - 1} {what}", given, f"edges={example}.")

    def _shares(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        return self.cuts.shares(spans)

    def touched(self, part: Part) -> Part:
        return part._replace(spans=self.cuts.touched(line.common(part.spans, (self.line,))))


class Apart(Column):
    """A column that is counted apart from the others, and has no place in conditions or synthetic rows."""

    ordered: ClassVar[bool] = False
    missing = True
    missing_words = ()
    asked: ClassVar[str]
    """How it was counted, and what to ask instead."""

    def _held(self, values: np.ndarray, gone: np.ndarray) -> pa.Array:
        return pa.nulls(len(values))

    def span(self, literal: object) -> NoReturn:
        raise ParameterError(self.asked)


# ---- helpers of the kinds ----


def by_text(column: cells.Column, label: str, code: Callable[[bytes], int], must: str) -> np.ndarray:
    """Codes by the canonical text of each cell; `code` is called once for each distinct text."""
    try:
        found, places = cells.texts(column)
    except UnsupportedValue:
        raise wrong_type(column, label, must) from None
    codes = np.array([UNREADABLE if text is None else code(text) for text in found], np.int32)
    return codes[places]


def wrong_type(column: cells.Column, label: str, must: str) -> DataError:
    """The error for a column whose type is not what its schema says."""
    hint = "give it another kind in the schema, or leave it out"
    return DataError(f"{label} must hold {must}, got {cells.describe(column)}. Hint: {hint}.")


def is_textual(column: cells.Column) -> bool:
    """Whether a column's type is text, or objects whose cells have types of their own."""
    if cells.is_arrow(column):
        kind = cells.plain_type(column)
        return cells.is_text(kind) or cells.is_bytes(kind) or pa.types.is_null(kind)
    return column.dtype.kind in "OUST"


def flag(name: str, value: object) -> bool:
    """True or False, nothing else."""
    if not isinstance(value, bool | np.bool_):
        raise parameter(name, "True or False (in a file, true or false)", value, f"{name}=True, or leave it out.")
    return bool(value)


def words_for_nothing(given: object) -> tuple[str, ...]:
    """The words for a missing cell, or an error."""
    listed = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    if not listed or not all(isinstance(word, str) and word.isprintable() for word in given):  # type: ignore[attr-defined]
        raise parameter("missing_words", "a list of words in quotes", given, 'missing_words=["-", "n/a"], for example.')
    return tuple(given)  # type: ignore[arg-type]


def choice(name: str, value: object, known: tuple[str, ...]) -> str:
    """One of the known words, or an error."""
    if not isinstance(value, str) or value not in known:
        raise parameter(name, " or ".join(map(repr, known)), value, f"{name}={known[0]!r} is the default.")
    return value


def count_of_cells(value: object, units: Sequence[str] = ()) -> int | str | None:
    """The number of cells, "equal" for the usual number of equal ones, or None for round edges."""
    if value is None or (isinstance(value, str) and value in ("round", "equal")):
        return None if value != "equal" else "equal"
    if isinstance(value, str) and units:
        raise parameter("cells", f"a whole number, or one of {', '.join(map(repr, units))}", value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value < MOST_LEVELS:
        raise parameter("cells", f"a whole number from 1 to {MOST_LEVELS - 1}", value, "cells=50, or leave it out.")
    return int(value)
