"""A share of discrete Laplace noise: n of them, drawn apart, add up to exactly the full noise.

A share is a difference of two Pólya variables (negative binomial with a fractional number of successes 1/n; Ács &
Castelluccia 2011, Goryczka & Xiong 2017). With q = e^(−1/s), each is Σ_j j·N_j for independent N_j ~
Poisson(q^j/(n j)). Candidates are drawn in blocks of sizes j, [2^b, 2^(b+1)) and one for all the rest, and thinned to
these N_j by comparing uniform bits, or −ln U, with fractions: in float64 with a margin, and in exact arithmetic with
more bits if that leaves it open. The law is exact (``splitting.proof.md``).
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from scumble.privacy import audit_hooks, noise
from scumble.privacy.exact import as_count
from scumble.privacy.noise import MARGIN, Integers, Words

_CHUNK = 1 << 14
_FAST = np.uint64(1 << 48)
_WIDEST = 50  # blocks whose sizes float64 holds with room to spare
_LOG4, _LOG43 = math.log(4.0), math.log(4.0 / 3.0)


def laplace_share(scale: Fraction | int | float, custodians: int, size: int | tuple[int, ...]) -> Integers:
    """Draw shares: `custodians` independent ones add up to a discrete Laplace variable of this scale.

    >>> laplace_share(10, 4, (2, 3)).shape
    (2, 3)
    """
    exact, shape = noise._scale("scale", scale), noise._shape(size)
    people = as_count("custodians", custodians)
    return audit_hooks.drawn(
        "laplace-share", exact, _shares(exact, people, math.prod(shape)).reshape(shape), parts=people
    )


def _blocks(scale: Fraction) -> int:
    """The least B with 2^B >= 4 scale."""
    return max(0, math.ceil(4 * scale) - 1).bit_length()


def _shares(scale: Fraction, custodians: int, count: int, margin: float = MARGIN) -> Integers:
    """`count` shares; `margin=inf` leaves every decision to exact arithmetic, for tests."""
    last = _blocks(scale)
    rate = Fraction(2 * (last + 1), custodians)

    def fill(out: Integers) -> None:
        out[:] = 0
        for first in range(0, len(out), _CHUNK):
            part = out[first : first + _CHUNK]
            slots = np.repeat(np.arange(len(part)), _poisson(rate, len(part)))
            blocks = _below(last + 1, len(slots))
            words = noise._entropy(4 * len(slots)).reshape(4, -1)
            added, undecided = _thinned(blocks, words, last, float(scale), margin)
            np.add.at(part, slots, added)
            for k in undecided.tolist():
                size = _thin(scale, last, int(blocks[k]), *words[:, k].tolist())
                part[slots[k]] = int(part[slots[k]]) + size  # raises, and does not wrap, beyond int64

    return noise._filled(count, fill)


@np.errstate(divide="ignore")  # at U = 0, which decides nothing
def _thinned(blocks: Integers, words: Words, last: int, scale: float, margin: float) -> tuple[Integers, Integers]:
    """What each candidate adds, 0 if it does not stay; and the places of those that are left undecided.

    The four words of a candidate: sign and thinning by 2^b/j; thinning by e^(−j/s); place in the block; which of the
    last block's parts.
    """
    first, second, third, fourth = words
    ends = np.flatnonzero(blocks == last)
    groups = fourth[ends]
    zeros = np.frexp((groups & (~groups + np.uint64(1))).astype(float))[1] - 1  # below the lowest bit that is set
    extra, shift = np.zeros(len(blocks), np.int64), np.zeros(len(blocks))
    extra[ends] = zeros // 2
    shift[ends] = zeros // 2 * _LOG4 + _LOG43
    known = (extra >= 0) & (blocks + extra <= _WIDEST) & (margin < 1.0)
    least = np.left_shift(1, np.clip(blocks + extra, 0, _WIDEST))
    size = least + (third & (least - 1).view(np.uint64)).view(np.int64)
    # Out with probability 1 − 2^b/j?
    reach = (first >> np.uint64(1)) * 2.0**-63 * size / least
    bits = second >> np.uint64(1)
    gamma = size / scale
    lead = shift - np.log(bits * 2.0**-63) - gamma
    slack = margin * (1.0 + gamma)
    within = known & (reach < 1.0 - 2.0**-50) & (bits >= _FAST)
    stays = within & (lead > slack)
    goes = known & (reach > 1.0 + 2.0**-50) | within & (lead < -slack)
    added = np.where(stays, np.where(first & np.uint64(1), -size, size), 0)
    return added, np.flatnonzero(~(stays | goes))


def _thin(scale: Fraction, last: int, block: int, first: int, second: int, third: int, fourth: int) -> int:
    """What one candidate adds, exactly; 0 if it does not stay. The slow twin of `_thinned`."""
    weight = Fraction(1)
    if block == last:
        extra = 0
        while fourth & 3 == 0:
            extra += 1
            fourth >>= 2
            if extra % 32 == 0:
                fourth = noise._fresh_word()
        block += extra
        weight = Fraction(3, 4 ** (extra + 1))
    place = third
    for k in range(1, (block + 63) // 64):
        place |= noise._fresh_word() << (64 * k)
    size = (1 << block) + place % (1 << block)
    # U < 2^b/j, on as many bits of U as it takes.
    bits, places = first >> 1, 63
    while bits * size < 1 << (block + places) < (bits + 1) * size:
        bits, places = bits << 64 | noise._fresh_word(), places + 64
    if bits * size >= 1 << (block + places):
        return 0
    # weight · U < e^(−j/s)
    log = noise._MinusLog(second >> 1, weight)
    gamma = size / scale
    while log.low <= gamma and (log.high is None or log.high >= gamma):
        log.refine()
    if log.low <= gamma:
        return 0
    return -size if first & 1 else size


# ---- whole numbers: uniform, and Poisson ----


def _below(limit: int, count: int) -> Integers:
    """Uniform on 0 … limit − 1, by rejecting the incomplete last round."""
    out = np.empty(count, np.int64)
    done = 0
    whole = (1 << 64) // limit * limit  # 2^64 itself if `limit` is a power of two
    while done < count:
        words = noise._entropy(count - done)
        if whole < 1 << 64:
            words = words[words < np.uint64(whole)]
        out[done : done + len(words)] = words % np.uint64(limit)
        done += len(words)
    return out


def _poisson(rate: Fraction, count: int) -> Integers:
    """Poisson(rate) draws by inversion: the number of k with F(k) <= U.

    The table holds floor(2^63 F(k)); U's first 63 bits decide unless they equal an entry.
    """
    table = _poisson_table(rate)
    bits = noise._entropy(count) >> np.uint64(1)
    out = np.searchsorted(table, bits, side="left").astype(np.int64)
    for k in np.flatnonzero(table[np.minimum(out, len(table) - 1)] == bits).tolist():
        out[k] = _poisson_exactly(rate, int(bits[k]))
    return out


@lru_cache(maxsize=64)
def _poisson_table(rate: Fraction) -> Words:
    entries: list[int] = []
    digits = 60
    while not entries or entries[-1] < (1 << 63) - 1:
        low, high = _power_of_e(rate, digits)
        total = _partial_sum(rate, len(entries))
        # F(k) = total/e^rate lies between total/high and total/low.
        ends = {math.floor(total * (1 << 63) / end) for end in (low, high)}
        if len(ends) == 1:
            entries.append(ends.pop())
        else:
            digits *= 2
    return np.array(entries, np.uint64)


def _poisson_exactly(rate: Fraction, bits: int) -> int:
    """The number of k with F(k) <= U, with as many bits of U and digits of e^rate as it takes."""
    places, k = 63, 0
    while True:
        low, high = _power_of_e(rate, places)
        # Compare U·e^rate, known to lie in [below, above), with the rational Σ_{j<=k} rate^j/j!.
        below, above = Fraction(bits, 1 << places) * low, Fraction(bits + 1, 1 << places) * high
        total = _partial_sum(rate, k)
        if above <= total:
            return k
        if below >= total:
            k += 1
        else:
            bits, places = bits << 64 | noise._fresh_word(), places + 64


@lru_cache(maxsize=1024)
def _partial_sum(rate: Fraction, last: int) -> Fraction:
    term = total = Fraction(1)
    for j in range(1, last + 1):
        term = term * rate / j
        total += term
    return total


@lru_cache(maxsize=256)
def _power_of_e(rate: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds on e^rate: `decimal` rounds exp correctly, and rate as a decimal is within one unit of its last digit."""
    context = Context(digits, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX)
    near = context.divide(Decimal(rate.numerator), Decimal(rate.denominator))
    low, high = context.next_minus(near), context.next_plus(near)
    return Fraction(context.next_minus(context.exp(low))), Fraction(context.next_plus(context.exp(high)))
