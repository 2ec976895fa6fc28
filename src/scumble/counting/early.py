"""The first records by NumPy: until compiled loops have earned the time that they take to load, or to be compiled.

Loading numba and loops that were compiled before takes a second, compiling some takes three, and compiling all of them
twenty. NumPy counts a thousand records in as many rows in a tenth of a second, by the oracle's own functions
(`reference.buckets`), a tile at a time: the same integers. So a process begins with NumPy, and goes on with compiled
loops when it has spent on NumPy about what they cost: then it has waited at most twice as long as it had to, whatever
comes.

Work is counted, not timed: every run does the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from scumble.counting import reference
from scumble.counting.hasher import FAMILIES, PYTHON, Hasher
from scumble.files.compiling import Patience
from scumble.kernels import Records

CALL, HASH = 1 << 16, 8
"""The work of a call and of a hash, in products of a value and a parameter, some 5 ns each by NumPy."""
LOADING = 1 << 26
"""Work of NumPy, a third of a second, that takes no longer than loading compiled loops."""
COMPILING = 1 << 28
"""Work of NumPy, a second or two, that takes no longer than compiling the loops of `exact`."""
QUICK, WORTH = 1 << 35, 2
"""Work of a thread in the loops of `exact`, some ten seconds, that takes no longer than compiling those of `quick`, and
how many threads that share it are reckoned with. More of them would be done sooner than the compiler, but what that has
made is kept for all runs to come, and a process that never waits for it leaves all of them with the slow loops."""
TILE = 1 << 16
"""Codes at a time: those of some records in all rows, in a cache."""

CODES = [vars(kind).get("codes") for kind in FAMILIES]
"""By NumPy, as those kernels say them that have compiled loops."""

numpy_first = Patience(LOADING, COMPILING)
exact_first = Patience(0, QUICK)


def work_of(hasher: Hasher, n: int) -> int:
    """Of a call with so many records."""
    return CALL + n * (HASH * hasher.multipliers.size + sum(drawn.size for drawn in hasher.parameters))


def serves(hasher: Hasher) -> bool:
    """Whether NumPy's codes are known to be those of the compiled loops: not where a kernel has some of its own."""
    return PYTHON not in hasher.families and all(type(factor).codes in CODES for factor in hasher.factors)


def count(hasher: Hasher, records: Sequence[Records], counts: np.ndarray) -> None:
    """Add each record to one counter of every row, in place; the counters are of one piece."""
    flat = counts.reshape(-1)
    for _, where in _tiles(hasher, records):
        np.add.at(flat, (where + np.arange(hasher.rows) * counts.shape[1]).reshape(-1), 1)


def sums(
    hasher: Hasher, records: Sequence[Records], counts: np.ndarray, lines: np.ndarray, out: np.ndarray
) -> None:  # fmt: skip
    """Put the sums of the counters that each record falls into, line by line, into `out`, (lines, n)."""
    starts = np.flatnonzero(np.diff(lines, prepend=-1))
    rows = np.arange(hasher.rows)[:, None]
    for place, where in _tiles(hasher, records):
        out[lines[starts], place] = np.add.reduceat(counts[rows, where.T], starts, axis=0)


def _tiles(hasher: Hasher, records: Sequence[Records]) -> Iterator[tuple[slice, np.ndarray]]:
    """Some records after the other, and their buckets, (records, rows)."""
    n, size = len(records[0]), max(1, TILE // hasher.multipliers.size)
    for first in range(0, n, size):
        place = slice(first, min(first + size, n))
        yield place, reference.buckets(hasher, [part[place] for part in records])
