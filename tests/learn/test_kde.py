"""PrivateKDE against brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scumble
from scumble import learn
from scumble.learn.kde import PrivateKDE, integral


@pytest.fixture
def table(rng: np.random.Generator) -> np.ndarray:
    return np.clip(rng.normal(5.0, 1.0, (20_000, 2)), 0.0, 10.0)


def test_densities_are_near_the_exact_ones(table: np.ndarray, rng: np.random.Generator) -> None:
    """On a grid at ε = 1 the noise of f is about 10 of 1,000 and more records: 0.05 and 0.003 are far outside it."""
    model = PrivateKDE(bounds=(0, 10)).fit(table)
    Q = table[:200]
    exact = model.release_.kernel(Q, table).mean(axis=1)
    np.testing.assert_allclose(model.density(Q), exact, rtol=0.05, atol=0.003)
    np.testing.assert_allclose(model.score_samples(Q), np.log(exact), atol=0.08)
    lower, upper = model.interval(Q, 1 - 1e-9)  # 200 of them: 2e-7
    assert np.all((lower <= exact) & (exact <= upper))
    assert model.score(Q) == pytest.approx(np.sum(model.score_samples(Q)))


def test_several_bandwidths_share_the_budget(table: np.ndarray, tmp_path: Path) -> None:
    model = PrivateKDE(epsilon=1.0, bounds=(0, 10), bandwidths=[0.1, 0.3, 1.0]).fit(table)
    assert [release.privacy.epsilon for release in model.releases_] == pytest.approx([1 / 3] * 3)
    assert model.privacy_.epsilon == pytest.approx(1.0) and model.privacy_.combination == "overlapping"
    Q = table[:50]
    assert model.density(Q, bandwidth="all").shape == (50, 3)
    for k, bandwidth in enumerate(model.bandwidths_):
        exact = model.releases_[k].kernel(Q, table).mean(axis=1)
        np.testing.assert_allclose(model.density(Q, bandwidth=bandwidth), exact, rtol=0.25, atol=0.01)
    with pytest.raises(scumble.ParameterError, match=r"one of \[0.1, 0.3, 1.0\]"):
        model.density(Q, bandwidth=0.5)
    model.save(tmp_path / "m.scumble")
    again = learn.load(tmp_path / "m.scumble")
    third = PrivateKDE.from_release(model.releases_)
    for other in (again, third):
        np.testing.assert_allclose(other.score_samples(Q, bandwidth="all"), model.score_samples(Q, bandwidth="all"))
        assert other.privacy_ == model.privacy_


def test_normalised_densities_integrate_to_one(table: np.ndarray) -> None:
    """By summing over a lattice that reaches well beyond the data; 2 % lie beyond it (power 3 falls like 1/r in 2-d).

    Without noise to speak of: clipped at zero, noise in empty regions would add up.
    """
    kernel = scumble.EuclideanKernel(1.0, power=3)
    model = PrivateKDE(epsilon=1e4, bounds=(-10, 20), normalize=True, kernel=kernel).fit(table)
    axis = np.arange(-9.7, 20.0, 0.6)
    lattice = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.sum(model.density(lattice)) * 0.6**2 == pytest.approx(1.0, abs=0.06)
    assert np.exp(model.score_samples(table[:5])) == pytest.approx(model.density(table[:5]), rel=1e-9)


def test_integrals_against_brute_force() -> None:
    axis = np.linspace(-12.0, 12.0, 1201)
    lattice = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    for kind in (scumble.EuclideanKernel, scumble.ManhattanKernel):
        kernel = kind(1.0, power=5, scale=[1.0, 2.0])
        brute = kernel([[0.0, 0.0]], lattice).sum() * 0.02**2
        assert integral(kernel, 2) == pytest.approx(brute, rel=0.01)
    product = scumble.EuclideanKernel(1.0, 3, columns=[0]) * scumble.EuclideanKernel(2.0, 3, columns=[1])
    assert integral(product, 2) == pytest.approx(2.0 * integral(scumble.EuclideanKernel(1.0, 3), 1) ** 2, rel=1e-6)
