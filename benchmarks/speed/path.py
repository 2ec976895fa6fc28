"""From a Parquet file to a released one: what the clock says, and what all threads together took of the processor."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import scumble

COLUMNS, ROWS, GROUP = 8, 128, 500_000


def write(path: Path, records: int) -> None:
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(COLUMNS)])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, records, GROUP):
            size = min(GROUP, records - start)
            file.write_table(pa.table([rng.normal(size=size) for _ in range(COLUMNS)], schema=schema))


def measure(quick: bool) -> dict[str, Any]:
    """Seconds of the whole build, the quicker of two, and of the processor meanwhile."""
    records = 1_000_000 if quick else 20_000_000
    kernel, taken = scumble.EuclideanKernel(2.0), list[tuple[float, float]]()
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "table.parquet", Path(folder) / "out.scumble"
        write(source, records)
        for _ in range(2):
            began, busy = time.perf_counter(), time.process_time()
            scumble.build(source, kernel, epsilon=1.0, rows=ROWS, buckets=1024).save(out)
            taken.append((time.perf_counter() - began, time.process_time() - busy))
            out.unlink()
    seconds, processor = min(taken)
    return {"records": records, "columns": COLUMNS, "rows": ROWS, "seconds": seconds, "processor": processor}


def table(found: dict[str, Any]) -> list[str]:
    return [
        f"{found['records']:,} Parquet rows × {found['columns']} columns, {found['rows']} rows of counters, to a "
        f"released file: {found['seconds']:.2f} s of wall-clock time and {found['processor']:.1f} s of CPU time."
    ]
