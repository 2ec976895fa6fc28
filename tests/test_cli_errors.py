"""Bad input, as a new user meets it: each one line that says what to do, with an exit code that scripts can trust."""

from __future__ import annotations

import gzip
import os
import re
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

BUILD = [
    "--columns",
    "age,income",
    "--bandwidth",
    "10",
    "--rows",
    "8",
    "--buckets",
    "16",
    "--epsilon",
    "1",
    "--out",
    "o.scumble",
]
TOWNS = [
    "build",
    "latin.csv",
    "--invalid",
    "error",
    "--columns",
    "ort",
    "--categories",
    "ort",
    "--epsilon",
    "1",
    "--out",
    "o.scumble",
]
GOOD = "age,income\n41,50000\n42,52000\n"


def build(source: str, *more: str) -> list[str]:
    """A build with these options, each said once."""
    asked = [*BUILD, "--invalid", "error"]  # refusals are asked for
    pairs = zip(asked[::2], asked[1::2], strict=True)
    return ["build", source, *(word for pair in pairs if pair[0] not in more for word in pair), *more]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = {
        "good.csv": GOOD,
        "empty.csv": "",
        "header.csv": "age,income\n",
        "header-only.csv": "age,income",
        "blank.csv": "\n\n\n",
        "mixed.csv": "age,income\n41,50000\nforty,52000\n43,lots\n",
        "names.csv": "age,name\n41,Eve\n42,Bob\n",
        "hole.csv": "age,income\n41,\n",
        "infinite.csv": "age,income\n41,inf\n",
        "ragged.csv": "age,income\n41,50000\n\n42,52000,7\n43\n",
        "days.csv": "seen\n01/02/2009 03:01\n31/01/2009 08:51\n",
        "some.csv": "seen,age\n31/01/2009,x\n2009-01-31,4\n",
        "swapped.csv": "lon,Latitude\n6,50\n",
        "partly.csv": "seen\n2012-10-26\n26-Oct-12\n",
        "gap.csv": "age\n41\nNA\n",
        "semicolon.csv": "age;income\n41;50000\n",
        "twice.csv": "age,income,age\n1,2,3\n",
        "quoted.csv": 'age,income\n"41","50000"\n"4\n2",x\n',
        "words.jsonl": '{"age": 41, "income": 5}\n{"age": 42, "income": "lots"}\n',
        "broken.jsonl": '{"age": 41, "income": 5}\n{"age": 42, \n',
        "array.json": '[{"age": 41, "income": 5}]\n',
        "bad.toml": "epsilon = \n",
        "typo.toml": "epsilonn = 1.0\n",
        "page.html": "\n<!DOCTYPE html>\n<html></html>\n",
        "page.svg": "<svg></svg>\n",
        "song.mp3": "la la la la la la la la",
    }
    for name, content in text.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "latin.csv").write_bytes("age,income,ort\n41,5,K\xf6ln\n".encode("latin-1"))
    (tmp_path / "utf16.csv").write_bytes(GOOD.encode("utf-16"))
    (tmp_path / "notgz.csv.gz").write_text(GOOD)
    (tmp_path / "half.csv.gz").write_bytes(gzip.compress(os.urandom(9).hex().join([GOOD] * 9).encode())[:-20])
    table = pa.table({"age": np.arange(5000.0), "income": np.arange(5000.0), "town": ["x"] * 5000})
    pq.write_table(table, tmp_path / "good.parquet")
    whole = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "half.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.parquet").write_text("hello, this is no Parquet file")
    (tmp_path / "nofiles").mkdir()
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "total-1.scumble").touch()
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "a.csv").write_text(GOOD)
    (tmp_path / "both" / "b.parquet").write_bytes(whole)
    (tmp_path / "unlike").mkdir()
    (tmp_path / "unlike" / "a.csv").write_text(GOOD)
    (tmp_path / "unlike" / "b.csv").write_text("age,salary\n1,2\n")
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


CASES: dict[str, tuple[list[str], int, str]] = {
    # what the user does: (command line, exit code, what the one line says)
    "no such file": (build("god.csv"), 4, r"no file 'god.csv'. Did you mean 'good.csv'\?"),
    "no such folder": (build("nix/good.csv"), 4, r"no folder 'nix'"),
    "wrong column": (
        build("good.csv", "--columns", "aeg,income"),
        4,
        r"no column 'aeg' in good.csv. Did you mean 'age'\?",
    ),
    "wrong person": (
        build("good.csv", "--person-column", "incme", "--records-per-person", "1"),
        4,
        r"no column 'incme' in good.csv. Did you mean 'income'\?",
    ),
    "bounds of no column": (build("good.csv", "--bounds", "agee=0:9"), 2, r"income\. Did you mean 'age'\?"),
    "a point without a value": (
        ["query", "ok.scumble", "gap.csv"],
        4,
        r"'age' is missing.* Hint: .*take such rows out",
    ),
    "wrong column, Parquet": (build("good.parquet", "--columns", "Income"), 4, r"Did you mean 'income'\?"),
    "empty file": (build("empty.csv"), 4, r"empty.csv is empty"),
    "blank lines only": (build("blank.csv"), 4, r"blank.csv is empty"),
    "header only": (build("header.csv"), 4, r"columns but no rows in header.csv. .*--allow-empty"),
    "header without line end": (build("header-only.csv"), 4, r"columns but no rows in header-only.csv"),
    "mixed types": (build("mixed.csv"), 4, r"mixed.csv, line 3: 2 cells .* 1 in column 'age', 1 in column 'income'"),
    "a column of names": (
        build("names.csv", "--columns", "age,name"),
        4,
        r"what is 'name'\? Text: name it in --categories.* numbers are read as 1234.5, .* \(not with a unit, 12 kg",
    ),
    "days before months": (
        build("days.csv", "--columns", "seen", "--dates", "seen"),
        4,
        r"2 cells are missing or not a date: 2 in column .seen.*ISO.*\(pandas\.to_datetime.* reads others: .*\)\.$",
    ),
    "one is no date": (
        build("partly.csv", "--columns", "seen", "--dates", "seen"),
        4,
        r"1 cell is missing or not a date: (?!.*numbers are read).*'%d-%b-%y'.*correct them, or .*--invalid drop",
    ),
    "some are no dates": (
        build("some.csv", "--columns", "seen,age", "--dates", "seen"),
        4,
        r"line 2: 2 cells are missing, not a date, not a number or not finite: .*2009-01-31.*--invalid drop",
    ),
    "bounds reversed": (
        build("good.csv", "--bounds", "age=0:100,income=9:2"),
        2,
        r"--bounds of 'income' must be finite, with low below high, got 9 to 2\.",
    ),
    "bounds of all reversed": (build("good.csv", "--bounds", "9:2"), 2, r"must have low below high, got 9:2"),
    "dates reversed": (
        build("days.csv", "--columns", "seen", "--dates", "seen", "--bounds", "seen=2024-02-01:2024-01-01"),
        2,
        r"--bounds of 'seen' must .*, got 2024-02-01 to 2024-01-01\.",
    ),
    "a table of no database": (build("good.csv", "--table", "people"), 2, r"--table goes with a database.*or .*Excel"),
    "a query of no database": (build("good.csv", "--query", "SELECT 1"), 2, r"--query goes with a database"),
    "the other column was asked for": (
        build("swapped.csv", "--columns", "Longitude,Latitude"),
        4,
        r"no column 'Longitude' in swapped.csv\. It has: lon, Latitude",
    ),
    "a plan of a schema": (
        ["plan", "--schema", "s.toml", "--n", "3000", "--epsilon", "2"],
        2,
        r"scumble build TABLE --schema s.toml --n 3000 --epsilon 2 --rehearse",
    ),
    "a wrong delimiter": (
        build("good.csv", "--delimiter", ";"),
        4,
        r"one column, with ',' in its name. .*--delimiter ','",
    ),
    "a release as a table": (build("ok.scumble"), 4, r"scumble's own, not a table. Hint: scumble info"),
    "a point in words": (["query", "ok.scumble", "--at", "age=ten"], 4, r"asks for age=ten, and 'age' holds numbers"),
    "a point elsewhere": (["query", "ok.scumble", "--at", "ages=4"], 2, r"names 'ages', .* Did you mean 'age'\?"),
    "info of a stream's folder": (["info", "days"], 5, r"the folder of a stream.*scumble stream window days"),
    "no threads": (build("good.csv", "--threads", "0"), 2, r"--threads: must be"),
    "two sources, one a pipe": (["build", "-", "good.csv", *BUILD], 2, r"cannot be read together with files"),
    "checkpoint is out": (build("good.csv", "--checkpoint", "o.scumble"), 2, r"are the same file"),
    "checkpoint nowhere": (build("good.csv", "--checkpoint", "nix/c.secret"), 4, r"no folder 'nix'"),
    "missing cell": (
        build("hole.csv"),
        4,
        r"hole.csv, line 2: 1 cell is missing.* 1 in column 'income'(?!.*are read).*--invalid drop",
    ),
    "infinite cell": (build("infinite.csv"), 4, r"infinite.csv, line 2: 1 cell is"),
    "cells too many": (build("ragged.csv"), 4, r"ragged.csv, line 4, has 3 cells where the header has 2"),
    "semicolons": (build("semicolon.csv"), 4, r"separated by ';'.*--delimiter ';'"),
    "a name twice": (build("twice.csv"), 4, r"has 2 columns 'age'"),
    "a cell over two lines": (
        build("quoted.csv"),
        4,
        r"quoted.csv, lines 3 to 4: 2 cells .*\(do not publish this\)",
    ),
    "not UTF-8": (TOWNS, 4, r"latin.csv, line 2, is not UTF-8 text. .*--encoding latin-1"),
    "UTF-16": (build("utf16.csv"), 4, r"is not UTF-8 text. .*--encoding utf-16"),
    "UTF-16, once more": (build("utf16.csv", "--encoding", "latin-1"), 4, r"not LATIN-1 text. .*--encoding utf-16"),
    "no gzip": (build("notgz.csv.gz"), 4, r"cannot be read as CSV"),
    "half a gzip": (build("half.csv.gz"), 4, r"cannot be read as CSV|cells"),
    "half a Parquet file": (build("half.parquet"), 4, r"half.parquet cannot be read as Parquet: .* cut short"),
    "text named Parquet": (build("text.parquet"), 4, r"text.parquet cannot be read as Parquet"),
    "text in a Parquet column": (build("good.parquet", "--columns", "town"), 4, r"'town' must hold numbers, got text"),
    "words in JSON": (build("words.jsonl"), 4, r"words.jsonl, line 2: 1 cell .* 1 in column 'income'"),
    "broken JSON": (build("broken.jsonl"), 4, r"broken.jsonl, line 2, is not a JSON object"),
    "a JSON array": (build("array.json"), 4, r"array.json, line 1, is not a JSON object. .* one object per line"),
    "folder without files": (build("nofiles"), 4, r"folder 'nofiles' holds no table"),
    "folder of two formats": (build("both"), 4, r"several formats: csv, parquet"),
    "folder of unlike files": (build("unlike"), 4, r"no column 'income' in unlike/b.csv"),
    "glob without match": (build("nix-*.csv"), 4, r"No file matches 'nix-\*.csv'"),
    "no such database": (build("sqlite:///nix.db", "--table", "people"), 4, r"no database 'nix.db'"),
    "no such table": (build("sqlite:///good.db", "--table", "poeple"), 4, r"Did you mean 'people'\?"),
    "no table named": (build("sqlite:///good.db"), 2, r"Give --table or --query .* has: people"),
    "not a database": (build("sqlite:///good.csv", "--table", "people"), 4, r"not an SQLite database"),
    "a bad query": (build("sqlite:///good.db", "--query", "SELECT nix FROM people"), 4, r"no such column: nix"),
    "a cloud address": (build("s3://bucket/x.parquet"), 2, r"does not read from s3://"),
    "no epsilon": (
        ["build", "good.csv", "--bandwidth", "1", "--out", "o.scumble"],
        2,
        r"Give --epsilon.*typical are 0.1 to 3,",
    ),
    "no bandwidth": (
        ["build", "good.csv", "--epsilon", "1", "--out", "o.scumble"],
        2,
        r"Give --schema .*give --bandwidth.* public",
    ),
    "dates in another order": (
        build("good.csv", "--dates", "seen", "--bounds", "seen=01/01/1965:31/12/1999"),
        2,
        r"must look like age=0:100,income=0:200000; dates are written 1965-01-01",
    ),
    "a number with commas": (
        ["query", "x.scumble", "--at", "amount=€100,000"],
        2,
        r"--at: must look like age=40,mode=bus; numbers stand plain, as 100000: commas separate",
    ),
    "a value with a comma": (
        ["query", "x.scumble", "--at", "genre=Comedy, Drama"],
        2,
        r"--at: must look like age=40,mode=bus; .* a value that has one goes into a table of points",
    ),
    "bounds of a column that is not counted": (
        build("good.csv", "--columns", "age", "--bounds", "income=0:1"),
        2,
        r"--bounds names 'income', which is not among the columns that are counted, age\. Hint: add it to --columns",
    ),
    "no source": (["build", "--epsilon", "1", "--out", "o.scumble"], 2, r"Give SOURCE"),
    "no out": (["build", "good.csv", "--epsilon", "1"], 2, r"Give --out"),
    "no dataset": (build("good.csv", "--ledger", "l"), 2, r"--dataset must be the name of .*, got nothing\."),
    "a dataset of no ledger": (build("good.csv", "--dataset", "d"), 2, r"--dataset and --part name an account"),
    "a scale of zero": (build("good.csv", "--scale", "age=0"), 2, r"--scale of 'age' must be a positive"),
    "classes that are replaced": (
        build("good.csv", "--label", "mode", "--classes", "a,b", "--neighbors", "replace"),
        3,
        r"Classes do not go with --neighbors replace: .* use --neighbors add-remove\.",
    ),
    "epsilon zero": (build("good.csv", "--epsilon", "0"), 2, r"--epsilon must be"),
    "delta of a half": (build("good.csv", "--delta", "0.5"), 2, r"--delta must be"),
    "a flag that is begun": (build("good.csv", "--eps=1"), 2, r"--eps=1. Did you mean --epsilon\?"),
    "label for target": (
        ["fit", "good.csv", "--task", "classify", "--label", "mode", "--out", "m"],
        2,
        r"required: --target. Did you mean --target by --label\?",
    ),
    "unknown for invalid": (build("good.csv", "--unknown", "drop"), 2, r"--unknown drop. Did you mean --invalid\?"),
    "random state for seed": (["sample", "t.scumble", "--random-state=3"], 2, r"Did you mean --seed\?"),
    "a flag of elsewhere": (["count", "t.scumble", "--group-by", "a"], 2, r"Did you mean --by\? Hint: scumble count"),
    "a bare condition": (["count", "t.scumble", "age > 5"], 2, r'--where "age > 5"\. Hint: scumble count'),
    "a flag of nowhere": (["count", "t.scumble", "--xyzzy"], 2, r"unrecognized arguments: --xyzzy. Hint"),
    "unknown flag": (
        build("good.csv", "--epsilonn", "1"),
        2,
        r"unrecognized arguments: --epsilonn 1. Did you mean --epsilon\?",
    ),
    "no number": (build("good.csv", "--epsilon", "one"), 2, r"--epsilon: must be a number, and .one. is none"),
    "a method as a verb": (["mean", "ok.scumble"], 2, r"no verb 'mean'. Hint: scumble sql .* avg\(age\)"),
    "another": (["Histogram", "ok.scumble"], 2, r"no verb 'Histogram'. Hint: scumble count .* --by age"),
    "unknown verb": (["bild"], 2, r"no verb 'bild'. Did you mean 'build'\?"),
    "a verb of another name": (
        ["mean", "t.scumble"],
        2,
        r"no verb 'mean'. Hint: scumble sql town.scumble \"select avg",
    ),
    "unknown kernel": (build("good.csv", "--kernel", "gauss"), 2, r"no kernel 'gauss'"),
    "bounds without a column": (build("good.csv", "--bounds", "age=0:9"), 2, r"--bounds lacks 'income'"),
    "no folder to write to": (build("good.csv", "--out", "nix/o.scumble"), 4, r"no folder 'nix'"),
    "classes not public": (build("good.csv", "--columns", "age", "--label", "income"), 3, r"--classes must list all"),
    "secret on a pipe": (["sketch", "good.csv", "--bandwidth", "1", "--out", "-"], 3, r"mode 0600 only"),
    "bad TOML": (["build", "--config", "bad.toml"], 2, r"bad.toml is not TOML"),
    "unknown option in TOML": (["build", "--config", "typo.toml"], 2, r"'epsilonn' .* Did you mean 'epsilon'\?"),
    "no TOML": (["build", "--config", "nix.toml"], 2, r"no configuration file 'nix.toml'"),
    "info of nothing": (["info", "nix.scumble"], 4, r"no such file"),
    "info of a secret": (["info", "part.secret"], 3, r"secret sketch"),
    "info of a CSV file": (["info", "good.csv"], 5, r"is a table, not a release\. Hint: scumble build"),
    "info of a page": (["info", "page.html"], 5, r"is a web page, not a release\. Hint: open it in a browser"),
    "info of a picture": (["info", "page.svg"], 5, r"is a picture, not a release\. Hint: name the .scumble file"),
    "info of a schema": (["info", "typo.toml"], 5, r"is a schema, by its name.*scumble build TABLE --schema typo.toml"),
    "info of anything": (["info", "song.mp3"], 5, r"is not a scumble file\. Hint: releases, models and sketches are"),
    "a page of a page": (["explore", "page.html", "--export", "x.html"], 5, r"is a web page, not a release"),
    "a page of a table": (["explore", "good.csv", "--export", "x.html"], 5, r"is a table, not a release"),
    "a page of a secret": (["explore", "part.secret", "--export", "x.html"], 3, r"secret sketch"),
    "info of a folder": (["info", "unlike"], 5, r"'unlike' is a folder, not a release. Hint: name a file"),
    "info of a ledger": (["info", "good.db"], 5, r"SQLite database, as ledgers are.*scumble ledger good.db"),
    "info of a damaged file": (["info", "damaged.scumble"], 5, r"checksum"),
    "release of a release": (["release", "ok.scumble", "--epsilon", "1", "--out", "x.scumble"], 5, r"holds a release"),
    "query, wrong column": (["query", "ok.scumble", "unlike/b.csv", "--out", "x.txt"], 2, r"Cannot tell the format"),
    "query, no points": (["query", "ok.scumble", "header.csv"], 4, r"no points"),
    "query, bad cell": (["query", "ok.scumble", "mixed.csv"], 4, r"mixed.csv, line 3: column 'age'"),
    "plot without range": (["plot", "ok.scumble", "--out", "x.png"], 2, r"Give --range age=LOW:HIGH"),
    "plot as a song": (["plot", "ok.scumble", "--out", "x.mp3"], 2, r"Cannot tell the format"),
    "merge of unlike kinds": (
        ["merge", "ok.scumble", "part.secret", "--out", "x"],
        2,
        r"Cannot merge release with secret",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_line_that_says_what_to_do(name: str, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    words, code, message = CASES[name]
    before = sorted(folder.rglob("*"))
    assert main(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and "Traceback" not in err
    assert re.search(message, err), err
    assert sorted(folder.rglob("*")) == before, "nothing is written"


def test_the_folder_of_a_stream_is_no_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for period in (1, 2):
        (tmp_path / f"total-{period:05}.scumble").touch()
    assert main(["info", str(tmp_path)]) == 5
    told = capsys.readouterr().err
    assert "is the folder of a stream" in told and f"{tmp_path}/total-00002.scumble; scumble explore" in told


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
def test_bad_cells_in_the_millionth_row(kind: str, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    rows = 1_000_000
    age = np.full(rows, 41.0)
    if kind == "csv":
        lines = ["41"] * rows
        lines[-1] = "forty-one"
        (folder / "big.csv").write_text("age\n" + "\n".join(lines) + "\n")
        where = r"big.csv, line 1,000,001: 1 cell is missing, not a number or not finite: 1 in column 'age'"
    else:
        age[-1] = np.nan
        pq.write_table(pa.table({"age": age}), folder / "big.parquet", row_group_size=300_000)
        where = r"big.parquet, row group 3 \(counted from 0\), row 1,000,000 of the file: 1 cell .* 1 in column 'age'"
    words = build(f"big.{kind}", "--columns", "age", "--rows", "1", "--buckets", "4", "--json")
    assert main(words) == 4
    out, err = capsys.readouterr()
    assert re.search(where, err) and "forty" not in err and not out
    assert not (folder / "o.scumble").exists()
    assert main([word.replace("error", "drop") for word in words]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("1 row was left out")
    assert "dropped" not in out
    assert b"dropped" not in (folder / "o.scumble").read_bytes()


def test_ragged_lines_can_be_dropped(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "part.secret").unlink()
    sketch = ["sketch", "ragged.csv", "--bandwidth", "10", "--rows", "8", "--buckets", "16", "--invalid", "drop"]
    assert main([*sketch, "--out", "part.secret"]) == 0
    assert capsys.readouterr().err.startswith("2 rows were left out")
    assert scumble.load_secret("part.secret").count == 1


def test_encodings_and_delimiters(folder: Path) -> None:
    more = [
        "--columns",
        "age",
        "--bandwidth",
        "1",
        "--epsilon",
        "1",
        "--out",
        "o.scumble",
        "--rows",
        "4",
        "--buckets",
        "4",
    ]
    assert main(["build", "latin.csv", "--encoding", "latin-1", *more]) == 0
    assert main(["build", "utf16.csv", "--encoding", "utf-16", *more]) == 0
    assert main(["build", "semicolon.csv", "--delimiter", ";", *more]) == 0
    assert main(["build", "header.csv", "--allow-empty", *more]) == 0


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

FIT = "fit people.csv --task regress --columns age --target income --bounds age=0:9 --target-bounds 0:9 --out m.scumble"
PLAN = "plan --columns x --bandwidth 0.5 --n 1000"


@pytest.mark.parametrize("number", ["1e9999999", "1e-9999999", "1e400", "5e-324", "1e-400", "nan", "inf", "1/0"])
@pytest.mark.parametrize("line", ["ledger book --open a", f"{FIT} --delta 1e-6", PLAN])
def test_a_budget_that_is_no_number_to_calculate_with_is_refused_by_name(
    line: str, number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(GOOD)
    assert main([*line.split(), "--epsilon", number]) == 2
    assert "--epsilon" in capsys.readouterr().err


def test_where_a_calculation_overflows_the_number_that_is_farthest_off_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def overflows(_: object) -> None:
        raise OverflowError

    monkeypatch.setattr("scumble.cli.plan.run", overflows)
    assert (
        main(["plan", "--columns", "x", "--bandwidth", "0.5", "--n", "1000", "--epsilon=1e-200", "--delta", "1e-6"])
        == 2
    )
    assert "look at --epsilon" in capsys.readouterr().err


def test_an_output_without_a_name_is_refused_at_no_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(GOOD)
    scumble.Ledger.create("book").open_dataset("people", epsilon=2)
    charged, before = ["--ledger", "book", "--dataset", "people"], sorted(os.listdir())
    assert main(build("people.csv", *charged, "--out", "")) == 2
    assert main(build("people.csv", *charged, "--checkpoint", "a\0b")) == 2
    assert "--out names no file" in capsys.readouterr().err
    assert scumble.Ledger("book").account("people").charges == ()
    assert sorted(os.listdir()) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_help_that_cannot_be_written_is_an_error() -> None:
    for words in (["info", "--help"], ["--help"], ["build", "--help"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([sys.executable, "-m", "scumble", *words], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 5 and b"Cannot write standard output" in done.stderr


def test_a_plan_of_one_bucket_is_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAN.split(), "--bounds", "x=0:9", "--buckets", "1", "--epsilon", "1"]) == 0
    assert "nan" not in capsys.readouterr().out
