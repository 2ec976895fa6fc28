"""What all tests share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import settings

import scumble
from entropy import noise_named, rate_of
from scumble.counting import cpu
from scumble.gate import spending
from scumble.privacy import noise
from scumble.table import counting
from windows import NOT_ON_WINDOWS, reason

# Some of these files could not even be imported there.
collect_ignore = [entry for entry in NOT_ON_WINDOWS if "::" not in entry] if os.name == "nt" else []


def pytest_report_header() -> list[str]:
    return [f"left out on Windows: {entry}: {why}" for entry, why in NOT_ON_WINDOWS.items()] if os.name == "nt" else []


# The quick loops are tested from the first record on, even if they were compiled before.
cpu.numpy_first.limits = cpu.exact_first.limits = counting.numpy_first.limits = (0, 0)

# No power fails while tests run: thousands of writes need not wait for a disk.
os.fsync = lambda _: None

# No test asserts a time: machines are shared, and a first example may load half the library.
# The same examples each time: a red run is the change's doing. `--hypothesis-profile=search` looks for new ones.
settings.register_profile("search", settings.get_profile("default"), deadline=None)
settings.register_profile("same", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("same")

# ---- noise: see entropy.py ----


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real-noise", action="store_true", help="draw every test's noise from the operating system")


FORKING = ("test_signals.py", "test_faults.py", "test_kills.py")
"""They fork some hundred times each, which takes longer the more a process holds: so they come first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in FORKING)
    for item in items:
        for marker in item.iter_markers("statistical"):
            rate_of(marker)
        if os.name == "nt" and (why := reason(item.nodeid)):
            item.add_marker(pytest.mark.skip(reason=why))


def noise_for(item: pytest.Item | pytest.Session | pytest.Collector, name: str) -> contextlib.AbstractContextManager:
    real = item.config.getoption("--real-noise") or item.get_closest_marker("statistical")
    return contextlib.nullcontext() if real else noise_named(name)


SET_UP: set[str] = set()
"""What this process has set up for several tests."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with noise_for(item, item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[None]:
    """What several tests share has noise of its own name: it must not depend on which of them comes first.

    A process that takes over another's tests may set it up again: the same identities, released a second time."""
    if fixturedef.scope == "function":
        return (yield)
    name = f"{request.node.nodeid}::{fixturedef.argname}[{request.param_index}]"
    if name in SET_UP:
        spending._SPENT.clear()
    SET_UP.add(name)
    with noise_for(request.node, name):
        return (yield)


@pytest.fixture(autouse=True)
def no_record_was_left_out_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `PersonLimit` used by hand closes the whole process to "replace": each test begins as a process does."""
    monkeypatch.setattr(spending, "_FILTERED_BY_HAND", [])


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Fraction, tuple[int, ...]]]:
    """Every draw: law, scale, shape. The n-th one answers with 1000 n everywhere."""
    asked: list[tuple[str, Fraction, tuple[int, ...]]] = []

    def draw(law: str, scale: Fraction, size: int | tuple[int, ...], *, backend: str = "exact") -> np.ndarray:
        shape = size if isinstance(size, tuple) else (size,)
        asked.append((law, Fraction(scale), shape))
        return np.full(shape, 1000 * len(asked), np.int64)

    for law in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(noise, law, partial(draw, law))
    return asked


# ---- tables ----


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20201116)


@pytest.fixture
def clusters(rng: np.random.Generator) -> np.ndarray:
    """4,000 points in three dimensions: three clusters and a thin background."""
    centers = np.array([[0.0, 0.0, 0.0], [4.0, 1.0, -2.0], [-3.0, 3.0, 1.0]])
    dense = centers[rng.integers(0, 3, 3600)] + rng.normal(0.0, 0.7, (3600, 3))
    return np.vstack([dense, rng.uniform(-6.0, 6.0, (400, 3))])


@pytest.fixture
def sketch_of():
    """A small Euclidean sketch of given records."""

    def make(X: np.ndarray, **options: object) -> scumble.Sketch:
        settings: dict = {"rows": 32, "buckets": 64, "seed": 7, "design": "iid", **options}
        return scumble.Sketch(scumble.EuclideanKernel(1.0), X.shape[1], **settings).update(X)

    return make
