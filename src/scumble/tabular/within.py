"""Values within cells that were counted as one: what to say to whoever asks about some of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scumble.schema import Condition, Date, Number, line

NOTHING = 1e-9
"""A share of a cell that is a single value's, but for rounding."""
EVENLY = "within a cell records are taken to lie evenly, and the interval allows for all or none of them being meant."


def cut(asked: Condition) -> tuple[str, ...]:
    """A remark on each column whose cells a condition cuts so that it must be known.

    Of dates that is any cut: days of a week, weeks of a month. Of numbers it is one that asks for a single value, or
    for all but one: ranges of numbers cut cells as a rule, and their intervals tell. But of fractions a range may cut
    a single value off a cell, as ``x > 0`` does where a cell begins at zero: all or none of it would be meant by
    evenness, and many records may have that very value.

    >>> from scumble.schema import Schema, condition
    >>> schema = Schema(seen=Date("2024-01-01", "2024-12-31", cells="week"), age=Number(0, 99, whole=True, cells=10))
    >>> cut(condition(schema, "seen == '2024-02-29'"))[0][:66]
    "The question cuts cells of 'seen', which was counted by the week: "
    >>> cut(condition(schema, "seen between '2024-02-26' and '2024-03-03'"))
    ()
    >>> cut(condition(schema, "age == 42"))[0][:65], cut(condition(schema, "age < 42"))
    ("The question cuts cells of 'age', such as 40 to 49: within a cell", ())
    >>> priced = Schema(price=Number(edges=[0, 1, 10]))
    >>> [[told[:51] for told in cut(condition(priced, f"price {asked}"))] for asked in ("> 0", ">= 1", "> 5")]
    [["The question cuts cells of 'price', such as [0, 1):"], [], []]
    """
    found = []
    for name in asked.partly:
        column = asked.schema[name]
        if isinstance(column, Date):
            found.append(f"The question cuts cells of {name!r}, which was counted {column.told_apart}: {EVENLY}")
        elif isinstance(column, Number) and (cells := [*_of_single_values(asked, name, column)]):
            found.append(f"The question cuts cells of {name!r}, such as {column.levels[min(cells)]}: {EVENLY}")
    return tuple(found)


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
