"""The edges of an ordered column's cells: a function of its public parameters, the same on every machine.

Linear edges are rounded once, from exact fractions. Logarithmic ones come from Python's `decimal`, whose ``exp`` and
``ln`` are correctly rounded. These rules are part of the file format and never change.

By default, cells have round edges: people ask about 50,000, and a question that cuts no cell has the narrowest
interval. Inner edges are at least half a cell from the bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log10

from scumble.errors import ParameterError

FINE = 64
"""About the default number of cells."""
EACH = 128
"""Up to so many whole numbers have a cell each, by default."""
DECADES = 10**6
"""On a logarithmic scale that begins at zero, positive numbers below ``high / DECADES`` share a cell."""

_FORTY = Context(prec=40, Emin=-(10**6), Emax=10**6)


def require_rising(edges: Sequence[float]) -> None:
    """Refuse edges that are not increasing.

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


def equal_cells(wholes: int | None) -> int | None:
    """How many equal cells a column has; None: one for each of its `wholes`, the whole numbers it can hold if any."""
    return None if wholes is not None and wholes <= EACH else FINE


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


def nearest_to_fine(span: Fraction, steps: Iterable[Fraction]) -> Fraction:
    """The step that cuts a span into as nearly `FINE` cells as can be.

    >>> print(nearest_to_fine(Fraction(100_000), map(Fraction, (1000, 2000, 5000))))
    2000
    """
    return min(steps, key=lambda step: max(span / step / FINE, FINE * step / span))


def round_edges(low: float, high: float, *, whole: bool, log: bool) -> list[float]:
    """About `FINE` cells with round edges, from `low` to `high`; of whole numbers, up to before `high`.

    Steps are 1, 2, 2.5 or 5 times a power of ten. On a logarithmic scale, edges are near 10^(j/m) for a whole m, each
    the one with the fewest digits that is nearer to its own power than to the next.

    >>> round_edges(0.0, 99_999.0, whole=False, log=False)[-3:], round_edges(17, 1000, whole=True, log=False)[:3]
    ([96000.0, 98000.0, 99999.0], [17, 40, 60])
    >>> round_edges(0.0, 50.0, whole=False, log=True)[-11:]
    [5.0, 6.0, 8.0, 10.0, 13.0, 16.0, 20.0, 25.0, 30.0, 40.0, 50.0]
    """
    inner = _round_ratios(low, high) if log else _round_steps(Fraction(low), Fraction(high), whole)
    edges = (round(edge) for edge in inner) if whole else (float(edge) for edge in inner)
    return sorted(
        {low, *({1} if whole and log and low == 0 else ()), *(edge for edge in edges if low < edge < high), high}
    )


def _round_steps(low: Fraction, high: Fraction, whole: bool) -> list[Fraction]:
    power = floor(log10(high - low)) - 2
    steps = [Fraction(digits, 2) * Fraction(10) ** k for k in (power, power + 1) for digits in (2, 4, 5, 10)]
    step = nearest_to_fine(high - low, [step for step in steps if not whole or step.denominator == 1])
    return [step * k for k in range(ceil(low / step + Fraction(1, 2)), floor(high / step - Fraction(1, 2)) + 1)]


def _round_ratios(low: float, high: float) -> list[Decimal]:
    """From zero on, `DECADES` of them."""
    first, last = Decimal(low or high / DECADES), Decimal(high)
    begin, end = (Fraction(_FORTY.log10(one)) for one in (first, last))
    cells = (FINE - 2 * (low == 0)) / (end - begin)  # per decade, beside zero and what lies below the first edge
    share = Fraction(round(cells)) if cells > 1 else Fraction(1, round(1 / cells))
    half, found = _power(Fraction(1, 2) / share), []
    for place in range(floor(share * begin), ceil(share * end) + 1):
        exact = _power(Fraction(place) / share)
        digits = (Context(prec=digits).plus(exact) for digits in range(1, 30))
        edge = next(edge for edge in digits if exact / half < edge < exact * half)
        if first * (half if low else 1) <= edge <= last / half:
            found.append(edge)
    return found


def _power(exponent: Fraction) -> Decimal:
    """A power of ten."""
    return _geometric(Decimal(1), Decimal(10), exponent)


def _geometric(low: Decimal, high: Decimal, share: Fraction) -> Decimal:
    """low^(1 - share) high^share."""
    step = _FORTY.divide(Decimal(share.numerator), Decimal(share.denominator))
    ratio = _FORTY.ln(_FORTY.divide(high, low))
    # Rounded to 30 digits: what is exact, such as 10 between 1 and 100, comes out exact.
    return Context(prec=30).plus(_FORTY.multiply(low, _FORTY.exp(_FORTY.multiply(ratio, step))))
