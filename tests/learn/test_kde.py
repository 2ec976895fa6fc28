"""PrivateKDE against brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scumble
from scumble import learn
from scumble.learn.kde import PrivateKDE, integral
from scumble.privacy.budget import Budget


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


def test_hashed_rows_too(rng: np.random.Generator) -> None:
    X = np.clip(rng.normal(0.5, 0.1, (20_000, 6)), 0.0, 1.0)
    model = PrivateKDE(bounds=(0, 1), rows=512, buckets=512).fit(X)
    exact = model.release_.kernel(X[:100], X).mean(axis=1)
    # Hashing 3 %, noise 32/20,000: the mean of 100 relative errors is below 10 % with a wide margin.
    assert np.mean(np.abs(model.density(X[:100]) / exact - 1.0)) < 0.1


def test_far_from_everything_the_score_is_finite(table: np.ndarray) -> None:
    model = PrivateKDE(kernel=scumble.EuclideanKernel(1.0, power=4), bounds=(0, 10), rows=16, buckets=256).fit(table)
    score = model.score_samples([[0.0, 10.0], [5.0, 5.0]])  # f is 0 and 600, the noise has a standard deviation of 6
    assert np.all(np.isfinite(score)) and score[0] < score[1] and np.exp(score[0]) >= 0.4 / 20_500


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


def test_several_bandwidths_share_what_has_less_noise(table: np.ndarray) -> None:
    """With a δ, rows have Gaussian noise, whose ρ adds up; a grid has one row, and Laplace noise is quieter there."""
    options: dict = {"epsilon": 1.0, "delta": 1e-6, "bandwidths": [0.1, 0.3, 1.0], "refine": False}
    even = Budget(1.0, 1e-6).split(3)[0]
    model = PrivateKDE(kernel=scumble.EuclideanKernel(1.0), rows=64, buckets=16, **options).fit(table)
    assert model.release_.counter_variance < 0.4 * even.calibrate(64).counter_variance
    assert 0.99 < model.privacy_.epsilon <= 1 and model.privacy_.delta <= 1e-6
    cells: dict = {"bounds": (0, 10), "buckets": (8, 8), "design": "grid"}
    grids = [scumble.Sketch(scumble.EuclideanKernel(b), 2, **cells) for b in (0.1, 0.3, 1.0)]
    assert PrivateKDE(**options)._shared(grids) == even


@pytest.mark.parametrize("bad", [[], [1.0, 1.0], [0.0], ["a"], 3])
def test_bad_bandwidths(bad: object, table: np.ndarray) -> None:
    with pytest.raises(scumble.ParameterError, match="bandwidths"):
        PrivateKDE(bounds=(0, 10), bandwidths=bad).fit(table)  # type: ignore[arg-type]


def test_normalised_densities_integrate_to_one(table: np.ndarray) -> None:
    """By summing over a lattice that reaches well beyond the data; 2 % lie beyond it (power 3 falls like 1/r in 2-d).

    Without noise to speak of: clipped at zero, noise in empty regions would add up.
    """
    kernel = scumble.EuclideanKernel(1.0, power=3)
    model = PrivateKDE(epsilon=1e4, bounds=(-10, 20), normalize=True, kernel=kernel).fit(table)
    axis = np.arange(-9.8, 20.0, 0.4)
    lattice = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.sum(model.density(lattice)) * 0.4**2 == pytest.approx(1.0, abs=0.06)
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


@pytest.mark.parametrize(
    "kernel", [scumble.EuclideanKernel(1.0), scumble.EuclideanKernel(1.0, power=2), scumble.AngularKernel(4)]
)
def test_where_there_is_no_integral_it_says_so(kernel: scumble.Kernel, table: np.ndarray) -> None:
    with pytest.raises(scumble.ParameterError, match="integral"):
        PrivateKDE(kernel=kernel, normalize=True, bounds=(0, 10)).fit(table)


def test_samples(table: np.ndarray) -> None:
    drawn = PrivateKDE(bounds=(0, 10)).fit(table).sample(5000, random_state=1)
    np.testing.assert_allclose(drawn.mean(axis=0), 5.0, atol=0.3)  # ± 0.026 in twenty releases, most of it noise


def test_budgets_in_other_currencies(rng: np.random.Generator) -> None:
    X = rng.normal(5.0, 1.0, (500, 1))
    for money, rho in (({"rho": 0.02}, 0.02), ({"mu": 0.2}, 0.02)):
        kde = PrivateKDE(bounds=(0, 10), **money).fit(X)
        assert 0.0199 < (kde.privacy_.rho or 0.0) <= rho * (1 + 1e-12)
        assert kde.price().rho is not None and kde.get_params()["epsilon"] == 1.0
    fixed = PrivateKDE(bounds=(0, 10), rho=0.02, rows=16, buckets=64).fit(X)
    assert fixed.privacy_.mechanism == "discrete-gaussian"


def test_rows_that_are_left_open_are_chosen_at_the_release(rng: np.random.Generator) -> None:
    """Few records, little budget: few rows. The plan for 100,000 records would drown them."""
    X = rng.normal(5.0, 1.0, (2000, 5))
    kde = PrivateKDE(bounds=(0, 10), epsilon=0.5, refine=False).fit(X)
    beforehand = scumble.plan(100_000, 5, 0.5, kernel=kde.release_.kernel, bounds=(0, 10)).rows
    assert 8 <= kde.release_.rows < beforehand
