"""A budget in ε, ρ or μ: what it holds where little is said, how it is divided, and the noise that it buys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

import scumble
from scumble.errors import ParameterError
from scumble.privacy import PrivacyClaim, calibrate, overlapping
from scumble.privacy.budget import LARGEST, Budget, unenforced, weakness
from scumble.privacy.gaussian import zcdp_delta

QUARTER = Fraction(1, 4)


def test_little_said_is_a_pure_promise_to_one_record() -> None:
    expected = Budget(1, 0.0, "add-remove", 1, Fraction(1, 25), None)
    assert Budget(1) == Budget.of(1) == expected and expected.pure
    claim = Budget(1).claim(7)
    assert (claim.epsilon, claim.delta, claim.neighbors, claim.records_per_person) == (1.0, 0.0, "add-remove", 1)
    assert claim.exact_count_scale == "25" and claim.rows == 7
    assert not Budget(1, 1e-9).pure


@pytest.mark.parametrize(
    ("given", "epsilon", "delta"),
    [((QUARTER,), QUARTER, QUARTER), ((QUARTER, 0), QUARTER, 0), ((QUARTER, 1), QUARTER, 1)],
)
def test_a_part_has_its_share_of_epsilon_and_delta(given: Any, epsilon: Fraction, delta: Fraction) -> None:
    whole = Budget("0.8", Fraction(1, 10**6), "replace", 3, Fraction(1, 9))
    part = whole.share(*given)
    assert part == Budget(Fraction(4, 5) * epsilon, delta * Fraction(1, 10**6), "replace", 3, Fraction(1, 9))
    assert whole.share(*given, count_share=0).count_share == 0


def test_a_budget_in_rho_says_the_epsilon_that_it_implies_and_shares_rho() -> None:
    whole = Budget.of(rho=Fraction(1, 50))
    assert whole.delta == 1e-6 and zcdp_delta(whole.epsilon, 0.02) <= 1e-6 < zcdp_delta(whole.epsilon * 0.999, 0.02)
    assert Budget.of(rho=Fraction(1, 50), delta=1e-4).delta == 1e-4
    assert Budget.of(mu=Fraction(1, 5)) == whole
    part = whole.share(QUARTER, 0)
    assert part.rho == Fraction(1, 200) and part.delta == QUARTER * Fraction(1e-6)
    assert zcdp_delta(part.epsilon, 0.005) <= float(part.delta)
    assert whole.share(0).rho == 0
    claim = whole.claim(3)
    assert claim.mechanism == "discrete-gaussian" and 0.0199 < (claim.rho or 0.0) <= 0.02


@pytest.mark.parametrize("name", ["epsilon", "rho", "mu"])
def test_budgets_are_positive_finite_numbers(name: str) -> None:
    assert Budget.of(**{name: 1e-9})
    for wrong in (0, -1, LARGEST, 2 * LARGEST, "1"):
        with pytest.raises(ParameterError, match=name):
            Budget.of(**{name: wrong})


def test_only_what_is_weak_is_said_to_be() -> None:
    assert weakness(10, "1e-4") == "" == Budget(10, "1e-4").weakness and "one record in 6,667 " in weakness(1, "1.5e-4")
    assert "e^11;" in weakness(11, 0) and "δ" not in weakness(11, 0) and "e^" not in weakness(1, 1e-3)
    assert "; and " in weakness(11, 1e-3) and "one record in 1 " in weakness(1, 1)
    assert unenforced(1) == "" and "2 records" in unenforced(2)


def test_rows_that_cannot_be_counted_are_left_out_but_where_their_number_is_public() -> None:
    assert Budget(1.0).invalid == "drop" and Budget(1.0, neighbors="replace").invalid == "error"


@pytest.mark.parametrize(("epsilon", "delta"), [(Fraction(1, 10**400), 0), (1, Fraction(1, 10**305))])
def test_what_floats_cannot_hold_is_refused(epsilon: Fraction, delta: Fraction) -> None:
    with pytest.raises(ParameterError):
        Budget(epsilon, delta).claim(3)


SHARES = [Fraction(1, 16), Fraction(15, 16)]


def claims(budgets: Sequence[Budget]) -> list[PrivacyClaim]:
    return [budget.claim(rows) for budget, rows in zip(budgets, (9, 46), strict=True)]


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (10, 1e-3)])
def test_with_delta_rho_is_shared_out(epsilon: float, delta: float) -> None:
    parts = Budget(epsilon, delta).divide(SHARES, claims)
    one, other = claims(parts)
    total = overlapping([one, other])
    assert 0.998 * epsilon < total.epsilon <= epsilon and total.delta <= delta
    assert one.rho is not None and other.rho is not None
    assert other.rho / one.rho == pytest.approx(15.0, rel=1e-3)
    assert one.rho > 5 * Budget(epsilon, delta).share(SHARES[0]).claim(9).rho  # type: ignore[operator]


def test_without_delta_epsilon_is_shared_out_and_rho_stays_rho() -> None:
    assert Budget(1.0).divide(SHARES, claims) == [Budget(1.0).share(share) for share in SHARES]
    whole = Budget.of(rho=Fraction("0.02"))
    assert [part.rho for part in whole.divide(SHARES, claims)] == [Fraction("0.02") * share for share in SHARES]


def test_a_single_release_keeps_the_quieter_noise() -> None:
    (one,) = Budget(1.0, 1e-6).divide([Fraction(1)], claims)
    assert one == Budget(1.0, 1e-6) and one.claim(1).mechanism == "discrete-laplace"


X = np.zeros((40, 1))
TABLE = pa.table({"a": [1.0, 2.0]})


def sketch() -> scumble.Sketch:
    return scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=3, buckets=8, design="iid")


@settings(deadline=None, max_examples=25)
@given(
    rho=st.one_of(st.floats(1e-5, 5), st.fractions(Fraction(1, 10**5), 5)),
    rows=st.integers(1, 500),
    neighbors=st.sampled_from(["add-remove", "replace"]),
    people=st.integers(1, 4),
    share=st.sampled_from([0, Fraction(1, 25)]),
    shares=st.booleans(),
)
def test_the_noise_has_just_this_rho(rho, rows, neighbors, people, share, shares) -> None:
    parts = [1 + r % 5 for r in range(rows)] if shares else None
    found = calibrate(rows, rho=rho, neighbors=neighbors, records_per_person=people, count_share=share, shares=parts)
    sides = 2 if neighbors == "replace" else 1
    truth = sum(sides * people**2 / (2 * scale**2) for scale in found.row_scales)
    truth += people**2 / (2 * found.scales.count**2) if found.scales.count else 0
    assert Fraction(rho) * (1 - Fraction(1, 2**38)) <= truth <= Fraction(found.rho) <= Fraction(rho)
    assert found.delta == 1e-6 and found.mechanism == "discrete-gaussian"
    assert PrivacyClaim.from_dict(found.to_dict()) == found


@pytest.mark.parametrize(("rho", "delta"), [(0.005, 1e-9), (0.1, 1e-6), (1.0, 1e-3)])
def test_epsilon_is_stated_as_dp_accounting_finds_it(rho: float, delta: float) -> None:
    claim = calibrate(50, rho=rho, delta=delta)
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(1 / math.sqrt(2 * rho)))
    assert claim.delta == delta
    assert claim.epsilon == pytest.approx(accountant.get_epsilon(delta), rel=2e-3)
    assert claim.epsilon >= accountant.get_epsilon(delta) * (1 - 2e-3)


def test_mu_is_rho_in_other_words() -> None:
    assert Budget.of(mu=Fraction("0.2")).claim(7) == Budget.of(rho=Fraction("0.02")).claim(7)
    claim = Budget.of(mu=0.5).claim(7)
    assert claim.mu == pytest.approx(0.5, rel=1e-9)
    assert calibrate(7, epsilon=1).mu is None
    assert overlapping([claim, claim]).mu == pytest.approx(0.5 * math.sqrt(2), rel=1e-9)
    assert overlapping([claim, calibrate(7, epsilon=1)]).mu is None


def test_a_budget_in_rho_has_gaussian_noise_alone() -> None:
    with pytest.raises(ParameterError, match="Laplace"):
        Budget.of(rho=1).claim(4, mechanism="discrete-laplace")


def test_parts_of_a_budget_in_rho_add_up_in_rho() -> None:
    whole = Budget.of(rho=Fraction(3, 10), delta=1e-5)
    part = whole.share(Fraction(1, 3))
    assert part.rho == Fraction(1, 10)
    both = overlapping([part.claim(9)] * 3)
    assert both.rho is not None and both.rho <= 0.3 and both.epsilon <= whole.claim(9).epsilon * 1.02
    for said in (None, 0, 1):  # in ρ, δ goes with it
        assert whole.share(Fraction(1, 3), said).delta == pytest.approx(1e-5 / 3)
    assert not whole.pure


@pytest.mark.parametrize(
    "wrong",
    [
        *({}, {"epsilon": 1, "rho": 0.1}, {"epsilon": 1, "mu": 0.1}, {"rho": 1, "mu": 0.1}),
        *({"epsilon": 1, "rho": 1, "mu": 0.1}, {"rho": 0}, {"rho": -1}, {"mu": -1}, {"mu": "many"}, {"rho": math.nan}),
        *({"rho": 0.1, "delta": -1e-6}, {"rho": 0.1, "delta": 0.5}),
    ],
    ids=repr,
)
def test_one_currency_at_a_time(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Budget.of(**wrong)
    if wrong:
        for way in (sketch().release, sketch().start_with_noise):
            with pytest.raises(ParameterError):
                way(**wrong)
        with pytest.raises(ParameterError):
            scumble.build(TABLE, scumble.EuclideanKernel(1.0), **wrong)
        with pytest.raises(ParameterError):
            scumble.plan(100, 1, kernel=scumble.EuclideanKernel(1.0), **wrong)


def test_every_way_to_a_release_takes_every_currency() -> None:
    for money in ({"rho": 0.02}, {"mu": 0.2}):
        wanted = Budget.of(**money).claim(3)  # type: ignore[arg-type]
        assert sketch().update(X).release(**money).privacy == wanted  # type: ignore[arg-type]
        assert sketch().start_with_noise(**money).update(X).release().privacy == wanted  # type: ignore[arg-type]
        size = {"rows": 3, "buckets": 8, "design": "iid"}
        built = scumble.build(TABLE, scumble.EuclideanKernel(1.0), **money, **size)  # type: ignore[arg-type]
        assert built.privacy == wanted
        planned = scumble.plan(1000, 1, kernel=scumble.EuclideanKernel(1.0), **money)  # type: ignore[arg-type]
        assert planned.delta == 1e-6 and planned.epsilon >= wanted.epsilon
    with pytest.raises(ParameterError, match="without a budget"):
        sketch().start_with_noise(rho=0.1).update(X).release(rho=0.1)
