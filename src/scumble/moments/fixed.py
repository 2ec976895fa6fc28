"""Records as whole numbers: every record by itself, the same on every machine.

A cell becomes a whole number by one subtraction, one division, one product and one rounding, each of which IEEE 754
defines to the last bit. From there on all arithmetic is that of integers, which has no rounding and no order.

Arrays may be NumPy's or, on a GPU, CuPy's: it answers NumPy's functions, one operation a launch, so that none is fused
with the next (:mod:`scumble.moments.engines`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

UNIT = 2**20
"""A column's bounds are −UNIT and UNIT."""


def steps(values: Floats, low: Floats | float, high: Floats | float, most: int) -> Integers:
    """Where each value lies between its bounds, in steps from 0 to `most`; what lies outside is at the bound.

    >>> steps(np.array([0.0, 2.5, 99.0]), 0.0, 10.0, 8).tolist()
    [0, 2, 8]
    """
    places = np.rint((np.clip(values, low, high) - low) / (high - low) * float(most))
    return np.clip(places, 0.0, float(most)).astype(np.int64)


def units(values: Floats, low: Floats | float, high: Floats | float) -> Integers:
    """Values between their bounds as whole numbers from −UNIT to UNIT."""
    return steps(values, low, high, 2 * UNIT) - UNIT


def within_length(vectors: Floats, length: float) -> Integers:
    """Vectors of whole numbers, `UNIT` being `length`: as they point, and made that long if they are longer.

    >>> within_length(np.array([[0.0, 0.25], [30.0, -40.0], [1e300, 1e300]]), 1.0).tolist()
    [[0, 262144], [629145, -838860], [741454, 741454]]
    """
    # The first quotient is at most 1, whatever the numbers are; a vector that it made shorter is longer than `UNIT`.
    largest = np.maximum(np.abs(vectors).max(axis=1), length)
    found = np.rint(vectors / largest[:, None] * float(UNIT)).astype(np.int64)
    return shortened(found, np.maximum(root_above((found * found).sum(axis=1)), UNIT), UNIT)


def longer(vectors: Floats, length: float) -> int:
    """How many vectors are longer than this."""
    with np.errstate(over="ignore"):
        return int((np.linalg.norm(vectors / length, axis=1) > 1.0).sum())


def shortened(vectors: Integers, lengths: Integers, length: int) -> Integers:
    """Vectors of length at most `lengths` made at most `length` long: scaled, then rounded towards zero.

    >>> shortened(np.array([[3, -4]]), np.array([5]), 100).tolist()
    [[60, -80]]
    """
    return np.sign(vectors) * (np.abs(vectors) * length // lengths[:, None])


def root_above(squares: Integers) -> Integers:
    """The least whole numbers whose squares are not below these, which are under 2**52.

    >>> root_above(np.array([0, 1, 2, 4, 25, 26])).tolist()
    [0, 1, 2, 2, 5, 6]
    """
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    roots = np.maximum(roots - 1, 0)  # from below, whatever the rounding
    roots += roots * roots < squares
    roots += roots * roots < squares
    return roots + (roots * roots < squares)


def across(one: Integers | Floats, other: Integers) -> Integers:
    """Σ uvᵀ over a block of records, of whole numbers with products below 2**29: sums in float64 are exact.

    >>> across(np.array([[1, 2], [3, 4]]), np.array([[5], [6]])).tolist()
    [[23], [34]]
    """
    second = other.astype(np.float64)
    first = second if one is other else one.astype(np.float64, copy=False)
    return np.rint(first.T @ second).astype(np.int64)
