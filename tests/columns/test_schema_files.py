"""Schemas as values and as files: what is written is read, what is not sound is refused."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_schema_levels import COLUMNS

import scumble
import scumble.schema
from scumble.cli import main
from scumble.columns.category import Boolean, Category
from scumble.columns.date import Date
from scumble.columns.draft import draft, look
from scumble.columns.number import Number
from scumble.columns.schema import MOST_BYTES, Schema, as_toml, parse_toml
from scumble.errors import MissingFileError

SCHEMA = Schema(
    {
        "age": Number(17, 90, whole=True),
        "hours-per-week": Number(edges=[0, 20.5, 99], outside="drop", missing=True),
        "gain": Number(0, 99_999, scale="log", cells=20),
        'é "quoted" \n name': Category(["a", "?", "\x7f\t\"'\\", 5, True, 0.1], other=False),
        "seen": Date("2020-01-01", "2025-12-31"),
        "at": Date("2020-01-01T12:00Z", "2025-12-31T00:00Z", resolution="minute", cells=9, missing=True),
        "smoker": Boolean(missing=True),
    }
)
NAMES = st.text(min_size=1, max_size=8).filter(lambda name: not any("\ud800" <= one <= "\udfff" for one in name))


def test_a_saved_schema_is_the_same_again(tmp_path: Path) -> None:
    path = tmp_path / "people.toml"
    SCHEMA.save(path)
    assert Schema.load(path) == SCHEMA == Schema.load(str(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["people.toml"]
    assert Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict()))) == SCHEMA
    assert hash(Schema.load(path)) == hash(SCHEMA) and copy.deepcopy(SCHEMA) == SCHEMA


def test_what_a_category_compares_is_said_by_new_files_and_meant_by_old_ones(tmp_path: Path) -> None:
    """A description without `strip` was made when blanks counted; a person's file without it asks for the default."""
    old = Schema.from_dict({"columns": [{"name": "town", "kind": "category", "values": ["Ulm"]}]})
    assert old["town"].encode(["Ulm", "Ulm "]).codes.tolist() == [0, 1]
    old.save(tmp_path / "old.toml")
    assert Schema.load(tmp_path / "old.toml") == old != Schema(town=Category(["Ulm"]))
    (tmp_path / "new.toml").write_text(
        '[columns.town]\nkind = "category"\nvalues = ["Ulm"]\nignore_case = true\nmissing_words = ["-"]\n'
    )
    new = Schema.load(tmp_path / "new.toml")
    assert new == Schema(town=Category(["Ulm"], ignore_case=True, missing_words=["-"])) == copy.deepcopy(new)
    assert new["town"].encode([" ULM", "-", "Bonn"]).codes.tolist() == [0, 2, 1]
    assert new["town"].find([" ULM", " - ", "na"]).strays().unread == 0
    assert new["town"].span("ulm ") == (0, 1)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(columns=st.dictionaries(NAMES, COLUMNS, min_size=1, max_size=4))
def test_every_schema_survives_files(columns: dict[str, Any]) -> None:
    schema = Schema(columns)
    text = as_toml({name: column.to_dict() for name, column in schema.items()})
    described, _ = parse_toml(text.encode(), "x.toml")
    assert (
        Schema({name: scumble.columns.column.Column.from_dict(one, name) for name, one in described.items()}) == schema
    )
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert eval(repr(schema), vars(scumble.schema)) == schema
    assert len(schema.card().splitlines()) >= len(schema)


def test_a_schema_is_a_fixed_mapping() -> None:
    assert list(SCHEMA) == list(SCHEMA.columns) and len(SCHEMA) == 7 and SCHEMA["age"] == Number(17, 90, whole=True)
    assert SCHEMA.sizes[0] == 74 and SCHEMA.names[0] == "age"
    with pytest.raises(AttributeError):
        SCHEMA.columns = {}
    with pytest.raises(TypeError):
        SCHEMA.columns["x"] = Boolean()  # type: ignore[index]
    assert Schema(a=Boolean(), b=Boolean(missing=True)) != Schema(b=Boolean(missing=True), a=Boolean())
    for bad in ({}, {"": Boolean()}, {"\ud800": Boolean()}, {5: Boolean()}, {"a": bool}, [Boolean()]):
        with pytest.raises(scumble.ParameterError):
            Schema(bad)  # type: ignore[arg-type]
    with pytest.raises(scumble.ParameterError):
        Schema({"a": Boolean()}, a=Boolean())


def test_a_batch_of_any_make() -> None:
    schema = Schema(
        {
            "age": Number(17, 90, whole=True),
            "sex": Category(["F", "M"]),
            "hours-per-week": Number(0, 99, cells="equal", zeros=True),
        }
    )  # zero apart
    rows = [[41, "F", 40.0], [95, "x", 0.5], [17, None, 98.9]]
    want = [[24, 0, 26], [73, 2, 1], [0, 3, 64]]
    frame = pd.DataFrame(rows, columns=list(schema))
    for table in (rows, frame, frame[["hours-per-week", "sex", "age"]].assign(z=1), pa.Table.from_pandas(frame)):
        codes, dropped = schema.encode(table)
        assert codes.tolist() == want and not dropped.any()
        assert codes.dtype == np.int32 and codes.flags.f_contiguous
    back = schema.decode(codes, np.random.default_rng(0))
    assert schema.encode(back).codes.tolist() == want and back.schema.names == list(schema)
    assert schema.encode(frame[:0]).codes.shape == (0, 3)
    with pytest.raises(scumble.DataError):
        schema.encode(frame.drop(columns="sex"))
    with pytest.raises(scumble.ParameterError):
        schema.decode([[0, 0]], np.random.default_rng(0))


def test_dropped_records_and_refused_ones() -> None:
    schema = Schema(
        age=Number(17, 90, whole=True, outside="drop"), sex=Category(["F"], other=False, missing=False), ok=Boolean()
    )
    rows = [[41, "F", True], [95, "F", True], [None, "F", True], [20, "secret", False], [20, "F", "41.7172"]]
    assert schema.encode(rows[:2]).dropped.tolist() == [False, True]
    assert schema.encode(rows, invalid="drop").dropped.tolist() == [False, True, True, True, True]
    with pytest.raises(scumble.DataError, match=r"3 values are .* 1 in column 'age', 1 in column 'sex'") as refused:
        schema.encode(rows)
    assert "secret" not in str(refused.value) and "41.7" not in str(refused.value)
    with pytest.raises(scumble.ParameterError):
        schema.encode(rows, invalid="ignore")


LINES = [
    *("whole = yes", "kind = number", "values = [Movie, TV Show]", "high = 1,000", "low =", "whole: true"),
    *("outside = " + "x" * 300, "missing = true\nmissing = true", "edges = [0, 1", "41717 = 09", "sum = 41717 41717"),
]
REFUSED: list[Any] = [
    *("", "columns = 5", "[columns]", "age = 5", "[age]\nkind = 'number'", "[columns]\nage = 5", "[columns.age]"),
    *("[columns.age]\nkind = 'nubmer'", "[columns.age]\nkind = 5", "[columns.age]\nkind = ['number']"),
    "[columns.age]\nkind = 'number'\nlow = 1\nhihg = 2",
    *("[columns.age]\nkind = 'number'\nlow = 1\nhigh = 2\ncuts = 2", "[columns.age]\nkind = 'number'\nlow = 1"),
    *("[columns.age]\nkind = 'number'\nlow = {}\nhigh = 5", "[columns.age]\nkind = 'number'\nlow = nan\nhigh = 5"),
    "[columns.age]\nkind = 'number'\nlow = 1\nhigh = 2\nedges = [[1]]",
    "[columns.age]\nkind = 'number'\nlow = 1\nhigh = 2\nwhole = 'true'",
    *("[columns.age]\nkind = 'number'\nlow = 1\nhigh = 2\ncells = 10000000", "[columns.age]\nkind = 'category'"),
    *("[columns.age]\nkind = 'category'\nvalues = [[]]", "[columns.age]\nkind = 'category'\nvalues = {a = 1}"),
    "[columns.age]\nkind = 'date'\nlow = 12:00:00\nhigh = 2020-01-01",
    "[columns.age]\nkind = 'category'\nvalues = ['" + "a" * 20_000 + "']",
    *("[columns.age]\nkind = 'number'\nlow = 1\nhigh = " + "9" * 4000, "[columns.'']\nkind = 'boolean'"),
    *("[columns.age]\nkind = 'boolean'\n[columns.age]\nkind = 'boolean'", "[columns.age\n", "x = " + "[" * 5000),
    *("x = " + "9" * 5000, "\ud800".encode("utf-8", "surrogatepass"), "name,income\nAda,41717\n"),
    *("whole = 41717 41717\n[columns.age]", "low: 41717\n", *(f"[columns.age]\n{line}\n" for line in LINES)),
]


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_schema_is_refused_without_showing_the_file(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(scumble.ParameterError) as refused:
        Schema.load(path)
    assert str(refused.value).startswith("x.toml") and len(str(refused.value)) < 240
    assert "41717" not in str(refused.value) and refused.value.__cause__ is None


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        Schema.load(tmp_path / "none.toml")
    with pytest.raises(scumble.FileError):
        Schema.load(tmp_path)
    big = tmp_path / "big.toml"
    big.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(scumble.ParameterError):
        Schema.load(big)
    with pytest.raises(FileNotFoundError):
        SCHEMA.save(tmp_path / "nowhere" / "x.toml")


def test_dates_of_toml_are_dates() -> None:
    times = b"[columns.x]\nkind = 'category'\nvalues = [2020-01-01, 2020-01-01T12:00:00+02:00]"
    assert toml_column(times).values == ("2020-01-01", "2020-01-01T10:00:00Z")
    text = b"[columns.x]\nkind = 'date'\nlow = 2020-01-01\nhigh = 2020-06-01T12:00:00Z\nresolution = 'hour'"
    assert toml_column(text) == Date("2020-01-01", "2020-06-01T12:00Z", resolution="hour")


def toml_column(text: bytes) -> Any:
    return scumble.columns.column.Column.from_dict(parse_toml(text, "x")[0]["x"], "x")


def test_descriptions_that_are_none_are_refused() -> None:
    for odd in (None, [], {}, {"columns": {}}, {"columns": [5]}, {"columns": [{"name": 5}]}, {"columns": [], "x": 1}):
        with pytest.raises(scumble.ParameterError):
            Schema.from_dict(odd)
    with pytest.raises(scumble.ParameterError):
        Schema.from_dict({"columns": [{"name": "a", "kind": "boolean"}] * 2})


def test_a_draft_is_refused_until_it_is_filled_in(tmp_path: Path) -> None:
    kinds = pa.schema(
        {
            "age": pa.int64(),
            "hours per week": pa.float32(),
            "price": pa.decimal128(9, 2),
            "seen": pa.timestamp("ns"),
            "sex": pa.dictionary(pa.int8(), pa.string()),
            "ok": pa.bool_(),
        }
    )
    text = draft(kinds)
    path = tmp_path / "people.toml"
    path.write_text(text)
    with pytest.raises(scumble.ParameterError, match="9 blanks"):
        Schema.load(path)
    numbered = iter(range(100))
    filled = text.replace('["<?>"]', '["F", "M"]')
    for _ in range(6):
        filled = filled.replace('"<?>"', str(next(numbered)), 1)
    path.write_text(filled)
    with pytest.raises(scumble.ParameterError, match="2 blanks"):
        Schema.load(path)
    path.write_text(filled.replace('"<?>"', "2020-01-01", 1).replace('"<?>"', "'2021-01-01'", 1))
    found = Schema.load(path)
    assert found == Schema(
        {
            "age": Number(0, 1, whole=True),
            "hours per week": Number(2, 3),
            "price": Number(4, 5),
            "seen": Date("2020-01-01", "2021-01-01"),
            "sex": Category(["F", "M"]),
            "ok": Boolean(),
        }
    )


def test_a_draft_of_names_alone(tmp_path: Path) -> None:
    text = draft({"age": None, 'a "b"': None})
    assert list(tomllib.loads(text)["columns"]) == ["age", 'a "b"']
    with pytest.raises(scumble.ParameterError, match="2 blanks"):
        parse_toml(text.encode(), "x.toml")
    for odd in ({}, None, ["age"]):
        with pytest.raises(scumble.ParameterError):
            draft(odd)  # type: ignore[arg-type]


def drafted(tmp_path: Path, *options: str) -> dict[str, Any]:
    """The columns of a draft for a wide table of text."""
    (tmp_path / "wide.csv").write_text(",".join([f"q{k}" for k in range(80)]) + "\n" + "41717," * 79 + "41717\n")
    out = tmp_path / "draft.toml"
    assert main(["schema", str(tmp_path / "wide.csv"), "--out", str(out), "--replace", *options]) == 0
    assert "41717" not in out.read_text()
    found: dict[str, Any] = tomllib.loads(out.read_text())["columns"]
    return found


def test_many_columns_are_declared_at_once_in_a_draft(tmp_path: Path) -> None:
    assert {one["kind"] for one in drafted(tmp_path).values()} == {"<?>"}
    found = drafted(
        tmp_path, "--whole", "q*", "--categories", "q3,q1", "--dates", "q4", "--booleans", "q5", "--numbers", "q6"
    )
    assert len(found) == 80
    kinds = {name: one["kind"] for name, one in found.items()}
    others = {name: kinds.pop(name) for name in ("q1", "q3", "q4", "q5", "q6")}
    assert [*others.values()] == ["category", "category", "date", "boolean", "number"]
    assert {*kinds.values()} == {"number"} and all(found[name]["whole"] for name in kinds)
    assert "whole" not in found["q6"] and found["q6"]["low"] == found["q4"]["high"] == "<?>"
    table = str(tmp_path / "wide.csv")
    for options in (
        "--whole x*",
        "--whole qq3",
        "--whole q3 --dates q3",
        "--whole q1* --dates *1",
        "--columns q1 --dates q2",
    ):
        assert main(["schema", table, *options.split()]) in (2, 4)


def test_a_table_is_described_by_a_schema_its_columns_or_its_file(tmp_path: Path) -> None:
    columns = {"age": Number(0, 99, whole=True), "ok": Boolean()}
    Schema(columns).save(tmp_path / "people.toml")
    people = pd.DataFrame({"age": [41, 30], "ok": [True, False]})
    for described in (Schema(columns), columns, tmp_path / "people.toml", str(tmp_path / "people.toml")):
        assert Schema.of(described) == Schema(columns)
        assert scumble.TableSketch(described).update(people).count == 2
        assert scumble.build(people, schema=described, epsilon=1.0).schema == Schema(columns)
    for odd in (["age"], 7):
        with pytest.raises(scumble.ParameterError):
            scumble.build(people, schema=odd, epsilon=1.0)  # type: ignore[call-overload]
    with pytest.raises(scumble.ParameterError):
        scumble.TableSketch({"age": (0, 99)})  # type: ignore[dict-item]


def test_a_look_suggests_kinds_and_leaves_every_bound_and_word_to_the_curator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is read off the records stands in comments alone: without these, the draft is the same for other records."""
    rows = [
        f"{k};{k % 28 + 1:02d}.0{k % 9 + 1}.1984;€{k}.234,50;{('Ulm', 'ULM ', '-')[k % 3]};{('yes', 'no')[k % 2]}"
        for k in range(99)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["id;born;wage;town;member", *rows]))
    out = tmp_path / "draft.toml"
    assert main(["schema", str(tmp_path / "people.csv"), "--decimal", ",", "--look", "--out", str(out)]) == 0
    text = out.read_text()
    assert text.startswith("# SECRET") and capsys.readouterr().err.startswith("SECRET")
    blank = {"low": "<?>", "high": "<?>"}
    assert tomllib.loads(text)["columns"] == {
        "id": {"kind": "number", "whole": True, "decimal": ",", **blank},
        "born": {"kind": "date", "format": "%d.%m.%Y", **blank},
        "wage": {"kind": "number", "decimal": ",", **blank},
        "town": {"kind": "category", "values": ["<?>"], "missing_words": ["-"], "ignore_case": True},
        "member": {"kind": "boolean"},
    }
    for seen in ("about 1984-01", "about 98000", 'frequent first: "Ulm"\n', "perhaps an identifier"):
        assert seen in text
    with pytest.raises(scumble.ParameterError, match="blanks"):
        Schema.load(out)


def test_a_look_takes_few_numbers_above_one_for_what_they_are() -> None:
    """A boolean would count them as missing."""
    dead = ["0"] * 95 + ["1"] * 4
    columns = {"dead": [*dead, "2"], "code": [*dead, "9"], "typo": [*dead, "O"], "ok": ["no"] * 99 + [None]}
    batch = pa.record_batch(columns)
    text = draft(dict.fromkeys(columns), look([batch], batch.schema.names))
    found = {name: one["kind"] for name, one in tomllib.loads(text)["columns"].items()}
    assert found == {"dead": "number", "code": "number", "typo": "boolean", "ok": "boolean"}


@pytest.mark.parametrize("how", [["--look"], ["--epsilon", "1"]])
def test_a_draft_tells_the_curator_of_cells_in_another_encoding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], how: list[str]
) -> None:
    (tmp_path / "towns.csv").write_bytes("\n".join(["town", *["K\u00f6ln", "Ulm"] * 40]).encode("latin-1"))
    command = ["schema", str(tmp_path / "towns.csv"), *how, "--out", "-"]
    assert main(command) == 0
    assert "40 values of 'town'" in (told := capsys.readouterr().err) and "--encoding" in told
    assert main([*command, "--encoding", "latin-1"]) == 0
    assert "--encoding" not in capsys.readouterr().err


def test_a_look_at_typed_columns_keeps_their_types() -> None:
    typed = {"ok": pa.array([True, None] * 20), "n": pa.array([*range(20)] * 2), "day": pa.array(["2020-02-29"] * 40)}
    typed |= {"at": typed["day"].cast(pa.date32()), "word": pa.array(["a", "b"] * 20).dictionary_encode()}
    batch = pa.record_batch(typed)
    text = draft(batch.schema, look([batch], batch.schema.names))
    found = {name: one["kind"] for name, one in tomllib.loads(text)["columns"].items()}
    assert found == {"ok": "boolean", "n": "number", "day": "date", "at": "date", "word": "category"}


@pytest.mark.parametrize("person", ["P{:05d}", "{}"], ids=["words", "numbers"])
def test_a_look_names_the_column_that_tells_whose_record_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], person: str
) -> None:
    """Its values are many and repeat; those of a note are each of one row, and of a town few have most."""
    rows = [
        f"{person.format(7919 * k % 90)},note {k},{'Ulm' if k % 3 else f'town {k % 99}'},{k % 7}" for k in range(200)
    ]
    (tmp_path / "visits.csv").write_text("\n".join(["who,note,town,visits", *rows]))
    assert main(["schema", str(tmp_path / "visits.csv"), "--look"]) == 0
    said = capsys.readouterr()
    marked = [line for line in said.out.split("[columns.") if "--person-column" in line and line.startswith("who")]
    assert len(marked) == said.out.count("perhaps whose record") == 1
    assert "--person-column who " in said.err and "town" not in said.err.partition("as persons do")[2]
    assert (
        main(["schema", str(tmp_path / "visits.csv"), "--look", "--person-column", "who", "--records-per-person", "9"])
        == 0
    )
    assert "as persons do" not in capsys.readouterr().err
