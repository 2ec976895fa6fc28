"""Releases that noise drowns: what densities are shares of, and answers that are drawn towards their mean."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import scumble
from scumble.errors import ParameterError
from scumble.explore.payload import Content
from scumble.learn import PrivateKDE
from scumble.reading.shrinking import shrunk

KERNEL = scumble.EuclideanKernel(1.0)
POINTS = np.linspace(-1.0, 1.0, 60).reshape(-1, 2)


def _release(records: int, epsilon: float) -> scumble.Release:
    X = np.random.default_rng(1).normal(size=(records, 2))
    sketch = scumble.Sketch(KERNEL, dimensions=2, rows=16, buckets=64)
    return sketch.update(X).release(epsilon=epsilon)


def _with_count(count: int, error: float) -> scumble.Release:
    """A release whose rows add up to its count, which is off by about so much."""
    release = _release(0, 1.0)
    rows = np.zeros(release.counts.shape, np.int64)
    rows[:, 0] = count
    made = release._with(spec=release.spec, counts=rows)
    made.__dict__["_count_and_variance"] = (float(count), error**2)
    return made


@pytest.mark.parametrize(
    ("count", "error", "expected"),
    [(5000, 70.0, 5000.0), (71, 70.0, 71.0), (69, 70.0, 70.0), (-400, 70.0, 70.0), (0, 0.0, 1.0), (0, 0.25, 1.0)],
)
def test_densities_are_shares_of_the_count_or_of_its_error(count: int, error: float, expected: float) -> None:
    release = _with_count(count, error)
    assert release.divisor == expected
    assert np.array_equal(release.density(POINTS), np.clip(release.kernel_sum(POINTS) / expected, 0.0, 1.0))


def test_a_clear_count_is_what_densities_are_shares_of() -> None:
    release = _release(5000, 1.0)
    assert release.divisor == release.count > 20 * release.count_standard_error


def test_who_answers_for_a_release_divides_as_it_does() -> None:
    rows = _release(5000, 1e-3)
    refined = scumble.learn.refine(_release(5000, 1.0), bounds=(-4, 4))
    assert refined.divisor == refined.count
    content = Content()
    content.release(rows)
    assert content.releases[0]["divisor"] == rows.divisor >= rows.count_standard_error
    sketch = scumble.Sketch(KERNEL, dimensions=2, rows=16, buckets=64)
    assert sketch.divisor == 1.0
    assert sketch.update(np.zeros((3, 2))).divisor == 3.0


def test_many_answers_are_drawn_by_the_share_that_noise_has_of_their_spread() -> None:
    """Truths of variance 4, errors of variance 12: a quarter of each distance stays, and of the square errors."""
    rng = np.random.default_rng(3)
    truths = 50.0 + 2.0 * rng.normal(size=200_000)
    values = truths + np.sqrt(12.0) * rng.normal(size=truths.size)
    drawn = shrunk(values, np.full(truths.size, 12.0))
    slope = np.polyfit(values, drawn, 1)[0]
    assert 0.24 < slope < 0.27
    assert 2.9 < np.mean((drawn - truths) ** 2) < 3.1


def test_each_answer_is_drawn_by_its_own_error() -> None:
    values, variances = np.array([10.0, 10.0, -10.0, -10.0]), np.array([0.0, 300.0, 0.0, 300.0])
    drawn = shrunk(values, variances)
    assert drawn[0] == 10.0 and drawn[2] == -10.0 + 0.0
    assert 0.0 < drawn[1] < 10.0


@pytest.mark.parametrize("n", [0, 1])
def test_an_answer_alone_stays_as_it_is(n: int) -> None:
    assert np.array_equal(shrunk(np.full(n, 7.0), np.full(n, 100.0)), np.full(n, 7.0))


def test_one_of_few_is_drawn_less_than_one_of_many() -> None:
    few, many = (shrunk(np.tile([100.0, 0.0], n), np.full(2 * n, 1e4)) for n in (2, 200))
    assert 50.0 < many[0] < few[0] < 100.0


@pytest.mark.parametrize(("records", "epsilon"), [(500, 0.05), (5000, 1.0)])
def test_a_density_is_shrunk_for_those_who_ask(records: int, epsilon: float) -> None:
    release = _release(records, epsilon)
    drawn = shrunk(release.kernel_sum(POINTS), release.standard_error(POINTS) ** 2)
    assert np.allclose(release.density(POINTS, shrink=True), np.clip(drawn / release.divisor, 0.0, 1.0), rtol=1e-9)
    assert np.ptp(drawn) < np.ptp(release.kernel_sum(POINTS))
    assert np.array_equal(release.density(POINTS, shrink=False), release.density(POINTS))


def test_what_is_known_exactly_is_not_drawn() -> None:
    X = np.random.default_rng(0).integers(0, 2, (50, 3)).astype(bool)
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), dimensions=3, bounds=(-1, 2), design="grid").update(X * 1.0)
    clear = sketch.density(X * 1.0)
    assert np.allclose(sketch.density(X * 1.0, shrink=True), clear, rtol=0.1)


@pytest.mark.parametrize("given", ["yes", 1, None, inf])
def test_to_shrink_or_not(given: object) -> None:
    with pytest.raises(ParameterError, match="`shrink` must be True or False"):
        _release(5, 1.0).density(POINTS, shrink=given)  # type: ignore[arg-type]


def test_the_estimator_passes_it_on() -> None:
    """Of 5,000 records, answers are far from both ends of what a density can be: 50 standard errors."""
    X = np.random.default_rng(2).normal(size=(5000, 2))
    kde = PrivateKDE(kernel=KERNEL, epsilon=1.0, bounds=(-4, 4), refine=False).fit(X)
    found = kde.density(POINTS, shrink=True)
    assert np.array_equal(found, kde.release_.density(POINTS, shrink=True))
    assert not np.array_equal(found, kde.density(POINTS))
