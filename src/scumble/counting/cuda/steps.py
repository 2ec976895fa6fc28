"""One projection a row and few columns: the common case, and the fastest. See ``steps.cu``."""

from __future__ import annotations

import numpy as np

from scumble.counting.cuda import shape as shapes
from scumble.counting.cuda.shape import Division, Shape
from scumble.counting.hasher import Hasher

RING = 1024
"""Steps that a row counts before it hashes them."""
MOST_COLUMNS = 4
THREADS, RECORDS, RESIDENT, MOST_ROWS = 512, 4, 2, 16


def fits(shape: Shape) -> bool:
    return (
        shape.projects
        and shape.floor == 1
        and shape.hashes == 1
        and shape.columns <= MOST_COLUMNS
        and shape.buckets <= MOST_ROWS * RING
    )


def divide(shape: Shape, rows: int, n: int, processors: int) -> Division:
    room = 4 * RING * -(-shape.buckets // RING)
    row = room + 8 * (2 + shape.columns + shape.columns % 2)
    group = max(1, min(MOST_ROWS, rows, (shapes.MOST_SHARED_BYTES // RESIDENT - 4 * RING) // row))
    return Division.of(
        rows,
        n,
        processors,
        group=group,
        threads=THREADS,
        records=RECORDS,
        step=THREADS * RECORDS,
        resident=RESIDENT,
        shared=4 * RING + group * row,
        table=room // 4,
    )


def source(shape: Shape, division: Division) -> str:
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
    return [hasher.parameters[0], hasher.start, hasher.multipliers]
