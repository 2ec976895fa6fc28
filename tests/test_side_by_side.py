"""Columns side by side: by NumPy and by a compiled loop, the same matrix to the bit."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from scumble.columns import table as sidebyside
from scumble.columns.table import Table, ends
from scumble.files.compiling import Patience

WAYS = pytest.mark.parametrize("way", ["numpy", "compiled"])


@pytest.fixture
def goes(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Has columns written in one of the ways; gives the list that tells which was gone."""

    def go(way: str) -> list[str]:
        gone: list[str] = []
        slow, quick = sidebyside._by_numpy, sidebyside._rows
        monkeypatch.setattr(sidebyside, "numpy_first", Patience(*[0 if way == "compiled" else 1 << 62] * 2))
        monkeypatch.setattr(sidebyside, "_by_numpy", lambda *args: gone.append("numpy") or slow(*args))
        monkeypatch.setattr(sidebyside, "_rows", lambda *args: gone.append("compiled") or quick(*args))
        return gone

    return go


@WAYS
@pytest.mark.parametrize("many", [*range(1, 10), 16, 19])
@pytest.mark.parametrize("rows", [0, 1, 2 * sidebyside.BLOCK + 5])
def test_every_column_stands_in_its_place(way: str, many: int, rows: int, goes: Callable[[str], list[str]]) -> None:
    values = np.random.default_rng(many).normal(size=(rows, many))
    gone = goes(way)
    found = Table.of({f"c{j}": values[:, j].copy() for j in range(many)}).numeric(range(many))
    assert found.tobytes() == values.tobytes() and found.flags.c_contiguous
    assert set(gone) <= {way} and (gone or many == 1)


@WAYS
def test_arrow_in_any_shape(way: str, goes: Callable[[str], list[str]]) -> None:
    """Missing cells, columns of other types, slices, and tables in pieces."""
    values = np.random.default_rng(0).normal(size=(500, 3))
    there = np.arange(500) % 7 == 0
    columns = [pa.array(values[:, j], mask=there if j == 1 else None) for j in range(3)]
    wanted = np.where(there[:, None] & [False, True, False], np.nan, values)
    whole = pa.record_batch(columns, names=["a", "b", "c"])
    gone = goes(way)
    for table, expected in (
        (whole, wanted),
        (whole.slice(9, 400), wanted[9:409]),
        (pa.Table.from_batches([whole, whole.slice(3)]), np.vstack([wanted, wanted[3:]])),
        (whole.set_column(2, "c", columns[2].cast(pa.float32())), np.c_[wanted[:, :2], values[:, 2].astype("f4")]),
    ):
        assert np.array_equal(Table.of(table).numeric([2, 1, 0]), expected[:, [2, 1, 0]], equal_nan=True)
    assert gone == [way] * 5


@WAYS
@pytest.mark.parametrize("many", [2, 8, 11])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, None])
def test_the_ends_are_those_of_the_matrix(
    way: str, many: int, odd: float | None, goes: Callable[[str], list[str]]
) -> None:
    """In one piece and in three. What is no number takes the ends of its line of columns along, and of no other."""
    values = np.random.default_rng(many).normal(size=(3_000, many))
    if odd is not None:
        values[1_500, 1] = odd
    batches = [pa.record_batch(list(part.T.copy()), names=[*map(str, range(many))]) for part in np.split(values, 3)]
    goes(way)
    for table in (pa.Table.from_batches(batches), {str(j): values[:, j].copy() for j in range(many)}):
        matrix, (low, high) = Table.of(table).with_ends(range(many))
        assert np.array_equal(matrix, values, equal_nan=True)
        for found, wanted in zip((low, high), ends(values), strict=True):
            lost = np.isnan(wanted[1]) & (np.arange(many) < sidebyside.LINE)
            assert np.isnan(found[lost]).all() and np.array_equal(found[~lost], wanted[~lost])


def test_a_matrix_has_its_ends_too() -> None:
    values = np.random.default_rng(0).normal(size=(100, 3))
    matrix, found = Table.of(values).with_ends([2, 0])
    assert np.array_equal(matrix, values[:, [2, 0]]) and np.array_equal(found, ends(values[:, [2, 0]]))


def test_columns_that_lie_apart_are_left_to_numpy(goes: Callable[[str], list[str]]) -> None:
    values, gone = np.random.default_rng(0).normal(size=(50, 4)), goes("compiled")
    assert np.array_equal(Table.of({"a": values[:, 3], "b": values[:, 0]}).numeric([0, 1]), values[:, [3, 0]])
    assert gone == ["numpy"]


def test_nothing_is_loaded_to_find_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has not loaded the compiler goes on with NumPy, until it would have paid."""
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert not sidebyside.ready()
    patience = Patience(0, sidebyside.COMPILING)
    assert patience.lasts(sidebyside.COMPILING - 1, sidebyside.ready)
    assert not patience.lasts(1, sidebyside.ready)
