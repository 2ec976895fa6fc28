"""Counts, sums, means, quantiles and other statistics of a group: each is one question to the release."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from scumble.columns.conditions import condition
from scumble.columns.grammar import Atom, Junction, Not, Tree
from scumble.columns.line import Span
from scumble.columns.number import Number
from scumble.errors import ParameterError
from scumble.sql.syntax import Node, Scope, bare, exp, is_value, number, refused, shown, value
from scumble.sql.where import CONDITIONS, EVERYTHING, NOTHING, both, case_of, levels_of, tree_of
from scumble.table.answers import NONE
from scumble.table.asking import MOST_GROUPS
from scumble.table.estimate import Estimate
from scumble.table.questions import Question, narrowed, place_of, question, spread, with_order, with_values
from scumble.table.release import TableRelease

_QUANTILES = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile, exp.Median)
_SINGLE = (exp.Min, exp.Max, exp.ArgMin, exp.ArgMax, exp.AnyValue, exp.First, exp.Last)


@dataclass(frozen=True)
class Aggregate:
    """A number of the records of a group."""

    kind: str
    """A question of the release, "count", "sum", "mean", "quantile" or "distinct"; or one of `STATISTICS`."""
    of: tuple[str | float, ...] = ()
    """What the question is asked of: a column, and the share of a quantile."""
    where: Tree = EVERYTHING
    """Which records of the group, by FILTER or CASE."""
    values: tuple[Value, ...] = ()
    """What a statistic is computed of."""
    levels: tuple[Tree, ...] | None = None
    """What is distinct, if that is no column: the condition of each level."""
    dated: bool = False
    """Whether it is a date."""
    among: str = "group"
    """"group", or "kept" for all records that WHERE keeps, or "all"."""

    def ask(self, scope: Scope, group: Tree, confidence: float) -> Estimate:
        """The release's answer."""
        release, tree = scope.release, both(group, self.where)
        if self.values:
            return statistic(release, self.kind, self.values, tree, confidence)
        if self.levels is not None:
            return _distinct_levels(release, [both(tree, level) for level in self.levels], confidence)
        where = None if tree == EVERYTHING else condition(scope.schema, tree)
        if self.kind == "sum" and where is not None and not where.terms:
            return Estimate(math.nan, 0.0, 0.0, 0.0)  # of nothing at all, as SQL has it
        found: Estimate = getattr(release, self.kind)(*self.of, where, confidence=confidence)
        return found


def _distinct_levels(release: TableRelease, levels: list[Tree], confidence: float) -> Estimate:
    found = (condition(release.schema, level) for level in levels)
    asked = [release._question(one) for one in found if one.possible]
    records = np.array([release._answers.counts(one) for one in asked])
    records = records.reshape(len(asked), release._answers.posterior.size).T
    return release.levels_there(records, (remark for one in asked for remark in release._remarks(one)), confidence)


def is_aggregate(node: Node) -> bool:
    """Whether a part of a statement is an aggregate by itself."""
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls)


def aggregate_of(node: Node, scope: Scope) -> Aggregate:
    """The question that an aggregate is."""
    node = bare(node)
    if isinstance(node, exp.Filter):
        found = aggregate_of(node.this, scope)
        return replace(found, where=both(tree_of(node.expression.this, scope), found.where))
    inner = node.this if isinstance(node, exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls) else node
    if isinstance(inner, _SINGLE):
        hint = "Hint: quantile_cont(x, 0.01) and quantile_cont(x, 0.99) are near the ends."
        raise ParameterError(f"{shown(node)} is the value of a single record, which no release reveals. {hint}")
    if isinstance(node, (exp.WithinGroup, *_QUANTILES)):
        return _quantile(node, scope)
    if isinstance(node, exp.Mode):
        raise refused(f"{shown(node)}: GROUP BY {shown(node.this)} ORDER BY count(*) DESC LIMIT 1 gives it")
    argument, kind = bare(node.this), type(node).__name__.lower()
    if isinstance(node, exp.ApproxDistinct) or (isinstance(node, exp.Count) and isinstance(argument, exp.Distinct)):
        return _distinct([argument] if isinstance(node, exp.ApproxDistinct) else argument.expressions, scope)
    if isinstance(node, exp.CountIf):
        return Aggregate("count", where=tree_of(argument, scope))
    if isinstance(node, exp.Count) and not node.expressions:
        return Aggregate("count", where=_counted(argument, scope))
    if isinstance(node, exp.Sum | exp.Avg):
        return _summed(argument, "sum" if isinstance(node, exp.Sum) else "mean", scope)
    if kind in STATISTICS:
        values = [argument, *([node.expression] if node.args.get("expression") is not None else [])]
        return Aggregate(kind, values=tuple(value_of(one, scope, kind) for one in values))
    raise refused(f"{shown(node)}")


def _distinct(written: list[Node], scope: Scope) -> Aggregate:
    if len(written) != 1:
        raise refused("count(DISTINCT …) of several columns: GROUP BY these gives each combination")
    name = written[0].name.lower() if isinstance(written[0], exp.Column) else None
    for sketched in scope.schema.distinct:
        if sketched.lower() == name:
            return Aggregate("distinct", (sketched,))
    levels = levels_of(written[0], scope, EVERYTHING)
    return Aggregate("distinct", levels=tuple(tree for name, tree in levels if name is not None))


def _counted(argument: Node, scope: Scope) -> Tree:
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


def _summed(argument: Node, kind: str, scope: Scope) -> Aggregate:
    """A sum or a mean: of a column by the release's own question, of anything else by its moments."""
    found: Value = value_of(argument, scope, kind)
    if len(found) == 1 and len(found[0].columns) == 1 and found[0].terms == ((found[0].columns, 1.0),):
        return Aggregate(kind, found[0].columns, found[0].where)
    return Aggregate(kind, values=(found or _constant(0.0, NOTHING),))


def _quantile(node: Node, scope: Scope) -> Aggregate:
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
    return Aggregate("quantile", (name, 1 - q if turned else q), dated=scope[name].kind == "date")


Polynomial: TypeAlias = tuple[tuple[tuple[str, ...], float], ...]
"""Products of columns, by their names in order, each with its coefficient."""


@dataclass(frozen=True)
class Branch:
    """A number of some records."""

    where: Tree
    columns: tuple[str, ...]
    """Those that must not be missing."""
    terms: Polynomial


Value: TypeAlias = tuple[Branch, ...]
"""A number of each record; those that are in no branch have none."""


def _constant(number: float, where: Tree = EVERYTHING) -> Value:
    return (Branch(where, (), (((), number),)),)


def value_of(node: Node, scope: Scope, what: str) -> Value:
    """The number that a part of a statement is, for `what` to be computed of."""
    node = bare(node)
    if isinstance(node, exp.Null):
        return ()
    if isinstance(node, exp.Literal):
        return _constant(float(number(node)))
    if isinstance(node, exp.Column):
        name = scope.column(node)
        with_values(scope[name], name, what)  # refuses what has none
        return (Branch(EVERYTHING, (name,), (((name,), 1.0),)),)
    if isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.NUMERIC_TYPES):
        found = value_of(node.this, scope, what)
        if node.to.is_type(*exp.DataType.INTEGER_TYPES) and not all(_whole(branch, scope) for branch in found):
            raise refused(f"{shown(node)} within an aggregate: it would be rounded")
        return found
    if isinstance(node, CONDITIONS):
        tree = tree_of(node, scope)
        return (*_constant(1.0, tree), *_constant(0.0, Not(tree)))
    if isinstance(node, exp.Case | exp.If):
        taken = ((tree, exp.Null() if then is None else then) for tree, then in case_of(node, scope))
        return tuple(one for tree, then in taken for one in _where(tree, value_of(then, scope, what)))
    if isinstance(node, exp.Coalesce) and len(node.expressions) == 1 and isinstance(bare(node.this), exp.Column):
        name = scope.column(bare(node.this))
        gap = Atom(name, "missing")
        rest = value_of(node.expressions[0], scope, what) if scope[name].missing else ()
        return (*value_of(node.this, scope, what), *_where(gap, rest))
    return _computed(node, scope, what)


def _where(tree: Tree, value: Value) -> Value:
    """The same number, of the records alone that meet a condition."""
    return tuple(replace(branch, where=both(tree, branch.where)) for branch in value)


def _computed(node: Node, scope: Scope, what: str) -> Value:
    """+ - * of numbers, / by a written number, and squares."""
    if isinstance(node, exp.Neg):
        return _each(_constant(-1.0), value_of(node.this, scope, what))
    square = isinstance(node, exp.Pow) and is_value(node.expression) and number(node.expression) == 2
    if isinstance(node, exp.Div) and is_value(node.expression) and number(node.expression):
        return _each(_constant(1 / number(node.expression)), value_of(node.this, scope, what))
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul) and not square:
        raise refused(f"{what}({shown(node)}): of columns, + - *, CASE, and / by a number are computed")
    left = value_of(node.this, scope, what)
    right = left if square else value_of(node.expression, scope, what)
    return _each(left, right, {exp.Add: 1.0, exp.Sub: -1.0}.get(type(node)))


def _each(left: Value, right: Value, sign: float | None = None) -> Value:
    """The sum, or without a sign the product, of two numbers: each branch of one with each of the other."""
    if len(left) * len(right) > MOST_GROUPS:
        raise ParameterError("The statement computes with too many branches of CASE. Hint: ask for less at once.")
    return tuple(
        Branch(
            both(one.where, two.where),
            tuple(dict.fromkeys((*one.columns, *two.columns))),
            times(one.terms, two.terms) if sign is None else _added(one.terms, two.terms, sign),
        )
        for one, two in itertools.product(left, right)
    )


def _added(one: Polynomial, two: Polynomial, sign: float) -> Polynomial:
    found = dict(one)
    for columns, factor in two:
        found[columns] = found.get(columns, 0.0) + sign * factor
    return tuple(found.items())


def times(one: Polynomial, two: Polynomial) -> Polynomial:
    """The product of two polynomials.

    >>> times(((("age",), 2.0), ((), 1.0)), ((("age",), 1.0),))
    ((('age', 'age'), 2.0), (('age',), 1.0))
    """
    found: dict[tuple[str, ...], float] = {}
    for (left, a), (right, b) in itertools.product(one, two):
        columns = tuple(sorted((*left, *right)))
        if len(columns) > 2:
            raise refused("products of more than two columns within an aggregate, or the variance of a product")
        found[columns] = found.get(columns, 0.0) + a * b
    return tuple(found.items())


def _whole(branch: Branch, scope: Scope) -> bool:
    return all(
        factor == int(factor) and all(getattr(scope[name], "whole", scope[name].kind == "boolean") for name in columns)
        for columns, factor in branch.terms
    )


Floats = npt.NDArray[np.float64]


class Moments:
    """Moments of one or two numbers of the records that meet a condition and have both, on every draw."""

    def __init__(self, release: TableRelease, where: Tree, values: Sequence[Value]) -> None:
        self._release, self._answers, schema = release, release._answers, release.schema
        self._parts: list[tuple[Question, tuple[str, ...], tuple[Branch, ...]]] = []
        remarks: dict[str, None] = {}
        for branches in itertools.product(*values):
            found = condition(schema, both(where, *(branch.where for branch in branches)))
            if not found.possible:
                remarks |= dict.fromkeys(question(schema, found).remarks)  # or it refuses what was left out
                continue
            columns = tuple(dict.fromkeys(name for branch in branches for name in branch.columns))
            places = [place_of(schema, name) for name in columns]
            asked = release._question(found)
            remarks |= dict.fromkeys(release._remarks(asked, *places))
            self._parts.append((asked, columns, branches))
        self.remarks = tuple(remarks)
        self._weights = cache(self._weighed)
        self._even = False

    @property
    def evenly(self) -> Moments | None:
        """The same with records evenly in cells that the condition cuts, as in counts; None if it cuts none."""
        if not any(asked.cuts for asked, *_ in self._parts):
            return None
        found = copy(self)
        found._even = True
        return found

    @property
    def count(self) -> Floats:
        """How many records there are."""
        return self._total(lambda *_: (((), 1.0),))

    def sum(self, one: int) -> Floats:
        """The sum of a number."""
        return self._total(lambda *terms: terms[one])

    def about(self, one: int, two: int) -> Floats:
        """Σ (x − x̄)(y − ȳ)."""
        found = self._total(lambda *terms: times(terms[one], terms[two]))
        found -= np.nan_to_num(_over(self.sum(one) * self.sum(two), self.count))
        return np.maximum(found, 0.0) if one == two else found

    def ends(self, one: int) -> tuple[float, float]:
        """The least and the largest that a number may be."""
        lows, highs = [], []
        for asked, _, branches in self._parts:
            sums = np.zeros(2)
            for columns, factor in branches[one].terms:
                schema = self._release.schema
                ranges = [asked.ends(place_of(schema, name), schema[name]) for name in columns]
                corners = [factor * math.prod(corner) for corner in itertools.product(*ranges)]
                sums += [min(corners), max(corners)]
            lows.append(sums[0])
            highs.append(sums[1])
        return (float(min(lows)), float(max(highs))) if lows else (-math.inf, math.inf)

    def _total(self, wanted: Callable[..., Polynomial]) -> Floats:
        """The sum of a polynomial over all records."""
        found = np.zeros(self._answers.posterior.size)
        for asked, columns, branches in self._parts:
            for powers, factor in wanted(*(branch.terms for branch in branches)):
                if factor:
                    found += factor * self._moment(asked, columns, powers)
        return found

    def _moment(self, asked: Question, columns: tuple[str, ...], powers: tuple[str, ...]) -> Floats:
        """Σ of a product of columns, over the records that are meant and have all of `columns`."""
        answers, sides = self._answers, []
        cuts = asked.cuts and not self._even
        for side in (asked.even, asked.sure, asked.maybe) if cuts else (asked.even,):
            for name in columns:
                place = place_of(self._release.schema, name)
                side = narrowed(side, place, self._weights(name, powers.count(name), asked.spans.get(place)))
            sides.append(answers.posterior.counts(side))
        answers.inferred |= dict.fromkeys(answers.not_measured(side))
        found = answers.leaning(*sides) if cuts else sides[0]
        return found + self._within_groups(asked, columns, powers, found) if len({*powers}) == 2 else found

    def _within_groups(
        self, asked: Question, columns: tuple[str, ...], powers: tuple[str, ...], product: Floats
    ) -> Floats:
        """What Σxy lacks, as pairs count neighboring levels as one: how x within its groups goes with y, and y with x.

        With W the share of a variance that lies within groups, and r the correlation without it, the correlation of y
        with x less its group's mean is at most √(W(1 − r²)). A relation is weaker within a narrow range than over the
        whole one (Thorndike 1949): each draw has a part of that, from 0 to |r|, in the direction of r.
        """
        answers, known, alone, shares = self._answers, asked.even, [], []
        for name in columns:
            known = narrowed(known, place_of(self._release.schema, name), self._weighed(name, 0))
        for name in powers:
            place = place_of(self._release.schema, name)
            records = np.maximum(answers.posterior.cells([place], known), 0.0)
            values, square = (self._weights(name, power, asked.spans.get(place)) for power in (1, 2))
            squares = (records * square).sum(axis=1)
            group = answers.group_of(place)
            into = np.eye(int(group.max()) + 1)[group]
            count, sums = records @ into, (records * values) @ into
            between = np.divide(sums**2, count, out=np.zeros_like(count), where=count > 0).sum(axis=1)
            alone.append(sums.sum(axis=1))
            shares.append((squares - between, squares - _over(alone[-1] ** 2, count.sum(axis=1))))
        along = product - _over(alone[0] * alone[1], count.sum(axis=1))
        left = np.maximum(1 - _over(along**2, shares[0][1] * shares[1][1]), 0.0)
        lacking = np.sum([np.sqrt(np.maximum(_over(*share), 0.0) * left) for share in shares], axis=0)
        return np.asarray(np.nan_to_num(along * lacking * answers.uniform(*powers)))

    def _weighed(self, name: str, power: int, span: Span | None = None) -> Floats:
        """The mean of a power of the values in each level of a column: by draw, where that depends on where in their
        cells values lie. Of those in a span of its line, if one is given."""
        column: Any = self._release.schema[name]
        middle, low, high = spread(column, span)
        known, wide = np.isfinite(middle), low < high
        if power == 0 or not wide.any():
            return np.where(known, middle**power, 0.0)
        place = place_of(self._release.schema, name)
        values = np.where(known, self._answers.values(place, column, span)[0], 0.0)
        if power == 1:
            return values
        whole = isinstance(column, Number) and column.whole
        table = self._answers.posterior.cells([place])[:, wide]
        return values**2 + np.where(wide, _within(table, middle[wide], (high - low + whole)[wide], whole), 0.0)


def _within(table: Floats, middle: Floats, width: Floats, whole: bool) -> Floats:
    """(draws, 1): what the spread of values within cells adds to a variance, given the records of each cell.

    Where values lie evenly in each cell that is w²/12, and (n² − 1)/12 of n whole numbers. But where a density falls,
    more values lie in that half of a cell that is nearer to the mean (Sheppard 1898). So the density is taken to be
    straight in each cell, with the slope between its neighbors, as long as it is not negative.
    """
    even = (width**2 - whole) / 12
    height = np.maximum(table, 0.0) / width
    slope = np.gradient(height, middle, axis=1) if len(middle) > 1 else np.zeros_like(height)
    tilt = np.clip(slope, -2 * height / width, 2 * height / width) * width**3 / 12
    records = np.maximum(table.sum(axis=1, keepdims=True), NONE)
    mean = (table * middle).sum(axis=1, keepdims=True) / records
    return np.asarray((table * even + 2 * tilt * (middle - mean)).sum(axis=1, keepdims=True) / records)


def _spread(moments: Moments, less: float) -> Floats:
    return _over(moments.about(0, 0), moments.count - less)


def _over(one: Floats, two: Floats) -> Floats:
    """A quotient, where there is one: not of fewer records than one, or of no spread."""
    return np.asarray(np.divide(one, two, out=np.full(len(one), math.nan), where=two > 0))


def _correlation(moments: Moments) -> Floats:
    return _over(moments.about(0, 1), np.sqrt(moments.about(0, 0) * moments.about(1, 1)))


def _slope(moments: Moments) -> Floats:
    """Of the line that tells the first number from the second, as in SQL."""
    return _over(moments.about(0, 1), moments.about(1, 1))


def _mean(moments: Moments, one: int = 0) -> Floats:
    return _over(moments.sum(one), moments.count)


STATISTICS: dict[str, Callable[[Moments], Floats]] = {
    "sum": lambda m: m.sum(0),
    "mean": _mean,
    "variance": lambda m: _spread(m, 1.0),
    "variancepop": lambda m: _spread(m, 0.0),
    "stddev": lambda m: np.sqrt(_spread(m, 1.0)),
    "stddevsamp": lambda m: np.sqrt(_spread(m, 1.0)),
    "stddevpop": lambda m: np.sqrt(_spread(m, 0.0)),
    "covarpop": lambda m: _over(m.about(0, 1), m.count),
    "covarsamp": lambda m: _over(m.about(0, 1), m.count - 1.0),
    "corr": _correlation,
    "regrslope": _slope,
    "regrintercept": lambda m: _mean(m) - _slope(m) * _mean(m, 1),
    "regrr2": lambda m: _correlation(m) ** 2,
    "regrcount": lambda m: m.count,
    "regravgy": _mean,
    "regravgx": lambda m: _mean(m, 1),
}
"""By the names that sqlglot has for them."""
_ENDS = {"corr": (-1.0, 1.0), "regrr2": (0.0, 1.0), "regrcount": (0.0, math.inf)}


def statistic(release: TableRelease, name: str, values: Sequence[Value], where: Tree, confidence: float) -> Estimate:
    """A statistic of the numbers of records that meet a condition."""
    moments = Moments(release, where, values)
    least, most = _ENDS.get(name, (0.0 if name.startswith(("var", "std")) else -math.inf, math.inf))
    if name == "mean":
        least, most = moments.ends(0)
    if name == "sum":
        low, high = moments.ends(0)
        least, most = 0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf
    elif name != "regrcount" and moments.count.mean() < NONE:
        return Estimate(math.nan, least, most, math.inf, moments.remarks)
    even = None if moments.evenly is None else STATISTICS[name](moments.evenly)
    found = release._answers.told(STATISTICS[name](moments), confidence, least, most, even)
    return replace(found, remarks=moments.remarks)
