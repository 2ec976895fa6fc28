"""Conditions of a statement, as trees of the schema's own grammar: there the logic of NULL is settled."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from scumble.columns.category import Category
from scumble.columns.conditions import condition
from scumble.columns.date import Date
from scumble.columns.grammar import Atom, Junction, Not, Tree, Untrue, known
from scumble.columns.number import Number
from scumble.errors import ParameterError
from scumble.sql.cells import (
    EVERYTHING,
    NOTHING,
    any_of,
    bearable,
    both,
    instead,
    part_of,
    require_whole_cells,
    runs,
)
from scumble.sql.scope import Scope, fitting, is_value, number, value
from scumble.sql.syntax import Node, bare, exp, identifier, parts_of, refused, shown
from scumble.table.asking import MOST_GROUPS, MOST_WORDS

CONDITIONS = (
    *(exp.And, exp.Or, exp.Not, exp.Boolean, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
)
"""What is true or false of a record."""
SIGNS: dict[type, str] = {exp.EQ: "==", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def tree_of(node: Node, scope: Scope) -> Tree:
    """The condition that a part of a statement is."""
    node = bare(node)
    if isinstance(node, exp.And | exp.Or):
        return Junction(isinstance(node, exp.And), tuple(tree_of(part, scope) for part in parts_of(node)))
    if isinstance(node, exp.Not):
        return Not(tree_of(node.this, scope))
    if isinstance(node, exp.Boolean):
        return EVERYTHING if node.this else NOTHING
    if isinstance(node, exp.Column):
        return _boolean(scope, node)
    if type(node) in SIGNS:
        return _comparison(node, SIGNS[type(node)], scope)
    if isinstance(node, exp.Between):
        return _atom(scope, node.this, "between", [node.args["low"], node.args["high"]])
    if isinstance(node, exp.In):
        if not node.expressions or node.args.get("field") or node.args.get("unnest"):
            raise refused(f"{shown(node)}: IN goes with a list of values")
        return _atom(scope, node.this, "in", node.expressions)
    if isinstance(node, exp.Is):
        return _is(node, scope)
    if isinstance(node, exp.Like | exp.ILike):
        return _like(node, scope)
    if node.find(exp.AggFunc):
        raise ParameterError(f"{shown(node)} cannot stand in a condition on records. Hint: HAVING is for groups.")
    raise refused(f"the condition {shown(node)}: a column is compared with values")


def case_of(node: Node, scope: Scope) -> Iterator[tuple[Tree, Node | None]]:
    """The branches of a CASE or an IF, each with where it is taken, the first that is true, and what it gives."""
    single = isinstance(node, exp.If)
    before: list[Tree] = []
    for branch in [node] if single else node.args["ifs"]:
        asked = branch.this if single or node.this is None else exp.EQ(this=node.this.copy(), expression=branch.this)
        tree = tree_of(asked, scope)
        yield both(tree, *map(Untrue, before)), bare(branch.args["true"])
        before.append(tree)
    yield both(*map(Untrue, before)), bare(node.args.get("false" if single else "default"))


def _boolean(scope: Scope, node: Node) -> Tree:
    name = scope.column(node)
    if scope[name].kind != "boolean":
        raise ParameterError(f"Column {name!r} is a {scope[name].kind}, no condition. Hint: compare it with a value.")
    return Atom(name, "==", (True,))


def _comparison(node: Node, sign: str, scope: Scope) -> Tree:
    left, right = bare(node.this), bare(node.expression)
    if is_value(left) and is_value(right):
        return _constant(node, value(left), sign, value(right))
    if is_value(left):
        left, right, sign = right, left, _TURNED[sign]
    if isinstance(left, exp.Column) and isinstance(right, exp.Column):
        strange = [one for one in (left, right) if scope.alike(one.name) is None]
        _require_text(scope, *(strange if len(strange) == 1 else ()))  # of two, one is a misspelt column
        scope.column(left)
    _require_text(scope, right)
    if not is_value(right):
        raise refused(f"{shown(node)}: a column must be compared with a value, not with another column or a formula")
    atom = _atom(scope, left, "==" if sign == "!=" else sign, [right])
    return Not(atom) if sign == "!=" else atom


def _constant(node: Node, left: object, sign: str, right: object) -> Tree:
    """1 = 1, as programs write it."""
    if isinstance(left, int | float) is not isinstance(right, int | float) or left is None or right is None:
        raise refused(f"{shown(node)}: it compares two values of different kinds")
    return EVERYTHING if COMPARED[sign](left, right) else NOTHING


def _atom(scope: Scope, subject: Node, sign: str, written: list[Node]) -> Tree:
    subject = bare(subject)
    computed = _computed(subject, scope)
    if computed is not None:
        name, levels, cut = computed
        for tree in levels.values() if cut else ():
            require_whole_cells(tree, EVERYTHING, name, scope, shown(subject))
        return _among(name, levels, subject, sign, written)
    if not isinstance(bare(subject), exp.Column):
        raise refused(f"{shown(subject)} in a condition: a column must stand there by itself")
    name = scope.column(subject)
    _require_text(scope, *written)
    values = [value(one) for one in written]
    if any(one is None for one in values):
        raise ParameterError(f"Nothing equals NULL, not even NULL. Hint: write {identifier(name)} IS NULL.")
    try:
        return Atom(name, sign, tuple(fitting(one, scope[name]) for one in values))
    except ParameterError as problem:
        raise ParameterError(f"The statement asks about {name!r}: {problem}.") from None


def _among(name: str, levels: dict[object, Tree], subject: Node, sign: str, written: list[Node]) -> Tree:
    """The values of something computed of a column that are compared so."""
    values = [value(one) for one in written]
    kind = type(next(iter(levels)))
    if not all(type(one) is kind for one in values) or kind not in (int, str):
        such = next(iter(levels))
        raise refused(f"{shown(subject)} in a condition: it is compared with such as {such!r}, and dates by the column")
    if sign == "in":
        found = [tree for one, tree in levels.items() if one in values]
    else:
        signs = (">=", "<=") if sign == "between" else (sign,)
        found = [t for one, t in levels.items() if all(COMPARED[s](one, v) for s, v in zip(signs, values, strict=True))]
    return any_of(found) if found else Atom(name, "in", ())


_TEXTS: dict[type, Callable[[str], str]] = {exp.Lower: str.lower, exp.Upper: str.upper, exp.Trim: str.strip}


def _computed(node: Node, scope: Scope) -> tuple[str, dict[object, Tree], bool] | None:
    """What month(seen), lower(town) and their kin can be, of which column, the records of which it is so, and whether
    WHERE must not cut its cells: years are ranges, as columns are. None if it is something else."""
    part = part_of(node, scope)
    if part is not None:
        return part.column, runs(part, scope), part.unit != "year"
    if type(node) not in _TEXTS:
        return None
    name = scope.column(bare(node.this))
    found = dict[object, list[object]]()
    for word in _vocabulary(name, scope, shown(node)).values:
        found.setdefault(_TEXTS[type(node)](str(word)), []).append(word)
    return name, {text: Atom(name, "in", tuple(words)) for text, words in found.items()}, False


def _vocabulary(name: str, scope: Scope, what: str) -> Category:
    """A column of words that are all known."""
    column = scope[name]
    if not isinstance(column, Category) or not all(isinstance(word, str) for word in column.values):
        raise ParameterError(f"Column {name!r} is no column of words, which {what} is for. Hint: compare it with =.")
    if column.other:
        hint = f"Hint: {identifier(name)} IN (…)."
        raise ParameterError(f"{what} cannot be answered on {name!r}, whose other words are counted together. {hint}")
    return column


def _require_text(scope: Scope, *nodes: Node) -> None:
    """Refuse the name of a column where a value must stand, if it may be meant as text."""
    for node in nodes:
        if not isinstance(bare(node), exp.Column):
            continue
        text = shown(exp.Literal.string(bare(node).name))
        if bare(node).this.args.get("quoted"):
            raise ParameterError(f"{shown(node)}: double quotes are for columns. Hint: write text as {text}.")
        if scope.alike(bare(node).name) is None:
            known(bare(node).name, scope.schema, text=f"in single quotes, {text}")


def _is(node: Node, scope: Scope) -> Tree:
    what = bare(node.expression)
    if isinstance(what, exp.Null):
        name = scope.column(bare(node.this))
        return Atom(name, "missing")
    if isinstance(what, exp.Boolean):
        part = tree_of(node.this, scope)
        return Untrue(Untrue(part if what.this else Not(part)))  # never unknown
    raise refused(f"the condition {shown(node)}: IS goes with NULL, TRUE or FALSE")


def _like(node: Node, scope: Scope) -> Tree:
    """Which words of a vocabulary have the form: known beforehand, if there are no others."""
    name = scope.column(bare(node.this))
    column, pattern = _vocabulary(name, scope, "LIKE"), value(node.expression)
    if not isinstance(pattern, str):
        raise refused(f"{shown(node)}: LIKE goes with a text")
    folded = str.lower if isinstance(node, exp.ILike) else str
    found = Atom(name, "in", tuple(word for word in column.values if is_like(folded(str(word)), folded(pattern))))
    return Not(found) if node.args.get("negate") else found


def is_like(word: str, pattern: str) -> bool:
    """Whether a word has a form: % is any text, _ any letter; no pattern takes long.

    >>> [is_like(word, "%o_n%") for word in ("Bonn", "Bon", "Cologne", "London")]
    [True, False, True, False]
    """
    return fnmatchcase(word, re.sub(r"[*?[]", r"[\g<0>]", pattern).replace("%", "*").replace("_", "?"))


COARSER = "group more coarsely, such as by floor(x / 100) * 100 or date_trunc('year', x)"


def levels_of(node: Node, scope: Scope, where: Tree) -> tuple[tuple[object, Tree], ...]:
    """The values of something to group by, of records that WHERE keeps, and the condition on those that have each."""
    node = bare(node)
    found = list(_levels(node, scope, where))
    if len(found) > MOST_WORDS:
        raise _too_many(shown(node), MOST_WORDS)
    if len({float if type(name) is int else type(name) for name, _ in found if name is not None}) > 1:
        raise refused(f"{shown(node)}: its values are of different kinds")
    merged: dict[tuple[type, object], list[Tree]] = {}
    for name, tree in found:
        merged.setdefault((type(name), name), []).append(tree)
    return tuple((name, any_of(trees)) for (_, name), trees in merged.items())


def _levels(node: Node, scope: Scope, where: Tree) -> Iterator[tuple[object, Tree]]:
    if isinstance(node, exp.Column):
        return _column(scope.column(node), scope)
    if isinstance(node, exp.Case | exp.If):
        return _case(node, scope)
    if isinstance(node, CONDITIONS):
        return _condition(node, scope)
    if isinstance(node, exp.Coalesce) and len(node.expressions) == 1 and is_value(node.expressions[0]):
        filled = value(node.expressions[0])
        return ((filled if name is None else name, tree) for name, tree in _levels(bare(node.this), scope, where))
    computed = _computed(node, scope)
    if computed is None:
        return _steps(node, scope, where)
    name, levels, _ = computed
    for tree in levels.values():
        require_whole_cells(tree, where, name, scope, shown(node))
    return iter([*levels.items(), *_missing(name, scope)])


def _condition(node: Node, scope: Scope) -> Iterator[tuple[object, Tree]]:
    tree = tree_of(node, scope)
    yield False, Not(tree)
    yield True, tree
    if condition(scope.schema, unknown := both(Untrue(tree), Untrue(Not(tree)))).terms:
        yield None, unknown


def _case(node: Node, scope: Scope) -> Iterator[tuple[object, Tree]]:
    """CASE WHEN … THEN 'word' … ELSE 'word' END."""
    for tree, then in case_of(node, scope):
        if then is not None and not is_value(then):
            raise refused(f"{shown(then)} in a CASE to group by: a value must stand there")
        yield None if then is None else value(then), tree


def _missing(name: str, scope: Scope) -> Iterator[tuple[object, Tree]]:
    if scope[name].missing:
        yield None, Atom(name, "missing")


# ---- columns as they are ----


def _column(name: str, scope: Scope) -> Iterator[tuple[object, Tree]]:
    column = scope[name]
    if isinstance(column, Category):
        kinds = {type(word) for word in column.values}
        alike = len(kinds) == 1 and not column.other  # else all are text, as in synthetic rows
        texts = column.levels[: column.line[1]]
        yield from ((word, Atom(name, "==", (word,))) for word in (column.values if alike else texts))
    elif isinstance(column, Number | Date):  # whole numbers and days, where each has a cell to itself
        if not column.each_apart:
            raise ParameterError(f"Cells of {name!r} hold several values each. Hint: {instead(name, column)}.")
        for place in range(*column.line):
            one = column.moment(place) if isinstance(column, Date) else place
            yield one, Atom(name, "==", (one,))
    else:
        yield from ((truth, Atom(name, "==", (truth,))) for truth in (False, True))
    yield from _missing(name, scope)


# ---- ranges ----


def _steps(node: Node, scope: Scope, where: Tree) -> Iterator[tuple[object, Tree]]:
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


def _width(node: Node, whole_node: Node, scope: Scope) -> tuple[str, int | float, bool]:
    """The column, the width of a step, and whether it is SQL's division of whole numbers."""
    node = bare(node)
    whole = isinstance(node, exp.IntDiv)
    if isinstance(node, exp.Floor) and not node.args.get("decimals"):
        node = bare(node.this)
    elif not whole:
        known = "columns, floor(x / 10) * 10, date_trunc, month and the like, conditions and CASE"
        raise refused(f"GROUP BY {shown(whole_node)}: {known} are known")
    width: int | float = 1
    if isinstance(node, exp.Div | exp.IntDiv):
        width = number(node.expression)
        node = bare(node.this)
    if not isinstance(node, exp.Column) or not width > 0 or (whole and not isinstance(width, int)):
        raise refused(f"GROUP BY {shown(whole_node)}: write floor(x / 10) * 10, with a step above zero")
    return scope.column(node), width, whole


def _too_many(what: str, most: int = MOST_GROUPS) -> ParameterError:
    return ParameterError(f"{what} has more than {most:,} groups. Hint: {COARSER}.")
