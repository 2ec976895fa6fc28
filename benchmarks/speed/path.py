"""Where the time goes between a Parquet file and a released one: reading, copying, counting, noise, writing."""

from __future__ import annotations

import cProfile
import pstats
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import scumble
from scumble.counting import cpu

COLUMNS, ROWS, GROUP = 8, 128, 500_000


def write(path: Path, records: int) -> None:
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(COLUMNS)])
    with pq.ParquetWriter(path, schema) as file:
        for _ in range(0, records, GROUP):
            file.write_table(pa.table([rng.normal(size=GROUP) for _ in range(COLUMNS)], schema=schema))


def measure(quick: bool) -> dict[str, Any]:
    """Seconds of the whole build and of counting within it; and of counting the same from memory."""
    records = 1_000_000 if quick else 20_000_000
    spent = 0.0
    count = cpu.count

    def timed(*given: Any) -> None:
        nonlocal spent
        start = time.perf_counter()
        count(*given)
        spent += time.perf_counter() - start

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "table.parquet"
        write(source, records)
        kernel = scumble.EuclideanKernel(2.0)
        profile = cProfile.Profile()
        cpu.count = timed  # type: ignore[assignment]
        try:
            start = time.perf_counter()
            profile.enable()
            scumble.build(source, kernel, epsilon=1.0, rows=ROWS, buckets=1024).save(Path(folder) / "out.scumble")
            profile.disable()
            whole = time.perf_counter() - start
        finally:
            cpu.count = count
    lines = pstats.Stats(profile).get_stats_profile().func_profiles
    top = sorted(lines.items(), key=lambda item: -item[1].tottime)[:8]
    return {
        "records": records,
        "columns": COLUMNS,
        "rows": ROWS,
        "seconds": whole,
        "counting": spent,
        "share": spent / whole,
        "main_thread": {name: line.tottime for name, line in top},
    }


def table(found: dict[str, Any]) -> list[str]:
    return [
        f"{found['records']:,} Parquet rows × {found['columns']} columns, {found['rows']} rows of counters, to a "
        f"released file: {found['seconds']:.1f} s, of which counting {found['counting']:.1f} s ({found['share']:.0%})."
    ]
