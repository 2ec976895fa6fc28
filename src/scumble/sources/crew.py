"""The threads of a pass: they turn batches into records, and where there are many of them, count them, too.

Up to four threads turn the next batches into records while the batch whose turn it is is counted, by all threads
together. More of them would wait for each other, batch by batch, and for the interpreter's lock. So each of more than
four takes a batch from its first byte to the counters: it counts in counters of its own, aside, and says what it has
found. What the curator is told is put together in the order of the source, as if one thread had done it all
(`Tally.update`), and an error is that of the first batch that has one.

Counters aside are added to the sketch's at the end, and before each checkpoint, when the crew *rests*: no batch is
handed out, and all that were are told of. Then the counters hold the rows up to the position, and no others. They are
integers, so nobody can tell from them who counted what.

No more batches are under way than three for each thread, of some megabytes each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Self

import numpy as np

from scumble.counting.guard import Known
from scumble.sources.readahead import READ_AHEAD, begun, read_ahead
from scumble.sources.source import Piece
from scumble.sources.tally import Found, Tally

Finding = Callable[[], Found | None]
"""Waits until a batch is done with, and gives what was found in it, or raises the error."""


LYING_READY = 3
"""Pieces for each thread that are handed out ahead of who puts together what was found, in the order of the source: one
that it has, and others, or all would wait for whoever is late with the next in order."""


class Crew:
    """Threads for one pass; what they have counted aside is wiped in the end, whatever happens.

    Parameters
    ----------
    tally : Tally
        What is filled.
    """

    def __init__(self, tally: Tally) -> None:
        self._tally, self._threads, self._aside = tally, tally.threads, tally.aside
        self._made: list[np.ndarray] = []
        self._known = Known()
        self._free: list[np.ndarray] = []
        self._change = threading.Condition()
        self._handed = self._given = 0
        self._resting = self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, problem: object, *_: object) -> None:
        if problem is not None:  # else all was taken in, and cleared
            for counts in self._made:
                counts.fill(0)

    def __repr__(self) -> str:
        return "Crew(secret)"

    def pieces(
        self, pieces: Iterator[Piece], *, stopped: Callable[[], bool], wake: Callable[[], None]
    ) -> Iterator[tuple[Piece, Finding]]:
        """The pieces in their order, each with what a thread finds in it.

        When `stopped` says so, no more are handed out, and the stream ends with the last that was.
        """

        def end() -> None:
            with self._change:
                self._over = True
                self._change.notify_all()
            wake()

        with begun(self._handed_out(pieces), self._find, self._threads) as under_way:
            depth = max(READ_AHEAD, LYING_READY * self._threads)
            for item in read_ahead(under_way, depth=depth, stopped=lambda: stopped() and self.rest(), wake=end):
                self._given += 1
                yield item

    def rest(self) -> bool:
        """Hand out no further piece; whether all that were handed out have been given to who asks."""
        if not self._aside:
            return True
        with self._change:
            self._resting = True
            return self._given == self._handed

    def take_in(self) -> None:
        """Add what was counted aside to the sketch, when the crew rests or is done, and go on."""
        self._tally.sketches[0].secret.take_in(self._free, self._threads)
        with self._change:
            self._resting = False
            self._change.notify_all()

    def _handed_out(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """The same, one by one, unless the crew rests."""
        try:
            for piece in pieces:
                with self._change:
                    self._change.wait_for(lambda: self._over or not self._resting)
                    if self._over:
                        return
                    self._handed += 1
                yield piece
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()

    def _find(self, piece: Piece) -> Found | None:
        """A thread's work. Counters that it was interrupted in are not used again."""
        if not self._aside:
            return self._tally.ready(piece.batch)
        try:
            counts = self._free.pop()
        except IndexError:
            counts = self._tally.sketches[0].secret.aside()
            self._made.append(counts)
        found = self._tally.counted_aside(piece.batch, counts, self._known)
        self._free.append(counts)
        return found
