"""From the tree of a condition to disjoint products of parts of columns.

A product says which values a record may have in some columns, the others being free. What is joined by ``or`` is cut
up, so that no record is in two products.
"""

from __future__ import annotations

from typing import TypeAlias

from scumble.errors import ParameterError
from scumble.schema import beyond, line
from scumble.schema.column import MISSING, Column, Part
from scumble.schema.grammar import Atom, Not, Tree, Untrue
from scumble.schema.schema import Schema
from scumble.schema.unclear import written

MOST_TERMS = 256
"""Products in a union. Beyond, an answer would be slow, and its error out of hand."""

Product: TypeAlias = dict[str, Part]
"""Which values a record may have in some columns; the others are free."""


def products_of(schema: Schema, tree: Tree, wanted: bool, ends: bool | None = None) -> list[Product]:
    """Where the tree is true (or, if not `wanted`, false). Contraries go down to the atoms, where missing cells are
    neither: that is the logic of three values.

    Cells that hold records from beyond the bounds count as if all of these (or, if `ends` is False, none) were meant
    wherever an atom asks beyond; without `ends` as if these lay at the bounds.
    """
    if isinstance(tree, Not):
        return products_of(schema, tree.part, not wanted, ends)
    if isinstance(tree, Untrue):
        true = products_of(schema, tree.part, True, ends if ends is None else ends is not wanted)
        return remaining(schema, [{}], true) if wanted else true
    if isinstance(tree, Atom):
        column = schema[tree.column]
        if tree.operator == "missing" and not column.missing:  # no record is, so all are not
            return [] if wanted else [{}]
        return [{tree.column: _atom(column, tree, wanted, ends)}]
    if not tree.parts:
        return [{}] if tree.all is wanted else []
    parts = [products_of(schema, part, wanted, ends) for part in tree.parts]
    found = parts[0]
    for part in parts[1:]:
        found = _both(found, part) if tree.all is wanted else united(schema, found, part)
        require_few(found)
    return found


def require_few(products: list[Product]) -> None:
    """Refuse a union of too many."""
    if len(products) > MOST_TERMS:
        raise ParameterError(
            f"The condition is a union of more than {MOST_TERMS} parts. Hint: ask for less at once, or use `in`."
        )


def _both(here: list[Product], there: list[Product]) -> list[Product]:
    found = []
    for one in here:
        for other in there:
            product = {name: _common(one[name], other[name]) if name in one else other[name] for name in other}
            product = one | product
            if all(map(_some, product.values())):
                found.append(product)
    return found


def united(schema: Schema, here: list[Product], there: list[Product]) -> list[Product]:
    """All of `here`, and what of `there` is not among it."""
    return _merged([*here, *remaining(schema, there, here)])


def remaining(schema: Schema, products: list[Product], taken: list[Product]) -> list[Product]:
    """What of some products is in none of others."""
    found = []
    for product in products:
        pieces = [product]
        for one in taken:
            pieces = [rest for piece in pieces for rest in without(schema, piece, one)]
            require_few(pieces)
        found += pieces
    return found


def without(schema: Schema, product: Product, taken: Product) -> list[Product]:
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


def _merged(products: list[Product]) -> list[Product]:
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


def possible(products: list[Product]) -> list[Product]:
    """Those that ask for something in each column."""
    return [product for product in products if all(map(_some, product.values()))]


# ---- one column ----


def _atom(column: Column, atom: Atom, wanted: bool, ends: bool | None) -> Part:
    if atom.operator == "missing":
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
