"""NA and its like are missing cells of a file, whatever a kernel reads them as; of a table in memory they are words."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import scumble
from scumble import EuclideanKernel, HammingKernel, JaccardKernel
from scumble.columns.cells import NO_VALUE
from scumble.errors import CuratorWarning
from scumble.sources import Build

TOWNS = ["Ulm", *NO_VALUE, "Bonn", "n/a", " NA", "NA DE", "-"]
KINDS = {"category": HammingKernel(columns=["town"]), "tokens": JaccardKernel(columns=["town"])}
SIZE = {"rows": 24, "buckets": 64, "seed": 5, "design": "iid"}


def write_csv(path: Path, cells: list[str]) -> None:
    sink = io.BytesIO()
    pacsv.write_csv(pa.table({"town": cells, "x": [1.0] * len(cells)}), sink)
    path.write_bytes(sink.getvalue())


def write_json(path: Path, cells: list[str]) -> None:
    path.write_text("".join(json.dumps({"town": cell, "x": 1}) + "\n" for cell in cells))


def write_excel(path: Path, cells: list[str]) -> None:
    book = openpyxl.Workbook()
    for row in [["town", "x"], *([cell, 1] for cell in cells)]:
        book.active.append(row)
    book.save(path)


def write_sqlite(path: Path, cells: list[str]) -> str:
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (town text, x real)")
        connection.executemany("insert into t values (?, 1)", [(cell,) for cell in cells])
    connection.close()
    return f"sqlite:///{path}"


def write_duckdb(path: Path, cells: list[str]) -> str:
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute("create table t (town text)")
        connection.executemany("insert into t values (?)", [(cell,) for cell in cells])
    return f"duckdb:///{path}"


def write_parquet(kind: pa.DataType) -> Callable[[Path, list[str]], None]:
    def write(path: Path, cells: list[str]) -> None:
        column = pa.array(cells)
        column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)
        pq.write_table(pa.table({"town": column, "x": np.ones(len(cells))}), path)

    return write


def write_arrow(path: Path, cells: list[str]) -> None:
    table = pa.table({"town": pa.array(cells, pa.string_view()), "x": np.ones(len(cells))})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


WRITERS: dict[str, Callable[[Path, list[str]], Any]] = {
    "t.csv": write_csv,
    "t.jsonl": write_json,
    "t.xlsx": write_excel,
    "t.db": write_sqlite,
    "t.duckdb": write_duckdb,
    "text.parquet": write_parquet(pa.string()),
    "large.parquet": write_parquet(pa.large_string()),
    "bytes.parquet": write_parquet(pa.binary()),
    "coded.parquet": write_parquet(pa.dictionary(pa.int32(), pa.string())),
    "views.arrow": write_arrow,
}


@pytest.mark.parametrize("role", KINDS)
@pytest.mark.parametrize("name", WRITERS)
def test_they_are_missing_cells_of_files(name: str, role: str, tmp_path: Path) -> None:
    path = tmp_path / name
    source = WRITERS[name](path, TOWNS) or path
    options: dict[str, Any] = {**SIZE, **({"table": "t"} if isinstance(source, str) else {})}
    job = Build(source, KINDS[role], ["town"], invalid="drop", **options)
    sketch = job.count().sketches[0]
    nothing = NO_VALUE if role == "category" or name == "t.xlsx" else NO_VALUE[1:]  # a sheet has no empty text
    kept = [town for town in TOWNS if town not in nothing]
    assert np.array_equal(
        sketch._counts, scumble.Sketch(KINDS[role], columns=["town"], **SIZE).update({"town": kept})._counts
    )
    gone = len(TOWNS) - len(kept)
    assert job.left_out() == [f"{gone} with a missing value in 'town'"]
    with pytest.raises(scumble.DataError):
        Build(source, KINDS[role], ["town"], **{**options, "invalid": "error"}).count()


@pytest.mark.parametrize("role", KINDS)
@pytest.mark.parametrize("make", [pa.table, pd.DataFrame])
def test_in_memory_they_are_words(make: Callable[..., Any], role: str) -> None:
    job = Build(make({"town": TOWNS}), KINDS[role], ["town"], **SIZE)
    assert job.count().sketches[0].count == len(TOWNS)


def test_a_class_that_is_listed_is_one(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", ["NA", "DE", "null"])
    options = {"label": "town", "classes": ["NA", "DE"], "invalid": "drop", **SIZE}
    job = Build(tmp_path / "t.csv", EuclideanKernel(1.0), ["x"], **options)
    assert [sketch.count for sketch in job.count().sketches] == [1, 1] and job.tally.dropped == 1


def test_they_name_no_person(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", ["NA", "ann", "NA", "bob"])
    job = Build(tmp_path / "t.csv", EuclideanKernel(1.0), ["x"], person_column="town", invalid="drop", **SIZE)
    assert job.count().sketches[0].count == 2
    assert job.left_out() == ["2 without a person in 'town'"]


# ---- Arrow types that some of Arrow's own functions do not take: no record decides whether they are read ----


CELLS = {"sound": ["a", "b", "a", "b"], "unknown": ["a", "zz", "a", "b"], "missing": ["a", None, "NA", "b"]}
ODD: dict[str, Any] = {
    "views of text": lambda cells: pa.array(cells, pa.string_view()),
    "views of bytes": lambda cells: pa.array([cell and cell.encode() for cell in cells], pa.binary_view()),
    "runs": lambda cells: pc.run_end_encode(pa.array(cells, pa.string())),
    "a dictionary of views": lambda cells: pa.DictionaryArray.from_arrays(
        pa.array([None if cell is None else k for k, cell in enumerate(cells)], pa.int8()),
        pa.array([cell or "" for cell in cells], pa.string_view()),
    ),
}


def _table(town: pa.Array, who: pa.Array) -> pa.Table:
    return pa.table({"town": town, "who": who, "age": pa.array([1.0, 2.0, 3.0, 4.0])})


def _counters(source: object, **options: Any) -> np.ndarray:
    schema = scumble.Schema(town=scumble.Category(["a", "b"], other=False, missing=False), age=scumble.Number(0, 10))
    tally = Build(source, schema=schema, epsilon=1.0, **options).count()
    return np.array(tally.sketches[0].secret.counts)


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize("kind", ODD.values(), ids=ODD)
@pytest.mark.parametrize("person", [{}, {"person_column": "who"}], ids=["records", "persons"])
def test_they_are_counted_as_plain_text_is(kind: Any, cells: list[Any], person: dict[str, Any], tmp_path: Path) -> None:
    plain = _counters(_table(pa.array(cells), pa.array(["p", "p", "q", "r"])), **person)
    odd = _table(kind(cells), kind(["p", "p", "q", "r"]))
    with pa.ipc.new_file(tmp_path / "odd.arrow", odd.schema) as file:
        file.write_table(odd)
    for source in (odd, str(tmp_path / "odd.arrow")):
        assert np.array_equal(_counters(source, **person), plain)


@pytest.mark.parametrize("kind", ODD.values(), ids=ODD)
def test_classes_and_categories(kind: Any, tmp_path: Path) -> None:
    """Of a frame of polars' that was written as an Arrow file, for one."""
    odd = _table(kind(CELLS["unknown"]), kind(CELLS["missing"]))
    with pa.ipc.new_file(tmp_path / "odd.arrow", odd.schema) as file:
        file.write_table(odd)
    size: dict[str, Any] = {"rows": 4, "buckets": 8, "epsilon": 1.0}
    for source in (odd, str(tmp_path / "odd.arrow")):
        with pytest.warns(CuratorWarning):
            scumble.build_by(
                source, scumble.EuclideanKernel(1.0), ["age"], label="town", classes=["a", "b"], bounds=(0, 10), **size
            )
            scumble.build(source, scumble.HammingKernel(), columns=["who", "town"], **size)
