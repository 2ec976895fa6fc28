"""How long a large table takes, from Parquet to the first answer, and how much memory.

    python -m benchmarks.tables.size [--rows 20000000] [--columns 15] [--threads 1,2,16]

Makes the table up, in a temporary folder; measures reading it alone, a build, and what an analyst then waits for.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import scumble
from scumble.sources import Build

GROUP = 1_000_000


def schema(columns: int) -> scumble.Schema:
    """Words, whole numbers and numbers in turn."""
    kinds = [
        lambda k: scumble.Category(tuple(f"w{j}" for j in range(2 + 3 * k % 40)), other=False, missing=False),
        lambda k: scumble.Number(0, 99, whole=True),
        lambda k: scumble.Number(0.0, 1.0),
    ]
    return scumble.Schema({f"c{k}": kinds[k % 3](k) for k in range(columns)})


def write(path: Path, rows: int, columns: int) -> None:
    """The table, a row group at a time; columns hang together through one hidden number."""
    rng = np.random.default_rng(0)
    known, writer = schema(columns), None
    for first in range(0, rows, GROUP):
        n = min(GROUP, rows - first)
        hidden = rng.random(n)
        table: dict[str, Any] = {}
        for k, name in enumerate(known):
            value = np.clip(0.5 * hidden + 0.5 * rng.random(n), 0, 1 - 1e-9)
            if k % 3 == 0:
                words = known[name].values
                table[name] = pa.DictionaryArray.from_arrays(
                    pa.array((value * len(words)).astype(np.int32)), pa.array([str(word) for word in words])
                )
            else:
                table[name] = (value * 100).astype(np.int64) if k % 3 == 1 else value
        batch = pa.table(table)
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    assert writer is not None
    writer.close()


def timed(work: Any) -> tuple[float, float, Any]:
    """Seconds by the clock, of the processors, and what came out."""
    clock, cpu = time.perf_counter(), time.process_time()
    found = work()
    return time.perf_counter() - clock, time.process_time() - cpu, found


def read(path: Path) -> int:
    """All batches, as the build reads them, and nothing else."""
    with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as opened:
        return sum(batch.num_rows for batch in opened.iter_batches(65_536, use_threads=True))


def measure(path: Path, columns: int, threads: int) -> dict[str, Any]:
    """One build, in this process."""
    known = schema(columns)
    warm = scumble.TableSketch(known).update(next(pq.ParquetFile(path).iter_batches(1000)))  # compiled before the clock
    warm.release(epsilon=1.0, delta=1e-6)
    rows = pq.ParquetFile(path).metadata.num_rows
    reading = timed(lambda: read(path))
    counting = timed(lambda: Build(path, schema=known, epsilon=1.0, delta=1e-6, threads=threads).count())
    increments = rows * counting[2].sketches[0].spec.rows
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    released = timed(lambda: counting[2].sketches[0].release(epsilon=1.0, delta=1e-6))
    fitted = timed(lambda: released[2].count("c1 >= 50 and c2 < 0.3"))
    again = timed(lambda: [released[2].count(f"c1 >= {k} and c2 < 0.3") for k in range(1, 51)])
    return {
        "threads": threads,
        "rows": rows,
        "columns": columns,
        "views": counting[2].sketches[0].spec.rows,
        "reading_s": reading[:2],
        "counting_s": counting[:2],
        "million_increments_a_cpu_second": increments / counting[1] / 1e6,
        "of_reading_speed": reading[0] / counting[0],
        "peak_mib": peak,
        "release_s": released[:2],
        "first_answer_s": fitted[:2],
        "further_answer_ms": again[0] / 50 * 1e3,
        "file_kb": len(released[2].to_bytes()) / 1e3,
    }


def main() -> None:
    """Each measurement in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=15)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--of", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.of:
        print(json.dumps(measure(Path(args.of), args.columns, int(args.threads))), flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write(path, args.rows, args.columns)
        print(f"{path.stat().st_size / 1e6:,.0f} MB of Parquet", flush=True)
        for threads in args.threads.split(","):
            options = ["--of", str(path), "--columns", str(args.columns), "--threads", threads]
            subprocess.run([sys.executable, "-m", "benchmarks.tables.size", *options], check=True)


if __name__ == "__main__":
    main()
