"""Coarser evidence for fits: sums of the published cells, and nothing else."""

from __future__ import annotations

import numpy as np

from scumble.views.coarsening import coarser
from scumble.views.evidence import Evidence, View
from scumble.views.fitting import several
from scumble.views.grouping import RUNS, Column, groups

COLUMNS = (Column(50, ordered=50), Column(41, ordered=40), Column(30))
"""A number, one with missing cells, and words."""


def evidence(most: int) -> Evidence:
    """Exact counts of random records."""
    rng = np.random.default_rng(3)
    first = np.minimum(rng.exponential(9, 4000).astype(int), 49)
    codes = (first, np.where(rng.random(4000) < 0.1, 40, first * 4 // 5), rng.integers(0, 30, 4000))
    singles = [np.bincount(code, minlength=c.levels).astype(float) for code, c in zip(codes, COLUMNS, strict=True)]
    group = tuple(groups(c, counts, most) for c, counts in zip(COLUMNS, singles, strict=True))
    views = [View((j,), counts, 1.0) for j, counts in enumerate(singles)]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        table = np.zeros((group[i].max() + 1, group[j].max() + 1))
        np.add.at(table, (group[i][codes[i]], group[j][codes[j]]), 1.0)
        views.append(View((i, j), table, 4.0))
    return Evidence(COLUMNS, group, tuple(views))


def test_cells_of_numbers_are_added_up_and_words_stay() -> None:
    fine = evidence(60)
    found = coarser(fine)
    assert fine.sizes == (RUNS + 14, 41, 30)  # a number has half of what a pair bears
    assert found.sizes == (RUNS, RUNS + 1, 30)  # missing cells are no large number
    for before, after in zip(fine.views, found.views, strict=True):
        assert after.columns == before.columns
        if len(before.columns) == 1:
            assert after is before
            continue
        expected = np.zeros_like(after.counts)
        for cell in np.ndindex(before.counts.shape):
            levels = [int(np.argmax(fine.groups[j] == g)) for j, g in zip(before.columns, cell, strict=True)]
            expected[tuple(found.groups[j][k] for j, k in zip(before.columns, levels, strict=True))] += before.counts[
                cell
            ]
        np.testing.assert_array_equal(after.counts, expected)
        assert after.variance * after.counts.size == before.variance * before.counts.size  # that of all noise together


def test_what_is_coarse_stays_as_it_is() -> None:
    coarse = evidence(RUNS)
    assert coarser(coarse) is coarse


def test_a_fit_of_coarser_cells_has_all_levels() -> None:
    (model,) = several(evidence(60), 1, fits=1, components=10)
    assert [table.shape[1] for table in model.columns] == [column.levels for column in COLUMNS]
