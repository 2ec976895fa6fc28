"""Counters do not wrap: whatever is loaded or added up stays below 2⁶², in every counter and in every row's sum.

A record adds one. From 2⁶² on it would take 2⁶² more records to reach the end of an int64, a century at a billion a
second, so counting itself needs no check; noise is bounded by 2⁵⁴ (`privacy.noise`). What can wrap is a sum of
tables, and what can hold anything is a file.
"""

from __future__ import annotations

import numpy as np

MOST = 2**62


def fits(*tables: np.ndarray) -> bool:
    """Whether the sum of these (rows, buckets) tables has room left; asked before they are added.

    Rows of unequal length, in one line, are taken as one row: that asks for more than is needed.

    >>> half = np.full((1, 1), 2**61)
    >>> fits(half), fits(half, half)
    (True, False)
    """
    highest, lowest = sum(int(table.max()) for table in tables), sum(int(table.min()) for table in tables)
    longest = max(np.atleast_2d(table).shape[1] for table in tables)
    if max(highest, -lowest) * longest < MOST // 2:
        return True  # so it is nearly always, and no sum of a row can come near
    sums = np.add.reduce([np.atleast_2d(table).sum(axis=1, dtype=np.float64) for table in tables])
    return lowest > -MOST and highest < MOST and bool(np.abs(sums).max() < MOST)
