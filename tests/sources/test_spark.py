"""Sketches on a real Spark cluster: two executors, each a process of its own. All tests share one session."""

from __future__ import annotations

import base64
import glob
import io
import json
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import coverage_of_paths as coverage
import greybox_paths
import scumble
from scumble.audit.greybox import all_paths, audit_path, run
from scumble.cli import main
from scumble.cluster import spark
from scumble.errors import CuratorWarning
from scumble.sources import Build
from scumble.sources.spark import ClusterBuild, counting

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

KERNEL = scumble.EuclideanKernel(1.0, columns=["a", "b"]) * scumble.HammingKernel(columns=["town"])
COLUMNS = ["a", "b", "town"]
FAR = 500
"""Twenty scales of the Laplace noise of a count at ε = 1: 4e-9."""
SIZE: dict = {"rows": 150, "buckets": 1024, "seed": 7, "design": "iid"}  # more than one piece

LOGGING = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/log-${{sys:scumble.role}}.txt
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}}: %m%n%ex
logger.python.name = org.apache.spark.api.python
logger.python.level = debug
logger.sqlpython.name = org.apache.spark.sql.execution.python
logger.sqlpython.level = debug
logger.scheduler.name = org.apache.spark.scheduler
logger.scheduler.level = debug
logger.storage.name = org.apache.spark.storage
logger.storage.level = debug
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the cluster of these tests keeps all its files."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator:
    import pyspark

    # Standalone workers keep their executors' logs under SPARK_HOME: a home of our own, made of links.
    home = folder / "home"
    home.mkdir()
    for name in ("bin", "jars"):
        (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    (folder / "events").mkdir()
    (folder / "log4j2.properties").write_text(LOGGING.format(folder=folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_HOME", str(home))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # short lives do not repay more compiling
        log = f"{quick} -Dlog4j2.configurationFile=file:{folder}/log4j2.properties -Dscumble.role="
        made = spark.session(
            "local-cluster[2,1,1024]",
            settings={
                "spark.io.encryption.enabled": "false",  # so that the search below would find what is there
                "spark.local.dir": str(folder / "local"),
                "spark.sql.warehouse.dir": str(folder / "warehouse"),
                "spark.sql.shuffle.partitions": "3",
                "spark.eventLog.enabled": "true",
                "spark.eventLog.compress": "false",
                "spark.eventLog.dir": f"file://{folder}/events",
                "spark.driver.extraJavaOptions": f"{log}driver",
                "spark.executor.extraJavaOptions": f"{log}executor",
            },
        )
        yield made
        made.stop()


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(8)
    n = 6000
    a = rng.normal(0, 2, n)
    a[::500] = np.nan
    towns = [None if i % 700 == 3 else ("Ulm", "Köln", "Bonn")[i % 3] for i in range(n)]
    return pa.table({"a": a, "b": rng.integers(0, 9, n), "town": towns, "who": rng.integers(0, 400, n)})


@pytest.fixture(scope="module")
def df(session, table: pa.Table, folder: Path):
    pq.write_table(table, folder / "people.parquet")
    return session.read.parquet(str(folder / "people.parquet"))


def alone(table: pa.Table, **options: object) -> scumble.Sketch:
    settings = {**SIZE, "invalid": "drop", **options}
    return scumble.Sketch(KERNEL, columns=COLUMNS, **settings).update(table)


def counters(sketch: scumble.Sketch) -> np.ndarray:
    return sketch.contents()[1]["counts"]


def equal(here: scumble.Sketch, there: scumble.Sketch) -> None:
    np.testing.assert_array_equal(counters(here), counters(there))


# ---- equal to one machine ----


def test_any_number_of_partitions_gives_the_sketch_of_one_machine(
    df, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[int] = []
    add = counting.Sums.add
    monkeypatch.setattr(
        counting.Sums, "add", lambda self, batch: (received.append(batch.num_rows), add(self, batch))[1]
    )
    told: list[spark.Partitions] = []
    made = spark.sketch(df.repartition(6), KERNEL, COLUMNS, invalid="drop", progress=told.append, **SIZE)
    expected = alone(table)
    equal(made, expected)
    assert made.dropped == expected.dropped > 0
    pieces = -(-SIZE["rows"] * SIZE["buckets"] // counting.PIECE)
    assert sum(received) == pieces + 1, "the driver gets one sketch and the curator's numbers, however many partitions"
    assert all(0 <= state.done <= state.of for state in told)
    assert told and told[-1].of >= 6, "progress is told by partitions"


def test_a_whole_table_too(df, table: pa.Table) -> None:
    schema = scumble.Schema(
        a=scumble.Number(-5, 5, cells=30), b=scumble.Number(0, 8, whole=True), town=scumble.Category(["Ulm", "Bonn"])
    )
    job = ClusterBuild(df, schema=schema, target="town", epsilon=1.0, invalid="drop")
    (found,) = job.count().sketches
    wanted = scumble.TableSketch(schema, target="town", invalid="drop").update(table)
    np.testing.assert_array_equal(found.secret.counts, wanted.secret.counts)
    assert found.dropped == wanted.dropped == 12
    here = Build(table, schema=schema, target="town", epsilon=1.0, invalid="drop")
    here.count()
    assert job.strays() == here.strays() and len(here.strays()) == 2, "some numbers are outside, some words not known"


def test_words_that_nobody_declared_and_sets_of_words_too(session, table: pa.Table, folder: Path) -> None:
    draw = np.random.default_rng(9)
    sets = [["Ulm", "Bonn", "x"][: k % 4] or None for k in draw.integers(0, 9, table.num_rows)]
    streets = pa.array([f"street {k}" for k in draw.geometric(0.01, table.num_rows)])
    wider = table.append_column("seen", pa.array(sets)).append_column("street", streets)
    pq.write_table(wider, folder / "wider.parquet")
    schema = scumble.Schema(
        street=scumble.Category(discover=True),
        town=scumble.Category(discover=True),
        seen=scumble.Tokens(["Ulm", "Bonn"], 2),
        b=scumble.Number(0, 8, whole=True),
    )
    df = session.read.parquet(str(folder / "wider.parquet")).repartition(5)
    job = ClusterBuild(df, schema=schema, epsilon=3.0, delta=1e-6)
    (found,) = job.count().sketches
    wanted = scumble.TableSketch(schema).update(wider)
    np.testing.assert_array_equal(found.secret.counts, wanted.secret.counts)
    for mine, its in zip(found.secret.words, wanted.secret.words, strict=True):
        assert mine.margins() == its.margins() and mine.records == its.records > 5000
    assert len(wanted.secret.words[0].margins()) > 300


# ---- exactly once ----


def troubled(folder: Path) -> Callable:
    """Partitions that fail after half their rows, or kill their executor: each on its first try."""

    def once(what: str) -> bool:
        try:
            os.close(os.open(folder / what, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        here = TaskContext.get().partitionId()
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if here == 1 and once("failed"):
                raise RuntimeError("a task fails on its first try")
            if here == 2 and once("killed"):
                daemon = os.getppid()
                jvm = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
                os.kill(jvm, signal.SIGKILL)
                time.sleep(60)
            yield batch.slice(batch.num_rows // 2)

    return work


def test_failing_and_killed_tasks_count_every_record_once(df, table: pa.Table, folder: Path, tmp_path: Path) -> None:
    upset = df.repartition(3).mapInArrow(troubled(tmp_path), df.schema)
    equal(spark.sketch(upset, KERNEL, COLUMNS, invalid="drop", **SIZE), alone(table))
    assert sorted(os.listdir(tmp_path)) == ["failed", "killed"], "all of it happened"
    assert "Lost executor" in (folder / "log-driver.txt").read_text()


def test_a_table_that_changes_when_read_again_is_refused(session) -> None:
    from pyspark.sql import functions

    df = session.range(100).select(functions.rand().alias("a"), "id")
    with pytest.raises(scumble.ParameterError, match=r"rand\(\).*checkpoint"):
        spark.sketch(df, scumble.EuclideanKernel(1.0), ["a"], rows=8)
    spark.sketch(df, scumble.EuclideanKernel(1.0), ["id"], rows=8)  # the column that is read does not change


# ---- merging and releasing ----


def test_one_sketch_a_key(df, table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {}
    take = counting._take
    monkeypatch.setattr(counting, "ROOM", 8 * 16 * 64)  # one sketch is open at a time
    monkeypatch.setattr(counting, "_take", lambda sums, tally: (take(sums, tally), kept.update(tally=tally))[0])
    kernel, towns = scumble.EuclideanKernel(1.0), ["Ulm", "Köln", "Bonn", "Rom"]
    size = {"rows": 16, "buckets": 64, "seed": 3, "design": "iid"}
    expected = []
    for town in towns:
        mine = scumble.Sketch(kernel, columns=["a", "b"], invalid="drop", **size)
        here = pa.compute.equal(table["town"], town).fill_null(False)
        expected.append(counters(mine.update(table.filter(here).select(["a", "b"]))))
    counted: list[np.ndarray] = []
    release_disjoint = scumble.density.sketch.release_disjoint
    monkeypatch.setattr(
        "scumble.density.sketch.release_disjoint",
        lambda sketches, *paid: (
            counted.extend(counters(one).copy() for one in sketches),
            release_disjoint(sketches, *paid),
        )[1],
    )
    with pytest.warns(CuratorWarning, match="records were left out"):
        bundle = spark.build_by(
            df.repartition(3), "town", kernel, ["a", "b"], classes=towns, epsilon=1.0, invalid="drop", **size
        )
    np.testing.assert_array_equal(np.array(counted), np.array(expected))
    assert bundle.classes == tuple(towns) and bundle.label == "town" and bundle.privacy.epsilon == 1.0
    assert abs(bundle["Rom"].count) < FAR, "an empty class also has its release"
    assert kept["tally"].rows == len(table) and kept["tally"].unknown > 0


def test_at_most_so_many_records_of_each_person(df, table: pa.Table) -> None:
    owners = table["who"].to_numpy()
    wanted = int(np.minimum(np.unique(owners, return_counts=True)[1], 3).sum())
    kernel = scumble.EuclideanKernel(1.0)
    made = ClusterBuild(df.repartition(5), kernel, ["b"], person_column="who", records_per_person=3, rows=8, buckets=64)
    chosen = made.count().sketches[0]
    assert chosen.count == wanted
    again = ClusterBuild(df, kernel, ["b"], person_column="who", records_per_person=3, rows=8, buckets=64)
    equal(again.count().sketches[0], chosen)  # the same records, however the table is cut
    assert made.release().privacy.records_per_person == 3


# ---- refusals ----


def test_bad_cells_are_the_drivers_news_and_no_tasks_failure(df, folder: Path) -> None:
    with pytest.raises(scumble.DataError, match=r"^Partition \d+: .*unreadable or infinite.*'a'.*invalid='drop'"):
        spark.sketch(df, KERNEL, COLUMNS, **SIZE)
    with pytest.raises(scumble.DataError, match=r"^Partition \d+: .*none of the classes: .* in column 'town'"):
        spark.build_by(
            df, "town", scumble.EuclideanKernel(1.0), ["b"], classes=["Ulm"], epsilon=1.0, rows=8, invalid="error"
        )
    with pytest.raises(scumble.DataError, match="Column 'town' must hold numbers, got text"):
        spark.build(df, scumble.EuclideanKernel(1.0), ["town"], epsilon=1.0)
    with pytest.raises(scumble.DataError, match="no column 'agee'"):
        spark.build(df, KERNEL, ["agee"], epsilon=1.0)
    for text in logs(folder):
        assert "missing, unreadable or infinite" not in text and "none of the classes" not in text


def test_what_does_not_go_with_a_cluster_is_refused(df, session) -> None:
    kernel = scumble.EuclideanKernel(1.0)
    with pytest.raises(scumble.ParameterError, match=r"Spark DataFrame.*scumble\.build"):
        spark.sketch(pa.table({"a": [1.0]}), kernel)
    with pytest.raises(scumble.ParameterError, match="checkpoint"):
        spark.build(df, kernel, ["b"], epsilon=1.0, checkpoint="state.secret")
    with pytest.raises(scumble.PrivacyError, match="Noise first"):
        spark.build(df, kernel, ["b"], epsilon=1.0, noise_first=True)
    with pytest.raises(scumble.ParameterError, match="build_by"):
        spark.build(df, kernel, ["b"], epsilon=1.0, classes=["Ulm"])
    with pytest.raises(scumble.DataError, match="no rows"):
        spark.build(df.where("b > 100"), kernel, ["b"], epsilon=1.0, rows=8, invalid="error")
    name = "spark.sql.execution.pyspark.udf.tracebackWithLocals.enabled"
    session.conf.set(name, "true")
    try:
        with pytest.raises(scumble.PrivacyError, match="tracebackWithLocals"):
            spark.sketch(df, kernel, ["b"])
    finally:
        session.conf.unset(name)


# ---- SQL ----


def test_aggregates_in_sql(session, df, table: pa.Table) -> None:
    df.createOrReplaceTempView("people")
    spark.register(session, KERNEL, COLUMNS, invalid="drop", **SIZE)
    parts = "SELECT b % 3 AS k, scumble_sketch(a, b, town) AS part FROM people GROUP BY b % 3"
    one = session.sql(f"SELECT scumble_merge(part) AS sketch FROM ({parts})").collect()[0].sketch
    made = spark.sketch_from(one)
    equal(made, alone(table))
    made.release(epsilon=1.0)
    spark.register(session, scumble.EuclideanKernel(1.0), ["b"], prefix="small", rows=8, buckets=64)
    by_town = session.sql("SELECT town, small_sketch(b) AS part FROM people GROUP BY town").collect()
    assert len(by_town) == 4 and sum(spark.sketch_from(row.part).count for row in by_town) == len(table)
    with pytest.raises(Exception, match="takes 1 column "):
        session.sql("SELECT small_sketch(a, b) FROM people").collect()


# ---- streams ----


class Interrupted(Exception):
    """Somebody pulled the plug."""


def test_a_stream_that_is_stopped_anywhere_counts_every_record_once(session, table: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    stream_table = table.select(["a", "b", "town"])
    for k in range(3):
        pq.write_table(stream_table.slice(2000 * k, 2000), tmp_path / "in" / f"{k}.parquet")
        os.utime(tmp_path / "in" / f"{k}.parquet", (k, k))
    schema = "a double, b bigint, town string"
    seen: list[tuple[str, int]] = []

    home = tmp_path / "state.secret"
    made = scumble.Stream(KERNEL, columns=COLUMNS, periods=2, epsilon=1.0, method="daily", invalid="drop", **SIZE)
    made.save(home)
    made.close()

    def run(before: int = -1, after: int = -1) -> scumble.Stream:
        stream = scumble.load_stream(home)
        sink = spark.into(stream)

        def step(batch: object, number: int) -> None:
            seen.append(("arrived", number))
            if number == before:
                raise Interrupted
            sink(batch, number)
            seen.append(("counted", number))
            if number == after:
                raise Interrupted

        source = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        writer = source.writeStream.foreachBatch(step).option("checkpointLocation", str(tmp_path / "spark"))
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except Exception as problem:
            assert "Interrupted" in str(problem)
            stream.close()
        return stream

    run(before=1)  # within a batch, before it is counted
    run(after=2)  # within a batch: counted here, not yet known to Spark
    stream = run()  # and on to the end
    arrived = [number for what, number in seen if what == "arrived"]
    assert arrived == [0, 1, 1, 2, 2], "Spark gave two batches twice"
    equal(stream._sketch, alone(table))


# ---- the command line ----


def test_the_command_line(session, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    nowhere = pa.table({"a": [1.5] * 90, "b": [2.0] * 90, "town": ["NA"] * 90})  # no towns, in files
    table = pa.concat_tables([table, nowhere], promote_options="permissive")
    pq.write_table(table, "people.parquet")
    pacsv.write_csv(table.select(["a", "b", "town"]), "people.csv")
    with open("people.csv", "a") as file:
        file.write("1.5,2\n1.5,2,Ulm,4\nx,2,Ulm\n")  # too few cells, too many, not a number
    with open("people.jsonl", "w") as file:
        for row in table.select(["a", "b", "town"]).to_pylist():
            file.write(json.dumps(row) + "\n")
        file.write('{"a": "1.5", "b": 2, "town": 7.0}\n{"a": 1, "b": 2, "town": "\\ud800", "HIV+": 1}\n\nno object\n')
    counted: list[np.ndarray] = []
    release = scumble.sources.Build.release
    monkeypatch.setattr(
        scumble.sources.Build,
        "release",
        lambda job, *more: (counted.append(counters(job.tally.sketches[0]).copy()), release(job, *more))[1],
    )
    options = "--columns a,b,town --categories town --bandwidth 1 --epsilon 1 --invalid drop --rows 20 --buckets 64"
    for source in ("people.parquet", "people.csv", "people.jsonl"):
        for where in ([], ["--engine", "spark", "--master", "local[2]"]):
            assert main(["build", source, *options.split(), *where, "--out", "p.scumble"]) == 0
        np.testing.assert_array_equal(counted[-1], counted[-2])
        assert counted[-1].sum() > 0
    assert abs(scumble.load("p.scumble").count - 5980) < FAR
    assert "records were left out" in capsys.readouterr().err
    nameless = "--bandwidth 1 --epsilon 1 --engine spark --master local[2] --out p.scumble"
    assert main(["build", "people.jsonl", *nameless.split()]) != 0
    told = capsys.readouterr().err
    assert "JSON lines declare no columns" in told and "HIV" not in told
    session.read.parquet(str(tmp_path / "people.parquet")).createOrReplaceTempView("folks")
    assert main(["build", "--engine", "spark", "--table", "folks", *options.split(), "--out", "p.scumble"]) == 0
    assert main(["build", "people.csv", *options.split(), "--master", "yarn", "--out", "p.scumble"]) == 2
    assert main(["build", "-", "--engine", "spark", *options.split(), "--out", "p.scumble"]) == 2
    assert main(["build", "gone.parquet", "--engine", "spark", *options.split(), "--out", "p.scumble"]) == 4
    assert "Spark cannot read 'gone.parquet'" in capsys.readouterr().err


# ---- the page of the docs ----


@pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # towns that the page does not name
def test_the_pages_examples_run(session, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people = pa.table({"age": table["b"], "income": table["who"], "town": table["town"]})
    pq.write_table(people, "people.parquet")
    os.mkdir("incoming")
    pq.write_table(people, "incoming/1.parquet")
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text()
    page = page.replace('"incoming"', repr(str(tmp_path / "incoming"))).replace("spark-state", str(tmp_path / "state"))
    names = {"session": session, "df": session.read.parquet(str(tmp_path / "people.parquet"))}
    examples = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(examples) >= 5
    for example in examples:
        exec(compile(example, "docs/spark.md", "exec"), names)
    assert abs(names["release"].count - len(people)) < FAR


# ---- the grey-box audit of all paths ----


def test_no_path_is_left_out(session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends in a release has run, every option of it; and Spark's paths, on this cluster, keep their promise.

    An estimator with options of its own is not run again here, for these are found by name: a hole it would fill shows.
    """
    paths, seen, known, alike = all_paths(), coverage.Seen(), set(), []
    greybox_paths.brief(monkeypatch)

    def runs(name: str) -> None:
        with seen.watching():
            run(paths[name].run, paths[name].pairs()[0].here)

    on_spark = {name for name in paths if name.startswith("spark")}
    assert on_spark
    for name in on_spark:
        with seen.watching():
            assert audit_path(paths[name]).findings == []
    for name in paths.keys() - on_spark:
        if not re.search(r"\(.+\)$", name) or name.startswith("Sketch"):
            way = paths[name].run
            new = {
                (way.func, option, value if isinstance(value, str) or callable(value) else None)
                for option, value in [("", ""), *way.keywords.items()]
            }
            if new <= known:
                alike.append(name)
            else:
                known |= new
                runs(name)
    for name in alike:  # differ from others in the numbers of their options alone
        if not coverage.holes(seen):
            break
        runs(name)
    assert coverage.holes(seen) == []


# ---- nothing secret is left behind ----


def logs(folder: Path) -> Iterator[str]:
    """The driver's and the executors' logs and output, and the event log."""
    paths = [*folder.glob("log-*"), *folder.glob("home/work/*/*/std*"), *folder.glob("events/**/*")]
    files = [path for path in paths if path.is_file()]
    assert len(files) >= 4
    for path in files:
        yield path.read_text(errors="replace")


def test_logs_and_event_log_hold_no_counter_and_no_record(session, folder: Path) -> None:
    """Counters that would be recognized anywhere, as text and as bytes; records by their cells."""
    crowds = {"Zwiesel-am-Regen": 104_729, "Quakenbruck-West": 130_363}
    number = 271828.18284
    towns = [town for town, size in crowds.items() for _ in range(size)]
    frame = pa.table({"town": towns, "x": np.full(len(towns), number)})
    pq.write_table(frame, folder / "secret.parquet")
    df = session.read.parquet(str(folder / "secret.parquet")).repartition(5)
    kernel = scumble.HammingKernel(columns=["town"]) * scumble.EuclideanKernel(1.0, columns=["x"])
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    talk = logging.getLogger("py4j")
    before = talk.level
    talk.addHandler(handler)
    talk.setLevel(logging.DEBUG)
    try:
        made = spark.sketch(df, kernel, ["town", "x"], rows=16, buckets=256, seed=1)
        bundle = spark.build_by(
            df, "town", scumble.EuclideanKernel(1.0), ["x"], classes=list(crowds), epsilon=1.0, rows=8
        )
    finally:
        talk.removeHandler(handler)
        talk.setLevel(before)
    found = set(counters(made).ravel().tolist()) - {0}
    assert set(crowds.values()) <= found and bundle.privacy.epsilon == 1.0
    raw = [size.to_bytes(8, "little") for size in crowds.values()]
    words = [*crowds, str(number), *(one.hex() for one in raw), *(base64.b64encode(one)[:6].decode() for one in raw)]
    needles = [*map(re.escape, words), *(rf"(?<!\d){size}(?!\d)" for size in crowds.values())]
    time.sleep(1)  # the event log is written behind
    texts = [*logs(folder), stream.getvalue()]
    assert any("SparkListenerTaskEnd" in text for text in texts) and any("command" in text.lower() for text in texts)
    for needle in needles:
        assert not any(re.search(needle, text) for text in texts), needle


def test_no_file_outlives_the_job(df, folder: Path) -> None:
    def shuffles() -> set[str]:
        return set(glob.glob(f"{folder}/local/**/shuffle_*", recursive=True))

    old = shuffles()
    spark.sketch(df.repartition(3), KERNEL, COLUMNS, invalid="drop", **SIZE)
    with pytest.raises(scumble.DataError):
        spark.sketch(df.repartition(3), KERNEL, COLUMNS, **SIZE)
    deadline = time.monotonic() + 60
    while shuffles() - old and time.monotonic() < deadline:  # executors get the request and act a moment later
        time.sleep(0.2)
    assert shuffles() - old == set()
