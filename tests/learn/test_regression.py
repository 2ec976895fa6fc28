"""PrivateLinearRegression: the closed form, the surrogate, bad input, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scumble
from scumble.kernels import FoldedKernel
from scumble.learn import PrivateLinearRegression, signs
from scumble.learn.signs import angular_gaussian, second_moments

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose

GAUSS = {"delta": 1e-6, "rows": 2000}


@pytest.fixture
def plane(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(0.0, 10.0, (5000, 3))
    return X, 2.0 * X[:, 0] - X[:, 1] + 5.0 + rng.normal(0.0, 0.5, 5000)


def fitted(X: np.ndarray, y: np.ndarray, **options: object) -> PrivateLinearRegression:
    return PrivateLinearRegression(**{"bounds": (0, 10), "target_bounds": (-5, 25), **GAUSS, **options}).fit(X, y)


def test_the_moments_are_those_of_the_records(rng) -> None:
    """Without noise to speak of, every entry lies within 6 standard errors of the truth."""
    Z = rng.normal(size=(300, 5)) * [3.0, 1.0, 1.0, 0.5, 0.1]
    sketch = scumble.Sketch(FoldedKernel(projections=4), 5, rows=4000, buckets=8, design="orthogonal").update(Z)
    found, error = second_moments(sketch.release(epsilon=1e4, delta=1e-3))
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    assert np.abs(found - unit.T @ unit).max() < 6.0 * error * np.sqrt(2.0)
    assert error < 0.01 * len(Z)


def test_it_finds_the_plane(plane) -> None:
    X, y = plane
    model = fitted(X, y)
    assert model.score(X, y) > 0.9  # twenty fits: 0.988 ± 0.003
    np.testing.assert_allclose(model.coef_, [2.0, -1.0, 0.0], atol=0.8)  # ± 0.1
    inside = np.clip(X @ model.coef_ + model.intercept_, -5, 25)
    np.testing.assert_allclose(model.predict(X), inside)


def test_the_surrogate_finds_it_roughly(plane) -> None:
    """It reads one counter per row: with five times the rows, 0.91 ± 0.08 where the closed form has 0.99."""
    assert fitted(*plane, method="surrogate", rows=10_000).score(*plane) > 0.3


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_where_noise_is_all_there_is_nothing_is_learnt_from_it(delta: float) -> None:
    """200 records at ε = 0.001, ten draws: an error of 0.11 ± 0.013 on average was seen in 15 such runs, the middle of
    the bounds has 0.09; before means and products were shrunk it was 0.3 and more. Six standard errors are allowed.
    """
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (200, 4))
    y = np.clip(0.5 * X[:, 0] + rng.normal(0.0, 0.05, 200), -1.0, 1.0)
    made = [
        PrivateLinearRegression(
            epsilon=0.001, delta=delta, bounds=(-1.0, 1.0), target_bounds=(-1.0, 1.0), rows=300
        ).fit(X, y)
        for _ in range(10)
    ]
    errors = [np.mean((model.predict(X) - y) ** 2) for model in made]
    assert np.mean(errors) <= np.mean(y**2) + 0.1


@pytest.mark.parametrize("d", [3, 20, 132])
def test_the_angular_gaussian_law_is_what_normal_vectors_show(d: int) -> None:
    """Second moments of directions, and agreement of signs, against 40,000 draws (six standard errors)."""
    rng = np.random.default_rng(d)
    wanted = np.geomspace(1.0, 1e-3, d)
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    scatter, known = angular_gaussian((axes * (wanted / wanted.sum())) @ axes.T)
    np.testing.assert_allclose(known, (axes * (wanted / wanted.sum())) @ axes.T, atol=1e-9)
    z = rng.multivariate_normal(np.zeros(d), scatter, 40_000)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    np.testing.assert_allclose(z.T @ z / len(z), known, atol=6 * 0.5 / np.sqrt(len(z)))
    u, v = rng.normal(size=(2, 5, d))
    seen = (np.sign(z @ u.T) * np.sign(z @ v.T)).mean(axis=0)
    np.testing.assert_allclose(signs._agreement(scatter, u, v), seen, atol=6 / np.sqrt(len(z)))


def test_a_model_of_the_records_leaves_less_to_chance() -> None:
    """Records near one direction, where the sums are far from linear: the error falls to less than two thirds."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(4000, 12)) * np.geomspace(1.0, 0.05, 12) + 2.0 * np.eye(12)[0]
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    sketch = scumble.Sketch(FoldedKernel(projections=4), 12, rows=3000, buckets=8, design="orthogonal")
    release = sketch.update(z).release(epsilon=1e4, delta=1e-3)
    found, error = second_moments(release)
    off = ~np.eye(12, dtype=bool)
    assert np.sqrt(np.mean((found - z.T @ z)[off] ** 2)) < 1.5 * error
    directions = release.spec.layout.hasher.parameters[0].reshape(3000, 4, -1)
    directions = directions / np.linalg.norm(directions, axis=2, keepdims=True)
    pairs = [(i, j) for i in range(4) for j in range(i)]
    bits = signs._signs(3)
    sums = np.array([release.counts @ (bits[i] * bits[j]) for i, j in pairs], float)
    plain, _ = signs._solved(directions, pairs, sums)
    assert np.abs(found - z.T @ z)[off].mean() < 0.67 * np.abs(plain - z.T @ z)[off].mean()


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
