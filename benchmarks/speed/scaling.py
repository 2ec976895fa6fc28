"""Threads: what each more of them is worth, in counting and in queries."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.speed.clock import seconds
from benchmarks.speed.shapes import BUCKETS, Shape
from scumble.counting import cpu
from scumble.kernels import Records

ROUNDS = 2
"""Each number of threads has its turn, so many times over: what else the machine does slows all alike."""
SHAPES = (
    (Shape("counting", 2_000_000, 8), 1024, 1),
    (Shape("counting", 2_000_000, 3), 1024, 1),
    (Shape("counting", 1_000_000, 26), 512, 4),
    (Shape("counting", 2_000_000, 8), 100, 1),
    (Shape("queries", 1_000_000, 8), 1024, 1),
)
Line = dict[str, Any]


def numbers() -> list[int]:
    """1, 2, 4, … and all cores."""
    most = cpu.available_threads()
    return sorted({most, *(1 << k for k in range(most.bit_length()))})


def measure(quick: bool) -> dict[str, list[Line]]:
    """The lines of this machine, under its architecture."""
    return {platform.machine(): list(_lines(quick))}


def _lines(quick: bool) -> Iterator[Line]:
    for shape, rows, power in SHAPES:
        n = 20_000 if quick else shape.records
        work, best = _work(shape, n, rows, power), dict.fromkeys(numbers(), float("inf"))
        work(1)
        for _ in range(ROUNDS):
            for threads in best:
                best[threads] = min(best[threads], seconds(partial(work, threads), 1))
        yield {
            "what": shape.name,
            "records": n,
            "columns": shape.columns,
            "rows": rows,
            "power": power,
            "seconds": {str(threads): taken for threads, taken in best.items()},
        }


def _work(shape: Shape, n: int, rows: int, power: int) -> Callable[[int], object]:
    records, hasher = [Records(shape.values(n))], shape.hasher(rows, power)
    counts, lines = np.zeros((rows, BUCKETS), np.int64), np.arange(rows) // 64
    if shape.name == "queries":
        return lambda threads: cpu.sums(hasher, records, counts, lines, threads)
    return lambda threads: cpu.count(hasher, records, counts, threads)


def table(found: dict[str, list[Line]]) -> list[str]:
    """Seconds, and in brackets how many times as quick as one thread."""
    out = []
    for architecture, lines in found.items():
        threads = list(lines[0]["seconds"])
        head = ("", "records × columns", "rows", "power", "1 thread", *threads[1:], "of all cores")
        out += ["", f"On {threads[-1]} cores, {architecture}:", "", f"| {' | '.join(head)} |"]
        out += [f"|---|---|{'---:|' * (len(head) - 2)}"]
        for line in lines:
            one, *more = line["seconds"].values()
            cells = [f"{one:.2f} s", *(f"{taken:.2f} s ({one / taken:.1f})" for taken in more)]
            last = line["seconds"][threads[-1]]
            out.append(
                f"| {line['what']} | {line['records']:,} × {line['columns']} | {line['rows']:,} | {line['power']} "
                f"| {' | '.join(cells)} | {one / last / int(threads[-1]):.2f} |"
            )
    return out[1:]
