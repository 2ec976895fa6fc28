"""What is computed of aggregates: draw by draw, so that intervals know how the aggregates' errors are related."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from scumble.errors import ParameterError
from scumble.relational.aggregates import Aggregate, Share, aggregate_of, is_aggregate
from scumble.relational.literals import is_value, number
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, refused, shown
from scumble.tabular.answers import NONE
from scumble.tabular.estimate import Estimate, around

_SIGNS: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}


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
Alias: TypeAlias = Callable[[Any], Any]
"""What an alias stands for, or None."""


def formula_of(node: Any, scope: Scope, alias: Alias = lambda _: None) -> Formula:
    """The formula that a part of a statement is."""
    node = bare(node)
    if is_aggregate(node):
        found = aggregate_of(node, scope)
        return Operation("share", (found.part, found.whole)) if isinstance(found, Share) else found
    if isinstance(node, exp.Literal) and not node.is_string:
        return Constant(float(number(node)))
    if isinstance(node, exp.Column):
        meant = alias(node)
        if meant is not None:
            return formula_of(meant, scope)
        name = scope.column(node)
        raise ParameterError(f"Column {name!r} must be grouped by, or be within an aggregate such as avg({name}).")
    name, inner, digits = _operation(node)
    parts = tuple(formula_of(part, scope, alias) for part in inner)
    if any(isinstance(part, Aggregate) and part.dated for part in parts):
        raise refused(f"{shown(node)}: nothing is computed of dates")
    return Operation(name, parts, digits)


def _operation(node: Any) -> tuple[str, list[Any], int]:
    if type(node) in _SIGNS:
        return _SIGNS[type(node)], [node.this, node.expression], 0
    if isinstance(node, exp.Neg | exp.Abs):
        return "negative" if isinstance(node, exp.Neg) else "abs", [node.this], 0
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
    raise refused(
        f"{shown(node)}: of aggregates, + - * /, round, floor, ceil, abs, nullif(x, 0) and coalesce(x, 0) are computed"
    )


def worked_out(formula: Formula, answer: Callable[[Aggregate], Estimate], confidence: float) -> Estimate:
    """The formula's value and interval, given those of its aggregates."""
    if isinstance(formula, Aggregate):
        return answer(formula)
    found: list[Estimate] = []

    def on(formula: Formula) -> tuple[Any, Any]:
        """The value of a formula, and its values on all draws."""
        if isinstance(formula, Constant):
            return np.float64(formula.number), np.float64(formula.number)
        if isinstance(formula, Aggregate):
            found.append(answer(formula))
            value = np.float64(found[-1].value)
            return value, value if found[-1].draws is None else found[-1].draws
        values, draws = zip(*(on(part) for part in formula.parts), strict=True)
        operation = _OPERATIONS[formula.name]
        return operation(formula.digits, *values), operation(formula.digits, *draws)

    with np.errstate(divide="ignore", invalid="ignore"):
        value, each = on(formula)
    least, most = (0.0, 1.0) if isinstance(formula, Operation) and formula.name == "share" else (-math.inf, math.inf)
    remarks = tuple(dict.fromkeys(remark for one in found for remark in one.remarks))
    if np.ndim(each) == 0:
        return Estimate(float(value), float(value), float(value), 0.0, remarks)
    return around(float(value), np.asarray(each, float), confidence, remarks, "", least, most)


# ---- arithmetic of numbers and of draws ----


def _share(_: int, a: Any, b: Any) -> Any:
    return np.where(np.asarray(b) >= NONE, np.clip(a / b, 0.0, 1.0), np.nan)


def _rounded(digits: int, a: Any) -> Any:
    """Halves away from zero, as SQL does."""
    unit = 10.0**digits
    return np.where(np.abs(a) * unit < 2**52, np.copysign(np.floor(np.abs(a) * unit + 0.5) / unit, a), a)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda _, a, b: a + b,
    "-": lambda _, a, b: a - b,
    "*": lambda _, a, b: a * b,
    "/": lambda _, a, b: np.where(np.asarray(b) == 0, np.nan, a / b),
    "share": _share,
    "negative": lambda _, a: -a,
    "abs": lambda _, a: np.abs(a),
    "nullif": lambda _, a: np.where(np.asarray(a) == 0, np.nan, a),
    "coalesce": lambda _, a, b: np.where(np.isnan(a), b, a),
    "same": lambda _, a: a,
    "round": _rounded,
    "whole": lambda _, a: np.rint(a),
    "floor": lambda _, a: np.floor(a),
    "ceil": lambda _, a: np.ceil(a),
}
