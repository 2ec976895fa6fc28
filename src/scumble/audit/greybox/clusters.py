"""Paths of Spark: DataFrames, SQL and streams, on a cluster of this machine. Where Spark is not, there are none."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scumble import Bundle, Release
from scumble.audit.greybox.building import COLUMNS, KERNEL, file_of
from scumble.audit.greybox.neighbors import CLASSES, Table
from scumble.audit.greybox.paths import path

SIZE: dict[str, Any] = {"rows": 6, "buckets": 16, "seed": 3, "design": "iid", "invalid": "drop"}
OPTIONS: dict[str, Any] = {**SIZE, "allow_empty": True, "epsilon": 1.0}
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
    _started.append(spark.session("local[1]", settings={"spark.sql.shuffle.partitions": "1"}))
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
    def _build(table: Table, folder: Path) -> Release:
        return spark.build(frame(table, folder), KERNEL, COLUMNS, **OPTIONS)

    @path("spark.build, a person column", "persons", few=1, people=3)
    def _persons(table: Table, folder: Path) -> Release:
        options = {**OPTIONS, "person_column": "who", "records_per_person": 3}
        return spark.build(frame(table, folder), KERNEL, COLUMNS, **options)

    @path("spark.build_by", "labels", few=2)
    def _build_by(table: Table, folder: Path) -> Bundle:
        return spark.build_by(frame(table, folder), "label", KERNEL, COLUMNS, classes=CLASSES, **OPTIONS)

    @path("spark.sketch, then release", "floats", few=1)
    def _sketch(table: Table, folder: Path) -> Release:
        return spark.sketch(frame(table, folder), KERNEL, COLUMNS, **SIZE).release(epsilon=1.0, delta=1e-6)

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
        (folder / "in").mkdir()
        releases = []
        for k in range(2):
            mine = [record for record in table if sum(repr(record["y"]).encode()) % 2 == k]
            where = folder / "in" / f"{k}.parquet"
            shutil.move(file_of(mine, folder), where)
            schema = session().read.parquet(str(where)).schema
            writer = session().readStream.schema(schema).parquet(str(folder / "in")).writeStream
            query = writer.foreachBatch(stream).option("checkpointLocation", str(folder / "spark"))
            query.trigger(availableNow=True).start().awaitTermination()
            releases.append(stream.release(epsilon=1.0, delta=1e-6))
        # Periods have no record in common: one claim covers both.
        return [release.to_bytes() for release in releases] + [releases[0].privacy]


if is_there():
    _register()
