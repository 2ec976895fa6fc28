"""A tile of records projected on the directions of some rows at once."""

from __future__ import annotations

from scumble.counting.exact import inlined, loop
from scumble.counting.guard import (
    FAMILY,
    FIRST_COLUMN,
    FLOOR,
    FOLDED,
    HASHES,
    PARAMETER,
    PARAMETERS,
    PROJECTION,
    PROJECTIONS,
    SIGN,
    Batch,
)
from scumble.counting.products import LINES, RECORDS, multiply

LINES_AT_ONCE = 16
"""Projections of a tile that are computed together."""
NEAR = 1 << 12
"""Values of the records that are projected together: 16 KiB, in the nearest cache."""


def rows_at_once(batch: Batch) -> int:
    """How many rows are projected together."""
    return max(LINES, LINES_AT_ONCE // batch.projections // LINES * LINES)


@loop
def directions_of(batch, top, bottom, at_once, directions):
    """The directions of the rows from `top` to `bottom`, factor by factor, each's row by row and hash by hash."""
    for f in range(batch.factors.shape[0]):
        factor = batch.factors[f]
        many, first = factor[HASHES] * factor[PROJECTIONS], factor[PARAMETER]
        k = factor[HASHES] * factor[PARAMETERS] // many
        if _projects(factor):
            for r in range(top, bottom):
                for number in range(many):
                    line = directions[factor[PROJECTION] * at_once + (r - top) * many + number]
                    p = batch.single[r, first + number * k : first + (number + 1) * k]
                    for j in range(k):
                        line[j] = p[j]


@loop
def project(batch, rows, at_once, directions, columns, products):
    """All projections of a tile of records in some rows, a few blocks of them at a time."""
    for f in range(batch.factors.shape[0]):
        factor = batch.factors[f]
        if _projects(factor):
            many, first = factor[HASHES] * factor[PROJECTIONS], factor[PROJECTION] * at_once
            k, at = factor[HASHES] * factor[PARAMETERS] // many, factor[FIRST_COLUMN]
            some = max(1, NEAR // (k * RECORDS))
            for start in range(0, columns.shape[0], some):
                blocks = columns[start : start + some, at : at + k]
                for line in range(first, first + rows * many, LINES):
                    multiply(
                        directions[line : line + LINES, :k], blocks, products[line : line + LINES, start * RECORDS :]
                    )


@inlined
def _projects(factor):
    return factor[FAMILY] in (FLOOR, SIGN, FOLDED)
