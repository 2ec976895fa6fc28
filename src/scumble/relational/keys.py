"""What a statement groups by: the values of a key, and which records have each.

A key is a column of words, of booleans, or of numbers or dates that have a cell each; a range of either that is made of
whole cells; a condition; or a CASE of conditions. Whatever would cut through a cell that WHERE keeps is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scumble.errors import ParameterError
from scumble.relational.cells import bearable, both, instead, require_whole_cells, told_apart
from scumble.relational.dates import Part, part_of, runs
from scumble.relational.literals import is_value, number, value
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, refused, shown
from scumble.relational.where import CONDITIONS, case_of, tree_of
from scumble.schema import condition
from scumble.schema.category import Category
from scumble.schema.date import Date
from scumble.schema.grammar import Atom, Junction, Not, Tree, Untrue
from scumble.schema.number import Number
from scumble.tabular.frames import MOST_GROUPS

COARSER = "group more coarsely, such as by floor(x / 100) * 100 or date_trunc('year', x)"


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
    if isinstance(node, exp.Case | exp.If):
        return _case(node, scope)
    if isinstance(node, CONDITIONS):
        return _condition(node, scope)
    part = part_of(node, scope)
    if part is not None:
        return _calendar(part, node, scope, where)
    return _steps(node, scope, where)


def _condition(node: Any, scope: Scope) -> Iterator[tuple[Any, Tree]]:
    tree = tree_of(node, scope)
    yield False, Not(tree)
    yield True, tree
    if condition(scope.schema, unknown := both(Untrue(tree), Untrue(Not(tree)))).terms:
        yield None, unknown


def _case(node: Any, scope: Scope) -> Iterator[tuple[Any, Tree]]:
    """CASE WHEN … THEN 'word' … ELSE 'word' END."""
    for tree, then in case_of(node, scope):
        if then is not None and not is_value(then):
            raise refused(f"{shown(then)} in a CASE to group by: a value must stand there")
        yield None if then is None else value(then), tree


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
    if not told_apart(column):
        raise ParameterError(
            f"The cells of column {name!r} hold several values each, so there is no group for each value. "
            f"Hint: {instead(name, column)}."
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
        raise refused(f"{shown(node)}: // is for whole numbers from zero on; write {bearable(name, column)}")
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
        tree = both(*parts) if parts else Atom(name, "between", (None, None))
        require_whole_cells(tree, where, name, scope, shown(node))
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
            f"GROUP BY {shown(whole_node)}: columns, floor(x / 10) * 10, date_trunc, month and its kin, conditions "
            "and CASE are known"
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


def _calendar(part: Part, node: Any, scope: Scope, where: Tree) -> Iterator[tuple[Any, Tree]]:
    """date_trunc('month', seen), year(seen), extract(dow from seen) and their kin."""
    for name, tree in runs(part, scope).items():
        require_whole_cells(tree, where, part.column, scope, shown(node), part.unit)
        yield name, tree
    yield from _missing(part.column, scope)


def _too_many(what: str) -> ParameterError:
    return ParameterError(f"{what} has more than {MOST_GROUPS:,} groups. Hint: {COARSER}.")
