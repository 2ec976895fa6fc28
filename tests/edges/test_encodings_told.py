"""Bytes that are no text in the encoding that was named: who is told what, and which hint is right."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import scumble
from scumble.sources import open_source

SCHEMA = """
[columns.age]
kind = "number"
low = 0
high = 100
[columns.town]
kind = "category"
values = ["Ulm", "Köln"]
"""
HALF_LATIN = b"age,town\n" + b"30,Ulm\n40,K\xf6ln\n" * 30


@pytest.fixture
def town(tmp_path: Path) -> Path:
    (tmp_path / "town.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "town.csv").write_bytes(HALF_LATIN)
    return tmp_path


def test_and_in_python_and_of_one(town: Path) -> None:
    (town / "town.csv").write_bytes(b"age,town\n30,Ulm\n40,K\xf6ln\n")
    with pytest.warns(UserWarning, match=r"1 cell of 'town' was read as missing, because the bytes are no text"):
        scumble.build(town / "town.csv", schema=town / "town.toml", epsilon=1.0, invalid="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = open_source(town / "town.csv", encoding="latin-1")
        assert len(list(source.pieces({"town": "category"}, invalid="drop"))) == 1 and not source.oddities.undecoded


@pytest.mark.parametrize("wrong", ["utf-16", "utf-16-le", "utf-32"])
def test_narrow_text_is_not_read_as_wide(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "town.csv"
    path.write_text("age,town\n30,Köln\n", encoding="utf-8")
    with pytest.raises(scumble.DataError, match=r"it has no wide characters. Hint: leave out --encoding .*UTF-8"):
        open_source(path, encoding=wrong)
    path.write_text("age,town\n30,Köln\n", encoding=wrong)
    assert open_source(path, encoding=wrong).names == ("age", "town")


@pytest.mark.parametrize("name", ["utf-8-sig", "utf_8_sig", "UTF-8-SIG", "utf8", "UTF-8", "U8", "utf_8", "cp65001"])
def test_utf_8_has_many_names_and_its_mark_is_no_text(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_bytes("\ufefföre,y\n1,2\n".encode())
    source = open_source(tmp_path / "t.csv", encoding=name)
    assert [*source.names] == ["öre", "y"]
    source.close()
