"""Statistics of every draw: `estimate`, `draws`, and what is computed of estimates.

Noise and identity of the release are fixed, so nothing here fails by chance; bounds are such that other noise would
fail with a probability below 1e-6.
"""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tests.table.measuring import measured

import scumble
from scumble import Boolean, Category, Date, Estimate, Number, Schema, TableRelease, TableSketch
from scumble.table.answers import Answers
from scumble.table.evidence import _column
from scumble.table.rows import _told

SCHEMA = Schema(
    age=Number(0, 39, whole=True),
    town=Category(["Ulm", "Bonn"], other=False, missing=False),
    seen=Date("2024-01-01", "2024-03-31", cells="month", missing=True),
    smoker=Boolean(),
)


def people(n: int) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    age = generator.binomial(39, 0.4, n)
    days = np.datetime64("2024-01-01") + generator.integers(0, 91, n)
    town = np.where(generator.random(n) < age / 39, "Ulm", "Bonn")
    return pd.DataFrame({"age": age, "town": town, "seen": days, "smoker": generator.random(n) < 0.3})


def released(noise: float, identity: str, n: int = 20_000) -> TableRelease:
    """A release whose noise is NumPy's, of so many records on every counter."""
    frame = people(n)
    release = TableSketch(SCHEMA).update(frame.head(10)).release(epsilon=1.0)
    columns = tuple(_column(release.spec, j) for j in range(len(SCHEMA)))
    groups = tuple(np.arange(column.levels) // (1 + (j == 0)) for j, column in enumerate(columns))
    evidence = measured(SCHEMA.encode(frame).codes, columns, groups, noise**2, seed=len(identity))
    release._identity = identity
    release.__dict__["_prepared"] = Answers(release.spec, [evidence], "gaussian", identity)
    return release


@pytest.fixture(scope="module")
def release() -> TableRelease:
    return released(60.0, "one")


@pytest.fixture(scope="module")
def other() -> TableRelease:
    return released(60.0, "another", 5_000)


# ---- arithmetic ----


def test_the_same_number_twice_differs_by_nothing(release: TableRelease) -> None:
    one, two = release.share("smoker"), release.share("age >= 20")
    assert (one - one).to_dict() == {"value": 0.0, "low": 0.0, "high": 0.0, "standard_error": 0.0}
    assert [*(one / one).to_dict().values()] == [1.0, 1.0, 1.0, 0.0]
    assert [*((one + two) - two).to_dict().values()] == pytest.approx([*one.to_dict().values()])
    assert [*(2 * one - one).to_dict().values()] == pytest.approx([*one.to_dict().values()])
    assert [*(-one)] == pytest.approx([-one.value, -one.high, -one.low])


def test_different_releases_err_independently(release: TableRelease, other: TableRelease) -> None:
    one, two = release.count("smoker"), other.count("smoker")
    for found in (one + two, one - two):
        assert found.standard_error == pytest.approx(math.hypot(one.standard_error, two.standard_error))
        assert found.high - found.low == pytest.approx(
            math.hypot(one.high - one.low, two.high - two.low), abs=2.0
        )  # counts' ends are whole
    assert (one - two).draws is None and (one - two).standard_error > 0
    with pytest.raises(TypeError, match="cannot be combined"):
        one + "x"


# ---- any statistic ----


def test_a_statistic_with_a_closed_form_is_the_same_by_rows() -> None:
    """The mean of 2 · 32 sets of rows has the error of all those rows together: six of it are exceeded once in 10⁸."""
    release, deviation = released(300.0, "noisy"), people(20_000).age.std()
    wanted = release.mean("age")
    widths = {}
    for rows in (200, 2_000):
        found = release.estimate(lambda table: table["age"].mean(), rows=rows)
        assert found.value == pytest.approx(wanted.value, abs=6 * deviation / math.sqrt(64 * rows))
        widths[rows] = found.high - found.low
    assert widths[2_000] == pytest.approx(wanted.high - wanted.low, rel=0.2)
    assert widths[200] == pytest.approx(widths[2_000], rel=0.4)


def test_the_chance_of_drawing_rows_is_taken_out() -> None:
    """Answers with a variance of 1, rows with one of 4: the mean of two sets has 1 + 2, of which 1 is the answer's."""
    generator, size = np.random.default_rng(0), 40_000
    answer = generator.normal(5.0, 1.0, size)
    one, two = (answer + generator.normal(0.0, 2.0, size) for _ in range(2))
    answers = SimpleNamespace(told=lambda each, confidence: (each.mean(), each.std(ddof=1)))
    assert _told(answers, one, two, 0.95) == pytest.approx((5.0, 1.0), abs=0.06)  # type: ignore[arg-type]
    assert _told(answers, one, two - answer + 5.0, 0.95)[1] < 0.5  # type: ignore[arg-type, index]


def test_several_numbers_are_a_frame(release: TableRelease) -> None:
    found = release.estimate(lambda table: table.groupby("town", observed=True).age.mean(), rows=1_000)
    assert found.columns.tolist() == ["value", "low", "high", "standard_error"]
    by = release.mean("age", by="town").set_index("town")
    for town in ("Ulm", "Bonn"):
        assert found.loc[town, "value"] == pytest.approx(by.loc[town, "value"], abs=0.3)
        assert found.loc[town, "low"] <= found.loc[town, "value"] <= found.loc[town, "high"]
    rare = [{"a": 1.0}, {"a": 1.0, "b": 2.0}] * release._answers.posterior.size
    assert release.estimate(lambda _: rare.pop(0), rows=10).index.tolist() == ["a", "b"], "groups that some draws have"
    assert release.estimate(lambda table: {"n": len(table)}, rows=50).loc["n"].tolist() == [50, 50, 50, 0]
    for wrong in ("age", lambda table: "many", lambda table: table.describe()):
        with pytest.raises(scumble.ParameterError, match="Hint"):
            release.estimate(wrong, rows=10)  # type: ignore[arg-type]


def test_draws_are_tables_of_their_own(release: TableRelease) -> None:
    frames = [*release.draws(3, 5, rows=400)]
    assert len(frames) == 3 and all(len(frame) == 400 for frame in frames)
    assert {name: str(kind) for name, kind in frames[0].dtypes.items()} == {
        name: str(kind) for name, kind in release.sample(5, 0).dtypes.items()
    }
    for one, same in zip(frames, release.draws(3, 5, rows=400), strict=True):
        pd.testing.assert_frame_equal(one, same)
    assert not frames[0].equals(frames[1])
    (whole,) = release.draws(1)
    assert len(whole) == round(release._answers.posterior.totals[0])
    assert len([*itertools.islice(release.draws(1_000, rows=1), 40)]) == 40, "more than there are draws, one by one"
    assert isinstance(release.count(), Estimate)
