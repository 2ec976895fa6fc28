"""A source that changes while it is read: nothing is released, nothing is charged, nothing crashes."""

from __future__ import annotations

import gzip
import os
import pathlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import scumble
from scumble.privacy.ledger import Ledger

ROWS = 400_000
KERNEL = scumble.EuclideanKernel(1.0)
SMALL: dict[str, Any] = {"rows": 2, "buckets": 4, "design": "iid", "epsilon": 1.0}


def table(rows: int = ROWS) -> pa.Table:
    return pa.table({"x": np.arange(rows, dtype=float)})


def write(path: pathlib.Path, rows: int = ROWS) -> None:
    if path.suffix == ".csv":
        pacsv.write_csv(table(rows), path)
    elif path.suffix == ".parquet":
        pq.write_table(table(rows), path, row_group_size=20_000, compression="none")
    elif path.suffix == ".arrow":
        feather.write_feather(table(rows), path, compression="uncompressed", chunksize=20_000)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(b"x\n" + b"".join(b"%d\n" % k for k in range(rows)), 1))
    else:
        path.write_bytes(b"".join(b'{"x": %d}\n' % k for k in range(rows)))


def truncate(path: pathlib.Path) -> None:
    os.truncate(path, path.stat().st_size // 3)


def append(path: pathlib.Path) -> None:
    with open(path, "ab") as file:
        file.write(b"1\n")


def replace(path: pathlib.Path) -> None:
    other = path.with_name(f"other{path.suffix}")
    write(other, ROWS // 2)
    os.replace(other, path)


def rewrite_the_end(path: pathlib.Path) -> None:
    about = path.stat()
    with open(path, "r+b") as file:
        file.seek(-2, os.SEEK_END)
        file.write(b"#")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))  # as if nothing had been


class Once:
    """A progress report that meddles, the first time."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act: Callable[[], None] | None = act

    def __call__(self, progress: object) -> None:
        if self.act is not None:
            act, self.act = self.act, None
            act()


@pytest.mark.parametrize("change", [truncate, append, replace, rewrite_the_end, pathlib.Path.unlink])
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.csv.gz"])
def test_a_file_that_changes_is_not_released(name: str, change: Callable, tmp_path: pathlib.Path) -> None:
    path = tmp_path / name
    write(path)
    ledger = Ledger.create(tmp_path / "town.ledger")
    ledger.open_dataset("people", epsilon=1.0)
    with pytest.raises(scumble.DataError, match=r"changed while|cut short|not a JSON object|line"):
        meddle = Once(lambda: change(path))
        scumble.build(path, KERNEL, ["x"], threads=1, ledger=ledger, dataset="people", progress=meddle, **SMALL)
    assert not ledger.account("people").charges


def test_a_changed_file_leaves_no_checkpoint_to_go_on_from(tmp_path: pathlib.Path) -> None:
    path, checkpoint = tmp_path / "a.csv", tmp_path / "c.secret"
    write(path)
    options = {**SMALL, "checkpoint": checkpoint, "checkpoint_seconds": 0.0}
    with pytest.raises(scumble.DataError, match="changed"):
        scumble.build(path, KERNEL, **options, progress=Once(lambda: append(path)))
    with pytest.raises(scumble.DataError, match="has changed"):
        scumble.build(path, KERNEL, **options)


def test_a_truncated_arrow_file_does_not_end_the_process(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.arrow"
    feather.write_feather(table(4_000_000), path, compression="uncompressed", chunksize=20_000)
    code = """
import os, sys, scumble
cut = lambda progress: os.truncate(sys.argv[1], 1_000_000)
try:
    scumble.build(sys.argv[1], scumble.EuclideanKernel(1.0), rows=2, buckets=4, design='iid', progress=cut, epsilon=1)
except scumble.DataError as problem:
    print(problem)
"""
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.returncode  # -7 is SIGBUS
    assert "a.arrow" in ran.stdout


def test_a_database_that_is_replaced_is_not_released(tmp_path: pathlib.Path) -> None:
    for name, rows in (("a.db", 200_000), ("b.db", 10)):
        with sqlite3.connect(tmp_path / name) as database:
            database.execute("CREATE TABLE t (x REAL)")
            database.executemany("INSERT INTO t VALUES (?)", ((float(k),) for k in range(rows)))
        database.close()
    meddle = Once(lambda: os.replace(tmp_path / "b.db", tmp_path / "a.db"))
    with pytest.raises(scumble.DataError, match=r"a\.db has changed"):
        scumble.build(f"sqlite:///{tmp_path / 'a.db'}", KERNEL, table="t", progress=meddle, **SMALL)


def test_a_pipe_with_a_name_is_not_waited_for(tmp_path: pathlib.Path) -> None:
    for name in ("a.csv", "a"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(scumble.DataError, match="not a regular file"):
            scumble.build(tmp_path / name, KERNEL)
