"""One budget for several releases: they use it up, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.parts import in_parts

SHARES = [Fraction(1, 16), Fraction(15, 16)]


def claims(budgets: Sequence[Budget]) -> list[PrivacyClaim]:
    return [budget.claim(rows) for budget, rows in zip(budgets, (9, 46), strict=True)]


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (10, 1e-3)])
def test_with_delta_rho_is_shared_out(epsilon: float, delta: float) -> None:
    parts = in_parts(Budget(epsilon, delta), SHARES, claims)
    one, other = claims(parts)
    total = overlapping([one, other])
    assert 0.998 * epsilon < total.epsilon <= epsilon and total.delta <= delta
    assert one.rho is not None and other.rho is not None
    assert other.rho / one.rho == pytest.approx(15.0, rel=1e-3)
    assert one.rho > 5 * Budget(epsilon, delta).share(SHARES[0]).claim(9).rho  # type: ignore[operator]


def test_without_delta_epsilon_is_shared_out_and_rho_stays_rho() -> None:
    assert in_parts(Budget(1.0), SHARES, claims) == [Budget(1.0).share(share) for share in SHARES]
    whole = Budget.of(rho="0.02")
    assert [part.rho for part in in_parts(whole, SHARES, claims)] == [Fraction("0.02") * share for share in SHARES]


def test_a_single_release_keeps_the_quieter_noise() -> None:
    (one,) = in_parts(Budget(1.0, 1e-6), [Fraction(1)], claims)
    assert one == Budget(1.0, 1e-6) and one.claim(1).mechanism == "discrete-laplace"
