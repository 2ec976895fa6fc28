"""Numbers that are written somehow: by people, and in the cells of a column."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from scumble.machine.later import pt
from scumble.schema.column import is_textual, wrong_type
from scumble.tables import cells as reading
from scumble.tables.hashing import text_of


def number_written(given: object) -> float | int | None:
    """A number that somebody wrote; None if it is none."""
    if isinstance(given, bool | np.bool_) or not isinstance(given, reading.NUMBERS):
        return None
    if isinstance(given, int | np.integer):
        return int(given) if abs(int(given)) < 2**1000 else math.inf if given > 0 else -math.inf
    return float(given) if not isinstance(given, Decimal | Fraction) else reading.number(given)


def values_of(column: reading.Column, label: str) -> np.ndarray:
    """The cells as float64, each for itself."""
    kind = reading.plain_type(column) if reading.is_arrow(column) else column.dtype.kind
    if kind == "O":
        return np.fromiter(map(_value, column), np.float64, len(column))
    decimal = reading.is_arrow(column) and pt.is_decimal(
        kind
    )  # of which Arrow's own conversion is off by a bit at times
    if decimal or is_textual(column):
        found, places = reading.texts(column)
        return np.array([reading.number_in(text) for text in found], np.float64)[places]
    if not (reading.arrow_is_numeric(kind) if reading.is_arrow(column) else kind in "biuf"):
        raise wrong_type(column, label, "numbers")
    return reading.numbers(column, label)


def _value(cell: object) -> float:
    """One cell of a column of objects: a number, or what its canonical text says."""
    return reading.number(cell) if isinstance(cell, reading.NUMBERS) else reading.number_in(text_of(cell))
