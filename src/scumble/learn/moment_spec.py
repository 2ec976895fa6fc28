"""What every kind of moments answers: how a record becomes whole numbers, and how large these can be.

A cell becomes a whole number by one subtraction, one division, one product and one rounding, each of which IEEE 754
defines to the last bit. From there on all arithmetic is that of integers, which has no rounding and no order. So every
record is counted by itself, and the same on a processor and on a CUDA device, to whose memory an engine brings blocks
of records (`moments.proof.md`).

Rows of counters are sums over all records; the first row's numbers add up to the `step` for each record, so that it
also holds how many records there are. Bounds, columns and sizes are public and fixed before the first record.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import reduce
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

    # ---- size ----

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
