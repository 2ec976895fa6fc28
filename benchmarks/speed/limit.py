"""What the machine allows: the bare matrix product, and the bare increments, on the same data and threads.

Nobody projects N records on R·p directions faster than the matrix product does in tiles that fit the cache, and nobody
counts faster than increments whose places are known in advance. What lies between the two (floor, edges, rehash) is our
business. The product is timed in double precision, whose counters we return, and in single precision, which we use
where it decides: the stricter measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numba import njit
from threadpoolctl import threadpool_limits

from benchmarks.speed.clock import together
from scumble.counting import Hasher, cpu
from scumble.kernels import Records

LINES, TILE, WORK = 64, 1024, 1 << 28


@njit(nogil=True)
def increment(where, counts):
    """Four rows at a time, so no counter is written and read again at once."""
    for r in range(0, where.shape[0], 4):
        i0, i1, i2, i3 = where[r], where[r + 1], where[r + 2], where[r + 3]
        t0, t1, t2, t3 = counts[r], counts[r + 1], counts[r + 2], counts[r + 3]
        for i in range(i0.size):
            t0[i0[i]] += 1
            t1[i1[i]] += 1
            t2[i2[i]] += 1
            t3[i3[i]] += 1


def products(columns: int, hashes: float, threads: int, dtype: type) -> float:
    """Seconds for so many projections."""
    tiles = max(3, WORK // (columns * LINES * TILE))

    directions = np.ones((LINES, columns), dtype)
    records = np.ones((columns, TILE), dtype)
    works = []
    for _ in range(threads):
        out = np.empty((LINES, TILE), dtype)
        works.append(partial(_multiply, directions, records.copy(), out, tiles))
    with threadpool_limits(1, user_api="blas"):
        return together(works, 5) / (tiles * LINES * TILE * threads) * hashes


def _multiply(directions: np.ndarray, records: np.ndarray, out: np.ndarray, tiles: int) -> None:
    for _ in range(tiles):
        np.matmul(directions, records, out=out)


def increments(hasher: Hasher, X: np.ndarray, rows: int, threads: int) -> float:
    """Seconds to count X in so many rows, the buckets known in advance."""
    some = min(hasher.rows, 16 * threads)
    places = np.tile(np.arange(hasher.buckets), (hasher.rows, 1))
    where = cpu.sums(hasher, [Records(X)], places)[:some].astype(np.uint32)
    counts = np.zeros((some, hasher.buckets), np.int64)
    increment(where[:4, :8], counts)
    each = some // threads
    works = [
        partial(increment, where[k * each : (k + 1) * each], counts[k * each : (k + 1) * each]) for k in range(threads)
    ]
    return together(works) / (each * threads) * rows


def row_groups(file: Path, threads: int) -> float:
    """Seconds for Arrow to read a Parquet file, so many threads at a time, each with row groups of its own."""
    groups = pq.ParquetFile(file).num_row_groups
    works = [partial(_read, file, range(k, groups, threads)) for k in range(min(threads, groups))]
    return together(works, 3)


def _read(file: Path, groups: Sequence[int]) -> None:
    with pq.ParquetFile(file) as opened:
        for group in groups:
            opened.read_row_group(group, use_threads=False)
