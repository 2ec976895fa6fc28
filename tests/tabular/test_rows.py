"""Synthetic rows: their containers, types and batches; and the report of how faithful they are."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tabular.people import people

import scumble
from scumble import TableRelease, TableSketch
from scumble.cli import main, output
from scumble.tabular import drawing
from scumble.tabular.faithfulness import Faithfulness, faithfulness
from scumble.views.agreement import Modelled, misfits
from scumble.views.evidence import Evidence, View
from scumble.views.grouping import Column
from scumble.views.intervals import Reading
from scumble.views.mixture import Mixture
from scumble.views.rehearsal import rehearse

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


def rehearsed(release: TableRelease) -> TableRelease:
    """Two rehearsals are as good as eight here, and sooner done."""
    for reading in release._answers.readings:
        reading._rehearsals = rehearse(reading.evidence, "laplace", 1, times=2)
    return release


def test_types_follow_from_the_schema(release: TableRelease) -> None:
    for size in (0, 400):  # also where nothing was drawn
        rows = release.sample(size, 1)
        assert {name: str(kind) for name, kind in rows.dtypes.items()} == {
            "age": "int64",
            "visits": "Int64",
            "hours": "float64",
            "sex": "category",
            "grade": "int64",
            "seen": "datetime64[s]",
            "left": "datetime64[s]",
            "smoker": "bool",
            "asked": "boolean",
        }
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


def test_synthetic_rows_are_records_of_the_schema(release: TableRelease) -> None:
    """They can be sketched again: every cell has a level, the one that it was drawn from."""
    for name in ("pandas", "polars", "arrow"):
        rows = release.sample(200, 3, format=name)  # type: ignore[arg-type]
        codes, dropped = SCHEMA.encode(rows)
        assert not dropped.any()
        again, _ = SCHEMA.encode(release.sample(200, 3, format="arrow"))
        np.testing.assert_array_equal(codes, again)


def test_batches_are_the_sample(release: TableRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "BATCH", 64)
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


def test_whoever_draws_of_a_group_that_may_be_empty_is_told(
    halves: TableRelease, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A single value of a cell is one that surely nobody has: its interval begins at 0 without a chance. A thousand
    records have one from above 0 on unless noise of a scale below 10 takes 900 away, which has a chance of e^-90."""
    sure, single = "x < 100 and kind == 'a'", "x == 150"
    with warnings.catch_warnings(action="error"):
        halves.sample(3, 0)
        halves.sample(3, 0, where=sure)
    with pytest.warns(
        UserWarning, match=r"^Perhaps nobody meets the condition: about \d+ records do \(0 to [\d,]+, 95 %\)"
    ):
        halves.sample(3, 0, where=single)
    halves.save(tmp_path / "t.scumble")
    for where, told in ((sure, False), (single, True)):
        assert main(["sample", str(tmp_path / "t.scumble"), "--n", "3", "--where", where]) == 0
        out, err = capsys.readouterr()
        assert len(out.splitlines()) == 4 and ("warning: Perhaps nobody meets the condition" in err) is told


def test_where_the_model_has_nothing_cells_that_are_cut_are_not_blamed() -> None:
    schema = scumble.Schema(x=scumble.Number(0, 199, whole=True, cells=2))
    model = Mixture(np.ones(1), (np.array([[1.0, 0.0]]),))
    with pytest.raises(scumble.ParameterError, match="nobody meets the condition"):
        next(drawing.batches(model, scumble.schema.condition(schema, "x > 150"), 3, 0))


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow", "jsonl"])
def test_the_command_writes_batches(
    release: TableRelease, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "BATCH", 50)
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


def test_the_command_reports(
    small: TableRelease, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(output, "load_release", lambda path, tables: small)
    assert main(["sample", "people.scumble", "--n", "2", "--report"]) == 0
    told = capsys.readouterr()
    assert "Columns alone" in told.out and "Columns alone" not in told.err, "the report is the answer"
    assert ",".join(small.schema) not in told.out, "and there are no rows"
    for rows, lines in (["--out", "-"], 3), (["--json"], 4):
        assert main(["sample", "people.scumble", "--n", "2", "--report", *rows]) == 0
        told = capsys.readouterr()
        assert "Columns alone" in told.err and len(told.out.splitlines()) == lines
    assert main(["sample", "people.scumble", "--where", "height > 3", "--report"]) != 0
    assert "height" in capsys.readouterr().err


# ---- how faithful ----


@pytest.fixture(scope="module", params=[None, "smoker"], ids=["table", "classes"])
def small(request: pytest.FixtureRequest) -> TableRelease:
    some = scumble.Schema({name: SCHEMA[name] for name in ("age", "hours", "sex", "smoker")})
    return rehearsed(TableSketch(some, target=request.param).update(FRAME).release(epsilon=3.0, n=1500))


def test_the_report_is_of_all_columns_and_pairs(small: TableRelease) -> None:
    report = small.faithfulness()
    assert report.columns.column.tolist() == list(small.columns)
    assert len(report.pairs) == 6 and report.pairs.measured.all() and report.triples == 4
    assert report.columns.variation.between(0, 0.2).all() and report.pairs.variation.between(0, 0.3).all()
    assert report.chi2 > 0
    assert report.chance[1_000] > report.chance[10_000] > report.chance[100_000] > 0
    said = str(report)
    for words in (
        "Columns alone",
        "Pairs of columns that were measured",
        "on average; most for",
        "χ²",
        "never measured (4 combinations)",
    ):
        assert words in said


def test_variations_are_those_of_the_rehearsals(small: TableRelease) -> None:
    """Counted another way: NumPy's histogram of the rehearsals' records against the model's own tables."""
    report, readings = small.faithfulness(), small._answers.readings
    number = {j: k for k, j in enumerate(small.spec.counted)}
    for (i, j), row in zip(itertools.combinations(range(4), 2), report.pairs.itertuples(), strict=True):
        both = [number[k] for k in (i, j) if k != small.spec.place]
        most = total = 0.0
        for each in zip(*(reading.rehearsals for reading in readings), strict=True):
            off = []
            for rehearsal in each:
                groups = [g if len(both) > 1 else np.arange(len(g)) for g in rehearsal.evidence.groups]
                sizes = [int(groups[k].max()) + 1 for k in both]
                cells = [groups[k][rehearsal.rows[:, k]] for k in both]
                true = np.histogramdd(np.stack(cells, 1), [np.arange(s + 1) - 0.5 for s in sizes])[0]
                found = rehearsal.model.table(both) * rehearsal.evidence.count
                folded = np.zeros(sizes)
                np.add.at(folded, np.ix_(*(groups[k] for k in both)), found)
                off.append(folded - true)
            most += np.abs(off if small.spec.place in (i, j) else np.sum(off, axis=0)).sum()
            total += sum(reading.evidence.count for reading in readings)
        assert row.hidden == 0, "there are no pools"
        assert row.variation == pytest.approx(most / total / 2 + row.beyond * row.misfit)


def test_what_pools_hide_is_expected_too() -> None:
    """Next to no noise; each town lies in one region; of eight of the twelve, which are one pool, nobody knows that."""
    home, records = np.arange(12) % 4, np.array([*[100.0] * 4, *[20.0] * 8])
    true = np.eye(4)[home] * records[:, None]
    group = np.minimum(np.arange(12), 4)
    views = (
        View((0,), records, 1e-6),
        View((1,), true.sum(axis=0), 1e-6),
        View((0, 1), np.eye(5)[:, group] @ true, 1e-6),
    )
    evidence = Evidence((Column(12), Column(4)), (group, np.arange(4)), views)
    reading = Reading(evidence, "laplace", 0)
    words = {"other": False, "missing": False}
    schema = scumble.Schema(
        town=scumble.Category(list("abcdefghijkl"), **words), region=scumble.Category(list("nesw"), **words)
    )
    report = faithfulness(SimpleNamespace(readings=[reading], law="laplace", place=None), schema)  # type: ignore[arg-type]
    (row,) = report.pairs.itertuples()
    far = np.abs(reading.model.table((0, 1)) - true / true.sum()).sum() / 2
    assert far == pytest.approx(160 * 3 / 4 / 560, rel=0.05), "three of four pooled records are elsewhere"
    assert row.variation == pytest.approx(far, rel=0.1) and row.hidden > 0.9 * far
    assert (
        f"goes with what, and by how much is reckoned from the other words: town × region ({row.hidden:.3f})."
        in str(report)
    )


def test_what_was_not_measured_is_said() -> None:
    some = scumble.Schema({name: SCHEMA[name] for name in ("age", "sex", "smoker")})
    report = rehearsed(TableSketch(some).update(FRAME).release(epsilon=0.001, n=100)).faithfulness()
    assert not report.pairs.measured.any() and report.pairs.variation.isna().all()
    assert "how they hang together is inferred: age × sex, age × smoker, sex × smoker." in str(report)


def test_columns_that_rows_do_not_follow_are_told_with_what_to_do() -> None:
    alone = pd.DataFrame({"column": ["pay", "unit"], "variation": 0.1, "levels": 2, "groups": 2})
    pair = {
        "first": ["pay"],
        "second": ["unit"],
        "measured": True,
        "variation": 0.1,
        "hidden": 0.0,
        "beyond": 0.125,
        "chi2": 9.0,
    }
    told = {
        misfit: str(Faithfulness(alone, pd.DataFrame({**pair, "misfit": misfit}), 9.0, 0, {1000: 0.1}))
        for misfit in (True, False)
    }
    assert "Pairs of columns that were measured: 0.100 on average: pay × unit (0.100)." in told[True], (
        "that is all of them"
    )
    assert "in other cells): pay × unit (0.125). For questions about two such columns together, ask" in told[True]
    assert "no pair shows more" not in told[True] and "Rows connect" not in told[False]
    assert "no pair shows more than that" in told[False]


def test_a_model_that_cannot_follow_is_found() -> None:
    """Independent columns against a table on the diagonal: χ² by hand."""
    views = (View((0,), np.array([50.0, 50.0]), 4.0), View((1,), np.array([50.0, 50.0]), 4.0))
    pair = View((0, 1), np.array([[50.0, 0.0], [0.0, 50.0]]), 4.0)
    evidence = Evidence((Column(2), Column(2)), (np.arange(2), np.arange(2)), (*views, pair))
    found = Modelled(Mixture(np.ones(1), (np.full((1, 2), 0.5),) * 2), evidence)
    assert found.chi(views[0]) == 0 and found.chi(pair) == pytest.approx(25**2 / 4)
    assert found.beyond_noise(pair, "laplace") == pytest.approx(100 - 4 * 2 * np.sqrt(0.5))
    assert misfits(found.chi(pair), 4, "laplace") and not misfits(found.chi(views[0]), 2, "laplace")
