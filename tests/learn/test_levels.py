"""Estimators from the release of a table: against brute force on drawn records, in files, and what is refused."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import scumble
from scumble import TableRelease, TableSketch, learn
from scumble.learn import levels as on_levels
from scumble.learn import outliers
from scumble.learn.levels import Levels

SCHEMA = scumble.Schema(
    age=scumble.Number(18, 77, whole=True, cells=12),
    town=scumble.Category(["Ulm", "Bonn", "Jena"]),
    seen=scumble.Date("2024-01-01", "2024-12-31", cells=6, missing=True),
    hours=scumble.Number(0, 60, cells=30, missing=True),
    ill=scumble.Category(["no", "yes"]),
)


def frame(n: int, seed: int) -> pd.DataFrame:
    """Illness by age and town; hours by town and illness; dates by nothing."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(18, 78, n), rng.choice(["Ulm", "Bonn", "Jena"], n, p=[0.5, 0.3, 0.2])
    ill = rng.random(n) < 1 / (1 + np.exp(4 - 0.08 * age + 2.0 * (town == "Ulm")))
    hours = np.clip(rng.normal(20 + 15 * (town == "Bonn") - 8 * ill, 4), 0, 60)
    hours[rng.random(n) < 0.1] = np.nan
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    found = pd.DataFrame({"age": age, "town": town, "seen": seen, "hours": hours, "ill": np.where(ill, "yes", "no")})
    found.loc[rng.random(n) < 0.1, "seen"] = pd.NaT
    return found


TABLE, TEST = frame(6000, 0), frame(1000, 1)


@pytest.fixture(scope="module", params=["ill", None], ids=["classes", "table"])
def release(request: pytest.FixtureRequest) -> TableRelease:
    return TableSketch(SCHEMA, target=request.param).update(TABLE).release(epsilon=3.0, n=6000)


@pytest.fixture(autouse=True, scope="module")
def few_draws() -> Iterator[None]:
    """Sooner done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_levels, "ROWS", 8_000)
        patch.setattr(outliers, "TABLE_DRAWS", 8_000)
        yield


@pytest.fixture(scope="module")
def classifier(release: TableRelease, few_draws: None) -> learn.PrivateKDEClassifier:
    return learn.PrivateKDEClassifier.from_release(release, target="ill")


def kept(model: Any, path: Path) -> None:
    """The model of a table comes back from its file, and has no picture."""
    model.save(path)
    for again in (learn.load(path), pickle.loads(pickle.dumps(model))):  # noqa: S301  our own bytes
        np.testing.assert_array_equal(again.predict(TEST), model.predict(TEST))
        assert again.privacy_ == model.privacy_ and again.get_params().keys() == model.get_params().keys()
    clone(model)
    with pytest.raises(scumble.ParameterError, match=r"release\.plot"):
        model.plot()


def test_classes_are_learnt(classifier: learn.PrivateKDEClassifier, tmp_path: Path) -> None:
    assert classifier.classes_.tolist() == ["no", "yes"] and classifier.n_features_in_ == 4
    assert classifier.feature_names_in_.tolist() == ["age", "town", "seen", "hours"]
    chances = classifier.predict_proba(TEST)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    # The true law separates 84 of 100 records of these seeds; noise at ε = 3 has standard deviations of a few records.
    assert classifier.score(TEST, TEST.ill) > 0.75
    assert chances[:, 1].mean() == pytest.approx((TEST.ill == "yes").mean(), abs=0.08)
    assert classifier.privacy_.epsilon <= 3.0 and "views of 5 columns" in classifier._card()
    other = TEST[["hours", "seen", "age", "town"]].assign(town="Rome")  # another order, an unforeseen word, no target
    assert classifier.predict(other).shape == (1000,)
    kept(classifier, tmp_path / "m.scumble")


def test_scores_are_sums_of_weights(release: TableRelease, classifier: learn.PrivateKDEClassifier) -> None:
    """Record by record, column by column."""
    groups, sizes = release.groups, {name: int(group.max()) + 1 for name, group in release.groups.items()}
    margins = classifier.decision_function(TEST[:20])
    for row, margin in zip(TEST[:20].to_dict("records"), margins, strict=True):
        total, start = classifier.intercepts_[1] - classifier.intercepts_[0], 0
        for name in ("age", "town", "seen", "hours"):
            level = SCHEMA[name].encode(pd.Series([row[name]])).codes[0]
            place = start + groups[name][level]
            total += classifier.weights_[1, place] - classifier.weights_[0, place]
            start += sizes[name]
        assert margin == pytest.approx(total)


def test_numbers_are_learnt_in_closed_form(release: TableRelease, tmp_path: Path) -> None:
    """Least squares by the model's tables is ridge regression on very many records drawn from it."""
    model = learn.PrivateLinearRegression.from_release(release, target="hours")
    assert model.score(TEST.dropna(), TEST.dropna().hours) > 0.5  # by the true law 0.75
    levels, place = Levels(release, "hours"), 3
    rows = release._answers.model.draw(100_000, np.random.default_rng(0))
    values = SCHEMA["hours"].representative[rows[:, place]]
    rows, values = rows[np.isfinite(values)], values[np.isfinite(values)]
    X = np.zeros((len(rows), levels.size))
    np.put_along_axis(X, levels.grouped(rows[:, levels.places]), 1.0, axis=1)
    centered = X - X.mean(axis=0)
    wanted = np.linalg.solve(
        centered.T @ centered / len(X) + on_levels.RIDGE * np.eye(levels.size), centered.T @ values / len(X)
    )
    # Residuals deviate by about 5, and there are some 50 weights: in the mean square, predictions differ by about
    # 5²·50/90,000 = 0.12², as χ² with 50 degrees: sixteen times that is beyond 1e-100.
    assert np.mean((centered @ (model.coef_ - wanted)) ** 2) < 16 * 0.12**2
    assert model.target_bounds_ == (0.0, 60.0)
    kept(model, tmp_path / "m.scumble")


def test_outliers_have_unusual_pairs(release: TableRelease, tmp_path: Path) -> None:
    model = learn.PrivateOutlierDetector.from_release(release, contamination=0.1)
    score = model.score_samples(TEST)
    levels = Levels(release)
    both, alone = levels.tables(release._answers.model)
    count = release._answers.total.value
    wide = np.concatenate([np.bincount(group) for group in levels.groups])
    for places, found in zip(levels.read(TEST)[:20], score[:20], strict=True):
        wanted = sum(np.log(max(alone[p] / wide[p], 1e-9)) for p in places)
        for p, q in itertools.combinations(places, 2):
            chance = alone[p] * alone[q]
            wanted += np.log((count * both[p, q] + 10 * chance + 1e-9) / ((count + 10) * chance + 1e-9))
        assert found == pytest.approx(wanted)
    # 1,000 records of which one in ten is meant: six standard deviations, and the noise.
    assert (model.predict(TEST) < 0).mean() == pytest.approx(0.1, abs=0.06 + 0.04)
    odd = TEST.assign(hours=np.where(TEST.town == "Bonn", 5.0, 55.0))  # hours of another town
    assert (model.predict(odd) < 0).mean() > 0.6
    kept(model, tmp_path / "m.scumble")


def test_what_makes_no_sense_is_refused(release: TableRelease) -> None:
    classify, regress = learn.PrivateKDEClassifier, learn.PrivateLinearRegression
    with pytest.warns(UserWarning):  # no pair is measured
        alone = TableSketch(SCHEMA).update(TABLE).release(epsilon=0.001, n=100)
    for kind, found, given in (
        (classify, release, {"target": "hours"}),
        (classify, release, {"target": "height"}),
        (classify, release, {"target": "ill", "rule": "map"}),
        (classify, alone, {"target": "ill"}),
        (regress, release, {"target": "town"}),
        (regress, alone, {}),
        (learn.PrivateOutlierDetector, release, {"target": "ill"}),
    ):
        with pytest.raises(scumble.ParameterError):
            kind.from_release(found, **given)
    classifier = classify.from_release(release, target="ill")
    with pytest.raises(scumble.DataError, match="age") as told:
        classifier.predict(TEST.assign(age="thirty-seven"))
    assert "thirty" not in str(told.value)
    with pytest.raises(scumble.DataError, match="town"):
        classifier.predict(TEST.drop(columns="town"))
