"""The edges of what may be drawn, and pieces of the exact path against rational arithmetic."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from scumble.errors import ParameterError
from scumble.privacy import noise, polya


@pytest.mark.parametrize("draw", [noise.discrete_laplace, noise.discrete_gaussian])
def test_the_smallest_and_the_largest_scale(draw) -> None:
    assert not draw(Fraction(1, 2**32), 50).any()
    # |k| stays below 2^48 · 60 but for a probability of e^−60 each.
    large = draw(2**48, 50)
    assert np.abs(large).max() < 60 * 2**48 and len(set(large.tolist())) == 50
    for bad in (Fraction(1, 2**32) - Fraction(1, 2**60), 2**48 + Fraction(1, 2**60)):
        with pytest.raises(ParameterError, match=r"between 2\*\*-32 and 2\*\*48"):
            draw(bad, 1)


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1, 3), 1, Fraction(5, 2), 40, 10**6])
def test_variances_in_many_digits(scale: Fraction) -> None:
    with mpmath.workdps(60):
        s = mpmath.mpf(Fraction(scale).numerator) / Fraction(scale).denominator
        q = mpmath.exp(-1 / s)
        assert noise.laplace_variance(scale) == pytest.approx(float(2 * q / (1 - q) ** 2), rel=1e-12, abs=0)
        if scale <= 40:
            reach = range(1, math.ceil(20 * scale) + 20)
            weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in reach]
            total = 1 + 2 * sum(weights)
            truth = 2 * sum(k * k * w for k, w in zip(reach, weights, strict=True)) / total
            assert noise.gaussian_variance(scale) == pytest.approx(float(truth), rel=1e-12, abs=0)


@pytest.mark.parametrize("scale", [Fraction(1, 8), Fraction(1, 4), Fraction(2, 7), 1, Fraction(5, 2), 4, 1000, 10**9])
def test_blocks_end_at_four_times_the_scale(scale: Fraction) -> None:
    """The least B with 2^B >= 4s."""
    assert polya._blocks(Fraction(scale)) == next(b for b in range(80) if 2**b >= 4 * Fraction(scale))


@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(13, 5), Fraction(100)])
@pytest.mark.parametrize("digits", [20, 60])
def test_powers_of_e_are_enclosed(rate: Fraction, digits: int) -> None:
    low, high = polya._power_of_e(rate, digits)
    with mpmath.workdps(120):
        truth = mpmath.exp(mpmath.mpf(rate.numerator) / rate.denominator)
        assert mpmath.mpf(low.numerator) / low.denominator < truth < mpmath.mpf(high.numerator) / high.denominator
    assert (high - low) / low < Fraction(rate + 3) * Fraction(10, 10**digits) * 2


def test_partial_sums_of_the_exponential() -> None:
    for rate in (Fraction(1, 3), Fraction(7)):
        for last in (0, 1, 2, 9):
            truth = sum(rate**j / Fraction(math.factorial(j)) for j in range(last + 1))
            assert polya._partial_sum(rate, last) == truth


@pytest.mark.parametrize("bits", [1, 5, 2**62, 2**63 - 1])
@pytest.mark.parametrize("weight", [Fraction(1), Fraction(3, 4), Fraction(3, 64)])
def test_logarithms_are_enclosed_ever_more_narrowly(bits: int, weight: Fraction) -> None:
    """−ln(weight · U) for U in [n, n + 1]/2^63: both ends lie within the bounds, which follow them closely."""
    log = noise._MinusLog(bits, weight)
    assert log.high is not None
    with mpmath.workdps(60):
        w = mpmath.mpf(weight.numerator) / weight.denominator
        ends = [-mpmath.log(w * mpmath.mpf(n) / 2**63) for n in (bits + 1, bits)]
        low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (log.low, log.high))
        assert low <= ends[0] < ends[1] <= high
        assert high - ends[1] < 1e-25 and ends[0] - low < mpmath.mpf(1) / bits
    before = log.high - log.low
    log.refine()
    assert log.high is not None and log.high - log.low < before / 2**60 + Fraction(1, 10**35)


@pytest.mark.parametrize("word", [0, 12345, 2**63 + 7, 2**64 - 1])
def test_fresh_bits_are_put_behind_the_known_ones(monkeypatch: pytest.MonkeyPatch, word: int) -> None:
    monkeypatch.setattr(noise, "_fresh_word", lambda: word)
    for bits in (1, 5, 2**62 + 1):
        log = noise._MinusLog(bits)
        log.refine()
        assert log.high is not None
        with mpmath.workdps(60):
            truth = -mpmath.log(mpmath.mpf(bits * 2**64 + word) / 2**127)
            low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (log.low, log.high))
            assert low < truth <= high and high - low < mpmath.mpf(2) ** -63


def test_of_nothing_there_is_no_upper_end() -> None:
    log = noise._MinusLog(0)
    assert log.low == 0 and log.high is None
    assert noise._MinusLog(3, places=16).digits == 15 and noise._MinusLog(3).digits == 31


@pytest.mark.parametrize("limit", [1, 2, 3, 13, 2**20 + 1])
def test_whole_numbers_below_a_limit(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """The incomplete last round of words is thrown away, and only that."""
    whole = 2**64 // limit * limit
    feed = [0, limit - 1, limit, whole - 1, *([whole, 2**64 - 1] if whole < 2**64 else []), 7]

    def entropy(count: int) -> np.ndarray:
        out = np.array(feed[:count], np.uint64)
        del feed[:count]
        return out

    wanted = [word % limit for word in feed if word < whole]
    monkeypatch.setattr(noise, "_entropy", entropy)
    assert polya._below(limit, len(wanted)).tolist() == wanted
    assert not feed


def test_nobody_s_decimal_context_is_in_the_noise() -> None:
    """Decimal's operators round as the calling thread has it, to 28 digits or to three: the enclosures must not."""
    with decimal.localcontext() as context:
        context.prec = 3
        context.traps[decimal.Inexact] = True
        coarse = noise._MinusLog(2**62 + 12345, Fraction(3, 4))
        shift = noise._shift.__wrapped__(Fraction(5, 2), 40)
        power = polya._power_of_e.__wrapped__(Fraction(13, 5), 40)
        assert noise._laplace(Fraction(5, 2), 20, math.inf).shape == (20,)
        assert polya._shares(Fraction(5, 2), 3, 20, math.inf).shape == (20,)
    fine = noise._MinusLog(2**62 + 12345, Fraction(3, 4))
    assert (coarse.low, coarse.high) == (fine.low, fine.high)
    assert shift == noise._shift.__wrapped__(Fraction(5, 2), 40)
    assert power == polya._power_of_e.__wrapped__(Fraction(13, 5), 40)
