"""A column, as a page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """One column: what it is called, what it holds, and what of it to draw."""

    name: str
    role: str
    range: tuple[float, float] | None
    values: tuple[str, ...]
    unit: str
    kind: str | None = None
    """What its numbers stand for, where that was declared: whole, date, time or boolean."""
    code: dict[str, Any] | None = None
    """The numbers that the releases of a model have for its cells; None where they are the cells themselves."""
    lost: bool = False
    """Whether the range is a guess, since no search has found where the records are."""
