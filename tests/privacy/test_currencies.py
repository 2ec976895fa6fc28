"""Budgets in ρ and μ: just that noise, a claim that holds at the δ that is named, and one currency at a time."""

from __future__ import annotations

import math
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
from scumble.privacy.budget import Budget

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


@pytest.mark.parametrize("rho", [0.005, 0.1, 1.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_epsilon_is_stated_as_dp_accounting_finds_it(rho: float, delta: float) -> None:
    claim = calibrate(50, rho=rho, delta=delta)
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(1 / math.sqrt(2 * rho)))
    assert claim.delta == delta
    assert claim.epsilon == pytest.approx(accountant.get_epsilon(delta), rel=2e-3)
    assert claim.epsilon >= accountant.get_epsilon(delta) * (1 - 2e-3)


def test_mu_is_rho_in_other_words() -> None:
    assert Budget.of(mu="0.2").claim(7) == Budget.of(rho="0.02").claim(7)
    claim = Budget.of(mu=0.5).claim(7)
    assert claim.mu == pytest.approx(0.5, rel=1e-9)
    assert calibrate(7, epsilon=1).mu is None
    assert overlapping([claim, claim]).mu == pytest.approx(0.5 * math.sqrt(2), rel=1e-9)
    assert overlapping([claim, calibrate(7, epsilon=1)]).mu is None


def test_parts_of_a_budget_in_rho_add_up_in_rho() -> None:
    whole = Budget.of(rho=Fraction(3, 10), delta=1e-5)
    parts = whole.split(3)
    assert [part.rho for part in parts] == [Fraction(1, 10)] * 3
    both = overlapping([part.claim(9) for part in parts])
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
