"""Dates within cells that were counted as one: what to say to whoever asks about some of them."""

from __future__ import annotations

from scumble.schema import Condition, Date


def cut(asked: Condition) -> tuple[str, ...]:
    """A remark on each column of dates whose cells a condition cuts: days of a week, weeks of a month.

    >>> from scumble.schema import Schema, condition
    >>> schema = Schema(seen=Date("2024-01-01", "2024-12-31", cells="week"))
    >>> cut(condition(schema, "seen == '2024-02-29'"))[0][:66]
    "The question cuts cells of 'seen', which was counted by the week: "
    >>> cut(condition(schema, "seen between '2024-02-26' and '2024-03-03'"))
    ()
    """
    columns = [(name, column) for name in asked.partly if isinstance(column := asked.schema[name], Date)]
    return tuple(
        f"The question cuts cells of {name!r}, which was counted {column.told_apart}: within a cell records are taken "
        "to lie evenly, and the interval allows for all or none of them being meant."
        for name, column in columns
    )
