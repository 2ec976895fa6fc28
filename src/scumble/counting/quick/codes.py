"""One hash of all records of a tile: a line of codes in fixed point, held as single-precision numbers."""

from __future__ import annotations

import numpy as np

from scumble.counting.exact import _within, loop
from scumble.counting.guard import ONE


@loop
def to_sides(t):
    """A projection to code 1 at its right side, 0 at its wrong one: the edge lies at one."""
    reach = np.float32(ONE // 2)
    for i in range(t.size):
        side = t[i] if t[i] > -reach else -reach
        t[i] = min(side, reach - np.float32(1.0)) + np.float32(ONE)


@loop
def to_folded(sides, guard, least, t):
    """Projections on several directions to one code: bit j tells whether side j is not the last one's.

    The code lies in the middle between its edges, or on one if some projection is too near to tell its side.
    """
    last, edge = sides[sides.shape[0] - 1], np.float32(guard)
    for i in range(t.size):
        least[i] = abs(last[i])
        t[i] = np.float32(ONE // 2)
    for j in range(sides.shape[0] - 1):
        side, worth = sides[j], np.float32(ONE << j)
        for i in range(t.size):
            least[i] = min(least[i], abs(side[i]))
            t[i] += worth if (side[i] >= 0.0) != (last[i] >= 0.0) else np.float32(0.0)
    for i in range(t.size):
        t[i] -= np.float32(0.0) if least[i] >= edge else np.float32(ONE // 2)


@loop
def to_steps(values, p, lowest, t):
    """Steps of one column, ⌊x_c·s + b⌋ within [bottom, top], in double precision: far from all edges."""
    c = np.int64(p[0])
    steps, offset, bottom, top = p[1], p[2], p[3], p[4]
    for i in range(t.size):
        code = _within(np.floor(values[i, c] * steps + offset), bottom, top) - lowest
        t[i] = np.float32((code + 0.5) * ONE)
