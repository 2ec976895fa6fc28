"""What the command line says of a stream's periods."""

from __future__ import annotations

from pathlib import Path

import pytest

import scumble
from scumble import files
from scumble.cli import main
from scumble.streams.state import State


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


def test_bad_rows_are_left_out_of_one_batch_where_append_says_so(
    stream: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.csv").write_text("x\n1\n\n2\nmany\n3\n")
    append = ["stream", "append", "s.secret", "bad.csv", "--period", "2"]
    assert main([*append, "--invalid", "error"]) == 4
    assert "--invalid drop" in capsys.readouterr().err
    assert main([*append, "--invalid", "drop"]) == 0
    assert capsys.readouterr().err.startswith("1 record was left out: 1 with an unreadable or infinite value in 'x'")
    assert main([*append, "--batch", "again", "--invalid", "error"]) == 4, "of one batch, not of the stream"
    opened = scumble.load_stream("s.secret")
    assert opened._sketch.secret.counts.sum() == 3 * opened.spec.rows and opened._sketch.secret.drops
    opened.close()


def test_bad_rows_stay_an_error_where_their_number_is_public() -> None:
    kernel, size = scumble.EuclideanKernel(1.0), {"rows": 2, "buckets": 4}
    stream = scumble.Stream(kernel, 1, periods=2, epsilon=1.0, neighbors="replace", **size)
    for invalid, refusal in (("drop", scumble.PrivacyError), ("skip", scumble.ParameterError)):
        with pytest.raises(refusal):
            stream.update([[1.0]], invalid=invalid)
    stream.update([[1.0]], invalid="error")
    stream.close_period()


@pytest.mark.parametrize("damage", [b"", b"no release", None])
def test_a_damaged_last_release_is_written_anew_once_it_is_moved_away(
    stream: list[str], damage: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = Path("out").glob("*.scumble")
    whole = file.read_bytes()
    file.write_bytes(whole[:-9] + b"?" + whole[-8:] if damage is None else damage)
    assert main(["stream", "append", "s.secret", "day.csv", "--period", "2"]) == 5
    assert "Hint: move it away" in capsys.readouterr().err
    file.rename("damaged")
    assert main(["stream", "append", "s.secret", "day.csv", "--period", "2"]) == 0
    assert file.read_bytes() == whole


JUNK = ["", "x", "\0", None, -1, 1 << 70, 1.5, [], {}, True, "1/0", "1e999", {"a": 1}]


@pytest.mark.parametrize(
    "field", ["identity", "folder", "backend", "closed", "most", "person_column", "merged", "drops"]
)
def test_a_file_of_a_stream_signed_by_another_is_used_or_refused_in_our_words(stream: list[str], field: str) -> None:
    state = State("s.secret")
    found = state.read()
    state.let_go()
    for junk in JUNK:
        data = files.to_bytes(found.kind, {**found.metadata, field: junk}, found.arrays)
        Path("s.secret").write_bytes(data)
        try:
            opened = scumble.load_stream("s.secret")
            opened.close()
        except scumble.ScumbleError:
            continue
