"""Projections of short records on the tensor cores, in half precision, exact all the same. See ``halves.cu``.

A number z is the sum of its rounding to half precision and of the rounding of the remainder, but for 2⁻²² |z|, or 2⁻²⁵
where numbers are tiny. The sum of the products is then off by at most

    e = ε ‖x‖ ‖a‖ + β (‖x‖ + ‖a‖),    ε = 2⁻²³ (4 + 2 + k),  β = 2⁻²⁴ √d,

the 4 for what the halves leave of either number, the 2 for terms cut off where the tensor cores align them, and k for
the additions of large terms in single precision, which are rounded toward zero: one for each sixteen halves. (Small
terms come first, so their additions do not count.) A projection farther than e from the nearest edge is decided;
the others, about one in ten thousand, are computed again in double precision, as the reference does. Values beyond half
precision leave no number, and go that way too.

Columns are scaled by powers of two first, so the directions are near 1 whatever the columns' units.
"""

from __future__ import annotations

import numpy as np

from scumble.counting.cuda import shape as shapes
from scumble.counting.cuda.shape import Division, Shape
from scumble.counting.hasher import Hasher

UNIT, BETA = 2.0**-23, 2.0**-24
ONE_HALF = 0.5 - 2.0**-22
"""The farthest a projection can be from an edge, less the rounding of its offset."""
MOST_ROWS, MOST_TILES = 48, 4
SLAB_BYTES = 1 << 30
"""Records held in halves at a time."""
MAGIC_BITS = 0x4B400000
"""The bits of 1.5 · 2²³ in single precision: steps still carry them when they are multiplied, so starts make up."""


def fits(shape: Shape, room: int) -> bool:
    """Whether this program can count such records, with this many bytes of shared memory."""
    return shape.projects and shape.columns <= shapes.LARGEST_RECORD and _set_bytes(shape) <= room


def divide(shape: Shape, rows: int, room: int) -> Division:
    """Rows in sets of eight, as many sets as the shared memory holds."""
    threads, tiles = (768, 3) if _steps(shape) == 1 else (512, 2)
    sets = min(MOST_ROWS // 8, -(-rows // 8), room // _set_bytes(shape))
    return Division(
        group=8 * sets,
        threads=threads,
        records=tiles,
        step=threads // 32 * 16 * tiles,
        resident=1,
        shared=sets * _set_bytes(shape),
        table=shape.buckets,
    )


def slab(shape: Shape) -> int:
    """Records that are held in halves at a time."""
    return 16 * (SLAB_BYTES // (512 * _steps(shape)))


def room(shape: Shape, n: int) -> tuple[int, int]:
    """Tiles of 16 records, with a few to spare, and the words that a tile takes in halves."""
    return -(-n // 16) + MOST_TILES, 128 * _steps(shape)


def source(shape: Shape, division: Division) -> str:
    """The CUDA source for this shape."""
    return shapes.source(
        "halves.cu",
        shape,
        COLUMNS=shape.columns,
        FLOOR=shape.floor,
        STEPS=_steps(shape),
        SETS=division.group // 8,
        THREADS=division.threads,
        TILES=division.records,
        UNROLL=shape.hashes if shape.hashes <= 4 else 1,
    )


def pack(hasher: Hasher, division: Division) -> list[np.ndarray]:
    """The columns' scales; the hash functions as they are, for close calls; what the lanes read of each set of rows."""
    shape = Shape.of(hasher)
    rows = -(-hasher.rows // division.group) * division.group
    directions, scales = scaled(hasher)
    full = _padded(directions, (rows, shape.hashes, 8 * _steps(shape)))
    weights = np.stack([_by_lane(half) for half in split(full)], axis=-1).reshape(rows // 8, shape.hashes, -1)
    each = np.concatenate([weights, _aside(hasher, rows)], axis=-1).reshape(rows // 8, -1)
    packed = np.concatenate([each, _last(hasher, full)], axis=-1)
    return [scales, hasher.parameters[0], hasher.start, hasher.multipliers, packed]


def _aside(hasher: Hasher, rows: int) -> np.ndarray:
    """(sets, hashes, 32): for each of four lanes, the offsets of its two rows, twice, and their multipliers."""
    shape = Shape.of(hasher)
    offsets = np.zeros((rows, shape.hashes), np.float32)
    if shape.floor:
        offsets[: hasher.rows] = hasher.parameters[0][:, :, 0] - 0.5  # the nearest whole number is then the step
    two = _by_pair(offsets).view(np.uint32)
    pairs = _by_pair(_padded(words(hasher)[1], offsets.shape))
    return np.concatenate([two, two, pairs, np.zeros_like(pairs)], axis=-1).reshape(rows // 8, shape.hashes, -1)


def _last(hasher: Hasher, directions: np.ndarray) -> np.ndarray:
    """(sets, 32): for each of four lanes, the band of its worst hash, its rows' starts, the longest direction."""
    shape, sets = Shape.of(hasher), len(directions) // 8
    length = _by_pair(np.sqrt(np.sum(directions**2, axis=-1))).max(axis=(1, 3))
    near, limit, longest = bands(shape, length, _steps(shape) + 1)
    out = np.zeros((sets, 4, 8), np.uint32)
    out[..., 0], out[..., 1], out[..., 4] = (part.view(np.uint32) for part in (near, limit, longest))
    out[..., 2:4] = _padded(words(hasher)[0], (8 * sets,)).reshape(sets, 4, 2)
    return out.reshape(sets, -1)


def words(hasher: Hasher) -> tuple[np.ndarray, np.ndarray]:
    """Starts and multipliers as the program multiplies them: their high words, or the low ones where codes are numbered
    directly. Starts make up for the bits that steps carry."""
    shape = Shape.of(hasher)
    half = np.uint64(0 if shape.direct else 32)
    start, multipliers = ((part >> half).astype(np.uint32) for part in (hasher.start, hasher.multipliers))
    if shape.floor:
        start -= multipliers.sum(axis=1, dtype=np.uint32) * np.uint32(MAGIC_BITS)
    return start, multipliers


def bands(shape: Shape, length: np.ndarray, additions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For directions of that length: what a record's length is multiplied by, and taken from, to tell how far from a
    step's middle a projection is beyond doubt (for sides: minus how far from 0); and their length, rounded up."""
    beta = BETA * shape.columns**0.5
    near = UNIT * (6 + additions) * length + beta
    limit = (ONE_HALF if shape.floor else 0.0) - beta * length
    more = 1.0001  # lengths are also rounded
    return (more * near).astype(np.float32), limit.astype(np.float32), (more * length).astype(np.float32)


def _padded(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape, array.dtype)
    out[tuple(slice(n) for n in array.shape)] = array
    return out


def _by_lane(half: np.ndarray) -> np.ndarray:
    """(rows, hashes, columns) → (sets, hashes, steps, 32): two columns per lane, four lanes per row."""
    rows, hashes, columns = half.shape
    order = half.reshape(rows // 8, 8, hashes, columns // 8, 4, 2).transpose(0, 2, 3, 1, 4, 5)
    return np.ascontiguousarray(order).view(np.uint32).reshape(rows // 8, hashes, columns // 8, 32)


def _by_pair(array: np.ndarray) -> np.ndarray:
    """(rows, hashes) → (sets, hashes, 4, 2): two rows per lane."""
    return np.ascontiguousarray(array.reshape(-1, 4, 2, array.shape[1]).transpose(0, 3, 1, 2))


def scaled(hasher: Hasher) -> tuple[np.ndarray, np.ndarray]:
    """Directions with every column near 1, none beyond half precision; and the powers of two that the columns take."""
    shape = Shape.of(hasher)
    directions = hasher.parameters[0][:, :, shape.floor :]
    size = np.abs(directions).reshape(-1, shape.columns)
    usual, largest = np.median(size, axis=0), size.max(axis=0)
    scales = 2.0 ** np.ceil(np.log2(np.maximum(np.maximum(usual, largest / 2**15), np.finfo(np.float64).tiny)))
    return directions / scales, scales


def split(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Roundings to half precision, and the roundings of what they left."""
    large = numbers.astype(np.float16)
    return large, (numbers - large).astype(np.float16)


def _steps(shape: Shape) -> int:
    """Products of eight columns, in two halves each, to go through a record."""
    return -(-shape.columns // 8)


def _set_bytes(shape: Shape) -> int:
    """Shared memory of eight rows: their hash functions and their tables."""
    return 4 * (shape.hashes * (64 * _steps(shape) + 32) + 32 + 8 * shape.buckets)
