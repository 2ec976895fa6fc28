"""The whole of a grid at once: sums at the centres of all cells, by one FFT, from which queries are interpolated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scumble.grid.cells import Grid
from scumble.grid.places import capped, displacement
from scumble.grid.profile import around, fast_length, sharpened

NODES = (-1, 0, 1, 2)
"""Of cubic interpolation, from the node below the query."""
REACH = 2
"""Cells beyond the two around the query whose kernel value is exact."""


class Tables:
    """Σ S̃ k, Σ k̃, Σ k̃² and the variance from the places, at the centres of all cells and a margin around them.

    `sharp` are the counters, sharpened, one cell wider than the grid on every side; `rough` their roughness; `most` how
    many records each cell holds at most.
    """

    def __init__(self, grid: Grid, sharp: np.ndarray, rough: np.ndarray, most: np.ndarray) -> None:
        shape, margin = np.array(grid.shape), margin_of(grid.shape)
        table = grid.profile.smooth_table(grid.step, around(shape + margin))
        self.total = _convolved(sharp, table)
        self.ones = sharpened(_windowed(table, grid.shape), grid.spread)
        table = sharpened(table, grid.spread)
        self.squares = _windowed(np.square(table, out=table), grid.shape)
        del table
        self.places = _place_field(grid, margin, rough, most)


def place_reach(grid: Grid) -> np.ndarray:
    """How many cells away a place still matters: eight half-widths see all of a gradient."""
    local = np.ceil(8.0 * grid.profile.half_widths / grid.step)
    return np.minimum(local, np.array(grid.shape) + margin_of(grid.shape)).astype(int)


def _place_field(grid: Grid, margin: np.ndarray, rough: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Σ_c Σ_j W_j[c] h²/12 (∂_j k(g − c))² at all centres g, for each axis no more than its ceiling."""
    reach = place_reach(grid)
    moved = displacement(grid.profile.table(grid.step, around(reach + 1)))
    size = [n + 2 * int(r) for n, r in zip(grid.shape, reach, strict=True)]
    full = np.zeros(size)
    for weights, change in zip(rough, moved, strict=True):
        full += capped(_fft_product(weights, change, size), _fft_product(most, np.sqrt(change), size))
    keep = [int(m) for m in margin]
    cut = full[tuple(slice(max(0, r - m), n - max(0, r - m)) for r, m, n in zip(reach, keep, size, strict=True))]
    return np.pad(cut, [(max(0, m - r),) * 2 for r, m in zip(map(int, reach), keep, strict=True)])


def margin_of(shape: Sequence[int]) -> np.ndarray:
    """Cells beyond the bounds that the FFT serves too: a few, and those that fill a fast length."""
    lengths = [fast_length(2 * (int(n) + REACH + 4) + 1) for n in shape]
    return (np.array(lengths) - 1) // 2 - np.array(shape)


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
    lengths, axes = [fast_length(int(n)) for n in size], range(len(size))
    product = np.fft.rfftn(a, lengths, axes)
    product *= np.fft.rfftn(b, lengths, axes)
    full = np.fft.irfftn(product, lengths, axes)
    return full[tuple(slice(int(n)) for n in size)]
