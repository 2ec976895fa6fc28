"""One projection per row and few columns: the common case, and the fastest. See ``steps.cu``."""

from __future__ import annotations

import numpy as np

from scumble.counting.cuda import shape as shapes
from scumble.counting.cuda.shape import Division, Shape
from scumble.counting.hasher import Hasher

RING = 1024
"""Steps that a row counts before it hashes them."""
MOST_COLUMNS = 4
THREADS, RECORDS, RESIDENT, MOST_ROWS = 512, 4, 2, 16


def fits(shape: Shape, room: int) -> bool:
    """Whether this program can count such records, with this many bytes of shared memory."""
    return (
        shape.projects
        and shape.floor == 1
        and shape.hashes == 1
        and shape.columns <= MOST_COLUMNS
        and divide(shape, 1, room).resident * divide(shape, 1, room).shared <= room
    )


def divide(shape: Shape, rows: int, room: int) -> Division:
    """As many rows per block as leave room for a second block."""
    table = RING * -(-shape.buckets // RING)
    row = 4 * table + 8 * (2 + shape.columns + shape.columns % 2)
    group = max(1, min(MOST_ROWS, rows, (room // RESIDENT - 4 * RING) // row))
    return Division(
        group=group,
        threads=THREADS,
        records=RECORDS,
        step=THREADS * RECORDS,
        resident=RESIDENT,
        shared=4 * RING + group * row,
        table=table,
    )


def source(shape: Shape, division: Division) -> str:
    """The CUDA source for this shape."""
    return shapes.source(
        "steps.cu",
        shape,
        COLUMNS=shape.columns,
        RING=RING,
        GROUP=division.group,
        THREADS=division.threads,
        RECORDS=division.records,
        RESIDENT=division.resident,
    )


def pack(hasher: Hasher, division: Division) -> list[np.ndarray]:
    """The hash functions' parameters, in the order that the program takes them."""
    return [hasher.parameters[0], hasher.start, hasher.multipliers]
