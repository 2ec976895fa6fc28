"""Synthetic records, modes and refined answers ask what a kernel reads, not who made it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scumble
from scumble.kernels import ColumnKernel, Kernel
from scumble.learn import PrivateModes, refine, sample
from scumble.learn.sampling import Refined

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
