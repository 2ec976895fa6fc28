"""The journal of a run survives a torn last line."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper import runner


def row(key: str) -> dict:
    return {"key": key, "seconds": 1.0}


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    journal = runner.Journal(tmp_path / "journal")
    journal.write(row("a"))
    journal.write(row("b"))
    with journal.path.open("ab") as file:
        file.write(b'{"key": "c", "sec')
    again = runner.Journal(journal.path)
    again.write(row("d"))
    assert list(runner.Journal(journal.path).rows) == ["a", "b", "d"]
