"""Private selection: the law of the choice, and its scores' sensitivity."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

import scumble
from rates import normal
from scumble.kernels import ColumnKernel
from scumble.learn.selection import choose_kernel, credible_records, noisy_best

DRAWS = 6_000


def shares(scores: list[int], **options: object) -> np.ndarray:
    chosen = [noisy_best(scores, **options) for _ in range(DRAWS)]
    return np.bincount(chosen, minlength=len(scores)) / DRAWS


@pytest.mark.statistical(rate=1e-8)
@pytest.mark.parametrize("monotone", [False, True])
def test_the_choice_keeps_its_epsilon(monotone: bool) -> None:
    """Ratios of probabilities on neighbouring scores stay below ε, six of them within the bounds of chance: 1e-9 each.

    The first ratio is exp(±0.30) or exp(±0.76), with a standard error of 0.03 at most.
    """
    epsilon = 1.0
    here = shares([3, 3, 2], epsilon=epsilon, monotone=monotone)
    there = shares([4, 3, 2] if monotone else [2, 4, 3], epsilon=epsilon, monotone=monotone)
    for p, q in zip([*here, *there], [*there, *here], strict=True):
        slack = normal() * (sqrt(p / DRAWS) + exp(epsilon) * sqrt(q / DRAWS))
        assert p <= exp(epsilon) * q + slack
    assert abs(log(here[0] / there[0])) > 0.05  # and the noise is not far more than needed


def test_the_best_wins_where_it_is_clear() -> None:
    """A thousand ahead, with noise of scale 4: another wins with probability below 1e-100."""
    assert all(noisy_best([0, 1000, 0], epsilon=0.5) == 1 for _ in range(100))
    assert all(noisy_best([0, 1000, 0], epsilon=0.5, handicaps=[0, 2000, 1000]) == 0 for _ in range(100))


def test_one_record_moves_the_score_by_nought_or_one(rng) -> None:
    kernel = ColumnKernel(0.25, 2, origin=0.0)

    def score(parts: list[np.ndarray]) -> int:
        sketches = [scumble.Sketch(kernel, 2, rows=6, buckets=32, design="iid").update(part) for part in parts]
        return credible_records(sketches, margin=3)

    for _ in range(30):
        parts = [rng.uniform(size=(int(rng.integers(1, 40)), 2)) for _ in range(3)]
        more = list(parts)
        which = int(rng.integers(0, 3))
        more[which] = np.vstack([parts[which], rng.uniform(size=(1, 2))])
        assert score(more) - score(parts) in (0, 1)


def test_a_kernel_that_sees_something_is_chosen(rng) -> None:
    parts = [rng.uniform(0.0, 0.5, (3000, 2)), rng.uniform(0.5, 1.0, (3000, 2))]
    kernels = [ColumnKernel(100.0, origin=0.0), ColumnKernel(0.2, origin=0.0)]
    assert choose_kernel(kernels, parts, epsilon=0.1, release_epsilon=0.9) is kernels[1]


@pytest.mark.parametrize(
    "options", [{"scores": [], "epsilon": 1.0}, {"scores": [0.5], "epsilon": 1.0}, {"scores": [1], "epsilon": 0.0}]
)
def test_bad_input_is_refused(options: dict) -> None:
    with pytest.raises(scumble.ParameterError):
        noisy_best(**options)
