"""Tables that are in memory already, or come one after the other from a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from scumble.errors import DataError, ParameterError
from scumble.sources.roles import Roles
from scumble.sources.source import BATCH_ROWS, Piece, Position, Source


class MemorySource(Source):
    """An Arrow table, reader or batch, a pandas or polars frame, or an iterator of such."""

    def __init__(self, tables: Any) -> None:
        self._tables = _batches(tables)
        self._first = next(self._tables, None)
        if self._first is None:
            raise DataError("The source gives no table at all. Hint: give at least one, even without rows.")
        self.names = tuple(self._first.schema.names)
        self.skipped = {}

    def __str__(self) -> str:
        return "the table"

    def pieces(self, roles: Roles, *, start: Position = (0, 0), invalid: str = "error") -> Iterator[Piece]:
        row = 0
        if self._first is None:
            raise ParameterError("The source has been read already. Hint: make a new one.")
        batch, self._first = self._first, None
        while batch is not None:
            for first in range(0, batch.num_rows, BATCH_ROWS):
                part = batch.slice(first, BATCH_ROWS).select(list(roles))
                row += part.num_rows
                yield Piece(part, (0, row), None)
            batch = next(self._tables, None)

    def place(self, position: Position, rows: int, row: int) -> str:
        return f"the table, row {position[1] - rows + row + 1:,}"

    def fingerprint(self) -> dict[str, Any]:
        raise ParameterError("A table in memory has no checkpoint. Hint: save it to a file, or leave out `checkpoint`.")


def _batches(tables: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(tables, pa.RecordBatch):
        yield tables
    elif isinstance(tables, pa.Table):
        yield from tables.to_batches(BATCH_ROWS) or [_empty(tables.schema)]
    elif type(tables).__module__.startswith("pandas.") and hasattr(tables, "columns"):
        yield from _batches(pa.table({str(name): np.asarray(tables[name]) for name in tables.columns}))
    elif hasattr(tables, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(tables)
        empty = True
        for batch in reader:
            empty = False
            yield batch
        if empty:
            yield _empty(reader.schema)
    elif isinstance(tables, Iterator):
        for table in tables:
            yield from _batches(table)
    else:
        raise DataError(
            f"The source must be a path, a database URI or a table with named columns, got {type(tables).__name__}. "
            "Hint: pass an Arrow table, a pandas or polars frame, or an iterator of such."
        )


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
