"""What is added up, averaged or correlated: a number of each record.

A number is given by branches that exclude each other, as CASE has them. Each branch has a condition, columns that must
not be missing, and a polynomial of columns of degree two at most. Sums of such numbers are sums of moments, which every
draw from a release's posterior has in closed form (`moments`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from scumble.errors import ParameterError
from scumble.relational.cells import EVERYTHING, both
from scumble.relational.literals import is_value, number
from scumble.relational.scope import Scope
from scumble.relational.syntax import bare, exp, refused, shown
from scumble.relational.where import CONDITIONS, case_of, tree_of
from scumble.schema.grammar import Atom, Not, Tree
from scumble.tabular.frames import MOST_GROUPS
from scumble.tabular.questions import values_of

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


def value_of(node: Any, scope: Scope, what: str) -> Value:
    """The number that a part of a statement is, for `what` to be computed of."""
    node = bare(node)
    if isinstance(node, exp.Null):
        return ()
    if isinstance(node, exp.Literal):
        return (Branch(EVERYTHING, (), (((), float(number(node))),)),)
    if isinstance(node, exp.Column):
        name = scope.column(node)
        values_of(scope[name], name, what)  # refuses what has none
        return (Branch(EVERYTHING, (name,), (((name,), 1.0),)),)
    if isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.NUMERIC_TYPES):
        found = value_of(node.this, scope, what)
        if node.to.is_type(*exp.DataType.INTEGER_TYPES) and not all(_whole(branch, scope) for branch in found):
            raise refused(f"{shown(node)} within an aggregate: it would be rounded")
        return found
    if isinstance(node, CONDITIONS):
        tree = tree_of(node, scope)
        return (Branch(tree, (), (((), 1.0),)), Branch(Not(tree), (), (((), 0.0),)))
    if isinstance(node, exp.Case | exp.If):
        return tuple(
            Branch(both(tree, branch.where), branch.columns, branch.terms)
            for tree, then in case_of(node, scope)
            for branch in value_of(exp.Null() if then is None else then, scope, what)
        )
    if isinstance(node, exp.Coalesce) and len(node.expressions) == 1 and isinstance(bare(node.this), exp.Column):
        name = scope.column(bare(node.this))
        gap = Atom(name, "missing")
        rest = value_of(node.expressions[0], scope, what) if scope[name].missing else ()
        return (*value_of(node.this, scope, what), *(Branch(both(gap, b.where), b.columns, b.terms) for b in rest))
    return _computed(node, scope, what)


def _computed(node: Any, scope: Scope, what: str) -> Value:
    """+ - * of numbers, / by a written number, and squares."""
    if isinstance(node, exp.Neg):
        return _each(value_of(exp.Literal.number(0), scope, what), value_of(node.this, scope, what), -1.0)
    square = isinstance(node, exp.Pow) and is_value(node.expression) and number(node.expression) == 2
    if isinstance(node, exp.Div) and is_value(node.expression) and number(node.expression):
        share = (Branch(EVERYTHING, (), (((), 1 / number(node.expression)),)),)
        return _each(value_of(node.this, scope, what), share)
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul) and not square:
        raise refused(
            f"{what}({shown(node)}): of columns, + - * and CASE are computed, and / by a number; so is the square x * x"
        )
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
    whole: Callable[[str], bool] = lambda name: getattr(scope[name], "whole", scope[name].kind == "boolean")  # noqa: E731
    return all(factor == int(factor) and all(map(whole, columns)) for columns, factor in branch.terms)
