"""Lines whose cells are mostly empty: noise there makes no records, and one column's answers agree."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble.tabular.answers import Answers
from scumble.tabular.sketch import TableSketch
from scumble.views.evidence import Evidence, View, simplex
from scumble.views.fitting import fitted
from scumble.views.grouping import Column, groups
from scumble.views.halving import line_of
from scumble.views.raking import raked

CELLS, RECORDS, NOISE = 64, 20_000, 80.0


def long_tailed(full: int) -> np.ndarray:
    """Counts that fall by a third from cell to cell, and then end."""
    counts = np.where(np.arange(CELLS) < full, 0.67 ** np.arange(CELLS), 0.0)
    return counts / counts.sum() * RECORDS


def noisy(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Laplace noise."""
    return counts + rng.laplace(0, NOISE / np.sqrt(2), counts.shape)


def alone(counts: np.ndarray) -> Evidence:
    """One column, and the number of records."""
    views = View((), np.array(float(RECORDS)), 100.0), View((0,), counts, NOISE**2)
    return Evidence((Column(CELLS, ordered=CELLS),), (np.arange(CELLS),), views)


def tied(truth: np.ndarray, rng: np.random.Generator) -> Evidence:
    """The same beside a column of two words, and both together, independent of each other."""
    column = noisy(truth, rng)
    group = groups(Column(CELLS, ordered=CELLS), column, 16)
    both = np.outer(np.bincount(group, truth), [0.5, 0.5])
    views = (
        View((0,), column, NOISE**2),
        View((1,), noisy(np.full(2, RECORDS / 2), rng), NOISE**2),
        View((0, 1), noisy(both, rng), NOISE**2),
    )
    return Evidence((Column(CELLS, ordered=CELLS), Column(2)), (group, np.arange(2)), views)


@pytest.mark.parametrize("full", [4, 12])
def test_an_empty_tail_stays_empty(full: int) -> None:
    """The nearest distribution has hundreds of records there, and a mean that is far too large."""
    truth, rng = long_tailed(full), np.random.default_rng(full)
    tails, means, before = [], [], []
    index = np.arange(CELLS)
    for _ in range(20):
        counts = noisy(truth, rng)
        shares = line_of(alone(counts), 0).shares
        assert shares.min() >= 0 and shares.sum() == pytest.approx(1.0)
        nearest = simplex(counts / RECORDS)
        tails.append([found[full + 4 :].sum() for found in (shares, nearest)])
        means.append((shares - truth / RECORDS) @ index)
        before.append((nearest - truth / RECORDS) @ index)
    mine, nearest = np.mean(tails, axis=0) * RECORDS
    assert nearest > 300 and mine < nearest / 4
    assert np.sqrt(np.mean(np.square(means))) < np.sqrt(np.mean(np.square(before))) / 2


def test_even_cells_are_told_better_than_by_themselves() -> None:
    """Where nothing tells cells apart but noise, they have equal shares."""
    rng, truth = np.random.default_rng(1), np.full(CELLS, RECORDS / CELLS)
    off = [line_of(alone(noisy(truth, rng)), 0).shares * RECORDS - truth for _ in range(20)]
    assert np.sqrt(np.mean(np.square(off))) < 0.8 * NOISE


def test_what_is_surely_there_stays() -> None:
    """A heap far out is no noise, however empty its neighbours are."""
    truth = long_tailed(4)
    truth[50] = 1_500.0
    shares = line_of(alone(noisy(truth, np.random.default_rng(2))), 0).shares
    assert shares[50] * truth.sum() == pytest.approx(1_500, abs=5 * NOISE)


def test_levels_that_stand_apart_have_their_own() -> None:
    """Missing cells are no neighbours of the highest number."""
    counts = np.array([4_000.0, 2_000.0, -12.0, 5.0, 3_000.0])
    column = Column(5, ordered=4, missing=True)
    shares = line_of(Evidence((column,), (np.arange(5),), (View((0,), counts, 100.0),)), 0).shares
    assert shares[4] == pytest.approx(3_000 / counts.sum(), rel=0.01) and shares[2:4].tolist() == [0.0, 0.0]


def test_without_records_all_is_alike() -> None:
    """Counts below nought tell nothing."""
    evidence = Evidence((Column(4, ordered=4),), (np.arange(4),), (View((0,), np.full(4, -5.0), 1.0),))
    assert line_of(evidence, 0).shares.sum() == pytest.approx(1.0)


def test_a_fit_has_no_more_in_the_tail_than_the_column_shows() -> None:
    """Groups of a measured pair that may be empty have what the column's own views tell, in every fit."""
    truth, rng = long_tailed(8), np.random.default_rng(3)
    for seed in range(3):
        evidence = tied(truth, rng)
        shares = fitted(evidence, seed, fits=2).table([0])
        line = line_of(evidence, 0)
        assert line.few.any() and not line.few.all()
        far = line.few[evidence.groups[0]]
        assert shares[far].sum() == pytest.approx(line.shares[far].sum(), abs=0.002)
        assert abs((shares - truth / RECORDS) @ np.arange(CELLS)) < 0.25


def test_raking_meets_what_is_known_and_keeps_the_rest() -> None:
    """Two columns that hang together keep their odds ratio."""
    weights = np.array([0.5, 0.5])
    stacks = {0: np.array([[0.8, 0.2], [0.3, 0.7]]), 1: np.array([[0.9, 0.1], [0.2, 0.8]])}
    share, found = raked(weights, stacks, {0: np.array([0.2, 0.8]), 1: np.array([0.7, 0.3])})
    assert share @ found[0] == pytest.approx([0.2, 0.8], abs=1e-3) and share @ found[1] == pytest.approx([0.7, 0.3])

    def odds(w: np.ndarray, tables: dict[int, np.ndarray]) -> float:
        table = tables[0].T @ (w[:, None] * tables[1])
        return float(table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0]))

    assert odds(share, found) == pytest.approx(odds(weights, stacks))


@pytest.mark.parametrize("seed", range(4))
def test_means_of_groups_agree_with_the_mean_of_all(seed: int) -> None:
    """Nothing ties the column to the groups, so their means are all the same, and that of all records, too."""
    money = scumble.Number(0, 10_000_000, zeros=False)
    schema = scumble.Schema(money=money, town=scumble.Category(["Ulm", "Bonn"], other=False, missing=False))
    rng, truth = np.random.default_rng(seed), long_tailed(3)
    views = (*alone(noisy(truth, rng)).views, View((1,), noisy(np.full(2, RECORDS / 2), rng), NOISE**2))
    columns, levels = (Column(CELLS, ordered=CELLS), Column(2)), (np.arange(CELLS), np.arange(2))
    answers = Answers(TableSketch(schema).spec, [Evidence(columns, levels, views)], "laplace", str(seed))
    whole = answers.mean([(1.0, {})], 0, money.representative)
    for town in np.eye(2):
        assert answers.mean([(1.0, {1: town})], 0, money.representative).value == pytest.approx(whole.value, rel=0.1)
    mean = float(money.representative @ truth / RECORDS)
    assert whole.value == pytest.approx(mean, rel=0.5)
    assert whole.own.value != whole.value and abs(whole.own.value - mean) < 5 * np.sqrt(whole.own.variance)


@pytest.mark.parametrize("counted", [-9.0, 12.0, 700.0])
def test_a_cell_of_a_single_value_is_no_part_of_the_line(counted: float) -> None:
    """It has what was counted there, or nothing if that may be noise; and the rest is shared out without it."""
    noisy_counts = np.array([counted, 300.0, 310.0, 305.0, 295.0])
    columns = (Column(5, ordered=5, lone=0),)
    evidence = Evidence(columns, (np.arange(5),), (View((0,), noisy_counts, 100.0),))
    shares = line_of(evidence, 0).shares
    held = counted if counted > 15.0 else 0.0
    assert shares[0] == pytest.approx(held / (held + (evidence.count - held)), abs=1e-9)
    assert shares[1:] == pytest.approx((1 - shares[0]) / 4, rel=0.05)
