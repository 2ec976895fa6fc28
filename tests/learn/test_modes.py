"""PrivateModes on planted modes; the runs of the benchmark, fewer and smaller."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble.learn.modes import PrivateModes

CENTRES = {
    2: np.array([[0.2, 0.2], [0.8, 0.25], [0.5, 0.5], [0.25, 0.8], [0.8, 0.75]]),
    5: np.array([[0.2] * 5, [0.8] * 5, [0.2, 0.2, 0.8, 0.8, 0.5]]),
}


def planted(rng: np.random.Generator, d: int, n: int) -> np.ndarray:
    X = CENTRES[d][rng.integers(0, len(CENTRES[d]), n)] + rng.normal(0.0, 0.03, (n, d))
    X[: n // 10] = rng.uniform(size=(n // 10, d))
    return np.clip(X, 0.0, 1.0)


@pytest.mark.parametrize("method", ["climb", "lp"])
@pytest.mark.parametrize("d", [2, 5])
def test_planted_modes_are_found_and_none_invented(method: str, d: int, rng: np.random.Generator) -> None:
    """20 of 20 runs of the benchmark did so, the farthest at 0.2 bandwidths; modes are three bandwidths apart."""
    size = {} if d == 2 else {"rows": 256, "buckets": 512}
    model = PrivateModes(bounds=(0, 1), method=method, starts=40, **size).fit(planted(rng, d, 40_000))
    apart = np.linalg.norm(model.modes_[:, None] - CENTRES[d][None], axis=-1) / model.release_.kernel.bandwidth
    assert len(model.modes_) == len(CENTRES[d])
    assert apart.min(axis=0).max() < 1.0
    assert np.all(np.diff(model.densities_) <= 0.0)
    lower, upper = model.intervals_.T
    assert np.all((lower <= model.densities_) & (model.densities_ <= upper))


def test_noise_alone_has_no_modes(rng: np.random.Generator) -> None:
    """Fifty records: whatever stands out is noise, by construction 5 standard errors above the greatest to expect."""
    for size in ({}, {"rows": 64, "buckets": 256}):
        model = PrivateModes(bounds=(0, 1), starts=20, **size).fit(rng.uniform(size=(50, 2)))
        assert model.modes_.shape == (0, 2) and model.densities_.shape == (0,) and model.intervals_.shape == (0, 2)


def test_a_manhattan_release_and_the_lp(rng: np.random.Generator) -> None:
    kernel = scumble.ManhattanKernel(0.25)
    sketch = scumble.Sketch(kernel, 2, rows=256, buckets=128).update(planted(rng, 2, 40_000))
    model = PrivateModes.from_release(sketch.release(5.0), bounds=(0, 1), method="lp", starts=20)
    near = np.linalg.norm(model.modes_[:, None] - CENTRES[2][None], axis=-1).min(axis=1)
    assert len(model.modes_) >= 1 and np.all(near < 0.1)


def test_releases_of_the_wrong_kind() -> None:
    hamming = scumble.Sketch(scumble.HammingKernel(), 2, rows=8, buckets=16).release(1.0)
    with pytest.raises(scumble.DataError, match="numeric"):
        PrivateModes.from_release(hamming, bounds=(0, 1))
    angular = scumble.Sketch(scumble.AngularKernel(4), 2, rows=8).update(np.ones((2000, 2))).release(1.0)
    with pytest.raises(scumble.DataError, match="climb"):
        PrivateModes.from_release(angular, bounds=(0, 1), method="lp")
