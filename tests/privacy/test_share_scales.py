"""How much noise each custodian adds: exact scales, the room kept for their sum, and what the sum has."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import scumble
from lawful import calibrate, calibrate_shares
from scumble.errors import ParameterError, PrivacyError
from scumble.privacy import noise, splitting
from scumble.privacy.budget import Budget
from scumble.privacy.exact import float_up
from scumble.privacy.gaussian import certified_delta, least_epsilon
from scumble.privacy.laws import discrete_laplace
from scumble.privacy.laws.discrete_gaussian import SHARE_SLACK, distance_of_sum, shift

EPSILONS = [Fraction(1, 10), 0.5, 1, 3]
SETTINGS = [
    {"neighbors": neighbors, "records_per_person": people, "count_share": share}
    for neighbors, people, share in product(["add-remove", "replace"], [1, 3], [0, Fraction(1, 25)])
]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_laplace_shares_are_made_for_the_scale_of_a_whole_release(epsilon: Fraction, setting: dict) -> None:
    whole = calibrate(7, epsilon=epsilon, **setting)
    for custodians, dropouts in ((1, 0), (5, 0), (5, 2)):
        claim = calibrate_shares(7, custodians=custodians, dropouts=dropouts, epsilon=epsilon, **setting)
        assert claim == dataclasses.replace(whole, custodians=custodians, dropouts=dropouts)
        assert splitting.enough(claim) == custodians - dropouts


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_what_is_drawn_for_laplace_shares(monkeypatch: pytest.MonkeyPatch, setting: dict) -> None:
    asked: list[object] = []
    monkeypatch.setattr(discrete_laplace, "laplace_share", lambda *given: asked.append(given) or np.array([5, 6]))
    claim = calibrate_shares(7, custodians=6, dropouts=2, epsilon=0.5, **setting)
    splitting.draw_counters_share(claim, (7, 9))
    assert asked == [(Fraction(str(claim.exact_scale)), 4, (7, 9))]
    if claim.exact_count_scale is None:
        with pytest.raises(PrivacyError):
            splitting.draw_count_share(claim)
    else:
        assert splitting.draw_count_share(claim) == 5
        assert asked[1] == (Fraction(claim.exact_count_scale), 4, 1)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_what_is_drawn_for_gaussian_shares(monkeypatch: pytest.MonkeyPatch, setting: dict) -> None:
    """σ over √k: its square times k is the full σ², or above it by less than 10⁻¹⁵."""
    asked: list[tuple[Fraction, object]] = []
    monkeypatch.setattr(noise, "discrete_gaussian", lambda *given: asked.append(given) or np.array([5, 6]))
    claim = calibrate_shares(7, custodians=6, dropouts=1, epsilon=0.5, delta=1e-6, **setting)
    splitting.draw_counters_share(claim, (7, 9))
    full = [Fraction(str(claim.exact_scale))]
    if claim.exact_count_scale is not None:
        assert splitting.draw_count_share(claim) == 5
        full.append(Fraction(claim.exact_count_scale))
    assert [size for _, size in asked] == [(7, 9), 1][: len(full)]
    for (sigma, _), whole in zip(asked, full, strict=True):
        assert 0 < 5 * sigma**2 - whole**2 < Fraction(1, 10**15)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_gaussian_shares_keep_room_for_their_sum(epsilon: Fraction, setting: dict) -> None:
    """The ideal law is calibrated for (ε − 2c, δ e^−2c) with c = 10⁻⁹ min(1, ε); the claim is what was asked for."""
    delta, slack = 1e-6, Fraction(1e-9)
    claim = calibrate_shares(7, custodians=3, epsilon=epsilon, delta=delta, **setting)
    less = Fraction(epsilon) - 2 * slack * min(Fraction(1), Fraction(epsilon))
    ideal = calibrate(7, epsilon=less, delta=Fraction(delta) * (1 - 2 * slack), **setting)
    assert (claim.exact_scale, claim.exact_count_scale) == (ideal.exact_scale, ideal.exact_count_scale)
    assert (claim.epsilon, claim.delta) == (calibrate(7, epsilon=epsilon, delta=delta, **setting).epsilon, delta)
    assert (claim.custodians, claim.dropouts) == (3, 0)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("epsilon", [0.3, 1, 2])
def test_as_many_custodians_as_the_room_allows(setting: dict, epsilon: float) -> None:
    """Of all the touched coordinates' sums, the distance is at most 10⁻⁹ min(1, ε), or refused; and it counts in ρ."""
    rows, people, sides = 20, setting["records_per_person"], 2 if setting["neighbors"] == "replace" else 1
    whole = calibrate_shares(rows, custodians=1, epsilon=epsilon, delta=1e-2, **setting)
    scale = Fraction(str(whole.exact_scale))
    count = None if whole.exact_count_scale is None else Fraction(whole.exact_count_scale)

    def distance(custodians: int) -> float:
        one = true_distance(float(scale) / math.sqrt(custodians), custodians)
        own = true_distance(float(count) / math.sqrt(custodians), custodians) if count else 0.0
        return sides * rows * people * one + own

    room = 1e-9 * min(1.0, epsilon)
    most = next(n for n in range(2, 10**4) if distance(n) > room) - 1
    assert most > 2 and abs(distance(most) / room - 1) > 1e-5 and abs(distance(most + 1) / room - 1) > 1e-5
    claim = calibrate_shares(rows, custodians=most, epsilon=epsilon, delta=1e-2, **setting)
    with pytest.raises(ParameterError, match="`custodians` must be few enough"):
        calibrate_shares(rows, custodians=most + 1, epsilon=epsilon, delta=1e-2, **setting)
    rho = float_up(claim.law.rho(claim.moves, claim.scales))
    extra = float(Fraction(claim.rho or 0) - Fraction(rho))
    assert 1e-14 < distance(most) <= extra + math.ulp(rho) and extra <= distance(most) * (1 + 1e-5) + 2 * math.ulp(rho)


def true_distance(sigma: float, custodians: int) -> float:
    """Σ ln((1 + 2κ)/(1 − 2κ)), κ = x/(1 − x), x = exp(−2π²σ² k/(k + 1)), over k below `custodians`."""
    k = np.arange(1, custodians)
    x = np.exp(-2 * (math.pi * sigma) ** 2 * k / (k + 1))
    return float(np.sum(2 * np.arctanh(2 * x / (1 - x)))) if 3 * x[0] < 1 else math.inf


@pytest.mark.parametrize("sigma", [0.6, 1.0, 1.7, 2.5])
@pytest.mark.parametrize("custodians", [2, 3, 40])
def test_the_distance_is_the_formula_s(sigma: float, custodians: int) -> None:
    assert distance_of_sum(sigma, 1) == 0.0
    truth = true_distance(sigma, custodians)
    assert truth <= distance_of_sum(sigma, custodians) <= truth * (1 + 2e-6)


def test_the_distance_of_millions_is_not_cut_off() -> None:
    """Beyond a million the first million's terms stand for as many of the others, which are smaller."""
    million = distance_of_sum(1.7, 10**6)
    assert million == pytest.approx(true_distance(1.7, 300), rel=1e-5)  # the first terms are all of it
    assert distance_of_sum(1.7, 10**6 - 1) <= million
    assert distance_of_sum(1.7, 2 * 10**6) == 2 * million


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("arrived", [3, 4, 5])
def test_the_sum_has_the_variance_of_its_shares(delta: float, epsilon: Fraction, arrived: int) -> None:
    law = noise.gaussian_variance if delta else noise.laplace_variance
    claim = calibrate_shares(7, custodians=5, dropouts=2, epsilon=epsilon, delta=delta)
    counter, count = splitting.variances(claim, arrived)
    assert counter == pytest.approx(arrived / 3 * law(Fraction(str(claim.exact_scale))), rel=1e-12)
    assert count == pytest.approx(arrived / 3 * law(Fraction(str(claim.exact_count_scale))), rel=1e-12)
    silent = calibrate_shares(7, custodians=5, dropouts=2, epsilon=epsilon, delta=delta, count_share=0)
    counter, count = splitting.variances(silent, arrived)
    assert counter == pytest.approx(arrived / 3 * law(Fraction(str(silent.exact_scale))), rel=1e-12)
    assert count == 0.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_the_curve_of_a_sum_adds_the_room(epsilon: float, delta: float) -> None:
    claim = calibrate_shares(5, custodians=3, epsilon=epsilon, delta=1e-6)
    worst = shift(claim.moves, claim.scales)
    less = delta * (1 - 2e-9)
    ideal = least_epsilon(lambda e: certified_delta(e, worst, target=less), less)
    wanted = ideal + 2e-9 * min(1.0, epsilon)
    if delta >= 1e-6:
        wanted = min(wanted, epsilon)
    assert claim._curve(delta) >= ideal + 1.9e-9 * min(1.0, epsilon)
    assert claim.equivalent(delta) == pytest.approx(wanted, abs=2e-10 * epsilon)


@pytest.mark.parametrize("bad", [-1, 1.0, True, False, "0", None, 4, 5])
def test_dropouts_are_whole_and_below_the_custodians(bad: object) -> None:
    with pytest.raises(ParameterError, match="`dropouts` must be"):
        calibrate_shares(3, custodians=4, dropouts=bad, epsilon=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 3.0])
def test_only_replace_makes_the_number_of_records_public(monkeypatch, delta: float, epsilon: float) -> None:
    """N itself under replace-one; N and noise of the count's own scale under add-remove; nothing without a share of
    the budget. The noise is made recognizable: the draw of a count is 10⁶."""
    drawn = []
    monkeypatch.setattr("scumble.gate.gate.draw_count_share", lambda claim: drawn.append(claim) or 10**6)
    published = {}
    for name, setting in {
        "replace": {"neighbors": "replace"},
        "hidden": {"neighbors": "add-remove"},
        "silent": {"neighbors": "add-remove", "count_share": 0},
    }.items():
        sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=5, buckets=8, design="iid")
        sketch.update(np.zeros((41, 1)))
        share = sketch.release_share(epsilon, delta, custodians=2, **setting)
        published[name] = share._count
        assert share.payload.size == 40 + (0 if share._count is None else 1)
    assert published == {"replace": 41, "hidden": 41 + 10**6, "silent": None}
    assert len(drawn) == 1 and drawn[0].neighbors == "add-remove" and drawn[0].epsilon == epsilon


@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(1, 2)])
def test_shares_of_a_budget_in_rho_keep_room_for_their_sum(rho: Fraction) -> None:
    budget = Budget.of(rho=rho)
    claim, whole = splitting.calibrate_shares(100, budget, custodians=5), budget.claim(100)
    room = 2 * Fraction(SHARE_SLACK) * min(Fraction(1), Fraction(whole.epsilon))
    ideal = Budget.of(rho=Fraction(whole.rho or 0) - room, delta=whole.delta).claim(100)
    assert (claim.exact_scale, claim.dropouts) == (ideal.exact_scale, 0)
    assert (
        Fraction(ideal.epsilon) + room
        <= Fraction(claim.epsilon)
        <= Fraction(ideal.epsilon) + room * (1 + Fraction(1, 2))
    )
