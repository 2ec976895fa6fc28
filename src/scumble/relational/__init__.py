"""SQL on the releases of tables: read by sqlglot, answered by a release's own questions.

Nothing is executed. A statement is taken apart into conditions, groups, aggregates and what is computed of these. The
conditions become those of the schema, and each aggregate is computed on every draw from the release's posterior. A
statement that has no such counterpart is refused.

The files::

    asking.py        scumble.sql: from a statement to a frame
    statement.py     what a statement asks for
    syntax.py        from text to a tree, with limits; the only file that imports sqlglot
    nested.py        WITH and subqueries after FROM, put into the SELECT that reads them
    scope.py         what names in a statement stand for
    literals.py      values that somebody wrote
    where.py         conditions
    dates.py         parts of the calendar
    cells.py         which groups the cells of a column bear
    keys.py          what a statement groups by
    values.py        numbers of single records, which are added up or correlated
    moments.py       sums over records on every draw, and statistics made of these
    aggregates.py    counts, sums, means, quantiles and statistics
    formulas.py      what is computed of aggregates, draw by draw
    having.py        which groups are shown
    functions.py     released files as functions of DuckDB
"""

from scumble.relational.asking import sql
from scumble.relational.functions import register

__all__ = ["register", "sql"]
