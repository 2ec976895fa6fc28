"""What a statement groups by: the values of a key, and which records have each.

A key is a column of words, of booleans, or of numbers or dates that have a cell each; a range of either that is made of
whole cells; a condition; or a CASE of conditions. Whatever would cut through a cell that WHERE keeps is refused.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

import numpy as np

from scumble.errors import ParameterError, plain_number
from scumble.relational.literals import is_value, number, value
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, identifier, refused, shown, words
from scumble.relational.where import both, tree_of
from scumble.schema import condition
from scumble.schema.category import Category
from scumble.schema.clock import CALENDAR
from scumble.schema.column import Column
from scumble.schema.date import Date
from scumble.schema.grammar import Atom, Junction, Not, Tree, Untrue
from scumble.schema.number import Number
from scumble.tabular.frames import MOST_GROUPS

_CONDITIONS = (
    *(exp.And, exp.Or, exp.Not, exp.Boolean, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
)
_MOST_STEP = 1e299
"""Beyond, a statement's numbers are too large."""
_FEW = 4
"""Groups that are enough for a hint."""
COARSER = "group more coarsely, such as by floor(x / 100) * 100 or date_trunc('year', x)"
MOST_SINGLE = 1000
"""Numbers that a schema is advised to give a cell each."""
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute")


@dataclass(frozen=True)
class Key:
    """Something to group by: its values, and the condition on records that have each."""

    levels: tuple[tuple[Any, Tree], ...]


def key_of(node: Any, scope: Scope, where: Tree) -> Key:
    """The key that a part of a statement is, of records that WHERE keeps."""
    node = bare(node)
    found = list(_levels(node, scope, where))
    if len(found) > MOST_GROUPS:
        raise _too_many(shown(node))
    kinds = {_kind(name) for name, _ in found if name is not None}
    if len(kinds) > 1:
        raise refused(f"{shown(node)}: its values are of different kinds")
    merged: dict[Any, Tree] = {}
    for name, tree in found:
        mark = (type(name), name)
        merged[mark] = Junction(False, (merged[mark], tree)) if mark in merged else tree
    return Key(tuple((name, tree) for (_, name), tree in merged.items()))


def _kind(name: Any) -> type:
    return float if type(name) is int else type(name)


def _levels(node: Any, scope: Scope, where: Tree) -> Iterator[tuple[Any, Tree]]:
    if isinstance(node, exp.Column):
        return _column(scope.column(node), scope)
    if isinstance(node, exp.Case):
        return _case(node, scope)
    if isinstance(node, _CONDITIONS):
        return _condition(node, scope)
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc | exp.Year | exp.Extract):
        return _calendar(node, scope, where)
    return _steps(node, scope, where)


def _condition(node: Any, scope: Scope) -> Iterator[tuple[Any, Tree]]:
    tree = tree_of(node, scope)
    yield False, Not(tree)
    yield True, tree
    if condition(scope.schema, unknown := both(Untrue(tree), Untrue(Not(tree)))).terms:
        yield None, unknown


def _case(node: Any, scope: Scope) -> Iterator[tuple[Any, Tree]]:
    """CASE WHEN … THEN 'word' … ELSE 'word' END: the first condition that is true counts."""
    if node.this is not None:
        raise refused(f"{shown(node)}: write CASE WHEN town = 'Ulm' THEN …")
    before: list[Tree] = []
    for branch in node.args["ifs"]:
        tree = tree_of(branch.this, scope)
        yield _word(branch.args["true"]), both(tree, *map(Untrue, before))
        before.append(tree)
    default = node.args.get("default")
    yield None if default is None else _word(default), both(*map(Untrue, before))


def _word(node: Any) -> Any:
    if not is_value(node):
        raise refused(f"{shown(node)} in a CASE to group by: a value must stand there")
    return value(node)


def _missing(name: str, scope: Scope) -> Iterator[tuple[Any, Tree]]:
    if scope[name].missing:
        yield None, Atom(name, "missing")


# ---- columns as they are ----


def _column(name: str, scope: Scope) -> Iterator[tuple[Any, Tree]]:
    column = scope[name]
    if isinstance(column, Category):
        kinds = {type(word) for word in column.values}
        alike = len(kinds) == 1 and not column.other  # else all are text, as in synthetic rows
        texts = column.levels[: column.line[1]]
        yield from ((word, Atom(name, "==", (word,))) for word in (column.values if alike else texts))
    elif isinstance(column, Number | Date):
        yield from _single(name, column)
    else:
        yield from ((truth, Atom(name, "==", (truth,))) for truth in (False, True))
    yield from _missing(name, scope)


def _single(name: str, column: Number | Date) -> Iterator[tuple[Any, Tree]]:
    """Whole numbers and days, where each has a cell to itself."""
    first, end = column.line
    if not _told_apart(column):
        raise ParameterError(
            f"The cells of column {name!r} hold several values each, so there is no group for each value. "
            f"Hint: {_instead(name, column)}."
        )
    for place in range(first, end):
        shown = column.moment(place) if isinstance(column, Date) else place
        yield shown, Atom(name, "==", (shown,))


# ---- ranges ----


def _steps(node: Any, scope: Scope, where: Tree) -> Iterator[tuple[Any, Tree]]:
    """floor(x / 10) * 10, floor(x / 10), floor(x), and x // 10 of whole numbers."""
    factor: int | float = 1
    inner = node
    if isinstance(inner, exp.Mul):
        left, right = bare(inner.this), bare(inner.expression)
        inner, written = (right, left) if is_value(left) else (left, right)
        factor = number(written)
    name, width, whole = _width(inner, node, scope)
    column = scope[name]
    if not isinstance(column, Number):
        raise ParameterError(f"Column {name!r} is a {column.kind}, no number. Hint: group by the column itself.")
    if whole and not (column.whole and (column.low or 0) >= 0):
        raise refused(f"{shown(node)}: // is for whole numbers from zero on; write {_bearable(name, column)}")
    low, high = column.low, column.high
    assert low is not None and high is not None
    first, last = math.floor(Fraction(low) / Fraction(width)), math.floor(Fraction(high) / Fraction(width))
    if last > first and not column.whole and last * Fraction(width) == Fraction(high):
        last -= 1  # the upper bound alone has no cell: it is in the last one
    if last - first >= MOST_GROUPS:
        raise _too_many(shown(node))
    for step in range(first, last + 1):
        parts = [Atom(name, ">=", (float(step * width),))] if step > first else []
        parts += [Atom(name, "<", (float((step + 1) * width),))] if step < last else []
        tree = both(*parts) if parts else Not(Atom(name, "<", (low,)))
        _require_whole_cells(tree, where, name, scope, shown(node))
        yield step * factor if whole else float(step * factor), tree
    yield from _missing(name, scope)


def _width(node: Any, whole_node: Any, scope: Scope) -> tuple[str, int | float, bool]:
    """The column, the width of a step, and whether it is SQL's division of whole numbers."""
    node = bare(node)
    whole = isinstance(node, exp.IntDiv)
    if isinstance(node, exp.Floor) and not node.args.get("decimals"):
        node = bare(node.this)
    elif not whole:
        raise refused(
            f"GROUP BY {shown(whole_node)}: columns, floor(x / 10) * 10, year, date_trunc, conditions and CASE are "
            f"known{_truncated(node)}"
        )
    width: int | float = 1
    if isinstance(node, exp.Div | exp.IntDiv):
        width = number(node.expression)
        node = bare(node.this)
    if not isinstance(node, exp.Column) or not width > 0 or (whole and not isinstance(width, int)):
        raise refused(
            f"GROUP BY {shown(whole_node)}: write it as floor(x / 10) * 10, of a column and a step above zero"
        )
    return scope.column(node), width, whole


def _truncated(node: Any) -> str:
    """What to write for month(seen) and its kin, which join what has the same number in all years; else nothing."""
    unit = type(node).__name__.lower()
    if unit not in _UNITS or not isinstance(bare(node.this), exp.Column):
        return ""
    return f"; write date_trunc('{unit}', {words(bare(node.this))}), a group for each {unit} of each year"


def _calendar(node: Any, scope: Scope, where: Tree) -> Iterator[tuple[Any, Tree]]:
    """date_trunc('month', seen), year(seen), extract(year from seen)."""
    inner = bare(node.expression if isinstance(node, exp.Extract) else node.this)
    if isinstance(node, exp.Year):
        unit = "year"
    else:
        written = node.this if isinstance(node, exp.Extract) else node.args.get("unit")
        unit = str(written.name if written is not None else "").lower()
    yearly = isinstance(node, exp.Year | exp.Extract)
    if unit not in _UNITS or (yearly and unit != "year"):
        raise refused(f"{shown(node)}: date_trunc knows {', '.join(_UNITS)}; of a part of a date, the year is known")
    name = scope.column(inner)
    column = scope[name]
    if not isinstance(column, Date):
        raise ParameterError(f"Column {name!r} is a {column.kind}, no date. Hint: group by the column itself.")
    starts = list(_starts(column, unit))
    for place, (start, end) in enumerate(pairwise([*starts, None])):
        assert start is not None
        parts = [Atom(name, ">=", (start,))] if place else []
        parts += [Atom(name, "<", (end,))] if end is not None else []
        tree = both(*parts) if parts else Not(Atom(name, "<", (column.moment(column.line[0]),)))
        _require_whole_cells(tree, where, name, scope, shown(node), unit)
        day = start.date() if column.resolution == "day" else start
        yield start.year if yearly else day, tree
    yield from _missing(name, scope)


def _starts(column: Date, unit: str) -> Iterator[datetime.datetime]:
    """Where each year, month, … of the column begins."""
    first, last = (_moment(column.moment(place)) for place in (column.line[0], column.line[1] - 1))
    at, count = _begin(unit, first), 0
    while at <= last:
        yield at
        if (count := count + 1) > MOST_GROUPS:
            raise _too_many(f"date_trunc({unit!r}, …)")
        try:
            at = _begin(unit, at + _LONGER[unit])
        except OverflowError:  # the year 9999 has no next
            return


_LONGER = {
    "year": datetime.timedelta(370),
    "quarter": datetime.timedelta(95),
    "month": datetime.timedelta(32),
    "week": datetime.timedelta(7),
    "day": datetime.timedelta(1),
    "hour": datetime.timedelta(hours=1),
    "minute": datetime.timedelta(minutes=1),
}
"""From the start of one to somewhere in the next."""
_BEGIN: dict[str, Callable[[datetime.datetime], datetime.datetime]] = {
    "year": lambda day: day.replace(month=1, day=1),
    "quarter": lambda day: day.replace(month=day.month - (day.month - 1) % 3, day=1),
    "month": lambda day: day.replace(day=1),
    "week": lambda day: day - datetime.timedelta(day.weekday()),
    "day": lambda day: day,
}


def _begin(unit: str, moment: datetime.datetime) -> datetime.datetime:
    if unit in ("hour", "minute"):
        return moment.replace(minute=moment.minute if unit == "minute" else 0, second=0)
    return _BEGIN[unit](moment.replace(hour=0, minute=0, second=0))


def _moment(found: datetime.date) -> datetime.datetime:
    return found if isinstance(found, datetime.datetime) else datetime.datetime.combine(found, datetime.time())


def _told_apart(column: Number | Date) -> bool:
    """Whether each value has a cell to itself."""
    first, end = column.line
    return not column.cuts.real and column.cuts.size == end - first


def groups_of(name: str, column: Column) -> str:
    """Something to group by a column, as SQL writes it: by its values, if it tells them apart."""
    if isinstance(column, Number | Date) and not _told_apart(column):
        return _bearable(name, column)
    return identifier(name)


def _instead(name: str, column: Number | Date) -> str:
    """What can be grouped by, in words."""
    if column.cuts.size > 1 or column.missing:
        return f"GROUP BY {_bearable(name, column)}, or other ranges of whole cells"
    return "it has one cell only, so all records are one group: ask without GROUP BY"


def _bearable(name: str, column: Number | Date) -> str:
    """Something to group by that the column's own cells bear, as SQL writes it."""
    written, inner = identifier(name), column.cuts.edges[1:-1]
    if not inner:
        return f"{written} IS NULL"
    if isinstance(column, Date):
        known = {_moment(column.moment(place)) for place in inner}
        for unit in reversed(_UNITS):
            starts = list(islice(_starts(column, unit), 1, min(len(inner) + 2, MOST_GROUPS)))
            if starts and known.issuperset(starts):
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


def _require_whole_cells(tree: Tree, where: Tree, name: str, scope: Scope, what: str, unit: str = "") -> None:
    if all(condition(scope.schema, asked).partly for asked in (tree, both(where, tree))):
        column = scope[name]
        assert isinstance(column, Number | Date)
        declared = (
            f'cells = "{unit}" in its schema' if unit in CALENDAR else f"`edges` in its schema{_single_cells(column)}"
        )
        raise ParameterError(
            f"{what} cuts through cells of column {name!r}, so groups would be guessed. Hint: its cells are "
            f"{', '.join(column.levels[:3])}, …; {_instead(name, column)}, or ask for a range in WHERE. Who makes the "
            f"release can have such groups: by {declared}."
        )


def _single_cells(column: Number | Date) -> str:
    """How a schema gives each whole number a cell, where that is no great many."""
    if not isinstance(column, Number) or not column.whole:
        return ""
    assert column.low is not None and column.high is not None  # as every number has once it is made
    numbers = int(column.high - column.low) + 1
    return f", or by cells = {numbers}, one for each number" if numbers <= MOST_SINGLE else ""


def _too_many(what: str) -> ParameterError:
    return ParameterError(f"{what} has more than {MOST_GROUPS:,} groups. Hint: {COARSER}.")
