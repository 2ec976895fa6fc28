"""Thresholds and probabilities out of released histograms of scores, against slow, obvious twins."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest

import scumble
from scumble.bundle import Bundle
from scumble.learn import calibration, quantiles
from scumble.learn.sampling import masses
from scumble.release import Release

# ---- probabilities ----


def histogram(counts: np.ndarray, epsilon: float) -> Release:
    """A release with these very counters: as if the noise had been none."""
    sketch = scumble.Sketch(calibration.KERNEL, 1, rows=1, buckets=len(counts), design="iid", seed=1)
    release = sketch.release(epsilon=epsilon)
    return Release(
        release.spec,
        counts[None, :],
        release.privacy,
        noisy_count=int(counts.sum()),
        counter_variance=release._counter_variance,
        count_variance=release._count_variance,
    )


@cache
def centres() -> dict[int, float]:
    """The middle of each cell, found by asking the sketch where 480 places fall."""
    found: dict[int, list[float]] = {}
    for place in (np.arange(480) + 0.5) / 480:
        probe = scumble.Sketch(calibration.KERNEL, 1, rows=1, buckets=32, design="iid", seed=1)
        found.setdefault(int(np.argmax(probe.update([[place]])._counts[0])), []).append(place)
    return {cell: (places[0] + places[-1]) / 2 for cell, places in found.items()}


def slow_fit(zero: Release, one: Release) -> tuple[float, float]:
    """Every slope and shift, every cell, one after the other."""
    penalty = 0.5 * 3.0 * math.sqrt(2 * 32 * zero._counter_variance)
    best = (math.inf, 0.0, 0.0)
    for slope, shift in product(np.exp(np.linspace(-1.5, 1.5, 13)), np.linspace(-2.0, 2.0, 41)):
        loss = penalty * (math.log(slope) ** 2 + shift**2)
        for cell, place in centres().items():
            z = slope * (2.0 * math.log(place / (1 - place)) - shift)
            loss += one.counts[0, cell] * math.log1p(math.exp(-z)) + zero.counts[0, cell] * math.log1p(math.exp(z))
        best = min(best, (loss, float(slope), float(shift)))
    return best[1:]


def test_scores_are_squashed_to_one_column_between_0_and_1() -> None:
    scores = np.array([-1e9, -60.0, -2.0, 0.0, 2.0, 60.0, 1e9])
    found = calibration.squashed(scores)
    assert found.shape == (7, 1)
    expected = [1 / (1 + math.exp(-min(max(s / 2, -30), 30))) for s in scores]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-14)


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.4, 1.0), (2.5, -0.7)])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_slope_and_shift_are_the_most_likely_ones(slope: float, shift: float, epsilon: float) -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(0.0, 3.0, 4000)
    labels = rng.random(4000) < 1 / (1 + np.exp(-slope * (scores - shift)))
    made = []
    for label in (False, True):
        sketch = scumble.Sketch(calibration.KERNEL, 1, rows=1, buckets=32, design="iid", seed=1)
        made.append(histogram(sketch.update(calibration.squashed(scores[labels == label]))._counts[0], epsilon))
    found = calibration.fitted(Bundle({0: made[0], 1: made[1]}))
    wanted = slow_fit(*made)
    # The twin knows the cells' centres to 1/960 only: the next slope or shift of the list may win by a hair.
    assert abs(math.log(found[0] / wanted[0])) < 0.26 and abs(found[1] - wanted[1]) < 0.11


def test_noise_alone_leaves_the_scores_as_they_are() -> None:
    empty = histogram(np.zeros(32, np.int64), 0.1)
    assert calibration.fitted(Bundle({0: empty, 1: histogram(np.zeros(32, np.int64), 0.1)})) == (1.0, 0.0)


# ---- thresholds ----


def test_the_signed_root() -> None:
    np.testing.assert_allclose(quantiles.root(np.array([-9.0, 0.0, 16.0])), [-3.0, 0.0, 4.0])


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_the_threshold_of_a_histogram_of_scores(share: float) -> None:
    """Where the masses' running sum crosses share · total, linear within a cell; squared back."""
    sketch = scumble.Sketch(scumble.EuclideanKernel(9.0), 1, buckets=30, bounds=(-3.0, 6.0), design="grid")
    sketch.update(np.random.default_rng(2).uniform(-2.5, 5.5, (3000, 1)))
    scores = sketch.release(epsilon=3.0, count_share=0)
    grid = scores.spec.layout.grid
    mass = masses(scores.counts[0].astype(float), scores._counter_variance, 3000.0)
    target, seen = share * mass.sum(), 0.0
    for cell, weight in enumerate(mass):
        if seen + weight >= target:
            place = grid.start[0] + grid.step[0] * (cell + (target - seen) / weight)
            break
        seen += weight
    assert quantiles.of_counted(scores, 3000.0, share) == pytest.approx(math.copysign(place**2, place), rel=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_the_threshold_of_a_grid(share: float) -> None:
    """Cells in the order of their kernel sums, the densest first, until 1 − share of the records lie in them."""
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, buckets=40, bounds=(-4.0, 4.0), design="grid")
    release = sketch.update(np.random.default_rng(3).normal(size=(4000, 1))).release(epsilon=3.0)
    sums = release._reader().field.at_centres()
    counts = release.counts.ravel()
    extra = (counts.sum() - release.count) / len(counts)
    seen, below = 0.0, 0
    for cell in sorted(range(len(sums)), key=lambda cell: -sums[cell]):
        seen += counts[cell] - extra
        below += seen < (1 - share) * release.count
    ordered = sorted(sums, reverse=True)
    assert quantiles.on_grid(release, share) == pytest.approx(ordered[min(below, len(sums) - 1)], rel=1e-12)


def test_records_are_counted_by_the_roots_of_their_kernel_sums() -> None:
    """The histogram is a release of its own, with the budget it was given, over public bounds."""
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=40, buckets=64, design="iid", seed=3)
    X = np.random.default_rng(1).normal(size=(2000, 1))
    release = sketch.update(X).release(epsilon=2.0)
    scores = quantiles.counted(release, X, epsilon=500.0).release(epsilon=500.0, count_share=0)
    low, high = (float(end[0]) for end in scores.spec.bounds)
    assert high == pytest.approx(math.sqrt(release.count))
    assert low == pytest.approx(-math.sqrt(4.0 * math.sqrt(release._reader().noise_variance)))
    # At ε = 500 the noise is a count or so a cell: the histogram is that of the records' own kernel sums.
    sums = release.kernel_sum(X)
    order = np.sort(np.sign(sums) * np.sqrt(np.abs(sums)))
    for share in (0.1, 0.5):
        wanted = order[int(share * len(order))]
        found = quantiles.of_counted(scores, len(X), share)
        assert math.sqrt(abs(found)) * np.sign(found) == pytest.approx(wanted, abs=0.35)


@pytest.mark.parametrize(("epsilon", "cells"), [(0.001, 16), (0.1, 56), (2.0, 252), (500.0, 1024)])
def test_as_many_cells_as_the_budget_bears(monkeypatch: pytest.MonkeyPatch, epsilon: float, cells: int) -> None:
    """4√(εN), but from 16 to 1024."""
    asked = []

    def spy(*given: object, **named: object) -> scumble.Sketch:
        asked.append(named["buckets"])
        return scumble.Sketch(*given, **named)  # type: ignore[arg-type]

    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=8, buckets=16, design="iid")
    release = sketch.update(np.zeros((2000, 1))).release(epsilon=100.0, neighbors="replace")
    monkeypatch.setattr(quantiles, "Sketch", spy)
    quantiles.counted(release, np.zeros((3, 1)), epsilon=epsilon)
    assert release.count == 2000 and asked == [cells]
