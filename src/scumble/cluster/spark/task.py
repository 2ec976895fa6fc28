"""What one task does: count its partition, with the engine of one machine, and hand on a partial sketch.

The task is told the public parameters and the seed, a few hundred bytes; it makes the hash functions itself, once per
worker process. It opens the sketch of a class when the first record of that class comes. If there is no room for
one more, it hands on all that are open and starts again: where classes are many, rows come sorted by class.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scumble.cluster.spark import engine, wire
from scumble.errors import DataError, ScumbleError
from scumble.loading import sketch_of
from scumble.schema.strays import Strays
from scumble.sketch import Sketch
from scumble.sources.source import BATCH_ROWS
from scumble.sources.strays import beyond_grid
from scumble.spec import Spec
from scumble.tables import Table
from scumble.tables.roles import converted, without_words
from scumble.tabular.sketch import TableSketch
from scumble.tabular.spec import TableSpec

_SPECS: dict[str, Spec | TableSpec] = {}


@dataclass(frozen=True)
class Order:
    """What travels to the tasks. All of it is public, and small: hash functions go as their seed."""

    spec: Spec | TableSpec
    invalid: str
    engine: str
    threads: int | None
    shares: int
    """Of the tree's first step."""
    room: int
    """Bytes of counters that a task keeps open."""
    label: str | None = None
    classes: tuple[float, ...] = ()
    """The classes' stable hashes, in order."""
    person: str | None = None
    roles: Mapping[str, str] | None = None
    """Of files: what each column is read as."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A partition's batches to the rows of its partial sketches."""
        number, cores = engine.task()
        counting = _Counting(self, self.threads or cores)
        try:
            for table in gathered(batches):
                for part, counts in counting.update(table):
                    yield from wire.rows(part, counts, number % self.shares)
            for part, counts in counting.finish():
                yield from wire.rows(part, counts, number % self.shares)
        except ScumbleError as problem:
            yield wire.row((wire.REFUSAL, 0), f"{number:9}{problem}".encode(), number % self.shares)
            for _ in batches:  # Spark wants its batches read
                pass
        except Exception as problem:
            # Another library's words may quote cells of the table, and Spark writes them into its logs.
            raise RuntimeError(f"Counting failed with {type(problem).__name__}.") from None
        else:
            yield from wire.rows(wire.ABOUT, counting.about(), number % self.shares)


class _Counting:
    """The open sketches of a task."""

    def __init__(self, order: Order, threads: int) -> None:
        self._order = order
        self._spec = known(order.spec)
        self._options: dict[str, Any] = {"invalid": order.invalid, "engine": order.engine, "threads": threads}
        self._open: dict[int, Sketch | TableSketch] = {}
        self._room = max(1, order.room // (8 * math.prod(self._spec.counters)))
        self._rows = self._dropped = 0
        self._strays = Strays()

    def about(self) -> np.ndarray:
        """For the curator: rows read, rows dropped, and strays by column."""
        return np.array([self._rows, self._dropped, *self._strays.numbers(self._spec.columns)], np.int64)

    def update(self, table: pa.Table) -> Iterator[tuple[int, np.ndarray]]:
        """Count the rows of a table; gives the sketches that had to make room."""
        self._rows += table.num_rows
        if (roles := self._order.roles) is not None:
            batch = table.combine_chunks().to_batches()[0]
            table = pa.Table.from_batches([without_words(converted(batch, roles), roles)])
        if self._order.person is not None:
            table = self._owned(table, self._order.person)
        if self._order.label is None:
            self._count(0, table)
            return
        found = self._classes(table, self._order.label)
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

    def finish(self) -> Iterator[tuple[int, np.ndarray]]:
        """The sketches that are still open."""
        yield from self._close(list(self._open))

    def _count(self, part: int, table: pa.Table) -> None:
        sketch = self._sketch(part)
        if isinstance(sketch, TableSketch):
            found = sketch.levels(table)
            sketch.add(found)
            self._strays.add(found.strays)
        else:
            sketch.update(table)
            self._strays.add(beyond_grid(table, sketch.spec))

    def _sketch(self, part: int) -> Sketch | TableSketch:
        if part not in self._open:
            self._open[part] = sketch_of(self._spec, **self._options)
        return self._open[part]

    def _close(self, parts: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        for part in parts:
            sketch = self._open.pop(part)
            self._dropped += sketch.dropped
            yield part, sketch.contents()[1]["counts"]

    def _owned(self, table: pa.Table, person: str) -> pa.Table:
        """The rows whose person is known. (Of each person, Spark let only so many pass.)"""
        missing = table.column(person).is_null(nan_is_null=True)
        count = missing.to_numpy().sum()
        if count:
            if self._order.invalid == "error":
                cells = "1 cell" if count == 1 else f"{count:,} cells"
                raise DataError(
                    f"Whose records these are is unknown: {cells} of column {person!r} missing. "
                    "Hint: correct them, or leave such rows out with --invalid drop (invalid='drop')."
                )
            self._dropped += int(count)
            table = table.filter(pc.invert(missing))
        return table

    def _classes(self, table: pa.Table, label: str) -> np.ndarray:
        """For each row the number of its class, −1 where it has none."""
        hashes = Table.of(table.select([label])).categories([0])[:, 0]
        order = np.argsort(self._order.classes)
        known = np.asarray(self._order.classes)[order]
        place = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        found = np.where(known[place] == hashes, order[place], -1)
        unknown = int((found < 0).sum())
        if unknown and self._order.invalid == "error":
            cells = "1 cell is" if unknown == 1 else f"{unknown:,} cells are"
            raise DataError(
                f"{cells} none of the classes, in column {label!r}. "
                "Hint: name all classes, or leave such rows out with --invalid drop (invalid='drop')."
            )
        self._dropped += unknown
        return found


def known(spec: Any) -> Any:
    """An equal spec whose hash functions this process has made already, if there is one."""
    if len(_SPECS) > 8:
        _SPECS.clear()
    return _SPECS.setdefault(json.dumps(spec.to_dict(), sort_keys=True), spec)


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark's batches, put together to as many rows as one machine counts at a time."""
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
