"""A rehearsal predicts the release without reading a record; the curator learns why records were left out."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import scumble
from scumble.cli import BAD_DATA, main
from scumble.errors import DataError
from scumble.files import places
from scumble.privacy import audit_hooks
from scumble.sources import Rehearsal, build_by
from scumble.sources.opening import FileSource

BOUNDS = {"age": (0, 100), "income": (0, 200_000)}
SCALE = {"age": 10.0, "income": 20_000.0}
KERNEL = scumble.EuclideanKernel(1.0, power=2, scale=SCALE)
WORDS = ["--columns", "age,income", "--bandwidth", "1", "--power", "2", "--scale", "age=10,income=20000"]
WORDS += ["--bounds", "age=0:100,income=0:200000", "--epsilon", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sound.csv").write_text("age,income,mode\n" + "41,50000,bus\n" * 200)
    (tmp_path / "poisoned.csv").write_bytes(b"age,income,mode\n" + b'9e999,"x\x00\xff\n,,,,,,\n' * 50)
    return tmp_path


def test_no_record_is_read_no_noise_drawn_nothing_written_or_charged(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scumble.Ledger.create(folder / "town.ledger").open_dataset("people", epsilon=0.5)
    (folder / f"{places._prefix('o.scumble')}0.tmp").write_bytes(b"what a killed run left")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("a rehearsal went too far")

    monkeypatch.setattr(FileSource, "pieces", forbidden)
    monkeypatch.setattr(audit_hooks, "hold", forbidden)
    monkeypatch.setattr(audit_hooks, "publish", forbidden)
    told = set()
    more = ["--rehearse", "--checkpoint", "c.secret", "--ledger", "town.ledger", "--dataset", "people"]
    for name in ("sound.csv", "poisoned.csv"):
        assert main(["build", name, *WORDS, *more, "--out", "o.scumble"]) == 3
        out, err = capsys.readouterr()
        told.add(out)
        assert not err and "The build would be refused: " in out and "0.5" in out, "the ledger has less than it costs"
        about: dict[str, Any] = {"bounds": BOUNDS, "ledger": "town.ledger", "dataset": "people", "rehearse": True}
        found = scumble.build(folder / name, KERNEL, ["age", "income"], epsilon=1.0, **about)
        assert isinstance(found, Rehearsal) and f"{found}\n" == out
    assert len(told) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_it_tells_is_what_comes_out(folder: Path) -> None:
    low, high = np.asarray([*BOUNDS.values()], float).T
    rng = np.random.default_rng(7)
    middle = rng.uniform((2 * low + high) / 3, (low + 2 * high) / 3, (20_000, 2))
    table = pa.table({"age": middle[:, 0], "income": middle[:, 1]})
    found = scumble.build(table, KERNEL, bounds=BOUNDS, n=20_000, epsilon=1.0, rehearse=True)
    release = scumble.build(table, KERNEL, bounds=BOUNDS, n=20_000, epsilon=1.0)
    cells = math.prod(map(int, re.fullmatch(r"A grid of (\d+) × (\d+) cells", found.kind).groups()))  # type: ignore[union-attr]
    # Noisy facts choose (see `STEP` of test_one_plan.py), and these records share no places, as real ones often do.
    assert 1 / 3.2 < cells / release.spec.buckets < 4.5
    assert found.bytes == pytest.approx(4 * cells + 2000, rel=0.02) and found.records == 20_000
    assert len(release.to_bytes()) == pytest.approx(4 * release.spec.buckets + 2000, rel=0.05)
    at = table.slice(0, 64)
    near, off = sorted(release.kernel_sum(at)), release.standard_error(at)
    crowded, typical, sparse = found.places
    assert sparse.near < typical.near < crowded.near and near[0] < typical.near < 1.2 * near[-1]
    assert 0.7 < typical.error / sorted(off)[32] < 1.9  # the noise of up to so many more cells
    assert found.spread and found.spread in str(found)
    assert json.loads(json.dumps(found.to_dict()))["bytes"] == found.bytes


def test_a_table_is_rehearsed_by_its_schema(folder: Path) -> None:
    schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), income=scumble.Number(0, 200_000))
    found = scumble.build(folder / "sound.csv", schema=schema, rehearse=True)
    assert found.kind == "Counts of 2 columns and 1 of 1 pairs of them"
    wide = {"schema": scumble.Schema(age=scumble.Number(0, 999, cells=1000)), "allow_empty": True, "epsilon": 1}
    size = len(scumble.build(folder / "sound.csv", **wide).to_bytes())
    alone = scumble.build(folder / "sound.csv", **wide, rehearse=True)
    assert alone.bytes == pytest.approx(size, rel=0.1)
    assert found.decides == "'age' has the most levels, 100; pairs distinguish them all."
    assert "is decided after counting" in found.later and found.later in str(found)
    few = scumble.build(folder / "sound.csv", schema=schema, n=3000, rehearse=True)
    assert few.decides.endswith("levels.") and "at most" in few.decides
    poor = scumble.build(folder / "sound.csv", schema=schema, n=30, epsilon=0.01, rehearse=True)
    assert poor.advice and poor.places[0].error > found.places[0].error


def test_a_misspelt_option_is_no_option_that_was_left_out() -> None:
    """Else a budget would be another, or bounds would be none."""
    for word, meant in {"bound": "bounds", "epsilom": "epsilon", "date": "dates", "ledgr": "ledger"}.items():
        with pytest.raises(TypeError, match=f"no option '{word}'. Did you mean '{meant}'"):
            scumble.build({"age": [1.0, 2.0]}, scumble.EuclideanKernel(1.0), **{word: ["age"]})


def test_a_source_that_can_be_read_once_keeps_its_tables() -> None:
    table = pa.table({"x": [1.0, 2.0]})
    tables = iter([table, table])
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for source in (tables, reader):
        with pytest.raises(scumble.ParameterError, match="an empty table"):
            scumble.build(source, scumble.EuclideanKernel(1.0), epsilon=1.0, rehearse=True)
    assert len(list(tables)) == 2 and reader.read_all().num_rows == 2


def test_a_query_that_was_not_run_is_not_run() -> None:
    def never(frame: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("a row was asked for")

    source = pl.LazyFrame({"x": [1.0, 2.0]}).map_batches(never)
    told = scumble.build(source, scumble.EuclideanKernel(1.0), epsilon=1.0, rehearse=True)
    assert "records" in str(told)


def test_classes_are_rehearsed(folder: Path) -> None:
    about: dict[str, Any] = {"label": "mode", "classes": ["bus", "car"], "bounds": BOUNDS}
    found = build_by(folder / "sound.csv", KERNEL, ["age", "income"], **about, rehearse=True)
    assert found.kind.endswith("for each of 2 classes")


def test_what_was_left_out_is_told_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt class: the curator hears of it while the ledger is still full, and nobody else ever does."""
    (folder / "mixed.csv").write_text("age,income,mode\n" + "41,5,bus\n41,5,buss\n" * 3)
    ledger = scumble.Ledger.create(folder / "town.ledger")
    ledger.open_dataset("people", epsilon=1.0)
    before = (folder / "town.ledger").read_bytes()
    told = "3 records were left out: 3 with none of the classes in 'mode'"

    def published(*_: Any, **__: Any) -> Any:
        assert told in capsys.readouterr().err and (folder / "town.ledger").read_bytes() == before
        raise DataError("nothing is drawn here")

    words = ["build", "mixed.csv", *WORDS, "--label", "mode", "--classes", "bus,car", "--invalid", "drop"]
    words += ["--ledger", "town.ledger", "--dataset", "people", "--out", "o.scumble"]
    with monkeypatch.context() as patched:
        patched.setattr("scumble.sources.building.released", published)
        assert main(words) == BAD_DATA
    assert main(words) == 0
    for file in ("o.scumble", "town.ledger"):
        assert not [word for word in (b"none of", b"left out", b"dropped") if word in (folder / file).read_bytes()]
