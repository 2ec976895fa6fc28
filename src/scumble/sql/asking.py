"""``scumble.sql``: from a statement to a frame."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from scumble import checks
from scumble.columns.conditions import condition
from scumble.columns.grammar import Tree
from scumble.errors import ParameterError, parameter
from scumble.sql.aggregates import Aggregate, is_aggregate
from scumble.sql.cells import EVERYTHING, both, groups_of
from scumble.sql.formulas import Formula, Truth, formula_of, truth_of, worked_out
from scumble.sql.scope import Scope, number, scope_of
from scumble.sql.syntax import Node, bare, exp, flat, identifier, parse, plain, refused, shown, too_deep, words
from scumble.sql.where import COARSER, Key, key_of, tree_of
from scumble.table.answers import NONE
from scumble.table.asking import MOST_GROUPS, MOST_WORDS, require_few
from scumble.table.estimate import Estimate
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
    every = {**(releases or {}), **named}
    tree = parse(query)
    try:
        tree = plain(flat(tree))
        scope = scope_of(tree, every)
        return _answered(understood(tree, scope), confidence)
    except RecursionError:
        raise too_deep() from None


def _answered(statement: Statement, confidence: float) -> DataFrame:
    rows = [row for row in _groups(statement, confidence) if statement.having is None or statement.having(row.value)]
    for order in reversed(statement.order):
        rows = _sorted(rows, order)
    end = None if statement.most is None else statement.skipped + statement.most
    return _frame(statement, rows[statement.skipped : end])


class _Group:
    """The records of one group, and what was asked of them."""

    def __init__(self, scope: Scope, names: tuple[object, ...], where: Tree, tree: Tree, confidence: float) -> None:
        self.names = names
        self._scope, self._confidence = scope, confidence
        self._trees = {"group": tree, "kept": where, "all": EVERYTHING}
        self._asked: dict[Aggregate, Estimate] = {}
        self.remarks: dict[str, None] = {}
        """What must be known of the answers."""

    def interval(self, formula: Formula) -> tuple[float, float, float]:
        """The formula's value with an interval."""
        found = worked_out(formula, self._answer, self._confidence)
        return found.value, found.low, found.high

    def value(self, formula: Formula) -> float:
        """The formula's value."""
        return self.interval(formula)[0]

    def _answer(self, aggregate: Aggregate) -> Estimate:
        if aggregate not in self._asked:
            found = self._asked[aggregate] = aggregate.ask(self._scope, self._trees[aggregate.among], self._confidence)
            self.remarks |= dict.fromkeys(found.remarks)
        return self._asked[aggregate]


def _groups(statement: Statement, confidence: float) -> list[_Group]:
    """All groups that can be; without GROUP BY there is one, of all records."""
    schema, levels = statement.scope.schema, [key.levels for key in statement.keys]
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
            found.append(
                _Group(statement.scope, tuple(name for name, _ in combination), statement.where, tree, confidence)
            )
    if not found:  # nothing is asked of the release, which would warn or refuse
        question(schema, statement.where)
    return found


def _sorted(rows: list[_Group], order: Order) -> list[_Group]:
    """By one thing; what is equal stays in its order."""
    what = order.what
    found: list[tuple[Any, _Group]]
    found = [(row.names[what] if isinstance(what, int) else row.value(what), row) for row in rows]
    known = [pair for pair in found if not _is_null(pair[0])]
    nulls = [row for value, row in found if _is_null(value)]
    known.sort(key=lambda pair: pair[0], reverse=order.falling)
    listed = [row for _, row in known]
    return [*nulls, *listed] if order.nulls_first else [*listed, *nulls]


def _is_null(value: object) -> bool:
    return value is None or bool(value != value)  # NaN and NaT alone differ from themselves


def _frame(statement: Statement, rows: list[_Group]) -> DataFrame:
    import pandas as pd

    columns: dict[str, object] = {}
    for output in statement.outputs:
        if isinstance(output.what, int):
            columns[output.name] = _series([row.names[output.what] for row in rows])
        else:
            found = [row.interval(output.what) for row in rows]
            for name, values in zip(columns_of(output), zip(*found, strict=True) if found else [()] * 3, strict=True):
                columns[name] = list(values) if found else pd.Series([], dtype=float)
    frame = pd.DataFrame(columns)
    remarks = dict.fromkeys(remark for row in rows for remark in row.remarks)
    if remarks:
        frame.attrs["remarks"] = list(remarks)
    return frame


def _series(names: list[object]) -> Series:
    """The values of a key: whole numbers and booleans stay so next to missing ones."""
    import pandas as pd

    kinds = {type(name) for name in names if name is not None}
    if kinds == {int} or kinds == {bool}:
        gaps = None in names
        kind = ("Int64" if gaps else "int64") if kinds == {int} else ("boolean" if gaps else "bool")
        return pd.Series(names, dtype=kind)
    return pd.Series(names, dtype="float64" if kinds == {float} else "object")


class Output(NamedTuple):
    """A column of the answer: one of the keys, by its number, or a formula."""

    name: str
    what: int | Formula


class Order(NamedTuple):
    """What groups are sorted by."""

    what: int | Formula
    falling: bool
    nulls_first: bool


@dataclass(frozen=True)
class Statement:
    """A SELECT, understood."""

    scope: Scope
    where: Tree
    keys: tuple[Key, ...]
    outputs: tuple[Output, ...]
    having: Truth | None
    order: tuple[Order, ...]
    skipped: int
    most: int | None


class _Reader:
    """Finds out what the parts of one SELECT mean."""

    def __init__(self, tree: Node, scope: Scope, where: Tree) -> None:
        self._tree, self._scope = tree, scope
        self._selected = [bare(node.unalias()) for node in tree.expressions]
        self._aliases = {
            node.alias.lower(): bare(node.this) for node in tree.expressions if isinstance(node, exp.Alias)
        }
        for node in self._selected:
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                raise ParameterError(
                    "SELECT * asks for records: a release has none. Hint: `release.sample` draws some."
                )
        grouped = self._grouped()
        self._places: dict[str, int] = {self._form(node): place for place, node in reversed(list(enumerate(grouped)))}
        self.keys = tuple(key_of(node, scope, where) for node in grouped)

    # ---- names ----

    def _alias(self, node: Node) -> Node | None:
        """What an alias stands for; None if it is none. What may be an alias or a column is refused."""
        meant = None if node.table else self._aliases.get(node.name.lower())
        if meant is None:
            return None
        column = self._scope.alike(node.name)
        if column is None:
            return meant
        if isinstance(meant, exp.Column) and self._scope.column(meant) == column:
            return None
        raise ParameterError(f"{node.name!r} is a column and something else by AS. Hint: give it another name there.")

    def _form(self, node: Node) -> str:
        """One text for all spellings of a key."""

        def spelled(part: Node) -> Node:
            column = isinstance(part, exp.Column) and not isinstance(part.this, exp.Star)
            return exp.column(self._scope.column(part), quoted=True) if column else part

        return str(bare(node).copy().transform(spelled).sql("duckdb", comments=False))

    # ---- GROUP BY ----

    def _grouped(self) -> list[Node]:
        group = self._tree.args.get("group")
        if group is None or self._tree.args.get("distinct"):
            return self._distinct()
        sets = any(isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets) for part in group.expressions)
        if sets or any(part for name, part in group.args.items() if name not in ("expressions", "all")):
            raise refused("ROLLUP, CUBE and GROUPING SETS: ask one after the other")
        if group.args.get("all"):
            return [node for node in self._selected if not _aggregates(node)]
        return [self._key(bare(node)) for node in group.expressions]

    def _distinct(self) -> list[Node]:
        """What SELECT DISTINCT groups by."""
        distinct = self._tree.args.get("distinct")
        if distinct and (distinct.args.get("on") or any(map(_aggregates, self._selected))):
            raise refused("DISTINCT ON, or DISTINCT with aggregates")
        return self._selected if distinct else []

    def _key(self, node: Node) -> Node:
        if isinstance(node, exp.Literal):
            node = self._selected[_position(node, len(self._selected), "GROUP BY")]
        elif isinstance(node, exp.Column):
            meant = self._alias(node)
            node = node if meant is None else meant
        if _aggregates(node):
            raise ParameterError(f"{shown(node)} is an aggregate, and cannot be grouped by.")
        return node

    # ---- SELECT, HAVING, ORDER BY, LIMIT ----

    def what(self, node: Node) -> int | Formula:
        """A key, or a formula."""
        if not _aggregates(node):
            place = self._places.get(self._form(node))
            if place is not None:
                return place
            if not self.keys and isinstance(node, exp.Column):
                name = self._scope.column(node)
                column = self._scope.schema[name]
                mean = f"avg({identifier(name)}), or " if column.kind == "number" else ""
                hint = f"Hint: {mean}count(*) and GROUP BY {groups_of(name, column)}; `release.sample` draws records."
                raise ParameterError(f"Column {name!r} by itself asks for records, and a release has none. {hint}")
            if not isinstance(node, exp.Column):
                raise refused(f"{shown(node)}: what is selected must be grouped by, or be computed of aggregates")
        return formula_of(node, self._scope)

    def outputs(self) -> tuple[Output, ...]:
        """The columns of the answer."""
        found = []
        for written, node in zip(self._tree.expressions, self._selected, strict=True):
            plain = isinstance(node, exp.Column)
            name = (
                written.alias if isinstance(written, exp.Alias) else self._scope.column(node) if plain else words(node)
            )
            found.append(Output(name, self.what(node)))
        listed = [name for output in found for name in columns_of(output)]
        twice = [name for name in listed if listed.count(name) > 1]
        if twice:
            raise ParameterError(f"The answer would have two columns {twice[0]!r}. Hint: name them with AS.")
        return tuple(found)

    def having(self) -> Truth | None:
        """Which groups are shown."""
        node = self._tree.args.get("having")
        if self._tree.args.get("distinct"):
            return lambda value: value(Aggregate("count")) >= NONE  # what no record has is not listed
        return None if node is None else truth_of(node.this, self._scope, self._alias)

    def order(self) -> tuple[Order, ...]:
        """How groups are sorted."""
        node = self._tree.args.get("order")
        found = []
        for part in [] if node is None else node.expressions:
            if part.args.get("with_fill") is not None or isinstance(part.this, exp.Var):
                raise refused(f"ORDER BY {shown(part)}: name what to sort by")
            what, falling = self._sorted(bare(part.this)), bool(part.args.get("desc"))
            found.append(Order(what, falling, bool(part.args.get("nulls_first"))))
        return tuple(found)

    def _sorted(self, node: Node) -> int | Formula:
        if isinstance(node, exp.Literal):
            return self.what(self._selected[_position(node, len(self._selected), "ORDER BY")])
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self._aliases:
            return self.what(self._aliases[node.name.lower()])  # as in all SQL, an alias comes first here
        return self.what(node) if self._form_is_key(node) else formula_of(node, self._scope, self._alias)

    def _form_is_key(self, node: Node) -> bool:
        aliased = any(self._alias(column) is not None for column in node.find_all(exp.Column))
        return not aliased and not _aggregates(node)

    def whole(self, name: str) -> int | None:
        """The number after LIMIT or OFFSET."""
        node = self._tree.args.get(name)
        if node is None:
            return None
        found = number(node.expression) if isinstance(node, exp.Limit | exp.Offset) and node.expression else None
        if (
            not isinstance(found, int)
            or found < 0
            or any(node.args.get(key) for key in ("limit_options", "expressions"))
        ):
            raise ParameterError(f"{name.upper()} goes with a whole number from 0 on.")
        return found


def understood(tree: Node, scope: Scope) -> Statement:
    """What a SELECT asks for."""
    where = tree.args.get("where")
    if where is not None and where.find(exp.Subquery, exp.Select):
        raise refused("a subquery in WHERE: ask for its number first, then write that in its place")
    if where is not None and _aggregates(where):
        raise ParameterError("Aggregates cannot stand in WHERE, which is for records. Hint: HAVING is for groups.")
    condition = EVERYTHING if where is None else tree_of(where.this, scope)
    reader = _Reader(tree, scope, condition)
    return Statement(
        scope,
        condition,
        reader.keys,
        reader.outputs(),
        reader.having(),
        reader.order(),
        reader.whole("offset") or 0,
        reader.whole("limit"),
    )


def columns_of(output: Output) -> list[str]:
    """The names of an output's columns: a number has its interval next to it."""
    return [output.name] if isinstance(output.what, int) else [output.name, f"{output.name}_low", f"{output.name}_high"]


def _aggregates(node: Node) -> bool:
    return any(is_aggregate(part) for part in node.walk())


def _position(node: Node, most: int, where: str) -> int:
    place = number(node) if not node.is_string else None
    if not isinstance(place, int) or not 1 <= place <= most:
        raise ParameterError(f"{where} {shown(node)} must be a selected column, or its number, 1 to {most}.")
    return place - 1
