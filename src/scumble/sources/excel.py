"""Excel workbooks (.xlsx): the first sheet, its first row the names. ``pip install 'scumble[excel]'``.

A sheet's cells have types of their own, so each is read by itself, as the column's role asks; formulas count as the
values they had when the workbook was saved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from scumble.errors import DataError, ParameterError
from scumble.machine.later import pa
from scumble.sources.formats import Format, Read, empty, is_empty
from scumble.sources.memory import as_arrow
from scumble.sources.paths import File, cannot_open
from scumble.sources.source import BATCH_ROWS
from scumble.tables.cells import NO_VALUE, number, number_in
from scumble.tables.roles import Roles


class Excel(Format):
    """Workbooks, row by row: never whole in memory."""

    title = "an Excel workbook"

    def columns(self, file: File) -> tuple[str, ...]:
        if is_empty(file):
            raise empty(file)
        with _Sheet(self, file) as sheet:
            names = next(sheet.rows, ())
        while names and names[-1] is None:
            names = names[:-1]
        if not names:
            raise empty(file)
        if any(name is None for name in names):
            raise DataError(f"{file.name}: a column has no name. Hint: the first row of the first sheet holds names.")
        return tuple(str(name) for name in names)

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        header = self.columns(file)
        places = [header.index(name) for name in roles]
        with _Sheet(self, file) as sheet:
            next(sheet.rows, None)
            rows: list[list[Any]] = []
            records = (cells for cells in sheet.rows if any(cell is not None for cell in cells))  # blank lines are none
            for cells in itertools.islice(records, skip, None):
                rows.append([cells[place] if place < len(cells) else None for place in places])
                if len(rows) == BATCH_ROWS:
                    yield Read(_batch(rows, roles), None)
                    rows = []
            if rows:
                yield Read(_batch(rows, roles), None)

    def place(self, file: File, row: int) -> str:
        return f"{file.name}, record {row + 1:,} of the first sheet"


class _Sheet:
    """The first sheet of a workbook, open; what openpyxl has to say may quote cells, and is not shown."""

    def __init__(self, format: Excel, file: File) -> None:
        self._format, self._file = format, file

    def __enter__(self) -> _Sheet:
        if self._file.compression:
            raise DataError(f"{self._file.name} is packed twice. Hint: unpack it; a workbook is packed already.")
        try:
            import openpyxl
        except ImportError:
            raise ParameterError(
                "Reading Excel workbooks needs openpyxl. Hint: pip install 'scumble[excel]'."
            ) from None
        try:
            self._bytes = open(self._file.path, "rb")
        except OSError as error:
            raise cannot_open(self._file.path, error) from None
        try:
            self._book = openpyxl.load_workbook(self._bytes, read_only=True, data_only=True)
            self.rows = self._guarded(self._book.worksheets[0].iter_rows(values_only=True))
        except Exception:
            self._bytes.close()
            raise self._format.damaged(self._file) from None
        return self

    def _guarded(self, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        try:
            yield from rows
        except Exception:
            raise self._format.damaged(self._file) from None

    def __exit__(self, *_: object) -> None:
        self._book.close()
        self._bytes.close()


def _batch(rows: list[list[Any]], roles: Roles) -> pa.RecordBatch:
    columns = []
    for k, (name, role) in enumerate(roles.items()):
        cells = np.empty(len(rows), object)
        cells[:] = [row[k] for row in rows]
        columns.append(
            pa.array([*map(_number, cells)], pa.float64()) if role == "number" else as_arrow(cells, role, name)
        )
    return pa.RecordBatch.from_arrays(columns, names=list(roles))


def _number(cell: object) -> float | None:
    """One cell as a number: None if it is empty, NaN if there is no number in it."""
    if isinstance(cell, str):
        return None if cell.strip() in NO_VALUE else number_in(cell.encode(errors="replace"))
    return None if cell is None else number(cell)
