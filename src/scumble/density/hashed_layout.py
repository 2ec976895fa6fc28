"""R rows of W buckets, indexed by locality-sensitive hashing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from scumble.checks import Json, Sides
from scumble.counting import Engine, Hasher, engine
from scumble.counting.guard import Known
from scumble.counting.hasher import family
from scumble.density.expected_error import (
    box_of,
    combined,
    default_density,
    hashing_error,
    inverse_of,
    numbers_of,
    row_spread,
)
from scumble.density.layout import Count, Estimate, Keep, Layout, Reader
from scumble.kernels import Records
from scumble.kernels.design import Design

if TYPE_CHECKING:
    from scumble.density.draws import Particles
    from scumble.density.release import Release
    from scumble.density.spec import Spec

QUERY_VALUES = 1 << 21
"""Sums held at a time, which bounds the memory of queries."""

GROUPS = 9
"""Groups of rows for the median of means; odd, so that the median is one of them."""

CAUTION = {"iid": 1.4, "orthogonal": 1.4, "sobol": 1.15}
"""Widens the hashing part of intervals: row values are skewed, so their sample variance is too small on average."""

FAMILIES = ("floor", "sign", "folded", "column", "pick", "minimum")
"""The hashes that the web page supports."""


class HashedRows(Layout):
    """Each row has its own hash function; near records share a bucket more often than distant ones."""

    told = "has hashed rows"
    hashed = True

    def __init__(self, spec: Spec) -> None:
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
        """The block of each row; rows of a block were drawn together."""
        return self._functions()[1]

    @property
    def rounding(self) -> float:
        """The relative error from cell positions, for rows made of a grid's cells. Only such rows have bounds."""
        return 0.0 if self.spec.bounds is None else box_of(self.spec).rounding()

    @property
    def numbers(self) -> int:
        return self.spec.rows * numbers_of(self.spec.kernel, self.spec.dimensions)

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
        return default_density(self.spec.kernel)

    def relative_error(self, noise_variance: float, records: float) -> float:
        spec, of, noise = self.spec, np.array(self.typical_density), self.most_noise(noise_variance)
        return float(combined(hashing_error(spec, of), 0.0, noise, inverse_of(spec, of), records))

    def expected_error(self, release: Release, records: int) -> tuple[float, float]:
        """That of a query of typical density."""
        noise, f = self.most_noise(release.counter_variance), self.typical_density * records
        hashing = row_spread(self.spec, records, f) + f
        return noise, math.sqrt(hashing / self.spec.rows + noise**2)

    def most_noise(self, noise_variance: float) -> float:
        """One counter of each row enters every sum."""
        return math.sqrt(noise_variance / self.spec.rows)

    def source(self, release: Release, bounds: Sides, rng: np.random.Generator) -> Particles:
        from scumble.density.draws import Particles

        return Particles(self, release, bounds, rng)

    @property
    def drawable(self) -> bool:
        return all(family(factor) in FAMILIES for factor in self.spec.kernel.factors)

    def hasher_on_page(self, keep: Keep) -> Json:
        hasher = self.hasher
        factors = [
            {"family": kind, "which": list(which), "hashes": drawn.shape[1], "width": drawn.shape[2]}
            | {"parameters": keep(drawn)}
            for kind, which, drawn in zip(hasher.families, hasher.which, hasher.parameters, strict=True)
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
    """The mean over rows of the counters of a query, corrected for collisions.

    Every row sums to N, and E[X] = Σ k + (1 − k)/W. Subtracting 1/W of the row's noisy sum S_r removes the expected
    collisions and the row's common noise:

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

    def estimate(self, parts: Sequence[Records]) -> Estimate:
        by = self._engine(parts)
        shorter = getattr(by, "moments", None)
        found = shorter and shorter(self.hasher, parts, self.counts, self.shift, self.gain, self.blocks)
        if found is None:
            value, spread = found = np.empty((2, len(parts[0])))
            for place, sums in self._sums(by, parts, self.moments.starts):
                value[place], spread[place] = self.moments(sums)
        return self._estimated(*found)

    def by_median(self, parts: Sequence[Records]) -> Estimate:
        """The median of the means of groups of rows (Alon, Matias & Szegedy 1999; the paper's Theorem 3)."""
        rows = len(self.counts)
        blocks, groups = self.moments, RowMoments((np.arange(1, rows + 1) * GROUPS - 1) // rows, self.shift, self.gain)
        starts = np.union1d(blocks.starts, groups.starts)
        of_block, of_group = (np.searchsorted(starts, one.starts) for one in (blocks, groups))
        alone = len(of_block) == len(starts)  # each block is in one group
        middle, value, spread = np.empty((3, len(parts[0])))
        for place, sums in self._sums(self._engine(parts), parts, starts):
            value[place], spread[place] = blocks(sums if alone else np.add.reduceat(sums, of_block))
            middle[place] = np.median(groups.means(np.add.reduceat(sums, of_group)), axis=0)
        found, wider = self._estimated(value, spread), np.pi / 2  # the median's variance, for near-normal means
        noise, hashing = wider * found.noise_variance, wider * found.hashing_variance
        return replace(found, value=middle, noise_variance=noise, hashing_variance=hashing)

    def _engine(self, parts: Sequence[Records]) -> Engine:
        return engine(self.engine_name, len(parts[0]) * self.hasher.multipliers.size)

    def _sums(self, by: Engine, parts: Sequence[Records], starts: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Sums of the queries' counters over rows from each start to the next, (starts, tile), tile by tile."""
        lines = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(self.counts)))
        tile = max(1, QUERY_VALUES // len(starts))
        for first in range(0, len(parts[0]), tile):
            place = slice(first, first + tile)
            yield place, by.sums(self.hasher, [part[place] for part in parts], self.counts, lines)

    def _estimated(self, value: np.ndarray, spread: np.ndarray) -> Estimate:
        # What the noise does not explain is due to hashing; one count in one row can always have been missed.
        hashing = np.maximum(spread - self.noise_variance, 1.0 / len(self.counts) ** 2)
        hashing += (self.rounding * np.maximum(value, 0.0)) ** 2
        noise = np.full(len(value), self.noise_variance)
        return Estimate(value, noise, hashing, self.moments.degrees, self.caution)

    def lone_sums(self, parts: Sequence[Records]) -> np.ndarray:
        """Summed in integers before the one division, so the order of addition does not matter."""
        rows = len(self.counts)
        totals = engine("cpu").sums(self.hasher, parts, self.counts, np.zeros(rows, np.int64))[0]
        return (totals - self.shift.sum()) * (self.gain / rows)

    @property
    def lone_deviation(self) -> float:
        return float(np.sqrt(self.noise_variance))

    def on_page(self, keep: Keep) -> Json:
        return {
            "counts": keep(self.counts),
            "width": self.counts.shape[1],
            "shift": keep(np.asarray(self.shift, np.float64)),
            "gain": self.gain,
            "noiseVariance": self.noise_variance,
            **({"rounding": self.rounding} if self.rounding else {}),
        }


class RowMoments:
    """The mean over rows of (counter − shift) · gain, and its variance from the spread of the blocks' means.

    `blocks` are those of the rows, ascending (`Design.blocks`).
    """

    def __init__(self, blocks: np.ndarray, shift: np.ndarray, gain: float) -> None:
        self.starts = starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        self.sizes = np.diff(starts, append=len(blocks))
        self.shift, self.gain = np.add.reduceat(shift, starts)[:, None], gain
        self.degrees = float(max(len(starts) - 1, 1))
        self.squares = (self.sizes / len(blocks)) ** 2 * (len(starts) / self.degrees)

    def means(self, sums: np.ndarray) -> np.ndarray:
        """The estimate of each block."""
        return np.asarray((sums - self.shift) * (self.gain / self.sizes)[:, None])

    def __call__(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate and variance from (blocks, n) sums of counters, one column per query."""
        sums = sums - self.shift
        mean = np.full(len(sums), self.gain / self.sizes.sum()) @ sums
        if len(sums) == 1:  # the variance of a row is at most (Σ √k)² (Theorem 2), of the order of the value squared
            return mean, mean**2
        sums *= (self.gain / self.sizes)[:, None]
        sums -= mean
        np.square(sums, out=sums)
        return mean, self.squares @ sums
