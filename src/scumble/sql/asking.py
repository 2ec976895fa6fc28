"""``scumble.sql``: from a statement to a frame."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scumble import checks
from scumble.columns.conditions import condition
from scumble.columns.grammar import Tree
from scumble.errors import ParameterError, parameter
from scumble.sql.aggregates import Aggregate, is_aggregate
from scumble.sql.cells import EVERYTHING, bearable, both
from scumble.sql.formulas import Constant, Formula, Operation, formula_of, having_of, worked_out
from scumble.sql.scope import Scope, number, scope_of
from scumble.sql.syntax import Node, bare, exp, flat, identifier, parse, plain, refused, shown, too_deep, words
from scumble.sql.where import COARSER, levels_of, tree_of
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
        for node in self._selected:
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                raise ParameterError(
                    "SELECT * asks for records: a release has none. Hint: `release.sample` draws some."
                )
        self.where = self._where()
        grouped = self._grouped()
        self._places: dict[str, int] = {self._form(node): place for place, node in reversed(list(enumerate(grouped)))}
        self.keys = [levels_of(node, scope, self.where) for node in grouped]
        self.outputs = self._outputs()
        self.having = self._having()
        self.order = self._order()
        self.skipped, self.most = self._whole("offset") or 0, self._whole("limit")

    def _where(self) -> Tree:
        node = self.tree.args.get("where")
        if node is None:
            return EVERYTHING
        if node.find(exp.Subquery, exp.Select):
            raise refused("a subquery in WHERE: ask for its number first, then write that in its place")
        if _aggregates(node):
            raise ParameterError("Aggregates cannot stand in WHERE, which is for records. Hint: HAVING is for groups.")
        return tree_of(node.this, self.scope)

    # ---- names ----

    def _alias(self, node: Node) -> Node | None:
        """What an alias stands for; None if it is none. What may be an alias or a column is refused."""
        meant = None if node.table else self._aliases.get(node.name.lower())
        if meant is None:
            return None
        column = self.scope.alike(node.name)
        if column is None:
            return meant
        if isinstance(meant, exp.Column) and self.scope.column(meant) == column:
            return None
        raise ParameterError(f"{node.name!r} is a column and something else by AS. Hint: give it another name there.")

    def _form(self, node: Node) -> str:
        """One text for all spellings of a key."""

        def spelled(part: Node) -> Node:
            column = isinstance(part, exp.Column) and not isinstance(part.this, exp.Star)
            return exp.column(self.scope.column(part), quoted=True) if column else part

        return str(bare(node).copy().transform(spelled).sql("duckdb", comments=False))

    # ---- GROUP BY ----

    def _grouped(self) -> list[Node]:
        group = self.tree.args.get("group")
        if group is None or self.tree.args.get("distinct"):
            return self._distinct()
        sets = any(isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets) for part in group.expressions)
        if sets or any(part for name, part in group.args.items() if name not in ("expressions", "all")):
            raise refused("ROLLUP, CUBE and GROUPING SETS: ask one after the other")
        if group.args.get("all"):
            return [node for node in self._selected if not _aggregates(node)]
        return [self._key(bare(node)) for node in group.expressions]

    def _distinct(self) -> list[Node]:
        """What SELECT DISTINCT groups by."""
        distinct = self.tree.args.get("distinct")
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

    def _what(self, node: Node) -> int | Formula:
        """A key, or a formula."""
        if not _aggregates(node):
            place = self._places.get(self._form(node))
            if place is not None:
                return place
            if not self.keys and isinstance(node, exp.Column):
                name = self.scope.column(node)
                column = self.scope.schema[name]
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
            plain = isinstance(node, exp.Column)
            name = (
                written.alias if isinstance(written, exp.Alias) else self.scope.column(node) if plain else words(node)
            )
            found.append(Output(name, self._what(node)))
        listed = [name for output in found for name in output.columns]
        twice = [name for name in listed if listed.count(name) > 1]
        if twice:
            raise ParameterError(f"The answer would have two columns {twice[0]!r}. Hint: name them with AS.")
        return tuple(found)

    def _having(self) -> Formula | None:
        """Which groups are shown."""
        node = self.tree.args.get("having")
        if self.tree.args.get("distinct"):
            return Operation(">=", (Aggregate("count"), Constant(NONE)))  # what no record has is not listed
        return None if node is None else having_of(node.this, self.scope, self._alias)

    def _order(self) -> tuple[Order, ...]:
        """How groups are sorted."""
        node = self.tree.args.get("order")
        found = []
        for part in [] if node is None else node.expressions:
            if part.args.get("with_fill") is not None or isinstance(part.this, exp.Var):
                raise refused(f"ORDER BY {shown(part)}: name what to sort by")
            what, falling = self._sorted(bare(part.this)), bool(part.args.get("desc"))
            found.append(Order(what, falling, bool(part.args.get("nulls_first"))))
        return tuple(found)

    def _sorted(self, node: Node) -> int | Formula:
        if isinstance(node, exp.Literal):
            return self._what(self._selected[_position(node, len(self._selected), "ORDER BY")])
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self._aliases:
            return self._what(self._aliases[node.name.lower()])  # as in all SQL, an alias comes first here
        return self._what(node) if self._form_is_key(node) else formula_of(node, self.scope, self._alias)

    def _form_is_key(self, node: Node) -> bool:
        aliased = any(self._alias(column) is not None for column in node.find_all(exp.Column))
        return not aliased and not _aggregates(node)

    def _whole(self, name: str) -> int | None:
        """The number after LIMIT or OFFSET."""
        node = self.tree.args.get(name)
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


def _aggregates(node: Node) -> bool:
    return any(is_aggregate(part) for part in node.walk())


def _position(node: Node, most: int, where: str) -> int:
    place = number(node) if not node.is_string else None
    if not isinstance(place, int) or not 1 <= place <= most:
        raise ParameterError(f"{where} {shown(node)} must be a selected column, or its number, 1 to {most}.")
    return place - 1
