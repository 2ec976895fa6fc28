"""Where the knots of curves are: where the records are, as far as a small share of the budget shows.

Between public bounds records are hardly ever spread evenly. Knots at even distances then leave most records between the
first two, and a curve that is straight there. So a share of the budget first pays for a histogram of each column
(:func:`scumble.learn.columnwise.column_sketch`), and the knots are put at equal shares of the records. They are public
from then on. A column of which a few cells hold nearly all records, such as a code or a small whole number, has one
knot for each of them.

How many knots there are hangs on the noise and on the number of records, which the histograms tell as well.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from scumble.learn.columns import Bounds
from scumble.moments.fixed import Floats
from scumble.reading.masses import masses
from scumble.schema import Number, Schema
from scumble.tabular.release import TableRelease

SHARE = Fraction(1, 16)
"""Of the budget, for the histograms."""
CELLS = 64
"""Of a column that can hold any number."""
EVENLY = 0.3
"""The share of the knots that follows the bounds, not the records: far out there are some, too."""
SEEN = 4.0
"""Deviations of its noise that a cell must hold, and"""
LEAST = 1 / 2000
"""the share of the records, to have a knot of its own; if such cells together hold"""
NEARLY_ALL = 0.95
"""of the records."""


def cells_of(bounds: Bounds, levels: list[int | None]) -> Schema:
    """The columns' places between their bounds, from 0 to 1, to be counted; one cell for each level, if it has any."""
    sizes = [CELLS if size is None else max(2, min(size, CELLS)) for size in levels]
    return Schema({f"column {j}": Number(0.0, 1.0, cells=size) for j, size in enumerate(sizes)})


def places(X: Floats, bounds: Bounds) -> Floats:
    """Where records lie between the bounds, from 0 to 1: each cell by itself."""
    low, high = bounds
    return np.clip((X - low) / (high - low), 0.0, 1.0)


def records(columns: TableRelease) -> float:
    """How many records the histograms show."""
    return max(columns._answers.total.value, 1.0)


def placed(columns: TableRelease, bounds: Bounds, most: int) -> tuple[tuple[float, ...], ...]:
    """At most so many knots for each column, at equal shares of its records."""
    total = records(columns)
    counted = columns._grouped.tables(columns.counts)
    found = []
    for counts, noise, low, high in zip(counted, columns.variances, *bounds, strict=True):
        mass = masses(counts, noise, total)
        seen = np.flatnonzero(mass > max(SEEN * np.sqrt(noise), LEAST * total))
        few = len(seen) <= most and mass[seen].sum() >= NEARLY_ALL * total
        # The place of a cell is within it, and that of the first and last at the bounds.
        spots = seen / (len(mass) - 1) if few else _quantiles(mass, most)
        found.append(_within(spots, float(low), float(high)))
    return tuple(found)


def _quantiles(mass: Floats, most: int) -> Floats:
    """So many places from 0 to 1, between each two of which lie as many records."""
    shares = (1.0 - EVENLY) * mass / mass.sum() + EVENLY / len(mass)
    edges = np.append(0.0, np.cumsum(shares))
    return np.interp(np.linspace(0.0, edges[-1], most), edges, np.linspace(0.0, 1.0, len(edges)))


def _within(spots: Floats, low: float, high: float) -> tuple[float, ...]:
    """The knots at these places: two at least, rising, within the bounds."""
    found = np.unique(np.clip(low + (high - low) * spots, low, high))
    return tuple(found.tolist()) if len(found) > 1 else (low, high)
