"""Sketches of Spark DataFrames of any source and any size::

    from scumble.cluster import spark

    spark.sketch(df, kernel, columns=["age", "income"])                   a secret Sketch, like any other
    spark.build(df, kernel, columns=["age", "income"], epsilon=1.0)       a Release
    spark.build_by(df, "town", kernel, classes=[...], epsilon=1.0)        a Bundle, one release per key
    spark.register(session, kernel, columns=["age", "income"])            scumble_sketch and scumble_merge in SQL
    spark.into(stream)                                                    micro-batches into a scumble.Stream
    spark.session("local[4]")                                             a session, where there is none yet

Each partition is counted where it is, with the same engine as on one machine. The partial sketches are added up by a
tree of shuffles; the driver gets one sketch, and noise is drawn there, once. This file has what users call, and reads
files for the command line. counting.py counts and merges; engine.py alone imports PySpark.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from scumble import files
from scumble.checks import Json
from scumble.columns.kinds import Roles
from scumble.density.bundle import Bundle, Label
from scumble.density.loading import sketch_of
from scumble.density.release import Release
from scumble.density.sketch import Sketch
from scumble.density.spec import Spec
from scumble.errors import DataError, ParameterError, PrivacyError, ScumbleError, many
from scumble.kernels import Kernel
from scumble.sources import Build
from scumble.sources.paths import kind_of
from scumble.sources.spark.counting import Partitions, Report, count, gathered, known
from scumble.sources.spark.engine import Frame, aggregate, json_lines, quoted, require_frame, session, task, whole_lines
from scumble.sources.tally import Tally
from scumble.table.release import TableRelease

__all__ = ["Partitions", "build", "build_by", "register", "session", "sketch", "sketch_from"]


def sketch(
    df: Frame,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    invalid: str = "error",
    engine: str = "auto",
    threads: int | None = None,
    progress: Report | None = None,
    **size: Any,
) -> Sketch:
    """The exact sketch of a Spark DataFrame: secret, and equal to that of a single machine.

    `columns` are read in order; None reads all. `engine` and `threads` say how each task counts, by default with the
    cores that Spark gives it. `progress` is called with :class:`Partitions` now and then. `invalid` and `size` (`rows`,
    `buckets`, `seed`, `design`, `bounds`, `whole`, `dates`, `times`, `booleans`) are those of :class:`scumble.Sketch`.
    """
    empty = columns_of(df, columns)
    options: Json = {"invalid": invalid, "engine": engine, "threads": threads}
    made = Sketch(kernel, columns=list(empty.column_names if columns is None else columns), **size, **options)
    made.update(empty)  # a column that is missing or of a wrong type shows here
    tally = Tally(made.spec, **options)
    tally.sketches = [made.empty()]
    count(df, tally, progress=progress)
    counted: Sketch = tally.sketches[0]
    return counted


def build(
    df: Frame,
    kernel: Kernel | None = None,
    columns: Sequence[str] | None = None,
    *,
    progress: Report | None = None,
    **options: Any,
) -> Release | TableRelease:
    """A Spark DataFrame to a release. Noise is drawn once, on the driver; no exact counter is written to a file.

    The options are those of :func:`scumble.build`: `schema`, `target` and `levels` instead of a kernel and columns;
    `epsilon`, `delta` (or `rho`, or `mu`), `neighbors`, `records_per_person`, `rows`, `buckets`, `design`, `bounds`,
    `whole`, `dates`, `times`, `booleans`, `n`, `seed`, `invalid`, `person_column`, `ledger`, `dataset`, `part`,
    `allow_empty`, `engine`, `threads` (of each task). A person's counted records may differ from those on a single
    machine. There is no `checkpoint`: Spark itself repeats lost work.
    """
    if "label" in options or "classes" in options:
        raise ParameterError("`build` makes one release. Hint: `scumble.cluster.spark.build_by` makes one per key.")
    release: Release | TableRelease = ClusterBuild(df, kernel, columns, **options).run(progress)  # type: ignore[arg-type]
    return release


def build_by(
    df: Frame,
    key: str,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    classes: Sequence[Label],
    progress: Report | None = None,
    **options: Any,
) -> Bundle:
    """One release per key, in one pass: like `build`, with each record's class in the column `key`.

    `classes` lists all keys and is public: each gets a release, even if it is empty. Each record has one key, so the
    bundle costs one budget. A record with another key is refused or dropped, as `invalid` says.
    """
    job = ClusterBuild(df, kernel, columns, label=key, classes=classes, **options)
    bundle: Bundle = job.run(progress)  # type: ignore[arg-type]
    return bundle


class ClusterBuild(Build):
    """A checked pass over a DataFrame. With `file`, cells are read as in files; with `text`, all of them are text."""

    def __init__(
        self,
        df: Frame,
        kernel: Kernel | None = None,
        columns: Sequence[str] | None = None,
        *,
        file: bool = False,
        text: bool = False,
        **options: Any,
    ) -> None:
        if options.get("checkpoint") is not None:
            raise ParameterError("A cluster has no `checkpoint`: Spark itself repeats lost work. Hint: leave it out.")
        if options.get("noise_first"):
            raise PrivacyError("Noise first does not go with a cluster, which counts exactly. Hint: leave it out.")
        others = [options[name] for name in ("label", "person_column") if options.get(name) is not None]
        schema = options.get("schema")
        wanted = columns if schema is None else list(schema.declared)
        empty = columns_of(df, None if wanted is None else [*wanted, *others])
        super().__init__(empty, kernel, columns, **options)
        self._df, self._file = df, file
        if not text:
            sketch_of(self.tally.sketches[0].spec).update(empty)  # a column of a wrong type shows here

    def _pass(self, progress: Any) -> None:
        count(
            self._df,
            self.tally,
            person=self.asked.person_column,
            records_per_person=self.budget.records_per_person,
            roles=self.roles if self._file else None,
            progress=progress,
        )


def columns_of(df: Frame, wanted: Sequence[str] | None = None) -> Frame:
    """The DataFrame's columns without rows, as an Arrow table; only those `wanted`, if all of them exist."""
    require_frame(df)
    if wanted is not None and set(wanted) <= set(df.columns):
        df = df.select(*map(quoted, dict.fromkeys(wanted)))
    return df.limit(0).toArrow()


_CHARSETS = {"utf8": "UTF-8", "latin-1": "ISO-8859-1", "latin1": "ISO-8859-1", "ascii": "US-ASCII"}
"""What Spark calls them."""


def read(
    session: Frame,
    paths: Sequence[str],
    *,
    table: str | None = None,
    query: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf8",
    roles: Roles | None = None,
) -> tuple[Frame, bool]:
    """Files, a table of the catalog, or a query, as a DataFrame; and whether all cells are text.

    CSV cells stay text, and JSON lines are parsed by scumble with the columns of `roles`: no type is guessed from data.
    """
    if table is not None or query is not None:
        if paths:
            raise ParameterError("Give files, --table or --query. Hint: --table names a table of Spark's catalog.")
        return (session.table(table) if query is None else session.sql(query)), False
    kind = _format(paths[0]) if format is None else format
    if decimal != ".":
        raise ParameterError("Spark reads no decimals after a comma. Hint: leave out --engine spark.")
    if kind == "json" and roles is None:
        raise PrivacyError("JSON lines declare no columns, and keys are private. Hint: --columns age,income.")
    # Spark's folder need not be this one.
    paths = [os.path.abspath(path) if glob.glob(path) else path for path in paths]
    try:
        if kind == "csv":
            sep = "\t" if delimiter == "tab" or (delimiter is None and ".ts" in paths[0].lower()) else delimiter or ","
            charset = _CHARSETS.get(encoding.lower(), encoding)
            return whole_lines(session.read.options(header=True, sep=sep, encoding=charset), paths), True
        if kind == "json":
            return json_lines(session, paths, roles or {}), False
        return session.read.format(kind).load(paths), False
    except ScumbleError:
        raise
    except Exception as problem:  # PySpark's own classes; their messages name paths and schemas, no cells
        raise DataError(f"Spark cannot read {paths[0]!r}: {str(problem).splitlines()[0]}") from None


def _format(path: str) -> str:
    if path == "-" or path.startswith(("sqlite:", "duckdb:", "postgresql:", "postgres:")):
        raise ParameterError(f"Spark does not read {path.split(':')[0]!r}. Hint: files, --table, or another --engine.")
    name = path.rstrip("/*").removesuffix(".snappy")
    kind = "orc" if name.endswith(".orc") else kind_of(name)[0]
    if not kind and "." in name.rsplit("/", 1)[-1]:
        raise ParameterError(f"Spark cannot tell the format of {path!r}. Hint: --format csv, parquet or json.")
    return kind or "parquet"  # a folder


def register(
    session: Frame,
    kernel: Kernel,
    columns: Sequence[str],
    *,
    invalid: str = "error",
    prefix: str = "scumble",
    **size: Any,
) -> None:
    """Give a Spark session the aggregate functions ``scumble_sketch(columns...)`` and ``scumble_merge(sketch)``.

    `columns` name the arguments in order; `size` are `rows`, `buckets`, `seed`, `design`, `bounds` of
    :class:`scumble.Sketch`, public and equal for all parts to be merged. A second kernel needs another `prefix`.
    """
    made = Sketch(kernel, columns=list(columns), **size, invalid=invalid)
    aggregate(session, f"{prefix}_sketch", _sketching(replace(made.spec), invalid, made.planned))
    aggregate(session, f"{prefix}_merge", _merging())


def sketch_from(data: bytes | bytearray, **options: Any) -> Sketch:
    """The sketch in the bytes that ``scumble_sketch`` or ``scumble_merge`` returned."""
    return Sketch.from_container(files.from_bytes(bytes(data), expect="secret"), **options)


def _sketching(spec: Spec, invalid: str, planned: int) -> Callable[..., bytes]:
    names = list(spec.columns or ())

    def scumble_sketch(batches: Iterator[tuple[pa.Array, ...]]) -> bytes:
        sketch = Sketch.from_spec(known(spec), invalid=invalid, threads=task()[1], planned=planned)
        for table in gathered(_named(columns, names) for columns in batches):
            _count(sketch, table)
        return _bytes(sketch)

    scumble_sketch.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": bytes}
    return scumble_sketch


def _named(columns: pa.Array | tuple[pa.Array, ...], names: list[str]) -> pa.RecordBatch:
    if isinstance(columns, pa.Array):  # Spark hands a single column over as it is
        columns = (columns,)
    if len(columns) != len(names):
        raise DataError(f"scumble_sketch takes {many(len(names), 'column')} ({', '.join(names)}), got {len(columns)}.")
    return pa.RecordBatch.from_arrays(list(columns), names)


def _merging() -> Callable[..., bytes]:
    def scumble_merge(batches: Iterator[pa.Array]) -> bytes:
        total: Sketch | None = None
        for column in batches:
            for data in column.drop_null():
                part = sketch_from(data.as_py())
                total = part if total is None else total.merge(part)
        if total is None:
            raise DataError("scumble_merge found nothing to merge.")
        return _bytes(total)

    scumble_merge.__annotations__ = {"batches": Iterator[pa.Array], "return": bytes}
    return scumble_merge


def _bytes(sketch: Sketch) -> bytes:
    return files.to_bytes("secret", *sketch.contents())


def _count(sketch: Sketch, table: pa.Table) -> None:
    try:
        sketch.update(table)
    except ScumbleError:
        raise
    except Exception as problem:
        # Another library's message may quote cells, and Spark would log it.
        raise RuntimeError(f"Counting failed with {type(problem).__name__}.") from None
