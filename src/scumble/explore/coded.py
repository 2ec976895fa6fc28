"""The columns of a model that was fitted by a schema, as people know them: words, whole numbers, dates, missing cells.

Its releases know numbers alone (:mod:`scumble.learn.frames`). A page shows and asks for the table's own cells, and has
from here the numbers that stand for them (``web/src/engine/coding.js``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scumble.errors import ParameterError
from scumble.explore.columns import Column
from scumble.schema import Boolean, Category, Date, Number
from scumble.schema.clock import SECONDS


def columns_of(model: Any) -> list[Column] | None:
    """The columns of the table; None if the model knows numbers alone."""
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
        "beside": part.beside,
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
    """Whether the releases' numbers are the cells themselves: then there are places between them."""
    code = column.code
    return code is not None and "words" not in code and code["ticks"] == 1 and not code["edges"] and not code["beside"]


def described(
    columns: Sequence[Column],
    ranges: Mapping[str, tuple[float, float]],
    values: Mapping[str, Sequence[str]],
    units: Mapping[str, str],
) -> list[Column]:
    """The columns with what somebody said of them."""
    if values:
        raise ParameterError("The schema that the model was fitted by has all values. Hint: leave out `values`.")
    return [
        replace(column, range=ranges.get(column.name, column.range), unit=units.get(column.name, ""))
        for column in columns
    ]
