"""Checkpoints: killed at any moment, a build goes on to the identical sketch; nothing is released twice."""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import stat
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scumble
from rates import laplace
from scumble import files
from scumble.cli import main
from scumble.sources import Build, formats
from warm import job, options, run

ROWS = 1_800
COUNT = 36 * laplace()
"""How far a noisy count at ε = 1 may be: its standard deviation is 35.4 at most."""
KINDS = {"csv": 2, "folder": 1, "sqlite": 1}
"""How often a build of each is killed, at most."""

forks = multiprocessing.get_context("forkserver")
forks.set_forkserver_preload(["tests.warm"])


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    rng = np.random.default_rng(8)
    table = pa.table({"x": rng.normal(0, 3, ROWS), "y": rng.normal(0, 3, ROWS)})
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame.write_csv(folder / "t.csv")
    with open(folder / "t.csv", "a") as file:
        file.write("1,2,3\n" * 7 + "word,1\n" * 5)
    frame.write_ndjson(folder / "t.jsonl")
    (folder / "t").mkdir()
    for k in range(3):
        pq.write_table(table.slice(k * 600, 600), folder / "t" / f"{k}.parquet", row_group_size=250)
    with sqlite3.connect(folder / "t.db") as database:
        database.execute("CREATE TABLE t (x REAL, y REAL)")
        database.executemany("INSERT INTO t VALUES (?, ?)", frame.rows())
    database.close()
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_random_moments(kind: str, sources: Path, tmp_path: Path) -> None:
    """Killed at least once; then the identical sketch."""
    about = options(sources, kind)
    whole = job(about).count()
    checkpoint, result = str(tmp_path / "c.secret"), str(tmp_path / "result.npz")
    moments = random.Random(kind)
    kills, started = 0, 0
    while not os.path.exists(result):
        started += 1
        assert started < 60
        stamp = _stamp(checkpoint)
        process = forks.Process(target=run, args=(about, checkpoint, result))
        process.start()
        if kills < KINDS[kind]:
            while process.is_alive() and _stamp(checkpoint) == stamp:
                time.sleep(0.001)
            time.sleep(moments.uniform(0.0, 0.01))
            process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
        assert process.exitcode in (0, -signal.SIGKILL)
    assert 1 <= kills <= KINDS[kind]
    found = np.load(result)
    assert np.array_equal(found["counts"], whole.sketches[0]._counts)
    assert found["rows"] == whole.rows and found["dropped"] == whole.dropped == (12 if kind == "csv" else 0)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".npz"] == ["result.npz"]


def _stamp(path: str) -> int:
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0


# ---- the command line ----


def command(folder: Path, *more: str) -> list[str]:
    words = ["build", str(folder / "t.csv"), "--columns", "x,y", "--bandwidth", "1", "--power", "2"]
    usual = {"--epsilon": "1", "--rows": "64", "--buckets": "64", "--invalid": "drop", "--checkpoint-seconds": "0"}
    return [*words, *(word for option in usual.items() if option[0] not in more for word in option), *more]


def stopped_build(folder: Path, checkpoint: Path, **changes: object) -> None:
    """What a killed build leaves behind: a checkpoint half way through the file."""
    one = small(folder, checkpoint, **changes)
    assert one.checkpoint is not None
    for piece in one.source.pieces(one.roles, invalid="drop"):
        one.tally.update(piece.batch.slice(0, 700))
        one.checkpoint.keep(one.tally, (0, 700), now=True)
        break


def small(folder: Path, checkpoint: Path, **changes: object) -> Build:
    return job(
        {"source": str(folder / "t.csv"), "rows": 64, "seed": 0, "design": "auto", **changes}, checkpoint=checkpoint
    )


def test_a_checkpoint_is_secret_and_goes_away(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint, out = tmp_path / "c.secret", tmp_path / "o.scumble"
    stopped_build(sources, checkpoint)
    assert stat.S_IMODE(checkpoint.stat().st_mode) == 0o600
    assert b"SECRET" in checkpoint.read_bytes()
    with pytest.raises(scumble.SecretFileError):
        scumble.load(checkpoint)
    assert main(["info", str(checkpoint)]) == 3
    capsys.readouterr()
    assert main(command(sources, "--checkpoint", str(checkpoint), "--out", str(out))) == 0
    assert not checkpoint.exists() and out.exists()
    assert sorted(tmp_path.iterdir()) == [out], "nothing else is left behind"
    assert abs(scumble.load(out).count - ROWS) < COUNT


def test_what_changed_is_refused_by_name(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint, out = tmp_path / "c.secret", tmp_path / "o.scumble"
    kept = ["--checkpoint", str(checkpoint), "--out", str(out)]
    stopped_build(sources, checkpoint)
    before = checkpoint.read_bytes()
    for name, value in {"seed": "9", "rows": "32", "invalid": "error", "epsilon": "2"}.items():
        assert main([*command(sources, f"--{name}", value), *kept]) == 2
        assert f"{name} was" in capsys.readouterr().err
    shutil.copytree(sources, copy := tmp_path / "copy")
    with open(copy / "t.csv", "a") as file:
        file.write("1,1\n")
    assert main([*command(copy), *kept]) == 4
    assert checkpoint.read_bytes() == before and not out.exists()
    checkpoint.write_bytes(before[:-9])
    assert main([*command(sources), *kept]) == 5


def test_only_what_can_be_read_again_has_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_STDIN", [formats.StandardInput(io.BytesIO(b"x,y\n1,2\n"))])
    for only_once in ("-", pa.table({"x": [1.0], "y": [2.0]})):
        with pytest.raises(scumble.ParameterError):
            job({"source": only_once}, checkpoint=tmp_path / "c.secret")


def test_the_same_counters_are_not_released_twice(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """When the release takes its name, the counters are gone; killed there, the same command takes that release."""
    checkpoint, out = tmp_path / "c.secret", tmp_path / "o.scumble"
    words = command(sources, "--checkpoint", str(checkpoint), "--out", str(out))
    seen = []
    stopped_build(sources, checkpoint)
    with monkeypatch.context() as patch:
        real = os.replace

        def at_the_end(a: str, b: str) -> None:
            if str(b) == str(out):
                seen.append((files.read(checkpoint, expect="checkpoint").arrays, out.exists()))
                raise KeyboardInterrupt
            real(a, b)

        patch.setattr(os, "replace", at_the_end)
        assert main(words) == 130
    assert seen == [({}, False)]
    (ready,) = tmp_path.glob(".scumble-*.ready")
    whole = scumble.load(ready)
    assert abs(whole.count - ROWS) < COUNT, "nothing is lost: the release is whole"
    assert str(ready) in capsys.readouterr().err
    with pytest.raises(scumble.BudgetError, match="released"):
        small(sources, checkpoint).count()
    assert main(words) == 0
    assert scumble.load(out).identity == whole.identity and [each.name for each in tmp_path.iterdir()] == [out.name]


def test_a_resumed_sketch_keeps_its_lineage(sources: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "c.secret"
    stopped_build(sources, checkpoint)
    twin = tmp_path / "twin.secret"
    shutil.copy(checkpoint, twin)
    os.chmod(twin, 0o600)
    first, second = (small(sources, path).count().sketches[0] for path in (checkpoint, twin))
    with pytest.raises(scumble.MergeError, match="with itself"):
        first.merge(second)
    first.release(1.0)
    with pytest.raises(scumble.BudgetError):
        second.release(1.0)


# ---- full disks ----
