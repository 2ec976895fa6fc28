"""Conditions of a statement, as trees of the schema's own grammar, where the logic of NULL is settled; and groups.

A group is made of whole cells of its column, or is refused with a hint at what the cells bear.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from scumble.columns.category import Category
from scumble.columns.column import Column
from scumble.columns.conditions import bounds, condition
from scumble.columns.date import Date
from scumble.columns.grammar import Atom, Junction, Not, Tree, Untrue, known
from scumble.columns.number import Number
from scumble.errors import ParameterError
from scumble.sql.syntax import (
    Node,
    Scope,
    bare,
    exp,
    fitting,
    identifier,
    is_value,
    number,
    parts_of,
    refused,
    shown,
    value,
)
from scumble.table.asking import MOST_GROUPS, MOST_WORDS

EVERYTHING, NOTHING = Junction(True, ()), Junction(False, ())
CONDITIONS = (
    *(exp.And, exp.Or, exp.Not, exp.Boolean, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
)
"""What is true or false of a record."""
SIGNS: dict[type, str] = {exp.EQ: "==", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def both(*trees: Tree) -> Tree:
    """All of the conditions."""
    kept = [tree for tree in trees if tree != EVERYTHING]
    return kept[0] if len(kept) == 1 else Junction(True, tuple(kept))


def any_of(trees: list[Tree]) -> Tree:
    """Any of some conditions: by halves, so that joining many takes little time."""
    half = len(trees) // 2
    return trees[0] if len(trees) == 1 else Junction(False, (any_of(trees[:half]), any_of(trees[half:])))


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
        if not node.expressions:
            raise refused(f"{shown(node)}: IN goes with a list of values")
        return _atom(scope, node.this, "in", node.expressions)
    if isinstance(node, exp.Is):
        return _is(node, scope)
    if isinstance(node, exp.Like | exp.ILike):
        return _like(node, scope)
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
        left, right, sign = right, left, sign.translate(str.maketrans("<>", "><"))
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


Computed: TypeAlias = tuple[str, dict[object, Tree], bool]
"""A column; the values of what is computed of it, with their records; and whether they must be of whole cells."""


def _computed(node: Node, scope: Scope) -> Computed | None:
    """What month(seen), lower(town) and their kin can be; None if it is something else."""
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
    name, levels, _ = _computed(node, scope) or _steps(node, scope)
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


def _steps(node: Node, scope: Scope) -> Computed:
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
    levels: dict[object, list[Tree]] = {}
    for step in range(first, last + 1):
        low_end = float(step * width) if step > first else None
        high_end = float((step + 1) * width) if step < last else None
        called = step * factor if whole else float(step * factor)
        levels.setdefault(called, []).append(_range(name, low_end, high_end))
    return name, {called: any_of(trees) for called, trees in levels.items()}, False


def _range(name: str, low: object, high: object) -> Tree:
    """The values from an end, if there is one, to before another."""
    ends = [Atom(name, sign, (end,)) for sign, end in ((">=", low), ("<", high)) if end is not None]
    return both(*ends) if ends else Atom(name, "between", (None, None))


def _width(node: Node, whole_node: Node, scope: Scope) -> tuple[str, int | float, bool]:
    """The column, the width of a step, and whether it is SQL's division of whole numbers."""
    node = bare(node)
    whole = isinstance(node, exp.IntDiv)
    if isinstance(node, exp.Floor):
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


# ---- the calendar ----

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
    for place, start in enumerate(begin):
        end = begin[place + 1] if place + 1 < len(begin) else None
        found.setdefault(part.of(start), []).append(_range(name, start if place else None, end))
    return {value: any_of(trees) for value, trees in found.items()}


def starts(column: Date, unit: str, most: int = MOST_GROUPS + 1) -> list[datetime.datetime]:
    """Where each year, month, … of a column begins: the first few of them."""
    code, step, past = UNITS[unit]
    ends = (np.datetime64(column.moment(place), "s") for place in (column.line[0], column.line[1] - 1))
    first, last = (int(end.astype(f"M8[{code}]").astype(int)) for end in ends)
    first = (first + past) // step * step - past
    found = np.arange(first, min(last + 1, first + most * step), step).astype(f"M8[{code}]")
    listed: list[datetime.datetime] = found.astype("M8[s]").tolist()
    return listed


# ---- what cells bear ----


def bearable(name: str, column: Column) -> str:
    """Something to group by that the cells of a column bear, as SQL writes it: its values, if it tells them apart."""
    written = identifier(name)
    if not isinstance(column, Number | Date) or column.each_apart:
        return written
    inner = column.cuts.edges[1:-1]
    if not inner:
        return f"{written} IS NULL"
    if isinstance(column, Date):
        known = {np.datetime64(column.moment(place), "s").item() for place in inner}
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
                return f"floor({written} / {step:.12g}) * {step:.12g}"
    return f"{written} < {edges[len(edges) // 2]:.12g}"


def instead(name: str, column: Column) -> str:
    """What can be grouped by, in words."""
    return f"GROUP BY {bearable(name, column)}, or other ranges of whole cells"


def require_whole_cells(tree: Tree, where: Tree, name: str, scope: Scope, what: str) -> None:
    """Refuse a group that cuts cells and holds none as a whole: all that is known of it would be a guess."""
    found = [condition(scope.schema, asked) for asked in (tree, both(where, tree))]
    if all(one.partly and not bounds(one)[0].possible for one in found):
        hint = f"Hint: {instead(name, scope[name])}; a schema can declare other cells."
        raise ParameterError(f"{what} cuts through cells of column {name!r}, so groups would be guessed. {hint}")
