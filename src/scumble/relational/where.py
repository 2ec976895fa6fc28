"""Conditions of a statement, as trees of the schema's own grammar: there the logic of NULL is settled."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from scumble.errors import ParameterError
from scumble.relational.cells import EVERYTHING, NOTHING, both, require_whole_cells
from scumble.relational.dates import Part, any_of, part_of, runs
from scumble.relational.literals import fitting, is_value, value
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, identifier, parts_of, refused, shown
from scumble.schema.category import Category
from scumble.schema.grammar import Atom, Junction, Not, Tree, Untrue
from scumble.schema.unclear import known

CONDITIONS = (
    *(exp.And, exp.Or, exp.Not, exp.Boolean, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
)
"""What is true or false of a record."""
_SIGNS: dict[type, str] = {
    exp.EQ: "==",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def tree_of(node: Any, scope: Scope) -> Tree:
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
    if type(node) in _SIGNS:
        return _comparison(node, _SIGNS[type(node)], scope)
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


def case_of(node: Any, scope: Scope) -> Iterator[tuple[Tree, Any]]:
    """The branches of a CASE or an IF, each with where it is taken, the first that is true, and what it gives."""
    single = isinstance(node, exp.If)
    before: list[Tree] = []
    for branch in [node] if single else node.args["ifs"]:
        asked = branch.this if single or node.this is None else exp.EQ(this=node.this.copy(), expression=branch.this)
        tree = tree_of(asked, scope)
        yield both(tree, *map(Untrue, before)), bare(branch.args["true"])
        before.append(tree)
    yield both(*map(Untrue, before)), bare(node.args.get("false" if single else "default"))


def _boolean(scope: Scope, node: Any) -> Tree:
    name = scope.column(node)
    if scope[name].kind != "boolean":
        raise ParameterError(f"Column {name!r} is a {scope[name].kind}, no condition. Hint: compare it with a value.")
    return Atom(name, "==", (True,))


def _comparison(node: Any, sign: str, scope: Scope) -> Tree:
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
        raise refused(f"{shown(node)}: a column is compared with a value, and not with another or a formula")
    atom = _atom(scope, left, "==" if sign == "!=" else sign, [right])
    return Not(atom) if sign == "!=" else atom


def _constant(node: Any, left: Any, sign: str, right: Any) -> Tree:
    """1 = 1, as programs write it."""
    if isinstance(left, int | float) is not isinstance(right, int | float) or left is None or right is None:
        raise refused(f"{shown(node)}: it compares two values of different kinds")
    return EVERYTHING if COMPARED[sign](left, right) else NOTHING


def _atom(scope: Scope, subject: Any, sign: str, written: list[Any]) -> Tree:
    part = part_of(bare(subject), scope)
    if part is not None:
        return _part(part, bare(subject), sign, written, scope)
    if not isinstance(bare(subject), exp.Column):
        raise refused(f"{shown(subject)} in a condition: a column must stand there by itself")
    name = scope.column(bare(subject))
    _require_text(scope, *written)
    values = [value(one) for one in written]
    if any(one is None for one in values):
        raise ParameterError(f"Nothing equals NULL, not even NULL. Hint: write {identifier(name)} IS NULL.")
    try:
        return Atom(name, sign, tuple(fitting(one, scope[name]) for one in values))
    except ParameterError as problem:
        raise ParameterError(f"The statement asks about {name!r}: {problem}.") from None


def _part(part: Part, subject: Any, sign: str, written: list[Any], scope: Scope) -> Tree:
    """year(seen) = 2015, month(seen) in (6, 7) and their kin."""
    levels, values = runs(part, scope), [value(one) for one in written]
    kind = type(next(iter(levels)))
    if not all(type(one) is kind for one in values) or kind not in (int, str):
        such = next(iter(levels))
        raise refused(f"{shown(subject)} in a condition: it is compared with such as {such!r}, and dates by the column")
    if sign == "in":
        found = [tree for one, tree in levels.items() if one in values]
    else:
        signs = (">=", "<=") if sign == "between" else (sign,)
        found = [t for one, t in levels.items() if all(COMPARED[s](one, v) for s, v in zip(signs, values, strict=True))]
    if part.unit != "year":  # years are ranges, which WHERE may cut; of other parts every cell would be cut
        for tree in found:
            require_whole_cells(tree, EVERYTHING, part.column, scope, shown(subject), part.unit)
    return any_of(found) if found else Atom(part.column, "in", ())


def _require_text(scope: Scope, *nodes: Any) -> None:
    """Refuse the name of a column where a value must stand, if it may be meant as text."""
    for node in nodes:
        if not isinstance(bare(node), exp.Column):
            continue
        text = shown(exp.Literal.string(bare(node).name))
        if bare(node).this.args.get("quoted"):
            raise ParameterError(
                f"{shown(node)}: double quotes are for names of columns. Hint: text stands in single quotes, {text}."
            )
        if scope.alike(bare(node).name) is None:
            known(bare(node).name, scope.schema.columns, text=f"in single quotes, {text}")


def _is(node: Any, scope: Scope) -> Tree:
    what = bare(node.expression)
    if isinstance(what, exp.Null):
        name = scope.column(bare(node.this))
        return Atom(name, "missing")
    if isinstance(what, exp.Boolean):
        part = tree_of(node.this, scope)
        return Untrue(Untrue(part if what.this else Not(part)))  # never unknown
    raise refused(f"the condition {shown(node)}: IS goes with NULL, TRUE or FALSE")


def _like(node: Any, scope: Scope) -> Tree:
    """Which words of a vocabulary have the form: known beforehand, if there are no others."""
    name = scope.column(bare(node.this))
    column = scope[name]
    pattern = value(node.expression)
    if not isinstance(column, Category) or not all(isinstance(word, str) for word in column.values):
        raise ParameterError(f"Column {name!r} is no column of words, which LIKE is for. Hint: compare it with =.")
    if column.other:
        raise ParameterError(
            f"LIKE cannot be answered on {name!r}: words beyond its vocabulary are counted together, and which of them "
            f"have the form is not known. Hint: {identifier(name)} IN (…)."
        )
    if not isinstance(pattern, str):
        raise refused(f"{shown(node)}: LIKE goes with a text")
    folded = str.lower if isinstance(node, exp.ILike) else str
    found = Atom(name, "in", tuple(word for word in column.values if is_like(folded(str(word)), folded(pattern))))
    return Not(found) if node.args.get("negate") else found


def is_like(word: str, pattern: str) -> bool:
    """Whether a word has a form: % is any text, _ any letter.

    The last % takes as little as it can, and more when the rest does not fit: no pattern takes long.

    >>> [is_like(word, "%o_n%") for word in ("Bonn", "Bon", "Cologne", "London")]
    [True, False, True, False]
    """
    at = place = 0
    star = -1
    mark = 0
    while at < len(word):
        if place < len(pattern) and pattern[place] == "%":
            star, mark, place = place, at, place + 1
        elif place < len(pattern) and pattern[place] in ("_", word[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            mark += 1
            at, place = mark, star + 1
        else:
            return False
    return not pattern[place:].strip("%")
