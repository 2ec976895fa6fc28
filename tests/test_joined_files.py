"""Files that were joined: the names of the columns stand among the records, and the curator is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import scumble
from scumble.cli import BAD_DATA, main

TOLD = "2 rows repeat the column names, as in joined files. Hint: remove such lines (do not"
DENSITY = ["--columns", "a,b", "--bounds", "a=0:10,b=0:10", "--bandwidth", "2"]
SCHEMA = """
[columns.a]
kind = "{}"
{}
[columns.b]
kind = "number"
low = 0
high = 10
missing = true
"""
NUMBER = "low = 0\nhigh = 10\nmissing = true"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    part = "a,b\n" + "1,2\n" * 200
    (tmp_path / "joined.csv").write_text(part * 3)
    (tmp_path / "sound.csv").write_text(part)
    return tmp_path


def test_names_among_numbers_are_told_where_rows_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--epsilon", "1", "--out", "r.scumble"]
    assert main(["build", "joined.csv", *DENSITY, *words, "--invalid", "drop"]) == 0
    told = capsys.readouterr().err
    assert TOLD in told and "2 rows were left out" in told
    assert main(["build", "sound.csv", *DENSITY, *words, "--invalid", "drop"]) == 0
    assert "once more" not in capsys.readouterr().err


def test_names_among_numbers_are_told_where_they_stop_a_build(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["build", "joined.csv", *DENSITY, "--epsilon", "1", "--invalid", "error", "--out", "r.scumble"])
        == BAD_DATA
    )
    told = capsys.readouterr().err
    assert "joined.csv, line 202: " in told and "Hint: some lines are the column names once more" in told


@pytest.mark.parametrize("column", [("number", NUMBER), ("category", 'values = ["1"]')], ids=lambda one: one[0])
def test_names_are_told_in_a_table(column: tuple[str, str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "s.toml").write_text(SCHEMA.format(*column))
    assert main(["build", "joined.csv", "--schema", "s.toml", "--epsilon", "1", "--out", "r.scumble"]) == 0
    assert TOLD in capsys.readouterr().err


def test_a_cell_that_is_called_as_its_column_is_no_line_of_names(folder: Path) -> None:
    (folder / "bus.csv").write_text("bus,n\n" + "bus,1\n" * 200)
    source = scumble.sources.open_source(folder / "bus.csv")
    for roles in ({"bus": "category"}, {"bus": "category", "n": "number"}):
        assert [*source.pieces(roles)] and source.oddities.repeated == 0
