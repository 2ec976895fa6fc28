"""Queries on a grid: every counter, weighted by the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import fft

from scumble.grid.cells import Grid
from scumble.grid.far import Far
from scumble.grid.places import displacement, roughness
from scumble.grid.profile import lattice, sharpened

NODES = (-1, 0, 1, 2)  # of cubic interpolation, from the node below the query
REACH = 2  # cells beyond the two around the query whose kernel value is exact
WORKERS = 2
TILE = 1 << 21


@dataclass
class _Terms:
    """What a query needs: Σ S k, Σ k and Σ k² over the cells, and the variance from the places inside the cells."""

    total: np.ndarray
    ones: np.ndarray
    squares: np.ndarray
    places: np.ndarray


class Field:
    """The sum f(q) = Σₓ k(x, q) for any q, from the counters of a grid.

    **The sum.** f̂(q) = Σ_c S̃[c] k(q − c) over the centres c. Inside a cell a record's place is unknown: counting in
    cells of size h blurs the data by a box of variance h²/12, and S̃ = S − Σ_axes Δ²S/24 undoes that to second order.
    For data smooth on the scale of a cell no bias is left, at a noise of a few percent more.

    **Noise.** The counters' noise goes linearly into f̂, so f̂ is unbiased and the noise's variance is v Σ_c k̃², where
    k̃ = k − Σ_axes Δ²k/24. Kernels have heavy tails and most of a big grid lies far from q. There the weights hardly
    differ, so what is read is the sum of the counters, and N is often known far better than that: adding
    β(N̂ − Σ S) with β = v Σk̃ / (v cells + Var N̂) keeps f̂ unbiased and gives the least variance, v (Σk̃² − β Σk̃).

    **Places.** What remains is the error from the places inside the cells: :mod:`scumble.grid.places`.

    **Speed.** One FFT gives the sum at all centres. Between them it is interpolated by cubics; for the cells around q,
    where the kernel has its cusp, the interpolated kernel is replaced by the exact one. Queries well outside the bounds
    sum all cells, far from them in the short way of :mod:`scumble.grid.far`.

    Parameters
    ----------
    grid : Grid
        The cells.
    counts : numpy.ndarray
        Their counters, (1, cells).
    noise_variance : float
        Of the noise on one of them.
    count : float or None
        An estimate of N from elsewhere; it takes much of the noise out.
    count_variance : float
        Of that estimate.
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
        d, shape = len(grid.shape), np.array(grid.shape)
        raw = np.asarray(counts, dtype=np.float64).reshape(grid.shape)
        self._excess = 0.0 if count is None or noise_variance == 0.0 else float(count) - float(raw.sum())
        self._projected = count is not None and noise_variance > 0.0
        self._sharp = sharpened(np.pad(raw, 2), grid.spread)  # one cell wider than the grid on every side
        slab = np.ceil(self._profile.half_widths / grid.step).astype(int)
        self._rough = roughness(raw, self._variance, slab.tolist())

        self._far = Far(grid, [self._sharp, np.ones(grid.shape), *self._rough])
        self._margin = _margin(shape)
        table = self._profile.smooth_table(grid.step, shape + self._margin)
        self._total = _convolved(self._sharp, table)
        self._ones = sharpened(_windowed(table, grid.shape), grid.spread)
        table = sharpened(table, grid.spread)
        self._squares = _windowed(np.square(table, out=table), grid.shape)
        del table
        self._places = self._place_field()

        wide = [(int(m) + REACH - 1,) * 2 for m in self._margin]
        self._near_counts = np.pad(self._sharp, wide)
        self._near_inside = np.pad(np.ones(grid.shape, np.int8), [(a + 1, b + 1) for a, b in wide])
        self._near = lattice([np.arange(-REACH, REACH + 2.0)] * d, np.ones(d)).reshape(-1, d)
        small = self._profile.smooth_table(grid.step, [REACH + 3] * d)
        sharp = sharpened(small, grid.spread)
        self._near_table = _interpolation_table(small, REACH)
        self._near_sharp = _interpolation_table(sharp, REACH - 1)
        self._near_square = _interpolation_table(np.square(sharp), REACH - 1)

    def kernel_sum(self, Q: np.ndarray) -> np.ndarray:
        """The estimate of f(q) = Σₓ k(x, q) for each query; unbiased under the noise, so it may be negative."""
        return self.estimate(Q)[0]

    def standard_error(self, Q: np.ndarray) -> np.ndarray:
        """The standard deviation of `kernel_sum`: noise and the places inside the cells together."""
        _, noise, places = self.estimate(Q)
        return np.sqrt(noise + places)

    def estimate(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The kernel sums, their variance from noise, and their variance from the places inside the cells."""
        terms = self._terms(np.asarray(Q, dtype=np.float64))
        beta = self._beta(terms)
        noise = self._variance * np.maximum(terms.squares - beta * terms.ones, 0.0)
        return terms.total + beta * self._excess, noise, np.maximum(terms.places, 0.0)

    def at_centres(self) -> np.ndarray:
        """The estimate at the centre of every cell, in the order of the counters, as the FFT has found it.

        Ridges of a kernel (Manhattan, products) are rounded off there.
        """
        inside = tuple(slice(int(m), int(m) + n) for m, n in zip(self._margin, self._grid.shape, strict=True))
        terms = _Terms(*(part[inside].ravel() for part in (self._total, self._ones, self._squares, self._places)))
        return terms.total + self._beta(terms) * self._excess

    def on_page(self, keep: Callable[[np.ndarray], str]) -> dict[str, Any]:
        """What ``web/src/engine/grid.js``, its twin, answers from. `keep` stores an array and gives its name."""
        grid = self._grid
        return {
            "factors": self._profile.on_page(),
            "shape": list(grid.shape),
            "start": grid.start.tolist(),
            "step": grid.step.tolist(),
            "spread": grid.spread.tolist(),
            "margin": self._margin.tolist(),
            "cells": grid.cells,
            "variance": self._variance,
            "countVariance": self._count_variance,
            "excess": self._excess,
            "projected": self._projected,
            "total": keep(self._total),
            "ones": keep(self._ones),
            "squares": keep(self._squares),
            "places": keep(self._places),
            "sharp": keep(self._sharp),
            "rough": keep(self._rough),
            "nearTable": keep(self._near_table),
            "nearSharp": keep(self._near_sharp),
            "nearSquare": keep(self._near_square),
        }

    def _beta(self, terms: _Terms) -> np.ndarray:
        if not self._projected:
            return np.zeros_like(terms.ones)
        return self._variance * terms.ones / (self._variance * self._grid.cells + self._count_variance)

    # ---- the fast way: interpolation, exact near the query ----

    def _terms(self, Q: np.ndarray) -> _Terms:
        grid, d = self._grid, len(self._grid.shape)
        out = _Terms(*np.empty((4, len(Q))))
        with np.errstate(over="ignore"):
            place = (Q - grid.start) / grid.step - 0.5
        inside = np.all((place >= 1 - self._margin) & (place < grid.shape + self._margin - 3), axis=1)
        tile = max(1, TILE // (d * len(self._near)))
        rows = np.flatnonzero(inside)
        for first in range(0, len(rows), tile):
            self._interpolate(place[rows[first : first + tile]], rows[first : first + tile], out)
        for row in np.flatnonzero(~inside):
            sizes = self._far.nodes(Q[row])
            if sizes is None:
                self._sum_all(Q[row], int(row), out)
            else:
                self._sum_nodes(Q[row], sizes, int(row), out)
        return out

    def _interpolate(self, place: np.ndarray, rows: np.ndarray, out: _Terms) -> None:
        base = np.floor(place).astype(np.int64)
        weights, linear = _weights(place - base)
        nodes = _block(base + self._margin, NODES, self._total.shape)
        near = _block(base + self._margin + REACH, range(-REACH, REACH + 2), self._near_counts.shape)
        inner = _block(base + self._margin + REACH, range(1 - REACH, REACH + 1), self._near_inside.shape)

        exact = self._profile(((place - base)[:, None, :] - self._near) * self._grid.step)
        counts = self._near_counts.ravel()[near]
        out.total[rows] = _dot(weights, self._total.ravel()[nodes]) + _dot(counts, exact - weights @ self._near_table)

        sharp = sharpened(exact.reshape(-1, *[2 * REACH + 2] * place.shape[1]), self._grid.spread, first_axis=1)
        sharp, here = sharp.reshape(len(rows), -1), self._near_inside.ravel()[inner]
        out.ones[rows] = _dot(weights, self._ones.ravel()[nodes]) + _dot(here, sharp - weights @ self._near_sharp)
        squares = _dot(here, sharp * sharp - weights @ self._near_square)
        out.squares[rows] = _dot(weights, self._squares.ravel()[nodes]) + squares
        out.places[rows] = _dot(linear, self._places.ravel()[nodes])

    # ---- the slow, obvious way: all cells ----

    def _sum_all(self, q: np.ndarray, row: int, out: _Terms) -> None:
        grid = self._grid
        axes = [q[j] - (grid.start[j] + (np.arange(-1, n + 1) + 0.5) * grid.step[j]) for j, n in enumerate(grid.shape)]
        k = self._profile(lattice(axes, np.ones(len(axes))))
        sharp = sharpened(k, grid.spread)
        out.total[row] = np.sum(self._sharp * k)
        out.ones[row], out.squares[row] = sharp.sum(), np.square(sharp).sum()
        out.places[row] = np.sum(self._rough * displacement(k))

    def _sum_nodes(self, q: np.ndarray, sizes: tuple[int, ...], row: int, out: _Terms) -> None:
        """The same from afar: sharpened values and displacements come from the nodes' neighbours a step away."""
        places, step = self._far.places(sizes), self._grid.step
        counts, ones, *rough = self._far.moments(sizes)

        def kernel(axis: int = 0, shift: float = 0.0) -> np.ndarray:
            axes = [q[j] - place - (shift * step[j] if j == axis else 0.0) for j, place in enumerate(places)]
            return self._profile(lattice(axes, np.ones(len(axes))))

        k = kernel()
        sharp, moved = k * (1.0 + np.sum(self._grid.spread) / 12.0), 0.0
        for axis, spread in enumerate(self._grid.spread):
            for shift in (-1.0, 1.0):
                beside = kernel(axis, shift)
                sharp -= spread / 24.0 * beside
                moved += float(np.sum(rough[axis] * np.square(beside - k))) / 24.0
        out.total[row], out.places[row] = np.sum(counts * k), moved
        out.ones[row], out.squares[row] = np.sum(ones * sharp), np.sum(ones * np.square(sharp))

    # ---- the places inside the cells ----

    def _place_field(self) -> np.ndarray:
        """Σ_c Σ_j W_j[c] h²/12 (∂_j k(g − c))² at all centres g; eight half-widths see all of a gradient."""
        local = np.ceil(8.0 * self._profile.half_widths / self._grid.step)
        reach = np.minimum(local, np.array(self._grid.shape) + self._margin).astype(int)
        moved = displacement(self._profile.table(self._grid.step, reach + 1))
        size = [n + 2 * int(r) for n, r in zip(self._grid.shape, reach, strict=True)]
        full = np.sum([_fft_product(*pair, size) for pair in zip(self._rough, moved, strict=True)], axis=0)
        keep = [int(m) for m in self._margin]
        cut = full[tuple(slice(max(0, r - m), n - max(0, r - m)) for r, m, n in zip(reach, keep, size, strict=True))]
        return np.pad(cut, [(max(0, m - r),) * 2 for r, m in zip(map(int, reach), keep, strict=True)])


def _margin(shape: np.ndarray) -> np.ndarray:
    """Cells beyond the bounds that the FFT serves too: a few, and those that fill a fast length."""
    lengths = [fft.next_fast_len(2 * (int(n) + REACH + 4) + 1, real=True) for n in shape]
    return (np.array(lengths) - 1) // 2 - shape


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
    """The cyclic convolution of a and b, cut to `size`; cycles reach only the places that the caller drops."""
    lengths = [fft.next_fast_len(int(n), real=True) for n in size]
    product = fft.rfftn(a, lengths, workers=WORKERS)
    product *= fft.rfftn(b, lengths, workers=WORKERS)
    full = fft.irfftn(product, lengths, workers=WORKERS, overwrite_x=True)
    return full[tuple(slice(int(n)) for n in size)]


def _weights(fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, 4ᵈ): Lagrange weights of the nodes −1, 0, 1, 2, and the linear ones of the same nodes."""
    t = fraction[..., None]
    cubic = np.concatenate(
        [
            -t * (t - 1) * (t - 2) / 6,
            (t + 1) * (t - 1) * (t - 2) / 2,
            -(t + 1) * t * (t - 2) / 2,
            (t + 1) * t * (t - 1) / 6,
        ],
        axis=-1,
    )
    linear = np.concatenate([0 * t, 1 - t, t, 0 * t], axis=-1)
    return _outer(cubic), _outer(linear)


def _outer(weights: np.ndarray) -> np.ndarray:
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


def _interpolation_table(small: np.ndarray, reach: int) -> np.ndarray:
    """(4ᵈ, cells): the kernel between each node and each near cell, so weights @ table interpolates it."""
    d, centre = small.ndim, small.shape[0] // 2
    gap = np.array(NODES)[:, None] - np.arange(-reach, reach + 2) + centre  # (nodes, cells) along one axis
    index = np.ix_(*[gap.ravel()] * d)
    block = small[index].reshape([n for _ in range(d) for n in gap.shape])
    return block.transpose([2 * j for j in range(d)] + [2 * j + 1 for j in range(d)]).reshape(len(NODES) ** d, -1)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)
