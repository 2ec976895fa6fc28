"""Products of columns with each other and with the target: what least squares is solved from.

A record's columns, in units of their bounds, and an *anchor* a (the constant column) make a vector. It is divided by
its own length, a function of the columns alone, so that each record has the same weight against the noise: with the
vectors z = [x, a, ay]/w of regression, Σ zzᵀ holds the normal equations of least squares with the weights 1/w². Its
size is that of z, squared. Sums of the vectors of each class make classification (Mehta et al. 2022, DP-FC).

With Σ|z| ≤ 1 the numbers zᵢ², 2zᵢzⱼ have an L1 of at most 1. With Σz² ≤ 1 the numbers 5zᵢ², 7zᵢzⱼ have an L2 of at most
5, since 49 < 2·25: seven fifths are the root of two, nearly.

**Hats** are cross-tables in which a record is shared out between its neighbors. The knots of a column are public: even
between its bounds, or put somewhere. A value between two knots belongs to both, in proportion to how near it is. A row
for each pair of columns holds the sums of products of their hats, to which a record adds 1 in four parts. A row for
each column holds the products of its own neighboring hats, for each of the two hats of the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np

from scumble.errors import ParameterError
from scumble.learn.moment_spec import (
    MOST_COUNTERS,
    UNIT,
    Floats,
    Integers,
    MomentSpec,
    Span,
    across,
    require_span,
    root_above,
    shortened,
    steps,
    units,
    within_length,
)

LENGTH = 2**14
"""Of every vector."""
PLANE = 5.0
"""A prior: the squared length of a class's plane, over the variance of its indicator."""
ONCE, TWICE = {True: 1, False: 5}, {True: 2, False: 7}
"""How often a square, and a product of two, are counted: by whether the noise is pure."""


@dataclass(frozen=True)
class Products(MomentSpec):
    """Vectors of one length, `width` numbers each, of which products are summed up.

    `ball`: records are vectors of a greatest length, the bound of every column, such as embeddings. What is longer is
    made shorter, as it points.
    """

    ball: bool = field(default=False, kw_only=True)

    @property
    def step(self) -> int:
        return ONCE[self.pure] * LENGTH**2

    @property
    def width(self) -> int:
        """How many numbers a vector has: columns and anchor."""
        return self.dimensions + 1

    @cached_property
    def upper(self) -> tuple[Integers, Integers]:
        """The places of the products in a matrix: on and above the diagonal."""
        first, second = np.triu_indices(self.width)
        return first, second

    @cached_property
    def times(self) -> Integers:
        """How often each product is counted."""
        first, second = self.upper
        return np.where(first == second, ONCE[self.pure], TWICE[self.pure])

    def products(self, matrix: Integers) -> Integers:
        """The row of Σ zzᵀ, each product as often as it is counted."""
        return matrix[self.upper] * self.times

    def matrix(self, row: Floats) -> Floats:
        """The row of products as a symmetric matrix, in units of one record."""
        found = np.zeros((self.width, self.width))
        found[self.upper] = row * ONCE[self.pure] / self.times
        return found + np.triu(found, 1).T

    def cells(self, X: Floats) -> Integers:
        """The records' columns as whole numbers, at most `UNIT`."""
        low, high = (np.asarray(side, like=X) for side in self.bounds)
        return within_length(X, self.bounds[1][0]) if self.ball else units(X, low, high)

    def check(self) -> None:
        super().check()
        length, d = self.bounds[1][0], self.dimensions
        if type(self.ball) is not bool or (self.ball and self.bounds != ((-length,) * d, (length,) * d)):
            raise ParameterError("`ball` must be true or false; if true, the bounds of all columns −length and length.")
        self.check_size()


def require_classes(classes: int) -> None:
    """Refuse a number of classes that is none."""
    if type(classes) is not int or not 1 <= classes <= 2**16:
        raise ParameterError("`classes` must be a whole number from 1 on.")


@dataclass(frozen=True)
class Anchored(Products):
    """Vectors that are as long as their record; `anchor` is the constant column, in units of the bounds."""

    anchor: float

    def vectors(self, X: Floats, last: Integers | None = None) -> Integers:
        """The records' vectors, each at most `LENGTH` long: columns, anchor, and `last` parts of it."""
        u = self.cells(X)
        a = round(self.anchor * UNIT)
        ends = [np.zeros(len(X), np.int64, like=X) + a]
        if last is not None:
            ends.append(np.sign(last) * (np.abs(last) * a // UNIT))
        if self.pure:
            long = np.abs(u).sum(axis=1) + a * len(ends)
        else:
            long = root_above((u * u).sum(axis=1) + a * a * len(ends))
        return shortened(np.column_stack([u, *ends]), long, LENGTH)

    def check(self) -> None:
        super().check()
        if type(self.anchor) is not float or not 2.0**-10 <= self.anchor <= 2.0**5:
            raise ParameterError("`anchor` must be between 2**-10 and 32.")


@dataclass(frozen=True)
class LinearMoments(Anchored):
    """For regression: rows of the target alone, and of z = [x, a, ay]/w with itself."""

    kind: ClassVar[str] = "linear"
    target_bounds: Span

    @property
    def width(self) -> int:
        return self.dimensions + 2

    @property
    def lengths(self) -> tuple[int, ...]:
        return 2, self.width * (self.width + 1) // 2

    @property
    def shares(self) -> tuple[Fraction, ...]:
        return Fraction(1), Fraction(15)

    def totals(self, X: Floats, y: np.ndarray) -> list[Integers]:
        v = units(y, *self.target_bounds)
        high = (UNIT + v) * self.step // (2 * UNIT)
        z = self.vectors(X, v)
        return [np.column_stack([self.step - high, high]).sum(axis=0), across(z, z)]

    def laid_out(self, totals: list[Integers]) -> list[Integers]:
        alone, matrix = totals
        return [alone, self.products(matrix)]

    def check(self) -> None:
        require_span(self.target_bounds)
        super().check()


@dataclass(frozen=True)
class ClassMoments(Anchored):
    """For classification: rows of how many there are of each class, of z = [x, a]/w with itself, and of each class's z.

    `classes` is how many there are.
    """

    kind: ClassVar[str] = "classes"
    classes: int

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.classes, self.width * (self.width + 1) // 2, self.classes * self.width

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Errors of the products reach a score times the length of its plane, errors of the sums as they are.

        So their shares are as that length is to 1. Its square is `PLANE` times the variance of the class's indicator,
        for classes of one size.
        """
        length = math.sqrt(PLANE * max(self.classes - 1, 1)) / self.classes
        products = Fraction(round(190.0 * length / (1.0 + length)), 10)
        return Fraction(1), products, 19 - products

    def target(self, y: object) -> Integers:
        """The place of each record's class."""
        places = np.asarray(y)
        if places.dtype.kind not in "iu" or (len(places) and not 0 <= places.min() <= places.max() < self.classes):
            raise ParameterError(f"The target must hold the places of classes, whole numbers below {self.classes}.")
        return places.astype(np.int64)

    def totals(self, X: Floats, y: np.ndarray) -> list[Integers]:
        z = self.vectors(X)
        one = np.zeros((len(X), self.classes), like=X)
        one[np.arange(len(X), like=X), y] = 1.0
        return [np.bincount(y, minlength=self.classes), across(z, z), across(one, z)]

    def laid_out(self, totals: list[Integers]) -> list[Integers]:
        counts, matrix, of_class = totals
        return [counts * self.step, self.products(matrix), of_class * (self.step // LENGTH)]

    def check(self) -> None:
        require_classes(self.classes)
        super().check()


def anchored(d: int, share: float) -> float:
    """An anchor that weighs this share of d columns, within what a spec takes.

    >>> anchored(4, 0.25), anchored(1, 1e-9), anchored(4096, 1.0)
    (1.0, 0.0009765625, 32.0)
    """
    return float(min(max(math.sqrt(share * d), 2.0**-10), 2.0**5))


# ---- hats ----

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
        alone = [across(own_products(h[:, part]), target) for part in self.parts]
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


def own_products(h: Integers) -> Integers:
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
