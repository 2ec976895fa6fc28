"""Records in single precision: their columns side by side, a block of records after the other.

Columns of a floor are moved and stretched to [−1, 1], records of which the side of a hyperplane is asked are brought to
size by powers of two (`guard` says why).
"""

from __future__ import annotations

import numpy as np

from scumble.counting.exact import inlined, loop
from scumble.counting.guard import FAMILY, FIRST_COLUMN, FLOOR, FOLDED, LARGE, SIGN, SMALL, VALUE, WIDTH, Batch
from scumble.counting.products import RECORDS

FEW_COLUMNS = 4
"""Columns that are brought to single precision one by one; more are, record by record."""
SMALL_BITS, LARGE_BITS = np.array([SMALL, LARGE]).view(np.uint64)


def columns_for(batch: Batch, records: int) -> np.ndarray:
    """Room for so many records in single precision, (blocks, columns, RECORDS)."""
    columns = batch.values.shape[1] + int(np.count_nonzero(batch.factors[:, FAMILY] == FLOOR))
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
        family, at, d = factor[FAMILY], factor[FIRST_COLUMN], factor[WIDTH]
        first, last = factor[VALUE], factor[VALUE] + d
        for b in range(-(-values.shape[0] // RECORDS)):
            some, block = values[b * RECORDS : (b + 1) * RECORDS], columns[b]
            if family == FLOOR:
                block[at, :] = 1.0
                if d <= FEW_COLUMNS:
                    _move_columns(some, first, last, batch.centre, batch.stretch, block[at + 1 :])
                else:
                    _move_records(some, first, last, batch.centre, batch.stretch, False, records, block[at + 1 :])
            elif family in (SIGN, FOLDED):
                _move_records(some, first, last, batch.centre, batch.stretch, True, records, block[at:])


@loop
def _move_columns(values, first, last, centre, stretch, columns):
    for j in range(first, last):
        out = columns[j - first]
        for i in range(np.uint64(values.shape[0])):
            out[i] = _moved(values[i, j], centre[j], stretch[j])


@loop
def _move_records(values, first, last, centre, stretch, sides, records, columns):
    """Many columns record by record, turned round when a block of records is there."""
    n, d = values.shape[0], last - first
    middle, factor = centre[first:last], stretch[first:last]
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
def _moved(value, centre, stretch):
    """One value, moved and stretched: from −1 to 1, whatever it is."""
    y = (value - centre) * stretch
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
