"""What an estimator knows of its columns, and tables as rows of numbers: all of it public, settled before a release.

Records come as numbers, within bounds, or as tables of any kind, within a schema, which says what each column can hold
(:mod:`scumble.columns`). A record's numbers are then a function of its own cells and of the schema:

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

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.columns.category import Category
from scumble.columns.cells import Column as Cells
from scumble.columns.cells import there
from scumble.columns.column import MISSING, Column, Strays
from scumble.columns.containers import one_column, take_apart
from scumble.columns.number import Number
from scumble.columns.schema import Described, Schema
from scumble.columns.table import Table, invalid_message
from scumble.errors import DataError, ParameterError, PrivacyError, many, parameter
from scumble.learn.reading import BadCells, BaseEstimator, Curator, beyond, records
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

    def example(self, records: int) -> object:
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


def short_schema(categories: object, bounds: object, names: tuple[str, ...] | None) -> Schema:
    """A schema in short: words by the names of their columns, and the bounds of the others, which are numbers.

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
        return Schema({**{name: _number(*checks.sides(pair, 1)) for name, pair in bounds.items()}, **words})
    if names is None:
        raise ParameterError(
            "`categories` are known by their names, and this table has none. "
            "Hint: pass a frame, or schema= with the columns in the table's order."
        )
    for name in words:
        if name not in names:
            raise DataError(f"There is no column {name!r}, which `categories` has. The table has {', '.join(names)}.")
    plain = [name for name in names if name not in words]
    low, high = checks.sides(bounds, len(plain)) if plain else (np.empty(0), np.empty(0))
    numbers = {name: _number(low[j : j + 1], high[j : j + 1]) for j, name in enumerate(plain)}
    return Schema({name: words[name] if name in words else numbers[name] for name in names})


def _number(low: Floats, high: Floats) -> Number:
    return Number(float(low[0]), float(high[0]))


def lasting(X: object) -> object:
    """A table with names in a form that can be read twice, unlike a stream or a query; anything else as it is."""
    parts = take_apart(X)
    if parts.names is None or len({*parts.names}) < len(parts.names):
        return X
    return dict(zip(parts.names, parts.columns, strict=True))


def names_of(X: object) -> tuple[str, ...] | None:
    """The names of a table's columns, if it has any."""
    return take_apart(X).names


# ---- estimators ----


FACTS = ("bounds", "classes", "count", "target_bounds")
"""What `public` may declare: that these facts about the table are already public and may be read from it."""

Bounds = tuple[np.ndarray, np.ndarray]


class KnowsColumns(BaseEstimator):
    """What a `PrivateEstimator` has to do with columns; and its attributes that are no parameters."""

    _learnt: tuple[str, ...] = ()
    """Fitted attributes that `save` writes."""
    _made_again: tuple[str, ...] = ()
    """What is made from the releases when it is first needed, and is not pickled."""
    _plans_later = False
    """Whether rows that are left open are chosen at the release (:mod:`scumble.density.release_plan`)."""
    _always_needs_bounds = False
    """Whether a kernel of the caller's own is not enough."""
    before_charge: Callable[[int], object] | None = None
    """Called before a budget is spent, with the most bytes that the model's file can have: it must be writable."""

    kernel: object
    bounds: object
    schema: Described | None
    categories: Mapping[str, Sequence[object]] | None
    public: Sequence[str]

    release_: Any
    identity_: str
    """The UUID of this fit, as it appears in the ledger it was charged to."""
    clipped_: int
    """How many records had values outside the bounds. For the curator only: it is neither saved, pickled nor shown."""
    classes_: np.ndarray
    target_bounds_: tuple[float, float]
    n_features_in_: int
    feature_names_in_: np.ndarray
    curator: Curator = Curator()
    """Warned, before a budget is spent, of how the records were read."""
    bounds_: Bounds | None
    """Of the numbers that records become: with a schema, one pair for each of `Coding.names`."""
    schema_: Schema | None = None
    """What the columns of a table can hold; None where records are numbers."""

    # ---- records ----

    def _enter(self, X: object) -> tuple[np.ndarray, int]:
        """The first records, which settle what the columns are: as numbers, and how many were outside the bounds."""
        X = self._lasting(X)
        schema = self._public_schema(X)
        self.__dict__.pop("schema_", None)
        if schema is not None:
            self._know(schema)
            numbers, outside, strays = self._coding().read(X, self.curator.fewest)  # type: ignore[union-attr]
            self.curator.look_at(strays, schema)
            return numbers, outside
        found = records(self, X, reset=True)
        self.bounds_ = self._public_bounds(found)
        if self.bounds_ is None:
            return found, 0
        names = self._names() or [f"column {j}" for j in range(found.shape[1])]
        self.curator.look_at(*beyond(found, self.bounds_, names))
        inside = np.clip(found, *self.bounds_)
        return inside, int(np.any(inside != found, axis=1).sum())

    def _lasting(self, X: object) -> object:
        """A table that a schema needs to read more than once, in a form that can be."""
        return X if self.schema is None and self.categories is None and self.schema_ is None else lasting(X)

    def _matrix(self, X: object, *, clip: bool = False) -> np.ndarray:
        """Other records, as numbers. `clip` moves them into the public bounds, where those of a schema are already."""
        coded = self._coding()
        if coded is not None:
            return coded.read(X)[0]
        found = records(self, X, reset=False)
        return np.clip(found, *self.bounds_) if clip and self.bounds_ is not None else found

    def _coding(self) -> Coding | None:
        """How the records of a table become numbers."""
        return None if self.schema_ is None else coding(self.schema_, self._indicators())

    def _indicators(self) -> bool:
        """Whether each level of a category is a column of its own."""
        return True

    @property
    def _width(self) -> int:
        """How many numbers a record has."""
        coded = self._coding()
        return self.n_features_in_ if coded is None else coded.width

    def _names(self) -> list[str] | None:
        """What these are called."""
        coded = self._coding()
        if coded is not None:
            return list(coded.names)
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    # ---- public facts ----

    def _know(self, schema: Schema) -> None:
        self.schema_ = schema
        self.n_features_in_ = len(schema)
        self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.bounds_ = coding(schema, self._indicators()).bounds

    def _take_columns(self, width: int, columns: tuple[str, ...] | None, bounds: object) -> None:
        """What the columns are, from a release: so many numbers, of these names and bounds, if it has any."""
        schema = self._public_schema(None)
        self.__dict__.pop("schema_", None)
        if schema is not None:
            self._know(schema)
            self._coding().require(width, columns)  # type: ignore[union-attr]
            return
        self.n_features_in_ = width
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        self.bounds_ = None if bounds is None else checks.sides(checks.by_column(bounds, self._names()), width)

    def _public_schema(self, X: object) -> Schema | None:
        """The schema that was given, whole or in short; `X` is the table, None if there is only a release."""
        if self.schema is not None:
            if self.bounds is not None or self.categories is not None:
                raise ParameterError(
                    "`schema` says what every column can hold. Hint: leave out `bounds` and `categories`."
                )
            return Schema.of(self.schema)
        if self.categories is None:
            return None
        if isinstance(self.bounds, Mapping):
            return short_schema(self.categories, self.bounds, None)
        if X is None:
            raise ParameterError(
                "A release does not say which columns `categories` stand among. "
                "Hint: pass schema=, or bounds={name: (low, high), ...} with them."
            )
        names = names_of(X)
        if names is None or not isinstance(self.categories, Mapping):
            return short_schema(self.categories, self.bounds, names)  # which says what is wrong
        plain = [name for name in names if name not in self.categories]
        bounds = self._bounds_of(X, plain) if plain else None
        return short_schema(self.categories, bounds, names)

    def _bounds_of(self, X: object, plain: list[str]) -> Bounds:
        """The bounds of those columns of a table that are numbers; it is read only if they are to be its own."""
        if self.bounds is not None:
            return checks.sides(self.bounds, len(plain))
        if "bounds" not in self._public():
            self._refuse_bounds()
        values = Table.of(X, columns=plain).numeric(range(len(plain)))
        if not np.isfinite(values).all():
            raise BadCells(~np.isfinite(values), plain)
        return _own_bounds(values)

    def _public_bounds(self, X: np.ndarray) -> Bounds | None:
        """The bounds that were given, or those of the data if the caller declared them public."""
        public = self._public()
        if self.bounds is not None:
            return checks.sides(checks.by_column(self.bounds, self._names()), X.shape[1])
        if "bounds" in public:
            return _own_bounds(X)
        return self._refuse_bounds() if self.kernel is None or self._always_needs_bounds else None

    def _refuse_bounds(self) -> Bounds:
        raise PrivacyError(
            f"{type(self).__name__} needs the columns' public bounds. Hint: pass bounds=(low, high), each a number or "
            "one per column, or schema=; if the data's own bounds are public already, public=('bounds',)."
        )

    def _public(self) -> tuple[str, ...]:
        given = self.public if isinstance(self.public, Iterable) else (None,)
        words = (given,) if isinstance(given, str) else tuple(given)
        if not all(isinstance(word, str) and word in FACTS for word in words):
            raise parameter("public", f"some of {', '.join(FACTS)}", self.public)
        return words


def _own_bounds(X: np.ndarray) -> Bounds:
    """The least and greatest values of a table's columns."""
    if not len(X):
        raise DataError("Found a table with 0 sample(s) while a minimum of 1 is required.")
    low, high = X.min(axis=0), X.max(axis=0)
    # A constant column needs some width; it says nothing to the kernel either way.
    return low, np.where(high > low, high, low + np.maximum(np.abs(low), 1.0))
