"""What an estimator knows of its columns, and tables as rows of numbers: all of it public, settled before a release.

Records come as numbers, within bounds, or as tables of any kind, within a schema, which says what each column can hold
(:mod:`scumble.columns`). A record's numbers are then a function of its own cells and of the schema:

*Numbers, dates and booleans* are places on their own line: the number itself, ticks of a clock, 0 or 1; of a number on
a logarithmic scale, its place among cells of equal ratio. What is outside the bounds is moved to them.

*Categories* have levels: the words of the vocabulary, one for all others, one for missing cells. As *indicators*, for
planes and distances, each level is a column of its own, 1 for the records that have it and 0 for the rest, with the
bounds −1 and 1: to a vector of moments a category adds a single 1 however many levels it has, and any two levels are
equally far apart. As *codes*, for what cuts columns into steps or draws a curve along them, the levels are the numbers
0, 1, 2, … in their public order.

*Missing* cells of a column with ``missing=True``: with indicators the number is the middle of its bounds and a column
of its own says that it is missing, with codes it stands a quarter of the width below the lowest.

Each cell is read by itself, and an error names columns and counts, in the words that scikit-learn's checks look for;
scikit-learn's own readers convert a table as a whole, and quote cells.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from scumble.columns.category import Category
from scumble.columns.cells import Column as Cells
from scumble.columns.cells import is_arrow, numbers, there
from scumble.columns.column import MISSING, Column, Strays
from scumble.columns.containers import objects, one_column, take_apart
from scumble.columns.curator import NO_CLASS, Declared, as_written, left_out, no_record_of, private
from scumble.columns.curator import Strays as Seen
from scumble.columns.schema import Schema
from scumble.columns.table import Table, invalid_message
from scumble.errors import CuratorWarning, DataError, ParameterError, many
from scumble.table import rows
from scumble.table.rows import Format

if TYPE_CHECKING:  # scikit-learn's own have no types, and would take those of the parameters away

    class _BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **parameters: object) -> Self: ...
        def _repr_html_inner(self) -> str: ...
        def _repr_mimebundle_(self, **options: object) -> dict[str, str]: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __sklearn_clone__(self) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...

    class _Mixin: ...

    class _OutlierMixin:
        def fit_predict(self, X: object, y: object = None) -> np.ndarray: ...

    BaseEstimator = _BaseEstimator
    ClassifierMixin = _Mixin
    DensityMixin = _Mixin
    OutlierMixin = _OutlierMixin
    RegressorMixin = _Mixin

try:
    if not TYPE_CHECKING:
        from sklearn.base import BaseEstimator, ClassifierMixin, DensityMixin, OutlierMixin, RegressorMixin  # noqa: F401
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.validation import check_is_fitted as check_is_fitted
    from sklearn.utils.validation import validate_data
except ImportError as problem:
    raise ImportError("scumble's estimators need scikit-learn. Hint: pip install 'scumble[learn]'.") from problem

Floats = npt.NDArray[np.float64]
Bounds = tuple[np.ndarray, np.ndarray]
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
            if isinstance(column, Category) and column.hashed:
                raise ParameterError(
                    f"Column {name!r} has discover=True, and an estimator finds no words. "
                    "Hint: declare them, or learn from the release of a table."
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

    def require(self, width: int, names: tuple[str, ...] | None, bounds: object) -> None:
        """Refuse a release of other columns, or of other bounds if it has any."""
        same = width == self.width and (names is None or tuple(names) == self.names)
        if not same or not (bounds is None or np.array_equal(bounds, self.bounds)):  # type: ignore[arg-type]
            raise DataError(
                f"This release has {many(width, 'column')} of numbers, which are not the {self.width} that the schema "
                "makes. Hint: pass the schema that the release was made with."
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


def lasting(X: object) -> object:
    """A table with names in a form that can be read twice, unlike a stream or a query; anything else as it is."""
    parts = take_apart(X)
    if parts.names is None or len({*parts.names}) < len(parts.names):
        return X
    return dict(zip(parts.names, parts.columns, strict=True))


# ---- records, labels and targets, without a schema ----


class BadCells(DataError, TypeError):
    """Cells that are not finite numbers: scikit-learn expects a ValueError for some and a TypeError for others."""

    def __init__(self, bad: np.ndarray, names: Sequence[str] | None) -> None:
        hint = (  # "argument must be … string … number": scikit-learn looks for these words
            "The cells of this argument must be no NaN, no infinity and no string: finite numbers. Hint: correct them, "
            "or leave such records out; columns of a `schema` may have missing cells, and words."
        )
        super().__init__(invalid_message(bad, names, hint=hint))


def records(model: Any, X: object, *, reset: bool) -> np.ndarray:
    """The records as finite float64 in C order; with `reset`, the model learns the columns' number and names."""
    parts = take_apart(X)
    if parts.flat:
        raise DataError(
            "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(-1, 1) if it is one column, "
            "X.reshape(1, -1) if it is one record."
        )
    if any(not is_arrow(column) and column.dtype.kind == "c" for column in parts.columns):
        raise DataError("Complex data not supported. Hint: take the real part, or the modulus.")
    if not parts.columns:
        raise DataError("Found a table with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    if parts.rows < (model.curator.fewest if reset else 1):
        raise DataError("Found a table with 0 sample(s) while a minimum of 1 is required.")
    table = Table(parts)
    values = table.numeric(range(table.width))
    bad = ~np.isfinite(values)
    if bad.any():
        raise BadCells(bad, table.names)
    # Only numbers and names of columns are left to look at.
    validate_data(model, X if hasattr(X, "shape") else values, reset=reset, skip_check_array=True)
    return values


def target(y: object, rows: int) -> Cells:
    """The target's cells as they are: an array of one axis, or an Arrow column."""
    if isinstance(y, list | tuple):
        column: Cells = objects(y)
    else:
        parts = take_apart(y)
        if len(parts.columns) != 1:
            raise DataError(f"y should be a 1d array, got {len(parts.columns)} columns instead.")
        if not parts.flat:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=5,
            )
        column = parts.columns[0]
    if len(column) != rows:
        raise DataError("Found input variables with inconsistent numbers of samples: X and y must be equally long.")
    return column


def target_numbers(column: Cells) -> np.ndarray:
    """A target to regress, as finite float64."""
    values = numbers(column, "The target y")
    bad = ~np.isfinite(values)
    if bad.any():
        raise BadCells(bad[:, None], ["y"])
    return values


# ---- warnings for the curator, before anything is spent ----


class Curator:
    """The holder of the table that an estimator learns from, warned by :class:`scumble.errors.CuratorWarning`.

    Warnings are about cells that are not counted as they stand: outside the bounds, or of no declared word, date or
    class. `target` is the target's name, `decimal` what stands before the decimals of numbers in the table's file, and
    `fewest` how few records a fit takes.
    """

    target = "y"
    decimal = "."
    fewest = 1

    def tell(self, lines: Sequence[str]) -> None:
        """Lines that are as private as the records."""
        warnings.warn("\n".join(lines), CuratorWarning, stacklevel=6)

    def look_at(self, found: Mapping[str, Strays], declared: Declared) -> None:
        """Cells of the columns that were declared so."""
        strays = Seen()
        strays.add(found)
        lines = [private(line) for line in strays.words(declared, decimal=self.decimal)]
        if lines:
            self.tell(lines)

    def look_at_classes(self, rows: int, lost: int, empty: Sequence[str]) -> None:
        """So many rows, of which some were lost, as of no class; and the classes that have none."""
        lines = [left_out(lost, [f"{lost:,} {NO_CLASS} {self.target!r}"])] if lost else []
        lines += [no_record_of(empty)] if empty else []
        if lines:
            self.tell(lines)


def beyond(values: np.ndarray, bounds: Sequence[object], names: Sequence[str]) -> tuple[dict[str, Strays], Declared]:
    """How many finite numbers of each column are outside its bounds, and these bounds as they are written."""
    low, high = (np.broadcast_to(np.asarray(side, float), values.shape[1]) for side in bounds)
    outside = np.count_nonzero((values < low) | (values > high), axis=0).tolist()
    found = {name: Strays(len(values), beyond=many) for name, many in zip(names, outside, strict=True)}
    return found, {name: as_written(ends) for name, *ends in zip(names, low.tolist(), high.tolist(), strict=True)}


def own_bounds(X: np.ndarray) -> Bounds:
    """The least and greatest values of a table's columns."""
    if not len(X):
        raise DataError("Found a table with 0 sample(s) while a minimum of 1 is required.")
    low, high = X.min(axis=0), X.max(axis=0)
    # A constant column needs some width; it says nothing to the kernel either way.
    return low, np.where(high > low, high, low + np.maximum(np.abs(low), 1.0))
