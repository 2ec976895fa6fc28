"""Sums are no surer than the number of their records, shares no surer than the number of all; means are possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.columns.category import Boolean, Category
from scumble.columns.date import Date
from scumble.columns.number import Number
from scumble.columns.schema import Schema

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
        assert found.high - found.low >= 0.98 * each * (count.high - count.low)
        held += found.low <= table["year"][table["state"] == state].sum() <= found.high
    assert held >= 20  # of 40, each with 95 %: fewer once in 10¹⁵ times, and once in 10⁸ with 90 %; it was a third
    by = release.sum("year", by="state")
    assert by["high"].iloc[0] == release.sum("year", "state == 'state 0'").high


def test_a_share_allows_for_the_noise_of_all_records(spending: tuple[dict[str, np.ndarray], Any]) -> None:
    """Both errors are those of the same draws: the share is surer than the number, and that of all is sure."""
    _, release = spending
    total, large, small = release.count(), release.count("spent > 0"), release.share("spent > 0")
    assert small.value == pytest.approx(large.value / total.value, rel=1e-3)
    assert [*small] == pytest.approx([*(large / total)], rel=1e-3)
    every = release.share("spent >= 0")
    assert 0.0 <= every.low <= every.value <= every.high <= 1.0


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


@pytest.mark.parametrize(
    ("low", "high", "where", "ends"),
    [
        (1910, 2000, "town == 'Ulm'", (0.0, np.inf)),
        (-2000, -1910, "town == 'Ulm'", (-np.inf, 0.0)),
        (-2000, 2000, "x >= 5", (0.0, np.inf)),
        (-2000, 2000, "town == 'Ulm'", (-np.inf, np.inf)),
    ],
)
def test_the_ends_of_a_sum_are_possible(
    low: int, high: int, where: str, ends: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draws scatter beyond what values of one sign can sum up to."""
    schema = Schema(x=Number(low, high, whole=True, cells=10), town=Category(["Ulm"], other=False, missing=False))
    table = {"x": np.linspace(low, high, 500).astype(int), "town": ["Ulm"] * 500}
    release = scumble.TableSketch(schema).update(table).release(epsilon=9.0)
    value, variance = 55_000.0 if high > 0 else -55_000.0, 1e10 if low * high < 0 else 1e9
    sums = value + np.sqrt(variance) * np.resize([-1.0, 1.0], 32)
    monkeypatch.setattr(scumble.TableRelease, "_summed", lambda *_: ((np.full(32, 39.0), sums),) * 2)
    found = release.sum("x", where)
    assert ends[0] <= found.low <= found.value <= found.high <= ends[1]
    assert (found.low == 0.0) == (ends[0] == 0.0) and (found.high == 0.0) == (ends[1] == 0.0)
    assert found.high - found.low > 5e4


def test_of_groups_that_are_told_as_none_nothing_else_is_known() -> None:
    """Means, medians and shares, in Python and in SQL; of those without a value, too."""
    words = [f"nobody's {k}" for k in range(40)]
    schema = Schema(
        town=Category(["Ulm", "Bonn", *words], other=False, missing=False),
        x=Number(0, 100, missing=True),
        seen=Date("2024-01-01", "2024-12-31", cells="month"),
        smoker=Boolean(),
    )
    n = 3000
    town = np.array(["Ulm", "Bonn"])[np.arange(n) % 2]
    table = {
        "town": town,
        "x": np.where(town == "Ulm", np.arange(n) % 100, np.nan),
        "seen": np.datetime64("2024-01-01") + np.arange(n) % 366,
        "smoker": np.arange(n) % 3 == 0,
    }
    release = scumble.TableSketch(schema).update(table).release(epsilon=3.0)
    none = (release.count(by="town")["value"] < 0.5).to_numpy()
    assert none.sum() >= 1 and not none[:2].any()  # none of 40 words below one half: once in 10⁹ times or less
    valued = release.count("x is not missing", by="town")["value"].to_numpy() >= 0.5
    known = {"x": ~none & valued, "seen": ~none, "smoker": ~none}
    for name in ("x", "smoker"):
        assert (known[name] | release.mean(name, by="town")["value"].isna()).all()
    for name in ("x", "seen"):
        assert (known[name] == release.quantile(name, 0.5, by="town")["value"].notna()).all()
    asked = "avg(x) as m, median(x) as q, median(seen) as d, avg(case when smoker then 1 else 0 end) as s"
    told = scumble.sql(f"select town, {asked} from t group by town", t=release).set_index("town")
    told = told.loc[list(schema["town"].levels)]
    for name, of in (("m", "x"), ("q", "x"), ("d", "seen"), ("s", "smoker")):
        assert told[name].isna()[~known[of]].all() and told[name].notna()[:1].all()


def test_a_part_is_told_as_no_more_than_its_whole() -> None:
    """Words with few records each, among others: the noise of a cell is larger than that of what it is a part of."""
    rng = np.random.default_rng(7)
    words, n = [f"word {k}" for k in range(60)], 2_000
    table = {"word": np.array(words)[(60 * rng.random(n) ** 3).astype(int)], "half": rng.random(n) < 0.5}
    schema = Schema(word=Category(words), half=Boolean())
    release = scumble.build(pa.table(table), schema=schema, epsilon=0.3)
    parts, wholes = release.count(by=["word", "half"]), release.count(by="word").set_index("word")["value"]
    assert (parts["value"] <= parts["word"].map(wholes) + 1e-9).all()
    assert (parts["low"] <= parts["value"]).all() and (parts["value"] <= parts["high"]).all()


def test_no_part_is_told_as_more_than_all_records() -> None:
    """Columns that all records have one level of: with the noise of each, some of them come out above the others."""
    names = [f"answer {k}" for k in range(8)]
    table = pa.table(dict.fromkeys(names, [True] * 500))
    release = scumble.build(table, schema=Schema(dict.fromkeys(names, Boolean())), epsilon=0.5)
    found = [release.count(f"`{name}`") for name in names]
    assert max(one.value for one in found) <= release.count().value + 1e-9
    assert all(one.low <= one.value <= one.high for one in found)
