"""What a release costs in the ledger: exact sums of moves over scales, at several budgets; and the digits shown."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful import calibrate, calibrate_shares
from scumble.gate.words import claim_of_words
from scumble.privacy import costs, disjoint, overlapping
from scumble.privacy.budget import Budget
from scumble.privacy.costs import Balance, Charge, Cost, _rho_of, _short, _simple, total_of
from scumble.privacy.exact import show
from scumble.privacy.gaussian import zcdp_delta

EPSILONS = [Fraction(1, 10), Fraction(1, 2), 1, 3]
SETTINGS = [
    {"neighbors": neighbors, "records_per_person": people, "count_share": share}
    for neighbors, people, share in product(["add-remove", "replace"], [1, 3], [0, Fraction(1, 25)])
]


def moves(claim) -> list[tuple[Fraction, Fraction]]:
    """(How far, scale of the noise) of every coordinate that a person moves."""
    sides = 2 if claim.neighbors == "replace" else 1
    people = Fraction(claim.records_per_person)
    found = [(people, Fraction(claim.exact_scale))] * (sides * claim.rows)
    return found + ([(people, Fraction(claim.exact_count_scale))] if claim.exact_count_scale else [])


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_costs_are_sums_over_all_coordinates(epsilon: Fraction, setting: dict, delta: float) -> None:
    claim = calibrate(9, epsilon=epsilon, delta=delta, **setting)
    pure = sum(move / scale for move, scale in moves(claim))
    rho = sum(move**2 / (2 * scale**2) for move, scale in moves(claim))
    exact, rounded = Cost.of(claim, rounded=False), Cost.of(claim)
    if delta:
        assert (exact.epsilon, exact.delta) == (Fraction(repr(claim.epsilon)), Fraction("0.000001"))
        assert epsilon * (1 - Fraction(1, 2**50)) <= exact.epsilon <= epsilon
        assert (rounded.epsilon, rounded.delta) == (exact.epsilon, exact.delta)
    else:
        assert pure <= exact.epsilon <= pure + Fraction(1, 10**30) and exact.delta == rounded.delta == 0
        assert rounded.epsilon == epsilon
    assert exact.rho is not None and rounded.rho is not None
    assert rho <= exact.rho <= rho + Fraction(1, 10**30)
    assert rho <= rounded.rho <= rho * (1 + Fraction(1, 2**39)) + Fraction(1, 10**30)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_shares_cost_their_distance_too(epsilon: Fraction) -> None:
    claim = calibrate_shares(20, custodians=4, epsilon=epsilon, delta=1e-2)
    rho = Cost.of(claim, rounded=False).rho
    assert rho is not None and claim.rho is not None
    assert rho >= Fraction(claim.rho) and rho >= sum(move**2 / (2 * scale**2) for move, scale in moves(claim))
    assert rho <= Fraction(claim.rho) * (1 + Fraction(1, 2**50)) + Fraction(1, 10**30)


def test_parts_add_up_or_the_largest_counts() -> None:
    claims = [calibrate(9, epsilon=e, delta=d) for e, d in ((1, 0), (Fraction(1, 2), 1e-6), (3, 0))]
    costs = [Cost.of(claim) for claim in claims]
    both, one = Cost.of(overlapping(claims)), Cost.of(disjoint(claims))
    for name in ("epsilon", "delta", "rho"):
        values = [getattr(cost, name) for cost in costs]
        assert getattr(both, name) == sum(values) and getattr(one, name) == max(values)
    assert Cost.largest([]) == Cost() == Cost(Fraction(0), Fraction(0), Fraction(0))
    unknown = Cost(Fraction(1), Fraction(0), None)
    assert (costs[0] + unknown).rho is None and Cost.largest([unknown, costs[0]]).rho is None
    assert (unknown + costs[0]).epsilon == 2 and Cost.largest([unknown, costs[2]]).epsilon == 3


def test_a_sum_that_was_shown_to_cost_less_costs_less() -> None:
    """Twenty Gaussian releases together: their ρ add up, and mean an ε far below twenty times one."""
    one = calibrate(9, epsilon=Fraction(1, 2), delta=1e-6)
    together = overlapping([one] * 20)
    assert together.epsilon < 9
    cost = Cost.of(together)
    assert cost.epsilon == Fraction(together.epsilon) and cost.delta == 20 * Cost.of(one).delta
    assert cost.rho == 20 * Cost.of(one).rho  # type: ignore[operator]


@settings(deadline=None)
@given(st.fractions(min_value=0, max_value=1000, max_denominator=10**40))
def test_short_fractions_are_not_below(value: Fraction) -> None:
    short = _short(value)
    assert value <= short < value + Fraction(1, 10**30)
    if value.denominator <= 10**9 or 10**30 % value.denominator == 0:
        assert short == value
    else:
        assert 10**30 % short.denominator == 0
    simple = _simple(value)
    assert value <= simple <= value * (1 + Fraction(1, 2**39)) and simple.denominator <= value.denominator


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3])
def test_rho_is_the_largest_that_keeps_epsilon_and_delta(epsilon: float, delta: float) -> None:
    rho = _rho_of(epsilon, delta)
    assert zcdp_delta(epsilon, rho) <= delta < zcdp_delta(epsilon, rho * (1 + 1e-8))


@settings(deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12, max_denominator=10**15))
def test_six_digits_on_the_safe_side(value: Fraction) -> None:
    up, down = Fraction(show(value)), Fraction(show(value, up=False))
    assert down <= value <= up
    step = Fraction(10) ** (math.floor(math.log10(float(value))) - 5)
    assert up - value <= 2 * step and value - down <= 2 * step
    assert show(Fraction(0)) == "0"


def account(composition: str, *charges: tuple[str | None, Fraction], total: Fraction = Fraction(1)) -> Balance:
    """Of a total ε (or ρ), with parts "north" and "south"; so much was charged to the whole (None) or to a part."""
    pure = composition == "pure"
    return Balance(
        "town",
        composition,
        total if pure else None,
        Fraction(1, 10**5),
        None if pure else total,
        "add-remove",
        1,
        ("north", "south"),
        tuple(
            Charge(f"{k}", "town", part, Cost(cost, cost / 10**6, cost), "discrete-laplace", "then")
            for k, (part, cost) in enumerate(charges)
        ),
        "then",
    )


def test_parts_are_charged_beside_each_other_and_the_whole_on_top() -> None:
    tenth = Fraction(1, 10)
    found = account("pure", (None, tenth), ("north", 3 * tenth), ("south", 2 * tenth), ("north", tenth))
    assert found.spent == Cost(5 * tenth, 5 * tenth / 10**6, 5 * tenth)
    assert found.left() == Cost(5 * tenth, Fraction(1, 10**5) - 5 * tenth / 10**6, None)
    assert found.left("north").epsilon == 5 * tenth and found.left("south").epsilon == 7 * tenth
    mean = account("zcdp", (None, tenth), ("north", 3 * tenth), ("south", 2 * tenth))
    assert mean.left() == Cost(Fraction(0), Fraction(0), 6 * tenth)
    assert mean.left("south").rho == 7 * tenth


@pytest.mark.parametrize("composition", ["pure", "zcdp"])
def test_the_last_charge_that_fits_and_the_first_that_does_not(composition: str) -> None:
    found = account(composition, (None, Fraction(2, 3)))
    third, little = Fraction(1, 3), Fraction(1, 10**40)
    room = Cost(third, Fraction(0), third)
    assert found.refusal(room, None) == "" == found.refusal(room, "north")
    for over in (Cost(third + little, Fraction(0), third + little), Cost(Fraction(2), Fraction(0), Fraction(2))):
        assert "it needs" in found.refusal(over, None)
    if composition == "pure":
        assert "it needs" in found.refusal(Cost(third, Fraction(1), None), None)  # δ counts too
        assert found.refusal(Cost(third, Fraction(0), None), None) == ""
    else:
        assert found.refusal(Cost(Fraction(0), Fraction(0), None), None)


def test_what_is_shown_is_on_the_safe_side() -> None:
    third = Fraction(1, 3)
    found = account("pure", (None, third), total=Fraction(2, 3)).to_dict()
    for name, exact, up in (("budget", 2 * third, False), ("spent", third, True), ("left", third, False)):
        shown = Fraction(found[name]["epsilon"])
        assert found[name]["exact_epsilon"] == str(exact)
        assert (shown > exact) == up and shown != exact
    assert Fraction(found["spent"]["epsilon_at_delta"]) > third
    assert Fraction(found["charges"][0]["epsilon"]) > third
    assert Fraction(found["parts"]["north"]["epsilon"]) < third


def test_what_a_sum_of_rho_means_is_read_off_its_curve() -> None:
    found = account("zcdp", (None, Fraction(1, 10))).spent_epsilon()
    assert zcdp_delta(found, 0.1) <= 1e-5 < zcdp_delta(found * (1 - 1e-8), 0.1)
    assert account("zcdp").spent_epsilon() == 0.0


def test_what_a_sum_of_rho_means_is_asked_on_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Fraction, Fraction]] = []

    def note(first: float, delta: float) -> float:
        asked.append((Fraction(first), Fraction(delta)))
        return 1.0

    monkeypatch.setattr(costs, "zcdp_delta", lambda _, rho: rho)
    monkeypatch.setattr(costs, "least_epsilon", lambda curve, delta: note(curve(1.0), delta))
    monkeypatch.setattr(costs, "_rho_of", note)
    third, failure = Fraction(1, 3), Fraction(1, 10**5)
    assert Fraction(float(failure)) > failure, "so that rounding down is not what float does"
    account("zcdp", (None, third)).spent_epsilon()
    ((rho, delta),) = asked
    assert third < rho < third * (1 + Fraction(1, 2**50)) and failure * (1 - Fraction(1, 2**50)) < delta < failure
    asked.clear()
    total_of(Fraction(2, 3), failure, None, "zcdp")  # 2/3 is also below its float
    ((epsilon, delta),) = asked
    assert Fraction(2, 3) * (1 - Fraction(1, 2**50)) < epsilon < Fraction(2, 3) and delta < failure


def test_a_budget_of_rho_alone_has_no_epsilon() -> None:
    shown = account("zcdp").to_dict()["budget"]
    assert (shown["epsilon"], shown["exact_epsilon"], shown["exact_rho"]) == (0.0, "0", "1")


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        *(("1/3", "0.333334", "0.333333"), ("0.3", "0.3", "0.3"), ("0", "0", "0"), ("1", "1", "1")),
        *(("2/3", "0.666667", "0.666666"), ("1000001/3", "333334", "333333")),
    ],
)
def test_digits_shown(value: str, up: str, down: str) -> None:
    assert (show(Fraction(value)), show(Fraction(value), up=False)) == (up, down)


@pytest.mark.parametrize("budget", [Budget(0.5, 1e-6), Budget(1, 1e-6).in_rho(Fraction(1, 100))], ids=["pure", "rho"])
def test_words_that_nobody_declared_cost_their_claim(budget: Budget) -> None:
    claim = claim_of_words(budget, 3)
    cost = Cost.of(claim)
    assert cost.delta == Fraction("1e-6") and cost.rho is None
    assert cost.epsilon == (Fraction(1, 2) if claim.law.pure else Fraction(repr(claim.epsilon)))
