"""Micro-batches of Spark in a stream: each once, whatever is killed when. Spark itself is in tests/sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.errors import DataError, MergeError, ParameterError, PrivacyError
from scumble.streams import spark as streaming

KERNEL = scumble.EuclideanKernel(1.0)
SIZE: dict[str, Any] = {"columns": ["x"], "rows": 3, "buckets": 8, "design": "iid", "epsilon": 1.0}


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming.engine, "query_of", lambda batch: "query 7")
    monkeypatch.setattr(streaming, "count", lambda batch, tally: tally.update(batch))


def batch(number: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(np.full(number + 1, float(number)))], names=["x"])


def test_each_micro_batch_is_counted_once(tmp_path: Path) -> None:
    stream = scumble.Stream(KERNEL, periods=4, **SIZE)
    stream.save(tmp_path / "s.secret")
    sink = streaming.into(stream)
    sink(batch(0), 0)
    sink(batch(0), 0)
    sink(batch(1), 1)
    stream.close()  # killed: what was counted is in the file
    stream = scumble.load_stream(tmp_path / "s.secret")
    sink = streaming.into(stream)
    assert stream._sketch.secret.total == 3
    sink(batch(1), 1)
    assert stream._sketch.secret.total == 3
    stream.close_period()
    sink(batch(1), 1)
    assert stream._sketch.secret.total == 0, "not in the next period either"
    with pytest.raises(DataError, match="was not counted"):
        sink(batch(3), 3)
    sink(batch(2), 2)
    assert stream._sketch.secret.total == 3


def test_streams_that_cannot_take_micro_batches() -> None:
    with pytest.raises(ParameterError, match="columns"):
        streaming.into(scumble.Stream(KERNEL, 1, periods=4, **{**SIZE, "columns": None}))
    unsaved = streaming.into(scumble.Stream(KERNEL, periods=4, **SIZE))
    with pytest.raises(ParameterError, match="path"):
        unsaved(batch(0), 0)


def test_a_sketch_of_elsewhere_is_merged_once_and_emptied() -> None:
    stream = scumble.Stream(KERNEL, periods=4, **SIZE)
    made = scumble.Sketch.from_spec(stream.spec).update(batch(4))
    assert stream.merge(made, batch="north") and stream._sketch.secret.total == 5
    assert not stream.merge(made, batch="north")
    with pytest.raises(PrivacyError):
        stream.merge(made)
    with pytest.raises(PrivacyError):
        made.release(1.0)
    with pytest.raises(MergeError):
        stream.merge(scumble.Sketch(KERNEL, columns=["x"], rows=3, buckets=9, design="iid"))
    with pytest.raises(PrivacyError, match="noise"):
        stream.merge(scumble.Sketch.from_spec(stream.spec).start_with_noise(1.0))
    people = scumble.Stream(KERNEL, periods=4, person_column="who", **SIZE)
    with pytest.raises(PrivacyError, match="whose"):
        people.merge(scumble.Sketch.from_spec(people.spec))
    exact = scumble.Stream(KERNEL, periods=4, neighbors="replace", **SIZE)
    with pytest.raises(PrivacyError, match="replace"):
        exact.merge(scumble.Sketch.from_spec(exact.spec, invalid="drop"))
