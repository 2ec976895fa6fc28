"""Long records: projected by large matrix products in half precision, counted from the projections. See ``long.cu``.

The same two halves as in :mod:`halves`, side by side in one product three times as long. The band around the edges is
twice as wide: there are more additions.
"""

from __future__ import annotations

import numpy as np

from scumble.counting.cuda import shape as shapes
from scumble.counting.cuda.halves import BETA, MAGIC_BITS, ONE_HALF, scaled, split
from scumble.counting.cuda.shape import Shape
from scumble.counting.hasher import Hasher

EPSILON = 2.0**-18
THREADS = 512
WIDTH = 1 << 16
"""Records projected at a time."""
TILE_BYTES = 1 << 30
"""Projections held at a time."""


def wide(shape: Shape) -> int:
    """Columns, rounded up to what matrix products like."""
    return -(-shape.columns // 8) * 8


def tile(shape: Shape, rows: int, n: int) -> tuple[int, int]:
    """Rows and records projected at a time."""
    width = min(WIDTH, -(-n // 8) * 8)
    return max(1, min(rows, TILE_BYTES // (4 * shape.hashes * width))), width


def stripes(rows: int, n: int, processors: int) -> int:
    """Stripes of records, so that every processor has a few blocks but none too short."""
    return max(1, min(4 * processors // rows, n // (16 * THREADS)))


def shared(shape: Shape) -> int:
    """Bytes of a row's hashes and its table."""
    return 32 * shape.hashes + 4 * shape.buckets


def source(shape: Shape) -> str:
    return shapes.source(
        "long.cu",
        shape,
        COLUMNS=shape.columns,
        FLOOR=shape.floor,
        WIDE=wide(shape),
        THREADS=THREADS,
        UNROLL=min(shape.hashes, 4),
    )


def pack(hasher: Hasher) -> list[np.ndarray]:
    """Directions in halves; the columns' scales; directions and starts as they are, for close calls; starts that make
    up for the bits of steps; and what the counting reads of each hash."""
    shape = Shape.of(hasher)
    directions, scales = scaled(hasher)
    length = np.sqrt(np.sum(directions**2, axis=-1))
    large, small = split(directions)
    halves = np.zeros((hasher.rows * shape.hashes, 3, wide(shape)), np.float16)
    for place, half in enumerate((large, small, large)):
        halves[:, place, : shape.columns] = half.reshape(len(halves), -1)
    beta = BETA * shape.columns**0.5
    floats = np.zeros((*length.shape, 4), np.float32)
    floats[..., 1] = EPSILON * length + beta
    floats[..., 2] = (ONE_HALF if shape.floor else 0.0) - beta * length
    begin = hasher.start.copy()
    if shape.floor:
        floats[..., 0] = hasher.parameters[0][:, :, 0] - 0.5
        begin -= hasher.multipliers.sum(axis=1, dtype=np.uint64) * np.uint64(MAGIC_BITS)
    words = np.stack([hasher.multipliers, np.zeros_like(hasher.multipliers)], axis=-1)
    hashes = np.concatenate([floats.view(np.uint32), words.view(np.uint32)], axis=-1)
    return [
        halves.reshape(len(halves), -1),
        scales.astype(np.float32),
        hasher.parameters[0],
        hasher.start,
        begin,
        hashes,
    ]
