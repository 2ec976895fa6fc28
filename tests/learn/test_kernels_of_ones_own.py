"""Synthetic records, modes and refined answers ask what a kernel reads, not who made it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

import scumble
from scumble.kernels import ColumnKernel, FoldedKernel, Kernel
from scumble.learn import PrivateModes, refine, sample
from scumble.learn.refining import Refined
from scumble.reading.likeness import reach

PAGE = Path(__file__).parents[2] / "docs" / "add-a-kernel.md"
CENTRES = {"clock": np.array([[21.0], [9.0]]), "column": np.array([[5.0, 18.0], [17.0, 9.0]])}
BOUNDS = (0.0, 24.0)


@pytest.fixture(scope="module")
def clock() -> Any:
    """The kernel that the documentation writes."""
    found: dict[str, Any] = {}
    source = re.search(r"```python title=\"clock.py\"\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert source is not None
    exec(source[1], found)
    yield found["ClockKernel"]
    del Kernel.registry["clock"]


@pytest.fixture(scope="module", params=["clock", "column"])
def known(request: pytest.FixtureRequest, clock: Any) -> tuple[np.ndarray, np.ndarray, Kernel]:
    """Two groups of records, six and four tenths of them; where they are; and a kernel for them."""
    rng, centres = np.random.default_rng(1), CENTRES[request.param]
    X = np.repeat(centres, [6000, 4000], axis=0) + rng.normal(0.0, 0.7, (10_000, centres.shape[1]))
    return X, centres, clock(steps=8, power=2) if request.param == "clock" else ColumnKernel(3.0, 2)


@pytest.fixture
def release(known: tuple[np.ndarray, np.ndarray, Kernel]) -> scumble.Release:
    X, _, kernel = known
    return scumble.Sketch(kernel, X.shape[1], rows=64, buckets=128).update(X).release(20.0)


def test_synthetic_records_follow_the_table(release: scumble.Release, known: Any) -> None:
    """Noise of standard deviation 9 a counter, under thousands: the distance is the hashes', 0.02 to 0.07 seen.

    Uniform points have 0.3 or more.
    """
    X = known[0]
    Y = sample(release, 4000, 0, bounds=BOUNDS)
    assert max(ks_2samp(X[:, j], Y[:, j]).statistic for j in range(X.shape[1])) < 0.15


def test_modes_are_found_and_none_invented(release: scumble.Release, known: Any) -> None:
    """The kernel decides what a mode is: where columns are averaged, a place of one group in one column and of the
    other group in the other is also one, though lower. Each that is found is one of the exact density."""
    X, centres, kernel = known
    model = PrivateModes.from_release(release, bounds=BOUNDS, starts=16)
    apart = np.linalg.norm(model.modes_[:2, None] - centres[None], axis=-1)
    assert apart.min(axis=0).max() < 1.0  # a third of a step
    for mode in model.modes_:
        around = np.vstack([mode + side * 2.5 * axis for axis in np.eye(len(mode)) for side in (-1, 1)])
        assert kernel([mode], X).sum() > kernel(around, X).sum(axis=1).max()
    with pytest.raises(scumble.DataError, match="method='climb'"):
        PrivateModes.from_release(release, bounds=BOUNDS, starts=4, method="lp")


def test_answers_are_refined(release: scumble.Release, known: Any) -> None:
    X = known[0]
    Q = X[::50]
    exact = release.kernel(Q, X).sum(axis=1)
    refined = refine(release, BOUNDS)
    assert isinstance(refined, Refined)
    plain, better = (np.abs(one.kernel_sum(Q) - exact).mean() for one in (release, refined))
    assert better < plain


def test_a_kernel_of_ones_own_that_reads_categories_has_no_places(clock: Any) -> None:
    class Town(clock):
        name = "test-town"
        reads = "category"

    towns = scumble.Sketch(Town(columns=["town"]) * clock(columns=["hour"]), columns=["town", "hour"], rows=64)
    release = towns.update({"town": ["Ulm"] * 50, "hour": [3.0] * 50}).release(1.0)
    with pytest.raises(scumble.DataError, match="the test-town kernel"):
        sample(release, 5, bounds=BOUNDS)
    with pytest.raises(scumble.DataError, match="Modes need numeric columns"):
        PrivateModes.from_release(release, bounds=BOUNDS)
    assert refine(release, BOUNDS) is release
    del Kernel.registry["test-town"]


def test_a_record_and_its_mirror_image_are_places_too() -> None:
    X = np.repeat([[3.0, 1.0]], 5000, axis=0)
    release = scumble.Sketch(FoldedKernel(4), 2, rows=64).update(X).release(20.0)
    Y = sample(release, 500, 0, bounds=(-4, 4))
    assert np.median(np.abs(np.arctan(Y[:, 1] / Y[:, 0]) - np.arctan(1 / 3))) < 0.2


@pytest.mark.parametrize("columns", [1, 3, 10])
@pytest.mark.parametrize("level", [0.3, 0.5])
def test_the_reach_of_a_kernel_that_averages_over_columns(columns: int, level: float) -> None:
    """k falls by x/(w d) until x = w, and no further: the level is of that way. Steps of the search are 12 %."""
    release = scumble.Sketch(ColumnKernel(3.0), columns, rows=4, buckets=4).release(1.0)
    low, high = np.zeros(columns), np.full(columns, 30.0)
    np.testing.assert_allclose(reach(release, low, high, level), 0.1 * (1.0 - level), rtol=0.13)


@pytest.mark.parametrize("bandwidth", [0.1, 30.0, 1e9])
def test_the_reach_of_a_kernel_that_falls_to_zero_is_taken_as_it_is(bandwidth: float) -> None:
    release = scumble.Sketch(scumble.EuclideanKernel(bandwidth), 2, rows=4, buckets=4).release(1.0)
    low, high = np.zeros(2), np.ones(2)
    places = np.linspace(0.0, 1.0, 4001)
    values = release.kernel([[0.0, 0.0]], np.column_stack([places, np.zeros(4001)]))[0]
    expected = places[values <= 0.5].min(initial=1.0)
    np.testing.assert_allclose(reach(release, low, high), expected, rtol=0.13)
