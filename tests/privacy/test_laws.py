"""Every law of noise keeps the promises of `Law`: found by existing, and held against its own definition."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from importlib import import_module
from itertools import pairwise, product

import numpy as np
import pytest

from scumble.errors import ParameterError
from scumble.privacy import analytic_gaussian_sigma, audit_hooks, calibrate
from scumble.privacy.budget import Budget
from scumble.privacy.laws import GAUSSIAN, LAPLACE, LAWS, quietest
from scumble.privacy.laws.law import Drawn, Law
from scumble.privacy.sensitivity import Column, Moves, Scales
from scumble.privacy.splitting import calibrate_shares, draw_count_share, draw_counters_share

BUDGETS = [(0.3, 0.0), (1.0, 0.0), (4.0, 0.0), (0.3, 1e-6), (1.0, 1e-9), (4.0, 1e-3)]
MOVES = [
    Moves(rows, neighbors, people) for rows, neighbors, people in product([1, 6], ["add-remove", "replace"], [1, 3])
]
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))


class Taker:
    """Takes down what the sampler reports."""

    def __init__(self) -> None:
        self.draws: list[Drawn] = []

    def drawn(self, kind: str, scale: Fraction, parts: int, values: np.ndarray) -> None:
        assert values.dtype == np.int64
        self.draws.append(Drawn(kind, scale, parts))


def served(law: Law) -> list[tuple[float, float]]:
    """Budgets that the law is made for."""
    return [(epsilon, delta) for epsilon, delta in BUDGETS if law.serves(epsilon, delta) and law.pure == (delta == 0)]


def definition(law: Law, scale: float) -> tuple[np.ndarray, np.ndarray]:
    reach = math.ceil(law.reach * scale) + 2
    k = np.arange(-reach, reach + 1)
    weights = law.weights(np.abs(k), scale)
    return k, weights / weights.sum()


def test_the_names_in_files_stay() -> None:
    assert {"discrete-laplace": LAPLACE, "discrete-gaussian": GAUSSIAN}.items() <= LAWS.items()


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 25)])
@pytest.mark.parametrize("moves", [Moves(1, "add-remove", 1), Moves(1, "replace", 3)], ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (5.0, 1e-6)])
def test_the_quieter_law_is_taken(moves: Moves, share: Fraction, epsilon: float, delta: float) -> None:
    """Laplace for few rows, Gaussian for many, with one change between; from the variances themselves."""
    taken = []
    for rows in range(1, 30):
        worst = dataclasses.replace(moves, rows=rows)
        variances = {law: law.variance(law.scales(worst, epsilon, delta, share).counters) for law in LAWS.values()}
        law, _ = quietest(worst, epsilon, delta, share)
        assert variances[law] == min(variances.values())
        assert quietest(worst, epsilon, 0.0, share)[0] is LAPLACE
        taken.append(law)
    few = taken.count(LAPLACE)
    assert taken == [LAPLACE] * few + [GAUSSIAN] * (29 - few)
    # 2 L1²/(ε (1 − c))² against L2² σ₀²/(1 − c), in each of the R rows sides·m and sides·m².
    even = float(1 - share) * (epsilon * analytic_gaussian_sigma(epsilon, delta)) ** 2 / (2 * moves.cells)
    assert abs(few - even) <= 1


def test_the_claim_of_the_quieter_law_says_what_is_true() -> None:
    claim = calibrate(1, epsilon=1, delta=1e-6)
    assert (claim.mechanism, claim.delta, claim.epsilon) == ("discrete-laplace", 0.0, 1.0)
    assert calibrate(1, epsilon=1, delta=1e-6) == calibrate(1, epsilon=1)
    assert calibrate(100, epsilon=1, delta=1e-6).mechanism == "discrete-gaussian"
    assert calibrate(1, epsilon=1e12, delta=1e-6).mechanism == "discrete-gaussian"  # no Laplace scale is as small


def test_a_law_may_be_asked_for_by_name() -> None:
    assert calibrate(1, epsilon=1, delta=1e-6, mechanism="discrete-gaussian").delta == 1e-6
    assert calibrate(500, epsilon=1, delta=1e-6, mechanism="discrete-laplace").delta == 0
    for wrong in ({"delta": 0, "mechanism": "discrete-gaussian"}, {"delta": 1e-6, "mechanism": "uniform"}):
        with pytest.raises(ParameterError, match="mechanism"):
            calibrate(1, epsilon=1, **wrong)  # type: ignore[arg-type]


@every_law
def test_a_law_is_a_file_of_its_name(law: Law) -> None:
    module = import_module(f"scumble.privacy.laws.{law.name.replace('-', '_')}")
    assert type(law).__module__ == module.__name__
    assert law.family in law.title and law is LAWS[law.name]


@every_law
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3), Fraction(40)])
def test_the_variance_is_that_of_the_definition(law: Law, scale: Fraction) -> None:
    k, chances = definition(law, float(scale))
    assert law.variance(scale) == pytest.approx(float(chances @ k.astype(float) ** 2), rel=1e-9)
    assert law.weights(np.array([len(k) // 2]), float(scale))[0] < 1e-16 * law.weights(np.array([0]), float(scale))[0]


@every_law
@pytest.mark.parametrize("move", [1, 3])
def test_a_move_costs_what_the_definition_says(law: Law, move: int) -> None:
    """ε is the largest logarithm of P(k)/P(k − move); ρ bounds the Rényi divergence of order α by αρ."""
    scale = Fraction(7, 3)
    k, p = definition(law, float(scale))
    kept = slice(move, len(k))
    ratio = np.log(p[kept] / p[: len(k) - move])
    spent = float(law.spent([move], scale))
    if law.pure:
        assert spent == pytest.approx(np.abs(ratio).max(), rel=1e-9)
    else:
        for order in (1.5, 2.0, 8.0):
            divergence = math.log(float(np.sum(p[kept] * np.exp((order - 1) * ratio)))) / (order - 1)
            assert divergence <= order * spent * (1 + 1e-9)
    assert law.spent([move, -move, 0], scale) == 2 * law.spent([move], scale)


@every_law
@pytest.mark.parametrize("moves", MOVES, ids=str)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 25)])
def test_scales_prove_the_request_and_not_much_more(law: Law, moves: Moves, share: Fraction) -> None:
    for epsilon, delta in served(law):
        scales = law.scales(moves, epsilon, delta, share)
        assert (scales.count is None) == (share == 0)
        assert law.proves(moves, scales, epsilon, delta)
        assert not law.proves(moves, scales, epsilon * 0.8, delta)
        less = Scales(scales.counters * Fraction(3, 4), scales.count and scales.count * Fraction(3, 4))
        assert not law.proves(moves, less, epsilon, delta)
        every = [moves.people] * moves.cells
        worst = law.spent(every, scales.counters)
        if scales.count is not None:
            worst += law.spent([moves.people], scales.count)
        assert worst == (law.epsilon(moves, scales) if law.pure else law.rho(moves, scales))
        assert (law.epsilon(moves, scales) is not None) == law.pure


@every_law
def test_the_curve_falls_and_stays_below_the_claim(law: Law) -> None:
    for epsilon, delta in served(law):
        claim = calibrate(6, epsilon=epsilon, delta=delta, mechanism=law.name)
        curve = [law.curve(claim.moves, claim.scales, at) for at in (1e-12, 1e-9, 1e-6, 1e-3)]
        assert all(after < before for before, after in pairwise(curve))
        if delta == 0:
            assert curve[0] <= claim.epsilon * (1 + 1e-8)
        else:
            assert law.curve(claim.moves, claim.scales, delta) <= claim.epsilon * (1 + 1e-8)


@every_law
def test_draws_and_shares_are_reported_as_the_law_says(law: Law) -> None:
    for epsilon, delta in served(law):
        claim = calibrate_shares(60, Budget(epsilon, delta), custodians=5, dropouts=2, mechanism=law.name)
        taker = Taker()
        with audit_hooks.watching(taker):  # type: ignore[arg-type]
            assert draw_counters_share(claim, (60, 4)).shape == (60, 4)
            draw_count_share(claim)
            assert law.draw(Fraction(7, 3), (2, 5)).shape == (2, 5)
        assert claim.scales.count is not None
        shares = [law.share(scale, 3) for scale in (claim.scales.counters, claim.scales.count)]
        assert taker.draws == [*shares, Drawn(law.name, Fraction(7, 3))] and taker.draws[-1].parts == 1


def test_shares_that_add_up_exactly_need_no_room() -> None:
    for epsilon, delta in BUDGETS:
        claim = calibrate_shares(60, Budget(epsilon, delta), custodians=4)
        assert (claim.law.slack == 0) == claim.law.pure
        assert 0 <= claim.law.distance(claim.scales.counters, 4) <= claim.law.slack
        ideal = claim.law.curve(claim.moves, claim.scales, 1e-5)
        assert (claim._curve(1e-5) == ideal) == claim.law.pure


@pytest.mark.parametrize("delta", [0.001, 0.05])
def test_one_coin_and_no_count_by_hand(delta: float) -> None:
    """One row without a count is randomized response: δ(ε′) = p (1 − e^(ε′ − ε)) with p = 1/(1 + e^−ε)."""
    claim = calibrate(1, epsilon=2, count_share=0)
    chance = 1 / (1 + math.exp(-claim.epsilon))
    assert claim.equivalent(delta) == pytest.approx(claim.epsilon + math.log1p(-delta / chance), rel=1e-5)


@pytest.mark.parametrize("scale", [Fraction(7, 10), Fraction(29, 20), Fraction(19, 10), Fraction(31, 10)])
def test_the_bound_is_that_of_the_worst_number_of_words(scale: Fraction) -> None:
    moves, threshold, q = Moves(2, "add-remove", 6), 40, math.exp(-1 / float(scale))
    exact = 2 * max(j * q ** (threshold - (6 - j + 1)) / (1 + q) for j in range(1, 7))
    assert exact <= LAPLACE.revealed(moves, scale, threshold) <= exact * (1 + 1e-5)


def test_a_stream_of_laplace_noise_claims_the_rho_of_its_epsilon() -> None:
    moves, scales = Moves(6, "replace", 3, Column(2, 2, 2)), Scales(Fraction(31), None)
    assert LAPLACE.rho(moves, scales) == LAPLACE.epsilon(moves, scales) ** 2 / 2


@pytest.mark.parametrize("count_share", [Fraction(0), Fraction(1, 20)])
@pytest.mark.parametrize("shares", [(), tuple(Fraction(k, 21) for k in (1, 2, 3, 4, 5, 6))])
def test_a_rho_is_spent_whole_however_it_is_shared(shares: tuple[Fraction, ...], count_share: Fraction) -> None:
    rho = Fraction(1, 3)
    for moves in (one for one in MOVES if one.rows == 6):
        scales = GAUSSIAN.scales_of_rho(moves, rho, count_share, shares)
        assert rho * Fraction(999, 1000) <= GAUSSIAN.rho(moves, scales) <= rho
        rows = [scale for times, scale in scales.runs(moves.rows) for _ in range(times)]
        for share, scale in zip(shares, rows, strict=False):
            assert float(share * scale**2 / (shares[0] * rows[0] ** 2)) == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(("scale", "share"), [(Fraction(7, 3), Fraction(1, 3)), (Fraction(1000), Fraction(2, 7))])
def test_the_least_scale_for_a_share_of_the_cost(scale: Fraction, share: Fraction) -> None:
    for law, wanted in ((LAPLACE, float(scale / share)), (GAUSSIAN, float(scale) / math.sqrt(share))):
        found = law.part(scale, share)
        assert law.spent([1], found) <= share * law.spent([1], scale)
        assert float(found) == pytest.approx(wanted, rel=2**-38)


def test_what_a_stream_of_laplace_noise_promises_at_a_delta() -> None:
    """The curve of one coin that tells all: δ(ε) = (e^whole − e^ε) / (1 + e^whole)."""
    claim = Budget(1.0).claim(4, column=Column(3, 3, 3))
    for delta in (1e-6, 1e-3, 0.05):
        wanted = math.log(math.e - delta * (1 + math.e))
        assert wanted <= claim.equivalent(delta) <= min(1.0, wanted + 1e-6)


def test_unequal_rows_and_the_count_have_the_best_renyi_bound() -> None:
    """One coin for each row and one for the count; the best of many orders (Canonne, Kamath & Steinke 2020)."""
    claim = calibrate(3, epsilon=2, shares=[1, 2, 5], count_share=Fraction(1, 4))
    assert claim.scales.count is not None
    steps = np.array([float(1 / scale) for scale in (*claim.row_scales, claim.scales.count)])
    order = np.geomspace(1.01, 300, 100_000)
    loss = np.log(np.cosh(np.outer(order - 0.5, steps)) / np.cosh(steps / 2)).sum(axis=1) / (order - 1)
    for delta in (1e-6, 1e-3, 0.05):
        rest = np.log(delta) + np.log(order - 1) - order * np.log(1 - 1 / order)
        best = float((loss - rest / (order - 1)).min())
        assert claim.equivalent(delta) == pytest.approx(min(2.0, best), rel=1e-5)
