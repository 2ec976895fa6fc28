"""Where the cells of an ordered column begin: a function of its public parameters, the same on every machine.

Linear edges are rounded once, from exact fractions. Logarithmic ones come from Python's `decimal`, whose ``exp`` and
``ln`` are correctly rounded: the mathematics libraries of two machines may differ in the last bit, and with it a
record's cell. These rules are part of what a file means, and stay as they are for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise

from scumble.errors import ParameterError

FINE = 64
"""Cells of a column for which nobody chose a number."""
EACH = 128
"""Whole numbers up to so many get a cell each, if nobody chose."""
DECADES = 10**6
"""On a logarithmic scale from zero on, positive numbers below ``high / DECADES`` share a cell."""

_FORTY = Context(prec=40, Emin=-(10**6), Emax=10**6)


def require_rising(edges: Sequence[float]) -> None:
    """Refuse edges of which one is not above the one before it, by where it stands.

    >>> require_rising([0, 5, 3])
    Traceback (most recent call last):
    scumble.errors.ParameterError: `edges` must be increasing, and number 3 of 3 is not above number 2. Hint: ...
    """
    for place, (one, other) in enumerate(pairwise(edges), 2):
        if one >= other:
            raise ParameterError(
                f"`edges` must be increasing, and number {place} of {len(edges)} is not above number {place - 1}. "
                "Hint: write each once, from the least to the largest."
            )


def default_cells(wholes: int | None) -> int:
    """How many cells a column has by itself; `wholes` is how many whole numbers it can hold, if they are whole."""
    return wholes if wholes is not None and wholes <= EACH else FINE


def whole_edges(low: int, high: int, cells: int, *, log: bool) -> list[int]:
    """The first number of each cell, and the one after the last.

    >>> whole_edges(17, 90, 4, log=False), whole_edges(0, 99, 6, log=True)
    ([17, 35, 54, 72, 91], [0, 1, 2, 5, 13, 36, 100])
    """
    end = high + 1
    cells = min(cells, end - low)
    if not log:
        return [low + (end - low) * k // cells for k in range(cells + 1)]
    edges = [0] if low == 0 else []  # zero has a cell of its own
    at, left = max(low, 1), max(cells - len(edges), 1)
    while left and at < end:
        edges.append(at)
        # A geometric step towards the end; at least one, so small numbers get a cell each.
        at = max(at + 1, int(_geometric(Decimal(at), Decimal(end), Fraction(1, left))))
        left -= 1
    return [*edges, end]


def real_edges(low: float, high: float, cells: int, *, log: bool) -> list[float]:
    """The edges of cells of real numbers, the last one included; without the cell of zero.

    >>> real_edges(0.0, 1.0, 4, log=False), real_edges(1.0, 100.0, 2, log=True)
    ([0.0, 0.25, 0.5, 0.75, 1.0], [1.0, 10.0, 100.0])
    """
    if not log:
        first, width = Fraction(low), Fraction(high) - Fraction(low)
        edges = [float(first + width * k / cells) for k in range(cells + 1)]
    elif low > 0:
        one, other = Decimal(low), Decimal(high)
        inner = [float(_geometric(one, other, Fraction(k, cells))) for k in range(1, cells)]
        edges = [low, *inner, high]
    else:  # zero itself is one cell, what lies between it and the first edge another
        return [0.0, *(real_edges(high / DECADES, high, cells - 2, log=True) if cells > 2 else [high])]
    return sorted({*edges, low, high})  # of numbers too near for so many cells, each once


def _geometric(low: Decimal, high: Decimal, share: Fraction) -> Decimal:
    """low^(1 - share) high^share."""
    step = _FORTY.divide(Decimal(share.numerator), Decimal(share.denominator))
    ratio = _FORTY.ln(_FORTY.divide(high, low))
    # Rounded to 30 digits: what is exact, such as 10 between 1 and 100, comes out exact.
    return Context(prec=30).plus(_FORTY.multiply(low, _FORTY.exp(_FORTY.multiply(ratio, step))))
