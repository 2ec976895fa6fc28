"""Noisy views of a table of codes, by the library's own sketch, gate and plan."""

from __future__ import annotations

import numpy as np

from scumble.columns.category import Category
from scumble.columns.column import Column as SchemaColumn
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.privacy.budget import Budget
from scumble.table import counting
from scumble.table.grouping import Column
from scumble.table.release import TableRelease
from scumble.table.sketch import COUNT_SHARE, TableSketch, publish


def measured(codes: np.ndarray, columns: tuple[Column, ...], budget: Budget, target: int | None = None) -> TableRelease:
    """Count the codes, and publish."""
    schema = Schema({f"c{j}": _column(column) for j, column in enumerate(columns)})
    sketch = TableSketch(schema, None if target is None else f"c{target}")
    with sketch.secret.changing("update") as counts:
        counting.count(sketch.spec, codes.astype(np.int32), counts)
    return publish(sketch.secret, sketch.spec, budget)


def budget(epsilon: float, delta: float) -> Budget:
    """Add-remove one record."""
    return Budget(epsilon, delta, count_share=COUNT_SHARE)


def _column(column: Column) -> SchemaColumn:
    """The column of a schema that has just these levels."""
    if not column.ordered:
        return Category([str(level) for level in range(column.levels)], other=False, missing=False)
    whole = {"whole": True, "cells": column.ordered, "outside": "drop"}
    return Number(0, max(column.ordered - 1, 1), **whole, missing=column.levels > column.ordered)
