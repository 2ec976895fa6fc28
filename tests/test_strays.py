"""Cells that were counted where they do not stand: the curator learns of them before anything is spent, and nobody
else ever is."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import scumble
from scumble.cli import BAD_DATA, main
from scumble.columns import curator
from scumble.columns.column import Column
from scumble.columns.column import Strays as OfBatch
from scumble.errors import CuratorWarning, DataError
from scumble.sources import Build, build_by
from scumble.sources.source import Oddities

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


@pytest.mark.parametrize(
    ("column", "held", "want"),
    [
        (SEEN, ["2009-05-01", "01/02/2009", None, "NA", " ", "2008-12-31", "2010", "01.02.2009"], (3, 2, 2, 0, 0, 1)),
        (AGE, ["41", None, "two", "n.a.", "N/A", "999", "99.5", "-1", "inf"], (4, 3, 2, 0, 0, 2)),
        (AGE, [41.0, None, 120.0, -0.5], (3, 0, 2)),
        (scumble.Number(0, 99, outside="drop", missing=True), ["41", "999", "two"], (2, 1, 0, 0, 0, 2)),
        (scumble.Number(0, 99), ["41", "999", "two"], (2, 0, 1)),
        (scumble.Boolean(missing=True), ["yes", "perhaps", None, "", "0"], (2, 1, 0, 0, 0, 1)),
        (scumble.Category(["a"]), ["a", "b", None, "A"], (3, 0, 0, 2, 1)),
        (scumble.Category(["a"], other=False), ["a", "b", None], (2,)),
        (scumble.Category(["a"], other=False), ["A ", "b", "A"], (3, 0, 0, 0, 2)),
        (scumble.Category(["a"], missing_words=["-"]), ["a", "NA", " -", None], (1,)),
    ],
)
def test_what_is_counted_elsewhere(column: Column, held: list[Any], want: tuple[int, ...]) -> None:
    """Read, unreadable, outside, others, near misses, the first unreadable: alike in every container."""
    for cells in (held, pa.array(held), pa.chunked_array([held[:2], held[2:]]), np.array(held, object)):
        found = column.find(cells)
        assert found.strays() == OfBatch(*want)
        assert found.codes.tolist() == column.encode(cells).codes.tolist()


def test_records_that_are_left_out_have_no_strays() -> None:
    schema = scumble.Schema(seen=SEEN, age=scumble.Number(0, 99, outside="drop"), town=scumble.Category(["Ulm"]))
    rows = {
        "seen": ["soon", "soon", "2019-01-01", "2009-01-01", "2019-01-01"],
        "age": [120.0, 41.0, None, 30.0, 20.0],
        "town": ["Bonn", "Ulm", "Bonn", "Köln", "Ulm"],
    }
    (_, dropped), found, _ = schema.find(rows, invalid="drop")
    strays = {name: one.strays(dropped) for name, one in found.items()}
    assert strays == {
        "seen": OfBatch(2, 1, 1, first=1),
        "age": OfBatch(3),
        "town": OfBatch(3, other=1),
    }
    job = Build(pa.table(rows), schema=schema, invalid="drop")
    job.count()
    assert [line.split(" of ")[0] for line in job.strays()] == ["1 value"] * 3
    assert job.strays()[2] == "1 value of 'town' is not in its vocabulary and counted as '(other)'"


def test_a_row_is_left_out_for_its_first_cause() -> None:
    closed = scumble.Category(["Ulm"], other=False, missing=False)
    schema = scumble.Schema(age=scumble.Number(0, 99, outside="drop"), town=closed)
    ages = ["41", "120", "120", None, "x", "x", "x", "41", "41", "7", None]
    towns = ["Ulm", "Ulm", "Bonn", "Ulm", "Ulm", None, "Ulm", "Bonn", "Bonn", None, None]
    job = Build(pa.table({"age": ages, "town": towns}), schema=schema, invalid="drop")
    assert job.count().sketches[0].count == 1
    assert job.left_out() == [
        "3 with an unreadable or infinite value in 'age'",
        "2 outside the bounds of 'age'",
        "2 with a missing value in 'age'",
        "2 with a word outside the vocabulary of 'town'",
        "1 with a missing value in 'town'",
    ]


UNREAD = f"{MANY} values of 'seen', all that it holds, could not be read and counted as missing: not a date"
SCHEMAS = {
    "town.toml": '[columns.town]\nkind = "category"\nvalues = ["Ulm", "Bonn"]\n',
    "closed.toml": '[columns.town]\nkind = "category"\nvalues = ["Ulm", "Bonn"]\nother = false\n',
    "price.toml": '[columns.price]\nkind = "number"\nlow = 0\nhigh = 99\nmissing = true\n',
    "strict.toml": '[columns.price]\nkind = "number"\nlow = 0\nhigh = 99\noutside = "drop"\n',
}
GRID, WHOSE = "--columns price --bandwidth 5 --bounds price=0:99", "--person-column x --records-per-person 1"
RECORDS = {
    # What the records are, the options, a line that the curator reads, and whether --invalid error refuses it.
    "no date": ("p.csv", "seen,age\n" + "01/02/2009,41\n" * MANY, "--schema people.toml", UNREAD, False),
    "no word": ("p.csv", "town\n" + "zz\n" * 150, "--schema town.toml", "all that it holds, are not in its", False),
    "no word at all": ("p.csv", "town\n" + "zz\n" * 150, "--schema closed.toml", "no record was counted", True),
    "beyond": ("p.csv", "price\n" + "2500\n" * MANY, "--schema price.toml", "lay outside its bounds, 0 to 99", False),
    "beyond, dropped": ("p.csv", "price\n" + "2500\n" * MANY, "--schema strict.toml", "no record was counted", True),
    "beyond a grid": ("p.csv", "price\n" + "2500\n" * MANY, GRID, "lay outside its bounds, 0 to 99", False),
    "a comma": ("p.csv", "price\n" + '"1.234,50"\n' * MANY, "--schema price.toml", "with --decimal ,", False),
    "no rows": ("p.csv", "price\n", "--schema price.toml", "no record was counted", True),
    "no rows, a density": ("p.csv", "price\n", GRID, "no record was counted", True),
    "no lines": ("p.jsonl", "", GRID, "no record was counted", True),
    "a missing cell": ("p.csv", "price,x\n1,1\n,1\n", GRID, "1 with a missing value in 'price'", True),
    "an infinite one": ("p.csv", "price,x\n1,1\ninf,1\n", GRID, "1 with an unreadable", True),
    "a ragged line": ("p.csv", "price,x\n1,1\n1\n", GRID, "1 line that is not a record", True),
    "no object": ("p.jsonl", '{"price": 1}\n[1]\n', GRID, "1 line that is not a record", True),
    "no text": ("p.csv", "x,y\n1,a\n1,\udcff\n", "--columns x,y --categories y --bandwidth 1", "no text in", True),
    "no class": ("p.csv", "price,x\n1,a\n1,b\n", GRID + " --label x --classes a", "1 with none of the classes", True),
    "nobody": ("p.csv", "price,x\n1,a\n1,\n", f"{GRID} {WHOSE}", "without a person in", True),
}


@pytest.mark.parametrize("name", RECORDS)
def test_no_record_decides_whether_there_is_a_release_unless_the_curator_asks_for_it(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether there is a file would reveal something about the records, which the claim does not cover."""
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
    with pytest.raises(DataError, match="1 value"):
        scumble.build(rows, scumble.EuclideanKernel(1.0), epsilon=1.0, neighbors="replace")


def test_a_resumed_build_has_not_seen_all_rows_and_is_not_refused(folder: Path) -> None:
    """Nor does it tell of rows that it has not seen: the numbers are of those since."""
    for name, first in (("a.csv", "2009-01-01"), ("b.csv", "soon")):
        (folder / name).write_text("seen,age\n" + f"{first},4\n" * MANY)
    options: dict[str, Any] = {"schema": scumble.Schema(seen=SEEN), "checkpoint": "c.secret", "checkpoint_seconds": 0.0}
    options["threads"] = 1

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Build(["a.csv", "b.csv"], **options).count(stop)
    job = Build(["a.csv", "b.csv"], **options)
    job.count()
    (told,) = job.strays()
    assert told.startswith(f"{MANY} values of 'seen', all that it holds, could not be read and counted as missing, ")
    assert "since the build was resumed: not a date" in told


def test_the_curator_is_told_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ["2009-05-01,41", "01/02/2009,", "NA,999", "2008-01-01,NA", "2007-01-01,old", "2009-05-01,x"]
    (folder / "people.csv").write_text("seen,age\n" + "\n".join(rows) + "\n")

    def published(*_: Any, **__: Any) -> Any:
        lines = capsys.readouterr().err.splitlines()
        told = ["1 value of 'seen'", "2 values of 'seen'", "2 values of 'age'", "1 value of 'age'"]
        assert len(lines) == 4 and all(map(str.startswith, lines, told))
        assert "line 3" in lines[0] and "line 6" in lines[2]
        raise DataError("nothing is drawn here")

    monkeypatch.setattr("scumble.sources.building.released", published)
    assert build("--invalid", "error") == BAD_DATA


def test_a_grid_tells_what_is_outside_unless_noise_comes_first(folder: Path) -> None:
    (folder / "people.csv").write_text("seen,age,mode\n2009-05-01,999,a\n2019-05-01,41,b\n2019-05-02,99,a\nx,999,a\n")
    bounds = {"seen": ("2009-01-01", "2009-12-31"), "age": (0, 99)}
    kernel = scumble.EuclideanKernel(5.0)
    options: dict[str, Any] = {"dates": ["seen"], "bounds": bounds, "design": "grid", "invalid": "drop"}
    for more in ({}, {"label": "mode", "classes": ["a", "b"]}, {"noise_first": True}):  # the last row is left out
        job = Build("people.csv", kernel, ["seen", "age"], **options, **more)
        job.count()
        want = [] if "noise_first" in more else ["2 values of 'seen', 67 %", "1 value of 'age'"]
        assert len(job.strays()) == len(want) and all(map(str.startswith, job.strays(), want))


def test_python_tells_what_the_command_line_tells(folder: Path) -> None:
    """In one warning, before anything is spent; and nothing where there is nothing to tell."""
    (folder / "people.csv").write_text("who,age,mode\na,41,b\na,7,a\nb,999,a\nc,x,b\n,5,a\n")
    kernel, bounds = scumble.EuclideanKernel(5.0), {"age": (0, 99)}
    options: dict[str, Any] = {"bounds": bounds, "design": "grid", "buckets": 16, "epsilon": 1.0, "invalid": "drop"}
    with pytest.warns(CuratorWarning) as found:
        scumble.build("people.csv", kernel, ["age"], person_column="who", **options)
    (told,) = (str(one.message).splitlines() for one in found)
    assert [line[:2] for line in told] == ["2 ", "1 ", "1 "] and "'who'" in told[0] and "'age'" in told[1]
    assert found[0].filename == __file__
    with pytest.warns(CuratorWarning) as found:
        build_by("people.csv", kernel, ["age"], label="mode", classes=["a", "b"], **options)
    assert found[0].filename == __file__
    ledger = scumble.Ledger.create("l.ledger")
    ledger.open_dataset("d", epsilon=1.0)
    for _ in range(2):  # a warning that is an error comes before the charge
        with warnings.catch_warnings(action="error"), pytest.raises(CuratorWarning):
            scumble.build("people.csv", kernel, ["age"], **options, ledger=ledger, dataset="d")
    scumble.build(pa.table({"age": [1.0, 99.0]}), kernel, **options)


def test_a_list_in_a_column_of_words_is_no_word_for_a_kernel_and_no_bad_number(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": "x", "n": 1}\n{"a": ["secret"], "n": 2}\n')
    kernel = scumble.EuclideanKernel(1.0, columns=["n"]) * scumble.HammingKernel(columns=["a"])
    for source in (tmp_path / "a.jsonl", pd.DataFrame({"a": ["x", ["secret"]], "n": [1, 2]})):
        job = Build(source, kernel, ["n", "a"], rows=8, buckets=8, invalid="error")
        with pytest.raises(DataError, match=r"1 value is missing, unreadable, .*: 1 in column 'a'") as told:
            job.count()
        assert "secret" not in str(told.value)
    for lists in (pa.array([["secret"]]), pa.array([{"k": "secret"}])):
        for how in ({"schema": scumble.Schema(a=scumble.Category(["x"]))}, {"kernel": scumble.HammingKernel()}):
            with pytest.raises(DataError, match=r"must hold categories, got values of type"):
                scumble.build(pa.table({"a": lists}), **how, epsilon=1, invalid="drop")


def test_counts_of_batches_and_machines_add_up_and_the_first_cell_stays() -> None:
    strays, other = curator.Strays(), curator.Strays()
    strays.add({"seen": OfBatch(5, unread=2, first=3)}, 8, (0, 8))
    strays.add({"seen": OfBatch(4, unread=1, first=0), "age": OfBatch(9, beyond=1)}, 9, (0, 17))
    columns = ["age", "town", "seen"]
    other.add_numbers(columns, strays.numbers(columns))
    assert other.to_dict() == strays.to_dict() and strays.to_dict()["seen"]["unreadable"] == 3
    declared = {"seen": SEEN, "age": AGE}
    told, untold = (
        list(strays.words(declared, *place)) for place in ([lambda *where: f"row {where[1:]} before {where[0]}"], [])
    )
    assert "row (8, 3) before (0, 8)" in told[0] and len(told) == len(untold) == 2
    assert "row" not in "".join(untold) + "".join(other.words(declared, lambda *where: "row"))


def test_one_cell_and_several_are_told_apart() -> None:
    declared: dict[str, Column | str] = {"town": scumble.Category(["Ulm"], strip=False)}
    for count, words in ((1, "1 value of 'town' matches"), (2, "2 values of 'town' match ")):
        strays = curator.Strays()
        strays.add({"town": OfBatch(9, other=count, near=count)})
        assert any(line.startswith(words) for line in strays.words(declared))
    one, two, lines = Oddities(Counter(town=1, street=2), curator.MANY).words()
    assert "was read" in one and "were read" in two and "10 lines" in lines
    assert [curator.many_unread(rows) for rows in (10, 1000)] == [10, 100]
    assert curator.as_written([0.12345678901234, 1.0]) == "0.123456789012 to 1"
