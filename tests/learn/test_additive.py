"""Additive regression, and linear regression from moments: what they find, and what noise does to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scumble
from scumble import learn
from scumble.learn.moment_products import LinearMoments, enough_knots, most_knots
from scumble.learn.moment_release import solved

BOUNDS: dict[str, Any] = {"bounds": (0, 10), "target_bounds": (0, 15)}


@pytest.fixture(scope="module")
def curves() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1).uniform(0, 10, (4000, 3))
    return X, np.abs(X[:, 0] - 5.0) + X[:, 1]


def error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((model.predict(X) - y) ** 2) / y.var())


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_finds_the_curves(curves: Any, delta: float) -> None:
    """Noise-free, seven knots meet |x − 5| nearly; ε = 1000 leaves noise far below what is asserted."""
    model = learn.PrivateAdditiveRegressor(epsilon=1000.0, delta=delta, knots=7, **BOUNDS).fit(*curves)
    assert error(model, *curves) < 0.02
    assert model.contributions(curves[0]).shape == (4000, 3)
    sides, middle = model.shapes_[0][[0, -1]], model.shapes_[0][3]
    assert np.all(sides > middle + 3.0) and np.abs(model.shapes_[2]).max() < 0.5
    assert np.all(np.concatenate(model.shape_errors_) < 0.2)


def test_a_plane_is_found_from_moments(curves: Any) -> None:
    X, _ = curves
    y = 5.0 + X @ [0.5, -0.2, 0.1]
    model = learn.PrivateLinearRegression(epsilon=1000.0, **BOUNDS).fit(X, y)
    assert isinstance(model.release_.spec, LinearMoments)
    assert np.allclose(model.coef_, [0.5, -0.2, 0.1], atol=0.02) and error(model, X, y) < 0.01


@pytest.mark.parametrize("kind", [learn.PrivateLinearRegression, learn.PrivateAdditiveRegressor])
def test_where_noise_is_all_there_is_the_answer_is_the_mean(kind: Any, curves: Any) -> None:
    """The target is independent of the columns: whatever is learned is noise. The guard lets through little of it."""
    X, _ = curves
    y = np.random.default_rng(2).uniform(5, 10, len(X))
    errors = [error(kind(epsilon=0.3, **BOUNDS).fit(X, y), X, y) for _ in range(9)]
    assert np.median(errors) < 1.3


def test_the_guard_takes_off_what_noise_explains() -> None:
    cross = np.array([10.0, 0.0])
    full = solved(np.eye(2) * 9.0, cross, 1.0, np.zeros(2))
    assert np.allclose(full, [1.0, 0.0])
    assert np.allclose(solved(np.eye(2) * 9.0, cross, 1.0, np.array([50.0, 0.0])), full / 2.0)
    assert np.allclose(solved(np.eye(2) * 9.0, cross, 1.0, np.array([50.0, 0.0]), trust=2.0), full * 0.75)
    assert not solved(np.eye(2) * 9.0, cross, 1.0, np.array([100.0, 0.0]), trust=2.0).any()
    assert not solved(np.eye(2) * 9.0, cross, 1.0, np.array([100.0, 0.0])).any()


NUMBERS: dict[str, Any] = {"target_bounds": (0, 15)}
CLASSES: dict[str, Any] = {"classes": [False, True], "delta": 1e-6}


@pytest.mark.parametrize(
    ("kind", "options", "facts"),
    [
        (learn.PrivateLinearRegression, {**NUMBERS, "bounds": (0, 10)}, {}),
        (learn.PrivateLinearRegression, {**NUMBERS, "bounds": (0, 10), "rows": 400, "delta": 1e-6}, NUMBERS),
        (learn.PrivateAdditiveRegressor, {**NUMBERS, "bounds": (0, 10)}, {}),
        (learn.PrivateLinearClassifier, {**CLASSES, "bounds": (0, 10), "rows": 400}, CLASSES),
        *(
            (learn.PrivateLogisticRegression, {**CLASSES, **about}, CLASSES)
            for about in ({"bounds": (0, 10)}, {"length": 9})
        ),
    ],
)
def test_the_release_alone_gives_the_same_model(
    kind: Any, options: Any, facts: Any, curves: Any, tmp_path: Any
) -> None:
    X, y = curves
    model = kind(**options, epsilon=10.0).fit(X, y > 7.5 if "classes" in options else y)
    model.release_.save(tmp_path / "m.scumble")
    facts = {name: fact for name, fact in facts.items() if name != "delta"}
    facts |= {"bounds": (0, 10)} if "rows" in options else {}
    again = kind.from_release(tmp_path / "m.scumble", **facts)
    model.save(tmp_path / "model.scumble")
    for other in (again, learn.load(tmp_path / "model.scumble")):
        np.testing.assert_array_equal(other.predict(X[:50]), model.predict(X[:50]))
        if "classes" in options:
            np.testing.assert_allclose(other.decision_function(X[:1]), model.decision_function(X)[:1], rtol=1e-12)
    assert again.privacy_ == model.release_.privacy and model.privacy_.epsilon == pytest.approx(10.0)
    if "classes" in facts:
        with pytest.raises(scumble.PrivacyError, match="classes"):
            kind.from_release(model.release_)


@pytest.mark.parametrize("change", [0, 1])
def test_another_estimators_release_is_refused(curves: Any, change: int) -> None:
    kind, other = [learn.PrivateLinearRegression, learn.PrivateAdditiveRegressor][:: 1 - 2 * change]
    release = kind(**BOUNDS, epsilon=10.0).fit(*curves).release_
    with pytest.raises(scumble.DataError):
        other.from_release(release)


def test_knots_are_where_the_records_are() -> None:
    """Of 4,000 records, nine tenths lie in the first hundredth of the bounds, where an even knot would see one line."""
    rng = np.random.default_rng(3)
    x = np.where(rng.uniform(size=4000) < 0.9, rng.uniform(0, 0.1, 4000), rng.uniform(0, 10, 4000))
    code = rng.integers(0, 3, 4000) * 5.0
    y = np.sin(40.0 * np.minimum(x, 0.1)) + (code == 5.0)
    X = np.column_stack([x, code])
    for delta in (0.0, 1e-6):
        about: dict[str, Any] = {"bounds": (0, 10), "target_bounds": (-1, 2), "delta": delta}
        model = learn.PrivateAdditiveRegressor(epsilon=1000.0, **about).fit(X, y)  # no noise to speak of
        assert np.sum(model.knots_[0] < 0.3) >= 3 and len(model.knots_[1]) == 3
        assert np.allclose(model.knots_[1], [0.0, 5.0, 10.0], atol=0.16)  # a cell's width
        assert error(model, X, y) < 0.05
        assert model.privacy_.epsilon <= 1000.0 and model.privacy_.delta <= delta


def test_levels_have_a_knot_each() -> None:
    """Codes 0 to 3 of a declared category, of which the third stands out: no curve through other knots meets it."""
    rng = np.random.default_rng(4)
    words = rng.choice(["a", "b", "c", "d"], 3000)
    frame = {"word": words.tolist(), "x": rng.uniform(0, 1, 3000).tolist()}
    schema = {"word": scumble.Category(["a", "b", "c", "d"]), "x": scumble.Number(0, 1)}
    about: dict[str, Any] = {"schema": schema, "target_bounds": (0, 1)}
    model = learn.PrivateAdditiveRegressor(epsilon=100.0, **about).fit(frame, (words == "c").astype(float))
    assert {0.0, 1.0, 2.0, 3.0} <= set(model.knots_[0].tolist())
    assert model.score(frame, (words == "c").astype(float)) > 0.95


def test_how_many_knots_there_are_hangs_on_noisy_counts(curves: Any) -> None:
    X, y = curves
    few, many = (learn.PrivateAdditiveRegressor(**BOUNDS).fit(X[:n], y[:n]).knots_ for n in (100, 4000))
    assert len(few[0]) < len(many[0])
    assert enough_knots(np.inf) == 2 and most_knots(4096) == 3
    with pytest.raises(scumble.ParameterError, match="knots"):
        learn.PrivateAdditiveRegressor(**BOUNDS, knots=1).fit(X, y)


def test_the_cross_tables_cost_what_their_knots_cost_too(curves: Any) -> None:
    """Their knots tell of the histograms: who has that one release knows of both."""
    model = learn.PrivateAdditiveRegressor(epsilon=2.0, pair=False, **BOUNDS).fit(*curves)
    alone = learn.PrivateAdditiveRegressor.from_release(model.release_)
    assert alone.privacy_.epsilon == model.privacy_.epsilon == model.release_.privacy.epsilon == pytest.approx(2.0)
    assert model.columns_.privacy.epsilon == pytest.approx(2.0 / 16)
