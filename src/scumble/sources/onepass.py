"""One pass over a source: read ahead, count, keep checkpoints, say how far it is."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from scumble.errors import UNPUBLISHED, DataError, ScumbleError
from scumble.machine.interrupts import PatientInterrupts
from scumble.machine.later import pa
from scumble.schema.kinds import read_as, undeclared, unread
from scumble.schema.spelling import numbers_read, others
from scumble.sources.causes import BAD_CELL, BEYOND, NO_WORD, bad_cells, declared_otherwise, kinds_of, too_large
from scumble.sources.checkpoint import Checkpoint
from scumble.sources.crew import Crew
from scumble.sources.source import Piece, Source, row_bits
from scumble.sources.tally import Tally, UnknownClass
from scumble.tables.roles import Roles
from scumble.tabular.spec import TableSpec


class Progress(NamedTuple):
    """How far a pass is. For the curator: the number of rows is secret."""

    rows: int
    """Rows read so far, those of an earlier run included."""
    rows_per_second: float
    done: float | None
    """The share of the source that has been read, or None if nobody knows."""
    seconds_left: float | None


Report = Callable[[Progress], None]

SMALLER = 8
"""The part of a usual piece that the last ones have."""
LARGE, MOST_BYTES = 1 << 15, 1 << 25
"""Rows of a piece that is joined with others, and the bytes of all of them."""


def one_pass(
    source: Source,
    roles: Roles,
    tally: Tally,
    *,
    checkpoint: Checkpoint | None = None,
    progress: Report | None = None,
) -> None:
    """Count every row of the source once.

    Ctrl-C (SIGTERM, SIGHUP) waits for the current batch, writes a last checkpoint, and then acts as usual. A source
    that has changed meanwhile is refused, before noise is drawn. (Noise that came first has been paid for.)
    """
    start = position = checkpoint.resume(tally) if checkpoint is not None else (0, 0)
    invalid = tally.options.get("invalid", "error")
    if checkpoint is not None and tally.noise_is_due:
        checkpoint.pledge(tally)
    tally.begin()
    began, rows_before, share_before = time.monotonic(), tally.rows, None
    kept = dict(tally.skipped)
    numbers = set(roles.values()) == {"number"}
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
                progress(_progress(tally.rows, tally.rows - rows_before, time.monotonic() - began, piece, share_before))
        crew.take_in()
        tally.skipped = kept | source.skipped
        if checkpoint is not None and (position != start or interrupted()):
            checkpoint.keep(tally, position, now=interrupted())
    if interrupted():  # the signal has acted by now, unless the caller's own handler let it pass
        raise KeyboardInterrupt
    source.require_unchanged()


def gathered(
    pieces: Iterator[Piece], rows: int, numbers: bool = False, most_bytes: int = MOST_BYTES
) -> Iterator[Piece]:
    """The same rows in the same order, in pieces of up to so many `rows`: joined are large ones of one file, and alike.

    A sketch with few rows of counters is counted batch by batch in a moment, in which threads would wait for each
    other. An error while reading is raised after the rows before it.

    Columns of `numbers` alone stay as they lie, in a table: to copy them would take the one thread that reads about as
    long as reading them. Words are copied, so that each of them is looked up once.
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
    """The same rows in the same order, none of the pieces with more than so many `rows`.

    Where each of several threads counts pieces of its own, those towards the end are smaller, as far as it is known
    where that is: a slow core takes twice as long for one as a quick core, and all wait for the last.
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
    """Of the next piece, where so many rows are left for so many threads: twice what is left for each."""
    return rows if threads == 1 else min(rows, max(rows // SMALLER, math.ceil(min(2 * left / threads, rows)), 1))


def _together(waiting: list[Piece], piece: Piece, rows: int, most_bytes: int) -> bool:
    many = [*(each.batch.num_rows for each in waiting), piece.batch.num_rows]
    if min(many) < LARGE or sum(many) > rows or waiting[-1].position[0] != piece.position[0]:
        return False
    schema = piece.batch.schema
    if not waiting[-1].batch.schema.equals(schema) or not all(map(_joins, kinds := schema.types)):
        return False
    bits = row_bits(kinds)  # Arrow takes longer to say it, column by column
    together = sum(many) * bits // 8 if bits else sum(each.batch.nbytes for each in (*waiting, piece))
    return bool(together <= most_bytes)


def _joins(kind: pa.DataType) -> bool:
    """Whether columns of a type can be put together whatever is in them: dictionaries may have too many words."""
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return pa.types.is_primitive(kind) or any(test(kind) for test in texts)


def _joined(pieces: list[Piece], numbers: bool) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    join = pa.Table.from_batches if numbers else pa.concat_batches
    return pieces[-1]._replace(batch=join([piece.batch for piece in pieces]))


def _progress(rows: int, fresh: int, seconds: float, piece: Piece, before: float | None) -> Progress:
    left = None
    if piece.done is not None and before is not None and piece.done > before:
        left = seconds * (1.0 - piece.done) / (piece.done - before)
    return Progress(rows, fresh / max(seconds, 1e-9), piece.done, left)


def located(problem: DataError, source: Source, tally: Tally, piece: Piece) -> ScumbleError:
    """The error with the place where the trouble is: file, line or row group, column, count, and no value."""
    batch, position = piece.batch, piece.position
    if isinstance(problem, UnknownClass):
        where = source.place(position, batch.num_rows, problem.row)
        cells = "1 cell is" if problem.count == 1 else f"{problem.count:,} cells are"
        return DataError(
            f"{where}: {cells} none of the classes: {problem.count:,} in column {problem.label!r}{_near(batch)} "
            f"{UNPUBLISHED}. Hint: name all classes, or leave such rows out with --invalid drop (invalid='drop')."
        )
    if tally.label is not None:
        batch = batch.drop_columns([tally.label])
    spec = tally.sketches[0].spec
    bad: dict[str, np.ndarray] = {}
    causes: list[tuple[str, str]] = []
    said: dict[str, np.ndarray] = {}  # those that hold something
    with contextlib.suppress(ScumbleError):
        for (cause, name), mask in bad_cells(batch, spec).items():
            if cause != BEYOND:  # what a schema leaves out by itself is no error
                causes.append((cause, name))
                bad[name] = bad.get(name, False) | mask
                said |= {name: mask} if cause == BAD_CELL else {}
    if not bad:
        return DataError(f"{source.place(position, batch.num_rows, 0).split(', ')[0]}: {problem}")
    total = sum(int(mask.sum()) for mask in bad.values())
    first = min(int(np.argmax(mask)) for mask in bad.values())
    told = ", ".join(f"{int(mask.sum()):,} in column {name!r}" for name, mask in list(bad.items())[:10])
    cells = "1 cell is" if total == 1 else f"{total:,} cells are"
    drop = "leave such rows out with --invalid drop (invalid='drop')"
    hint, what = f"correct them, or {drop}", "missing, not a number or not finite"
    whole = [name for name, mask in bad.items() if name in said and mask.all() and len(mask) > 1]
    if isinstance(spec, TableSpec):
        what = "missing, unreadable, not finite or none of the schema's words"
        hint = f"correct them, {declared_otherwise(causes)} in the schema file, or {drop}"
        refused = [name for name in (*whole, *said) if spec.schema[name].refused()]
        if refused:
            column, each = spec.schema[refused[0]], "each cell is" if refused[0] in whole else "cells are"
            why, reads = column.refused(source.decimal), others(column.kind, source.decimal)
            hint = f"in {refused[0]!r} {each} missing or {why}: {hint}{reads}"
        elif strange := [name for cause, name in causes if cause == NO_WORD]:
            hint = f"in {strange[0]!r} cells hold none of its words: {hint}"
    elif large := too_large(batch, spec, said):
        what = f"missing, not a number or beyond {min(large.values()):.3g} in size"
        beside = f"with this bandwidth and scale: give larger ones, or {hint}" if min(large.values()) < 1e100 else hint
        hint = f"so large a number, as in {next(iter(large))!r}, cannot be counted: {beside}"
    elif whole and whole[0] not in kinds_of(spec):
        hint = undeclared(whole[0], source.decimal)[:-1]
    elif (kinds := kinds_of(spec)).keys() & bad.keys():
        what = unread(map(kinds.get, bad))
        written = [read_as(kinds.get(name), source.decimal) for name in (*whole, *said)]
        hint = "; ".join([*written[:1], *([hint] if not whole else [])])
    elif said:
        hint = f"{numbers_read(source.decimal)}; {hint}"
    if source.repeated:
        hint = f"some lines are the column names once more, as where files were joined: take them out; {hint}"
    where = source.place(position, batch.num_rows, first)
    return DataError(f"{where}: {cells} {what}: {told}{_near(batch)} {UNPUBLISHED}. Hint: {hint}.")


def _near(batch: pa.RecordBatch) -> str:
    return f", in a batch of {batch.num_rows:,} row{'s' * (batch.num_rows != 1)}"
