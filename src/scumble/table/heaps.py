"""Records that heap at a column's bound: what lay beyond it, if anything did, counts there.

Where values outside the bounds count as the nearest bound, nobody can tell them from those that lie at it. But a cell
at the end that holds far more than the one beside it is told of, by noisy numbers that are published anyway. Nothing is
said of a lower bound where nature begins, zero, or one of whole numbers: counts of visits or of children have many of
these, and few of them anything below. Nor of a cell in which zero lies: what heaps there may be zeros.

Whoever asks for what lies at a bound, or from there on, means such a heap. It is what the cell has more than those
beside it let expect (`shares_at_bounds`): as many as the next one has, or, if counts rise towards the bound, more by as
much again. Where that may be noise there is none, and where zero is in the cell none is reckoned with: values of many
columns are most crowded there, and coarse cells cannot tell.
"""

from __future__ import annotations

import math
from typing import Any

from scumble.columns.column import Column
from scumble.columns.number import Number
from scumble.table.answers import Answers

TIMES = 3.0
"""A heap has more records than so many times those beside it ..."""
SURE = 4.0
"""... by so many standard errors, ..."""
SHARE = 0.01
"""... and at least this share of all. Fewer hardly move a mean."""
FEW = 8
"""Of fewer cells, such as grades from 1 to 5, the last may well be the fullest."""


def heaps(answers: Answers, place: int, column: Column) -> list[str]:
    """The bounds of a column, as written, at which records heap."""
    if not column.ordered or getattr(column, "outside", "drop") != "clip" or column.size - column.missing < FEW:
        return []
    if getattr(column, "edges", None) is not None:  # cells of any width
        return []
    bounds: Any = column
    last = column.size - column.missing - 1
    begins = _holds_zero(column, 0) or (bounds.low == 1 and getattr(column, "whole", False))
    ends = [(bounds.low, 0, 1)] * (not begins) + [(bounds.high, last, last - 1)] * (not _holds_zero(column, last))
    return [
        end if isinstance(end, str) else f"{end:.12g}"
        for end, at, beside in ends
        if _is_heap(answers, place, at, beside)
    ]


def shares_at_bounds(answers: Answers, place: int, column: Column) -> tuple[float, float]:
    """Which share of its cell lies at the lower bound of a column, and at the upper one; nothing if that is not known.

    Cells must be alike but for their lengths, and so many that the next two tell what to expect.
    """
    line = column.size - column.missing
    if getattr(column, "outside", "drop") != "clip" or getattr(column, "edges", None) is not None or line < 3:
        return 0.0, 0.0
    log = getattr(column, "scale", "linear") == "log"
    low = 0.0 if log or _holds_zero(column, 0) else _at_bound(answers, place, column, (0, 1, 2))
    cells = (line - 1, line - 2, line - 3)
    return low, 0.0 if _holds_zero(column, line - 1) else _at_bound(answers, place, column, cells)


def _holds_zero(column: Column, cell: int) -> bool:
    """Whether zero lies in a cell: what heaps there may be zeros."""
    if not isinstance(column, Number):
        return False
    least, most = (float(side[cell]) for side in column.cuts.extremes)
    return least <= 0 <= most


def _at_bound(answers: Answers, place: int, column: Any, cells: tuple[int, int, int]) -> float:
    if getattr(column, "zero_level", None) in cells:  # which is beside the others
        return 0.0
    counts, variance = answers.singles(place)
    here, there, next_ = (float(counts[cell]) for cell in cells)
    longer = float(column.cuts.lengths[cells[0]] / column.cuts.lengths[cells[1]])
    error = math.sqrt(max(variance * (1 + longer**2), 1e-12))
    beside = max(there, 0.0)
    usual = longer * max(beside, beside**2 / max(next_, error))
    return (here - usual) / here if here - usual > SURE * error else 0.0


def remark(name: str, ends: list[str]) -> str:
    """What to say of them to whoever asks about the column.

    >>> remark("year", ["1990"])
    "Far more records are at the bound 1990 of 'year' than beside it: whatever lay beyond counts there, too."
    """
    which = f"bound {ends[0]}" if len(ends) == 1 else f"bounds {ends[0]} and {ends[1]}"
    beside = "it" if len(ends) == 1 else "them"
    return (
        f"Far more records are at the {which} of {name!r} than beside {beside}: whatever lay beyond counts there, too."
    )


def _is_heap(answers: Answers, place: int, at: int, beside: int) -> bool:
    counts, variance = answers.singles(place)
    here, there = float(counts[at]), float(counts[beside])
    error = math.sqrt(variance * (1 + TIMES**2))
    return here > SHARE * answers.total.value and here > TIMES * max(there, 0.0) + SURE * error
