"""The driver's side of a pass over a cluster: from a DataFrame to a tally, with progress by partitions."""

from __future__ import annotations

import contextlib
import io
import json
import math
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scumble.checks import Json
from scumble.columns.curator import Strays
from scumble.columns.kinds import converted, without_words
from scumble.density.sketch import Sketch
from scumble.density.spec import Spec
from scumble.errors import DataError, ScumbleError
from scumble.gate.words import STORED, Words
from scumble.sources.source import BATCH_ROWS
from scumble.sources.spark import engine
from scumble.sources.spark.engine import Frame, map_batches
from scumble.sources.tally import Labels, Tally, nobody
from scumble.table.sketch import TableSketch
from scumble.table.spec import TableSpec

ROOM = 256 * 2**20
"""Bytes of counters that a task keeps open; if all classes need more, rows are sorted by class."""


class Partitions(NamedTuple):
    """Partitions done so far, of all known by now, including upstream stages and merging."""

    done: int
    of: int


Report = Callable[[Partitions], None]

EVERY = 0.5
"""Seconds between two reports."""


@contextlib.contextmanager
def watched(context: Frame, report: Report | None) -> Iterator[None]:
    """Report on the jobs that this thread starts meanwhile. They run in a job group of their own."""
    if report is None or context is None:
        yield
        return
    group = f"scumble-{uuid.uuid4()}"
    keys = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    before = {key: context.getLocalProperty(key) for key in keys}
    context.setJobGroup(group, "scumble: counting partitions", interruptOnCancel=True)
    stop = threading.Event()

    def watch() -> None:
        tracker, last = context.statusTracker(), None
        while not stop.wait(EVERY):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = {stage for job in jobs if job is not None for stage in job.stageIds}
            known = [info for info in map(tracker.getStageInfo, sorted(stages)) if info is not None]
            state = Partitions(sum(info.numCompletedTasks for info in known), sum(info.numTasks for info in known))
            if state != last and state.of:
                report(state)
                last = state

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except KeyboardInterrupt:
        context.cancelJobGroup(group)
        raise
    finally:
        stop.set()
        watcher.join()
        for key, value in before.items():
            context.setLocalProperty(key, value)


def count(
    df: Frame,
    tally: Tally,
    *,
    person: str | None = None,
    records_per_person: int = 1,
    roles: Mapping[str, str] | None = None,
    progress: Report | None = None,
) -> None:
    """Count every row of the DataFrame once, into the sketches of the tally.

    `person` names the column of persons, each with at most `records_per_person` rows counted. `roles` says how to read
    columns of text.
    """
    spec = tally.sketches[0].spec
    classes = len(tally.sketches)
    own = spec.schema.declared if isinstance(spec, TableSpec) else spec.columns
    columns = [name for name in (*own, tally.label, person) if name is not None]
    df = df.select(*map(engine.quoted, columns))
    engine.require_same_again(df)
    if person is not None:
        df = engine.first_of_each(df, person, columns, records_per_person)
    if tally.label is not None and 8 * classes * math.prod(spec.counters) > ROOM:  # one sketch is open at a time
        df = df.repartition(engine.quoted(tally.label)).sortWithinPartitions(engine.quoted(tally.label))
    tree = Tree.planned(classes, math.prod(spec.counters), engine.parallelism(df))
    order = Order(
        replace(spec), shares=tree.shares, room=ROOM, labels=tally.labels, person=person, roles=roles, **tally.options
    )
    with engine.tidy(df.sparkSession):
        pieces = tree.gather(engine.map_batches(df, lambda batches: order(batches), SCHEMA))
    sums = Sums()
    with watched(engine.context_of(df), progress):
        for batch in pieces.toArrow().to_batches():
            sums.add(batch)
    _take(sums, tally)


def _take(sums: Sums, tally: Tally) -> None:
    if sums.refusal is not None:
        said = sums.refusal.decode()
        raise DataError(f"Partition {int(said[:9])}: {said[9:]}")
    columns = tally.sketches[0].spec.columns
    about = sums.counters.get((ABOUT, 0))
    rows, dropped = (0, 0) if about is None else about[:2]
    if about is not None:
        tally.strays.add_numbers(columns, about[2:])
    for part, mine in enumerate(tally.sketches):
        counted = mine.empty()
        sums.into(part, counted)
        mine.merge(counted)
    tally.rows += int(rows)
    if tally.classes is None:
        tally.sketches[0].dropped += int(dropped)
    else:
        tally.unknown += int(dropped)


S = TypeVar("S", Spec, TableSpec, Spec | TableSpec)
_SPECS: dict[str, Spec | TableSpec] = {}


@dataclass(frozen=True)
class Order:
    """What travels to the tasks: public and small."""

    spec: Spec | TableSpec
    invalid: str
    engine: str
    threads: int | None
    shares: int
    """Groups of the tree's first step."""
    room: int
    """Bytes of counters that a task keeps open."""
    labels: Labels | None = None
    person: str | None = None
    roles: Mapping[str, str] | None = None
    """For files: how to read each column."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A partition's batches to the rows of its partial sketches."""
        number, cores = engine.task()
        counting = _Counting(self, self.threads or cores)
        try:
            for table in gathered(batches):
                for part, sketch in counting.update(table):
                    yield from rows_of(part, sketch, number % self.shares)
            for part, sketch in counting.finish():
                yield from rows_of(part, sketch, number % self.shares)
        except ScumbleError as problem:
            yield row((REFUSAL, 0), f"{number:9}{problem}".encode(), number % self.shares)
            for _ in batches:  # Spark wants its batches read
                pass
        except Exception as problem:
            # Another library's message may quote cells, and Spark would log it.
            raise RuntimeError(f"Counting failed with {type(problem).__name__}.") from None
        else:
            yield from rows(ABOUT, counting.about(), number % self.shares)


class _Counting:
    """The open sketches of a task."""

    def __init__(self, order: Order, threads: int) -> None:
        self._order = order
        self._spec = known(order.spec)
        self._options: Json = {"invalid": order.invalid, "engine": order.engine, "threads": threads}
        self._open: dict[int, Tally] = {}
        self._room = max(1, order.room // (8 * math.prod(self._spec.counters)))
        self._rows = self._dropped = 0
        self._strays = Strays()

    def about(self) -> np.ndarray:
        """For the curator: rows read, rows dropped, and strays by column."""
        return np.array([self._rows, self._dropped, *self._strays.numbers(self._spec.columns or ())], np.int64)

    def update(self, table: pa.Table) -> Iterator[tuple[int, Sketch | TableSketch]]:
        """Count the rows of a table; yields the sketches that had to make room."""
        self._rows += table.num_rows
        if (roles := self._order.roles) is not None:
            batch = table.combine_chunks().to_batches()[0]
            table = pa.Table.from_batches([without_words(converted(batch, roles), roles)])
        if self._order.person is not None:
            table = self._owned(table, self._order.person)
        if self._order.labels is None:
            self._count(0, table)
            return
        found = self._classes(table, self._order.labels)
        order = np.argsort(found, kind="stable")
        table, found = table.take(order), found[order]
        edges = np.flatnonzero(np.diff(found, prepend=-2, append=-2))
        for first, last in pairwise(edges.tolist()):
            part = int(found[first])
            if part < 0:
                continue
            if len(self._open) >= self._room and part not in self._open:
                yield from self._close(list(self._open))
            self._count(part, table.slice(first, last - first))

    def finish(self) -> Iterator[tuple[int, Sketch | TableSketch]]:
        """The sketches that are still open."""
        yield from self._close(list(self._open))

    def _count(self, part: int, table: pa.Table) -> None:
        if part not in self._open:
            self._open[part] = Tally(self._spec, **self._options)
        self._open[part].update(table)

    def _close(self, parts: list[int]) -> Iterator[tuple[int, Sketch | TableSketch]]:
        for part in parts:
            done, columns = self._open.pop(part), self._spec.columns or ()
            self._dropped += done.dropped_rows
            self._strays.add_numbers(columns, done.strays.numbers(columns))
            yield part, done.sketches[0]

    def _owned(self, table: pa.Table, person: str) -> pa.Table:
        """The rows whose person is known. Spark has limited the rows of each."""
        missing = table.column(person).is_null(nan_is_null=True)
        count = missing.to_numpy().sum()
        if count:
            if self._order.invalid == "error":
                raise nobody(person, int(count))
            self._dropped += int(count)
            table = table.filter(pc.invert(missing))
        return table

    def _classes(self, table: pa.Table, labels: Labels) -> np.ndarray:
        """For each row the index of its class, −1 where it has none."""
        found = labels.known(table.select([labels.column]).combine_chunks(), self._order.invalid)
        self._dropped += int((found < 0).sum())
        return found


def known(spec: S) -> S:
    """An equal spec whose hash functions this process has made, if there is one."""
    if len(_SPECS) > 8:
        _SPECS.clear()
    kept: S = _SPECS.setdefault(json.dumps(spec.to_dict(), sort_keys=True), spec)  # type: ignore[assignment]
    return kept


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark's batches, joined to as many rows as one machine counts at a time."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= BATCH_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


SCHEMA = "part int, piece int, share int, body binary"
PIECE = 1 << 17
"""Counters per piece: 1 MiB."""
WORDS, SLOTS = 1 << 24, 64
"""Pieces from `WORDS` on hold words; those of a column are split into `SLOTS` parts."""
ABOUT, REFUSAL = -1, -2
TASK_BYTES = 32 * 2**20
"""Counters that one merging task adds up."""
MOST_SHARES = 64

_FIELDS = pa.schema([("part", pa.int32()), ("piece", pa.int32()), ("share", pa.int32()), ("body", pa.binary())])

Key = tuple[int, int]


def rows(part: int, counts: np.ndarray, share: int) -> Iterator[pa.RecordBatch]:
    """The counters of one class, cut into pieces, a batch each."""
    flat = counts.reshape(-1).astype("<i8", copy=False)
    for piece, first in enumerate(range(0, flat.size, PIECE)):
        yield row((part, piece), flat[first : first + PIECE].tobytes(), share)


def rows_of(part: int, sketch: Sketch | TableSketch, share: int) -> Iterator[pa.RecordBatch]:
    """What a sketch has counted, and the words of columns that none were declared for."""
    yield from rows(part, sketch.contents()[1]["counts"], share)
    for column, words in enumerate(sketch.secret.words):
        for slot, some in words.split(SLOTS).items():
            yield row((part, WORDS + column * SLOTS + slot), _packed(some), share)


def _packed(words: Words) -> bytes:
    body = io.BytesIO()
    np.savez(body, **words.to_arrays())  # type: ignore[arg-type]
    return body.getvalue()


def _unpacked(body: bytes) -> Words:
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        return Words.from_arrays(*(arrays[name] for name in STORED))


def row(key: Key, body: bytes, share: int = 0) -> pa.RecordBatch:
    """One piece of the counters as a row."""
    columns = [pa.array([number], pa.int32()) for number in (*key, share)]
    return pa.RecordBatch.from_arrays([*columns, pa.array([body], pa.binary())], schema=_FIELDS)


class Sums:
    """Pieces added up. Of several refusals, the first in order is kept."""

    def __init__(self) -> None:
        self.counters: dict[Key, np.ndarray] = {}
        self.words: dict[Key, Words] = {}
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
        if key[1] >= WORDS:
            self.words.setdefault(key, Words()).merge(_unpacked(body.to_pybytes()))
            return
        counts = np.frombuffer(body, "<i8")
        if key in self.counters:
            self.counters[key] += counts
        else:
            self.counters[key] = counts.copy()

    def into(self, part: int, sketch: Sketch | TableSketch) -> None:
        """Add the pieces of one class to its sketch."""
        for (of, piece), words in self.words.items():
            if of == part:
                sketch.secret.words[(piece - WORDS) // SLOTS].merge(words)
        flat = sketch.contents()[1]["counts"].reshape(-1)
        for piece, first in enumerate(range(0, flat.size, PIECE)):
            if (part, piece) in self.counters:
                flat[first : first + PIECE] += self.counters[part, piece]


def merged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task of the tree: all rows of its partition to one row per piece."""
    sums = Sums()
    for batch in batches:
        sums.add(batch)
    for key, counts in sums.counters.items():
        yield row(key, counts.tobytes())
    for key, words in sums.words.items():
        yield row(key, _packed(words))
    if sums.refusal is not None:
        yield row((REFUSAL, 0), sums.refusal)


class Tree(NamedTuple):
    """Partial sketches to one, in two steps (partitions → shares → one), so that the driver gets one sketch.

    A step is a shuffle: rows of one class and piece (and share) come to one task, which adds them up. With more pieces
    than cores, one step is enough.

    **Exactly once.** Rows reach the next step only as a shuffle output that Spark has accepted, one per partition,
    and depend only on the partition's rows. If a partition changes when it is read again, Spark runs all of them again;
    what Spark could not notice is refused by `engine.require_same_again`.
    """

    shares: int
    """Groups of partitions, by their number."""
    first: int
    """Tasks of the first step."""
    last: int
    """Tasks of the last step, which the driver reads."""

    @staticmethod
    def planned(classes: int, counters: int, cores: int) -> Tree:
        """The tree for `classes` of `counters` each.

        >>> Tree.planned(1, 10_000, cores=1000)             # a small sketch on a large cluster
        Tree(shares=64, first=64, last=1)
        >>> Tree.planned(1000, 1_000_000, cores=100)        # eight gigabytes of counters
        Tree(shares=1, first=238, last=238)
        """
        pieces = classes * -(-counters // PIECE)
        wide = max(1, 8 * classes * counters // TASK_BYTES)
        shares = max(1, min(cores // pieces, MOST_SHARES))
        return Tree(shares, max(wide, min(cores, pieces * shares)), wide)

    def gather(self, partials: Frame) -> Frame:
        """The rows of all partial sketches, added up to one row per piece."""
        if self.shares > 1:
            partials = map_batches(partials.repartition(self.first, "part", "piece", "share"), merged, SCHEMA)
        return map_batches(partials.repartition(self.last, "part", "piece"), merged, SCHEMA)
