"""Queries on a grid: every counter, weighted by the kernel; and the error from the unknown places in its cells.

**Places.** A record at u from its cell's center changes an answer by u·∇k, with variance h²/12 along each axis.
Independent records add squares; records that share a value (a rounded salary) move together, and the square of their
number counts. So the variance along axis j is Σ_c W_j[c] h_j²/12 (∂_j k)², where the *roughness* W_j compares counters
with their neighbors along the axis, for cells and for slabs as thick as the kernel: about the number of records for
smooth data, its square for a clump. Declared whole numbers with a cell each hide nothing (`Grid.hidden`).

Where the steps of rounded values nearly match the cells, all records near a query lie on one side of their cells, and
the answer is off by u ∂f: where counters jump from cell to cell, a share of h_j²/12 (∂_j f)² is added (`stepped`). The
deviation along an axis is at most Σ_c S[c] h_j/√12 |∂_j k| (Minkowski), with two standard deviations of noise allowed
for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from scumble.checks import Json
from scumble.density.grid_cells import REACH, TILE, Grid, around, fast_length, lattice, sharpened, tiles


def roughness(counts: np.ndarray, noise_variance: float, slab: Sequence[int]) -> list[np.ndarray]:
    """For each axis, the variation of the counters along it beyond noise, in `blocks` along the other axes.

    It adds slabs one cell thick, cells (at half weight) and slabs two cells thick, for values on an edge. Independent
    records yield about their number each.
    """

    def pairs(values: np.ndarray, axis: int) -> np.ndarray:
        inner, last = (slice(None),) * axis, values.shape[axis]
        return values[(*inner, slice(1, last))] + values[(*inner, slice(last - 1))]

    sides, found = blocks(slab), []
    before, before_cells = counts, np.ones([1] * counts.ndim)
    for axis in range(counts.ndim):  # adding up along the others and bending along this one may change places
        slabs, cells = before, before_cells
        for other in range(axis + 1, counts.ndim):
            slabs, cells = blocked(slabs, other, sides[other]), cells * _sizes(counts.shape, other, sides[other])
        alone = cells
        for other in range(counts.ndim):
            if other != axis:
                slabs, cells = _with_neighbors(slabs, other), _with_neighbors(cells, other)
        rough = _bent(slabs, 1, axis, 1.0 / cells)
        wider = np.concatenate([slabs.take([0], axis), slabs, slabs.take([-1], axis)], axis)  # repeating the edge
        rough += pairs(_bent(pairs(wider, axis), 2, axis, 0.25 / cells), axis)
        if counts.ndim > 1:
            rough += _of_cells(counts, axis, sides) / alone
        rough -= (2.5 if counts.ndim > 1 else 2.0) * noise_variance
        found.append(rough)
        before = blocked(before, axis, sides[axis])
        before_cells = before_cells * _sizes(counts.shape, axis, sides[axis])
    return found


def _of_cells(counts: np.ndarray, axis: int, sides: Sequence[int]) -> np.ndarray:
    """Half of the cells' own variation, summed in blocks along the other axes, part by part."""
    parts, block, overlap = [], 1 if axis == 0 else sides[0], int(axis == 0)
    rows = max(1, TILE // (block * prod(counts.shape[1:]))) * block
    for first in range(0, len(counts), rows):
        begin = max(first - overlap, 0)
        bends = _bends(counts[begin : first + rows + overlap], axis)[first - begin :][:rows]
        np.square(bends, out=bends)
        for other, size in enumerate(sides):
            bends = bends if other == axis else blocked(bends, other, size)
        parts.append(bends)
    return np.concatenate(parts) / 12.0


def spread_out(rough: Sequence[np.ndarray], shape: Sequence[int], slab: Sequence[int]) -> np.ndarray:
    """(axes, n₁, …, n_d): the roughness of each cell."""
    out = np.empty((len(shape), *shape))
    for axis, (found, blocked) in enumerate(zip(out, rough, strict=True)):
        for other, (cells, block) in enumerate(zip(shape, blocks(slab), strict=True)):
            if other != axis:
                blocked = blocked.take(np.arange(cells) // block, other)
        found[:] = blocked
    return out


def blocks(slab: Sequence[int]) -> list[int]:
    """The cells of a block along each axis: three blocks reach about `slab` cells to both sides.

    >>> blocks([1, 3, 11])
    [1, 2, 8]
    """
    return [max(1, (2 * reach + 2) // 3) for reach in slab]


def _sizes(shape: Sequence[int], axis: int, block: int) -> np.ndarray:
    """How many cells the blocks along an axis have."""
    return blocked(np.ones([n if k == axis else 1 for k, n in enumerate(shape)]), axis, block)


def _with_neighbors(values: np.ndarray, axis: int) -> np.ndarray:
    """Each value plus both neighbors along an axis."""
    out, before = values.copy(), (slice(None),) * axis
    lower, upper = (*before, slice(-1)), (*before, slice(1, None))
    out[upper] += values[lower]
    out[lower] += values[upper]
    return out


def blocked(values: np.ndarray, axis: int, block: int) -> np.ndarray:
    """Sums over blocks of cells along an axis; the last may be shorter."""
    before = (slice(None),) * axis
    out = values[(*before, slice(0, None, block))].copy()
    for first in range(1, min(block, values.shape[axis])):
        part = values[(*before, slice(first, None, block))]
        out[(*before, slice(part.shape[axis]))] += part
    return out


def _bent(values: np.ndarray, gap: int, axis: int, share: np.ndarray | float) -> np.ndarray:
    """`share` × (value − mean of the two at distance `gap`)², scaled so that noise keeps its variance; edges repeat."""
    if values.shape[axis] <= gap:
        return np.square(values) * share
    before = (slice(None),) * axis
    lower, upper = (*before, slice(-gap)), (*before, slice(gap, None))
    out = 2.0 * values
    out[upper] -= values[lower]
    out[lower] -= values[upper]
    out[(*before, slice(gap))] -= values[(*before, slice(1))]
    out[(*before, slice(-gap, None))] -= values[(*before, slice(-1, None))]
    np.square(out, out=out)
    out *= np.divide(share, 6.0)
    return out


def _bends(values: np.ndarray, axis: int) -> np.ndarray:
    """The sum of both neighbors along an axis minus twice the value; edges repeat. In one flat line for speed."""
    if values.shape[axis] == 1:
        return np.sqrt(6.0) * values
    stride, size = int(np.prod(values.shape[axis + 1 :])), values.size
    line, change = values.reshape(-1), np.empty(size + stride)
    np.subtract(line[stride:], line[:-stride], out=change[stride:size])
    change[:size].reshape(values.shape)[(slice(None),) * axis + (0,)] = 0.0  # from a line's end to the next begin
    change[size:] = 0.0
    return (change[stride:] - change[:size]).reshape(values.shape)


def along(numbers: np.ndarray) -> np.ndarray:
    """A number per axis, shaped to multiply an array per axis and cell."""
    return numbers.reshape(-1, *[1] * len(numbers))


def stepped(counts: np.ndarray, noise_variance: float) -> np.ndarray:
    """(axes,), from 0 to ½: the share of the variance of correlated places along each axis.

    >>> stepped(np.array([90.0, 100, 95, 105, 100, 95]), 1.0), stepped(np.array([200.0, 0, 190, 0, 210, 0, 200]), 1.0)
    (array([0.]), array([0.5]))
    """
    jumps, irregular = np.zeros(counts.ndim), np.zeros(counts.ndim)
    for axis, cells in enumerate(counts.shape):
        sums = counts.sum(axis=tuple(other for other in range(counts.ndim) if other != axis))
        jumps[axis] = _jumping(sums, noise_variance * counts.size / cells)
        irregular[axis] = 1.0 - _regular(sums)
    out: np.ndarray = jumps.max() - 2.0 * jumps.min() ** 2 * irregular
    return out


def _jumping(sums: np.ndarray, noise_variance: float) -> float:
    """From 0 to ½: how much the sums along an axis jump beyond noise and chance.

    Third differences remove smooth trends. Their sum of squares, less its expectation and three standard deviations, is
    compared with the sum of squares.
    """
    chance = noise_variance + np.maximum(sums, 0.0)
    jumps = np.square(np.diff(sums, 3)) / 20.0  # noise keeps its variance
    beyond = jumps.sum() - chance.mean() * len(jumps) - 3.0 * np.sqrt(2.0 * np.sum(np.square(chance)))
    return min(0.5, max(0.0, 2.0 * float(beyond / max(np.sum(np.square(sums)), 1.0))))


def _regular(sums: np.ndarray) -> float:
    """From 0 to 1: whether the jumps are periodic, as steps are, beyond chance: the autocorrelation at the best lag.

    Third differences of independent values have correlations −3/4, 3/10 and −1/20, so a correlation has variance 2.3/n
    (Bartlett) under chance, and the greatest of n/2 is about √(2 ln n/2) standard deviations.
    """
    jumps = np.diff(np.sqrt(np.maximum(sums, 0.0)), 3)
    n = len(jumps)
    if n < 16 or not jumps.any():  # too few to tell
        return 1.0
    near, widths = _boxes(np.square(jumps), 0, 8)
    near /= widths
    jumps /= np.sqrt(near + 0.03 * near.mean())
    length = fast_length(2 * n)
    alike = np.fft.irfft(np.square(np.abs(np.fft.rfft(jumps, length))), length)[2 : n // 2]
    alike /= np.sum(np.square(jumps))
    alike[0] = (alike[0] - 0.3) / 0.7
    chance = np.sqrt(4.6 * np.log(n / 2) / n)
    return float(np.clip(4.0 * alike.max() / chance - 3.0, 0.0, 1.0))


def _boxes(values: np.ndarray, axis: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums over boxes that reach `reach` cells to both sides along an axis, and the cells of each box."""
    n, place = values.shape[axis], np.arange(values.shape[axis])
    first, last = np.maximum(place - reach, 0), np.minimum(place + reach + 1, n)
    widths = (last - first).reshape([-1 if k == axis else 1 for k in range(values.ndim)])
    reach, before = min(reach, n), (slice(None),) * axis
    running = np.zeros([n + 2 * reach + 1 if k == axis else side for k, side in enumerate(values.shape)])
    end = reach + 1 + n
    np.cumsum(values, axis, out=running[(*before, slice(reach + 1, end))])
    running[(*before, slice(end, None))] = running[(*before, slice(end - 1, end))]
    return running[(*before, slice(2 * reach + 1, None))] - running[(*before, slice(n))], widths


def displacement(k: np.ndarray) -> np.ndarray:
    """(axes, …): h²/12 (∂k)² along each axis on the points of a lattice with both neighbors; valid at a cusp, too."""
    middle = (slice(1, -1),) * k.ndim
    out = np.empty((k.ndim, *k[middle].shape))
    for here in tiles(out[0]):
        part = k[here.start : here.stop + 2]
        for axis, found in enumerate(out[:, here]):
            steps = np.diff(part[(*middle[:axis], slice(None), *middle[axis + 1 :])], axis=axis)
            np.square(steps, out=steps)
            steps /= 24.0
            before = (slice(None),) * axis
            np.add(steps[(*before, slice(None, -1))], steps[(*before, slice(1, None))], out=found)
    return out


QUERY_VALUES = 1 << 21
"""Values of near cells that are held at a time."""
AT_ONCE, SMALL = 8, 1 << 15
"""So many queries of a grid with more cells than that are summed over all cells; then tables are made."""


@dataclass
class _Terms:
    """Σ S k, Σ k and Σ k² over the cells, the variance from places in cells, and what correlated places add to it."""

    total: np.ndarray
    ones: np.ndarray
    squares: np.ndarray
    places: np.ndarray
    together: np.ndarray


class Field:
    """The sum f(q) = Σₓ k(x, q) for any q, from the counters of a grid.

    **The sum.** f̂(q) = Σ_c S̃[c] k(q − c) over the centers c. Counting in cells of size h blurs the data by a box of
    variance h²/12; S̃ = S − Σ_axes Δ²S/24 undoes that to second order.

    **Noise.** f̂ is linear in the counters, so it is unbiased, with noise variance v Σ_c k̃² for k̃ = k − Σ_axes
    Δ²k/24. If N is also released, adding β(N̂ − Σ S) with β = v Σk̃ / (v cells + Var N̂) keeps f̂ unbiased and gives
    the least variance, v (Σk̃² − β Σk̃).

    **Speed.** One FFT gives the sum at all centers; between them it is interpolated by cubics, with the exact kernel
    for the cells around q, where it has its cusp. The first few queries of a large grid, and queries well outside the
    bounds, sum all cells.
    """

    def __init__(
        self,
        grid: Grid,
        counts: np.ndarray,
        noise_variance: float,
        *,
        count: float | None = None,
        count_variance: float = 0.0,
    ) -> None:
        self._grid, self._profile, self._variance = grid, grid.profile, float(noise_variance)
        self._count_variance = float(count_variance)
        d = len(grid.shape)
        self._counts = np.asarray(counts, dtype=np.float64).reshape(grid.shape)
        self._excess = 0.0 if count is None or noise_variance == 0.0 else float(count) - float(self._counts.sum())
        self._projected = count is not None and noise_variance > 0.0
        self._margin = grid.margin
        self._slab = np.maximum(np.rint(self._profile.half_widths / grid.step), 1).astype(int).tolist()
        self._asked = 0
        self._near = lattice([np.arange(-REACH, REACH + 2.0)] * d, np.ones(d)).reshape(-1, d)
        small = self._profile.smooth_table(grid.step, around([REACH + 3] * d))
        sharp = sharpened(small, grid.spread)
        self._near_table = _interpolation_table(small, REACH)
        self._near_sharp = _interpolation_table(sharp, REACH - 1)
        self._near_square = _interpolation_table(np.square(sharp), REACH - 1)

    @cached_property
    def _sharp(self) -> np.ndarray:
        """The sharpened counters, one cell wider than the grid on every side."""
        return sharpened(np.pad(self._counts, 2), self._grid.spread)

    @cached_property
    def _hides(self) -> np.ndarray:
        """The roughness of all cells, scaled by what places in them are hidden."""
        rough = roughness(self._counts, self._variance, self._slab)
        return spread_out(rough, self._grid.shape, self._slab) * along(self._grid.hidden)

    @cached_property
    def _stepped(self) -> np.ndarray:
        return stepped(self._counts, self._variance)

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self._grid, self._sharp, self._hides, self._most)

    @cached_property
    def _most(self) -> np.ndarray:
        """The most records in each cell: the counter plus two standard deviations of noise."""
        return np.asarray(np.maximum(self._counts, 0.0) + 2.0 * np.sqrt(self._variance))

    def kernel_sum(self, Q: np.ndarray) -> np.ndarray:
        """The unbiased estimate of f(q) = Σₓ k(x, q) for each query."""
        return self.estimate(Q)[0]

    def standard_error(self, Q: np.ndarray) -> np.ndarray:
        """The standard deviation of `kernel_sum`: noise and places in cells."""
        _, noise, places = self.estimate(Q)
        return np.sqrt(noise + places)

    def estimate(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The kernel sums, their noise variance, and their variance from places in cells."""
        terms = self._terms(np.asarray(Q, dtype=np.float64))
        beta = self._beta(terms)
        noise = self._variance * np.maximum(terms.squares - beta * terms.ones, 0.0)
        return terms.total + beta * self._excess, noise, np.maximum(terms.places, 0.0) + terms.together

    def at_centers(self) -> np.ndarray:
        """The estimate at the center of every cell, in the order of the counters. Ridges of a kernel are smoothed."""
        inside = tuple(slice(int(m), int(m) + n) for m, n in zip(self._margin, self._grid.shape, strict=True))
        found = self._tables
        terms = _Terms(*(part[inside].ravel() for part in (found.total, found.ones, found.squares)), *np.zeros((2, 1)))
        return terms.total + self._beta(terms) * self._excess

    def on_page(self, keep: Callable[[np.ndarray], str]) -> Json:
        """The input of the page's tables in ``web/src/engine``. `keep` stores an array and returns its name."""
        grid = self._grid
        return {
            "factors": self._profile.on_page(),
            "shape": list(grid.shape),
            "start": grid.start.tolist(),
            "step": grid.step.tolist(),
            "spread": grid.spread.tolist(),
            "hidden": grid.hidden.tolist(),
            "margin": self._margin.tolist(),
            "cells": grid.cells,
            "variance": self._variance,
            "countVariance": self._count_variance,
            "excess": self._excess,
            "projected": self._projected,
            "counts": keep(self._counts.astype(np.int64)),
            "slab": self._slab,
            "stepped": self._stepped.tolist(),
            "reach": grid.place_reach.tolist(),
            "ridged": self._profile.ridged,
        }

    def _beta(self, terms: _Terms) -> np.ndarray:
        if not self._projected:
            return np.zeros_like(terms.ones)
        return self._variance * terms.ones / (self._variance * self._grid.cells + self._count_variance)

    def _terms(self, Q: np.ndarray) -> _Terms:
        """The terms of all queries."""
        grid, d = self._grid, len(self._grid.shape)
        out = _Terms(*np.empty((5, len(Q))))
        with np.errstate(over="ignore"):
            place = (Q - grid.start) / grid.step - 0.5
        inside = np.all((place >= 1 - self._margin) & (place < grid.shape + self._margin - 3), axis=1)
        self._asked += len(Q)
        if self._asked <= AT_ONCE and grid.cells > SMALL and "_tables" not in vars(self):
            inside[:] = False
        tile = max(1, QUERY_VALUES // (d * len(self._near)))
        rows = np.flatnonzero(inside)
        for first in range(0, len(rows), tile):
            self._interpolate(place[rows[first : first + tile]], rows[first : first + tile], out)
        for row in np.flatnonzero(~inside):
            self._sum_all(Q[row], int(row), out)
        return out

    def _interpolate(self, place: np.ndarray, rows: np.ndarray, out: _Terms) -> None:
        base = np.floor(place).astype(np.int64)
        cubic, linear = _weights(place - base)
        slopes = _slopes(place - base)
        weights = _outer(cubic)
        found = self._at_nodes(base, cubic, linear, slopes)
        for term, values in zip(vars(out).values(), found, strict=True):
            term[rows] = values

        # For the cells around the query: the exact kernel for the interpolated one.
        exact = self._profile(((place - base)[:, None, :] - self._near) * self._grid.step)
        counts, here = self._around(base)
        out.total[rows] += _dot(counts, exact - weights @ self._near_table)
        sharp = sharpened(exact.reshape(-1, *[2 * REACH + 2] * place.shape[1]), self._grid.spread, first_axis=1)
        sharp = sharp.reshape(len(rows), -1)
        out.ones[rows] += _dot(here, sharp - weights @ self._near_sharp)
        out.squares[rows] += _dot(here, sharp * sharp - weights @ self._near_square)

    def _together(self, changes: Iterable[Any]) -> Any:
        """Σ share h²/12 (∂f)², from the changes of f by one step along each axis."""
        shares = self._stepped * self._grid.spread / 12.0
        return sum(share * change**2 for share, change in zip(shares.tolist(), changes, strict=True))

    def _at_nodes(
        self, base: np.ndarray, cubic: np.ndarray, linear: np.ndarray, slopes: np.ndarray
    ) -> list[np.ndarray]:
        tables, weights = self._tables, _outer(cubic)
        nodes = _block(base + self._margin, NODES, tables.total.shape)
        between = _block(base + self._margin, (0, 1), tables.total.shape)
        found = [_dot(weights, part.ravel()[nodes]) for part in (tables.total, tables.ones, tables.squares)]
        values = tables.total.ravel()[nodes]
        changes = [_dot(_outer(_sloping(cubic, slopes, axis)), values) for axis in range(cubic.shape[1])]
        return [*found, _dot(_outer(linear), tables.places.ravel()[between]), self._together(changes)]

    def _around(self, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sharpened counters of the cells around each base, and which of the inner ones exist."""
        d, spread = base.shape[1], self._grid.spread
        raw, inside = _taken(self._counts, base, range(-REACH - 1, REACH + 3))
        wide = 2 * REACH + 4
        counts = sharpened(raw.reshape(-1, *[wide] * d), spread, first_axis=1).reshape(len(base), -1)
        inner = (slice(None), *[slice(2, -2)] * d)
        return counts, inside.reshape(-1, *[wide] * d)[inner].reshape(len(base), -1)

    def _sum_all(self, q: np.ndarray, row: int, out: _Terms) -> None:
        grid, places = self._grid, 0.0
        axes = [q[j] - (grid.start[j] + (np.arange(-1, n + 1) + 0.5) * grid.step[j]) for j, n in enumerate(grid.shape)]
        k = self._profile(lattice(axes, np.ones(len(axes))))
        sharp = sharpened(k, grid.spread)
        out.total[row] = np.sum(self._sharp * k)
        out.ones[row], out.squares[row] = sharp.sum(), np.square(sharp).sum()
        for moved, hides in zip(displacement(k), self._hides, strict=True):
            places += min(float(np.sum(hides * moved)), float(np.sum(self._most * np.sqrt(moved))) ** 2)
        out.places[row] = places
        middle = (slice(1, -1),) * k.ndim
        sides = [
            [(*middle[:j], side, *middle[j + 1 :]) for side in (slice(None, -2), slice(2, None))] for j in range(k.ndim)
        ]
        out.together[row] = self._together([np.sum(self._counts * (k[low] - k[high])) / 2.0 for low, high in sides])


def _weights(fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, axes, 4): Lagrange weights of the nodes −1, 0, 1, 2; and (n, axes, 2): linear weights of 0 and 1."""
    t = fraction[..., None]
    below, above = (t - 1) * (t - 2), (t + 1) * t
    cubic = [-t * below / 6, (t + 1) * below / 2, -above * (t - 2) / 2, above * (t - 1) / 6]
    return np.concatenate(cubic, axis=-1), np.concatenate([1 - t, t], axis=-1)


def _slopes(fraction: np.ndarray) -> np.ndarray:
    """(n, axes, 4): derivatives of the Lagrange weights."""
    t = fraction[..., None]
    square = 3 * t * t
    changes = [-(square - 6 * t + 2) / 6, (square - 4 * t - 1) / 2, -(square - 2 * t - 2) / 2, (square - 1) / 6]
    return np.concatenate(changes, axis=-1)


def _sloping(cubic: np.ndarray, slopes: np.ndarray, axis: int) -> np.ndarray:
    """The weights of the derivative along one axis."""
    out = cubic.copy()
    out[..., axis, :] = slopes[..., axis, :]
    return out


def _outer(weights: np.ndarray) -> np.ndarray:
    """(n, axes, m) → (n, mᵈ): products of one weight per axis."""
    out = weights[:, 0]
    for axis in range(1, weights.shape[1]):
        out = (out[:, :, None] * weights[:, axis, None, :]).reshape(len(out), -1)
    return out


def _block(base: np.ndarray, offsets: Sequence[int] | range, shape: Sequence[int]) -> np.ndarray:
    """(n, len(offsets)ᵈ): flat positions of a block of cells around each base."""
    out = np.zeros((len(base), 1), np.int64)
    for axis, n in enumerate(shape):
        here = base[:, axis, None] + np.asarray(offsets)
        out = (out[:, :, None] * n + here[:, None, :]).reshape(len(base), -1)
    return out


def _taken(values: np.ndarray, base: np.ndarray, offsets: range) -> tuple[np.ndarray, np.ndarray]:
    """(n, len(offsets)ᵈ): a block of cells around each base, 0 outside the grid; and whether each cell exists."""
    at, inside = np.zeros((len(base), 1), np.int64), np.ones((len(base), 1), bool)
    for axis, n in enumerate(values.shape):
        here = base[:, axis, None] + np.asarray(offsets)
        exists = (here >= 0) & (here < n)
        at = (at[:, :, None] * n + np.clip(here, 0, n - 1)[:, None, :]).reshape(len(base), -1)
        inside = (inside[:, :, None] & exists[:, None, :]).reshape(len(base), -1)
    return np.where(inside, values.ravel()[at], 0.0), inside


def _interpolation_table(small: np.ndarray, reach: int) -> np.ndarray:
    """(4ᵈ, cells): the kernel between each node and each near cell, so weights @ table interpolates it."""
    d, center = small.ndim, small.shape[0] // 2
    gap = np.array(NODES)[:, None] - np.arange(-reach, reach + 2) + center  # (nodes, cells) along one axis
    index = np.ix_(*[gap.ravel()] * d)
    block = small[index].reshape([n for _ in range(d) for n in gap.shape])
    return block.transpose([2 * j for j in range(d)] + [2 * j + 1 for j in range(d)]).reshape(len(NODES) ** d, -1)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)


NODES = (-1, 0, 1, 2)
"""Of cubic interpolation, from the node below the query."""


class Tables:
    """Σ S̃ k, Σ k̃, Σ k̃² and the variance from places, at the centers of all cells and a margin around them.

    `sharp` are the sharpened counters, one cell wider than the grid on every side; `rough` their roughness; `most` the
    most records in each cell.
    """

    def __init__(self, grid: Grid, sharp: np.ndarray, rough: np.ndarray, most: np.ndarray) -> None:
        shape, margin = np.array(grid.shape), grid.margin
        table = grid.profile.smooth_table(grid.step, around(shape + margin))
        self.total = _convolved(sharp, table)
        self.ones = sharpened(_windowed(table, grid.shape), grid.spread)
        table = sharpened(table, grid.spread)
        self.squares = _windowed(np.square(table, out=table), grid.shape)
        del table
        self.places = _place_field(grid, margin, rough, most)


def _place_field(grid: Grid, margin: np.ndarray, rough: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Σ_c Σ_j W_j[c] h²/12 (∂_j k(g − c))² at all centers g, for each axis at most its ceiling."""
    reach = grid.place_reach
    moved = displacement(grid.profile.table(grid.step, around(reach + 1)))
    size = [n + 2 * int(r) for n, r in zip(grid.shape, reach, strict=True)]
    full = np.zeros(size)
    for weights, change in zip(rough, moved, strict=True):
        ceiling = _fft_product(most, np.sqrt(change), size)
        full += np.minimum(_fft_product(weights, change, size), np.square(ceiling))
    keep = [int(m) for m in margin]
    cut = full[tuple(slice(max(0, r - m), n - max(0, r - m)) for r, m, n in zip(reach, keep, size, strict=True))]
    return np.pad(cut, [(max(0, m - r),) * 2 for r, m in zip(map(int, reach), keep, strict=True)])


def _windowed(table: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Sums over all windows of the given shape."""
    for axis, n in enumerate(shape):
        before = (slice(None),) * axis
        running = np.cumsum(table, axis=axis)
        table = running[(*before, slice(n - 1, None))].copy()
        table[(*before, slice(1, None))] -= running[(*before, slice(None, -n))]
    return table


def _convolved(counts: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Σ_c counts[c] table[g − c] for all g at which the table covers every c."""
    full = _fft_product(counts, table, table.shape)
    return full[tuple(slice(n - 1, size) for n, size in zip(counts.shape, table.shape, strict=True))].copy()


def _fft_product(a: np.ndarray, b: np.ndarray, size: Sequence[int]) -> np.ndarray:
    """The cyclic convolution of a and b, cut to `size`; wrapped values reach only what the caller drops."""
    lengths, axes = [fast_length(int(n)) for n in size], range(len(size))
    product = np.fft.rfftn(a, lengths, axes)
    product *= np.fft.rfftn(b, lengths, axes)
    full = np.fft.irfftn(product, lengths, axes)
    return full[tuple(slice(int(n)) for n in size)]
