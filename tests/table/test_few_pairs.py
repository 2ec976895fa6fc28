"""A table with more columns than its budget bears pairs of: what is predicted of it, and what its card says."""

from __future__ import annotations

import datetime
import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.columns.date import Date
from scumble.privacy.budget import Budget
from scumble.show.cards import facts
from scumble.sources.rehearsal import Rehearsal
from scumble.table.evidence import Evidence, Grouped, View
from scumble.table.evidence import _column as column_of
from scumble.table.mixture import Mixture
from scumble.table.planner import Planner
from scumble.table.prior import CHOOSING
from scumble.table.sketch import COUNT_SHARE

N, COLUMNS = 700, 12
SCHEMA = scumble.Schema({f"c{k}": scumble.Boolean() for k in range(COLUMNS)})


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({name: rng.random(N) < 0.5 for name in SCHEMA})


@pytest.fixture(scope="module")
def rehearsed(rows: pa.Table) -> Rehearsal:
    found = scumble.build(rows, schema=SCHEMA, n=N, epsilon=1.0, rehearse=True)
    assert isinstance(found, Rehearsal)
    return found


@pytest.fixture(scope="module")
def release(rows: pa.Table) -> scumble.TableRelease:
    return scumble.TableSketch(SCHEMA).update(rows).release(epsilon=1.0, n=N)


def test_the_noise_that_is_predicted_is_the_noise_that_comes(
    rehearsed: Rehearsal, release: scumble.TableRelease
) -> None:
    """No view gets more than a twelfth of the budget here: it takes six pairs to spend half of it."""
    alone, pair = rehearsed.places
    noise = facts(release)["noise"]
    assert pair.error > 1.15 * math.sqrt(2) / (0.1 * 0.9)
    assert noise["pair"] == pytest.approx(pair.error, rel=0.02)  # the count has 1 %
    assert noise["level"] == pytest.approx(alone.error, rel=0.3)  # it hangs on which pairs are chosen


@pytest.mark.parametrize("target", [None, "c"])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_what_a_level_is_told_to_within_is_what_comes(epsilon: float, target: str | None) -> None:
    """Its own counter has four times that: pairs tell of it, too, and the rehearsal knows as well as the card."""
    rng = np.random.default_rng(3)
    table = pa.table(
        {"a": rng.uniform(0, 100, 8_000), "c": rng.choice(["x", "y"], 8_000), "d": rng.random(8_000) < 0.3}
    )
    schema = scumble.Schema(a=scumble.Number(0, 100), c=scumble.Category(["x", "y"]), d=scumble.Boolean())
    options = {"schema": schema, "epsilon": epsilon, "n": 8_000, "target": target}
    told = scumble.build(table, rehearse=True, **options).places[0].error
    noise = facts(scumble.build(table, **options))["noise"]
    assert noise["single"] > 2 * told
    assert 0.7 < told / noise["level"] < 1.4


def test_all_of_the_budget_is_spent(release: scumble.TableRelease) -> None:
    """Σ 1/b of all views, pairs with a ninth more for their choice, is what the count leaves of ε = 1."""
    alone, pairs = (sum(1 / s for s in part) for part in (release.scales[:COLUMNS], release.scales[COLUMNS:]))
    assert 0.9999 < float(alone + pairs / (1 - CHOOSING)) / (1 - float(COUNT_SHARE)) <= 1
    schema = scumble.Schema(fine=scumble.Number(0, 100, cells=100), **{f"c{k}": scumble.Boolean() for k in range(30)})
    planner = Planner(scumble.TableSketch(schema).spec, Budget(0.01))
    told = planner.predicted(1_000)
    assert told.plan.choice == "singles" and max(told.singles) > 1.2 * min(told.singles)  # shares that are rounded
    assert sum(math.sqrt(2) * planner.noise.scale / one for one in told.singles) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day"])
def test_cells_of_the_calendar_begin_where_the_calendar_says(unit: str) -> None:
    """Day by day, by Python's own calendar."""
    first, last = datetime.date(1968, 11, 13), datetime.date(1972, 3, 2)
    column = Date(first, last, cells=unit)  # type: ignore[arg-type]
    days = [first + datetime.timedelta(days=k) for k in range((last - first).days + 1)]
    keys = {
        "year": lambda day: day.year,
        "quarter": lambda day: (day.year, (day.month - 1) // 3),
        "month": lambda day: (day.year, day.month),
        "week": lambda day: day.isocalendar()[:2],
        "day": lambda day: day,
    }
    cells = list(dict.fromkeys(map(keys[unit], days)))
    assert column.encode(days).codes.tolist() == [cells.index(keys[unit](day)) for day in days]
    by_edges = Date(edges=[column.moment(edge) for edge in column.cuts.edges[:-1]] + [last])  # type: ignore[arg-type]
    assert by_edges.cuts == column.cuts


@pytest.mark.parametrize("joined", [False, True])
def test_a_release_knows_which_pairs_were_asked_about_and_not_measured(
    joined: bool, release: scumble.TableRelease
) -> None:
    """In Python no question warns: warnings are errors here."""
    measured = set(release.views[COLUMNS:])
    one, two = next(pair for pair in itertools.combinations(SCHEMA, 2) if (pair in measured) == joined)
    loaded = scumble.TableRelease.from_bytes(release.to_bytes())
    loaded.count(f"{one} or c0"), loaded.mean(one), loaded.count(by=two)
    assert all("c0" in pair for pair in loaded.inferred)
    for _ in range(2):
        loaded.count(f"{two} and {one}")
    assert ((one, two) in loaded.inferred) != joined and len(set(loaded.inferred)) == len(loaded.inferred)


@pytest.mark.parametrize("target", [None, "kind"])
def test_what_is_expected_of_a_pair_is_the_models_count_of_its_cells(target: str | None) -> None:
    """Pair by pair, cell by cell, by the definition of a mixture."""
    schema = scumble.Schema(
        a=scumble.Number(0, 20, cells=20), b=scumble.Category(list("xyz")), kind=scumble.Boolean(), d=scumble.Boolean()
    )
    spec = scumble.TableSketch(schema, target=target).spec
    planner = Planner(spec, Budget(1.0))
    groups = tuple(np.arange(int(axis.max()) + 1) // 2 for axis in spec.axes)
    planner.grouped = Grouped(spec, groups, ())
    generator, counts = np.random.default_rng(0), [700.0, 301.5][: spec.classes]
    evidence, models = [], []
    for count in counts:
        columns = tuple(column_of(spec, j) for j in spec.counted)
        of = tuple(groups[j][spec.axes[j]] for j in spec.counted)
        views = tuple(View((k,), np.full(c.levels, count / c.levels), 1.0) for k, c in enumerate(columns))
        evidence.append(Evidence(columns, of, views))
        tables = tuple(generator.dirichlet(np.ones(c.levels), 3) for c in columns)
        models.append(Mixture(generator.dirichlet(np.ones(3)), tables))
    rows = list(range(spec.singles, spec.singles + len(spec.pairs)))[::-1]
    found = planner._expected(rows, models, evidence)
    assert set(found) == set(rows)
    for row in rows:
        one, two = (spec.counted.index(j) for j in planner._set(row))
        slow = []
        for count, model, of in zip(counts, models, (each.groups for each in evidence), strict=True):
            cells = np.zeros((int(of[one].max()) + 1, int(of[two].max()) + 1))
            for (i, j), share in np.ndenumerate(model.table([one, two])):
                cells[of[one][i], of[two][j]] += count * share
            slow += np.rint(cells).ravel().tolist()
        assert found[row].tolist() == slow and found[row].dtype == np.int64
        assert planner._cells_of(row) is planner._cells_of(row)
        assert len(found[row]) == int(planner._cells_of(row).max()) + 1
