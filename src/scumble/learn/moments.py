"""Moments: what is summed up of the records, as whole numbers of which each adds a bounded vector (`moments.proof.md`).

A cell becomes a whole number by one subtraction, one division, one product and one rounding, each of which IEEE 754
defines to the last bit. From there on all arithmetic is that of integers. So every record is counted by itself, and the
same on a processor and on a CUDA device, to whose memory an engine brings blocks of records.

Rows of counters are sums over all records; the first row's numbers add up to the `step` for each record, so that it
also holds how many records there are. Bounds, columns and sizes are public and fixed before the first record.

**Products.** A record's columns, in units of their bounds, and an *anchor* a (the constant column) make a vector. It is
divided by its own length, a function of the columns alone, so that each record has the same weight against the noise:
with the vectors z = [x, a, ay]/w of regression, Σ zzᵀ holds the normal equations of least squares with the weights
1/w². Sums of the vectors of each class make classification (Mehta et al. 2022, DP-FC).

With Σ|z| ≤ 1 the numbers zᵢ², 2zᵢzⱼ have an L1 of at most 1. With Σz² ≤ 1 the numbers 5zᵢ², 7zᵢzⱼ have an L2 of at most
5, since 49 < 2·25: seven fifths are the root of two, nearly.

**Hats** are cross-tables in which a record is shared out between its neighbors. The knots of a column are public: even
between its bounds, or put somewhere. A value between two knots belongs to both, in proportion to how near it is. A row
for each pair of columns holds the sums of products of their hats, to which a record adds 1 in four parts. A row for
each column holds the products of its own neighboring hats, for each of the two hats of the target.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations, pairwise
from operator import add
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.checks import Json
from scumble.counting import gpu
from scumble.errors import DataError, MergeError, ParameterError, parameter
from scumble.privacy.laws import GAUSSIAN, LAPLACE
from scumble.privacy.sensitivity import Reach

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

UNIT = 2**20
"""A column's bounds are −UNIT and UNIT."""


def steps(values: Floats, low: Floats | float, high: Floats | float, most: int) -> Integers:
    """Where each value lies between its bounds, in steps from 0 to `most`; what lies outside is at the bound.

    >>> steps(np.array([0.0, 2.5, 99.0]), 0.0, 10.0, 8).tolist()
    [0, 2, 8]
    """
    places = np.rint((np.clip(values, low, high) - low) / (high - low) * float(most))
    return np.clip(places, 0.0, float(most)).astype(np.int64)


def units(values: Floats, low: Floats | float, high: Floats | float) -> Integers:
    """Values between their bounds as whole numbers from −UNIT to UNIT."""
    return steps(values, low, high, 2 * UNIT) - UNIT


def within_length(vectors: Floats, length: float) -> Integers:
    """Vectors of whole numbers, `UNIT` being `length`: as they point, and made that long if they are longer.

    >>> within_length(np.array([[0.0, 0.25], [30.0, -40.0], [1e300, 1e300]]), 1.0).tolist()
    [[0, 262144], [629145, -838860], [741454, 741454]]
    """
    # The first quotient is at most 1, whatever the numbers are; a vector that it made shorter is longer than `UNIT`.
    largest = np.maximum(np.abs(vectors).max(axis=1), length)
    found = np.rint(vectors / largest[:, None] * float(UNIT)).astype(np.int64)
    return shortened(found, np.maximum(root_above((found * found).sum(axis=1)), UNIT), UNIT)


def pointing(vectors: Floats, length: float) -> Floats:
    """Vectors as they point, those that are longer than `length` made that long.

    >>> pointing(np.array([[0.0, 0.25], [30.0, -40.0], [0.0, 1e300]]), 1.0).tolist()
    [[0.0, 0.25], [0.6, -0.8], [0.0, 1.0]]
    """
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), length)
    parts = vectors / largest  # at most 1: nothing overflows
    long = np.linalg.norm(parts, axis=1, keepdims=True)
    return np.where(long > length / largest, parts / np.maximum(long, 1e-300) * length, vectors)


def longer(vectors: Floats, length: float) -> int:
    """How many vectors are longer than this."""
    with np.errstate(over="ignore"):
        return int((np.linalg.norm(vectors / length, axis=1) > 1.0).sum())


def shortened(vectors: Integers, lengths: Integers, length: int) -> Integers:
    """Vectors of length at most `lengths` made at most `length` long: scaled, then rounded toward zero.

    >>> shortened(np.array([[3, -4]]), np.array([5]), 100).tolist()
    [[60, -80]]
    """
    return np.sign(vectors) * (np.abs(vectors) * length // lengths[:, None])


def root_above(squares: Integers) -> Integers:
    """The least whole numbers whose squares are not below these, which are under 2**52.

    >>> root_above(np.array([0, 1, 2, 4, 25, 26])).tolist()
    [0, 1, 2, 2, 5, 6]
    """
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    roots = np.maximum(roots - 1, 0)  # from below, whatever the rounding
    roots += roots * roots < squares
    roots += roots * roots < squares
    return roots + (roots * roots < squares)


def across(one: Integers | Floats, other: Integers) -> Integers:
    """Σ uvᵀ over a block of records, of whole numbers with products below 2**29: sums in float64 are exact.

    >>> across(np.array([[1, 2], [3, 4]]), np.array([[5], [6]])).tolist()
    [[23], [34]]
    """
    second = other.astype(np.float64)
    first = second if one is other else one.astype(np.float64, copy=False)
    return np.rint(first.T @ second).astype(np.int64)


# ---- where sums are taken ----

ENGINES = ("auto", "cpu", "gpu")
HASHES = 32
"""How many a processor makes in the time that a cell takes here; with them it is decided what is worth a device."""

EMULATION = "CUBLAS_EMULATE_DOUBLE_PRECISION"
"""Switches on products of float64 that are made of shorter numbers: the proof of exactness is not about those."""


class Engine(NamedTuple):
    """A memory, and what computes in it: how arrays get there and back, and where new ones are made."""

    upload: Callable[[np.ndarray], Any] = np.asarray
    download: Callable[[Any], np.ndarray] = np.asarray
    working: Callable[[], AbstractContextManager[object]] = nullcontext


CPU = Engine()


def engine(name: str, cells: int) -> Engine:
    """The engine of that name; ``auto`` takes the first CUDA device where there is one and so many cells are worth it.

    CuPy's arrays answer NumPy's functions.
    """
    require_engine(name)
    emulated = os.environ.get(EMULATION, "0") not in ("", "0")
    if name == "gpu" and emulated:
        raise ParameterError(f"{EMULATION} lets the device round products, which must be exact. Hint: unset it.")
    if name == "cpu" or (name == "auto" and (emulated or not gpu.suits(HASHES * cells))):
        return CPU
    device = gpu.first_device()  # refused where there is none
    import cupy

    return Engine(cupy.asarray, cupy.asnumpy, lambda: device)


def require_engine(name: str) -> None:
    """Refuse a name that no engine has."""
    if name not in ENGINES:
        raise parameter("engine", f"one of {', '.join(ENGINES)}", name)


# ---- what is summed up ----

MOST_DIMENSIONS = 4096
MOST_COUNTERS = 2**27
"""1 GiB."""
BLOCK = 2**13
"""Records at a time. Their products, summed in float64, stay under 2**53: every sum is exact, in any order."""

Span = tuple[float, float]
Spans = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class MomentSpec(ABC):
    """What is public about a sketch: two with equal specs add the same numbers for a record, so they can be merged.

    What lies outside the `bounds`, (low, high), one per column, is counted at the bound. `pure` numbers are bounded in
    L1, for Laplace noise, others in L2, for Gaussian noise.
    """

    kind: ClassVar[str]
    """In files; never changed."""
    signed: ClassVar[bool] = True
    occupancies: ClassVar[Mapping[int, np.ndarray]] = {}
    touches: ClassVar[Mapping[int, int]] = {}

    bounds: Spans
    columns: tuple[str, ...] | None
    pure: bool

    @property
    @abstractmethod
    def step(self) -> int:
        """How much a record adds to a row, at most."""

    @property
    @abstractmethod
    def lengths(self) -> tuple[int, ...]:
        """How many counters each row has."""

    @property
    @abstractmethod
    def shares(self) -> tuple[Fraction, ...]:
        """What each row gets of the budget, in any unit."""

    @property
    def follows(self) -> bool:
        """Whether something of it follows from another release: then a claim is about both."""
        return False

    @property
    def dimensions(self) -> int:
        """How many columns a record has."""
        return len(self.bounds[0])

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.lengths)

    @property
    def counters(self) -> tuple[int, ...]:
        """The shape of the array of counters: all rows, one after the other."""
        return (sum(self.lengths),)

    @property
    def reach(self) -> Reach:
        """What a record adds to a row, for the calibration."""
        return Reach(self.step, self.signed, (LAPLACE if self.pure else GAUSSIAN).name)

    # ---- counting ----

    @abstractmethod
    def totals(self, X: Floats, y: np.ndarray) -> list[Integers]:
        """Sums over a block of records, wherever it lies: a few arrays, out of which `laid_out` makes the rows."""

    @abstractmethod
    def laid_out(self, totals: list[Integers]) -> list[Integers]:
        """The rows of counters."""

    def sums(self, X: Floats, y: np.ndarray, engine: Engine = CPU) -> list[Integers]:
        """What these records, at least one, add to each row."""
        blocks = (slice(first, first + BLOCK) for first in range(0, len(X), BLOCK))
        with engine.working():
            found = (self.totals(engine.upload(X[part]), engine.upload(y[part])) for part in blocks)
            totals = reduce(lambda one, other: list(map(add, one, other)), found)
            return self.laid_out(list(map(engine.download, totals)))

    def target(self, y: object) -> np.ndarray:
        """The target's cells as the sums take them; whatever else is refused."""
        return finite(y, "The target has")

    def count(self, X: Floats, y: np.ndarray, counts: Integers, engine: Engine = CPU) -> None:
        """Add the records to the counters, in place."""
        if len(X):
            counts += np.concatenate([added.ravel() for added in self.sums(X, y, engine)])

    def split(self, counts: Integers) -> list[Floats]:
        """The rows of (noisy) counters, in units of one record."""
        ends = np.cumsum(self.lengths)[:-1]
        return [row / self.step for row in np.split(counts, ends)]

    # ---- a value among others ----

    def require_equal(self, other: object) -> None:
        """Refuse to merge unequal specs, naming each field that differs."""
        if type(other) is not type(self):
            raise MergeError("Cannot merge: these are not the same kind of moments.")
        unequal = [one.name for one in fields(self) if getattr(self, one.name) != getattr(other, one.name)]
        if unequal:
            raise MergeError(f"Cannot merge: {', '.join(unequal)} differ. Hint: build both with the same parameters.")

    def to_dict(self) -> Json:
        """The spec as JSON values."""
        return {"moments": self.kind, **{one.name: getattr(self, one.name) for one in fields(self)}}

    def check(self) -> None:
        """A file may come from anyone: no number is used before its range is known."""
        low, high = self.bounds
        if not 1 <= len(low) <= MOST_DIMENSIONS or len(low) != len(high):
            raise ParameterError(f"`bounds` must have one pair per column, and at most {MOST_DIMENSIONS:,}.")
        for one, other in zip(low, high, strict=True):
            require_span((one, other))
        if type(self.pure) is not bool:
            raise ParameterError("`pure` must be true or false.")
        names = self.columns
        if names is not None and (len(names) != len(low) or not all(type(name) is str for name in names)):
            raise ParameterError("`columns` must name each column.")

    def check_size(self) -> None:
        """Refuse what nobody could hold."""
        if self.counters[0] > MOST_COUNTERS:
            raise ParameterError(f"There would be {self.counters[0]:,} counters, and there may be {MOST_COUNTERS:,}.")


def finite(cells: object, which: str) -> Floats:
    """Cells as float64; those that are not finite numbers are refused, and not quoted as NumPy would."""
    try:
        found = np.asarray(cells)
        if found.dtype.kind in "biufO" and np.isfinite(values := np.asarray(found, np.float64)).all():
            return values
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(f"{which} values that are not finite numbers. Hint: correct them.")


def require_span(span: Sequence[object]) -> None:
    """Refuse bounds that are no rising pair of finite floats."""
    low, high = span
    if type(low) is not float or type(high) is not float or not (low < high and np.isfinite(high - low)):
        raise ParameterError("Bounds must be rising pairs of finite numbers.")


# ---- products ----

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
        return np.triu_indices(self.width)

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
        alone = []
        for own in (h[:, part] for part in self.parts):  # hats with themselves, then twice with their neighbors
            alone.append(across(np.concatenate([own * own, 2 * own[:, 1:] * own[:, :-1]], axis=1), target))
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
