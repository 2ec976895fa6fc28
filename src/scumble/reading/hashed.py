"""R rows of W buckets, indexed by locality-sensitive hashing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from scumble.checks import Sides
from scumble.counting import Engine, Hasher, engine
from scumble.counting.families import family
from scumble.counting.guard import Known
from scumble.design import Design
from scumble.grid.finest import rounding
from scumble.kernels import Records
from scumble.reading.layout import Count, Estimate, Keep, Layout, Parameters, Reader, Released, Source
from scumble.reading.moments import RowMoments
from scumble.reading.spread import noise_error, row_error, row_spread, typical_density

QUERY_VALUES = 1 << 21
"""Sums held at a time: bounds the memory of queries to some 64 MiB."""

CAUTION = {"iid": 1.4, "orthogonal": 1.4, "sobol": 1.15}
"""Widens the hashing part of intervals. Row values are skewed: a few rows hold large counters, and a sample that missed
them looks too calm. The blocks of Sobol rows overstate the error already."""

FAMILIES = ("floor", "sign", "folded", "column", "pick", "minimum")
"""The hashes that a page knows."""


class HashedRows(Layout):
    """Each row has a hash function of its own; near records meet in its buckets more often than distant ones."""

    told = "has hashed rows"
    hashed = True

    def __init__(self, spec: Parameters) -> None:
        super().__init__(spec)
        self._made: tuple[Hasher, np.ndarray] | None = None

    def check(self) -> None:
        if self.spec.shape is not None:
            raise ValueError("design is unknown")

    def prepare(self) -> None:
        self._functions()

    def _functions(self) -> tuple[Hasher, np.ndarray]:
        # Not `cached_property`: in Python 3.11 that holds a lock, and a fork at that moment hangs the child for ever.
        if self._made is None:
            spec = self.spec
            design = Design(spec.design, spec.seed, spec.rows)
            hasher = Hasher(spec.kernel, design, buckets=spec.buckets, width=spec.dimensions, names=spec.columns)
            self._made = hasher, design.blocks(hasher.block)
        return self._made

    @property
    def hasher(self) -> Hasher:
        return self._functions()[0]

    @property
    def blocks(self) -> np.ndarray:
        """For each row, the number of the block of rows that were drawn together."""
        return self._functions()[1]

    @property
    def rounding(self) -> float:
        """By how much answers may be off, relative to themselves, where the rows were made of a grid's cells.

        Such rows have bounds (:mod:`scumble.planning.rehashing`), others have none.
        """
        spec = self.spec
        if spec.bounds is None:
            return 0.0
        which = spec.kernel.which(spec.dimensions, spec.columns)
        low, high = (np.array([side[i] for i in which]) for side in spec.bounds)
        return rounding(spec.kernel, low, high, width=spec.dimensions, names=spec.columns)

    @property
    def numbers(self) -> int:
        spec = self.spec
        widths = [spec.dimensions if factor.columns is None else len(factor.columns) for factor in spec.kernel.factors]
        hashes = zip(spec.kernel.factors, widths, strict=True)
        return spec.rows * sum(factor.power * (width + 2) for factor, width in hashes)

    def count(self, parts: Sequence[Records], counts: np.ndarray, *, engine_name: str, threads: int | None) -> None:
        work = len(parts[0]) * self.hasher.multipliers.size
        engine(engine_name, work).count(self.hasher, parts, counts, threads)

    def count_aside(self, parts: Sequence[Records], counts: np.ndarray, known: Known) -> None:
        from scumble.counting import cpu  # who only reads releases need not wait for it

        cpu.count(self.hasher, parts, counts, 1, known)

    def reader(self, counts: np.ndarray, noise_variance: float, count: Count, *, engine_name: str = "auto") -> Reader:
        return HashedReader(self, counts, noise_variance, count, engine_name)

    @property
    def typical_density(self) -> float:
        return typical_density(self.spec.kernel)

    def relative_error(self, noise_variance: float, records: float, density: float) -> float:
        spec = self.spec
        hashing = row_error(spec.kernel, spec.design, spec.buckets, density) / math.sqrt(spec.rows)
        return math.hypot(hashing, noise_error(math.sqrt(noise_variance / spec.rows), density, records))

    def expected_error(self, release: Released, records: int) -> tuple[float, float]:
        """That of a query of typical density, as the plan expects it, with the release's own noise."""
        spec = self.spec
        noise = self.most_noise(release.counter_variance)
        f = typical_density(spec.kernel) * records
        hashing = row_spread(spec.kernel, spec.design, spec.buckets, records, f) + f
        return noise, float(np.sqrt(hashing / spec.rows + noise**2))

    def most_noise(self, noise_variance: float) -> float:
        """A counter of each row has a part in every sum."""
        return float(np.sqrt(noise_variance / self.spec.rows))

    def source(self, release: Released, bounds: Sides, rng: np.random.Generator) -> Source:
        from scumble.reading.particles import Particles

        return Particles(self, release, bounds, rng)

    def heaviest(self, release: Released, points: np.ndarray, bounds: Sides) -> np.ndarray:
        from scumble.reading.slabs import Slabs

        slabs = Slabs(self, release)
        for _ in range(3):
            points = np.array([slabs.program(point, bounds) for point in points])
        return points

    @property
    def drawable(self) -> bool:
        return all(family(factor) in FAMILIES for factor in self.spec.kernel.factors)

    def hasher_on_page(self, keep: Keep) -> dict[str, Any]:
        hasher = self.hasher
        factors = [
            {
                "family": kind,
                "which": list(which),
                "hashes": parameters.shape[1],
                "width": parameters.shape[2],
                "parameters": keep(parameters),
            }
            for kind, which, parameters in zip(hasher.families, hasher.which, hasher.parameters, strict=True)
        ]
        return {
            "rows": hasher.rows,
            "buckets": hasher.buckets,
            "direct": hasher.direct,
            "factors": factors,
            "start": keep(hasher.start),
            "multipliers": keep(hasher.multipliers),
            "starts": np.flatnonzero(np.diff(self.blocks, prepend=-1)).tolist(),
            "caution": CAUTION[self.spec.design],
        }


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
        self.hasher, self.blocks = hasher, blocks = layout.hasher, layout.blocks
        self.caution, self.rounding = CAUTION[layout.spec.design], layout.rounding
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
        self.moments = RowMoments(blocks, self.shift, self.gain)
        if not self.counts.flags.writeable:  # compiled loops tell such arrays apart; this one stays ours
            self.counts = self.counts.copy()

    def estimate(self, parts: Sequence[Records], *, groups: int | None = None) -> Estimate:
        n = len(parts[0])
        moments = self.moments
        if groups is not None:
            moments = RowMoments(self.blocks, self.shift, self.gain, groups)
        by = engine(self.engine_name, n * self.hasher.multipliers.size)
        found = None
        if groups is None:
            found = by.moments(self.hasher, parts, self.counts, self.shift, self.gain, self.blocks)
        value, spread = self._by_sums(by, parts, moments) if found is None else found
        # What the noise does not explain is due to hashing; one count in one row can always have been missed.
        hashing = np.maximum(spread - self.noise_variance, 1.0 / len(self.counts) ** 2)
        hashing += (self.rounding * np.maximum(value, 0.0)) ** 2
        return Estimate(value, np.full(n, self.noise_variance), hashing, moments.degrees, self.caution)

    def _by_sums(self, by: Engine, parts: Sequence[Records], moments: RowMoments) -> tuple[np.ndarray, np.ndarray]:
        """Mean and spread from sums of counters, some queries at a time."""
        n, tile = len(parts[0]), max(1, QUERY_VALUES // len(moments.starts))
        found = []
        for first in range(0, n, tile):
            here = parts if n <= tile else [part[first : first + tile] for part in parts]
            found.append(moments(by.sums(self.hasher, here, self.counts, moments.lines)))
        if len(found) == 1:
            return found[0]
        return tuple(np.concatenate([pair[k] for pair in found] or [np.empty(0)]) for k in range(2))  # type: ignore[return-value]

    def lone_sums(self, parts: Sequence[Records]) -> np.ndarray:
        """Added up in whole numbers before the one division, so no order of adding shows."""
        rows = len(self.counts)
        totals = engine("cpu").sums(self.hasher, parts, self.counts, np.zeros(rows, np.int64))[0]
        return (totals - self.shift.sum()) * (self.gain / rows)

    @property
    def lone_deviation(self) -> float:
        return float(np.sqrt(self.noise_variance))

    def on_page(self, keep: Keep) -> dict[str, Any]:
        return {
            "counts": keep(self.counts),
            "width": self.counts.shape[1],
            "shift": keep(np.asarray(self.shift, np.float64)),
            "gain": self.gain,
            "noiseVariance": self.noise_variance,
            **({"rounding": self.rounding} if self.rounding else {}),
        }
