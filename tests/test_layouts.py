"""A layout answers for itself: nobody asks which one it is, and what it cannot do is refused in its name."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

import scumble
from scumble import EuclideanKernel, Sketch
from scumble.density.layout import Layout, Reader
from scumble.density.plan import plan
from scumble.density.release import Release
from scumble.errors import DataError
from scumble.privacy.budget import calibrate
from scumble.show import cards

HASHED = Sketch(EuclideanKernel(1.0), 2, rows=64, buckets=128, seed=3)
GRID = Sketch(EuclideanKernel(1.0), 2, bounds=(0, 4), buckets=(5, 7), design="grid")


def released(sketch: Sketch) -> Release:
    X = np.random.default_rng(0).uniform(0.0, 4.0, (500, 2))
    return Sketch.from_spec(sketch.spec).update(X).release(epsilon=1.0)


class Bare(Layout):
    """Only what must be answered."""

    told = "is bare"
    check = prepare = count = reader = expected_error = lambda self, *_, **__: None  # type: ignore[assignment]
    typical_density, relative_error = 0.1, lambda self, *_: 0.0  # type: ignore[assignment]


class BareReader(Reader):
    """Only what must be answered."""

    layout = Bare(GRID.spec)
    estimate = lambda self, *_, **__: None  # type: ignore[assignment]  # noqa: E731


@pytest.mark.parametrize(
    "ask",
    [
        lambda layout, reader: layout.source(None, None, None),
        lambda layout, reader: layout.edges(),
        lambda layout, reader: layout.hasher,
        lambda layout, reader: layout.hasher_on_page(str),
        lambda layout, reader: reader.places(),
        lambda layout, reader: reader.lone_sums([]),
        lambda layout, reader: reader.lone_deviation,
        lambda layout, reader: reader.on_page(str),
    ],
)
def test_what_a_layout_leaves_open_is_refused_in_its_name(ask: Any) -> None:
    reader = BareReader()
    assert not (reader.layout.hashed or reader.layout.has_places)
    assert not reader.layout.drawable and reader.layout.numbers == 0
    with pytest.raises(DataError):
        ask(reader.layout, reader)


def test_what_only_one_of_them_has() -> None:
    hashed, grid = HASHED.spec.layout, GRID.spec.layout
    assert (hashed.hashed, hashed.has_places, grid.hashed, grid.has_places) == (True, False, False, True)
    with pytest.raises(DataError):
        _ = grid.hasher
    with pytest.raises(DataError):
        hashed.edges()
    assert [edges.tolist() for edges in grid.edges()] == [[-0.5, 0.5, 1.5, 2.5, 3.5, 4.5], pytest.approx(_sevenths())]
    assert HASHED.spec.counters == (64, 128) and GRID.spec.counters == (1, 35)
    assert hashed.numbers == 64 * (2 + 2) and grid.numbers == 0


def _sevenths() -> list[float]:
    """Seven cells over 0 to 4: no whole step fits, nor a part of one, so they are plain sevenths."""
    return [4.0 * k / 7.0 for k in range(8)]


def test_the_counters_tell_the_number_of_records() -> None:
    """Each row sums to it, with the noise of all its counters; rows are averaged."""
    counts = np.array([[3, 4, 5], [1, 1, 7]])
    assert HASHED.spec.layout.total(counts, 2.0) == (10.5, 2.0 * 3 / 2)


@pytest.mark.parametrize("sketch", [HASHED, GRID])
def test_a_file_is_read_and_counted_without_its_hash_functions(sketch: Sketch) -> None:
    """They may cost seconds; who asks for the count or the promise alone does not pay for them."""
    again = Release.from_bytes(released(sketch).to_bytes())
    assert again.count > 0.0 and again.privacy is not None
    assert vars(again.spec.layout)["_made"] is None
    again.kernel_sum([[1.0, 1.0]])
    assert vars(again.spec.layout)["_made"] is not None


def test_hashed_rows_expect_the_error_of_the_plan_with_their_own_noise() -> None:
    release = released(HASHED)
    spec, records = release.spec, round(release.count)
    planned = plan(records, 2, 1.0, kernel=spec.kernel, design=spec.design, rows=64, buckets=128).standard_error
    hashing = planned**2 - calibrate(64, epsilon=1.0).counter_variance / 64
    told = cards.expected_error(release)
    assert told["noise"] == sqrt(release.counter_variance / 64)
    assert told["kernel_sum"] == pytest.approx(sqrt(hashing + release.counter_variance / 64), rel=1e-9)


def test_a_grid_of_a_power_that_no_file_may_have_is_not_made() -> None:
    """It could be released, and its file not be read."""
    with pytest.raises(scumble.ParameterError):
        Sketch(EuclideanKernel(1.0, power=2**12 + 1), 1, bounds=(0, 4), buckets=(5,), design="grid")
