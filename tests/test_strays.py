"""Cells that were counted where they do not stand: the curator is told of them, before anything is spent, and nobody
else ever is."""

from __future__ import annotations

import datetime
import json
import re
import sqlite3
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

import scumble
from scumble.cli import BAD_DATA, main
from scumble.errors import CuratorWarning, DataError, ParameterError
from scumble.schema import draft, toml
from scumble.schema.column import Column
from scumble.schema.column import Strays as OfBatch
from scumble.schema.spelling import DATES
from scumble.show import cards
from scumble.sources import Build, build_by

MANY = 100
SEEN = scumble.Date("2009-01-01", "2009-12-31", missing=True)
AGE = scumble.Number(0, 99, whole=True, missing=True)
TOML = """
[columns.seen]
kind = "date"
low = "2009-01-01"
high = "2009-12-31"
missing = true
[columns.age]
kind = "number"
low = 0
high = 99
whole = true
missing = true
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.toml").write_text(TOML)
    return tmp_path


def build(*words: str) -> int:
    return main(["build", "people.csv", "--schema", "people.toml", "--epsilon", "1", "--out", "o.scumble", *words])


def test_years_and_months_alone_are_told_where_their_days_have_cells_of_their_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "people.csv").write_text("seen,age\n2009,41\n2009-05,41\n 2009-05 ,41\n" + "2009-05-01,41\n" * 5)
    assert build() == 0
    told = "3 cells of 'seen' named a year or a month alone, and counted on its first day (do not publish this)."
    assert told in capsys.readouterr().err.splitlines()
    for cells, coarse in (("day", 3), ("month", 1), ("year", 0)):
        column = scumble.Date("2008-01-01", "2009-12-31", cells=cells)
        for seen in (["2009", "2009-05", " 2009-05 ", "2009-05-01"], pd.Series(["2009", "2009-05", b"2009-05", 7])):
            assert column.find(seen).strays().coarse == coarse
        assert column.find(np.array([2009, 2008])).strays().coarse == (0 if cells == "year" else 2)
        assert column.find(np.array(["2009-05-01"], "M8[D]")).strays().coarse == 0


def test_several_currencies_in_a_column_are_told_and_one_is_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "people.csv").write_text("age,seen\n$5,\n£5,\n5,\n" + "€ 5,\n5 €,\nUSD 5,\n" * 5)
    assert build() == 0
    told = capsys.readouterr().err
    assert (
        "'age' has money of several signs, 10 cells with €, 1 with $ and 1 with £, which count alike by their bare "
        "numbers. Hint: bring them to one currency first (do not publish this)."
    ) in told.splitlines()
    assert "5 cells of 'age' could not be read" in told and "USD 12 are not" in told
    (folder / "people.csv").write_text("age,seen\n$5,\n5,\n")
    assert build() == 0 and "several signs" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "held", "want"),
    [
        (SEEN, ["2009-05-01", "01/02/2009", None, "NA", " ", "2008-12-31", "2010", "01.02.2009"], (3, 2, 1, 2)),
        (AGE, ["41", None, "two", "n.a.", "N/A", "999", "99.5", "-1", "inf"], (4, 3, 2, 2)),
        (AGE, [41.0, None, 120.0, -0.5], (3, 0, -1, 2)),
        (scumble.Number(0, 99, outside="drop", missing=True), ["41", "999", "two"], (2, 1, 2, 0)),
        (scumble.Number(0, 99), ["41", "999", "two"], (2, 0, -1, 1)),
        (scumble.Boolean(missing=True), ["yes", "perhaps", None, "", "0"], (2, 1, 1, 0)),
        (scumble.Category(["a"]), ["a", "b", None, "A"], (3, 0, -1, 0, 2, 0, 1)),
        (scumble.Category(["a"], other=False), ["a", "b", None], (2, 0, -1, 0, 0)),
    ],
)
def test_what_is_counted_elsewhere(column: Column, held: list[Any], want: tuple[int, ...]) -> None:
    """Read, unreadable, the first of these, outside, others: alike in every container."""
    for cells in (held, pa.array(held), pa.chunked_array([held[:2], held[2:]]), np.array(held, object)):
        found = column.find(cells)
        assert found.strays() == OfBatch(*want)
        assert found.codes.tolist() == column.encode(cells).codes.tolist()


def test_empty_cells_of_typed_columns_are_no_strays() -> None:
    days = [datetime.date(2009, 5, 1), None, datetime.date(2020, 1, 1)]
    for cells in (pa.array(days), pa.array(days).dictionary_encode(), np.array(days, "datetime64[D]")):
        assert SEEN.find(cells).strays() == OfBatch(2, 0, -1, 1)
    assert AGE.find(np.array([1.0, np.nan, np.inf])).strays() == OfBatch(1, 1, 2, 0)


def test_records_that_are_left_out_have_no_strays() -> None:
    schema = scumble.Schema(seen=SEEN, age=scumble.Number(0, 99, outside="drop"), town=scumble.Category(["Ulm"]))
    rows = {
        "seen": ["soon", "soon", "2019-01-01", "2009-01-01", "2019-01-01"],
        "age": [120.0, 41.0, None, 30.0, 20.0],
        "town": ["Bonn", "Ulm", "Bonn", "Köln", "Ulm"],
    }
    _, strays = schema.find(rows, invalid="drop")
    assert strays == {"seen": OfBatch(2, 1, 1, 1), "age": OfBatch(3), "town": OfBatch(3, other=1)}
    job = Build(pa.table(rows), schema=schema, invalid="drop")
    job.count()
    assert [line.split(" of ")[0] for line in job.strays()] == ["1 cell"] * 3
    assert job.strays()[2] == "1 cell of 'town' held none of its words, and counted as '(other)'"


UNREAD = f"{MANY} cells of 'seen', all that it holds, could not be read and counted as missing: not a date"
SCHEMAS = {
    "town.toml": '[columns.town]\nkind = "category"\nvalues = ["Ulm", "Bonn"]\n',
    "closed.toml": '[columns.town]\nkind = "category"\nvalues = ["Ulm", "Bonn"]\nother = false\n',
    "price.toml": '[columns.price]\nkind = "number"\nlow = 0\nhigh = 99\nmissing = true\n',
    "strict.toml": '[columns.price]\nkind = "number"\nlow = 0\nhigh = 99\noutside = "drop"\n',
}
GRID = "--columns price --bandwidth 5 --bounds price=0:99"
RECORDS = {
    # What the records are, the options, a line that the curator reads, and whether --invalid error refuses it.
    "no date": ("p.csv", "seen,age\n" + "01/02/2009,41\n" * MANY, "--schema people.toml", UNREAD, False),
    "no word": ("p.csv", "town\n" + "zz\n" * 150, "--schema town.toml", "all that it holds, held none of its", False),
    "no word at all": ("p.csv", "town\n" + "zz\n" * 150, "--schema closed.toml", "no row was counted", True),
    "beyond": ("p.csv", "price\n" + "2500\n" * MANY, "--schema price.toml", "lay outside its bounds, 0 to 99", False),
    "beyond, dropped": ("p.csv", "price\n" + "2500\n" * MANY, "--schema strict.toml", "no row was counted", True),
    "beyond a grid": ("p.csv", "price\n" + "2500\n" * MANY, GRID, "lay outside its bounds, 0 to 99", False),
    "a comma": (
        "p.csv",
        "price\n" + '"1.234,50"\n' * MANY,
        "--schema price.toml",
        "--decimal , (decimal=',') reads",
        False,
    ),
    "no rows": ("p.csv", "price\n", "--schema price.toml", "no row was counted", True),
    "no rows, a density": ("p.csv", "price\n", GRID, "no row was counted", True),
    "no lines": ("p.jsonl", "", GRID, "no row was counted", True),
    "a missing cell": ("p.csv", "price,x\n1,1\n,1\n", GRID, "1 with a missing cell in 'price'", True),
    "an infinite one": ("p.csv", "price,x\n1,1\ninf,1\n", GRID, "1 with a cell unreadable", True),
    "a ragged line": ("p.csv", "price,x\n1,1\n1\n", GRID, "1 line that is not a row", True),
    "no object": ("p.jsonl", '{"price": 1}\n[1]\n', GRID, "1 line that is not a row", True),
    "no text": ("p.csv", "x,y\n1,a\n1,\udcff\n", "--columns x,y --categories y --bandwidth 1", "no text in", True),
    "no class": ("p.csv", "price,x\n1,a\n1,b\n", GRID + " --label x --classes a", "1 of none of the classes", True),
    "nobody": (
        "p.csv",
        "price,x\n1,a\n1,\n",
        GRID + " --person-column x --records-per-person 1",
        "do not say whose they are",
        True,
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_no_record_decides_whether_there_is_a_release_unless_the_curator_asks_for_it(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever sees that a file is there, or is not, would learn of the records; the claim covers no such fact."""
    file, records, options, told, refused = RECORDS[name]
    (folder / file).write_bytes(records.encode(errors="surrogateescape"))
    for one, text in SCHEMAS.items():
        (folder / one).write_text(text)
    line = ["build", file, *options.split(), "--epsilon", "1", "--out", "o.scumble"]
    assert main(line) == 0 and (folder / "o.scumble").exists()
    err = capsys.readouterr().err
    assert told in err and "2500" not in err and "zz" not in err
    (folder / "o.scumble").unlink()
    assert main(["ledger", "l.ledger", "--open", "d", "--epsilon", "9"]) == 0
    book = ["--ledger", "l.ledger", "--dataset", "d"]
    assert main([*line, *book, "--invalid", "error"]) == (BAD_DATA if refused else 0)
    charged = bool(scumble.Ledger("l.ledger").account("d").charges)
    assert (folder / "o.scumble").exists() == charged == (not refused)
    assert "--label" in options or main(["sketch", *line[1:-4], "--out", "part.secret"]) == 0


def test_streams_leave_out_what_cannot_be_counted_unless_the_curator_asks(folder: Path) -> None:
    options: dict[str, Any] = {"columns": ["x"], "rows": 8, "buckets": 8, "periods": 2, "epsilon": 1.0}
    rows = pa.table({"x": [1.0, None]})
    stream = scumble.Stream(scumble.EuclideanKernel(1.0), **options)
    assert stream.update(rows) and stream.told
    for more in ({"invalid": "error"}, {"neighbors": "replace"}):
        with pytest.raises(DataError):
            scumble.Stream(scumble.EuclideanKernel(1.0), **options, **more).update(rows)


def test_where_the_number_of_records_is_public_none_is_left_out() -> None:
    rows = pa.table({"x": [1.0, None]})
    with pytest.raises(DataError, match="1 cell"):
        scumble.build(rows, scumble.EuclideanKernel(1.0), epsilon=1.0, neighbors="replace")


def test_a_column_of_dates_that_is_read_as_numbers_says_which_option_reads_it() -> None:
    for dates in (pa.array([1, 2], pa.date32()), pa.array([1, 2], pa.timestamp("s"))):
        with pytest.raises(DataError, match="Hint: name it in --dates or --times"):
            scumble.build(pa.table({"seen": dates}), scumble.EuclideanKernel(1.0), ["seen"], epsilon=1)
    with pytest.raises(DataError, match="Hint: name it in --dates or --times"):
        scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=8, buckets=8).update(np.array([[1], [2]], "M8[D]"))


def test_dates_with_names_of_months_are_among_those_that_the_hint_reads(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for spelling, date in DATES.items():
        assert pd.to_datetime(date, format=spelling) == pd.Timestamp("2009-01-31")
    assert {"%b %d, %Y", "%d %b %Y", "%d-%b-%y"} < {*DATES}, "months in short"
    (folder / "people.csv").write_text("seen\n" + '"August 14, 2020"\n' * 200)
    for missing in ("true", "false"):
        dates = f'kind = "date"\nlow = "2015-01-01"\nhigh = "2021-12-31"\nmissing = {missing}\n'
        (folder / "people.toml").write_text(f"[columns.seen]\n{dates}")
        assert build() == 0
        err = capsys.readouterr().err
        assert "August" not in err and "14, " not in err
        (spelling,) = re.findall(r"'(%B [^']*)' January 31, 2009", err)
        assert pd.to_datetime("August 14, 2020", format=spelling) == pd.Timestamp("2020-08-14")


def test_a_column_most_of_which_is_outside_is_told_with_its_likely_cause(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the curator, and not refused: see :mod:`scumble.schema.strays`."""
    (folder / "people.toml").write_text('[columns.pay]\nkind = "number"\nlow = 0\nhigh = 100\n')
    (folder / "people.csv").write_text("pay\n" + "51717\n" * 999 + "41\n")
    assert build() == 0
    err = capsys.readouterr().err
    assert "999 cells of 'pay', 99 % of what it holds, lay outside its bounds, 0 to 100, and counted at the" in err
    assert "nearest: perhaps the bounds are of another unit, currency or century than the cells; the release" in err
    assert "51717" not in err and b"currency" not in (folder / "o.scumble").read_bytes()
    assert main(["sketch", "people.csv", "--schema", "people.toml", "--out", "p.secret"]) == 0
    assert "another unit" in capsys.readouterr().err
    (folder / "people.csv").write_text("pay\n" + "51717\n" * 5 + "41\n" * 5)
    assert main(["sketch", "people.csv", "--schema", "people.toml", "--out", "q.secret"]) == 0
    assert (
        "5 cells of 'pay' lay outside its bounds, 0 to 100, and counted at the nearest (do" in capsys.readouterr().err
    )


def test_a_column_that_holds_few_of_its_words_is_told_with_its_likely_cause(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the curator, and not refused: that would tell of the records, and nobody has paid for it."""
    (folder / "people.toml").write_text('[columns.town]\nkind = "category"\nvalues = ["Ulm", "Bonn"]\n')
    (folder / "people.csv").write_text("town\n" + "ULM\n" * 999 + "Bonn\n")
    assert build("--json") == 0
    out, err = capsys.readouterr()
    assert "999 cells of 'town', 99 % of what it holds, held none of its words, and counted as '(other)'" in err
    assert "ignore_case = true ignores capitals" in err and "ULM" not in err
    assert "999 cells of 'town' match one of its words but for blanks or case" in err
    assert "capitals" not in out and b"capitals" not in (folder / "o.scumble").read_bytes()
    (folder / "people.csv").write_text("town\n" + "ULM\n" * 5 + "Bonn\n" * 5)
    assert build() == 0
    assert "capitals" not in capsys.readouterr().err


def test_a_resumed_build_has_not_seen_all_rows_and_is_not_refused(folder: Path) -> None:
    """Nor does it tell of rows that it has not seen: the numbers are of those since."""
    for name, first in (("a.csv", "2009-01-01"), ("b.csv", "soon")):
        (folder / name).write_text("seen,age\n" + f"{first},4\n" * MANY)
    options: dict[str, Any] = {"schema": scumble.Schema(seen=SEEN), "checkpoint": "c.secret", "checkpoint_seconds": 0.0}

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Build(["a.csv", "b.csv"], **options).count(stop)
    job = Build(["a.csv", "b.csv"], **options)
    job.count()
    (told,) = job.strays()
    assert told.startswith(f"{MANY} cells of 'seen', all that it holds, could not be read and counted as missing, ")
    assert "since the build was resumed: not a date" in told


def test_the_curator_is_told_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ["2009-05-01,41", "01/02/2009,", "NA,999", "2008-01-01,NA", "2007-01-01,old", "2009-05-01,x"]
    (folder / "people.csv").write_text("seen,age\n" + "\n".join(rows) + "\n")

    def published(*_: Any, **__: Any) -> Any:
        assert capsys.readouterr().err.splitlines() == [
            "1 cell of 'seen' could not be read and counted as missing: not a date (ISO 8601, such as 2009-01-31, is "
            "read; a dash does not mean missing); the first is in people.csv, line 3 (do not publish this).",
            "2 cells of 'seen' lay outside its bounds, 2009-01-01 to 2009-12-31, and counted at the nearest "
            "(do not publish this).",
            "2 cells of 'age' could not be read and counted as missing: not a number (1234.5, $1,234.50 and 12 % are "
            "read; 12 kg and USD 12 are not, and a dash does not mean missing); the first is in people.csv, line 6 "
            "(do not publish this).",
            "1 cell of 'age' lay outside its bounds, 0 to 99, and counted at the nearest (do not publish this).",
        ]
        raise DataError("nothing is drawn here")

    monkeypatch.setattr("scumble.sources.job.released", published)
    assert build("--invalid", "error") == BAD_DATA


def _excel(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


def test_numbers_that_are_none_in_files_of_text(folder: Path) -> None:
    schema = scumble.Schema(age=AGE)
    (folder / "p.jsonl").write_text('{"age": 5}\n{"age": "two"}\n{"age": ""}\n{"age": null}\n{}\n{"age": [1]}\n')
    _excel(folder / "p.xlsx", [["age", "x"], [5, 1], ["two", 1], ["NA", 1], [None, 1], [" ", 1], ["three", 1]])
    for name, where in (("p.jsonl", "p.jsonl, line 2"), ("p.xlsx", "p.xlsx, record 2 of the first sheet")):
        job = Build(folder / name, schema=schema)
        job.count()
        (told,) = job.strays()
        assert told.startswith("2 cells of 'age', 67 % of what it holds,") and told.endswith(where)
    job = Build(pa.table({"age": pa.array([1.0, None])}), schema=schema)
    job.count()
    assert job.strays() == []
    frame = pd.DataFrame({"age": [1.0, np.nan], "sign": ["b", np.nan]})
    job = Build(frame, schema=schema)
    job.count()
    assert job.strays() == []  # pandas says "missing" by NaN


def test_words_in_a_databases_column_of_numbers(folder: Path) -> None:
    with sqlite3.connect(folder / "p.db") as connection:
        connection.execute("CREATE TABLE p (age)")
        rows = [5, 6.5, "two", None, "NA", " ", b"\xff", "7", float("inf")]
        connection.executemany("INSERT INTO p VALUES (?)", [[cell] for cell in rows])
    connection.close()
    job = Build(f"sqlite:///{folder / 'p.db'}", schema=scumble.Schema(age=AGE), table="p")
    counts = job.count().sketches[0].secret.counts.tolist()
    assert counts[-1] == 6 and [counts[age] for age in (5, 6, 7)] == [1, 1, 1], "a cell of text is read as in a file"
    (told,) = job.strays()
    assert told.startswith("3 cells of 'age' could not be read") and "row 3 of" in told


def test_with_persons_no_line_is_named(folder: Path) -> None:
    (folder / "people.csv").write_text("who,seen\na,2009-01-01\n,soon\nb,soon\n")
    job = Build("people.csv", schema=scumble.Schema(seen=SEEN), person_column="who", invalid="drop")
    job.count()
    (told,) = job.strays()
    assert told.startswith("1 cell of 'seen'") and "line" not in told


def test_a_grid_tells_what_is_outside_unless_noise_comes_first(folder: Path) -> None:
    (folder / "people.csv").write_text("seen,age,mode\n2009-05-01,999,a\n2019-05-01,41,b\n2019-05-02,99,a\nx,999,a\n")
    bounds = {"seen": ("2009-01-01", "2009-12-31"), "age": (0, 99)}
    kernel = scumble.EuclideanKernel(5.0)
    options: dict[str, Any] = {"dates": ["seen"], "bounds": bounds, "design": "grid", "invalid": "drop"}
    for more in ({}, {"label": "mode", "classes": ["a", "b"]}, {"noise_first": True}):  # the last row is left out
        job = Build("people.csv", kernel, ["seen", "age"], **options, **more)
        job.count()
        want = [
            "2 cells of 'seen', 67 % of what it holds, lay outside its bounds, 2009-01-01 to 2009-12-31, and counted "
            "at the nearest: perhaps the bounds are of another unit, currency or century than the cells; the release "
            "will say little of this column",
            "1 cell of 'age' lay outside its bounds, 0 to 99, and counted at the nearest",
        ]
        assert job.strays() == ([] if "noise_first" in more else want)
        if not more:
            card = cards.card(job.release(), "o")
            assert "Bounds          seen 2009-01-01 to 2009-12-31, age 0 to 99; what lies outside counts at" in card


def test_a_stream_tells_what_it_left_out_and_what_lay_outside(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "people.csv").write_text("who,age\na,41\na,7\nb,999\nc,x\n,5\n")
    begun = ["--columns", "age", "--bandwidth", "5", "--bounds", "age=0:99", "--invalid", "drop"]
    begun += ["--person-column", "who", "--records-per-person", "1", "--design", "grid"]
    begun += ["--periods", "2", "--epsilon", "1", "--folder", "days"]
    assert main(["stream", "start", "s.secret", *begun]) == 0
    capsys.readouterr()
    append = ["stream", "append", "s.secret", "people.csv"]
    assert main(append) == 0
    assert capsys.readouterr().err.splitlines() == [
        "2 rows were left out: 1 that do not say whose they are in 'who', 1 with a cell unreadable or not finite "
        "in 'age'; each row is counted once, at its first such column (do not publish this).",
        "1 cell of 'age' lay outside its bounds, 0 to 99, and counted at the nearest (do not publish this).",
        "1 record over the limit of their person was left out (do not publish this).",
        "Counted in period 1.",
    ]
    assert main(append) == 0 and capsys.readouterr().err == "This batch was counted before; nothing was done.\n"
    assert main([*append, "--batch", "again", "--quiet"]) == 0 and capsys.readouterr().err == ""
    assert main(["stream", "publish", "s.secret", "--quiet"]) == 0 and not capsys.readouterr().err
    assert main([*append, "--period", "1"]) == 0
    assert capsys.readouterr().err == "Period 1 is closed, and this batch was counted before; nothing was done.\n"
    assert main([*append, "--period", "1", "--batch", "late"]) == 2
    assert capsys.readouterr().err.count("Period 1 is closed") == 1


def test_python_tells_what_the_command_line_tells(folder: Path) -> None:
    """In one warning, before anything is spent; and nothing where there is nothing to tell."""
    (folder / "people.csv").write_text("who,age,mode\na,41,b\na,7,a\nb,999,a\nc,x,b\n,5,a\n")
    kernel, bounds = scumble.EuclideanKernel(5.0), {"age": (0, 99)}
    options: dict[str, Any] = {"bounds": bounds, "design": "grid", "buckets": 16, "epsilon": 1.0, "invalid": "drop"}
    with pytest.warns(CuratorWarning) as found:
        scumble.build("people.csv", kernel, ["age"], person_column="who", **options)
    assert [str(one.message) for one in found] == [
        "2 rows were left out: 1 that do not say whose they are in 'who', 1 with a cell unreadable or not finite "
        "in 'age'; each row is counted once, at its first such column (do not publish this).\n"
        "1 cell of 'age' lay outside its bounds, 0 to 99, and counted at the nearest (do not publish this).\n"
        "1 record over the limit of their person was left out (do not publish this)."
    ]
    assert found[0].filename == __file__
    with pytest.warns(CuratorWarning, match=r"^1 row was left out: ") as found:
        build_by("people.csv", kernel, ["age"], label="mode", classes=["a", "b"], **options)
    assert found[0].filename == __file__
    ledger = scumble.Ledger.create("l.ledger")
    ledger.open_dataset("d", epsilon=1.0)
    for _ in range(2):  # a warning that is an error comes before the charge
        with warnings.catch_warnings(action="error"), pytest.raises(CuratorWarning):
            scumble.build("people.csv", kernel, ["age"], **options, ledger=ledger, dataset="d")
    scumble.build(pa.table({"age": [1.0, 99.0]}), kernel, **options)


def test_a_stream_in_memory_tells_what_it_left_out() -> None:
    kernel = scumble.EuclideanKernel(1.0)
    stream = scumble.Stream(kernel, 1, periods=2, epsilon=1.0, delta=1e-6, rows=8, buckets=8, invalid="drop")
    stream.update(np.array([[1.0], [np.nan], [np.inf]]))
    assert stream.told == ["2 rows were left out (do not publish this)."]
    stream.update(np.array([[1.0]]))
    assert stream.told == []


def test_an_unreadable_cell_of_a_table_has_a_line_and_a_hint_for_the_schema_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "people.toml").write_text(TOML.replace("missing = true", ""))
    (folder / "people.csv").write_text("seen,age\n2009-05-01,41\n" + "2009-05-01,x\n" * 1234)
    assert build("--invalid", "error") == BAD_DATA
    assert capsys.readouterr().err.strip() == (
        "scumble: people.csv, line 3: 1,234 cells are missing, unreadable, not finite or none of the schema's words: "
        "1,234 in column 'age', in a batch of 1,235 rows (do not publish this). Hint: in 'age' "
        "cells are missing or not a number (1234.5, $1,234.50 and 12 % are read; 12 kg and USD 12 are not, and a "
        "dash does not mean missing): correct them, declare 'age' with missing = true (missing=True) in the schema "
        "file, or leave such rows out with --invalid drop (invalid='drop'); --decimal , (decimal=',') reads 1.234,50 "
        "in a CSV file."
    )
    (folder / "people.csv").write_text("seen,age\n1.5.2009,41\n2.5.2009,41\n")
    assert build("--invalid", "error") == BAD_DATA
    assert "Hint: in 'seen' each cell is missing or not a date (ISO 8601" in capsys.readouterr().err


def test_true_in_large_letters_is_explained() -> None:
    for text in ("[columns.a]\nkind = 'boolean'\nmissing=True\n", "[columns.a]\r\nmissing = FALSE # no\r\n"):
        with pytest.raises(ParameterError, match=r"not TOML at line [23].*true or false, in small letters"):
            toml.parse(text.encode(), "x.toml")


def test_a_draft_explains_itself_once() -> None:
    text = draft({"a": None, "b": None, "c": pa.float64()})
    for word in ("missing = true", "cells = 50", 'scale = "log"', "ISO 8601", "Delete the columns"):
        assert text.count(word) == 1 and text.index(word) < text.index("[columns.a]")


@pytest.mark.parametrize(
    "column", [scumble.Category(["2020-02-01"]), scumble.Date("2020-01-01", "2020-12-31", missing=True)]
)
def test_a_list_in_a_column_of_objects_is_told_as_unreadable_and_not_taken_for_missing(
    column: Any, tmp_path: Path
) -> None:
    schema = scumble.Schema(a=column)
    lists: list[Any] = [["secret"], {"secret": 1}] * (MANY // 2)
    with pytest.warns(CuratorWarning, match="could not be read") as all_of_it:
        scumble.build(pd.DataFrame({"a": [*lists, None]}), schema=schema, epsilon=3)
    with pytest.warns(CuratorWarning, match=f"^{MANY} cells of 'a'.* could not be read and counted") as told:
        mixed = pd.DataFrame({"a": [*["2020-02-01"] * 5, None, "NA", *lists]})
        scumble.build(mixed, schema=schema, epsilon=3)
    lines = [json.dumps({"a": cell}) + "\n" for cell in mixed["a"].tolist()]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    with pytest.warns(CuratorWarning) as of_json:
        scumble.build(tmp_path / "a.jsonl", schema=schema, epsilon=3)
    first, where = (str(one[0].message).split("the first is in ") for one in (told, of_json))
    assert first[0] == where[0] and "line 8" in where[1]
    said = [str(all_of_it[0].message), first[0], where[0]]
    assert not any("secret" in one for one in said)


def test_a_list_in_a_column_of_words_is_no_word_for_a_kernel_and_no_bad_number(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": "x", "n": 1}\n{"a": ["secret"], "n": 2}\n')
    kernel = scumble.EuclideanKernel(1.0, columns=["n"]) * scumble.HammingKernel(columns=["a"])
    for source in (tmp_path / "a.jsonl", pd.DataFrame({"a": ["x", ["secret"]], "n": [1, 2]})):
        job = Build(source, kernel, ["n", "a"], rows=8, buckets=8, invalid="error")
        with pytest.raises(
            DataError, match=r"1 cell is missing or no word: 1 in column 'a'.* a list .* is not"
        ) as told:
            job.count()
        assert "secret" not in str(told.value) and "number" not in str(told.value).split("Hint: text, numbers")[0]
    for lists in (pa.array([["secret"]]), pa.array([{"k": "secret"}])):
        for how in ({"schema": scumble.Schema(a=scumble.Category(["x"]))}, {"kernel": scumble.HammingKernel()}):
            with pytest.raises(DataError, match=r"must hold categories, got values of type .* Hint: .*turn it into"):
                scumble.build(pa.table({"a": lists}), **how, epsilon=1, invalid="drop")
