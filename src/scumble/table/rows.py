"""Synthetic rows in what people hold tables in: pandas, polars, Arrow.

Types follow from the schema alone, never from what happened to be drawn: two samples of a release can be put together,
and whoever has seen one knows the types of all.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any, Literal, get_args

from scumble.columns.schema import Schema
from scumble.errors import ParameterError, parameter
from scumble.files.lazy_modules import pa

Format = Literal["pandas", "polars", "arrow"]


def require(format: str) -> None:
    """Refuse a container that is not known, or not installed, before rows are drawn."""
    if format not in get_args(Format):
        raise parameter("format", " or ".join(map(repr, get_args(Format))), format)
    if format != "arrow":
        library(format)


def together(batches: Iterable[pa.Table]) -> pa.Table:
    """One table out of many."""
    return pa.concat_tables(batches).unify_dictionaries().combine_chunks()


def held(rows: pa.Table, schema: Schema, format: Format) -> Any:
    """The rows in the container that was asked for."""
    if format == "arrow":
        return rows
    if format == "polars":
        return library("polars").from_arrow(rows)
    return _pandas(rows, schema)


def library(name: str) -> Any:
    """pandas or polars, in whose frames rows and answers by group are held: whoever asks for neither can do without."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ParameterError(
            f"The answer is a {name} frame, and {name} is not installed. Hint: pip install {name}."
        ) from None


def _pandas(rows: pa.Table, schema: Schema) -> Any:
    pd = library("pandas")
    gaps = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    frame = {}
    for name, column in schema.items():
        cells = rows[name]
        if pa.types.is_date(cells.type):
            cells = cells.cast(pa.timestamp("s"))
        frame[name] = cells.to_pandas(types_mapper=gaps.get if column.missing else None)
    return pd.DataFrame(frame, columns=list(schema))
