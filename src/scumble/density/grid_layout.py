"""One row whose buckets are the cells of a grid over public bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scumble.checks import Json, Sides
from scumble.density.expected_error import SHARED, USUALLY, box_of, grid_errors, on_whole_numbers
from scumble.density.field import AT_ONCE, SMALL, Field
from scumble.density.grid_cells import Grid
from scumble.density.layout import Count, Estimate, Keep, Layout, Reader
from scumble.files.compiling import available_threads
from scumble.kernels import Records
from scumble.kernels.design import Design

if TYPE_CHECKING:
    from scumble.density.draws import CellMasses
    from scumble.density.release import Release
    from scumble.density.spec import Spec

CAUTION = 1.2
"""Widens the part of intervals from places in cells, which is modeled."""
ASKED, ASKED_OF_LARGE = 64, 4
"""Places where the expected error is evaluated; fewer for a large grid, which then needs no tables."""
KERNELS = ("euclidean", "manhattan")
"""The kernels that the web page supports."""


class GridRow(Layout):
    """Each record counts in the cell that contains it."""

    told = "is a grid"
    has_places = True

    def __init__(self, spec: Spec) -> None:
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
            axes = {"low": low, "high": high, "shape": spec.shape, "whole": on_whole_numbers(spec)}
            grid = Grid(spec.kernel, width=spec.dimensions, names=spec.columns, **axes)  # type: ignore[arg-type]
            self._made = grid, which
        return self._made

    @property
    def grid(self) -> Grid:
        """The cells."""
        return self._cells()[0]

    @property
    def which(self) -> list[int]:
        """The columns that the kernel reads, one per axis."""
        return self._cells()[1]

    def matrix(self, parts: Sequence[Records]) -> np.ndarray:
        """The columns that the kernel reads, each once."""
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
        return box_of(self.spec).density

    def relative_error(self, noise_variance: float, records: float) -> float:
        errors, density = grid_errors(self.spec, [self.grid.shape]), np.array([self.typical_density])
        found = errors.clumped(records, math.sqrt(noise_variance), density, SHARED)[0, :, 0]
        with np.errstate(divide="ignore"):  # without noise, cells of one whole number each err by nothing
            return float(np.exp(USUALLY @ np.log(found)))

    def expected_error(self, release: Release, records: int) -> tuple[float, float]:
        """The median over places spread evenly within the bounds."""
        assert self.spec.bounds is not None
        low, high = (np.array(side) for side in self.spec.bounds)
        asked = ASKED if self.grid.cells <= SMALL else ASKED_OF_LARGE
        steps = Design("sobol", 1, asked).draws().uniform(self.spec.dimensions)
        error = float(np.median(release.standard_error(low + steps * (high - low))))
        return error, error

    def most_noise(self, noise_variance: float) -> float:
        """The bound if every cell had weight one."""
        return math.sqrt(noise_variance * self.grid.cells)

    def densest(self, release: Release) -> np.ndarray:
        """The center of the heaviest cell, and points half a kernel away along each axis, where the sum is steepest."""
        assert self.spec.bounds is not None
        grid, sides = self.grid, np.repeat(np.diag(self.grid.profile.half_widths), 2, axis=0)
        sides[1::2] *= -1.0
        heaviest = np.unravel_index(np.argmax(release.counts), grid.shape)
        center = grid.start + (np.array(heaviest) + 0.5) * grid.step
        near = np.vstack([center, np.clip(center + sides, grid.low, grid.high)])
        if grid.cells > SMALL:
            near = near[: AT_ONCE - ASKED_OF_LARGE]
        places = np.tile(np.add(*self.spec.bounds) / 2.0, (len(near), 1))
        places[:, self.which] = near
        return places

    def edges(self) -> list[np.ndarray]:
        grid = self.grid
        axes = zip(grid.start, grid.step, grid.shape, strict=True)
        return [start + step * np.arange(cells + 1) for start, step, cells in axes]

    def source(self, release: Release, bounds: Sides, rng: np.random.Generator) -> CellMasses:
        from scumble.density.draws import CellMasses

        return CellMasses(self.grid, self.which, release, bounds)

    @property
    def drawable(self) -> bool:
        return all(factor.name in KERNELS for factor in self.spec.kernel.factors)


class GridReader(Reader):
    """The noisy grid convolved with the kernel."""

    def __init__(self, layout: GridRow, counts: np.ndarray, field: Field) -> None:
        self.layout: GridRow = layout
        self.counts, self.field = counts, field

    def estimate(self, parts: Sequence[Records]) -> Estimate:
        points = self.layout.matrix(parts)
        return Estimate(*self.field.estimate(points), float("inf"), CAUTION)

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        return self.field.at_centers(), self.counts.ravel()

    def on_page(self, keep: Keep) -> Json:
        return {"grid": {"which": list(self.layout.which), **self.field.on_page(keep), "caution": CAUTION}}
