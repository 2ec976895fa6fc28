"""Counts, sums, means, quantiles and other statistics of a group: each is one question to the release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scumble.errors import ParameterError
from scumble.relational.cells import EVERYTHING, NOTHING, both
from scumble.relational.keys import key_of
from scumble.relational.literals import is_value, number, value
from scumble.relational.moments import STATISTICS, statistic
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, refused, shown
from scumble.relational.values import Branch, Value, value_of
from scumble.relational.where import case_of, tree_of
from scumble.schema import condition
from scumble.schema.grammar import Junction, Tree
from scumble.tabular.answers import NONE
from scumble.tabular.estimate import Estimate
from scumble.tabular.questions import with_order

_QUANTILES = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile, exp.Median)
_SINGLE = (exp.Min, exp.Max, exp.ArgMin, exp.ArgMax, exp.AnyValue, exp.First, exp.Last)


@dataclass(frozen=True)
class Aggregate:
    """A number of the records of a group."""

    kind: str
    """"count", "sum", "mean", "quantile", "distinct", or one of the statistics of `moments`."""
    column: str | None = None
    where: Tree = EVERYTHING
    """Which records of the group, by FILTER or CASE."""
    values: tuple[Any, ...] = ()
    """What a statistic is computed of; of "distinct", the condition of each level."""
    q: float = 0.5
    dated: bool = False
    """Whether it is a date."""
    among: str = "group"
    """"group", or "kept" for all records that WHERE keeps, or "all"."""

    def ask(self, scope: Scope, group: Tree, confidence: float) -> Estimate:
        """The release's answer."""
        found: Any
        release, tree = scope.release, both(group, self.where)
        where = condition(scope.schema, tree)
        if self.kind == "distinct":
            return self._distinct(scope, tree, confidence)
        if self.values:
            return statistic(release, self.kind, self.values, tree, confidence)
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

    def _distinct(self, scope: Scope, tree: Tree, confidence: float) -> Estimate:
        """How many levels have a record: on each draw those with a count that rounds to one or more."""
        release, answers = scope.release, scope.release._answers
        levels = [condition(scope.schema, both(tree, level)) for level in self.values]
        asked = [release._question(one) for one in levels if one.possible]
        each = np.sum(
            [answers.counts(one) >= NONE for one in asked] or [np.zeros(answers.posterior.size, bool)], axis=0
        )
        remarks = dict.fromkeys(remark for one in asked for remark in release._remarks(one))
        found = answers.told(np.asarray(each, float), confidence, 0.0, float(len(asked)))
        return replace(found, remarks=tuple(remarks))


def is_aggregate(node: Any) -> bool:
    """Whether a part of a statement is an aggregate by itself."""
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls)


def aggregate_of(node: Any, scope: Scope) -> Aggregate:
    """The question that an aggregate is."""
    node = bare(node)
    if isinstance(node, exp.Filter):
        found = aggregate_of(node.this, scope)
        return replace(found, where=both(tree_of(node.expression.this, scope), found.where))
    inner = node.this if isinstance(node, exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls) else node
    if isinstance(inner, _SINGLE):
        raise ParameterError(
            f"{shown(node)} is what a single record says, and no release tells that. Hint: quantile_cont(x, 0.01) and "
            "quantile_cont(x, 0.99) are near the ends; a schema has the bounds."
        )
    if isinstance(node, (exp.WithinGroup, *_QUANTILES)):
        return _quantile(node, scope)
    if isinstance(node, exp.Mode):
        raise refused(f"{shown(node)}: GROUP BY {shown(node.this)} ORDER BY count(*) DESC LIMIT 1 is the commonest")
    argument, kind = bare(node.this), type(node).__name__.lower()
    if isinstance(node, exp.ApproxDistinct) or (isinstance(node, exp.Count) and isinstance(argument, exp.Distinct)):
        return _distinct([argument] if isinstance(node, exp.ApproxDistinct) else argument.expressions, scope)
    if isinstance(node, exp.CountIf):
        return Aggregate("count", where=tree_of(argument, scope))
    if isinstance(node, exp.Count) and not node.expressions:
        return Aggregate("count", where=_counted(argument, scope))
    if isinstance(node, exp.Sum | exp.Avg):
        return _added(argument, "sum" if isinstance(node, exp.Sum) else "mean", scope)
    if kind in STATISTICS:
        values = [argument, *([node.expression] if node.args.get("expression") is not None else [])]
        return Aggregate(kind, values=tuple(value_of(one, scope, kind) for one in values))
    raise refused(f"{shown(node)}")


def _distinct(written: list[Any], scope: Scope) -> Aggregate:
    if len(written) != 1:
        raise refused("count(DISTINCT …) of several columns: GROUP BY these gives each combination")
    levels = key_of(written[0], scope, EVERYTHING).levels
    return Aggregate("distinct", values=tuple(tree for name, tree in levels if name is not None))


def _counted(argument: Any, scope: Scope) -> Tree:
    """Where an argument is not missing."""
    if argument is None or isinstance(argument, exp.Star):
        return EVERYTHING
    if is_value(argument):
        return EVERYTHING if value(argument) is not None else NOTHING
    if isinstance(argument, exp.Case | exp.If):
        cases = [(tree, then) for tree, then in case_of(argument, scope) if then is not None]
        return Junction(False, tuple(both(tree, _counted(then, scope)) for tree, then in cases))
    if not isinstance(argument, exp.Column):
        raise refused(f"count({shown(argument)}): count(*), count of a column or count(CASE WHEN … THEN 1 END)")
    return scope.present(scope.column(argument))


def _added(argument: Any, kind: str, scope: Scope) -> Aggregate:
    """A sum or a mean: of a column by the release's own question, of anything else by its moments."""
    found: Value = value_of(argument, scope, kind)
    if len(found) == 1 and len(found[0].columns) == 1 and found[0].terms == ((found[0].columns, 1.0),):
        return Aggregate(kind, found[0].columns[0], found[0].where)
    return Aggregate(kind, values=(found or (Branch(NOTHING, (), ()),),))


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
