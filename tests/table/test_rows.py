"""Synthetic rows: their containers, types and batches; and the report of how faithful they are."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.table.people import people

import scumble
from scumble import TableRelease, TableSketch
from scumble.cli import main
from scumble.table import rows as table_rows

SCHEMA = scumble.Schema(
    age=scumble.Number(17, 90, whole=True, cells=10),
    visits=scumble.Number(0, 9, whole=True, missing=True),
    hours=scumble.Number(0, 100, cells=10, missing=True),
    sex=scumble.Category(["Female", "Male"], other=False),
    grade=scumble.Category([1, 2, 3], other=False, missing=False),
    seen=scumble.Date("2024-01-01", "2024-12-31", missing=True),
    left=scumble.Date("2024-01-01T00:00", "2024-12-31T23:00", resolution="hour"),
    smoker=scumble.Boolean(),
    asked=scumble.Boolean(missing=True),
)


def frame(n: int = 1500) -> pd.DataFrame:
    """Columns of every kind, with and without gaps."""
    rng = np.random.default_rng(4)
    found = people(n)[["age", "hours", "seen", "smoker"]]
    gone = rng.random(n) < 0.2
    found["visits"] = pd.array(rng.integers(0, 10, n)).astype("Int64")
    found.loc[gone, "visits"] = pd.NA
    found["sex"] = np.where(gone, None, np.where(found.hours > 40, "Male", "Female"))
    found["grade"] = rng.integers(1, 4, n)
    found["left"] = pd.to_datetime(found.seen) + pd.to_timedelta(rng.integers(0, 24, n), unit="h")
    found.loc[gone, "seen"] = None
    found["asked"] = pd.array(rng.random(n) < 0.5, "boolean")
    found.loc[gone, "asked"] = pd.NA
    return found[list(SCHEMA)]


FRAME = frame()


@pytest.fixture(scope="module")
def release() -> TableRelease:
    return TableSketch(SCHEMA).update(FRAME).release(epsilon=3.0, n=1500)


def test_types_follow_from_the_schema(release: TableRelease) -> None:
    for size in (0, 400):  # also where nothing was drawn
        rows = release.sample(size, 1)
        kinds = "int64 Int64 float64 category int64 datetime64[s] datetime64[s] bool boolean"
        assert [str(kind) for kind in rows.dtypes] == kinds.split() and list(rows) == list(SCHEMA)
        assert list(rows.sex.cat.categories) == ["Female", "Male"]
    gaps = rows.isna().any()
    assert gaps[["visits", "hours", "sex", "seen", "asked"]].all() and gaps.sum() == 5
    assert set(rows.grade) == {1, 2, 3} and rows.left.dt.year.eq(2024).all()


def test_containers_hold_the_same_rows(release: TableRelease) -> None:
    pandas, polars, arrow = (release.sample(300, 7, format=name) for name in ("pandas", "polars", "arrow"))
    assert isinstance(polars, pl.DataFrame) and isinstance(arrow, pa.Table)
    assert polars.schema["seen"] == pl.Date and polars.schema["age"] == pl.Int64
    assert polars.rows() == [tuple(row.values()) for row in arrow.to_pylist()]
    plain = pandas.astype(object).where(pandas.notna(), None)
    for name in SCHEMA:
        told = [one.date() if name == "seen" and one is not None else one for one in plain[name]]
        assert told == arrow[name].to_pylist(), name
    with pytest.raises(scumble.ParameterError, match="'polars'"):
        release.sample(1, format="spark")  # type: ignore[arg-type]


def test_batches_are_the_sample(release: TableRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "BATCH", 64)
    sizes = [len(batch) for batch in release.sample_batches(150, 5)]
    assert sizes == [64, 64, 22]
    whole = release.sample(150, 5, format="arrow")
    assert pa.concat_tables(release.sample_batches(150, 5)).unify_dictionaries().combine_chunks() == whole
    assert [len(batch) for batch in release.sample_batches(0)] == [0]
    some = release.sample_batches(130, 5, where="age >= 30 and sex == 'Male'")  # surely some
    assert all(row["age"] >= 30 and row["sex"] == "Male" for batch in some for row in batch.to_pylist())


@pytest.fixture(scope="module")
def halves() -> TableRelease:
    """A thousand records on either side of a hundred, of one kind each; the others are nobody."""
    schema = scumble.Schema(x=scumble.Number(0, 199, whole=True, cells=2), kind=scumble.Category(["a", "b"]))
    x = np.arange(2000) % 200
    table = pa.table({"x": x, "kind": np.where(x < 100, "a", "b")})
    return TableSketch(schema).update(table).release(epsilon=1.0)


def test_rows_of_a_group_that_may_be_empty_come_with_a_remark(halves: TableRelease) -> None:
    """A single value of a cell is one that surely nobody has: its interval begins at 0 without a chance. A thousand
    records have one from above 0 on unless noise of a scale below 10 takes 900 away, which has a chance of e^-90."""
    sure, single = "x < 100 and kind == 'a'", "x == 150"
    with warnings.catch_warnings(action="error"):
        halves.sample(3, 0)
        halves.sample(3, 0, where=sure)
    with pytest.warns(UserWarning, match="Few records or none meet the condition"):
        halves.sample(3, 0, where=single)


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow", "jsonl"])
def test_the_command_writes_batches(
    release: TableRelease, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_rows, "BATCH", 50)
    path, out = tmp_path / "people.scumble", tmp_path / f"rows.{ending}"
    release.save(path)
    asked = ["--n", "120", "--seed", "9", "--where", "age > 30", "--out", str(out)]
    assert main(["sample", str(path), *asked]) == 0
    wanted = release.sample(120, 9, where="age > 30", format="arrow")
    if ending == "parquet":
        assert pq.read_table(out).to_pylist() == wanted.to_pylist()
    elif ending == "arrow":
        assert pa.ipc.open_file(out).read_all().to_pylist() == wanted.to_pylist()
    else:
        read = pl.read_csv(out) if ending == "csv" else pl.read_ndjson(out)
        assert len(read) == 120 and read.columns == list(SCHEMA) and read["age"].min() > 30
        again, _ = SCHEMA.encode(read)  # also from text
        np.testing.assert_array_equal(again, SCHEMA.encode(wanted).codes)


# ---- how faithful ----


@pytest.fixture(scope="module", params=[None, "smoker"], ids=["table", "classes"])
def small(request: pytest.FixtureRequest) -> TableRelease:
    some = scumble.Schema({name: SCHEMA[name] for name in ("age", "hours", "sex", "smoker")})
    return TableSketch(some, target=request.param).update(FRAME).release(epsilon=3.0, n=1500)


def test_the_report_is_of_all_columns_and_pairs(small: TableRelease) -> None:
    report = small.faithfulness()
    assert report.columns.column.tolist() == list(small.columns)
    assert len(report.pairs) == 6 and report.pairs.measured.all()
    assert report.triples == 4 - sum(len(view) == 3 for view in small.views)
    assert report.columns.variation.between(0, 0.2).all() and report.pairs.variation.between(0, 0.3).all()
    assert report.chance[1_000] > report.chance[10_000] > report.chance[100_000] > 0


def test_variations_are_those_between_draws_and_their_mean(small: TableRelease) -> None:
    """Counted another way: full cross-tables of each draw as a mixture over all levels."""
    report, posterior, sizes = small.faithfulness(), small._answers.posterior, small.schema.sizes
    for (i, j), row in zip(itertools.combinations(range(4), 2), report.pairs.itertuples(), strict=True):
        folds = [np.arange(s) if k == small.spec.place else small._answers.group_of(k) for k, s in enumerate(sizes)]
        each = []
        for draw in range(posterior.size):
            cells = np.zeros([int(folds[k].max()) + 1 for k in (i, j)])
            np.add.at(cells, np.ix_(folds[i], folds[j]), posterior.mixture(draw).table([i, j]))
            each.append(cells)
        off = np.abs(np.array(each) - np.mean(each, axis=0)).sum(axis=(1, 2)).mean() / 2
        assert row.variation == pytest.approx(off, rel=1e-3)
