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
from scumble.reading.masses import masses
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
        counter_variance=release.counter_variance,
        count_variance=release.count_variance,
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
    noise = math.sqrt(2 * 32 * zero.counter_variance)
    larger = max(zero.counts.sum(), one.counts.sum())
    cells, places = np.array(list(centres())), np.array(list(centres().values()))
    zeros, ones = zero.counts[0, cells], one.counts[0, cells]
    best = (math.inf, 0.0, 0.0)
    for slope, shift in product(np.exp(np.linspace(-1.5, 1.5, 13)), np.linspace(-8.0, 8.0, 81)):
        z = slope * (2.0 * np.log(places / (1 - places)) - shift)
        loss = ones @ np.logaddexp(0.0, -z) + zeros @ np.logaddexp(0.0, z)
        loss += 0.5 * noise * (3.0 * math.log(slope) ** 2 + 0.5 * shift**2)
        if ones[z > 0.0].sum() + zeros[z <= 0.0].sum() >= larger:
            best = min(best, (float(loss), float(slope), float(shift)))
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
    assert abs(math.log(found[0] / wanted[0])) < 0.26 and abs(found[1] - wanted[1]) < 0.21


def exact_fit(zero: np.ndarray, one: np.ndarray, variance: float) -> tuple[float, float]:
    """The same with the cells' own middles: 24 to the unit, those at the ends no further out than half a cell."""
    offset = float(histogram(zero, 1.0).spec.layout.hasher.parameters[0][0, 0][2])
    places = [min(max((cell + 0.5 - offset) / 24, 1 / 48), 47 / 48) for cell in range(32)]
    noise = math.sqrt(2 * 32 * variance)
    scores = np.array([2.0 * math.log(place / (1 - place)) for place in places])
    best = (math.inf, 0.0, 0.0)
    for slope, shift in product(np.exp(np.linspace(-1.5, 1.5, 13)), np.linspace(-8.0, 8.0, 81)):
        z = slope * (scores - shift)
        loss = np.logaddexp(0.0, -z) @ one + np.logaddexp(0.0, z) @ zero
        loss += 0.5 * noise * (3.0 * math.log(slope) ** 2 + 0.5 * shift**2)
        if one[scores > shift].sum() + zero[scores <= shift].sum() >= max(zero.sum(), one.sum()):
            best = min(best, (float(loss), float(slope), float(shift)))
    return best[1:]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_slope_and_shift_are_the_very_best_of_the_list(epsilon: float) -> None:
    """Histograms of all sizes, so the price of going away from (1, 0) decides now more, now less."""
    rng = np.random.default_rng(8)
    cells = np.arange(25)
    for size in (30, 100, 300, 1000):
        for middle in (4, 12, 20):
            weights = np.exp(-((cells - middle) ** 2) / 20.0)
            zero, one = (
                np.bincount(rng.choice(25, size, p=w / w.sum()), minlength=32)
                for w in (weights * np.exp(-cells / 9.0), weights)
            )
            made = [histogram(counts, epsilon) for counts in (zero, one)]
            found = calibration.fitted(Bundle({0: made[0], 1: made[1]}))
            assert found == pytest.approx(exact_fit(zero, one, made[0].counter_variance), abs=1e-12)


@pytest.mark.parametrize("end", [0, 24])
def test_the_cells_at_the_ends_lie_half_a_cell_inside(end: int) -> None:
    """Both classes there, one three times the other: the slope and shift depend on where that is."""
    for zero, one in ((9000, 3000), (3000, 9000), (2000, 40)):
        counts = np.zeros((2, 32), np.int64)
        counts[:, end] = zero, one
        counts[:, 12] = 500
        made = [histogram(row, 3.0) for row in counts]
        found = calibration.fitted(Bundle({0: made[0], 1: made[1]}))
        assert found == pytest.approx(exact_fit(*counts, made[0].counter_variance), abs=1e-12)


@pytest.mark.parametrize("side", [0, 1])
def test_shifts_go_far(side: int) -> None:
    """All of one class: further than the noise holds back."""
    counts = np.zeros((2, 32), np.int64)
    counts[side, 12] = 10**6
    made = [histogram(row, 3.0) for row in counts]
    assert calibration.fitted(Bundle({0: made[0], 1: made[1]}))[1] * (1 if side == 0 else -1) > 2.5


def test_the_histogram_has_24_cells_from_0_to_1() -> None:
    assert calibration.KERNEL.settings() == {"bandwidth": 1 / 24, "origin": 0.0}


def test_noise_alone_leaves_the_scores_as_they_are() -> None:
    empty = histogram(np.zeros(32, np.int64), 0.1)
    assert calibration.fitted(Bundle({0: empty, 1: histogram(np.zeros(32, np.int64), 0.1)})) == (1.0, 0.0)


# ---- thresholds ----


def by_roots(release: Release, X: np.ndarray, epsilon: float) -> scumble.Sketch:
    """The records counted by the roots of their kernel sums."""
    return quantiles.counted(*quantiles.roots(release, X), epsilon, release.count)


def test_the_signed_root() -> None:
    np.testing.assert_allclose(quantiles.root(np.array([-9.0, 0.0, 16.0])), [-3.0, 0.0, 4.0])


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_the_threshold_of_a_histogram_of_scores(share: float) -> None:
    """Where the masses' running sum crosses share · total, linear within a cell."""
    sketch = scumble.Sketch(scumble.EuclideanKernel(9.0), 1, buckets=30, bounds=(-3.0, 6.0), design="grid")
    sketch.update(np.random.default_rng(2).uniform(-2.5, 5.5, (3000, 1)))
    scores = sketch.release(epsilon=3.0, count_share=0)
    grid = scores.spec.layout.grid
    mass = masses(scores.counts[0].astype(float), scores.counter_variance, 3000.0)
    target, seen = share * mass.sum(), 0.0
    for cell, weight in enumerate(mass):
        if seen + weight >= target:
            place = grid.start[0] + grid.step[0] * (cell + (target - seen) / weight)
            break
        seen += weight
    assert quantiles.of_counted(scores, 3000.0, share) == pytest.approx(place, rel=1e-9)


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
    scores = by_roots(release, X, 500.0).release(epsilon=500.0, count_share=0)
    low, high = (float(end[0]) for end in scores.spec.bounds)
    assert high == pytest.approx(math.sqrt(release.count))
    assert low == pytest.approx(-math.sqrt(4.0 * math.sqrt(release._reader().noise_variance)))
    # At ε = 500 the noise is a count or so a cell: the histogram is that of the records' own kernel sums.
    sums = release.kernel_sum(X)
    order = np.sort(np.sign(sums) * np.sqrt(np.abs(sums)))
    for share in (0.1, 0.5):
        wanted = order[int(share * len(order))]
        found = quantiles.of_counted(scores, len(X), share)
        assert found == pytest.approx(wanted, abs=0.35)


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
    by_roots(release, np.zeros((3, 1)), epsilon)
    assert release.count == 2000 and asked == [cells]


def grid_release(counts: np.ndarray, count: int) -> Release:
    """A release of a grid of nine cells with these very counters, of so many records."""
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, buckets=12, bounds=(-4.0, 4.0), design="grid")
    release = sketch.release(epsilon=1.0)
    assert release.counts.shape == (1, 9)
    return Release(
        release.spec, counts[None, :], release.privacy, noisy_count=count, counter_variance=2.0, count_variance=0.0
    )


@pytest.mark.parametrize("count", [-5, 0, 1, 30])
def test_thresholds_of_grids_whose_counters_do_not_add_up(count: int) -> None:
    """What the counters have more than the count is taken off evenly; fewer than one record count as one."""
    rng = np.random.default_rng(6)
    for _ in range(30):
        counts = rng.integers(-2, 4, 9)
        release = grid_release(counts, count)
        sums = release._reader().field.at_centres()
        total = max(float(count), 1.0)
        order = sorted(range(9), key=lambda cell: -sums[cell])
        for share in (0.1, 0.4, 0.8):
            seen, below = 0.0, 0
            for cell in order:
                seen += counts[cell] - (counts.sum() - total) / 9
                below += seen < (1 - share) * total - 1e-12
            assert quantiles.on_grid(release, share) == pytest.approx(sums[order[below]], rel=1e-9)


def test_the_last_share_of_a_grid_is_its_sparsest_cell() -> None:
    release = grid_release(np.array([3, 5, 9, 40, 70, 31, 9, 5, 4]), 176)
    assert quantiles.on_grid(release, 1e-6) == release._reader().field.at_centres().min()


@pytest.mark.parametrize("tile", [1, 7, 20, 1000])
def test_every_record_is_counted_by_its_kernel_sum(monkeypatch: pytest.MonkeyPatch, tile: int) -> None:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=40, buckets=64, design="iid", seed=3)
    X = np.random.default_rng(1).normal(size=(20, 1))
    release = sketch.update(X).release(epsilon=20.0)
    monkeypatch.setattr(quantiles, "TILE", tile)
    counted = by_roots(release, X, 1.0)
    alone = [by_roots(release, X[k : k + 1], 1.0)._counts for k in range(20)]
    assert counted.count == 20
    np.testing.assert_array_equal(counted._counts, sum(alone))


def test_no_records_are_counted_as_one() -> None:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=40, buckets=64, design="iid", seed=3)
    release = sketch.release(epsilon=20.0, neighbors="replace")
    assert release.count == 0.0
    counted = by_roots(release, np.zeros((3, 1)), 1.0)
    scores = counted.release(epsilon=1.0, count_share=0)
    assert float(scores.spec.bounds[1][0]) == 1.0
    grid = scores.spec.layout.grid
    edges = grid.start[0] + grid.step[0] * np.arange(scores.buckets + 1)
    mass = masses(scores.counts[0].astype(float), scores.counter_variance, 1.0)
    for share in (0.01, 0.1, 0.5):
        place = np.interp(share, np.append(0.0, np.cumsum(mass)), edges)
        assert quantiles.of_counted(scores, 0.0, share) == pytest.approx(place, rel=1e-9)
    full = grid_release(np.array([950, *[10] * 8]), 1030)
    start, step = full.spec.layout.grid.start[0], full.spec.layout.grid.step[0]
    mass = masses(full.counts[0].astype(float), 2.0, 1030.0)
    for share in (0.0005, 0.05):  # within the first cell
        place = start + step * share * mass.sum() / mass[0]
        assert quantiles.of_counted(full, 1030.0, share) == pytest.approx(place, rel=1e-9)


def test_a_rare_class_is_not_given_more_than_its_due() -> None:
    """Scores that tell nothing, and 2 % of one class: all records go to the other."""
    rng = np.random.default_rng(7)
    made = []
    for n in (4900, 100):
        sketch = scumble.Sketch(calibration.KERNEL, 1, rows=1, buckets=32, design="iid", seed=1)
        made.append(histogram(sketch.update(calibration.squashed(rng.normal(1.0, 2.0, n)))._counts[0], 0.3))
    slope, shift = calibration.fitted(Bundle({0: made[0], 1: made[1]}))
    assert slope > 0.0 and shift > 5.0
