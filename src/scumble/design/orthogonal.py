"""Gaussian directions that are orthogonal within blocks, each still exactly N(0, I) (Yu et al. 2016).

Gram–Schmidt, twice for accuracy. A Gaussian row's length is independent of its direction, and the directions of a
block alone decide the result, so every row stays exactly N(0, I) if it keeps its length. Sums run in a fixed order:
stable bits.

NumPy takes all blocks at once, one pair of rows after the other. Wide blocks have so many pairs that compiling the same
loop takes less time. Both give the same bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scumble.machine.compiling import can_compile, njit

Numbers = npt.NDArray[np.float64]

WIDE = 128
"""Rows of a block from which on its loop is worth compiling."""


def orthogonalised(gauss: Numbers) -> Numbers:
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
