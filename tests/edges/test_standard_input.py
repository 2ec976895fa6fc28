"""Standard input: stalled, packed, closed."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.cli import main
from scumble.sources import formats
from scumble.sources.building import Build

WORDS = "sketch - --columns x --kernel euclidean --bandwidth 1 --rows 2 --buckets 4 --design iid --out"


def command(out: pathlib.Path) -> list[str]:
    return [sys.executable, "-m", "scumble", *WORDS.split(), str(out)]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_interrupted_while_it_stalls(kind: str, tmp_path: pathlib.Path) -> None:
    """Exit 130, as after any Ctrl-C; the reader sits in a read that never returns."""
    child = subprocess.Popen(command(tmp_path / "a.secret"), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdin is not None and child.stderr is not None
    line = b"1.5\n" if kind == "csv" else b'{"x": 1.5}\n'
    child.stdin.write((b"x\n" if kind == "csv" else b"") + line * (8_000_000 // len(line)))
    child.stdin.flush()  # all but what fits into the pipe has been read: the pass is under way
    child.send_signal(signal.SIGINT)
    try:
        child.wait(timeout=120)
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
        said = child.stderr.read().decode()
        child.stderr.close()
    assert child.returncode == 130, (child.returncode, said)
    assert "Fatal" not in said and "Interrupted" in said
    assert not (tmp_path / "a.secret").exists()


PACKED = {
    "gzip": gzip.compress,
    "two gzips": lambda data: gzip.compress(data[:4096]) + gzip.compress(data[4096:]),
    "bz2": bz2.compress,
    "zstd": lambda data: pa.compress(data, "zstd", asbytes=True),
    "lz4": lambda data: pa.compress(data, "lz4", asbytes=True),
}


def rows_of(data: bytes, monkeypatch: pytest.MonkeyPatch, **options: object) -> int:
    monkeypatch.setattr(formats, "_STDIN", [formats.StandardInput(io.BytesIO(data))])
    return Build("-", scumble.EuclideanKernel(1.0), ["x"], rows=2, buckets=4, design="iid", **options).count().rows


@pytest.mark.parametrize(("kind", "text"), [*((kind, "csv") for kind in PACKED), ("gzip", "json")])
def test_packed(kind: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(1).integers(0, 10**9, 100_000)  # hard to pack: several blocks of bz2
    lines = b"".join(b"%d\n" % n if text == "csv" else b'{"x": %d}\n' % n for n in numbers)
    assert rows_of(PACKED[kind]((b"x\n" if text == "csv" else b"") + lines), monkeypatch) == len(numbers)


@pytest.mark.parametrize(("kind", "end"), [("gzip", "gz"), ("bz2", "bz2"), ("zstd", "zst"), ("lz4", "lz4")])
def test_packed_and_cut_short(kind: str, end: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = PACKED[kind](b"x\n" + b"".join(b"%d\n" % (k * k) for k in range(150_000)))
    path = tmp_path / f"a.csv.{end}"
    for length in (len(data) // 3, len(data) // 2, len(data) - 1):
        with pytest.raises(scumble.DataError, match="cut short"):
            rows_of(data[:length], monkeypatch)
        path.write_bytes(data[:length])
        with pytest.raises(scumble.DataError, match="cut short"):
            Build(path, scumble.EuclideanKernel(1.0), ["x"], rows=2, buckets=4, design="iid").count()


def test_closed(tmp_path: pathlib.Path) -> None:
    ran = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command(tmp_path / "a.secret")], capture_output=True, text=True
    )
    assert ran.returncode == 4 and "Standard input is" in ran.stderr


def test_a_pipe_that_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program may have made the pipe a non-blocking one."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    writer = subprocess.Popen(["/bin/sh", "-c", "sleep 0.2; echo x; sleep 0.2; echo 1; echo 2"], stdout=writing)
    os.close(writing)
    with open(reading, "rb") as stream:
        monkeypatch.setattr(formats, "_STDIN", [formats.StandardInput(stream)])
        job = Build("-", scumble.EuclideanKernel(1.0), ["x"], rows=2, buckets=4, design="iid")
        assert job.count().rows == 2
    writer.wait()


@pytest.mark.parametrize("odd", [b"", b' {"x": 1, "note": "NaN, "} \n'], ids=["read quickly", "read line by line"])
def test_keys_that_come_late_are_told(
    odd: bytes, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard input is read once: columns that its head does not show cannot be in the answers."""
    kernel, release = scumble.EuclideanKernel(1.0), tmp_path / "r.scumble"
    scumble.build(pa.table({"x": [1.0] * 9}), kernel=kernel, columns=["x"], epsilon=1.0).save(release)
    line = b'{"x": 1.5, "note": "%s"}\n' % (b"n" * 9_000)
    for late in (b'{"x": 2.5, "late": 1}\n', b'{"x": 2.5, "note": "a"}\n'):
        data = line * (formats.HEAD // len(line) + 2) + late + odd
        monkeypatch.setattr(formats, "_STDIN", [formats.StandardInput(io.BytesIO(data))])
        answers = tmp_path / "answers.csv"
        assert main(["query", str(release), "-", "--format", "json", "--out", str(answers), "--replace"]) == 0
        told = "Left out because only later lines have them: 'late'. Hint: name a file instead of '-'"
        assert (told in capsys.readouterr().err) is (b"late" in late)
        assert answers.read_text().startswith("x,note,kernel_sum")
