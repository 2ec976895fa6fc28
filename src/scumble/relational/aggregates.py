"""Counts, sums, means and quantiles: each is one question to the release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from scumble.errors import ParameterError
from scumble.relational.literals import is_value, number, value
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, refused, shown
from scumble.relational.where import EVERYTHING, both, tree_of
from scumble.schema import condition
from scumble.schema.grammar import Atom, Junction, Not, Tree
from scumble.tabular.estimate import Estimate
from scumble.tabular.questions import values_of, with_order

_QUANTILES = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile, exp.Median)
_SINGLE = (exp.Min, exp.Max, exp.ArgMin, exp.ArgMax, exp.AnyValue, exp.First, exp.Last)


@dataclass(frozen=True)
class Aggregate:
    """A number of the records of a group."""

    kind: str
    """"count", "sum", "mean" or "quantile"."""
    column: str | None = None
    where: Tree = EVERYTHING
    """Which records of the group, by FILTER or CASE."""
    q: float = 0.5
    dated: bool = False
    """Whether it is a date."""

    def ask(self, scope: Scope, group: Tree, confidence: float) -> Estimate:
        """The release's answer."""
        found: Any
        release, where = scope.release, condition(scope.schema, both(group, self.where))
        if self.kind == "sum" and not where.terms:
            found = Estimate(math.nan, 0.0, 0.0, 0.0)  # of nothing at all, as SQL has it
        elif self.kind == "count":
            found = release.count(where, confidence=confidence)
        elif self.kind == "quantile":
            found = release.quantile(str(self.column), self.q, where, confidence=confidence)
        else:
            ask = release.sum if self.kind == "sum" else release.mean
            found = ask(str(self.column), where, confidence=confidence)
        assert isinstance(found, Estimate)
        return found


@dataclass(frozen=True)
class Share:
    """A number of records over another one."""

    part: Aggregate
    whole: Aggregate


def is_aggregate(node: Any) -> bool:
    """Whether a part of a statement is an aggregate by itself."""
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls)


def aggregate_of(node: Any, scope: Scope) -> Aggregate | Share:
    """The question that an aggregate is."""
    node = bare(node)
    if isinstance(node, exp.Filter):
        return _among(aggregate_of(node.this, scope), tree_of(node.expression.this, scope))
    inner = node.this if isinstance(node, exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls) else node
    if isinstance(inner, _SINGLE):
        raise ParameterError(
            f"{shown(node)} is what a single record says, and no release tells that. Hint: quantile_cont(x, 0.01) and "
            "quantile_cont(x, 0.99) are near the ends; a schema has the bounds."
        )
    if isinstance(node, (exp.WithinGroup, *_QUANTILES)):
        return _quantile(node, scope)
    argument = bare(node.this)
    if isinstance(argument, exp.Distinct):
        raise refused(f"{shown(node)}: how many values differ is not in a release")
    if isinstance(node, exp.CountIf):
        return Aggregate("count", where=tree_of(argument, scope))
    if isinstance(node, exp.Count) and not node.expressions:
        return _count(argument, scope)
    if isinstance(node, exp.Sum):
        return _sum(argument, scope)
    if isinstance(node, exp.Avg):
        return _mean(argument, scope)
    raise refused(f"{shown(node)}")


def _among(found: Aggregate | Share, where: Tree) -> Aggregate | Share:
    if isinstance(found, Share):
        return Share(_narrowed(found.part, where), _narrowed(found.whole, where))
    return _narrowed(found, where)


def _narrowed(found: Aggregate, where: Tree) -> Aggregate:
    return replace(found, where=both(where, found.where))


def _count(argument: Any, scope: Scope) -> Aggregate:
    if argument is None or isinstance(argument, exp.Star):
        return Aggregate("count")
    if is_value(argument):
        return Aggregate("count", where=EVERYTHING if value(argument) is not None else Junction(False, ()))
    if isinstance(argument, exp.Case):
        where, then, default = _case(argument, scope)
        if is_value(then) and value(then) is not None and _is_null(default):
            return Aggregate("count", where=where)
    if not isinstance(argument, exp.Column):
        raise refused(f"count({shown(argument)}): count(*), count of a column or count(CASE WHEN … THEN 1 END)")
    return Aggregate("count", where=Not(Atom(scope.column(argument), "missing")))


def _sum(argument: Any, scope: Scope) -> Aggregate:
    if isinstance(argument, exp.Case):
        where, then, default = _case(argument, scope)
        if _is_number(then, 1) and (_is_null(default) or _is_number(default, 0)):
            return Aggregate("count", where=where)
        if isinstance(then, exp.Column) and (_is_null(default) or _is_number(default, 0)):
            return Aggregate("sum", _valued(then, scope, "sum"), where)
        raise refused(f"sum({shown(argument)}): CASE WHEN … THEN 1 ELSE 0 END, or a column after THEN")
    column, truth = _number(argument, scope, "sum")
    return Aggregate("sum", column) if truth is None else Aggregate("count", where=truth)


def _mean(argument: Any, scope: Scope) -> Aggregate | Share:
    if isinstance(argument, exp.Case):
        where, then, default = _case(argument, scope)
        if _is_number(then, 1) and _is_number(default, 0):
            return Share(Aggregate("count", where=where), Aggregate("count"))
        if isinstance(then, exp.Column) and _is_null(default):
            return Aggregate("mean", _valued(then, scope, "mean"), where)
        raise refused(f"avg({shown(argument)}): CASE WHEN … THEN 1 ELSE 0 END, or a column after THEN and no ELSE")
    column, truth = _number(argument, scope, "avg")
    if truth is None:
        return Aggregate("mean", column)
    return Share(Aggregate("count", where=truth), Aggregate("count", where=Junction(False, (truth, Not(truth)))))


def _number(argument: Any, scope: Scope, what: str) -> tuple[str | None, Tree | None]:
    """A column of numbers or booleans, or a condition, which is 0 or 1."""
    if isinstance(argument, exp.Cast) and argument.to.is_type(*exp.DataType.NUMERIC_TYPES):
        inner = bare(argument.this)
        if isinstance(inner, exp.Column) and scope[scope.column(inner)].kind == "boolean":
            return _valued(inner, scope, what), None
        if isinstance(inner, exp.Predicate | exp.Connector | exp.Not):
            return None, tree_of(inner, scope)
    if isinstance(argument, exp.Predicate | exp.Connector | exp.Not) and not isinstance(argument, exp.Column):
        return None, tree_of(argument, scope)
    if not isinstance(argument, exp.Column):
        raise refused(f"{what}({shown(argument)}): a column must stand there, or a condition")
    return _valued(argument, scope, what), None


def _case(node: Any, scope: Scope) -> tuple[Tree, Any, Any]:
    """The condition of a CASE with one, what it gives, and what else."""
    if node.this is not None or len(node.args["ifs"]) != 1:
        raise refused(f"{shown(node)} in an aggregate: it must have one WHEN")
    (branch,) = node.args["ifs"]
    return tree_of(branch.this, scope), bare(branch.args["true"]), bare(node.args.get("default"))


def _is_null(node: Any) -> bool:
    return node is None or isinstance(node, exp.Null)


def _is_number(node: Any, wanted: int) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and number(node) == wanted


def _valued(node: Any, scope: Scope, what: str) -> str:
    name = scope.column(node)
    values_of(scope[name], name, "mean" if what == "avg" else what)  # refuses what has none
    return name


def _quantile(node: Any, scope: Scope) -> Aggregate:
    """All ways to write it."""
    turned = False
    if isinstance(node, exp.WithinGroup):
        (ordered,) = node.expression.expressions if len(node.expression.expressions) == 1 else [None]
        if not isinstance(node.this, exp.PercentileCont | exp.PercentileDisc) or ordered is None:
            raise refused(f"{shown(node)}: write percentile_cont(0.5) WITHIN GROUP (ORDER BY x)")
        share, subject, turned = node.this.this, ordered.this, bool(ordered.args.get("desc"))
    elif isinstance(node, exp.Median):
        share, subject = exp.Literal.number("0.5"), node.this
    else:
        share, subject = node.args.get("quantile") or node.args.get("expression"), node.this
    if share is None or not is_value(share):
        raise refused(f"{shown(node)}: one share must stand there, such as 0.5")
    name, q = scope.column(bare(subject)), float(number(share))
    with_order(scope[name], name)  # refuses what has no order
    if not 0 <= q <= 1:
        raise ParameterError(f"The share of a quantile must lie between 0 and 1, got {q:g}.")
    return Aggregate("quantile", name, q=1 - q if turned else q, dated=scope[name].kind == "date")
