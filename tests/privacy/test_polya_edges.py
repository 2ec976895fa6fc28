"""Shares of Laplace noise, word by word: what the loop decides, what it leaves open, and what exact arithmetic says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from scumble.privacy import noise, polya

ALL = 2**64 - 1
THIRD = 2**64 // 3  # 0x5555…: as 63 bits of U it is two thirds, and as fresh bits a third


def thinned(
    *words: tuple[int, int, int, int], block: int = 1, last: int = 9, scale: float = 1e6, margin: float = noise.MARGIN
):
    """What is added for each candidate, and which are left open."""
    added, undecided = polya._thinned(np.full(len(words), block), np.array(words, np.uint64).T, last, scale, margin)
    return added.tolist(), undecided.tolist()


def test_the_loop_names_what_it_leaves_open() -> None:
    """3 in [2, 4) stays if U < 2/3; float64 decides outside of 2⁻⁵⁰ around that."""
    near = [(2 * (THIRD + d), 2**63, 1, 1) for d in (-20_000, -4100, -500, 0, 500, 4100, 20_000)]
    assert thinned(*near) == ([3, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5])
    assert thinned((2 * (THIRD - 20_000) + 1, 2**63, 1, 1)) == ([-3], [])
    assert thinned((int(0.9 * 2**64), 2**63, 1, 1)) == ([0], [])
    assert thinned((int(0.9 * 2**64), 2**63, 0, 1)) == ([2], [])  # 2 itself always stays


@pytest.mark.parametrize("margin", [1.0, math.inf])
@pytest.mark.parametrize("block", [1, 9])
def test_a_wide_margin_leaves_everything_open(margin: float, block: int) -> None:
    words = [(0, 2**50, 1, 1), (0, 2**60, 0, 1), (0, 2**63, 7, 3)]
    assert thinned(*words, block=block, margin=margin) == ([0, 0, 0], [0, 1, 2])


def test_groups_of_two_bits_say_how_far_out() -> None:
    """In the last block: 2⁹ … at first, twice that for each group of zeros; after 32 of them more bits are needed."""
    far = [(0, 2**63, 5, fourth << 2 * extra) for extra, fourth in ((0, 1), (1, 1), (2, 3), (5, 2))]
    assert thinned(*far, block=9) == ([2**9 + 5, 2**10 + 5, 2**11 + 5, 2**14 + 5], [])
    assert thinned((0, 2**63, 5, 0), (0, 2**63, 5, 1 << 62), block=9, scale=1e15) == ([0, 2**40 + 5], [0])


def test_few_bits_and_wide_blocks_are_left_open() -> None:
    assert thinned((0, 2 * 2**48, 0, 1), (0, 2 * 2**48 - 2, 0, 1), (0, 0, 0, 1)) == ([2, 0, 0], [1, 2])
    assert thinned((0, 2**63, 3, 1), block=50, last=60, scale=1e17) == ([2**50 + 3], [])
    assert thinned((0, 2**63, 3, 1), block=51, last=60, scale=1e17) == ([0], [0])
    assert thinned((0, 2**63, 3, 1 << 6), block=49, last=49, scale=1e17) == ([0], [0])


@pytest.mark.parametrize("extra", [0, 1, 2])
def test_near_ties_with_the_exponential_are_left_open(extra: int) -> None:
    """8 stays if −ln U + shift > 8/s; within MARGIN · (1 + 8/s) of that, and only there, the loop does not decide."""
    last, weight = (9, mpmath.mpf(1)) if not extra else (3 - extra, mpmath.mpf(3) / 4 ** (extra + 1))
    block = 3 if not extra else last
    for scale in (1.0, 1.7):
        gamma = 8 / scale
        for off, decided in ((-1.06, True), (-0.94, False), (0.0, False), (0.94, False), (1.06, True)):
            with mpmath.workdps(50):
                lead = off * noise.MARGIN * (1 + gamma)
                uniform = mpmath.exp(-(mpmath.mpf(gamma) + lead)) / weight
                bits = int(uniform * 2**63)
            if not 2**49 < bits < 2**63:
                continue
            out, waiting = thinned((0, 2 * bits, 0, 1 << 2 * extra), block=block, last=last, scale=scale)
            assert waiting == ([] if decided else [0]) and out == [8 if decided and off > 0 else 0]


def fresh(monkeypatch: pytest.MonkeyPatch, *words: int) -> Iterator[int]:
    """These words are fetched, in this order; the iterator holds those that are left."""
    left = iter(words)
    monkeypatch.setattr(noise, "_fresh_word", lambda: next(left))
    return left


def test_after_32_groups_a_fresh_word_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    left = fresh(monkeypatch, 0b0100, 99)
    assert polya._thin(Fraction(2**45), 2, 2, 0, 2**63, 5, 0) == 2 ** (2 + 32 + 1) + 5
    assert next(left) == 99
    fresh(monkeypatch)
    assert polya._thin(Fraction(2**45), 2, 2, 1, 2**63, 5, 0b110000) == -(2**4) - 5


@pytest.mark.parametrize("extra", [0, 1, 2, 3, 5])
def test_a_candidate_of_the_last_block_stays_with_its_weight(monkeypatch: pytest.MonkeyPatch, extra: int) -> None:
    """¾·4^−i · U < e^(−j/s)."""
    fresh(monkeypatch)
    size, gamma = 2**extra, Fraction(6 + 3 * extra, 2)
    edge = math.exp(-gamma) / (0.75 / 4**extra)
    for factor, stays in ((0.99, True), (1.01, False)):
        second = int(edge * factor * 2**64)
        assert polya._thin(size / gamma, 0, 0, 0, second, 0, 1 << 2 * extra) == (size if stays else 0)


@pytest.mark.parametrize(("block", "words"), [(10, 0), (64, 0), (65, 1), (100, 1), (128, 1), (129, 2), (192, 2)])
def test_wide_places_take_as_many_words_as_they_need(monkeypatch: pytest.MonkeyPatch, block: int, words: int) -> None:
    more = [0x123456789ABCDEF1, 0xFEDCBA9876543213, 77]
    left = fresh(monkeypatch, *more)
    place = (2**64 - 3) + sum(word << 64 * (k + 1) for k, word in enumerate(more[:words]))
    assert polya._thin(Fraction(2**210), 205, block, 0, 2**63, 2**64 - 3, 1) == 2**block + place % 2**block
    assert next(left) == more[words]


@pytest.mark.parametrize(
    ("words", "stays"),
    [([THIRD - 1], True), ([THIRD + 1], False), ([THIRD, 0], True), ([THIRD, ALL], False), ([THIRD, THIRD, 1], True)],
)
def test_a_tie_with_two_thirds_is_settled_by_more_bits(
    monkeypatch: pytest.MonkeyPatch, words: list[int], stays: bool
) -> None:
    left = fresh(monkeypatch, *words, 5)
    assert polya._thin(Fraction(2**45), 9, 1, 2 * THIRD, 2**63, 1, 1) == (3 if stays else 0)
    assert next(left) == 5


@pytest.mark.parametrize(("word", "stays"), [(0, True), (ALL, False)])
def test_a_tie_with_the_exponential_is_settled_by_more_bits(
    monkeypatch: pytest.MonkeyPatch, word: int, stays: bool
) -> None:
    """e^−42 · 2⁶³ is 5.3: for U between 5 and 6 of them the next word decides."""
    left = fresh(monkeypatch, word, 5)
    assert polya._thin(Fraction(1, 42), 9, 0, 0, 2 * 5, 0, 1) == (1 if stays else 0)
    assert next(left) == 5


@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(13, 5)])
def test_ties_with_the_poisson_table_are_settled_by_more_bits(monkeypatch: pytest.MonkeyPatch, rate: Fraction) -> None:
    """U begins like F(k): k if it goes on below, k + 1 if it goes on above."""
    table = polya._poisson_table(rate).tolist()
    for k, entry in enumerate(table[:-1]):
        if table.count(entry) > 1:
            continue
        monkeypatch.setattr(noise, "_entropy", lambda count, entry=entry: np.array([2 * entry], np.uint64))
        with mpmath.workdps(80):
            scaled = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator) * mpmath.mpf(2) ** 127
            sums = polya._partial_sum(rate, k)
            rest = int(scaled * sums.numerator / sums.denominator) - (entry << 64)
        for word, wanted in ((rest - 2, k), (rest + 2, k + 1)):
            left = fresh(monkeypatch, word, 5)
            assert polya._poisson(rate, 1).tolist() == [wanted]
            assert next(left) == 5
    monkeypatch.setattr(noise, "_entropy", lambda count: np.array([ALL], np.uint64))
    fresh(monkeypatch, ALL, ALL, 0)
    assert polya._poisson(rate, 1)[0] > len(table) - 1


def test_a_poisson_table_takes_more_digits_where_few_do_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    rate, asked, real = Fraction(13, 5), [], polya._power_of_e
    wanted = polya._poisson_table.__wrapped__(rate).tolist()
    monkeypatch.setattr(polya, "_power_of_e", lambda rate, digits: asked.append(digits) or real(rate, digits - 50))
    assert polya._poisson_table.__wrapped__(rate).tolist() == wanted
    assert asked[0] == 60 and asked[-1] == 120


def test_only_what_was_rejected_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    feed, asked = [ALL, 4, ALL, 8, 9, ALL, 1], []

    def entropy(count: int) -> np.ndarray:
        asked.append(count)
        out = np.array(feed[:count], np.uint64)
        del feed[:count]
        return out

    monkeypatch.setattr(noise, "_entropy", entropy)
    assert polya._below(7, 4).tolist() == [4, 1, 2, 1]
    assert asked == [4, 2, 1]


@pytest.mark.parametrize("count", [1, 3, 10])
def test_every_slot_gets_its_share(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """At this scale a zero has a chance of 5e-10."""
    monkeypatch.setattr(polya, "_CHUNK", 3)
    assert polya.laplace_share(10**9, 1, count).all()


def test_what_is_left_open_is_added_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polya, "_thin", lambda *given: 5)
    monkeypatch.setattr(polya, "_poisson", lambda rate, count: np.full(count, 3))
    assert polya._shares(Fraction(2), 1, 4, math.inf).tolist() == [15] * 4
