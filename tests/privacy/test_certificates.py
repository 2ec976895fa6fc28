"""The closed forms behind Gaussian and Laplace claims, against slow sums in many digits, at several ε."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from lawful import calibrate, calibrate_shares
from scumble.errors import ParameterError
from scumble.privacy import analytic_gaussian_sigma, gaussian, splitting
from scumble.privacy.exact import float_down, float_up
from scumble.privacy.gaussian import (
    PADDING,
    Shift,
    certified_delta,
    gaussian_delta,
    lattice_delta,
    smoothing_delta,
    zcdp_delta,
)
from scumble.privacy.laws import GAUSSIAN, LAPLACE, discrete_gaussian
from scumble.privacy.laws.discrete_gaussian import distance_of_sum
from scumble.privacy.laws.discrete_gaussian import shift as shift_of
from scumble.privacy.laws.discrete_laplace import laplace_delta
from scumble.privacy.sensitivity import Moves, Scales, sides_of, unit_of

EPSILONS = [0.1, 0.5, 1.0, 3.0]


@pytest.mark.parametrize("rows", [1, 6])
@pytest.mark.parametrize("people", [1, 4])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("count", [None, Fraction(31, 3)])
def test_costs_are_the_sums_of_the_moves(rows: int, people: int, neighbors: str, count: Fraction | None) -> None:
    sides, scale = 2 if neighbors == "replace" else 1, Fraction(77, 5)
    assert sides_of(neighbors) == sides and unit_of(people) == ("record" if people == 1 else "person")
    worst, scales = Moves(rows, neighbors, people), Scales(scale, count)
    moves = [(Fraction(people), scale)] * (sides * rows) + ([(Fraction(people), count)] if count else [])
    pure = sum(move / width for move, width in moves)
    rho = sum(move**2 / (2 * width**2) for move, width in moves)
    assert GAUSSIAN.epsilon(worst, scales) is None
    assert LAPLACE.epsilon(worst, scales) == pure
    assert LAPLACE.rho(worst, scales) == GAUSSIAN.rho(worst, scales) == rho
    shift = shift_of(worst, Scales(Fraction(5, 2), None if count is None else Fraction(7)))
    assert shift == Shift(
        sides * rows * people, sides * rows * people**2, 2.5, people if count else 0, 7.0 if count else math.inf
    )
    assert shift.mu_squared() == pytest.approx(sides * rows * people**2 / 6.25 + (people**2 / 49 if count else 0))
    assert shift.mu_squared(1.5) == pytest.approx(sides * rows * people**2 / 4.75 + (people**2 / 47.5 if count else 0))
    assert shift.rho() == pytest.approx(shift.mu_squared() / 2, rel=1e-9) and shift.rho() >= shift.mu_squared() / 2
    assert shift.unit == (people == 1)


@pytest.mark.parametrize("epsilon", [0.01, *EPSILONS, 20.0])
@pytest.mark.parametrize("mu", [1e-3, 0.1, 0.4999, 0.5001, 1.0, 4.0, 9.0])
def test_the_curve_of_balle_and_wang(epsilon: float, mu: float) -> None:
    with mpmath.workdps(400):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        truth = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        if truth > 1e-300:
            assert gaussian_delta(epsilon, mu) == pytest.approx(float(truth), rel=1e-9, abs=0)
        else:
            assert float(truth) <= gaussian_delta(epsilon, mu) < 1e-290


def test_the_curve_beyond_what_floats_hold() -> None:
    assert gaussian_delta(1.0, 80.0) == 1.0
    # −a²/2 where a = ε/μ − μ/2 is large: an upper bound on ln δ, and no overflow.
    assert gaussian._log_gaussian_delta(101.0, 1.0) == -(100.5**2) / 2
    assert gaussian._log_gaussian_delta(90.0, 1.0) < -(89.5**2) / 2


@pytest.mark.parametrize(
    "bad", [(0, 1e-6, 1), (-1, 1e-6, 1), (1, 0, 1), (1, 1, 1), (1, -0.1, 1), (1, 0.5, 0), (1, 0.5, -2)]
)
def test_sigma_is_for_budgets(bad: tuple[float, float, float]) -> None:
    with pytest.raises(ParameterError, match="must be"):
        analytic_gaussian_sigma(*bad)


def convolution_delta(epsilon: float, cells: int, sigma: float, count_sigma: float | None) -> float:
    """δ(ε) by summing over the *exact* law of the touched counters' sum (a convolution) and the count's noise."""
    reach = math.ceil(9 * sigma) + 2
    k = np.arange(-reach, reach + 1)
    one = np.exp(-(k**2) / (2 * sigma**2))
    one /= one.sum()
    total = np.ones(1)
    for _ in range(cells):
        total = np.convolve(total, one)
    sums = np.arange(len(total)) - len(total) // 2
    losses = (cells - 2 * sums) / (2 * sigma**2)
    if count_sigma is not None:
        width = math.ceil(9 * count_sigma) + 2
        z = np.arange(-width, width + 1)
        chance = np.exp(-(z**2) / (2 * count_sigma**2))
        losses = np.add.outer(losses, (1 - 2 * z) / (2 * count_sigma**2))
        total = np.multiply.outer(total, chance / chance.sum())
    return float(np.sum(total * np.maximum(0.0, -np.expm1(epsilon - losses))))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("cells", "sigma", "count_sigma"), [(1, 1.5, None), (2, 2.0, 3.0), (5, 3.0, None), (12, 4.0, 6.0)]
)
def test_certificates_are_above_the_truth_and_near_it(
    epsilon: float, cells: int, sigma: float, count_sigma: float | None
) -> None:
    """For moves of one in the same direction the loss depends on the counters' sum alone: δ by one convolution."""
    truth = convolution_delta(epsilon, cells, sigma, count_sigma)
    shift = Shift(cells, cells, sigma, 1 if count_sigma else 0, count_sigma or math.inf)
    if truth < 1e-12:
        return
    found = lattice_delta(epsilon, shift, 1e-14)
    assert truth <= found <= truth * (1 + 1e-6) + 1e-14
    assert truth <= zcdp_delta(epsilon, shift.rho())
    smooth = smoothing_delta(epsilon, shift)
    assert truth <= smooth
    if sigma >= 3:
        # σ² lacks τ² < 1.7: the continuous noise that remains is the bound.
        assert smooth <= gaussian_delta(epsilon, math.sqrt(shift.mu_squared(1.7))) * (1 + 1e-6)
        assert smooth >= gaussian_delta(epsilon, math.sqrt(shift.mu_squared(0.9)))
    assert certified_delta(epsilon, shift) == min(found_of(epsilon, shift))


def slow_smoothing(epsilon: float, shift: Shift) -> float:
    """Lemma 2 as it is written: e^(n·c) δ(ε − 2 n·c) of continuous noise of variance σ² − τ²."""
    n = 2 * shift.cells if shift.count else shift.cells
    tau_squared = math.log(5 * n / (1e-7 * min(1.0, epsilon))) / (2 * math.pi**2)
    kappa = 1 / math.expm1(2 * math.pi**2 * tau_squared)  # the sum of a geometric series
    loss = 2 * n * math.atanh(2 * kappa)
    return math.exp(loss) * gaussian_delta(epsilon - 2 * loss, math.sqrt(shift.mu_squared(tau_squared))) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("shift", [Shift(5, 5, 4.0, 0, math.inf), Shift(40, 120, 30.0, 3, 25.0)])
def test_smoothing_is_its_lemma_to_ten_digits(epsilon: float, shift: Shift) -> None:
    assert smoothing_delta(epsilon, shift) == pytest.approx(slow_smoothing(epsilon, shift), rel=2e-11, abs=0)


@pytest.mark.parametrize("shift", [Shift(5, 5, 0.5, 1, 40.0), Shift(5, 5, 40.0, 1, 0.5)])
def test_smoothing_says_nothing_where_one_noise_is_too_narrow(shift: Shift) -> None:
    assert smoothing_delta(1.0, shift) == smoothing_delta(1.0, Shift(5, 5, 40.0, 0, math.inf), shift) == 1.0


def found_of(epsilon: float, shift: Shift) -> tuple[float, ...]:
    return smoothing_delta(epsilon, shift), zcdp_delta(epsilon, shift.rho()), lattice_delta(epsilon, shift, 1e-12)


def test_certificates_do_not_speak_where_their_lemmas_do_not_hold() -> None:
    assert lattice_delta(1.0, Shift(2, 4, 5.0, 0, math.inf), 1e-12) == 1.0  # moves of two
    assert lattice_delta(1.0, Shift(1, 1, 1e9, 0, math.inf), 1e-12) == 1.0  # too many terms
    assert lattice_delta(1.0, Shift(1, 1, 5.0, 1, 1e9), 1e-12) == 1.0
    assert not Shift(2, 2, 5.0, 2, 5.0).unit and Shift(2, 2, 5.0, 1, 5.0).unit
    assert lattice_delta(5.0, Shift(2, 2, 0.45, 0, math.inf), 1e-12) == 1.0  # far from a discrete Gaussian's sum
    assert smoothing_delta(1.0, Shift(4, 4, 1.0, 0, math.inf)) == 1.0  # τ² would be all of σ²
    assert smoothing_delta(1.0, Shift(4, 4, 50.0, 1, 1.0)) == 1.0
    assert smoothing_delta(1.0, Shift(4, 4, 50.0, 1, 50.0)) < 1e-6


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2, 0.5])
@pytest.mark.parametrize(("coins", "step", "count_step"), list(product([1, 9, 150], [0.01, 0.06], [0.0, 0.04])))
def test_the_curve_of_laplace_noise(epsilon: float, coins: int, step: float, count_step: float) -> None:
    """Randomized responses, summed in full in 50 digits."""
    with mpmath.workdps(50):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(step)))
        truth = mpmath.mpf(0)
        for heads in range(coins + 1):
            weight = mpmath.binomial(coins, heads) * p**heads * (1 - p) ** (coins - heads)
            for sign in (1, -1):
                chance = 1 / (1 + mpmath.exp(-sign * mpmath.mpf(count_step)))
                loss = (2 * heads - coins) * mpmath.mpf(step) + sign * mpmath.mpf(count_step)
                truth += weight * chance * max(mpmath.mpf(0), 1 - mpmath.exp(epsilon - loss))
        found = laplace_delta(epsilon, coins, step, count_step, 1e-9)
        assert float(truth) <= found <= float(truth) * (1 + 3e-6) + 1e-18


def test_the_tail_that_is_not_summed_is_added() -> None:
    """10⁶ coins: the sum is cut at t = √(R/2 · (25 − ln least)), and 2 exp(−2t²/R) = 2 · least · e⁻²⁵ is added."""
    tail = 2e-6 * math.exp(-25)
    assert laplace_delta(1e9, 10**6, 1e-3, 0.0, 1e-6) == pytest.approx(tail, rel=1e-5, abs=0)
    assert laplace_delta(1e9, 80, 0.5, 0.0, 1e-6) == pytest.approx(tail, rel=1e-5, abs=0)  # cut below, not above
    assert laplace_delta(1e9, 10, 1e-3, 0.0, 1e-6) == 0.0  # all of it is summed


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("share", [0, "1/25", "0.3"])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("people", [1, 3])
def test_gaussian_scales_are_the_analytic_ones_and_hardly_larger(
    epsilon: float, share: object, neighbors: str, people: int
) -> None:
    """σ² = m² L2² σ₀²/(1 − c) and σ_N² = m² σ₀²/c; the discrete law may ask for a percent more, never for less."""
    found = calibrate(
        50, epsilon=epsilon, delta=1e-6, neighbors=neighbors, records_per_person=people, count_share=share
    )  # type: ignore[arg-type]
    base = people * analytic_gaussian_sigma(epsilon, 1e-6)
    part = float(Fraction(str(share))) if neighbors == "add-remove" else 0.0
    wanted = base * math.sqrt(sides_of(neighbors) * 50 / (1 - part))
    assert wanted * (1 + 1e-12) <= found.scales.counters <= wanted * 1.01
    assert (found.scales.count is None) == (part == 0)
    if found.scales.count is not None:
        assert found.scales.count / found.scales.counters == pytest.approx(base / math.sqrt(part) / wanted, rel=1e-9)
    claim = found
    assert (claim.rows, claim.neighbors, claim.records_per_person) == (50, neighbors, people)
    assert (claim.scale, claim.exact_scale) == (float(found.scales.counters), str(found.scales.counters))
    assert claim.epsilon == epsilon and claim.delta == 1e-6 and claim.unit == unit_of(people)


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


def test_counters_and_the_count_add_up_by_the_squares_of_their_moves() -> None:
    move = gaussian.Shift(cells=4, squared=4, sigma=2.0, count=3, count_sigma=5.0, stretch=7)
    assert move.mu_squared(1.0) == pytest.approx(4 / 3 + 9 * 7 / 24)
    assert move.rho() == pytest.approx((4 / 4 + 9 * 7 / 25) / 2)


def test_logarithms_of_factorials() -> None:
    """Against math.lgamma, within 2e-13 of it or of one."""
    places = np.concatenate([np.linspace(0.1, 40, 400), np.geomspace(40, 1e7, 100)])
    wanted = np.array([math.lgamma(place) for place in places])
    assert (np.abs(gaussian.gammaln(places) - wanted) <= 2e-13 * np.maximum(np.abs(wanted), 1)).all()
