"""Excel workbooks (.xlsx): one sheet, whose first row that is not blank holds the names.

Each cell is read by its column's role; formulas have the values saved with the workbook.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator

import numpy as np

from scumble.columns.roles import Roles, says_nothing
from scumble.errors import DataError, ParameterError
from scumble.files.lazy_modules import pa
from scumble.sources.arrow import as_arrow
from scumble.sources.formats import Format, Read, empty, is_empty
from scumble.sources.paths import File, cannot_open
from scumble.sources.source import BATCH_ROWS, did_you_mean


class Excel(Format):
    """Workbooks, row by row: never whole in memory."""

    title = "an Excel workbook"
    names_stand_first = True
    _warned = False

    def columns(self, file: File) -> tuple[str, ...]:
        if is_empty(file):
            raise empty(file)
        with _Sheet(self, file) as sheet:
            names = next(sheet.rows, ())
        if self.options.sheet is None and len(sheet.titles) > 1 and not self._warned:
            self._warned = True
            warnings.warn(
                f"{file.name} has {len(sheet.titles)} sheets, and the first is read: {sheet.titles[0]!r}. "
                f"Hint: --table SHEET (table=) chooses another: {', '.join(sheet.titles[1:6])}.",
                UserWarning,
                stacklevel=2,
            )
        if not names:
            raise empty(file)
        while names[-1] is None:
            names = names[:-1]
        if any(name is None for name in names):
            raise DataError(f"{file.name}: a column has no name. Hint: the first row of a sheet holds names.")
        return tuple(str(name) for name in names)

    def read(self, file: File, roles: Roles, *, skip: int, invalid: str) -> Iterator[Read]:
        header = self.columns(file)
        places = [header.index(name) for name in roles]
        with _Sheet(self, file) as sheet:
            next(sheet.rows, None)
            rows: list[list[object]] = []
            for cells in itertools.islice(sheet.rows, skip, None):
                rows.append([cells[place] if place < len(cells) else None for place in places])
                if len(rows) == BATCH_ROWS:
                    yield Read(_batch(rows, roles), None)
                    rows = []
            if rows:
                yield Read(_batch(rows, roles), None)

    def place(self, file: File, row: int) -> str:
        sheet = "the first sheet" if self.options.sheet is None else f"the sheet {self.options.sheet!r}"
        return f"{file.name}, record {row + 1:,} of {sheet}"


class _Sheet:
    """An open sheet without blank rows. Errors of openpyxl may quote cells and are not shown."""

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
            sheets = {sheet.title: sheet for sheet in self._book.worksheets}
            self.titles = list(sheets)
            asked = self._format.options.sheet
            sheet = sheets[self.titles[0]] if asked is None else sheets.get(asked)
            self.rows = self._guarded(iter(()) if sheet is None else sheet.iter_rows(values_only=True))
        except Exception:
            self._bytes.close()
            raise self._format.damaged(self._file) from None
        if asked is not None and sheet is None:
            self.__exit__()
            raise DataError(f"There is no sheet {asked!r} in {self._file.name}.{did_you_mean(asked, self.titles)}")
        return self

    def _guarded(self, rows: Iterator[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
        try:
            yield from (cells for cells in rows if _filled(cells))
        except Exception:
            raise self._format.damaged(self._file) from None

    def __exit__(self, *_: object) -> None:
        self._book.close()
        self._bytes.close()


def _filled(cells: tuple[object, ...]) -> int:
    return sum(cell is not None for cell in cells)


def _batch(rows: list[list[object]], roles: Roles) -> pa.RecordBatch:
    columns = []
    for k, (name, role) in enumerate(roles.items()):
        cells = np.empty(len(rows), object)
        cells[:] = [None if says_nothing(row[k], role) else row[k] for row in rows]
        columns.append(as_arrow(cells, role, name))
    return pa.RecordBatch.from_arrays(columns, names=list(roles))
