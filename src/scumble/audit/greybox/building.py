"""Paths of `build` and `build_by`: from every source, with every option."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

import scumble
from scumble import Bundle, EuclideanKernel, HammingKernel, Release
from scumble.audit.greybox.forms import arrow, csv, database_of, file_of, pandas, polars
from scumble.audit.greybox.neighbors import CLASSES, Table
from scumble.audit.greybox.paths import BUDGETS, SIZE, add, path, promise_of
from scumble.audit.greybox.sketches import CONTAINERS, _cells, ledger_of
from scumble.sources import Build, build_by
from scumble.sources.paths import COMPRESSIONS, EXTENSIONS

KERNEL = EuclideanKernel(2.0, columns=["x", "y"]) * HammingKernel(columns=["thing"])
COLUMNS = ["x", "y", "thing"]
OPTIONS: dict[str, Any] = {**SIZE, "design": "iid", "invalid": "drop", "allow_empty": True}
TYPED = ("floats", "missing", "missing things", "labels", "empty")
"""Traits of tables whose columns have types."""
FREE = (*TYPED, "texts")
"""Traits of files in which any cell may hold any text."""


def built(source: Any, columns: list[str] | None = COLUMNS, kernel: Any = KERNEL, **options: Any) -> Release:
    """A small release of a source."""
    return scumble.build(source, kernel, columns, **{**OPTIONS, **options})


def _side(record: dict[str, Any]) -> int:
    """Which of two parts a record is in: a function of the record alone."""
    return sum(repr((record["x"], record["y"])).encode()) % 2


# ---- every source ----


def _add_files() -> None:
    for extension in EXTENSIONS:
        free = EXTENSIONS[extension] in ("csv", "json")

        def run(table: Table, folder: Path, extension: str = extension) -> Release:
            return built(file_of(table, folder, extension))

        first = extension in (".csv", ".parquet", ".arrow", ".jsonl")  # the others are read by the same code
        # A file of JSON lines without a line has no columns: it is refused.
        traits = [trait for trait in (FREE if free else TYPED) if trait != "empty" or EXTENSIONS[extension] != "json"]
        add(f"build, {extension}", run, *traits, few=None if first else 6)
    for ending, codec in COMPRESSIONS.items():

        def packed(table: Table, folder: Path, ending: str = ending, codec: str = codec) -> Release:
            where = folder / f"people.csv{ending}"
            with pa.CompressedOutputStream(pa.OSFile(str(where), "wb"), codec) as out:
                out.write(csv(table))
            return built(where)

        add(f"build, .csv{ending}", packed, *FREE, few=5)


def _add_memory() -> None:
    forms: dict[str, Callable[[Table], Any]] = {
        "an Arrow table": arrow,
        "an Arrow batch": lambda table: pa.RecordBatch.from_struct_array(
            arrow(table).to_struct_array().combine_chunks()
        ),
        "an Arrow reader": lambda table: arrow(table).to_reader(3),
        "a pandas frame": pandas,
        "a polars frame": polars,
        "a lazy polars frame": lambda table: polars(table).lazy(),
        "an iterator": lambda table: iter([arrow(table[:4]), arrow(table[4:])]),
    }
    for name, form in forms.items():

        def run(table: Table, folder: Path, form: Any = form) -> Release:
            return built(form(table))

        # What pandas makes of a table without records has no columns: it is refused.
        traits = [trait for trait in TYPED if trait != "empty" or form is not pandas]
        add(f"build, {name}", run, *traits)
    for invalid in ("drop", "error"):
        for name in ("pandas objects", "pandas as it likes"):

            def odd(table: Table, folder: Path, name: str = name, invalid: str = invalid) -> Release:
                return built(CONTAINERS[name](_cells(table)), ["cell"], HammingKernel(), invalid=invalid)

            add(f"build, {name}, odd cells, invalid={invalid!r}", odd, "odd", strict=invalid == "error")


@path("build, several files", *FREE)
def _files(table: Table, folder: Path) -> Release:
    """A record itself says which file it is in."""
    for k in range(2):
        (folder / f"{k}.csv").write_bytes(csv([record for record in table if _side(record) == k]))
    return built([folder / "0.csv", folder / "1.csv"])


@path("build, a folder with partitions", *TYPED)
def _folder(table: Table, folder: Path) -> Release:
    for k in range(2):
        (folder / "all" / f"half={k}").mkdir(parents=True)
        part = [record for record in table if _side(record) == k]
        pq.write_table(arrow(part), folder / "all" / f"half={k}" / "part.parquet")
    return built(folder / "all")


@path("build, a glob", *FREE, few=5)
def _glob(table: Table, folder: Path) -> Release:
    file_of(table, folder, ".csv")
    return built(str(folder / "*.csv"))


@path("build, standard input", *FREE)
def _standard_input(table: Table, folder: Path) -> Release:
    given = io.TextIOWrapper(io.BytesIO(csv(table)), encoding="utf8")
    with mock.patch("sys.stdin", given), mock.patch("scumble.sources.formats._STDIN", []):
        return built("-")


@path("build, a database's table", *FREE)
def _database(table: Table, folder: Path) -> Release:
    return built(database_of(table, folder), table="people")


@path("build, a database's query", *FREE)
def _query(table: Table, folder: Path) -> Release:
    return built(database_of(table, folder), query="SELECT x, y, thing FROM people WHERE z >= 0")


@path("build, a DuckDB file", *TYPED, few=6)
def _duckdb(table: Table, folder: Path) -> Release:
    import duckdb

    people = arrow(table)
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("given", people)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return built(f"duckdb:///{folder / 'people.duckdb'}", table="people")


@path("build, a DuckDB relation", *TYPED, few=6)
def _relation(table: Table, folder: Path) -> Release:
    import duckdb

    people = arrow(table)
    with duckdb.connect() as connection:
        connection.register("given", people)
        return built(connection.sql("SELECT * FROM given"))


@path("build, .jsonl, all columns", "floats", "keys", strict=True, forbidden=True)
def _all_columns(table: Table, folder: Path) -> Release:
    """Without `columns`, the keys of the records are the columns, and one record may have a key of its own."""
    numbers = [{name: cell for name, cell in record.items() if not isinstance(cell, str)} for record in table]
    return built(file_of(numbers, folder, ".jsonl"), None, EuclideanKernel(2.0))


@path("build, .csv, all columns", "floats", "missing")
def _all_columns_csv(table: Table, folder: Path) -> Release:
    return built(file_of(table, folder, ".csv"), None, KERNEL)


# ---- every option ----


def _add_budgets() -> None:
    for name, budget in BUDGETS.items():
        exact = budget.get("neighbors") == "replace"
        promise = {**promise_of(budget), "strict": exact}
        invalid = {"invalid": "error"} if exact else {}

        def run(table: Table, folder: Path, options: dict[str, Any] = {**budget, **invalid}) -> Release:  # noqa: B006
            return built(file_of(table, folder), **options)

        def first(table: Table, folder: Path, options: dict[str, Any] = {**budget, **invalid}) -> Release:  # noqa: B006
            return built(file_of(table, folder), noise_first=True, **options)

        traits = [trait for trait in TYPED if trait != "empty"]
        add(f"build, {name}", run, *traits, **promise)
        add(f"build, noise_first, {name}", first, *traits, **promise)
        if not exact:

            def by(table: Table, folder: Path, options: dict[str, Any] = budget) -> Bundle:
                return classes(file_of(table, folder, ".csv"), **options)

            add(f"build_by, {name}", by, *FREE, "missing labels", **promise)


def classes(source: Any, **options: Any) -> Bundle:
    """One release per class."""
    return build_by(source, KERNEL, COLUMNS, label="label", classes=CLASSES, **{**OPTIONS, **options})


@path("build_by, noise_first", *TYPED, "missing labels", people=2)
def _by_noise_first(table: Table, folder: Path) -> Bundle:
    return classes(file_of(table, folder), noise_first=True, records_per_person=2)


@path("build_by, a person column", *TYPED, "persons", "nobody", people=3)
def _by_persons(table: Table, folder: Path) -> Bundle:
    return classes(file_of(table, folder), person_column="who", records_per_person=3)


@path("build, a person column", "missing", "persons", "nobody", people=3)
def _persons(table: Table, folder: Path) -> Release:
    return built(file_of(table, folder), person_column="who", records_per_person=3)


@path("build, a person column, Gaussian", "persons", people=2)
def _persons_gaussian(table: Table, folder: Path) -> Release:
    return built(file_of(table, folder), person_column="who", records_per_person=2, delta=1e-3)


@path("merge of two builds with a person column each", "persons", people=3)
def _persons_merged(table: Table, folder: Path) -> Release:
    """Each limit starts anew: a person may have three records in each part."""
    parts = []
    for k in range(2):
        mine = [record for record in table if _side(record) == k]
        parts.append(built(arrow(mine), person_column="who", records_per_person=3))
    return scumble.merge(parts)


@path("build, a grid", *TYPED)
def _grid(table: Table, folder: Path) -> Release:
    bounds = ((0.0, 0.0), (10.0, 10.0))
    options = {"design": "grid", "bounds": bounds, "rows": None, "buckets": 64}
    return built(file_of(table, folder), ["x", "y"], EuclideanKernel(2.0), **options)


@path("build, declared columns", *FREE, "missing labels", "nobody", few=12)
def _declared(table: Table, folder: Path) -> Release:
    """Dates, times and booleans, some of them unreadable: each a function of its own cell."""
    return built(file_of(dated(table), folder, ".csv"), DECLARED, EuclideanKernel(2.0), **KINDS)


@path("Sketch.update, declared columns", *TYPED, "missing labels", "nobody", few=6)
def _declared_in_a_sketch(table: Table, folder: Path) -> Release:
    columns = arrow(dated(table)).select(DECLARED)
    sketch = scumble.Sketch(EuclideanKernel(2.0), columns=DECLARED, **SIZE, **KINDS, design="iid", invalid="drop")
    return sketch.update(columns).release(epsilon=1.0)


DECLARED = ["x", "thing", "who", "label"]
KINDS: dict[str, Any] = {"whole": ["x"], "dates": ["thing"], "times": ["who"], "booleans": ["label"]}


def dated(table: Table) -> Table:
    """The table with dates, times and words for yes and no in its columns of text."""
    words = {"bus": "yes", "car": "no"}
    return [
        {
            **record,
            "thing": _dated(record["thing"]),
            "who": _dated(record["who"], "T12:30"),
            "label": words.get(record["label"], record["label"]),
        }
        for record in table
    ]


def _dated(cell: Any, time: str = "") -> Any:
    """A date for most cells."""
    mark = sum(repr(cell).encode())
    return cell if cell is None or mark % 5 == 0 else f"2024-01-{1 + mark % 28:02}{time}"


@path("build, planned", "floats", "missing", few=5)
def _planned(table: Table, folder: Path) -> Release:
    options = {"design": "auto", "rows": None, "buckets": None, "bounds": (0.0, 10.0), "n": 1000}
    return built(file_of(table, folder), ["x", "y"], EuclideanKernel(2.0), **options)


@path("build, a ledger", "floats")
def _charged(table: Table, folder: Path) -> Release:
    return built(file_of(table, folder), ledger=ledger_of(folder), dataset="d")


def _add_checkpoints() -> None:
    for noise_first in (False, True):
        for people in (None, "who"):
            if noise_first and people:
                continue  # refused

            def run(
                table: Table, folder: Path, noise_first: bool = noise_first, people: str | None = people
            ) -> Release:
                return resumed(table, folder, noise_first=noise_first, person_column=people, records_per_person=2)

            with_people = ", a person column" if people else ""
            name = f"build, a checkpoint{', noise_first' if noise_first else ''}{with_people}"
            add(name, run, "floats", "missing", *(["persons"] if people else []), people=2)


def resumed(table: Table, folder: Path, **options: Any) -> Release:
    """A build that is interrupted after its first file and goes on from its checkpoint."""
    for k in range(2):
        part = [record for record in table if _side(record) == k]
        pq.write_table(arrow(part), folder / f"{k}.parquet")
    files = [folder / "0.parquet", folder / "1.parquet"]
    options = {**OPTIONS, "checkpoint": folder / "c.secret", "checkpoint_seconds": 0.0, **options}

    def stop(progress: Any) -> None:
        raise KeyboardInterrupt

    job = Build(files, KERNEL, COLUMNS, **options)
    with contextlib.suppress(KeyboardInterrupt):
        job.count(stop)
    release = scumble.build(files, KERNEL, COLUMNS, **options)
    assert isinstance(release, Release)
    return release


_add_files()
_add_memory()
_add_budgets()
_add_checkpoints()
