"""Groups that a release does not bear: what its maker could have declared."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.relational.exactly import exactly

import scumble


@pytest.mark.parametrize(
    ("high", "hint"), [(2009, ", or by cells = 140, one for each number."), (9999, "in its schema.")]
)
def test_decades_of_whole_numbers_are_borne_by_a_cell_each(high: int, hint: str) -> None:
    schema = scumble.Schema(year=scumble.Number(1870, high, whole=True, cells=6))
    release = exactly(pd.DataFrame({"year": [1990] * 3}), schema)
    with pytest.raises(scumble.ParameterError, match="cuts through cells of column 'year'") as refusal:
        scumble.sql("select floor(year / 10) * 10 as d, count(*) from t group by d", t=release)
    assert str(refusal.value).endswith(hint)


@pytest.mark.parametrize(("unit", "cells"), [("month", "month"), ("week", "week")])
def test_months_are_borne_by_cells_of_that_name(unit: str, cells: str) -> None:
    schema = scumble.Schema(seen=scumble.Date("2023-01-01", "2023-12-31", cells="quarter"))
    release = exactly(pd.DataFrame({"seen": ["2023-02-03"] * 3}), schema)
    with pytest.raises(scumble.ParameterError, match="cuts through cells of column 'seen'") as refusal:
        scumble.sql(f"select date_trunc('{unit}', seen) as d, count(*) from t group by d", t=release)
    assert str(refusal.value).endswith(f'can have such groups: by cells = "{cells}" in its schema.')
    borne = scumble.Schema(seen=scumble.Date("2023-01-01", "2023-12-31", cells=cells))
    rows = scumble.sql(
        f"select date_trunc('{unit}', seen) as d, count(*) from t group by d",
        t=exactly(pd.DataFrame({"seen": ["2023-02-03"] * 3}), borne),
    )
    assert len(rows) > 10
