"""The secret sketch of a table: where records are counted, and that nothing else can be had of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table.people import SCHEMA, by_pandas, people

import scumble
from scumble import TableSketch, files
from scumble.files.compiling import Patience
from scumble.table import counting
from scumble.table import spec as spec_module
from scumble.table.spec import TableSpec, axis

TARGETS = [None, "smoker", "sex"]


SETS = [("age", "hours", "seen"), ("age", "hours", "seen", "sex"), tuple(SCHEMA)]
"""Those of four columns and more are counted along joined lines; two of them begin with the same two columns."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("more", [{}, {"levels": 5}, {"together": SETS}], ids=str)
def test_counters_are_the_crosstabs(target: str | None, more: dict[str, Any]) -> None:
    frame = people()
    named = [tuple(name for name in names if name != target) for names in more.get("together", ())]
    more = more | ({"together": [*dict.fromkeys(named)]} if named else {})
    sketch = TableSketch(SCHEMA, target=target, **more).update(frame)
    np.testing.assert_array_equal(sketch.secret.counts, by_pandas(sketch.spec, frame))
    assert sketch.count == len(frame)


@pytest.mark.parametrize("threads, first, block", [(1, 0, 7), (3, 0, 7), (3, 10**9, 7), (None, 0, None)])
def test_threads_and_blocks_and_numpy_count_alike(
    threads: int | None, first: int, block: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "numpy_first", Patience(first, first))
    if block is not None:
        monkeypatch.setattr(counting, "WORTH_A_THREAD", 1)
        monkeypatch.setattr(counting, "BLOCK", block)
    found = scumble.Schema({**SCHEMA, "sex": scumble.Category(discover=True)})
    kinds: list[tuple[scumble.Schema, dict[str, Any]]] = [
        (SCHEMA, {"target": "sex", "levels": 5}),
        (SCHEMA, {"together": SETS}),
        (found, {}),
    ]
    for schema, more in kinds:
        spec = TableSpec.of(schema, **more)
        codes = schema.find(people(200), positions=spec.placed, distinct=True)[0].codes
        counts = np.zeros(spec.counters, np.int64)
        counting.count(spec, codes, counts, threads)
        np.testing.assert_array_equal(counts, counting.reference(spec, codes))
    assert (counting.numpy_first.spent > 0) == (first > 0)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=30, deadline=None)
@given(record=st.tuples(*[st.integers(0, size - 1) for size in TableSpec.of(SCHEMA).sizes]))
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
    usual, odd = people(50).astype(object), pd.DataFrame([record], dtype=object)
    alone, without, with_it = (
        TableSketch(SCHEMA).update(frame).secret.counts for frame in (odd, usual, pd.concat([usual, odd]))
    )
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
    tables = [pa.Table.from_pandas(frame), pl.from_pandas(frame), {name: frame[name].tolist() for name in frame}]
    for table in [*tables, frame[list(reversed(frame.columns))]]:
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


@pytest.mark.parametrize(
    ("outside", "invalid", "count"),
    [("clip", "error", 2), ("clip", "drop", 2), ("drop", "error", 1), ("drop", "drop", 1)],
)
def test_where_records_may_be_dropped_n_is_not_public(outside: Any, invalid: str, count: int) -> None:
    schema = scumble.Schema(age=scumble.Number(0, 99, outside=outside), smoker=scumble.Boolean())
    sketch = TableSketch(schema, invalid=invalid).update({"age": [5.0, 500.0], "smoker": [True, False]})
    assert sketch.count == count
    if (outside, invalid) == ("clip", "error"):
        assert sketch.release(epsilon=1.0, neighbors="replace").noisy_count == 2
    else:
        with pytest.raises(scumble.PrivacyError, match="replace"):
            sketch.release(epsilon=1.0, neighbors="replace")


def test_what_no_sketch_takes_is_refused() -> None:
    spec = TableSpec.of(SCHEMA)
    for wrong in ({"invalid": "keep"}, {"engine": "gpu"}, {"threads": 0}):
        with pytest.raises(scumble.ParameterError):
            TableSketch.from_spec(spec, **wrong)  # type: ignore[arg-type]
    metadata, arrays = TableSketch(SCHEMA).secret.contents()
    del metadata["spec"]
    with pytest.raises(scumble.CorruptFileError):
        TableSketch.from_container(files.from_bytes(files.to_bytes("secret", metadata, arrays), expect="secret"))


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


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("low", "high"), [(0, 40), (-1, 39), (-3, 37), (-20, 20), (-37, 3), (-39, 1), (-40, 0)])
def test_zero_stays_alone_between_runs_of_equal_length(low: int, high: int, missing: bool) -> None:
    column = scumble.Number(low, high, cells=40, zeros=True, missing=missing)
    zero, line = column.zero_level, column.size - missing
    assert zero is not None
    for most in range(4, column.size):
        found = axis(column, most)
        runs = np.bincount(found[:line]).tolist()
        assert len(runs) == most - missing and (np.diff(found) >= 0).all()
        assert not missing or found[-1] == most - 1
        at = found[zero]
        below, above = runs[:at], runs[at + 1 :]
        assert runs[at] == 1 and bool(below) == (low < 0) and bool(above) == (high > 0)
        assert all(not side or max(side) - min(side) <= 1 for side in (below, above))
        even = (most - missing - 1) * zero / (line - 1)
        assert len(below) == pytest.approx(even, abs=0.5) or 1 in (len(below), len(above))


@pytest.mark.parametrize("low", [0, -1, -20, -39])
def test_two_levels_hold_zero_and_the_rest_only_where_nothing_lies_below(low: int) -> None:
    column = scumble.Number(low, low + 40, cells=40, zeros=True)
    wanted = np.arange(column.size) > 0 if low == 0 else np.arange(column.size) * 2 // column.size
    np.testing.assert_array_equal(axis(column, 2), wanted)


def test_wide_tables_get_coarser_axes() -> None:
    """4,950 pairs of 48 levels squared are 11 million counters, of 64 they would be 20 million; 2**24 is 17 million."""
    schema = scumble.Schema({f"x{k}": scumble.Number(0, 1000, cells=300) for k in range(100)})
    spec = TableSpec.of(schema)
    positions = 2 * 100 * 9  # two digits, and one counter for what has none
    assert spec.rows == 5250 and spec.levels == 48 and spec.counters == (4950 * 48**2 + 100 * 300 + positions,)
    words = scumble.Category([str(k) for k in range(2000)])
    fine = scumble.Schema(word=words, x=scumble.Number(0, 1, cells=10_000), y=scumble.Boolean())
    assert TableSpec.of(fine, target="word").levels == 2, "single columns alone have more"


HOSTILE: dict[str, list[Any]] = {
    "levels": [1, 10**9, True, "5", None],
    "target": ["nobody", 5, ["sex"]],
    "pairs": [[[0, 0]], [[1, 0]], [[0, 99]], [[0, 1], [0, 1]], [[0]], "all", [[0.0, 1.0]]],
    "schema": [None],
    "more": [1],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_specs_are_refused(name: str) -> None:
    good = TableSpec.of(SCHEMA, levels=8).to_dict()
    assert TableSpec.from_dict(good) == TableSpec.of(SCHEMA, levels=8)
    for wrong in HOSTILE[name]:
        with pytest.raises(scumble.CorruptFileError):
            TableSpec.from_dict({**good, name: wrong})


@pytest.mark.parametrize(("columns", "target"), [(10, None), (11, "x0")])
def test_too_many_columns_are_refused(columns: int, target: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten counted columns have 55 views, one more has 66; 361 have 65,341, and one more 65,703."""
    assert spec_module.MOST_ROWS == 2**16
    monkeypatch.setattr(spec_module, "MOST_ROWS", 2**6)
    schema = {f"x{k}": scumble.Boolean() for k in range(columns + 1)}
    with pytest.raises(scumble.ParameterError, match="views"):
        TableSpec.of(schema, target=target)
    del schema[f"x{columns}"]
    assert TableSpec.of(schema, target=target).rows >= 55


def test_too_many_cells_are_refused() -> None:
    """Of 11,500 squared and 23,000 counters there are 132 million; of 12,000, 144 million; 2**27 is 134 million."""
    taken, refused = (
        scumble.Schema({name: scumble.Number(0, 1, cells=cells) for name in "ab"}) for cells in (11_500, 12_000)
    )
    assert TableSpec.of(taken, levels=2**16).counters == (11_500**2 + 23_000 + 2 * 18,)
    wrong: list[tuple[Any, dict[str, Any]]] = [(refused, {"levels": 2**16}), (taken, {"levels": 2**16 + 1})]
    for schema, options in [*wrong, ({"a": scumble.Boolean()}, {"target": "a"}), (taken, {"target": "c"})]:
        with pytest.raises(scumble.ParameterError):
            TableSpec.of(schema, **options)
