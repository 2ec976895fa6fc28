"""Shares are the best of all, and the plan steps down as the budget shrinks."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scumble.errors import ParameterError
from scumble.table.budgeting import Noise, Plan, cells_of_triples, for_triples, plan
from scumble.table.prior import CHOOSING, DRAWS, EXTRA, LEVELS, SINGLES

laws = st.sampled_from(["laplace", "gaussian"])
sizes = st.lists(st.integers(1, 500), min_size=2, max_size=8)


@given(laws, sizes, st.integers(0, 10**6))
def test_no_other_shares_err_less(law: str, cells: list[int], seed: int) -> None:
    budget = Noise(law, 3.0)  # type: ignore[arg-type]
    best = budget.shares(cells, 0.8)
    assert best.sum() == pytest.approx(0.8)
    other = 0.8 * np.random.default_rng(seed).dirichlet(np.ones(len(cells)))

    def summed(shares: np.ndarray) -> float:
        return sum(c * budget.deviation_at(t) ** 2 for c, t in zip(cells, shares, strict=True))

    assert summed(best) <= summed(np.maximum(other, 1e-12)) * (1 + 1e-9)


@given(laws, st.floats(0.01, 100), st.lists(st.floats(0.01, 1), min_size=1, max_size=9))
def test_shares_spend_the_budget(law: str, scale: float, parts: list[float]) -> None:
    """Σ 1/b_r = ε, or Σ 1/σ_r² = 1/σ²."""
    budget = Noise(law, scale)  # type: ignore[arg-type]
    shares = np.array(parts) / sum(parts)
    power = 1 if law == "laplace" else 2
    assert sum(budget.scale_at(t) ** -power for t in shares) == pytest.approx(scale**-power)


@given(laws, st.floats(0.01, 1000), st.floats(-100, 1e9), st.integers(1, 100), st.floats(0, 1))
def test_a_plan_spends_all_that_there_is_and_no_more(
    law: str, scale: float, count: float, columns: int, part: float
) -> None:
    most = 1 + int(part * (columns - 1))
    chosen = plan(count, columns, Noise(law, scale), most)  # type: ignore[arg-type]
    assert chosen.singles + chosen.pairs == pytest.approx(1)
    assert (chosen.choice == "singles") == (chosen.pairs == 0) == (chosen.rounds == 0)
    assert chosen.rounds <= columns * (columns - 1) // 2
    if chosen.choice == "adaptive":  # a pair can have its part
        assert chosen.pairs / chosen.rounds <= (1 + 1e-12) / most
    if chosen.rounds:
        assert chosen.levels >= 2
        s = Noise(law, scale).deviation_at(chosen.pairs / chosen.rounds)  # type: ignore[arg-type]
        assert chosen.bearable == pytest.approx((count / s) ** 0.5)


def test_smaller_budgets_choose_and_then_give_up() -> None:
    choices = [plan(40_000, 15, Noise("laplace", 1 / epsilon)).choice for epsilon in (10, 0.1, 0.001)]
    assert choices == ["all pairs", "adaptive", "singles"]
    assert plan(40_000, 15, Noise("gaussian", 36.0)).choice == "all pairs"
    assert plan(40_000, 15, Noise("laplace", 0.1)).singles < plan(40_000, 15, Noise("laplace", 4.0)).singles
    rounds = [plan(40_000, 15, Noise("laplace", 1 / epsilon)).rounds for epsilon in (10, 0.5, 0.2, 0.1)]
    assert rounds == sorted(rounds, reverse=True) and len(set(rounds)) == 4


def test_columns_of_few_levels_need_not_stand_alone() -> None:
    """600 records, ε = 1: no pairs of 16 levels an axis are to be had, and few half way between these and 5; but of 5
    levels they all are. Of 60 records no pair bears ten levels."""
    noise = Noise("laplace", 1.0)
    assert plan(600, 4, noise).choice == "singles" and plan(2500, 4, noise).rounds == 3
    few, fewer = plan(2500, 4, noise, cells=25.0), plan(600, 4, noise, cells=25.0)
    assert (few.choice, few.rounds) == ("adaptive", 6) and few.levels >= 5
    assert (fewer.choice, fewer.rounds) == ("adaptive", 6) and fewer.levels >= 5
    assert plan(60, 4, noise, cells=100.0).choice == "singles"


def test_columns_of_few_levels_are_told_with_more_pairs() -> None:
    """The more, the fewer levels they have."""
    noises = [Noise("laplace", 1 / epsilon) for epsilon in (0.3, 1.0, 3.0, 10.0)]
    measured = [
        [plan(10_000, 15, noise, cells=cells).rounds for noise in noises] for cells in (324.0, 100.0, 25.0, 4.0)
    ]
    assert all(list(one) == sorted(one) for one in zip(*measured, strict=True)) and measured[0] != measured[-1]


def by_definition(count: float, columns: int, scale: float, most: float, cells: float) -> tuple[str, int]:
    """Which pairs are measured with Laplace noise, and how many at most: the words of the module, in numbers."""

    def borne(choice: str, size: float) -> float:
        return (1 - SINGLES[choice]) * max(count, 1e-9) / (math.sqrt(2) * scale * size)

    pairs = math.comb(columns, 2)
    if borne("all pairs", LEVELS**2) >= pairs:
        return "all pairs", pairs
    rounds = int(borne("adaptive", LEVELS * math.sqrt(cells)))
    if rounds < columns - 1:
        rounds = int(borne("adaptive", cells))
    if rounds:
        rounds = min(max(min(rounds, DRAWS), math.ceil((1 - SINGLES["adaptive"]) * most)), pairs)
    return "adaptive", rounds


def test_as_many_pairs_as_bear_their_cells() -> None:
    seen = set()
    for count, columns, scale, most, cells in product(
        (-7.0, 0.3, 61.0, 599.0, 2503.0, 40_009.0), (2, 3, 4, 15), (1e-3, 0.3, 1.0, 9.0), (1, 2, 9), (4.0, 25.0, 256.0)
    ):
        choice, rounds = by_definition(count, columns, scale, most, cells)
        found = plan(count, columns, Noise("laplace", scale), most, cells)
        share = (1 - SINGLES[choice]) / max(rounds, 1)
        bearable = math.sqrt(max(count, 0) / (math.sqrt(2) * scale / share)) if rounds else 0.0
        assert found.bearable == pytest.approx(bearable)
        wanted = (choice, rounds, int(bearable)) if bearable >= 2 else ("singles", 0, 0)
        assert (found.choice, found.rounds, found.levels, found.triples, found.triple_rounds) == (*wanted, 0.0, 0)
        seen.add(found.choice)
        if most == 1 and cells == LEVELS**2:
            assert found == plan(count, columns, Noise("laplace", scale))
    assert len(seen) == 3
    assert plan(-7.0, 3, Noise("gaussian", 1e-3)) == Plan(1.0, 0.0, "singles", 0, 0, 0.0)


def test_triples_are_one_or_two_or_none() -> None:
    least = [64 / math.sqrt(EXTRA * (1 - CHOOSING) / rounds) for rounds in (1, 2)]  # eight cells or more at σ = 1
    for count, most, wanted in [
        *((0.99 * least[0], 9, 0), (1.01 * least[0], 9, 1), (0.99 * least[1], 9, 1), (1.01 * least[1], 9, 2)),
        *((1e9, 1, 1), (1e9, 0, 0)),
    ]:
        assert for_triples(count, most, Noise("gaussian", 1.0)) == (float(EXTRA) * (wanted > 0), wanted)
    assert cells_of_triples(-5.0, 1.0) == 0.0 and cells_of_triples(4.0, 0.25) == 4.0


def test_noise_has_a_law_a_scale_and_a_deviation() -> None:
    with pytest.raises(ParameterError, match="law"):
        Noise("cauchy", 1.0)  # type: ignore[arg-type]
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ParameterError, match="scale"):
            Noise("laplace", bad)
    assert Noise("gaussian", 3.0).deviation_at(0.25) == 6.0
    assert Noise("laplace", 3.0).deviation_at(0.25) == pytest.approx(12 * math.sqrt(2))
