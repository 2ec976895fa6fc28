"""minimize: the general door."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble.learn import minimize


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
