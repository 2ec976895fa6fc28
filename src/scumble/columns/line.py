"""A line of integers under every ordered column.

Whole numbers and ticks of a clock are integers already. Floats become integers by their bits: IEEE 754 numbers, read as
signed integers, keep their order, with neighbors next to each other. So every set of values that a condition can ask
for is a few half-open spans of integers, and the edges of cells are exact on every machine.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

Span: TypeAlias = tuple[int, int]
Spans: TypeAlias = tuple[Span, ...]
"""Half-open spans, sorted, with gaps between them."""

_SIGN = np.int64(np.iinfo(np.int64).min)


def place(values: np.ndarray) -> np.ndarray:
    """The places of float64 values; NaN is anywhere."""
    bits = np.ascontiguousarray(values, np.float64).view(np.int64)
    return np.where(bits < 0, _SIGN - bits, bits)


def value(places: np.ndarray) -> np.ndarray:
    """The inverse of `place`."""
    places = np.asarray(places, np.int64)
    return np.where(places < 0, _SIGN - places, places).view(np.float64)


def place_of(number: float) -> int:
    """The place of one number."""
    return int(place(np.array([number]))[0])


def joined(spans: Spans) -> Spans:
    """The union of spans, sorted and without overlaps.

    >>> joined(((5, 7), (1, 2), (2, 4), (3, 3)))
    ((1, 4), (5, 7))
    """
    out: list[Span] = []
    for first, end in sorted(span for span in spans if span[0] < span[1]):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((first, end))
    return tuple(out)


def common(here: Spans, there: Spans) -> Spans:
    """The intersection of two sets."""
    out: list[Span] = []
    i = j = 0
    while i < len(here) and j < len(there):
        first, end = max(here[i][0], there[j][0]), min(here[i][1], there[j][1])
        if first < end:
            out.append((first, end))
        if here[i][1] < there[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)


def without(spans: Spans, line: Span) -> Spans:
    """The complement on a line."""
    out: list[Span] = []
    at = line[0]
    for first, end in common(spans, (line,)):
        if at < first:
            out.append((at, first))
        at = end
    return (*out, (at, line[1])) if at < line[1] else tuple(out)


def holds(spans: Spans, places: np.ndarray) -> np.ndarray:
    """Which places lie in one of the spans."""
    found = np.zeros(len(places), bool)
    for first, end in spans:
        found |= (places >= first) & (places < end)
    return found
