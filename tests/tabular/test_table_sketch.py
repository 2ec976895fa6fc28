"""The secret sketch of a table: where records are counted, and that nothing else can be had of it."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tabular.people import SCHEMA, by_pandas, people

import scumble
from scumble import TableSketch
from scumble.machine.patience import Patience
from scumble.tabular import counting
from scumble.tabular.spec import TableSpec, axis

TARGETS = [None, "smoker", "sex"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("levels", [None, 5])
def test_counters_are_the_crosstabs(target: str | None, levels: int | None) -> None:
    frame = people()
    sketch = TableSketch(SCHEMA, target=target, levels=levels).update(frame)
    np.testing.assert_array_equal(sketch.secret.counts, by_pandas(sketch.spec, frame))
    assert sketch.count == len(frame)


@pytest.mark.parametrize("threads, first, block", [(1, 0, 7), (3, 0, 7), (3, 10**9, 7), (2, 0, None)])
def test_threads_and_blocks_and_numpy_count_alike(
    threads: int, first: int, block: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "numpy_first", Patience(first, first))
    if block is not None:
        monkeypatch.setattr(counting, "WORTH_A_THREAD", 1)
        monkeypatch.setattr(counting, "BLOCK", block)
    spec = TableSpec.of(SCHEMA, target="sex", levels=5)
    codes = SCHEMA.encode(people(200)).codes
    counts = np.zeros(spec.counters, np.int64)
    counting.count(spec, codes, counts, threads)
    np.testing.assert_array_equal(counts, counting.reference(spec, codes))
    assert (counting.numpy_first.spent > 0) == (first > 0)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=30, deadline=None)
@given(record=st.tuples(*[st.integers(0, size - 1) for size in SCHEMA.sizes]))
def test_a_record_moves_one_counter_of_every_view(target: str | None, record: tuple[int, ...]) -> None:
    spec = TableSpec.of(SCHEMA, target=target, levels=4)
    counts = np.zeros(spec.counters, np.int64)
    counting.count(spec, np.array([record], np.int32), counts)
    rows = np.split(counts, np.cumsum(spec.lengths)[:-1])
    assert len(rows) == spec.rows
    assert all(row.sum() == 1 and row.max() == 1 and row.min() == 0 for row in rows)


ODD: list[dict[str, Any]] = [
    {"age": 1e300, "sex": "\0", "hours": float("nan"), "seen": "2024-02-29", "smoker": "yes"},
    {"age": -5, "sex": None, "hours": float("inf"), "seen": "2099-01-01", "smoker": 1},
    {"age": "41", "sex": "Female", "hours": "12.5", "seen": "1000-01-01", "smoker": "F"},
]


@pytest.mark.parametrize("record", ODD)
def test_an_odd_record_adds_itself_and_nothing_else(record: dict[str, Any]) -> None:
    usual = people(50).astype(object)
    alone = TableSketch(SCHEMA).update(pd.DataFrame([record], dtype=object)).secret.counts
    without = TableSketch(SCHEMA).update(usual).secret.counts
    with_it = TableSketch(SCHEMA).update(pd.concat([usual, pd.DataFrame([record], dtype=object)])).secret.counts
    np.testing.assert_array_equal(with_it - without, alone)
    assert alone.sum() == TableSpec.of(SCHEMA).rows


def test_a_bad_cell_drops_or_refuses_the_whole_record() -> None:
    frame = people(20)
    bad = frame.astype(object)
    bad.loc[3, "smoker"] = "perhaps"
    dropping = TableSketch(SCHEMA, invalid="drop").update(bad)
    np.testing.assert_array_equal(dropping.secret.counts, by_pandas(dropping.spec, frame.drop(3)))
    assert dropping.dropped == 1 and dropping.count == 19
    strict = TableSketch(SCHEMA)
    with pytest.raises(scumble.DataError, match="smoker") as told:
        strict.update(bad)
    assert "perhaps" not in str(told.value)
    assert not strict.secret.counts.any()


def test_all_containers_count_alike() -> None:
    frame = people(300)
    wanted = TableSketch(SCHEMA).update(frame).secret.counts
    tables = [
        pa.Table.from_pandas(frame),
        pl.from_pandas(frame),
        {name: frame[name].tolist() for name in frame},
        frame[list(reversed(frame.columns))],
    ]
    for table in tables:
        np.testing.assert_array_equal(TableSketch(SCHEMA).update(table).secret.counts, wanted)


def test_parts_merge_to_the_whole(tmp_path: Path) -> None:
    frame = people(500)
    whole = TableSketch(SCHEMA, target="sex").update(frame)
    parts = [TableSketch(SCHEMA, target="sex").update(part) for part in (frame[:200], frame[200:350], frame[350:])]
    parts[0].save(tmp_path / "part.secret")
    assert (tmp_path / "part.secret").stat().st_mode & 0o777 == 0o600
    parts[0] = scumble.load_secret(tmp_path / "part.secret")
    total = scumble.merge(parts)
    assert isinstance(total, TableSketch)
    np.testing.assert_array_equal(total.secret.counts, whole.secret.counts)
    with pytest.raises(scumble.MergeError, match="itself"):
        total.merge(parts[0])
    with pytest.raises(scumble.MergeError, match="target"):
        TableSketch(SCHEMA).merge(whole)
    with pytest.raises(scumble.MergeError, match="'age'"):
        TableSketch(scumble.Schema({**SCHEMA, "age": scumble.Number(0, 99)})).merge(TableSketch(SCHEMA))
    mixed: Any = [whole, scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=2, buckets=4)]
    with pytest.raises(scumble.ParameterError, match="sketches"):
        scumble.merge(mixed)


def test_a_sketch_is_secret() -> None:
    sketch = TableSketch(SCHEMA).update(people(10))
    for leak in (lambda: pickle.dumps(sketch), lambda: copy.copy(sketch), lambda: copy.deepcopy(sketch)):
        with pytest.raises(scumble.PrivacyError):
            leak()
    assert "10" not in repr(sketch).replace("15 views", "")


def test_what_is_outside_may_be_dropped_and_then_n_is_not_public() -> None:
    schema = scumble.Schema(age=scumble.Number(0, 99, outside="drop"), smoker=scumble.Boolean())
    sketch = TableSketch(schema).update({"age": [5.0, 500.0], "smoker": [True, False]})
    assert sketch.count == 1
    with pytest.raises(scumble.PrivacyError, match="replace"):
        sketch.release(epsilon=1.0, neighbors="replace")


@pytest.mark.parametrize("most", [2, 3, 7, 50])
@pytest.mark.parametrize("name", list(SCHEMA))
def test_axes_are_coarser_levels(name: str, most: int) -> None:
    column = SCHEMA[name]
    found = axis(column, most)
    assert len(found) == column.size
    assert np.array_equal(np.unique(found), np.arange(found.max() + 1)) and found.max() < max(most, 2)
    assert (np.diff(found[: column.size - column.missing]) >= 0).all()
    if column.missing:
        assert (found == found[-1]).sum() == 1


def test_wide_tables_get_coarser_axes() -> None:
    schema = scumble.Schema({f"x{k}": scumble.Number(0, 1000, whole=True) for k in range(100)})
    spec = TableSpec.of(schema)
    assert spec.rows == 5050 and spec.counters[0] <= 2**24 and spec.levels >= 32


@pytest.mark.parametrize(
    "change",
    [
        {"levels": 1},
        {"levels": 10**9},
        {"levels": True},
        {"levels": "5"},
        {"target": "nobody"},
        {"target": 5},
        {"pairs": [[0, 0]]},
        {"pairs": [[1, 0]]},
        {"pairs": [[0, 99]]},
        {"pairs": [[0, 1], [0, 1]]},
        {"pairs": [[0]]},
        {"pairs": "all"},
        {"pairs": [[0.0, 1.0]]},
        {"schema": None},
        {"more": 1},
    ],
)
def test_hostile_specs_are_refused(change: dict[str, Any]) -> None:
    good = TableSpec.of(SCHEMA, levels=8).to_dict()
    assert TableSpec.from_dict(good) == TableSpec.of(SCHEMA, levels=8)
    with pytest.raises(scumble.CorruptFileError):
        TableSpec.from_dict({**good, **change})


def test_too_many_columns_or_cells_are_refused() -> None:
    wide = scumble.Schema({f"x{k}": scumble.Boolean() for k in range(400)})
    with pytest.raises(scumble.ParameterError, match="views"):
        TableSpec.of(wide)
    fine = scumble.Schema({f"x{k}": scumble.Number(0, 1, cells=60_000) for k in range(3)})
    with pytest.raises(scumble.ParameterError, match="counters"):
        TableSpec.of(fine, levels=60_000)


def test_noise_first_and_shares_are_refused_in_words() -> None:
    sketch = TableSketch(SCHEMA)
    for name in ("start_with_noise", "release_share"):
        assert not hasattr(sketch, name)
        with pytest.raises(AttributeError, match=r"decided by the first noisy numbers.*Hint: merge"):
            getattr(sketch, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sketch.nothing  # noqa: B018
