"""What a table's public arguments will make of it: pairs, levels and years that stay untold, cells that stay empty.

Everything here is said of arguments, never of records, so it may be said to anybody, before anything is spent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from scumble.errors import plain_number
from scumble.schema import Schema, clock
from scumble.schema.date import Date
from scumble.schema.edges import DECADES
from scumble.schema.number import Number
from scumble.sources.advice import listed
from scumble.tabular.questions import LEVELS

PAIRS_LATER = "Which pairs, and how finely, is an estimate: it is decided after counting, by noisy numbers."
CELLS = 200
"""Cells of a date that are advised, at most."""
WHOLES = 400
"""Whole numbers of a column, at most, that are advised to have a cell each."""


def no_pairs(pure: bool) -> str:
    """None is measured; `pure`: δ is 0 yet."""
    return f"No pair of columns stands out from the noise. Hint: a larger ε,{' a δ above 0,' * pure} or fewer columns."


def no_pairs_below(records: int) -> str:
    """The number of records is a guess, and with fewer than so many there would be no pair."""
    digits = max(0, len(str(records)) - 2)
    about = -(-records // 10**digits) * 10**digits
    return (
        f"With fewer than about {about:,} records no pair would be measured. Hint: if they may be so few, a larger ε "
        "or fewer columns."
    )


def few_pairs(pairs: int, of: int, columns: int, pure: bool) -> str:
    """Most pairs stay unmeasured; all pairs of so many columns would be, said if they are no fewer than now."""
    gaussian = (
        "allow a δ above 0, such as --delta 1e-6 (delta=1e-6), with which noise grows less with the number of pairs; "
        "or "
        if pure
        else ""
    )
    fewer = f" (all pairs of up to {columns} would be measured)" if math.comb(columns, 2) >= pairs else ""
    return (
        f"{pairs:,} of {of:,} pairs {'is' if pairs == 1 else 'are'} measured, the release chooses which; how columns "
        f"hang together in the others is guessed from {'it' if pairs == 1 else 'these'}. Hint: {gaussian}leave out "
        f"columns that nobody will ask about{fewer}. A larger ε may buy finer cells, and not more pairs."
    )


def few_cells(sizes: Mapping[str, int], levels: int) -> list[str]:
    """All columns of which pairs see less than their levels, if of one they see far less."""
    ranked = sorted(sizes.items(), key=lambda one: -one[1])
    if not any(size > 4 * levels for _, size in ranked):
        return []
    more = [name for name, size in ranked if size > levels]
    have = "has" if len(more) == 1 else "have"
    return [
        f"Pairs tell {levels} levels of a column apart, and {listed(more)} {have} more: neighbours are taken "
        "together. Hint: fewer cells=, words or columns in the schema make it sharper."
    ]


def between_years(schema: Schema) -> list[str]:
    """Dates whose cells do not end with a year (or month, if there is one year only)."""
    told = []
    for name, column in schema.items():
        if not isinstance(column, Date) or column.edges is not None:
            continue
        first, *edges, end = (place * column.step for place in column.cuts.edges)
        unit = next((unit for unit in ("year", "month") if clock.starts(unit, first, end)), None)
        if unit is None or {*clock.starts(unit, first, end)} <= {*edges}:
            continue
        days = (end - first) / clock.SECONDS["day"] / column.cuts.size
        units = ["month", *(["quarter", "year"] if unit == "year" else [])]
        finest = next((one for one in units if len(clock.starts(one, first, end)) < CELLS), unit)
        coarser = f' (or "{unit}", for less noise in each)' if finest != unit else ""
        told.append(
            f"{name!r} is counted in {column.cuts.size} cells of about {plain_number(days, 3)} days, which {unit}s cut "
            f'through: it cannot be grouped by them. Hint: in the schema, cells = "{finest}"{coarser}.'
        )
    return told


def more_than_groups(schema: Schema) -> list[str]:
    """Dates and numbers of more cells than there are groups in an answer."""
    told = []
    for name, column in schema.items():
        if not isinstance(column, Date | Number) or column.cuts.size <= LEVELS:
            continue
        by = f" ({column.told_apart})" if isinstance(column, Date) else ""
        coarser = ' or cells = "year"' if isinstance(column, Date) else ""
        told.append(
            f"{name!r} is counted in {column.cuts.size:,} cells{by}, and answers by it have at most {LEVELS} groups: "
            f"in each, several cells stand together. Hint: in the schema, fewer cells{coarser}, unless somebody will "
            "ask about each."
        )
    return told


def between_wholes(schema: Schema) -> list[str]:
    """Columns of whole numbers, such as years, of which a cell holds several, although each could have its own."""
    told = []
    for name, column in schema.items():
        if not isinstance(column, Number) or not column.whole or column.scale == "log" or column.edges is not None:
            continue
        first, end = column.line
        numbers = int(end - first)
        if column.cells is None and column.cuts.size < numbers <= WHOLES:
            cells = len(column.alike) - 1
            told.append(
                f"{name!r} is counted in {cells} cells of up to {int(column.cuts.lengths.max())} whole numbers"
                f"{', and 0 by itself' * column.zero_apart}: what it tells of a single one is a guess. Hint: in the "
                f"schema, cells = {numbers} gives each its own, with more noise in sums of many."
            )
    return told


def from_zero(schema: Schema) -> list[str]:
    """Logarithmic scales that begin at zero: six powers of ten, of which most tables have two or three."""
    return [
        f"{name!r} is counted on a logarithmic scale from 0 on: all numbers above 0 and below "
        f"{plain_number(column.high / DECADES, 3)}, a millionth of its high, share one cell, and half of its cells are "
        f"for numbers below {plain_number(column.high / DECADES**0.5, 3)}. Hint: in the schema, whole = true, if it "
        "has no fractions; edges = [0, …] of your own, if smaller numbers matter; or, if none is 0, a low above 0, the "
        "least that matters (what is less, and every 0, counts there). Else leave it so."
        for name, column in schema.items()
        if isinstance(column, Number)
        and column.scale == "log"
        and column.low == 0
        and column.high is not None
        and not column.whole
        and column.edges is None
    ]
