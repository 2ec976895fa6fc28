"""Sums are no surer than the number of their records, shares no surer than the number of all; means are possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import scumble
from scumble.schema import Category, Number, Schema
from scumble.tabular.answers import Answers, Weighed
from scumble.tabular.questions import mean_by_median
from scumble.views.estimates import Estimate

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
    _, release = spending
    total, large, small = release.count(), release.count("spent > 0"), release.share("spent > 0")
    value = float(total)
    assert small.value == pytest.approx(large.value / value)
    assert (small.value - small.low) ** 2 == pytest.approx(
        ((large.value - large.low) / value) ** 2 + (small.value * (total.high - total.value) / value) ** 2
    )
    assert 0.0 <= release.share("spent >= 0").low < release.share("spent >= 0").high <= 1.0
    rare = release.share("state == 'state 3'")
    assert rare.high - rare.low == pytest.approx(
        (release.count("state == 'state 3'").high - release.count("state == 'state 3'").low) / value, rel=0.01
    )


def test_a_mean_beyond_what_is_possible_is_drawn_to_the_models(
    spending: tuple[dict[str, np.ndarray], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quotient of noise may be anywhere. What is far beyond a bound tells nothing; the interval is as it was."""
    _, release = spending
    where = "state == 'state 3'"
    table = release._answers.model.table([0, 1])[3]
    model = float(table @ np.arange(1997, 2017) / table.sum())

    def told(value: float) -> scumble.Estimate:
        found = Weighed(value, 100.0, Estimate(value, 100.0))
        monkeypatch.setattr(Answers, "mean", lambda *_: found)
        return release.mean("year", where)

    for value in (-1e5, 1e5):
        assert told(value).value == pytest.approx(model)
    above = told(2100.0)
    assert (above.low, above.high) == (pytest.approx(2016 - 19.0, abs=0.6), 2016)
    steps = [told(value).value for value in np.arange(1950.0, 2060.0, 0.1)]
    assert np.abs(np.diff(steps)).max() < 0.11, "nowhere does it leap"
    assert told(2016.0).value == pytest.approx((2016 + model) / 2, abs=1.0)
    _, implied = mean_by_median(table, np.arange(1997.0, 2017.0))
    assert (1997 + model) / 2 + 1 < implied, "nor is it below what the median implies"
    assert told(1997.0).value == pytest.approx(implied, rel=1e-12)
