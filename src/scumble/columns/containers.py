"""Columns and names from any container of tables.

pandas and polars are recognized by the names of their classes, and never imported. How a column is converted depends on
its declared type alone, never on its cells. Messages list the names of columns, except those that may be the first
record of a file without a header.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scumble.columns.cells import NO_VALUE, Column, as_text, is_arrow, number_in
from scumble.errors import DataError, parameter
from scumble.files.lazy_modules import pa

_ACCEPTED = "Hint: pass a NumPy array, a pandas or polars frame, an Arrow table, or a list of rows."


class Parts(NamedTuple):
    """The columns of a table, also as one `block` of numbers if there is one; `flat` if it had one axis only."""

    columns: list[Column]
    rows: int
    names: tuple[str, ...] | None = None
    block: np.ndarray | None = None
    flat: bool = False

    def __repr__(self) -> str:
        return "Parts(secret)"


def take_apart(X: Any, wanted: Sequence[str] | None = None, width: int | None = None) -> Parts:
    """The parts of any table; `wanted` are the columns to collect of a lazy one, `width` is that of an empty list."""
    if isinstance(X, np.ndarray):
        return _from_numpy(X)
    if is_of(X, "pyarrow", "RecordBatch", "Table"):
        return Parts(X.columns, X.num_rows, tuple(X.schema.names))
    if is_of(X, "pyarrow", "Array", "ChunkedArray"):
        return _one(X, None)
    if is_of(X, "scipy", "sparray", "spmatrix", "_spbase"):
        raise DataError("`X` must be dense, got a sparse matrix. Hint: pass X.toarray(), in parts if large.")
    if isinstance(X, Mapping):
        return _named([_single(value, str(name)) for name, value in X.items()], list(X))
    if isinstance(X, list | tuple):
        return _from_rows(X, width)
    if is_of(X, "pandas", "DataFrame"):
        return _from_pandas(X)
    if is_of(X, "pandas", "Series", "Index"):
        return _one(_pandas_column(X), X.name)
    if is_of(X, "polars", "LazyFrame"):
        if wanted is not None and set(wanted) <= set(X.collect_schema().names()):
            X = X.select(list(dict.fromkeys(wanted)))
        X = X.collect()
    if is_of(X, "polars", "DataFrame"):
        return _named([_polars_column(one) for one in X.get_columns()], X.columns, X.height)
    if is_of(X, "polars", "Series"):
        return _one(_polars_column(X), X.name)
    return _from_protocol(X)


def one_column(values: object, what: str) -> Column:
    """A single column of any container. The cells of a list are its items."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise parameter(what, "one column", f"{values.ndim} axes")
    table_like = any(hasattr(values, name) for name in ("__array__", "__arrow_c_stream__", "__arrow_c_array__"))
    if isinstance(values, Iterable) and not table_like and not isinstance(values, Mapping | str | bytes):
        return objects(list(values))
    parts = take_apart(values)
    if len(parts.columns) != 1:
        raise parameter(what, "one column", f"{len(parts.columns)} columns")
    return parts.columns[0]


def is_of(X: object, package: str, *names: str) -> bool:
    """Whether X is of one of these classes of a package (or derives from one), without importing the package."""
    return any(c.__name__ in names and c.__module__.split(".")[0] == package for c in type(X).__mro__)


def _one(column: Column, name: object) -> Parts:
    names = (name,) if isinstance(name, str) and name else None
    return Parts([column], len(column), names, flat=True)


def _named(columns: list[Column], names: Sequence[object], rows: int | None = None) -> Parts:
    if rows is None:
        rows = len(columns[0]) if columns else 0
    if any(len(column) != rows for column in columns):
        raise DataError("All columns must have the same length. Hint: write None where a value is missing.")
    # pandas numbers columns without names: these are positions.
    known = tuple(name for name in names if isinstance(name, str))
    return Parts(columns, rows, known if len(known) == len(columns) else None)


def _single(value: object, name: str) -> Column:
    if isinstance(value, list | tuple):  # each item is a cell
        return objects(value)
    parts = take_apart(value)
    if not parts.flat:
        raise DataError(f"Column {name!r} must be one-dimensional, got a table.")
    return parts.columns[0]


# ----------------------------------------------------------------- NumPy


def _from_numpy(X: np.ndarray) -> Parts:
    if X.dtype.names is not None and X.ndim == 1:  # a structured array is a table with names
        return _named([_single(X[name], name) for name in X.dtype.names], X.dtype.names, len(X))
    if "numpy.ma" in sys.modules and isinstance(X, np.ma.MaskedArray):  # slow to import
        X = _unmasked(X)
    X = np.asarray(X)  # also makes plain arrays of matrices
    if X.ndim not in (1, 2):
        axes = "a single value" if X.ndim == 0 else f"{X.ndim} axes"
        raise DataError(f"`X` must have two axes (records, columns), got {axes}. Hint: X.reshape(len(X), -1).")
    flat = X.ndim == 1
    table = X[:, None] if flat else X
    columns = [table[:, j] for j in range(table.shape[1])]
    return Parts(columns, len(table), None, table if X.dtype.kind in "biuf" else None, flat)


def _unmasked(X: np.ma.MaskedArray) -> np.ndarray:
    """A plain array with masked cells missing. Its type does not depend on the mask."""
    hidden, kind = np.ma.getmaskarray(X), X.dtype.kind
    if kind in "cV":  # refused later
        return np.asarray(X)
    if kind in "fMm":
        plain = np.array(X.data)
        plain[hidden] = np.nan if kind == "f" else np.array("NaT", plain.dtype)
        return plain
    plain = X.data.astype(object)
    plain[hidden] = None
    return plain


def _from_rows(X: Sequence[Any], width: int | None) -> Parts:
    """A list of rows, or a list of single cells."""
    if len(X) == 0:
        return _from_numpy(np.empty(0) if width is None else np.empty((0, width)))
    is_row = [isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim > 0) for row in X]
    if any(isinstance(row, Mapping) for row in X):
        raise DataError("`X` must be a list of rows, got dictionaries. Hint: pass pyarrow.Table.from_pylist(X).")
    if not any(is_row):
        return Parts([objects(X)], len(X), flat=True)
    if not all(is_row) or len({len(row) for row in X}) > 1:
        raise DataError("The rows of `X` must have the same length. Hint: pass sets of tokens as Python sets.")
    return Parts([objects(column) for column in zip(*X, strict=True)], len(X))


def objects(values: Sequence[object]) -> np.ndarray:
    """An array of the objects as they are: NumPy would turn [1, "a"] into text and lists into axes."""
    return np.fromiter(values, dtype=object, count=len(values))


# ------------------------------------------------- pandas, polars, others


def _from_pandas(X: Any) -> Parts:
    kinds = set(X.dtypes)
    if len(kinds) == 1 and isinstance(kind := kinds.pop(), np.dtype) and kind.kind in "biuf":
        block = X.to_numpy()
        columns = [block[:, j] for j in range(block.shape[1])]
        return _named(columns, list(X.columns), len(X))._replace(block=block)
    return _named([_pandas_column(X.iloc[:, j]) for j in range(X.shape[1])], list(X.columns), len(X))


def _pandas_column(series: Any) -> Column:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return series.to_numpy()
    if is_of(dtype, "pandas", "CategoricalDtype"):
        return _of_categories(_pandas_column(dtype.categories), np.asarray(getattr(series, "cat", series).codes))
    if is_of(dtype, "pandas", "StringDtype"):
        if dtype.storage == "pyarrow":
            return pa.array(series)
        texts = [str.encode(cell, "utf-8", "surrogatepass") if isinstance(cell, str) else None for cell in series]
        return as_text(pa.array(texts, pa.large_binary()), pa.large_string())
    if is_of(dtype, "pandas", "SparseDtype"):
        return np.asarray(series)
    try:
        return pa.array(series)
    except (pa.ArrowException, TypeError, ValueError):  # a type that has no Arrow form
        return objects(list(series))


def _of_categories(values: Column, codes: np.ndarray) -> Column:
    """The values at these codes; -1 is missing."""
    if not is_arrow(values) and values.dtype.kind in "biufM":
        values = pa.array(values)
    if is_arrow(values):
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int64), mask=codes < 0), values)
    return objects([*values, None])[codes]


def _polars_column(series: Any) -> Column:
    if str(series.dtype) == "Object":  # polars exports the addresses of objects
        return objects(series.to_list())
    try:
        return pa.chunked_array(series)
    except BaseException as error:  # 128-bit integers, and what polars has no Arrow form of
        if (
            not isinstance(error, pa.ArrowException | TypeError | ValueError)
            and type(error).__name__ != "PanicException"
        ):
            raise
        return objects(series.to_list())


def _from_protocol(X: object) -> Parts:
    """Any object with Arrow's C interface or NumPy's."""
    if isinstance(X, str | bytes) or X is None:
        raise DataError(f"`X` must be a table, got {type(X).__name__}. {_ACCEPTED}")
    try:
        if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
            table = pa.table(X)
            return _named(list(table.columns), table.column_names, table.num_rows)
        if hasattr(X, "__array__"):
            return _from_numpy(np.asarray(X))
    except DataError:
        raise
    except Exception:
        # `from None`: another library's message may quote cells.
        raise DataError(f"`X` of type {type(X).__name__} does not convert to a table. {_ACCEPTED}") from None
    raise DataError(f"`X` must be a table, got {type(X).__name__}. {_ACCEPTED}")


_DATED = re.compile(
    r"""[0-9]{4}[-/.][0-9]{1,2}([-/.][0-9]{1,2}([T\ ].*)?)?   # 2024-01-31, 2024/01, 2024-01-31T12:30
    | [0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{2}){1,2}([T\ ].*)? # 31.01.2024, 1/31/24
    | [0-9]{1,2}:[0-9]{2}(:[0-9.]+)?                          # 12:30
    | [0-9]{1,2}[\ -][^\W\d]{3,}[\ -]([0-9]{2}){1,2}          # 31 Jan 2024
    | [^\W\d]{3,}\ [0-9]{1,2},?\ [0-9]{4}                     # January 31, 2024
    """,
    re.VERBOSE,
)
_NUMBERED = re.compile(r"[-+(]?\s*[$€£¥]?\s*[-+]?[0-9][0-9.,'_ \u00a0\u202f]*\s*([$€£¥%]|[A-Z]{3})?\s*\)?")
"""A number in any country's format."""
NOT_SHOWN = (
    "The table's column names look like a record, so they are not shown. Hint: if it comes from a file without a "
    "header, name the columns, as in pandas.read_csv(..., names=['age', 'town'])."
)
_ANSWERS = {"yes", "true", "false"}
"""`no`, `n` and `y` are names of columns in many tables."""


def like_a_record(names: Sequence[str]) -> bool:
    """Whether the names may be a record."""
    return doubt(names) is not None


def doubt(names: Sequence[str]) -> str | None:
    """Why names may be a record, if there is a reason: a number, a date, an answer, an empty or repeated word.

    The first may be empty, where pandas and R write row numbers. Columns numbered by pandas show nothing.

    >>> doubt(["a", "a", "b"]), doubt(["a", "b", ""])
    ('has one word twice, in cells 1 and 2', 'has nothing in cell 3')
    """
    if len(names) > 2 and list(names) == [str(number) for number in range(len(names))]:
        return None
    words = [name.strip() for name in names]
    if any(map(_is_cell, filter(None, words))):
        return "looks like a record and not like names"
    seen: dict[str, int] = {}
    for place, word in enumerate(words, 1):
        if place > 1 and not word:
            return f"has nothing in cell {place}"
        if (first := seen.setdefault(word, place)) < place:
            return f"has one word twice, in cells {first} and {place}"
    return None


def _is_cell(word: str) -> bool:
    return (
        math.isfinite(number_in(word.encode()))
        or word.lower() in _ANSWERS
        or word in NO_VALUE
        or "@" in word
        or _DATED.fullmatch(word) is not None
        or _NUMBERED.fullmatch(word) is not None
    )


def free(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The `names` of answers, changed where a column has the same name.

    >>> free(["value", "low"], ["sex", "low"])
    ['value', 'scumble_low']
    """
    used, found = [*taken], list[str]()
    for name in names:
        while name in (*used, *found):
            name = f"scumble_{name}"
        found.append(name)
    return found
