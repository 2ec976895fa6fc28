"""What the cells of a column bear: which groups are made of whole cells, and what to group by instead."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from scumble.errors import ParameterError, plain_number
from scumble.relational.dates import UNITS, moment_of, starts
from scumble.relational.scope import Scope
from scumble.relational.syntax import identifier
from scumble.schema import condition
from scumble.schema.clock import CALENDAR
from scumble.schema.column import Column
from scumble.schema.date import Date
from scumble.schema.grammar import Junction, Tree
from scumble.schema.number import Number
from scumble.tabular.frames import MOST_GROUPS

EVERYTHING, NOTHING = Junction(True, ()), Junction(False, ())
_MOST_STEP = 1e299
"""Beyond, a statement's numbers are too large."""
_FEW = 4
"""Groups that are enough for a hint."""
MOST_SINGLE = 1000
"""Numbers that a schema is advised to give a cell each."""


def both(*trees: Tree) -> Tree:
    """All of the conditions."""
    kept = [tree for tree in trees if tree != EVERYTHING]
    return kept[0] if len(kept) == 1 else Junction(True, tuple(kept))


def told_apart(column: Number | Date) -> bool:
    """Whether each value has a cell to itself."""
    first, end = column.line
    return not column.cuts.real and column.cuts.size == end - first


def groups_of(name: str, column: Column) -> str:
    """Something to group by a column, as SQL writes it: by its values, if it tells them apart."""
    if isinstance(column, Number | Date) and not told_apart(column):
        return bearable(name, column)
    return identifier(name)


def instead(name: str, column: Number | Date) -> str:
    """What can be grouped by, in words."""
    if column.cuts.size > 1 or column.missing:
        return f"GROUP BY {bearable(name, column)}, or other ranges of whole cells"
    return "it has one cell only, so all records are one group: ask without GROUP BY"


def bearable(name: str, column: Number | Date) -> str:
    """Something to group by that the column's own cells bear, as SQL writes it."""
    written, inner = identifier(name), column.cuts.edges[1:-1]
    if not inner:
        return f"{written} IS NULL"
    if isinstance(column, Date):
        known = {moment_of(column.moment(place)) for place in inner}
        for unit in reversed(UNITS):
            begin = starts(column, unit, min(len(inner) + 2, MOST_GROUPS))[1:]
            if begin and known.issuperset(begin):
                return f"date_trunc('{unit}', {written})"
        return f"{written} < '{column.moment(inner[len(inner) // 2])}'"
    if inner == (1,) and column.low == 0:
        return f"{written} > 0"  # zero has one cell, and all else the other
    edges = column.cuts.values(np.array(inner)).tolist()
    step = _least_step(column, edges)
    if step is not None:
        return f"floor({written} / {step}) * {step}"
    if len(edges) == 1:
        return f"{written} < {_plainly(edges[0])}"
    ends = edges if len(edges) < _FEW else [edges[len(edges) * k // _FEW] for k in range(1, _FEW)]
    names = [f"below {_named(ends[0], column)}", *(_range(*two, column) for two in pairwise(ends))]
    cases = " ".join(f"WHEN {written} < {_plainly(end)} THEN '{name}'" for end, name in zip(ends, names, strict=True))
    return f"CASE {cases} WHEN {written} >= {_plainly(ends[-1])} THEN '{_named(ends[-1], column)} and above' END"


def _range(low: float, high: float, column: Number) -> str:
    """What a group of numbers from one edge to before another is called: 1905 to 1943."""
    upto = _named(high - 1, column) if column.whole else f"below {_named(high, column)}"
    return _named(low, column) if upto == _named(low, column) else f"{_named(low, column)} to {upto}"


def _named(number: float, column: Number) -> str:
    """A number in the name of a group: no commas, which years have none of, and no more digits than people read."""
    return _plainly(number) if column.whole else plain_number(number, 4).replace(",", "")


def _least_step(column: Number, edges: list[float]) -> str | None:
    """The least width of which all multiples within the bounds are edges of cells; None if there is none, or so wide a
    one that few groups would hold all cells."""
    low, high = column.low, column.high
    assert low is not None and high is not None
    known, end = set(edges), high + 1 if column.whole else high
    widths = {size for edge in edges for size in (edge - low, abs(edge)) if 0 < size < _MOST_STEP}
    for width in sorted(widths):
        if not math.isfinite(max(abs(low), abs(end)) / width):  # more steps than there are numbers
            continue
        first, last = math.floor(low / width) + 1, math.ceil(end / width)
        if min(_FEW, column.cuts.size) - 1 <= last - first <= len(known) and known.issuperset(
            step * width for step in range(first, last)
        ):
            return _plainly(width)
    return None


def _plainly(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def require_whole_cells(tree: Tree, where: Tree, name: str, scope: Scope, what: str, unit: str = "") -> None:
    """Refuse a group that cuts cells which WHERE keeps whole."""
    if all(condition(scope.schema, asked).partly for asked in (tree, both(where, tree))):
        column = scope[name]
        assert isinstance(column, Number | Date)
        declared = (
            f'cells = "{unit}" in its schema' if unit in CALENDAR else f"`edges` in its schema{_single_cells(column)}"
        )
        raise ParameterError(
            f"{what} cuts through cells of column {name!r}, so groups would be guessed. Hint: its cells are "
            f"{', '.join(column.levels[:3])}, …; {instead(name, column)}, or ask for a range in WHERE. Who makes the "
            f"release can have such groups: by {declared}."
        )


def _single_cells(column: Number | Date) -> str:
    """How a schema gives each whole number a cell, where that is no great many."""
    if not isinstance(column, Number) or not column.whole:
        return ""
    assert column.low is not None and column.high is not None  # as every number has once it is made
    numbers = int(column.high - column.low) + 1
    return f", or by cells = {numbers}, one for each number" if numbers <= MOST_SINGLE else ""
