"""Bytes that are no text in the encoding that was named: who is told what, and which hint is right."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import scumble
from scumble.cli import main
from scumble.sources import open_source
from scumble.sources.text import usual_beside

SCHEMA = """
[columns.age]
kind = "number"
low = 0
high = 100
[columns.town]
kind = "category"
values = ["Ulm", "Köln"]
"""
HALF_LATIN = b"age,town\n" + b"30,Ulm\n40,K\xf6ln\n" * 30
NAMES_ANOTHER = (
    "read as missing, for bytes that are no text in this encoding. Hint: --encoding (encoding=) names another"
)


@pytest.fixture
def town(tmp_path: Path) -> Path:
    (tmp_path / "town.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "town.csv").write_bytes(HALF_LATIN)
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of points, and a model, of the column age."""
    folder = tmp_path_factory.mktemp("made")
    table = folder / "table.csv"
    table.write_text("age,income\n" + "".join(f"{age},{age}\n" for age in range(60)))
    kernel = scumble.EuclideanKernel(5.0)
    scumble.build(table, kernel=kernel, columns=["age"], epsilon=1.0).save(folder / "release.scumble")
    fit = ["fit", str(table), "--task", "regress", "--columns", "age", "--target", "income", "--bounds", "age=0:100"]
    fit += ["--target-bounds", "0:100", "--epsilon", "1", "--out", str(folder / "model.scumble")]
    assert main(fit) == 0
    return folder


def test_the_curator_is_told_of_cells_that_count_as_missing(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build = ["build", str(town / "town.csv"), "--schema", str(town / "town.toml"), "--epsilon", "1"]
    assert main([*build, "--invalid", "drop", "--out", str(town / "a.scumble")]) == 0
    assert f"30 cells of 'town' were {NAMES_ANOTHER} (do not publish this).\n" in capsys.readouterr().err
    assert main([*build, "--encoding", "latin-1", "--out", str(town / "b.scumble")]) == 0
    assert "encoding" not in capsys.readouterr().err


def test_and_in_python_and_of_one(town: Path) -> None:
    (town / "town.csv").write_bytes(b"age,town\n30,Ulm\n40,K\xf6ln\n")
    with pytest.warns(UserWarning, match=r"1 cell of 'town' was read as missing, for bytes that are no text"):
        scumble.build(town / "town.csv", schema=town / "town.toml", epsilon=1.0, invalid="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = open_source(town / "town.csv", encoding="latin-1")
        assert len(list(source.pieces({"town": "category"}, invalid="drop"))) == 1 and not source.undecoded


def test_a_second_reading_counts_anew(town: Path) -> None:
    source = open_source(town / "town.csv")
    for _ in range(2):
        list(source.pieces({"town": "category"}, invalid="drop"))
    assert source.undecoded == {"town": 30}


def test_fit_tells_of_them_too(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ["fit", str(town / "town.csv"), "--task", "classify", "--schema", str(town / "town.toml"), "--target", "age"]
    fit = [*fit, "--classes", "30,40", "--epsilon", "1", "--invalid", "drop", "--out", str(town / "m.scumble")]
    assert main(fit) == 0
    assert f"30 cells of 'town' were {NAMES_ANOTHER}" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["predict model", "query release"])
def test_a_column_that_is_not_read_stops_nobody(
    verb: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "points.csv").write_bytes(b"age,note\n30,K\xf6ln\n40,K\xf6ln\n50,Ulm\n")
    name, what = verb.split()
    assert main([name, str(made / f"{what}.scumble"), str(tmp_path / "points.csv")]) == 0
    told = capsys.readouterr()
    assert told.out.count("K\ufffdln") == 2 and len(told.out.splitlines()) == 4
    assert "2 cells of 'note': bytes that are no UTF-8 text are written with \ufffd in their place." in told.err
    assert "--encoding latin-1" in told.err and "--invalid" not in told.err


def test_predict_leaves_a_row_without_an_answer(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "points.csv").write_bytes(b"age,note\n3\xf60,a\n40,b\n")
    assert main(["predict", str(made / "model.scumble"), str(tmp_path / "points.csv")]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[1] == ",a,"
    assert "1 cell of 'age': bytes that are no UTF-8 text are missing. Hint: --encoding latin-1" in told.err
    assert "1 row has no answer" in told.err


def test_query_stops_with_a_hint_that_it_can_take(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "points.csv").write_bytes(b"age,note\n30,a\n4\xf60,b\n")
    assert main(["query", str(made / "release.scumble"), str(tmp_path / "points.csv")]) == 4
    told = capsys.readouterr().err
    assert "points.csv, line 3, is not UTF-8 text. Hint: name its encoding, such as --encoding latin-1" in told
    assert told.endswith("or correct the line.\n")


@pytest.mark.parametrize("verb", ["predict model", "query release"])
def test_a_line_that_is_no_row_gets_no_hint_at_an_option_that_is_none(
    verb: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "points.csv").write_bytes(b"age,note\n30,a\n40,b,c\n")
    name, what = verb.split()
    assert main([name, str(made / f"{what}.scumble"), str(tmp_path / "points.csv")]) == 4
    assert capsys.readouterr().err.endswith("line 3, has 3 cells where the header has 2. Hint: correct the line.\n")


@pytest.mark.parametrize("wrong", ["utf-16", "utf-16-le", "utf-32"])
def test_narrow_text_is_not_read_as_wide(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "town.csv"
    path.write_text("age,town\n30,Köln\n", encoding="utf-8")
    with pytest.raises(scumble.DataError, match=r"it has no wide characters. Hint: leave out --encoding .*UTF-8"):
        open_source(path, encoding=wrong)
    path.write_text("age,town\n30,Köln\n", encoding=wrong)
    assert open_source(path, encoding=wrong).names == ("age", "town")


def test_the_encodings_to_try_are_others() -> None:
    assert [usual_beside(one) for one in ("utf8", "UTF-8", "ascii")] == [
        ["latin-1", "utf-16"],
        ["latin-1", "utf-16"],
        ["utf8", "latin-1"],
    ]


@pytest.mark.parametrize("name", ["utf-8-sig", "utf_8_sig", "UTF-8-SIG", "utf8", "UTF-8", "U8", "utf_8", "cp65001"])
def test_utf_8_has_many_names_and_its_mark_is_no_text(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_bytes("\ufefföre,y\n1,2\n".encode())
    source = open_source(tmp_path / "t.csv", encoding=name)
    assert [*source.names] == ["öre", "y"]
    source.close()


@pytest.mark.parametrize("name", ["utf9", "", "base64", "unicode_escape", "\0", 8])
def test_what_is_no_encoding_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(scumble.DataError, match="no encoding"):
        open_source(tmp_path / "t.csv", encoding=name)
