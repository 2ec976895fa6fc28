"""Points as JSON brings them: lists in the order of the columns, or objects by name. JSON holds anything, so no
cell goes on before its type is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scumble.errors import DataError, many

MOST = 100_000
"""Points of one question."""


def columns(
    points: object, names: Sequence[str], roles: Sequence[str], kinds: Mapping[str, str] | None = None
) -> dict[str, list[Any]]:
    """The points' cells, column by column.

    >>> columns([[31, "Ulm"], {"town": "Bonn", "age": 45}], ["age", "town"], ["number", "category"])
    {'age': [31, 45], 'town': ['Ulm', 'Bonn']}
    """
    if not isinstance(points, list) or not points:
        raise DataError('`points` must be a list of points, such as [[45, 50000]] or [{"age": 45}].')
    if len(points) > MOST:
        raise DataError(f"`points` may hold {MOST:,} points at a time, got {len(points):,}. Hint: ask in parts.")
    dated = [name for name, kind in (kinds or {}).items() if kind != "whole"]  # the release reads these
    rows = [_row(point, names, k) for k, point in enumerate(points)]
    out = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    for (name, cells), role in zip(out.items(), roles, strict=True):
        for k, cell in enumerate(cells):
            wanted = None if name in dated and isinstance(cell, str | bool) else _wanted(cell, role)
            if wanted is not None:
                raise DataError(f"Column {name!r} of point {k} must be {wanted}, got {_short(cell)}.")
    return out


def _row(point: object, names: Sequence[str], k: int) -> list[Any]:
    if isinstance(point, dict):
        unknown = [name for name in point if name not in names]
        missing = [name for name in names if name not in point]
        if unknown or missing:
            what = f"lacks {missing[0]!r}" if missing else f"names {unknown[0]!r}"
            raise DataError(f"Point {k} {what}: the columns are {', '.join(names)}.")
        return [point[name] for name in names]
    if isinstance(point, list) and len(point) == len(names):
        return point
    raise DataError(f"Point {k} must have {many(len(names), 'value')}, one for each of {', '.join(names)}.")


def _wanted(cell: object, role: str) -> str | None:
    """None if the cell will do, else what it must be."""
    number = isinstance(cell, (int, float)) and not isinstance(cell, bool) and abs(cell) < 1e300
    if role == "number":
        return None if number else "a finite number"
    if role == "category":
        return None if number or isinstance(cell, (str, bool)) else "text or a number"
    if role == "tokens":
        texts = isinstance(cell, list) and all(isinstance(token, str) for token in cell)
        return None if texts or isinstance(cell, str) else "text or a list of texts"
    return None


def _short(cell: object) -> str:
    text = repr(cell)
    return text if len(text) <= 40 else f"{text[:40]}…"
