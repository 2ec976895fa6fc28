"""Tiles of records, groups of rows: the way of a thread through its pieces.

So many records at a time stay in its cache while they go through all rows. A tile of them is projected on the
directions of some rows at once, and goes through the rows four at a time: codes, cells, counters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scumble.counting.exact import loop
from scumble.counting.guard import (
    COLUMN,
    FAMILY,
    FOLDED,
    FRACTION,
    HASH,
    HASHES,
    PARAMETER,
    PARAMETERS,
    PROJECTION,
    PROJECTIONS,
    SIGN,
    VALUE,
    WIDTH,
    Batch,
)
from scumble.counting.products import RECORDS
from scumble.counting.quick.again import add_words, repair
from scumble.counting.quick.cells import (
    ALONE,
    NUMBERED,
    REHASHED,
    ROOM,
    add_numbered,
    add_rehashed,
    digits,
    place_alone,
    settle,
    to_buckets,
)
from scumble.counting.quick.codes import to_folded, to_sides, to_steps
from scumble.counting.quick.columns import columns_for, to_single
from scumble.counting.quick.counters import PAD, TOGETHER, add_up, increment, increment_four, read_cells, row_of
from scumble.counting.quick.projections import directions_of, project, rows_at_once
from scumble.counting.turns import take

TILE = 2048
"""Records at a time: a line of codes takes 8 KiB."""
STRETCH = 256
"""Records after which to look whether some lie too near an edge."""
COLUMNS = 1 << 17
"""Values of the records that go through the rows together: 512 KiB in single precision."""


class Space(NamedTuple):
    """What a thread works in."""

    columns: np.ndarray
    """(blocks, columns, RECORDS): records in single precision, their columns side by side."""
    own: bool
    """Whether the thread fills them itself."""
    records: np.ndarray
    """(RECORDS, columns): one block on its way there."""
    directions: np.ndarray
    """(lines, columns): those of some rows."""
    products: np.ndarray
    """(lines, TILE): projections of one tile on them."""
    t: np.ndarray
    least: np.ndarray
    sums: np.ndarray
    """(3, TILE): the digits of the rehash's sums."""
    buckets: np.ndarray
    shift: int
    """How far a hash is shifted to be a bucket, or 0."""
    where: np.ndarray


def space_for(batch: Batch, columns: np.ndarray | None, buckets: int) -> Space:
    """For a batch, and the columns of all its records, if they are made already."""
    n, width = batch.values.shape
    lines = rows_at_once(batch) * batch.projections
    return Space(
        columns=columns_for(batch, min(n, together(width))) if columns is None else columns,
        own=columns is None,
        records=np.empty((RECORDS, width), np.float32),
        directions=np.zeros((lines, 1 + width), np.float32),
        products=np.empty((lines, TILE + PAD), np.float32),
        t=np.empty(TILE, np.float32),
        least=np.empty(TILE, np.float32),
        sums=np.empty((3, TILE), np.uint32),
        buckets=np.full(TILE, buckets, np.uint32),
        shift=33 - buckets.bit_length() if buckets > 1 and buckets.bit_count() == 1 else 0,
        where=np.empty((TOGETHER, TILE), np.uint32),
    )


def together(columns: int) -> int:
    """How many records of so many columns go through the rows together, at most."""
    return max(1, COLUMNS // columns // TILE) * TILE


@loop
def walk(
    pieces, turn, values, times, batch, own, k, alone, counts, mine, size, at_once, space, lines, out, width
):  # fmt: skip
    """Pieces of the records, as long as there are some to be taken, through the rows `mine`.

    They are counted, or read and added to the rows' `lines` of `out`, each `width` long. So many records at a time stay
    in the cache while they go through all rows; so many rows are projected together. A thread that is `alone` also adds
    up what it has counted.
    """
    cells, places, table = own.cells, own.places, own.tables[k]
    piece = take(turn)
    while piece < pieces.size - 1:
        for first in range(pieces[piece], pieces[piece + 1], size):
            last = min(first + size, pieces[piece + 1])
            columns = space.columns
            if space.own:
                to_single(values[first:last], batch, space.records, columns)
            else:
                columns = columns[first // RECORDS :]
            for top in range(mine[0], mine[1], at_once):
                bottom = min(top + at_once, mine[1])
                directions_of(batch, top, bottom, at_once, space.directions)
                for tile in range(first, last, TILE):
                    end = min(tile + TILE, last)
                    blocks = columns[(tile - first) // RECORDS : -(-(end - first) // RECORDS)]
                    project(batch, bottom - top, at_once, space.directions, blocks, space.products)
                    for base in range(top, bottom, TOGETHER):
                        _through_rows(
                            values[tile:end], times[tile:end], batch, cells, places, table, counts,
                            base, min(TOGETHER, bottom - base), base - top, at_once, space, lines, out, width, tile,
                        )  # fmt: skip
        piece = take(turn)
    if alone:
        add_up(batch, cells, places, own.tables, own.others, mine[0], mine[1], counts)


@loop
def _through_rows(
    values, times, batch, cells, places, table, counts, base, together, place, at_once, space, lines, out, width, start
):  # fmt: skip
    """A tile through a few rows."""
    n = values.shape[0]
    way = REHASHED
    if batch.direct or cells[base] > 0:
        way = ALONE if batch.multipliers.shape[1] == 1 else NUMBERED
    shift = np.uint32(FRACTION) if way == ALONE else np.uint32(0)
    for k in range(together):
        _cells_of_row(values, batch, base + k, way, place + k, at_once, space, space.where[k, :n])
    if lines.size:
        for k in range(together):
            row = row_of(base + k, cells, places, table, counts)
            line = lines[base + k] * width + start
            read_cells(space.where[k], shift, row, out[line : line + n])
    elif together == TOGETHER:
        increment_four(
            space.where,
            shift,
            n,
            times,
            row_of(base, cells, places, table, counts),
            row_of(base + 1, cells, places, table, counts),
            row_of(base + 2, cells, places, table, counts),
            row_of(base + 3, cells, places, table, counts),
        )
    else:
        for k in range(together):
            increment(space.where[k, :n], shift, times, row_of(base + k, cells, places, table, counts))


@loop
def _cells_of_row(values, batch, r, way, place, at_once, space, index):
    """The cell of every record of a tile in row r, whose projections are at that place among some rows'."""
    n = index.size
    sums = space.sums  # whole: a part of it would not be of one piece
    if way == NUMBERED:
        index[:] = 0
    elif way == REHASHED:
        sums[0, :], sums[1, :], sums[2, :] = digits(batch.start[r])
    stride, room = np.uint32(1), ROOM
    for f in range(batch.factors.shape[0]):
        factor = batch.factors[f]
        family, k = factor[FAMILY], factor[PARAMETERS]
        mine = values[:, factor[VALUE] : factor[VALUE] + factor[WIDTH]]
        for number in range(factor[HASHES]):
            h, first = factor[HASH] + number, factor[PARAMETER] + number * k
            p = batch.parameters[r, first : first + k]
            span, multiplier, lowest = batch.spans[r, h], batch.multipliers[r, h], batch.lowest[r, h]
            room -= span + 2
            if way == REHASHED and room < 0:
                settle(sums)
                room = ROOM - span - 2
            if span == 0:
                add_words(mine, family, p, multiplier, sums)
                continue
            t, guard = space.t[:n], np.int32(batch.guards[r, h])
            if family == COLUMN:
                to_steps(mine, p, lowest, t)
            else:
                each = factor[PROJECTIONS]
                at = factor[PROJECTION] * at_once + (place * factor[HASHES] + number) * each
                if family == FOLDED:
                    to_folded(space.products[at : at + each], guard, space.least, t)
                else:
                    t = space.products[at, :n]
                    if family == SIGN:
                        to_sides(t)
            for first in range(0, n, STRETCH):
                last = min(first + STRETCH, n)
                if way == ALONE:
                    near = place_alone(t, guard, first, last, index)
                elif way == NUMBERED:
                    near = add_numbered(t, guard, stride, first, last, index)
                else:
                    near = add_rehashed(t, guard, multiplier, first, last, sums)
                if near:
                    repair(
                        way, mine, family, p, lowest, t, guard, stride, multiplier, first, last, index, sums
                    )  # fmt: skip
            stride = np.uint32(stride * np.uint32(span))
    if way == REHASHED:
        to_buckets(sums, space.buckets, np.uint32(space.shift), index)
