"""Parameters that come from people, checked once: each gives the plain value back, or a ParameterError that helps."""

from __future__ import annotations

from typing import Any

import numpy as np

from scumble.errors import parameter

Sides = tuple[np.ndarray, np.ndarray]
"""The low and the high end of each column."""


def whole(
    name: str, value: object, least: int = 1, most: int | None = None, *, must: str | None = None, hint: str = ""
) -> int:
    """A whole number of at least `least` and, if that is given, at most `most`. A bool is none.

    >>> whole("rows", 7)
    7
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    reach = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    raise parameter(name, must or reach, value, hint)


def seed(value: object, name: str = "seed") -> int:
    """A seed of hash functions: public, 64 bits."""
    return whole(name, value, 0, 2**64 - 1, must="a whole number from 0 to 2**64 - 1")


def sides(bounds: Any, dimensions: int) -> Sides:
    """Bounds as two arrays, low and high, a number for each column.

    >>> sides((0, [1.0, 10.0]), 2)
    (array([0., 0.]), array([ 1., 10.]))
    """
    try:
        low, high = bounds
        both = [np.array(np.broadcast_to(np.asarray(side, float), (dimensions,))) for side in (low, high)]
    except (TypeError, ValueError):
        raise parameter("bounds", f"a pair (low, high), each a number or {dimensions} numbers", bounds) from None
    with np.errstate(over="ignore", invalid="ignore"):
        good = np.isfinite(both[1] - both[0]) & (both[0] < both[1])
    if not good.all():
        raise parameter("bounds", "finite, with low below high in every column", bounds)
    return both[0], both[1]
