"""Counting: every shape, number of rows and power, as a fraction of what the machine allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.speed import limit
from benchmarks.speed.clock import seconds
from benchmarks.speed.shapes import BUCKETS, SHAPES, Shape
from scumble.counting import cpu
from scumble.kernels import Records

ROWS, POWERS = (100, 1000, 10_000), (1, 4)
LONGEST = 0.5
"""Seconds that one count may take, roughly: larger ones take fewer records."""


def records_for(shape: Shape, rows: int, power: int, threads: int) -> int:
    """As many records as fit the time, by a rough guess of 2 ns and 0.1 ns a column for each hash."""
    hashes = LONGEST * threads / (2e-9 + 1e-10 * shape.columns) / (rows * power)
    return int(min(shape.records, max(2048, hashes)))


def measure(shape: Shape, rows: int, power: int, threads: int) -> dict[str, Any]:
    """One line of the table."""
    n = records_for(shape, rows, power, threads)
    X, hasher = shape.values(n), shape.hasher(rows, power)
    counts = np.zeros((rows, BUCKETS), np.int64)
    cpu.count(hasher, [Records(X[:300])], counts)
    ours = seconds(lambda: cpu.count(hasher, [Records(X)], counts, threads))
    hashes = float(n) * rows * power
    counting = limit.increments(shape.hasher(min(rows, 16 * threads), power), X, rows, threads)
    double = limit.products(shape.columns, hashes, threads, np.float64) + counting
    single = limit.products(shape.columns, hashes, threads, np.float32) + counting
    return {
        "shape": shape.name,
        "records": n,
        "columns": shape.columns,
        "rows": rows,
        "power": power,
        "threads": threads,
        "seconds": ours,
        "records_a_second": n / ours,
        "increments_a_second": n * rows / ours,
        "limit_seconds": double,
        "fraction": double / ours,
        "fraction_single": single / ours,
    }


def lines(quick: bool) -> Iterator[dict[str, Any]]:
    threads = cpu.available_threads()
    for shape in SHAPES:
        for rows in (100,) if quick else ROWS:
            for power in (1, 4) if quick else POWERS:
                yield measure(shape, rows, power, threads)


def table(found: list[dict[str, Any]]) -> list[str]:
    head = (
        "shape",
        "records × columns",
        "rows",
        "power",
        "seconds",
        "records/s",
        "increments/s",
        "of the limit",
        "single",
    )
    out = [f"| {' | '.join(head)} |", "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for line in found:
        out.append(
            f"| {line['shape']} | {line['records']:,} × {line['columns']} | {line['rows']:,} | {line['power']} "
            f"| {line['seconds']:.3f} | {line['records_a_second']:.3g} | {line['increments_a_second']:.3g} "
            f"| {line['fraction']:.2f} | {line['fraction_single']:.2f} |"
        )
    return out
