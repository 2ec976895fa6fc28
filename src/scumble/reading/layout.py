"""How records become counters, and counters estimates: hashed rows, or one row of grid cells.

Both layouts offer the same verbs, so sketches and releases need not know which one they hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble.counting import Engine, Hasher, engine
from scumble.counting.device import device_table, on_device, to_host
from scumble.design import Design
from scumble.errors import DataError
from scumble.grid import Field, Grid
from scumble.kernels import Records
from scumble.reading.moments import RowMoments
from scumble.tables import Table, invalid_message

if TYPE_CHECKING:
    from scumble.spec import Spec

QUERY_VALUES = 1 << 21
"""Sums held at a time: bounds the memory of queries to some 64 MiB."""

CAUTION = {"iid": 1.4, "orthogonal": 1.4, "sobol": 1.15, "grid": 1.2}
"""Widens the hashing part of intervals. Row values are skewed: a few rows hold large counters, and a sample that missed
them looks too calm. The blocks of Sobol rows overstate the error already. On a grid it is the error of the places
inside the cells, which can only be modelled."""


@dataclass(frozen=True)
class Estimate:
    """Estimates of f(q), one per query, with what is known of their errors.

    `noise_variance` is known exactly; `hashing_variance` is estimated with `degrees` of freedom, and intervals widen
    its root by the factor `caution`.
    """

    value: np.ndarray
    noise_variance: np.ndarray
    hashing_variance: np.ndarray
    degrees: float
    caution: float = 1.0

    @property
    def variance(self) -> np.ndarray:
        return self.noise_variance + self.hashing_variance


Count = tuple[float, float] | None
"""The number of records as released on its own, and its variance; None if it was not."""


class Layout(ABC):
    """Where records are counted, and how counters are read."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def read(self, X: Any, *, invalid: str) -> tuple[list[Records], int]:
        """A table as one set of records for each factor of the kernel, and how many rows were dropped."""
        spec = self.spec
        table: Any = device_table(X) if on_device(X) else Table.of(X, columns=spec.columns, dimensions=spec.dimensions)
        if table.width != spec.dimensions:
            raise DataError(f"The table has {table.width} columns; this sketch has {spec.dimensions}.")
        names = table.names if spec.columns is None else spec.columns
        parts: list[Records] = []
        bad_rows: Any = None
        for factor in spec.kernel.factors:
            which = factor.which(table.width, names)
            records, bad = factor.read(table, which)
            if bad.any():
                if invalid == "error":
                    told = [names[i] if names else f"column {i}" for i in which[: bad.shape[1]]]
                    raise DataError(invalid_message(to_host(bad), told))
                bad_rows = bad.any(axis=1) if bad_rows is None else bad_rows | bad.any(axis=1)
            parts.append(records)
        if bad_rows is None:
            return parts, 0
        return [part.keep(~bad_rows) for part in parts], int(bad_rows.sum())

    @abstractmethod
    def count(self, parts: Sequence[Records], counts: np.ndarray, *, engine_name: str, threads: int | None) -> None:
        """Add each record to one counter of every row, in place."""

    @abstractmethod
    def reader(self, counts: np.ndarray, noise_variance: float, count: Count, *, engine_name: str = "auto") -> Reader:
        """Something that answers queries from these counters, and from the count that came with them."""


class Reader(ABC):
    """Answers queries from counters: exact ones for their curator, noisy ones for everybody."""

    @abstractmethod
    def estimate(self, parts: Sequence[Records], *, groups: int | None = None) -> Estimate:
        """Estimates of f(q). With `groups`, the median of so many means of rows instead of the mean."""


class HashedRows(Layout):
    """R rows of W buckets, indexed by locality-sensitive hashing."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        spec.require_affordable()
        design = Design(spec.design, spec.seed, spec.rows)
        self.hasher = Hasher(spec.kernel, design, buckets=spec.buckets, width=spec.dimensions, names=spec.columns)
        self.blocks = design.blocks(self.hasher.block)
        self.caution = CAUTION[spec.design]

    def count(self, parts: Sequence[Records], counts: np.ndarray, *, engine_name: str, threads: int | None) -> None:
        work = len(parts[0]) * self.hasher.multipliers.size
        engine(engine_name, work).count(self.hasher, parts, counts, threads)

    def reader(self, counts: np.ndarray, noise_variance: float, count: Count, *, engine_name: str = "auto") -> Reader:
        return HashedReader(self, counts, noise_variance, count, engine_name)


class HashedReader(Reader):
    """The mean over the rows of the counters that a query falls into, freed of the rehash's bias.

    Every row sums to N, so its noisy sum tells how much noise fell into it: subtracting 1/W of that sum from each
    counter removes the expected number of collisions, E[X] = Σ k + (1 − k)/W, and the row's common noise, in one step:

        f̂ = mean over r of (X_r − S_r/W) / (1 − 1/W).

    Without a rehash there are no such collisions, and only the row's excess (S_r − N̂)/W is subtracted.
    """

    def __init__(
        self, layout: HashedRows, counts: np.ndarray, noise_variance: float, count: Count, engine_name: str
    ) -> None:
        self.layout, self.counts, self.engine_name = layout, counts, engine_name
        hasher = layout.hasher
        if hasher.direct:
            self.counts = counts = np.ascontiguousarray(counts[:, : hasher.used])
            sums = counts.sum(axis=1)
            self.shift = (sums - (sums.mean() if count is None else count[0])) / hasher.used
            self.gain = 1.0
            shrink = 1.0 - 1.0 / hasher.used
        else:
            buckets = counts.shape[1]
            self.shift = counts.sum(axis=1) / buckets
            self.gain = 1.0 / (1.0 - 1.0 / buckets) if buckets > 1 else 0.0
            shrink = self.gain
        self.noise_variance = noise_variance * shrink / len(counts)
        self.moments = RowMoments(layout.blocks, self.shift, self.gain)
        if not self.counts.flags.writeable:  # compiled loops tell such arrays apart; this one stays ours
            self.counts = self.counts.copy()

    def estimate(self, parts: Sequence[Records], *, groups: int | None = None) -> Estimate:
        n, hasher = len(parts[0]), self.layout.hasher
        moments = self.moments
        if groups is not None:
            moments = RowMoments(self.layout.blocks, self.shift, self.gain, groups)
        by = engine(self.engine_name, n * hasher.multipliers.size)
        found = None
        if groups is None:
            found = by.moments(hasher, parts, self.counts, self.shift, self.gain, self.layout.blocks)
        value, spread = self._by_sums(by, parts, moments) if found is None else found
        # What the noise does not explain is due to hashing; one count in one row can always have been missed.
        hashing = np.maximum(spread - self.noise_variance, 1.0 / len(self.counts) ** 2)
        return Estimate(value, np.full(n, self.noise_variance), hashing, moments.degrees, self.layout.caution)

    def _by_sums(self, by: Engine, parts: Sequence[Records], moments: RowMoments) -> tuple[np.ndarray, np.ndarray]:
        """Mean and spread from sums of counters, some queries at a time."""
        n, tile = len(parts[0]), max(1, QUERY_VALUES // len(moments.starts))
        found = []
        for first in range(0, n, tile):
            here = parts if n <= tile else [part[first : first + tile] for part in parts]
            found.append(moments(by.sums(self.layout.hasher, here, self.counts, moments.lines)))
        if len(found) == 1:
            return found[0]
        return tuple(np.concatenate([pair[k] for pair in found] or [np.empty(0)]) for k in range(2))  # type: ignore[return-value]


class GridRow(Layout):
    """One row whose buckets are the cells of a grid over public bounds."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        assert spec.bounds is not None and spec.shape is not None
        which = spec.kernel.which(spec.dimensions, spec.columns)
        low, high = (np.array([side[i] for i in which]) for side in spec.bounds)
        self.which = which
        self.grid = Grid(spec.kernel, low=low, high=high, shape=spec.shape, width=spec.dimensions, names=spec.columns)

    def matrix(self, parts: Sequence[Records]) -> np.ndarray:
        """The columns that the kernel reads, side by side, each once."""
        if len(parts) == 1:
            return parts[0].values
        out = np.empty((len(parts[0]), len(self.which)))
        for factor, part in zip(self.spec.kernel.factors, parts, strict=True):
            place = [self.which.index(i) for i in factor.which(self.spec.dimensions, self.spec.columns)]
            out[:, place] = part.values
        return out

    def count(self, parts: Sequence[Records], counts: np.ndarray, *, engine_name: str, threads: int | None) -> None:
        self.grid.count(self.matrix(parts), counts)

    def reader(self, counts: np.ndarray, noise_variance: float, count: Count, *, engine_name: str = "auto") -> Reader:
        value, variance = count or (None, 0.0)
        return GridReader(self, self.grid.field(counts, noise_variance, count=value, count_variance=variance))


class GridReader(Reader):
    """The noisy grid convolved with the kernel."""

    def __init__(self, layout: GridRow, field: Field) -> None:
        self.layout, self.field = layout, field

    def estimate(self, parts: Sequence[Records], *, groups: int | None = None) -> Estimate:
        value, noise, places = self.field.estimate(self.layout.matrix(parts))
        return Estimate(value, noise, places, float("inf"), CAUTION["grid"])
