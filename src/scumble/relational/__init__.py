"""SQL on the releases of tables: read by sqlglot, answered by a release's own questions.

Nothing is executed. A statement is taken apart into conditions, groups, aggregates and what is computed of these; the
conditions become those of the schema, each aggregate becomes a question to the release, and whatever has no such
counterpart is refused.

The files::

    asking.py        scumble.sql: from a statement to a frame
    statement.py     what a statement asks for
    syntax.py        from text to a tree, with limits; the only file that imports sqlglot
    scope.py         what names in a statement stand for
    literals.py      values that somebody wrote
    where.py         conditions
    keys.py          what a statement groups by
    aggregates.py    counts, sums, means and quantiles
    formulas.py      what is computed of aggregates, with intervals that hold
    having.py        which groups are shown
    functions.py     released files as functions of DuckDB
"""

from scumble.relational.asking import sql
from scumble.relational.functions import register

__all__ = ["register", "sql"]
