"""Paths of Spark: DataFrames, SQL and streams, on a cluster of this machine. Where Spark is not, there are none."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import scumble
from scumble import Bundle, EuclideanKernel, Release
from scumble.audit.greybox.building import COLUMNS, DECLARED, KERNEL, KINDS, dated
from scumble.audit.greybox.forms import file_of
from scumble.audit.greybox.neighbors import CLASSES, Table
from scumble.audit.greybox.paths import path
from scumble.audit.greybox.sketches import ledger_of
from scumble.audit.greybox.tabular import SCHEMA

SIZE: dict[str, Any] = {"rows": 6, "buckets": 16, "seed": 3, "design": "iid", "invalid": "drop"}
OPTIONS: dict[str, Any] = {**SIZE, "allow_empty": True}
_started: list[Any] = []


def is_there() -> bool:
    """Whether PySpark and Java are installed."""
    java = os.path.join(os.environ.get("JAVA_HOME", ""), "bin", "java")
    return find_spec("pyspark") is not None and shutil.which(java if os.path.exists(java) else "java") is not None


def session() -> Any:
    """A session of one core, made when first asked for; the one that is active already, if there is one."""
    from pyspark.sql import SparkSession

    from scumble.cluster import spark

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a short life does not repay more compiling
    settings = {"spark.sql.shuffle.partitions": "1", "spark.driver.extraJavaOptions": quick}
    _started.append(spark.session("local[1]", settings=settings))
    return _started[-1]


def stop() -> None:
    """End the session that was started here."""
    while _started:
        _started.pop().stop()


def frame(table: Table, folder: Path) -> Any:
    """The table as a DataFrame."""
    return session().read.parquet(str(file_of(table, folder)))


def _register() -> None:
    from scumble.cluster import spark

    @path("spark.build", "floats", "missing", few=1)
    def _build(table: Table, folder: Path) -> Any:
        return spark.build(frame(table, folder), KERNEL, COLUMNS, **OPTIONS)

    @path("spark.build, a person column", "persons", few=1, people=3)
    def _persons(table: Table, folder: Path) -> Any:
        options = {**OPTIONS, "person_column": "who", "records_per_person": 3}
        return spark.build(frame(table, folder), KERNEL, COLUMNS, **options)

    @path("spark.build, a schema", "floats", "missing", "missing things", few=2)
    def _table(table: Table, folder: Path) -> Any:
        options: dict[str, Any] = {"invalid": "drop", "allow_empty": True, "epsilon": 1.0}
        return spark.build(frame(table, folder), schema=SCHEMA, target="label", **options)

    @path("spark.build_by", "labels", few=2)
    def _build_by(table: Table, folder: Path) -> Bundle:
        return spark.build_by(frame(table, folder), "label", KERNEL, COLUMNS, classes=CLASSES, **OPTIONS)

    @path("spark.sketch of declared columns, then release", "floats", few=1)
    def _sketch(table: Table, folder: Path) -> Release:
        made = spark.sketch(frame(dated(table), folder), EuclideanKernel(2.0), DECLARED, **SIZE, **KINDS)
        return made.release(epsilon=1.0, delta=1e-3)

    @path("spark.register, SQL, spark.sketch_from, then release", "missing", few=1)
    def _sql(table: Table, folder: Path) -> Release:
        frame(table, folder).createOrReplaceTempView("people")
        spark.register(session(), KERNEL, COLUMNS, **SIZE)
        parts = "SELECT label, scumble_sketch(x, y, thing) AS part FROM people GROUP BY label"
        merged = session().sql(f"SELECT scumble_merge(part) AS sketch FROM ({parts})").collect()[0].sketch
        return spark.sketch_from(merged).release(epsilon=1.0)

    @path("spark.Stream.release, twice", "floats", few=1)
    def _stream(table: Table, folder: Path) -> list[Any]:
        """Two periods, of one file each; a record itself says which it is in."""
        stream = spark.Stream(KERNEL, COLUMNS, checkpoint=folder / "state.secret", **SIZE)
        releases = []
        for k in range(2):
            mine = [record for record in table if sum(repr(record["y"]).encode()) % 2 == k]
            _arrive(stream, mine, folder, k)
            releases.append(stream.release(mu=0.2, delta=1e-5) if k else stream.release(rho=0.02))
        # Periods have no record in common: one claim covers both.
        return [release.to_bytes() for release in releases] + [releases[0].privacy]

    @path("spark.into a Stream", "floats", few=1)
    def _into(table: Table, folder: Path) -> list[Any]:
        """Two nights of one file each, all for one budget."""
        size = {**SIZE, "columns": COLUMNS, "periods": 2, "epsilon": 1.0, "delta": 1e-3}
        stream = scumble.Stream(KERNEL, **size)
        stream.save(folder / "stream.secret")
        out = []
        for k in range(2):
            mine = [record for record in table if sum(repr(record["y"]).encode()) % 2 == k]
            _arrive(spark.into(stream), mine, folder, k)
            out.append(stream.close_period(k + 1).to_bytes())
        return [*out, stream.privacy]

    @path("spark.Stream.release, all options", "floats", few=1, neighbors="replace", people=2)
    def _charged_stream(table: Table, folder: Path) -> Any:
        size = {**SIZE, "invalid": "error"}  # under replace no record may be dropped
        stream = spark.Stream(KERNEL, COLUMNS, checkpoint=folder / "state.secret", **size)
        _arrive(stream, table, folder, 0)
        book = ledger_of(folder)
        book.open_dataset("pairs", epsilon=1.0, neighbors="replace", records_per_person=2)
        options: dict[str, Any] = {"count_share": 0.1, "backend": "opendp", "ledger": book, "dataset": "pairs"}
        return stream.release(1.0, 0.0, "replace", 2, **options)

    def _arrive(stream: Any, table: Table, folder: Path, number: int) -> None:
        """A file of records that the stream reads to its end."""
        where = folder / "in" / f"{number}.parquet"
        where.parent.mkdir(exist_ok=True)
        shutil.move(file_of(table, folder), where)
        schema = session().read.parquet(str(where)).schema
        writer = session().readStream.schema(schema).parquet(str(where.parent)).writeStream
        query = writer.foreachBatch(stream).option("checkpointLocation", str(folder / "spark"))
        query.trigger(availableNow=True).start().awaitTermination()


if is_there():
    _register()
