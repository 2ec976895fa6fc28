"""Words and values for missing cells, and decimal commas, as a schema's file declares them for each column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scumble
from scumble.cli import main
from scumble.columns.column import GAP, OWN, UNREAD, Column
from scumble.errors import ParameterError
from scumble.sources import Build

COLUMNS = {
    "number": (scumble.Number(0, 100, missing=True, missing_words=["k.A.", "-1", "99.0"]), ["5", "k.A.", "-1", "99"]),
    "date": (
        scumble.Date("2000-01-01", "2001-12-31", missing=True, format="%d.%m.%Y", missing_words=["-", "01.01.1900"]),
        ["31.12.2000", "-", " - ", "1900-01-01"],
    ),
    "boolean": (scumble.Boolean(missing=True, missing_words=["?", "9"]), ["yes", "?", "9", " ?"]),
    "category": (scumble.Category(["a"], missing_words=["?", "9"]), ["a", "?", "9", " ?"]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_they_are_missing_and_not_unreadable(kind: str) -> None:
    column, cells = COLUMNS[kind]
    strange = [*cells, "%"]
    for values in (strange, np.array(strange, object), pa.array(strange), pa.array(strange).dictionary_encode()):
        found = column.find(values)
        gap = column.size - 1
        assert found.codes[0] not in (-1, gap) and found.codes[1:4].tolist() == [gap] * 3
        assert np.flatnonzero(found.fates == UNREAD).tolist() == ([] if kind == "category" else [4])


def test_values_of_numeric_columns_may_stand_for_missing() -> None:
    number = scumble.Number(0, 50, whole=True, missing=True, missing_words=["99"])
    for values in (np.array([7, 99, 98]), np.array([7.0, 99, np.inf]), pa.array([7, 99, None]), [7, 99, 98]):
        found = number.find(values)
        assert found.codes[1] == number.size - 1 and found.fates[1] == GAP
        assert np.isnan(number.numbers(values)[1]) and number.numbers(values)[0] == 7
    flags = scumble.Boolean(missing=True, missing_words=["9"]).find(np.array([1, 9, 8]))
    assert flags.codes.tolist() == [1, 2, 2] and flags.fates.tolist() == [OWN, GAP, UNREAD]
    assert scumble.Number(0, 50, missing_words=["9"]).find([9.0, 8.0]).codes[0] == -1  # without that level: no value


@pytest.mark.parametrize(
    "column",
    [*(column for column, _ in COLUMNS.values()), scumble.Number(0, 9, decimal=",", missing_words=["1,5"])],
    ids=repr,
)
def test_descriptions_keep_them(column: Column) -> None:
    assert scumble.Schema.from_dict(scumble.Schema(x=column).to_dict())["x"] == column
    assert "missing_words" in repr(column)


def test_what_cannot_be_declared() -> None:
    for make in (scumble.Boolean, lambda **given: scumble.Number(0, 1, **given)):
        with pytest.raises(ParameterError, match="missing_words"):
            make(missing_words="-")
    with pytest.raises(ParameterError, match="decimal"):
        scumble.Number(0, 1, decimal=";")


def test_numbers_with_a_decimal_comma() -> None:
    number = scumble.Number(-10, 10_000, decimal=",", missing=True, missing_words=["9.999,5"])
    cells = ["1.234,50 €", "€ 1.234,50", "-0,5", "7", "9999,5", "1,5 %", "12.5"]
    for values in (cells, np.array(cells, object), pa.array(cells)):
        found = number.numbers(values)
        assert found[[0, 1, 2, 3, 5]].tolist() == [1234.5, 1234.5, -0.5, 7.0, 1.5] and np.isnan(found[[4, 6]]).all()
    assert number.numbers([12.5, 1234.5]).tolist() == [12.5, 1234.5]  # what is a number has no mark


def test_a_table_as_people_write_it(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """From TOML alone, without options on how the file is read; the same cells in other files are the same."""
    schema, table = tmp_path / "t.toml", tmp_path / "t.csv"
    schema.write_text(
        '[columns.sales]\nkind = "number"\nlow = 0\nhigh = 10000\ncells = 10\ndecimal = ","\nmissing = true\n'
        'missing_words = ["k.A."]\n'
        '[columns.day]\nkind = "date"\nlow = "2020-01-01"\nhigh = "2023-12-31"\ncells = "year"\nformat = "%d.%m.%Y"\n'
        'missing = true\nmissing_words = ["unbekannt"]\n'
        '[columns.stars]\nkind = "number"\nwhole = true\nlow = 1\nhigh = 5\nmissing = true\nmissing_words = ["99"]\n'
    )
    rows = [("1.234,50 €", "31.12.2020", "5"), ("k.A.", "1.2.2023", "99"), ("17,5", "unbekannt", "1")] * 40
    table.write_text("sales;day;stars\n" + "".join(";".join(row) + "\n" for row in rows))
    assert main(["check", str(table), "--schema", str(schema)]) == 0
    assert "No problems found." in capsys.readouterr().out
    read = scumble.Schema.load(schema)
    columns = dict(zip(read, map(list, zip(*rows, strict=True)), strict=True))
    expected = read.encode(pa.table(columns)).codes
    assert expected[:3].tolist() == [[1, 0, 4], [10, 3, 5], [0, 4, 0]]
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    whole = scumble.TableSketch(read).update(pa.table(columns)).secret.counts
    for source in (table, tmp_path / "t.parquet"):
        job = Build(str(source), schema=schema, epsilon=1.0)
        assert np.array_equal(job.count().sketches[0].secret.counts, whole)
