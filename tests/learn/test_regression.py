"""PrivateLinearRegression: the closed form, where noise is all there is, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scumble.learn import PrivateLinearRegression

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose


@pytest.fixture
def plane(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(0.0, 10.0, (5000, 3))
    return X, 2.0 * X[:, 0] - X[:, 1] + 5.0 + rng.normal(0.0, 0.5, 5000)


def fitted(X: np.ndarray, y: np.ndarray, **options: object) -> PrivateLinearRegression:
    return PrivateLinearRegression(**{"bounds": (0, 10), "target_bounds": (-5, 25), "delta": 1e-6, **options}).fit(X, y)


def test_it_finds_the_plane(plane) -> None:
    X, y = plane
    model = fitted(X, y)
    assert model.score(X, y) > 0.9  # twenty fits: 0.988 ± 0.003
    np.testing.assert_allclose(model.coef_, [2.0, -1.0, 0.0], atol=0.8)  # ± 0.1
    inside = np.clip(X @ model.coef_ + model.intercept_, -5, 25)
    np.testing.assert_allclose(model.predict(X), inside)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_where_noise_is_all_there_is_nothing_is_learnt_from_it(delta: float) -> None:
    """200 records at ε = 0.001, ten draws: an error of 0.11 ± 0.013 on average was seen in 15 such runs, the middle of
    the bounds has 0.09; before means and products were shrunk it was 0.3 and more. Six standard errors are allowed.
    """
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (200, 4))
    y = np.clip(0.5 * X[:, 0] + rng.normal(0.0, 0.05, 200), -1.0, 1.0)
    made = [
        PrivateLinearRegression(epsilon=0.001, delta=delta, bounds=(-1.0, 1.0), target_bounds=(-1.0, 1.0)).fit(X, y)
        for _ in range(10)
    ]
    errors = [np.mean((model.predict(X) - y) ** 2) for model in made]
    assert np.mean(errors) <= np.mean(y**2) + 0.1


def test_vectors_of_bounded_length(rng: np.random.Generator, tmp_path: Path) -> None:
    """Ten fits: R² of 0.993 ± 0.002. What is longer counts as it points, also far beyond what can be squared."""
    X = rng.normal(size=(8000, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = 3.0 * X[:, 0] - 2.0 * X[:, 1]
    far = X * 10.0 ** rng.uniform(0, 300, (8000, 1))
    model = PrivateLinearRegression(epsilon=2.0, delta=1e-6, length=1.0, target_bounds=(-4, 4)).fit(far, y)
    assert model.score(X, y) > 0.8 and model.bounds_ is None and model.clipped_ > 7900
    np.testing.assert_allclose(model.predict(far), model.predict(X), atol=1e-6)
    model.release_.save(tmp_path / "vectors.scumble")
    again = PrivateLinearRegression.from_release(tmp_path / "vectors.scumble")
    assert again.length == 1.0 and np.array_equal(again.predict(far), model.predict(far))
