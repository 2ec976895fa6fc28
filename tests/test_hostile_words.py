"""Files whose every word carries escapes: whatever a verb prints of them is plain text, line by line."""

from __future__ import annotations

import contextlib
import copy
import csv
import io
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble import files
from scumble.cli import main
from scumble.errors import ParameterError, readable

CONTROLS = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0))]
MARKS = [chr(one) for one in (0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)]
EVIL = "\x1b[2K\x1b]0;x\x07\r\nFAKE\u2028FAKE\x85FAKE\u202eFAKE\u2066\u200b\x9b1A\x7f\b"
FAKE = re.compile(r"^FAKE", re.MULTILINE)
SIZE: dict[str, Any] = {"rows": 6, "buckets": 8, "seed": 1}


def evil(name: str) -> str:
    return name + EVIL


def raw(text: str) -> list[str]:
    """What a terminal would obey, or lose."""
    return [one for one in text if not one.isprintable() and one not in "\n\t"] + FAKE.findall(text)


def test_what_does_not_print_is_written_as_json_writes_it() -> None:
    for char in (*CONTROLS, *MARKS, "\ud800", "\U000e0001"):
        told = readable(f"a{char}ε")
        assert told.isprintable() and readable(told) == told
        assert json.loads(f'"{told}"') == f"a{char}ε"
        assert str(ParameterError(f"a{char}")) == readable(f"a{char}")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, a bundle, a table, moments, a model and a stream, all of whose names are hostile."""
    folder = tmp_path_factory.mktemp("evil")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    columns = [evil("x"), evil("y")]

    def sketch() -> scumble.Sketch:
        return scumble.Sketch(scumble.EuclideanKernel(1.0, power=2), columns=columns, **SIZE).update(X)

    sketch().release(1.0).save(folder / "r.scumble")
    sketch().save(folder / "part.secret")
    words = [evil("a"), evil("b")]
    scumble.Bundle({word: sketch().release(1.0) for word in words}, label=evil("c")).save(folder / "b.scumble")
    frame = pd.DataFrame({evil("town"): rng.choice(words, 60), evil("age"): rng.uniform(0, 90, 60)})
    frame[evil("c")] = frame[evil("town")]
    town = scumble.Category(words)
    schema = scumble.Schema({evil("town"): town, evil("age"): scumble.Number(0, 90), evil("c"): town})
    scumble.build(frame, schema=schema, epsilon=1.0).save(folder / "t.scumble", draws=True)
    frame.to_csv(folder / "t.csv", index=False)
    schema.save(folder / "t.toml")
    pd.DataFrame(X, columns=columns).to_csv(folder / "points.csv", index=False)
    model = scumble.PrivateKDEClassifier(epsilon=1.0, classes=words, bounds=(-3, 3), rows=6, buckets=8)
    model.fit(pd.DataFrame(X, columns=columns), rng.choice(words, 60)).save(folder / "m.scumble")
    moments = scumble.PrivateLinearRegression(epsilon=1.0, bounds=(-3, 3), target_bounds=(-3, 3))
    moments.fit(pd.DataFrame(X, columns=columns), X[:, 0]).release_.save(folder / "l.scumble")
    periods: dict[str, Any] = {"periods": 3, "epsilon": 1.0, "folder": folder / "periods"}
    stream = scumble.Stream(scumble.EuclideanKernel(1.0), columns=columns, **SIZE, **periods)
    stream.update(X)
    stream.close_period()
    stream.save(folder / "s.secret")
    stream.close()
    book = scumble.Ledger.create(folder / "book")
    book.open_dataset(evil("people"), epsilon=3, parts=[evil("north")])
    return folder


VERBS = """
info r.scumble|info r.scumble --nist|info r.scumble --json|info r.scumble --registry|info b.scumble|info t.scumble
info b.scumble --nist|info t.scumble --nist|info t.scumble --json|info l.scumble|info l.scumble --nist|info m.scumble
info m.scumble --json|info periods/total-00001.scumble|info part.secret
info t.scumble --nist --ledger book --dataset EVILpeople
count t.scumble|count t.scumble --by EVILtown|count t.scumble --by EVILtown,EVILage|count t.scumble --by EVILtown --json
count t.scumble --where EVILtown|count t.scumble --by x|count r.scumble|count EVILr
sql t.scumble QUERY|sql t.scumble QUERY --json|sql t.scumble SELECT|sql EVILt.scumble SELECT
query r.scumble --at EVILx=1,EVILy=2|query r.scumble --at x=1|query r.scumble --at EVILx=1
query b.scumble --at EVILx=1,EVILy=2|query r.scumble --at EVILx=1,EVILy=2 --json
query r.scumble --at EVILx=EVIL,EVILy=99|query r.scumble points.csv --json
query r.scumble --at EVILx=99,EVILy=99|query t.scumble --at x=1|query r.scumble t.csv
modes r.scumble|modes r.scumble --bounds EVILx=-3:3,EVILy=-3:3 --json|modes b.scumble
sample t.scumble --n 3 --json|sample r.scumble --n 3|sample t.scumble --n 3 --where EVILtown --json
sample t.scumble --n 30 --report --out out.csv
predict m.scumble points.csv --json|predict m.scumble t.csv|predict l.scumble points.csv
plot r.scumble --out EVILa.png|plot r.scumble --range EVILx=0:1 --out a.svg|explore b.scumble --export page.html
merge r.scumble b.scumble --out e.scumble|merge r.scumble t.scumble --out e.scumble|release part.secret --epsilon EVIL
ledger book|ledger book --json|ledger book --dataset EVILpeople|ledger book --dataset EVILx|ledger EVILbook
stream window periods --width 1 --out EVILw.scumble|stream window periods --width 9 --out w.scumble
stream append s.secret t.csv|stream publish s.secret --period 7
schema t.csv|schema points.csv --columns EVILx|plan --schema t.toml --n 9
build t.csv --schema t.toml --epsilon 1 --out EVILo.scumble|build points.csv --schema t.toml --epsilon 1 --out o.scumble
build t.csv --columns EVILage --bandwidth 1 --epsilon 1 --out EVILp.scumble|build t.csv --columns EVILtown --bandwidth 1
fit t.csv --task classify --schema t.toml --target EVILtown --epsilon 1 --out EVILf.scumble|plan --columns EVILx
EVIL|info EVIL|info --EVIL|info r.scumble EVIL|count t.scumble --confidence EVIL|info r.scumble --debug EVIL
"""


@pytest.mark.parametrize("line", [line for row in VERBS.strip().splitlines() for line in row.split("|")])
def test_every_verb_prints_nothing_but_text(
    line: str, desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)
    quoted = '"' + evil("town").replace('"', '""') + '"'
    asked = {"QUERY": f"select {quoted}, count(*) from t group by {quoted}", "SELECT": f"select {quoted} from nowhere"}
    words = [asked.get(word, word) for word in line.split()]
    words = [re.sub(r"EVIL(\w*)", lambda found: evil(found[1]).replace(",", ""), word) for word in words]
    assert main(words) != 1
    told = capsys.readouterr()
    assert told.out or told.err
    assert raw(told.out) == raw(told.err) == []
    if "--json" in words and told.out:
        found = [*walk(json.loads(told.out))]
        assert not found or any(EVIL in one for one in found)


def walk(value: Any) -> Iterator[str]:
    """All text in what JSON holds."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)
    elif isinstance(value, str):
        yield value


def test_csv_is_exact_for_a_program_and_text_for_a_person(desk: Path) -> None:
    import pty  # POSIX's: on Windows this test is left out with its reason (windows.py)

    quoted = '"' + evil("town") + '"'
    asked = ["sql", "t.scumble", f"select {quoted}, count(*) from t group by {quoted}", "--csv"]
    command = [sys.executable, "-m", "scumble", *asked]
    piped = subprocess.run(command, cwd=desk, stdout=subprocess.PIPE, check=True).stdout.decode()
    rows = [*csv.reader(io.StringIO(piped, newline=""))]
    assert rows[0][0] == evil("town") and {evil("a"), evil("b")} <= {row[0] for row in rows[1:]}
    master, screen = pty.openpty()
    with subprocess.Popen(command, cwd=desk, stdout=screen, stderr=subprocess.DEVNULL):
        os.close(screen)
        seen = b""
        with contextlib.suppress(OSError):  # as Linux tells the end
            while part := os.read(master, 1 << 16):
                seen += part
    os.close(master)
    shown = seen.decode().replace("\r\n", "\n")
    assert readable(evil("town")).replace(r"\u000a", "\n") in shown
    assert [one for one in shown if not one.isprintable() and one != "\n"] == []


@pytest.mark.parametrize("name", ["r", "b", "t", "l", "m"])
def test_a_notebook_shows_nothing_but_text(name: str, desk: Path) -> None:
    path = desk / f"{name}.scumble"
    load = {"m": scumble.learn.load, "b": scumble.Bundle.load}.get(name, scumble.load)
    found = load(path)
    assert raw(repr(found)) == raw(str(found)) == raw(found._repr_html_()) == []


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the texts of some metadata stand."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, (dict, list)):
            yield from texts(inner, (*path, key))
        elif isinstance(inner, str):
            yield (*path, key)


@pytest.mark.parametrize("name", ["r", "b", "t", "l", "m", "periods/total-00001"])
def test_no_text_of_a_signed_file_leaves_raw_or_as_a_bare_error(
    name: str, desk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any one text of the header replaced: the file is read or refused, and nothing of the text is obeyed."""
    container = files.read(desk / f"{name}.scumble", expect=(*files.RELEASES, "model"))
    places = [*texts(container.metadata)]
    assert len(places) > 3
    odd = itertools.cycle(["", "0x", "1e999", "٣"])
    for *path, key in places:
        changed = copy.deepcopy(container.metadata)
        inner = changed
        for step in path:
            inner = inner[step]
        for word in (inner[key] + EVIL, next(odd)):
            inner[key] = word
            (tmp_path / "f.scumble").write_bytes(files.to_bytes(container.kind, changed, container.arrays))
            assert main(["info", str(tmp_path / "f.scumble")]) != 1, (path, key, word)
            told = capsys.readouterr()
            assert raw(told.out) == raw(told.err) == []
