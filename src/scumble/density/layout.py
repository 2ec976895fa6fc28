"""What every layout provides: how records become counters, and what is read from them.

A spec finds its layout by its design; other code never asks which one it is. A new layout implements the abstract
methods, and those of the others that it can; the rest are refused in its name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from scumble.checks import Json, Sides
from scumble.columns.table import DROP_THEM, Table, invalid_message
from scumble.counting import Hasher
from scumble.counting.engines import device_table, on_device, to_host
from scumble.counting.guard import Known
from scumble.errors import DataError, many
from scumble.kernels import Records

if TYPE_CHECKING:
    from scumble.density.draws import CellMasses, Particles
    from scumble.density.release import Release
    from scumble.density.spec import Spec

    Source: TypeAlias = CellMasses | Particles

Count = tuple[float, float] | None
"""The separately released number of records and its variance, or None."""
Keep = Callable[[np.ndarray], str]
"""Stores an array for a page and returns its name there."""


@dataclass(frozen=True)
class Estimate:
    """Estimates of f(q), one per query, and their errors.

    `noise_variance` is exact. `hashing_variance`, from hashing or from places in a grid's cells, is estimated with
    `degrees` of freedom, and intervals widen its root by the factor `caution`.
    """

    value: np.ndarray
    noise_variance: np.ndarray
    hashing_variance: np.ndarray
    degrees: float
    caution: float = 1.0

    @property
    def variance(self) -> np.ndarray:
        """Noise and hashing together."""
        return self.noise_variance + self.hashing_variance


class Layout(ABC):
    """Where records are counted, and how counters are read. Hash functions and grids are made on first use or by
    `prepare`."""

    told: ClassVar[str]
    """For messages: "is a grid"."""
    hashed: ClassVar[bool] = False
    """Whether it has hash functions (`hasher`)."""
    has_places: ClassVar[bool] = False
    """Whether each counter stands for a place, so its reader knows `places` and any kernel may read it."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError for parameters that do not fit: a file may come from anyone."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what counting and queries need; bad parameters fail here."""

    @property
    def numbers(self) -> int:
        """Approximate number of values in the hash functions."""
        return 0

    def read(self, X: object, *, invalid: str, hint: str = DROP_THEM) -> tuple[list[Records], int]:
        """A table as one set of records per factor of the kernel, and the number of dropped rows."""
        spec = self.spec
        table: Any = device_table(X) if on_device(X) else Table.of(X, columns=spec.columns, dimensions=spec.dimensions)
        if table.width != spec.dimensions:
            raise DataError(f"The table has {many(table.width, 'column')}; this sketch has {spec.dimensions}.")
        names = table.names if spec.columns is None else spec.columns
        parts: list[Records] = []
        bad_rows: Any = None
        for factor in spec.kernel.factors:
            which = factor.which(table.width, names)
            records, bad = factor.read(table, which)
            if bad.any():
                if invalid == "error":
                    labels = [names[i] if names else f"column {i}" for i in which[: bad.shape[1]]]
                    raise DataError(invalid_message(to_host(bad), labels, hint=hint))
                bad_rows = bad.any(axis=1) if bad_rows is None else bad_rows | bad.any(axis=1)
            parts.append(records)
        return (parts, 0) if bad_rows is None else ([part.keep(~bad_rows) for part in parts], int(bad_rows.sum()))

    @abstractmethod
    def count(self, parts: Sequence[Records], counts: np.ndarray, *, engine_name: str, threads: int | None) -> None:
        """Add each record to one counter of every row, in place."""

    def count_aside(self, parts: Sequence[Records], counts: np.ndarray, known: Known) -> None:
        """`count` by this thread alone, on the processor, into counters of its own.

        `known` is what all threads have learned about the batches of this pass.
        """
        self.count(parts, counts, engine_name="cpu", threads=1)

    @abstractmethod
    def reader(self, counts: np.ndarray, noise_variance: float, count: Count, *, engine_name: str = "auto") -> Reader:
        """A reader of these counters and of the count released with them."""

    def beyond(self, parts: Sequence[Records]) -> tuple[np.ndarray, np.ndarray]:
        """Which points lie outside the public bounds, and the nearest points within. Only grids, and rows made of a
        grid's cells, have bounds."""
        spec = self.spec
        found, nearest = np.zeros(len(parts[0]), bool), np.zeros((len(parts[0]), spec.dimensions))
        if spec.bounds is None:
            return found, nearest[:0]
        low, high = (np.asarray(side) for side in spec.bounds)
        for factor, part in zip(spec.kernel.factors, parts, strict=True):
            which = factor.which(spec.dimensions, spec.columns)
            nearest[:, which] = np.clip(part.values, low[which], high[which])
            found |= np.any(nearest[:, which] != part.values, axis=1)
        return found, nearest[found]

    def total(self, counts: np.ndarray, noise_variance: float) -> tuple[float, float]:
        """The number of records from the row sums, and its variance."""
        rows, buckets = counts.shape
        return float(counts.sum(axis=1).mean()), noise_variance * buckets / rows

    @property
    @abstractmethod
    def typical_density(self) -> float:
        """The density of a query like the records, from public parameters."""

    @abstractmethod
    def relative_error(self, noise_variance: float, records: float) -> float:
        """The expected mean of |error|/density for queries of typical density."""

    @abstractmethod
    def expected_error(self, release: Release, records: int) -> tuple[float, float]:
        """The expected standard error of a kernel sum: from noise, and in total."""

    def most_noise(self, noise_variance: float) -> float:
        """An upper bound of the noise's standard deviation in a kernel sum."""
        return math.inf

    def densest(self, release: Release) -> np.ndarray | None:
        """Queries at and around the heaviest counter; None if counters have no place."""
        return None

    def source(self, release: Release, bounds: Sides, rng: np.random.Generator) -> Source:
        """A source of synthetic records within the bounds."""
        raise self.lacks("records cannot be drawn from it.")

    def edges(self) -> list[np.ndarray]:
        """The edges of the cells, along each axis."""
        raise self.lacks("the task needs a grid. Hint: build it with design='grid'.")

    @property
    def hasher(self) -> Hasher:
        """The hash functions."""
        raise self.lacks("the task needs hashed rows. Hint: build it with rows=....")

    @property
    def drawable(self) -> bool:
        """Whether the web page can answer queries; custom kernels are Python only."""
        return False

    def hasher_on_page(self, keep: Keep) -> Json:
        """The hash functions for ``web/src/engine``; releases with equal specs share them."""
        raise self.lacks("has no hash functions.")

    def lacks(self, what: str) -> DataError:
        """What to raise where a layout cannot do something."""
        return DataError(f"This release {self.told}, and {what}")


class Reader(ABC):
    """Answers queries from exact or noisy counters."""

    layout: Layout

    @abstractmethod
    def estimate(self, parts: Sequence[Records]) -> Estimate:
        """Estimates of f(q)."""

    def by_median(self, parts: Sequence[Records]) -> Estimate:
        """Estimates by a median of means of rows; of a single row, by its mean."""
        return self.estimate(parts)

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """The kernel sum at the place of each counter, and the counters."""
        raise self.layout.lacks("its counters have no places.")

    def lone_sums(self, parts: Sequence[Records]) -> np.ndarray:
        """Kernel sums that depend on each query alone, to the last bit."""
        raise self.layout.lacks("its kernel sums cannot be counted.")

    @property
    def lone_deviation(self) -> float:
        """The noise's standard deviation in `lone_sums`."""
        raise self.layout.lacks("its kernel sums cannot be counted.")

    def on_page(self, keep: Keep) -> Json:
        """The counters and how to read them, for ``web/src/engine``."""
        raise self.layout.lacks("a page cannot read it.")


def alike(named: Release | Spec, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The kernel between plain arrays; columns that the kernel names are found by position."""
    left, right = (Table.of(part, columns=named.columns, dimensions=named.dimensions) for part in (X, Y))
    return named.kernel(left, right)


def reach(named: Release | Spec, low: np.ndarray, high: np.ndarray, level: float = 0.5) -> np.ndarray:
    """For each column, the fraction of the bounds' width within which the kernel falls to `level`, at most 1.

    Where a kernel that averages over columns stops falling above `level`, that fraction of its fall is used.
    """
    middle, shares, out = (low + high) / 2.0, np.geomspace(1e-4, 1.0, 80), np.ones(len(low))
    for column, width in enumerate(high - low):
        moved = np.repeat(middle[None, :], len(shares), axis=0)
        moved[:, column] += shares * width
        values = alike(named, middle[None, :], moved)[0]
        drop, before = 1.0 - values[-1], 1.0 - values[-8]  # before: at less than half the width
        stopped = drop < 1.0 - level and 1e-9 < drop < 1.001 * before
        fallen = np.flatnonzero(values <= (1.0 - (1.0 - level) * drop if stopped else level))
        out[column] = shares[fallen[0]] if len(fallen) else 1.0
    return out
