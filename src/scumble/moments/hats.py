"""Hat functions of the columns: cross-tables in which a record is shared out between its neighbours.

The knots of a column lie evenly between its bounds. A value between two knots belongs to both, in proportion to how
near it is; hat functions are these weights, and their linear combinations are all functions that are straight between
knots. A row for each pair of columns holds the sums of products of their hats: a cross-table whose cells are knots, to
which a record adds 1 in four parts. A row for each column holds the products of its own neighbouring hats, for each of
the two hats of the target. No number is negative, and a record's add up to the same in every row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from scumble.errors import ParameterError
from scumble.moments.fixed import Floats, Integers, steps
from scumble.moments.spec import MomentSpec, Span, require_span

PARTS = 2**6
"""Between two knots, of a column."""
TARGET_PARTS = 2**10
"""Of the target."""
MOST_KNOTS = 64


@dataclass(frozen=True)
class HatMoments(MomentSpec):
    """For additive models.

    Parameters
    ----------
    target_bounds : pair of float
        (low, high) of the target.
    knots : int
        How many a column has.
    """

    kind: ClassVar[str] = "hats"
    signed: ClassVar[bool] = False
    target_bounds: Span
    knots: int

    @property
    def step(self) -> int:
        return PARTS**2 * TARGET_PARTS

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns of each row of products, after the rows of target and columns."""
        return tuple(combinations(range(self.dimensions), 2))

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        alone = 2 * (2 * self.knots - 1)
        return 2, *[alone] * self.dimensions, *[self.knots**2] * len(self.pairs)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """Columns get more than pairs do: what noise there does to a model is not multiplied with anything small."""
        d, pairs = self.dimensions, len(self.pairs)
        more = max((pairs / d) ** (1.0 / 3.0 if self.pure else 1.0 / 2.0), 1.0)
        column = Fraction(round(16 * more), 16)
        return (column * d + pairs) / 15, *[column] * d, *[Fraction(1)] * pairs

    def hats(self, X: Floats) -> Integers:
        """(n, columns, knots): each value's parts of its two knots."""
        n, d = X.shape
        low, high = map(np.array, self.bounds)
        places = steps(X, low, high, (self.knots - 1) * PARTS)
        left = np.minimum(places // PARTS, self.knots - 2)
        found = np.zeros((n * d, self.knots), np.int64)
        line, left, right = np.arange(n * d), left.ravel(), (places - left * PARTS).ravel()
        found[line, left] = PARTS - right
        found[line, left + 1] = right
        return found.reshape(n, d, self.knots)

    def sums(self, X: Floats, y: Any) -> list[Integers]:
        n, d = X.shape
        k = self.knots
        high = steps(y, *self.target_bounds, TARGET_PARTS)
        target = np.column_stack([TARGET_PARTS - high, high]).astype(np.float64)
        h = self.hats(X).astype(np.float64)  # products below 2**22: a block's sums are exact
        own = np.concatenate([h * h, 2.0 * h[:, :, 1:] * h[:, :, :-1]], axis=2)
        alone = _whole(own.reshape(n, -1).T @ target).reshape(d, -1)
        flat = h.reshape(n, d * k)
        both = _whole(flat.T @ flat).reshape(d, k, d, k) * TARGET_PARTS
        return [_whole(target.sum(axis=0)) * PARTS**2, *alone, *(both[i, :, j] for i, j in self.pairs)]

    def check(self) -> None:
        require_span(self.target_bounds)
        super().check()
        if type(self.knots) is not int or not 2 <= self.knots <= MOST_KNOTS:
            raise ParameterError(f"`knots` must be a whole number from 2 to {MOST_KNOTS}.")
        self.check_size()


def _whole(sums: Floats) -> Integers:
    return np.rint(sums).astype(np.int64)


def enough_knots(noise: float) -> int:
    """How many knots a column bears, where the noise in a cell is this part of all records.

    Found on tables of many kinds; a function's shape decides more than the noise does, so the dependence is weak.

    >>> [enough_knots(noise) for noise in (1e-4, 1e-3, 1e-2, 1e-1)]
    [12, 8, 4, 2]
    """
    return min(max(round(1.4 * max(noise, 1e-12) ** -0.25), 2), 12) if math.isfinite(noise) else 2
