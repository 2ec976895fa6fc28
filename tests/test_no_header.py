"""A file without a header: its first record stands where the names should be, and no message shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble.cli import main
from scumble.columns.containers import like_a_record
from scumble.columns.schema import Schema
from scumble.errors import DataError
from scumble.sources import open_source

RECORD = ["Anna Schmidt", "54321", "ulm"]
SCHEMA = """
[columns.town]
kind = "category"
values = ["ulm", "bonn"]
[columns.zip]
kind = "number"
low = 0
high = 99999
"""


def _written(folder: Path, *records: list[str], name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text("".join(",".join(f'"{cell}"' for cell in record) + "\n" for record in records))
    return path


def _refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(argv) == 4
    told = capsys.readouterr()
    assert not told.out
    return told.err


@pytest.mark.parametrize(
    "cell",
    [
        *("54321", "$1,234.50", "1.234,50 €", "12 %", "-3", "2024-01-31", "31.01.2024", "1/31/24", "12:30"),
        *("31 Jan 2024", "January 31, 2024", "2024-01-31 12:30", "yes", "TRUE", "NA", "", " ", "Anna", "50 EUR"),
        "anna@example.org",
    ],
)
def test_cells_that_are_no_names_are_seen(cell: str) -> None:
    assert like_a_record(["Anna", "town", cell])


@pytest.mark.parametrize(
    "names",
    [["age", "income_2020", "post code", "Q1", "% of rent"], ["", "age"], ["Unnamed: 0", "x"], ["0", "1", "2"], ["x.1"]]
    + [["Anna Schmidt", "Ulm"], ["Date", "date"], ["No", "n", "x", "y"], ["Größe (cm)", "名前", "2nd home", "n°"]],
)
def test_names_are_seen(names: list[str]) -> None:
    assert not like_a_record(names)


def test_no_verb_shows_the_first_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = _written(tmp_path, RECORD, ["Bert Maier", "89073", "bonn"]), str(tmp_path / "x.scumble")
    schema = tmp_path / "people.toml"
    schema.write_text(SCHEMA)
    build = ["build", str(path), "--epsilon", "1", "--out", out]
    for argv in (
        ["schema", str(path)],
        [*build, "--bandwidth", "5"],
        [*build, "--bandwidth", "5", "--columns", "5432"],  # near to what is there
        [*build, "--schema", str(schema)],
        ["fit", str(path), "--task", "classify", "--target", "town", "--schema", str(schema), *build[2:]],
    ):
        told = _refused(argv, capsys)
        assert "must begin with a line of column names" in told, argv
        assert not any(cell in told.replace(str(path), "").replace("'5432'", "") for cell in RECORD), told
    assert not Path(out).exists()


def test_a_record_of_words_is_not_shown_where_several_columns_are_asked_for(tmp_path: Path) -> None:
    """One name may be misspelt; of several, one would be there, or be near."""
    source = open_source(_written(tmp_path, ["Schmidt", "ulm", "bus"], ["Maier", "bonn", "car"]))
    with pytest.raises(scumble.DataError, match="must begin with a line of column names") as told:
        source.require(["age", "zip"])
    assert "ulm" not in str(told.value)
    for asked in (["twon", "zip"], ["zip"]):
        with pytest.raises(scumble.DataError, match="It has: name, town"):
            open_source(_written(tmp_path, ["name", "town"])).require(asked)


def test_nor_do_sheets(tmp_path: Path) -> None:
    pd.DataFrame([["Anna Schmidt", 54321, "ulm"]] * 2).to_excel(tmp_path / "p.xlsx", index=False, header=False)
    with pytest.raises(scumble.DataError, match="must begin with a line of column names") as told:
        open_source(tmp_path / "p.xlsx").require(["town"])
    assert "54321" not in str(told.value)


def test_nor_do_frames_that_were_read_so(tmp_path: Path) -> None:
    path = _written(tmp_path, RECORD, ["Bert Maier", "89073", "bonn"])
    frame = pd.read_csv(path)
    sketch = scumble.Sketch(scumble.EuclideanKernel(5.0), columns=["age"], buckets=8, rows=2)
    for asked in (lambda: open_source(frame).require(["age"]), lambda: sketch.update(frame)):
        with pytest.raises(scumble.DataError, match=r"no column 'age'.* look like a record.*names=") as told:
            asked()
        assert "54321" not in str(told.value)
    numbered = pd.DataFrame(np.zeros((2, 3)), columns=["0", "1", "2"])
    with pytest.raises(scumble.DataError, match="It has: 0, 1, 2"):
        open_source(numbered).require(["age"])


def test_predict_shows_no_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _written(tmp_path, ["age", "zip"], *[[str(age), str(age)] for age in range(60)], name="train.csv")
    model = str(tmp_path / "model.scumble")
    fit = ["fit", str(tmp_path / "train.csv"), "--task", "regress", "--columns", "age", "--target", "zip"]
    assert main([*fit, "--bounds", "age=0:100", "--target-bounds", "0:100", "--epsilon", "1", "--out", model]) == 0
    capsys.readouterr()
    told = _refused(["predict", model, str(_written(tmp_path, RECORD, RECORD))], capsys)
    assert "lacks columns" in told and "must begin with a line of column names" in told and "54321" not in told


# ---- a column that holds the numbers of rows is never counted unasked ----


TOWN = pd.DataFrame({"age": np.arange(40.0), "income": np.linspace(10, 90, 40)})


@pytest.fixture
def town(tmp_path: Path) -> Path:
    TOWN.to_csv(tmp_path / "town.csv")
    return tmp_path / "town.csv"


def test_a_build_refuses_it_before_anything_is_spent(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = town.with_name("town.scumble")
    build = ["build", str(town), "--bandwidth", "5", "--epsilon", "1", "--out", str(out)]
    assert main(build) == 4
    assert "--columns age,income" in capsys.readouterr().err
    assert not out.exists()
    assert main([*build, "--columns", "age,income"]) == 0
    assert scumble.load(out).spec.columns == ("age", "income")


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__", " "])
def test_row_numbers_are_known_by_their_names(name: str) -> None:
    table = TOWN.assign(**{name: np.arange(40.0)})
    with pytest.raises(DataError, match="row numbers"):
        scumble.build(table, kernel=scumble.EuclideanKernel(5.0), epsilon=1.0)


def test_a_draft_leaves_it_out_and_says_so(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = town.with_name("draft.toml")
    assert main(["schema", str(town), "--out", str(draft)]) == 0
    assert "Left out" in capsys.readouterr().err
    text = draft.read_text()
    assert "[columns.age]" in text and '[columns.""]' not in text
    draft.write_text(text.replace('kind = "<?>"', 'kind = "number"\nlow = 0\nhigh = 100'))
    assert list(Schema.load(draft)) == ["age", "income"]
    assert main(["build", str(town), "--schema", str(draft), "--epsilon", "1", "--out", str(town) + ".scumble"]) == 0
