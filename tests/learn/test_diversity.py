"""DiversitySampler: from a release, and from a stream."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import scumble
from scumble.learn.diversity import DiversitySampler


@pytest.fixture
def private(rng: np.random.Generator) -> np.ndarray:
    return np.vstack([rng.normal(2.0, 0.3, (9000, 2)), rng.normal(7.0, 0.3, (1000, 2))])


@pytest.fixture
def pool(rng: np.random.Generator) -> np.ndarray:
    """Common, less common, and absent from the private table, a hundred of each."""
    return np.vstack([rng.normal(c, 0.2, (100, 2)) for c in ([2.0, 2.0], [7.0, 7.0], [2.0, 8.0])])


def test_under_represented_records_come_first(private: np.ndarray, pool: np.ndarray) -> None:
    chosen = DiversitySampler(bounds=(0, 10)).fit(private).select(pool, 200)
    assert np.all(chosen[:100] >= 200) and np.all(
        chosen[100:] >= 100
    )  # absent, then rare: 12 standard deviations apart


def test_diverse_records_differ_from_each_other(private: np.ndarray, pool: np.ndarray) -> None:
    sampler = DiversitySampler(bounds=(0, 10)).fit(private)
    few = sampler.select(pool, 30, method="diverse")
    assert len(set(few.tolist())) == 30
    kernel = sampler.release_.kernel
    alike = kernel(pool[few], pool[few]).mean()
    same = sampler.select(pool, 30)
    assert alike < kernel(pool[same], pool[same]).mean()
    assert np.any(few < 200), "not all from the absent group"


def test_keep_probability_falls_in_the_density(private: np.ndarray) -> None:
    sampler = DiversitySampler(tau=200.0, bounds=(0, 10)).fit(private)
    common, rare, absent = sampler.keep_probability([[2.0, 2.0], [7.0, 7.0], [2.0, 9.5]])
    assert common < rare < absent <= 1.0
    exact = 200.0 / sampler.release_.kernel([[2.0, 2.0]], private).sum()
    assert common == pytest.approx(exact, rel=0.05)  # twenty fits: ± 0.5 %


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


def test_what_cannot_be_selected_is_refused(private: np.ndarray, pool: np.ndarray) -> None:
    sampler = DiversitySampler(bounds=(0, 10)).fit(private)
    for n, method in ((-1, "diverse"), (301, "diverse"), (2.5, "diverse"), (True, "diverse"), (3, "best")):
        with pytest.raises(scumble.ParameterError):
            sampler.select(pool, n, method=method)  # type: ignore[arg-type]
