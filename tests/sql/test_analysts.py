"""What an analyst would try on a table of persons: the same answers as DuckDB's on the exact table."""

from __future__ import annotations

import datetime
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from tests.sql.exactly import exactly
from tests.sql.test_sql_meaning import same

import scumble

WORDS: dict[str, list[str]] = {
    "workclass": ["Private", "Self-employed", "Government"],
    "education": ["School", "Some-college", "Bachelors", "Masters", "Doctorate"],
    "marital": ["Married", "Never-married", "Divorced"],
    "occupation": ["Sales", "Craft-repair", "Exec-managerial", "Prof-specialty"],
    "sex": ["Female", "Male"],
}
SCHEMA = scumble.Schema(
    age=scumble.Number(17, 90, whole=True, cells=74),
    hours=scumble.Number(1, 99, whole=True, cells=99),
    gain=scumble.Number(0, 9, whole=True),
    loss=scumble.Number(0, 4, whole=True, missing=True),
    rich=scumble.Boolean(missing=False),
    hired=scumble.Date("2023-01-01", "2023-04-30", cells="day"),
    **{name: scumble.Category(words, other=False, missing=name == "occupation") for name, words in WORDS.items()},
)


def table(n: int = 250) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    words: dict[str, Any] = {name: rng.choice(each, n).astype(object) for name, each in WORDS.items()}
    words["occupation"][rng.random(n) < 0.1] = None
    age = rng.integers(17, 91, n)
    loss = [None if gone else int(x) for gone, x in zip(rng.random(n) < 0.1, rng.integers(0, 5, n), strict=True)]
    return pd.DataFrame(
        {
            "age": age,
            "hours": np.clip(20 + age // 3 + rng.integers(-15, 16, n), 1, 99),
            "gain": rng.integers(0, 10, n),
            "loss": pd.array(loss, dtype="Int64"),
            "rich": rng.random(n) < 0.2 + 0.005 * age,
            "hired": [datetime.date(2023, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(0, 120, n)],
            **words,
        }
    )


ANSWERED = """\
select count(*) from adult;
select sex, count(*) as n from adult group by sex order by n desc;
select education, avg(hours) as h from adult group by education order by h desc limit 3;
select avg(age), median(age), stddev(age) from adult;
select sex, stddev_pop(hours) as s, var_samp(hours) as v, variance(age) as w from adult group by sex order by sex;
select corr(age, hours) from adult;
select sex, corr(age, rich::int) as c from adult group by sex order by sex;
select regr_slope(hours, age) as slope, regr_intercept(hours, age) as start, regr_r2(hours, age) as r2 from adult;
select covar_samp(age, hours), covar_pop(gain, loss) from adult where sex = 'Female';
select sex, 100.0 * sum(case when rich then 1 else 0 end) / count(*) as percent from adult group by sex order by sex;
select avg(rich::int) filter (where sex = 'Male') - avg(rich::int) filter (where sex = 'Female') as gap from adult;
select avg(case when sex = 'Male' then hours end) / avg(case when sex = 'Female' then hours end) as ratio from adult;
select case when age < 30 then '17-29' when age < 50 then '30-49' else '50+' end as b, count(*) as n from adult
    group by b order by b;
select avg(case when education = 'Doctorate' then 3 when education = 'Masters' then 2 else 1 end) from adult;
select sum(case when rich then gain when sex = 'Male' then 1 else 0.5 end) from adult;
select education, sum(gain - loss) as net, avg(gain * hours) as product from adult group by education order by
    education;
select sum(hours * 52) / count(*), avg((age - 40) * (age - 40)) from adult;
with men as (select * from adult where sex = 'Male') select education, count(*) as n from men group by education
    order by n desc, education;
with a as (select age, hours as h, rich from adult where age >= 25), b as (select h, rich from a where h > 30)
    select avg(h), count(*) from b where rich;
with a as (select *, case when hours > 40 then 'long' else 'short' end as week from adult) select week, avg(age) as
    a from a group by week order by week;
select avg(x.h) from (select hours as h, sex from adult where rich) as x where x.sex = 'Female';
with g as (select education, avg(hours) as h from adult group by education) select education, h from g where h > 20
    order by h desc;
with g as (select sex, count(*) as n from adult group by 1) select * from g order by n;
select count(distinct education), count(distinct occupation), count(distinct age) from adult;
select distinct sex, rich from adult order by sex, rich;
select count(*) from adult where occupation is null;
select count(loss), count(*) - count(loss) as missing from adult where occupation is not null;
select month(hired) as m, count(*) as n from adult group by m order by m;
select extract(dow from hired) as d, avg(hours) as h from adult group by d order by d;
select strftime(hired, '%Y-%m') as m, count(*) as n from adult group by m order by m;
select count(*) from adult where dayofweek(hired) in (0, 6);
select date_trunc('month', hired) as m, avg(age) as a from adult group by m order by m;
select count(*) from adult where date_part('quarter', hired) = 1 and year(hired) = 2023;
select monthname(hired) as m, sum(gain) as g from adult group by m having count(*) > 10 order by g, m;
select count(*) from adult where age between 30 and 39 and education in ('Bachelors', 'Masters');
select count(*) from adult where education like '%or%' or workclass not like 'Pri%';
select education, sex, count(*) as n from adult group by education, sex having count(*) >= 20 order by n desc, 1, 2;
select floor(age / 10) * 10 as decade, avg(rich::int) as share from adult group by decade having count(*) > 0 order
    by decade;
select sex, count(*) * 100.0 / sum(count(*)) over () as percent from adult group by sex order by sex;
select workclass, count(*) / (select count(*) from adult) as share from adult group by workclass order by workclass;
select education, avg(hours) - (select avg(hours) from adult) as above from adult group by education order by above;
select quantile_disc(hours, 0.9) from adult where sex = 'Male';
select stddev(hours) / avg(hours) as cv, sqrt(var_pop(age)) as s from adult;
select round(avg(hours), 1) as h, count_if(hours > 40) as over_time from adult where marital = 'Married';
select marital, avg(coalesce(loss, 0)) as l, avg(loss) as known from adult group by marital order by marital;
select coalesce(occupation, 'unknown') as o, count(*) as n from adult group by o order by o;
select upper(sex) as s, avg(age) as a from adult where lower(education) in ('school', 'masters') group by s order by s;
select power(stddev(age), 2) as v, ln(avg(hours)) as l, exp(avg(rich::int)) as e from adult
"""
STATEMENTS = [" ".join(one.split()) for one in ANSWERED.split(";")]


@pytest.fixture(scope="module")
def adult() -> scumble.TableRelease:
    return exactly(table(), SCHEMA)


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("frame", table())
    connection.execute("create table adult as select * replace (loss::int as loss, hired::date as hired) from frame")
    return connection


@pytest.mark.parametrize("query", STATEMENTS)
def test_what_analysts_ask_is_answered_as_duckdb_answers_it(
    query: str, adult: scumble.TableRelease, duck: duckdb.DuckDBPyConnection
) -> None:
    same(query, adult, duck, ordered="order by" in query, name="adult")


def test_values_spread_evenly_over_wide_cells_keep_their_spread() -> None:
    """Cells of ten whole numbers, and cells of width 1: a cell's middle alone would tell less."""
    schema = scumble.Schema(a=scumble.Number(0, 99, whole=True, cells=10), b=scumble.Number(0, 4, cells=4, zeros=False))
    frame = pd.DataFrame({"a": np.arange(400) % 100, "b": (np.arange(400) + 0.5) / 100})
    found = scumble.sql("select var_pop(a) as a, stddev_pop(b) as b, corr(a, a) as c from t", t=exactly(frame, schema))
    assert found.a[0] == pytest.approx(frame.a.var(ddof=0)) and found.c[0] == pytest.approx(1.0)
    assert found.b[0] == pytest.approx(frame.b.std(ddof=0), rel=1e-4)


def test_a_density_that_falls_leaves_values_nearer_to_the_mean() -> None:
    """Of a normal law in cells of 0.8 deviations: even spread within cells would give 1.05."""
    normal = pd.DataFrame({"x": [NormalDist().inv_cdf((k + 0.5) / 500) for k in range(500)]})
    release = exactly(normal, scumble.Schema(x=scumble.Number(-4, 4, cells=10, zeros=False)))
    assert scumble.sql("select stddev(x) as s from t", t=release).s[0] == pytest.approx(1.0, abs=0.015)


def test_a_correlation_allows_for_what_pairs_count_as_one() -> None:
    """Two log-normal numbers, most of whose variance lies in the last groups of cells; and one that is unrelated."""
    generator = np.random.default_rng(0)
    z = generator.standard_normal((3, 2_000))
    z[1] = 0.9 * z[0] + 0.436 * z[1]
    frame = pd.DataFrame(dict(zip("abc", np.minimum(np.exp(0.8 * z), 29.9), strict=True)))
    release = exactly(frame, scumble.Schema({name: scumble.Number(0, 30, cells=60, zeros=False) for name in frame}))
    asked, (draws,) = "select corr(a, b) as r, corr(a, c) as s from t", release._answers.posterior.classes
    exact = scumble.sql(asked, t=release).iloc[0]
    group = np.minimum(np.arange(60), 6)
    whole = np.stack([draws.cells([j], {})[0] for j in range(3)])
    within = whole / np.maximum(np.array([np.bincount(group, one)[group] for one in whole]), 1)
    coarse = [np.stack([np.add.reduceat(one, range(7), axis=1) for one in table]) for table in draws.tables]
    four = len(draws.totals)
    grouped = replace(
        draws, tables=tuple(coarse), within=tuple(np.tile(one, (four, 1)) for one in within), groups=(group,) * 3
    )
    release._answers.hold([grouped])
    found = scumble.sql(asked, t=release).iloc[0]
    assert found.r_low < exact.r < found.r_high and abs(found.r - exact.r) < 0.1, (found, exact)
    assert abs(found.s) < 0.05 and found.s_high - found.s_low < 0.05


def test_statistics_of_a_real_release_have_intervals() -> None:
    """Each of them around its value, and only where the statistic can lie: whatever the noise."""
    schema = scumble.Schema({name: SCHEMA[name] for name in ("sex", "age", "hours", "rich")})
    release = scumble.TableSketch(schema).update(pd.concat([table()] * 20)).release(epsilon=3.0)
    query = "select sex, stddev(hours) as s, corr(age, hours) as c, avg(if(rich, 1, 3)) as a from t group by sex"
    found = scumble.sql(query, t=release)
    assert (found.s_low >= 0).all() and (found.s_low < found.s).all() and (found.s < found.s_high).all()
    assert found.c_low.min() >= -1 and found.c_high.max() <= 1
    assert found.a_low.min() >= 1 and found.a_high.max() <= 3
