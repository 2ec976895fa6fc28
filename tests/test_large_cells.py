"""What a plan expects of grids of two columns whose cells are larger than the kernel, or whose bounds are wide."""

from __future__ import annotations

from dataclasses import replace
from math import pi, prod, sqrt

import numpy as np
import pytest

import scumble
from scumble.grid.shape import LOST
from scumble.planning.later import Menu
from scumble.planning.plausible import CLUMPINGS, DENSITIES, plausible
from scumble.privacy.budget import Budget
from scumble.privacy.facts import Facts, divided

KERNEL = scumble.EuclideanKernel(1.0, power=2)
SPEC = scumble.Sketch(KERNEL, 2, bounds=(0.0, 40.5), design="grid").spec


def test_the_noise_foretold_is_the_noise_of_answers() -> None:
    """In cells from an eighth of the kernel's width to eight times that; no chance plays a part."""
    shapes, expected = Menu(SPEC, Budget(1.0))._shapes
    far = 1e9 * expected.inverse(DENSITIES[20:21])[0] * sqrt(2.0 / pi)
    foretold = expected.clumped(1.0, 1e9, DENSITIES[20:21], CLUMPINGS[:1])[0, 0] / far
    along = np.linspace(10.0, 30.0, 41)
    queries = np.stack([axis.ravel() for axis in np.meshgrid(along, along)], axis=1)
    looked = 0
    for shape, apart, told in zip(shapes, expected.apart, foretold, strict=True):
        if 0.1 < apart < 6.0 and prod(shape) < 2**17:
            spec = replace(SPEC, shape=shape, buckets=prod(shape))
            reader = spec.layout.reader(np.zeros((1, prod(shape)), np.int64), 1.0, (0.0, 0.0))
            found = reader.estimate(spec.layout.read(queries, invalid="error")[0])
            assert 0.7 < told / np.mean(np.sqrt(found.noise_variance)) < 1.3, shape
            looked += 1
    assert looked > 10


def test_the_larger_the_cells_the_more_is_lost_and_never_more_than_all() -> None:
    _, expected = Menu(SPEC, Budget(1.0))._shapes
    lost = expected.clumped(1000.0, 0.0, DENSITIES[20:21], CLUMPINGS[10:11])[0, 0]
    assert np.all(np.isfinite(lost)) and lost.max() <= LOST
    between = (lost > 0.5) & (lost < 0.99)
    assert between.sum() >= 3 and np.all(np.diff(lost) >= 0.0)


LENGTHS = pytest.mark.parametrize("length", [10.5, 20.5, 40.5])
"""Of the data, along each axis."""
WIDER = 2.6
"""How many times as wide the bounds are."""


@LENGTHS
def test_bounds_that_are_wider_than_the_data_hardly_coarsen_its_grid(length: float) -> None:
    """The same facts of the same records, in their own bounds and in wide ones; no chance plays a part.

    The facts say how densely records lie: what the bounds say beside them may not make the cells half as wide again.
    """
    steps = []
    for times in (1.0, WIDER):
        menu, facts, _ = _told(length, times, n=20_000, epsilon=1.0)
        shape = menu.best([facts])[0].shape
        assert shape is not None
        steps.append(times * length / max(shape))
    assert 0.95 * steps[0] < steps[1] < 1.3 * steps[0]


@LENGTHS
def test_records_in_wide_bounds_are_not_taken_for_sparser_than_they_are(length: float) -> None:
    """Where noise drowns the facts, and the bounds have the last word."""
    menu, facts, density = _told(length, WIDER, n=3_000, epsilon=0.1)
    weights = plausible(facts, 3_000.0, menu._by_chance, menu._around).sum(axis=1)
    assert np.exp(weights @ np.log(DENSITIES)) > density


def _told(length: float, times: float, *, n: int, epsilon: float) -> tuple[Menu, Facts, float]:
    """What records that fill a square evenly, a little clumped, tell in bounds so many times as wide; their density."""
    menu, twice = (_menu(length * t, epsilon) for t in (times, 2.0))
    assert twice._around is not None
    density = twice._around.density  # of records that fill half of its bounds along each axis
    noise = divided(menu.budget, menu.numbers).facts.calibrate(menu.numbers).counter_variance
    norm = n * sqrt(density + (1.0 - density) * menu._by_chance + 1.0 / n)
    return menu, Facts(n, 0.0, round(norm), noise, round(3.0 * sqrt(n))), density


def _menu(length: float, epsilon: float) -> Menu:
    return Menu(scumble.Sketch(KERNEL, 2, bounds=(0.0, length), design="grid").spec, Budget(epsilon))
