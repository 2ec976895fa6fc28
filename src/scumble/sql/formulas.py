"""What is computed of aggregates: draw by draw, so that intervals know how the aggregates' errors are related.

A condition of HAVING is a formula, too: 1 where it is true, 0 where it is false, NaN where it is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from scumble.errors import ParameterError
from scumble.sql.aggregates import Aggregate, Floats, aggregate_of, is_aggregate
from scumble.sql.cells import EVERYTHING, both
from scumble.sql.scope import Scope, is_value, number
from scumble.sql.syntax import Node, bare, exp, parts_of, refused, shown
from scumble.sql.where import COMPARED, SIGNS, tree_of
from scumble.table.estimate import Estimate, around

_SIGNS: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Pow: "pow"}
_FUNCTIONS = (exp.Neg, exp.Abs, exp.Sqrt, exp.Ln, exp.Exp, exp.Floor, exp.Ceil)


@dataclass(frozen=True)
class Constant:
    """A number that was written."""

    number: float


@dataclass(frozen=True)
class Operation:
    """Something computed of formulas."""

    name: str
    parts: tuple[Formula, ...]


Formula: TypeAlias = Aggregate | Constant | Operation
Alias: TypeAlias = Callable[[Node], Node | None]
"""What an alias stands for, or None."""


def formula_of(node: Node, scope: Scope, alias: Alias = lambda _: None) -> Formula:
    """The formula that a part of a statement is."""
    node = bare(node)
    if is_aggregate(node):
        return aggregate_of(node, scope)
    if isinstance(node, exp.Literal) and not node.is_string:
        return Constant(float(number(node)))
    if isinstance(node, exp.Column):
        meant = alias(node)
        if meant is not None:
            return formula_of(meant, scope)
        name = scope.column(node)
        raise ParameterError(f"Column {name!r} must be grouped by, or be within an aggregate such as avg({name}).")
    if isinstance(node, exp.Window | exp.Subquery):
        return _overall(node, scope)
    name, inner = _operation(node)
    return _made(name, node, [formula_of(part, scope, alias) for part in inner])


def having_of(node: Node, scope: Scope, alias: Alias) -> Formula:
    """The condition on groups that a part of a statement is."""
    node = bare(node)
    if isinstance(node, exp.And | exp.Or):
        parts = [having_of(part, scope, alias) for part in parts_of(node)]
        return _made("and" if isinstance(node, exp.And) else "or", node, parts)
    if isinstance(node, exp.Not):
        return _made("not", node, [having_of(node.this, scope, alias)])
    if isinstance(node, exp.Between):
        ends = (
            exp.GTE(this=node.this, expression=node.args["low"]),
            exp.LTE(this=node.this, expression=node.args["high"]),
        )
        return _made("and", node, [having_of(end, scope, alias) for end in ends])
    null = isinstance(node, exp.Is) and isinstance(bare(node.expression), exp.Null)
    if not null and type(node) not in SIGNS:
        raise refused(
            f"HAVING {shown(node)}: aggregates are compared with numbers; conditions on columns stand in WHERE"
        )
    sides = [node.this] if null else [node.this, node.expression]
    for side in map(bare, sides):
        if isinstance(side, exp.Column) and alias(side) is None:
            raise refused(f"HAVING on the column {shown(side)}: conditions on columns stand in WHERE")
    return _made("null" if null else SIGNS[type(node)], node, [formula_of(side, scope, alias) for side in sides])


def _made(name: str, node: Node, parts: Sequence[Formula]) -> Operation:
    if any(isinstance(part, Aggregate) and part.dated for part in parts):
        raise refused(f"{shown(node)}: nothing is computed of dates")
    return Operation(name, tuple(parts))


def _overall(node: Node, scope: Scope) -> Formula:
    """What is computed of more records than the group's: sum(count(*)) OVER (), (SELECT count(*) FROM people)."""
    if isinstance(node, exp.Window):
        inner = bare(node.this.this) if isinstance(node.this, exp.Sum) else None
        plain = not any(part for key, part in node.args.items() if key not in ("this", "over"))
        found = aggregate_of(inner, scope) if plain and is_aggregate(inner) else None
        if found is None or found.kind not in ("count", "sum"):
            raise refused(f"the window {shown(node)} (sum(count(*)) OVER () is known)")
        return replace(found, among="kept")
    tree = node.this
    beyond = [key for key, part in tree.args.items() if part and key not in ("expressions", "from_", "where")]
    table: Node = tree.args["from_"].this if tree.args.get("from_") else None
    if beyond or len(tree.expressions) != 1 or getattr(table, "name", "").lower() != scope.source.lower():
        raise refused(f"the subquery {shown(node)}: a number of the same release can stand there")
    own = Scope(scope.release, table.alias_or_name, scope.source)
    where = tree_of(tree.args["where"].this, own) if tree.args.get("where") else EVERYTHING

    def among(formula: Formula) -> Formula:
        if isinstance(formula, Operation):
            return replace(formula, parts=tuple(map(among, formula.parts)))
        if isinstance(formula, Aggregate):
            return replace(formula, among="all", where=both(where, formula.where))
        return formula

    return among(formula_of(tree.expressions[0].unalias(), own))


def _operation(node: Node) -> tuple[str, list[Node]]:
    """What is computed, and of which parts of a statement."""
    if type(node) in _SIGNS:
        return _SIGNS[type(node)], [node.this, node.expression]
    if isinstance(node, _FUNCTIONS) and not node.args.get("decimals"):
        return type(node).__name__.lower(), [node.this]
    if isinstance(node, exp.Round) and not node.args.get("truncate"):
        decimals = node.args.get("decimals") or exp.Literal.number(0)
        digits = number(decimals)
        if not isinstance(digits, int) or abs(digits) > 15:
            raise ParameterError("round goes with a whole number of digits from -15 to 15.")
        return "round", [node.this, decimals]
    if isinstance(node, exp.Nullif) and is_value(node.expression) and number(node.expression) == 0:
        return "nullif", [node.this]
    if isinstance(node, exp.Coalesce) and len(node.expressions) == 1 and is_value(node.expressions[0]):
        return "coalesce", [node.this, node.expressions[0]]
    if isinstance(node, exp.Cast) and node.to.is_type("double", "float", "int", "bigint"):
        return "same" if node.to.is_type("double", "float") else "whole", [node.this]
    known = "+ - * /, round, floor, ceil, abs, sqrt, ln, exp, pow, nullif(x, 0), coalesce(x, 0)"
    raise refused(f"{shown(node)}: of aggregates, {known} are computed")


def worked_out(formula: Formula, answer: Callable[[Aggregate], Estimate], confidence: float) -> Estimate:
    """The formula's value and interval, given those of its aggregates.

    What rises or falls with a single number, such as 100 times it, has the ends of that number's interval; anything
    else has an interval by its own draws.
    """
    if isinstance(formula, Aggregate):
        return answer(formula)
    if isinstance(formula, Constant):
        return Estimate(formula.number, formula.number, formula.number, 0.0)
    parts = [worked_out(part, answer, confidence) for part in formula.parts]
    varied = [k for k, one in enumerate(parts) if one.draws is not None or not one.low == one.value == one.high]

    def computed(numbers: Iterable[ArrayLike]) -> Floats:
        return np.asarray(_OPERATIONS[formula.name](*(np.asarray(one, float) for one in numbers)), float)

    with np.errstate(divide="ignore", invalid="ignore"):
        value, *ends = (float(computed(getattr(part, end) for part in parts)) for end in ("value", "low", "high"))
        each = computed(part.value if part.draws is None else part.draws for part in parts)
    remarks = tuple(dict.fromkeys(remark for part in parts for remark in part.remarks))
    if not varied:
        return Estimate(value, value, value, 0.0, remarks)
    found = around(value, each.reshape(-1), confidence, remarks)
    if len(varied) == 1 and formula.name not in ("abs", "pow") and (formula.name, varied) != ("/", [1]):
        return replace(found, value=value, low=min(ends), high=max(ends))
    return found


# ---- arithmetic of numbers and of draws ----


def _rounded(a: Floats, digits: Floats) -> Floats:
    """Halves away from zero, as SQL does."""
    unit = 10.0**digits
    return np.where(np.abs(a) * unit < 2**52, np.copysign(np.floor(np.abs(a) * unit + 0.5) / unit, a), a)


def _every(*truths: Floats) -> Floats:
    return np.where(reduce(np.fmin, truths) == 0, 0.0, reduce(np.minimum, truths))


def _any(*truths: Floats) -> Floats:
    return np.where(reduce(np.fmax, truths) == 1, 1.0, reduce(np.maximum, truths))


def _comparison(sign: str) -> Callable[[Floats, Floats], Floats]:
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, COMPARED[sign](a, b))


_OPERATIONS: dict[str, Callable[..., ArrayLike]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": lambda a, b: np.where(b == 0, np.nan, a / b),
    "neg": np.negative,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "ln": lambda a: np.log(np.where(a > 0, a, np.nan)),
    "exp": np.exp,
    "pow": np.power,
    "nullif": lambda a: np.where(a == 0, np.nan, a),
    "coalesce": lambda a, b: np.where(np.isnan(a), b, a),
    "same": np.positive,
    "round": _rounded,
    "whole": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
    "and": _every,
    "or": _any,
    "not": lambda a: 1 - a,
    "null": np.isnan,
    **{sign: _comparison(sign) for sign in COMPARED},
}
