"""`scumble.sql`: intervals, names, order, and what is refused."""

from __future__ import annotations

import duckdb
import pandas as pd
import pytest
from tests.sql.exactly import SCHEMA, exactly, table

import scumble

PEOPLE = table(150)


@pytest.fixture(scope="module")
def people() -> scumble.TableRelease:
    return exactly(PEOPLE, error=0.05)


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("people", PEOPLE)
    return connection


# ---- the release answers ----


def test_each_number_is_the_answer_of_the_release(people: scumble.TableRelease) -> None:
    found = scumble.sql(
        "select count(*) as n, sum(age) as s, avg(score) as m, quantile_cont(age, 0.9) as q from people "
        "where town <> 'Ulm' and age > 20",
        confidence=0.8,
        people=people,
    ).iloc[0]
    where = "town != 'Ulm' and age > 20"
    for name, wanted in {
        "n": people.count(where, confidence=0.8),
        "s": people.sum("age", where, confidence=0.8),
        "m": people.mean("score", where, confidence=0.8),
        "q": people.quantile("age", 0.9, where, confidence=0.8),
    }.items():
        assert (found[name], found[f"{name}_low"], found[f"{name}_high"]) == (wanted.value, wanted.low, wanted.high)


def test_a_formula_is_worked_out_on_every_draw(people: scumble.TableRelease) -> None:
    """Both counts err by the same share, so their quotient is known exactly, and their difference is not."""
    query = "select count(*) filter (where smoker) / count(*) as share, count(*) - count(smoker) as gone from people"
    found = scumble.sql(query, people=people).iloc[0]
    assert found.share_low == pytest.approx(found.share) == found.share_high == PEOPLE.smoker.sum() / len(PEOPLE)
    wanted = people.count() - people.count("smoker is not missing")
    assert [found.gone, found.gone_low, found.gone_high] == pytest.approx([wanted.value, wanted.low, wanted.high])
    assert found.gone_low < found.gone < found.gone_high


# ---- names, order, groups ----


@pytest.mark.parametrize(
    "query",
    [
        "select town, count(*) as n from people where town is not null group by 1 having n > 0 order by n desc, town",
        "select town as t, count(*) from people group by t having count(*) > 0 order by t",
        "select town, count(*) from people group by 1 having count(*) > 0 order by 1 desc",
        "select town, count(*) as n from people group by town having n > 0 order by town desc nulls first limit 2",
        "select TOWN, count(*) as n from PEOPLE p where p.Age >= 10 group by P.town having n > 0 order by 1 offset 1",
        'select "Town", avg(score) as m from people group by "TOWN" having count(*) > 0 order by m desc',
        "select plan, smoker, count(*) as n from people group by all order by plan, smoker nulls first",
        "select plan, count(*) as n from people group by plan order by count(*) filter (where smoker) / n, plan",
        "select plan from people group by plan order by avg(score) limit 1",
        "from people select plan, count(*) group by plan order by plan",
        "select age >= 25 as old, count(*) as n from people group by old order by old",
        "select count(*) as n, count(*) * 2 as m from people where false",
        "select avg(age), sum(age) from people where age > 10 and age < 5",
        "select town, count(*) as n from people where town = 'Ulm' group by town",
    ],
)
def test_rows_come_in_duckdbs_order(query: str, people: scumble.TableRelease, duck: duckdb.DuckDBPyConnection) -> None:
    wanted = duck.execute(query).df()
    found = scumble.sql(query, people=people)
    found = found[[name for name in found if not name.endswith(("_low", "_high"))]]
    assert len(found) == len(wanted) and found.shape[1] == wanted.shape[1]
    for mine, other in zip(found, wanted, strict=True):
        assert mine == other or mine.replace("count(*)", "count_star()") == other
        pairs = zip(found[mine].tolist(), wanted[other].tolist(), strict=True)
        assert all((pd.isna(a) and pd.isna(b)) or a == pytest.approx(b) for a, b in pairs), (found, wanted)


def test_all_groups_that_can_be_are_there(people: scumble.TableRelease) -> None:
    found = scumble.sql("select town, count(*) as n from people group by town", people=people)
    assert found.town.tolist() == ["Ulm", "Bonn", "Jena", "(other)", None]
    assert found.n[3] == 0
    nothing = scumble.sql("select town, count(*) as n from people where false group by town", people=people)
    assert nothing.empty and list(nothing) == ["town", "n", "n_low", "n_high"]


def test_a_condition_leaves_fewer_groups(people: scumble.TableRelease) -> None:
    query = "select age, seen, count(*) from people where age < 3 group by all"  # of 51 × 92, too many
    assert len(scumble.sql(query, people=people)) == 3 * 92


def test_days_beside_times_are_midnights() -> None:
    schema = scumble.Schema(
        moment=scumble.Date(
            edges=[*(f"2024-01-0{day}T00:00:0{second}" for day in (1, 2) for second in (0, 1)), "2024-01-02T23:59:59"]
        )
    )
    hours = ("01 00", "01 10", "02 00", "02 10", "02 11")
    frame = pd.DataFrame({"moment": pd.to_datetime([f"2024-01-{hour}:00" for hour in hours])})
    release, connection = exactly(frame, schema), duckdb.connect()
    connection.register("visits", frame)
    for sign in ("<", "<=", "=", "<>", ">=", ">"):
        query = f"select count(*) as n from visits where moment {sign} '2024-01-02'"
        assert scumble.sql(query, visits=release).n[0] == connection.execute(query).fetchall()[0][0], sign


# ---- refusals ----

STATEMENTS = """\
drop table people | select count(*) from people; drop table people | with a as (select 1 as x) select count(*) from a |
with recursive a as (select * from people) select count(*) from a | with a as (select * from people limit 3) select
count(*) from a | with a as (select town, avg(age) as m from people group by 1) select avg(m) from a | with a as (select
age as years from people) select avg(score) from a | select distinct town, count(*) from people | select count(*) from
people union select 1 | select count(*) | select count(*) from main.people | select count(*) from 'people.csv' | select
count(*) from read_csv('x') | select count(*) from people, people | select age from people | select town, count(*) from
people | select town, plan, count(*) from people group by town | select count(*) from people group by rollup (town) |
select count(*) as n from people group by n | select floor(age / 10) as age, count(*) from people group by age | select
count(*) from | select count(*) from people where age > 1\x00 | select age, seen, count(*) from people group by all
"""
NUMBERS = """\
* | count(*) over (partition by town) | count(distinct score) | stddev(town) | sum(age * age * age) | mode(town) |
variance(age * score) | sum(ln(age)) | string_agg(town) | avg(town) | quantile_cont(age, [0.1, 0.9]) | count(*) % 2 |
quantile_cont(age, 1.5) | median(seen) + 1 | count(*), count(*)
"""
WHERES = """\
year(age) = 2024 | century(seen) = 20 | age > (select avg(age) from people) | age > score | age + 1 > 3 | age = null |
seen > '31/12/2010' | town in ('Ulm', null) | town = 'Berlin' | town > 'A' | town = "Ulm" | town = Ulm | age like '1%' |
town like 'U%' | age between symmetric 9 and 3 | age | age = '25' | score = 3 | age = 2.00000000000000000001 |
age > $1 | seen > '2024-02-30' | seen > current_date | count(*) > 3 | town = e'Ulm' | town = $$Ulm
"""
KEYS = """\
agee | score | floor(score / 1.5) | score // 2 | round(age) | hour(seen) | date_trunc('decade', seen) | year(age) |
strftime(seen, '%s')
"""


def listed(text: str) -> list[str]:
    return [one.strip() for one in text.replace("\n", " ").split(" | ")]


REFUSED = [
    *("", *listed(STATEMENTS)),
    *(f"select {one} from people" for one in listed(NUMBERS)),
    *(f"select count(*) from people where {one}" for one in listed(WHERES)),
    *(f"select {one}, count(*) from people group by 1" for one in listed(KEYS)),
]
"""What a release cannot answer, or nobody can."""


@pytest.mark.parametrize("query", REFUSED)
def test_what_cannot_be_answered_is_refused_in_a_line(query: str, people: scumble.TableRelease) -> None:
    with pytest.raises(scumble.ParameterError) as refusal:
        scumble.sql(query, people=people)
    words = str(refusal.value)
    assert words.endswith(".") and "\x1b" not in words and "\n" not in words


HOSTILE = {
    "brackets": "select count(*) from people where " + "(" * 5000 + "age > 1" + ")" * 5000,
    "nots": "select count(*) from people where " + "not " * 3000 + "smoker",
    "signs": "select count(*) from people where age > " + "- " * 3000 + "1",
    "calls": "select " + "abs(" * 3000 + "count(*)" + ")" * 3000 + " from people",
    "cases": "select " + "case when smoker then " * 1500 + "1" + " end" * 1500 + " from people",
    "sums": "select " + "count(*) + " * 900 + "1 from people",
    "list": "select count(*) from people where age in (" + ", ".join(map(str, range(100_000))) + ")",
    "words": "select count(*) from people where age in (" + ", ".join(map(str, range(9_000))) + ")",
    "digits": "select count(*) from people where age > " + "9" * 40_000,
    "exponent": "select count(*) from people where age > 1e999999999",
    "small": "select count(*) from people where age > 1e-999999999",
    "keys": "select " + ", ".join(f"age > {k} as k{k}" for k in range(200)) + ", count(*) from people group by all",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_statements_are_refused_soon(name: str, people: scumble.TableRelease) -> None:
    with pytest.raises(scumble.ParameterError):  # without limits some of these take for ever
        scumble.sql(HOSTILE[name], people=people)


@pytest.mark.filterwarnings("ignore:The question reaches beyond the bounds")
def test_long_statements_within_the_limits_are_answered(people: scumble.TableRelease) -> None:
    for where in (f"age in ({', '.join(map(str, range(1_000)))})", " or ".join(f"age = {k}" for k in range(500))):
        found = scumble.sql(f"select count(*) as n from people where {where}", people=people)
        assert found.n[0] == PEOPLE.age.count()


def test_what_is_no_release_is_refused(people: scumble.TableRelease) -> None:
    query = "select count(*) from people"
    for words in ({}, {"people": PEOPLE}, {"people": people, "confidence": 2.0}):
        with pytest.raises(scumble.ParameterError):
            scumble.sql(query, **words)  # type: ignore[arg-type]
    for wrong in ((query, people), (5, {"people": people})):
        with pytest.raises(scumble.ParameterError):
            scumble.sql(*wrong)  # type: ignore[arg-type]


def test_capitals_that_tell_columns_apart_must_be_written() -> None:
    schema = scumble.Schema({"Age": SCHEMA["age"], "age": SCHEMA["age"], "b": scumble.Boolean(missing=True)})
    frame = pd.DataFrame({"Age": PEOPLE.age, "age": 3, "b": PEOPLE.smoker})
    release = exactly(frame, schema)
    assert scumble.sql("select count(*) as n from p where age = 3", p=release).n[0] == len(frame)
    with pytest.raises(scumble.ParameterError, match="may be 'Age' or 'age'"):
        scumble.sql("select count(*) from p where AGE = 3", p=release)


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
