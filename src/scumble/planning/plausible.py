"""What noisy facts say of a table: how densely its records lie, and how clumped.

Among n records of density ρ at a record, pairs meet in a row of hashes with probability ρ + (1 − ρ)/W, and each record
meets itself: the typical norm T has T² of about n² (ρ + (1 − ρ)/W) + n. T is noisy, and says little where the budget is
small. So ρ is not solved for: the densities that are plausible, from 1 to 10⁻⁵, are weighed by how well they explain T,
and by what is usual (the median is 0.05, and most lie within a factor of 5). Where there are bounds, they and the
kernel say more: records that fill half of them along each axis would have the density ρ₀, and of 60 tables and
bandwidths with up to three columns most have a ρ of ρ₀ to 4 ρ₀. With one and two axes, ρ₀ alone says what is usual.

How clumped records are, φ (:meth:`scumble.grid.shape.Errors.clumped`), a third fact tells.

Of a grid of one or two axes that is the norm of its cells, ‖C‖, from √n, if no two records share a cell, to n, if all
do. Records that share a place move together in their cell, and of independent errors squares add up: so the error is as
√Σ C², relative to nρ records within the kernel, of which the same holds. With one axis φ = 0.13 ‖C‖ / (n √ρ), within a
factor of 1.3 (64 cases of 26 tables; what U below tells, within a factor of 2). With two, records that share the place
along one axis alone count as well: φ = 0.31 (‖C‖/n)^0.85 ρ^−0.17, within 1.5 (79 cases of 25 tables; U: 1.8).

Of a grid of three axes it is how many cells hold a record, U: from 1, if all records share a place, to n, if
none do. A record shares its cell with μ = n κρ/V others on average, where V is how many cells the kernel covers, and κ
is about 4 for records that are spread smoothly (Gaussians) and hundreds to thousands where they share places. Some
records have many neighbours and others none: U/n is about (1 + μ)^−0.45 (−0.3 to −0.56). Measured on ten tables: φ is
about 0.002 κ^0.4, mostly within a factor of 1.4.

U has the noise of one counter, and goes up to n: with 20,000 records and ε = 0.1 the noise is 527, and U of seven
tables was from 6,000 to 10,900 and of Gaussians 19,300. The norm of their cells was 140 to 700: noise drowns it. With
fewer axes clumps are larger, and what noise drowns does not matter.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from scumble.grid.shape import CLUMPED, CLUMPINGS, FULLER
from scumble.privacy.facts import Facts

DEFAULT_RECORDS = 100_000
"""As many as there are where nobody says."""
RECORDS, UNKNOWN = np.geomspace(1.0, 1e9, 400), 2.3
"""How many records there may be; the prior's standard deviation of their logarithm. Its median is the usual number."""
CLEAR = 20.0
"""So many standard deviations of its noise make a count clear."""
DENSITIES = np.geomspace(1e-5, 0.95, 47)
USUAL, SPREAD = 0.05, 1.7
"""The prior of densities: its median, and the standard deviation of their logarithm."""
BOUNDED = {1: (FULLER[1], 1.2), 2: (FULLER[2], 1.0), 3: (2.0, 1.3)}
"""The same by bounds, for so many axes, in units of ρ₀. Of two, by bounds up to 2.6 times as wide as the data."""
AXES = 3
"""The axes of grids that tell how many cells are occupied, and that may become rows."""
NORM = {1: (0.13, 1.0, -0.5, 0.3), 2: (0.31, 0.85, -0.17, 0.45)}
"""φ = 0.13 (‖C‖/n)¹ ρ^−0.5; and how loosely: the standard deviation of its logarithm."""
SHARED = (0.002, 0.4)
"""φ = 0.002 κ^0.4."""
LOOSE = 0.9
"""How loosely κ follows from φ: the standard deviation of its logarithm."""
ALONE, UNEVEN = 0.45, 0.15
"""U/n = (1 + μ)^−0.45; and how far that power is off: its standard deviation."""


class Around(NamedTuple):
    """What bounds and kernel say of a grid, before anything is counted."""

    covered: float
    """How many cells the kernel covers, V."""
    density: float
    """That of records which fill half of the bounds along each axis, ρ₀."""
    axes: int = AXES


def records(facts: Facts) -> float:
    """How many there are, about: the count, weighed with what is usual where noise may have drowned it.

    >>> counted = [records(Facts(count, 35_000.0**2, 0, 0.0)) for count in (-20_000, 30_000, 1_000_000)]
    >>> [round(one, -3) for one in counted]
    [6000.0, 17000.0, 1000000.0]
    """
    if facts.count is None:
        return float(DEFAULT_RECORDS)
    if facts.count >= CLEAR * sqrt(facts.count_variance):
        return max(1.0, float(facts.count))
    likely = _usual(RECORDS, DEFAULT_RECORDS, UNKNOWN)
    likely = likely + _likely(
        facts.count, RECORDS, np.sqrt(facts.count_variance / 2.0 + np.gradient(RECORDS) ** 2 / 8.0)
    )
    weights = np.exp(likely - np.max(likely))
    return float(np.exp(weights @ np.log(RECORDS) / weights.sum()))


ROUNDED = float(np.finfo(np.float64).eps) ** 0.5
"""Far above the rounding of T, and far below a step of the ladder."""


def plausible(facts: Facts, n: float, by_chance: float, around: Around | None = None) -> np.ndarray:
    """How plausible each of `DENSITIES` is, and each of `CLUMPINGS` with it; the weights add up to 1.

    Without `around`, nothing is asked of clumping: there is one column.

    >>> weights = plausible(Facts(100_000, 1250.0, 10_500, 5000.0), 100_000.0, 1 / 1024)       # T²/n² − 1/W = 0.010
    >>> bool(0.009 < np.exp(weights[:, 0] @ np.log(DENSITIES)) < 0.011)
    True
    """
    expected = n * np.sqrt(DENSITIES + (1.0 - DENSITIES) * by_chance + 1.0 / n)
    # The densities are a ladder: a step of it is as much as T need not agree.
    scale = np.sqrt(facts.norm_variance / 2.0 + np.gradient(expected) ** 2 / 8.0)
    scale = np.maximum(scale, ROUNDED * expected)  # of a single bucket, T is n whatever the density
    likely: np.ndarray = _likely(facts.norm, expected, scale)[:, None]
    if around is None or around.axes == AXES:
        likely = likely + _usual(DENSITIES, USUAL, SPREAD)[:, None]
    if around is not None:
        fuller, unfilled = BOUNDED[around.axes]
        likely = likely + _usual(DENSITIES, fuller * around.density, unfilled)[:, None]
        likely = likely + _usual(CLUMPINGS, *CLUMPED[around.axes])
        if facts.clumping is not None:
            told, off = (_occupied if around.axes == AXES else _norm)(n, around)
            likely = likely + _likely(facts.clumping, told, np.sqrt(facts.norm_variance / 2.0 + off**2 / 2.0))
    weights: np.ndarray = np.exp(likely - np.max(likely))
    weights /= weights.sum()
    return weights


def _norm(n: float, around: Around) -> tuple[np.ndarray, np.ndarray]:
    """The norm of the cells, and how far it is off, for each density and clumping."""
    factor, power, wide, loose = NORM[around.axes]
    shared = (CLUMPINGS / factor * DENSITIES[:, None] ** -wide) ** (1.0 / power)
    norm = n * np.clip(shared, n**-0.5, 1.0)
    return norm, loose / power * norm


def _occupied(n: float, around: Around) -> tuple[np.ndarray, np.ndarray]:
    """How many cells hold a record, and how far that is off, for each density and clumping."""
    factor, power = SHARED
    kappa = (CLUMPINGS / factor) ** (1.0 / power)
    others = n * np.minimum(DENSITIES[:, None] * kappa / around.covered, 1.0)
    occupied = n * (1.0 + others) ** -ALONE
    return occupied, np.hypot(ALONE * LOOSE * others / (1.0 + others), UNEVEN * np.log1p(others)) * occupied


def _usual(values: np.ndarray, middle: float, spread: float) -> np.ndarray:
    """The logarithm of a log-normal prior, up to a constant."""
    found: np.ndarray = -0.5 * (np.log(values / middle) / spread) ** 2
    return found


def _likely(seen: float, expected: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The logarithm of Laplace's density, up to a constant."""
    found: np.ndarray = -np.abs(seen - expected) / scale - np.log(scale / scale.min())
    return found
