"""Records that occur several times are hashed once, and counted with their number.

Tables of ages, codes and pixel values repeat themselves: of the 245,057 pixels of the skin set 51,433 differ. Finding
the repeats takes some 50 ns a record, hashing a record in a thousand rows some 2,000.
"""

from __future__ import annotations

import numpy as np
from numba import njit

WORTH = 256
"""Hashes a record from which on looking for repeats costs little."""
SAMPLE, FEWEST = 4096, 0.01
"""After so many records, a smaller share of repeats than this ends the search."""


def distinct(values: np.ndarray, hashes: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The distinct rows of a matrix and how often each occurs, or None if that is not worth it."""
    n = len(values)
    if hashes < WORTH:
        return None
    slots = np.full(1 << (2 * n - 1).bit_length(), -1, np.int32)
    firsts, times = np.empty(n, np.int32), np.zeros(n, np.int64)
    found = _find(values.view(np.uint64), slots, firsts, times)
    return None if found < 0 else (values[firsts[:found]], times[:found])


@njit(nogil=True, cache=True)
def _find(words, slots, firsts, times):
    """Number the distinct rows in the order of their first occurrence; -1 if few of the first ones are repeats."""
    n, d = words.shape
    mask = np.uint64(slots.size - 1)
    found = 0
    for i in range(n):
        if i == SAMPLE and found > (1.0 - FEWEST) * SAMPLE:
            return -1
        h = np.uint64(0)
        for j in range(d):
            h = (h ^ words[i, j]) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
        place = h & mask
        while slots[place] >= 0:
            other = firsts[slots[place]]
            same = True
            for j in range(d):
                if words[other, j] != words[i, j]:
                    same = False
                    break
            if same:
                break
            place = (place + np.uint64(1)) & mask
        if slots[place] < 0:
            slots[place] = found
            firsts[found] = i
            found += 1
        times[slots[place]] += 1
    return found
