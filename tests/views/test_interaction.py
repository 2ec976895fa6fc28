"""Sums over the cells of a measured pair, by views alone: an exact law, and less noise than the cells' own."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from scumble.views.columnsums import ColumnSums
from scumble.views.evidence import Evidence, View
from scumble.views.grouping import Column
from scumble.views.interaction import interaction, pair_sum

SIZES = (3, 2, 4)
ONE = np.eye(3)[:1].T @ np.eye(2)[:1]
"""The first cell of the first pair."""


def seen(noise: float, generator: np.random.Generator | None = None) -> Evidence:
    """Three columns, all pairs of which are measured: cells of some hundred records, and noise in all of them."""
    table = np.add.outer(np.add.outer(np.arange(3) * 9.0, [0.0, 50.0]), np.arange(4) * 2.0)
    table[0, 0] += 60.0

    def noisy(counts: np.ndarray, variance: float) -> np.ndarray:
        return counts if generator is None else counts + generator.normal(0.0, math.sqrt(variance), counts.shape)

    views = []
    for columns in [(0,), (1,), (2,), *itertools.combinations(range(3), 2)]:
        variance = noise if len(columns) == 2 else noise / 4
        counts = table.sum(axis=tuple(set(range(3)) - set(columns)))
        views.append(View(columns, noisy(counts, variance), variance))
    columns = tuple(Column(size) for size in SIZES)
    return Evidence(columns, tuple(np.arange(size) for size in SIZES), tuple(views))


def test_without_noise_a_sum_is_that_of_the_cells() -> None:
    generator, evidence = np.random.default_rng(3), seen(1e-9)
    for pair in itertools.combinations(range(3), 2):
        view = evidence.pair(pair)
        assert view is not None
        cells = generator.normal(size=view.counts.shape)
        found = pair_sum(evidence, ColumnSums(evidence), view, cells)
        assert found.value == pytest.approx(float((cells * view.counts).sum()))


def test_the_law_is_exact_and_surer_than_the_cell_alone() -> None:
    """2,000 draws of normal noise: Σ z² is χ² with 2,000 degrees of freedom. By Laurent and Massart (2000) it
    exceeds 2,000 + 2 √(2000 t) + 2 t with a chance of exp(-t) at most, and falls below 2,000 - 2 √(2000 t)
    with as little: for t = 15 both together are below 1e-6."""
    generator, truth = np.random.default_rng(7), seen(1e-9).views[3].counts[0, 0]
    squares = 0.0
    for _ in range(2000):
        evidence = seen(400.0, generator)
        found = pair_sum(evidence, ColumnSums(evidence), evidence.views[3], ONE)
        squares += (found.value - truth) ** 2 / found.variance
    assert -2 * math.sqrt(2000 * 15) < squares - 2000 < 2 * math.sqrt(2000 * 15) + 30
    assert 400.0 * (2 * 1) / 6 < found.variance < 0.5 * 400.0


def test_margins_have_no_part_in_an_interaction() -> None:
    cells = np.random.default_rng(5).normal(size=(4, 3))
    moved = cells + np.arange(4.0)[:, None] + np.array([5.0, -2.0, 9.0])
    assert interaction(moved) == pytest.approx(interaction(cells))
    assert np.abs(interaction(cells).sum(axis=0)).max() < 1e-12 > np.abs(interaction(cells).sum(axis=1)).max()
