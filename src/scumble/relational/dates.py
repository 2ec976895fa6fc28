"""Parts of the calendar: which dates are in one year, month or week, and which have the same month or day of the week.

A part is settled by a unit of the calendar: the month of a date by the month it lies in, the day of the week by the
day. All dates of a column are cut into such units, in order, and those with the same part are put together.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from scumble.errors import ParameterError
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, refused, shown
from scumble.schema.date import Date
from scumble.schema.grammar import Atom, Junction, Tree
from scumble.tabular.frames import MOST_GROUPS

UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute")
_PARTS: dict[str, tuple[str, Callable[[datetime.datetime], Any]]] = {
    "year": ("year", lambda at: at.year),
    "quarter": ("quarter", lambda at: (at.month + 2) // 3),
    "month": ("month", lambda at: at.month),
    "monthname": ("month", lambda at: at.strftime("%B")),
    "week": ("week", lambda at: at.isocalendar().week),
    "day": ("day", lambda at: at.day),
    "dow": ("day", lambda at: at.isoweekday() % 7),
    "isodow": ("day", lambda at: at.isoweekday()),
    "dayname": ("day", lambda at: at.strftime("%A")),
    "doy": ("day", lambda at: at.timetuple().tm_yday),
    "hour": ("hour", lambda at: at.hour),
    "minute": ("minute", lambda at: at.minute),
}
"""What of the calendar settles each part, and what the part is where that begins."""
_ALSO = {
    "dayofweek": "dow",
    "weekday": "dow",
    "dayofweekiso": "isodow",
    "dayofmonth": "day",
    "dayofyear": "doy",
    "weekofyear": "week",
}
_FORMATS = {
    **dict.fromkeys("Yy", "year"),
    **dict.fromkeys("mbB", "month"),
    **dict.fromkeys("djaAwu", "day"),
    "H": "hour",
    "M": "minute",
}
"""What settles each sign of strftime."""


class Part(NamedTuple):
    """A part of the dates of a column."""

    column: str
    unit: str
    of: Callable[[datetime.datetime], Any]


def part_of(node: Any, scope: Scope) -> Part | None:
    """The part of the calendar that a part of a statement is: date_trunc('month', seen), month(seen),
    extract(dow from seen), date_part('year', seen), strftime(seen, '%Y-%m'). None if it is none."""
    if isinstance(node, exp.TimeToStr):
        signs = re.findall("%(.)", node.args["format"].name) if isinstance(node.args.get("format"), exp.Literal) else []
        if not signs or not _FORMATS.keys() >= {*signs}:
            raise refused(f"{shown(node)}: strftime knows {' '.join(f'%{sign}' for sign in _FORMATS)}")
        written, unit = node.args["format"].name, max((_FORMATS[sign] for sign in signs), key=UNITS.index)
        return _dated(node.this, unit, lambda at: at.strftime(written), scope)
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
        unit = str(getattr(node.args.get("unit"), "name", "")).lower()
        if unit not in UNITS:
            raise refused(f"{shown(node)}: date_trunc knows {', '.join(UNITS)}")
        found = _dated(node.this, unit, lambda at: at, scope)
        days = getattr(scope[found.column], "resolution", "") == "day"
        return found._replace(of=lambda at: at.date() if days else at)
    inner: Any = None
    if isinstance(node, exp.Extract):
        name, inner = node.this.name, node.expression
    elif isinstance(node, exp.Anonymous):
        name, given = node.name, node.expressions
        if name.lower() in ("date_part", "datepart") and len(given) == 2:
            name, inner = given[0].name, given[1]
        elif len(given) == 1:
            (inner,) = given
    else:
        name, inner = type(node).__name__, node.this
    name = _ALSO.get(name.lower(), name.lower())
    if isinstance(node, exp.Extract) and name not in _PARTS:
        raise refused(f"{shown(node)}: of the parts of a date, {', '.join(_PARTS)} are known")
    return _dated(inner, *_PARTS[name], scope) if name in _PARTS and inner is not None else None


def _dated(inner: Any, unit: str, of: Callable[[datetime.datetime], Any], scope: Scope) -> Part:
    inner = bare(inner.this if isinstance(inner, exp.Cast) and inner.to.is_type("date", "timestamp") else inner)
    name = scope.column(inner)
    if not isinstance(scope[name], Date):
        raise ParameterError(f"Column {name!r} is a {scope[name].kind}, no date. Hint: use the column itself.")
    return Part(name, unit, of)


def runs(part: Part, scope: Scope) -> dict[Any, Tree]:
    """What the part of a date can be, and the dates of which it is."""
    column, name = scope[part.column], part.column
    assert isinstance(column, Date)
    found: dict[Any, list[Tree]] = {}
    begin = starts(column, part.unit)
    if len(begin) > MOST_GROUPS:
        raise ParameterError(
            f"The column has more than {MOST_GROUPS:,} {part.unit}s. Hint: date_trunc('year', x), or a range in WHERE."
        )
    for place, (start, end) in enumerate(pairwise([*begin, None])):
        assert start is not None
        ends = [Atom(name, ">=", (start,))] if place else []
        ends += [Atom(name, "<", (end,))] if end is not None else []
        tree = Junction(True, tuple(ends)) if ends else Atom(name, "between", (None, None))
        found.setdefault(part.of(start), []).append(tree)
    return {value: any_of(trees) for value, trees in found.items()}


def any_of(trees: list[Tree]) -> Tree:
    """Any of some conditions: by halves, so that joining many takes little time."""
    half = len(trees) // 2
    return trees[0] if len(trees) == 1 else Junction(False, (any_of(trees[:half]), any_of(trees[half:])))


def starts(column: Date, unit: str, most: int = MOST_GROUPS + 1) -> list[datetime.datetime]:
    """Where each year, month, … of a column begins: the first few of them."""
    code, step, past = _STEPS[unit]
    ends = (np.datetime64(column.moment(place), "s") for place in (column.line[0], column.line[1] - 1))
    first, last = (int(end.astype(f"M8[{code}]").astype(int)) for end in ends)
    first = (first + past) // step * step - past
    found = np.arange(first, min(last + 1, first + most * step), step).astype(f"M8[{code}]")
    listed: list[datetime.datetime] = found.astype("M8[s]").tolist()
    return listed


_STEPS = {
    "year": ("Y", 1, 0),
    "quarter": ("M", 3, 0),
    "month": ("M", 1, 0),
    "week": ("D", 7, 3),
    "day": ("D", 1, 0),
    "hour": ("h", 1, 0),
    "minute": ("m", 1, 0),
}
"""The unit of numpy that each is a multiple of, how many, and how many of them 1970 began after such a start."""


def moment_of(found: datetime.date) -> datetime.datetime:
    """A date as the moment at which it begins."""
    return found if isinstance(found, datetime.datetime) else datetime.datetime.combine(found, datetime.time())
