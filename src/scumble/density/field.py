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
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from scumble.checks import Json
from scumble.density.grid_cells import REACH, TILE, Grid, fast_length, lattice, sharpened, tiles


def roughness(counts: np.ndarray, noise_variance: float, slab: Sequence[int]) -> np.ndarray:
    """(axes, n₁, …, n_d): the variation of the counters along each axis beyond noise, in `blocks` along the others.

    It adds slabs one cell thick, cells (at half weight) and slabs two cells thick, for values on an edge. Independent
    records yield about their number each.
    """
    out, sides = np.empty((counts.ndim, *counts.shape)), blocks(slab)
    for axis in range(counts.ndim):
        others = [other for other in range(counts.ndim) if other != axis]
        slabs, sizes = counts, np.ones([1 if k == axis else n for k, n in enumerate(counts.shape)])
        for other in others:
            slabs, sizes = blocked(slabs, other, sides[other]), blocked(sizes, other, sides[other])
        cells = sizes
        for other in others:
            slabs, cells = _with_neighbors(slabs, other), _with_neighbors(cells, other)
        along, side = (others[0], sides[others[0]]) if others else (axis, 1)
        tile = max(1, TILE * counts.shape[along] // (counts.size * side)) if others else counts.size
        for first in range(0, slabs.shape[along], tile):
            before = (slice(None),) * along
            here, fine = (*before, slice(first, first + tile)), (*before, slice(first * side, (first + tile) * side))
            rough = _beyond_noise(counts[fine], slabs[here], sizes[here], cells[here], axis, sides)
            rough -= (2.5 if others else 2.0) * noise_variance
            part = out[axis][fine]
            for other in others:
                rough = rough.repeat(sides[other], other)
            part[:] = rough[tuple(map(slice, part.shape))]
    return out


def _beyond_noise(
    counts: np.ndarray, slabs: np.ndarray, sizes: np.ndarray, cells: np.ndarray, axis: int, sides: Sequence[int]
) -> np.ndarray:
    """The variation along an axis of a part of the grid; noise included."""
    rough = _bent(slabs, 1, axis, 1.0 / cells)
    wide = np.concatenate([slabs.take([0], axis), slabs, slabs.take([-1], axis)], axis)  # repeating the edge
    rough += _pairs(_bent(_pairs(wide, axis), 2, axis, 0.25 / cells), axis)
    if counts.ndim > 1:
        alone = _bent(counts, 1, axis, 0.5)
        for other, size in enumerate(sides):
            alone = alone if other == axis else blocked(alone, other, size)
        rough += alone / sizes
    return rough


def blocks(slab: Sequence[int]) -> list[int]:
    """The cells of a block along each axis: three blocks reach about `slab` cells to both sides.

    >>> blocks([1, 3, 11])
    [1, 2, 8]
    """
    return [max(1, (2 * reach + 2) // 3) for reach in slab]


def blocked(values: np.ndarray, axis: int, block: int) -> np.ndarray:
    """Sums over blocks of cells along an axis; the last may be shorter."""
    before = (slice(None),) * axis
    out = values[(*before, slice(0, None, block))].copy()
    for first in range(1, min(block, values.shape[axis])):
        part = values[(*before, slice(first, None, block))]
        out[(*before, slice(part.shape[axis]))] += part
    return out


def _pairs(values: np.ndarray, axis: int) -> np.ndarray:
    """Sums of neighbors along an axis."""
    before = (slice(None),) * axis
    return np.asarray(values[(*before, slice(1, None))] + values[(*before, slice(-1))])


def _with_neighbors(values: np.ndarray, axis: int) -> np.ndarray:
    """Each value plus both neighbors along an axis."""
    out, before = values.copy(), (slice(None),) * axis
    lower, upper = (*before, slice(-1)), (*before, slice(1, None))
    out[upper] += values[lower]
    out[lower] += values[upper]
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
    place, running = np.arange(n), np.append(0.0, np.cumsum(np.square(jumps)))
    first, last = np.maximum(place - 8, 0), np.minimum(place + 9, n)
    near = (running[last] - running[first]) / (last - first)
    jumps /= np.sqrt(near + 0.03 * near.mean())
    length = fast_length(2 * n)
    alike = np.fft.irfft(np.square(np.abs(np.fft.rfft(jumps, length))), length)[2 : n // 2]
    alike /= np.sum(np.square(jumps))
    alike[0] = (alike[0] - 0.3) / 0.7
    chance = np.sqrt(4.6 * np.log(n / 2) / n)
    return float(np.clip(4.0 * alike.max() / chance - 3.0, 0.0, 1.0))


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
            found[:] = _pairs(steps, axis)
    return out


QUERY_VALUES = 1 << 21
"""Values of near cells that are held at a time."""
AT_ONCE, SMALL = 8, 1 << 15
"""So many queries of a grid with more cells than that are summed over all cells; then tables are made."""


class _Terms(NamedTuple):
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
        self._projected = count is not None and noise_variance > 0.0
        d = len(grid.shape)
        self._counts = np.asarray(counts, dtype=np.float64).reshape(grid.shape)
        self._excess = float(count or 0.0) - float(self._counts.sum()) if self._projected else 0.0
        self._slab = np.maximum(np.rint(self._profile.half_widths / grid.step), 1).astype(int).tolist()
        self._asked = 0
        self._near = lattice([np.arange(-REACH, REACH + 2.0)] * d, np.ones(d)).reshape(-1, d)
        small = self._profile.smooth_table(grid.step, [REACH + 3] * d)
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
        hidden = self._grid.hidden
        return roughness(self._counts, self._variance, self._slab) * hidden.reshape(-1, *[1] * len(hidden))

    @cached_property
    def _stepped(self) -> np.ndarray:
        return stepped(self._counts, self._variance)

    @cached_property
    def _most(self) -> np.ndarray:
        """The most records in each cell: the counter plus two standard deviations of noise."""
        return np.asarray(np.maximum(self._counts, 0.0) + 2.0 * np.sqrt(self._variance))

    @cached_property
    def _tables(self) -> list[np.ndarray]:
        """The first four terms at the centers of all cells and a margin around them."""
        grid, shape, margin = self._grid, self._grid.shape, self._grid.margin
        table = self._profile.smooth_table(grid.step, np.array(shape) + margin)
        total = _fft_product(self._sharp, table, table.shape)
        total = total[tuple(slice(n + 1, size) for n, size in zip(shape, table.shape, strict=True))].copy()
        ones = sharpened(_windowed(table, shape), grid.spread)
        table = sharpened(table, grid.spread)
        return [total, ones, _windowed(np.square(table, out=table), shape), self._places_table()]

    def _places_table(self) -> np.ndarray:
        """Σ_c Σ_j W_j[c] h²/12 (∂_j k(g − c))² at all centers g, for each axis at most its ceiling."""
        grid, reach, margin = self._grid, self._grid.place_reach.tolist(), self._grid.margin.tolist()
        size = [n + 2 * r for n, r in zip(grid.shape, reach, strict=True)]
        full = np.zeros(size)
        moved = displacement(self._profile.table(grid.step, np.add(reach, 1)))
        for hides, change in zip(self._hides, moved, strict=True):
            ceiling = _fft_product(self._most, np.sqrt(change), size)
            full += np.minimum(_fft_product(hides, change, size), np.square(ceiling))
        beyond = [(max(0, r - m), n) for r, m, n in zip(reach, margin, size, strict=True)]
        cut = full[tuple(slice(more, n - more) for more, n in beyond)]
        return np.pad(cut, [(max(0, m - r),) * 2 for r, m in zip(reach, margin, strict=True)])

    def estimate(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The unbiased kernel sums, their noise variance, and their variance from places in cells."""
        terms = self._terms(np.asarray(Q, dtype=np.float64))
        beta = self._beta(terms.ones)
        noise = self._variance * np.maximum(terms.squares - beta * terms.ones, 0.0)
        return terms.total + beta * self._excess, noise, np.maximum(terms.places, 0.0) + terms.together

    def at_centers(self) -> np.ndarray:
        """The estimate at the center of every cell, in the order of the counters. Ridges of a kernel are smoothed."""
        inside = tuple(slice(m, m + n) for m, n in zip(self._grid.margin.tolist(), self._grid.shape, strict=True))
        total, ones = (table[inside].ravel() for table in self._tables[:2])
        return total + self._beta(ones) * self._excess

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
            "margin": grid.margin.tolist(),
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

    def _beta(self, ones: np.ndarray) -> np.ndarray:
        if not self._projected:
            return np.zeros_like(ones)
        return self._variance * ones / (self._variance * self._grid.cells + self._count_variance)

    def _terms(self, Q: np.ndarray) -> _Terms:
        """The terms of all queries."""
        grid, d = self._grid, len(self._grid.shape)
        out = _Terms(*np.empty((5, len(Q))))
        with np.errstate(over="ignore"):
            place = (Q - grid.start) / grid.step - 0.5
        inside = np.all((place >= 1 - grid.margin) & (place < grid.shape + grid.margin - 3), axis=1)
        self._asked += len(Q)
        if self._asked <= AT_ONCE and grid.cells > SMALL and "_tables" not in vars(self):
            inside[:] = False
        tile = max(1, QUERY_VALUES // (d * len(self._near)))
        rows = np.flatnonzero(inside)
        for first in range(0, len(rows), tile):
            some = rows[first : first + tile]
            for term, values in zip(out, self._interpolated(place[some]), strict=True):
                term[some] = values
        for row in np.flatnonzero(~inside):
            for term, value in zip(out, self._summed(Q[row]), strict=True):
                term[row] = value
        return out

    def _interpolated(self, place: np.ndarray) -> _Terms:
        """The terms at these places, in cells; the exact kernel stands for the interpolated one in the cells around."""
        grid, d, base = self._grid, place.shape[1], np.floor(place).astype(np.int64)
        cubic, linear, slopes = _weights(place - base)
        weights, (total, ones, squares, places) = _outer(cubic), self._tables
        nodes = _block(base + grid.margin, NODES, total.shape)
        values = total.ravel()[nodes]
        changes = []
        for axis in range(d):
            sloping = cubic.copy()
            sloping[:, axis] = slopes[:, axis]
            changes.append(_dot(_outer(sloping), values))
        between = places.ravel()[_block(base + grid.margin, (0, 1), places.shape)]
        exact = self._profile(((place - base)[:, None, :] - self._near) * grid.step)
        sharp = sharpened(exact.reshape(-1, *[2 * REACH + 2] * d), grid.spread, first_axis=1).reshape(len(base), -1)
        counts, here = self._around(base)
        return _Terms(
            _dot(weights, values) + _dot(counts, exact - weights @ self._near_table),
            _dot(weights, ones.ravel()[nodes]) + _dot(here, sharp - weights @ self._near_sharp),
            _dot(weights, squares.ravel()[nodes]) + _dot(here, sharp * sharp - weights @ self._near_square),
            _dot(_outer(linear), between),
            self._together(changes),
        )

    def _together(self, changes: Iterable[Any]) -> Any:
        """Σ share h²/12 (∂f)², from the changes of f by one step along each axis."""
        shares = self._stepped * self._grid.spread / 12.0
        return sum(share * change**2 for share, change in zip(shares.tolist(), changes, strict=True))

    def _around(self, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sharpened counters of the cells around each base, and which of the inner ones exist."""
        d, offsets = base.shape[1], np.arange(-REACH - 1, REACH + 3)
        inside = np.ones((len(base), 1), bool)
        for axis, n in enumerate(self._grid.shape):
            here = base[:, axis, None] + offsets
            inside = (inside[:, :, None] & ((here >= 0) & (here < n))[:, None, :]).reshape(len(base), -1)
        at = _block(base, offsets, self._grid.shape)
        wide = (-1, *[len(offsets)] * d)
        raw = np.where(inside, self._counts.ravel()[np.where(inside, at, 0)], 0.0).reshape(wide)
        inner = inside.reshape(wide)[(slice(None), *[slice(2, -2)] * d)]
        return sharpened(raw, self._grid.spread, first_axis=1).reshape(len(base), -1), inner.reshape(len(base), -1)

    def _summed(self, q: np.ndarray) -> tuple[float, ...]:
        """The terms of one query, from all cells."""
        grid, places, changes = self._grid, 0.0, []
        axes = [q[j] - (grid.start[j] + (np.arange(-1, n + 1) + 0.5) * grid.step[j]) for j, n in enumerate(grid.shape)]
        k = self._profile(lattice(axes, np.ones(len(axes))))
        sharp = sharpened(k, grid.spread)
        for moved, hides in zip(displacement(k), self._hides, strict=True):
            places += min(float(np.sum(hides * moved)), float(np.sum(self._most * np.sqrt(moved))) ** 2)
        middle = (slice(1, -1),) * k.ndim
        for j in range(k.ndim):
            low, high = ((*middle[:j], side, *middle[j + 1 :]) for side in (slice(None, -2), slice(2, None)))
            changes.append(float(np.sum(self._counts * (k[low] - k[high]))) / 2.0)
        squares = float(np.square(sharp).sum())
        return float(np.sum(self._sharp * k)), float(sharp.sum()), squares, places, self._together(changes)


NODES = (-1, 0, 1, 2)
"""Of cubic interpolation, from the node below the query."""


def _weights(fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, axes, 4): Lagrange weights of `NODES`; (n, axes, 2): linear weights of 0 and 1; the cubics' derivatives."""
    t = fraction[..., None]
    below, above, square = (t - 1) * (t - 2), (t + 1) * t, 3 * t * t
    cubic = [-t * below / 6, (t + 1) * below / 2, -above * (t - 2) / 2, above * (t - 1) / 6]
    slopes = [-(square - 6 * t + 2) / 6, (square - 4 * t - 1) / 2, -(square - 2 * t - 2) / 2, (square - 1) / 6]
    return np.concatenate(cubic, axis=-1), np.concatenate([1 - t, t], axis=-1), np.concatenate(slopes, axis=-1)


def _outer(weights: np.ndarray) -> np.ndarray:
    """(n, axes, m) → (n, mᵈ): products of one weight per axis."""
    out = weights[:, 0]
    for axis in range(1, weights.shape[1]):
        out = (out[:, :, None] * weights[:, axis, None, :]).reshape(len(out), -1)
    return out


def _block(base: np.ndarray, offsets: Sequence[int] | np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """(n, len(offsets)ᵈ): flat positions of a block of cells around each base."""
    out = np.zeros((len(base), 1), np.int64)
    for axis, n in enumerate(shape):
        here = base[:, axis, None] + np.asarray(offsets)
        out = (out[:, :, None] * n + here[:, None, :]).reshape(len(base), -1)
    return out


def _interpolation_table(small: np.ndarray, reach: int) -> np.ndarray:
    """(4ᵈ, cells): the kernel between each node and each near cell, so weights @ table interpolates it."""
    d, center = small.ndim, small.shape[0] // 2
    gap = np.array(NODES)[:, None] - np.arange(-reach, reach + 2) + center  # (nodes, cells) along one axis
    block = small[np.ix_(*[gap.ravel()] * d)].reshape([n for _ in range(d) for n in gap.shape])
    return block.transpose([*range(0, 2 * d, 2), *range(1, 2 * d, 2)]).reshape(len(NODES) ** d, -1)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)


def _windowed(table: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Sums over all windows of the given shape."""
    for axis, n in enumerate(shape):
        before = (slice(None),) * axis
        running = np.cumsum(table, axis=axis)
        table = running[(*before, slice(n - 1, None))].copy()
        table[(*before, slice(1, None))] -= running[(*before, slice(None, -n))]
    return table


def _fft_product(a: np.ndarray, b: np.ndarray, size: Sequence[int]) -> np.ndarray:
    """The cyclic convolution of a and b, cut to `size`; wrapped values reach only what the caller drops."""
    lengths, axes = [fast_length(int(n)) for n in size], range(len(size))
    product = np.fft.rfftn(a, lengths, axes)
    product *= np.fft.rfftn(b, lengths, axes)
    full = np.fft.irfftn(product, lengths, axes)
    return full[tuple(slice(int(n)) for n in size)]
