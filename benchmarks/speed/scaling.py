"""Threads: what each more of them is worth, in all that people wait for, and in bare loops that share nothing.

What is bare says what the machine has to give: increments with buckets known in advance, the product that projects the
records, and Arrow's reading of a Parquet file, each thread by itself and no word between them. So do as many processes
as there are cores, each with its share of the same work (`apart`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import scumble
from benchmarks.speed import limit, path
from benchmarks.speed.apart import ROUNDS, apart
from benchmarks.speed.clock import seconds
from benchmarks.speed.shapes import BUCKETS, Shape
from scumble.columns.kinds import roles_of
from scumble.counting import cpu
from scumble.kernels import Records
from scumble.privacy.noise import discrete_laplace
from scumble.sources.opening import open_source

Line = dict[str, Any]
Work = Callable[[int], Any]


class Case(NamedTuple):
    """Something that takes time, with a number of threads."""

    what: str
    shape: Shape
    rows: int
    power: int
    quick: int = 20_000


CASES = (
    Case("counting", Shape("large", 4_000_000, 8), 1024, 1),
    Case("counting", Shape("large", 4_000_000, 3), 1024, 1),
    Case("counting", Shape("large", 2_000_000, 26), 512, 4),
    Case("counting", Shape("large", 4_000_000, 8), 100, 1),
    Case("counting embeddings", Shape("wide", 200_000, 384, angular=True), 1000, 1, 2_000),
    Case("bare increments", Shape("large", 500_000, 8), 1024, 1),
    Case("bare product", Shape("large", 500_000, 26), 512, 4),
    Case("queries", Shape("large", 1_000_000, 8), 1024, 1),
    Case("noise", Shape("counters", 40_000_000, 1), 1, 1),
    Case("bare Parquet", Shape("file", 10_000_000, path.COLUMNS), 1, 1, 500_000),
    Case("reading Parquet", Shape("file", 10_000_000, path.COLUMNS), 1, 1, 500_000),
    Case("Parquet to release", Shape("file", 10_000_000, path.COLUMNS), 128, 1, 500_000),
    Case("Parquet to release", Shape("file", 2_000_000, path.COLUMNS), 1000, 1, 100_000),
)


def numbers() -> list[int]:
    """1, 2, 4, … and all cores."""
    most = cpu.available_threads()
    return sorted({most, *(1 << k for k in range(most.bit_length()))})


def lines(quick: bool) -> Iterator[Line]:
    if not hasattr(os, "sched_setaffinity"):
        print("Left out: the cores of a process can be chosen on Linux alone.")
        return
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            n = case.quick if quick else case.shape.records
            work, best = _work(case, n, Path(folder)), dict.fromkeys(numbers(), float("inf"))
            bare = case.what.startswith("bare")  # these time themselves
            work(1)
            for _ in range(ROUNDS):
                for threads in best:
                    taken = work(threads) if bare else seconds(partial(work, threads), 1)
                    best[threads] = min(best[threads], taken)
            yield {
                "what": case.what,
                "records": n,
                "columns": case.shape.columns,
                "rows": case.rows,
                "power": case.power,
                "seconds": {str(threads): taken for threads, taken in best.items()},
                "apart": None if bare else apart(_work, case, n, numbers()[-1]),
            }


def _work(case: Case, n: int, folder: Path) -> Work:
    if case.what == "noise":
        return _on_cores(lambda: discrete_laplace(1000, n))
    if case.shape.name == "file":
        return _with_file(case, n, folder / f"{n}.parquet")
    if case.what == "bare product":
        hashes = float(n) * case.rows * case.power
        return lambda threads: limit.products(case.shape.columns, hashes, threads, np.float32)
    X, hasher = case.shape.values(n), case.shape.hasher(case.rows, case.power)
    if case.what == "bare increments":
        return lambda threads: limit.increments(case.shape.hasher(16 * threads, 1), X, case.rows, threads)
    records, counts = [Records(X)], np.zeros((case.rows, BUCKETS), np.int64)
    if case.what == "queries":
        groups = np.arange(case.rows) // 64
        return lambda threads: cpu.sums(hasher, records, counts, groups, threads)
    return lambda threads: cpu.count(hasher, records, counts, threads)


def _with_file(case: Case, n: int, file: Path) -> Work:
    if not file.exists():
        path.write(file, n)
    if case.what == "bare Parquet":
        return lambda threads: limit.row_groups(file, threads)
    kernel = scumble.EuclideanKernel(2.0)
    if case.what == "reading Parquet":
        roles = roles_of(kernel, [f"x{j}" for j in range(path.COLUMNS)])
        return _on_cores(lambda: sum(1 for _ in open_source(file).pieces(roles)))
    return _on_cores(lambda: scumble.build(file, kernel, epsilon=1.0, rows=case.rows, buckets=BUCKETS))


def _on_cores(work: Callable[[], object]) -> Work:
    """The same with so many cores to use."""

    def limited(threads: int) -> None:
        with _cores(threads):
            work()

    return limited


@contextmanager
def _cores(threads: int) -> Iterator[None]:
    """Threads that are started inside may use so many cores."""
    before, workers = os.sched_getaffinity(0), pa.cpu_count()
    os.sched_setaffinity(0, sorted(before)[:threads])
    pa.set_cpu_count(threads)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        pa.set_cpu_count(workers)


def table(found: list[Line]) -> list[str]:
    """Seconds, and in brackets how many times as quick as one thread; processes by their mean."""
    if not found:
        return []
    threads, apart_too = list(found[0]["seconds"]), any(line.get("apart") for line in found)
    head = ["", "records × columns", "rows", "power", "1 thread", *threads[1:], "share of ideal"]
    head += [f"{threads[-1]} processes"] if apart_too else []
    out = [f"| {' | '.join(head)} |", f"|---|---|{'---:|' * (len(head) - 2)}"]
    for line in found:
        one, *more = line["seconds"].values()
        cells = [f"{one:.2f} s", *(f"{taken:.2f} s ({one / taken:.1f})" for taken in more)]
        cells.append(f"{one / line['seconds'][threads[-1]] / int(threads[-1]):.2f}")
        if apart_too:
            alone = line["apart"]["mean"] if line["apart"] else None
            cells.append("" if alone is None else f"{alone:.2f} s ({one / alone:.1f})")
        out.append(
            f"| {line['what']} | {line['records']:,} × {line['columns']} | {line['rows']:,} | {line['power']} "
            f"| {' | '.join(cells)} |"
        )
    return out


def summary(found: dict[str, list[Line]]) -> list[str]:
    """One row per kind of work: what all cores of each machine take."""
    rows: dict[str, list[str]] = {}
    for lines in found.values():
        for line in lines:
            if line["what"].startswith("bare"):
                continue
            one, *_, last = line["seconds"].values()
            size = f"{line['records']:,} × {line['columns']}" + (f", {line['rows']:,} rows" if line["rows"] > 1 else "")
            rows.setdefault(f"{line['what']}, {size}", []).append(f"{last:.2f} s ({one / last:.1f})")
    return [
        f"| | {' | '.join(found)} |",
        "|---" + "|---:" * len(found) + "|",
        *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()),
    ]
