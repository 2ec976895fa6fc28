"""PrivateNeighbors: counts, crowds with both error rates, and what is nearest."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from rates import most
from scumble.learn.neighbors import PrivateNeighbors

pytestmark = pytest.mark.filterwarnings("ignore::scumble.errors.CuratorWarning")  # bounds that cut, on purpose


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    return np.clip(np.random.default_rng(1).normal(5.0, 1.0, (20_000, 2)), 0.0, 10.0)


@pytest.mark.parametrize("size", [{}, {"rows": 512, "buckets": 512}], ids=["grid", "rows"])
def test_soft_counts_and_their_intervals(table: np.ndarray, size: dict) -> None:
    """An interval misses with probability 1e-9, one of 200 with 2e-7; relative errors of 3 % are usual on rows."""
    model = PrivateNeighbors(radius=1.0, bounds=(0, 10), **size).fit(table)
    Q = table[:200]
    exact = model.release_.kernel(Q, table).sum(axis=1)
    found = model.count_within(Q, confidence=1 - 1e-9)
    assert np.all((found.lower <= exact) & (exact <= found.upper))
    assert np.mean(np.abs(found.value / exact - 1.0)) < 0.1


def test_any_radius_on_a_grid_and_one_on_rows(table: np.ndarray) -> None:
    grid = PrivateNeighbors(radius=1.0, bounds=(0, 10)).fit(table)
    for radius in (0.5, 2.0):
        exact = PrivateNeighbors(radius=radius, bounds=(0, 10)).fit(table).release_.kernel([[5.0, 5.0]], table).sum()
        assert grid.count_within([[5.0, 5.0]], radius).value[0] == pytest.approx(exact, rel=0.05)
    rows = PrivateNeighbors(radius=1.0, bounds=(0, 10), rows=16, buckets=64).fit(table)
    rows.count_within([[5.0, 5.0]], 1.0)
    with pytest.raises(scumble.ParameterError, match="only"):
        rows.count_within([[5.0, 5.0]], 2.0)


def test_both_error_rates_are_kept() -> None:
    """Crowds that the release can just decide, in 40 releases of one query each side.

    If the true rate equals the stated one, the bound on a binomial number is left with probability 1e-9.
    """
    X, rate = np.full((1, 2), 0.5), 0.2
    wrong, total = np.zeros(2), 0
    for _ in range(40):
        n = 400
        model = PrivateNeighbors(epsilon=0.1, bounds=(0, 1), radius=0.1, rows=16, buckets=64)
        model.fit(np.repeat(X, n, axis=0))
        crowd = float(model.smallest_crowd(X, error_rate=rate)[0])
        if not crowd <= n:  # cannot be decided: nothing is promised
            continue
        total += 1
        wrong[0] += not model.is_near(X, crowd=n, error_rate=rate)[0]
        wrong[1] += model.is_near(X, crowd=2 * n, error_rate=rate)[0]
    assert total > 15
    assert np.all(wrong <= most(total, rate))


def test_a_crowd_too_small_to_tell_is_refused(table: np.ndarray) -> None:
    model = PrivateNeighbors(epsilon=0.01, radius=1.0, bounds=(0, 10), rows=64, buckets=64).fit(table[:100])
    Q = np.stack(np.meshgrid(np.arange(1.0, 10.0), np.arange(1.0, 10.0)), axis=-1).reshape(-1, 2)
    # Each of 81 queries is decided by chance with probability 0.1 at most; all of them together, never.
    with pytest.raises(scumble.ParameterError, match=r"crowd=\d+"):
        model.is_near(Q, crowd=1.0)
    assert model.is_near([[5.0, 5.0]]).shape == (1,)


def test_the_nearest_of_many_groups(rng: np.random.Generator) -> None:
    """With all defaults, in eight columns: right in 99 % of the benchmark's clear cases, so 95 % leaves room."""
    centers = rng.uniform(0.1, 0.9, (15, 8))
    tables = [center + rng.normal(0.0, 0.05, (2000, 8)) for center in centers]
    models = [PrivateNeighbors(bounds=(0, 1), random_state=3).fit(X) for X in tables]
    Q = rng.uniform(size=(400, 8))
    distance = np.linalg.norm(Q[:, None] - centers[None], axis=2)
    order = np.sort(distance, axis=1)
    clear = order[:, 1] > 1.2 * order[:, 0]
    groups = {f"g{i}": model.release_ for i, model in enumerate(models)}
    found, densities = models[0].nearest(Q[clear], 3, groups=groups)
    truth = np.array([f"g{i}" for i in distance.argmin(axis=1)])
    assert clear.sum() > 50 and np.mean(found[:, 0] == truth[clear]) >= 0.95
    assert found.shape == (clear.sum(), 3) and np.all(np.diff(densities, axis=1) <= 0)


def test_a_public_catalogue(table: np.ndarray) -> None:
    model = PrivateNeighbors(radius=0.5, bounds=(0, 10)).fit(table)
    catalogue = np.array([[5.0, 5.0], [4.0, 5.0], [9.5, 9.5], [6.0, 6.0]])
    found, distance = model.nearest([[9.0, 9.0], [4.1, 5.0]], 4, catalogue=catalogue)
    assert found.tolist() == [[3, 0, 1, -1], [1, 0, 3, -1]]  # there is nobody near (9.5, 9.5)
    np.testing.assert_allclose(distance[0, 0], np.sqrt(18.0))
    assert np.isinf(distance[0, 3])


def test_bad_questions(table: np.ndarray) -> None:
    model, other = (PrivateNeighbors(radius=radius, bounds=(0, 10)).fit(table[:100]) for radius in (0.5, 0.7))
    Q = [[5.0, 5.0]]
    for wrong in ({}, {"groups": [model.release_], "k": 5}, {"groups": [model.release_], "catalogue": Q}):
        with pytest.raises(scumble.ParameterError):
            model.nearest(Q, **wrong)
    with pytest.raises(scumble.DataError, match="kernels"):
        model.nearest(Q, groups=[model.release_, other.release_])
    for bad in (0.0, 0.5, 2.0):
        with pytest.raises(scumble.ParameterError, match="error_rate"):
            model.is_near(Q, error_rate=bad)
    hamming = scumble.Sketch(scumble.HammingKernel(), 2, rows=8, buckets=16).release(1.0)
    with pytest.raises(scumble.ParameterError, match="Euclidean or Manhattan"):
        PrivateNeighbors.from_release(hamming)
