"""Single precision with a guard: the loops for large batches of kernels that project, and for products of them.

A thread takes its records in tiles that stay in its cache, projects them on the directions of some rows at once
(`products`) and takes the rows four at a time. Every hash of a row becomes a line of fixed-point codes; a code too near
an edge is computed again in double precision (`guard`). The codes become cells, and the cells are counted. `walk` is
the outermost loop; all others are compiled into it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scumble.counting import turns
from scumble.counting.exact import _bucket, _within, _word, inlined, loop
from scumble.counting.guard import COLUMN, FLOOR, FOLDED, FRACTION, LARGE, ONE, SIGN, SMALL, Batch
from scumble.counting.hasher import whole
from scumble.counting.products import LINES, RECORDS, multiply
from scumble.counting.turns import take

ALONE, NUMBERED, REHASHED = range(3)
"""How a row's codes become its cells: one code is the cell; several are numbered; they are rehashed into buckets."""
ROOM = (1 << 16) - 4
"""What codes may add up to before a digit is full: 65,535 · (ROOM + 2) < 2³²."""

MASK = np.int32(ONE - 1)
SHIFT = np.int32(FRACTION)
UP, SIXTEEN, DIGIT = np.uint64(32), np.uint64(16), np.uint64(0xFFFF)
SHIFT_16, DIGIT_32 = np.uint32(16), np.uint32(0xFFFF)


@inlined
def truncated(t):
    """The one step from single precision to whole numbers: t is a number from 0 to 2³⁰, as `guard` shows."""
    return np.int32(t)


@inlined
def _near(c, guard, least):
    """The smallest distance from an edge so far, in fixed point, shifted by the guard."""
    v = np.int32(np.int32(c + guard) & MASK)
    return v if v < least else least


@loop
def place_alone(t, guard, first, last, index):
    """The code alone: fixed point, the cell in the upper bits."""
    least = MASK
    for i in range(np.uint64(first), np.uint64(last)):
        c = truncated(t[i])
        index[i] = np.uint32(c)
        least = _near(c, guard, least)
    return least < 2 * guard


@loop
def add_numbered(t, guard, stride, first, last, index):
    """Add the code's share to the number of the cell."""
    least = MASK
    for i in range(np.uint64(first), np.uint64(last)):
        c = truncated(t[i])
        index[i] = np.uint32(index[i] + np.uint32(c >> SHIFT) * stride)
        least = _near(c, guard, least)
    return least < 2 * guard


@loop
def add_rehashed(t, guard, multiplier, first, last, sums):
    """Add the code's share to the rehash's sum, digit by digit."""
    low, middle, high = digits(multiplier)
    lows, middles, highs = sums[0], sums[1], sums[2]
    least = MASK
    for i in range(np.uint64(first), np.uint64(last)):
        c = truncated(t[i])
        code = np.uint32(c >> SHIFT)
        lows[i] = np.uint32(lows[i] + low * code)
        middles[i] = np.uint32(middles[i] + middle * code)
        highs[i] = np.uint32(highs[i] + high * code)
        least = _near(c, guard, least)
    return least < 2 * guard


@inlined
def digits(number):
    """A 64-bit number as 16, 16 and 32 bits, from the lowest, each in a 32-bit number.

    The rehash's sum is kept so: vectors hold twice as many of those. Products of a code, below 2¹⁴, and a digit have
    30 bits; the lower two digits overflow when codes that add up to `ROOM` have come, so they are settled before.
    """
    return np.uint32(number & DIGIT), np.uint32((number >> SIXTEEN) & DIGIT), np.uint32(number >> UP)


@loop
def settle(sums):
    """Carry what the lower digits have over 16 bits."""
    lows, middles, highs = sums[0], sums[1], sums[2]
    for i in range(np.uint64(lows.size)):
        carried = np.uint32(middles[i] + (lows[i] >> SHIFT_16))
        lows[i] = lows[i] & DIGIT_32
        middles[i] = carried & DIGIT_32
        highs[i] = np.uint32(highs[i] + (carried >> SHIFT_16))


@loop
def to_buckets(sums, buckets, shift, index):
    """The sum's upper half to a bucket: by a shift where that is all there is to it.

    `buckets` is a line of equal numbers: loaded, they multiply in 32 bits.
    """
    lows, middles, highs = sums[0], sums[1], sums[2]
    if shift > 0:
        for i in range(np.uint64(index.size)):
            carried = np.uint32(middles[i] + (lows[i] >> SHIFT_16))
            index[i] = np.uint32(np.uint32(highs[i] + (carried >> SHIFT_16)) >> shift)
    else:
        for i in range(np.uint64(index.size)):
            carried = np.uint32(middles[i] + (lows[i] >> SHIFT_16))
            h = np.uint32(highs[i] + (carried >> SHIFT_16))
            index[i] = np.uint32((np.uint64(h) * np.uint64(buckets[i])) >> UP)


@inlined
def _exactly(record, start, direction):
    t = start
    for j in range(direction.size):
        t += record[j] * direction[j]
    return t


@inlined
def _fold_exactly(record, p):
    d = record.size
    last = _exactly(record, 0.0, p[p.size - d :]) >= 0.0
    code = np.int64(0)
    for j in range(p.size // d - 1):
        if (_exactly(record, 0.0, p[j * d : (j + 1) * d]) >= 0.0) != last:
            code += np.int64(1) << j
    return code


@loop
def repair(way, values, family, p, lowest, t, guard, stride, multiplier, first, last, index, sums):
    """Do the codes that lie too near an edge again."""
    for i in range(np.uint64(first), np.uint64(last)):
        c = truncated(t[i])
        if np.int32(np.int32(c + guard) & MASK) < 2 * guard:
            if family == SIGN:
                code = np.int64(_exactly(values[i], 0.0, p) >= 0.0)
            elif family == FOLDED:
                code = _fold_exactly(values[i], p)
            else:
                code = np.int64(np.floor(_exactly(values[i], p[0], p[1:]))) - lowest
            wrong = code - np.int64(np.uint32(c >> SHIFT))
            if way == ALONE:
                index[i] = np.uint32(code << FRACTION)
            elif way == NUMBERED:
                index[i] = np.uint32(np.int64(index[i]) + wrong * np.int64(stride))
            else:
                low, middle, high = digits(multiplier)
                sums[0, i] = np.uint32(sums[0, i] + wrong * np.int64(low))
                sums[1, i] = np.uint32(sums[1, i] + wrong * np.int64(middle))
                sums[2, i] = np.uint32(sums[2, i] + wrong * np.int64(high))


@loop
def add_words(values, family, p, multiplier, sums):
    """Codes that fixed point does not hold: 32-bit words, in double precision."""
    for i in range(values.shape[0]):
        if family == FLOOR:
            code = np.floor(_exactly(values[i], p[0], p[1:]))
        elif family == COLUMN:
            code = _within(np.floor(values[i, np.int64(p[0])] * p[1] + p[2]), p[3], p[4])
        else:
            code = values[i, np.int64(p[0])]
        low, middle, high = digits(np.uint64(_word(code)) * multiplier)
        sums[0, i] += low
        sums[1, i] += middle
        sums[2, i] += high


FEW_COLUMNS = 4
"""Columns that are brought to single precision one by one; more are, record by record."""
SMALL_BITS, LARGE_BITS = np.array([SMALL, LARGE]).view(np.uint64)


def columns_for(batch: Batch, records: int) -> np.ndarray:
    """Room for so many records in single precision, (blocks, columns, RECORDS)."""
    columns = batch.values.shape[1] + int(np.count_nonzero(batch.factors["family"] == FLOOR))
    return np.zeros((-(-records // RECORDS), columns, RECORDS), np.float32)


def fill(batch: Batch, columns: np.ndarray, mine: slice) -> None:
    """Put the records `mine`, whole blocks, into their place among all columns in single precision."""
    records = np.empty((RECORDS, batch.values.shape[1]), np.float32)
    to_single(batch.values[mine], batch, records, columns[mine.start // RECORDS :])


@loop
def to_single(values, batch, records, columns):
    """Records' columns in single precision, moved and stretched, with a line of ones before those with an offset."""
    for f in range(batch.factors.shape[0]):
        factor = batch.factors[f]
        family, at, d = factor["family"], factor["first_column"], factor["width"]
        first, last = factor["value"], factor["value"] + d
        for b in range(-(-values.shape[0] // RECORDS)):
            some, block = values[b * RECORDS : (b + 1) * RECORDS], columns[b]
            if family == FLOOR:
                block[at, :] = 1.0
                if d <= FEW_COLUMNS:
                    _move_columns(some, first, last, batch.center, batch.stretch, block[at + 1 :])
                else:
                    _move_records(some, first, last, batch.center, batch.stretch, False, records, block[at + 1 :])
            elif family in (SIGN, FOLDED):
                _move_records(some, first, last, batch.center, batch.stretch, True, records, block[at:])


@loop
def _move_columns(values, first, last, center, stretch, columns):
    for j in range(first, last):
        out = columns[j - first]
        for i in range(np.uint64(values.shape[0])):
            out[i] = _moved(values[i, j], center[j], stretch[j])


@loop
def _move_records(values, first, last, center, stretch, sides, records, columns):
    """Many columns record by record, turned round when a block of records is there."""
    n, d = values.shape[0], last - first
    middle, factor = center[first:last], stretch[first:last]
    for k in range(n):
        record, line = values[k, first:last], records[k]
        if sides:
            scale = _scale(record)
            for j in range(np.uint64(d)):
                line[j] = np.float32(record[j] * scale if scale > 0.0 else 0.0)
        else:
            for j in range(np.uint64(d)):
                line[j] = _moved(record[j], middle[j], factor[j])
    for j in range(d):
        out = columns[j]
        for k in range(np.uint64(n)):
            out[k] = records[k, j]


@inlined
def _moved(value, center, stretch):
    """One value, moved and stretched: from −1 to 1, whatever it is."""
    y = (value - center) * stretch
    y = y if y > -1.0 else -1.0  # also where it is not a number
    return np.float32(y if y < 1.0 else 1.0)


@loop
def _scale(record):
    """The power of two that brings the largest value to between 1 and 2, by its exponent's bits."""
    largest = np.uint64(0)
    for value in record:
        largest = max(largest, np.float64(abs(value)).view(np.uint64))
    if not SMALL_BITS < largest < LARGE_BITS:
        return 0.0  # done again in double precision
    return np.uint64((np.uint64(2046) - (largest >> np.uint64(52))) << np.uint64(52)).view(np.float64)


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
        many, first = factor["hashes"] * factor["projections"], factor["parameter"]
        k = factor["hashes"] * factor["parameters"] // many
        if _projects(factor):
            for r in range(top, bottom):
                for number in range(many):
                    line = directions[factor["projection"] * at_once + (r - top) * many + number]
                    p = batch.single[r, first + number * k : first + (number + 1) * k]
                    for j in range(k):
                        line[j] = p[j]


@loop
def project(batch, rows, at_once, directions, columns, products):
    """All projections of a tile of records in some rows, a few blocks of them at a time."""
    for f in range(batch.factors.shape[0]):
        factor = batch.factors[f]
        if _projects(factor):
            many, first = factor["hashes"] * factor["projections"], factor["projection"] * at_once
            k, at = factor["hashes"] * factor["parameters"] // many, factor["first_column"]
            some = max(1, NEAR // (k * RECORDS))
            for start in range(0, columns.shape[0], some):
                blocks = columns[start : start + some, at : at + k]
                for line in range(first, first + rows * many, LINES):
                    multiply(
                        directions[line : line + LINES, :k], blocks, products[line : line + LINES, start * RECORDS :]
                    )


@inlined
def _projects(factor):
    return factor["family"] in (FLOOR, SIGN, FOLDED)


@loop
def to_sides(t):
    """A projection to code 1 at its right side, 0 at its wrong one: the edge lies at one."""
    reach = np.float32(ONE // 2)
    for i in range(t.size):
        side = t[i] if t[i] > -reach else -reach
        t[i] = min(side, reach - np.float32(1.0)) + np.float32(ONE)


@loop
def to_folded(sides, guard, least, t):
    """Projections on several directions to one code: bit j tells whether side j is not the last one's.

    The code lies in the middle between its edges, or on one if some projection is too near to tell its side.
    """
    last, edge = sides[sides.shape[0] - 1], np.float32(guard)
    for i in range(t.size):
        least[i] = abs(last[i])
        t[i] = np.float32(ONE // 2)
    for j in range(sides.shape[0] - 1):
        side, worth = sides[j], np.float32(ONE << j)
        for i in range(t.size):
            least[i] = min(least[i], abs(side[i]))
            t[i] += worth if (side[i] >= 0.0) != (last[i] >= 0.0) else np.float32(0.0)
    for i in range(t.size):
        t[i] -= np.float32(0.0) if least[i] >= edge else np.float32(ONE // 2)


@loop
def to_steps(values, p, lowest, t):
    """Steps of one column, ⌊x_c·s + b⌋ within [bottom, top], in double precision: far from all edges."""
    c = np.int64(p[0])
    steps, offset, bottom, top = p[1], p[2], p[3], p[4]
    for i in range(t.size):
        code = _within(np.floor(values[i, c] * steps + offset), bottom, top) - lowest
        t[i] = np.float32((code + 0.5) * ONE)


TOGETHER = 4
"""Rows at a time."""
CELLS = 4096
"""Most cells of a row that is counted by code."""
PAD = 32
"""Numbers between two tables or two lines, which then do not meet in one line of the cache."""


class Own(NamedTuple):
    """What threads that have the same rows count in, each in its own place: `gather` adds it up."""

    cells: np.ndarray
    places: np.ndarray
    """(rows,): how many cells each row is counted in by code, or 0, and where they begin."""
    tables: np.ndarray
    """(threads, cells of all rows)"""
    others: np.ndarray
    """(threads − 1, rows, buckets): of rows that are not counted by code, if any. The first thread has `counts`."""

    def __repr__(self) -> str:
        return "Own(secret)"


def own_size(batch: Batch, buckets: int) -> int:
    """How many cells or counters each thread that has all rows has for itself."""
    cells = cells_of(batch, slice(0, len(batch.multipliers)))
    return int(cells.sum()) if cells.all() else cells.size * buckets


def fresh(batch: Batch, mine: slice, counts: np.ndarray, threads: int) -> Own:
    """Zeros for so many threads that have the rows `mine`."""
    cells = np.zeros(len(batch.multipliers), np.int64)
    cells[mine] = cells_of(batch, mine)
    by_code = cells[mine].all()
    return Own(
        cells=cells,
        places=np.cumsum(cells) - cells,
        tables=np.zeros((threads, int(cells.sum()) + PAD), np.int64),
        others=np.zeros((threads - 1, 0 if by_code else len(counts), counts.shape[1]), np.int64),
    )


def cells_of(batch: Batch, mine: slice) -> np.ndarray:
    """How many cells each row is counted in by code, or 0: the same way for all rows that are counted together."""
    spans = batch.spans[mine]
    cells = np.where(spans.min(axis=1) > 0, np.prod(spans.astype(np.float64), axis=1), np.inf)
    most = most_cells(batch)
    largest = np.maximum.reduceat(cells, np.arange(0, len(cells), TOGETHER))
    return whole(cells, np.repeat(largest, TOGETHER)[: len(cells)] <= most)


def most_cells(batch: Batch) -> int:
    """Of a row that is counted by code."""
    return 0 if batch.direct else min(CELLS, len(batch.values) // 4)


@inlined
def row_of(r, cells, places, table, counts):
    """Where row r is counted: by code, or by bucket."""
    if cells[r] > 0:
        return table[places[r] : places[r] + cells[r]]
    return counts[r]


@loop
def increment(index, shift, times, table):
    """Add each record of a tile to its cell of one row, `times` over unless that is empty."""
    if times.size:
        for i in range(index.size):
            table[index[i] >> shift] += times[i]
    else:
        for i in range(index.size):
            table[index[i] >> shift] += 1


@loop
def increment_four(index, shift, n, times, t0, t1, t2, t3):
    """The same for four rows at once."""
    i0, i1, i2, i3 = index[0], index[1], index[2], index[3]
    if times.size:
        for i in range(n):
            w = times[i]
            t0[i0[i] >> shift] += w
            t1[i1[i] >> shift] += w
            t2[i2[i] >> shift] += w
            t3[i3[i] >> shift] += w
    else:
        for i in range(n):
            t0[i0[i] >> shift] += 1
            t1[i1[i] >> shift] += 1
            t2[i2[i] >> shift] += 1
            t3[i3[i] >> shift] += 1


@loop
def read_cells(index, shift, table, out):
    """Add what each record's cell of one row holds to its place of `out`."""
    for i in range(out.size):
        out[i] += table[index[i] >> shift]


def gather(batch: Batch, own: Own, counts: np.ndarray, mine: slice) -> None:
    """Add to the rows `mine` what all threads have counted."""
    add_up(batch, own.cells, own.places, own.tables, own.others, mine.start, mine.stop, counts)


@loop
def add_up(batch, cells, places, tables, others, first, last, counts):
    """Add what threads have counted to the counters of some rows: cells, rehashed now and then cleared, or counters."""
    for r in range(first, last):
        for cell in range(cells[r]):
            total = np.int64(0)
            for k in range(tables.shape[0]):
                total += tables[k, places[r] + cell]
                tables[k, places[r] + cell] = 0
            counts[r, _bucket_of(batch, r, cell, counts.shape[1])] += total
        if cells[r] == 0:
            row = counts[r]
            for k in range(others.shape[0]):
                other = others[k, r]
                for b in range(row.size):
                    row[b] += other[b]


@loop
def copy_to_cells(batch, cells, places, table, counts):
    """Copy the counters of rows that are counted by code to their cells, to be read there."""
    for r in range(counts.shape[0]):
        for cell in range(cells[r]):
            table[places[r] + cell] = counts[r, _bucket_of(batch, r, cell, counts.shape[1])]


@inlined
def _bucket_of(batch, r, cell, buckets):
    """The bucket of a row that is counted by code, in which the records of a cell fall."""
    total = batch.start[r]
    for h in range(batch.multipliers.shape[1]):
        total += np.uint64(cell % batch.spans[r, h]) * batch.multipliers[r, h]
        cell //= batch.spans[r, h]
    return _bucket(total, np.uint64(buckets), batch.direct)


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
    products: np.ndarray
    """(lines, columns): directions of some rows; (lines, TILE): projections of one tile on them."""
    t: np.ndarray
    least: np.ndarray
    sums: np.ndarray
    """(3, TILE): the digits of the rehash's sums."""
    buckets: np.ndarray
    shift: int
    """How far a hash is shifted to be a bucket, or 0."""
    where: np.ndarray


def space_for(batch: Batch, buckets: int, columns: np.ndarray | None = None) -> Space:
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
        first, second = row_of(base, cells, places, table, counts), row_of(base + 1, cells, places, table, counts)
        third, fourth = row_of(base + 2, cells, places, table, counts), row_of(base + 3, cells, places, table, counts)
        increment_four(space.where, shift, n, times, first, second, third, fourth)
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
        family, k = factor["family"], factor["parameters"]
        mine = values[:, factor["value"] : factor["value"] + factor["width"]]
        for number in range(factor["hashes"]):
            h, first = factor["hash"] + number, factor["parameter"] + number * k
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
                each = factor["projections"]
                at = factor["projection"] * at_once + (place * factor["hashes"] + number) * each
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
                    repair(way, mine, family, p, lowest, t, guard, stride, multiplier, first, last, index, sums)
            stride = np.uint32(stride * np.uint32(span))
    if way == REHASHED:
        to_buckets(sums, space.buckets, np.uint32(space.shift), index)


EMPTY = np.empty(0, np.int64)
NOWHERE = EMPTY.reshape(0, 0)


def ready() -> bool:
    """Whether the loops are compiled: in this process, or in another that left them on the disk."""
    return bool(getattr(walk, "ready", True))  # as a plain function it needs no compiling


def count(
    batch: Batch, times: np.ndarray, own: Own, k: int, counts: np.ndarray, pieces: np.ndarray, turn: np.ndarray
) -> None:
    """Thread k's part: add records, each `times` over unless that is empty, to one counter or cell of every row."""
    space, every = space_for(batch, counts.shape[1]), slice(0, len(counts))
    _through(batch, times, own, k, False, counts if k == 0 else own.others[k - 1], every, pieces, turn, space)


def count_alone(
    batch: Batch, times: np.ndarray, counts: np.ndarray, mine: slice, room: Room | None = None,
    columns: np.ndarray | None = None,
) -> Room:  # fmt: skip
    """Add all records to one counter of every row `mine`, in one call of a compiled loop.

    `columns` are those of all records in single precision; None has them made on the way. Returns the room that it was
    done in, for the next batch: this one, or a new one where it does not serve.
    """
    if room is None or not room.serves(batch):
        own, space = fresh(batch, mine, counts, 1), space_for(batch, counts.shape[1], columns)
        room = Room(batch.spans, most_cells(batch), own, space)
    pieces = turns.pieces(len(batch.values), 0, 1)
    _through(batch, times, room.own, 0, True, counts, mine, pieces, turns.new(), room.space)
    return room


class Room(NamedTuple):
    """What a thread that is alone with its records counts in: empty again in the end, for the next batch like this.

    A batch's cells depend on its spans and on the most cells of a row.
    """

    spans: np.ndarray
    most: int
    own: Own
    space: Space

    def __repr__(self) -> str:
        return "Room(secret)"

    def serves(self, batch: Batch) -> bool:
        """Whether it is for a batch like this, of the same hash functions and so many records."""
        rows = min(len(batch.values), together(batch.values.shape[1]))
        alike = self.spans is batch.spans and self.most == most_cells(batch)
        return alike and len(self.space.columns) * RECORDS >= rows


def read(
    batch: Batch, counts: np.ndarray, lines: np.ndarray, out: np.ndarray, pieces: np.ndarray, turn: np.ndarray
) -> None:
    """Add the counter that each record falls into, row by row, to the row's line of `out`."""
    every = slice(0, len(counts))
    copied = fresh(batch, every, counts, 1)
    copy_to_cells(batch, copied.cells, copied.places, copied.tables[0], counts)
    space = space_for(batch, counts.shape[1])
    _through(batch, EMPTY, copied, 0, False, counts, every, pieces, turn, space, lines, out)


def _through(
    batch: Batch, times: np.ndarray, own: Own, k: int, alone: bool, counts: np.ndarray, mine: slice,
    pieces: np.ndarray, turn: np.ndarray, space: Space, lines: np.ndarray = EMPTY, out: np.ndarray = NOWHERE,
) -> None:  # fmt: skip
    """Pieces of a batch's records through the rows `mine`: counted, or read where there are lines to read them into."""
    walk(
        pieces, turn, batch.values, times, batch, own, k, alone, counts, (mine.start, mine.stop),
        together(batch.values.shape[1]), rows_at_once(batch), space, lines, out.reshape(-1), out.shape[1],
    )  # fmt: skip
