"""What every layout answers: how records become counters, and what can be read off them.

A layout is one file: ``hashed`` (rows of buckets), ``grid`` (one row of cells). A spec finds its layout by the name of
its design; everybody else asks the layout, and never which one it is. A new one answers the abstract questions below,
and those of the others that it can; what it leaves open is refused in its name.

Layouts may differ in the shape of their counters: nobody else assumes rows of equal length, nor that the noise of all
rows is alike (what is passed as the noise's variance is that of a counter with the whole budget's scale; a layout that
divides the budget unevenly knows each row's share of it).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from scumble.checks import Sides
from scumble.counting import Hasher
from scumble.counting.device import device_table, on_device, to_host
from scumble.counting.guard import Known
from scumble.errors import DataError, many
from scumble.kernels import Kernel, Records
from scumble.tables import Table, invalid_message
from scumble.tables.table import DROP_THEM

Count = tuple[float, float] | None
"""The number of records as released on its own, and its variance; None if it was not."""
Keep = Callable[[np.ndarray], str]
"""Stores an array beside a page and gives its name there."""


class Named(Protocol):
    """A kernel and the columns that it reads: specs and releases have both."""

    @property
    def kernel(self) -> Kernel:
        """What near means."""

    @property
    def dimensions(self) -> int:
        """How many columns a record has."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Their names, if they have any."""


class Parameters(Named, Protocol):
    """The public parameters that a layout is made of; a :class:`scumble.spec.Spec` has them."""

    @property
    def rows(self) -> int:
        """Rows of counters."""

    @property
    def buckets(self) -> int:
        """Counters per row."""

    @property
    def seed(self) -> int:
        """The public seed of the hash functions."""

    @property
    def design(self) -> str:
        """How the hash functions are drawn, or "grid"."""

    @property
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """The public bounds of a grid: lowest and highest, one per column."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The cells of a grid along each column."""

    @property
    def kinds(self) -> Mapping[str, str]:
        """What declared columns hold (:mod:`scumble.schema.kinds`)."""


class Released(Protocol):
    """A release as its layout sees it: noisy counters, and how noisy they are."""

    @property
    def counts(self) -> np.ndarray:
        """The noisy counters."""

    @property
    def counter_variance(self) -> float:
        """The variance of the noise on each counter."""

    @property
    def divisor(self) -> float:
        """The number of records that densities are shares of."""

    def standard_error(self, Q: object) -> np.ndarray:
        """The standard error of the answer at each point."""


class Source(Protocol):
    """Where synthetic records come from."""

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, columns) records."""


@dataclass(frozen=True)
class Estimate:
    """Estimates of f(q), one per query, with what is known of their errors.

    `noise_variance` is known exactly; `hashing_variance` is estimated with `degrees` of freedom, and intervals widen
    its root by the factor `caution`.
    """

    value: np.ndarray
    noise_variance: np.ndarray
    hashing: np.ndarray | Callable[[], np.ndarray]
    """That variance; or what finds it, where that takes far longer than the value, for those who ask."""
    degrees: float
    caution: float = 1.0

    @property
    def hashing_variance(self) -> np.ndarray:
        """Of hashing, or of the places inside a grid's cells."""
        return self.hashing() if callable(self.hashing) else self.hashing

    @property
    def variance(self) -> np.ndarray:
        """Noise and hashing together."""
        return self.noise_variance + self.hashing_variance


class Layout(ABC):
    """Where records are counted, and how counters are read.

    Making one costs nothing: hash functions and grids are made when first needed, or by `prepare`.
    """

    told: ClassVar[str]
    """What a release with this layout is or has, for messages: "is a grid"."""
    hashed: ClassVar[bool] = False
    """Whether it has hash functions, `hasher`: what ferns, moments and refined answers are read from."""
    has_places: ClassVar[bool] = False
    """Whether each counter stands for a place, so its reader knows `places`."""
    reads_any_kernel: ClassVar[bool] = False
    """Whether the kernel comes in with the query, so another one may read the same counters."""

    def __init__(self, spec: Parameters) -> None:
        self.spec = spec

    # ---- size ----

    @abstractmethod
    def check(self) -> None:
        """Refuse parameters that do not fit the layout, with a ValueError: a file may come from anyone."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what counting and queries need now; bad parameters fail here."""

    @property
    def counters(self) -> tuple[int, ...]:
        """The shape of the array of counters."""
        return (self.spec.rows, self.spec.buckets)

    @property
    def numbers(self) -> int:
        """Roughly how many numbers its hash functions have: what they cost, and what a query costs."""
        return 0

    # ---- counting and answering ----

    def read(self, X: object, *, invalid: str, hint: str = DROP_THEM) -> tuple[list[Records], int]:
        """A table as one set of records for each factor of the kernel, and how many rows were dropped."""
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
                    told = [names[i] if names else f"column {i}" for i in which[: bad.shape[1]]]
                    raise DataError(invalid_message(to_host(bad), told, hint=hint))
                bad_rows = bad.any(axis=1) if bad_rows is None else bad_rows | bad.any(axis=1)
            parts.append(records)
        if bad_rows is None:
            return parts, 0
        return [part.keep(~bad_rows) for part in parts], int(bad_rows.sum())

    @abstractmethod
    def count(self, parts: Sequence[Records], counts: np.ndarray, *, engine_name: str, threads: int | None) -> None:
        """Add each record to one counter of every row, in place."""

    def count_aside(self, parts: Sequence[Records], counts: np.ndarray, known: Known) -> None:
        """The same by this thread alone, on the processor, one of many that each have counters of their own.

        `known` is what they have found out about the batches of this pass.
        """
        self.count(parts, counts, engine_name="cpu", threads=1)

    @abstractmethod
    def reader(self, counts: np.ndarray, noise_variance: float, count: Count, *, engine_name: str = "auto") -> Reader:
        """Something that answers queries from these counters, and from the count that came with them."""

    def beyond(self, parts: Sequence[Records]) -> tuple[np.ndarray, np.ndarray]:
        """Which points lie where records were not counted but moved from, to public bounds; and for each of these the
        nearest point within. A grid has such bounds, and rows that were made of a grid's cells; others have none."""
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
        """The number of records as the counters tell it, and its variance: each row sums to it."""
        rows, buckets = counts.shape
        return float(counts.sum(axis=1).mean()), noise_variance * buckets / rows

    @property
    @abstractmethod
    def typical_density(self) -> float:
        """The density of a query like the records, as far as public parameters tell."""

    @abstractmethod
    def relative_error(self, noise_variance: float, records: float, density: float) -> float:
        """What plans and cards call the error: the mean of |error|/density to expect of queries of this density."""

    @abstractmethod
    def expected_error(self, release: Released, records: int) -> tuple[float, float]:
        """The standard error to expect of a kernel sum among so many records: the noise's share, and all of it."""

    # ---- what some can do ----

    def most_noise(self, noise_variance: float) -> float:
        """What the noise in a kernel sum does not exceed, as a standard deviation, if that is known at once."""
        return math.inf

    def densest(self, release: Released) -> np.ndarray | None:
        """Queries where the counters are heaviest, and around it; None if they have no place."""
        return None

    def source(self, release: Released, bounds: Sides, rng: np.random.Generator) -> Source:
        """What draws synthetic records within the bounds from a release's counters."""
        raise DataError(f"This release {self.told}, and no records can be drawn from that.")

    def heaviest(self, release: Released, points: np.ndarray, bounds: Sides) -> np.ndarray:
        """For each point, the place near it where the counters are heaviest."""
        raise DataError(f"This release {self.told}, and its counters have no place to be heaviest at.")

    def edges(self) -> list[np.ndarray]:
        """The edges of the cells, along each axis."""
        raise DataError(f"This release {self.told}, and the task needs a grid. Hint: build it with design='grid'.")

    @property
    def hasher(self) -> Hasher:
        """The hash functions."""
        raise DataError(f"This release {self.told}, and the task needs hashed rows. Hint: build it with rows=....")

    # ---- pages ----

    @property
    def drawable(self) -> bool:
        """Whether a page can answer by itself; a kernel of your own is Python, which no page runs."""
        return False

    def hasher_on_page(self, keep: Keep) -> dict[str, Any]:
        """The hash functions for ``web/src/engine``; releases with equal specs share them."""
        raise DataError(f"This release {self.told}, without hash functions to put on a page.")


class Reader(ABC):
    """Answers queries from counters: exact ones for their curator, noisy ones for everybody."""

    layout: Layout

    @abstractmethod
    def estimate(self, parts: Sequence[Records], *, groups: int | None = None) -> Estimate:
        """Estimates of f(q). With `groups`, the median of so many means of rows instead of the mean."""

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """The kernel sum at the place of each counter, and the counters: for layouts that have places."""
        raise DataError(f"This release {self.layout.told}, and its counters are no places to be ranked.")

    def lone_sums(self, parts: Sequence[Records]) -> np.ndarray:
        """Kernel sums as a function of each query alone, to the last bit: they may be counted as records are."""
        raise DataError(f"This release {self.layout.told}, and its kernel sums are not made to be counted.")

    @property
    def lone_deviation(self) -> float:
        """The noise's standard deviation in `lone_sums`."""
        raise DataError(f"This release {self.layout.told}, and its kernel sums are not made to be counted.")

    def on_page(self, keep: Keep) -> dict[str, Any]:
        """The counters and how to read them, for ``web/src/engine``; asked only where the layout is drawable."""
        raise DataError(f"This release {self.layout.told}, which no page can read.")
