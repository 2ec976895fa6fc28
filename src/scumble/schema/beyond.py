"""Questions that reach beyond a column's bounds: what lay there was counted at the nearest bound, or left out.

How many records lie there nobody knows from the counters, so that a zero must not pass for knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from scumble.schema.column import Column
from scumble.schema.grammar import Atom, Junction, Tree

_BECAME = {
    "clip": "what lay outside was counted at the nearest bound",
    "drop": "records that lay outside were left out",
}


def remarks(columns: Mapping[str, Column], where: Tree | Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each column that a condition, which has been understood, asks about beyond its bounds.

    >>> from scumble.schema import Number
    >>> remarks({"age": Number(0, 100)}, Atom("age", ">", (120,)))[0][:61]
    "The question reaches beyond the bounds of 'age', 0 to 100: wh"
    """
    asked = _in_mapping(where) if isinstance(where, Mapping) else _in_tree(where)
    names = {atom.column: None for atom in asked if _reaches(columns[atom.column], atom)}
    return tuple(_remark(name, columns[name]) for name in names)


def _remark(name: str, column: Any) -> str:
    low, high = (end if isinstance(end, str) else f"{end:.12g}" for end in (column.low, column.high))
    return (
        f"The question reaches beyond the bounds of {name!r}, {low} to {high}: {_BECAME[column.outside]}, and the "
        "release cannot tell how many records these are."
    )


def _in_tree(tree: Tree) -> Iterator[Atom]:
    if isinstance(tree, Atom):
        yield tree
    else:
        for part in tree.parts if isinstance(tree, Junction) else (tree.part,):
            yield from _in_tree(part)


def _in_mapping(where: Mapping[str, Any]) -> Iterator[Atom]:
    for name, wanted in where.items():
        if isinstance(wanted, tuple):
            yield Atom(name, "between", wanted)
        elif isinstance(wanted, list | AbstractSet | np.ndarray):
            yield Atom(name, "in", tuple(value for value in wanted if value is not None))
        elif wanted is not None:
            yield Atom(name, "==", (wanted,))


def _reaches(column: Column, atom: Atom) -> bool:
    """Whether an end of what is asked for lies beyond the bounds, or all of it does."""
    if not column.ordered or atom.operator == "missing":
        return False
    first, end = column.line
    if atom.operator in ("==", "in"):
        return bool(atom.literals) and all(stop <= first or start >= end for start, stop in _asked(column, atom))
    return any(
        any(not first <= one <= end for one in (start, stop) if math.isfinite(one))
        or (start < stop and (stop <= first or start >= end))
        for start, stop in _asked(column, atom)
    )


def _asked(column: Column, atom: Atom) -> Iterator[tuple[float, float]]:
    """From where on the column's line up to where."""
    if atom.operator in ("==", "in"):
        yield from (column.span(literal) for literal in atom.literals)
    elif atom.operator == "between":
        low, high = atom.literals
        yield -math.inf if low is None else column.span(low)[0], math.inf if high is None else column.span(high)[1]
    else:
        low, high = column.span(atom.literals[0])
        yield {"<": (-math.inf, low), "<=": (-math.inf, high), ">": (high, math.inf), ">=": (low, math.inf)}[
            atom.operator
        ]
