"""The release of a table: answers against the truth, intervals, synthetic rows."""

from __future__ import annotations

import datetime
import json
import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.table.people import SCHEMA, by_pandas, people

import scumble
from scumble import Category, Estimate, Number, Schema, TableRelease, TableSketch
from scumble.cli import main
from scumble.table.questions import LEVELS, parts
from scumble.table.spec import TableSpec

FRAME = people(4000)
COLUMNS = scumble.Schema({name: SCHEMA[name] for name in ("age", "sex", "hours", "smoker")})
CONDITIONS = {
    "age >= 65": FRAME.age >= 65,
    "sex == 'Female'": FRAME.sex == "Female",
    "sex == '(other)'": FRAME.sex == "other",
    "hours is missing": FRAME.hours.isna(),
    "smoker and sex == 'Male'": FRAME.smoker & (FRAME.sex == "Male"),
    "age < 30 or not smoker": (FRAME.age < 30) | ~FRAME.smoker,
    "hours < 35 and sex == 'Female'": (FRAME.hours < 35) & (FRAME.sex == "Female"),
}
"""What pairs of columns tell wholly."""


@pytest.fixture(scope="module", params=[(None, 20.0), ("smoker", 6.0)], ids=["table", "classes"])
def exact(request: pytest.FixtureRequest) -> TableRelease:
    """Little noise: scales are below 12, and a counter is off by 600 with a chance below e^-50."""
    target, epsilon = request.param
    sketch = TableSketch(COLUMNS, target=target).update(FRAME)
    spec, wanted = sketch.spec, by_pandas(sketch.spec, FRAME)
    release = sketch.release(epsilon=epsilon, n=len(FRAME), count_share=0.1)
    rows = [np.split(found, np.cumsum(spec.lengths)[:-1]) for found in (release.counts, wanted)]
    crosstabs = [row for row in release._grouped.crosstabs if row < spec.singles]  # positions in cells have more noise
    assert max(np.abs(rows[0][row] - rows[1][row]).max() for row in crosstabs) < 600
    assert max(release.variances[row] for row in release._grouped.crosstabs) < 20**2
    return release


@pytest.fixture(scope="module")
def noisy() -> TableRelease:
    return TableSketch(COLUMNS).update(FRAME).release(epsilon=1.0)


SEX = FRAME.groupby("sex")
ANSWERS: dict[str, tuple[Callable[[TableRelease], Any], Any, float]] = {
    **{where: (lambda r, w=where: r.count(w), CONDITIONS[where].sum(), 80) for where in CONDITIONS},
    "all": (lambda r: r.count(), len(FRAME), 20),
    "mean": (lambda r: r.mean("age"), FRAME.age.mean(), 0.5),
    "share of the old": (lambda r: r.mean("smoker", where="age > 60"), FRAME.smoker[FRAME.age > 60].mean(), 0.03),
    "means": (lambda r: r.mean("hours", by="sex").value[:2], SEX.hours.mean()[["Female", "Male"]], 1.0),
    "sum": (lambda r: r.sum("age", "sex == 'Male'"), FRAME.age[FRAME.sex == "Male"].sum(), 2_000),
    "median": (lambda r: r.quantile("age"), FRAME.age.median(), 1),
    "deciles": (
        lambda r: r.quantile("age", [0.1, 0.9], by="smoker").value,
        [FRAME.age[FRAME.smoker == smoker].quantile(q) for q in (0.1, 0.9) for smoker in (False, True)],
        2,
    ),
    "histogram": (
        lambda r: r.histogram("age", bins=[17, 30, 60, 90]).value,
        pd.cut(FRAME.age, [17, 30, 60, 91], right=False).value_counts(sort=False),
        40,
    ),
    "bins": (lambda r: r.histogram("age", bins=7).value.sum(), len(FRAME), 40),
    "cells": (lambda r: r.count(by=["sex", "smoker"]).value.sum(), len(FRAME), 20),
    "long": (lambda r: r.crosstab("age", "hours", bins=3, long=True).value.sum(), len(FRAME), 20),
    "described": (lambda r: r.describe().loc["age", ["mean", "50%"]], [FRAME.age.mean(), FRAME.age.median()], 2),
    "rows": (lambda r: r.sample(2000, 7).age.mean(), FRAME.age.mean(), 6 * 21 / 2000**0.5 + 0.5),
}
"""What is asked, the truth, and how far from it an answer with little noise may be."""


@pytest.mark.parametrize("name", ANSWERS)
def test_with_little_noise_answers_are_the_truth(exact: TableRelease, name: str) -> None:
    asked, truth, off = ANSWERS[name]
    found = asked(exact)
    if isinstance(found, Estimate):
        assert found.low <= found.value <= found.high
        found = found.value
    np.testing.assert_allclose(np.asarray(found, float), truth, atol=off)


def test_of_nobody_no_mean_is_known_and_all_records_are_surely_all_of_them(exact: TableRelease) -> None:
    found = exact.mean("age", where="age < 18 and age > 80")
    assert math.isnan(found.value) and (found.low, found.high) == (17, 90)
    assert [*exact.share(None).to_dict().values()] == pytest.approx([1.0, 1.0, 1.0, 0.0], abs=1e-12)
    assert exact.share("sex == 'Male' and sex == 'Female'").value == 0.0
    assert [*exact.describe().index] == [*exact.schema] and exact.describe().loc["sex", "top"] == FRAME.sex.mode()[0]


def test_synthetic_rows_meet_the_condition(exact: TableRelease) -> None:
    pd.testing.assert_frame_equal(exact.sample(200, 7), exact.sample(200, 7))
    some = exact.sample(300, 1, where="age >= 65 and sex == 'Female'")
    assert (some.age >= 65).all() and (some.sex == "Female").all() and len(some) == 300
    cut = exact.sample(500, 2, where="hours < 38 or age > 80 and hours between 41.5 and 43")
    late = (cut.age > 80) & cut.hours.between(41.5, 43)
    assert ((cut.hours < 38) | late).all() and late.any() and (cut.hours > 35).any()
    with pytest.raises(scumble.ParameterError, match="nobody"):
        exact.sample(1, where="age < 18 and age > 80")


@pytest.mark.parametrize("where", CONDITIONS)
def test_with_noise_intervals_are_honest(noisy: TableRelease, where: str) -> None:
    found, truth = noisy.count(where), int(CONDITIONS[where].sum())
    assert abs(found.value - truth) < 6 * max(found.standard_error, 1.0)  # beyond any 95 % interval
    assert 0 < found.standard_error < 0.1 * len(FRAME)
    wide, narrow = noisy.count(where, confidence=0.99), noisy.count(where, confidence=0.5)
    assert wide.low <= found.low <= narrow.low <= narrow.high <= found.high <= wide.high


def test_nothing_is_sure_beyond_the_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = scumble.Schema(x=scumble.Number(0, 9, whole=True), y=scumble.Number(0, 9, outside="drop"))
    release = TableSketch(schema).update({"x": [30] * 500, "y": [1.0] * 500}).release(epsilon=1.0)
    with pytest.warns(UserWarning, match="nearest bound"):
        found = release.count("x > 20")
    assert found.value == found.low == 0 and found.high > 400
    query = "select y >= 5 as z, count(*) as n from t where x > 20 group by z"
    with pytest.warns(UserWarning, match="nearest bound"):
        assert scumble.sql(query, t=release).n_high.max() > 400
    release.save(tmp_path / "t.scumble", draws=True)
    assert main(["count", str(tmp_path / "t.scumble"), "--where", "x > 20", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["remarks"]
    assert len(told) == 1
    assert main(["sql", str(tmp_path / "t.scumble"), query, "--json"]) == 0
    assert all(told[0] in row["remarks"] for row in json.loads(capsys.readouterr().out))
    with pytest.raises(scumble.ParameterError, match="left out"):
        release.count("y > 20")
    with pytest.raises(scumble.ParameterError, match="left out"):
        scumble.sql("select count(*) from t where y > 20 group by x", t=release)


def test_intervals_allow_for_where_in_their_cells_values_lie() -> None:
    """Lumps near the lower ends of wide cells: evenness is off by 4 in 10, far beyond the noise."""
    lumpy = np.repeat([41.0, 71.0], [3000, 2000])
    release, fine = (
        TableSketch.from_spec(TableSpec.of({"lumpy": column}, positions=False))
        .update({"lumpy": lumpy})
        .release(epsilon=2.0, n=5000)
        for column in (scumble.Number(0, 100, cells=10), scumble.Number(0, 99, whole=True))
    )
    mean, total, median = release.mean("lumpy"), release.sum("lumpy"), release.quantile("lumpy")
    assert mean.value == pytest.approx(57.0, abs=0.5) and mean.low <= lumpy.mean() <= mean.high < 65
    assert total.low <= lumpy.sum() <= total.high and total.value == pytest.approx(57 * 5000, rel=0.02)
    assert (median.low, median.high) == (40.0, pytest.approx(50.0)) and median.low <= 41 <= median.high
    high = release.mean("lumpy", where="lumpy > 60")
    assert high.low <= 71 <= high.high < 83
    # A cell for each number leaves nothing to allow for.
    exact = fine.mean("lumpy")
    assert exact.high - exact.low < (mean.high - mean.low) / 4
    assert fine.quantile("lumpy").low == fine.quantile("lumpy").high == 41


@pytest.mark.parametrize(
    ("where", "least", "most"),
    [
        ("real >= 12 and real < 18", 12, 18),
        ("whole >= 212 and whole < 219", 212, 218),
        ("whole == 213 or whole between 215 and 218 and flag", 213, 218),
        ("log > 2 and log < 4", 2, 4),
        ("real > 95", 95, 100),
    ],
)
def test_values_of_a_part_of_a_cell_lie_in_it(where: str, least: float, most: float) -> None:
    """Of a cell, a condition keeps a part: its mean and median are in its middle, and may be anywhere in it."""
    rng, size = np.random.default_rng(2), 5_000
    table = {"real": rng.uniform(0, 100, size), "whole": rng.integers(0, 1000, size), "flag": rng.random(size) < 0.5}
    table["log"] = np.exp(rng.uniform(0, math.log(1000), size))
    schema = Schema(
        real=Number(0, 100, cells=10),
        whole=Number(0, 999, whole=True, cells=10),
        log=Number(1, 1000, scale="log", cells=3),
        flag=scumble.Boolean(),
    )
    release, column = scumble.TableSketch(schema).update(table).release(epsilon=1.0), where.split()[0]
    mean, median = release.mean(column, where), release.quantile(column, 0.5, where)
    for found in (mean, median):
        assert [*found][1:] == pytest.approx([least, most], abs=0.1 * (most - least))
        assert least <= found.low <= found.high <= most
    assert mean.value == pytest.approx((least + most) / 2, rel=0.15)
    assert median.value == pytest.approx((least + most) / 2, rel=0.1)
    total, count = release.sum(column, where), release.count(where)
    assert total.value == pytest.approx(count.value * mean.value, rel=1e-6)
    found = scumble.sql(f"select avg({column} * 2) as twice, stddev({column}) as sd from t where {where}", t=release)
    assert found[["twice_low", "twice_high"]].iloc[0].tolist() == pytest.approx([2 * mean.low, 2 * mean.high])
    assert found["sd"].iloc[0] <= (most - least) / 2


@pytest.fixture(scope="module")
def tied() -> TableRelease:
    """Weights that are all 51, in a cell from 50 to 75; half of the records have a point.

    The eight cells of the pair have Laplace noise of scale 0.53, so all of it together exceeds 30 with a probability of
    (1/(1 − 0.81))⁸ · e^(−0.9 · 30/0.53) < 1e-15 on either side, by Chernoff.
    """
    schema = scumble.Schema(
        weight=scumble.Number(0, 100, cells=4, zeros=False),
        points=scumble.Number(0, 1, whole=True, missing=False),
    )
    points = np.tile([0, 1], 2000)
    return scumble.TableSketch(schema).update({"weight": np.full(4000, 51.0), "points": points}).release(epsilon=2.0)


@pytest.mark.parametrize(("where", "truth"), [("weight <= 51", 4000), ("weight > 51", 0), ("weight > 51.5", 0)])
def test_counts_allow_for_where_in_a_cut_cell_values_lie(tied: TableRelease, where: str, truth: int) -> None:
    """Values evenly in the cell would make it 160, 3,840 or 3,760, whose noise is a few records."""
    for found, scale in ((tied.count(where), 1), (tied.share(where), 4000)):
        assert found.low * scale <= truth + 400 and found.high * scale >= truth - 400
    assert tied.count(where).standard_error > 500
    total = tied.sum("points", where)
    assert total.low - 200 <= truth / 2 <= total.high + 200
    assert tied.histogram("weight", [0, 51.5, 100])["high"].min() > 3500


def test_parts_of_an_or_are_not_counted_twice_and_a_sure_part_makes_it_sure(tied: TableRelease) -> None:
    """The cell that is cut is in both parts of an `or`; all weights are in it, and half of the records have a point."""
    for where, least, middle in (("weight <= 51", 0, None), ("weight < 51", 2000, 2080)):
        found, points = (ask(f"{where} or points == 1") for ask in (tied.count, lambda w: tied.sum("points", w)))
        assert least - 30 < min(found.draws) <= max(found.draws) < 4000 + 30 and found.high > 3500
        assert least - 30 < min(points.draws) <= max(points.draws) < 2000 + 30 and points.high >= 1970
        assert middle is None or found.value == pytest.approx(middle, abs=30)
    for where in ("weight >= 50", "points == 1"):
        assert tied.count(where).standard_error < 50, "no cell is cut"


def test_bins_at_the_cells_edges_cut_no_cell_and_beyond_the_bounds_nothing_is_sure() -> None:
    x = np.concatenate([np.arange(8000) % 100, np.full(3000, 150.0)])
    release = scumble.TableSketch(scumble.Schema(x=scumble.Number(0, 100, cells=10))).update({"x": x}).release(5.0)
    found = release.histogram("x", bins=[0, 10, 20, 30])
    assert found.x.tolist() == ["[0, 10)", "[10, 20)", "[20, 30)"], "the last is closed at the bound alone"
    assert (found.high - found.low).max() < 20 and found.value.tolist() == pytest.approx([800] * 3, abs=20)
    with pytest.warns(UserWarning, match="beyond the bounds of 'x'"):
        beyond = release.histogram("x", bins=[120, 150, 200])
    assert (beyond.low == 0).all() and (beyond.high > 3000).all()
    with pytest.warns(UserWarning, match="beyond"):
        assert release.count("x > 105 and x < 20").value == 0
    with pytest.raises(scumble.ParameterError, match="bins"):
        TableSketch(SCHEMA).release(1.0).histogram("sex", bins=np.int64(2))


def test_groups_are_those_that_the_condition_allows(exact: TableRelease) -> None:
    assert exact.count("sex == 'Male'", by="sex").sex.tolist() == ["Male"]
    assert exact.count("sex != 'Male'", by=["sex", "smoker"]).sex.unique().tolist() == ["Female", "(other)"]
    assert "(missing)" not in exact.mean("age", "sex in ['Male', 'Female']", by="sex").sex.tolist()
    either = exact.count("sex == 'Male' or smoker", by=["sex", "smoker"])
    assert ("Female", "false") not in {*zip(either.sex, either.smoker, strict=True)}
    assert len(exact.count("smoker", by="sex")) == 4, "a condition on another column leaves all levels"
    assert len(exact.count("sex == 'Male' and sex == 'Female'", by="sex")) == 4, "that nobody meets leaves all, too"
    assert len(exact.crosstab("sex", "smoker", "sex == 'Male'")) == 4, "a table has all of its lines"


@pytest.mark.parametrize("normalize", [False, "all", "index", "columns"])
def test_crosstabs_have_pandas_shape(exact: TableRelease, normalize: str | bool) -> None:
    found = exact.crosstab("sex", "smoker", margins=True, normalize=normalize)
    sex = FRAME.sex.replace({"other": "(other)"})
    truth = pd.crosstab(sex, FRAME.smoker, margins=True, normalize=normalize)
    here = found["value"].reindex(index=truth.index, columns=truth.columns)
    np.testing.assert_allclose(here, truth, atol=0.01 if normalize else 60)
    assert (found["low"] <= found["high"]).to_numpy().all() and found.columns.names == [None, "smoker"]
    assert ("All" in found.index, "All" in found["value"]) == (normalize != "columns", normalize != "index")


def test_dates_are_asked_in_their_own_terms() -> None:
    schema = scumble.Schema(seen=SCHEMA["seen"], smoker=SCHEMA["smoker"])
    release = TableSketch(schema).update(FRAME).release(epsilon=20.0, n=len(FRAME))
    median = release.quantile("seen")
    truth = sorted(FRAME.seen)[len(FRAME) // 2]
    assert isinstance(median.value, datetime.date) and abs((median.value - truth).days) <= 3
    nobody = "smoker and not smoker"
    assert np.isnat(release.quantile("seen", 0.5, nobody).value)
    assert release.quantile("seen", [0.1, 0.9], nobody).value.isna().all()
    assert release.quantile("seen", []).empty and len(release.quantile("seen", [0.1, 0.9], by=iter(["smoker"]))) == 4
    query = "select smoker, median(seen) filter (where smoker) as m from t group by smoker order by m"
    medians = scumble.sql(query, t=release)
    assert medians.smoker.tolist() == [True, False] and pd.isna(medians.m.iloc[1]), "NULL is the last"
    found = release.count("seen >= '2024-07-01'")
    assert found.value == pytest.approx((FRAME.seen >= datetime.date(2024, 7, 1)).sum(), abs=40)
    assert str(release.sample(5, 0).seen.dtype) == "datetime64[s]"


REFUSED: dict[str, list[Any]] = {
    "count": ["height > 3", 7, {"age": (20, 10)}, "age between 20 and 10"],
    "mean": ["sex", "nothing"],
    "quantile": ["sex", ("age", 1.5), ("age", [0.1, "x"]), ("age", None)],
    "histogram": [("sex", [1, 2]), ("sex", 3), *(("age", bins) for bins in ([2, 1], 0, "auto", ["a", "b"]))],
    "crosstab": [("sex", "sex"), "total"],
    "plot": ["nothing", ["age", "nothing"]],
    "sample": [-1, (1, -1)],
    "top": [("age", 0), "wrod"],
}


@pytest.mark.parametrize("method", REFUSED)
def test_what_cannot_be_answered_is_refused(noisy: TableRelease, method: str) -> None:
    for arguments in REFUSED[method]:
        with pytest.raises(scumble.ParameterError):
            getattr(noisy, method)(*(arguments if isinstance(arguments, tuple) else (arguments,)))
    with pytest.raises(scumble.ParameterError):
        noisy.top("sex", by="sex")
    for options in ({"confidence": 1.0}, *({"by": by} for by in ([], 3, [3], ["age", "hours", "sex", "smoker"]))):
        with pytest.raises(scumble.ParameterError):
            noisy.count(**options)


def test_the_edges_of_bins_may_be_dates() -> None:
    """Each bin has what a condition between its edges has, and the last one the whole of its last day."""
    days = np.datetime64("2020-01-01") + np.arange(366).repeat(5)
    sketch = TableSketch(scumble.Schema(seen=scumble.Date("2020-01-01", "2020-12-31", cells="month"))).update(
        {"seen": days}
    )
    release = sketch.release(epsilon=50.0)
    found = release.histogram("seen", bins=["2020-02", "2020-04-01", datetime.date(2020, 12, 31)])
    assert found.seen.tolist() == ["2020-02-01 to 2020-03-31", "2020-04-01 to 2020-12-31"]
    asked = ["seen >= '2020-02' and seen < '2020-04'", "seen >= '2020-04'"]
    assert found.value.tolist() == pytest.approx([release.count(where).value for where in asked])
    for wrong in (["2020-01-01", "soon"], "year"):
        with pytest.raises(scumble.ParameterError):
            release.histogram("seen", bins=wrong)


@pytest.mark.parametrize("budget", [{"delta": 1e-6}, {"neighbors": "replace"}, {"records_per_person": 3}])
@pytest.mark.parametrize("target", [None, "sex"])
def test_every_kind_of_promise(budget: dict, target: str | None) -> None:
    release = TableSketch(COLUMNS, target=target).update(FRAME).release(epsilon=2.0, **budget)
    claim = release.privacy
    assert claim.epsilon <= 2.0 and claim.records_per_person == budget.get("records_per_person", 1)
    assert (release.noisy_count == len(FRAME)) == (budget.get("neighbors") == "replace") or release.count_variance > 0
    total = release.count()
    assert abs(total.value - len(FRAME)) < 8 * total.standard_error + 1
    assert release.views[0] == (("sex",) if target else ("age",))


def test_with_epsilon_alone_few_pairs_are_chosen_and_paid_for() -> None:
    """Eight dice, of which two fall alike: the chosen pairs have them among them, but for a chance below 1e-9.

    Their distance from what single columns say is about 3,800 and that of others below 700; noise on each has a scale
    of about 50.
    """
    faces = [str(k) for k in range(18)]
    dice = np.random.default_rng(0).choice(faces, (2000, 8))
    dice[:, 5] = dice[:, 2]
    schema = scumble.Schema({f"c{j}": scumble.Category(faces, other=False, missing=False) for j in range(8)})
    sketch = TableSketch(schema).update({f"c{j}": dice[:, j] for j in range(8)})
    release = sketch.release(epsilon=5.0)
    chosen = release.views[8:]
    assert 4 <= len(chosen) == len(set(chosen)) <= 16 and ("c2", "c5") in chosen
    spent = sum(1 / scale for scale in release.scales)
    assert 0.9 * 5 * 0.99 < spent < 0.97 * 5 * 0.99  # choosing them has its price, too
    assert TableRelease.from_bytes(release.to_bytes()).scales == release.scales


# ---- records beyond the bounds count at them; and what a card says of columns ----


def released(pay: np.ndarray, column: scumble.Number, epsilon: float = 2.0) -> scumble.TableRelease:
    table = pa.table({"pay": pay, "sex": np.arange(len(pay)) % 2 == 0})
    return scumble.TableSketch(scumble.Schema(pay=column, sex=scumble.Boolean())).update(table).release(epsilon)


@pytest.fixture(scope="module")
def paid() -> dict[str, scumble.TableRelease]:
    """873 records above the bounds, 1,200 below them, and 20,000 in between."""
    pay = np.concatenate([np.linspace(20, 90, 20_000), np.full(873, 130.0), np.full(1_200, 3.0)])
    return {outside: released(pay, scumble.Number(10, 100, outside=outside), 50.0) for outside in ("clip", "drop")}


@pytest.mark.parametrize(
    ("where", "truth"),
    [
        *(("pay >= 100", 873), ("pay == 100", 873), ("pay > 99.9", 873), ("pay <= 10", 1_200), ("pay == 10", 1_200)),
        *(("pay < 100 and pay > 10", 20_000), ("pay >= 100 and sex == True", 436)),
    ],
)
def test_what_heaps_at_a_bound_belongs_to_a_question_about_the_bound(
    paid: dict[str, scumble.TableRelease], where: str, truth: int
) -> None:
    """A bound is one value of its cell, and what lay beyond it counts there."""
    found, contrary = paid["clip"].count(where), paid["clip"].count(f"not ({where})")
    assert found.value == pytest.approx(truth, abs=30) and found.low <= truth <= found.high
    assert found.value + contrary.value == pytest.approx(22_073, abs=60)


# ---- by which levels tables are asked ----


@pytest.mark.parametrize("cells", [2, 50, 90, 101, 450])
@pytest.mark.parametrize(("bins", "most"), [(None, LEVELS), (None, 20), *((bins, LEVELS) for bins in (1, 3, 9, 24))])
def test_parts_are_runs_of_cells_as_equal_as_can_be(cells: int, bins: int | None, most: int) -> None:
    found = parts(Number(1.0, 2.0, cells=cells, missing=True), "x", bins, most)
    weights = np.array([part.weights for part in found])
    np.testing.assert_array_equal(weights.sum(axis=0), 1.0)
    assert [*np.argmax(weights, axis=1)] == sorted(np.argmax(weights, axis=1)) and found[-1].name == "(missing)"
    *others, last = weights[:-1].sum(axis=1)
    if bins is not None:
        assert len(found) - 1 == min(bins, cells) and np.ptp([*others, last]) <= 1
    else:
        assert len(found) - 1 <= most and len({*others}) <= 1 and last <= (others or [last])[0]


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


# ---- the most frequent words of a column, with their ranks; and columns of thousands of words or days ----


WORDS = [f"w{k}" for k in range(1100)]


LAW = 1.0 / np.arange(1, len(WORDS) + 1)
CELLS = np.random.default_rng(4).choice([*WORDS, "unknown"], 60_000, p=[*0.9 * LAW / LAW.sum(), 0.1])


@pytest.fixture(scope="module")
def release() -> scumble.TableRelease:
    schema = scumble.Schema(word=scumble.Category(WORDS), big=scumble.Boolean())
    sketch = scumble.TableSketch(schema).update({"word": CELLS, "big": np.arange(60_000) % 3 == 0})
    return sketch.release(epsilon=1.0, delta=1e-6)


def test_the_most_frequent_words_and_their_ranks(release: scumble.TableRelease) -> None:
    found = release.top("word", 30)
    assert found["word"].tolist()[:8] == WORDS[:8]
    assert not {"(other)", "(missing)"} & {*found["word"]}
    assert (found["value"].diff().dropna() <= 0).all()
    counts = pd.Series(CELLS).value_counts().drop("unknown")
    ahead, level = (found["word"].map(counts.rank(method=how, ascending=False)) for how in ("min", "max"))
    held = (found["rank_low"] <= level) & (ahead <= found["rank_high"])
    assert held.mean() > 0.9 and (found["rank_high"] - found["rank_low"])[:8].max() == 0
    assert (found["rank_low"] <= np.arange(1, 31)).all() and (np.arange(1, 31) <= found["rank_high"]).all()


def test_counts_of_thousands_of_words_are_those_of_each(release: scumble.TableRelease) -> None:
    by, histogram, top = release.count("big", by="word"), release.histogram("word", where="big"), release.top("word", 2)
    assert len(by) == len(histogram) == len(WORDS) + 2
    for answers in (by, histogram):
        one = answers.set_index("word").loc["w1"]
        alone = release.count("big and word == 'w1'")
        assert [one["value"], one["low"], one["high"]] == pytest.approx([alone.value, alone.low, alone.high])
    assert top["value"][0] == pytest.approx(release.count("word == 'w0'").value)
    sql = scumble.sql("select word, count(*) as n from t group by word order by n desc limit 3", t=release)
    assert {"w0", "w1"} <= {*sql["word"]}


# ---- many cells ----


ROOM = 200 * 2**20
"""Bytes. A table of as many rows as columns, of 7,306 each, has 4 · 10⁸."""


@pytest.fixture(scope="module")
def days() -> scumble.TableRelease:
    when = np.datetime64("2000-01-01") + np.arange(600) * 6
    schema = scumble.Schema(day=scumble.Date("2000-01-01", "2019-12-31", cells="day", missing=True))
    return scumble.TableSketch(schema).update(pd.DataFrame({"day": when})).release(epsilon=50.0)


def test_no_answer_makes_a_table_of_cells_by_cells(days: scumble.TableRelease) -> None:
    """A column of a cell for each day of twenty years: what is asked of it takes room in proportion to its cells."""
    asks: list[Callable[[scumble.TableRelease], Any]] = [
        *(lambda found: found.quantile("day", 0.25), lambda found: found.histogram("day", bins=10)),
        *(lambda found: found.count("day <= '2000-01-01'"), lambda found: found.count("day is missing")),
    ]
    found = scumble.TableRelease.from_bytes(days.to_bytes())  # nothing was asked of it yet
    tracemalloc.start()
    try:
        for ask in asks:
            ask(found)
        assert tracemalloc.get_traced_memory()[1] < ROOM
    finally:
        tracemalloc.stop()


# ---- sums are no surer than the number of their records, shares no surer than the number of all ----


STATES = [f"state {k}" for k in range(40)]


@pytest.fixture(scope="module")
def spending() -> tuple[dict[str, np.ndarray], Any]:
    """Forty states in twenty years, each equally often: the values of a year are far from zero."""
    rng = np.random.default_rng(5)
    n = 16_000
    table = {"state": np.array(STATES)[np.arange(n) % 40], "year": 1997 + (np.arange(n) // 40) % 20}
    table["spent"] = np.where(rng.random(n) < 0.2, 0.0, rng.gamma(2.0, 0.5, n))
    schema = Schema(
        state=Category(STATES, other=False, missing=False), year=Number(1997, 2016, whole=True), spent=Number(0, 12)
    )
    return table, scumble.build(pa.table(table), schema=schema, epsilon=0.3)


def test_a_sum_is_no_surer_than_the_number_of_its_records(spending: tuple[dict[str, np.ndarray], Any]) -> None:
    table, release = spending
    held = 0
    for state in STATES:
        where = f"state == '{state}'"
        count, found = release.count(where), release.sum("year", where)
        each = min(max(found.value / count.value, 1997), 2016)
        assert found.high - found.low >= 0.98 * each * (count.high - count.low - 2)  # a count's ends are whole
        held += found.low <= table["year"][table["state"] == state].sum() <= found.high
    assert held >= 20  # of 40, each with 95 %: fewer once in 10¹⁵ times, and once in 10⁸ with 90 %; it was a third
    by = release.sum("year", by="state")
    assert by["high"].iloc[0] == release.sum("year", "state == 'state 0'").high


def test_a_share_among_the_records_that_meet_a_condition(spending: tuple[dict[str, np.ndarray], Any]) -> None:
    _, release = spending
    few, many = "spent > 0", "year >= 2005"
    among = release.share(few, where=many)
    both = release.count(f"({few}) and ({many})") / release.count(many)
    assert [*among] == pytest.approx([*both], rel=1e-3)
    assert [*release.share(few, {"year": (2005, None)})] == [*among]
    assert [*release.share(where=few)] == [*release.share(few)]
    by = release.share("spent >= 0", where=many, by="state")
    assert by["value"].sum() == pytest.approx(1.0, abs=0.02)
    nobody = release.share(few, where="year >= 2005 and year < 2005")
    assert np.isnan(nobody.value) and (nobody.low, nobody.high) == (0.0, 1.0)
