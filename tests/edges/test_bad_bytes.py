"""One bad byte costs one row, or names its line; and never a traceback, a value, or another row."""

from __future__ import annotations

import pathlib
import sqlite3

import numpy as np
import pytest

import scumble
from scumble.sources import open_source
from scumble.sources.building import Build
from scumble.sources.tally import Tally

TOWNS = scumble.HammingKernel(columns=["town"])
AGES = scumble.EuclideanKernel(1.0, columns=["age"])
BOTH = AGES * TOWNS
BAD = b"K\xf6ln"  # Latin-1


def counted(path: object, kernel: scumble.Kernel = BOTH, columns: tuple = ("age", "town"), **options: object) -> Tally:
    settings: dict = {"rows": 4, "buckets": 64, "seed": 1, "design": "iid", "invalid": "drop"}
    return Build(path, kernel, list(columns), **settings | options).count()


def expected(rows: list[tuple[float, str]], kernel: scumble.Kernel = BOTH) -> np.ndarray:
    sketch = scumble.Sketch(kernel, columns=["age", "town"], rows=4, buckets=64, seed=1, design="iid")
    ages, towns = zip(*rows, strict=True)
    return sketch.update({"age": np.array(ages), "town": np.array(towns, object)})._counts


GOOD = [(1.0, "Ulm"), (2.0, "Köln"), (4.0, "Zürich")]
CSV_LINES = ["1,Ulm", "2,Köln", None, "4,Zürich"]


def csv_file(path: pathlib.Path, bad: bytes, encoding: str = "utf-8") -> pathlib.Path:
    lines = [bad if line is None else line.encode(encoding) for line in CSV_LINES]
    path.write_bytes("age,town\n".encode(encoding) + b"".join(line + "\n".encode(encoding) for line in lines))
    return path


BAD_CELLS = {"in text": b"3," + BAD, "in a number": b"3\xff,Ulm"}
BAD_LINES = {"too many cells": b"3," + BAD + b",x", "too few": BAD}


@pytest.mark.parametrize("bad", [*BAD_CELLS.values(), *BAD_LINES.values()], ids=[*BAD_CELLS, *BAD_LINES])
def test_csv_drops_the_row_and_counts_it_or_names_the_line(
    bad: bytes, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture
) -> None:
    tally = counted(csv_file(tmp_path / "a.csv", bad))
    assert np.array_equal(tally.sketches[0]._counts, expected(GOOD)) and tally.dropped == 1
    with pytest.raises(scumble.DataError, match=r"a\.csv, line 4,") as found:
        counted(tmp_path / "a.csv", invalid="error")
    assert "ln" not in str(found.value).replace("line", "")  # no cell
    assert capfd.readouterr().err == ""


def test_what_stands_around_a_bad_row_does_not_matter(tmp_path: pathlib.Path) -> None:
    """A megabyte before it, and after it: the rest is counted as if it were not there."""
    path = tmp_path / "a.csv"
    many = [f"{k % 50},Ulm" for k in range(150_000)]
    path.write_bytes(("age,town\n" + "\n".join(many) + "\n").encode() + b"3," + BAD + b"\n" + "\n".join(many).encode())
    tally = counted(path)
    assert tally.sketches[0].count == 300_000 and tally.dropped == 1


@pytest.mark.parametrize("encoding", ["utf-16", "shift_jis", "ascii"])
def test_other_encodings(encoding: str, tmp_path: pathlib.Path) -> None:
    text = "age,town\n1,Ulm\n2,Bonn\n"
    broken = {"utf-16": b"\x00\xd8", "shift_jis": b"\x81\xff", "ascii": b"\xe9"}[encoding]
    path = tmp_path / "a.csv"
    end = "3,Bad?\n4,Rom\n".encode(encoding).removeprefix("".encode(encoding))
    path.write_bytes(
        text.encode(encoding) + end.replace("?".encode(encoding).removeprefix("".encode(encoding)), broken)
    )
    tally = counted(path, encoding=encoding)
    assert np.array_equal(tally.sketches[0]._counts, expected([(1.0, "Ulm"), (2.0, "Bonn"), (4.0, "Rom")]))
    assert tally.dropped == 1


@pytest.mark.parametrize(
    "name", ["idna", "punycode", "rot13", "zlib", "undefined", "unicode_escape", "x" * 5000, "a\0b", ""]
)
def test_no_encoding_of_files(name: str, tmp_path: pathlib.Path) -> None:
    path = csv_file(tmp_path / "a.csv", b"3,Bonn")
    with pytest.raises(scumble.DataError, match="There is no encoding"):
        counted(path, encoding=name)


JSON_BAD = {"a bad byte": b'{"age": 3, "town": "' + BAD + b'"}', "no object": b'{"age": 3, "town"'}


@pytest.mark.parametrize(("what", "around"), [("a bad byte", 0), ("no object", 50_000)])
def test_json_drops_the_row_and_counts_it(what: str, around: int, tmp_path: pathlib.Path) -> None:
    path, bad = tmp_path / "a.jsonl", JSON_BAD[what]
    one = b'{"age": 1, "town": "Ulm"}\n'
    path.write_bytes(one + one * around + bad + b"\n" + one)
    tally = counted(path)
    assert np.array_equal(tally.sketches[0]._counts, expected([(1.0, "Ulm")] * (around + 2))) and tally.dropped == 1
    with pytest.raises(scumble.DataError, match=rf"a\.jsonl, line {around + 2:,}"):
        counted(path, invalid="error")


@pytest.mark.parametrize("invalid", ["drop", "error"])
def test_half_a_surrogate_pair_is_counted_as_in_memory(invalid: str, tmp_path: pathlib.Path) -> None:
    """JSON can spell it, so it is a category like any other, and refuses nobody's build."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"age": 1, "town": "Ulm"}\n{"age": 3, "town": "\\ud800"}\n')
    tally = counted(path, invalid=invalid)
    assert np.array_equal(tally.sketches[0]._counts, expected([(1.0, "Ulm"), (3.0, "\ud800")]))


@pytest.mark.parametrize("query", ["SELECT x FROM t -- all of it", "SELECT x FROM t /* all */", "SELECT x FROM t;\n"])
def test_a_query_may_end_in_a_comment(query: str, tmp_path: pathlib.Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("CREATE TABLE t (x REAL)")
        database.execute("INSERT INTO t VALUES (1.0)")
    database.close()
    kernel = scumble.EuclideanKernel(1.0)
    assert counted(f"sqlite:///{tmp_path / 'a.db'}", kernel, ("x",), query=query).rows == 1


@pytest.mark.parametrize("wrong", ["utf-16", "utf-16-le", "utf-32"])
def test_narrow_text_is_not_read_as_wide(wrong: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "town.csv"
    path.write_text("age,town\n30,Köln\n", encoding="utf-8")
    with pytest.raises(scumble.DataError, match="another --encoding"):
        open_source(path, encoding=wrong)
    path.write_text("age,town\n30,Köln\n", encoding=wrong)
    assert open_source(path, encoding=wrong).names == ("age", "town")


@pytest.mark.parametrize("name", ["utf-8-sig", "utf_8_sig", "UTF-8-SIG", "utf8", "UTF-8", "U8", "utf_8", "cp65001"])
def test_utf_8_has_many_names_and_its_mark_is_no_text(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / "t.csv").write_bytes("\ufefföre,y\n1,2\n".encode())
    source = open_source(tmp_path / "t.csv", encoding=name)
    assert [*source.names] == ["öre", "y"]
    source.close()


def test_cells_that_are_no_text_in_utf_8_are_missing_and_are_words_in_another_encoding(tmp_path: pathlib.Path) -> None:
    (tmp_path / "town.csv").write_bytes(b"age,town\n30,Ulm\n40," + BAD + b"\n")
    schema = scumble.Schema(age=scumble.Number(0, 100), town=scumble.Category(["Ulm", "Köln"]))
    with pytest.warns(UserWarning, match="1 value of 'town' was read as missing"):
        scumble.build(tmp_path / "town.csv", schema=schema, epsilon=1.0, invalid="drop")
    source = open_source(tmp_path / "town.csv", encoding="latin-1")
    assert len(list(source.pieces({"town": "category"}, invalid="drop"))) == 1 and not source.oddities.undecoded
