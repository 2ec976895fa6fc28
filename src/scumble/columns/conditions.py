"""Conditions as a disjoint union of products of weights on levels.

"age >= 65 and sex == 'Female'" becomes one term, a weight in [0, 1] for every level of age and of sex; an ``or`` across
columns becomes several terms that no record satisfies together. The expected number of records is
Σ over terms, Σ over levels, p(levels) Π over the term's columns weight[level]. A weight between 0 and 1 is the share of
a cell that a range covers, if values are spread evenly within it.

As in SQL, neither a comparison nor its negation is true of a missing cell. Records beyond a column's bounds may have
been counted at the nearest one: then the interval of a question beyond it covers all and none of the records in the
cell there. If they were left out, a question about nothing else has no answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from scumble.columns import grammar, line
from scumble.columns.column import MISSING, Column, Part
from scumble.columns.date import Date
from scumble.columns.grammar import Atom, Junction, Not, Tree, Untrue, written
from scumble.columns.number import Number
from scumble.errors import ParameterError, parameter
from scumble.files.lazy_modules import pa

if TYPE_CHECKING:
    from scumble.columns.schema import Schema

MOST_TERMS = 256
"""The most products in a union."""
MOST_ROUNDED = 8
"""The most products in a union for which `bounds` is exact."""

Place: TypeAlias = Any
"""A place on a line of integers, or beyond all of them: ±∞."""
Product: TypeAlias = dict[str, Part]
"""The values a record may have in some columns; the others are free."""

_OUTSIDE = {
    "clip": "Records outside count at the nearest bound, and the interval allows for any number of them.",
    "drop": "Records outside were left out.",
}


@dataclass(frozen=True)
class Remark:
    """A question that reaches beyond the bounds of a column."""

    column: str
    text: str
    left_out: bool
    """Whether records outside the bounds were left out."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Condition:
    """Which records are meant, as weights on the levels of a schema. Made by `condition`."""

    schema: Schema
    terms: tuple[Mapping[str, np.ndarray], ...]
    """Weights by column, for each of the disjoint products; a column that is not there is free."""
    partly: tuple[str, ...]
    """The columns in which a range covers part of a cell, assuming values spread evenly within it."""
    parts: tuple[Mapping[str, Part], ...] = ()
    """The values that each product asks for, by column."""
    remarks: tuple[Remark, ...] = ()
    """One for each column that is asked about beyond its bounds."""
    beyond: tuple[Condition, Condition] | None = None
    """If records beyond the bounds may be meant: the condition without the cells that hold them, and with them."""

    @property
    def exact(self) -> bool:
        """Whether every cell is asked for as a whole or not at all."""
        return not self.partly

    @property
    def possible(self) -> bool:
        """Whether some record may meet it."""
        return bool(self.terms or (self.beyond and self.beyond[1].terms))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the condition, in the schema's order."""
        asked = {name for term in self.terms for name in term}
        return tuple(name for name in self.schema if name in asked)

    def weights(self, codes: np.ndarray) -> np.ndarray:
        """The weight of each record, given its levels (records × columns): between 0 and 1 in a cell that is cut."""
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
        """Which records meet the condition, given their levels and values."""
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


def condition(schema: Schema, where: str | Mapping[str, object] | Tree | Condition | None) -> Condition:
    """A condition on the columns of a schema.

    `where` is text such as "age >= 65 and sex == 'Female'", or its tree; or a mapping from columns to a value, a list
    of values, a pair ``(low, high)`` with both bounds included (None for an open one), or None for missing cells; or
    None for all records.

    >>> from scumble import Category, Number, Schema
    >>> schema = Schema(age=Number(0, 100, cells=4, zeros=False), town=Category(["Ulm", "Bonn"], missing=False))
    >>> found = condition(schema, "age > 60 and town != 'Ulm'")
    >>> {name: weights.round(2).tolist() for name, weights in found.terms[0].items()}, found.partly
    ({'age': [0.0, 0.0, 0.6, 1.0], 'town': [0.0, 1.0, 1.0]}, ('age',))
    """
    if isinstance(where, Condition):
        if where.schema != schema:
            raise ParameterError("The condition was made for another schema. Hint: make it again for this one.")
        return where
    if where is None:
        return _weighed(schema, [{}])
    where = _tree(schema, where)
    even = _weighed(schema, _possible(_products(schema, where, True)))
    beyond = tuple(_remarks(schema.columns, where))
    if not beyond:
        return even
    few, many = (_weighed(schema, _possible(_products(schema, where, True, ends))) for ends in (False, True))
    return replace(even, remarks=beyond, beyond=(few, many))


def all_of(schema: Schema, *conditions: str | Mapping[str, object] | Tree | Condition | None) -> Condition:
    """The records that meet each of several conditions."""
    given = [where for where in conditions if where is not None]
    if len(given) < 2:
        return condition(schema, given[0] if given else None)
    return condition(schema, Junction(True, tuple(_tree(schema, where) for where in given)))


def _tree(schema: Schema, where: object) -> Tree:
    if isinstance(where, str | Mapping):
        where = grammar.parse(where, schema) if isinstance(where, str) else grammar.tree_of(where, schema)
        _require_in_order(schema, where)
    if not isinstance(where, Atom | Not | Untrue | Junction):
        raise parameter("where", "text, a mapping from columns to values, or None", where)
    return where


def _require_in_order(schema: Schema, tree: Tree) -> None:
    """Refuse a range written with the upper end first. (In SQL it is empty.)"""
    for name, ends in _ranges(tree):
        column = schema[name]
        if not column.ordered or any(end is None for end in ends):
            continue
        try:
            low, high = map(column.span, ends)
        except ParameterError:
            continue  # refused later, with a better message
        if low[0] >= high[1] and low > high:
            lower, upper = (str(end) if isinstance(end, Real) else repr(str(end)) for end in ends)
            raise ParameterError(f"The range of {name!r} is {lower} to {upper}. Hint: write the lower end first.")


def _ranges(tree: Tree) -> Iterator[tuple[str, tuple[object, object]]]:
    """The columns and ends of ranges: ``x between 3 and 10`` and ``3 < x < 10``.

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
    """The records that surely meet a condition, and those that may, by their levels alone.

    A record may meet a product if each of its levels overlaps with it; it surely meets a union unless it may meet the
    complement. Beyond `MOST_ROUNDED` products, each is bounded by itself: fewer records are sure, and those that may
    meet several products count several times.

    >>> from scumble import Category, Number, Schema
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
        sure, maybe = _remaining(schema, [{}], _touched(schema, contrary)), _touched(schema, products)
    return _weighed(schema, _possible(sure)), _weighed(schema, maybe)


def heaped(asked: Condition, heaps: Mapping[str, tuple[float, float]]) -> Condition:
    """A condition where these shares of a column's first and last cell lie exactly at its lower and upper bound.

    Records from beyond a bound count there. They are meant as a whole if the bound is; the rest of the cell is evenly
    spread.

    >>> from scumble import Number, Schema
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
            cells = (0, len(weights) - column.missing - 1)
            for cell, place, heap in zip(cells, (first, end - 1), heaps[name], strict=True):
                meant = any(start <= place < stop for start, stop in product[name].spans)
                weights[cell] = (1 - heap) * weights[cell] + heap * meant
            found[name] = weights
        terms.append(MappingProxyType(found))
    return replace(asked, terms=tuple(terms))


def _contrary(schema: Schema, products: list[Product]) -> list[Product] | None:
    """The complement of a union; None if either has more than `MOST_ROUNDED` products."""
    pieces: list[Product] = [{}]
    for one in products:
        pieces = [rest for piece in pieces for rest in _without(schema, piece, one)]
        if max(len(pieces), len(products)) > MOST_ROUNDED:
            return None
    return pieces


def _inner(column: Column, part: Part) -> Part:
    """The cells that lie entirely in a part."""
    rest = column.touched(Part(line.without(part.spans, column.line)))
    return part._replace(spans=line.without(rest.spans, column.line))


def _whole(schema: Schema, product: Product) -> Product:
    """A product extended to whole cells."""
    return {name: schema[name].touched(part) for name, part in product.items()}


def _touched(schema: Schema, products: list[Product]) -> list[Product]:
    """The union of products extended to whole cells."""
    found: list[Product] = []
    for product in products:
        found = _united(schema, found, [_whole(schema, product)])
        _require_few(found)
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


# ---- from a tree to products ----


def _products(schema: Schema, tree: Tree, wanted: bool, ends: bool | None = None) -> list[Product]:
    """Disjoint products where the tree is true (or false, if not `wanted`). Missing cells are neither.

    A bound's cell, where a comparison reaches beyond that bound, counts as wanted if `ends` is True, as not wanted if
    it is False, and by the bound itself if it is None.
    """
    if isinstance(tree, Not):
        return _products(schema, tree.part, not wanted, ends)
    if isinstance(tree, Untrue):
        true = _products(schema, tree.part, True, ends if ends is None else ends is not wanted)
        return _remaining(schema, [{}], true) if wanted else true
    if isinstance(tree, Atom):
        column = schema[tree.column]
        if tree.operator == "missing" and not column.missing:
            return [] if wanted else [{}]
        return [{tree.column: _part(column, tree, wanted, ends)}]
    if not tree.parts:
        return [{}] if tree.all is wanted else []
    parts = [_products(schema, part, wanted, ends) for part in tree.parts]
    found = parts[0]
    for part in parts[1:]:
        found = _both(found, part) if tree.all is wanted else _united(schema, found, part)
        _require_few(found)
    return found


def _require_few(products: list[Product]) -> None:
    if len(products) > MOST_TERMS:
        raise ParameterError(f"The condition is a union of more than {MOST_TERMS} parts. Hint: ask for less at once.")


def _both(here: list[Product], there: list[Product]) -> list[Product]:
    found = []
    for one, other in itertools.product(here, there):
        shared = {name: _common(one[name], other[name]) if name in one else other[name] for name in other}
        found.append(one | shared)
    return _possible(found)


def _united(schema: Schema, here: list[Product], there: list[Product]) -> list[Product]:
    """All of `here`, and the rest of `there`; products on a single column are merged."""
    single: dict[str, Part] = {}
    others = []
    for product in (*here, *_remaining(schema, there, here)):
        if len(product) == 1:
            ((name, part),) = product.items()
            known = single.get(name, Part(()))
            single[name] = Part(line.joined((*known.spans, *part.spans)), known.missing or part.missing)
        else:
            others.append(product)
    return [*({name: part} for name, part in single.items()), *others]


def _remaining(schema: Schema, products: list[Product], taken: list[Product]) -> list[Product]:
    """What is in `products` and in none of `taken`."""
    found = []
    for product in products:
        pieces = [product]
        for one in taken:
            pieces = [rest for piece in pieces for rest in _without(schema, piece, one)]
            _require_few(pieces)
        found += pieces
    return found


def _without(schema: Schema, product: Product, taken: Product) -> list[Product]:
    """What is in one product and not in another, split by the first column in which it leaves the other."""
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


def _common(here: Part, there: Part) -> Part:
    return Part(line.common(here.spans, there.spans), here.missing and there.missing)


def _some(part: Part) -> bool:
    return bool(part.spans) or part.missing


def _possible(products: list[Product]) -> list[Product]:
    """The products that some record may be in."""
    return [product for product in products if all(map(_some, product.values()))]


def _part(column: Column, atom: Atom, wanted: bool, ends: bool | None) -> Part:
    """The values of a column for which a comparison is true (or false, if not `wanted`)."""
    if atom.operator == "missing":
        return Part((), column.missing) if wanted else Part((column.line,))
    if MISSING in atom.literals:
        hint = f"Hint: write {written(atom.column)} is missing (in SQL: is null; in a mapping: None)."
        raise ParameterError(f"{MISSING!r} is not a value of {atom.column!r}. {hint}")
    try:
        if not column.ordered and atom.operator not in ("==", "in"):
            raise ParameterError(f"a {column.kind} has no order: use ==, != or in")
        spans = tuple(_asked(column, atom, *column.line))
    except ParameterError as problem:
        raise ParameterError(f"The condition asks about {atom.column!r}: {problem}.") from None
    inside = line.common(line.joined(spans), (column.line,))
    found = inside if wanted else line.without(inside, column.line)
    if ends is None:
        return Part(found)
    doubtful = _doubtful(column, atom)
    return Part(line.joined((*found, *doubtful)) if ends else line.common(found, line.without(doubtful, column.line)))


def _asked(column: Column, atom: Atom, first: Place, end: Place) -> list[tuple[Place, Place]]:
    """The spans of the column's line that a comparison asks for, between `first` and `end` where it is open."""
    if atom.operator in ("==", "in"):
        found = [*map(column.equals, atom.literals)]
    elif atom.operator == "between":
        low, high = atom.literals
        found = [(first if low is None else column.span(low)[0], end if high is None else column.span(high)[1])]
    else:
        low, high = column.span(atom.literals[0])
        found = [{"<": (first, low), "<=": (first, high), ">": (high, end), ">=": (low, end)}[atom.operator]]
    return [(start, stop) for start, stop in found if start < stop]


# ---- beyond the bounds ----


def _remarks(columns: Mapping[str, Column], where: Tree) -> Iterator[Remark]:
    atoms = [atom for atom in grammar.parts_of(where) if isinstance(atom, Atom)]
    for name in {atom.column: None for atom in atoms if any(_sides(columns[atom.column], atom))}:
        column = columns[name]
        assert isinstance(column, Number | Date)  # no other column has bounds
        low, high = (end if isinstance(end, str) else f"{end:.12g}" for end in (column.low, column.high))
        text = f"The question reaches beyond the bounds of {name!r}, {low} to {high}. {_OUTSIDE[column.outside]}"
        yield Remark(name, text, left_out=column.outside == "drop")


def _doubtful(column: Column, atom: Atom) -> line.Spans:
    """The cells at the bounds beyond which a comparison reaches, if records from there were counted in them."""
    if getattr(column, "outside", "drop") == "drop":
        return ()
    first, end = column.line
    below, above = _sides(column, atom)
    ends = (((first, first + 1),) if below else ()) + (((end - 1, end),) if above else ())
    return column.touched(Part(line.joined(ends))).spans


def _sides(column: Column, atom: Atom) -> tuple[bool, bool]:
    """Whether a comparison has an end below the bounds or above them, or lies there altogether."""
    if not column.ordered or atom.operator == "missing":
        return False, False
    first, end = column.line
    asked = _asked(column, atom, -math.inf, math.inf)
    below = any(-math.inf < start < first or stop <= first for start, stop in asked)
    return below, any(end < stop < math.inf or start >= end for start, stop in asked)
