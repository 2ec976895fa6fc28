"""All that scumble asks of Spark. The only file that imports PySpark, and only when needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from scumble.errors import ParameterError, PrivacyError, ScumbleError, parameter

Frame: TypeAlias = Any
"""A DataFrame, a session or a reader of PySpark, whose types are not known here."""
_LOCALS = "spark.sql.execution.pyspark.udf.tracebackWithLocals.enabled"
_CLEAN_UP = "spark.sql.classic.shuffleDependency.fileCleanup.enabled"
_SETTING = threading.Lock()
"""Held while a setting of the session is changed."""


def _pyspark() -> Frame:
    try:
        with _calm():
            import pyspark.sql
    except ImportError:
        raise ScumbleError("There is no PySpark. Hint: pip install 'scumble[spark]', on workers too.") from None
    return pyspark


@contextlib.contextmanager
def _calm() -> Iterator[None]:
    """Without PySpark's warning about new pandas, which scumble does not hand to Spark."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def session(master: str | None = None, *, name: str = "scumble", settings: Mapping[str, str] | None = None) -> Frame:
    """The active Spark session, or a new one.

    A new one encrypts what it writes to disks, shows no web page, and runs this same Python on local workers.
    `master` says where: "local[4]", "spark://host:7077", "yarn", "k8s://...", or None for Spark's configuration.
    `name` is the application's. `settings` are Spark's own and take precedence.
    """
    pyspark = _pyspark()
    active = pyspark.sql.SparkSession.getActiveSession()
    if active is not None:
        return active
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") or (home and os.access(os.path.join(home, "bin", "java"), os.X_OK))
    if not java and not str(master or "").startswith("sc://"):
        hint = "Hint: install openjdk 17, or set JAVA_HOME."
        raise ScumbleError(f"Spark needs Java 17, and there is no `java` here. {hint}")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    maker = pyspark.sql.SparkSession.builder.appName(name)
    if master is not None:
        maker = maker.remote(master) if master.startswith("sc://") else maker.master(master)
    plain = dict.fromkeys(["spark.ui.enabled", "spark.ui.showConsoleProgress"], "false")
    plain["spark.io.encryption.enabled"] = "true"
    for key, value in {**plain, **(settings or {})}.items():
        maker = maker.config(key, value)
    with _calm():
        return maker.getOrCreate()


def require_frame(df: Frame) -> None:
    """Refuse anything but a DataFrame, and a session whose settings would log cells."""
    if type(df).__module__.split(".")[0] != "pyspark" or not hasattr(df, "mapInArrow"):
        raise parameter("df", "a Spark DataFrame", type(df).__name__, "scumble.build takes files and tables in memory.")
    if df.isStreaming:
        raise ParameterError("`df` is a stream. Hint: df.writeStream.foreachBatch(scumble.cluster.spark.into(stream)).")
    if df.sparkSession.conf.get(_LOCALS, "false") == "true":
        raise PrivacyError(f"{_LOCALS} is on: a failed task would log cells of the table. Hint: set it to false.")


def require_same_again(df: Frame) -> None:
    """Refuse a table that could differ when a task runs again."""
    plan = getattr(df, "_jdf", None)  # Spark Connect keeps its plans to itself
    if plan is not None and not plan.queryExecution().optimizedPlan().deterministic():
        raise ParameterError("`df` uses rand() or the like, which differs if repeated. Hint: df.checkpoint().")


@contextlib.contextmanager
def tidy(spark: Frame) -> Iterator[None]:
    """Shuffle files of queries made here are removed as soon as they have run."""
    with _SETTING:
        try:
            before = spark.conf.get(_CLEAN_UP)
        except Exception:  # unknown to this Spark, which removes them at the end
            yield
            return
        spark.conf.set(_CLEAN_UP, "true")
        try:
            yield
        finally:
            spark.conf.set(_CLEAN_UP, before)


def map_batches(df: Frame, work: Callable[..., object], schema: str) -> Frame:
    """Each partition's Arrow batches through `work`."""
    with _calm():
        return df.mapInArrow(work, schema)


def aggregate(spark: Frame, name: str, work: Callable[..., bytes]) -> None:
    """Make `work`, from an iterator of batches of arrays to bytes, an aggregate function of SQL."""
    functions = _pyspark().sql.functions
    if not hasattr(functions, "arrow_udf"):
        raise ScumbleError("SQL aggregates need PySpark 4.2 or newer. Hint: pip install --upgrade pyspark.")
    with _calm():
        spark.udf.register(name, functions.arrow_udf(work, "binary"))


def whole_lines(reader: Frame, paths: list[str]) -> Frame:
    """CSV files as text. A line with too few or too many cells becomes a row of missing cells."""
    functions = _pyspark().sql.functions
    names = reader.csv(paths).columns
    broken = "__scumble_broken_line"
    schema = ", ".join(f"{quoted(name)} string" for name in [*names, broken])
    strict = reader.options(columnNameOfCorruptRecord=broken, enforceSchema=False, columnPruning=False).schema(schema)
    whole = functions.col(broken).isNull()
    return strict.csv(paths).select(*[functions.when(whole, functions.col(quoted(name))).alias(name) for name in names])


_ARROW_TYPES = {
    "number": pa.float64(),
    "category": pa.binary(),
    "word": pa.binary(),
    "any": pa.binary(),
    "tokens": pa.list_(pa.binary()),
}
_SPARK_TYPES = {"number": "double", "category": "binary", "word": "binary", "any": "binary", "tokens": "array<binary>"}


def json_lines(spark: Frame, paths: list[str], roles: Mapping[str, str]) -> Frame:
    """JSON lines with the columns of `roles`, each line parsed as on one machine."""
    from scumble.sources.jsonlines import parsed

    schema = ", ".join(f"{quoted(name)} {_SPARK_TYPES[role]}" for name, role in roles.items())
    target = pa.schema([(name, _ARROW_TYPES[role]) for name, role in roles.items()])

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield parsed(batch.column(0).to_pylist(), roles).cast(target)

    lines = spark.read.option("lineSep", "\n").text(paths)
    return map_batches(lines.select(lines["value"].cast("binary")), parse, schema)


def first_of_each(df: Frame, person: str, columns: list[str], most: int) -> Frame:
    """At most `most` rows of each person, those whose hash comes first; and all rows without a person.

    Which rows pass depends on the person's own rows alone, and is the same when a task runs again.
    """
    functions, window = _pyspark().sql.functions, _pyspark().sql.Window
    cells = [functions.col(quoted(name)) for name in columns]
    owner = functions.col(quoted(person))
    place = functions.row_number().over(window.partitionBy(owner).orderBy(functions.xxhash64(*cells), *cells))
    rank = "__scumble_rank"
    return df.withColumn(rank, place).where(owner.isNull() | (functions.col(rank) <= most)).drop(rank)


def quoted(name: str) -> str:
    """A column's name as Spark's expressions want it, dots and all."""
    return "`" + name.replace("`", "``") + "`"


def task() -> tuple[int, int]:
    """Within a task: the partition's number, and the task's cores."""
    from pyspark import TaskContext

    here = TaskContext.get()
    return (0, 1) if here is None else (here.partitionId(), here.cpus())


def query_of(df: Frame) -> str:
    """In `foreachBatch`: the identity of the stream's query, which its Spark checkpoint keeps."""
    identity: str = df.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    return identity


def parallelism(df: Frame) -> int:
    """How many tasks the cluster runs at once; 8 if unknown."""
    context = context_of(df)
    return 8 if context is None else max(1, context.defaultParallelism)


def context_of(df: Frame) -> Frame:
    """The session's context; None with Spark Connect, which has none."""
    return getattr(df.sparkSession, "sparkContext", None) if getattr(df, "_jdf", None) is not None else None
