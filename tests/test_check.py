"""`scumble check`: what the curator must know before a build, and nobody else; and what the release itself tells."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from scumble.cli import BAD_DATA, main

SCHEMA = """
[columns.town]
kind = "category"
values = ["Ulm", "Bonn"]
[columns.age]
kind = "number"
low = 0
high = 99
missing = true
[columns.sex]
kind = "boolean"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.toml").write_text(SCHEMA)
    towns, ages = ("Ulm ", "ULM", "unspeakable", "Bonn"), ("41", "unspeakable", "4711", "")
    rows = [f"{k % 50},{towns[k % 4]},{ages[k % 4]},{'yes' if k else 'unspeakable'}\n" for k in range(400)]
    Path("people.csv").write_text("id,town,age,sex\n" + "".join(rows))
    return tmp_path


def test_it_counts_what_the_schema_cannot_read_or_match(capsys: pytest.CaptureFixture[str]) -> None:
    check = ["check", "people.csv", "--schema", "people.toml"]
    before = sorted(os.listdir())
    assert main([*check, "--json", "--person-column", "id", "--records-per-person", "3"]) == BAD_DATA
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["secret"] is True and (found["rows"], found["rows_left_out"]) == (400, 1)
    town, age = found["columns"]["town"], found["columns"]["age"]
    assert (town["unmatched"], town["near_misses"], age["unreadable"], age["outside_bounds"]) == (200, 100, 100, 100)
    assert found["persons"] == {"persons": 50, "most_rows": 8, "with_too_many": 50, "rows_too_many": 250}
    assert main([*check, "--person-column", "id"]) == BAD_DATA
    told, more = capsys.readouterr()
    assert told.startswith("SECRET") and "100 values of 'town' match one of its words except for case" in told
    assert "50 of 50 persons have more than" in told and "1 with an unreadable" in told
    assert not any(word in text for word in ("unspeakable", "4711", "ULM") for text in (out, err, told, more))
    assert sorted(os.listdir()) == before, "nothing is written"


def test_records_left_out_for_an_empty_cell_are_told_how_to_stay(capsys: pytest.CaptureFixture[str]) -> None:
    Path("people.csv").write_text("town,age,sex\n" + "Ulm,41,\nUlm,41,no\n" * 50)
    check = ["check", "people.csv", "--schema", "people.toml"]
    assert main(check) == BAD_DATA
    assert "50 with a missing value in 'sex'" in (told := capsys.readouterr().out) and "missing = true" in told
    Path("people.toml").write_text(f"{SCHEMA}missing = true\n")
    assert main(check) == 0
    assert "missing = true" not in capsys.readouterr().out


@pytest.mark.parametrize("target", [None, "sex"])
def test_the_release_itself_tells_where_words_and_cells_went(
    target: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its noisy counts. Shares from 45 % to 55 % are right: at ε = 50 the scale of the noise is below 1, and
    noise of 18 of 399 records has a probability below 1e-7."""
    more = [] if target is None else ["--target", target]
    build = ["build", "people.csv", "--schema", "people.toml", "--epsilon", "50", "--out", "p.scumble", *more]
    assert main(build) == 0
    said = capsys.readouterr().err
    assert main(["info", "p.scumble"]) == 0
    card = " ".join(capsys.readouterr().out.split())
    for text in (said, card):
        shares = dict(re.findall(r"'\((\w+)\)' holds about (\d+) % of '(?:town|age)'", text))
        assert shares.keys() == {"other", "missing"} and all(45 <= int(share) <= 55 for share in shares.values())
        assert "% of 'sex'" not in text
    assert main([*build, "--quiet"]) == 0 and not capsys.readouterr().err
