"""Values within cells that were counted as one: what to say to whoever asks about some of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scumble.schema import Condition, Date, Number, line

EVENLY = "within a cell records are taken to lie evenly, and the interval allows for all or none of them being meant."


def cut(asked: Condition) -> tuple[str, ...]:
    """A remark on each column whose cells a condition cuts so that it must be known.

    Of dates that is any cut: days of a week, weeks of a month. Of numbers it is one that asks for a single value, or
    for all but one: ranges of numbers cut cells as a rule, and their intervals tell.

    >>> from scumble.schema import Schema, condition
    >>> schema = Schema(seen=Date("2024-01-01", "2024-12-31", cells="week"), age=Number(0, 99, whole=True, cells=10))
    >>> cut(condition(schema, "seen == '2024-02-29'"))[0][:66]
    "The question cuts cells of 'seen', which was counted by the week: "
    >>> cut(condition(schema, "seen between '2024-02-26' and '2024-03-03'"))
    ()
    >>> cut(condition(schema, "age == 42"))[0][:65], cut(condition(schema, "age < 42"))
    ("The question cuts cells of 'age', such as 40 to 49: within a cell", ())
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
    """The cells of several values of which a condition asks for one, or for all but one."""
    edges = column.cuts.edges
    for product in asked.parts:
        if name not in product:
            continue
        spans = product[name].spans
        but_one = () if column.cuts.real else line.without(spans, column.line)  # of reals, a range up to the bound
        for first, end in (*spans, *but_one):
            if end == first + 1 and not (first in edges and end in edges):
                yield int(column.cuts.find(np.array([first]))[0])
