"""Columns as the page shows them, and the numbers that releases of a model fitted with a schema use for their cells.

The page shows the table's own cells and encodes them itself (``web/src/engine/coding.js``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scumble.columns.category import Boolean, Category
from scumble.columns.clock import SECONDS
from scumble.columns.date import Date
from scumble.columns.number import Number
from scumble.errors import ParameterError
from scumble.show.usefulness import Facts


@dataclass(frozen=True)
class Column:
    """One column: its name, its role, and what to draw of it."""

    name: str
    role: str
    range: tuple[float, float] | None
    values: tuple[str, ...]
    unit: str
    kind: str | None = None
    """The declared kind of its numbers: whole, date, time or boolean."""
    code: Facts | None = None
    """How cells are encoded in the releases of a model; None if they are numbers already."""
    lost: bool = False
    """Whether the range is a guess, since no search has found where the records are."""


def columns_of(model: Any) -> list[Column] | None:
    """The columns of the table; None if the model was fitted on numbers."""
    coding = None if model is None or not hasattr(model, "_coding") else model._coding()
    if coding is None:
        return None
    return [_column(name, part) for name, part in zip(coding.schema, coding.parts, strict=True)]


def _column(name: str, part: Any) -> Column:
    column = part.column
    if isinstance(column, Category | Boolean):
        codes = np.arange(column.size)
        cells = column.cells_at(codes.astype(np.float64), (codes == column.size - 1) & column.missing)
        numbers, *_ = part.read(cells, name)
        return Column(name, "category", None, tuple(column.levels), "", None, {"words": numbers.tolist()})
    low, high = column.limits
    ticks = SECONDS["day"] // column.step if isinstance(column, Date) else 1
    whole = isinstance(column, Date) or column.whole
    log = isinstance(column, Number) and column.scale == "log"
    code = {
        "low": low,
        "high": high,
        "gone": part.gone if column.missing else None,
        "flagged": part.flagged,
        "whole": whole,
        "ticks": ticks,
        "edges": column.cuts.values(np.array(column.cuts.edges)).tolist() if log else None,
    }
    ends = (float(column.low), float(column.high)) if log else (low / ticks, high / ticks)
    return Column(name, "number", ends, (), "", _kind(column), code)


def _kind(column: Number | Date) -> str | None:
    if isinstance(column, Date):
        return "date" if column.resolution == "day" else "time"
    return "whole" if column.whole else None


def as_numbers(column: Column) -> bool:
    """Whether the cells are encoded as themselves, so that values between them make sense."""
    code = column.code
    return code is not None and "words" not in code and code["ticks"] == 1 and not code["edges"] and not code["flagged"]


def described(
    columns: Sequence[Column],
    ranges: Mapping[str, tuple[float, float]],
    values: Mapping[str, Sequence[str]],
    units: Mapping[str, str],
) -> list[Column]:
    """The columns with the given ranges and units."""
    if values:
        raise ParameterError("The model's schema lists all values. Hint: leave out `values`.")
    return [
        replace(column, range=ranges.get(column.name, column.range), unit=units.get(column.name, ""))
        for column in columns
    ]
