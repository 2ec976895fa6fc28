"""Scrambled Sobol points: rows that spread out instead of clumping by chance.

A scrambled Sobol sequence (Owen 1995) fills the unit cube evenly, and every single point is still exactly uniform: each
row of a sketch keeps its exact law, and only the rows' errors cancel. The scramble is Matoušek's (1998), a random
lower-triangular binary matrix and a random digital shift for each coordinate, with the variance of Owen's.

Direction numbers: Joe & Kuo (2008), the first 1,024 coordinates of their set with property A. Coordinates beyond are
independent uniform numbers, which changes no law.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from scumble.kernels import random

Words = npt.NDArray[np.uint64]

COORDINATES = 1024
BITS = 32
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@cache
def _published() -> tuple[np.ndarray, np.ndarray]:
    """Primitive polynomials and initial direction numbers of all coordinates."""
    from importlib.resources import files  # slow to load, and grids draw no rows

    with (files("scumble.kernels") / "joe_kuo.npz").open("rb") as stream:
        table = np.load(stream, allow_pickle=False)
        return table["polynomials"], table["initial"]


@cache
def directions(coordinate: int) -> tuple[int, ...]:
    """Direction numbers of one coordinate, most significant bit first (Joe & Kuo 2008, section 2)."""
    if coordinate == 0:
        return tuple(1 << (BITS - 1 - k) for k in range(BITS))
    polynomials, initial = _published()
    polynomial = int(polynomials[coordinate])
    degree = polynomial.bit_length() - 1
    m = [int(x) for x in initial[coordinate][:degree]]
    for k in range(degree, BITS):
        value = m[k - degree] ^ (m[k - degree] << degree)
        for i in range(1, degree):
            if polynomial >> (degree - i) & 1:
                value ^= m[k - i] << i
        m.append(value)
    return tuple(m[k] << (BITS - 1 - k) for k in range(BITS))


def _scrambled(directions: Words, noise: Words) -> tuple[Words, Words]:
    """(coordinates, 32) direction numbers after the scramble, and each coordinate's shift.

    `noise` holds 33 words for each coordinate: the rows of the random triangular matrix, then the shift.
    """
    one, top = np.uint64(1), np.arange(BITS - 1, -1, -1, dtype=np.uint64)
    # Row i of the matrix: ones on the diagonal, random bits left of it (more significant digits).
    above = (_LOW << (top + one)) & _LOW
    matrix = (noise[:, :BITS] & above) | (one << top)
    digits = np.bitwise_count(matrix[:, :, None] & directions[:, None, :]).astype(np.uint64) & one
    columns = np.bitwise_or.reduce(digits << top[:, None], axis=1)
    return columns, noise[:, BITS] & _LOW


def points(seed: int, stream: int, coordinate: int, coordinates: int, count: int) -> Words:
    """(coordinates, count) words whose top bits are coordinates of a scrambled Sobol set, `coordinate` and those after.

    `stream` and those after it pick the scrambles; 32 scrambled digits are followed by 32 random bits.
    """
    numbers = np.array([directions(coordinate + j) for j in range(coordinates)], np.uint64)
    columns, shift = _scrambled(numbers, random.side_by_side(seed, stream, coordinates, 1 + BITS))
    out = np.empty((coordinates, count), np.uint64)
    out[:, 0] = shift
    for k in range((count - 1).bit_length()):  # point 2ᵏ + m differs from point m by one direction number
        left = min(1 << k, count - (1 << k))
        out[:, 1 << k : (1 << k) + left] = out[:, :left] ^ columns[:, k : k + 1]
    out <<= _HALF
    out |= random.side_by_side(seed, stream, coordinates, count, first=64) >> _HALF
    return out
