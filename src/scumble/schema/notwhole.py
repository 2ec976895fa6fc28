"""Fractions asked of a column of whole numbers: no record has one, and a plain zero would not say why."""

from __future__ import annotations

import math
from collections.abc import Mapping

from scumble.schema.beyond import Remark, atoms
from scumble.schema.column import Column
from scumble.schema.grammar import Tree


def remarks(columns: Mapping[str, Column], where: Tree) -> tuple[Remark, ...]:
    """One for each column of whole numbers that a condition, which has been understood, asks for fractions.

    >>> from scumble.schema import Number
    >>> from scumble.schema.grammar import Atom
    >>> [told.text for told in remarks({"year": Number(1990, 2020, whole=True)}, Atom("year", "==", (2018.5,)))]
    ["'year' holds whole numbers only: no record has 2018.5 there."]
    """
    asked: dict[str, float] = {}
    for atom in atoms(where):
        if atom.operator in ("==", "in") and getattr(columns[atom.column], "whole", False):
            for literal in atom.literals:
                if isinstance(literal, float) and math.isfinite(literal) and literal % 1:
                    asked.setdefault(atom.column, literal)
    return tuple(
        Remark(name, f"{name!r} holds whole numbers only: no record has {number:.12g} there.", left_out=False)
        for name, number in asked.items()
    )
