"""Thresholds and probabilities out of released histograms of scores, against slow, obvious twins."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scumble
from scumble.density.bundle import Bundle
from scumble.density.draws import masses
from scumble.density.release import Release
from scumble.learn import score_histograms


def histogram(counts: np.ndarray, epsilon: float) -> Release:
    """A release with these very counters: as if the noise had been none."""
    sketch = scumble.Sketch(score_histograms.KERNEL, 1, rows=1, buckets=len(counts), design="iid", seed=1)
    release = sketch.release(epsilon=epsilon)
    return Release(
        release.spec,
        counts[None, :],
        release.privacy,
        noisy_count=int(counts.sum()),
        counter_variance=release.counter_variance,
        count_variance=release.count_variance,
    )


def slow_curve(
    zero: np.ndarray,
    one: np.ndarray,
    variance: float,
    priors: tuple[float, float],
    counts: tuple[float, float],
    se: float,
) -> score_histograms.Curve:
    """Every line and every bent line, one after the other; the cells' middles are 24 to the unit."""
    offset = float(histogram(zero, 1.0).spec.layout.hasher.parameters[0][0, 0][2])
    places = [min(max((cell + 0.5 - offset) / 24, 1 / 48), 47 / 48) for cell in range(25)]
    scores = np.array([2.0 * math.log(place / (1 - place)) for place in places])
    totals = [max(count, 2.0 * se) for count in counts]
    weights = [prior * sum(counts) / count for prior, count in zip(priors, counts, strict=True)]
    held = [w * masses(c[:25].astype(float), variance, n) for w, c, n in zip(weights, (zero, one), totals, strict=True)]
    center = math.log(priors[1] / priors[0])
    height = math.log(weights[1] * totals[1] / (weights[0] * totals[0]))
    noise, usual = math.sqrt(2 * 25 * variance), 0.7 * sum(totals) / (sum(totals) + 3 * math.sqrt(50 * variance))
    side, best = (1 if height <= 0 else -1), (math.inf, 0.0, 0.0, 0)
    shifts = np.linspace(-6.0, 6.0, 49)
    for slope in np.exp(np.linspace(-4.0, 1.0, 21)):
        z = height + shifts[:, None] + slope * (scores - center)
        bent = np.where(side * z <= -1, z, -side / np.where(side * z <= -1, 1, side * z + 2))
        penalty = 0.5 * noise * (0.3 * math.log(slope / usual) ** 2 + 0.05 * shifts**2)
        line, curve = (np.logaddexp(0.0, -v) @ held[1] + np.logaddexp(0.0, v) @ held[0] + penalty for v in (z, bent))
        for k, (there, shift) in enumerate(zip(side * z > 0, shifts, strict=True)):
            share = there.mean()
            gain = side * (held[1][there].sum() - held[0][there].sum())
            spread = (weights[0] ** 2 + weights[1] ** 2) * (25 * variance * share * (1 - share) + (share * se) ** 2)
            spread += sum(w * one[there].sum() for w, one in zip(weights, held, strict=True))
            if there.any() and gain >= math.sqrt(spread):
                best = min(best, (float(line[k]), slope, shift, 0))
            best = min(best, (float(curve[k]), slope, shift, side))
    return score_histograms.Curve(center, height + best[2], float(best[1]), best[3])


def shares(counts: tuple[float, float]) -> tuple[float, float]:
    return counts[0] / sum(counts), counts[1] / sum(counts)


def fitted(
    zero: np.ndarray,
    one: np.ndarray,
    epsilon: float,
    *,
    counts: tuple[float, float],
    priors: tuple[float, float] | None = None,
    se: float = 5.0,
) -> score_histograms.Curve:
    """The curve of such histograms."""
    made = Bundle({0: histogram(zero, epsilon), 1: histogram(one, epsilon)})
    return score_histograms.fitted(made, np.array(priors or shares(counts)), np.array(counts), se)


def counted(scores: np.ndarray) -> np.ndarray:
    sketch = scumble.Sketch(score_histograms.KERNEL, 1, rows=1, buckets=32, design="iid", seed=1)
    return sketch.update(score_histograms.squashed(scores))._counts[0]


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.4, 1.0), (2.5, -0.7)])
def test_log_odds_are_found_where_the_noise_is_small(slope: float, shift: float) -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(0.0, 3.0, 40_000)
    labels = rng.random(40_000) < 1 / (1 + np.exp(-slope * (scores - shift)))
    told = {"counts": (float((~labels).sum()), float(labels.sum()))}
    found = fitted(counted(scores[~labels]), counted(scores[labels]), 3.0, **told)
    asked = np.linspace(shift - 2.0, shift + 2.0, 9)
    # A line of the list within half a step of the slopes (an eighth), of the shifts, and of the cells.
    np.testing.assert_allclose(found(asked), slope * (asked - shift), atol=0.3 * slope + 0.15)
    assert found.side == 0


@pytest.mark.parametrize(("epsilon", "swapped"), [(0.1, True), (1.0, False)])
def test_the_curve_is_the_very_best_of_the_list(epsilon: float, swapped: bool) -> None:
    """Histograms of all sizes: noise decides now more, now less, and either class is the larger one."""
    rng = np.random.default_rng(8)
    cells, sides = np.arange(25), set()
    variance = histogram(np.zeros(32, np.int64), epsilon).counter_variance
    for size, middle in ((100, 12), (2000, 4), (10_000, 18)):
        weights = np.exp(-((cells - middle) ** 2) / 20.0)
        low, high = (
            np.bincount(rng.choice(25, n, p=w / w.sum()), minlength=32)
            for n, w in (
                ((1 + 2 * swapped) * size, weights * np.exp(-cells / 3.0)),
                ((3 - 2 * swapped) * size, weights),
            )
        )
        counts = float(low.sum()), float(high.sum())
        for more in ({"se": 5.0}, {"priors": (0.4, 0.6), "se": 40.0}, {"counts": (counts[0] + 30.0, counts[1])}):
            told = {"counts": counts, "se": 5.0, **more}
            told["priors"] = told.get("priors") or shares(told["counts"])
            found = fitted(low, high, epsilon, **told)
            assert found == pytest.approx(slow_curve(low, high, variance, **told), abs=1e-9)
            sides.add(found.side)
    assert sides >= {0, 1 if swapped else -1}


def test_the_larger_class_is_the_answer_where_a_better_one_is_not_sure() -> None:
    """120 of 200 records in one cell are of the smaller class: sure with little noise, not with much."""
    zero, one = np.zeros(32, np.int64), np.zeros(32, np.int64)
    zero[[8, 16]], one[[8, 16]] = (2000, 80), (200, 120)
    sure, unsure = (fitted(zero, one, epsilon, counts=(2080.0, 320.0)) for epsilon in (3.0, 0.05))
    asked = np.linspace(-8.0, 8.0, 100)
    assert (sure.side, unsure.side) == (0, 1) and sure(asked).max() > 0.0 > unsure(asked).max()
    assert fitted(one, zero, 0.05, counts=(320.0, 2080.0))(asked).min() > 0.0
    for side in (1, -1):
        line, bent = (score_histograms.Curve(0.5, -0.2, 1.3, turn) for turn in (0, side))
        z, found = line(asked), bent(asked)
        assert (np.diff(found) > 0.0).all() and (side * found < 0.0).all(), "it ranks as a straight line does"
        np.testing.assert_array_equal(found[side * z <= -1.0], z[side * z <= -1.0])


def test_a_rare_class_is_not_given_more_than_its_due_and_keeps_a_chance() -> None:
    """Scores that tell nothing, and 2 % of one class; and a count of nothing, known to 200 records."""
    rng, empty = np.random.default_rng(7), np.zeros(32, np.int64)
    zero, one = (counted(rng.normal(1.0, 2.0, n)) for n in (4900, 100))
    found = fitted(zero, one, 0.3, counts=(4900.0, 100.0))
    assert (found(np.linspace(-20.0, 20.0, 99)) < 0.0).all()
    found = fitted(empty, empty, 0.1, counts=(900.0, 100.0))
    log_odds = found(np.linspace(-8.0, 8.0, 9))
    assert found.slope < 0.2 and (log_odds < 0.0).all() and abs(log_odds[4] - math.log(1 / 9)) < 0.5
    found = fitted(counted(rng.normal(-2.0, 1.0, 5000)), empty, 1.0, counts=(5000.0, 1.0), se=200.0)
    assert found(np.array([-2.0]))[0] > math.log(100 / 5000)


def by_roots(release: Release, X: np.ndarray, epsilon: float) -> scumble.Sketch:
    """The records counted by the roots of their kernel sums."""
    return score_histograms.counted(*score_histograms.roots(release, X), epsilon, release.count)


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
        found = score_histograms.of_counted(scores, len(X), share)
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
    monkeypatch.setattr(score_histograms, "Sketch", spy)
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


@pytest.mark.parametrize("count", [-5, 30])
def test_thresholds_of_grids_whose_counters_do_not_add_up(count: int) -> None:
    """What the counters have more than the count is taken off evenly; fewer than one record count as one."""
    rng = np.random.default_rng(6)
    for _ in range(15):
        counts = rng.integers(-2, 4, 9)
        release = grid_release(counts, count)
        sums = release._reader().field.at_centers()
        total = max(float(count), 1.0)
        order = sorted(range(9), key=lambda cell: -sums[cell])
        for share in (0.1, 0.4, 0.8):
            seen, below = 0.0, 0
            for cell in order:
                seen += counts[cell] - (counts.sum() - total) / 9
                below += seen < (1 - share) * total - 1e-12
            assert score_histograms.on_grid(release, share) == pytest.approx(sums[order[below]], rel=1e-9)


def test_no_records_are_counted_as_one() -> None:
    sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 1, rows=40, buckets=64, design="iid", seed=3)
    release = sketch.release(epsilon=20.0, neighbors="replace")
    scores = by_roots(release, np.zeros((3, 1)), 1.0).release(epsilon=1.0, count_share=0)
    assert release.count == 0.0 and float(scores.spec.bounds[1][0]) == 1.0
    full = grid_release(np.array([950, *[10] * 8]), 1030)
    for histogram, total, records in ((scores, 1.0, 0.0), (full, 1030.0, 1030.0)):
        grid = histogram.spec.layout.grid
        edges = grid.start[0] + grid.step[0] * np.arange(histogram.buckets + 1)
        mass = masses(histogram.counts[0].astype(float), histogram.counter_variance, total)
        for share in (0.0005, 0.01, 0.1, 0.5):
            place = np.interp(share * mass.sum(), np.append(0.0, np.cumsum(mass)), edges)
            assert score_histograms.of_counted(histogram, records, share) == pytest.approx(place, rel=1e-9)


def test_the_last_share_of_a_grid_is_its_sparsest_cell() -> None:
    release = grid_release(np.array([3, 5, 9, 40, 70, 31, 9, 5, 4]), 176)
    assert score_histograms.on_grid(release, 1e-6) == release._reader().field.at_centers().min()
