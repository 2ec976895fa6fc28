"""What is said to whoever asks for what a table's release, or its build, does not do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scumble
from scumble.cli import main
from scumble.errors import DataError, ParameterError

SCHEMA = scumble.Schema(
    year=scumble.Number(1959, 2024, whole=True),
    country=scumble.Category([f"c{k}" for k in range(40)]),
    total=scumble.Number(0, 50, whole=True),
)
PEOPLE = pd.DataFrame(
    {"year": 1959 + np.arange(660) % 66, "country": [f"c{k % 40}" for k in range(660)], "total": np.arange(660) % 51}
)


@pytest.fixture(scope="module")
def release() -> scumble.TableRelease:
    return scumble.build(PEOPLE, schema=SCHEMA, epsilon=5.0)


def test_a_cross_table_is_of_two_columns_and_a_share_of_all(release: scumble.TableRelease) -> None:
    with pytest.raises(ParameterError, match=r"another column than the first, got None\. Hint: histogram counts one"):
        release.crosstab("total")
    assert release.share().value == 1.0
    assert release.share(by="country").value.between(0, 1).all()


def test_rows_in_memory_are_counted_from_zero_as_numpy_and_pandas_do() -> None:
    odd = PEOPLE.astype({"year": object})
    odd.loc[2, "year"] = None
    for refused in (
        lambda: scumble.build(odd, schema=SCHEMA, epsilon=1.0, invalid="error"),
        lambda: scumble.TableSketch(SCHEMA).update(odd),
    ):
        with pytest.raises(DataError, match=r"row 2 \(counted from 0\)"):
            refused()
    with pytest.raises(DataError, match=r"row 1 \(counted from 0\)"):
        scumble.Sketch(scumble.EuclideanKernel(1.0), 1).update([[0.0], [np.nan]])


def test_columns_are_those_of_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    SCHEMA.save(tmp_path / "people.toml")
    options = ["build", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "people.toml"), "--columns", "year"]
    assert main([*options, "--epsilon", "1", "--out", str(tmp_path / "out.scumble")]) == 2
    assert "--columns" in capsys.readouterr().err


def test_names_after_from_are_written_as_sql_has_them(release: scumble.TableRelease) -> None:
    for statement in ("select count(*) from imo.e1", "select count(*) from people", "select count(*)"):
        with pytest.raises(ParameterError, match=r'FROM "imo\.e1"'):
            scumble.sql(statement, **{"imo.e1": release})
    assert scumble.sql('select count(*) as n from "imo.e1"', **{"imo.e1": release}).n[0] > 0
    with pytest.raises(ParameterError, match=r"There is no release 'h'\. Hint: FROM people\.$"):
        scumble.sql("select count(*) from h", people=release)
