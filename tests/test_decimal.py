"""Numbers with a comma before their decimals, as half of the world writes them in CSV files."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import scumble
from scumble.cli import main
from scumble.columns.category import Category
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.errors import ParameterError
from scumble.sources import formats, open_source
from scumble.sources.spark import read

ROLES = {"alter": "number", "lohn": "number", "ort": "category"}
TABLE = "ort;alter;lohn\nUlm, alt;41;1.234,50\nB.;30,5;€ 987,25\nUlm, alt;;12.345\nB.;3.14;7\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "leute.csv"
    path.write_text(TABLE)
    return path


def cells(source: object, **options: str) -> list[dict[str, object]]:
    pieces = open_source(source, delimiter=";", decimal=",", **options).pieces(ROLES, invalid="drop")
    return [row for piece in pieces for row in piece.batch.to_pylist()]


def test_each_cell_is_read_by_itself_and_words_stay_as_they_are(table: Path) -> None:
    *rows, last = cells(table)
    assert rows == [
        {"alter": 41.0, "lohn": 1234.5, "ort": "Ulm, alt"},
        {"alter": 30.5, "lohn": 987.25, "ort": "B."},
        {"alter": None, "lohn": 12345.0, "ort": "Ulm, alt"},
    ]
    assert np.isnan(last["alter"]) and last["lohn"] == 7.0  # type: ignore[call-overload]  # 3.14 is none of these


def test_the_quick_way_reads_the_same_and_percent_has_the_sign_of_other_numbers(tmp_path: Path) -> None:
    path = tmp_path / "clean.csv"
    path.write_text("alter;lohn;ort\n41;1234,5;a\n30,25;0,5;b\n")
    assert cells(path) == [{"alter": 41.0, "lohn": 1234.5, "ort": "a"}, {"alter": 30.25, "lohn": 0.5, "ort": "b"}]
    path.write_text("alter;lohn;ort\n32,7%;32,7 %;a\n1.032,7%;7%;b\n32.7%;8;c\n")
    *rows, (last, _) = [(row["alter"], row["lohn"]) for row in cells(path)]
    assert rows == [(32.7, 32.7), (1032.7, 7.0)]
    assert np.isnan(last)  # type: ignore[call-overload]  # a point stands before thousands


def test_standard_input_too(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_STDIN", [formats.StandardInput(io.BytesIO(table.read_bytes()))])
    assert [row["lohn"] for row in cells("-", format="csv")] == [1234.5, 987.25, 12345.0, 7.0]


def test_a_whole_table_from_a_terminal(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table.write_text("ort;lohn\n" + "Ulm;1.234,50\n" * 300)
    schema, out = table.with_suffix(".toml"), table.with_suffix(".scumble")
    Schema(ort=Category(["Ulm"]), lohn=Number(0, 2000, cells=4)).save(schema)
    build = ["build", str(table), "--schema", str(schema), "--epsilon", "1000", "--delimiter", ";", "--out", str(out)]
    assert main([*build, "--decimal", ","]) == 0
    assert round(scumble.load(out).count("lohn >= 1000 and lohn < 1500").value) == 300


def test_others_are_refused(table: Path) -> None:
    build = ["build", str(table), "--columns", "alter", "--bandwidth", "1", "--epsilon", "1", "--out", "x.scumble"]
    assert main([*build, "--decimal", ",", "--delimiter", ","]) == 2
    with pytest.raises(ParameterError):
        open_source(table, decimal=";")
    with pytest.raises(ParameterError):
        read(None, ["leute.csv"], decimal=",")


def test_a_checkpoint_knows_them(table: Path) -> None:
    points = open_source(table, delimiter=";").fingerprint()
    assert open_source(table, delimiter=";", decimal=",").fingerprint() != points


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_first_line_shows_what_stands_between_cells(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(mark.join(['"a, b; c"', "x"]) + "\n" + mark.join(["1", "2"]) + "\n")
    assert open_source(path).names == ("a, b; c", "x")
    (piece,) = open_source(path).pieces({"x": "number"})
    assert piece.batch.to_pylist() == [{"x": 2.0}]
