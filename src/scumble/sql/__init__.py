"""SELECT over a release: read by sqlglot, answered by a release's own questions.

Nothing is executed. A statement is taken apart into conditions, groups, aggregates and what is computed of these. The
conditions become those of the schema, and each aggregate is computed on every draw from the release's posterior. A
statement that has no such counterpart is refused. The room can be called: ``scumble.sql(statement, table=release)``.

The files::

    asking.py       scumble.sql: what a statement asks for, formulas of aggregates, and its answer as a frame
    syntax.py       from text to a tree, with limits; WITH and subqueries; names and values; alone imports sqlglot
    where.py        conditions, what a statement groups by, and which groups the cells of a column bear
    aggregates.py   counts, sums, means, quantiles and statistics, on every draw
    functions.py    released files as functions of DuckDB
"""

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """`scumble.sql` is a function and a room: Python lets a module be of a class that can be called."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from scumble.sql.asking import sql

        return sql(*args, **options)


sys.modules[__name__].__class__ = _Room
