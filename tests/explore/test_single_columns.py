"""A table of which no pair was measured: a build says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scumble import Number, Schema
from scumble.cli import main

COLUMNS = [f"c{k}" for k in range(6)]  # so many with 400 records that no pair stands out from the noise
SCHEMA = Schema({name: Number(0, 500) for name in COLUMNS})
TABLE = pa.table({name: np.random.default_rng(1).gamma(4, 10, 400) for name in COLUMNS})


def test_a_build_says_that_columns_stand_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(TABLE, tmp_path / "t.parquet")
    said = []
    for names in (COLUMNS, COLUMNS[:1]):
        Schema({name: SCHEMA[name] for name in names}).save(tmp_path / "schema.toml")
        words = ["build", str(tmp_path / "t.parquet"), "--schema", str(tmp_path / "schema.toml"), "--epsilon", "1"]
        assert main([*words, "--out", str(tmp_path / f"{len(names)}.scumble")]) == 0
        said.append("No pair of columns was counted together." in capsys.readouterr().err)
    assert said == [True, False]
