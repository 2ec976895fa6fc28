"""PrivateModes on planted modes; and modes, samples and refined answers of a kernel of one's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.kernels import ColumnKernel, Kernel
from scumble.learn import PrivateModes, refine, sample

PAGE = Path(__file__).parents[2] / "docs" / "add-a-kernel.md"
CENTERS = {"clock": np.array([[21.0], [9.0]]), "column": np.array([[5.0, 18.0], [17.0, 9.0]])}
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
    rng, centers = np.random.default_rng(1), CENTERS[request.param]
    X = np.repeat(centers, [6000, 4000], axis=0) + rng.normal(0.0, 0.7, (10_000, centers.shape[1]))
    return X, centers, clock(steps=8, power=2) if request.param == "clock" else ColumnKernel(3.0, 2)


@pytest.fixture(scope="module")
def release(known: tuple[np.ndarray, np.ndarray, Kernel]) -> scumble.Release:
    X, _, kernel = known
    return scumble.Sketch(kernel, X.shape[1], rows=64, buckets=128).update(X).release(20.0)


def test_modes_are_found_none_invented_and_answers_refined(release: scumble.Release, known: Any) -> None:
    """The kernel decides what a mode is: where columns are averaged, a place of one group in one column and of the
    other group in the other is also one, though lower. Each that is found is one of the exact density."""
    X, centers, kernel = known
    model = PrivateModes.from_release(release, bounds=BOUNDS, starts=16)
    apart = np.linalg.norm(model.modes_[:2, None] - centers[None], axis=-1)
    assert apart.min(axis=0).max() < 1.0  # a third of a step
    Q = X[::50]
    exact = kernel(Q, X).sum(axis=1)
    plain, better = (np.abs(one.kernel_sum(Q) - exact).mean() for one in (release, refine(release, BOUNDS)))
    assert better < plain
    for mode in model.modes_:
        around = np.vstack([mode + side * 2.5 * axis for axis in np.eye(len(mode)) for side in (-1, 1)])
        assert kernel([mode], X).sum() > kernel(around, X).sum(axis=1).max()


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


PLANTED = {
    2: np.array([[0.2, 0.2], [0.8, 0.25], [0.5, 0.5], [0.25, 0.8], [0.8, 0.75]]),
    5: np.array([[0.2] * 5, [0.8] * 5, [0.2, 0.2, 0.8, 0.8, 0.5]]),
}


def planted(rng: np.random.Generator, d: int, n: int) -> np.ndarray:
    X = PLANTED[d][rng.integers(0, len(PLANTED[d]), n)] + rng.normal(0.0, 0.03, (n, d))
    X[: n // 10] = rng.uniform(size=(n // 10, d))
    return np.clip(X, 0.0, 1.0)


@pytest.mark.parametrize("d", [2, 5])
def test_planted_modes_are_found_and_none_invented(d: int, rng: np.random.Generator) -> None:
    """20 of 20 runs of the benchmark did so, the farthest at 0.2 bandwidths; modes are three bandwidths apart."""
    size = {} if d == 2 else {"rows": 256, "buckets": 512}
    model = PrivateModes(bounds=(0, 1), starts=40, **size).fit(planted(rng, d, 40_000))
    apart = np.linalg.norm(model.modes_[:, None] - PLANTED[d][None], axis=-1) / model.release_.kernel.bandwidth
    assert len(model.modes_) == len(PLANTED[d])
    assert apart.min(axis=0).max() < 1.0
    assert np.all(np.diff(model.densities_) <= 0.0)
    lower, upper = model.intervals_.T
    assert np.all((lower <= model.densities_) & (model.densities_ <= upper))


def test_noise_alone_has_no_modes(rng: np.random.Generator) -> None:
    """Fifty records: whatever stands out is noise, by construction 5 standard errors above the greatest to expect."""
    for size in ({}, {"rows": 64, "buckets": 256}):
        model = PrivateModes(bounds=(0, 1), starts=20, **size).fit(rng.uniform(size=(50, 2)))
        assert model.modes_.shape == (0, 2) and model.densities_.shape == (0,) and model.intervals_.shape == (0, 2)
