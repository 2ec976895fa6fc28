"""``scumble sql``."""

from __future__ import annotations

import io
import json
import sys
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
from tests.sql.exactly import exactly, table

import scumble
from scumble.cli import main

PEOPLE = table(120)


@pytest.fixture(autouse=True)
def released(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Files are there, and hold releases that answer exactly; gives the paths that were asked for."""
    asked: list[str] = []

    def loaded(path: str) -> scumble.TableRelease:
        asked.append(path)
        return RELEASE

    for verb in ("sql", "count"):
        monkeypatch.setattr(f"scumble.cli.{verb}.table_release", loaded)
    monkeypatch.chdir(tmp_path)
    return asked


RELEASE = exactly(PEOPLE)
QUERY = "select smoker, count(*) as n, avg(score) as m from people group by smoker order by smoker"


def test_digits_tell_a_number_and_its_interval_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """As many as the interval's width asks for: none of a wide one, and no commas in what may be a year."""

    def answered(query: str, releases: object, confidence: float) -> pd.DataFrame:
        columns = {"mean": (1969.6512, 1969.5612, 1969.7423), "n": (751.94, 701.3, 802.6), "sum": (3e6, 2e6, 4e6)}
        columns |= {"rare": (0.00047, 0.0, 31.2), "none": (float("nan"), 0.0, 0.0), "known": (1200.0,) * 3}
        three = ("", "_low", "_high")
        cells = {f"{name}{end}": [x] for name, of in columns.items() for end, x in zip(three, of, strict=True)}
        return pd.DataFrame({"key": [1984.0], **cells})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("scumble.sql.asking"), "sql", answered)
        assert main(["sql", "people.scumble", "select 1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "1984",
        *("1969.65", "1969.56", "1969.74"),
        *("752", "701", "803"),
        *("3,000,000", "2,000,000", "4,000,000"),
        *("0", "0", "31"),
        *("NULL", "0", "0"),
        *("1200", "1200", "1200"),
    ]


def test_csv_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "people.scumble", QUERY, "--csv"]) == 0
    assert capsys.readouterr().out.startswith("smoker,n,n_low,n_high,m,m_low,m_high\nFalse,")
    query = (
        "select seen, count(*) as n, avg(age) as a from people where seen is null or seen = '2024-02-29' group by seen"
    )
    assert main(["sql", "people.scumble", query, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["seen"] for row in rows] == ["2024-02-29", None] and rows[1]["n"] == PEOPLE.seen.isna().sum()


def test_names_files_and_standard_input(
    capsys: pytest.CaptureFixture[str], released: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("ask.sql").write_text("-- how many\nselect count(*) as n\nfrom b;\n")
    assert main(["sql", "a.scumble", "b=c.scumble", "ask.sql", "--csv"]) == 0
    assert capsys.readouterr().out == "n,n_low,n_high\n120.0,120.0,120.0\n" and released == ["a.scumble", "c.scumble"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"select count(*) as n from a")))
    assert main(["sql", "a.scumble", "-", "--csv"]) == 0
    assert main(["sql", "-", "select count(*) as n from stdin", "--csv"]) == 0


def test_mistakes_have_the_codes_of_mistakes() -> None:
    for words, code in (
        (["a.scumble", "none.sql"], 4),
        (["a.scumble", "select 1", "--csv", "--json"], 2),
        (["a.scumble", "x/a.scumble", "select 1"], 2),
        (["-", "-"], 2),
        (["a.scumble", "drop table a"], 2),
    ):
        assert main(["sql", *words]) == code
