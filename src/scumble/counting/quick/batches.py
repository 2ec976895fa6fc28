"""A batch of records: counted by a thread that is alone or one of several, or read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scumble.counting import turns
from scumble.counting.guard import Batch
from scumble.counting.products import RECORDS
from scumble.counting.quick.counters import Own, copy_to_cells, fresh, most_cells
from scumble.counting.quick.projections import rows_at_once
from scumble.counting.quick.tiles import Space, space_for, together, walk

EMPTY = np.empty(0, np.int64)
NOWHERE = EMPTY.reshape(0, 0)


def ready() -> bool:
    """Whether the loops are compiled: in this process, or in another that left them on the disk."""
    return bool(getattr(walk, "ready", True))  # as a plain function it needs no compiling


def count(
    batch: Batch, columns: np.ndarray | None, times: np.ndarray, own: Own, k: int, counts: np.ndarray, mine: slice,
    pieces: np.ndarray, turn: np.ndarray,
) -> None:  # fmt: skip
    """Thread k's part: add records, each `times` over unless that is empty, to one counter or cell of every row `mine`.

    `columns` are those of all records in single precision; None has them made on the way.
    """
    counters = counts if k == 0 else own.others[k - 1]
    space = space_for(batch, columns, counts.shape[1])
    _through(batch, times, own, k, False, counters, mine, pieces, turn, space, EMPTY, NOWHERE)


def count_alone(batch: Batch, times: np.ndarray, counts: np.ndarray, room: Room | None = None) -> Room:
    """Add all records to one counter of every row, in one call of a compiled loop.

    Returns the room that it was done in, for the next batch: this one, or a new one where it does not serve.
    """
    every = slice(0, len(counts))
    if room is None or not room.serves(batch):
        own, space = fresh(batch, every, counts, 1), space_for(batch, None, counts.shape[1])
        room = Room(batch.spans, most_cells(batch), own, space)
    pieces, turn = turns.pieces(len(batch.values), 0, 1), turns.new()
    _through(batch, times, room.own, 0, True, counts, every, pieces, turn, room.space, EMPTY, NOWHERE)
    return room


class Room(NamedTuple):
    """What a thread that is alone with its records counts in: empty again in the end, for the next batch like this."""

    spans: np.ndarray
    most: int
    """What the batch's cells depend on."""
    own: Own
    space: Space

    def __repr__(self) -> str:
        return "Room(secret)"

    def serves(self, batch: Batch) -> bool:
        """Whether it is for such a batch, of the same hash functions and so many records."""
        rows = min(len(batch.values), together(batch.values.shape[1]))
        alike = self.spans is batch.spans and self.most == most_cells(batch)
        return alike and len(self.space.columns) * RECORDS >= rows


def read(
    batch: Batch, counts: np.ndarray, lines: np.ndarray, out: np.ndarray, pieces: np.ndarray, turn: np.ndarray
) -> None:
    """Add the counter that each record falls into, row by row, to the row's line of `out`."""
    mine = slice(0, len(counts))
    copied = fresh(batch, mine, counts, 1)
    copy_to_cells(batch, copied.cells, copied.places, copied.tables[0], counts)
    space = space_for(batch, None, counts.shape[1])
    _through(batch, EMPTY, copied, 0, False, counts, mine, pieces, turn, space, lines, out)


def _through(
    batch: Batch, times: np.ndarray, own: Own, k: int, alone: bool, counts: np.ndarray, mine: slice,
    pieces: np.ndarray, turn: np.ndarray, space: Space, lines: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """Pieces of a batch's records through the rows `mine`: counted, or read where there are lines to read them into."""
    walk(
        pieces, turn, batch.values, times, batch, own, k, alone, counts, (mine.start, mine.stop),
        together(batch.values.shape[1]), rows_at_once(batch), space, lines, out.reshape(-1), out.shape[1],
    )  # fmt: skip
