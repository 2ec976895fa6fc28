"""Answers come next to the rows they are for, whatever the table's make."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest

import scumble
from scumble import learn
from scumble.cli import main

TABLE = pd.DataFrame({"id": ["a", "b", "c"], "age": [30, 40.5, 50], "km": [1, 2, 3], "seen": ["x", None, "z"]})


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of ages, a release of them, and rows to ask about."""
    monkeypatch.chdir(tmp_path)
    X = pd.DataFrame({"age": [20.0, 60.0] * 500})
    learn.PrivateLinearRegression(bounds=(0, 100), target_bounds=(0, 100), epsilon=1.0).fit(X, X["age"]).save(
        "m.scumble"
    )
    kernel = scumble.EuclideanKernel(bandwidth=10.0)
    scumble.build(X, kernel, bounds=(0, 100), epsilon=1.0).save("d.scumble")


def ask(capsys: pytest.CaptureFixture[str], verb: str, table: str, *more: str) -> tuple[int, str, str]:
    model = {"predict": "m.scumble", "query": "d.scumble"}[verb]
    code = main([verb, model, table, *more])
    out, err = capsys.readouterr()
    return code, out, err


TABLES = ["t.csv", "t.parquet", "t.xlsx", "t.jsonl"]
ANSWERS = ["a.parquet", "a.arrow", "a.json", "a.jsonl"]


@pytest.mark.parametrize("verb", ["predict", "query"])
@pytest.mark.parametrize(
    ("table", "out"), [*((table, "a.csv") for table in TABLES), *(("t.parquet", out) for out in ANSWERS)]
)
def test_other_columns_stay_beside_the_answers(
    verb: str, table: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if table == "t.csv":
        TABLE.to_csv(table, index=False)
    elif table == "t.parquet":
        TABLE.to_parquet(table)
    elif table == "t.xlsx":
        TABLE.to_excel(table, index=False)
    else:
        TABLE.to_json(table, orient="records", lines=True)
    assert ask(capsys, verb, table, "--out", out)[0] == 0
    found = {
        "a.csv": lambda: pd.read_csv(out),
        "a.parquet": lambda: pd.read_parquet(out),
        "a.arrow": lambda: pd.read_feather(out),
        "a.json": lambda: pd.read_json(out),
        "a.jsonl": lambda: pd.read_json(out, lines=True),
    }[out]()
    assert list(found)[:4] == list(TABLE) and len(found) == 3
    assert found["id"].tolist() == ["a", "b", "c"] and found["age"].tolist() == [30, 40.5, 50]
    assert [cell if isinstance(cell, str) else None for cell in found["seen"]] == ["x", None, "z"]
    assert [float(cell) for cell in found["km"]] == [1, 2, 3]
    if verb == "predict":
        assert list(found)[4:] == ["prediction"] and found["prediction"].notna().all()


@pytest.mark.parametrize("verb", ["predict", "query"])
def test_names_that_stand_twice_are_left_out_and_told(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_text("id,age,id,prediction,kernel_sum\n1,30,2,7,8\n")
    code, out, err = ask(capsys, verb, "t.csv")
    assert code == 0 and "Left out because their names occur twice: 'id'." in err
    header = out.splitlines()[0].split(",")
    assert header[:3] == ["age", "prediction", "kernel_sum"]
    assert header[3] == ("scumble_prediction" if verb == "predict" else "scumble_kernel_sum")
    Path("t.csv").write_text("age,age\n1,30\n")
    code, _, err = ask(capsys, verb, "t.csv")
    assert code == 4 and "has 2 columns 'age'. Hint: give each its own name." in err


@pytest.mark.parametrize("verb", ["predict", "query"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_folder_whose_files_differ_has_missing_cells(
    verb: str, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkdir("t")
    for k, columns in enumerate((["age", "id"], ["km", "age"])):
        part = TABLE[columns]
        part.to_csv(f"t/{k}.csv", index=False) if ending == "csv" else part.to_parquet(f"t/{k}.parquet")
    for out in ("a.csv", "a.parquet"):
        assert ask(capsys, verb, "t", "--out", out)[0] == 0
    found = pd.read_csv("a.csv")
    assert list(found)[:3] == ["age", "id", "km"] and len(found) == 6
    assert found["id"].isna().tolist() == [False] * 3 + [True] * 3 == (~found["km"].isna()).tolist()
    os.unlink(f"t/0.{ending}")
    TABLE[["id"]].to_csv("t/2.csv", index=False) if ending == "csv" else TABLE[["id"]].to_parquet("t/2.parquet")
    code, _, err = ask(capsys, verb, "t")
    assert code == 4 and "There is no column 'age' in" in err  # what is asked about must be in all


@pytest.mark.parametrize("verb", ["predict", "query"])
def test_late_keys_of_json_lines_stay(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"age": 30}] * 300 + [{"age": 40, "late": "here"}, {"age": 1, "late": 7, "odd": [1]}]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ask(capsys, verb, "t.jsonl", "--out", "a.csv")[0] == 0
    found = pd.read_csv("a.csv")
    assert found["late"].isna().sum() == 300 and found["late"].tolist()[-2:] == ["here", "7"] and "odd" in found
