"""Synthetic records follow the table; votes; the least of a loss; DiversitySampler, from a release and a stream."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import ks_2samp

import scumble
from scumble.density.bundle import Bundle
from scumble.density.draws import masses
from scumble.learn import PrivateKDE, minimize, sample, votes
from scumble.learn.diversity import DiversitySampler

CENTERS = np.array([[0.2, 0.3, 0.5], [0.7, 0.6, 0.4], [0.4, 0.8, 0.8]])


def table(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.clip(CENTERS[rng.integers(0, 3, n), :d] + rng.normal(0.0, 0.05, (n, d)), 0.0, 1.0)


def release(X: np.ndarray, epsilon: float = 1.0, **options: object) -> scumble.Release:
    settings: dict = {"bounds": (0.0, 1.0), "design": "grid", **options}
    return scumble.Sketch(scumble.EuclideanKernel(0.2), X.shape[1], **settings).update(X).release(epsilon)


ROWS = {"design": "sobol", "rows": 64, "buckets": 128}


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, ROWS], ids=["grid", "rows"])
def test_marginals_and_mixture_are_kept(d: int, options: dict, rng: np.random.Generator) -> None:
    """Kolmogorov–Smirnov distances were 0.025 ± 0.007 at most in sixty releases, and uniform points have 0.2 or more.

    The limit is 14 of these standard deviations away; that of the medians, whose deviations are below 1e-3, far more.
    """
    X = table(rng, 20_000, d)
    Y = sample(release(X, **options), 5000, 0, bounds=(0, 1))
    assert Y.shape == (5000, d) and np.all((Y >= 0.0) & (Y <= 1.0))
    assert max(ks_2samp(X[:, j], Y[:, j]).statistic for j in range(d)) < 0.12
    near = np.linalg.norm(Y[:, None] - CENTERS[None, :, :d], axis=2).min(axis=1)
    assert np.median(near) < 0.05 * np.sqrt(d) * 1.5


def test_the_seed_repeats_the_draw(rng: np.random.Generator) -> None:
    one = release(table(rng, 500, 2))
    draws = [sample(one, 50, seed) for seed in (1, 1, 2, None, None)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert all(np.any(a != b) for a, b in ((draws[0], draws[2]), (draws[3], draws[4])))


def test_a_bundle_gives_labels_in_proportion(rng: np.random.Generator) -> None:
    X = table(rng, 8000, 2)
    bundle = Bundle({"left": release(X[:6000] * 0.4, buckets=30), "right": release(0.6 + 0.4 * X[6000:], buckets=30)})
    Y, labels = sample(bundle, 4000, 3)
    assert abs(np.mean(labels == "left") - 0.75) < 0.04  # 5 standard deviations of 4,000 draws, and the counts' noise
    assert np.median(Y[labels == "left"]) < 0.4 < 0.6 < np.median(Y[labels == "right"])


def test_masses_are_masses(rng: np.random.Generator) -> None:
    for shape in ((1,), (7,), (16, 5), (3, 4, 5)):
        truth = rng.poisson(2.0, shape) * (rng.uniform(size=shape) < 0.3)
        noisy = truth + np.round(rng.laplace(0.0, 1.0, shape))
        found = masses(noisy, 2.0, float(truth.sum()) + 5.0)
        assert found.shape == shape and found.min() >= 0.0
        assert found.sum() == pytest.approx(truth.sum() + 5.0)
    exact = rng.poisson(3.0, (9, 9)).astype(float)
    np.testing.assert_allclose(masses(exact, 0.0, exact.sum()), exact, atol=1e-9)


def test_bad_input() -> None:
    rows = release(np.full((100, 2), 0.5), **ROWS)
    with pytest.raises(scumble.ParameterError, match="bounds"):
        sample(rows, 5)
    for bounds in ((1, 0), (0, [1, 2, 3]), 5, (0, np.inf)):
        with pytest.raises(scumble.ParameterError, match="bounds"):
            sample(rows, 5, bounds=bounds)
    for n in (-1, 2.5, True, "3"):
        with pytest.raises(scumble.ParameterError, match="`n`"):
            sample(rows, n, bounds=(0, 1))
    with pytest.raises(scumble.ParameterError, match="Release"):
        sample(np.zeros((3, 2)), 5)
    hamming = scumble.Sketch(scumble.HammingKernel(), 2, rows=8, buckets=16).release(1.0)
    with pytest.raises(scumble.DataError, match="hamming"):
        sample(hamming, 5, bounds=(0, 1))


@pytest.fixture(scope="module")
def private() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.vstack([rng.normal(2.0, 0.3, (9000, 2)), rng.normal(7.0, 0.3, (1000, 2))])


def test_records_are_selected_from_a_public_pool(private: np.ndarray, rng: np.random.Generator) -> None:
    """A hundred each of common ones, of less common ones, and of a kind that the private table lacks."""
    pool = np.vstack([rng.normal(c, 0.2, (100, 2)) for c in ([2.0, 2.0], [7.0, 7.0], [2.0, 8.0])])
    sampler = DiversitySampler(tau=200.0, bounds=(0, 10)).fit(private)
    chosen = sampler.select(pool, 200)
    assert np.all(chosen[:100] >= 200) and np.all(chosen[100:] >= 100)  # absent, then rare: 12 standard deviations
    few = sampler.select(pool, 30, method="diverse")
    assert len(set(few.tolist())) == 30 and np.any(few < 200), "not all from the absent group"
    kernel = sampler.release_.kernel
    assert kernel(pool[few], pool[few]).mean() < kernel(pool[chosen[:30]], pool[chosen[:30]]).mean()
    common, rare, absent = sampler.keep_probability([[2.0, 2.0], [7.0, 7.0], [2.0, 9.5]])
    assert common < rare < absent <= 1.0
    assert common == pytest.approx(200.0 / kernel([[2.0, 2.0]], private).sum(), rel=0.05)  # twenty fits: ± 0.5 %
    for n, method in ((-1, "diverse"), (301, "diverse"), (2.5, "diverse"), (True, "diverse"), (3, "best")):
        with pytest.raises(scumble.ParameterError):
            sampler.select(pool, n, method=method)  # type: ignore[arg-type]


def test_a_stream_is_thinned_where_it_is_dense(rng: np.random.Generator, private: np.ndarray) -> None:
    sampler = DiversitySampler(tau=200.0, bounds=(0, 10), kernel=scumble.EuclideanKernel(1.0, power=2))
    order = rng.permutation(len(private))
    kept = np.concatenate([sampler.keep(part) for part in np.array_split(private[order], 10)])
    common = order < 9000
    # Far more of the rare group, in shares: 9,000 against 1,000 became at most 3 to 1.
    assert 0 < kept[common].sum() < 3 * kept[~common].sum() < 3 * 1000
    assert kept[common].mean() < 0.3 * kept[~common].mean()
    assert not hasattr(sampler, "release_")
    assert "_stream" not in vars(pickle.loads(pickle.dumps(sampler))), "exact counters do not travel"  # noqa: S301


def test_rounds_of_votes_cost_less_than_paying_for_each() -> None:
    """Fifty candidates in twenty rounds at ε = 0.3: one release misplaces 900 votes a round; paying a twentieth of
    ε for each round adds errors of 3,300 ± 270, the sum of fifty absolute Laplace errors."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(2, 8, (6, 5))
    X = np.clip(
        centres[rng.choice(6, 20_000, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03])] + rng.normal(0, 0.5, (20_000, 5)), 0, 10
    )
    release = PrivateKDE(epsilon=0.3, bounds=(0, 10)).fit(X).release_
    ours, paid = [], []
    for _ in range(3):
        candidates = np.vstack([centres + rng.normal(0, 0.3, (6, 5)), rng.uniform(0, 10, (44, 5))])
        truth = np.bincount(((X[:, None] - candidates) ** 2).sum(axis=2).argmin(axis=1), minlength=50)
        found = votes(release, candidates, bounds=(0, 10))
        ours.append(np.abs(found - truth).sum())
        paid.append(np.abs(rng.laplace(0, 20 / 0.3, 50)).sum())
        assert found.argmax() == truth.argmax() and found.sum() == pytest.approx(release.divisor)
    assert np.mean(ours) < np.mean(paid)
    for bad in ("x", [["a", "b"]], [[1.0, 2.0]], [[1.0] * 5, [3.0]], [[np.nan] * 5], [], None):
        with pytest.raises(scumble.ParameterError, match="candidates"):
            votes(release, bad, bounds=(0, 10))


# ---- the least of a loss ----


def test_the_least_answer_is_found_in_many_dimensions(rng: np.random.Generator) -> None:
    """The angular loss of a cloud around a direction is least opposite to it."""
    truth = np.ones(8) / np.sqrt(8.0)
    X = truth + 0.3 * rng.normal(size=(4000, 8))
    sketch = scumble.Sketch(scumble.AngularKernel(power=2), 8, rows=1000, buckets=4, design="orthogonal").update(X)
    theta = minimize(sketch.release(epsilon=1.0, delta=1e-6), lambda models: -models, rng.normal(size=8), rounds=80)
    assert theta @ truth / np.linalg.norm(theta) > 0.95


def test_the_penalty_counts_and_bad_input_is_refused(rng: np.random.Generator) -> None:
    sketch = scumble.Sketch(scumble.AngularKernel(power=2), 2, rows=100, buckets=4).update(rng.normal(size=(500, 2)))
    release = sketch.release(epsilon=10.0)
    theta = minimize(
        release, lambda m: m, [3.0, 3.0], penalty=lambda m: 1e4 * np.sum((m - 1.0) ** 2, axis=1), rounds=120
    )
    np.testing.assert_allclose(theta, 1.0, atol=0.15)
    for start, spread in (([], 1.0), ([np.nan], 1.0), ([0.0], 0.0)):
        with pytest.raises(scumble.ParameterError):
            minimize(release, lambda m: m, start, spread=spread)
