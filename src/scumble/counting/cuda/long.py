"""Long records: projected by large matrix products in half precision, counted from the projections. See ``long.cu``.

The same two halves as in :mod:`halves`, side by side in one product three times as long, and a wider band around the
edges, since there are more additions. Small terms also come first here, and a library that divides the product among
processors adds up a few sums more.
"""

from __future__ import annotations

import numpy as np

from scumble.counting.cuda import shape as shapes
from scumble.counting.cuda.halves import bands, scaled, split, words
from scumble.counting.cuda.shape import Shape
from scumble.counting.hasher import Hasher

MORE_ADDITIONS = 8
THREADS = 512
WIDTH = 1 << 16
"""Records projected at a time."""
TILE_BYTES = 1 << 30
"""Projections held at a time, and records in halves."""


def wide(shape: Shape) -> int:
    """Columns, rounded up to what matrix products like."""
    return -(-shape.columns // 8) * 8


def tile(shape: Shape, rows: int, n: int) -> tuple[int, int]:
    """Rows and records projected at a time."""
    width = max(8, min(WIDTH, TILE_BYTES // (6 * wide(shape)), n + 7) // 8 * 8)
    return max(1, min(rows, TILE_BYTES // (4 * shape.hashes * width))), width


def stripes(rows: int, n: int, processors: int) -> int:
    """Stripes of records, so every processor has a few blocks but none too short."""
    return max(1, min(4 * processors // rows, n // (16 * THREADS)))


def shared(shape: Shape) -> int:
    """Bytes of a row's hashes and its table."""
    return 16 * shape.hashes + 4 * shape.buckets


def source(shape: Shape) -> str:
    """The CUDA source for this shape."""
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
    """Directions in halves; the columns' scales; the hash functions as they are, for close calls; starts, what the
    counting reads of each hash, and the longest direction of each row."""
    shape = Shape.of(hasher)
    directions, scales = scaled(hasher)
    length = np.sqrt(np.sum(directions**2, axis=-1))
    large, small = split(directions)
    halves = np.zeros((hasher.rows * shape.hashes, 3, wide(shape)), np.float16)
    for place, half in enumerate((large, small, large)):
        halves[:, place, : shape.columns] = half.reshape(len(halves), -1)
    start, multipliers = words(hasher)
    near, limit, longest = bands(shape, length, wide(shape) // 16 + MORE_ADDITIONS)
    offset = hasher.parameters[0][:, :, 0] - 0.5 if shape.floor else np.zeros_like(length)
    floats = np.stack([offset.astype(np.float32), near, limit], axis=-1).view(np.uint32)
    return [
        halves.reshape(len(halves), -1),
        scales,
        hasher.parameters[0],
        hasher.start,
        hasher.multipliers,
        start,
        np.concatenate([floats, multipliers[..., None]], axis=-1),
        longest.max(axis=1),
    ]
