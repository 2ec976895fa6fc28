"""Releases that noise drowns: what densities are shares of, and answers that are drawn toward their mean."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from scumble.density.answers import shrunk
from scumble.show.pages import Content

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


def _drowned(sketch: scumble.Sketch) -> scumble.Release:
    """A release with noise of a standard error of 20 and more on every counter, all of which happen to be near 5."""
    release = sketch.release(epsilon=0.05)
    return release._with(spec=release.spec, counts=np.random.default_rng(5).integers(2, 9, release.counts.shape))


@pytest.mark.parametrize(
    ("count", "error", "expected"),
    [(5000, 70.0, 5000.0), (71, 70.0, 71.0), (69, 70.0, 70.0), (-400, 70.0, 70.0), (0, 0.0, 1.0), (0, 0.25, 1.0)],
)
def test_densities_are_shares_of_the_count_or_of_its_error(count: int, error: float, expected: float) -> None:
    release = _with_count(count, error)
    assert release.divisor == expected
    expected_each = np.clip(release.kernel_sum(POINTS) / expected, 0.0, 1.0)
    assert np.array_equal(release.density(POINTS, shrink=False), expected_each)


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
    """Truths of variance 4, errors of variance 12: a quarter of each distance stays, and of the square errors.

    A little more, as one in forty would move by more than 1.96 standard errors.
    """
    rng = np.random.default_rng(3)
    truths = 50.0 + 2.0 * rng.normal(size=200_000)
    values = truths + np.sqrt(12.0) * rng.normal(size=truths.size)
    drawn = shrunk(values, np.full(truths.size, 12.0))
    slope = np.polyfit(values, drawn, 1)[0]
    assert 0.25 < slope < 0.29
    assert 2.9 < np.mean((drawn - truths) ** 2) < 3.2


@pytest.mark.parametrize(("noise", "drawn"), [(90.0, False), (110.0, True)])
def test_answers_that_differ_by_more_than_their_noise_stay(noise: float, drawn: bool) -> None:
    """Of very many, whose variance is 200: truths have 110 of it with a noise of 90, and 90 with 110."""
    values = np.tile([-1.0, 1.0], 500_000) * np.sqrt(200.0) + 1000.0
    assert np.array_equal(shrunk(values, np.full(values.size, noise)), values) is not drawn


def test_none_leaves_its_interval() -> None:
    """And what stands out by ten standard errors goes on to stand out."""
    values = np.append(np.zeros(400), [1000.0, -1000.0])
    drawn = shrunk(values, np.full(402, 1e4))
    assert np.abs(drawn - values).max() <= 1.96 * 100.0
    assert drawn[-2] > 800.0 > 100.0 > np.abs(drawn[:-2]).max()


def test_a_density_that_noise_drowns_is_shrunk() -> None:
    release = _drowned(scumble.Sketch(KERNEL, dimensions=2, rows=16, buckets=64))
    drawn = shrunk(release.kernel_sum(POINTS), release._estimate(POINTS).variance)
    found, each = release.density(POINTS), release.density(POINTS, shrink=False)
    assert np.array_equal(found, np.clip(drawn / release.divisor, 0.0, 1.0))
    assert np.array_equal(each, np.clip(release.kernel_sum(POINTS) / release.divisor, 0.0, 1.0))
    assert not np.array_equal(drawn, release.kernel_sum(POINTS))
    lower, upper = release.interval(POINTS)
    assert np.all((lower <= drawn) & (drawn <= upper))


def test_what_is_known_exactly_is_not_drawn() -> None:
    X = np.random.default_rng(0).integers(0, 2, (50, 3)).astype(bool)
    sketch = scumble.Sketch(
        scumble.EuclideanKernel(1.0), dimensions=3, bounds=(-1, 2), design="grid", buckets=512
    ).update(X * 1.0)
    assert np.array_equal(sketch.density(X * 1.0), sketch.density(X * 1.0, shrink=False))
