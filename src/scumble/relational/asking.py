"""``scumble.sql``: from a statement to a frame."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scumble import checks
from scumble.errors import parameter
from scumble.machine.steps import steps
from scumble.relational.aggregates import Aggregate
from scumble.relational.cells import EVERYTHING, both
from scumble.relational.formulas import Formula, worked_out
from scumble.relational.keys import COARSER
from scumble.relational.nested import flat
from scumble.relational.scope import Scope, scope_of
from scumble.relational.statement import Order, Statement, columns_of, understood
from scumble.relational.syntax import parse, plain, too_deep
from scumble.schema import condition
from scumble.schema.grammar import Tree
from scumble.tabular.estimate import Estimate
from scumble.tabular.frames import MOST_GROUPS, require_few
from scumble.tabular.questions import question

if TYPE_CHECKING:
    from pandas import DataFrame

    from scumble.tabular.release import TableRelease

_FEWER = f"fewer keys in GROUP BY, or a WHERE that leaves fewer of their values; or {COARSER}"


def sql(
    query: str,
    releases: Mapping[str, TableRelease] | None = None,
    /,
    *,
    confidence: float = 0.95,
    **named: TableRelease,
) -> DataFrame:
    """The answer to a SELECT from the release of a table, with an interval beside each number.

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
        A row for each group. Each number ``x`` has the ends of its interval beside it, as ``x_low`` and ``x_high``.
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
    tree = parse(query, [*every])
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

    def __init__(self, scope: Scope, names: tuple[Any, ...], where: Tree, tree: Tree, confidence: float) -> None:
        self.names = names
        self._scope, self._confidence = scope, confidence
        self._trees = {"group": tree, "kept": where, "all": EVERYTHING}
        self._asked: dict[Aggregate, Estimate] = {}
        self.remarks: dict[str, None] = {}
        """What must be known of the answers."""

    def interval(self, formula: Formula) -> tuple[Any, Any, Any]:
        """The formula's value with an interval."""
        found = worked_out(formula, self._answer, self._confidence)
        return found.value, found.low, found.high

    def value(self, formula: Formula) -> Any:
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
    if math.prod(map(len, levels)) > MOST_GROUPS:
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
    found = [(row.names[what] if isinstance(what, int) else row.value(what), row) for row in rows]
    known = [pair for pair in found if not _is_null(pair[0])]
    nulls = [row for value, row in found if _is_null(value)]
    known.sort(key=lambda pair: pair[0], reverse=order.falling)
    listed = [row for _, row in known]
    return [*nulls, *listed] if order.nulls_first else [*listed, *nulls]


def _is_null(value: Any) -> bool:
    return value is None or bool(value != value)  # NaN and NaT alone differ from themselves


def _frame(statement: Statement, rows: list[_Group]) -> DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {}
    for output in statement.outputs:
        if isinstance(output.what, int):
            columns[output.name] = _series([row.names[output.what] for row in rows])
        else:
            found = [row.interval(output.what) for row in steps(rows)]
            for name, values in zip(columns_of(output), zip(*found, strict=True) if found else [()] * 3, strict=True):
                columns[name] = list(values) if found else pd.Series([], dtype=float)
    frame = pd.DataFrame(columns)
    remarks = dict.fromkeys(remark for row in rows for remark in row.remarks)
    if remarks:
        frame.attrs["remarks"] = list(remarks)
    return frame


def _series(names: list[Any]) -> Any:
    """The values of a key: whole numbers and booleans stay so beside missing ones."""
    import pandas as pd

    kinds = {type(name) for name in names if name is not None}
    if kinds == {int} or kinds == {bool}:
        gaps = None in names
        kind = ("Int64" if gaps else "int64") if kinds == {int} else ("boolean" if gaps else "bool")
        return pd.Series(names, dtype=kind)
    return pd.Series(names, dtype="float64" if kinds == {float} else "object")
