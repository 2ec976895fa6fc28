"""How many digits of an answer its interval allows: those beyond are noise.

Sentences have what tells answers apart, CSV enough to reckon with. JSON, Parquet and Arrow have every digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

MOST = 15
"""Digits after the point; a float64 has no more."""


def places(width: float, digits: int) -> int:
    """How many digits after the point tell numbers apart that differ by a little of a width: `digits` of its own.

    >>> [places(width, 2) for width in (250.0, 2.5, 0.025, 0.0)]
    [0, 1, 3, 15]
    """
    if not 0.0 < width < math.inf:
        return MOST if width == 0.0 else 0
    return min(max(0, digits - 1 - math.floor(math.log10(width))), MOST)


def told(total: float, low: float, high: float) -> list[str]:
    """A count and its interval in words, to whole records where that tells them apart.

    >>> told(1234.5, 1200.0, 1269.0), told(0.14, -0.03, 0.31)
    (['1,234', '1,200', '1,269'], ['0.14', '-0.03', '0.31'])
    >>> told(12.0, -0.001, 25.0), told(1.5e-10, 1.4e-10, 1.6e-10)
    (['12', '0', '25'], ['1.5e-10', '1.4e-10', '1.6e-10'])
    """
    after = places((high - low) or abs(total), 2)
    if after > 9:
        return [f"{number:.4g}" for number in (total, low, high)]
    return [f"{round(number, after) + 0.0:,.{after}f}" for number in (total, low, high)]  # + 0.0: no -0


def rounded(columns: Sequence[Iterable[float]], widths: Iterable[float], digits: int = 6) -> list[list[float]]:
    """Columns of numbers, each row to so many digits of its width: to a hundred-thousandth of it, and so far beyond
    all that noise leaves.

    >>> rounded([[12609.016306861913], [12492.175968391837]], [233.68])
    [[12609.016], [12492.176]]
    """
    after = [places(float(width), digits) for width in widths]
    return [[round(float(x), n) for x, n in zip(column, after, strict=True)] for column in columns]
