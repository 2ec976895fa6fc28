"""Double precision, any kernel: the loops that serve every batch, large or small.

A thread goes through its rows a few at a time: each factor of the kernel adds its share Σ mⱼ vⱼ to one accumulator for
each record and row, then the accumulators become buckets and are counted.

Records are read column by column within a tile, so neighboring records fill the vector registers. Sums run in
the order of the columns and without fused operations: the engine agrees with the reference to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from scumble.checks import Json
from scumble.counting.hasher import Hasher
from scumble.files.compiling import njit
from scumble.kernels import Records

TILE, ROWS = 4096, 8
"""Records and rows a tile: the accumulators take 256 KiB, a column 32 KiB. Few records go through more rows at once."""
FEW = 8
"""Records that do not fill vector registers."""

# Such loops own no memory and count no references.
options: Json = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False}
loop, inlined = njit(**options), njit(**options, inline="always")


@njit(cache=True, inline="always")
def _word(code):
    """One code to a 32-bit word; the twin of `hasher.to_words`."""
    if abs(code) < 2147483648.0:
        return np.int64(code)
    bits = np.float64(code if np.isfinite(code) else np.inf).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(bits >> np.uint64(32)) - np.int64(2147483648)


@njit(cache=True, inline="always")
def _within(code, lowest, highest):
    """A code between its ends, the lowest where it is no number; the twin of `kernels.column.within`."""
    code = code if code > lowest else lowest
    return code if code < highest else highest


@njit(nogil=True, cache=True)
def _add_floor(columns, offsets, parameters, multipliers, total):
    """Steps of a projection: v = ⌊b + Σ aⱼ xⱼ⌋."""
    d, n = columns.shape
    t = np.empty(n)
    for r in range(parameters.shape[0]):
        for h in range(parameters.shape[1]):
            p = parameters[r, h]
            m = multipliers[r, h]
            row = total[r]
            if d == 1:
                for i in range(n):
                    t[i] = np.floor(p[0] + columns[0, i] * p[1])
            elif d == 2:
                for i in range(n):
                    t[i] = np.floor(p[0] + columns[0, i] * p[1] + columns[1, i] * p[2])
            elif d == 3:
                for i in range(n):
                    t[i] = np.floor(p[0] + columns[0, i] * p[1] + columns[1, i] * p[2] + columns[2, i] * p[3])
            else:
                _project(columns, p[1:], p[0], t)
                for i in range(n):
                    t[i] = np.floor(t[i])
            small = True
            for i in range(n):
                small &= abs(t[i]) < 2147483648.0
            if small:
                for i in range(n):
                    row[i] += np.uint64(np.int64(t[i])) * m
            else:
                for i in range(n):
                    row[i] += np.uint64(_word(t[i])) * m


@njit(nogil=True, cache=True)
def _project(columns, direction, start, t):
    """t = start + Σ aⱼ xⱼ, in the order of the columns, four at a time."""
    d, n = columns.shape
    for i in range(n):
        t[i] = start
    j = 0
    while j + 4 <= d:
        a, b, c, e = direction[j], direction[j + 1], direction[j + 2], direction[j + 3]
        for i in range(n):
            t[i] = t[i] + columns[j, i] * a + columns[j + 1, i] * b + columns[j + 2, i] * c + columns[j + 3, i] * e
        j += 4
    while j < d:
        a = direction[j]
        for i in range(n):
            t[i] += columns[j, i] * a
        j += 1


@njit(nogil=True, cache=True)
def _add_sign(columns, offsets, parameters, multipliers, total):
    """Sides of hyperplanes: v = [Σ aⱼ xⱼ ≥ 0]."""
    n = columns.shape[1]
    t = np.empty(n)
    for r in range(parameters.shape[0]):
        for h in range(parameters.shape[1]):
            m = multipliers[r, h]
            _project(columns, parameters[r, h], 0.0, t)
            for i in range(n):
                total[r, i] += m if t[i] >= 0.0 else np.uint64(0)


@njit(nogil=True, cache=True)
def _add_pick(columns, offsets, parameters, multipliers, total):
    """One column at random: v = x_c."""
    for r in range(parameters.shape[0]):
        for h in range(parameters.shape[1]):
            c = np.int64(parameters[r, h, 0])
            for i in range(columns.shape[1]):
                total[r, i] += np.uint64(_word(columns[c, i])) * multipliers[r, h]


@njit(nogil=True, cache=True)
def _add_minimum(tokens, offsets, parameters, multipliers, total):
    """The first token in a random order (MinHash); the twin of `kernels.jaccard.rank`."""
    for r in range(parameters.shape[0]):
        for h in range(parameters.shape[1]):
            key = np.uint64(parameters[r, h, 0])
            for i in range(offsets.size - 1):
                least = -1.0
                for k in range(offsets[i], offsets[i + 1]):
                    x = np.uint64(tokens[0, k]) * np.uint64(0x9E3779B97F4A7C15) ^ key
                    for _ in range(2):
                        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                        x ^= x >> np.uint64(31)
                    place = np.float64(x >> np.uint64(11))
                    if least < 0.0 or place < least:
                        least = place
                total[r, i] += np.uint64(_word(least)) * multipliers[r, h]


@njit(nogil=True, cache=True)
def _add_column(columns, offsets, parameters, multipliers, total):
    """Steps of one column at random: v = ⌊x_c·s + b⌋ within [lowest, highest]."""
    for r in range(parameters.shape[0]):
        for h in range(parameters.shape[1]):
            c = np.int64(parameters[r, h, 0])
            steps, offset, lowest, highest = parameters[r, h, 1:5]
            m = multipliers[r, h]
            for i in range(columns.shape[1]):
                v = _within(np.floor(columns[c, i] * steps + offset), lowest, highest)
                total[r, i] += np.uint64(_word(v)) * m


@njit(nogil=True, cache=True)
def _add_folded(columns, offsets, parameters, multipliers, total):
    """Sides of m hyperplanes up to a common sign: bit j is [side j ≠ side m]."""
    d, n = columns.shape
    signs = parameters.shape[2] // d
    t, last = np.empty(n), np.empty(n)
    for r in range(parameters.shape[0]):
        for h in range(parameters.shape[1]):
            _project(columns, parameters[r, h, (signs - 1) * d :], 0.0, last)
            m = multipliers[r, h]
            for j in range(signs - 1):
                _project(columns, parameters[r, h, j * d : (j + 1) * d], 0.0, t)
                for i in range(n):
                    total[r, i] += m if (t[i] >= 0.0) != (last[i] >= 0.0) else np.uint64(0)
                m *= np.uint64(2)


_COMPILED = {
    "floor": _add_floor,
    "sign": _add_sign,
    "pick": _add_pick,
    "minimum": _add_minimum,
    "column": _add_column,
    "folded": _add_folded,
}


@cache
def _add_python(code: Callable[..., float]) -> Callable[..., None]:
    """A loop around a user's own hash, compiled once per process."""
    compiled = njit(code, nogil=True)

    @njit(nogil=True)
    def add(flat, offsets, parameters, multipliers, total):
        for r in range(parameters.shape[0]):
            for h in range(parameters.shape[1]):
                for i in range(offsets.size - 1):
                    v = np.float64(compiled(flat[0, offsets[i] : offsets[i + 1]], parameters[r, h]))
                    total[r, i] += np.uint64(_word(v)) * multipliers[r, h]

    around: Callable[..., None] = add
    return around


@njit(nogil=True, cache=True)
def _start(total, start):
    for r in range(total.shape[0]):
        for i in range(total.shape[1]):
            total[r, i] = start[r]


@njit(nogil=True, cache=True, inline="always")
def _bucket(total, buckets, direct):
    half = np.uint64(32)
    if direct:  # a kernel whose codes leave its radix must not leave the row: one increment in it, whatever happens
        return np.intp(min(total, buckets - np.uint64(1)))
    return np.intp(((total >> half) * buckets) >> half)


@njit(nogil=True, cache=True)
def _increment(total, direct, counts):
    buckets = np.uint64(counts.shape[1])
    for r in range(total.shape[0]):
        row = counts[r]
        for i in range(total.shape[1]):
            row[_bucket(total[r, i], buckets, direct)] += 1


@loop
def _read_few(values, parameters, start, multipliers, counts, lines, where, out):
    """All at once for a few records: what `_start`, `_add_floor` and `_read` do one after the other.

    Counters are far apart in memory; when all places are known, the processor fetches many at the same time. Three
    columns are common, and a loop over them would take longer than the sums.
    """
    buckets, d = np.uint64(counts.shape[1]), values.shape[1]
    for i in range(values.shape[0]):
        x, y, z = values[i, 0], values[i, min(1, d - 1)], values[i, min(2, d - 1)]
        for r in range(where.size):
            total = start[r]
            for h in range(parameters.shape[1]):
                v = parameters[r, h, 0] + x * parameters[r, h, 1]
                if d > 1:
                    v += y * parameters[r, h, 2]
                if d > 2:
                    v += z * parameters[r, h, 3]
                for j in range(3, d):
                    v += values[i, j] * parameters[r, h, 1 + j]
                total += np.uint64(_word(np.floor(v))) * multipliers[r, h]
            where[r] = _bucket(total, buckets, False)
        for r in range(where.size):
            out[lines[r], i] += counts[r, where[r]]


@njit(nogil=True, cache=True)
def _read(total, direct, counts, lines, out, first):
    buckets = np.uint64(counts.shape[1])
    for r in range(total.shape[0]):
        row = counts[r]
        line = lines[r]
        for i in range(total.shape[1]):
            out[line, first + i] += row[_bucket(total[r, i], buckets, direct)]


def ready() -> bool:
    """Whether loops are compiled: in this process, or in another that left them on the disk."""
    return bool(getattr(_increment, "ready", True))  # as a plain function it needs no compiling


def count(hasher: Hasher, records: Sequence[Records], counts: np.ndarray, mine: slice) -> None:
    """Add each record to one counter of every row of the slice `mine`, in place."""

    def finish(total: np.ndarray, rows: slice, place: slice) -> None:
        _increment(total, hasher.direct, counts[rows])

    _for_each_tile(hasher, records, finish, mine)


def read(
    hasher: Hasher, records: Sequence[Records], counts: np.ndarray, lines: np.ndarray, out: np.ndarray, mine: slice
) -> None:
    """Add the counter that each record falls into, row by row, to the row's line of `out`, at the places `mine`."""
    if len(records[0]) <= FEW and len(records) == 1 and hasher.families[0] == "floor":
        parameters, start, multipliers = hasher.parameters[0], hasher.start, hasher.multipliers
        where = np.empty(hasher.rows, np.intp)
        _read_few(records[0].values, parameters, start, multipliers, counts, lines, where, out[:, mine])
        return

    def finish(total: np.ndarray, rows: slice, place: slice) -> None:
        _read(total, hasher.direct, counts[rows], lines[rows], out[:, mine], place.start)

    _for_each_tile(hasher, records, finish, slice(0, hasher.rows))


def _for_each_tile(hasher: Hasher, records: Sequence[Records], finish: Callable[..., None], mine: slice) -> None:
    """Hash every record in the rows `mine`; `finish` gets the accumulators of one tile of records and rows."""
    n = len(records[0])
    tall = max(ROWS, ROWS * TILE // n)
    adders = [
        _COMPILED.get(family) or _add_python(type(factor).code)
        for family, factor in zip(hasher.families, hasher.factors, strict=True)
    ]
    space = np.empty(min(tall, mine.stop - mine.start) * min(n, TILE), np.uint64)
    for first in range(0, n, TILE):
        place = slice(first, min(first + TILE, n))
        parts = [_tile(family, part[place]) for family, part in zip(hasher.families, records, strict=True)]
        for top in range(mine.start, mine.stop, tall):
            rows = slice(top, min(top + tall, mine.stop))
            high, wide = rows.stop - top, place.stop - first
            total = space[: high * wide].reshape(high, wide)  # of one piece, so that the loops are compiled once
            _start(total, hasher.start[rows])
            for add, part, parameters, hashes in zip(adders, parts, hasher.parameters, hasher.slices, strict=True):
                add(*part, parameters[rows], np.ascontiguousarray(hasher.multipliers[rows, hashes]), total)
            finish(total, rows, place)


_NO_OFFSETS = np.zeros(1, np.int64)


def _tile(family: str, records: Records) -> tuple[np.ndarray, np.ndarray]:
    """A tile's values as the loops want them: columns for matrices, one flat line for ragged records."""
    values, offsets = records.values, records.offsets
    if family in _COMPILED and offsets is None:
        return np.ascontiguousarray(values.T), _NO_OFFSETS
    if offsets is None:
        n, d = values.shape
        return np.ascontiguousarray(values).reshape(1, -1), np.arange(n + 1, dtype=np.int64) * d
    return values.reshape(1, -1), offsets
