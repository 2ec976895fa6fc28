"""The finest grid that could pay: it is counted where the cells are left to the release, which adds them up."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from scumble.grid.cells import aligned
from scumble.grid.profile import Profile
from scumble.grid.shape import choose_shape
from scumble.kernels import Kernel

FINE = {"n": 10**8, "counter_sd": 1.0}
"""As many records as hardly anybody has, and little noise."""
SLOPE = 0.25
"""The relative slope of a sum of kernels at a record, over that of one kernel at its half-width: measured on diamonds,
whose depths have such steps."""


def finest_shape(
    kernel: Kernel, low: np.ndarray, high: np.ndarray, *, width: int, names: Sequence[str] | None
) -> tuple[int, ...]:
    """The cells along each axis, as small as could pay."""
    shape, _ = choose_shape(kernel, low, high, width=width, names=names, **FINE)  # type: ignore[arg-type]
    return tuple(
        cells if first.is_integer() and last.is_integer() else _divisible(cells)
        for cells, first, last in zip(shape, low.tolist(), high.tolist(), strict=True)
    )


def _divisible(cells: int) -> int:
    """So many or fewer, in a number that can be divided in many ways: cells are added up in groups."""
    by = 12 if cells >= 48 else 6 if cells >= 12 else 1
    return cells - cells % by


def rounding(kernel: Kernel, low: np.ndarray, high: np.ndarray, *, width: int, names: Sequence[str] | None) -> float:
    """By how much an answer is off, relative to itself, if all its records lie to one side of these cells' centres.

    They may: records in steps of nearly a cell's width do, region by region. A place that is spread evenly over its
    cell is off by step/√12 along each axis; how much that matters is the slope of a sum of kernels.
    """
    profile = Profile(kernel, width, names)
    total = 0.0
    shape = finest_shape(kernel, low, high, width=width, names=names)
    for axis, (first, last, cells) in enumerate(zip(low.tolist(), high.tolist(), shape, strict=True)):
        _, step, spread = aligned(first, last, cells)
        near, far = np.zeros((2, profile.dimensions))
        near[axis], far[axis] = (profile.half_widths[axis] * factor for factor in (0.9, 1.1))
        inside, outside = profile(np.stack([near, far]))
        slope = np.log(inside / outside) / (0.2 * profile.half_widths[axis])
        total += float(slope * step) ** 2 * spread / 12.0
    return SLOPE * sqrt(total)
