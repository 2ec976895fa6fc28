"""Weights of synthetic rows, and the relation that DuckDB gets."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from tests.sql.exactly import SCHEMA, exactly, table

import scumble
from scumble.table.rows import raked

PEOPLE = table(300)


@pytest.fixture(scope="module")
def people() -> scumble.TableRelease:
    return exactly(PEOPLE)


def test_weighted_rows_have_the_counts_of_every_column(people: scumble.TableRelease) -> None:
    rows = people.sample(2000, random_state=1)
    weights = people.weights(rows)
    assert weights.shape == (2000,) and (weights >= 0).all()
    assert weights.sum() == pytest.approx(len(PEOPLE))
    codes = SCHEMA.encode(rows).codes
    for j, (name, column) in enumerate(SCHEMA.items()):
        exact = np.bincount(SCHEMA.encode(PEOPLE).codes[:, j], minlength=column.size)
        assert np.bincount(codes[:, j], weights, minlength=column.size) == pytest.approx(exact, abs=1e-4), name


@pytest.mark.parametrize(
    ("codes", "wanted", "total", "expected"),
    [
        ([[0, 1], [2, 1]], [[0.5, 0.2, 0.3], [0.0, 1.0]], 8.0, [5.0, 3.0]),  # no row has level 1
        ([[0, 0], [1, 0]], [[0.25, 0.75], [0.0, 1.0]], 8.0, [2.0, 6.0]),  # no row has the level that is wanted
        ([[0], [0]], [[0.0, 1.0]], 10.0, [5.0, 5.0]),
    ],
)
def test_levels_that_no_row_has_leave_their_share_to_others(
    codes: list[list[int]], wanted: list[list[float]], total: float, expected: list[float]
) -> None:
    assert raked(np.array(codes), [np.array(goal) for goal in wanted], total) == pytest.approx(expected)


def test_few_rows_and_none(people: scumble.TableRelease) -> None:
    assert people.weights(people.sample(0)).shape == (0,)
    assert people.weights(people.sample(1, random_state=0)) == pytest.approx([len(PEOPLE)])
    rows = people.sample(3, random_state=0)
    assert people.weights(rows, where="age < 20 and age > 30").tolist() == [0.0] * 3
    with pytest.raises(scumble.DataError):
        people.weights(rows.assign(plan="unheard of"))


def test_duckdb_has_the_weighted_rows(people: scumble.TableRelease) -> None:
    connection = duckdb.connect()
    relation = people.relation(connection, rows=2000, random_state=3)
    assert relation.columns == [*SCHEMA, "weight"]
    relation.create_view("synthetic")
    total, ulm, old = connection.execute(
        "select sum(weight), sum(weight) filter (where town = 'Ulm'), sum(weight * age) / sum(weight) "
        "filter (where age is not null) from synthetic"
    ).fetchall()[0]
    assert total == pytest.approx(len(PEOPLE)) and ulm == pytest.approx((PEOPLE.town == "Ulm").sum(), abs=1e-4)
    assert old == pytest.approx(PEOPLE.age.mean(), abs=1e-4)
    joined = "select count(*) from synthetic as a join synthetic as b on a.seen = b.seen where a.age > b.age"
    assert connection.execute(joined).fetchall()[0][0] > 0
    same = people.relation(connection, rows=2000, random_state=3)
    assert same.fetchall() == relation.fetchall()


def test_the_own_connection_and_another_name(people: scumble.TableRelease) -> None:
    relation = people.relation(rows=10, where="smoker", weight="w")
    assert relation.aggregate("sum(w)").fetchall()[0][0] == pytest.approx(people.count("smoker").value)
    for name in ("AGE", "", 5):
        with pytest.raises(scumble.ParameterError, match="no column has"):
            people.relation(rows=10, weight=name)  # type: ignore[arg-type]
