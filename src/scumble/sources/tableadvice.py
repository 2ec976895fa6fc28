"""What a table's public arguments will make of it: pairs, levels and years that stay untold, cells that stay empty.

Everything here is said of arguments, never of records, so it may be said to anybody, before anything is spent.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping

from scumble.schema import Schema
from scumble.schema.date import Date
from scumble.schema.edges import DECADES
from scumble.schema.number import Number
from scumble.sources.advice import listed

PAIRS_LATER = "Which pairs, and how finely, is an estimate: it is decided after counting, by noisy numbers."
SHOWN = 100
"""Edges of a hint, which is there to be copied: a century of years."""


def no_pairs(pure: bool) -> str:
    """None is measured; `pure`: δ is 0 yet."""
    return f"No pair of columns stands out from the noise. Hint: a larger ε,{' a δ above 0,' * pure} or fewer columns."


def few_pairs(pairs: int, of: int, columns: int, pure: bool) -> str:
    """Most pairs stay unmeasured; all pairs of so many columns would be."""
    gaussian = (
        " a larger ε, or a δ above 0 such as --delta 1e-6 (delta=1e-6), with which noise grows less with the number of "
        "pairs"
        if pure
        else " or a larger ε"
    )
    fewer = f" (all pairs of up to {columns} would be measured)" if columns > 1 else ""
    return (
        f"{pairs:,} of {of:,} pairs are measured, the release chooses which; how columns hang together in the others "
        f"is guessed from these. Hint: leave out columns that nobody will ask about{fewer},{gaussian}."
    )


def few_cells(sizes: Mapping[str, int], levels: int) -> list[str]:
    """Columns of which pairs see far less than their levels."""
    ranked = sorted(sizes.items(), key=lambda one: -one[1])
    steps = [name for name, size in ranked if size > 4 * levels]
    if not steps:
        return []
    return [
        f"Pairs tell {levels} levels of a column apart, and {listed(steps)} has more: neighbours are taken together. "
        "Hint: fewer cells=, words or columns in the schema make it sharper."
    ]


def between_years(schema: Schema) -> list[str]:
    """Dates whose cells do not end with a year (or month, if there is one year only)."""
    told = []
    for name, column in schema.items():
        if not isinstance(column, Date) or column.edges is not None:
            continue
        edges = [_day(column, place) for place in column.cuts.edges]
        unit, starts = "years", list(_starts(edges[0], edges[-1], months=12))
        if not starts:
            unit, starts = "months", list(_starts(edges[0], edges[-1], months=1))
        if {*starts} <= {*edges}:
            continue
        days = (edges[-1] - edges[0]) / datetime.timedelta(days=1) / column.cuts.size
        first = [str(column.low), *(str(start.date()) for start in starts)]
        shown = first if len(first) <= SHOWN else [*first[:2], "…", first[-1]]
        hint = ", ".join(f'"{one}"' if one != "…" else one for one in [*shown, str(column.high)])
        told.append(
            f"{name!r} is counted in {column.cuts.size} cells of about {days:,.3g} days, which {unit} cut through: it "
            f"cannot be grouped by them. Hint: in the schema, edges = [{hint}] instead of cells."
        )
    return told


def from_zero(schema: Schema) -> list[str]:
    """Logarithmic scales that begin at zero: six powers of ten, of which most tables have two or three."""
    return [
        f"{name!r} is counted on a logarithmic scale from 0 on, and half of its cells are for numbers below "
        f"{column.high / DECADES**0.5:,.3g}. Hint: in the schema, a low above 0, the least that matters (what is less "
        "counts there); or whole = true, if it has no fractions."
        for name, column in schema.items()
        if isinstance(column, Number)
        and column.scale == "log"
        and column.low == 0
        and not column.whole
        and column.edges is None
    ]


def _day(column: Date, place: int) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=place * column.step)


def _starts(first: datetime.datetime, end: datetime.datetime, *, months: int) -> Iterator[datetime.datetime]:
    """Where years (of twelve months) or months begin after the first moment and before the end."""
    number = first.year * 12 + (first.month - 1 if months == 1 else 0)
    while (number := number + months) < 9999 * 12 + 12:
        start = datetime.datetime(number // 12, number % 12 + 1, 1)
        if start >= end:
            return
        yield start
