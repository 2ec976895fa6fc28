"""Hat functions of the columns: cross-tables in which a record is shared out between its neighbors.

The knots of a column lie evenly between its bounds, or where they were put; they are public. A value between two knots
belongs to both, in proportion to how near it is, and one beyond the last knot to that knot; hat functions are these
weights, and their linear combinations are all functions that are straight between knots. A row for each pair of columns
holds the sums of products of their hats: a cross-table whose cells are knots, to which a record adds 1 in four parts. A
row for each column holds the products of its own neighboring hats, for each of the two hats of the target. No number
is negative, and a record's add up to the same in every row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np

from scumble.errors import ParameterError
from scumble.learn.moment_spec import MOST_COUNTERS, Floats, Integers, MomentSpec, Span, across, require_span, steps

PARTS = 2**6
"""Between two knots, of a column."""
TARGET_PARTS = 2**10
"""Of the target."""
MOST_KNOTS = 64
MOST_ENOUGH = 12
"""Knots that are ever enough."""


@dataclass(frozen=True)
class HatMoments(MomentSpec):
    """For additive models: `knots` is how many each column has, evenly between its bounds, or where they are."""

    kind: ClassVar[str] = "hats"
    signed: ClassVar[bool] = False
    target_bounds: Span
    knots: int | tuple[tuple[float, ...], ...]

    @property
    def step(self) -> int:
        return PARTS**2 * TARGET_PARTS

    @property
    def follows(self) -> bool:
        """Knots that were put somewhere were put there by histograms."""
        return isinstance(self.knots, tuple)

    @cached_property
    def places(self) -> tuple[Floats, ...]:
        """Where the knots of each column are."""
        if isinstance(self.knots, tuple):
            return tuple(map(np.array, self.knots))
        even = np.arange(self.knots) / (self.knots - 1)
        return tuple(low + (high - low) * even for low, high in zip(*self.bounds, strict=True))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many knots each column has."""
        return tuple(map(len, self.places))

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Where each column's knots are among those of all."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns of each row of products, after the rows of target and columns."""
        return tuple(combinations(range(self.dimensions), 2))

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        k = self.sizes
        return 2, *(2 * (2 * one - 1) for one in k), *(k[i] * k[j] for i, j in self.pairs)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """Columns get more than pairs do: what noise there does to a model is not multiplied with anything small."""
        d, pairs = self.dimensions, len(self.pairs)
        more = max((pairs / d) ** (1.0 / 3.0 if self.pure else 1.0 / 2.0), 1.0)
        column = Fraction(round(16 * more), 16)
        return (column * d + pairs) / 15, *[column] * d, *[Fraction(1)] * pairs

    def hats(self, X: Floats) -> Integers:
        """(n, knots of all columns): each value's parts of its two knots."""
        found = np.zeros((len(X), sum(self.sizes)), np.int64, like=X)
        line = np.arange(len(X), like=X)
        for values, places, part in zip(X.T, self.places, self.parts, strict=True):
            knots = np.asarray(places, like=X)
            left = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, len(knots) - 2)
            right = steps(values, knots[left], knots[left + 1], PARTS)
            found[line, part.start + left] = PARTS - right
            found[line, part.start + left + 1] = right
        return found

    def totals(self, X: Floats, y: np.ndarray) -> list[Integers]:
        high = steps(y, *self.target_bounds, TARGET_PARTS)
        target = np.column_stack([TARGET_PARTS - high, high])
        h = self.hats(X)
        alone = [across(_own(h[:, part]), target) for part in self.parts]
        return [target.sum(axis=0), across(h, h), *alone]

    def laid_out(self, totals: list[Integers]) -> list[Integers]:
        target, both, *alone = totals
        pairs = (both[self.parts[i], self.parts[j]] * TARGET_PARTS for i, j in self.pairs)
        return [target * PARTS**2, *alone, *pairs]

    def check(self) -> None:
        require_span(self.target_bounds)
        super().check()
        if isinstance(self.knots, tuple):
            self._check_places(self.knots)
        elif type(self.knots) is not int or not 2 <= self.knots <= MOST_KNOTS:
            raise ParameterError(f"`knots` must be a whole number from 2 to {MOST_KNOTS}.")
        elif any((places[1:] <= places[:-1]).any() for places in self.places):
            raise ParameterError("`bounds` are so near each other that knots would coincide. Hint: fewer knots.")
        self.check_size()

    def _check_places(self, knots: tuple[tuple[float, ...], ...]) -> None:
        if len(knots) != self.dimensions:
            raise ParameterError("`knots` must be given for each column.")
        for places, low, high in zip(knots, *self.bounds, strict=True):
            if not isinstance(places, tuple) or not 2 <= len(places) <= MOST_KNOTS:
                raise ParameterError(f"A column must have from 2 to {MOST_KNOTS} knots.")
            for span in pairwise(places):
                require_span(span)
            if not low <= places[0] < places[-1] <= high:
                raise ParameterError("Knots must lie within the bounds.")


def _own(h: Integers) -> Integers:
    """The products of a column's hats with themselves, then twice those of neighbors."""
    return np.concatenate([h * h, 2 * h[:, 1:] * h[:, :-1]], axis=1)


def most_knots(dimensions: int) -> int:
    """How many knots each of so many columns can have before there are too many sums: two at least.

    >>> [most_knots(dimensions) for dimensions in (10, 256, 257, 4096, 6000)]
    [64, 64, 63, 3, 2]
    """
    pairs = dimensions * (dimensions - 1) // 2
    sizes = (k for k in range(MOST_KNOTS, 2, -1) if 4 * k * dimensions + k * k * pairs <= MOST_COUNTERS)
    return next(sizes, 2)


def enough_knots(noise: float) -> int:
    """How many knots a column bears, where the noise in a cell is this part of all records.

    Found on tables of many kinds; a function's shape decides more than the noise does, so the dependence is weak.

    >>> [enough_knots(noise) for noise in (1e-4, 1e-3, 1e-2, 1e-1, math.inf)]
    [12, 8, 4, 2, 2]
    """
    return min(max(round(1.4 * max(noise, 1e-12) ** -0.25), 2), MOST_ENOUGH) if math.isfinite(noise) else 2
