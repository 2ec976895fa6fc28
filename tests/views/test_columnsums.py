"""Sums over a column by the views alone: unbiased, of little variance, and with an exact law."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from scumble.views import columnsums
from scumble.views.columnsums import ColumnSums
from scumble.views.evidence import Evidence, View
from scumble.views.grouping import Column, runs
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


ALL: list[tuple[int, ...]] = [(), *SINGLES, (0, 1), (0, 2), (1, 2)]


def cells_of(which: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The slow twin: which cells of the whole table each cell of each view counts, its variance; and the cells."""
    cells = np.stack(np.meshgrid(*map(np.arange, (7, 3, 2)), indexing="ij"), axis=-1).reshape(-1, 3)
    rows, variances = [], []
    for columns in which:
        at = [GROUPS[j][cells[:, j]] if len(columns) > 1 else cells[:, j] for j in columns]
        for place in np.ndindex(SHAPES[columns]):
            rows.append(np.all([a == p for a, p in zip(at, place, strict=True)], axis=0) if at else np.ones(len(cells)))
            variances.append(VARIANCES[columns])
    return np.array(rows, float), np.array(variances), cells


def coefficients(which: list[tuple[int, ...]]) -> np.ndarray:
    """How much each cell of each view counts in the sum, found by filling one after the other."""
    found = []
    for columns in which:
        for place in np.ndindex(SHAPES[columns]):
            counts = {other: np.zeros(SHAPES[other]) for other in which}
            counts[columns][place] = 1.0
            views = tuple(View(other, counts[other], VARIANCES[other]) for other in which)
            found.append(ColumnSums(Evidence(COLUMNS, GROUPS, views)).sum(0, WEIGHTS).value)
    return np.array(found)


@pytest.mark.parametrize("which", [SINGLES, [*SINGLES, (0, 1)], ALL, [*SINGLES, (1, 2)]])
def test_a_sum_is_unbiased_and_its_variance_exact(which: list[tuple[int, ...]]) -> None:
    """Whatever the table: each of its cells counts with its weight. Without pairs of the column no unbiased sum varies
    less (least squares over every cell of the whole table); with them, none with another share of the margins."""
    design, variances, cells = cells_of(which)
    mine, weights = coefficients(which), WEIGHTS[cells[:, 0]]
    assert design.T @ mine == pytest.approx(weights, abs=1e-9)
    ours = ColumnSums(evidence(which)).sum(0, WEIGHTS)
    assert ours.variance == pytest.approx(mine**2 @ variances, rel=1e-12)
    assert ours.value == pytest.approx(WEIGHTS[RECORDS[:, 0]].sum())
    least = weights @ np.linalg.pinv(design.T @ (design / variances[:, None]), hermitian=True) @ weights
    pairs = [columns for columns in which if len(columns) == 2 and 0 in columns]
    if not pairs:
        assert ours.variance == pytest.approx(least, rel=1e-9)
        return
    assert least < ours.variance < 1.05 * least
    between = np.bincount(GROUPS[0], WEIGHTS) / np.bincount(GROUPS[0]) - WEIGHTS.mean()
    sure = {columns: 1 / (VARIANCES[columns] * SHAPES[columns][1]) for columns in pairs}
    moved = {columns: np.zeros(SHAPES[columns]) for columns in which}
    moved[0,] = -between[GROUPS[0]]
    for columns in pairs:
        moved[columns] = np.repeat(between[:, None], SHAPES[columns][1], axis=1) * sure[columns] / sum(sure.values())
    other = np.concatenate([moved[columns].ravel() for columns in which])
    assert (mine * other) @ variances == pytest.approx(0, abs=1e-9 * (other**2 @ variances))


def test_groups_cut_by_the_noise_itself_do_not_bias_a_tail() -> None:
    """A hundred nearly empty cells, in groups cut by their noisy counts. The mean of 400 deviations has a standard
    error of 1/20: 5.5 of them, with a chance below 4e-8. With a share for each group it is off by eleven."""
    generator = np.random.default_rng(3)
    exact = np.concatenate([np.full(10, 1000.0), np.full(100, 2.0)])
    tail, columns, off = np.arange(110) >= 10, (Column(110, 110), Column(2)), []
    for _ in range(400):
        noisy = exact + generator.normal(0, 10, 110)
        group = runs(np.maximum(noisy, 0.0), 40)
        both = np.repeat(np.bincount(group, exact)[:, None] / 2, 2, axis=1)
        views = (View((0,), noisy, 100.0), View((1,), np.full(2, 5100.0) + generator.normal(0, 10, 2), 100.0))
        pair = View((0, 1), both + generator.normal(0, 10, both.shape), 100.0)
        found = ColumnSums(Evidence(columns, (group, np.arange(2)), (*views, pair))).sum(0, tail.astype(float))
        off.append((found.value - 200.0) / math.sqrt(found.variance))
    assert abs(np.mean(off)) < 5.5 / 20
    assert np.mean(np.square(off)) == pytest.approx(1.0, abs=5.5 * math.sqrt(2 / 400))


def test_its_law_is_exact() -> None:
    """Of a normal law the mean of 400 has standard error 1/20, and their mean square √(2/400) = 0.07, both over the
    deviation: 5.5 of either, each with a chance below 4e-8."""
    truth, generator = WEIGHTS[RECORDS[:, 0]].sum(), np.random.default_rng(2)
    found = [ColumnSums(evidence(ALL, generator)).sum(0, WEIGHTS) for _ in range(400)]
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


def test_weights_that_differ_by_rounding_are_alike() -> None:
    """λ grows without bound as the weights of groups come to be alike: the last digits would decide an answer."""
    single, pair = View((0,), np.array([50.0, 70.0, 10.0]), 4.0), View((0, 1), np.full((2, 2), 30.0), 9.0)
    groups = np.array([0, 0, 1]), np.arange(2)
    evidence = Evidence((Column(3), Column(2)), groups, (single, View((1,), np.array([61.0, 64.0]), 4.0), pair))
    sums = ColumnSums(evidence)
    alike, rounded = (sums.sum(0, 0.5 + np.array([0.0, 0.0, more])) for more in (0.0, 1e-13))
    assert alike.value == pytest.approx(evidence.total / 2) and alike.variance == pytest.approx(
        evidence.count_variance / 4
    )
    assert rounded.value == pytest.approx(alike.value) and rounded.variance == pytest.approx(alike.variance)


def test_what_is_known_is_what_would_be_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two columns with as many levels each, asked with the same weights; and more than are kept."""
    monkeypatch.setattr(columnsums, "MOST_KNOWN", 3)
    views = (View((0,), np.array([5.0, 7.0, 1.0]), 4.0), View((1,), np.array([2.0, 2.0, 9.0]), 1.0))
    seen = Evidence((Column(3), Column(3)), (np.arange(3), np.arange(3)), views)
    kept = ColumnSums(seen)
    asked = [(column, np.eye(3)[level]) for column in (0, 1) for level in range(3)]
    for column, weights in asked + asked[::-1] + asked:
        assert kept.sum(column, weights) == ColumnSums(seen).sum(column, weights)
        assert kept.sum(column, weights) is kept.sum(column, weights)
        assert len(kept._known) <= 3
