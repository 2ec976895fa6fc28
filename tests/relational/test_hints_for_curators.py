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


def test_cells_that_where_leaves_out_may_be_cut() -> None:
    """Before 1900 cells are longer than decades; what is cut there is not asked for."""
    schema = scumble.Schema(year=scumble.Number(edges=[1800, 1845, 1900, 1910, 1920, 1929], whole=True))
    release = exactly(pd.DataFrame({"year": [1830, 1905, 1906, 1925]}), schema)
    asked = "select floor(year / 10) * 10 as d, count(*) as n from t where {} group by d order by d"
    rows = scumble.sql(asked.format("year >= 1900"), t=release)
    assert rows[["d", "n"]].round(3).to_numpy().tolist() == [[1900, 2], [1910, 0], [1920, 1]]
    assert len(scumble.sql(asked.format("year >= 1905"), t=release)) == 3, "what WHERE cuts itself is guessed, as ever"
    for where in ("year >= 1845", "year >= 0"):
        with pytest.raises(scumble.ParameterError, match="cuts through cells of column 'year'"):
            scumble.sql(asked.format(where), t=release)


def test_who_gives_the_name_of_a_file_is_told_how_to_read_it() -> None:
    with pytest.raises(scumble.ParameterError, match=r"got str\. Hint: scumble\.load\(…\) reads one from its file"):
        scumble.sql("select count(*) from t", t="rel/t.scumble")  # type: ignore[arg-type]
