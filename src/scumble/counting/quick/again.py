"""In double precision, where it matters: in the order of the columns, as the reference does it."""

from __future__ import annotations

import numpy as np

from scumble.counting.exact import _within, _word, inlined, loop
from scumble.counting.guard import COLUMN, FLOOR, FOLDED, FRACTION, SIGN
from scumble.counting.quick.cells import ALONE, MASK, NUMBERED, SHIFT, digits, truncated


@inlined
def _exactly(record, start, direction):
    t = start
    for j in range(direction.size):
        t += record[j] * direction[j]
    return t


@inlined
def _fold_exactly(record, p):
    d = record.size
    last = _exactly(record, 0.0, p[p.size - d :]) >= 0.0
    code = np.int64(0)
    for j in range(p.size // d - 1):
        if (_exactly(record, 0.0, p[j * d : (j + 1) * d]) >= 0.0) != last:
            code += np.int64(1) << j
    return code


@loop
def repair(way, values, family, p, lowest, t, guard, stride, multiplier, first, last, index, sums):
    """Do the codes that lie too near an edge again."""
    for i in range(np.uint64(first), np.uint64(last)):
        c = truncated(t[i])
        if np.int32(np.int32(c + guard) & MASK) < 2 * guard:
            if family == SIGN:
                code = np.int64(_exactly(values[i], 0.0, p) >= 0.0)
            elif family == FOLDED:
                code = _fold_exactly(values[i], p)
            else:
                code = np.int64(np.floor(_exactly(values[i], p[0], p[1:]))) - lowest
            wrong = code - np.int64(np.uint32(c >> SHIFT))
            if way == ALONE:
                index[i] = np.uint32(code << FRACTION)
            elif way == NUMBERED:
                index[i] = np.uint32(np.int64(index[i]) + wrong * np.int64(stride))
            else:
                low, middle, high = digits(multiplier)
                sums[0, i] = np.uint32(sums[0, i] + wrong * np.int64(low))
                sums[1, i] = np.uint32(sums[1, i] + wrong * np.int64(middle))
                sums[2, i] = np.uint32(sums[2, i] + wrong * np.int64(high))


@loop
def add_words(values, family, p, multiplier, sums):
    """Codes that fixed point does not hold: 32-bit words, in double precision."""
    for i in range(values.shape[0]):
        if family == FLOOR:
            code = np.floor(_exactly(values[i], p[0], p[1:]))
        elif family == COLUMN:
            code = _within(np.floor(values[i, np.int64(p[0])] * p[1] + p[2]), p[3], p[4])
        else:
            code = values[i, np.int64(p[0])]
        low, middle, high = digits(np.uint64(_word(code)) * multiplier)
        sums[0, i] += low
        sums[1, i] += middle
        sums[2, i] += high
