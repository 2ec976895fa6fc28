"""Scales are what the mathematics asks for, and claims never promise more than the noise keeps."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import dp_accounting
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful import brute, calibrate
from scumble.errors import ParameterError, PrivacyError
from scumble.privacy import analytic_gaussian_sigma

budgets = st.one_of(
    st.floats(1e-4, 100),
    st.fractions(Fraction(1, 10**4), 100),
    st.decimals("0.0001", "100", places=7),
    st.integers(1, 100),
)


def exact_costs(calibration, rows: int, people: int, neighbors: str) -> tuple[Fraction, Fraction]:
    """(Pure ε, ρ) of Laplace noise, from the scales alone."""
    sides = 2 if neighbors == "replace" else 1
    steps = [(sides * rows, Fraction(people) / calibration.scales.counters)]
    if calibration.scales.count is not None:
        steps.append((1, Fraction(people) / calibration.scales.count))
    return sum(n * step for n, step in steps), sum(n * step**2 / 2 for n, step in steps)


@settings(deadline=None, max_examples=150)
@given(
    rows=st.integers(1, 10**5),
    epsilon=budgets,
    neighbors=st.sampled_from(["add-remove", "replace"]),
    people=st.integers(1, 50),
    share=st.one_of(st.just(0), st.fractions(Fraction(1, 1000), Fraction(9, 10))),
)
def test_pure_claim_lies_between_truth_and_request(rows, epsilon, neighbors, people, share) -> None:
    found = calibrate(rows, epsilon=epsilon, neighbors=neighbors, records_per_person=people, count_share=share)
    truth, rho = exact_costs(found, rows, people, neighbors)
    assert truth <= Fraction(found.epsilon) <= Fraction(epsilon)
    assert found.epsilon >= float(Fraction(epsilon)) * (1 - 1e-11)  # and wastes nothing
    assert found.delta == 0
    assert rho <= Fraction(found.rho) <= Fraction(math.nextafter(float(rho), math.inf))


@settings(deadline=None, max_examples=40)
@given(
    rows=st.integers(1, 3000),
    epsilon=budgets,
    delta=st.floats(1e-15, 0.09),
    neighbors=st.sampled_from(["add-remove", "replace"]),
    people=st.integers(1, 4),
)
def test_gaussian_claim_is_the_request_and_is_certified(rows, epsilon, delta, neighbors, people) -> None:
    found = calibrate(rows, epsilon=epsilon, delta=delta, neighbors=neighbors, records_per_person=people)
    assert Fraction(found.epsilon) <= Fraction(epsilon)
    assert found.delta <= delta
    assert found.equivalent(delta) <= found.epsilon * (1 + 1e-8)
    # No less noise than continuous noise would need.
    sides = 2 if neighbors == "replace" else 1
    squared = sides * rows / found.scales.counters**2
    squared += 1 / found.scales.count**2 if found.scales.count else 0
    continuous = analytic_gaussian_sigma(epsilon, delta)
    assert 1 / math.sqrt(people**2 * squared) >= continuous * (1 - 1e-12)
    if found.scales.counters > 20:  # a small σ pays more for being discrete
        assert 1 / math.sqrt(people**2 * squared) <= continuous * 1.01
    assert Fraction(found.rho) >= people**2 * squared / 2


@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 0.1, 0.5, 1, 3, 10, 50])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.09])
def test_sigma_equals_dp_accounting(epsilon: float, delta: float) -> None:
    ours = analytic_gaussian_sigma(epsilon, delta)
    assert ours == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta, tol=1e-10), rel=1e-6)
    assert analytic_gaussian_sigma(epsilon, delta, 3) == pytest.approx(3 * ours, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-4, 1e-2, 1, 100])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-30, 0.0999])
def test_sigma_is_robust_at_the_edges(epsilon: float, delta: float) -> None:
    """δ of the answer, integrated anew in 60 digits, is the δ asked for."""
    import mpmath

    with mpmath.workdps(400 if delta < 1e-30 else 60):
        sigma = mpmath.mpf(analytic_gaussian_sigma(epsilon, delta))
        phi = lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2  # noqa: E731
        found = phi(1 / (2 * sigma) - epsilon * sigma) - mpmath.exp(epsilon) * phi(-1 / (2 * sigma) - epsilon * sigma)
        assert abs(float(found / mpmath.mpf(delta)) - 1) < 1e-8


@pytest.mark.parametrize(
    ("moves", "epsilon"), [([2], 0.8), ([1, 1], 0.8), ([-1, 1], 2), ([2, -2], 2), ([1, 1, -2], 2), ([1, -1, 1, -1], 2)]
)
def test_two_records_a_person_are_certified_however_they_are_spread(moves: list[int], epsilon: float) -> None:
    """Every shape of a move in one row. (Cutting at 5σ loses less than 1e-5 of δ = 0.01.)"""
    neighbors = "replace" if min(moves) < 0 else "add-remove"
    found = calibrate(1, epsilon=epsilon, delta=0.01, neighbors=neighbors, records_per_person=2, count_share=0)
    sigma = float(found.scales.counters)
    assert brute(epsilon, "discrete-gaussian", [(move, sigma) for move in moves], 5) <= 0.01 - 1e-5


@pytest.mark.parametrize(("rows", "neighbors"), [(1, "add-remove"), (2, "add-remove"), (1, "replace")])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (1.0, 1e-3), (3.0, 1e-4)])
def test_calibrated_noise_keeps_its_delta(rows: int, neighbors: str, epsilon: float, delta: float) -> None:
    found = calibrate(rows, epsilon=epsilon, delta=delta, neighbors=neighbors)
    sigma = float(found.scales.counters)
    if neighbors == "replace":
        truth = brute(epsilon, "discrete-gaussian", [(1, sigma), (-1, sigma)])
    else:
        assert found.scales.count is not None
        truth = brute(epsilon, "discrete-gaussian", [*[(1, sigma)] * rows, (1, float(found.scales.count))])
    assert truth <= delta
    assert truth >= 0.8 * delta  # and hardly more noise than needed


@pytest.mark.parametrize(
    "bad",
    [
        *({"epsilon": value} for value in (0, -1, Fraction(-1, 10**400), math.nan, math.inf, "one", True, [1], 1j)),
        {"epsilon": 10**400},
        *({"delta": value} for value in (-1e-9, 0.1, Fraction(1, 10), 1, math.nan, "x", None, 1e-310)),
        *({"rows": value} for value in (0, -3, 1.5, "9", None, True)),
        *({"neighbors": value, "delta": delta} for value in ("swap", None, "", ["replace"]) for delta in (0, 1e-6)),
        *({"records_per_person": value} for value in (0, -1, 1.0, "2", None)),
        *({"count_share": value} for value in (-0.1, 1, math.nan)),
    ],
    ids=repr,
)
def test_bad_input_is_named(bad: dict) -> None:
    name = next(iter(bad))
    with pytest.raises(ParameterError, match=f"`{name}` must be"):
        calibrate(**{"rows": 10, "epsilon": 1.0, **bad})


def test_no_count_is_ever_published_without_noise() -> None:
    silent = calibrate(20, epsilon=1, count_share=0)
    assert silent.count_variance is None
    with pytest.raises(PrivacyError, match="no noisy count"):
        silent.draw_count()


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 3 * 10**7), Decimal("1e-9")])
def test_no_claim_has_a_greater_delta_than_was_asked_for(delta: Fraction | Decimal) -> None:
    assert Fraction(calibrate(3, epsilon=1, delta=delta).delta) <= Fraction(delta)
