"""Tables as people keep them, as rows of numbers within public bounds: what every estimator can learn from.

A public schema says what each column can hold (:mod:`scumble.schema`). A record's numbers are a function of its own
cells and of the schema:

*Numbers, dates and booleans* are places on their own line: the number itself, ticks of a clock, 0 or 1; of a number on
a logarithmic scale, its place among cells of equal ratio. What is outside the bounds is moved to them.

*Categories* have levels: the words of the vocabulary, one for all others, one for missing cells. As *indicators*, for
planes and distances, each level is a column of its own, 1 for the records that have it and 0 for the rest, with the
bounds −1 and 1: to a vector of moments, in units of the bounds, a category adds a single 1 however many levels it has,
and any two levels are equally far apart. As *codes*, for what cuts columns into steps or draws a curve along them, the
levels of a column are the numbers 0, 1, 2, … in their public order.

*Missing* cells of a column with ``missing=True``: with indicators the number is the middle of its bounds and a column
of its own says that it is missing, with codes it stands a quarter of the width below the lowest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from scumble.checks import sides
from scumble.columns.category import Category
from scumble.columns.cells import Column as Cells
from scumble.columns.cells import there
from scumble.columns.column import MISSING, Column, Strays
from scumble.columns.containers import one_column, take_apart
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.columns.table import Table, invalid_message
from scumble.errors import DataError, ParameterError, many, parameter
from scumble.table import rows
from scumble.table.rows import Format

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Block = tuple[Floats, Mask, Mask, Strays]
"""A column's numbers, which cells have none, which were outside, and how many were counted where they do not stand."""

BELOW = 0.25
"""How far below its bounds a missing number stands among codes, in their widths."""
_HINT = (
    "Hint: correct them, leave such records out, or declare the column with missing=True (a category also with "
    "other=True) before the fit."
)


class Coding:
    """The numbers of a table's records; with `indicators`, each level of a category is a column of its own."""

    def __init__(self, schema: Schema, *, indicators: bool) -> None:
        for name, column in schema.items():
            if getattr(column, "outside", "clip") == "drop":
                raise ParameterError(
                    f"Column {name!r} has outside='drop', and an estimator leaves no record out. "
                    "Hint: declare it with outside='clip', or leave such records out beforehand."
                )
        self.schema = schema
        self.parts = [_part(name, column, indicators) for name, column in schema.items()]
        self.names = tuple(name for part in self.parts for name in part.names)
        self.width = len(self.names)
        if len({*self.names}) < self.width:
            raise ParameterError("Two levels of the schema have the same name. Hint: rename a column with '=' in it.")
        low, high = zip(*(bounds for part in self.parts for bounds in part.bounds), strict=True)
        self.bounds = np.array(low), np.array(high)
        self.sizes = [part.size for part in self.parts for _ in part.names]
        """How many values each number can have; None where it can have any."""

    def read(self, X: object, fewest: int = 1) -> tuple[Floats, int, dict[str, Strays]]:
        """The records' numbers, (n, width), how many records had values outside the bounds, and the columns' strays."""
        table = Table.of(X, columns=list(self.schema), dimensions=len(self.schema))
        if table.rows < fewest:
            raise DataError("Found a table with 0 sample(s) while a minimum of 1 is required.")
        bad = np.zeros((table.rows, len(self.parts)), bool)
        outside = np.zeros(table.rows, bool)
        found = np.empty((table.rows, self.width))
        strays, first = dict[str, Strays](), 0
        for (j, part), name in zip(enumerate(self.parts), self.schema, strict=True):
            block = found[:, first : first + len(part.names)]
            block[:], bad[:, j], beyond, strays[name] = part.read(table.column(j), table.label(j))
            outside |= beyond
            first += len(part.names)
        if bad.any():
            raise DataError(invalid_message(bad, self.schema.names, hint=_HINT))
        return found, int(outside.sum()), strays

    def table(self, numbers: Floats, format: Format = "arrow") -> Any:
        """The records that such numbers stand for, each column's nearest cell."""
        import pyarrow as pa

        cells, first = [], 0
        for part in self.parts:
            cells.append(part.cells(numbers[:, first : first + len(part.names)]))
            first += len(part.names)
        return rows.held(pa.table(cells, names=list(self.schema)), self.schema, format)

    def example(self, records: int) -> Any:
        """Some records that can be read."""
        return self.schema.decode(np.zeros((records, len(self.schema)), np.int64), np.random.default_rng(0))

    def require(self, width: int, names: tuple[str, ...] | None) -> None:
        """Refuse a release of other columns."""
        if width != self.width or (names is not None and tuple(names) != self.names):
            raise DataError(
                f"This release has {many(width, 'column')} of numbers that the schema does not make: it makes "
                f"{self.width}. Hint: pass the schema that the release was made with."
            )


@lru_cache(maxsize=16)
def coding(schema: Schema, indicators: bool) -> Coding:
    """The numbers of a table's records, made once."""
    return Coding(schema, indicators=indicators)


# ---- one column ----


def _part(name: str, column: Column, indicators: bool) -> _Line | _Levels:
    if isinstance(column, Category) or (column.kind == "boolean" and not indicators):
        return _Levels(name, column, indicators)
    return _Line(name, column, indicators)


class _Line:
    """A number, a date, or a boolean among indicators: a place between two bounds."""

    size: int | None = None

    def __init__(self, name: str, column: Column, indicators: bool) -> None:
        self.column, self.flagged = column, column.missing and indicators
        low, high = column.limits
        self.below = low - (BELOW / 2.0) * (high - low)
        self.gone = low + (high - low) / 2.0 if indicators else low - BELOW * (high - low)
        self.names = (name, f"{name}={MISSING}") if self.flagged else (name,)
        self.bounds = [(self.gone if column.missing and not indicators else low, high)]
        if self.flagged:
            self.bounds.append((-1.0, 1.0))

    def read(self, cells: Cells, label: str) -> Block:
        """The numbers, which cells have none, and which were outside."""
        values = self.column.numbers(cells, label)
        gone = np.isnan(values)
        inside = np.clip(values, *self.column.limits)
        beyond = (inside != values) & ~gone
        inside = np.where(gone, self.gone, inside)
        found = np.column_stack([inside, gone]) if self.flagged else inside[:, None]
        lost = np.flatnonzero(gone)
        unread = int(there(one_column(cells, label), lost).sum()) if self.column.missing and len(lost) else 0
        strays = Strays(len(values) - len(lost), unread, beyond=int(np.count_nonzero(beyond)))
        return found, gone & (not self.column.missing), beyond, strays

    def cells(self, numbers: Floats) -> Cells:
        """The nearest cells."""
        values = numbers[:, 0]
        gone = numbers[:, 1] > 0.5 if self.flagged else values < self.below
        return self.column.cells_at(values, gone & self.column.missing)


class _Levels:
    """A category, or a boolean among codes: one of several levels."""

    def __init__(self, name: str, column: Column, indicators: bool) -> None:
        self.column, self.indicators = column, indicators
        self.size: int | None = 2 if indicators else column.size
        if indicators:
            self.names = tuple(f"{name}={level}" for level in column.levels)
            self.bounds = [(-1.0, 1.0)] * column.size
        else:
            self.names = (name,)
            self.bounds = [(0.0, float(max(column.size - 1, 1)))]

    def read(self, cells: Cells, label: str) -> Block:
        """The numbers, which cells have none, and which were outside: no word is."""
        levels = self.column.find(cells, label)
        codes = levels.codes
        if self.indicators:
            found = (codes[:, None] == np.arange(self.column.size)).astype(np.float64)
        else:
            found = codes[:, None].astype(np.float64)
        return found, codes < 0, np.zeros(len(codes), bool), levels.strays()

    def cells(self, numbers: Floats) -> Cells:
        """The nearest cells."""
        codes = numbers.argmax(axis=1) if self.indicators else np.clip(np.rint(numbers[:, 0]), 0, self.column.size - 1)
        gone = (codes == self.column.size - 1) & self.column.missing
        return self.column.cells_at(codes.astype(np.float64), gone)


# ---- the schema of an estimator ----


def short_schema(categories: Any, bounds: Any, names: tuple[str, ...] | None) -> Schema:
    """A schema in short: lists of words by the names of their columns, and the bounds of the others.

    These are pairs (low, high) by the names of columns; or one pair, each side a number or one for each column among
    `names`, the table's, that is no category.

    >>> short_schema({"town": ["Ulm", "Bonn"]}, (0, 99), ("age", "town"))
    Schema(age=Number(0.0, 99.0), town=Category(['Ulm', 'Bonn']))
    """
    must = "a mapping from names to lists of words"
    if not isinstance(categories, Mapping):
        raise parameter("categories", must, type(categories).__name__)
    for name, values in categories.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise parameter("categories", must, f"{type(values).__name__} for {name!r}")
    words = {name: Category(values) for name, values in categories.items()}
    if isinstance(bounds, Mapping):
        both = next((name for name in words if name in bounds), None)
        if both is not None:
            raise ParameterError(f"The column {both!r} is in `categories` and in `bounds`. Hint: a category has none.")
        return Schema({**{name: _number(*sides(pair, 1)) for name, pair in bounds.items()}, **words})
    if names is None:
        raise ParameterError(
            "`categories` are known by their names, and this table has none. "
            "Hint: pass a frame, or schema= with the columns in the table's order."
        )
    for name in words:
        if name not in names:
            raise DataError(f"There is no column {name!r}, which `categories` has. The table has {', '.join(names)}.")
    plain = [name for name in names if name not in words]
    low, high = sides(bounds, len(plain)) if plain else (np.empty(0), np.empty(0))
    numbers = {name: _number(low[j : j + 1], high[j : j + 1]) for j, name in enumerate(plain)}
    return Schema({name: words[name] if name in words else numbers[name] for name in names})


def _number(low: Floats, high: Floats) -> Number:
    return Number(float(low[0]), float(high[0]))


def lasting(X: object) -> Any:
    """A table with names in a form that can be read twice, unlike a stream or a query; anything else as it is."""
    parts = take_apart(X)
    if parts.names is None or len({*parts.names}) < len(parts.names):
        return X
    return dict(zip(parts.names, parts.columns, strict=True))


def names_of(X: object) -> tuple[str, ...] | None:
    """The names of a table's columns, if it has any."""
    return take_apart(X).names
