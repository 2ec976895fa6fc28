"""Structured Streaming: micro-batches into one sketch, each record once.

Spark numbers its batches, and after a crash runs the last one again with the same number and records. So the counters
and the number of the next batch change together, in one secret file (`scumble.sources.checkpoint`). A batch with a
smaller number was counted already and is passed over; with a larger one, records are missing, and it is refused. The
file knows the query by the identity in Spark's own checkpoint: keep both, or delete both.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

from scumble import files
from scumble.checks import Json
from scumble.density.bundle import Bundle, plain
from scumble.density.release import Release
from scumble.density.sketch import Sketch, release_disjoint
from scumble.errors import BudgetError, DataError, ParameterError
from scumble.files.places import Owned
from scumble.kernels import Kernel
from scumble.privacy.account import Promise, charged
from scumble.privacy.exact import Number
from scumble.sources.checkpoint import Checkpoint
from scumble.sources.source import Position
from scumble.sources.spark import engine
from scumble.sources.spark.counting import count
from scumble.sources.tally import Labels, Tally
from scumble.streams.stream import Stream as Published


def into(stream: Published) -> Callable[[Any, int], None]:
    """What `foreachBatch` calls to count micro-batches in the open period of a :class:`scumble.Stream`, each once.

    Parameters
    ----------
    stream : scumble.Stream
        With named columns and a file (`Stream.save`): counters and the batch's number are written together. Its
        `close_period` publishes, between two micro-batches.
    """
    if stream.spec.columns is None:
        raise ParameterError("Micro-batches have named columns. Hint: begin the stream with columns=[...].")

    def count_batch(batch: Any, number: int) -> None:
        query = engine.query_of(batch)
        name, before = (f"spark {query} {k}" for k in (number, number - 1))
        if stream.knows(name):
            return
        if number and not stream.knows(before):
            hint = "Hint: the stream's file and Spark's checkpointLocation belong together."
            raise DataError(f"Batch {number} of the query came, and the one before was not counted. {hint}")
        tally = Tally(stream.spec, **stream.counting)
        count(batch, tally)
        stream.merge(tally.sketches[0], batch=name)
        stream.save()

    return count_batch


PATIENCE = 60.0
"""Seconds to wait for another process that counts a batch or releases a period."""


class Stream:
    """What `foreachBatch` calls, and what holds the sketch of the stream.

    ::

        stream = Stream(kernel, columns=["age"], checkpoint="state.secret", rows=1000, buckets=1024)
        query = df.writeStream.foreachBatch(stream).option("checkpointLocation", "spark-state").start()
        query.awaitTermination()
        stream.release(epsilon=1.0)

    Parameters
    ----------
    kernel, columns, invalid : Kernel, sequence of str or {"error", "drop"}
        See :func:`sketch`.
    checkpoint : str or path-like
        A SECRET file on the driver's disk, mode 0600. A stream that is started again goes on from it.
    key, classes : str, sequence or None
        One sketch per class, as in :func:`build_by`; `release` then gives a bundle.
    size : object
        `rows`, `buckets`, `seed`, `design`, `bounds` of :class:`scumble.Sketch`.
    """

    def __init__(
        self,
        kernel: Kernel,
        columns: Sequence[str],
        *,
        checkpoint: str | os.PathLike[str],
        key: str | None = None,
        classes: Sequence[Any] | None = None,
        invalid: str = "error",
        engine: str = "auto",
        threads: int | None = None,
        **size: Any,
    ) -> None:
        if (key is None) != (classes is None):
            raise ParameterError("`key`, the column, and `classes`, all that it may hold, go together.")
        self._options: Json = {"invalid": invalid, "engine": engine, "threads": threads}
        self._spec = Sketch(kernel, columns=list(columns), **size, **self._options).spec
        self._key, self._classes = key, None if classes is None else [plain(one) for one in classes]
        self._path = os.fsdecode(checkpoint)
        self._lock = threading.Lock()

    def __call__(self, batch: Any, number: int) -> None:
        """Count a micro-batch: what `foreachBatch` calls."""
        with self._alone():
            file, tally, (_, following) = self._resume(engine.query_of(batch))
            if number < following:
                return
            if number > following:
                hint = f"Hint: {self._path!r} and Spark's checkpointLocation belong together."
                raise DataError(f"Batch {number} of the stream came, and {following} is the next to be counted. {hint}")
            count(batch, tally)
            file.keep(tally, (0, number + 1), now=True)

    def release(
        self, epsilon: Number | None = None, delta: Number = 0.0, *, backend: str = "exact", **promise: Unpack[Promise]
    ) -> Release | Bundle:
        """Release what was counted since the start or since the last release, and start the next period.

        Periods have no record in common: each release has its own budget, and a record is in one of them. The stream
        may go on meanwhile; a batch is in one period. A person with records in k periods is in k releases: say so with
        `records_per_person`, or add the budgets up. The options are those of :meth:`scumble.Sketch.release`.
        """
        budget, account = charged(epsilon, delta, promise)
        with self._alone():
            file, tally, position = self._resume(self._query_in_file())
            releases = release_disjoint(tally.sketches, budget, account, backend=backend)
            file.keep(self._empty(), position, now=True)  # before the release is given out: its counters must not stay
        if self._classes is None:
            return releases[0]
        return Bundle(dict(zip(self._classes, releases, strict=True)), label=self._key)

    def _empty(self) -> Tally:
        labels = None if self._key is None else Labels(self._key, self._classes)
        return Tally(self._spec, labels=labels, **self._options)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The file alone knows what is counted and not yet released: from reading it to writing it, for us alone."""
        with self._lock:
            taken, until = Owned(self._path), time.monotonic() + PATIENCE
            while not taken.take():
                if time.monotonic() > until:
                    raise BudgetError(f"Another process is at work on {self._path!r}. Hint: wait for it.")
                time.sleep(0.05)
            try:
                yield
            finally:
                taken.let_go()

    def _resume(self, query: str) -> tuple[Checkpoint, Tally, Position]:
        """The file, what it has counted, and the next batch; nothing yet where there is none."""
        about = {
            **self._spec.to_dict(),
            "invalid": self._options["invalid"],
            "key": self._key,
            "classes": self._classes,
        }
        file = Checkpoint(self._path, {"spark query": query}, about, every=0.0, shared=True)
        tally = self._empty()
        return file, tally, file.resume(tally)

    def _query_in_file(self) -> str:
        try:
            return str(files.read(self._path, expect="checkpoint").metadata["source"]["spark query"])
        except FileNotFoundError:
            raise DataError(f"Nothing was counted yet: no {self._path!r} exists. Hint: start the stream.") from None
        except (KeyError, TypeError):
            raise DataError(f"{self._path!r} is the checkpoint of a build, not of a stream.") from None
