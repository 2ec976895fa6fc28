"""What the command line says of a stream's periods."""

from __future__ import annotations

from pathlib import Path

import pytest

from scumble.cli import main


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The words that start one of twelve periods, of which one is published."""
    monkeypatch.chdir(tmp_path)
    Path("day.csv").write_text("x\n" + "1\n2\n3\n" * 50)
    start = (
        "start s.secret --folder out --columns x --bandwidth 1 --rows 8 --buckets 16 --periods 12 --mu 1 --delta 1e-6"
    )
    words = ["stream", *start.split()]
    assert main(words) == 0 and main(["stream", "append", "s.secret", "day.csv"]) == 0
    assert main(["stream", "publish", "s.secret", "--period", "1"]) == 0
    assert "Wrote " in capsys.readouterr().err
    return words


def test_a_period_that_was_published_is_not_written_again(
    stream: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = Path("out").glob("*.scumble")
    assert main(["stream", "publish", "s.secret", "--period", "1"]) == 0
    assert capsys.readouterr().err == f"Period 1 was published before, as {file.absolute()}; nothing was done.\n"


def test_a_period_after_the_open_one_is_refused_by_that_reason(
    stream: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stream", "publish", "s.secret", "--period", "3"]) == 2
    told = "Period 3 cannot be published before period 2, which is open. Hint: publish that one first."
    assert capsys.readouterr().err == f"scumble: {told}\n"
    assert main(["stream", "publish", "s.secret", "--period", "13"]) == 2
    assert "must be a whole number from 1 to 12, got 13" in capsys.readouterr().err


def test_a_stream_that_is_there_goes_on_by_append(stream: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(stream) != 0
    assert "or go on with scumble stream append (scumble.load_stream)." in capsys.readouterr().err


def test_other_currencies_stand_with_the_promise(stream: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = Path("out").glob("*.scumble")
    assert main(["info", str(file)]) == 0
    card = capsys.readouterr().out
    assert card.index("Promise") < card.index("in other currencies") < card.index("Periods") < card.index("Protects")
