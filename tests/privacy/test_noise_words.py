"""Every draw, slot by slot, against the law's own formula in many digits: the random bits are known, so the answer is.

The bits are those of the test's own stream (entropy.py), and whatever is fetched one word at a time is 100…0. So the
whole U behind each decision is known, and floor(scale · (c − ln U)) and "−ln U > γ" are computed as they are defined.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

from scumble.errors import ParameterError
from scumble.privacy import noise, polya
from scumble.privacy.noise import Room

Calls = Iterator[tuple[int, list[int]]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[int]]]:
    """The words that are given out: for each call their width, and what they are."""
    given: list[tuple[int, list[int]]] = []

    def words(count: int, width: int, real: Any = noise._words) -> np.ndarray:
        found = real(count, width)
        assert found.shape == (count,) and found.dtype == f"u{width // 8}"
        given.append((width, found.tolist()))
        return found

    monkeypatch.setattr(noise, "_words", words)
    monkeypatch.setattr(noise, "_fresh_word", lambda: 2**63)
    monkeypatch.setattr(noise, "_CHUNK", 100)
    return given


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


def exact(value: Fraction | int) -> Any:
    return mpmath.mpf(Fraction(value).numerator) / Fraction(value).denominator


def minus_log(bits: float, places: int) -> Any:
    return -mpmath.log(mpmath.mpf(bits) / 2**places)


class Law:
    """The discrete Laplace law of one scale, by definition."""

    def __init__(self, scale: Fraction | int) -> None:
        self.scale = exact(scale)
        self.c = mpmath.log(2 / (1 + mpmath.exp(-1 / self.scale)))

    def size(self, minus_log: Any) -> int:
        return int(mpmath.floor(self.scale * (self.c + minus_log)))

    def draw(self, word: int, width: int) -> int | None:
        """What a word decides, the first bit being the sign. None: nothing, there are more bits to come."""
        places = width - 1
        bits = word % 2**places
        if width == 64:
            ends = {self.size(minus_log(bits + 0.5, places))}
        else:
            ends = {self.size(minus_log(n, places)) for n in (bits, bits + 1)} if bits else set()
        return None if len(ends) != 1 else -ends.pop() if word >> places else ends.pop()

    def draws(self, calls: Calls) -> list[int]:
        """One round: a word for every slot, and for those that are left as many bits again."""
        width, words = next(calls)
        values = [self.draw(word, width) for word in words]
        while left := [k for k, value in enumerate(values) if value is None]:
            again, more = next(calls)
            assert again == width
            width *= 2
            for k, bits in zip(left, more, strict=True):
                words[k] = words[k] << again | bits
                values[k] = self.draw(words[k], width)
        return values  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("scale", "width"),
    [
        *((Fraction(1, 3), 8), (Fraction(2), 8), (Fraction(7, 3), 16), (Fraction(2048), 16), (Fraction(4097, 2), 32)),
        *((Fraction(2**25), 32), (Fraction(2**25 + 1), 64), (Fraction(10**13, 7), 64)),
    ],
)
def test_laplace_slot_by_slot(calls: Any, monkeypatch: pytest.MonkeyPatch, scale: Fraction, width: int) -> None:
    monkeypatch.setattr(noise, "_MANY", 1)
    found = noise.discrete_laplace(scale, (7, 43)).ravel().tolist()
    again = iter(calls)
    assert calls[0][0] == width
    assert found == [
        value for _ in range(4) for value in Law(scale).draws(again)
    ]  # four parts, the last a little smaller
    assert next(again, None) is None


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(1000, 7), Fraction(10**6)])
def test_gaussian_slot_by_slot(calls: Any, sigma: Fraction) -> None:
    t = math.floor(sigma) + 1
    found = noise.discrete_gaussian(sigma, 301).tolist()
    again, law, wanted = iter(calls), Law(t), []
    for count in (76, 76, 76, 73):
        kept: list[int] = []
        while len(kept) < count:
            tried = law.draws(again)
            width, words = next(again)
            assert width == 16 and len(tried) >= count - len(kept)
            gammas = (exact((abs(y) - sigma**2 / t) ** 2 / (2 * sigma**2)) for y in tried)
            kept += [y for y, n, gamma in zip(tried, words, gammas, strict=True) if minus_log(n + 0.5, 16) > gamma]
        wanted += kept[:count]
    assert found == wanted and next(again, None) is None


@pytest.mark.parametrize("proposal", [0, 3, -8, 11])
def test_an_acceptance_is_left_open_within_the_margin(proposal: int) -> None:
    """Lemma 2, with a margin so wide that one sees it: open from −ln U − γ − 1/n − m(1 + γ) ≤ 0 to m(1 + γ) above."""
    sigma, center, margin = 2.5, 2.5**2 / 3, 2.0**-8
    words = np.arange(1, 2**16, dtype=np.uint16)
    stays = np.zeros(len(words), np.bool_)
    proposals = np.full(len(words), proposal)
    left = noise._accept_kernel(words, 16, proposals, center, sigma, margin, stays, Room())
    gamma = (abs(proposal) - center) ** 2 / (2 * sigma**2)
    lead, slack = -np.log(words / 2**16) - gamma, margin * (1 + gamma)
    surely, surely_not = lead - 1 / words - slack > 0, lead + slack < 0
    assert left.tolist() == np.flatnonzero(~surely & ~surely_not).tolist()
    assert surely.any() and surely_not.any() and len(left) > 0
    assert stays[surely].all() and not stays[surely_not].any()


@pytest.mark.parametrize(
    ("scale", "count", "width"),
    [
        *((2, 2**14, 8), (2, 2**14 - 1, 32), (Fraction(201, 100), 2**14, 16), (2**11, 2**14, 16)),
        *((2**11, 2**14 - 1, 32), (2**11 + 1, 2**14, 32), (2**25, 1, 32), (2**25 + 1, 1, 64)),
    ],
)
def test_how_many_bits_to_begin_with(calls: Any, monkeypatch: pytest.MonkeyPatch, scale: Any, count: int, width: int):
    """Short words where they decide, and their table only where it pays."""
    monkeypatch.setattr(noise, "_CHUNK", 2**17)
    noise.discrete_laplace(scale, count)
    assert calls[0][0] == width and len(calls[0][1]) == count


@pytest.mark.parametrize(
    ("count", "parts"),
    [
        *((0, 0), (1, 1), (2**18 - 1, 1), (2**18, 2), (2**20, 8), (2**21, 16), (2**24, 16), (2**24 + 1, 32)),
        (40_000_000, 48),
    ],
)
def test_parts_are_equal_and_of_the_count_alone(monkeypatch: pytest.MonkeyPatch, count: int, parts: int) -> None:
    """As many for each of sixteen threads as for the others, and the same ones on every machine."""
    for threads in (1, 5):
        monkeypatch.setattr(noise, "available_threads", lambda threads=threads: threads)
        sizes: list[int] = []
        noise._filled(count, lambda part, sizes=sizes: sizes.append(len(part)))
        assert len(sizes) == parts and sum(sizes) == count
        assert not sizes or (max(sizes) <= noise._CHUNK and max(sizes) - min(sizes) < parts)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
def test_words_are_the_bytes_of_the_system(monkeypatch: pytest.MonkeyPatch, count: int, width: int) -> None:
    """In their order, each once, and fetched for the call: no more than the last eight bytes need."""
    asked: list[int] = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(k % 251 for k in range(size))

    monkeypatch.setattr(noise, "os", SimpleNamespace(urandom=urandom))
    needed = count * width // 8
    data = bytes(k % 251 for k in range(needed))
    assert noise._words(count, width).tobytes() == data
    assert asked == [math.ceil(needed / 8) * 8]
    monkeypatch.setattr(noise, "os", SimpleNamespace(urandom=lambda size: b"\1" + bytes(size - 1)))
    assert noise._fresh_word() == 1


def test_fresh_words_have_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "os", SimpleNamespace(urandom=lambda size: b"\xff" * size))
    assert noise._fresh_word() == 2**64 - 1


def test_the_margin_is_above_what_the_proof_adds_up() -> None:
    """Lemma 1, (a) to (f), in units of 2⁻⁴⁴."""
    assert noise.MARGIN > (1 + 0.01 + 0.0625 + 0.2525 + 0.1) * 2.0**-44


@pytest.mark.parametrize(("law", "draw"), [("laplace", noise.discrete_laplace), ("gaussian", noise.discrete_gaussian)])
def test_opendp_adds_its_noise_to_zeros_at_a_scale_rounded_up(monkeypatch: pytest.MonkeyPatch, law: str, draw: Any):
    """The float64 nearest to 1/3 is below it: never less noise than claimed."""
    import opendp.prelude as dp

    asked: list[tuple[str, float]] = []

    def made(name: str) -> Any:
        return lambda *_, scale: asked.append((name, scale)) or (lambda values: values)

    for name in ("laplace", "gaussian"):
        monkeypatch.setattr(dp.m, f"make_{name}", made(name))
    found = draw(Fraction(1, 3), (2, 3), backend="opendp")
    assert found.shape == (2, 3) and not found.any()
    assert asked == [(law, math.nextafter(1 / 3, 1.0))] and Fraction(asked[0][1]) > Fraction(1, 3)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(10**6)])
def test_the_slow_path_by_definition(calls: Any, scale: Fraction) -> None:
    """The same decisions, one by one, on words that go on with 100…0."""
    law, t = Law(scale), math.floor(scale) + 1
    for word in noise._entropy(60).tolist():
        assert noise._laplace_trial(scale, word) == law.draw(word, 64)
        for proposal in (0, 1, -2, math.ceil(scale), -math.ceil(2 * scale)):
            gamma = exact((abs(proposal) - scale**2 / t) ** 2 / (2 * scale**2))
            assert noise._accepts(scale, proposal, word >> 48, 16) == (minus_log((word >> 48) + 0.5, 16) > gamma)


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
