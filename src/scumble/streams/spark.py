"""Structured Streaming: micro-batches into a stream, each record once.

Spark numbers its batches, and after a crash runs the last one again with the same number and records. So the counters
and the batch's name, query and number, change together, in the stream's one secret file. A batch that is known is
passed over; one whose predecessor is not known is refused, as records are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scumble.errors import DataError, ParameterError
from scumble.sources.spark import engine
from scumble.sources.spark.counting import count
from scumble.sources.tally import Tally
from scumble.streams.stream import Stream


def into(stream: Stream) -> Callable[[Any, int], None]:
    """What `foreachBatch` calls to count micro-batches in the open period of a :class:`scumble.Stream`, each once.

    The stream has named columns and a file (`Stream.save`). Its `close_period` publishes, between two micro-batches.
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
