"""Certificates to the last digit: each bound against its lemma written out, where every term of it can be seen."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from lawful import calibrate, calibrate_shares
from scumble.errors import ParameterError
from scumble.privacy import gaussian, noise, splitting
from scumble.privacy.exact import float_down, float_up
from scumble.privacy.gaussian import PADDING, Shift, gaussian_delta, lattice_delta, smoothing_delta, zcdp_delta
from scumble.privacy.laws import discrete_gaussian
from scumble.privacy.laws.discrete_gaussian import distance_of_sum
from scumble.privacy.laws.discrete_laplace import laplace_delta

EPSILONS = [0.1, 0.5, 1.0, 3.0]


def law(sigma: float, k: np.ndarray) -> np.ndarray:
    """P(k) of a discrete Gaussian."""
    j = np.arange(-math.ceil(60 * sigma) - 60, math.ceil(60 * sigma) + 61)
    return np.exp(-(k**2) / (2 * sigma**2)) / np.exp(-(j**2) / (2 * sigma**2)).sum()


def slow_lattice(epsilon: float, n: int, sigma: float, count_sigma: float | None, least: float) -> float:
    """Lemma 3 as it is written: e^c Σ (P − e^ε P′)₊ with A of variance nσ², and four tails."""
    x = [math.exp(-2 * (math.pi * sigma) ** 2 * k / (k + 1)) for k in range(1, n)]
    loss = sum(2 * math.atanh(2 * one / (1 - 2 * one)) for one in x)
    wide = sigma * math.sqrt(n)
    a = np.arange(-math.ceil(40 * wide) - n, math.ceil(40 * wide) + n + 1)[:, None]
    z = np.zeros((1, 1)) if count_sigma is None else np.arange(-400, 401)[None, :]
    one, other = law(wide, a), law(wide, a - n)
    if count_sigma is not None:
        one, other = one * law(count_sigma, z), other * law(count_sigma, z - 1)
    total = float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
    return math.exp(loss) * (total + 4 * least * math.exp(-25)) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [*EPSILONS, 9.0])
@pytest.mark.parametrize(("n", "sigma", "count_sigma"), [(1, 0.5, None), (3, 0.55, None), (3, 0.8, 2.0), (6, 1.3, 1.0)])
def test_the_lattice_sum_is_its_lemma(epsilon: float, n: int, sigma: float, count_sigma: float | None) -> None:
    """Where σ is so small that the sum of n counters is visibly no discrete Gaussian."""
    shift = Shift(n, n, sigma, 1 if count_sigma else 0, count_sigma or math.inf)
    wanted = slow_lattice(epsilon, n, sigma, count_sigma, 1e-9)
    assert lattice_delta(epsilon, shift, 1e-9) == pytest.approx(min(1.0, wanted), rel=1e-10, abs=0)


@pytest.mark.parametrize("least", [1e-12, 1e-6, 1e-2])
def test_what_the_lattice_does_not_sum_is_added(least: float) -> None:
    """No loss reaches ε = 10⁶: what is left are the four tails beyond √(2(25 − ln least)) deviations."""
    assert lattice_delta(1e6, Shift(1, 1, 3.0, 0, math.inf), least) == pytest.approx(
        4 * least * math.exp(-25) * PADDING, rel=1e-12, abs=0
    )


def test_no_bound_is_above_one() -> None:
    assert lattice_delta(0.1, Shift(1, 1, 0.05, 0, math.inf), 1e-9) == 1.0
    assert smoothing_delta(0.1, Shift(100, 10**6, 3.0, 0, math.inf)) == 1.0
    assert zcdp_delta(0.1, 100.0) == 1.0
    assert laplace_delta(0.0, 2000, 5.0, 0.0, 1e-9) == 1.0


def test_bounds_that_would_take_too_long_or_do_not_hold_are_not_computed() -> None:
    assert lattice_delta(1.0, Shift(1, 1, 1e5, 0, math.inf), 1e-9) == 1.0  # a million terms on each side
    assert lattice_delta(1.0, Shift(1, 1, 1e4, 0, math.inf), 1e-9) < 1.0
    # τ² = 1.6 of a variance of 1.69 is more than nine tenths of it, however large the budget.
    assert smoothing_delta(1e9, Shift(10**6, 10**6, 1.3, 0, math.inf)) == 1.0
    assert smoothing_delta(1e9, Shift(10**6, 10**6, 1.4, 0, math.inf)) < 1e-6


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5])
def test_the_conversion_from_zcdp_to_twelve_digits(epsilon: float, rho: float) -> None:
    def log_delta(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return (order - 1) * (order * rho - epsilon) - log_order + order * math.log1p(-1 / order)

    best = minimize_scalar(log_delta, bounds=(-8.0, 12.0), method="bounded", options={"xatol": 1e-7}).fun
    if best < -1e-3:
        assert zcdp_delta(epsilon, rho) == pytest.approx(math.exp(best) * (1 + 1e-9), rel=2e-11, abs=0)


@pytest.mark.parametrize("mu", [0.6, 1.0, 1.4, 1.5])
@pytest.mark.parametrize("epsilon", [0.01, *EPSILONS, 20.0])
def test_both_forms_of_the_gaussian_curve_agree(mu: float, epsilon: float) -> None:
    """Subtracting Mills' ratios, or integrating their slope."""
    a = epsilon / mu - mu / 2
    x = a + mu * gaussian._NODES
    slope = math.sqrt(2 / math.pi) - x * gaussian.erfcx(x / math.sqrt(2))
    integrated = mu * float(gaussian._WEIGHTS @ slope) / 2 * math.exp(-a * a / 2)
    assert gaussian_delta(epsilon, mu) == pytest.approx(integrated, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("custodians", [2, 3, 7])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_share_s_scale_is_rounded_up_by_less_than_a_digit(custodians: int, epsilon: float) -> None:
    claim = calibrate_shares(7, custodians=custodians, epsilon=epsilon, delta=1e-6)
    for text, count in ((claim.exact_scale, False), (claim.exact_count_scale, True)):
        sigma, full = splitting.share_scale(claim, count=count), Fraction(str(text)) ** 2
        assert custodians * (sigma - Fraction(1, 10**20)) ** 2 <= full < custodians * sigma**2


@pytest.mark.parametrize("custodians", [2, 3, 5])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rho_of_shares_is_rounded_up(custodians: int, epsilon: float) -> None:
    """The ρ of the full scale and the distance from the ideal law, added as fractions."""
    claim = calibrate_shares(20, custodians=custodians, epsilon=epsilon, delta=1e-2)
    exact = Fraction(float_up(claim.law.rho(claim.moves, claim.scales))) + Fraction(splitting._distance(claim))
    assert claim.rho == float_up(exact)
    if custodians == 5 and epsilon == 3.0:
        assert float_up(exact) != float_down(exact)


def test_distances_are_those_of_scales_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = calibrate_shares(7, custodians=5, dropouts=2, epsilon=0.5, delta=1e-6)
    asked: list[tuple[float, int]] = []
    monkeypatch.setattr(discrete_gaussian, "distance_of_sum", lambda *given: asked.append(given) or 0.25)
    assert splitting._distance(claim) == 0.25 * 8
    exact = [splitting.share_scale(claim), splitting.share_scale(claim, count=True)]
    assert asked == [(float_down(sigma), 3) for sigma in exact]
    assert all(float_down(sigma) != float_up(sigma) for sigma in exact)


@pytest.mark.parametrize("custodians", [2, 3, 40])
def test_one_sum_that_is_too_narrow_is_enough_to_have_no_bound(custodians: int) -> None:
    edge = math.sqrt(math.log(10) / math.pi**2)  # x = 1/10 for the first two; later sums are wider
    assert distance_of_sum(edge * 0.999, custodians) == math.inf
    assert distance_of_sum(edge * 1.001, custodians) < custodians


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_one_draw_for_the_count(monkeypatch: pytest.MonkeyPatch, delta: float) -> None:
    asked = []
    for law_of in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(noise, law_of, lambda scale, size, backend: asked.append((scale, size)) or np.array([7]))
    found = calibrate(5, epsilon=0.5, delta=delta)
    assert found.draw_count() == 7 and asked == [(found.scales.count, 1)]


def test_failures_up_to_a_tenth() -> None:
    assert calibrate(5, epsilon=0.5, delta=0.099).delta == 0.099


def test_neither_scale_may_be_too_small_and_none_too_large() -> None:
    for share in ("0.001", "0.999"):  # the counters' scale alone, the count's alone
        with pytest.raises(ParameterError, match=r"at least 2\*\*-32"):
            calibrate(1, epsilon=2**33, count_share=share)
        with pytest.raises(ParameterError, match=r"at most 2\*\*48"):
            calibrate(1, epsilon=Fraction(1, 2**40), count_share=share)
    # σ near 1/(δ √2π) at so small an ε: a third below the largest that may be drawn.
    found = calibrate(1, epsilon=1e-20, delta=2e-15, count_share=0)
    assert 2**47 < found.scales.counters < 2**48
