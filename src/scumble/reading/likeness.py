"""The kernel between plain arrays, and how far it reaches along each column."""

from __future__ import annotations

import numpy as np

from scumble.reading.layout import Named
from scumble.tables import Table


def alike(named: Named, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The kernel between plain arrays: columns that the kernel calls by name are found by position."""
    left, right = (Table.of(part, columns=named.columns, dimensions=named.dimensions) for part in (X, Y))
    return named.kernel(left, right)


def reach(named: Named, low: np.ndarray, high: np.ndarray, level: float = 0.5) -> np.ndarray:
    """For each column, the part of the bounds' width within which the kernel falls to `level`, at most 1.

    A kernel that averages over columns falls no further than the others allow. Where it stops falling above `level`,
    that part is taken of the way it falls at all.
    """
    middle, width, d = (low + high) / 2.0, high - low, len(low)
    shares = np.geomspace(1e-4, 1.0, 80)
    out = np.ones(d)
    for column in range(d):
        moved = np.repeat(middle[None, :], len(shares), axis=0)
        moved[:, column] += shares * width[column]
        values = alike(named, middle[None, :], moved)[0]
        drop, before = 1.0 - values[-1], 1.0 - values[-8]  # before: at less than half the width
        stopped = drop < 1.0 - level and 1e-9 < drop < 1.001 * before
        fallen = np.flatnonzero(values <= (1.0 - (1.0 - level) * drop if stopped else level))
        out[column] = shares[fallen[0]] if len(fallen) else 1.0
    return out
