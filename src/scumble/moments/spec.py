"""What every kind of moments answers: how a record becomes whole numbers, and how large these can be.

A kind is one file. Its rows of counters are sums over all records; the first row's numbers add up to the `step` for
each record, so that it also holds how many records there are. Bounds, columns and sizes are public and fixed before the
first record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from scumble.errors import DataError, MergeError, ParameterError
from scumble.moments.engines import CPU, Engine
from scumble.moments.fixed import Floats, Integers
from scumble.privacy.laws import GAUSSIAN, LAPLACE
from scumble.privacy.sensitivity import Reach

MOST_DIMENSIONS = 4096
MOST_COUNTERS = 2**27
"""1 GiB."""
BLOCK = 2**13
"""Records at a time. Their products, summed in float64, stay under 2**53: every sum is exact, in any order."""

Span = tuple[float, float]
Spans = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class MomentSpec(ABC):
    """Two sketches with equal specs add the same numbers for a record, so they can be merged.

    Parameters
    ----------
    bounds : pair of tuple of float
        (low, high), public, one per column. What lies outside is counted at the bound.
    columns : tuple of str or None
        The columns' names.
    pure : bool
        Whether the numbers are bounded in L1, for Laplace noise, or in L2, for Gaussian noise.
    """

    kind: ClassVar[str]
    """In files; never changed."""
    signed: ClassVar[bool] = True

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
    def numbers(self) -> int:
        """How many numbers its hash functions have: there are none."""
        return 0

    @property
    def reach(self) -> Reach:
        """What a record adds to a row, for the calibration."""
        return Reach(self.step, self.signed, (LAPLACE if self.pure else GAUSSIAN).name)

    # ---- counting ----

    @abstractmethod
    def totals(self, X: Floats, y: Any) -> list[Integers]:
        """Sums over a block of records, wherever it lies: a few arrays, out of which `laid_out` makes the rows."""

    @abstractmethod
    def laid_out(self, totals: list[Integers]) -> list[Integers]:
        """The rows of counters."""

    def sums(self, X: Floats, y: Any, engine: Engine = CPU) -> list[Integers]:
        """What these records, of which there is one at least, add to each row."""
        blocks = (slice(first, first + BLOCK) for first in range(0, len(X), BLOCK))
        with engine.working():
            found = (self.totals(engine.upload(X[part]), engine.upload(y[part])) for part in blocks)
            totals = reduce(lambda one, other: list(map(add, one, other)), found)
            return self.laid_out(list(map(engine.download, totals)))

    def target(self, y: object) -> Any:
        """The target's cells as the sums take them; whatever else is refused."""
        return finite(y, "The target has")

    def count(self, X: Floats, y: Any, counts: Integers, engine: Engine = CPU) -> None:
        """Add the records to the counters, in place."""
        if len(X) == 0:
            return
        rows = np.split(counts, np.cumsum(self.lengths)[:-1])
        for row, added in zip(rows, self.sums(X, y, engine), strict=True):
            row += added.ravel()

    def split(self, counts: Integers) -> list[Floats]:
        """The rows of (noisy) counters, in units of one record."""
        ends = np.cumsum(self.lengths)[:-1]
        return [row / self.step for row in np.split(counts, ends)]

    # ---- a value among others ----

    def require_equal(self, other: Any) -> None:
        """Refuse to merge unequal specs, naming each field that differs."""
        if type(other) is not type(self):
            raise MergeError("Cannot merge: these are not the same kind of moments.")
        told = [one.name for one in fields(self) if getattr(self, one.name) != getattr(other, one.name)]
        if told:
            raise MergeError(f"Cannot merge: {', '.join(told)} differ. Hint: build both with the same parameters.")

    def to_dict(self) -> dict[str, Any]:
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
        """Refuse what nobody could hold, and rows of more counters than the proof of Gaussian noise reckons with."""
        if self.counters[0] > MOST_COUNTERS:
            raise ParameterError(f"There would be {self.counters[0]:,} counters, and there may be {MOST_COUNTERS:,}.")
        if max(self.lengths) > self.step:
            raise ParameterError("A row has more counters than a record's numbers add up to.")


def finite(cells: object, which: str) -> Floats:
    """Cells as float64; those that are not finite numbers are refused, and not quoted as NumPy would."""
    try:
        found = np.asarray(cells)
        if found.dtype.kind in "biufO" and np.isfinite(values := np.asarray(found, np.float64)).all():
            return values
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(f"{which} cells that are not finite numbers. Hint: correct them.")


def require_span(span: Any) -> None:
    """Refuse bounds that are no rising pair of finite floats."""
    low, high = span
    if type(low) is not float or type(high) is not float or not (low < high and np.isfinite(high - low)):
        raise ParameterError("Bounds must be rising pairs of finite numbers.")
