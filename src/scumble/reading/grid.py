"""One row whose buckets are the cells of a grid over public bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from scumble.checks import Sides
from scumble.design import Design
from scumble.grid import Field, Grid, typical_density, usual_density
from scumble.grid.field import AT_ONCE, SMALL
from scumble.grid.shape import shape_errors
from scumble.kernels import Records
from scumble.machine.cores import available_threads
from scumble.reading.layout import Count, Estimate, Keep, Layout, Parameters, Reader, Released, Source

CAUTION = 1.2
"""Widens the part of intervals that is due to the places inside the cells, which can only be modelled."""
ASKED, ASKED_OF_LARGE = 64, 8
"""Places within the bounds where the error to expect is taken; of a large grid so few that no tables are made."""
KERNELS = ("euclidean", "manhattan")
"""The kernels whose profiles a page knows."""


class GridRow(Layout):
    """Each record counts in the one cell that it lies in."""

    told = "is a grid"
    has_places = True
    reads_any_kernel = True

    def __init__(self, spec: Parameters) -> None:
        super().__init__(spec)
        self._made: tuple[Grid, list[int]] | None = None

    def check(self) -> None:
        spec = self.spec
        low, high = spec.bounds or ((), ())
        numbers = all(type(x) in (int, float) and math.isfinite(x) for x in (*low, *high))
        if spec.rows != 1 or not numbers or not len(low) == len(high) == spec.dimensions:
            raise ValueError("a grid has one row and finite bounds")
        cells = spec.shape or ()
        if not all(type(n) is int and n >= 1 for n in cells) or math.prod(cells) != spec.buckets:
            raise ValueError("shape must multiply to buckets")

    def prepare(self) -> None:
        self._cells()

    def _cells(self) -> tuple[Grid, list[int]]:
        # Not `cached_property`: in Python 3.11 that holds a lock, and a fork at that moment hangs the child for ever.
        if self._made is None:
            spec = self.spec
            assert spec.bounds is not None and spec.shape is not None
            which = spec.kernel.which(spec.dimensions, spec.columns)
            low, high = (np.array([side[i] for i in which]) for side in spec.bounds)
            axes = {"low": low, "high": high, "shape": spec.shape, "whole": self._whole}
            grid = Grid(spec.kernel, width=spec.dimensions, names=spec.columns, **axes)  # type: ignore[arg-type]
            self._made = grid, which
        return self._made

    @property
    def _whole(self) -> list[bool]:
        """Which axes have whole numbers."""
        spec = self.spec
        which = spec.kernel.which(spec.dimensions, spec.columns)
        return [spec.columns is not None and spec.kinds.get(spec.columns[i]) == "whole" for i in which]

    @property
    def grid(self) -> Grid:
        """The cells."""
        return self._cells()[0]

    @property
    def which(self) -> list[int]:
        """The columns that the kernel reads: one axis each."""
        return self._cells()[1]

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
        self.grid.count(self.matrix(parts), counts, threads or available_threads())

    def reader(self, counts: np.ndarray, noise_variance: float, count: Count, *, engine_name: str = "auto") -> Reader:
        value, variance = count or (None, 0.0)
        return GridReader(self, counts, Field(self.grid, counts, noise_variance, count=value, count_variance=variance))

    @property
    def typical_density(self) -> float:
        grid, spec = self.grid, self.spec
        spread = typical_density(spec.kernel, grid.low, grid.high, width=spec.dimensions, names=spec.columns)
        return usual_density(spread, len(grid.shape))

    def relative_error(self, noise_variance: float, records: float, density: float) -> float:
        grid = self.grid
        expected = shape_errors(grid.profile, grid.low, grid.high, [grid.shape], self._whole)
        return float(expected.relative(records, math.sqrt(noise_variance), density)[0])

    def expected_error(self, release: Released, records: int) -> tuple[float, float]:
        """The median over places spread evenly within the bounds; nearly all of it is noise."""
        assert self.spec.bounds is not None
        low, high = (np.array(side) for side in self.spec.bounds)
        asked = ASKED if self.grid.cells <= SMALL else ASKED_OF_LARGE
        steps = Design("sobol", 1, asked).draws().uniform(self.spec.dimensions)
        error = float(np.median(release.standard_error(low + steps * (high - low))))
        return error, error

    def most_noise(self, noise_variance: float) -> float:
        """As if all cells had their whole part in a sum."""
        return float(np.sqrt(noise_variance * self.grid.cells))

    def densest(self, release: Released) -> np.ndarray:
        """The centre of the heaviest cell, and half of the kernel away from it to either side along each axis.

        Beside a crowd the sum is steepest, and records that lie elsewhere in their cells move it most.
        """
        assert self.spec.bounds is not None
        grid, sides = self.grid, np.repeat(np.diag(self.grid.profile.half_widths), 2, axis=0)
        sides[1::2] *= -1.0
        heaviest = np.unravel_index(np.argmax(release.counts), grid.shape)
        centre = grid.start + (np.array(heaviest) + 0.5) * grid.step
        near = np.vstack([centre, np.clip(centre + sides, grid.low, grid.high)])
        if grid.cells > SMALL:
            near = near[: AT_ONCE - ASKED_OF_LARGE]
        places = np.tile(np.add(*self.spec.bounds) / 2.0, (len(near), 1))
        places[:, self.which] = near
        return places

    def edges(self) -> list[np.ndarray]:
        grid = self.grid
        axes = zip(grid.start, grid.step, grid.shape, strict=True)
        return [start + step * np.arange(cells + 1) for start, step, cells in axes]

    def source(self, release: Released, bounds: Sides, rng: np.random.Generator) -> Source:
        from scumble.reading.masses import CellMasses

        return CellMasses(self.grid, self.which, release, bounds)

    def heaviest(self, release: Released, points: np.ndarray, bounds: Sides) -> np.ndarray:
        """The cells are boxes: the answer is the centre of the heaviest one within the kernel's half-width."""
        counts = release.counts.reshape(self.grid.shape)
        return np.array([self._heaviest(counts, point) for point in points])

    def _heaviest(self, counts: np.ndarray, point: np.ndarray) -> np.ndarray:
        grid, which = self.grid, self.which
        around = np.maximum(1, np.ceil(grid.profile.half_widths / grid.step)).astype(int)
        place = np.clip((point[which] - grid.start) / grid.step, 0, np.array(grid.shape) - 1).astype(int)
        first = np.maximum(place - around, 0)
        block = counts[tuple(slice(a, b) for a, b in zip(first, place + around + 1, strict=True))]
        best = np.array(np.unravel_index(np.argmax(block), block.shape)) + first
        out = point.copy()
        out[which] = grid.start + (best + 0.5) * grid.step
        return out

    @property
    def drawable(self) -> bool:
        return all(factor.name in KERNELS for factor in self.spec.kernel.factors)


class GridReader(Reader):
    """The noisy grid convolved with the kernel."""

    def __init__(self, layout: GridRow, counts: np.ndarray, field: Field) -> None:
        self.layout: GridRow = layout
        self.counts, self.field = counts, field

    def estimate(self, parts: Sequence[Records], *, groups: int | None = None) -> Estimate:
        points = self.layout.matrix(parts)
        if self.field.sums_few(points):
            value, noise = self.field.sums(points)
            return Estimate(value, noise, lambda: self.field.estimate(points)[2], float("inf"), CAUTION)
        return Estimate(*self.field.estimate(points), float("inf"), CAUTION)

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        return self.field.at_centres(), self.counts.ravel()

    def on_page(self, keep: Keep) -> dict[str, Any]:
        return {"grid": {"which": list(self.layout.which), **self.field.on_page(keep), "caution": CAUTION}}
