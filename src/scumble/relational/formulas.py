"""What is computed of aggregates, with intervals that hold.

A formula of k aggregates is known as far as they are: where all their intervals hold, it lies between the least and the
most that it can be within these. So that all hold with the confidence that was asked for, each of k is taken with
1 − (1 − confidence) / k (Bonferroni), whatever their errors have to do with each other. Then the formula is worked out
on intervals, operation by operation. Both steps err on the side of wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from scumble.errors import ParameterError
from scumble.relational.aggregates import Aggregate, Share, aggregate_of, is_aggregate
from scumble.relational.literals import is_value, number
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, refused, shown
from scumble.tabular.answers import NONE

_SIGNS: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}


class Interval(NamedTuple):
    """A number, or a date, and the ends of its interval."""

    value: Any
    low: Any
    high: Any


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


def aggregates_in(formula: Formula) -> set[Aggregate]:
    """The different aggregates of a formula."""
    if isinstance(formula, Operation):
        return set().union(*(aggregates_in(part) for part in formula.parts))
    return {formula} if isinstance(formula, Aggregate) else set()


def worked_out(formula: Formula, answer: Callable[[Aggregate], Interval]) -> Interval:
    """The formula's value and interval, given those of its aggregates."""
    if isinstance(formula, Aggregate):
        return answer(formula)
    if isinstance(formula, Constant):
        return Interval(formula.number, formula.number, formula.number)
    parts = [worked_out(part, answer) for part in formula.parts]
    return _OPERATIONS[formula.name](formula.digits, *parts)


# ---- arithmetic of intervals ----


def _sum(_: int, a: Interval, b: Interval) -> Interval:
    return Interval(a.value + b.value, a.low + b.low, a.high + b.high)


def _negative(_: int, a: Interval) -> Interval:
    return Interval(-a.value, -a.high, -a.low)


def _product(_: int, a: Interval, b: Interval) -> Interval:
    ends = [_times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(a.value * b.value, min(ends), max(ends))


def _times(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y  # an infinite end is never reached


def _quotient(_: int, a: Interval, b: Interval) -> Interval:
    value = a.value / b.value if b.value != 0 else math.nan
    return Interval(value, *_quotients(a, b))


def _share(_: int, a: Interval, b: Interval) -> Interval:
    value, *ends = (min(max(x, 0.0), 1.0) if x == x else x for x in _quotient(0, a, b))
    return Interval(value if b.value >= NONE else math.nan, *ends)


def _quotients(a: Interval, b: Interval) -> tuple[float, float]:
    """The least and the most of x / y; y is never zero itself."""
    if b.high <= 0 and b.low < 0:
        a, b = _negative(0, a), _negative(0, b)
    if b.low > 0:
        ends = [x / y if math.isfinite(x) else x for x in (a.low, a.high) for y in (b.low, b.high)]
        return min(ends), max(ends)
    if b.low == 0 and b.high > 0 and a.low >= 0:
        return a.low / b.high, math.inf
    if b.low == 0 and b.high > 0 and a.high <= 0:
        return -math.inf, a.high / b.high
    return -math.inf, math.inf


def _abs(_: int, a: Interval) -> Interval:
    ends = sorted([abs(a.low), abs(a.high)])
    return Interval(abs(a.value), 0.0 if a.low <= 0 <= a.high else ends[0], ends[1])


def _nullif(_: int, a: Interval) -> Interval:
    return Interval(math.nan if a.value == 0 else a.value, a.low, a.high)


def _coalesce(_: int, a: Interval, b: Interval) -> Interval:
    return Interval(b.value, min(a.low, b.low), max(a.high, b.high)) if math.isnan(a.value) else a


def _rising(step: Callable[[float, int], float]) -> Callable[[int, Interval], Interval]:
    """What never falls maps ends to ends."""

    def stepped(digits: int, a: Interval) -> Interval:
        return Interval(*(step(x, digits) if math.isfinite(x) else x for x in a))

    return stepped


def _rounded(x: float, digits: int) -> float:
    """Halves away from zero, as SQL does."""
    unit = 10.0**digits
    return math.copysign(math.floor(abs(x) * unit + 0.5) / unit, x) if abs(x) * unit < 2**52 else x


_OPERATIONS: dict[str, Callable[..., Interval]] = {
    "+": _sum,
    "-": lambda _, a, b: _sum(0, a, _negative(0, b)),
    "*": _product,
    "/": _quotient,
    "share": _share,
    "negative": _negative,
    "abs": _abs,
    "nullif": _nullif,
    "coalesce": _coalesce,
    "same": lambda _, a: a,
    "round": _rising(_rounded),
    "whole": _rising(lambda x, _: float(round(x))),
    "floor": _rising(lambda x, _: float(math.floor(x))),
    "ceil": _rising(lambda x, _: float(math.ceil(x))),
}
