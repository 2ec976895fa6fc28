"""Distinct values: where a cell is counted, that a record changes one number by one, and how good the estimates are."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm
from tests.table.people import SCHEMA, people

import scumble
from scumble import ParameterError, TableSketch
from scumble.columns.distinct import BUCKETS, CHANCES, LEVELS, PARTS, Distinct
from scumble.columns.hashing import stable_hash
from scumble.table.distinct import TRIED, estimated

WITH_IDS = scumble.Schema({"id": Distinct(), **SCHEMA, "town": Distinct()})


def with_ids(n: int = 3000, ids: int = 1000) -> Any:
    rng = np.random.default_rng(1)
    frame = people(n)
    frame["id"] = [f"c{k}" for k in rng.integers(0, ids, n)]
    frame["town"] = np.where(np.arange(n) % 7 == 0, None, rng.choice(["Ulm", " Ulm", "Bonn"], n))
    return frame


def occupied(frame: Any, name: str) -> np.ndarray:
    """By the hashes of a column's values, slowly and obviously."""
    cells = {int(stable_hash(word.strip())) for word in frame[name].dropna()}
    levels = [min((53 - len(f"{cell:b}")) // 2, LEVELS - 1) for cell in cells]
    there = {(level, cell % BUCKETS) for level, cell in zip(levels, cells, strict=True)}
    return np.bincount([level for level, _ in there], minlength=LEVELS)


# ---- counting ----


@pytest.mark.parametrize("one, other", [("Ulm", " Ulm\t"), (5, "5"), (5.0, np.int8(5)), ("é", "é "), (True, "true")])
def test_equal_values_have_one_cell_in_every_container(one: object, other: object) -> None:
    first, second = (Distinct().find(np.array([cell], object)).codes[0] for cell in (one, other))
    assert first == second < len(PARTS) - 1
    gaps = Distinct().find(np.array([None, "", "NA", math.nan, " null "], object)).codes
    assert {*gaps.tolist()} == {len(PARTS) - 1}


@pytest.mark.parametrize("target", [None, "sex"])
def test_merged_parts_are_the_sketch_of_all(target: str | None, tmp_path: Path) -> None:
    frame = with_ids()
    whole = TableSketch(WITH_IDS, target).update(frame)
    parts = [TableSketch(WITH_IDS, target, threads=2).update(part) for part in (frame[:1000], frame[1000:])]
    parts[1].save(tmp_path / "part.secret")
    merged = scumble.merge([parts[0], scumble.load_secret(tmp_path / "part.secret")])
    np.testing.assert_array_equal(merged.secret.counts, whole.secret.counts)
    for name, row in whole.spec.sketched.items():
        buckets = whole.secret.row(row)
        np.testing.assert_array_equal(np.bincount(PARTS, buckets > 0)[:LEVELS], occupied(frame, name))
        assert buckets.sum() == len(frame)


# ---- releasing ----


@pytest.mark.parametrize("pairs", [None, []])
@pytest.mark.parametrize("target", [None, "sex"])
def test_a_release_has_occupied_buckets_and_no_counts(target: str | None, pairs: list[Any] | None) -> None:
    frame = with_ids()
    release = TableSketch(WITH_IDS, target, pairs=pairs).update(frame).release(epsilon=10_000)  # no noise
    tables = release._grouped.tables(release.counts)
    for name, row in release.spec.sketched.items():
        np.testing.assert_array_equal(tables[row], [*occupied(frame, name), frame[name].isna().any()])
    assert release.distinct("town").value == pytest.approx(2, abs=0.1)
    assert [*release.columns] == [*SCHEMA] and len(release.views[0]) == 1


@pytest.mark.parametrize("target", [None, "sex"])
@pytest.mark.parametrize(
    "budget", [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 3, "neighbors": "replace"}]
)
def test_all_that_is_published_is_paid_for(target: str | None, budget: dict[str, Any]) -> None:
    frame = with_ids()
    release = TableSketch(WITH_IDS, target).update(frame).release(**budget)
    spent = sum(1 / scale for scale in release.scales) * (2 if "neighbors" in budget else 1)
    assert "delta" in budget or spent <= release.privacy.epsilon
    found = release.distinct("id")
    # Laplace tails: an error of twelve of its deviations has a chance of exp(-12√2) < 5e-8, in six tables below 3e-7.
    assert abs(found.value - frame["id"].nunique()) < 12 * found.standard_error
    again = scumble.TableRelease.from_bytes(release.to_bytes())
    assert again.schema == WITH_IDS and [*again.distinct("id")] == [*found]


# ---- asking ----


def test_questions_in_python_and_sql() -> None:
    schema = scumble.Schema({name: WITH_IDS.declared[name] for name in ("id", "age", "sex", "hours", "town")})
    release = TableSketch(schema, pairs=[]).update(with_ids()).release(epsilon=100.0)
    found = scumble.sql("select count(distinct ID) as a, count(distinct sex) as b from people", people=release)
    assert found["a"][0] == release.distinct("id").value
    assert found["b"][0] == release.distinct("sex").value == pytest.approx(3, abs=0.1)
    assert release.distinct("age").value == pytest.approx(74, abs=0.5)
    assert release.distinct("sex", "sex == 'Male'").value == pytest.approx(1, abs=0.1)
    asked: list[Callable[[], object]] = [
        lambda: release.distinct("id", "age > 40"),
        lambda: release.distinct("hours"),
        lambda: release.count(by="id"),
        lambda: release.mean("town"),
        lambda: scumble.sql("select sex, count(distinct id) from people group by sex", people=release),
        lambda: scumble.sql("select id, count(*) from people group by id", people=release),
    ]
    for one in asked:
        with pytest.raises(ParameterError, match=r"istinct"):
            one()
    usual, point = (release.distinct("id", confidence=share) for share in (0.95, 1e-17))
    assert point.low == point.value == point.high == usual.value
    assert (point / release.count()).low == (usual / release.count()).low  # errors that are carried on stay


# ---- the estimate ----

LAWS = {"laplace": 16.0, "gaussian": 17.0}
"""The noise of a sixteenth of ε = 1, and of that with δ = 1e-6."""


def test_estimates_of_one_to_ten_million_values() -> None:
    """The law itself: cells drawn, and noise. It fails by chance with 1e-6, if coverage is .93."""
    rng = np.random.default_rng(3)
    chances = np.repeat(CHANCES / BUCKETS, BUCKETS)
    covered, trials = dict.fromkeys(LAWS, 0), 0
    for n in (1, 1_000, 30_000, 1_000_000, 10_000_000):
        thrown = [(rng.multinomial(n, chances).reshape(LEVELS, -1) > 0).sum(axis=1) for _ in range(30)]
        trials += len(thrown)
        for law, scale in LAWS.items():
            variance = scale**2 * (2 if law == "laplace" else 1)
            noise = getattr(rng, law if law == "laplace" else "normal")(0.0, scale, (len(thrown), LEVELS))
            each = [
                estimated(one, variance, laplace=law == "laplace", records=(1e9, 1.0), confidence=0.95)
                for one in thrown + noise
            ]
            covered[law] += sum(one.low <= n <= one.high for one in each)
            if n >= 100_000:  # the root of the mean square of 30 errors: 3 % would be more than twice what it is
                assert math.sqrt(np.mean([(one.value / n - 1) ** 2 for one in each])) < 0.03
    assert min(covered.values()) >= binom.ppf(1e-6, trials, 0.93)


@pytest.mark.parametrize("laplace", [False, True])
def test_ends_are_where_the_score_leaves_the_quantile_of_its_law(laplace: bool) -> None:
    """Against the formulas of the module, number by number; a Laplace variable has the cumulants 2b² and 12b⁴."""
    variance, z = 300.0, float(norm.ppf(0.95))
    kurtosis = 12 * (variance / 2) ** 2 if laplace else 0.0
    for n in (3, 900, 40_000):
        occupied = BUCKETS * (1 - np.exp(-n * CHANCES / BUCKETS)) + np.where(np.arange(LEVELS) % 2, 9.0, -8.0)
        within, signs = list[float](), list[float]()
        for tried in TRIED.tolist():
            empty = np.exp(-tried * CHANCES / BUCKETS)
            spread = BUCKETS * empty * (1 - empty) + variance
            weight = CHANCES * empty / spread
            of_score = np.sum(weight**2 * spread) - tried * np.sum(weight**2 * spread) ** 2
            score = np.sum(weight * (occupied - BUCKETS * (1 - empty))) / math.sqrt(of_score)
            excess = kurtosis * np.sum(weight**4) / of_score**2
            signs.append(score)
            if abs(score) <= z + excess * (z**3 - 3 * z) / 24:
                within.append(tried)
        found = estimated(occupied, variance, laplace=laplace, records=(1e6, 0.0), confidence=0.9)
        assert [*found] == [next(t for t, s in zip(TRIED, signs, strict=True) if s <= 0), within[0], within[-1]]


def test_there_are_no_more_values_than_records() -> None:
    full = np.full(LEVELS, float(BUCKETS))
    found = estimated(full, 1.0, laplace=False, records=(1e6, 10.0), confidence=0.95)
    assert found.value == found.high == 1e6 + 50
    assert [*estimated(-full, 1.0, laplace=True, records=(1e6, 10.0), confidence=0.95)] == [0, 0, 0]


def test_words_that_are_found_are_counted_too() -> None:
    """Most of 3,000 words have one record, so they are not found."""
    rng, words = np.random.default_rng(2), 3000
    frame = {"town": np.append([f" Ulm{k} " for k in range(words)], rng.choice(["ULM1", "bonn"], 20_000))}
    schema = scumble.Schema(town=scumble.Category(discover=True, ignore_case=True))
    release = TableSketch(schema).update(frame).release(epsilon=2.0, delta=1e-6)
    found = release.distinct("town")
    assert abs(found.value - words - 1) < 12 * found.standard_error  # by chance below 5e-8, as above
    assert {*release.schema["town"].levels[:-2]} == {"ulm1", "bonn"}
    assert release.count("town == 'bonn'").value > 9_000


def test_what_is_computed_of_distinct_values_has_their_error() -> None:
    ids = {"id": [*range(6000)], "order": [*range(6000)], "yes": [True] * 6000}
    release = TableSketch(scumble.Schema(id=Distinct(), order=Distinct(), yes=scumble.Boolean())).update(ids)
    people = release.release(epsilon=1.0)
    a, c = people.distinct("id"), people.count()
    least = (a.high - a.low) / 6000 * 0.8
    for stored in (people, scumble.TableRelease.from_bytes(people.to_bytes(draws=True))):
        texts = [
            "count(distinct id) / count(*)",
            "count(*) / count(distinct id)",
            "count(distinct id) - count(distinct id)",
        ]
        texts.append("(count(distinct id) + count(distinct id)) / (count(*) + count(distinct id))")
        asked = ", ".join(
            f"{text} as x{k}" for k, text in enumerate([*texts, "count(distinct id)/count(distinct order)"])
        )
        found = scumble.sql(f"select {asked} from people", people=stored).iloc[0]
        for name in ("x0", "x1", "x4"):
            assert found[f"{name}_high"] - found[f"{name}_low"] > least
        assert found["x2"] == found["x2_low"] == found["x2_high"] == 0
        assert np.isfinite(found.to_numpy(float)).all()
    ratio, twice = a / c, a + a
    assert ratio.high - ratio.low > least and twice.high - twice.low > 1.6 * (a.high - a.low)
