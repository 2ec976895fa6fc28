"""Records that occur several times are hashed once, and counted with their number.

Tables of ages, codes and pixel values repeat themselves: of the 245,057 pixels of the skin set, 51,433 differ. Finding
the repeats takes about 40 ns per record, hashing a record in a thousand rows about 2,000. Each thread takes the records
whose keys are its own, and equal records have equal keys.
"""

from __future__ import annotations

import numpy as np

from scumble.counting.exact import inlined, loop

WORTH = 256
"""Hashes per record from which on looking for repeats costs little."""
SAMPLE, FEWEST = 4096, 0.01
"""If fewer than this share of the first records are repeats, the others are not looked at."""
BLOCK = 1024
"""Records whose keys are computed at a time."""


def worth_a_search(values: np.ndarray, hashes: int) -> bool:
    """Whether rows of a matrix repeat themselves often enough, judged by the keys of the first ones."""
    if hashes < WORTH:
        return False
    words = values[:SAMPLE].view(np.uint64)
    keys, places = np.empty(len(words), np.uint64), np.empty(len(words), np.int64)
    _own_keys(words, 0, len(words), np.uint64(0), np.uint64(1), keys, places)
    keys.sort()
    return int(np.count_nonzero(keys[1:] == keys[:-1])) >= FEWEST * len(keys)


def distinct(values: np.ndarray, share: int = 0, shares: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a matrix and how often each occurs: all of them, or one share of so many."""
    n = len(values)
    slots = np.full(1 << max(n, 2 * n // shares).bit_length(), -1, np.int32)
    keys, own = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64)
    rows, times = np.empty_like(values, np.uint64), np.empty(n, np.int64)
    found = _find(values.view(np.uint64), share, shares, keys, own, slots, rows, times)
    return rows[:found].view(np.float64), times[:found]


@loop
def _find(words, share, shares, keys, own, slots, rows, times):
    """Copy the distinct rows of one share, in the order of their first occurrence, and count all of theirs."""
    found = 0
    for first in range(0, words.shape[0], BLOCK):
        last = min(first + BLOCK, words.shape[0])
        for k in range(_own_keys(words, first, last, np.uint64(share), np.uint64(shares), keys, own)):
            found = _add(words, own[k], keys[k], found, slots, rows, times)
    return found


@loop
def _own_keys(words, first, last, share, shares, keys, own):
    """How many of some rows belong to a share, and their keys and places. No branches: none could be predicted."""
    found = np.intp(0)
    for i in range(first, last):
        key = np.uint64(0)
        for j in range(words.shape[1]):
            key = (key ^ words[i, j]) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        keys[found] = key
        own[found] = i
        found += np.intp(((key >> np.uint64(32)) * shares) >> np.uint64(32) == share)
    return found


@inlined
def _add(words, i, key, found, slots, rows, times):
    """Count a row that may have been found before; returns how many have been now."""
    mask = np.uint64(slots.size - 1)
    place = key & mask
    number = slots[place]
    while number >= 0:
        same = True
        for j in range(words.shape[1]):
            same &= rows[number, j] == words[i, j]
        if same:
            break
        place = (place + np.uint64(1)) & mask
        number = slots[place]
    if number < 0:
        number = found
        slots[place] = number
        times[number] = 0
        for j in range(words.shape[1]):
            rows[number, j] = words[i, j]
    times[number] += 1
    return max(found, number + 1)
