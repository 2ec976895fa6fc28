"""Values that somebody wrote in a statement, as the columns of a schema take them."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

from scumble.errors import ParameterError
from scumble.relational.syntax import bare, exp, refused, shown
from scumble.schema import clock
from scumble.schema.column import Column
from scumble.schema.date import Date, no_date

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?\Z")
_TYPES = {"DATE": _DAY, "TIMESTAMP": _TIME, "TIMESTAMP_S": _TIME}


def is_value(node: Any) -> bool:
    """Whether it is a value, and no column and no formula."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        node = bare(node.this)
        return isinstance(node, exp.Literal) and not node.is_string
    if isinstance(node, exp.Cast):
        return isinstance(node.this, exp.Literal)
    return isinstance(node, exp.Literal | exp.Boolean | exp.Null)


def value(node: Any) -> Any:
    """The value: a text, a number, a boolean, a date, or None."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        return -number(node.this)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Cast):
        return _typed(node)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else number(node)
    raise refused(f"{shown(node)} where a value must stand")


def number(node: Any) -> int | float:
    """A number, exactly as it is written: a comparison with 2.5 and one with 2 differ."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        return -number(node.this)
    if not isinstance(node, exp.Literal) or node.is_string or len(str(node.this)) > 400:
        raise refused(f"{shown(node)} where a number must stand")
    try:
        exact = Decimal(str(node.this).replace("_", ""))
    except ArithmeticError:
        raise refused(f"{shown(node)} where a number must stand") from None
    if exact and exact.adjusted() >= 300:
        raise ParameterError(f"The number {shown(node)} is too large.")
    if exact == exact.to_integral_value():
        return int(exact)
    if float(exact).is_integer():  # it would be taken for another number
        raise ParameterError(f"The number {shown(node)} has more digits than can be told apart. Hint: write fewer.")
    return float(exact)


def _typed(node: Any) -> Any:
    """DATE '2024-02-29' and its kin."""
    kind = node.to.sql("duckdb").upper()
    if not (isinstance(node.this, exp.Literal) and node.this.is_string and kind in _TYPES):
        raise refused(f"{shown(node)}: values are written plainly, dates as DATE '2024-02-29'")
    text = str(node.this.this)
    if not (_TYPES[kind].match(text) or _DAY.match(text)):
        raise ParameterError(f"{shown(node)} is no {kind}. Hint: write it as '2024-02-29' or '2024-02-29 12:30:00'.")
    return text


def fitting(literal: Any, column: Column) -> Any:
    """The value as this column takes it. A day beside times is its midnight, as in SQL; parts of dates are none."""
    if not isinstance(column, Date):
        return literal
    if isinstance(literal, str) and clock.seconds_of(literal) is None:
        raise no_date(literal)
    if not isinstance(literal, str) or not (_DAY.match(literal) or _TIME.match(literal)):
        raise ParameterError("it holds dates: compare it with one such as '2024-02-29' or '2024-02-29 12:30:00'")
    if column.resolution == "day" and _DAY.match(literal):
        return literal
    try:
        return datetime.datetime.fromisoformat(literal)
    except ValueError:
        raise ParameterError(f"there is no time {literal!r}") from None
