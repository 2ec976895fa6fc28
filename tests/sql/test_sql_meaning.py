"""What statements mean: the same SQL, by DuckDB on the table and by scumble on a release that answers exactly."""

from __future__ import annotations

import datetime
import math
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sql.exactly import exactly, table

import scumble

PEOPLE = table(150)


@pytest.fixture(scope="module")
def people() -> scumble.TableRelease:
    return exactly(PEOPLE)


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("frame", PEOPLE)
    connection.execute(
        "create table people as select age::int as age, score, town, plan, smoker, seen::date as seen from frame"
    )
    return connection


def plain(cell: Any) -> Any:
    if cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and math.isnan(cell)):
        return None
    return cell.item() if hasattr(cell, "item") else cell


def ours(query: str, release: scumble.TableRelease, name: str = "people") -> list[tuple[Any, ...]]:
    frame = scumble.sql(query, {name: release})
    kept = [name for name in frame if not str(name).endswith(("_low", "_high"))]
    for name in set(frame) - set(kept):
        assert str(name).removesuffix("_low").removesuffix("_high") in kept
    return [tuple(map(plain, row)) for row in frame[kept].itertuples(index=False, name=None)]


def theirs(query: str, duck: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    found = duck.execute(query).fetchall()
    return [tuple(plain(float(cell) if type(cell).__name__ == "Decimal" else cell) for cell in row) for row in found]


def alike(mine: Any, other: Any) -> bool:
    if isinstance(mine, int | float) and isinstance(other, int | float):
        return mine == pytest.approx(other, rel=1e-6, abs=1e-6)
    if isinstance(mine, datetime.date) and isinstance(other, datetime.datetime):
        other = other.date()
    return bool(mine == other)


def _by_keys(row: tuple[Any, ...]) -> list[tuple[bool, str]]:
    """Groups in some order that does not hang on how a number is written."""
    return [(cell is None, f"{cell:.6f}" if isinstance(cell, int | float) else str(cell)[:10]) for cell in row]


def same(
    query: str,
    release: scumble.TableRelease,
    duck: duckdb.DuckDBPyConnection,
    *,
    ordered: bool = False,
    name: str = "people",
) -> None:
    mine, other = ours(query, release, name), theirs(query, duck)
    if not ordered:
        mine, other = (sorted(rows, key=_by_keys) for rows in (mine, other))
    assert len(mine) == len(other), (query, mine, other)
    for row, wanted in zip(mine, other, strict=True):
        assert len(row) == len(wanted) and all(map(alike, row, wanted)), (query, row, wanted)


# ---- statements by chance ----

COLUMN_CONDITIONS = st.one_of(
    st.tuples(
        st.sampled_from(["age", "AGE", '"Age"', "people.age"]),
        st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="]),
        st.sampled_from(["0", "17", "24.5", "25", "30.0", "49", "-3", "1e3"]),
    ).map(" ".join),
    st.tuples(st.sampled_from(["=", "<", "<=", ">", ">="]), st.integers(0, 50)).map(lambda t: f"{t[1]} {t[0]} age"),
    st.tuples(st.integers(-2, 50), st.integers(0, 60)).map(lambda t: f"age between {t[0]} and {t[1]}"),
    st.lists(st.integers(0, 50), min_size=1, max_size=4).map(lambda v: f"age in ({', '.join(map(str, v))})"),
    # At the bounds, 0 and 8, a release estimates how many have the very bound.
    st.tuples(st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from([-1, 1, 2, 3, 4, 5, 6, 7, 9])).map(
        lambda t: f"score {t[0]} {t[1]}"
    ),
    st.tuples(st.sampled_from(["=", "<>"]), st.sampled_from(["Ulm", "Bonn", "Jena"])).map(
        lambda t: f"town {t[0]} '{t[1]}'"
    ),
    st.lists(st.sampled_from(["'Ulm'", "'Bonn'", "'Jena'"]), min_size=1, max_size=3).map(
        lambda v: f"town not in ({', '.join(v)})"
    ),
    st.sampled_from(["town", "age", "smoker", "seen"]).flatmap(
        lambda name: st.sampled_from([f"{name} is null", f"{name} is not null"])
    ),
    st.sampled_from(
        ["smoker", "not smoker", "smoker = false", "smoker is true", "smoker is not true", "smoker is false"]
    ),
    st.sampled_from(["plan like 'p%'", "plan not like '%o'", "plan ilike 'PR_'", "plan like '%'", "plan like 'x'"]),
    st.tuples(
        st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        st.sampled_from(["'2024-02-29'", "date '2024-01-01'", "timestamp '2024-02-01 00:00:00'", "'2025-01-01'"]),
    ).map(lambda t: f"seen {t[0]} {t[1]}"),
    st.sampled_from(["seen between '2024-01-15' and '2024-02-15'", "true", "false", "1 = 1", "(age > 20) is not true"]),
)
CONDITIONS = st.recursive(
    COLUMN_CONDITIONS,
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from(["and", "or"]), part).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        part.map(lambda one: f"not ({one})"),
    ),
    max_leaves=3,
)
KEYS = st.one_of(
    st.sampled_from(["town", "smoker", "plan", "age", "seen", "age // 10", "age // 5 * 5", "floor(score)"]),
    st.sampled_from(["floor(age / 10) * 10", "10 * floor(age / 10)", "floor(age / 7)", "floor(score / 2) * 2"]),
    st.sampled_from([f"date_trunc('{unit}', seen)" for unit in ("month", "week", "quarter")]),
    st.sampled_from(["year(seen)", "extract(year from seen)"]),
    CONDITIONS,
    CONDITIONS.map(lambda one: f"case when {one} then 'a' when smoker then 'b' else 'a' end"),
    CONDITIONS.map(lambda one: f"case when {one} then 1 end"),
)
PLAIN = st.sampled_from(  # a sum of nothing is NULL, and a release cannot tell that there was nothing
    [
        *("count(*)", "count(1)", "count(age)", "count(town)", "avg(age)", "avg(score)", "avg(smoker::int)"),
        *(f"coalesce(sum({one}), 0)" for one in ("age", "score", "smoker::int", "smoker")),
        *("quantile_disc(age, 0.3713)", "percentile_disc(0.8117) within group (order by age)"),
    ]
)
AGGREGATES = st.one_of(
    PLAIN,
    st.tuples(PLAIN.filter(lambda one: "coalesce" not in one), CONDITIONS).map(
        lambda t: f"{t[0]} filter (where {t[1]})"
    ),
    CONDITIONS.map(lambda one: f"coalesce(sum(age) filter (where {one}), 0)"),
    CONDITIONS.map(lambda one: f"coalesce(count_if({one}), 0)"),
    CONDITIONS.map(lambda one: f"coalesce(sum(case when {one} then 1 else 0 end), 0)"),
    CONDITIONS.map(lambda one: f"avg(case when {one} then 1.0 else 0 end)"),
    CONDITIONS.map(lambda one: f"avg(case when {one} then score end)"),
    CONDITIONS.map(lambda one: f"count(case when {one} then 'x' end)"),
    CONDITIONS.map(lambda one: f"coalesce(sum(({one})::int), 0)"),
)
FORMULAS = st.one_of(
    AGGREGATES,
    AGGREGATES.map(lambda one: f"round({one} * 100.0 / nullif(count(*), 0), 7)"),
    AGGREGATES.map(lambda one: f"-({one}) + 2 * avg(score) - abs(-1.5)"),
    CONDITIONS.map(lambda one: f"floor(coalesce(count_if({one}), 0) / 3) + ceil(count(*) / 2)"),
)


@st.composite
def statements(draw: st.DrawFn) -> str:
    keys = draw(st.lists(KEYS, max_size=2, unique=True))
    numbers = draw(st.lists(FORMULAS, min_size=1, max_size=2))
    names = [f"{key} as k{place}" for place, key in enumerate(keys)]
    listed = [*names, *(f"{number} as n{place}" for place, number in enumerate(numbers))]
    text = f"select {', '.join(listed)} from people"
    if draw(st.booleans()):
        text += f" where {draw(CONDITIONS)}"
    if keys:
        by = draw(st.sampled_from([", ".join(f"k{k}" for k in range(len(keys))), "all", ", ".join(keys)]))
        text += f" group by {by} having count(*) > 0"
        if draw(st.booleans()):
            text += draw(
                st.sampled_from([" and count(*) >= 20", " and (avg(score) < 4.001 or n0 is null)", " and not n0 > 30"])
            )
    return text


@pytest.mark.filterwarnings("ignore:The question reaches beyond the bounds")
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(statements())
def test_any_statement_means_what_it_means_to_duckdb(
    people: scumble.TableRelease, duck: duckdb.DuckDBPyConnection, statement: str
) -> None:
    try:
        same(statement, people, duck)
    except scumble.ParameterError as refusal:  # honest too; these are all that statements of this form meet
        allowed = ("more than 2,000 groups", "union of more than 256 parts")
        assert any(words in str(refusal) for words in allowed), (statement, str(refusal))


@pytest.mark.filterwarnings("ignore:The question reaches beyond the bounds")
def test_years_mean_what_they_mean_to_duckdb(people: scumble.TableRelease, duck: duckdb.DuckDBPyConnection) -> None:
    for where in (
        *("year(seen) = 2024", "year(seen) <> 2024", "2024 <= year(seen)", "not year(seen) < 2024"),
        *("year(seen) > 2023 and age > 20", "extract(year from seen) <= 2023"),
        *("year(seen) in (2020, 2024)", "year(seen) between 2020 and 2023"),
    ):
        same(f"select count(*) as n from people where {where}", people, duck)


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day", "dow", "isodow", "doy"])
def test_parts_of_dates_around_1970_mean_what_they_mean_to_duckdb(unit: str) -> None:
    days = [datetime.date(1969, 11, 3) + datetime.timedelta(day) for day in range(100)]
    frame = pd.DataFrame({"d": days})
    connection = duckdb.connect()
    connection.register("frame", frame)
    connection.execute("create table t as select d::date as d from frame")
    release = exactly(frame, scumble.Schema(d=scumble.Date(days[0], days[-1], cells="day")))
    same(f"select extract({unit} from d) as k, count(*) as n from t group by k", release, connection, name="t")
    if unit in ("year", "quarter", "month", "week", "day"):
        same(f"select date_trunc('{unit}', d) as k, count(*) as n from t group by k", release, connection, name="t")
