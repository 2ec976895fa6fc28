"""By which levels tables are asked: each cell of a column, or equally many together."""

from __future__ import annotations

import numpy as np
import pytest

from scumble import Category, Date, Number
from scumble.show.tableplots import marginals
from scumble.tabular.questions import LEVELS, parts

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


def test_years_are_told_by_their_own_names() -> None:
    assert [part.name for part in parts(YEARS, "date")] == [f"{y}-01-01 to {y}-12-31" for y in range(1965, 2000)]


@pytest.mark.parametrize("cells", [2, 64, 74, 90, 127, LEVELS, LEVELS + 1, 150, 997])
@pytest.mark.parametrize("bins", [None, 1, 7, 20, 24])
def test_groups_have_equally_many_cells(cells: int, bins: int | None) -> None:
    *found, last = sizes(Number(0.0, 1.0, cells=cells), bins)
    assert len(found) < (bins or LEVELS) and len({*found}) <= 1
    assert last <= (found or [last])[0]


class Sevens:
    """What a picture needs of a release, with seven records in each cell."""

    def __init__(self, column: Number) -> None:
        import pandas as pd

        self.schema, self.columns, self.privacy = {"x": column}, ("x",), "ε = 1"
        self._answers = type("Answers", (), {"total": type("Total", (), {"value": 1e6})})
        rows = []
        for part in parts(column, "x"):
            many = 7.0 * part.weights.sum()
            rows.append({"x": part.name, "value": many, "low": many - 1, "high": many + 1})
        self._frame = pd.DataFrame(rows)

    def histogram(self, name: str) -> object:
        return self._frame


@pytest.mark.parametrize("cells", [90, 131])
@pytest.mark.parametrize("missing", [False, True])
def test_bars_of_a_level_density_are_of_one_height(cells: int, missing: bool) -> None:
    """The last of 66 groups has one cell of 131, the others two: half as wide a bar, as high as theirs."""
    figure = marginals(Sevens(Number(0.0, 1.0, cells=cells, missing=missing)))  # type: ignore[arg-type]
    bars = figure.axes[0].patches[: -1 if missing else None]
    assert len({round(bar.get_height(), 9) for bar in bars}) == 1
    widths = [bar.get_width() for bar in bars]
    assert sum(widths) / widths[0] == pytest.approx(cells / -(-cells // len(bars)))
