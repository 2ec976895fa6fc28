"""How partial sketches travel: in pieces, as rows of a DataFrame that Spark alone moves.

A row is (part, piece, share, body). `part` is the class, `piece` says which counters of it, `share` spreads the first
step of the tree, and `body` holds the counters as little-endian int64: merging two rows is adding their bodies. A piece
has at most 1 MiB, so no row and no Arrow batch is enormous, however large the sketch is.

Two rows are special. ABOUT holds numbers for the curator (rows read, rows dropped, strays), which add up like
counters. REFUSAL holds a message in place of a partial sketch: bad data must not fail a task, for then Spark would try
again, and write what the task said into its logs.

All of it is as secret as the table. Rows hold nothing that would differ if a task ran again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

SCHEMA = "part int, piece int, share int, body binary"
PIECE = 1 << 17
"""Counters per piece: 1 MiB."""
ABOUT, REFUSAL = -1, -2

_FIELDS = pa.schema([("part", pa.int32()), ("piece", pa.int32()), ("share", pa.int32()), ("body", pa.binary())])

Key = tuple[int, int]


def rows(part: int, counts: np.ndarray, share: int) -> Iterator[pa.RecordBatch]:
    """The counters of one class, cut into pieces, a batch each."""
    flat = counts.reshape(-1).astype("<i8", copy=False)
    for piece, first in enumerate(range(0, flat.size, PIECE)):
        yield row((part, piece), flat[first : first + PIECE].tobytes(), share)


def row(key: Key, body: bytes, share: int = 0) -> pa.RecordBatch:
    """One piece of a table of counters as a row of the result."""
    columns = [pa.array([number], pa.int32()) for number in (*key, share)]
    return pa.RecordBatch.from_arrays([*columns, pa.array([body], pa.binary())], schema=_FIELDS)


class Sums:
    """Pieces added up, as they come. For `REFUSAL`, the first message in order stands for all."""

    def __init__(self) -> None:
        self.counters: dict[Key, np.ndarray] = {}
        self.refusal: bytes | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the pieces of a batch."""
        for part, piece, body in zip(*(batch.column(name) for name in ("part", "piece", "body")), strict=True):
            self._add((part.as_py(), piece.as_py()), body.as_buffer())

    def _add(self, key: Key, body: pa.Buffer) -> None:
        if key[0] == REFUSAL:
            said = body.to_pybytes()
            self.refusal = said if self.refusal is None else min(said, self.refusal)
            return
        counts = np.frombuffer(body, "<i8")
        if key in self.counters:
            self.counters[key] += counts
        else:
            self.counters[key] = counts.copy()

    def into(self, part: int, counts: np.ndarray) -> None:
        """Add the pieces of one class to its counters."""
        flat = counts.reshape(-1)
        for piece, first in enumerate(range(0, flat.size, PIECE)):
            if (part, piece) in self.counters:
                flat[first : first + PIECE] += self.counters[part, piece]


def merged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What one task of the tree does: all rows of its partition to one row a piece."""
    sums = Sums()
    for batch in batches:
        sums.add(batch)
    for key, counts in sums.counters.items():
        yield row(key, counts.tobytes())
    if sums.refusal is not None:
        yield row((REFUSAL, 0), sums.refusal)
