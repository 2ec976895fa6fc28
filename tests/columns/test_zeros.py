"""Zero in a cell of its own, where it is the lower bound or one asks for it: most gains and rain are exactly 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scumble
from scumble.columns.column import Column
from scumble.columns.conditions import condition
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.table.questions import parts
from scumble.table.spec import TableSpec, axis


def test_zero_stands_alone_beside_equal_cells() -> None:
    rain = Number(0, 100, cells=4, zeros=True, missing=True)
    assert rain.levels == ("0", "(0, 25)", "[25, 50)", "[50, 75)", "[75, 100]", "(missing)")
    cells = [0, -0.0, "0", -3.0, 5e-324, 1e-9, 24.9, 25, 100, 400, None]
    assert rain.encode(cells).codes.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 4, 4, 5]  # from below the bound: at it
    assert rain.representative[:2] == pytest.approx([0.0, 12.5]) and rain.zeros
    drawn = rain.decode(np.zeros(50, int), np.random.default_rng(0)).to_pylist()
    assert drawn == [0.0] * 50
    assert Number(0, 100, cells=4).levels == ("[0, 25)", "[25, 50)", "[50, 75)", "[75, 100]"), (
        "as many as were asked for"
    )
    visits = Number(0, 999, whole=True)
    assert visits.size == 51 and visits.levels[:3] == ("0", "1 to 19", "20 to 39")
    assert visits.encode([0, 0.9, 1, 19, 20]).codes.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    "settings",
    [
        {"low": 1, "high": 100},
        {"low": -5, "high": 100},
        {"low": 0, "high": 100, "scale": "log"},
        {"low": 0, "high": 100, "whole": True},
        {"low": 0, "high": 4, "whole": True, "cells": 5},
        {"edges": [0, 10, 100]},
    ],
)
def test_elsewhere_it_makes_no_difference(settings: dict) -> None:
    with_zeros, without = Number(**settings), Number(**settings, zeros=False)
    assert with_zeros == without and with_zeros.levels == without.levels and not with_zeros.zeros
    assert "zeros" not in with_zeros.to_dict() and repr(with_zeros) == repr(without)


def test_what_was_made_before_has_the_cells_that_it_had(tmp_path: Path) -> None:
    """A description without a word of it is of a version that knew no such cell; a person's file means the default."""
    old = {"columns": [{"name": "gain", "kind": "number", "low": 0.0, "high": 100.0, "cells": 4}]}
    assert Schema.from_dict(old)["gain"].levels == ("[0, 25)", "[25, 50)", "[50, 75)", "[75, 100]")
    (tmp_path / "s.toml").write_text("[columns.gain]\nkind = 'number'\nlow = 0\nhigh = 100\n")
    assert Schema.load(tmp_path / "s.toml")["gain"].size == 51
    del old["columns"][0]["cells"]
    assert Schema.from_dict(old)["gain"].size == 64
    for zeros in (True, False):
        schema = Schema(gain=Number(0, 100, cells=4, zeros=zeros))
        assert schema["gain"].to_dict()["zeros"] is zeros
        assert Schema.from_dict(schema.to_dict()) == schema
        assert Column.from_dict(schema["gain"].to_dict(), "gain") == schema["gain"]
        schema.save(tmp_path / "t.toml")
        assert Schema.load(tmp_path / "t.toml") == schema
        spec = TableSpec.of(schema)
        assert TableSpec.from_dict(spec.to_dict()) == spec
    assert repr(Number(0, 100)) == "Number(0.0, 100.0)"
    assert repr(Number(0, 100, zeros=False)) == "Number(0.0, 100.0, zeros=False)"
    assert repr(Number(0, 9, cells=3, zeros=True)) == "Number(0.0, 9.0, cells=3, zeros=True)"
    assert Number(0, 9, cells=3, zeros=False) == Number(0, 9, cells=3)
    with pytest.raises(scumble.ParameterError, match="`zeros` must be True or False"):
        Number(0, 1, zeros="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("where", "weights"),
    [
        ("x == 0", [1, 0, 0, 0, 0]),
        ("x <= 0", [1, 0, 0, 0, 0]),
        ("x > 0", [0, 1, 1, 1, 1]),
        ("x != 0", [0, 1, 1, 1, 1]),
        ("x >= 0", [1, 1, 1, 1, 1]),
        ("x < 25", [1, 1, 0, 0, 0]),
        ("0 < x < 25", [0, 1, 0, 0, 0]),
        ("0 <= x < 12.5", [1, 0.5, 0, 0, 0]),
        ("x >= 25", [0, 0, 1, 1, 1]),
    ],
)
def test_what_is_asked_of_zero_and_of_the_rest(where: str, weights: list[float]) -> None:
    found = condition(Schema(x=Number(0, 100, cells=4, zeros=True)), where)
    assert found.terms[0]["x"] == pytest.approx(weights)
    assert found.exact == all(weight in (0, 1) for weight in weights)


def test_bins_are_of_equal_width_and_zero_is_in_the_first() -> None:
    column = Number(0, 100, cells=4, zeros=True, missing=True)
    assert [part.name for part in parts(column, "x")] == list(column.levels)
    assert [part.name for part in parts(column, "x", 2)] == ["[0, 50)", "[50, 100]", "(missing)"]
    assert [part.name for part in parts(column, "x", 9)][:2] == ["[0, 25)", "[25, 50)"]
    assert [part.name for part in parts(column, "x", most=2)] == ["[0, 50)", "[50, 100]", "(missing)"]
    assert [part.name for part in parts(column, "x", [0, 25, 100])][:2] == ["[0, 25)", "[25, 100]"]
    total = sum(part.weights for part in parts(column, "x", 3))
    assert total.tolist() == [1.0] * column.size


def test_within_the_bounds_zero_has_a_cell_if_one_asks_for_it(tmp_path: Path) -> None:
    """It divides the cell that it lies in, or stands before the one that begins there."""
    profit = Number(-50, 100, cells=2, zeros=True, missing=True)
    assert profit.levels == ("[-50, 0)", "0", "(0, 25)", "[25, 100]", "(missing)")
    assert profit.encode([-60, -5e-324, -0.0, "0", 1e-9, 25, None]).codes.tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert profit.zero_level == 1 and profit.alike == (0, 3, 4)
    assert [part.name for part in parts(profit, "x", 2)][:2] == ["[-50, 25)", "[25, 100]"]
    even = Number(-50, 50, cells=4, zeros=True)
    assert even.levels[2] == "0" and even.alike == (0, 1, 2, 4, 5)
    assert [part.name for part in parts(even, "x", 2)] == ["[-50, 0)", "[0, 50]"]
    debt = Number(-100, 0, whole=True, cells=4, zeros=True)
    assert debt.levels[-2:] == ("-25 to -1", "0") and debt.alike == (0, 1, 2, 3, 5)
    for column in (profit, even, debt):
        schema = Schema(x=column)
        assert column.to_dict()["zeros"] and Schema.from_dict(schema.to_dict()) == schema
        schema.save(tmp_path / "s.toml")
        assert Schema.load(tmp_path / "s.toml") == schema
        assert TableSpec.from_dict(TableSpec.of(schema).to_dict()) == TableSpec.of(schema)
        drawn = column.decode(np.full(20, column.zero_level), np.random.default_rng(0)).to_pylist()
        assert drawn == [0] * 20
    for where, weights in (("x > 0", [0, 0, 1, 1]), ("x == 0", [0, 1, 0, 0]), ("x < 0", [1, 0, 0, 0])):
        found = condition(Schema(x=Number(-50, 100, cells=2, zeros=True)), where)
        assert found.exact and found.terms[0]["x"] == pytest.approx(weights)
    assert axis(Number(-3, 6, cells=9, zeros=True), 4).tolist() == [0, 0, 0, 1, 2, 2, 2, 3, 3, 3]
    assert axis(Number(-3, 6, cells=9, zeros=True), 2).tolist() == [0] * 5 + [1] * 5
    assert axis(Number(-6, 0, cells=6, zeros=True, missing=True), 4).tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
