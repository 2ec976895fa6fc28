"""What is computed of aggregates: draw by draw, so that intervals know how the aggregates' errors are related."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Constant:
    """A number that somebody wrote."""

    number: float


@dataclass(frozen=True)
class Operation:
    """Something computed of formulas."""

    name: str
    parts: tuple[Formula, ...]
    digits: int = 0


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
    name, inner, digits = _operation(node)
    parts = tuple(formula_of(part, scope, alias) for part in inner)
    if any(isinstance(part, Aggregate) and part.dated for part in parts):
        raise refused(f"{shown(node)}: nothing is computed of dates")
    return Operation(name, parts, digits)


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


def _operation(node: Node) -> tuple[str, list[Node], int]:
    if type(node) in _SIGNS:
        return _SIGNS[type(node)], [node.this, node.expression], 0
    if isinstance(node, exp.Neg | exp.Abs | exp.Sqrt | exp.Ln | exp.Exp):
        return type(node).__name__.lower(), [node.this], 0
    if isinstance(node, exp.Floor | exp.Ceil) and not node.args.get("decimals"):
        return "floor" if isinstance(node, exp.Floor) else "ceil", [node.this], 0
    if isinstance(node, exp.Round) and not node.args.get("truncate"):
        digits = number(node.args["decimals"]) if node.args.get("decimals") is not None else 0
        if not isinstance(digits, int) or abs(digits) > 15:
            raise ParameterError("round goes with a whole number of digits from -15 to 15.")
        return "round", [node.this], digits
    if isinstance(node, exp.Nullif) and is_value(node.expression) and number(node.expression) == 0:
        return "nullif", [node.this], 0
    if isinstance(node, exp.Coalesce) and len(node.expressions) == 1 and is_value(node.expressions[0]):
        return "coalesce", [node.this, node.expressions[0]], 0
    if isinstance(node, exp.Cast) and node.to.is_type("double", "float"):
        return "same", [node.this], 0
    if isinstance(node, exp.Cast) and node.to.is_type("int", "bigint"):
        return "whole", [node.this], 0
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

    def computed(numbers: list[ArrayLike]) -> Floats:
        return np.asarray(_OPERATIONS[formula.name](formula.digits, *map(np.asarray, numbers)), float)

    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(computed([part.value for part in parts]))
        each = computed([part.value if part.draws is None else part.draws for part in parts])
        ends = [float(computed([getattr(part, end) for part in parts])) for end in ("low", "high")]
    remarks = tuple(dict.fromkeys(remark for part in parts for remark in part.remarks))
    found = around(value, each.reshape(-1), confidence, remarks)
    if not varied:
        return Estimate(value, value, value, 0.0, remarks)
    if len(varied) == 1 and formula.name not in ("abs", "pow") and (formula.name, varied) != ("/", [1]):
        return replace(found, value=value, low=min(ends), high=max(ends))
    return found


# ---- arithmetic of numbers and of draws ----


def _rounded(digits: int, a: Floats) -> Floats:
    """Halves away from zero, as SQL does."""
    unit = 10.0**digits
    return np.where(np.abs(a) * unit < 2**52, np.copysign(np.floor(np.abs(a) * unit + 0.5) / unit, a), a)


_OPERATIONS: dict[str, Callable[..., ArrayLike]] = {
    "+": lambda _, a, b: a + b,
    "-": lambda _, a, b: a - b,
    "*": lambda _, a, b: a * b,
    "/": lambda _, a, b: np.where(np.asarray(b) == 0, np.nan, a / b),
    "neg": lambda _, a: -a,
    "sqrt": lambda _, a: np.sqrt(a),
    "abs": lambda _, a: np.abs(a),
    "ln": lambda _, a: np.log(np.where(np.asarray(a) > 0, a, np.nan)),
    "exp": lambda _, a: np.exp(a),
    "pow": lambda _, a, b: np.power(np.asarray(a, float), b),
    "nullif": lambda _, a: np.where(np.asarray(a) == 0, np.nan, a),
    "coalesce": lambda _, a, b: np.where(np.isnan(a), b, a),
    "same": lambda _, a: a,
    "round": _rounded,
    "whole": lambda _, a: np.rint(a),
    "floor": lambda _, a: np.floor(a),
    "ceil": lambda _, a: np.ceil(a),
}

Value: TypeAlias = Callable[[Formula], float]
"""The value of a formula in a group."""
Truth: TypeAlias = Callable[[Value], bool | None]
"""Whether a group is shown; None is unknown."""


def truth_of(node: Node, scope: Scope, alias: Alias) -> Truth:
    """The condition that a part of a statement is."""
    node = bare(node)
    if isinstance(node, exp.And | exp.Or):
        parts, all_ = [truth_of(part, scope, alias) for part in parts_of(node)], isinstance(node, exp.And)
        return lambda value: _joined(all_, [part(value) for part in parts])
    if isinstance(node, exp.Not):
        inner = truth_of(node.this, scope, alias)
        return lambda value: None if (found := inner(value)) is None else not found
    if type(node) in SIGNS:
        return _compared(SIGNS[type(node)], *(_number(part, scope, alias) for part in (node.this, node.expression)))
    if isinstance(node, exp.Between):
        middle, low, high = (_number(part, scope, alias) for part in (node.this, node.args["low"], node.args["high"]))
        ends = [_compared(">=", middle, low), _compared("<=", middle, high)]
        return lambda value: _joined(True, [end(value) for end in ends])
    if isinstance(node, exp.Is) and isinstance(bare(node.expression), exp.Null):
        formula = _number(node.this, scope, alias)
        return lambda value: _known(value(formula)) is None
    raise refused(f"HAVING {shown(node)}: aggregates are compared with numbers; conditions on columns stand in WHERE")


def _number(node: Node, scope: Scope, alias: Alias) -> Formula:
    if isinstance(bare(node), exp.Column) and alias(bare(node)) is None:
        raise refused(f"HAVING on the column {shown(node)}: conditions on columns stand in WHERE")
    formula = formula_of(node, scope, alias)
    if getattr(formula, "dated", False):
        raise refused(f"HAVING {shown(node)}: only numbers are compared there")
    return formula


def _compared(sign: str, left: Formula, right: Formula) -> Truth:
    def truth(value: Value) -> bool | None:
        one, other = _known(value(left)), _known(value(right))
        return None if one is None or other is None else COMPARED[sign](one, other)

    return truth


def _known(found: float) -> float | None:
    return None if math.isnan(found) else found


def _joined(every: bool, truths: list[bool | None]) -> bool | None:
    """AND, or OR, where some may be unknown."""
    if (not every) in truths:
        return not every
    return None if None in truths else every
