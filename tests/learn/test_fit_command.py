"""`scumble fit` and `predict`: schemas, classes, rows that cannot be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from scumble import Boolean, Category, Date, Number, Schema, learn
from scumble.cli import main

ERROR = ["--invalid", "error"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_mixed_table_is_fitted_and_predicted_by_its_schema(capsys: pytest.CaptureFixture) -> None:
    """Words and dates as they are; what the model answers is what the same model in memory answers."""
    rows = [(f"2024-01-{1 + k % 28:02}", ("Ulm", "Bonn", "")[k % 3], ("bus", "car")[k % 3 == 1]) for k in range(300)]
    Path("people.csv").write_text("seen,town,mode\n" + "".join(",".join(row) + "\n" for row in rows))
    columns = {"seen": Date("2024-01-01", "2024-01-31"), "town": Category(["Ulm", "Bonn"], missing=True)}
    Schema(**columns, mode=Category(["bus", "car"])).save("town.toml")
    line = ["fit", "people.csv", "--task", "separate", "--target", "mode", "--classes", "bus,car"]
    line += ["--epsilon", "8", "--out", "m.scumble", "--schema", "town.toml"]
    assert main(line) == 0
    model = learn.load("m.scumble")
    assert model.schema_ == Schema(**columns)
    capsys.readouterr()
    assert main(["predict", "m.scumble", "people.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    expected = model.predict(pa.table({"town": [row[1] or None for row in rows], "seen": [row[0] for row in rows]}))
    assert [one["prediction"] for one in told] == expected.tolist()
    assert [(one["seen"], one["town"] or "") for one in told] == [row[:2] for row in rows]
    for more, words in ((["--bounds", "seen=0:1"], "leave out --bounds"), (["--columns", "age"], "no column 'age'")):
        assert main([*line, *more]) == 2
        assert words in capsys.readouterr().err


def test_a_fit_takes_its_classes_from_the_schema(capsys: pytest.CaptureFixture) -> None:
    """All that the target can hold is public where the schema lists it; no message quotes a cell."""
    rows = "".join(f"{k % 9},{('bus', 'car', 'boat')[k % 3]}\n" for k in range(60))
    Path("people.csv").write_text("age,mode\n" + rows)
    Schema(age=Number(0, 9), mode=Category(["bus", "car"], other=False)).save("closed.toml")
    Schema(age=Number(0, 9), mode=Category(["bus", "car"])).save("open.toml")
    Schema(age=Number(0, 9)).save("none.toml")
    start, end = ["--task", "classify", "--target", "mode"], ["--epsilon", "1", "--rows", "4", "--out", "m.scumble"]
    for more, code in (
        (["none.toml"], 3),
        (["open.toml", "--unknown", "error"], 4),
        (["open.toml"], 0),
        (["closed.toml", "--unknown", "drop", "--neighbors", "replace"], 3),
        (["closed.toml", "--unknown", "drop"], 0),
        (["open.toml", "--classes", "bus,car,boat"], 0),
    ):
        assert main(["fit", "people.csv", *start, *end, "--schema", *more]) == code
    capsys.readouterr()
    assert main(["info", "m.scumble", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["columns"], facts["classes"]) == ("model", ["age"], ["boat", "bus", "car"])
    for wrong in (["query", "m.scumble", "people.csv"], ["count", "m.scumble"]):
        assert main(wrong) == 5
    Path("holes.csv").write_text("age,mode\n4,bus\n,car\nunspeakable,\n")
    assert main(["fit", "holes.csv", *start, *end, "--classes", "bus", "--bounds", "age=0:9", *ERROR]) == 4
    told = capsys.readouterr().err
    assert "line 3" in told and "unspeakable" not in told


def test_a_schema_says_the_classes_of_a_boolean_and_the_bounds_of_a_number(capsys: pytest.CaptureFixture) -> None:
    """Each row that is left out is left out for its own cells, and counted once; without leave, the fit stops."""
    good = "".join(f"{k % 9},{('Ulm', 'Bonn', '')[k % 3]},{('yes', 'no')[k % 2]},{k % 7}\n" for k in range(60))
    bad = ",Ulm,yes,1\n3,Ulm,,\n3,Ulm,perhaps,unspeakable\n3,Rom,no,2\n99,Bonn,no,inf\n"
    Path("people.csv").write_text(f"age,town,smoker,km\n{good}{bad}")
    age, town = Number(0, 9, whole=True, outside="drop"), Category(["Ulm", "Bonn"], other=False)
    schema = Schema(age=age, town=town, smoker=Boolean(missing=True), km=Number(0, 6, missing=True))
    schema.save("town.toml")
    line = ["fit", "people.csv", "--schema", "town.toml", "--epsilon", "9", "--out", "m.scumble", "--columns"]
    smoker = ["age,town", "--target", "smoker", "--task", "separate"]
    regress = ["age,town,smoker", "--target", "km", "--task", "regress"]
    for words, code, told in (
        ([*smoker, *ERROR], 4, "line 62"),
        ([*smoker, "--invalid", "drop", "--unknown", "error"], 4, "2 records"),
        (smoker, 0, "5 records were left out"),
        ([*regress, "--invalid", "drop", "--neighbors", "replace"], 3, ""),
        ([*regress, "--neighbors", "replace"], 3, ""),
        (["age", "--target", "town", "--task", "regress"], 2, ""),
        (regress, 0, "5 records were left out"),
    ):
        assert main([*line, *words]) == code, words
        found = capsys.readouterr().err
        assert told in found and "unspeakable" not in found and "perhaps" not in found
        if words is smoker:
            model = learn.load("m.scumble")
            assert model.classes_.tolist() == [False, True] and model.schema_["age"] == Number(0, 9, whole=True)
    assert tuple(learn.load("m.scumble").target_bounds) == (0, 6)
    Path("few.csv").write_text("age,town,smoker\n4,Ulm,yes\n,Bonn,no\n4,Rom,no\n")
    assert main(["predict", "m.scumble", "few.csv"]) == 0
    told = capsys.readouterr().out
    assert re.fullmatch("4,Ulm,yes,[-.0-9]+\n,Bonn,no,\n4,Rom,no,", "\n".join(told.splitlines()[1:]))  # not 4.0


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_rows_that_cannot_be_read_keep_their_places_without_an_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, ending: str, classes: bool
) -> None:
    """In the first batch of a file as in a later one, whatever type the answers have; none at all is an error."""
    monkeypatch.setattr("scumble.sources.source.BATCH_ROWS", 2)
    kind, target = (
        (learn.PrivateKDEClassifier, {"classes": ["bus", "car"]})
        if classes
        else (learn.PrivateLinearRegression, {"target_bounds": (0, 1)})
    )
    table = pa.table({"age": [0.0, 1.0] * 20, "km": [1.0] * 40})
    model = kind(bounds=(0, 1), epsilon=9, **target).fit(table, ["bus", "car"] * 20 if classes else table["age"])
    model.save("m.scumble")
    Path("holes.csv").write_text("km,age\n1,\n1,old\n1,0.5\ninf,\n0,1\n")
    assert main(["predict", "m.scumble", "holes.csv", "--out", f"a.{ending}"]) == 0
    told = capsys.readouterr().err
    assert "3 rows have no answer: 2 with a missing value in 'age'; 1 with an unreadable" in told and "old" not in told
    found = {"csv": csv.read_csv, "json": _rows, "parquet": parquet.read_table}[ending](f"a.{ending}")
    expected = model.predict(pa.table({"age": [0.5, 1.0], "km": [1.0, 0.0]})).tolist()
    answers = [None if one == "" else one for one in found["prediction"].to_pylist()]
    assert answers == [None, None, expected[0], None, expected[1]]
    if classes:
        assert found["probability_bus"].is_null().to_pylist() == [True, True, False, True, False]
    Path("holes.csv").write_text("km,age\n1,\n1,old\n")
    assert main(["predict", "m.scumble", "holes.csv", "--out", f"b.{ending}"]) == 4
    told = capsys.readouterr().err
    assert "No row of holes.csv can be answered: 1 with a missing value in 'age'; 1 with an unreadable" in told
    assert not Path(f"b.{ending}").exists()


def _rows(path: str) -> pa.Table:
    return pa.Table.from_pylist(json.loads(Path(path).read_text()))


@pytest.mark.parametrize("task", ["classify", "separate", "regress", "add"])
@pytest.mark.parametrize("declared", ["bounds", "schema"])
@pytest.mark.parametrize("lines", ["", ",Ulm,1\nold,Ulm,1\n4,Ulm\n"], ids=["none", "bad"])
def test_no_record_decides_whether_there_is_a_model(task: str, declared: str, lines: str) -> None:
    Path("people.csv").write_text("age,town,km\n" + lines)
    Schema(age=Number(0, 9), town=Category(["Ulm", "Bonn"], other=False), km=Number(0, 6)).save("town.toml")
    line = ["fit", "people.csv", "--task", task, "--out", "m.scumble", "--epsilon", "1", "--delta", "1e-6"]
    line += ["--target", "km", "--target-bounds", "0:6"] if task in ("regress", "add") else ["--target", "town"]
    if declared == "schema":
        line += ["--schema", "town.toml"]
    else:
        line += ["--columns", "age", "--bounds", "age=0:9"]
        line += ["--classes", "Ulm,Bonn"] if "--target-bounds" not in line else []
    assert main(line) == 0
    model = learn.load("m.scumble")
    points = {"age": [4.0], "town": ["Ulm"], "km": [1.0]}
    assert model.predict(pa.table({name: points[name] for name in model.schema_ or ["age"]})).shape == (1,)
