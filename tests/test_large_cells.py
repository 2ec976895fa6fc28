"""What a plan expects of grids of two columns whose cells are larger than the kernel."""

from __future__ import annotations

from dataclasses import replace
from math import pi, prod, sqrt

import numpy as np

import scumble
from scumble.grid.shape import LOST
from scumble.planning.later import Menu
from scumble.planning.plausible import CLUMPINGS, DENSITIES
from scumble.privacy.budget import Budget

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
