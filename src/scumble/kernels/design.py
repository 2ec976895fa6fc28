"""From a seed to the hash functions' random numbers.

A kernel asks for what it needs, ``draws.normal(3)`` or ``draws.uniform(1)``, and gets one number per row for each. The
design decides how rows are related. ``iid``: every row on its own; the error falls as 1/√R. ``sobol``: points of a
scrambled Sobol set, whose errors cancel. ``orthogonal``: Gaussian directions are orthogonal within blocks of d rows,
each still exactly N(0, I); the offsets are Sobol.

The seed is public, fixed before the first record, and has nothing to do with the noise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scumble.errors import parameter
from scumble.files.compiling import can_compile, njit
from scumble.kernels import random, sobol

DESIGNS = ("iid", "sobol", "orthogonal")

BLOCKS = 16
"""Blocks of rows whose means' spread is measured; more give a steadier measure."""

# One stream of the generator for each use; the upper bits say which, the lower ones which coordinate of it.
_UNIFORM, _SOBOL, _REHASH = (tag << 48 for tag in (1, 2, 3))


class Design:
    """The random numbers behind `rows` hash functions, as a function of the seed.

    >>> draws = Design("sobol", seed=7, rows=4).draws()
    >>> draws.uniform(2).shape
    (4, 2)
    """

    def __init__(self, name: str, seed: int, rows: int) -> None:
        if name not in DESIGNS:
            raise parameter("design", f"one of {', '.join(DESIGNS)}", name)
        self.name, self.seed, self.rows = name, seed, rows

    def draws(self) -> Draws:
        """A fresh reader of the coordinates, from the first one on."""
        return Draws(self)

    def rehash_coefficients(self, count: int) -> np.ndarray:
        """(rows, count) words of 64 bits for the universal hash from codes to buckets; independent in every design."""
        return random.words(self.seed, _REHASH, self.rows * count).reshape(self.rows, count)

    def blocks(self, size: int = 1) -> np.ndarray:
        """For each row, the number of its block: the spread of the blocks' means measures the error of the whole mean.

        Independent rows are blocks of their own. Consecutive points of a Sobol set balance each other within a block,
        so the rows' spread would be far too wide. Orthogonal rows (`size` to a block of directions) stay together.
        """
        row = np.arange(self.rows)
        whole = -(-self.rows // size)
        if self.name == "iid" or whole < 4:
            return row
        return (row // size) * min(whole, BLOCKS) // whole


class Draws:
    """Reads a design's coordinates one after the other; each call returns one line per row."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._next = 0
        self.block = 1

    def uniform(self, count: int) -> np.ndarray:
        """(rows, count) uniform numbers strictly inside (0, 1)."""
        design = self._design
        if design.name == "iid" or self._next + count > sobol.COORDINATES:
            return self._independent(count)
        first = self._take(count)  # one coordinate of the point set after the other, each with a scramble of its own
        return random.to_unit(sobol.points(design.seed, _SOBOL + first, first, count, design.rows).T)

    def normal(self, count: int) -> np.ndarray:
        """(rows, count) standard normal numbers: one Gaussian direction a row."""
        if self._design.name == "orthogonal":
            self.block = max(self.block, count)
            return orthogonalized(random.normal(self._independent(count)))
        return random.normal(self.uniform(count))

    def cauchy(self, count: int) -> np.ndarray:
        """(rows, count) standard Cauchy numbers."""
        return random.cauchy(self.uniform(count))

    def _independent(self, count: int) -> np.ndarray:
        design, first = self._design, self._take(count)
        return random.to_unit(random.side_by_side(design.seed, _UNIFORM + first, count, design.rows).T)

    def _take(self, count: int) -> int:
        """The first of the next coordinates."""
        self._next += count
        return self._next - count


Numbers = npt.NDArray[np.float64]

WIDE = 128
"""Rows of a block from which on its loop is worth compiling."""


def orthogonalized(gauss: Numbers) -> Numbers:
    """Make the rows of each block of d orthogonal, keeping each row's length."""
    rows, d = gauss.shape
    if min(rows, d) >= WIDE and can_compile():
        out = np.empty_like(gauss)
        _one_by_one(gauss, out)
        return out
    whole = rows - rows % d
    blocks = gauss[:whole].reshape(-1, d, d), gauss[None, whole:]
    return np.concatenate([_all_blocks(block).reshape(-1, d) for block in blocks if block.size])


def _all_blocks(gauss: Numbers) -> Numbers:
    """(blocks, rows, d): the rows of each block, made orthogonal to those before."""
    out = np.empty_like(gauss)
    squares = np.empty(gauss.shape[:2])
    for r in range(gauss.shape[1]):
        row = gauss[:, r].copy()
        length = _dot(row, row)
        for _ in range(2):
            for other in range(r):
                dot = _dot(row, out[:, other])
                row -= (dot / squares[:, other])[:, None] * out[:, other]
        out[:, r] = row * np.sqrt(length / _dot(row, row))[:, None]
        squares[:, r] = _dot(out[:, r], out[:, r])
    return out


def _dot(left: Numbers, right: Numbers) -> Numbers:
    """Sums of products along the last axis, one after the other: `np.sum` would choose an order of its own."""
    total: Numbers = np.add.accumulate(left * right, axis=-1)[..., -1]
    return total


@njit(cache=True)
def _one_by_one(gauss: Numbers, out: Numbers) -> None:
    """The same, block by block."""
    rows, d = gauss.shape
    for first in range(0, rows, d):
        for r in range(first, min(first + d, rows)):
            length = 0.0
            for j in range(d):
                out[r, j] = gauss[r, j]
                length += gauss[r, j] * gauss[r, j]
            for _ in range(2):
                for other in range(first, r):
                    dot = 0.0
                    square = 0.0
                    for j in range(d):
                        dot += out[r, j] * out[other, j]
                        square += out[other, j] * out[other, j]
                    for j in range(d):
                        out[r, j] -= dot / square * out[other, j]
            left = 0.0
            for j in range(d):
                left += out[r, j] * out[r, j]
            for j in range(d):
                out[r, j] *= np.sqrt(length / left)
