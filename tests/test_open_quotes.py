"""A quote that is left open makes one cell of all that follows, up to the next one: rows must not be lost unsaid."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

import scumble
from scumble.cli import main
from scumble.sources import formats
from scumble.sources.building import Build

ROWS, QUOTE = 20_000, '"'
COUNTED = "--columns", "age", "--bounds", "age=0:100", "--bandwidth", "5", "--epsilon", "1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def people(quotes: Sequence[int] = (), blank: int = 0, end: str = "\n") -> None:
    """A table with quotes before the names of some people, and blank lines at its end."""
    lines = [f"{QUOTE * (k in quotes)}Anne {k},{k % 90},Ulm" for k in range(ROWS)]
    Path("people.csv").write_bytes(end.join(["name,age,town", *lines, *[""] * (blank + 1)]).encode())


def told(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["build", "people.csv", "--out", "people.scumble", *COUNTED, *options]) == 0
    return capsys.readouterr().err


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("options", [(), ("--encoding", "latin-1")], ids=["read straight", "read in another encoding"])
def test_rows_within_one_cell_are_told(capsys: pytest.CaptureFixture[str], options: tuple[str, ...], end: str) -> None:
    people(quotes=(10, 1_000), end=end)
    err = told(capsys, *options)
    assert "990 lines are no records of their own" in err and "a quote that is left open" in err


def test_a_line_that_swallows_the_rest_is_told_when_it_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    people(quotes=(10,))
    err = told(capsys, "--invalid", "drop")
    assert "1 record was left out: 1 line that is not a record (do not publish this)." in err
    assert f"{ROWS - 11:,} lines are no records of their own" in err


def test_letters_that_hold_the_byte_of_a_line_end_are_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    text = "name,age,town\n" + "\u0a15\u0a16,42,Ulm\n" * 500
    Path("people.csv").write_bytes(text.encode("utf-16"))
    assert "no records of their own" not in told(capsys, "--encoding", "utf-16")


def test_lines_of_rows_that_were_read_before_a_break_are_not_counted_twice(capsys: pytest.CaptureFixture[str]) -> None:
    """A word among the numbers: the file is read again, with care, from that row on."""
    people()
    text = Path("people.csv").read_text().replace("Anne 15000,60,", "Anne 15000,sixty,")
    Path("people.csv").write_text(text)
    err = told(capsys, "--invalid", "drop")
    assert "1 record was left out: 1 with an unreadable" in err and "no records of their own" not in err


@pytest.mark.parametrize("standard_input", [False, True], ids=["a file", "standard input"])
@pytest.mark.parametrize("end", [b"\n", b"\r"], ids=["LF", "CR"])
@pytest.mark.parametrize(
    ("odd", "left_out"),
    [
        (b"3," + b"x" * (5 << 19), 1),
        (b'3,"' + b"x" * (5 << 19), 1),
        (b'3,"' + b"a\n" * (3 << 18) + b'"', 0),
        (b'3,"Ulm\n4,Bonn\n' + b"5," + b"x" * (5 << 19), 2),
        (b'3,"x"' + b"y" * (3 << 19) + b'",', 1),
    ],
    ids=["long line", "long line in a quote", "row of many lines", "quote before a long line", "cell too many"],
)
def test_a_row_without_an_end_costs_itself_alone(
    odd: bytes, left_out: int, end: bytes, standard_input: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether there is a release must not show whether a record is there."""
    rows = end.join([b"age,town", *[b"3,Ulm"] * 1_000])
    data = end.join([rows, odd, b"4,Bonn", odd, b"5,Bonn"])
    Path("people.csv").write_bytes(data)
    monkeypatch.setattr(formats, "_STDIN", [formats.StandardInput(io.BytesIO(data))])
    build = Build("-" if standard_input else "people.csv", scumble.EuclideanKernel(5.0), ["age"], epsilon=1.0, rows=1)
    tally = build.count()
    counted = 1_004 - 2 * left_out + 2 * (odd.count(b"\n") if left_out else 0)
    assert (tally.sketches[0].count, tally.dropped) == (counted, 2 * left_out)


def test_a_quote_left_open_before_a_long_table_costs_its_line() -> None:
    Path("people.csv").write_bytes(b'age,town\n3,Ulm\n3,"Ulm\n' + b"4,Bonn\n" * 500_000)
    tally = Build("people.csv", scumble.EuclideanKernel(5.0), ["age"], epsilon=1.0, rows=1).count()
    assert (tally.sketches[0].count, tally.dropped) == (500_001, 1)
