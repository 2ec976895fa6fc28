"""Structured Streaming: micro-batches into one sketch, each record once, whatever is killed when.

Spark numbers its batches, writes down what a batch consists of before it runs, and after a crash runs the last one
again, with the same number and the same records. So exactly once needs one thing of us: counters and the number of the
next batch change together. They lie in one secret file, replaced in one step (`scumble.sources.checkpoint`):

    batch arrives < number in the file    it was counted before the crash: passed over
    batch arrives = number in the file    counted; counters and number + 1 take the old file's place
    batch arrives > number in the file    records are missing: refused

The file knows the query whose batches it counts, by the identity that Spark's own checkpoint keeps. The two belong
together: keep both, or delete both.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

from scumble import files
from scumble.bundle import Bundle, plain
from scumble.cluster.spark import engine
from scumble.cluster.spark.counting import count
from scumble.errors import DataError, ParameterError
from scumble.kernels import Kernel
from scumble.release import Release
from scumble.releasing import release_disjoint
from scumble.sketch import Sketch
from scumble.sources.checkpoint import Checkpoint
from scumble.sources.tally import Tally


class Stream:
    """What `foreachBatch` calls, and what holds the sketch of the stream.

    ::

        stream = Stream(kernel, columns=["age"], checkpoint="state.secret", rows=1000, buckets=1024)
        query = df.writeStream.foreachBatch(stream).option("checkpointLocation", "spark-state").start()
        query.awaitTermination()
        stream.release(epsilon=1.0)

    Parameters
    ----------
    kernel, columns, invalid : as of :func:`sketch`.
    checkpoint : a SECRET file on the driver's disk, mode 0600. A stream that is started again goes on from it.
    key, classes : one sketch per class, as of :func:`build_by`; `release` then gives a bundle.
    size : `rows`, `buckets`, `seed`, `design`, `bounds` of :class:`scumble.Sketch`.
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
        self._options: dict[str, Any] = {"invalid": invalid, "engine": engine, "threads": threads}
        self._spec = Sketch(kernel, columns=list(columns), **size, **self._options).spec
        self._key, self._classes = key, None if classes is None else [plain(one) for one in classes]
        self._path = os.fsdecode(checkpoint)
        self._lock = threading.Lock()
        self._tally: Tally | None = None
        self._query, self._next = "", 0

    def __call__(self, batch: Any, number: int) -> None:
        """Count a micro-batch: what `foreachBatch` calls."""
        with self._lock:
            tally = self._resume(engine.query_of(batch))
            if number < self._next:
                return
            if number > self._next:
                raise DataError(
                    f"Batch {number} of the stream came, and {self._next} is the next to be counted: the records "
                    f"between are not in {self._path!r}. Hint: it and Spark's checkpointLocation belong together; "
                    "delete both to start anew."
                )
            try:
                count(batch, tally)
                self._keep(tally, number + 1)
            except BaseException:
                self._tally = None  # the file alone knows what is counted
                raise

    def release(self, epsilon: float, delta: float = 0.0, **options: Any) -> Release | Bundle:
        """Release what was counted since the start or since the last release, and start the next period.

        Periods have no record in common: each release has its own budget, and a record is in one of them. The stream
        may go on meanwhile; a batch is in one period. Whoever has records in k periods is in k releases: say so with
        `records_per_person`, or add the budgets up. The options are those of :meth:`scumble.Sketch.release`.
        """
        with self._lock:
            if options.get("keep"):
                raise ParameterError("A period is released once; the next one starts from zero.")
            tally = self._resume(self._query or self._query_in_file())
            releases = release_disjoint(tally.sketches, epsilon, delta, **options)
            self._keep(self._empty(), self._next)  # before the release is given out: its counters must not stay
        if self._classes is None:
            return releases[0]
        return Bundle(dict(zip(self._classes, releases, strict=True)), label=self._key)

    def _empty(self) -> Tally:
        return Tally(self._spec, label=self._key, classes=self._classes, **self._options)

    def _resume(self, query: str) -> Tally:
        """The state as the file has it; nothing yet where there is none."""
        if self._tally is None or query != self._query:
            tally = self._empty()
            _, self._next = self._file(query).resume(tally)
            self._tally, self._query = tally, query
        return self._tally

    def _keep(self, tally: Tally, following: int) -> None:
        self._file(self._query).keep(tally, (0, following), now=True)
        self._tally, self._next = tally, following

    def _file(self, query: str) -> Checkpoint:
        about = {**self._spec.to_dict(), "invalid": self._options["invalid"], "key": self._key}
        return Checkpoint(
            self._path, {"spark query": query}, {**about, "classes": self._classes}, every=0.0, shared=True
        )

    def _query_in_file(self) -> str:
        try:
            return str(files.read(self._path, expect="checkpoint").metadata["source"]["spark query"])
        except FileNotFoundError:
            raise DataError(
                f"Nothing was counted yet: there is no {self._path!r}. Hint: start the stream first."
            ) from None
        except (KeyError, TypeError):
            raise DataError(f"{self._path!r} is the checkpoint of a build, not of a stream.") from None
