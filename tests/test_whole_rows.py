"""Answers come beside all that stood in the rows they are for, whatever the table's make."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scumble
from scumble import learn
from scumble.cli import main
from scumble.sources.source import BATCH_ROWS

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


@pytest.mark.parametrize("verb", ["predict", "query"])
@pytest.mark.parametrize("table", ["t.csv", "t.parquet", "t.xlsx", "t.jsonl"])
@pytest.mark.parametrize("out", ["a.csv", "a.parquet", "a.jsonl"])
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
    assert code == 0 and "Left out, since their names stand twice: 'id'." in err
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


def test_columns_that_change_their_type_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkdir("t")
    pq.write_table(pa.table({"age": [1.0], "id": [1]}), "t/0.parquet")
    pq.write_table(pa.table({"age": [1.0], "id": ["x"]}), "t/1.parquet")
    code, _, err = ask(capsys, "predict", "t", "--out", "a.parquet")
    assert code == 4 and "A column changes its type on the way, so 'a.parquet' cannot hold it." in err
    assert ask(capsys, "predict", "t", "--out", "a.csv")[0] == 0
    assert pd.read_csv("a.csv")["id"].tolist() == ["1", "x"]


@pytest.mark.parametrize("verb", ["predict", "query"])
def test_late_keys_of_json_lines_stay(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"age": 30}] * 300 + [{"age": 40, "late": "here"}, {"age": 1, "late": 7, "odd": [1]}]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ask(capsys, verb, "t.jsonl", "--out", "a.csv")[0] == 0
    found = pd.read_csv("a.csv")
    assert found["late"].isna().sum() == 300 and found["late"].tolist()[-2:] == ["here", "7"] and "odd" in found


def test_whole_numbers_are_spelled_alike_in_all_batches(capsys: pytest.CaptureFixture[str]) -> None:
    ages = [30.0] * BATCH_ROWS + [30.0, 40.5, None]
    pq.write_table(pa.table({"age": ages}), "t.parquet")
    for out in ("a.csv", "a.jsonl"):
        assert ask(capsys, "predict", "t.parquet", "--out", out)[0] == 0
    cells = [line.split(",")[0] for line in Path("a.csv").read_text().splitlines()[1:]]
    assert cells == ["30"] * BATCH_ROWS + ["30", "40.5", ""]
    spelled = [line.split(",")[0] for line in Path("a.jsonl").read_text().splitlines()]
    assert spelled == ['{"age": 30'] * BATCH_ROWS + ['{"age": 30', '{"age": 40.5', '{"age": null']


def test_nothing_is_printed_of_a_table_without_an_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("t.csv").write_text("age\nold\nyoung\n")
    code, out, err = ask(capsys, "predict", "t.csv")
    assert (code, out) == (4, "") and "No row of t.csv can be answered" in err
    Path("t.csv").write_text("age\nold\n30\n")
    code, out, _ = ask(capsys, "predict", "t.csv")
    assert code == 0 and len(out.splitlines()) == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"age": "old"}\n')))
    code, out, _ = ask(capsys, "predict", "-", "--format", "json")
    assert (code, out) == (4, "")
