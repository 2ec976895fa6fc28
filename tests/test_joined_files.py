"""Files that were joined: the names of the columns stand among the records, and the curator is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scumble
from scumble.cli import BAD_DATA, main

TOLD = "2 rows are the line of column names once more, as where files were joined. Hint: take such lines out (do not"
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


def test_names_among_words_alone_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = '[columns.{}]\nkind = "category"\nvalues = ["{}"]\n'
    (folder / "s.toml").write_text(words.format("a", "1") + words.format("b", "2"))
    assert main(["build", "joined.csv", "--schema", "s.toml", "--epsilon", "1", "--out", "r.scumble"]) == 0
    assert TOLD in capsys.readouterr().err


def test_a_cell_that_is_called_as_its_column_is_no_line_of_names(folder: Path) -> None:
    (folder / "bus.csv").write_text("bus,n\n" + "bus,1\n" * 200)
    source = scumble.sources.open_source(folder / "bus.csv")
    for roles in ({"bus": "category"}, {"bus": "category", "n": "number"}):
        assert [*source.pieces(roles)] and source.repeated == 0


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (
            ["--columns", "sex", "--booleans", "sex"],
            "In 'sex', .* 1 and 0 are read; columns of other words stand in --cat",
        ),
        (["--columns", "mass", "--bounds", "mass=0:100"], "In 'mass', numbers are read as .*not with a unit, 12 kg"),
    ],
    ids=["words in a boolean column", "units behind numbers"],
)
def test_where_many_rows_are_left_out_for_a_column_its_line_says_how_cells_are_written(
    options: list[str], hint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its declared kind alone: no cell is shown."""
    (folder / "mice.csv").write_text("sex,mass\n" + "M,45g\nF,44\n" * 200 + "f,43\n" * 4000)
    words = ["build", "mice.csv", *options, "--bandwidth", "5", "--epsilon", "1", "--invalid", "drop"]
    assert main([*words, "--out", "few.scumble"]) == 0
    assert not re.search(hint, capsys.readouterr().err), "a few rows, perhaps of missing cells"
    (folder / "mice.csv").write_text("sex,mass\n" + "M,45g\nF,44\n" * 200)
    assert main([*words, "--out", "many.scumble"]) == 0
    told = capsys.readouterr().err.partition("Wrote")[0]  # where sizes and costs come
    assert re.search(hint, told) and "45" not in told and "M" not in told
    assert main([*words[:-1], "error", "--out", "none.scumble"]) == BAD_DATA
    assert re.search(hint.split(", ", 1)[1], capsys.readouterr().err)
