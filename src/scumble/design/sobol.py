"""Scrambled Sobol points: rows that spread out instead of clumping by chance.

A Sobol sequence fills the unit cube far more evenly than independent points do. Scrambled (Owen 1995), every
single point is still exactly uniform over the cube, so every row of a sketch keeps its exact law and the
estimate stays unbiased; only the rows' errors now cancel each other. The scramble here is Matoušek's (1998):
a random lower-triangular binary matrix, then a random digital shift, for each coordinate. It has the
variance of Owen's full scramble.

Direction numbers: Joe & Kuo (2008), the first 1,024 coordinates of their set with property A. Coordinates
beyond are independent uniform numbers, which changes no law.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np

from scumble.design import random
from scumble.machine.compiling import njit

COORDINATES = 1024
BITS = 32


@cache
def _directions() -> np.ndarray:
    """Direction numbers v[coordinate, bit], most significant bit first (Joe & Kuo 2008, section 2)."""
    with (files("scumble.design") / "joe_kuo.npz").open("rb") as stream:
        table = np.load(stream, allow_pickle=False)
        polynomials, initial = table["polynomials"], table["initial"]
    v = np.zeros((COORDINATES, BITS), np.uint64)
    v[0] = [1 << (BITS - 1 - k) for k in range(BITS)]
    for j in range(1, COORDINATES):
        polynomial = int(polynomials[j])
        degree = polynomial.bit_length() - 1
        m = [int(x) for x in initial[j][:degree]]
        for k in range(degree, BITS):
            value = m[k - degree] ^ (m[k - degree] << degree)
            for i in range(1, degree):
                if polynomial >> (degree - i) & 1:
                    value ^= m[k - i] << i
            m.append(value)
        v[j] = [m[k] << (BITS - 1 - k) for k in range(BITS)]
    return v


@njit(cache=True)
def _parity(x: np.uint64) -> np.uint64:
    """Whether a 32-bit word has an odd number of ones."""
    x ^= x >> np.uint64(16)
    x ^= x >> np.uint64(8)
    x ^= x >> np.uint64(4)
    x ^= x >> np.uint64(2)
    x ^= x >> np.uint64(1)
    return x & np.uint64(1)


@njit(cache=True)
def _scrambled(directions: np.ndarray, noise: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Points 0 … n − 1 of one coordinate: 32 scrambled digits, then the 32 random bits of `low`.

    `noise` holds 33 words: the rows of the random triangular matrix, then the shift.
    """
    one = np.uint64(1)
    columns = np.zeros(32, np.uint64)
    for i in range(32):
        top = np.uint64(31 - i)
        # Row i of the matrix: ones on the diagonal, random bits left of it (more significant digits).
        above = (np.uint64(0xFFFFFFFF) << (top + one)) & np.uint64(0xFFFFFFFF)
        row = (noise[i] & above) | (one << top)
        for k in range(32):
            columns[k] |= _parity(row & directions[k]) << top
    shift = noise[32] & np.uint64(0xFFFFFFFF)
    out = np.empty(low.size, np.uint64)
    for n in range(low.size):
        x = shift
        index = n
        k = 0
        while index:
            if index & 1:
                x ^= columns[k]
            index >>= 1
            k += 1
        out[n] = (x << np.uint64(32)) | (low[n] >> np.uint64(32))
    return out


def points(seed: int, stream: int, coordinate: int, count: int) -> np.ndarray:
    """`count` words whose top bits are one coordinate of a scrambled Sobol set; `stream` picks the scramble."""
    low = random.words(seed, stream, count, first=64)
    return _scrambled(_directions()[coordinate], random.words(seed, stream, 33), low)
