"""A privacy curve δ(ε), read the other way round."""

from __future__ import annotations

from collections.abc import Callable


def least_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """The least ε, to nine digits and never below it, with curve(ε) at most `delta`.

    Whatever the curve does in between, it has been evaluated at the answer and found small enough.
    """
    low, high = 0.0, 1.0
    while curve(high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-9 * high and high > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > delta else (low, middle)
    return high
