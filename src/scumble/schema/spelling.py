"""How cells are written that are read, and what reads others: for hints, the same whatever a table holds."""

from __future__ import annotations

_NUMBERS = {".": ("1234.5", "$1,234.50", "12 %"), ",": ("1234,5", "€1.234,50", "12,5 %")}
"""By what stands before the decimals in a CSV file."""
DATES = {
    "%m/%d/%Y": "01/31/2009",
    "%d.%m.%Y": "31.01.2009",
    "%B %d, %Y": "January 31, 2009",
    "%b %d, %Y": "Jan 31, 2009",
    "%d %b %Y": "31 Jan 2009",
    "%d-%b-%y": "31-Jan-09",
}
"""Dates of other spellings, by the formats that read them."""
OTHER_DATES = "pandas.to_datetime(x, format=…) reads others: " + ", ".join(
    f"{spelling!r} {date}" for spelling, date in DATES.items()
)


def numbers(decimal: str, joined: str) -> str:
    """Examples of numbers, `joined` by a word.

    >>> numbers(".", "or"), numbers(",", "and")
    ('1234.5, $1,234.50 or 12 %', '1234,5, €1.234,50 and 12,5 %')
    """
    *most, last = _NUMBERS[decimal]
    return f"{', '.join(most)} {joined} {last}"


def numbers_read(decimal: str) -> str:
    """A clause on how numbers are read, and how they would be with the other sign.

    >>> numbers_read(",")[31:]
    'numbers are read as 1234,5, €1.234,50 or 12,5 % (not with a unit, 12 kg or USD 12), and without it as 1,234.50'
    """
    mine = f"numbers are read as {numbers(decimal, 'or')} (not with a unit, 12 kg or USD 12)"
    if decimal == ",":
        return f"with --decimal , (decimal=',') {mine}, and without it as 1,234.50"
    return f"{mine}, and with --decimal , (decimal=',') as 1.234,50"


def others(kind: str, decimal: str) -> str:
    """A clause, if there is one, on what reads numbers of another country, or dates of another spelling.

    >>> others("number", ",")
    "; without --decimal , (decimal=',') 1,234.50 is read"
    """
    if kind == "number":
        other = {
            ".": "--decimal , (decimal=',') reads 1.234,50 in a CSV file",
            ",": "without --decimal , (decimal=',') 1,234.50 is read",
        }
        return f"; {other[decimal]}"
    return f"; dates are read as ISO 8601 has them, and {OTHER_DATES}" if kind == "date" else ""
