"""The oracle: slow, obvious NumPy. Algorithm 1 of the paper as it is written.

The compiled engine also begins with it, as loading numba takes a second (`cpu`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from scumble.counting.engines import on_host
from scumble.counting.hasher import Hasher, to_words
from scumble.kernels import Records


def suits(work: int) -> bool:
    """Never: it is to be asked for by name."""
    return False


@np.errstate(all="ignore")
def buckets(hasher: Hasher, records: Sequence[Records]) -> np.ndarray:
    """(n, rows): the bucket of every record in every row."""
    records = on_host(records)
    total = np.broadcast_to(hasher.start, (len(records[0]), hasher.rows)).copy()
    for factor, parameters, part, place in zip(hasher.factors, hasher.parameters, records, hasher.slices, strict=True):
        words = to_words(factor.codes(part, parameters)).astype(np.uint64)
        total += np.sum(words * hasher.multipliers[None, :, place], axis=2, dtype=np.uint64)
    if hasher.direct:
        total = np.minimum(total, np.uint64(hasher.buckets - 1))
    else:
        total = ((total >> np.uint64(32)) * np.uint64(hasher.buckets)) >> np.uint64(32)
    return total.astype(np.intp)


def count(hasher: Hasher, records: Sequence[Records], counts: np.ndarray, threads: int | None = None) -> None:
    """Add each record to one counter of every row, in place."""
    flat = counts.reshape(-1)
    for _, where in tiles(hasher, records):
        np.add.at(flat, (where + np.arange(hasher.rows) * counts.shape[1]).reshape(-1), 1)
    if not np.shares_memory(flat, counts):  # counters that are not of one piece
        counts[:] = flat.reshape(counts.shape)


TILE = 1 << 16
"""Codes at a time: those of some records in all rows, in a cache."""


def tiles(hasher: Hasher, records: Sequence[Records]) -> Iterator[tuple[slice, np.ndarray]]:
    """Some records after the other, and their buckets, (records, rows)."""
    n, size = len(records[0]), max(1, TILE // hasher.multipliers.size)
    for first in range(0, n, size):
        place = slice(first, min(first + size, n))
        yield place, buckets(hasher, [part[place] for part in records])


def sums(
    hasher: Hasher,
    records: Sequence[Records],
    counts: np.ndarray,
    lines: np.ndarray | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """(lines, n): the counters that each record falls into, added up over the rows of each line."""
    rows = np.arange(hasher.rows)
    lines = rows if lines is None else lines
    out = np.zeros((int(lines[-1]) + 1, len(records[0])), counts.dtype)
    starts = np.flatnonzero(np.diff(lines, prepend=-1))
    for place, where in tiles(hasher, records):
        out[lines[starts], place] = np.add.reduceat(counts[rows[:, None], where.T], starts, axis=0)
    return out
