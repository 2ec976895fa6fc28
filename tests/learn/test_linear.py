"""PrivateLinearClassifier: moments, records of unit length, bad input, files; and `minimize`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.learn import PrivateLinearClassifier, minimize
from scumble.learn.linear import quiet, trusted


@pytest.fixture
def halves(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(0.0, 1.0, (5000, 3))
    return X, np.where(X[:, 0] - X[:, 1] + 0.2 * rng.normal(size=5000) > 0.0, "yes", "no")


def fitted(X: np.ndarray, y: np.ndarray, **options: object) -> PrivateLinearClassifier:
    return PrivateLinearClassifier(**{"bounds": (0, 1), "classes": ["no", "yes"], **options}).fit(X, y)


@pytest.mark.parametrize(("delta", "least"), [(0.0, 0.65), (1e-6, 0.8)])
def test_it_finds_the_plane(halves, delta: float, least: float) -> None:
    """The best plane is right at 0.86; private ones at 0.831 ± 0.017 and 0.852 ± 0.004 (twenty fits)."""
    X, y = halves
    assert fitted(X, y, delta=delta).score(X, y) > least


def test_eigenvalues_are_freed_of_noise(rng: np.random.Generator) -> None:
    """What is best for the noisy eigenvectors is what the matrix is along them; noise alone moves values by 20."""
    truth = np.diag(np.append(np.full(97, 5.0), [30.0, 40.0, 60.0]))
    noise = rng.normal(size=(100, 100))
    values, vectors = np.linalg.eigh(truth + (noise + noise.T) / np.sqrt(2.0))
    best = np.einsum("ji,jk,ki->i", vectors, truth, vectors)
    assert np.abs(values - best).max() > 10.0
    assert np.mean((quiet(values, 1.0) - best) ** 2) < 0.05 * np.mean((values - best) ** 2)
    np.testing.assert_allclose(quiet(values, 1e-9), values)


def test_few_large_numbers_are_trusted_among_noise(rng: np.random.Generator) -> None:
    numbers = np.append(np.full(5, 12.0), rng.normal(size=200))
    trust = trusted(numbers**2, np.ones(205))
    assert trust[:5].min() > 0.9 and trust[5:].mean() < 0.3 and 0.0 <= trust.min() <= trust.max() <= 1.0
    even = trusted(rng.normal(0.0, 3.0, 200) ** 2, np.ones(200))
    assert abs(even.mean() - 8.0 / 9.0) < 0.15  # all of one size: what of the variance is no noise
    np.testing.assert_allclose(trusted(numbers**2, np.full(205, 1e-12)), 1.0, atol=1e-6)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_planes_between_three_classes_from_moments(delta: float, tmp_path: Path) -> None:
    """Classes that lie in three directions; at ε = 100 the noise is far below what tells them apart."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 3000)
    X = rng.normal(0.0, 0.1, (3000, 6)) + np.eye(6)[y]
    options: dict[str, Any] = {"bounds": (-2, 2), "classes": [0, 1, 2], "epsilon": 100.0, "delta": delta}
    model = PrivateLinearClassifier(**options).fit(X, y)
    assert model.score(X, y) > 0.97 and model.coef_.shape == (3, 6)
    model.release_.save(tmp_path / "m.scumble")
    again = PrivateLinearClassifier.from_release(tmp_path / "m.scumble", classes=[0, 1, 2])
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(scumble.ParameterError, match="the 3 that the release has"):
        PrivateLinearClassifier.from_release(model.release_, classes=[0, 1])


def test_records_of_unit_length(tmp_path: Path) -> None:
    """Three directions, of vectors of any length: only where they point matters. 0.99 and more in ten fits."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 3000)
    X = (np.eye(3)[y] + 0.2 * rng.normal(size=(3000, 3))) @ rng.normal(size=(3, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    far = X * 10.0 ** rng.uniform(0, 300, (3000, 1))
    about: dict[str, Any] = {"length": 1.0, "classes": [0, 1, 2], "epsilon": 5.0, "delta": 1e-6}
    model = PrivateLinearClassifier(**about).fit(far, y)
    assert model.score(X, y) > 0.9 and np.mean(model.predict(far) == model.predict(X)) > 0.99
    assert model.coef_.shape == (3, 20) and model.bounds_ is None and model.clipped_ > 2900
    model.release_.save(tmp_path / "unit.scumble")
    again = PrivateLinearClassifier.from_release(tmp_path / "unit.scumble", classes=[0, 1, 2])
    assert again.length == 1.0 and np.array_equal(again.decision_function(far), model.decision_function(far))


def test_hostile_vectors() -> None:
    X = np.array([[0.0, 0.0], [1.7e308, -1.7e308], [5e-324, 0.0], [-0.0, 1.0]])
    about: dict[str, Any] = {"length": 1.0, "classes": [0, 1]}
    model = PrivateLinearClassifier(**about).fit(X, [0, 1, 0, 1])
    assert np.isfinite(model.decision_function(X)).all()
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(scumble.DataError, match="infinite"):
            PrivateLinearClassifier(**about).fit([[bad, 0.0], [0.0, 1.0]], [0, 1])


def test_it_finds_the_least_answer_in_many_dimensions(rng) -> None:
    """The angular loss of a cloud around a direction is least opposite to it."""
    truth = np.ones(8) / np.sqrt(8.0)
    X = truth + 0.3 * rng.normal(size=(4000, 8))
    sketch = scumble.Sketch(scumble.AngularKernel(power=2), 8, rows=1000, buckets=4, design="orthogonal").update(X)
    theta = minimize(sketch.release(epsilon=1.0, delta=1e-6), lambda models: -models, rng.normal(size=8), rounds=80)
    assert theta @ truth / np.linalg.norm(theta) > 0.95


def test_the_penalty_counts(rng) -> None:
    sketch = scumble.Sketch(scumble.AngularKernel(power=2), 2, rows=100, buckets=4).update(rng.normal(size=(500, 2)))
    release = sketch.release(epsilon=10.0)
    theta = minimize(
        release, lambda m: m, [3.0, 3.0], penalty=lambda m: 1e4 * np.sum((m - 1.0) ** 2, axis=1), rounds=120
    )
    np.testing.assert_allclose(theta, 1.0, atol=0.15)


@pytest.mark.parametrize("options", [{"start": []}, {"start": [np.nan]}, {"start": [0.0], "spread": 0.0}])
def test_bad_input_is_refused(rng, options: dict) -> None:
    release = scumble.Sketch(scumble.AngularKernel(), 1, rows=8, buckets=2).update([[1.0]]).release(epsilon=1.0)
    with pytest.raises(scumble.ParameterError):
        minimize(release, lambda m: m, **options)
