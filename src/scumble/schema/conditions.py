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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.machine.later import pa
from scumble.schema import beyond, grammar, line, notwhole
from scumble.schema.column import MISSING, Column, Part
from scumble.schema.grammar import Atom, Junction, Not, Tree, Untrue
from scumble.schema.schema import Schema
from scumble.schema.unclear import written

MOST_TERMS = 256
"""Products in a union. Beyond, an answer would be slow, and its error out of hand."""
MOST_ROUNDED = 8
"""Products in a union whose cells are told exactly where it cuts some. Beyond, that would take too long."""

_Product: TypeAlias = dict[str, Part]
"""Which values a record may have in some columns; the others are free."""


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
    if isinstance(where, str):
        where = grammar.parse(where, schema.columns)
    if where is None:
        return _weighed(schema, [{}])
    if isinstance(where, Mapping):
        where = grammar.tree_of(where, schema.columns)
    if not isinstance(where, Atom | Not | Untrue | Junction):
        raise parameter("where", "text, a mapping from columns to values, or None", where)
    even = _weighed(schema, _there(_products(schema, where, True)))
    outside, fractions = (room.remarks(schema.columns, where) for room in (beyond, notwhole))
    even = replace(even, remarks=(*outside, *fractions))
    if not outside:
        return even
    few, many = (_weighed(schema, _there(_products(schema, where, True, ends))) for ends in (False, True))
    return replace(even, beyond=(few, many))


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
        sure, maybe = _rest(schema, [{}], _touched(schema, contrary)), _touched(schema, products)
    return _weighed(schema, _there(sure)), _weighed(schema, maybe)


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


def _contrary(schema: Schema, products: list[_Product]) -> list[_Product] | None:
    """Everything but some products; None if that, or they, are many."""
    pieces: list[_Product] = [{}]
    for one in products:
        pieces = [rest for piece in pieces for rest in _minus(schema, piece, one)]
        if max(len(pieces), len(products)) > MOST_ROUNDED:
            return None
    return pieces


def _inner(column: Column, part: Part) -> Part:
    """The cells that lie in a part as wholes."""
    rest = column.touched(Part(line.without(part.spans, column.line)))
    return part._replace(spans=line.without(rest.spans, column.line))


def _whole(schema: Schema, product: _Product) -> _Product:
    """A product with all cells that it touches as wholes."""
    return {name: schema[name].touched(part) for name, part in product.items()}


def _touched(schema: Schema, products: list[_Product]) -> list[_Product]:
    """The union of some products with all cells that they touch as wholes."""
    found: list[_Product] = []
    for product in products:
        found = _either(schema, found, [_whole(schema, product)])
        _require_few(found)
    return found


def _weighed(schema: Schema, products: list[_Product]) -> Condition:
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


# ---- from a tree to disjoint products ----


def _products(schema: Schema, tree: Tree, wanted: bool, ends: bool | None = None) -> list[_Product]:
    """Where the tree is true (or, if not `wanted`, false). Contraries go down to the atoms, where missing cells are
    neither: that is the logic of three values.

    Cells that hold records from beyond the bounds count as if all of these (or, if `ends` is False, none) were meant
    wherever an atom asks beyond; without `ends` as if these lay at the bounds.
    """
    if isinstance(tree, Not):
        return _products(schema, tree.part, not wanted, ends)
    if isinstance(tree, Untrue):
        true = _products(schema, tree.part, True, ends if ends is None else ends is not wanted)
        return _rest(schema, [{}], true) if wanted else true
    if isinstance(tree, Atom):
        return [{tree.column: _atom(schema[tree.column], tree, wanted, ends)}]
    if not tree.parts:
        return [{}] if tree.all is wanted else []
    parts = [_products(schema, part, wanted, ends) for part in tree.parts]
    found = parts[0]
    for part in parts[1:]:
        found = _both(found, part) if tree.all is wanted else _either(schema, found, part)
        _require_few(found)
    return found


def _require_few(products: list[_Product]) -> None:
    if len(products) > MOST_TERMS:
        raise ParameterError(
            f"The condition is a union of more than {MOST_TERMS} parts. Hint: ask for less at once, or use `in`."
        )


def _both(here: list[_Product], there: list[_Product]) -> list[_Product]:
    found = []
    for one in here:
        for other in there:
            product = {name: _common(one[name], other[name]) if name in one else other[name] for name in other}
            product = one | product
            if all(map(_some, product.values())):
                found.append(product)
    return found


def _either(schema: Schema, here: list[_Product], there: list[_Product]) -> list[_Product]:
    """All of `here`, and what of `there` is not among it."""
    return _merged([*here, *_rest(schema, there, here)])


def _rest(schema: Schema, products: list[_Product], taken: list[_Product]) -> list[_Product]:
    """What of some products is in none of others."""
    found = []
    for product in products:
        pieces = [product]
        for one in taken:
            pieces = [rest for piece in pieces for rest in _minus(schema, piece, one)]
            _require_few(pieces)
        found += pieces
    return found


def _minus(schema: Schema, product: _Product, taken: _Product) -> list[_Product]:
    """What of a product is not in another, as disjoint products: those that first leave it in some column."""
    found = []
    rest = dict(product)
    for name, part in taken.items():
        column = schema[name]
        mine = rest.get(name, Part((column.line,), column.missing))
        out = Part(line.common(mine.spans, line.without(part.spans, column.line)), mine.missing and not part.missing)
        if _some(out):
            found.append({**rest, name: out})
        rest[name] = _common(mine, part)
        if not _some(rest[name]):
            break
    return found


def _merged(products: list[_Product]) -> list[_Product]:
    """Products on one and the same column are one."""
    single: dict[str, Part] = {}
    others = []
    for product in products:
        if len(product) == 1:
            ((name, part),) = product.items()
            before = single.get(name, Part(()))
            single[name] = Part(line.joined((*before.spans, *part.spans)), before.missing or part.missing)
        else:
            others.append(product)
    return [*({name: part} for name, part in single.items()), *others]


def _common(here: Part, there: Part) -> Part:
    return Part(line.common(here.spans, there.spans), here.missing and there.missing)


def _some(part: Part) -> bool:
    return bool(part.spans) or part.missing


def _there(products: list[_Product]) -> list[_Product]:
    """Those that ask for something in each column."""
    return [product for product in products if all(map(_some, product.values()))]


# ---- one column ----


def _atom(column: Column, atom: Atom, wanted: bool, ends: bool | None) -> Part:
    if atom.operator == "missing":
        _require_missing(column, atom.column)
        return Part((), column.missing) if wanted else Part((column.line,))
    if MISSING in atom.literals:
        raise ParameterError(
            f"The condition asks about {atom.column!r}, and {MISSING!r} stands for cells that are missing: it is no "
            f"value. Hint: write {written(atom.column)} is missing (in SQL: is null; in a mapping: None)."
        )
    try:
        spans = _spans(column, atom)
    except ParameterError as problem:
        raise ParameterError(f"The condition asks about {atom.column!r}: {problem}.") from None
    inside = line.common(line.joined(spans), (column.line,))
    found = inside if wanted else line.without(inside, column.line)
    if ends is None:
        return Part(found)
    there = beyond.doubtful(column, atom)
    return Part(line.joined((*found, *there)) if ends else line.common(found, line.without(there, column.line)))


def _spans(column: Column, atom: Atom) -> line.Spans:
    first, end = column.line
    if atom.operator in ("==", "in"):
        return tuple(column.equals(literal) for literal in atom.literals)
    if not column.ordered:
        raise ParameterError(f"a {column.kind} has no order: use ==, != or in")
    if atom.operator == "between":
        low, high = atom.literals
        start = first if low is None else column.span(low)[0]
        stop = end if high is None else column.span(high)[1]
        return ((start, max(start, stop)),)
    low, high = column.span(atom.literals[0])
    return {
        "<": ((min(first, low), low),),
        "<=": ((min(first, high), high),),
        ">": ((high, max(high, end)),),
        ">=": ((low, max(low, end)),),
    }[atom.operator]


def _require_missing(column: Column, name: str) -> None:
    if not column.missing:
        raise ParameterError(
            f"The condition asks for missing cells of {name!r}, and its schema has no level for these: records without "
            "it are not counted. Hint: leave the question out."
        )
