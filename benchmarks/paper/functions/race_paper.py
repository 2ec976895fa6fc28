"""Private RACE, Algorithms 1 and 2 of the paper to the letter (Coleman & Shrivastava 2020), with the noise they state.

Independent rows, the floor of continuous Laplace noise of scale R/ε, the count from all counters. W = 1024, the size
of the paper's arrays; R is the best of several in hindsight (the paper: 100 to 1,000). A code is its bucket: the range
of codes fits into W. The floor of continuous noise is for the record: not a way to make a release. It also takes half a
count off every counter, so the count of Algorithm 2 is too small by W/2 = 512 records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.paper.functions.answer import density
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.functions.tables import Table, exact_table
from scumble import EuclideanKernel

BUCKETS = 1024
ROWS = (16, 64, 256, 1024, 4096)


class Summary(NamedTuple):
    table: Table
    n: int


@dataclass(frozen=True)
class RacePaper(Method):
    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        return tuple((("rows", rows),) for rows in ROWS)

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        return Summary(remembered_table(X, kernel, dict(setting)["rows"], BUCKETS, seed), len(X))

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        counts = summary.table.counts
        scale = self.scale(len(counts), summary.n, epsilon)
        noisy = np.floor(counts + rng.laplace(0.0, scale, counts.shape)) if scale else counts
        count = max(1.0, float(noisy.sum()) / len(noisy))
        table = Table(summary.table.hasher, noisy)
        return lambda Q: density(table.read(Q).mean(axis=0), count)

    def scale(self, rows: int, n: int, epsilon: float) -> float:
        """Of the Laplace noise: the sensitivity of the table is R."""
        return rows / epsilon


remembered_table = remember(12)(exact_table)

METHOD = RacePaper("Private RACE, Algorithms 1 and 2", "Coleman & Shrivastava 2020", "pure")
