"""A table released whole: one set of views, or one per class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.tables.data import Table
from benchmarks.tables.measuring import measured
from scumble.privacy.budget import Budget
from scumble.table.evidence import Evidence
from scumble.table.mixture import Mixture
from scumble.table.release import TableRelease


@dataclass(frozen=True)
class Released:
    """What was published, and the model of it."""

    release: TableRelease
    model: Mixture


def joint(table: Table, budget: Budget) -> Released:
    """One set of views of all columns."""
    release = measured(table.codes, table.columns, budget)
    return Released(release, release._answers.model)


def per_class(table: Table, budget: Budget) -> Released:
    """One set of views of the other columns per class."""
    release = measured(table.codes, table.columns, budget, table.target)
    return Released(release, release._answers.model)


def independent(table: Table, budget: Budget) -> Mixture:
    """Noisy single columns with all of the budget, and nothing else: what every model must beat."""
    rows = len(table.columns)
    calibration = budget.claim(rows)
    noise = calibration.law.draw
    columns = []
    for j, column in enumerate(table.columns):
        exact = np.bincount(table.codes[:, j], minlength=column.levels)
        noisy = np.maximum(exact + noise(calibration.scales.counters, column.levels), 0) + 1e-9
        columns.append((noisy / noisy.sum())[None])
    return Mixture(np.ones(1), tuple(columns))


def evidence(release: TableRelease) -> list[Evidence]:
    """What models of it are fitted to."""
    return list(release._answers.evidence)
