"""Columns and names out of whatever people keep tables in.

pandas and polars are recognised by the names of their classes and spoken to through their own objects and
Arrow's C interface; they are never imported here, so that neither is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scumble.errors import DataError
from scumble.tables.cells import Column, is_arrow

_ACCEPTED = "Hint: pass a NumPy array, a pandas or polars frame, an Arrow table, or a list of rows."


class Parts(NamedTuple):
    """A table taken apart."""

    columns: list[Column]
    rows: int
    names: tuple[str, ...] | None = None
    block: np.ndarray | None = None  # all columns as one array of real numbers, where there is one
    flat: bool = False  # came with one axis only


def take_apart(X: Any, wanted: Sequence[str] | None = None, width: int | None = None) -> Parts:
    """The parts of any table; ``wanted`` lets a lazy one leave out columns, ``width`` is that of an empty list."""
    if isinstance(X, np.ndarray):
        return _from_numpy(X)
    if isinstance(X, Mapping):
        return _named([_single(value, str(name)) for name, value in X.items()], list(X))
    if isinstance(X, list | tuple):
        return _from_rows(X, width)
    if _is(X, "scipy", "sparray") or _is(X, "scipy", "spmatrix") or _is(X, "scipy", "_spbase"):
        raise DataError("`X` must be dense, got a SciPy sparse matrix. Hint: pass X.toarray(), in parts if large.")
    if _is(X, "pandas", "DataFrame"):
        return _from_pandas(X)
    if _is(X, "pandas", "Series") or _is(X, "pandas", "Index"):
        return _one(_pandas_column(X), X.name)
    if _is(X, "polars", "LazyFrame"):
        if wanted is not None and set(wanted) <= set(X.collect_schema().names()):
            X = X.select(list(dict.fromkeys(wanted)))
        X = X.collect()
    if _is(X, "polars", "DataFrame"):
        return _named([_polars_column(one) for one in X.get_columns()], X.columns, X.height)
    if _is(X, "polars", "Series"):
        return _one(_polars_column(X), X.name)
    if isinstance(X, pa.Table | pa.RecordBatch):
        return _named(list(X.columns), X.column_names, X.num_rows)
    if is_arrow(X):
        return _one(X, None)
    return _from_protocol(X)


def _is(X: object, package: str, name: str) -> bool:
    """Whether X is of a class of that package (or derives from one), without importing the package."""
    return any(c.__name__ == name and c.__module__.split(".")[0] == package for c in type(X).__mro__)


def _one(column: Column, name: object) -> Parts:
    names = (name,) if isinstance(name, str) and name else None
    return Parts([column], len(column), names, flat=True)


def _named(columns: list[Column], names: Sequence[object], rows: int | None = None) -> Parts:
    if rows is None:
        rows = len(columns[0]) if columns else 0
    if any(len(column) != rows for column in columns):
        raise DataError("The columns must be equally long, got different lengths.")
    # Numbers as names (what pandas makes up itself) are positions, not names.
    known = tuple(name for name in names if isinstance(name, str))
    return Parts(columns, rows, known if len(known) == len(columns) else None)


def _single(value: Any, name: str) -> Column:
    parts = take_apart(value)
    if not parts.flat:
        raise DataError(f"Column {name!r} must have one axis, got a table.")
    return parts.columns[0]


# ----------------------------------------------------------------- NumPy


def _from_numpy(X: np.ndarray) -> Parts:
    if X.dtype.names is not None and X.ndim == 1:  # a structured array is a table with names
        return _named([_single(X[name], name) for name in X.dtype.names], X.dtype.names, len(X))
    hidden = np.ma.getmaskarray(X) if np.ma.is_masked(X) else None
    X = np.asarray(X)  # also makes plain arrays of masked ones and matrices
    if hidden is not None:
        X = X.astype(object)
        X[hidden] = None
    if X.ndim not in (1, 2):
        axes = "a single value" if X.ndim == 0 else f"{X.ndim} axes"
        raise DataError(f"`X` must have two axes (records, columns), got {axes}. Hint: X.reshape(len(X), -1).")
    flat = X.ndim == 1
    table = X[:, None] if flat else X
    columns = [table[:, j] for j in range(table.shape[1])]
    return Parts(columns, len(table), None, table if X.dtype.kind in "biuf" else None, flat)


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
        raise DataError(
            "The rows of `X` must be equally long, got different lengths. "
            "Hint: for sets of tokens pass Python sets, or an Arrow column of lists."
        )
    return Parts([objects(column) for column in zip(*X, strict=True)], len(X))


def objects(values: Sequence[Any]) -> np.ndarray:
    """An array of the very objects: NumPy alone would turn [1, "a"] into text and lists into axes."""
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
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    try:
        return pa.array(series)
    except (pa.ArrowException, TypeError, ValueError):  # categories of mixed types, sparse columns
        return np.asarray(series)


def _polars_column(series: Any) -> Column:
    if str(series.dtype) == "Object":  # polars would hand over the addresses of the objects, as bytes
        return objects(series.to_list())
    try:
        return pa.chunked_array(series)
    except (pa.ArrowException, TypeError, ValueError):  # 128-bit integers
        return objects(series.to_list())
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what polars raises where it has no Arrow form
            raise
        return objects(series.to_list())


def _from_protocol(X: Any) -> Parts:
    """Whatever speaks Arrow's C interface or NumPy's."""
    if isinstance(X, str | bytes) or X is None:
        raise DataError(f"`X` must be a table, got {type(X).__name__}. {_ACCEPTED}")
    try:
        if hasattr(X, "__arrow_c_stream__"):
            table = pa.RecordBatchReader.from_stream(X).read_all()
            return _named(list(table.columns), table.column_names, table.num_rows)
        if hasattr(X, "__arrow_c_array__"):
            batch = pa.record_batch(X)
            return _named(list(batch.columns), batch.schema.names, batch.num_rows)
        if hasattr(X, "__array__"):
            return _from_numpy(np.asarray(X))
    except DataError:
        raise
    except Exception:
        # `from None`: what another library has to say may quote cells.
        raise DataError(f"`X` of type {type(X).__name__} does not convert to a table. {_ACCEPTED}") from None
    raise DataError(f"`X` must be a table, got {type(X).__name__}. {_ACCEPTED}")
