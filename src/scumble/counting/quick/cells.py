"""From codes to the cells of a row, a stretch of records at a time.

Where a row has few codes in this batch, its cells are the codes themselves, one or several of them numbered. Otherwise
each record's codes are rehashed into a bucket: their sum is kept in three digits, in which vectors add. Each step tells
whether some codes lie too near an edge; those are done `again`.
"""

from __future__ import annotations

import numpy as np

from scumble.counting.exact import inlined, loop
from scumble.counting.guard import FRACTION, ONE

ALONE, NUMBERED, REHASHED = range(3)
"""How a row's codes become its cells: one code is the cell; several are numbered; they are rehashed into buckets."""
ROOM = (1 << 16) - 4
"""What codes may add up to before a digit is full: 65,535 · (ROOM + 2) < 2³²."""

MASK = np.int32(ONE - 1)
SHIFT = np.int32(FRACTION)
UP, SIXTEEN, DIGIT = np.uint64(32), np.uint64(16), np.uint64(0xFFFF)
SHIFT_16, DIGIT_32 = np.uint32(16), np.uint32(0xFFFF)


@inlined
def truncated(t):
    """The one step from single precision to whole numbers: t is a number from 0 to 2³⁰, as `guard` shows."""
    return np.int32(t)


@inlined
def _near(c, guard, least):
    """The smallest distance from an edge so far, in fixed point, shifted by the guard."""
    v = np.int32(np.int32(c + guard) & MASK)
    return v if v < least else least


@loop
def place_alone(t, guard, first, last, index):
    """The code alone: fixed point, the cell in the upper bits."""
    least = MASK
    for i in range(np.uint64(first), np.uint64(last)):
        c = truncated(t[i])
        index[i] = np.uint32(c)
        least = _near(c, guard, least)
    return least < 2 * guard


@loop
def add_numbered(t, guard, stride, first, last, index):
    """Add the code's share to the number of the cell."""
    least = MASK
    for i in range(np.uint64(first), np.uint64(last)):
        c = truncated(t[i])
        index[i] = np.uint32(index[i] + np.uint32(c >> SHIFT) * stride)
        least = _near(c, guard, least)
    return least < 2 * guard


@loop
def add_rehashed(t, guard, multiplier, first, last, sums):
    """Add the code's share to the rehash's sum, digit by digit."""
    low, middle, high = digits(multiplier)
    lows, middles, highs = sums[0], sums[1], sums[2]
    least = MASK
    for i in range(np.uint64(first), np.uint64(last)):
        c = truncated(t[i])
        code = np.uint32(c >> SHIFT)
        lows[i] = np.uint32(lows[i] + low * code)
        middles[i] = np.uint32(middles[i] + middle * code)
        highs[i] = np.uint32(highs[i] + high * code)
        least = _near(c, guard, least)
    return least < 2 * guard


@inlined
def digits(number):
    """A 64-bit number as 16, 16 and 32 bits, from the lowest, each in a 32-bit number.

    The rehash's sum is kept so: vectors hold twice as many of those. Products of a code, below 2¹⁴, and a digit have
    30 bits; the lower two digits overflow when codes that add up to `ROOM` have come, so they are settled before.
    """
    return np.uint32(number & DIGIT), np.uint32((number >> SIXTEEN) & DIGIT), np.uint32(number >> UP)


@loop
def settle(sums):
    """Carry what the lower digits have over 16 bits."""
    lows, middles, highs = sums[0], sums[1], sums[2]
    for i in range(np.uint64(lows.size)):
        carried = np.uint32(middles[i] + (lows[i] >> SHIFT_16))
        lows[i] = lows[i] & DIGIT_32
        middles[i] = carried & DIGIT_32
        highs[i] = np.uint32(highs[i] + (carried >> SHIFT_16))


@loop
def to_buckets(sums, buckets, shift, index):
    """The sum's upper half to a bucket: by a shift where that is all there is to it.

    `buckets` is a line of equal numbers: loaded, they multiply in 32 bits.
    """
    lows, middles, highs = sums[0], sums[1], sums[2]
    if shift > 0:
        for i in range(np.uint64(index.size)):
            carried = np.uint32(middles[i] + (lows[i] >> SHIFT_16))
            index[i] = np.uint32(np.uint32(highs[i] + (carried >> SHIFT_16)) >> shift)
    else:
        for i in range(np.uint64(index.size)):
            carried = np.uint32(middles[i] + (lows[i] >> SHIFT_16))
            h = np.uint32(highs[i] + (carried >> SHIFT_16))
            index[i] = np.uint32((np.uint64(h) * np.uint64(buckets[i])) >> UP)
