"""What noisy facts say of a table: how densely its records lie, and how clumped.

Among n records of density ρ at a record, pairs meet in a row of hashes with probability ρ + (1 − ρ)/W, and each record
meets itself: the typical norm T has T² of about n² (ρ + (1 − ρ)/W) + n. T is noisy, and says little where the budget is
small. So ρ is not solved for: the densities that are plausible, from 1 to 10⁻⁵, are weighed by how well they explain T,
and by what is usual (the median is 0.05, and most lie within a factor of 5).

A grid of three axes has a second norm, of its cells, the *grain* G: G² of about n² κρ/V + n, where V is how many cells
the kernel covers. κ is about 3 for records that are spread smoothly (Gaussians), and hundreds where they share places.
The error from the places inside the cells grows with it. Measured on pulsar, skin, occupancy, zip codes, Gaussians and
clumps, three columns each: that error's factor c (`CLUMPING` is its usual value) is about 0.0012 κ^0.45, mostly within
a factor of 1.5; it goes from 0.002 to 0.02. With two axes it tells too little for what it costs.
"""

from __future__ import annotations

import numpy as np

from scumble.grid.shape import CLUMPING
from scumble.privacy.facts import Facts

DENSITIES = np.geomspace(1e-5, 0.95, 47)
USUAL, SPREAD = 0.05, 1.7
"""The prior of densities: its median, and the standard deviation of their logarithm."""
CLUMPINGS = np.geomspace(1 / 16, 4, 13)
"""How clumped records may be: so many times as is usual."""
UNUSUAL = 0.8
"""The prior of that: the standard deviation of its logarithm."""
AXES = 3
"""The axes of grids that have a grain."""
GRAIN = (0.0012, 0.45)
"""c = 0.0012 κ^0.45."""
LOOSE = 0.9
"""How loosely κ follows from c: the standard deviation of its logarithm."""


def plausible(facts: Facts, n: float, by_chance: float, covered: float | None = None) -> np.ndarray:
    """How plausible each of `DENSITIES` is, and each of `CLUMPINGS` with it; the weights add up to 1.

    `covered` is how many cells of a grid the kernel covers. Without, nothing is asked of clumping: there is one column.

    >>> weights = plausible(Facts(100_000, 1250.0, 10_500, 5000.0), 100_000.0, 1 / 1024)       # T²/n² − 1/W = 0.010
    >>> bool(0.009 < np.exp(weights[:, 0] @ np.log(DENSITIES)) < 0.011)
    True
    """
    expected = n * np.sqrt(DENSITIES + (1.0 - DENSITIES) * by_chance + 1.0 / n)
    # The densities are a ladder: a step of it is as much as T need not agree.
    scale = np.sqrt(facts.norm_variance / 2.0 + np.gradient(expected) ** 2 / 8.0)
    usual = -0.5 * (np.log(DENSITIES / USUAL) / SPREAD) ** 2
    likely: np.ndarray = (_likely(facts.norm, expected, scale) + usual)[:, None]
    if covered is not None:
        likely = likely - 0.5 * (np.log(CLUMPINGS) / UNUSUAL) ** 2
    if covered is not None and facts.grain is not None:
        factor, power = GRAIN
        kappa = (CLUMPING[AXES] * CLUMPINGS / factor) ** (1.0 / power)
        meeting = n * n * np.minimum(DENSITIES[:, None] * kappa / covered, 1.0)
        grain = np.sqrt(meeting + n)
        scale = np.sqrt(facts.norm_variance / 2.0 + (0.5 * LOOSE * meeting / grain) ** 2 / 2.0)
        likely = likely + _likely(facts.grain, grain, scale)
    weights: np.ndarray = np.exp(likely - np.max(likely))
    weights /= weights.sum()
    return weights


def _likely(seen: float, expected: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The logarithm of Laplace's density, up to a constant."""
    found: np.ndarray = -np.abs(seen - expected) / scale - np.log(scale / scale.min())
    return found
