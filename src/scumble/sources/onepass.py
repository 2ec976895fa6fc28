"""One pass over a source: read ahead, count in several threads, write checkpoints, report progress."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, Self, TypeVar

import numpy as np

from scumble.columns.curator import BAD_CELL, BEYOND, Bad, declared_otherwise, refusal
from scumble.columns.kinds import Roles
from scumble.counting.guard import Known
from scumble.errors import DataError, ScumbleError
from scumble.files.interrupts import PatientInterrupts
from scumble.files.lazy_modules import pa, pt
from scumble.sources.checkpoint import Checkpoint
from scumble.sources.source import Piece, Source, row_bits
from scumble.sources.tally import Found, Tally, UnknownClass, bad_cells, how_read
from scumble.table.spec import TableSpec


class Progress(NamedTuple):
    """How far a pass is. For the curator: the number of rows is secret."""

    rows: int
    """Rows read so far, including those of an interrupted run."""
    rows_per_second: float
    done: float | None
    """The share of the source that has been read, or None if unknown."""
    seconds_left: float | None


Report = Callable[[Progress], None]

Finding = Callable[[], Found | None]
"""Waits for a batch and returns what was found in it, or raises the error."""

SMALLER = 8
"""How many times smaller the last pieces may be."""
LARGE, MOST_BYTES = 1 << 15, 1 << 25
"""The fewest rows of a piece that is joined with others, and the most bytes of the result."""
PIECES_PER_THREAD = 3
"""Pieces handed out per thread: the one it has, and others, so that a slow thread does not stop the rest."""


def one_pass(
    source: Source, roles: Roles, tally: Tally, *, checkpoint: Checkpoint | None = None, progress: Report | None = None
) -> None:
    """Count every row of the source once.

    Ctrl-C (SIGTERM, SIGHUP) waits for the current batch, writes a last checkpoint, and then acts as usual. A source
    that changed meanwhile is refused before noise is drawn (noise drawn first has been paid for).
    """
    start = position = checkpoint.resume(tally) if checkpoint is not None else (0, 0)
    invalid = tally.options.get("invalid", "error")
    if checkpoint is not None and tally.noise_is_due:
        checkpoint.pledge(tally)
    tally.begin()
    began, rows_before, share_before = time.monotonic(), tally.rows, None
    kept = dict(tally.skipped)
    numbers = set(roles.values()) == {"number"}
    if tally.people is not None:
        source.settle(roles)
    read = source.pieces(roles, start=start, invalid=invalid)
    most = MOST_BYTES // 2 if tally.aside else MOST_BYTES
    joined = gathered(read, 0 if source.live else tally.at_once, numbers, most)
    pieces = shared_out(joined, tally.at_most, tally.threads if tally.aside else 1)
    with PatientInterrupts() as interrupted, Crew(tally) as crew:
        for piece, found in crew.pieces(pieces, stopped=interrupted, wake=source.wake):
            try:
                tally.update(piece.batch, found(), piece.position)
            except DataError as problem:
                raise located(problem, source, tally, piece) from None
            position = piece.position
            tally.skipped = kept | source.skipped
            if checkpoint is not None and checkpoint.due and not interrupted() and crew.rest():
                crew.take_in()
                checkpoint.keep(tally, position)
            if progress is not None:
                share_before = piece.done if share_before is None else share_before
                seconds, done, left = time.monotonic() - began, piece.done, None
                if done is not None and share_before is not None and done > share_before:
                    left = seconds * (1.0 - done) / (done - share_before)
                progress(Progress(tally.rows, (tally.rows - rows_before) / max(seconds, 1e-9), done, left))
        crew.take_in()
        tally.skipped = kept | source.skipped
        if checkpoint is not None and (position != start or interrupted()):
            checkpoint.keep(tally, position, now=interrupted())
    if interrupted():  # the signal has acted by now, unless the caller's own handler let it pass
        raise KeyboardInterrupt
    source.require_unchanged()


class Crew:
    """The threads of a pass.

    Up to four threads turn the next batches into records while all threads together count the current one. More than
    four would wait for each other, so each of them takes whole batches and counts into counters of its own. These are
    added to the sketch at the end and before each checkpoint, when the crew *rests*: no batch is handed out, and all
    that were are reported. Reports and errors come in the order of the source. Counters are wiped whatever happens.
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
        """The pieces in order, each with what a thread finds in it, until `stopped`."""

        def end() -> None:
            with self._change:
                self._over = True
                self._change.notify_all()
            wake()

        with begun(self._handed_out(pieces), self._find, self._threads) as under_way:
            depth = max(READ_AHEAD, PIECES_PER_THREAD * self._threads)
            for item in read_ahead(under_way, depth=depth, stopped=lambda: stopped() and self.rest(), wake=end):
                self._given += 1
                yield item

    def rest(self) -> bool:
        """Hand out no further piece. Returns whether all pieces handed out have been reported."""
        if not self._aside:
            return True
        with self._change:
            self._resting = True
            return self._given == self._handed

    def take_in(self) -> None:
        """Add the threads' counters to the sketch, when the crew rests or is done, and go on."""
        self._tally.sketches[0].secret.take_in(self._free, self._threads)
        with self._change:
            self._resting = False
            self._change.notify_all()

    def _handed_out(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """The pieces, one by one; none while the crew rests."""
        try:
            for piece in pieces:
                with self._change:
                    self._change.wait_for(lambda: self._over or not self._resting)
                    if self._over:
                        return
                    self._handed += 1
                yield piece
        finally:
            _close(pieces)

    def _find(self, piece: Piece) -> Found | None:
        """A thread's work. Counters of an interrupted thread are not used again."""
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


def gathered(
    pieces: Iterator[Piece], rows: int, numbers: bool = False, most_bytes: int = MOST_BYTES
) -> Iterator[Piece]:
    """The same rows in the same order: large pieces of one file and schema are joined, up to `rows`.

    Small batches would make threads wait for each other. An error while reading is raised after the rows before it.
    Columns of `numbers` are not copied, which would cost as much as reading; words are, so each is looked up once.
    """
    if not rows:
        yield from pieces
        return
    waiting: list[Piece] = []
    try:
        for piece in pieces:
            if waiting and not _together(waiting, piece, rows, most_bytes):
                yield _joined(waiting, numbers)
                waiting = []
            waiting.append(piece)
    except Exception:
        if waiting:
            yield _joined(waiting, numbers)
        raise
    if waiting:
        yield _joined(waiting, numbers)


def shared_out(pieces: Iterator[Piece], rows: int, threads: int = 1) -> Iterator[Piece]:
    """The same rows in the same order, in pieces of at most `rows`.

    With several threads, pieces get smaller toward the end (if it is known), since all wait for the last one.
    """
    before = None
    for piece in pieces:
        (file, end), n, done, later = piece.position, piece.batch.num_rows, piece.done, math.inf
        if threads > 1 and done is not None and before is not None and done > before:
            later = n * (1.0 - done) / (done - before)
        before, first = done, 0
        while n - first > (size := _size(n - first + later, rows, threads)):
            yield piece._replace(batch=piece.batch.slice(first, size), position=(file, end - n + first + size))
            first += size
        yield piece._replace(batch=piece.batch.slice(first)) if first else piece


def _size(left: float, rows: int, threads: int) -> int:
    """Rows of the next piece: twice what is left for each thread."""
    return rows if threads == 1 else min(rows, max(rows // SMALLER, math.ceil(min(2 * left / threads, rows)), 1))


def _together(waiting: list[Piece], piece: Piece, rows: int, most_bytes: int) -> bool:
    many = [*(each.batch.num_rows for each in waiting), piece.batch.num_rows]
    if min(many) < LARGE or sum(many) > rows or waiting[-1].position[0] != piece.position[0]:
        return False
    schema, kinds = piece.batch.schema, piece.batch.schema.types
    joined = (
        pt.is_primitive,
        pt.is_string,
        pt.is_large_string,
        pt.is_binary,
        pt.is_large_binary,
    )  # any dictionary is not
    if not waiting[-1].batch.schema.equals(schema) or not all(any(test(kind) for test in joined) for kind in kinds):
        return False
    bits = row_bits(kinds)
    together = sum(many) * bits // 8 if bits else sum(each.batch.nbytes for each in (*waiting, piece))
    return bool(together <= most_bytes)


def _joined(pieces: list[Piece], numbers: bool) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    join = pa.Table.from_batches if numbers else pa.concat_batches
    return pieces[-1]._replace(batch=join([piece.batch for piece in pieces]))


def located(problem: DataError, source: Source, tally: Tally, piece: Piece) -> ScumbleError:
    """The error with its place: file, line or row group, columns and counts, never a value."""
    batch, position = piece.batch, piece.position
    if isinstance(problem, UnknownClass):
        return DataError(f"{source.place(position, batch.num_rows, problem.row)}: {problem}")
    if tally.label is not None:
        batch = batch.drop_columns([tally.label])
    spec = tally.sketches[0].spec
    bad: Bad = {}
    with contextlib.suppress(ScumbleError):
        bad = bad_cells(batch, spec)
    what = "missing, unreadable, not finite or too large"
    hints = [how_read(spec, name, source.decimal) for cause, name in bad if cause == BAD_CELL][:1]
    if isinstance(spec, TableSpec):
        what = "missing, unreadable, not finite or none of the schema's words"
        hints.append(f"{declared_otherwise(key for key in bad if key[0] != BEYOND)} in the schema file")
    hint = "; ".join(["correct them", *hints, "or leave such records out with --invalid drop (invalid='drop')"])
    found = refusal(bad, partial(source.place, position, batch.num_rows), what, hint)
    return found or DataError(f"{source.place(position, batch.num_rows, 0).split(', ')[0]}: {problem}")


T = TypeVar("T")
S = TypeVar("S")

READ_AHEAD = 3
"""Items that are ready."""
_PATIENCE = 3.0  # seconds that a reader has to end
_WAIT = 0.1  # seconds after which a waiting thread looks whether it should stop


def read_ahead(
    items: Iterator[T],
    *,
    depth: int = READ_AHEAD,
    stopped: Callable[[], bool] = lambda: False,
    wake: Callable[[], None] = lambda: None,
) -> Iterator[T]:
    """The same items in the same order, read by a thread that is at most `depth` ahead.

    An error while reading is raised after the items before it. The stream ends early when `stopped` returns true.
    `wake` is called at the end, to stop a reader that waits for bytes.
    """
    waiting = queue.SimpleQueue[tuple[T] | None]()
    room, done = threading.Semaphore(depth), threading.Event()
    failure: list[BaseException] = []

    def read() -> None:
        try:
            for item in items:
                waiting.put((item,))
                room.acquire()
                if done.is_set():
                    break
        except BaseException as problem:
            failure.append(problem)
        finally:
            _close(items)
            waiting.put(None)

    # A daemon: a read that never returns (an idle pipe) must not keep the process alive.
    thread = threading.Thread(target=read, name="scumble-reader", daemon=True)
    thread.start()
    try:
        while not stopped():
            try:
                item = waiting.get(timeout=_WAIT)
            except queue.Empty:
                continue
            if item is None:
                if failure:
                    raise failure[0]
                return
            room.release()
            yield item[0]
    finally:
        done.set()
        room.release()
        wake()
        # A thread that returns while the interpreter exits would abort it.
        thread.join(_PATIENCE)


def _close(items: object) -> None:
    getattr(items, "close", lambda: None)()


def in_order(items: Iterable[T], work: Callable[[T], S], threads: int) -> Iterator[S]:
    """`work(item)` for each item, in order, `threads` of them at a time."""
    waiting = deque[Callable[[], S]]()
    with begun(iter(items), work, threads) as under_way:
        for _, done in under_way:
            waiting.append(done)
            if len(waiting) == threads:
                yield waiting.popleft()()
        while waiting:
            yield waiting.popleft()()


@contextmanager
def begun(items: Iterator[T], work: Callable[[T], S], threads: int) -> Iterator[Iterator[tuple[T, Callable[[], S]]]]:
    """The same items in the same order, each with a function that returns `work(item)`, which a thread has begun.

    The function raises an error of `work`. With one thread, it does the work itself.

    >>> with begun(iter(range(5)), lambda number: number**2, threads=2) as items:
    ...     [(item, done()) for item, done in items]
    [(0, 0), (1, 1), (2, 4), (3, 9), (4, 16)]
    """
    pool = ThreadPoolExecutor(threads, "scumble-worker")

    def handed() -> Iterator[tuple[T, Callable[[], S]]]:
        try:
            for item in items:
                yield item, partial(work, item) if threads == 1 else pool.submit(work, item).result
        finally:
            _close(items)

    try:
        yield handed()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
