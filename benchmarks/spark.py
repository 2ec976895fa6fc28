"""Counting on Spark compared with one machine, on the same cores: ``python -m benchmarks.spark``.

A table of 20 million rows × 8 columns lies in a folder of Parquet files. One process with two threads counts it, and so
do two executors with one core each (`local-cluster`), in turn, with all loops compiled. CPU time is reported next to
wall-clock time. Then: the driver's memory as partitions grow, what is shuffled, and an extrapolation to large clusters.

The sketch has the rows that the plan chooses at ε = 1; ``--sketch-rows 1000`` sets another number. ``--rows 2000000
--repeats 1`` is shorter.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import scumble
from scumble.cluster import spark
from scumble.sources import Build

COLUMNS = [f"x{j}" for j in range(8)]
KERNEL = scumble.EuclideanKernel(bandwidth=4.0)
FILES = 16


def write_table(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(2020)
    each = rows // FILES
    for k in range(FILES):
        X = rng.normal(size=(each, len(COLUMNS)))
        table = pa.table({name: X[:, j] for j, name in enumerate(COLUMNS)})
        pq.write_table(
            table, folder / f"{k:03}.parquet", compression="none", use_dictionary=False, row_group_size=1 << 17
        )


class Processor(threading.Thread):
    """Seconds of processor time of this process and all its descendants, those that have ended meanwhile included."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._used: dict[int, float] = {}
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.5):
            self._look()

    def _look(self) -> None:
        tick = os.sysconf("SC_CLK_TCK")
        children: dict[int, list[int]] = {}
        used: dict[int, float] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has just ended
                cells = path.read_text().rsplit(")", 1)[1].split()
                children.setdefault(int(cells[1]), []).append(int(path.parent.name))
                used[int(path.parent.name)] = sum(map(int, cells[11:13])) / tick
        waiting = [os.getpid()]
        while waiting:
            one = waiting.pop()
            self._used[one] = used.get(one, 0.0)
            waiting += children.get(one, [])

    def __enter__(self) -> Processor:
        self._look()
        self._before = sum(self._used.values())
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self.join()
        self._look()
        self.seconds = sum(self._used.values()) - self._before


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds, processor seconds, result."""
    start = time.perf_counter()
    with Processor() as processor:
        result = work()
    return time.perf_counter() - start, processor.seconds, result


def on_one_machine(folder: Path, size: dict, threads: int) -> scumble.Sketch:
    job = Build(str(folder), KERNEL, COLUMNS, threads=threads, **size)
    return job.count().sketches[0]


@contextmanager
def cluster(executors: int, folder: Path) -> Iterator[Any]:
    """A session with so many executors of one core, its own event log, and little memory for the driver."""
    import pyspark

    home = folder / f"home-{executors}"
    if not home.exists():
        home.mkdir()
        (home / "events").mkdir()
        for name in ("bin", "jars"):
            (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    os.environ |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    session = spark.session(
        f"local-cluster[{executors},1,1024]",
        settings={
            "spark.driver.memory": "512m",
            "spark.local.dir": str(home / "local"),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{home}/events",
            "spark.log.level": "ERROR",
        },
    )
    try:
        yield session
    finally:
        session.stop()


def shuffled(folder: Path) -> int:
    """Bytes that all tasks have written for shuffles, by the event log."""
    total = 0
    for path in folder.glob("home-*/events/**/*"):
        if path.is_file():
            for line in path.read_text().splitlines():
                if '"SparkListenerTaskEnd"' in line:
                    metrics = json.loads(line).get("Task Metrics") or {}
                    total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total


def heap(session: Any) -> float:
    """What the driver's JVM really holds, in MB."""
    jvm = session.sparkContext._jvm
    jvm.System.gc()
    runtime = jvm.Runtime.getRuntime()
    return (runtime.totalMemory() - runtime.freeMemory()) / 1e6


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def compare(folder: Path, session: Any, data: Path, size: dict, rows: int, repeats: int) -> float:
    """Turn about; gives the rows a second of one core of the cluster, by processor time."""
    df = session.read.parquet(str(data))
    _, first, _ = timed(lambda: spark.sketch(df, KERNEL, COLUMNS, **{**size, "rows": 8}))
    _, again, _ = timed(lambda: spark.sketch(df, KERNEL, COLUMNS, **{**size, "rows": 8}))
    print(f"compiling first: two fresh executors need {first - again:.0f} s of processor more for their first pass")
    print(f"{rows:,} rows x {len(COLUMNS)} columns, {size['rows']} rows x {size['buckets']} counters, 2 cores; seconds")
    print(f"{'':>8}{'one machine':>26}{'Spark, 2 executors':>26}{'speed, Spark / one machine':>34}")
    print(f"{'':>8}{'wall':>13}{'processor':>13}{'wall':>13}{'processor':>13}{'by wall':>17}{'by processor':>17}")
    walls, cores, best = [], [], 0.0
    for k in range(repeats):
        here, here_cpu, alone = timed(lambda: on_one_machine(data, size, threads=2))
        there, there_cpu, made = timed(lambda: spark.sketch(df, KERNEL, COLUMNS, **size))
        assert np.array_equal(alone.contents()[1]["counts"], made.contents()[1]["counts"]), "to the integer"
        walls.append(here / there)
        cores.append(here_cpu / there_cpu)
        best = max(best, rows / there_cpu)
        print(f"{k + 1:8}{here:13.1f}{here_cpu:13.1f}{there:13.1f}{there_cpu:13.1f}{walls[-1]:17.2f}{cores[-1]:17.2f}")
    print(f"{'median':>8}{np.median(walls):69.2f}{np.median(cores):17.2f}\n")
    return best


def driver_memory(folder: Path, session: Any, size: dict) -> None:
    print("the driver (512 MB at most) as partitions grow; MB")
    print(f"{'partitions':>12}{'JVM holds':>12}{'Python, peak':>14}{'shuffled':>12}{'seconds':>9}")
    for partitions in (16, 128, 1024):
        df = session.range(0, 64 * partitions, numPartitions=partitions).selectExpr("id % 97 AS x0")
        before = shuffled(folder)
        wall, _, _ = timed(lambda df=df: spark.sketch(df, KERNEL, ["x0"], **size))
        time.sleep(2)  # the event log is written behind
        moved = (shuffled(folder) - before) / 1e6
        print(f"{partitions:12,}{heap(session):12.0f}{peak():14.0f}{moved:12.1f}{wall:9.1f}")
    print(f"one sketch has {8e-6 * size['rows'] * size['buckets']:.1f} MB; Spark packs what it shuffles\n")


def growth(data: Path, folder: Path, size: dict, rows: int) -> None:
    """Rows a second with one executor; with two it was measured above, turn about."""
    with cluster(1, folder) as session:
        df = session.read.parquet(str(data))
        spark.sketch(df.limit(1000), KERNEL, COLUMNS, **size)
        wall, used, _ = timed(lambda: spark.sketch(df, KERNEL, COLUMNS, **size))
    print(f"one executor: {wall:.1f} s wall, {used:.1f} s of processor, {rows / wall:,.0f} rows a second\n")


def on_paper(per_core: float, size: dict) -> None:
    print(f"on paper, from {per_core:,.0f} rows a second and core at R = {size['rows']} (time grows with R)")
    print(f"{'records':>12}{'cores':>8}{'counting':>14}{'partitions':>12}{'shuffled, unpacked':>20}")
    sketch = 8 * size["rows"] * size["buckets"]
    for records, cores in ((1e9, 10), (1e10, 100), (1e11, 1000)):
        partitions = int(records // 20_000_000)
        print(
            f"{records:12.0e}{cores:8,}{records / cores / per_core / 60:10.1f} min{partitions:12,}"
            f"{partitions * sketch / 1e9:17,.1f} GB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--sketch-rows", type=int, metavar="R", help="left out: what the plan chooses for such a table")
    args = parser.parse_args()
    planned = scumble.plan(args.rows, len(COLUMNS), epsilon=1.0, kernel=KERNEL)
    size = {"rows": args.sketch_rows or planned.rows, "buckets": 1024, "seed": 7, "design": "sobol"}
    with tempfile.TemporaryDirectory() as place:
        folder, data = Path(place), Path(place) / "table"
        data.mkdir()
        write_table(data, args.rows)
        on_one_machine(data / "000.parquet", {**size, "rows": 8}, 1)  # compile first
        with cluster(2, folder) as session:
            spark.sketch(session.range(0, 1000, numPartitions=4).toDF("x0"), KERNEL, ["x0"], rows=8, buckets=64)
            per_core = compare(folder, session, data, size, args.rows // FILES * FILES, args.repeats)
            driver_memory(folder, session, {**size, "rows": 50})
        growth(data, folder, size, args.rows // FILES * FILES)
        on_paper(per_core, size)


if __name__ == "__main__":
    main()
