"""`scumble fit --ledger`: charged before the noise, with the very claim that the model makes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from scumble import Boolean, Category, Date, Number, Schema, learn
from scumble.cli import main
from scumble.errors import CorruptFileError
from scumble.learn import models, saving
from scumble.privacy.ledger import open_ledger

ERROR = ["--invalid", "error"]


def test_a_fit_is_charged_until_the_budget_is_spent(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table, book = tmp_path / "people.csv", tmp_path / "town.ledger"
    table.write_text("age,mode\n" + "".join(f"{age},{'bus' if age < 40 else 'car'}\n" for age in range(20, 60)))
    assert main(["ledger", str(book), "--open", "people", "--epsilon", "1.5"]) == 0
    line = f"fit {table} --task classify --columns age --target mode --classes bus,car --bounds age=0:100 --epsilon 1"
    account = ["--ledger", str(book), "--dataset", "people", "--out"]
    assert main([*line.split(), *account, str(tmp_path / "one.scumble")]) == 0
    account_now = open_ledger(book).account("people")
    assert float(account_now.spent.epsilon) == pytest.approx(1.0)
    assert [charge.identity for charge in account_now.charges] == [learn.load(tmp_path / "one.scumble").identity_]
    capsys.readouterr()
    assert main([*line.split(), *account, str(tmp_path / "two.scumble")]) == 3
    assert "left" in capsys.readouterr().err
    assert not (tmp_path / "two.scumble").exists()
    assert float(open_ledger(book).account("people").spent.epsilon) == pytest.approx(1.0)


def test_a_mixed_table_is_fitted_and_predicted_by_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Words and dates as they are; what the model answers is what the same model in memory answers."""
    rows = [(f"2024-01-{1 + k % 28:02}", ("Ulm", "Bonn", "")[k % 3], ("bus", "car")[k % 3 == 1]) for k in range(300)]
    (tmp_path / "people.csv").write_text("seen,town,mode\n" + "".join(",".join(row) + "\n" for row in rows))
    columns = {"seen": Date("2024-01-01", "2024-01-31"), "town": Category(["Ulm", "Bonn"], missing=True)}
    Schema(**columns, mode=Category(["bus", "car"])).save(tmp_path / "town.toml")
    line = ["fit", str(tmp_path / "people.csv"), "--task", "separate", "--target", "mode", "--classes", "bus,car"]
    line += ["--epsilon", "8", "--out", str(tmp_path / "m.scumble"), "--schema", str(tmp_path / "town.toml")]
    assert main(line) == 0
    model = learn.load(tmp_path / "m.scumble")
    assert model.schema_ == Schema(**columns)
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "m.scumble"), str(tmp_path / "people.csv"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    expected = model.predict(pa.table({"town": [row[1] or None for row in rows], "seen": [row[0] for row in rows]}))
    assert [one["prediction"] for one in told] == expected.tolist()
    assert [(one["seen"], one["town"] or "") for one in told] == [row[:2] for row in rows]
    for more, words in (
        (["--bounds", "seen=0:1"], "leave out --bounds"),
        (["--columns", "age"], "no column 'age'"),
    ):
        assert main([*line, *more]) == 2
        assert words in capsys.readouterr().err


def test_a_fit_takes_its_classes_from_the_schema_and_speaks_of_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """All that the target can hold is public where the schema lists it; what cannot be learnt from is told by place."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 9},{('bus', 'car', 'boat')[k % 3]}\n" for k in range(60))
    Path("people.csv").write_text("age,mode\n" + rows)
    Schema(age=Number(0, 9), mode=Category(["bus", "car"], other=False)).save("closed.toml")
    Schema(age=Number(0, 9), mode=Category(["bus", "car"])).save("open.toml")
    Schema(age=Number(0, 9)).save("none.toml")
    start, end = ["--task", "classify", "--target", "mode"], ["--epsilon", "1", "--rows", "4", "--out", "m.scumble"]
    line = ["fit", "people.csv", *start, *end, "--schema"]
    for more, code, words in (
        (["none.toml"], 3, "Hint: name them all, --classes a,b"),
        (
            ["open.toml", "--unknown", "error"],
            4,
            r"20 records have labels .* \(do not publish this\)\. .*--unknown drop",
        ),
        (
            ["open.toml"],
            0,
            r"^20 rows were left out: 20 of none of the classes in 'mode' \(do not",
        ),
        (["closed.toml", "--unknown", "error"], 4, "20 records have labels .* --unknown drop"),
        (["closed.toml", "--unknown", "drop", "--neighbors", "replace"], 3, "does not go with --neighbors replace"),
        (
            ["closed.toml", "--unknown", "drop"],
            0,
            r"(?s)^20 rows were left out.*^Wrote m.scumble: .* Next: scumble predict m.scumble TABLE$",
        ),
        (
            ["open.toml", "--classes", "bus,car,boat"],
            0,
            "^m.scumble is a fitted model already.*this fit will add to it",
        ),
    ):
        assert main([*line, *more]) == code
        assert re.search(words, capsys.readouterr().err, re.MULTILINE)
    assert main(["info", "m.scumble"]) == 0
    card = capsys.readouterr().out
    assert "m.scumble: a fitted model" in card and "PrivateKDEClassifier" in card and "ε = 1, δ = 0" in card
    assert "age" in card and "boat, bus, car" in card
    assert re.search("Learnt from +noisy counters of each of 3 classes: 4 rows", card)
    assert re.search(r"column \(bandwidth [0-9.]+ of the bounds of each column, power [0-9]+\)", " ".join(card.split()))
    assert main(["info", "m.scumble", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["columns"], facts["classes"]) == ("model", ["age"], ["boat", "bus", "car"])
    assert main(["info", "m.scumble", "--nist"]) == 2
    for line, what in ((["query", "people.csv"], "a release"), (["count"], "the release of a table")):
        assert main([line[0], "m.scumble", *line[1:]]) == 5
        told = f"it holds a fitted model, not {what}. Hint: scumble predict asks it"
        assert told in capsys.readouterr().err
    Path("holes.csv").write_text("age,mode\n4,bus\n,car\nunspeakable,\n")
    assert main(["fit", "holes.csv", *start, *end, "--classes", "bus", "--bounds", "age=0:9", *ERROR]) == 4
    told = capsys.readouterr().err
    assert "holes.csv, line 3: cells are missing or unreadable: 2 in column 'age' (do not" in told
    assert "unspeakable" not in told and "--schema" in told and "--invalid drop" in told


def test_a_schema_says_the_classes_of_a_boolean_and_the_bounds_of_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Each row that is left out is left out for its own cells, and counted once; without leave, the fit stops."""
    monkeypatch.chdir(tmp_path)
    good = "".join(f"{k % 9},{('Ulm', 'Bonn', '')[k % 3]},{('yes', 'no')[k % 2]},{k % 7}\n" for k in range(60))
    bad = ",Ulm,yes,1\n3,Ulm,,\n3,Ulm,perhaps,unspeakable\n3,Rom,no,2\n99,Bonn,no,inf\n"
    Path("people.csv").write_text(f"age,town,smoker,km\n{good}{bad}")
    age, town = Number(0, 9, whole=True, outside="drop"), Category(["Ulm", "Bonn"], other=False)
    schema = Schema(age=age, town=town, smoker=Boolean(missing=True), km=Number(0, 6, missing=True))
    schema.save("town.toml")
    line = ["fit", "people.csv", "--schema", "town.toml", "--epsilon", "9", "--out", "m.scumble", "--columns"]
    smoker = ["age,town", "--target", "smoker", "--task", "separate"]
    regress = ["age,town,smoker", "--target", "km", "--task", "regress"]
    drop = ["--invalid", "drop"]
    for words, code, told in (
        (
            [*smoker, *ERROR],
            4,
            "line 62: cells are .*: 1 in column 'age', 1 in column 'town'.* --invalid drop; or declare",
        ),
        (
            [*smoker, *drop, "--unknown", "error"],
            4,
            "2 records have labels that are missing or not in .*--unknown drop",
        ),
        (smoker, 0, "^5 rows were left out: .*2 of none of the classes in 'smoker'"),
        ([*regress, *ERROR], 4, "line 62: .*, 3 in column 'km' .*--invalid drop"),
        (regress, 0, "^5 rows were left out: .*1 with a missing cell in 'km', 1 with a cell unreadable"),
        ([*regress, *drop, "--neighbors", "replace"], 3, "--invalid drop does not go with --neighbors replace"),
        ([*regress, "--neighbors", "replace"], 3, 'outside = "drop" does not go with --neighbors replace'),
        (["age", "--target", "town", "--task", "regress"], 2, "'town' is a category. Hint: --task classify"),
        (["age", "--target", "smoke", "--task", "separate"], 4, "There is no column 'smoke'.* Did you mean 'smoker'"),
    ):
        assert main([*line, *words]) == code, words
        found = capsys.readouterr().err
        assert re.search(told, found, re.MULTILINE), found
        assert "unspeakable" not in found and "perhaps" not in found
        if words[2] == "smoker" and not code:
            model = learn.load("m.scumble")
            assert model.classes_.tolist() == [False, True] and model.schema_["age"] == Number(0, 9, whole=True)
    model = learn.load("m.scumble")
    assert tuple(model.target_bounds) == (0, 6)
    Path("few.csv").write_text("age,town,smoker\n4,Ulm,yes\n,Bonn,no\n4,Rom,no\n")
    assert main(["predict", "m.scumble", "few.csv"]) == 0
    told, said = capsys.readouterr()
    assert re.fullmatch("4,Ulm,yes,[-.0-9]+\n,Bonn,no,\n4,Rom,no,", "\n".join(told.splitlines()[1:]))  # not 4.0
    assert said.startswith("2 rows have no answer: 1 with a missing cell")
    assert "; 1 with a word that the schema does not have in 'town'." in said
    Path("few.csv").write_text("age,town,smoker,km\n,Ulm,,1\n")
    assert main(["fit", "few.csv", *line[2:], *regress, *drop]) == 4
    assert "No row of few.csv is left: 1 with a missing cell" in capsys.readouterr().err


def test_options_that_a_task_does_not_heed_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,mode,km\n" + "4,bus,1\n" * 20)
    line = ["fit", "people.csv", "--columns", "age", "--bounds", "age=0:9", "--epsilon", "1", "--out", "m.scumble"]
    regress, classify = ["--task", "regress", "--target", "km"], ["--task", "classify", "--target", "mode"]
    bounds = ["--target-bounds", "0:9"]
    for more, words in (
        ([*regress, *bounds, "--unknown", "drop"], "--unknown is for a target that has classes, and --task is regress"),
        ([*regress, *bounds, "--classes", "bus"], "--classes is for a target that has classes"),
        ([*classify, *bounds, "--classes", "bus"], "--target-bounds is for a target to regress"),
        ([*regress, *bounds, "--rho", "0.1"], "in one currency, not in --epsilon and --rho"),
    ):
        assert main([*line, *more]) == 2
        assert words in capsys.readouterr().err and not Path("m.scumble").exists()
    line[5] = "age=0:9,km=-1:42.5"
    for more, hint in (([], "--target-bounds=-1:42.5"), (bounds, "leave them out")):
        assert main([*line, *regress, *more]) == 2
        assert f"to learn from, and 'km' is the target. Hint: {hint}." in capsys.readouterr().err
    line[5] = "age=0:9"
    assert main([*line, *regress, *bounds]) == 0
    Path("holes.csv").write_text('age\n4\n""\n')
    capsys.readouterr()
    assert main(["predict", "m.scumble", "holes.csv", "--columns", "age"]) == 0
    assert "1 row has no answer: 1 with a missing cell in 'age'." in capsys.readouterr().err


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_rows_that_cannot_be_read_keep_their_places_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, ending: str, classes: bool
) -> None:
    """In the first batch of a file as in a later one, whatever type the answers have; none at all is an error."""
    monkeypatch.chdir(tmp_path)
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
    assert (
        "3 rows have no answer: 2 with a missing cell in 'age'; 1 with a cell unreadable" in told and "old" not in told
    )
    found = {"csv": csv.read_csv, "json": _rows, "parquet": parquet.read_table}[ending](f"a.{ending}")
    expected = model.predict(pa.table({"age": [0.5, 1.0], "km": [1.0, 0.0]})).tolist()
    answers = [one or None for one in found["prediction"].to_pylist()]
    assert answers == [None, None, expected[0], None, expected[1]]
    if classes:
        assert found["probability_bus"].is_null().to_pylist() == [True, True, False, True, False]
    Path("holes.csv").write_text("km,age\n1,\n1,old\n")
    assert main(["predict", "m.scumble", "holes.csv", "--out", f"b.{ending}"]) == 4
    told = capsys.readouterr().err
    assert "No row of holes.csv can be answered: 1 with a missing cell in 'age'; 1 with a cell unreadable" in told
    assert not Path(f"b.{ending}").exists()


def _rows(path: str) -> pa.Table:
    return pa.Table.from_pylist(json.loads(Path(path).read_text()))


def test_a_fit_has_no_column_of_persons(capsys: pytest.CaptureFixture) -> None:
    assert main(["fit", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "protected as a whole: your word, nothing enforces it" in told and "person column" not in told
    line = "fit people.csv --task regress --target km --out m.scumble --records-per-person 3 --person-column who"
    assert main(line.split()) == 2
    told = capsys.readouterr().err
    assert "fit has no --person-column, so --records-per-person is your word" in told and "Did you" not in told


def test_a_fit_takes_the_target_from_the_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """A number's bounds, the two values of a boolean; a misspelt target is asked about; rows come back as they are."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,smoker,km\n" + "".join(f"{k % 9},{k % 2},{k % 5}.5\n" for k in range(60)))
    Schema(age=Number(0, 9), smoker=Boolean(), km=Number(0, 9)).save("s.toml")
    line = ["fit", "people.csv", "--schema", "s.toml", "--epsilon", "1", "--rows", "8", "--out", "m.scumble"]
    assert main([*line, "--task", "regress", "--target", "km"]) == 0
    assert learn.load("m.scumble").target_bounds == (0, 9)
    assert main([*line, "--task", "classify", "--target", "smoker"]) == 0
    assert learn.load("m.scumble").classes_.tolist() == [False, True]
    assert main([*line, "--task", "classify", "--target", "smoker", "--classes", "yes,no"]) == 0
    assert learn.load("m.scumble").classes_.tolist() == ["no", "yes"], "what the classes are called; cells are 0 and 1"
    for classes in ("yes,true", "bus,car", "yes"):
        assert main([*line, "--task", "classify", "--target", "smoker", "--classes", classes]) == 2
        assert "--classes must be a word for yes and one for no" in capsys.readouterr().err
    assert main(["predict", "m.scumble", "people.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("1,1,1.5,")
    assert main([*line, "--task", "classify", "--target", "smoke"]) == 4
    assert "Did you mean 'smoker'?" in capsys.readouterr().err


def test_a_model_knows_its_columns_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """A table has them in any order, among others; what lacks them is no table for this model."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,km,years\n" + "".join(f"{k % 90},{k % 7},{k % 90}\n" for k in range(900)))
    line = ["fit", "people.csv", "--task", "regress", "--columns", "age,km", "--bounds", "km=0:7,age=0:90"]
    line += ["--target", "years", "--target-bounds", "0:90", "--epsilon", "20", "--out", "m.scumble"]
    assert main(line) == 0
    assert capsys.readouterr().err.endswith("Next: scumble predict m.scumble TABLE\n")
    model = learn.load("m.scumble")
    expected = model.predict(pa.table({"age": [5.0, 80.0], "km": [2.0, 6.0]})).tolist()
    assert expected[1] - expected[0] > 30  # it matters which is which
    Path("others.csv").write_text("town,km,age\nUlm,2,5\nBonn,6,80\n")
    for more in ([], ["--columns", "age,km"], ["--columns", "km,age"]):
        assert main(["predict", "m.scumble", "others.csv", "--json", *more]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [(one["age"], one["km"], one["prediction"]) for one in told] == [
            (5, 2, expected[0]),
            (80, 6, expected[1]),
        ]
    Path("foreign.csv").write_text("town,kms\nUlm,2\n")
    for words, code, said in (
        (["others.csv", "--columns", "town,km"], 2, "--columns must name the columns of the fit, age, km. Hint: leave"),
        (
            ["foreign.csv"],
            4,
            "foreign.csv lacks columns that the model was fitted to: 'age', 'km'. .*It has: town, kms",
        ),
    ):
        assert main(["predict", "m.scumble", *words]) == code
        assert re.search(said, capsys.readouterr().err)
    assert main(["info", "m.scumble"]) == 0
    assert re.search(r"Columns +age, km", capsys.readouterr().out)


def test_a_model_without_names_is_told_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """As arrays have none, and earlier files: by their order, and no cell is read before they are as many."""
    monkeypatch.chdir(tmp_path)
    X = np.column_stack([np.arange(90.0), np.arange(90.0) % 7])
    made = learn.PrivateLinearRegression(bounds=([0, 0], [90, 7]), target_bounds=(0, 90), epsilon=20)
    made.fit(X, X[:, 0]).save("m.scumble")
    Path("others.csv").write_text("town,km,age\nUlm,2,5\n")
    assert main(["predict", "m.scumble", "others.csv"]) == 4
    assert "fitted to 2 columns without names, and there are 3. Hint: --columns" in capsys.readouterr().err
    assert main(["predict", "m.scumble", "others.csv", "--columns", "age,km", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["age"], told["km"], told["prediction"]) == (5, 2, made.predict([[5.0, 2.0]])[0])


def test_a_file_with_other_names_than_columns_is_no_model() -> None:
    made = learn.PrivateLinearRegression(bounds=(0, 1), target_bounds=(0, 1))
    made.fit(pa.table({"a": [0.0, 1.0]}), [0.0, 1.0])
    made.feature_names_in_ = np.array(["a", "b"], dtype=object)
    with pytest.raises(CorruptFileError, match="names"):
        models.from_bytes(saving.to_bytes(made))


def test_the_share_of_rows_of_no_class_is_one_of_all_rows_as_that_of_a_build(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "40,bus\n50,car\n" * 150 + "45,tram\n" * 100 + "old,bus\n" * 100
    Path("people.csv").write_text("age,mode\n" + rows)
    words = ["--classes", "bus,car", "--columns", "age", "--bounds", "age=0:100", "--epsilon", "1", "--invalid", "drop"]
    fit = ["fit", "people.csv", "--task", "classify", "--target", "mode", "--unknown", "drop", "--out", "m.scumble"]
    for verb in (fit, ["build", "people.csv", "--label", "mode", "--bandwidth", "9", "--out", "b.scumble"]):
        assert main([*verb, *words]) == 0
        told = capsys.readouterr().err
        assert (
            "WARNING: 20 % of the rows are of none of the classes" in told and "In 'age', numbers are read as" in told
        )
    assert main(["predict", "m.scumble", "people.csv", "--out", "answers.csv"]) == 0  # which may be the private table
    assert "the rows of people.csv with an answer beside each, as private as they are" in capsys.readouterr().err
