"""Rows with noise of their own: scales follow the shares, and no claim is above the truth, however unequal they are."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from unittest import mock

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful import brute
from scumble.errors import ParameterError, PrivacyError
from scumble.privacy import PrivacyClaim, calibrate, overlapping
from scumble.privacy.budget import DEFAULT_COUNT_SHARE, Budget
from scumble.privacy.costs import Cost
from scumble.privacy.exact import dyadic_below, sum_above
from scumble.privacy.laws.discrete_laplace import unequal_delta
from scumble.privacy.sensitivity import Scales

SHARES = (Fraction(1), Fraction(5), Fraction(1), Fraction(1, 3))
PURE = Budget(1.0).claim(4, SHARES)
GAUSS = calibrate(4, epsilon=1, delta=1e-6, shares=SHARES, mechanism="discrete-gaussian")
shares_ = st.lists(st.fractions(Fraction(1, 1000), 1000), min_size=2, max_size=6)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("share", [0, Fraction(1, 25)])
@settings(deadline=None, max_examples=15)
@given(shares=shares_, epsilon=st.sampled_from([0.1, 1.0, 3]))
def test_pure_scales_are_in_proportion_and_use_up_the_budget(neighbors, people, share, shares, epsilon) -> None:
    found = calibrate(
        len(shares), epsilon=epsilon, neighbors=neighbors, records_per_person=people, count_share=share, shares=shares
    )
    sides = 2 if neighbors == "replace" else 1
    part = Fraction(0) if sides == 2 else share
    for scale, own in zip(found.row_scales, shares, strict=True):
        wanted = sides * people * sum(shares) / (own * (1 - part) * Fraction(epsilon))
        assert wanted <= scale <= wanted * (1 + Fraction(1, 2**39))
    steps = [(sides, Fraction(people) / scale) for scale in found.row_scales]
    steps += [(1, Fraction(people) / found.scales.count)] if found.scales.count else []
    truth = sum(n * step for n, step in steps)
    assert truth <= Fraction(found.epsilon) <= Fraction(epsilon)
    assert found.epsilon >= epsilon * (1 - 1e-11)
    assert sum(n * step**2 for n, step in steps) / 2 <= Fraction(found.rho)
    assert float(found.rho) == pytest.approx(float(sum(n * step**2 for n, step in steps) / 2))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("people", [1, 3])
@settings(deadline=None, max_examples=10)
@given(shares=shares_, epsilon=st.sampled_from([0.1, 1.0, 3]))
def test_gaussian_scales_are_in_proportion_and_hardly_above_the_least(neighbors, people, shares, epsilon) -> None:
    common = {"epsilon": epsilon, "delta": 1e-6, "neighbors": neighbors, "records_per_person": people}
    found = calibrate(len(shares), **common, shares=shares, mechanism="discrete-gaussian")
    one = calibrate(1, **common, mechanism="discrete-gaussian")
    ratios = [float(scale**2 * share) for scale, share in zip(found.row_scales, shares, strict=True)]
    assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-9)
    rho = sum((2 if neighbors == "replace" else 1) * people**2 / (2 * scale**2) for scale in found.row_scales)
    rho += people**2 / (2 * found.scales.count**2) if found.scales.count else 0
    assert rho <= Fraction(found.rho)
    if found.scales.count:
        part = Fraction(str(DEFAULT_COUNT_SHARE))
        assert float(found.scales.count**2 * part) == pytest.approx(
            ratios[0] * float((1 - part) / sum(shares)), rel=1e-6
        )
    # Rounding σ away costs what 1.3/σ² of the least σ² is; no share may cost more than that.
    assert float(found.rho) >= float(one.rho) * min(0.93, 1 - 2 / float(min(found.row_scales)) ** 2)
    assert found.equivalent(1e-6) <= epsilon * (1 + 1e-8)


def test_equal_shares_are_no_shares() -> None:
    for delta in (0, 1e-6):
        budget = Budget(1.0, delta)
        assert budget.claim(7, [3] * 7) == budget.claim(7)
        assert "exact_scales" not in budget.claim(7).to_dict()


def test_a_row_is_drawn_with_its_own_scale_only() -> None:
    with pytest.raises(PrivacyError, match="scales of their own"):
        PURE.draw_counters(4)
    with pytest.raises(PrivacyError, match="scales of their own"):
        _ = PURE.counter_variance


@pytest.mark.parametrize("shares", [[1, 2, 3], [1, 2, 3, 0], [1, 2, 3, -1], [1, 2, 3, "many"], [1, 2, 3, math.nan]])
def test_shares_that_are_none_are_refused(shares: list) -> None:
    with pytest.raises(ParameterError, match="shares"):
        Budget(1.0).claim(4, shares)


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian"])
@pytest.mark.parametrize(("epsilon", "shares"), [(4.0, [9, 2, 3]), (2.0, [1, 30])])
@pytest.mark.parametrize("count", [0, Fraction(1, 3)])
def test_the_curve_is_above_brute_force(kind: str, epsilon: float, shares: list[int], count: Fraction) -> None:
    delta = 0.01 if kind == "discrete-gaussian" else 0
    shares = shares[:2] if count else shares
    claim = calibrate(len(shares), epsilon=epsilon, delta=delta, shares=shares, count_share=count, mechanism=kind)
    moves = [(1, float(scale)) for scale in [*claim.row_scales, *([claim.scales.count] if claim.scales.count else [])]]
    assert brute(claim.epsilon, kind, moves) <= claim.delta + 1e-12
    for at in (1e-4, 0.05):
        assert brute(claim.equivalent(at), kind, moves) <= at
        assert brute(claim.equivalent(at) * 0.6, kind, moves) > at  # not far above it


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian"])
def test_two_records_of_a_person_however_they_are_spread(kind: str) -> None:
    delta = 0.02 if kind == "discrete-gaussian" else 0
    claim = calibrate(2, epsilon=2.5, delta=delta, shares=[1, 3], count_share=0, records_per_person=2, mechanism=kind)
    low, high = map(float, claim.row_scales)
    for moves in ([(2, low), (2, high)], [(1, low), (1, low), (2, high)]):
        for at in (claim.delta or 1e-3, 0.05):
            assert brute(claim.equivalent(at), kind, moves) <= at


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_the_pure_curve_against_dp_accounting(epsilon: float, delta: float) -> None:
    claim = calibrate(60, epsilon=epsilon, shares=[1] * 40 + [4] * 20, count_share=0)
    runs = claim.scales.rows
    grain = float(1 / runs[0][1]) / 4  # steps in the ratio of 1 to 4: one lattice for both
    laws = [
        privacy_loss_distribution.from_discrete_laplace_mechanism(
            float(1 / scale), value_discretization_interval=grain
        ).self_compose(rows)
        for rows, scale in runs
    ]
    theirs = laws[0].compose(laws[1]).get_epsilon_for_delta(delta)
    assert min(theirs, epsilon) * (1 - 1e-3) <= claim.equivalent(delta) <= min(epsilon, theirs * 1.2)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.6, 0.85, 0.9])
def test_unequal_steps_against_every_outcome_of_the_coins(epsilon: float) -> None:
    steps, coins = np.array([0.3, 0.1]), np.array([2.0, 3.0])
    truth = 0.0
    for signs in product((1, -1), repeat=5):
        loss = sum(sign * step for sign, step in zip(signs, (0.3, 0.3, 0.1, 0.1, 0.1), strict=True))
        chance = math.prod(
            1 / (1 + math.exp(-sign * step)) for sign, step in zip(signs, (0.3, 0.3, 0.1, 0.1, 0.1), strict=True)
        )
        truth += chance * max(0.0, 1 - math.exp(epsilon - loss))
    assert truth <= unequal_delta(epsilon, coins, steps) <= 6 * truth + 1e-4
    with mock.patch("scumble.privacy.laws.discrete_laplace.renyi_delta", return_value=0.5):
        assert 0.5 < unequal_delta(epsilon, coins, steps) < 0.5 + 1e-6  # padded against rounding


def test_gaussian_noise_of_many_scales_against_the_analytic_law() -> None:
    claim = calibrate(300, epsilon=1, delta=1e-6, shares=[(r % 29 + 1) ** (2 / 3) for r in range(300)])
    equal = calibrate(300, epsilon=1, delta=1e-6)
    assert claim.rho is not None and equal.rho is not None
    assert equal.rho * 0.999 <= claim.rho <= equal.rho * 1.0001


def test_merged_claims_add_up_by_their_rows() -> None:
    parts = [claim.row_scales for claim in (GAUSS, GAUSS)]
    both = overlapping([GAUSS, GAUSS])
    assert both.added_up == "gaussian" and len(parts) == 2
    common = {"epsilon": both.epsilon, "delta": both.delta, "mechanism": "discrete-gaussian"}
    rows = calibrate(8, **common, shares=[*SHARES, *SHARES])
    # As one release with all rows at once, up to the two counts and the room for another machine's digits.
    assert rows.rho == pytest.approx(both.rho, rel=0.02)
    assert PrivacyClaim.from_dict(both.to_dict()) == both


@pytest.mark.parametrize("claim", [PURE, GAUSS], ids=["pure", "gaussian"])
def test_claims_come_back_from_json(claim: PrivacyClaim) -> None:
    assert PrivacyClaim.from_dict(json.loads(json.dumps(claim.to_dict()))) == claim
    assert claim.exact_scales is not None and [rows for rows, _ in claim.exact_scales] == [1, 1, 1, 1]
    assert claim.scale is None and claim.exact_scale is None and claim.scales.counters == min(claim.row_scales)
    assert "δ" in str(claim) or "ε = 1" in str(claim)


def runs(*changed: object) -> list:
    return [list(run) for run in PURE.exact_scales or ()][: 4 - len(changed)] + list(changed)


LAST: list = [  # a run at the end: of less noise than promised, of five rows, and what is no run
    *([1, "1/1000"], [2, "100000"], [0, "100000"], [True, "100000"], [1, "1e999999999"], [1, 7], [1, "-7"], ["1", "7"]),
    *([1], 7),
]


@pytest.mark.parametrize(
    "change",
    [
        *({"exact_scales": bad} for bad in ([], None, [[4, "10"]], "1234", *map(runs, LAST))),
        *({"rows": 5}, {"scale": 10.0}, {"exact_scale": "10"}, {"epsilon": 0.9}, {"rho": 1e-9}),
        {"custodians": 3, "dropouts": 0},
    ],
    ids=repr,
)
def test_altered_claims_are_refused(change: dict) -> None:
    with pytest.raises(ParameterError):
        PrivacyClaim.from_dict({**PURE.to_dict(), **change})


def test_a_hostile_file_of_long_fractions_is_read_in_no_time() -> None:
    """Exact sums of so many denominators would have a million digits."""
    scales = [f"{10**39 + 2 * k + 1}/{10**34 + 3 * k + 7}" for k in range(3000)]
    values = {**PURE.to_dict(), "rows": 3000, "exact_scales": [[1, text] for text in scales]}
    found = PrivacyClaim.from_dict(values)
    truth = sum(1 / float(Fraction(text)) for text in scales) + 1 / 25
    assert float(Cost.of(found).epsilon) == pytest.approx(truth, rel=1e-9)


@settings(deadline=None)
@given(st.fractions(Fraction(1, 2**60), 2**60))
def test_dyadic_below_is_below_and_close_and_binary(value: Fraction) -> None:
    found = dyadic_below(value)
    assert value * (1 - Fraction(1, 2**40)) < found <= value
    assert found.denominator & (found.denominator - 1) == 0


@settings(deadline=None)
@given(st.lists(st.fractions(0, 100), min_size=2, max_size=9))
def test_sums_are_never_too_small(terms: list[Fraction]) -> None:
    assert sum(terms) <= sum_above(terms) <= sum(terms) + Fraction(len(terms), 2**256)
    assert sum_above(map(dyadic_below, [term + 1 for term in terms])) == sum(dyadic_below(term + 1) for term in terms)


def test_scales_of_rows_are_runs() -> None:
    two, three = Fraction(2), Fraction(3)
    assert Scales.of_rows([two, two, three, two], None) == Scales(two, None, ((2, two), (1, three), (1, two)))
    assert Scales.of_rows([three, three], two) == Scales(three, two)
