"""What a stranger met who tried scumble with only its README and --help."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble.cli import main
from scumble.columns.draft import Words, draft
from scumble.errors import ParameterError
from scumble.sources.drafting import KINDS, placed

SCHEMA = '[columns.age]\nkind = "number"\nlow = 0\nhigh = 99\nwhole = true\n[columns.id]\nkind = "distinct"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, a schema and a release, in which all commands run."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"age": [30, 40] * 500, "id": range(1000)}).to_csv("t.csv", index=False)
    Path("t.toml").write_text(SCHEMA)
    assert main(["build", "t.csv", "--schema", "t.toml", "--epsilon", "5", "--quiet", "--out", "t.scumble"]) == 0
    return tmp_path


@pytest.mark.parametrize(
    "verb, option",
    [("info", "--html"), ("explore", "--export"), ("evidence", "--out"), ("plot", "--out")],
)
def test_a_dash_never_names_a_file(folder: Path, verb: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "t.scumble", option, "-"]) == 2
    assert "cannot go to standard output. Hint: name a file" in capsys.readouterr().err
    assert not (folder / "-").exists()


def test_a_column_of_distinct_values_is_known_to_conditions(folder: Path) -> None:
    release = scumble.load("t.scumble")
    for ask in (
        lambda: release.count("id > 3"),
        lambda: release.count({"id": 3}),
        lambda: scumble.sql("select count(*) from t where id = 3", t=release),
    ):
        with pytest.raises(
            ParameterError, match=r"'id', only distinct values were counted. Hint: ask distinct\('id'\)"
        ):
            ask()


def test_a_refused_fit_takes_back_what_it_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ["fit", "t.csv", "--task", "classify", "--columns", "age", "--bounds", "0:99", "--target", "id"]
    paid = Path("t.scumble").read_bytes()
    assert main([*fit, "--epsilon", "1", "--out", "t.scumble"]) == 3
    said = capsys.readouterr().err
    assert "kept as t.1.scumble" in said and "Nothing took the place of t.scumble" in said
    assert Path("t.scumble").read_bytes() == paid and not Path("t.1.scumble").exists()


def seen(*words: str) -> str:
    """What a look at a column of these words writes."""
    return draft({"x": None}, seen={"x": Words(words)}).split("[columns.x]")[1]


def test_codes_with_leading_zeros_are_words() -> None:
    zips = [f"{number:05}" for number in (1067, 4109, 10115, 80331)] * 50
    assert 'kind = "category"' in seen(*zips) and '"01067"' in seen(*zips)
    assert 'kind = "number"' in seen(*map(str, range(200)), "0", "0.5")
    assert KINDS[placed(b"01067")[0]] == "text" and KINDS[placed(b"0")[0]] == "whole" == KINDS[placed(b"10")[0]]
    many = pd.DataFrame({"zip": zips * 50})
    assert scumble.draft(many, epsilon=2.0, delta=1e-6).declared["zip"].kind == "category"


def test_a_look_tells_of_decimal_commas() -> None:
    random.seed(0)
    assert 'decimal = ","' in seen(*(f"{random.gauss(70, 9):.1f}".replace(".", ",") for _ in range(99)))
    assert "decimal" not in seen("1,234.50", "17", "0.5") + seen("Ulm", "Bonn, West")


def test_the_remarks_of_a_private_draft_are_true(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame({"x": np.arange(5000) % 90, "empty": [None] * 5000})
    frame.to_csv(tmp_path / "many.csv", index=False)
    frame[:0].to_csv(tmp_path / "none.csv", index=False)
    options = ["--epsilon", "1", "--delta", "1e-6", "--quiet"]
    assert main(["schema", str(tmp_path / "many.csv"), *options]) == 0
    x, empty = capsys.readouterr().out.split("[columns.")[1:]
    assert "all but empty" in empty and "all but empty" not in x and "noise hides what" not in x
    for _ in range(5):
        assert main(["schema", str(tmp_path / "none.csv"), *options]) == 0
        text = capsys.readouterr().out
        assert text.count("noise hides what it holds") == 2 and "about 1 records" not in text
        shares = [
            int(line.split("% of all missing")[0].split()[-1]) for line in text.splitlines() if "% of all" in line
        ]
        assert all(share <= 100 for share in shares) and len(shares) == 2


def test_counts_of_one_are_singular(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.csv").write_text("age,id\n3,4\n")
    main(["check", "one.csv", "--schema", "t.toml"])
    assert "1 record read." in capsys.readouterr().out
    assert "only 1 number;" in seen("5", "5", "5")


def test_a_note_on_rare_words_sends_nobody_to_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["often"] * 2000 + [f"rare {number}" for number in range(2000)]
    pd.DataFrame({"word": words, "age": 30}).to_csv("w.csv", index=False)
    Path("w.toml").write_text('[columns.word]\nkind = "category"\ndiscover = true\n' + SCHEMA.split("[columns.id]")[0])
    build = ["build", "w.csv", "--schema", "w.toml", "--epsilon", "3", "--delta", "1e-6", "--out", "w.scumble"]
    assert main(build) == 0
    (note,) = [line for line in capsys.readouterr().err.splitlines() if "of 'word'" in line]
    assert note.endswith("of 'word', its words of too few records to be found privately.")


def test_hints_fit_where_they_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ["fit", "t.csv", "--task", "logistic", "--columns", "age", "--bounds", "0:99", "--target", "id"]
    assert main([*fit, "--classes", "1,2", "--epsilon", "1", "--out", "m.scumble"]) == 2
    assert "Hint: --delta 1e-6" in capsys.readouterr().err
    schema = scumble.Schema(day=scumble.Date("2024-01-01", "2024-12-31"), age=scumble.Number(0, 99))
    days = pd.DataFrame({"day": ["2024-02-01"] * 9, "age": 3})
    release = scumble.build(days, schema=schema, epsilon=1.0)
    with pytest.raises(ParameterError, match=r"write strftime\(column, '%m'\)"):
        scumble.sql("select strftime('%m', day) as m, count(*) from t group by m", t=release)


def test_the_column_of_persons_in_a_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build = ["build", "t.csv", "--schema", "t.toml", "--epsilon", "1", "--out", "p.scumble", "--person-column", "id"]
    assert main([*build, "--records-per-person", "2"]) == 2
    assert "Column 'id' is that of the person, and cannot be counted, too. Hint: leave it out of the schema" in (
        capsys.readouterr().err
    )


def test_a_sample_that_no_memory_holds_is_refused(folder: Path) -> None:
    with pytest.raises(ParameterError, match=r"`n` must be at most 1,000,000,000, .* Hint: sample_batches gives any"):
        scumble.load("t.scumble").sample(10**12)
