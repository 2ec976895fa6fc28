"""Questions that reach beyond a column's bounds: what lay there was counted at the nearest bound, or left out.

How many records lie there nobody knows from the counters, so that a zero must not pass for knowledge. Where they were
counted at the bound, any number of the records in the cell there may be meant: the answer's interval reaches over all
and none of them. Where they were left out, a question about nothing else has no answer. A question up to the bound
itself takes that cell as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scumble.schema import line
from scumble.schema.column import Column, Part
from scumble.schema.grammar import Atom, Junction, Tree

_BECAME = {
    "clip": "what lay outside was counted at the nearest bound, and the interval allows for any number of these",
    "drop": "records that lay outside were left out, and the release cannot tell how many they are",
}


@dataclass(frozen=True)
class Remark:
    """What must be known of what a question asks of a column, such as that it reaches beyond the bounds."""

    column: str
    text: str
    """For whoever asked."""
    left_out: bool
    """Whether records that lay there were left out, so that nobody can tell of them."""

    def __str__(self) -> str:
        return self.text


def remarks(columns: Mapping[str, Column], where: Tree) -> tuple[Remark, ...]:
    """One for each column that a condition, which has been understood, asks about beyond its bounds.

    >>> from scumble.schema import Number
    >>> (told,) = remarks({"age": Number(0, 100)}, Atom("age", ">", (120,)))
    >>> told.text[:61], told.left_out
    ("The question reaches beyond the bounds of 'age', 0 to 100: wh", False)
    """
    names = {atom.column: None for atom in atoms(where) if any(_sides(columns[atom.column], atom))}
    return tuple(_remark(name, columns[name]) for name in names)


def doubtful(column: Column, atom: Atom) -> line.Spans:
    """The cells at the bounds beyond which an atom reaches, if records from there were counted in them.

    >>> from scumble.schema import Number
    >>> doubtful(Number(0, 100, whole=True, cells=2), Atom("age", ">", (120,)))
    ((50, 101),)
    """
    if getattr(column, "outside", "drop") == "drop":
        return ()
    first, end = column.line
    below, above = _sides(column, atom)
    ends = (((first, first + 1),) if below else ()) + (((end - 1, end),) if above else ())
    return column.touched(Part(line.joined(ends))).spans


def _remark(name: str, column: Any) -> Remark:
    low, high = (end if isinstance(end, str) else f"{end:.12g}" for end in (column.low, column.high))
    text = f"The question reaches beyond the bounds of {name!r}, {low} to {high}: {_BECAME[column.outside]}."
    return Remark(name, text, left_out=column.outside == "drop")


def atoms(tree: Tree) -> Iterator[Atom]:
    """All that a condition asks of single columns."""
    if isinstance(tree, Atom):
        yield tree
    else:
        for part in tree.parts if isinstance(tree, Junction) else (tree.part,):
            yield from atoms(part)


def _sides(column: Column, atom: Atom) -> tuple[bool, bool]:
    """Whether an end of what is asked for lies below the bounds or above them, or all of it does."""
    if not column.ordered or atom.operator == "missing":
        return False, False
    first, end = column.line
    asked = [(start, stop) for start, stop in _asked(column, atom) if start < stop]
    below = any(-math.inf < start < first or stop <= first for start, stop in asked)
    return below, any(end < stop < math.inf or start >= end for start, stop in asked)


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
