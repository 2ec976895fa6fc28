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
from scumble.schema.strays import SURELY_WRONG
from scumble.show import cards
from scumble.sources import Build, build_by

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
        (scumble.Category(["a"]), ["a", "b", None, "A"], (3, 0, -1, 0, 2)),
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


def test_a_column_of_which_nothing_can_be_read_is_refused_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "people.csv").write_text("seen,age\n,41\n" + "01/02/2009 03:01,41\n" * SURELY_WRONG)
    ledger = scumble.Ledger.create(folder / "town.ledger")
    ledger.open_dataset("people", epsilon=1.0)
    before = (folder / "town.ledger").read_bytes()
    assert build("--ledger", "town.ledger", "--dataset", "people") == BAD_DATA
    told = capsys.readouterr().err
    assert "Not one cell of column 'seen' can be read" in told and "01/02" not in told
    assert "not a date (ISO 8601, such as 2009-01-31, is read; a dash does not mean missing); the first is in" in told
    assert not (folder / "o.scumble").exists() and (folder / "town.ledger").read_bytes() == before
    assert build("--invalid", "drop", "--json") == 0
    out, err = capsys.readouterr()
    assert f"{SURELY_WRONG} cells of 'seen', all that it holds, could not be read and counted as missing: not" in err
    assert "could not" not in out and json.loads(out)["kind"] == "table"
    assert b"could not" not in (folder / "o.scumble").read_bytes()


def test_numbers_with_a_comma_for_a_point_are_told_of_the_option_that_reads_them(tmp_path: Path) -> None:
    table, schema = tmp_path / "a.csv", scumble.Schema(price=scumble.Number(0, 9999, missing=True))
    table.write_text("town;price\n" + "Ulm;1.234,50\n" * SURELY_WRONG)
    with pytest.raises(DataError, match=r"Not one cell of column 'price' can be read.*--decimal , \(decimal=','\)"):
        scumble.build(table, schema=schema, epsilon=1.0, delimiter=";")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scumble.build(table, schema=schema, epsilon=1.0, delimiter=";", decimal=",")


def test_a_column_that_holds_none_of_its_words_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    """A blank behind each word, as files from spreadsheets have: all would be "(other)"."""
    schema = scumble.Schema(town=scumble.Category(["Ulm", "Bonn"]))
    rows = {"town": ["Ulm "] * SURELY_WRONG + [None]}
    ledger = scumble.Ledger.create(tmp_path / "town.ledger")
    ledger.open_dataset("people", epsilon=1.0)
    before = (tmp_path / "town.ledger").read_bytes()
    with pytest.raises(DataError, match="Not one cell of column 'town' holds a word of its vocabulary") as refused:
        scumble.build(pa.table(rows), schema=schema, epsilon=1.0, ledger=ledger, dataset="people")
    assert "Ulm" not in str(refused.value) and (tmp_path / "town.ledger").read_bytes() == before
    for few in (rows["town"][1:], [*rows["town"], "Bonn"]):
        Build(pa.table({"town": few}), schema=schema).count()
    job = Build(pa.table(rows), schema=schema, invalid="drop")
    job.count()
    assert job.strays()[0].startswith(f"{SURELY_WRONG} cells of 'town', all that it holds, held none of its words")


def test_bounds_that_hold_nothing_are_refused_before_anything_is_spent() -> None:
    """Prices in cents, say, of a table and on a grid: all would count at the nearest bound."""
    rows = {"price": [2500.0] * SURELY_WRONG + [None]}
    schema = scumble.Schema(price=scumble.Number(0, 99, missing=True))
    grid: dict[str, Any] = {"bounds": {"price": (0, 99)}, "design": "grid"}
    kernel = scumble.EuclideanKernel(5.0)
    told = "Not one cell of column 'price' lies between its bounds, 0 to 99, and all would count at the nearest"
    with pytest.raises(DataError, match=told) as refused:
        Build(pa.table(rows), schema=schema).count()
    assert "2500" not in str(refused.value)
    with pytest.raises(DataError, match=told):
        Build(pa.table({"price": rows["price"][:-1]}), kernel, ["price"], **grid).count()
    Build(pa.table({"price": [*rows["price"], 7.0]}), schema=schema).count()
    Build(pa.table({"price": rows["price"][1:-1]}), kernel, ["price"], **grid).count()
    for job in (
        Build(pa.table(rows), schema=schema, invalid="drop"),
        Build(pa.table(rows), kernel, ["price"], **grid, invalid="drop"),
    ):
        job.count()
        assert job.strays()[0].startswith(f"{SURELY_WRONG} cells of 'price', all that it holds, lay outside its bounds")


def test_a_table_of_which_no_row_is_left_is_refused_as_an_empty_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is spent: it says which column, why, and how its cells are read or which option reads them."""
    (folder / "people.csv").write_text("seen,age,born\n" + "01/02/2009,41,1968-01-31\n" * 3)
    assert main(["ledger", "l.ledger", "--open", "d", "--epsilon", "9"]) == 0
    cases = {
        "seen --dates seen": "in 'seen', dates are read as ISO 8601 has them, 2009-01-31: write them so "
        "(pandas.to_datetime(x, format=…) reads others: '%m/%d/%Y' 01/31/2009, '%d.%m.%Y' 31.01.2009, ",
        "age,born --bounds age=0:99,born=0:30000": "what is 'born'? Text: name it in --categories. Dates or times: --",
    }
    for columns, told in cases.items():
        line = f"build people.csv --columns {columns} --bandwidth 5 --epsilon 1 --invalid drop --out o.scumble"
        assert main([*line.split(), "--ledger", "l.ledger", "--dataset", "d"]) == BAD_DATA
        err = capsys.readouterr().err
        assert "every row would be left out: 3 with a cell unreadable or not finite in" in err and told in err
        assert "01/02" not in err and "1968" not in err and not (folder / "o.scumble").exists()
        assert not scumble.Ledger("l.ledger").account("d").charges
    assert main([*line.split(), "--allow-empty"]) == 0
    assert "WARNING: every row was left out. The release is nothing but noise" in capsys.readouterr().err
    schema = scumble.Schema(age=scumble.Number(0, 9, outside="drop"))
    with pytest.raises(DataError, match="every row would be left out: 2 outside the bounds of 'age'"):
        Build(pa.table({"age": [41.0, 42.0]}), schema=schema).count()
    Build(pa.table({"age": [41.0, 4.0]}), schema=schema).count()


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
        assert build() == 4
        err = capsys.readouterr().err
        assert "August" not in err and "14" not in err
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
    assert "capitals and blanks at the ends count" in err and "ULM" not in err
    assert "capitals" not in out and b"capitals" not in (folder / "o.scumble").read_bytes()
    (folder / "people.csv").write_text("town\n" + "ULM\n" * 5 + "Bonn\n" * 5)
    assert build() == 0
    assert "capitals" not in capsys.readouterr().err


def test_a_resumed_build_has_not_seen_all_rows_and_is_not_refused(folder: Path) -> None:
    """Nor does it tell of rows that it has not seen: the numbers are of those since."""
    for name, first in (("a.csv", "2009-01-01"), ("b.csv", "soon")):
        (folder / name).write_text("seen,age\n" + f"{first},4\n" * SURELY_WRONG)
    options: dict[str, Any] = {"schema": scumble.Schema(seen=SEEN), "checkpoint": "c.secret", "checkpoint_seconds": 0.0}

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Build(["a.csv", "b.csv"], **options).count(stop)
    job = Build(["a.csv", "b.csv"], **options)
    job.count()
    (told,) = job.strays()
    assert told.startswith(
        f"{SURELY_WRONG} cells of 'seen', all that it holds, could not be read and counted as missing, "
    )
    assert "since the build was resumed: not a date" in told
    with pytest.raises(DataError, match="Not one cell"):
        Build("b.csv", schema=scumble.Schema(seen=SEEN)).count()
    (folder / "b.csv").write_text("seen,age\n" + "soon,4\n" * (SURELY_WRONG - 1))
    Build("b.csv", schema=scumble.Schema(seen=SEEN)).count()


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
    assert build() == BAD_DATA


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
    assert build() == BAD_DATA
    assert capsys.readouterr().err.strip() == (
        "scumble: people.csv, line 3: 1,234 cells are missing, unreadable, not finite or none of the schema's words: "
        "1,234 in column 'age', in a batch of 1,235 rows (do not publish this). Hint: in 'age' "
        "cells are missing or not a number (1234.5, $1,234.50 and 12 % are read; 12 kg and USD 12 are not, and a "
        "dash does not mean missing): correct them, declare 'age' with missing = true (missing=True) in the schema "
        "file, or leave such rows out with --invalid drop (invalid='drop'); --decimal , (decimal=',') reads 1.234,50 "
        "in a CSV file."
    )
    (folder / "people.csv").write_text("seen,age\n1.5.2009,41\n2.5.2009,41\n")
    assert build() == BAD_DATA
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
    lists: list[Any] = [["secret"], {"secret": 1}] * (SURELY_WRONG // 2)
    with pytest.raises(DataError, match="Not one cell of column 'a' can be read") as refusal:
        scumble.build(pd.DataFrame({"a": [*lists, None]}), schema=schema, epsilon=3)
    with pytest.warns(CuratorWarning, match=f"^{SURELY_WRONG} cells of 'a'.* could not be read and counted") as told:
        mixed = pd.DataFrame({"a": [*["2020-02-01"] * 5, None, "NA", *lists]})
        scumble.build(mixed, schema=schema, epsilon=3)
    lines = [json.dumps({"a": cell}) + "\n" for cell in mixed["a"].tolist()]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    with pytest.warns(CuratorWarning) as of_json:
        scumble.build(tmp_path / "a.jsonl", schema=schema, epsilon=3)
    first, where = (str(one[0].message).split("the first is in ") for one in (told, of_json))
    assert first[0] == where[0] and "line 8" in where[1]
    said = [str(refusal.value), first[0], where[0]]
    assert not any("secret" in one for one in said)


def test_a_list_in_a_column_of_words_is_no_word_for_a_kernel_and_no_bad_number(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": "x", "n": 1}\n{"a": ["secret"], "n": 2}\n')
    kernel = scumble.EuclideanKernel(1.0, columns=["n"]) * scumble.HammingKernel(columns=["a"])
    for source in (tmp_path / "a.jsonl", pd.DataFrame({"a": ["x", ["secret"]], "n": [1, 2]})):
        job = Build(source, kernel, ["n", "a"], rows=8, buckets=8)
        with pytest.raises(
            DataError, match=r"1 cell is missing or no word: 1 in column 'a'.* a list .* is not"
        ) as told:
            job.count()
        assert "secret" not in str(told.value) and "number" not in str(told.value).split("Hint: text, numbers")[0]
    for lists in (pa.array([["secret"]]), pa.array([{"k": "secret"}])):
        for how in ({"schema": scumble.Schema(a=scumble.Category(["x"]))}, {"kernel": scumble.HammingKernel()}):
            with pytest.raises(DataError, match=r"must hold categories, got values of type .* Hint: .*turn it into"):
                scumble.build(pa.table({"a": lists}), **how, epsilon=1, invalid="drop")
