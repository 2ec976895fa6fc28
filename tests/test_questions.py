"""What ``scumble schema`` asks somebody at a terminal, and that options say the same without one."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

import scumble
from scumble.cli import main

pty = pytest.importorskip("pty", reason="a terminal of a Unix")

ROWS = ["K1;Ann;16.11.1948;Ulm;1.502,36 €;4;ja", "K2;Bob;unbekannt;Bonn;k.A.;99;nein", "K1;Ann;2.1.1950;Rom;7,5;1;ja"]
OPTIONS = {
    "--person-column": "Nr",
    "--records-per-person": "8",
    "--leave-out": "Name",
    "--whole": "Sterne=1:5",
    "--numbers": "Umsatz=0:10000",
    "--decimal": ",",
    "--dates": "Geboren=1900:2009",
    "--date-format": "31.12.2024",
    "--categories": "Ort=@orte.txt,Mitglied=ja|nein",
    "--missing-words": "k.A.,unbekannt,99",
}


@pytest.fixture(autouse=True)
def _table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("orte.txt").write_text("Ulm\n\n Bonn \nUlm\nRom\n")
    Path("kunden.csv").write_text("Nr;Name;Geboren;Ort;Umsatz;Sterne;Mitglied\n" + "".join(f"{r}\n" for r in ROWS * 20))


def converse(*words: str, answers: list[str]) -> tuple[int, str]:
    """The exit code of a verb at a real terminal, and what the terminal showed; one line for each prompt."""
    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "scumble", *words]
    with subprocess.Popen(line, stdin=theirs, stderr=theirs, stdout=theirs, start_new_session=True) as verb:
        os.close(theirs)
        shown, left = b"", [*answers]
        while select.select([ours], [], [], 120)[0]:
            try:
                data = os.read(ours, 4096)
            except OSError:  # Linux: the other side is closed
                break
            if not data:
                break
            shown += data
            if shown.endswith(b"] "):
                os.write(ours, left.pop(0).encode() + b"\n" if left else b"\x04")
        code = verb.wait(120)
    os.close(ours)
    return code, shown.decode().replace("\r", "")


def test_ten_answers_make_a_whole_schema_and_options_make_the_same(capsys: pytest.CaptureFixture) -> None:
    code, shown = converse("schema", "kunden.csv", "--out", "asked.toml", answers=[*OPTIONS.values()])
    assert code == 0 and shown.count("For example:") == 10 and "11." not in shown
    assert main(["schema", "kunden.csv", *(w for o in OPTIONS.items() for w in o), "--out", "given.toml"]) == 0
    assert Path("asked.toml").read_text() == Path("given.toml").read_text()
    schema = scumble.Schema.load("asked.toml")
    assert {name: column.kind for name, column in schema.items()} == {
        "Geboren": "date",
        "Ort": "category",
        "Umsatz": "number",
        "Sterne": "number",
        "Mitglied": "category",
    }
    assert schema["Ort"].values == ("Ulm", "Bonn", "Rom") and schema["Umsatz"].decimal == ","
    people = ["--person-column", "Nr", "--records-per-person", "40"]
    assert " ".join(people[:2]) in shown and " ".join(people[:2]) in Path("asked.toml").read_text()
    capsys.readouterr()
    assert main(["check", "kunden.csv", "--schema", "asked.toml", *people]) == 0
    assert "No problems found." in capsys.readouterr().out


def test_an_answer_that_does_not_fit_is_asked_again() -> None:
    answers = [
        "Nummer",
        "Nr",
        "no",
        "8",
        "",
        "Sterne",
        "Sterne=5:1",
        "Sterne=1:5",
        "Umsatz=a:b",
        "Umsatz=0:10",
        ";",
        ",",
    ]
    answers += ["Geboren=1900:2009", "12.2024", "31.12.2024", "Ort=@no.txt", "Ort=Ulm|Bonn", ""]
    code, shown = converse("schema", "kunden.csv", "--out", "asked.toml", answers=answers)
    assert code == 0 and shown.count("For example:") == len(answers)
    schema = scumble.Schema.load("asked.toml")
    assert schema["Sterne"].high == 5 and schema["Geboren"].format == "%d.%m.%Y"
    assert schema["Name"].discover and schema["Mitglied"].discover  # words that nobody listed are found privately


def test_nobody_is_asked_without_a_terminal_or_in_quiet_and_an_end_of_input_writes_nothing() -> None:
    assert main(["schema", "kunden.csv", "--out", "blank.toml"]) == 0 and "<?>" in Path("blank.toml").read_text()
    code, shown = converse("schema", "kunden.csv", "--quiet", "--out", "quiet.toml", answers=[])
    assert (code, shown) == (0, "") and Path("quiet.toml").read_text() == Path("blank.toml").read_text()
    code, shown = converse("schema", "kunden.csv", "--out", "none.toml", answers=["Nr"])
    assert code == 2 and "unanswered" in shown and not Path("none.toml").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--whole", "Sterne=1-5"],
        ["--numbers", "Umsatz=0:many"],
        ["--dates", "Geboren=2009:1900"],
        ["--date-format", "tomorrow"],
        ["--leave-out", "Nummer"],
        ["--columns", "Nr", "--person-column", "Nr", "--records-per-person", "2"],
        ["--person-column", "Nr"],
    ],
    ids=" ".join,
)
def test_options_that_do_not_fit(options: list[str]) -> None:
    try:
        code = main(["schema", "kunden.csv", *options, "--out", "o.toml"])
    except SystemExit as stop:  # by the parser
        code = stop.code  # type: ignore[assignment]
    assert code in (2, 4)
    assert not Path("o.toml").exists()
