"""Conditions in one form: a disjoint union of products of weights on levels.

"age >= 65 and sex == 'Female'" becomes one term, a weight in [0, 1] for every level of age and of sex; an ``or`` across
columns becomes several terms that no record satisfies together. So the expected number of records is

    Σ over terms  Σ over levels  p(levels)  Π over the term's columns  weight[level],

whatever gives p: a view's counters or a model. A weight between 0 and 1 is the share of a cell that a range covers, if
values lie evenly within it; `partly` names the columns where that assumption enters.

A comparison is never true of a missing cell, nor is its contrary, as in SQL: ``not (age < 65)`` asks for known ages
from 65 on. ``age is missing`` asks for the missing ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.machine.later import pa
from scumble.schema import beyond, grammar, line, notwhole
from scumble.schema.column import Column, Part
from scumble.schema.grammar import Atom, Junction, Not, Tree, Untrue
from scumble.schema.products import Product, possible, products_of, remaining, require_few, united, without
from scumble.schema.schema import Schema
from scumble.schema.unclear import written

MOST_ROUNDED = 8
"""Products in a union whose cells are told exactly where it cuts some. Beyond, that would take too long."""


@dataclass(frozen=True, eq=False)
class Condition:
    """Which records are meant, as weights on the levels of a schema. Made by `condition`."""

    schema: Schema
    terms: tuple[Mapping[str, np.ndarray], ...]
    """Weights by column, for each of the disjoint products; a column that is not there is free."""
    partly: tuple[str, ...]
    """The columns of which a range cuts through a cell, so values are taken to lie evenly in it."""
    parts: tuple[Mapping[str, Part], ...] = ()
    """The values themselves that each product asks for, by column."""
    remarks: tuple[beyond.Remark, ...] = ()
    """A sentence for each column that is asked about beyond its bounds, or for numbers that it cannot hold."""
    beyond: tuple[Condition, Condition] | None = None
    """If records from beyond the bounds may be meant: the same, with none of the cells that hold them and with all."""

    @property
    def exact(self) -> bool:
        """Whether every cell is asked for as a whole or not at all."""
        return not self.partly

    @property
    def possible(self) -> bool:
        """Whether some record may meet it, be it one from beyond the bounds."""
        return bool(self.terms or (self.beyond and self.beyond[1].terms))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are asked about, in the schema's order."""
        asked = {name for term in self.terms for name in term}
        return tuple(name for name in self.schema if name in asked)

    def weights(self, codes: np.ndarray) -> np.ndarray:
        """The weight of each record, given its levels (records × columns): 1 if it is meant, 0 if not, in between if
        its cell is meant in part."""
        codes = np.asarray(codes)
        places = {name: j for j, name in enumerate(self.schema)}
        found = np.zeros(len(codes))
        for term in self.terms:
            product = np.ones(len(codes))
            for name, weights in term.items():
                product *= weights[codes[:, places[name]]]
            found += product
        return found

    def holds(self, codes: np.ndarray, values: pa.Table) -> np.ndarray:
        """Which records meet the condition, given their levels and their values: exactly, also within a cell."""
        places = {name: j for j, name in enumerate(self.schema)}
        found = np.zeros(len(codes), bool)
        for product in self.parts:
            mine = np.ones(len(codes), bool)
            for name, part in product.items():
                column, levels = self.schema[name], codes[:, places[name]]
                mine &= column.touches(part)[levels]
                cut = column.weights(part)[1][levels]
                if cut.any():
                    mine &= ~cut | line.holds(part.spans, column.places(values.column(name)))
            found |= mine
        return found


def condition(schema: Schema, where: str | Mapping[str, Any] | Tree | Condition | None) -> Condition:
    """A condition on the columns of a schema, in its one form.

    Parameters
    ----------
    schema : Schema
        The columns.
    where : str, mapping, Tree, Condition or None
        Text such as "age >= 65 and sex == 'Female'", or the tree that it is read into; or a mapping from columns to
        what they must be: a value, a list of values, a pair ``(low, high)`` with both bounds included (None for an open
        one), None for missing cells; or None for all records.

    Returns
    -------
    Condition
        The condition.

    Examples
    --------
    >>> from scumble.schema import Category, Number
    >>> schema = Schema(age=Number(0, 100, cells=4, zeros=False), town=Category(["Ulm", "Bonn"], missing=False))
    >>> found = condition(schema, "age > 60 and town != 'Ulm'")
    >>> {name: weights.round(2).tolist() for name, weights in found.terms[0].items()}, found.partly
    ({'age': [0.0, 0.0, 0.6, 1.0], 'town': [0.0, 1.0, 1.0]}, ('age',))
    """
    if isinstance(where, Condition):
        if where.schema != schema:
            raise ParameterError("The condition was made for another schema. Hint: make it anew for this one.")
        return where
    if where is None:
        return _weighed(schema, [{}])
    if isinstance(where, str | Mapping):
        names = schema.columns
        where = grammar.parse(where, names) if isinstance(where, str) else grammar.tree_of(where, names)
        _require_in_order(schema, where)
    if not isinstance(where, Atom | Not | Untrue | Junction):
        raise parameter("where", "text, a mapping from columns to values, or None", where)
    even = _weighed(schema, possible(products_of(schema, where, True)))
    outside, fractions = (room.remarks(schema.columns, where) for room in (beyond, notwhole))
    even = replace(even, remarks=(*outside, *fractions))
    if not outside:
        return even
    few, many = (_weighed(schema, possible(products_of(schema, where, True, ends))) for ends in (False, True))
    return replace(even, beyond=(few, many))


def _require_in_order(schema: Schema, tree: Tree) -> None:
    """Refuse a range that a person has written with the upper end first; in SQL it is empty."""
    for asked, ends in _ranges(tree):
        column = schema[asked]
        if not column.ordered or any(end is None for end in ends):
            continue
        try:
            low, high = map(column.span, ends)
        except ParameterError:
            continue  # which says more when the column reads it
        if low[0] >= high[1] and low > high:
            name = written(asked)
            lower, upper = (str(end) if isinstance(end, Real) else repr(str(end)) for end in ends)
            raise ParameterError(
                f"The condition asks about {asked!r}: the lower end, {lower}, lies above the upper, {upper}. "
                f"Hint: write the lower one first, or, for what lies outside, {name} >= {lower} or {name} <= {upper}."
            )


def _ranges(tree: Tree) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Columns that must lie between two ends, and these: of ``x between 3 and 10`` and ``3 < x < 10``.

    >>> [*_ranges(grammar.parse("not 10 < x <= 3", ["x"]))]
    [('x', (10, 3))]
    """
    if isinstance(tree, Atom):
        if tree.operator == "between":
            yield tree.column, (tree.literals[0], tree.literals[1])
        return
    parts = tree.parts if isinstance(tree, Junction) else (tree.part,)
    for part in parts:
        yield from _ranges(part)
    if isinstance(tree, Junction) and tree.chain:
        atoms = [part for part in parts if isinstance(part, Atom)]
        for low, high in itertools.product(atoms, atoms):
            if low.column == high.column and low.operator in (">", ">=") and high.operator in ("<", "<="):
                yield low.column, (low.literals[0], high.literals[0])


def bounds(asked: Condition) -> tuple[Condition, Condition]:
    """The records that surely meet a condition, and those that may, as far as their levels tell.

    Where in a cell its records lie is not known: they may be tied, or rounded to its edge. A record may meet a product
    if each of its levels has something of what the product asks for. So those that may meet a union of products are the
    union of these, with all cells that they touch as wholes; and those that surely meet it are all but those that may
    meet its contrary. Where these are unions of many, each product stands for itself: it is sure of less, and what may
    meet several counts several times. Records from beyond the bounds may meet whatever is asked of what lies there.

    Examples
    --------
    >>> from scumble.schema import Category, Number
    >>> schema = Schema(age=Number(0, 100, cells=4, zeros=False), town=Category(["Ulm"], missing=False))
    >>> sure, maybe = bounds(condition(schema, "age < 60 or town == 'Ulm'"))
    >>> people = np.array([[1, 1], [2, 0], [2, 1], [3, 1]])
    >>> sure.weights(people).tolist(), maybe.weights(people).tolist()
    ([1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0])
    """
    if asked.beyond is not None:
        few, many = asked.beyond
        return bounds(few)[0], bounds(many)[1]
    if asked.exact:
        return asked, asked
    schema, products = asked.schema, [dict(product) for product in asked.parts]
    contrary = _contrary(schema, products)
    if len(products) == 1 or contrary is None:
        sure = [{name: _inner(schema[name], part) for name, part in one.items()} for one in products]
        maybe = [_whole(schema, one) for one in products]
    else:
        sure, maybe = remaining(schema, [{}], _touched(schema, contrary)), _touched(schema, products)
    return _weighed(schema, possible(sure)), _weighed(schema, maybe)


def heaped(asked: Condition, heaps: Mapping[str, tuple[float, float]]) -> Condition:
    """A condition where some columns have heaps at their lower and upper bound, of these shares of the cell there.

    A bound is a single value: where values lie evenly it has nothing of its cell. But records from beyond it count
    there, so a heap does not lie evenly. It is meant if the bound is, as a whole, and the rest of the cell by its part.

    >>> from scumble.schema import Number
    >>> schema = Schema(age=Number(0, 100, cells=4, zeros=False))
    >>> [heaped(condition(schema, where), {"age": (0.0, 0.9)}).terms[0]["age"].round(2).tolist()
    ...  for where in ("age >= 100", "age >= 90", "age < 100")]
    [[0.0, 0.0, 0.0, 0.9], [0.0, 0.0, 0.0, 0.94], [1.0, 1.0, 1.0, 0.1]]
    """
    terms = []
    for term, product in zip(asked.terms, asked.parts, strict=True):
        found = dict(term)
        for name in term.keys() & heaps.keys():
            column, weights = asked.schema[name], np.array(term[name])
            first, end = column.line
            for cell, place, heap in zip(
                (0, len(weights) - column.missing - 1), (first, end - 1), heaps[name], strict=True
            ):
                meant = any(start <= place < stop for start, stop in product[name].spans)
                weights[cell] = (1 - heap) * weights[cell] + heap * meant
            found[name] = weights
        terms.append(MappingProxyType(found))
    return replace(asked, terms=tuple(terms))


def _contrary(schema: Schema, products: list[Product]) -> list[Product] | None:
    """Everything but some products; None if that, or they, are many."""
    pieces: list[Product] = [{}]
    for one in products:
        pieces = [rest for piece in pieces for rest in without(schema, piece, one)]
        if max(len(pieces), len(products)) > MOST_ROUNDED:
            return None
    return pieces


def _inner(column: Column, part: Part) -> Part:
    """The cells that lie in a part as wholes."""
    rest = column.touched(Part(line.without(part.spans, column.line)))
    return part._replace(spans=line.without(rest.spans, column.line))


def _whole(schema: Schema, product: Product) -> Product:
    """A product with all cells that it touches as wholes."""
    return {name: schema[name].touched(part) for name, part in product.items()}


def _touched(schema: Schema, products: list[Product]) -> list[Product]:
    """The union of some products with all cells that they touch as wholes."""
    found: list[Product] = []
    for product in products:
        found = united(schema, found, [_whole(schema, product)])
        require_few(found)
    return found


def _weighed(schema: Schema, products: list[Product]) -> Condition:
    made: dict[tuple[str, Part], np.ndarray] = {}  # many terms share their parts
    partly = set()
    for name, part in {(name, part) for product in products for name, part in product.items()}:
        made[name, part], cut = schema[name].weights(part)
        made[name, part].flags.writeable = False
        partly |= {name} if cut.any() else set()
    terms = [
        MappingProxyType({name: made[name, product[name]] for name in schema if name in product})
        for product in products
    ]
    parts = tuple(MappingProxyType(product) for product in products)
    return Condition(schema, tuple(terms), tuple(name for name in schema if name in partly), parts)
