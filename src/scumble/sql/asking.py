"""``scumble.sql``: from a statement to a frame."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from scumble import checks
from scumble.columns.conditions import condition
from scumble.columns.grammar import Tree
from scumble.errors import ParameterError, parameter
from scumble.sql.aggregates import Aggregate, Floats, aggregate_of, is_aggregate
from scumble.sql.syntax import (
    Node,
    Scope,
    bare,
    exp,
    flat,
    identifier,
    number,
    parse,
    parts_of,
    plain,
    refused,
    scope_of,
    shown,
    too_deep,
    words,
)
from scumble.sql.where import COARSER, COMPARED, EVERYTHING, SIGNS, bearable, both, levels_of, tree_of
from scumble.table.answers import NONE
from scumble.table.asking import MOST_GROUPS, MOST_WORDS, require_few
from scumble.table.estimate import Estimate, around
from scumble.table.questions import question

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from scumble.table.release import TableRelease

_FEWER = f"fewer keys in GROUP BY, or a WHERE that leaves fewer of their values; or {COARSER}"


def sql(
    query: str,
    releases: Mapping[str, TableRelease] | None = None,
    /,
    *,
    confidence: float = 0.95,
    **named: TableRelease,
) -> DataFrame:
    """The answer to a SELECT from the release of a table, with an interval next to each number.

    Nothing is executed: the statement is taken apart, and each of its numbers is computed on every draw from the
    release's posterior. What a release cannot answer is refused. Needs ``pip install 'scumble[sql]'``.

    Parameters
    ----------
    query : str
        A SELECT in DuckDB's SQL: count, count_if, count(DISTINCT …), sum, avg, median, quantile_cont, stddev, variance,
        covar, corr, regr_slope and their kin, each with FILTER, of columns and of CASE; arithmetic on these; WITH and
        subqueries after FROM that filter and compute; WHERE, GROUP BY, HAVING, ORDER BY, LIMIT and OFFSET.
    releases : mapping, optional
        The releases by the names that they have after FROM, where a name is no Python word.
    confidence : float
        Of the intervals.
    **named : TableRelease
        The releases by name.

    Returns
    -------
    DataFrame
        A row for each group. Each number ``x`` has the ends of its interval next to it, as ``x_low`` and ``x_high``.
        Where columns were not counted together, ``attrs["remarks"]`` says it.

    Notes
    -----
    A release cannot tell that a group is empty: all groups that can be are there, empty ones with a count near zero.
    Only those that WHERE rules out are left out. HAVING and ORDER BY go by the values, which are noisy.

    Examples
    --------
    >>> import scumble
    >>> schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), smoker=scumble.Boolean())
    >>> people = scumble.TableSketch(schema).update({"age": [41, 30] * 5000, "smoker": [True, False] * 5000})
    >>> found = scumble.sql(
    ...     "select smoker, count(*) as n from people where age >= 35 group by smoker order by n desc limit 1",
    ...     people=people.release(epsilon=1.0),
    ... )
    >>> list(found.columns), bool(found.smoker[0])
    (['smoker', 'n', 'n_low', 'n_high'], True)
    """
    confidence = checks.confidence(confidence)
    if releases is not None and not isinstance(releases, Mapping):
        raise parameter("releases", "a mapping of names to releases", releases, "write people=release, by its name.")
    return answered(understood(query, {**(releases or {}), **named}), confidence)


def understood(query: object, releases: Mapping[str, TableRelease]) -> Statement:
    """What a statement asks of the releases that it can name."""
    tree = parse(query)
    try:
        tree = plain(flat(tree))
        return Statement(tree, scope_of(tree, releases))
    except RecursionError:
        raise too_deep() from None


def answered(statement: Statement, confidence: float) -> DataFrame:
    """The answer: a row for each group."""
    rows = _groups(statement, confidence)
    if statement.having is not None:
        rows = [row for row in rows if row.of(statement.having).value == 1]
    for order in reversed(statement.order):
        rows.sort(key=lambda row: order.key(row.value(order.what)), reverse=order.falling)
    end = None if statement.most is None else statement.skipped + statement.most
    return _frame(statement, rows[statement.skipped : end])


class _Group:
    """The values of a group's keys, and what was asked of its records."""

    def __init__(self, statement: Statement, names: tuple[object, ...], tree: Tree, confidence: float) -> None:
        self._names, self._scope, self._confidence = names, statement.scope, confidence
        self._trees = {"group": tree, "kept": statement.where, "all": EVERYTHING}
        self.asked: dict[Aggregate, Estimate] = {}

    def of(self, formula: Formula) -> Estimate:
        """The value of a formula, with its interval."""
        return worked_out(formula, self._answer, self._confidence)

    def value(self, what: int | Formula) -> Any:
        """The value of a key or of a formula."""
        return self._names[what] if isinstance(what, int) else self.of(what).value

    def _answer(self, aggregate: Aggregate) -> Estimate:
        if aggregate not in self.asked:
            self.asked[aggregate] = aggregate.ask(self._scope, self._trees[aggregate.among], self._confidence)
        return self.asked[aggregate]


def _groups(statement: Statement, confidence: float) -> list[_Group]:
    """All groups that can be; without GROUP BY there is one, of all records."""
    schema, levels = statement.scope.schema, statement.keys
    if math.prod(map(len, levels)) > (MOST_WORDS if len(levels) == 1 else MOST_GROUPS):
        levels = [
            tuple(level for level in each if condition(schema, both(statement.where, level[1])).possible)
            for each in levels
        ]
        require_few(map(len, levels), _FEWER)
    found = []
    for combination in itertools.product(*levels):
        tree = both(statement.where, *(tree for _, tree in combination))
        if not levels or condition(schema, tree).possible:
            found.append(_Group(statement, tuple(name for name, _ in combination), tree, confidence))
    if not found:  # nothing is asked of the release, which would warn or refuse
        question(schema, statement.where)
    return found


def _frame(statement: Statement, rows: list[_Group]) -> DataFrame:
    import pandas as pd

    columns: dict[str, object] = {}
    for output in statement.outputs:
        if isinstance(output.what, int):
            columns[output.name] = _series([row.value(output.what) for row in rows])
        else:
            found = [[*row.of(output.what)] for row in rows]
            for name, values in zip(output.columns, zip(*found, strict=True) if found else [()] * 3, strict=True):
                columns[name] = list(values) if found else pd.Series([], dtype=float)
    frame = pd.DataFrame(columns)
    remarks = dict.fromkeys(told for row in rows for found in row.asked.values() for told in found.remarks)
    if remarks:
        frame.attrs["remarks"] = list(remarks)
    return frame


def _series(names: list[object]) -> Series:
    """The values of a key: whole numbers and booleans stay so next to missing ones."""
    import pandas as pd

    kinds, gaps = {type(name) for name in names if name is not None}, None in names
    if kinds == {int}:
        return pd.Series(names, dtype="Int64" if gaps else "int64")
    if kinds == {bool}:
        return pd.Series(names, dtype="boolean" if gaps else "bool")
    return pd.Series(names, dtype="float64" if kinds == {float} else "object")


class Output(NamedTuple):
    """A column of the answer: one of the keys, by its number, or a formula."""

    name: str
    what: int | Formula

    @property
    def columns(self) -> list[str]:
        """The names of its columns: a number has its interval next to it."""
        return [self.name] if isinstance(self.what, int) else [self.name, f"{self.name}_low", f"{self.name}_high"]


class Order(NamedTuple):
    """What groups are sorted by."""

    what: int | Formula
    falling: bool
    nulls_first: bool

    def key(self, value: Any) -> tuple[bool, Any]:
        """What stands for a value when groups are sorted, in reverse order if they fall."""
        null = value is None or bool(value != value)  # NaN and NaT alone differ from themselves
        return (null != self.nulls_first) != self.falling, 0 if null else value


class Statement:
    """A SELECT, understood: `where`, `keys` with their values, `outputs`, `having`, `order`, `skipped` and `most`."""

    def __init__(self, tree: Node, scope: Scope) -> None:
        self.tree, self.scope = tree, scope
        self._selected = [bare(node.unalias()) for node in tree.expressions]
        self._aliases = {
            node.alias.lower(): bare(node.this) for node in tree.expressions if isinstance(node, exp.Alias)
        }
        if any(node.is_star for node in self._selected):
            raise ParameterError("SELECT * asks for records: a release has none. Hint: `release.sample` draws some.")
        self.where = self._where(tree.args.get("where"))
        grouped = self._grouped(tree.args.get("group"), tree.args.get("distinct"))
        self._places: dict[str, int] = {self._form(node): place for place, node in reversed(list(enumerate(grouped)))}
        self.keys = [levels_of(node, scope, self.where) for node in grouped]
        self.outputs = self._outputs()
        having = tree.args.get("having")
        self.having = None if having is None else having_of(having.this, scope, self._alias)
        if tree.args.get("distinct"):
            self.having = Operation(np.greater_equal, (Aggregate("count"), NONE))  # what no record has is not listed
        self.order = self._order()
        self.skipped, self.most = self._whole("offset") or 0, self._whole("limit")

    def _where(self, node: Node) -> Tree:
        if node is None:
            return EVERYTHING
        if node.find(exp.Subquery, exp.Select):
            raise refused("a subquery in WHERE: ask for its number first, then write that in its place")
        if _aggregates(node):
            raise ParameterError("Aggregates cannot stand in WHERE, which is for records. Hint: HAVING is for groups.")
        return tree_of(node.this, self.scope)

    def _alias(self, node: Node) -> Node | None:
        """What an alias stands for; None if it is none. What may be an alias or a column is refused."""
        meant = None if node.table else self._aliases.get(node.name.lower())
        column = None if meant is None else self.scope.alike(node.name)
        if column is None:
            return meant
        if isinstance(meant, exp.Column) and self.scope.column(meant) == column:
            return None
        raise ParameterError(f"{node.name!r} is a column and something else by AS. Hint: give it another name there.")

    def _form(self, node: Node) -> str:
        """One text for all spellings of a key."""

        def spelled(part: Node) -> Node:
            column = isinstance(part, exp.Column) and not part.is_star
            return exp.column(self.scope.column(part), quoted=True) if column else part

        return words(bare(node).copy().transform(spelled))

    # ---- GROUP BY ----

    def _grouped(self, group: Node, distinct: Node) -> list[Node]:
        if distinct:
            if distinct.args.get("on") or any(map(_aggregates, self._selected)):
                raise refused("DISTINCT ON, or DISTINCT with aggregates")
            return self._selected
        if group is None:
            return []
        sets = any(isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets) for part in group.expressions)
        if sets or any(part for name, part in group.args.items() if name not in ("expressions", "all")):
            raise refused("ROLLUP, CUBE and GROUPING SETS: ask one after the other")
        if group.args.get("all"):
            return [node for node in self._selected if not _aggregates(node)]
        return [self._key(bare(node)) for node in group.expressions]

    def _key(self, node: Node) -> Node:
        if isinstance(node, exp.Literal):
            node = self._numbered(node, "GROUP BY")
        elif isinstance(node, exp.Column):
            node = self._alias(node) or node
        if _aggregates(node):
            raise ParameterError(f"{shown(node)} is an aggregate, and cannot be grouped by.")
        return node

    def _numbered(self, node: Node, where: str) -> Node:
        """The selected column of that number."""
        place, most = None if node.is_string else number(node), len(self._selected)
        if not isinstance(place, int) or not 1 <= place <= most:
            raise ParameterError(f"{where} {shown(node)} must be a selected column, or its number, 1 to {most}.")
        return self._selected[place - 1]

    # ---- SELECT, ORDER BY, LIMIT ----

    def _what(self, node: Node) -> int | Formula:
        """A key, or a formula."""
        if not _aggregates(node):
            place = self._places.get(self._form(node))
            if place is not None:
                return place
            if not self.keys and isinstance(node, exp.Column):
                name = self.scope.column(node)
                column = self.scope[name]
                mean = f"avg({identifier(name)}), or " if column.kind == "number" else ""
                hint = f"Hint: {mean}count(*) and GROUP BY {bearable(name, column)}; `release.sample` draws records."
                raise ParameterError(f"Column {name!r} by itself asks for records, and a release has none. {hint}")
            if not isinstance(node, exp.Column):
                raise refused(f"{shown(node)}: what is selected must be grouped by, or be computed of aggregates")
        return formula_of(node, self.scope)

    def _outputs(self) -> tuple[Output, ...]:
        """The columns of the answer."""
        found = []
        for written, node in zip(self.tree.expressions, self._selected, strict=True):
            name = self.scope.column(node) if isinstance(node, exp.Column) else words(node)
            found.append(Output(written.alias if isinstance(written, exp.Alias) else name, self._what(node)))
        listed = [name for output in found for name in output.columns]
        twice = [name for name in listed if listed.count(name) > 1]
        if twice:
            raise ParameterError(f"The answer would have two columns {twice[0]!r}. Hint: name them with AS.")
        return tuple(found)

    def _order(self) -> tuple[Order, ...]:
        """How groups are sorted."""
        node = self.tree.args.get("order")
        found = []
        for part in [] if node is None else node.expressions:
            if isinstance(part.this, exp.Var):
                raise refused(f"ORDER BY {shown(part)}: name what to sort by")
            falling, nulls_first = (bool(part.args.get(word)) for word in ("desc", "nulls_first"))
            found.append(Order(self._sorted(bare(part.this)), falling, nulls_first))
        return tuple(found)

    def _sorted(self, node: Node) -> int | Formula:
        if isinstance(node, exp.Literal):
            return self._what(self._numbered(node, "ORDER BY"))
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self._aliases:
            return self._what(self._aliases[node.name.lower()])  # as in all SQL, an alias comes first here
        if _aggregates(node) or any(self._alias(column) is not None for column in node.find_all(exp.Column)):
            return formula_of(node, self.scope, self._alias)
        return self._what(node)

    def _whole(self, name: str) -> int | None:
        """The number after LIMIT or OFFSET."""
        node = self.tree.args.get(name)
        if node is None:
            return None
        found = number(node.expression)
        if not isinstance(found, int) or found < 0:
            raise ParameterError(f"{name.upper()} goes with a whole number from 0 on.")
        return found


def _aggregates(node: Node) -> bool:
    return any(is_aggregate(part) for part in node.walk())


# ---- formulas ----

Function: TypeAlias = Callable[..., ArrayLike]
"""Of numbers, or of the numbers on each draw."""


@dataclass(frozen=True)
class Operation:
    """Something computed of formulas."""

    of: Function
    parts: tuple[Formula, ...]


Formula: TypeAlias = Aggregate | float | Operation
Alias: TypeAlias = Callable[[Node], Node | None]
"""What an alias stands for, or None."""


# ---- arithmetic of numbers and of draws ----


def quotient(a: Floats, b: Floats) -> Floats:
    """A quotient, NaN by zero."""
    return np.where(b == 0, np.nan, a / b)


def _rounded(a: Floats, digits: Floats) -> Floats:
    """Halves away from zero, as SQL does."""
    unit = 10.0**digits
    return np.where(np.abs(a) * unit < 2**52, np.copysign(np.floor(np.abs(a) * unit + 0.5) / unit, a), a)


def _every(*truths: Floats) -> Floats:
    return np.where(reduce(np.fmin, truths) == 0, 0.0, reduce(np.minimum, truths))


def _any(*truths: Floats) -> Floats:
    return np.where(reduce(np.fmax, truths) == 1, 1.0, reduce(np.maximum, truths))


def _comparison(sign: str) -> Function:
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, COMPARED[sign](a, b))


_NUMBERS: dict[type, Function] = {
    exp.Add: np.add,
    exp.Sub: np.subtract,
    exp.Mul: np.multiply,
    exp.Div: quotient,
    exp.Pow: np.power,
    exp.Neg: np.negative,
    exp.Abs: np.abs,
    exp.Sqrt: np.sqrt,
    exp.Ln: lambda a: np.log(np.where(a > 0, a, np.nan)),
    exp.Exp: np.exp,
    exp.Floor: np.floor,
    exp.Ceil: np.ceil,
    exp.Round: _rounded,
    exp.Nullif: lambda a, b: np.where(a == b, np.nan, a),
    exp.Coalesce: lambda a, *others: reduce(lambda one, two: np.where(np.isnan(one), two, one), others, a),
}
_TRUTHS: dict[type, Function] = {exp.And: _every, exp.Or: _any, exp.Not: lambda a: 1 - a}
_COMPARISONS: dict[type, Function] = {kind: _comparison(sign) for kind, sign in SIGNS.items()}


# ---- from a statement to a formula ----


def formula_of(node: Node, scope: Scope, alias: Alias = lambda _: None) -> Formula:
    """The formula that a part of a statement is."""
    node = bare(node)
    if is_aggregate(node):
        return aggregate_of(node, scope)
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(number(node))
    if isinstance(node, exp.Column):
        meant = alias(node)
        if meant is not None:
            return formula_of(meant, scope)
        name = scope.column(node)
        raise ParameterError(f"Column {name!r} must be grouped by, or be within an aggregate such as avg({name}).")
    if isinstance(node, exp.Window | exp.Subquery):
        return _overall(node, scope)
    of, parts = _NUMBERS.get(type(node)), [node.this, *(one for one in [node.expression] if one), *node.expressions]
    if isinstance(node, exp.Cast) and node.to.is_type("double", "float", "int", "bigint"):
        of = np.positive if node.to.is_type("double", "float") else np.rint
    if of is None:
        known = "+ - * /, round, floor, ceil, abs, sqrt, ln, exp, pow, nullif(x, 0), coalesce(x, 0)"
        raise refused(f"{shown(node)}: of aggregates, {known} are computed")
    if of is _rounded:
        parts.append(node.args.get("decimals") or exp.Literal.number(0))
        digits = number(parts[1])
        if not isinstance(digits, int) or abs(digits) > 15:
            raise ParameterError("round goes with a whole number of digits from -15 to 15.")
    return _made(of, node, [formula_of(part, scope, alias) for part in parts])


def having_of(node: Node, scope: Scope, alias: Alias) -> Formula:
    """The condition on groups that a part of a statement is."""
    node = bare(node)
    if type(node) in _TRUTHS:
        parts = [node.this] if isinstance(node, exp.Not) else parts_of(node)
        return Operation(_TRUTHS[type(node)], tuple(having_of(part, scope, alias) for part in parts))
    if isinstance(node, exp.Between):
        low, high = (node.args[end] for end in ("low", "high"))
        ends = exp.GTE(this=node.this, expression=low), exp.LTE(this=node.this.copy(), expression=high)
        return Operation(_every, tuple(having_of(end, scope, alias) for end in ends))
    null = isinstance(node, exp.Is) and isinstance(bare(node.expression), exp.Null)
    of = np.isnan if null else _COMPARISONS.get(type(node))
    if of is None:
        raise refused(
            f"HAVING {shown(node)}: aggregates are compared with numbers; conditions on columns stand in WHERE"
        )
    sides = [bare(node.this)] if null else [bare(node.this), bare(node.expression)]
    if any(isinstance(side, exp.Column) and alias(side) is None for side in sides):
        raise refused(f"HAVING {shown(node)}: conditions on columns stand in WHERE")
    return _made(of, node, [formula_of(side, scope, alias) for side in sides])


def _made(of: Function, node: Node, parts: list[Formula]) -> Operation:
    if any(isinstance(part, Aggregate) and part.dated for part in parts):
        raise refused(f"{shown(node)}: nothing is computed of dates")
    return Operation(of, tuple(parts))


def _overall(node: Node, scope: Scope) -> Formula:
    """What is computed of more records than the group's: sum(count(*)) OVER (), (SELECT count(*) FROM people)."""
    if isinstance(node, exp.Window):
        inner = bare(node.this.this) if isinstance(node.this, exp.Sum) else None
        found = aggregate_of(inner, scope) if is_aggregate(inner) else None
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


# ---- its value ----


def worked_out(formula: Formula, answer: Callable[[Aggregate], Estimate], confidence: float) -> Estimate:
    """The formula's value and interval, given those of its aggregates.

    What rises or falls with a single number, such as 100 times it, has the ends of that number's interval; anything
    else has an interval by its own draws.
    """
    if isinstance(formula, Aggregate):
        return answer(formula)
    if isinstance(formula, float):
        return Estimate(formula, formula, formula, 0.0)
    parts = [worked_out(part, answer, confidence) for part in formula.parts]
    varied = [k for k, one in enumerate(parts) if one.draws is not None or not one.low == one.value == one.high]

    def computed(numbers: Iterable[ArrayLike]) -> Floats:
        return np.asarray(formula.of(*(np.asarray(one, float) for one in numbers)), float)

    with np.errstate(divide="ignore", invalid="ignore"):
        value, *ends = (float(computed(getattr(part, end) for part in parts)) for end in ("value", "low", "high"))
        each = computed(part.value if part.draws is None else part.draws for part in parts)
    remarks = tuple(dict.fromkeys(remark for part in parts for remark in part.remarks))
    if not varied:
        return Estimate(value, value, value, 0.0, remarks)
    found = around(value, each.reshape(-1), confidence, remarks)
    if len(varied) == 1 and formula.of not in (np.abs, np.power) and (formula.of, varied) != (quotient, [1]):
        return replace(found, value=value, low=min(ends), high=max(ends))
    return found
