"""Layer 3: sensitivity by property testing. How far do neighbouring tables really move the exact counters?

The noise is worth nothing if one record moves more than the calibration assumed: by being counted twice, by being
dropped together with others, or by changing how *other* records are read. So count neighbouring tables, as nasty as
possible, and compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from scumble.audit.report import Finding
from scumble.privacy.sensitivity import sides_of


def broken_bound(here: np.ndarray, there: np.ndarray, neighbors: str = "add-remove", people: int = 1) -> str:
    """Why two exact tables (rows, buckets) cannot be those of neighbours; "" if they can.

    These are the preconditions of ``calibration.proof.md``: in every row at most m counters leave and arrive in all,
    and then L1 <= sides·m·R and L2² <= sides·m²·R hold by addition.

    >>> broken_bound(np.array([[1, 0]]), np.array([[1, 1]]))
    ''
    >>> broken_bound(np.array([[1, 0]]), np.array([[1, 2]]))
    'row 0 changes by 2 in all, and 1 is allowed'
    """
    move = there.astype(np.int64) - here
    sides = sides_of(neighbors)
    gone, come = -np.minimum(move, 0).sum(axis=1), np.maximum(move, 0).sum(axis=1)
    for r in np.flatnonzero((np.maximum(gone, come) > people) | (gone + come > sides * people))[:1]:
        return f"row {r} changes by {gone[r] + come[r]} in all, and {sides * people} is allowed"
    if sides == 1 and len(np.unique(move.sum(axis=1))) > 1:
        return "the rows count different numbers of records"
    if sides == 2 and np.any(move.sum(axis=1) != 0):
        return "the number of records changes, which replacing must not do"
    if np.any(here < 0) or np.any(there < 0):
        return "a counter is negative"
    return ""


def sensitivity_finding(
    count: Callable[[Any], np.ndarray],
    pairs: Iterable[tuple[Any, Any]],
    *,
    name: str,
    neighbors: str = "add-remove",
    people: int = 1,
) -> Finding:
    """Whether all pairs of neighbouring data sets have counters that differ as little as they must."""
    tried, largest, broken = 0, 0, ""
    for here, there in pairs:
        tables = count(here), count(there)
        tried += 1
        largest = max(largest, int(np.abs(tables[1] - tables[0]).sum()))
        broken = broken_bound(*tables, neighbors, people)
        if broken:
            break
    values = {"pairs": tried, "largest_change": largest, "neighbors": neighbors}
    return Finding(3, name, not broken, broken or f"{tried:,} pairs of tables, largest change {largest}", values)
