"""One odd record changes no other: the same source with and without it gives the same cells for all the rest.

Quick readers give up at the first cell that does not fit and go on in another way; the two ways must agree.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.columns.table import Table
from scumble.sources import Build, build_by, open_source
from scumble.sources.tally import Labels

ROLES = ("number", "category", "tokens")
TEXTS = [
    *("5", " 5", "5 ", "+5", "-5", "5.", ".5", "1e5", "1E5", "1e400", "-1e400", "1e-400", "0x10", "1_000", "1,5"),
    *("inf", "-inf", "Infinity", "INF", "nan", "NaN", "NAN", "NA", "N/A", "null", "NULL", "#N/A", "", " ", "true"),
    *("True", "false", "word", "two words", "a\u2003b", "\u20035", "é", "１", "2020-01-01", "9" * 400, "0.1", "4.35"),
    *("12345678901234567890", "-0", "0", "++5", "5\x0c", '"', "'"),
]
ODD_TEXT = "no number"


def cells_of(source: Any, role: str, **reading: Any) -> list[Any]:
    """What the one column `x` of a source becomes, cell by cell; bad cells are None, whatever makes them so."""
    opened = open_source(source, **reading)
    found: list[Any] = []
    for piece in opened.pieces({"x": role}, invalid="drop"):
        table = Table.of(piece.batch)
        if role == "number":
            column = table.numeric([0])[:, 0]
            found += [float(cell) if np.isfinite(cell) else None for cell in column]
        elif role == "category":
            found += [None if np.isnan(cell) else float(cell) for cell in table.categories([0])[:, 0]]
        else:
            values, offsets, gone = table.tokens([0])
            pairs = zip(offsets, offsets[1:], gone, strict=False)
            found += [None if lost else tuple(values[first:last]) for first, last, lost in pairs]
    opened.close()
    return found


def csv_file(path: Path, cells: list[str]) -> Path:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["x", "other"])
    writer.writerows([cell, 1] for cell in cells)
    path.write_text(text.getvalue(), newline="")
    return path


@pytest.mark.parametrize("role", ROLES)
def test_csv(role: str, tmp_path: Path) -> None:
    alone = [cells_of(csv_file(tmp_path / "one.csv", [text]), role)[0] for text in TEXTS]
    for cells, place in (([ODD_TEXT, *TEXTS], 0), ([*TEXTS, ODD_TEXT], len(TEXTS)), (TEXTS[::-1], None)):
        found = cells_of(csv_file(tmp_path / "many.csv", cells), role)
        if place is not None:
            del found[place]
        assert found == (alone if place is not None else alone[::-1])


@pytest.mark.parametrize("odd", [b"a,1,2\n", b"\xff,1\n"], ids=["ragged", "bad byte"])
def test_csv_with_a_cell_that_holds_the_mark_of_bad_bytes(odd: bytes, tmp_path: Path) -> None:
    """U+FDD0 is sound UTF-8; a bad line below must not be what makes its cell missing."""
    clean = "x,other\nUlm,1\nU\ufdd0lm,1\n".encode()
    found = []
    for k, data in enumerate((clean, clean + odd)):
        (path := tmp_path / f"{k}.csv").write_bytes(data)
        found.append(cells_of(path, "category")[:2])
    assert found[0] == found[1] and found[0][1] is None
    with pytest.raises(scumble.DataError, match="line 3, is not UTF-8 text"):
        list(open_source(tmp_path / "0.csv").pieces({"x": "category"}))


@pytest.mark.parametrize("classes", [[True, "true"], [1, 1.0], [0.0, -0.0], [1, "1"], [2**70, 2.0**70]], ids=str)
def test_no_record_is_counted_in_two_classes(classes: list[Any]) -> None:
    """Labels that cells cannot tell apart are one class: two sketches would count the same record."""
    table = pa.table({"x": [0.0], "c": pa.array(["true"])})
    with pytest.raises(scumble.ParameterError, match="labels that differ"):
        build_by(table, KERNEL, ["x"], label="c", classes=classes, rows=4, buckets=8, invalid="drop", epsilon=1.0)
    with pytest.raises(scumble.ParameterError, match="labels that differ"):
        Labels("c", classes)


LITERALS = [
    *("1", "1.0", "-0", "0.1", "4.35", "1e5", "1e400", "-1e400", "true", "false", "NaN", "Infinity", "-Infinity"),
    *("Inf", "null", "[]", "{}", '{"b": 1, "a": 2}', '["a", "b"]', '["a", null]', '["a", 1]', '[["a"]]', "9" * 30),
    *("9" * 5000, r'"\ud800"', r'"\ud83d\ude00"', r'"\u0000"', r'"\u0041"', '"tab\tin it"'),
]
LINES = [
    *(json.dumps({"x": text}) for text in TEXTS),
    *(f'{{"x": {literal}}}' for literal in LITERALS),
    *(f'{{"x": "a", "y": {literal}}}' for literal in ("Inf", "9" * 5000, '"\\ud800"', "[" * 5000 + "]" * 5000)),
    '{{"x": ["a"], "y": [{}]}}'.format(", ".join(["[1]"] * 300)),
    *('{"x": 1, "x": 2}', '{"x": "a", "x": "b"}', '{"y": 1}', '{"x": 1, "y": NaN}', '{"x": 1} {"x": 2}'),
    *('{"x": "a"}{"x": "b"}', '  {"x": "a"}  ', '{"x":', "1}", "not JSON", "[1]", '"x"', "{}"),
]
ODD_LINES = ['{"x": 7, "stray": "HIV+"}', '{"x": "word"}', '{"x": [1, {}]}', '{"x": 1e400}', "nonsense"]
ODD_LINES += ['{"x": 1} {"x": 1}', ""]


def json_file(path: Path, lines: list[str | bytes]) -> Path:
    path.write_bytes(b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines))
    return path


@pytest.mark.parametrize("role", ROLES)
def test_json_lines(role: str, tmp_path: Path) -> None:
    lines: list[str | bytes] = [*LINES, b'{"x": "\xff"}', b'{"x": "a", "y": "\xff"}']
    alone = [cells_of(json_file(tmp_path / "one.jsonl", [line]), role) for line in lines]
    assert all(len(cells) <= 1 for cells in alone)
    for number, odd in enumerate(ODD_LINES):
        mine = cells_of(json_file(tmp_path / "one.jsonl", [odd]), role)
        for line, cells in list(zip(lines, alone, strict=True))[number :: len(ODD_LINES)]:
            # Two by two: what else is in the block decides which way it is read.
            assert cells_of(json_file(tmp_path / "two.jsonl", [odd, line]), role) == [*mine, *cells], (odd, line)
        together = cells_of(json_file(tmp_path / "all.jsonl", [*lines, odd]), role)
        assert together == [cell for cells in alone for cell in cells] + mine


def test_the_two_ways_of_reading_json_are_both_gone(tmp_path: Path) -> None:
    """The check above would be idle if no block went the quick way."""
    from scumble.sources.jsonlines import _quickly

    assert _quickly(b'{"x": 1.5}\n', {"x": "number"}) is not None
    assert _quickly(b'{"x": "a"}\n', {"x": "category"}) is not None
    assert _quickly(b'{"x": ["a"]}\n', {"x": "tokens"}) is not None
    for line in (b"", b'{"x": 1}{"x": 2}', b'{"x":\n1}{"x": 2}', b'{"x": Inf}', b'{"x": 1, "y": "\xff"}', b"[" * 300):
        assert _quickly(b'{"x": 1}\n' + line + b"\n", {"x": "number"}) is None


@pytest.mark.parametrize("role", ["number", "category"])
def test_sqlite(role: str, tmp_path: Path) -> None:
    cells = [5, 5.0, 0.5, 2**53 + 1, "5", "5.0", "word", "", None, b"5", b"\xff", 1e20, float("inf"), -0.0, "é", 1e400]

    def read(cells: list[Any]) -> list[Any]:
        path = tmp_path / "t.db"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE t (x)")
            database.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
        database.close()
        return cells_of(f"sqlite:///{path}", role, table="t")

    alone = [read([cell])[0] for cell in cells]
    for odd in ("no number", 0.25, b"\xfe", None, 7):
        assert read([odd, *cells]) == [read([odd])[0], *alone]
        assert read([*cells, odd]) == [*alone, read([odd])[0]]


# --------------------------------------------------------------- names are not read off records

KERNEL = scumble.EuclideanKernel(1.0)


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.ndjson"])
def test_json_lines_have_no_header(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = json_file(tmp_path / name, ['{"age": 41}'] * 50 + ['{"HIV+": 1}'])
    size: dict[str, Any] = {"rows": 4, "buckets": 8}
    verbs = {
        "build": lambda: scumble.build(path, KERNEL, **size),
        "build_by": lambda: build_by(path, KERNEL, label="age", classes=[41, 42], **size),
        "Build": lambda: Build(path, KERNEL, **size),
    }
    for verb in verbs.values():
        with pytest.raises(scumble.PrivacyError) as caught:
            verb()
        told = str(caught.value).replace("--columns age", "").replace("['age'", "")
        assert "HIV" not in told and "age" not in told
    from scumble.cli import main

    words = ["--bandwidth", "5", "--rows", "4", "--buckets", "8", "--quiet"]
    fit = ["--task", "classify", "--target", "age", "--classes", "41,42", "--bounds", "x=0:1", "--epsilon", "1"]
    out = ["--out", str(tmp_path / "out")]
    for arguments in (
        ["build", str(path), *words, "--epsilon", "1", *out],
        ["sketch", str(path), *words, *out],
        ["fit", str(path), *fit, *out],
    ):
        assert main(arguments) != 0
        said = capsys.readouterr().err
        assert "declares no columns" in said and "HIV" not in said
        assert not (tmp_path / "out").exists()


def test_a_stray_key_changes_nothing(tmp_path: Path) -> None:
    plain = json_file(tmp_path / "a.jsonl", ['{"age": 41}'] * 50)
    stray = json_file(tmp_path / "b.jsonl", ['{"age": 41, "HIV+": 1}', *['{"age": 41}'] * 49])
    counts = []
    for path in (plain, stray):
        job = Build(path, KERNEL, ["age"], rows=4, buckets=8, invalid="drop")
        counts.append(job.count().sketches[0]._counts)
        assert job.source.names == () and job.tally.dropped == 0
    assert np.array_equal(*counts)


def test_a_key_that_no_record_has_is_a_missing_cell(tmp_path: Path) -> None:
    """To say that there is no such column would be to say what the records have."""
    path = json_file(tmp_path / "a.jsonl", ['{"HIV+": 1}'] * 5)
    with pytest.raises(scumble.DataError, match="5 values are missing") as caught:
        Build(path, KERNEL, ["age"], rows=4, buckets=8, invalid="error").count()
    assert "HIV" not in str(caught.value)


def test_a_whole_number_that_no_float_holds_is_a_bad_cell(tmp_path: Path) -> None:
    """Next to a word, Python reads the lines, and its integers have no end."""
    lines = ['{"x": 1' + "0" * 400 + "}", '{"x": "word"}', '{"x": -1' + "0" * 400 + "}", '{"x": 5}']
    assert cells_of(json_file(tmp_path / "a.jsonl", lines), "number") == [None, None, None, 5.0]


def test_lines_that_are_no_objects_are_refused_or_dropped(tmp_path: Path) -> None:
    path = json_file(tmp_path / "a.jsonl", ['{"x": 1}', "HIV+", '{"x": 2}', "[1]"])
    with pytest.raises(scumble.DataError, match="line 2, is not a JSON object") as caught:
        Build(path, KERNEL, ["x"], rows=4, buckets=8, invalid="error").count()
    assert "HIV" not in str(caught.value)
    job = Build(path, KERNEL, ["x"], rows=4, buckets=8, invalid="drop")
    assert job.count().sketches[0].count == 2 and job.tally.dropped == 2


def test_points_of_a_query_keep_their_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Points are public: the analyst's own."""
    from scumble.cli import main

    scumble.build(pa.table({"x": np.zeros(50)}), KERNEL, rows=4, buckets=8, epsilon=1.0).save(tmp_path / "r.scumble")
    points = json_file(tmp_path / "points.jsonl", ['{"x": 0.5, "name": "here"}'])
    assert main(["query", str(tmp_path / "r.scumble"), str(points), "--out", "-"]) == 0
    assert capsys.readouterr().out.startswith("x,name,kernel_sum")
