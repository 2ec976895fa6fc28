"""Which groups are shown: a condition on what is computed of them, in the logic of three values.

A group is judged by its values, not by their intervals: near the limit noise decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from scumble.relational.formulas import Alias, Formula, formula_of
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, parts_of, refused, shown
from scumble.relational.where import COMPARED

Value: TypeAlias = Callable[[Formula], Any]
"""The value of a formula in a group."""
Truth: TypeAlias = Callable[[Value], bool | None]
"""Whether a group is shown; None is unknown."""

_SIGNS: dict[type, str] = {exp.EQ: "==", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def truth_of(node: Any, scope: Scope, alias: Alias) -> Truth:
    """The condition that a part of a statement is."""
    node = bare(node)
    if isinstance(node, exp.And | exp.Or):
        parts, all_ = [truth_of(part, scope, alias) for part in parts_of(node)], isinstance(node, exp.And)
        return lambda value: _joined(all_, [part(value) for part in parts])
    if isinstance(node, exp.Not):
        inner = truth_of(node.this, scope, alias)
        return lambda value: None if (found := inner(value)) is None else not found
    if type(node) in _SIGNS:
        return _compared(_SIGNS[type(node)], *(_number(part, scope, alias) for part in (node.this, node.expression)))
    if isinstance(node, exp.Between):
        middle, low, high = (_number(part, scope, alias) for part in (node.this, node.args["low"], node.args["high"]))
        ends = [_compared(">=", middle, low), _compared("<=", middle, high)]
        return lambda value: _joined(True, [end(value) for end in ends])
    if isinstance(node, exp.Is) and isinstance(bare(node.expression), exp.Null):
        formula = _number(node.this, scope, alias)
        return lambda value: _known(value(formula)) is None
    raise refused(f"HAVING {shown(node)}: aggregates are compared with numbers; conditions on columns stand in WHERE")


def _number(node: Any, scope: Scope, alias: Alias) -> Formula:
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
