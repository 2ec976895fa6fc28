"""Every draw, slot by slot, against the law's own formula in many digits: the random bits are known, so the answer is.

The bits are those of the test's own stream (entropy.py), and whatever is fetched one word at a time is 100…0. So the
whole U behind each decision is known, and floor(scale · (c − ln U)) and "−ln U > γ" are computed as they are defined.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

from scumble.privacy import noise
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
    sigma, centre, margin = 2.5, 2.5**2 / 3, 2.0**-8
    words = np.arange(1, 2**16, dtype=np.uint16)
    stays = np.zeros(len(words), np.bool_)
    proposals = np.full(len(words), proposal)
    left = noise._accept_kernel(words, 16, proposals, centre, sigma, margin, stays, Room())
    gamma = (abs(proposal) - centre) ** 2 / (2 * sigma**2)
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
