"""What the cells of a column bear: which groups are made of whole cells, and what to group by instead."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scumble.columns.column import Column
from scumble.columns.conditions import bounds, condition
from scumble.columns.date import Date
from scumble.columns.grammar import Atom, Junction, Tree
from scumble.columns.number import Number
from scumble.errors import ParameterError
from scumble.sql.scope import Scope
from scumble.sql.syntax import Node, bare, exp, identifier, refused, shown
from scumble.table.asking import MOST_GROUPS

EVERYTHING, NOTHING = Junction(True, ()), Junction(False, ())


def both(*trees: Tree) -> Tree:
    """All of the conditions."""
    kept = [tree for tree in trees if tree != EVERYTHING]
    return kept[0] if len(kept) == 1 else Junction(True, tuple(kept))


def bearable(name: str, column: Column) -> str:
    """Something to group by that the cells of a column bear, as SQL writes it: its values, if it tells them apart."""
    written = identifier(name)
    if not isinstance(column, Number | Date) or column.each_apart:
        return written
    inner = column.cuts.edges[1:-1]
    if not inner:
        return f"{written} IS NULL"
    if isinstance(column, Date):
        known = {moment_of(column.moment(place)) for place in inner}
        for unit in reversed(UNITS):
            begin = starts(column, unit, min(len(inner) + 2, MOST_GROUPS))[1:]
            if begin and known.issuperset(begin):
                return f"date_trunc('{unit}', {written})"
        return f"{written} < '{column.moment(inner[len(inner) // 2])}'"
    if inner == (1,) and column.low == 0:
        return f"{written} > 0"  # zero has one cell, and all else the other
    assert column.low is not None and column.high is not None
    edges, end = column.cuts.values(np.array(inner)).tolist(), column.high + column.whole
    for step in (edge - column.low for edge in edges):
        if (end - column.low) / step <= len(edges) + 1:
            first, last = math.floor(column.low / step) + 1, math.ceil(end / step)
            if first < last and {*edges}.issuperset(k * step for k in range(first, last)):
                return f"floor({written} / {_plainly(step)}) * {_plainly(step)}"
    return f"{written} < {_plainly(edges[len(edges) // 2])}"


def instead(name: str, column: Column) -> str:
    """What can be grouped by, in words."""
    return f"GROUP BY {bearable(name, column)}, or other ranges of whole cells"


def _plainly(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def require_whole_cells(tree: Tree, where: Tree, name: str, scope: Scope, what: str) -> None:
    """Refuse a group that cuts cells and holds none as a whole: all that is known of it would be a guess."""
    found = [condition(scope.schema, asked) for asked in (tree, both(where, tree))]
    if all(one.partly and not bounds(one)[0].possible for one in found):
        hint = f"Hint: {instead(name, scope[name])}; a schema can declare other cells."
        raise ParameterError(f"{what} cuts through cells of column {name!r}, so groups would be guessed. {hint}")


UNITS = {
    "year": ("Y", 1, 0),
    "quarter": ("M", 3, 0),
    "month": ("M", 1, 0),
    "week": ("D", 7, 3),
    "day": ("D", 1, 0),
    "hour": ("h", 1, 0),
    "minute": ("m", 1, 0),
}
"""The unit of numpy that each is a multiple of, how many, and how many of them 1970 began after this start."""
_PARTS: dict[str, tuple[str, Callable[[datetime.datetime], object]]] = {
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
    of: Callable[[datetime.datetime], object]


def part_of(node: Node, scope: Scope) -> Part | None:
    """The part of the calendar that a part of a statement is: date_trunc('month', seen), month(seen),
    extract(dow from seen), date_part('year', seen), strftime(seen, '%Y-%m'). None if it is none."""
    if isinstance(node, exp.TimeToStr):
        signs = re.findall("%(.)", node.args["format"].name) if isinstance(node.args.get("format"), exp.Literal) else []
        if not signs or not _FORMATS.keys() >= {*signs}:
            known = " ".join(f"%{sign}" for sign in _FORMATS)
            raise refused(f"{shown(node)}: write strftime(column, '%m'), with {known}")
        written, unit = node.args["format"].name, max((_FORMATS[sign] for sign in signs), key=[*UNITS].index)
        return _dated(node.this, unit, lambda at: at.strftime(written), scope)
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
        unit = str(getattr(node.args.get("unit"), "name", "")).lower()
        if unit not in UNITS:
            raise refused(f"{shown(node)}: date_trunc knows {', '.join(UNITS)}")
        found = _dated(node.this, unit, lambda at: at, scope)
        days = getattr(scope[found.column], "resolution", "") == "day"
        return found._replace(of=lambda at: at.date() if days else at)
    inner: Node = None
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


def _dated(inner: Node, unit: str, of: Callable[[datetime.datetime], object], scope: Scope) -> Part:
    inner = bare(inner.this if isinstance(inner, exp.Cast) and inner.to.is_type("date", "timestamp") else inner)
    name = scope.column(inner)
    if not isinstance(scope[name], Date):
        raise ParameterError(f"Column {name!r} is a {scope[name].kind}, no date. Hint: use the column itself.")
    return Part(name, unit, of)


def runs(part: Part, scope: Scope) -> dict[object, Tree]:
    """What the part of a date can be, and the dates of which it is."""
    column, name = scope[part.column], part.column
    assert isinstance(column, Date)
    found: dict[object, list[Tree]] = {}
    begin = starts(column, part.unit)
    if len(begin) > MOST_GROUPS:
        raise ParameterError(f"There are over {MOST_GROUPS:,} {part.unit}s. Hint: date_trunc('year', x), or a WHERE.")
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
    code, step, past = UNITS[unit]
    ends = (np.datetime64(column.moment(place), "s") for place in (column.line[0], column.line[1] - 1))
    first, last = (int(end.astype(f"M8[{code}]").astype(int)) for end in ends)
    first = (first + past) // step * step - past
    found = np.arange(first, min(last + 1, first + most * step), step).astype(f"M8[{code}]")
    listed: list[datetime.datetime] = found.astype("M8[s]").tolist()
    return listed


def moment_of(found: datetime.date) -> datetime.datetime:
    """A date as the moment at which it begins."""
    return found if isinstance(found, datetime.datetime) else datetime.datetime.combine(found, datetime.time())
