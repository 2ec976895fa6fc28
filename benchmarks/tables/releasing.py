"""A table released whole: one set of views, or one per class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.tables.data import Table
from benchmarks.tables.measuring import measured
from scumble.privacy.gaussian import analytic_gaussian_sigma
from scumble.views.budgeting import Noise
from scumble.views.evidence import Evidence
from scumble.views.fitting import fitted
from scumble.views.mixture import Mixture, labelled


@dataclass(frozen=True)
class Released:
    """What was measured, and the model of it."""

    evidence: tuple[Evidence, ...]
    model: Mixture


def budget(epsilon: float, delta: float) -> Noise:
    """Laplace noise with ε alone, Gaussian noise with a δ."""
    if not delta:
        return Noise("laplace", 1 / epsilon)
    return Noise("gaussian", analytic_gaussian_sigma(epsilon, delta))


def joint(table: Table, spend: Noise, seed: int) -> Released:
    """One set of views of all columns."""
    evidence = measured(table.codes, table.columns, spend)
    return Released((evidence,), fitted(evidence, seed))


def independent(evidence: Evidence) -> Mixture:
    """The noisy single columns, and nothing else: what every model must beat."""
    counts = [np.maximum(evidence.single(j).counts, 0.0) + 1e-9 for j in range(len(evidence.columns))]
    return Mixture(np.ones(1), tuple((c / c.sum())[None] for c in counts))


def per_class(table: Table, spend: Noise, seed: int) -> Released:
    """One set of views of the other columns per class. Classes are disjoint, so each has the whole budget."""
    others = [j for j in range(len(table.columns)) if j != table.target]
    parts = []
    for level in range(table.columns[table.target].levels):
        rows = table.codes[table.codes[:, table.target] == level][:, others]
        parts.append(measured(rows, tuple(table.columns[j] for j in others), spend))
    models = [fitted(evidence, seed + level) for level, evidence in enumerate(parts)]
    return Released(tuple(parts), labelled(models, [evidence.count for evidence in parts], table.target))
