"""Remarks: what an analyst must know of an answer, or of a whole release, in addition to its numbers.

Python, SQL, the command line, assistants and the page take their words and thresholds from here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from scumble.columns import line
from scumble.columns.category import Category
from scumble.columns.column import MISSING, OTHER, Column
from scumble.columns.conditions import Condition
from scumble.columns.curator import SHARE_UNREAD
from scumble.columns.date import Date
from scumble.columns.number import Number

if TYPE_CHECKING:
    from scumble.table.questions import Part
    from scumble.table.release import TableRelease

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BEGINS = "Not counted together: "
"""The first words of every remark on pairs."""
INFERRED = (
    "Their relationship is inferred; the interval is too narrow if they are more strongly related than is typical."
)
"""The last."""
MOST_PAIRS = 3
"""Pairs that one remark names."""
SLOT = "␟"
"""Stands in the page's texts where a level or columns will."""


def not_counted_together(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """A remark on pairs of columns that a question is about and no view counts; none, if there are none."""
    named = [f"'{one}' and '{two}'" for one, two in dict.fromkeys(pairs)]
    if not named:
        return ()
    left = len(named) - MOST_PAIRS
    more = f" and {left} more {'pairs' if left > 1 else 'pair'}" if left > 0 else ""
    return (f"{BEGINS}{', '.join(named[:MOST_PAIRS])}{more}. {INFERRED}",)


NOTHING = 1e-9
"""A share of a cell that is a single value's, but for rounding."""
EVENLY = "the answer assumes that records are spread evenly within a cell; the interval covers none to all of them."


def cut(asked: Condition) -> tuple[str, ...]:
    """A remark on each column whose cells a condition cuts so that it must be known.

    For dates, that is any cut. For numbers, it is a cut that leaves a single value, as many records may have it; the
    intervals of other ranges allow for the cut.
    """
    found = []
    for name in asked.partly:
        column = asked.schema[name]
        if isinstance(column, Date):
            found.append(cells_cut(name, column, ""))
        elif isinstance(column, Number) and (cells := [*_of_single_values(asked, name, column)]):
            found.append(cells_cut(name, column, str(column.levels[min(cells)])))
    return tuple(found)


def cells_cut(name: str, column: Column, level: str) -> str:
    """A remark on a column whose cells a question cuts, such as that of a `level`."""
    which = f"which was counted {column.told_apart}" if isinstance(column, Date) else f"such as {level}"
    return f"The question cuts cells of {name!r}, {which}: {EVENLY}"


def on_page(name: str, column: Column, group: Integers | None) -> dict[str, str]:
    """The remarks on a column, with a `SLOT` for what only the page knows."""
    found = {"cut": cells_cut(name, column, SLOT)} if column.ordered else {}
    if group is not None and (np.bincount(group) > 1).any():
        found["pooled"] = counted_as_one(name, column, group, [SLOT]).replace(repr(SLOT), SLOT)
    return found


PERHAPS_NONE = "Where the interval begins at 0, there may be no such record."
"""Of counts and shares of small groups."""


def of_small(low: float, high: float) -> tuple[str, ...]:
    """A remark on a count or a share whose interval begins at zero."""
    return (PERHAPS_NONE,) if low <= 0 < high else ()


RARE = ", its words of too few records to be found privately"
"""Why other words of a column whose words were found are counted together."""


def large_shares(release: TableRelease) -> dict[str, list[str]]:
    """Remarks by column on "(other)" and "(missing)" that hold a large share of it, according to the noisy counts."""
    found: dict[str, list[str]] = {}
    alone, total = 1 + (release.target is not None), release._answers.total.value
    tables = release._grouped.tables(release.counts)
    for view, row in zip(release.views, release._grouped.crosstabs, strict=True):
        table, variance = tables[row], release.variances[row]
        if len(view) > alone:
            continue
        counts = table.reshape(-1, table.shape[-1]).sum(axis=0)  # the classes of a target come first
        noise = math.sqrt(variance * table.size / len(counts))
        name = next((one for one in view if one != release.target), view[0])
        column = release.schema[name]
        for level, place in ((OTHER, column.unforeseen), (MISSING, column.size - 1 if column.missing else None)):
            if place is not None and counts[place] - 2 * noise > SHARE_UNREAD * total > 0:
                share = min(100.0, 100 * counts[place] / total)
                rare = level == OTHER and isinstance(column, Category) and column.discover
                found.setdefault(name, []).append(f"'{level}' holds about {share:.0f} % of {name!r}{RARE * rare}.")
    return found


def _of_single_values(asked: Condition, name: str, column: Number) -> Iterator[int]:
    """The cells of several values of which a condition asks for one, or for all but one; of fractions, in each cell."""
    edges = column.cuts.edges
    for product in asked.parts:
        if name not in product:
            continue
        spans = line.common(product[name].spans, (column.line,))
        if column.cuts.real:
            last = edges[-1]
            spans = tuple((first, last if end == last - 1 else end) for first, end in spans)  # up to the bound
            share, partly = column.cuts.shares(spans)
            yield from np.flatnonzero(partly & ((share < NOTHING) | (share > 1 - NOTHING))).tolist()
            continue
        for first, end in (*spans, *line.without(spans, column.line)):
            if end == first + 1 and not (first in edges and end in edges):
                yield int(column.cuts.find(np.array([first]))[0])


NAMED = 3
"""Words that one remark names."""


def is_part(weights: Floats, group: Integers) -> bool:
    """Whether all levels that are meant are in one group, which has others.

    >>> [is_part(np.array(weights), np.array([0, 0, 1])) for weights in ([1.0, 0, 0], [1.0, 1, 0], [0.0, 1, 1])]
    [True, False, False]
    """
    meant = np.flatnonzero(weights)
    own = group[meant]
    return len(own) > 0 and bool((own == own[0]).all() and len(own) < (group == own[0]).sum())


def counted_as_one(name: str, column: Column, group: Integers, beside: Iterable[str]) -> str:
    """A remark on levels of a column that its pairs with other columns count as one."""
    first = int(np.argmax(np.bincount(group) > 1))
    levels = np.flatnonzero(group == first)
    if column.ordered:
        which = f"neighboring values of {name!r}, such as {name_of_run(column, int(levels[0]), int(levels[-1]) + 1)}"
        whole, fewer = "the range", f"fewer cells of {name!r}, or fewer columns"
    else:
        words = [column.levels[level] for level in levels]
        more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
        which = f"words of {name!r}, {', '.join(map(repr, words[:NAMED]))}{more}"
        whole, fewer = "them", "fewer columns"
    return (
        f"Counted as one with {', '.join(map(repr, beside))}: {which}. "
        f"They are assumed to be alike: ask for {whole} as a whole, or release with {fewer}."
    )


def stand_together(column: Column, name: str, levels: Sequence[Part], bins: object = None) -> Iterator[str]:
    """A remark on a column whose cells are so many that several stand together in a group, unasked."""
    held = [int(np.count_nonzero(part.weights)) for part in levels]
    cells, most = sum(held) - column.missing, max(held)
    if bins is None and column.ordered and most > 1:
        unit = column.cells if isinstance(column, Date) and isinstance(column.cells, str) else None
        apart = f" In SQL, GROUP BY date_trunc('{unit}', {name}) separates them." if unit else ""
        asked = " that are asked for" if cells < column.size - column.missing else ""
        yield f"{name!r} has {cells:,} cells{asked}, too many for a group each: {most} stand together in one.{apart}"


def name_of_run(column: Column, first: int, end: int) -> str | bool:
    """What neighboring levels of a column are called, from the first to before the end."""
    levels = column.levels
    if end == first + 1:
        return bool(first) if column.kind == "boolean" else levels[first]
    if isinstance(column, Number):
        low, high = ends_of_run(column, first, end) or (0.0, 0.0)
        if column.whole:
            return f"{low:.12g} to {high - 1:.12g}"
        opened = "(0" if column.cuts.edges[first] == 1 else f"[{low:.12g}"  # zero has a cell of its own
        return f"{opened}, {high:.12g}{']' if end == column.cuts.size else ')'}"
    return f"{levels[first].split(' to ')[0]} to {levels[end - 1].split(' to ')[-1]}"


def ends_of_run(column: Column, first: int, end: int) -> tuple[float, float] | None:
    """The first value of a run of a number's cells, and the end of the last cell."""
    if not isinstance(column, Number):
        return None
    low, high = column.cuts.values(np.array([column.cuts.edges[first], column.cuts.edges[end]]))
    if end == column.cuts.size and not column.whole:
        high = column.high  # which the last cell holds: the line goes on to the next number
    return zero_if_tiny(low), zero_if_tiny(high)


JUST_ABOVE_ZERO = 1e-300
"""No number of a table is as small, but for zero."""


def zero_if_tiny(value: float) -> float:
    """A value for people: the number just above zero, where the cell after that of zero begins, is zero.

    >>> zero_if_tiny(5e-324), zero_if_tiny(1e-200)
    (0.0, 1e-200)
    """
    return float(value) if abs(value) > JUST_ABOVE_ZERO else 0.0
