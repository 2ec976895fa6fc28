"""Where a thread counts: the row's counters, or a small table of its own where a row is counted by code.

The cells of four rows are counted together, so a counter is not written and read again at once. What is counted by code
is rehashed into buckets once, when all records are in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scumble.counting.architectures import whole
from scumble.counting.exact import _bucket, inlined, loop
from scumble.counting.guard import Batch

TOGETHER = 4
"""Rows at a time."""
CELLS = 4096
"""Most cells of a row that is counted by code."""
PAD = 32
"""Numbers between two tables or two lines, which then do not meet in one line of the cache."""


class Own(NamedTuple):
    """What threads that have the same rows count in, each in its own place: `gather` adds it up."""

    cells: np.ndarray
    """(rows,): how many cells each row is counted in by code, or 0."""
    places: np.ndarray
    """(rows,): where its cells begin."""
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
