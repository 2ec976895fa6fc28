"""Evidence about a table whose noise is NumPy's: the same each time."""

from __future__ import annotations

import itertools
import math

import numpy as np

from scumble.table.evidence import Evidence, View
from scumble.table.grouping import Column


def measured(
    codes: np.ndarray,
    columns: tuple[Column, ...],
    groups: tuple[np.ndarray, ...],
    variance: float,
    seed: int = 0,
    larger: dict[tuple[int, ...], tuple[np.ndarray, ...]] | None = None,
) -> Evidence:
    """All columns and pairs of a table, and larger sets with levels of their own, with normal noise."""
    generator, views = np.random.default_rng(seed), []
    for wanted in (*((j,) for j in range(len(columns))), *itertools.combinations(range(len(columns)), 2)):
        cells = [codes[:, j] if len(wanted) == 1 else groups[j][codes[:, j]] for j in wanted]
        shape = [columns[j].levels if len(wanted) == 1 else int(groups[j].max()) + 1 for j in wanted]
        counts = np.zeros(shape)
        np.add.at(counts, tuple(cells), 1.0)
        views.append(View(wanted, counts + math.sqrt(variance) * generator.standard_normal(shape), variance))
    for wanted, levels in (larger or {}).items():
        counts = np.zeros([int(level.max()) + 1 for level in levels])
        np.add.at(counts, tuple(level[codes[:, j]] for j, level in zip(wanted, levels, strict=True)), 1.0)
        views.append(
            View(wanted, counts + math.sqrt(variance) * generator.standard_normal(counts.shape), variance, levels)
        )
    return Evidence(columns, groups, tuple(views))
