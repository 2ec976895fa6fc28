"""Groups of levels: few enough, contiguous along a line, and the best such cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scumble.table.grouping import Column, groups, pooled, runs
from scumble.table.prior import LEVELS

masses = st.lists(st.floats(-100, 1000, allow_nan=False), min_size=1, max_size=60)


@given(masses, st.integers(1, 70), st.data())
def test_any_column_gets_few_groups(counts: list[float], most: int, data: st.DataObject) -> None:
    ordered = data.draw(st.integers(0, len(counts)))
    group = groups(Column(len(counts), ordered), np.array(counts), most)
    assert len(group) == len(counts)
    used = np.unique(group)
    assert used.tolist() == list(range(len(used)))
    assert 1 <= len(used) <= most
    assert np.isin(np.diff(group[:ordered]), (0, 1)).all()  # runs of a line, in order
    if most > 1 and 0 < ordered < len(counts):
        assert not set(group[:ordered]) & set(group[ordered:])  # what is missing is no large number
    if len(counts) <= min(most, LEVELS):
        assert len(used) == len(counts)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9), st.integers(1, 6))
def test_runs_are_the_best_cut(mass: list[int], most: int) -> None:
    array = np.array(mass, float)

    def sum_of_squares(cuts: tuple[int, ...]) -> float:
        return sum(part.sum() ** 2 for part in np.split(array, cuts))

    best = min(
        sum_of_squares(cuts)
        for number in range(min(most, len(mass)))
        for cuts in itertools.combinations(range(1, len(mass)), number)
    )
    group = runs(array, most)
    assert (np.bincount(group, array) ** 2).sum() == pytest.approx(best)


@given(masses, st.integers(1, 20))
def test_the_heaviest_stay_alone(counts: list[float], most: int) -> None:
    mass = np.array(counts)
    group = pooled(mass, most)
    alone = [g for g in np.unique(group) if (group == g).sum() == 1]
    if len(mass) > most:
        lumped = mass[group == most - 1]
        assert all(mass[group == g][0] >= lumped.max() for g in alone if g != most - 1)
        assert len(np.unique(group)) == most
