"""Do 95 % intervals hold? Random conjunctions of one to four columns, on real and synthetic tables."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.tables.data import Table
from benchmarks.tables.measuring import measured
from benchmarks.tables.protocol import questions
from scumble.privacy.budget import Budget

NORMAL = 1.96


@dataclass(frozen=True)
class Covered:
    """Shares of intervals that held, and what it took."""

    share: float
    by_columns: tuple[float, ...]
    width: float
    """Median half-width, as a share of the records."""
    release: float
    """Seconds from the counters to the release."""
    first: float
    """Seconds to the first answer, the fit and the rehearsals included."""
    later: float
    """Seconds per answer after that."""


def coverage(table: Table, budget: Budget, seed: int, number: int = 300) -> Covered:
    """Release once, ask `number` questions."""
    begun = time.perf_counter()
    release = measured(table.codes, table.columns, budget)
    taken = time.perf_counter() - begun
    asked = questions(table, number, seed, (1, 4))
    answers = release._answers
    begun = time.perf_counter()
    answers.count(asked[0].condition)
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    estimates = [answers.count(question.condition) for question in asked]
    later = (time.perf_counter() - begun) / number
    deviations = np.sqrt([estimate.variance for estimate in estimates])
    errors = np.abs([estimate.value - q.count for estimate, q in zip(estimates, asked, strict=True)])
    held = errors <= NORMAL * deviations
    sizes = np.array([len(q.weights) for q in asked])
    by_columns = tuple(float(held[sizes == size].mean()) for size in range(1, 5))
    width = float(np.median(NORMAL * deviations)) / len(table.codes)
    return Covered(float(held.mean()), by_columns, width, taken, first, later)
