"""Paths from every source with every option of `build` and `build_by`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import scumble
import scumble.files
from greybox_files import csv, database_of, file_of, pandas, standard_input
from scumble import Bundle, Release
from scumble.audit.greybox import BUDGETS, path
from scumble.audit.greybox.neighbors import CLASSES, NAMES, Table, arrow, halves
from scumble.audit.greybox.sketches import COLUMNS, KERNEL, PLAIN, SCHEMA, SIZE, ledger_of, reading
from scumble.audit.report import Options
from scumble.privacy.budget import Budget
from scumble.sources import Build, build_by, open_source
from scumble.sources.drafting import drafted
from scumble.sources.paths import EXTENSIONS

READING: Options = {**SIZE, "design": "iid", "invalid": "drop"}
OPTIONS: Options = {**READING, "allow_empty": True}
TYPED = ("floats", "missing", "missing things", "labels")
"""Traits of tables whose columns have types."""
FREE = (*TYPED, "texts")
"""Traits of files in which any cell may hold any text."""


def built(source: object, columns: list[str] | None = COLUMNS, kernel: Any = KERNEL, **options: Any) -> Release:
    """A small release of a source."""
    return scumble.build(source, kernel, columns, **{**OPTIONS, **options})


# ---- every source ----


def _file(table: Table, folder: Path, extension: str) -> Release:
    return built(file_of(table, folder, f"people{extension}"))


_FIRST = {".csv": (*FREE, "empty"), ".jsonl": FREE, ".parquet": (*TYPED, "empty"), ".arrow": (*TYPED, "empty")}
"""Other files are read by the same code. A file of JSON lines without a line has no columns: it is refused."""
for _extension in EXTENSIONS:
    _some = None if _extension in _FIRST else 6
    _traits = _FIRST.get(_extension, ("floats", "missing"))
    path(f"build, {_extension}", *_traits, few=_some, each={"": {"extension": _extension}})(_file)


def _polars(table: Table) -> Any:
    import polars

    return polars.from_arrow(arrow(table))


MEMORY: dict[str, Callable[[Table], Any]] = {
    "an Arrow table": arrow,
    "an Arrow batch": lambda table: pa.RecordBatch.from_struct_array(arrow(table).to_struct_array().combine_chunks()),
    "an Arrow reader": lambda table: arrow(table).to_reader(3),
    "an iterator": lambda table: iter([arrow(table[:4]), arrow(table[4:])]),
    "a polars frame": _polars,
    "a lazy polars frame": lambda table: _polars(table).lazy(),
}


@path("build, {}", *TYPED, "empty", each={name: {"form": form} for name, form in MEMORY.items()})
def _memory(table: Table, folder: Path, form: Any) -> Release:
    return built(form(table))


@path("build, a pandas frame", *TYPED)
def _pandas(table: Table, folder: Path) -> Release:
    """Without records it has no columns, and is refused."""
    return built(pandas([{name: record[name] for name in NAMES} for record in table]))


@path("draft of a schema, {}", *TYPED, few=6, each={name: BUDGETS[name] for name in ("pure", "gaussian")})
def _drafted(table: Table, folder: Path, **budget: Any) -> list[Any]:
    source = open_source(arrow(table))
    found = drafted(source, source.columns(None), Budget.of(**budget, count_share=0))
    return [found.toml().encode(), found.privacy]


@path("build, several files", *FREE, "empty")
def _files(table: Table, folder: Path) -> Release:
    return built([file_of(part, folder, f"{k}.csv") for k, part in enumerate(halves(table))])


@path("build, a folder with partitions", *TYPED, "empty")
def _folder(table: Table, folder: Path) -> Release:
    for k, part in enumerate(halves(table)):
        file_of(part, folder, f"all/half={k}/part.parquet")
    return built(folder / "all")


@path("build, standard input", *FREE, "empty")
def _standard_input(table: Table, folder: Path) -> Release:
    with standard_input(csv(table)):
        return built("-")


@path(
    "build, a database's {}",
    *FREE,
    "empty",
    each={"table": {"table_name": "people"}, "query": {"query": "SELECT x, y, thing FROM people WHERE z >= 0"}},
)
def _database(table: Table, folder: Path, table_name: str | None = None, **query: Any) -> Release:
    return built(database_of(table, folder), **(query or {"table": table_name}))


@path("build, DuckDB", *TYPED, "empty", few=6)
def _duckdb(table: Table, folder: Path) -> list[Release]:
    """A file, and a relation."""
    import duckdb

    people = arrow(table)
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("given", people)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
        relation = built(connection.sql("SELECT * FROM given"))
    return [relation, built(f"duckdb:///{folder / 'people.duckdb'}", table="people")]


@path("build, .csv, all columns", "floats", "missing")
def _all_columns_csv(table: Table, folder: Path) -> Release:
    return built(file_of(table, folder, "people.csv"), None)


# ---- every option ----

PERSON: Options = {"person_column": "who", "records_per_person": 3}
_GRID = {"design": "grid", "bounds": ((0.0, 0.0), (10.0, 10.0)), "rows": None, "buckets": 64}
_PLANNED = {"design": "auto", "bounds": (0.0, 10.0), "rows": None, "buckets": None, "n": 1000}
_NOT_REPLACED = {name: budget for name, budget in BUDGETS.items() if "neighbors" not in budget}


@path("build, {}", *TYPED, few=12, each=BUDGETS)
@path(
    "build, noise_first, {}", *TYPED, few=12, each={name: {**one, "noise_first": True} for name, one in BUDGETS.items()}
)
@path(
    "build, a person column{}",
    "missing",
    "persons",
    "nobody",
    each={"": PERSON, ", Gaussian": {**PERSON, "delta": 1e-3}},
)
def _options(table: Table, folder: Path, **given: Any) -> Release:
    return built(file_of(table, folder), **{**reading(given), **given})


@path("build, a grid", *TYPED, "empty", each={"": _GRID})
@path("build, planned", "floats", "missing", few=5, each={"": _PLANNED})
def _numbers(table: Table, folder: Path, **given: Any) -> Release:
    return built(file_of(table, folder), ["x", "y"], PLAIN, **given)


@path("build, a ledger", "floats")
def _charged(table: Table, folder: Path) -> Release:
    return built(file_of(table, folder), **ledger_of(folder))


@path("build_by", *FREE, "missing labels", "empty")
@path("build_by, {}", *FREE, "missing labels", "empty", few=12, each=_NOT_REPLACED)
@path("build_by, noise_first", *FREE, "missing labels", each={"": {"noise_first": True, "records_per_person": 2}})
@path("build_by, a person column", *FREE, "persons", "nobody", each={"": PERSON})
def _by(table: Table, folder: Path, **given: Any) -> Bundle:
    source = file_of(table, folder, "people.csv")
    return build_by(source, KERNEL, COLUMNS, label="label", classes=CLASSES, **{**OPTIONS, **given})


@path("build, a checkpoint{}", "floats", "missing", each={"": {}, ", noise_first": {"noise_first": True}})
@path("build, a checkpoint{}", "missing", "persons", each={", persons": PERSON})
def _resumed(table: Table, folder: Path, **given: Any) -> object:
    """A build that is interrupted after its first file and goes on from its checkpoint."""
    files = [file_of(part, folder, f"{k}.parquet") for k, part in enumerate(halves(table))]
    given = {**OPTIONS, **given, "checkpoint": folder / "c.secret", "checkpoint_seconds": 0.0}

    def stop(progress: object) -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        Build(files, KERNEL, COLUMNS, **given).count(stop)
    return scumble.build(files, KERNEL, COLUMNS, **given)


@path(
    "build with a schema, {}",
    "floats",
    "missing",
    few=6,
    each={
        "plain": {},
        "a target": {"target": "label", "levels": 3, "n": 10},
        "gaussian": {"delta": 1e-6},
        "a set": {"together": [("x", "y", "thing")], "important": ["x"]},
    },
)
@path("build with a schema, {}", "persons", few=6, each={"persons": PERSON})
def _table(table: Table, folder: Path, **given: Any) -> object:
    reads: Options = {"invalid": "drop", "allow_empty": True, "epsilon": 1.0}
    return scumble.build(str(file_of(table, folder)), schema=SCHEMA, **reads, **given)
