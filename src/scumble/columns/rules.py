"""Rules that every record obeys: ``discharged >= admitted``, ``not pregnant or sex == 'Female'``.

A rule is a condition of at most two columns, or a comparison of two ordered ones. A record breaks it if it is false; as
in SQL, a missing cell makes no comparison false. For each pair of cells a rule has the share of values that obey it,
if values are spread evenly in both: 0 where none can, 1 where all do. These shares are the factors of the posterior,
and synthetic rows whose values break a rule are not kept.
"""

from __future__ import annotations

import math
import operator as op
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.columns import grammar
from scumble.columns.conditions import Condition, condition
from scumble.columns.date import Date
from scumble.columns.grammar import Junction, Not, Pair, Tree
from scumble.columns.number import Number
from scumble.errors import ParameterError
from scumble.files.lazy_modules import pa, pc

if TYPE_CHECKING:
    from scumble.columns.schema import Schema

Floats = npt.NDArray[np.float64]
MOST_CELLS = 2**24
"""Of all rules together: their tables take 128 MiB, and a schema may come from anyone."""
SHARES = (np.arange(8) + 0.5) / 8
"""Where in its cell a value is taken to lie when two cells are compared that overlap."""
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_COMPARED: dict[str, Callable[[np.ndarray, np.ndarray], npt.NDArray[np.bool_]]] = {
    "<": op.lt,
    "<=": op.le,
    ">": op.gt,
    ">=": op.ge,
    "==": op.eq,
    "!=": op.ne,
}


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule of a schema."""

    columns: tuple[str, ...]
    """Its columns, one or two."""
    allowed: Floats
    """The share of each cell, or pair of cells, that obeys it."""
    comparison: str | None = None
    """How the two columns are compared, if that is the rule."""
    broken: Condition | None = None
    """Otherwise, the records that break it."""

    def settled(self, schema: Schema, rows: pa.Table) -> pa.Table:
        """Rows in which the second of two columns that must be equal has the value of the first."""
        if self.comparison != "==":
            return rows
        one, two = (rows[name] for name in self.columns)
        if one.type != two.type:
            return rows
        there = pc.and_(pc.is_valid(one), pc.is_valid(two))
        return rows.set_column(schema.names.index(self.columns[1]), self.columns[1], pc.if_else(there, one, two))

    def obeyed(self, schema: Schema, codes: npt.NDArray[np.integer], rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Which rows obey it, given their levels and values."""
        if self.broken is not None:
            return ~self.broken.holds(codes, rows)
        assert self.comparison is not None
        step = _step(schema, self.columns)
        one, two = (_values(schema[name], rows[name], step) for name in self.columns)
        null = [pc.is_null(rows[name]).to_numpy() for name in self.columns]
        return np.asarray(_COMPARED[self.comparison](one, two) | null[0] | null[1])


class Factors(NamedTuple):
    """All rules of a schema as weights on the levels of columns that are counted, by their places."""

    alone: Mapping[int, Floats]
    pairs: Mapping[tuple[int, int], Floats]


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of a schema.

    >>> from scumble.columns.schema import Schema
    >>> schema = Schema(a=Number(0, 2, whole=True), b=Number(0, 2, whole=True), rules=["a < b"])
    >>> schema.constraints.factors.pairs[0, 1]
    array([[0., 1., 1.],
           [0., 0., 1.],
           [0., 0., 0.]])
    """

    schema: Schema
    each: tuple[Rule, ...]
    factors: Factors = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", _factors(self.schema, self.each))

    def kept(self, codes: npt.NDArray[np.int64], rows: pa.Table) -> tuple[npt.NDArray[np.int64], pa.Table]:
        """Those synthetic rows that obey all rules."""
        for rule in self.each:
            rows = rule.settled(self.schema, rows)
        found = np.ones(len(codes), bool)
        for rule in self.each:
            found &= rule.obeyed(self.schema, codes, rows)
        return codes[found], rows.filter(pa.array(found))


def compiled(schema: Schema, written: Sequence[str]) -> Rules:
    """The rules as a schema writes them; a ParameterError for what is no rule, and for rules that no record obeys."""
    if not isinstance(written, list | tuple) or not all(isinstance(text, str) for text in written):
        raise ParameterError("`rules` must be a list of texts. Hint: rules=['discharged >= admitted'].")
    found = list[Rule]()
    for text in written:
        _rules(schema, text, found)
    return Rules(schema, tuple(found))


def _rules(schema: Schema, text: str, found: list[Rule]) -> None:
    """Add the rules of a text to those that were found."""
    for tree in _parts(grammar.parse(text, schema.columns, pairs=True)):
        if isinstance(tree, Pair):
            _require_room(schema, (tree.column, tree.right), found)
            found.append(Rule((tree.column, tree.right), _shares(schema, tree), tree.operator))
            continue
        try:
            broken = condition(schema, Not(tree))
        except ParameterError as problem:
            raise ParameterError(f"The rule {text[:60]!r} cannot be kept: {problem}") from None
        names = tuple(name for name in schema if any(name in term for term in broken.terms))
        if len(names) > 2:
            raise ParameterError(f"The rule {text[:60]!r} has more than two columns. Hint: write several rules.")
        _require_room(schema, names, found)
        allowed = np.ones([schema[name].size for name in names])
        for term in broken.terms:
            weights = [term.get(name, np.ones(schema[name].size)) for name in names]
            allowed -= weights[0] if len(names) == 1 else np.multiply.outer(*weights) if names else 0.0
        if not names and broken.terms:
            raise _nothing()
        if names:
            found.append(Rule(names, np.clip(allowed, 0.0, 1.0), None, broken))


def _require_room(schema: Schema, names: Sequence[str], found: Sequence[Rule]) -> None:
    if math.prod(schema[name].size for name in names) + sum(rule.allowed.size for rule in found) > MOST_CELLS:
        pairs = f"more than {MOST_CELLS:,} pairs of cells"
        raise ParameterError(f"Rules on {names[0][:40]!r} are about {pairs}. Hint: fewer cells, or leave out a rule.")


def _parts(tree: Tree) -> Iterator[Tree]:
    """What must hold by itself: the parts of a conjunction."""
    if isinstance(tree, Not) and isinstance(tree.part, Pair):
        tree = Pair(tree.part.column, _NEGATED[tree.part.operator], right=tree.part.right)
    if isinstance(tree, Junction) and tree.all:
        for part in tree.parts:
            yield from _parts(part)
    elif not isinstance(tree, Pair) and any(isinstance(part, Pair) for part in grammar.parts_of(tree)):
        raise ParameterError("A rule on two columns must stand alone. Hint: rules=['discharged >= admitted'].")
    else:
        yield tree


# ---- comparisons of two columns ----


def _step(schema: Schema, names: Sequence[str]) -> int:
    """The coarser of two resolutions in seconds: a day and a time are compared by their days."""
    return max((column.step for column in map(schema.__getitem__, names) if isinstance(column, Date)), default=1)


def _values(column: object, values: pa.ChunkedArray, step: int) -> npt.NDArray[np.generic]:
    """What is compared: numbers, or whole steps since 1970."""
    if isinstance(column, Date):
        return np.asarray(column.places(values) * column.step // step)
    return np.asarray(values.fill_null(0).to_numpy())


def _shares(schema: Schema, rule: Pair) -> Floats:
    """The share of each pair of cells that obeys a comparison."""
    names = (rule.column, rule.right)
    columns = [schema[name] for name in names]
    for kind in (Number, Date):
        if all(isinstance(column, kind) for column in columns):
            break
    else:
        raise ParameterError(
            f"A rule compares {names[0]!r} with {names[1]!r}. Hint: only two numbers, or two dates, can be compared."
        )
    if names[0] == names[1]:
        raise ParameterError(f"A rule compares {names[0]!r} with itself. Hint: name two columns.")
    step = _step(schema, names)

    def at(column: Number | Date, share: float) -> Floats:
        codes = np.arange(column.cuts.size)
        found = column.cuts.at(codes, np.full(len(codes), share))
        return np.asarray(found * column.step // step if isinstance(column, Date) else found, float)

    one, two = columns
    assert isinstance(one, Number | Date) and isinstance(two, Number | Date)
    (low, high), (least, most) = ((at(column, 0.0)[:, None], at(column, 1.0)[:, None]) for column in (one, two))
    least, most = least.T, most.T
    possible = _possible(rule.operator, low, high, least, most)
    certain = ~_possible(_NEGATED[rule.operator], low, high, least, most)
    share = np.ones(possible.shape)
    if rule.operator not in ("==", "!="):
        share = np.zeros(possible.shape)
        for x in SHARES:
            for y in SHARES:
                share += _COMPARED[rule.operator](at(one, x)[:, None], at(two, y)[None, :])
        share = np.clip(share / len(SHARES) ** 2, 1 / len(SHARES) ** 2, 1 - 1 / len(SHARES) ** 2)
    found = np.ones((one.size, two.size))
    found[: one.cuts.size, : two.cuts.size] = np.where(certain, 1.0, np.where(possible, share, 0.0))
    return found


def _possible(operator: str, low: Floats, high: Floats, least: Floats, most: Floats) -> npt.NDArray[np.bool_]:
    """Whether some values of two cells, given by their ends, compare so."""
    if operator in ("<", "<="):
        return _COMPARED[operator](low, most)
    if operator in (">", ">="):
        return _COMPARED[operator](high, least)
    if operator == "==":
        return np.asarray((low <= most) & (least <= high))
    return np.asarray((low != high) | (least != most) | (low != least))


# ---- all together ----


def _factors(schema: Schema, rules: Sequence[Rule]) -> Factors:
    """Rules on columns that follow from others are rules on those; a ParameterError if no record obeys all."""
    alone: dict[int, Floats] = {}
    pairs: dict[tuple[int, int], Floats] = {}
    sizes = schema.sizes
    for rule in rules:
        roots, allowed = [], rule.allowed
        for axis, name in enumerate(rule.columns):
            place = schema.names.index(name)
            if place in schema.derived:
                allowed, place = np.take(allowed, schema.derived[place].levels, axis=axis), schema.derived[place].root
            roots.append(place)
        if len(roots) == 2 and roots[0] == roots[1]:
            roots, allowed = roots[:1], np.diagonal(allowed)
        if len(roots) == 1:
            alone[roots[0]] = alone.get(roots[0], 1.0) * allowed
        else:
            one, two = sorted(roots)
            pairs[one, two] = pairs.get((one, two), 1.0) * (allowed if roots[0] == one else allowed.T)
    of = {j: j for pair in pairs for j in pair}
    for one, two in pairs:
        if of[one] == of[two]:
            names = f"{schema.names[one]!r} and {schema.names[two]!r}"
            raise ParameterError(f"Rules join {names} in a circle. Hint: leave out one that follows from the others.")
        of = {j: of[one] if root == of[two] else root for j, root in of.items()}
    left = {j: alone.get(j, np.ones(sizes[j])) > 0 for j in (*alone, *(j for pair in pairs for j in pair))}
    for _ in range(len(pairs) + 1):  # each round reaches one column further
        for (one, two), allowed in pairs.items():
            left[one] &= (allowed[:, left[two]] > 0).any(axis=1)
            left[two] &= (allowed[left[one]] > 0).any(axis=0)
    if not all(levels.any() for levels in left.values()):
        raise _nothing()
    return Factors(alone, pairs)


def _nothing() -> ParameterError:
    return ParameterError("The rules exclude every record. Hint: leave out one of them, or correct it.")
