"""Bad input, as a new user meets it: each one line that says what to do, with an exit code that scripts can trust."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scumble
from scumble.cli import main

BUILD = shlex.split("--columns age,income --bandwidth 10 --rows 8 --buckets 16 --epsilon 1 --out o.scumble")
GOOD = "age,income\n41,50000\n42,52000\n"


def build(source: str, *more: str) -> list[str]:
    """A build with these options, each given once; refusals are asked for."""
    asked = [*BUILD, "--invalid", "error"]
    pairs = zip(asked[::2], asked[1::2], strict=True)
    return ["build", source, *(word for pair in pairs if pair[0] not in more for word in pair), *more]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = {
        "good.csv": GOOD,
        "empty.csv": "",
        "header.csv": "age,income\n",
        "mixed.csv": "age,income\n41,50000\nforty,52000\n43,lots\n",
        "names.csv": "age,name\n41,Eve\n42,Bob\n",
        "hole.csv": "age,income\n41,\n",
        "ragged.csv": "age,income\n41,50000\n\n42,52000,7\n43\n",
        "days.csv": "seen\n01/02/2009 03:01\n31/01/2009 08:51\n",
        "partly.csv": "seen\n2012-10-26\n26-Oct-12\n",
        "gap.csv": "age\n41\nNA\n",
        "twice.csv": "age,income,age\n1,2,3\n",
        "quoted.csv": 'age,income\n"41","50000"\n"4\n2",x\n',
        "words.jsonl": '{"age": 41, "income": 5}\n{"age": 42, "income": "lots"}\n',
        "broken.jsonl": '{"age": 41, "income": 5}\n{"age": 42, \n',
        "bad.toml": "epsilon = \n",
        "notgz.csv.gz": GOOD,
        "days/total-1.scumble": "",
        "both/a.csv": GOOD,
        "unlike/a.csv": GOOD,
        "unlike/b.csv": "age,salary\n1,2\n",
        "typo.toml": "epsilonn = 1.0\n",
    }
    for name, content in text.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "latin.csv").write_bytes("age,income,ort\n41,5,K\xf6ln\n".encode("latin-1"))
    (tmp_path / "utf16.csv").write_bytes(GOOD.encode("utf-16"))
    (tmp_path / "half.csv.gz").write_bytes(gzip.compress(os.urandom(9).hex().join([GOOD] * 9).encode())[:-20])
    table = pa.table({"age": np.arange(5000.0), "income": np.arange(5000.0), "town": ["x"] * 5000})
    for name in ("good.parquet", "both/b.parquet"):
        pq.write_table(table, tmp_path / name)
    whole = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "half.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "nofiles").mkdir()
    with sqlite3.connect(tmp_path / "good.db") as database:
        database.execute("CREATE TABLE people (age REAL, income REAL)")
    database.close()
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], rows=4, buckets=8).update([[1.0]])
    sketch.save(tmp_path / "part.secret")
    release = scumble.Sketch(scumble.EuclideanKernel(1.0), columns=["age"], rows=4, buckets=8).release(1.0)
    release.save(tmp_path / "ok.scumble")
    data = bytearray(release.to_bytes())
    data[-3] ^= 1
    (tmp_path / "damaged.scumble").write_bytes(data)
    return tmp_path


# what a user does: (command line, exit code, what the message must name)
BUILDS = [
    ("god.csv", 4, "good.csv"),
    ("nix/good.csv", 4, "nix"),
    ("good.csv --columns aeg,income", 4, "'age'"),
    ("good.csv --person-column incme --records-per-person 1", 4, "'income'"),
    ("empty.csv", 4, "empty.csv"),
    ("header.csv", 4, "--allow-empty"),
    ("mixed.csv", 4, "mixed.csv, line 3"),
    ("names.csv --columns age,name", 4, "'name'"),
    ("days.csv --columns seen --dates seen", 4, "'seen'"),
    ("partly.csv --columns seen --dates seen", 4, "partly.csv, line 3"),
    ("good.csv --bounds age=0:100,income=9:2", 2, "'income'"),
    ("days.csv --columns seen --dates seen --bounds seen=01/01/1965:31/12/1999", 2, "--bounds"),
    ("good.csv --columns age --bounds income=0:1", 2, "'income'"),
    ("good.csv --bounds age=0:9", 2, "'income'"),
    ("good.csv --table people", 2, "--table"),
    ("good.csv --query 'SELECT 1'", 2, "--query"),
    ("good.csv --delimiter ';'", 4, "--delimiter"),
    ("good.csv --threads 0", 2, "--threads"),
    ("good.csv --checkpoint o.scumble", 2, "--checkpoint"),
    ("good.csv --ledger l", 2, "--dataset"),
    ("good.csv --dataset d", 2, "--dataset"),
    ("good.csv --scale age=0", 2, "--scale"),
    ("good.csv --label mode --classes a,b --neighbors replace", 3, "--neighbors"),
    ("good.csv --columns age --label income", 3, "--classes"),
    ("good.csv --epsilon 0", 2, "--epsilon"),
    ("good.csv --delta 0.5", 2, "--delta"),
    ("good.csv --kernel gauss", 2, "gauss"),
    ("good.csv --out nix/o.scumble", 4, "nix"),
    ("good.parquet --columns Income", 4, "'income'"),
    ("ok.scumble", 4, "scumble info"),
    ("hole.csv", 4, "hole.csv, line 2"),
    ("ragged.csv", 4, "ragged.csv, line 4"),
    ("twice.csv", 4, "'age'"),
    ("quoted.csv", 4, "quoted.csv, lines 3 to 4"),
    ("utf16.csv", 4, "utf-16"),
    ("notgz.csv.gz", 4, "notgz.csv.gz"),
    ("half.csv.gz", 4, "half.csv.gz"),
    ("half.parquet", 4, "half.parquet"),
    ("words.jsonl", 4, "words.jsonl, line 2"),
    ("broken.jsonl", 4, "broken.jsonl, line 2"),
    ("nofiles", 4, "nofiles"),
    ("both", 4, "csv, parquet"),
    ("unlike", 4, "unlike/b.csv"),
    ("'nix-*.csv'", 4, "nix-*.csv"),
    ("sqlite:///nix.db --table people", 4, "nix.db"),
    ("sqlite:///good.db --table poeple", 4, "'people'"),
    ("sqlite:///good.csv --table people", 4, "SQLite"),
    ("sqlite:///good.db --query 'SELECT nix FROM people'", 4, "nix"),
    ("s3://bucket/x.parquet", 2, "s3://"),
]
OTHERS = [
    ("build latin.csv --invalid error --columns ort --categories ort --epsilon 1 --out o", 4, "--encoding latin-1"),
    ("build - good.csv --epsilon 1 --bandwidth 1 --out o.scumble", 2, "files"),
    ("build good.csv --bandwidth 1 --out o.scumble", 2, "--epsilon"),
    ("build good.csv --epsilon 1 --out o.scumble", 2, "--bandwidth"),
    ("build --epsilon 1 --out o.scumble", 2, "SOURCE"),
    ("build good.csv --epsilon 1", 2, "--out"),
    ("build --config bad.toml", 2, "bad.toml"),
    ("build --config typo.toml", 2, "'epsilon'"),
    ("bild", 2, "'build'"),
    ("count t.scumble --group-by a", 2, "--by"),
    ("count t.scumble 'age > 5'", 2, "age > 5"),
    ("sketch good.csv --bandwidth 1 --out -", 3, "0600"),
    ("info nix.scumble", 4, "nix.scumble"),
    ("info part.secret", 3, "secret"),
    ("info good.csv", 5, "scumble build"),
    ("info days", 5, "scumble stream window days"),
    ("info damaged.scumble", 5, "checksum"),
    ("explore good.csv --export x.html", 5, "scumble build"),
    ("release ok.scumble --epsilon 1 --out x.scumble", 5, "ok.scumble"),
    ("query ok.scumble gap.csv", 4, "'age'"),
    ("query ok.scumble --at age=ten", 4, "'age'"),
    ("query x.scumble --at 'amount=€100,000'", 2, "--at"),
    ("query ok.scumble unlike/b.csv --out x.txt", 2, "x.txt"),
    ("query ok.scumble mixed.csv", 4, "mixed.csv, line 3"),
    ("plot ok.scumble --out x.png", 2, "--range"),
    ("plot ok.scumble --out x.mp3", 2, "x.mp3"),
    ("merge ok.scumble part.secret --out x", 2, "release"),
]


@pytest.mark.parametrize(("line", "code", "named"), [*((f"build {line}", *rest) for line, *rest in BUILDS), *OTHERS])
def test_bad_input_gives_one_line_and_an_exit_code(
    line: str, code: int, named: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    words = shlex.split(line)
    if line.removeprefix("build ") in (one for one, *_ in BUILDS):
        words = build(*words[1:])
    before = sorted(folder.rglob("*"))
    assert main(words) == code
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "Traceback" not in err
    assert named in err
    assert sorted(folder.rglob("*")) == before, "nothing is written"


def test_no_read_permission(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert main(build("good.csv")) == main(build("good.parquet")) == 0  # everything is imported now
    capsys.readouterr()
    os.chmod(folder, 0o755)
    for parent in list(folder.parents)[:3]:
        if parent != Path("/tmp") and os.stat(parent).st_uid == os.getuid():
            os.chmod(parent, 0o755)
    for name in ("good.csv", "good.parquet"):
        os.chmod(name, 0o000)
        root = os.geteuid() == 0
        try:
            if root:
                os.seteuid(65534)  # root may read everything
            code = main(build(name))
        finally:
            if root:
                os.seteuid(0)
        assert code == 4
        assert re.search(rf"You may not read '{name}'. Hint: ", capsys.readouterr().err)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_bad_cells_in_the_last_row(kind: str, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    rows = 30_000
    if kind == "csv":
        (folder / "big.csv").write_text("age\n" + "41\n" * (rows - 1) + "forty-one\n")
        where = "big.csv, line 30,001:"
    else:
        age = np.append(np.full(rows - 1, 41.0), np.nan)
        pq.write_table(pa.table({"age": age}), folder / "big.parquet", row_group_size=9_000)
        where = "row group 3 (counted from 0), row 30,000 of the file:"
    words = build(f"big.{kind}", "--columns", "age", "--rows", "1", "--buckets", "4", "--json")
    assert main(words) == 4
    out, err = capsys.readouterr()
    assert where in err and "forty" not in err and not out
    assert not (folder / "o.scumble").exists()
    assert main([word.replace("error", "drop") for word in words]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("1 record was left out")
    assert "dropped" not in out and b"dropped" not in (folder / "o.scumble").read_bytes()


def test_a_bug_shows_no_cells(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from scumble.cli import info

    def fail(args: object) -> None:
        cell = 4700 + 11
        try:
            raise KeyError(cell)
        except KeyError:
            try:
                raise ValueError(f"secret cell {cell}")
            except ValueError as problem:
                raise RuntimeError(f"secret cell {cell}") from problem

    monkeypatch.setattr(info, "run", fail)
    assert main(["info", "ok.scumble"]) == 1
    err = capsys.readouterr().err
    assert "4711" not in err and "--debug" in err and "in fail" not in err
    assert main(["info", "ok.scumble", "--debug"]) == 1
    err = capsys.readouterr().err
    assert err.count("in fail\n") == 3, "where"
    places = [err.index(f"{kind} (most recent call last)") for kind in ("KeyError", "ValueError", "RuntimeError")]
    assert places == sorted(places) and "this is a bug" in err[places[-1] :]
    assert "4711" not in err


# ---- numbers and names that nobody means ----

FIT = "fit good.csv --task regress --columns age --target income --bounds age=0:9 --target-bounds 0:9 --out m.scumble"
PLAN = "plan --columns x --bandwidth 0.5 --n 1000"


@pytest.mark.parametrize("number", ["1e9999999", "1e-9999999", "1e400", "5e-324", "1e-400", "nan", "inf", "1/0"])
@pytest.mark.parametrize("line", ["ledger book --open a", f"{FIT} --delta 1e-6", PLAN])
def test_a_budget_that_is_no_number_to_calculate_with_is_refused_by_name(
    line: str, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*line.split(), "--epsilon", number]) == 2
    assert "--epsilon" in capsys.readouterr().err


def test_an_output_without_a_name_is_refused_at_no_cost(folder: Path) -> None:
    scumble.Ledger.create("book").open_dataset("people", epsilon=2)
    charged, before = ["--ledger", "book", "--dataset", "people"], sorted(os.listdir())
    assert main(build("good.csv", *charged, "--out", "")) == 2
    assert main(build("good.csv", *charged, "--checkpoint", "a\0b")) == 2
    assert scumble.Ledger("book").account("people").charges == ()
    assert sorted(os.listdir()) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_help_that_cannot_be_written_is_an_error() -> None:
    for words in (["info", "--help"], ["--help"], ["build", "--help"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([sys.executable, "-m", "scumble", *words], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 5 and b"Cannot write standard output" in done.stderr
