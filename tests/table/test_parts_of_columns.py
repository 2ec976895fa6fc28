"""By which levels tables are asked: each cell of a column, or equally many together."""

from __future__ import annotations

import numpy as np
import pytest

from scumble import Category, Date, Number, Schema, TableSketch
from scumble.table.questions import LEVELS, parts

YEARS = Date(edges=[*(f"{year}-01-01" for year in range(1965, 2000)), "1999-12-31"])


def sizes(column: Number | Date | Category, bins: int | None = None) -> list[int]:
    """How many cells each part has: all together they are the column, in order."""
    weights = np.array([part.weights for part in parts(column, "x", bins)])
    np.testing.assert_array_equal(weights.sum(axis=0), 1.0)
    assert [*np.argmax(weights, axis=1)] == sorted(np.argmax(weights, axis=1))
    return [int(found) for found in weights.sum(axis=1)]


@pytest.mark.parametrize(
    "column", [YEARS, Number(-90.0, 0.0, cells=90), Number(0.0, 1.0), Number(0.0, 1.0, missing=True), Number(17, 90)]
)
def test_each_cell_is_a_level(column: Number | Date) -> None:
    assert sizes(column) == [1] * column.size


@pytest.mark.parametrize("cells", [2, 64, 74, 90, 127, LEVELS, LEVELS + 1, 150, 997])
@pytest.mark.parametrize("most", [LEVELS, 20])
def test_groups_have_equally_many_cells(cells: int, most: int) -> None:
    *found, last = (int(part.weights.sum()) for part in parts(Number(1.0, 2.0, cells=cells), "x", most=most))
    assert len(found) < most and len({*found}) <= 1
    assert last <= (found or [last])[0]


@pytest.mark.parametrize("cells", [2, 50, 90, 101, 997])
def test_so_many_bins_as_were_asked_for(cells: int) -> None:
    """As equal as can be, the longer ones first; never fewer than can be had."""
    for bins in (1, 2, 3, 4, 9, 20, 24):
        found = sizes(Number(1.0, 2.0, cells=cells), bins)
        assert len(found) == min(bins, cells) and found == sorted(found, reverse=True)
        assert max(found) - min(found) <= 1


def test_the_last_bin_ends_at_the_bound_and_holds_it() -> None:
    lon = parts(Number(-73.99, -73.94, cells=50), "lon", 2)
    assert [part.name for part in lon] == ["[-73.99, -73.965)", "[-73.965, -73.94]"]
    assert lon[-1].ends == (pytest.approx(-73.965), -73.94)
    money = parts(Number(0, 12_345_678, scale="log", cells=5), "money", 2)
    assert [part.name for part in money] == ["[0, 1234.5678)", "[1234.5678, 12345678]"]
    heights = parts(Number(0, 100, whole=True, missing=True), "height", 2)
    assert [part.name for part in heights] == ["0 to 50", "51 to 100", "(missing)"]


def test_a_condition_that_leaves_few_cells_has_a_group_for_each() -> None:
    """Cells are joined if there are too many of those that are asked for, not of the whole column."""
    schema = Schema(pay=Number(0, 999, whole=True, cells=1000), town=Category(["Ulm"]))
    release = TableSketch(schema).update({"pay": [*range(1000)] * 5, "town": ["Ulm"] * 5000}).release(1e4)
    found = release.count("pay < 5 and town == 'Ulm'", by="pay")
    assert found["pay"].tolist() == ["0", "1", "2", "3", "4"]
    found = release.count("pay between 990 and 999", by=["pay", "town"])
    assert found["pay"].unique().tolist() == [str(pay) for pay in range(990, 1000)]
    found = release.count("pay >= 100", by="pay")
    assert found["pay"].tolist()[:2] == ["100 to 102", "103 to 105"] and found["value"].round().tolist()[0] == 15
    assert len(found.attrs["remarks"]) == 1
