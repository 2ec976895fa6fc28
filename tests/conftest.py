"""What all tests share."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.windows import NOT_ON_WINDOWS, reason

import scumble
from scumble.kernels import Kernel, ProductKernel

# Some of these files could not even be imported there.
collect_ignore = [entry for entry in NOT_ON_WINDOWS if "::" not in entry] if os.name == "nt" else []


def pytest_report_header() -> list[str]:
    return [f"left out on Windows: {entry}: {why}" for entry, why in NOT_ON_WINDOWS.items()] if os.name == "nt" else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.name == "nt":
        for item in items:
            if why := reason(item.nodeid):
                item.add_marker(pytest.mark.skip(reason=why))


KERNELS = sorted(
    (kind for kind in Kernel.registry.values() if kind is not ProductKernel and kind.__module__.startswith("scumble.")),
    key=lambda kind: kind.name,
)
"""Every kernel the library has, discovered: a new one is tested by existing."""


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20201116)


@pytest.fixture
def clusters(rng: np.random.Generator) -> np.ndarray:
    """4,000 points in three dimensions: three clusters and a thin background."""
    centres = np.array([[0.0, 0.0, 0.0], [4.0, 1.0, -2.0], [-3.0, 3.0, 1.0]])
    dense = centres[rng.integers(0, 3, 3600)] + rng.normal(0.0, 0.7, (3600, 3))
    return np.vstack([dense, rng.uniform(-6.0, 6.0, (400, 3))])


@pytest.fixture
def sketch_of():
    """A small Euclidean sketch of given records."""

    def make(X: np.ndarray, **options: object) -> scumble.Sketch:
        settings: dict = {"rows": 32, "buckets": 64, "seed": 7, "design": "iid", **options}
        return scumble.Sketch(scumble.EuclideanKernel(1.0), X.shape[1], **settings).update(X)

    return make
