"""`scumble fit --ledger`: charged before the noise, with the very claim that the model makes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from scumble import Category, Date, Number, Schema, learn
from scumble.cli import main
from scumble.privacy.ledger import open_ledger


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
    start, end = ["--task", "classify", "--target", "mode"], ["--epsilon", "1", "--rows", "4", "--out", "m.scumble"]
    line = ["fit", "people.csv", *start, *end, "--schema"]
    for more, code, words in (
        (["open.toml"], 3, "Hint: name them all, --classes a,b"),
        (["closed.toml"], 4, "20 records have labels .* --unknown drop"),
        (["closed.toml", "--unknown", "drop", "--neighbors", "replace"], 3, "does not go with neighbors='replace'"),
        (["closed.toml", "--unknown", "drop"], 0, r"^Wrote m.scumble: .* Next: scumble predict m.scumble TABLE$"),
        (["open.toml", "--classes", "bus,car,boat"], 0, "^m.scumble is a fitted model already.*this fit adds to it"),
    ):
        assert main([*line, *more]) == code
        assert re.search(words, capsys.readouterr().err, re.MULTILINE)
    assert main(["info", "m.scumble"]) == 0
    card = capsys.readouterr().out
    assert "m.scumble: a fitted model" in card and "PrivateKDEClassifier" in card and "ε = 1, δ = 0" in card
    assert "age" in card and "boat, bus, car" in card
    assert main(["info", "m.scumble", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["columns"], facts["classes"]) == ("model", ["age"], ["boat", "bus", "car"])
    assert main(["info", "m.scumble", "--nist"]) == 2
    assert main(["query", "m.scumble", "people.csv"]) == 5
    assert "Hint: scumble predict asks it" in capsys.readouterr().err
    Path("holes.csv").write_text("age,mode\n4,bus\n,car\nunspeakable,\n")
    assert main(["fit", "holes.csv", *start, *end, "--classes", "bus", "--bounds", "age=0:9"]) == 4
    told = capsys.readouterr().err
    assert "holes.csv, line 3: cells are missing or unreadable: 2 in column 'age', 1 in column 'mode' (do not" in told
    assert "unspeakable" not in told and "--schema" in told


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
    ):
        assert main([*line, *more]) == 2
        assert words in capsys.readouterr().err and not Path("m.scumble").exists()
    assert main([*line, *regress, *bounds]) == 0
    Path("holes.csv").write_text('age\n4\n""\n')
    capsys.readouterr()
    assert main(["predict", "m.scumble", "holes.csv", "--columns", "age"]) == 4
    told = capsys.readouterr().err  # a model has its schema already, or none
    assert "holes.csv, line 3: a cell is missing" in told and "--schema" not in told
