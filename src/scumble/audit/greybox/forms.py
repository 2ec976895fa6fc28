"""A table in every form that is read: frames, files of every kind, a database."""

from __future__ import annotations

import io
import json
import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scumble.audit.greybox.neighbors import Table

TEXTS = ("label", "thing", "who")
"""The columns of words; all others hold numbers."""


def arrow(table: Table) -> pa.Table:
    """An Arrow table, typed, whatever is in it."""
    columns = {
        name: pa.array([record[name] for record in table], pa.string() if name in TEXTS else pa.float64())
        for name in ("x", "y", "z", *TEXTS)
    }
    return pa.table(columns)


def pandas(table: Table) -> Any:
    """A pandas frame, of such types as pandas chooses."""
    import pandas as pd

    return pd.DataFrame([{name: record[name] for name in ("x", "y", "z", *TEXTS)} for record in table])


def polars(table: Table) -> Any:
    """A polars frame."""
    import polars as pl

    return pl.from_arrow(arrow(table))


def csv(table: Table, mark: str = ",") -> bytes:
    """Delimited text."""
    names = ("x", "y", "z", *TEXTS)
    lines = [names, *([_text(record[name]) for name in names] for record in table)]
    return "\n".join(mark.join(line) for line in lines).encode() + b"\n"


def _text(cell: Any) -> str:
    text = "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)
    return f'"{text}"' if "," in text or not text else text


def jsonlines(table: Table) -> bytes:
    """One JSON object a line, with all keys that a record has."""
    return "".join(json.dumps(record) + "\n" for record in table).encode()


def _ipc(table: Table, *, stream: bool = False) -> bytes:
    sink, held = io.BytesIO(), arrow(table)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, held.schema) as writer:
        writer.write_table(held)
    return sink.getvalue()


def _parquet(table: Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(arrow(table), sink, row_group_size=4)
    return sink.getvalue()


def _workbook(table: Table) -> bytes:
    import openpyxl

    book, sink = openpyxl.Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet()
    names = ("x", "y", "z", *TEXTS)
    sheet.append(names)
    for record in table:
        # A workbook has no cells for what is not finite, and a row without cells is none.
        sheet.append(
            [
                repr(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell
                for cell in (record[name] for name in names)
            ]
        )
    book.save(sink)
    return sink.getvalue()


BYTES: dict[str, Callable[[Table], bytes]] = {
    ".csv": csv,
    ".tsv": lambda table: csv(table, "\t"),
    ".tab": lambda table: csv(table, "\t"),
    ".txt": lambda table: csv(table),
    ".parquet": _parquet,
    ".pq": _parquet,
    ".arrow": _ipc,
    ".arrows": lambda table: _ipc(table, stream=True),
    ".ipc": _ipc,
    ".feather": _ipc,
    ".jsonl": jsonlines,
    ".ndjson": jsonlines,
    ".json": jsonlines,
    ".xlsx": _workbook,
    ".xlsm": _workbook,
}
"""How each kind of file is written; `coverage` asks for every extension that is read."""


def file_of(table: Table, folder: Path, extension: str = ".parquet") -> Path:
    """The table in a file."""
    where = folder / f"people{extension}"
    where.write_bytes(BYTES[extension](table))
    return where


def database_of(table: Table, folder: Path) -> str:
    """The table in SQLite, whose columns hold cells of any type."""
    with sqlite3.connect(folder / "people.db") as connection:
        connection.execute("CREATE TABLE people (x REAL, y REAL, z REAL, label TEXT, thing TEXT, who TEXT)")
        rows = [[record[name] for name in ("x", "y", "z", *TEXTS)] for record in table]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    return f"sqlite:///{folder / 'people.db'}"
