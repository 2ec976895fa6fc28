"""A synthetic table in every form that scumble reads."""

from __future__ import annotations

import io
import json
import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scumble.audit.greybox.neighbors import NAMES, Table, arrow


def object_array(cells: list[object]) -> np.ndarray:
    """An array of Python objects."""
    out = np.empty(len(cells), object)
    for k, cell in enumerate(cells):
        out[k] = cell
    return out


def pandas(columns: object) -> Any:
    """A pandas frame, of the types that pandas chooses."""
    import pandas as pd

    return pd.DataFrame(columns)


def csv(table: Table, mark: str = ",") -> bytes:
    """Delimited text."""

    def written(cell: object) -> str:
        text = "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)
        return f'"{text}"' if "," in text or not text else text

    lines = [NAMES, *([written(record[name]) for name in NAMES] for record in table)]
    return "\n".join(mark.join(line) for line in lines).encode() + b"\n"


def _jsonlines(table: Table) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in table).encode()


def _written(write: Callable[[pa.Table, io.BytesIO], None], table: Table) -> bytes:
    sink = io.BytesIO()
    write(arrow(table), sink)
    return sink.getvalue()


def _ipc(table: Table, new: Any = pa.ipc.new_file) -> bytes:
    def write(held: pa.Table, sink: io.BytesIO) -> None:
        with new(sink, held.schema) as writer:
            writer.write_table(held)

    return _written(write, table)


def _parquet(table: Table) -> bytes:
    return _written(lambda held, sink: pq.write_table(held, sink, row_group_size=4), table)


def _workbook(table: Table) -> bytes:
    import openpyxl

    book, sink = openpyxl.Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet()
    sheet.append(NAMES)
    for record in table:
        # A workbook has no cells for what is not finite.
        cells = (record[name] for name in NAMES)
        sheet.append([repr(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in cells])
    book.save(sink)
    return sink.getvalue()


BYTES: dict[str, Callable[[Table], bytes]] = {
    **dict.fromkeys((".csv", ".txt"), csv),
    **dict.fromkeys((".tsv", ".tab"), lambda table: csv(table, "\t")),
    **dict.fromkeys((".parquet", ".pq"), _parquet),
    **dict.fromkeys((".arrow", ".ipc", ".feather"), _ipc),
    ".arrows": lambda table: _ipc(table, pa.ipc.new_stream),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _jsonlines),
    **dict.fromkeys((".xlsx", ".xlsm"), _workbook),
}
"""How each kind of file is written; `coverage` asks for every extension that is read."""


def file_of(table: Table, folder: Path, name: str = "people.parquet") -> Path:
    """The table in a file, of the kind that its name says."""
    where = folder / name
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_bytes(BYTES[where.suffix](table))
    return where


def database_of(table: Table, folder: Path) -> str:
    """The table in SQLite, whose columns hold cells of any type."""
    with sqlite3.connect(folder / "people.db") as connection:
        connection.execute("CREATE TABLE people (x REAL, y REAL, z REAL, label TEXT, thing TEXT, who TEXT)")
        rows = [[record[name] for name in NAMES] for record in table]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    return f"sqlite:///{folder / 'people.db'}"


@contextmanager
def standard_input(given: bytes) -> Iterator[None]:
    """Let these bytes be what ``-`` reads."""
    text = io.TextIOWrapper(io.BytesIO(given), encoding="utf8")
    with mock.patch("sys.stdin", text), mock.patch("scumble.sources.formats._STDIN", []):
        yield
