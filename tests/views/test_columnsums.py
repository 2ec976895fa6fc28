"""Sums over a column by the views alone: the least variance of all unbiased sums, and an exact law."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from scumble.views.columnsums import ColumnSums
from scumble.views.evidence import Evidence, View
from scumble.views.grouping import Column
from scumble.views.intervals import Reading
from scumble.views.mixture import Condition

COLUMNS = (Column(7, 7), Column(3), Column(2))
GROUPS = (np.array([0, 1, 1, 2, 2, 2, 2]), np.arange(3), np.arange(2))
SHAPES = {(): (), (0,): (7,), (1,): (3,), (2,): (2,), (0, 1): (3, 3), (0, 2): (3, 2), (1, 2): (3, 2)}
VARIANCES = {(): 50.0, (0,): 4.0, (1,): 3.0, (2,): 9.0, (0, 1): 1.0, (0, 2): 2.0, (1, 2): 5.0}
WEIGHTS = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 400.0])
RECORDS = np.random.default_rng(5).integers([7, 3, 2], size=(500, 3))


@cache
def exact(columns: tuple[int, ...]) -> np.ndarray:
    counts = np.zeros(SHAPES[columns])
    for record in RECORDS.tolist():
        counts[tuple(record[j] if len(columns) < 2 else GROUPS[j][record[j]] for j in columns)] += 1
    return counts


def evidence(which: list[tuple[int, ...]], generator: np.random.Generator | None = None) -> Evidence:
    views = []
    for columns in which:
        noise = 0.0 if generator is None else generator.normal(0, math.sqrt(VARIANCES[columns]), SHAPES[columns])
        views.append(View(columns, exact(columns) + noise, VARIANCES[columns]))
    return Evidence(COLUMNS, GROUPS, tuple(views))


SINGLES: list[tuple[int, ...]] = [(0,), (1,), (2,)]


@pytest.mark.parametrize(
    "which", [SINGLES, [*SINGLES, (0, 1)], [(), *SINGLES, (0, 1), (0, 2), (1, 2)], [*SINGLES, (1, 2)]]
)
def test_no_unbiased_sum_of_cells_varies_less(which: list[tuple[int, ...]]) -> None:
    """The slow twin: least squares over the true counts of every cell of the whole table, by all cells of all views."""
    rows, seen, precision = [], [], []
    cells = np.stack(np.meshgrid(*map(np.arange, (7, 3, 2)), indexing="ij"), axis=-1).reshape(-1, 3)
    found = evidence(which, np.random.default_rng(1))
    for view in found.views:
        at = [GROUPS[j][cells[:, j]] if len(view.columns) > 1 else cells[:, j] for j in view.columns]
        for place, count in np.ndenumerate(view.counts):
            rows.append(np.all([a == p for a, p in zip(at, place, strict=True)], axis=0) if at else np.ones(len(cells)))
            seen.append(float(count))
            precision.append(1 / view.variance)
    design, weights = np.array(rows, float), WEIGHTS[cells[:, 0]]
    inverse = np.linalg.pinv(design.T @ (design * np.array(precision)[:, None]), hermitian=True)
    best = weights @ inverse @ design.T @ (np.array(precision) * seen)
    ours = ColumnSums(found).sum(0, WEIGHTS)
    least = weights @ inverse @ weights
    assert ours.variance == pytest.approx(least, rel=1e-9)
    assert ours.value == pytest.approx(best, rel=1e-9)
    truth = WEIGHTS[RECORDS[:, 0]].sum()
    assert ColumnSums(evidence(which)).sum(0, WEIGHTS).value == pytest.approx(truth)


def test_its_law_is_exact() -> None:
    """Of a normal law the mean of 400 has standard error 1/20, and their mean square √(2/400) = 0.07, both over the
    deviation: 5.5 of either, each with a chance below 4e-8."""
    which: list[tuple[int, ...]] = [(), *SINGLES, (0, 1), (0, 2), (1, 2)]
    truth, generator = WEIGHTS[RECORDS[:, 0]].sum(), np.random.default_rng(2)
    found = [ColumnSums(evidence(which, generator)).sum(0, WEIGHTS) for _ in range(400)]
    off = np.array([(one.value - truth) / math.sqrt(one.variance) for one in found])
    assert abs(off.mean()) < 5.5 / 20
    assert (off**2).mean() == pytest.approx(1.0, abs=5.5 * math.sqrt(2 / 400))


def test_a_condition_takes_the_models_share_of_each_cell() -> None:
    """Two columns that are independent: half of the records of every cell meet a condition of the other."""
    one, other = np.array([900.0, 60, 30, 6, 2, 1, 1]), np.array([0.5, 0.5])
    columns = (Column(7, 7), Column(2))
    single = [View((0,), one, 4.0), View((1,), other * one.sum(), 4.0)]
    reading = Reading(Evidence(columns, (np.arange(7), np.arange(2)), tuple(single)), "gaussian", 3)

    def summed(condition: Condition) -> tuple[float, float]:
        (value,), (variance,) = reading.column_sums(condition, 0, WEIGHTS[None])
        return value, variance

    value, variance = summed([(1.0, {})])
    whole = ColumnSums(reading.evidence).sum(0, WEIGHTS)
    assert (value, variance) == (whole.value, whole.variance)
    assert summed([(1.0, {1: np.array([1.0, 0.0])})]) == pytest.approx((value / 2, variance / 4))
    far = ColumnSums(reading.evidence).sum(0, 2 * WEIGHTS * np.eye(7)[6])
    assert summed([(2.0, {0: np.eye(7)[6]})]) == (far.value, far.variance)
