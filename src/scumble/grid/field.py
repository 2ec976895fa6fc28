"""Queries on a grid: every counter, weighted by the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from scumble.grid import direct
from scumble.grid.cells import Grid
from scumble.grid.far import Far
from scumble.grid.places import along, displacement, most_records, roughness, spread_out, stepped
from scumble.grid.profile import around, lattice, sharpened
from scumble.grid.tables import NODES, REACH, Tables, margin_of, place_reach

TILE = 1 << 21
AT_ONCE = 12
"""Queries of a large grid that are answered one by one, before the tables for many of them are made."""
SMALL = 1 << 15
"""Cells up to which the tables are made at once."""


@dataclass
class _Terms:
    """What a query needs: Σ S k, Σ k and Σ k² over the cells, the variance from the places inside the cells, and what
    is added to it where records may move together."""

    total: np.ndarray
    ones: np.ndarray
    squares: np.ndarray
    places: np.ndarray
    together: np.ndarray


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

    **Speed.** One FFT gives the sum at all centres (:mod:`scumble.grid.tables`). Between them it is interpolated by
    cubics; for the cells around q, where the kernel has its cusp, the interpolated kernel is replaced by the exact one.
    The first few queries are summed in another order, at once (:mod:`scumble.grid.direct`). Queries well outside the
    bounds sum all cells, far from them in the short way of :mod:`scumble.grid.far`.

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
        d = len(grid.shape)
        self._counts = np.asarray(counts, dtype=np.float64).reshape(grid.shape)
        self._excess = 0.0 if count is None or noise_variance == 0.0 else float(count) - float(self._counts.sum())
        self._projected = count is not None and noise_variance > 0.0
        self._margin = margin_of(grid.shape)
        self._slab = np.maximum(np.rint(self._profile.half_widths / grid.step), 1).astype(int).tolist()
        self._told: dict[tuple[float, ...], tuple[float, ...]] = {}
        self._told_places: dict[tuple[float, ...], float] = {}
        self._made: tuple[np.ndarray, direct.Kernel] | None = None
        self._near = lattice([np.arange(-REACH, REACH + 2.0)] * d, np.ones(d)).reshape(-1, d)
        small = self._profile.smooth_table(grid.step, around([REACH + 3] * d))
        sharp = sharpened(small, grid.spread)
        self._near_table = _interpolation_table(small, REACH)
        self._near_sharp = _interpolation_table(sharp, REACH - 1)
        self._near_square = _interpolation_table(np.square(sharp), REACH - 1)

    @cached_property
    def _sharp(self) -> np.ndarray:
        """The counters, sharpened: one cell wider than the grid on every side."""
        return sharpened(np.pad(self._counts, 2), self._grid.spread)

    @cached_property
    def _rough(self) -> list[np.ndarray]:
        return roughness(self._counts, self._variance, self._slab)

    @cached_property
    def _hides(self) -> np.ndarray:
        """The roughness of all cells, as far as places in them are hidden."""
        return spread_out(self._rough, self._grid.shape, self._slab) * along(self._grid.hidden)

    @cached_property
    def _stepped(self) -> np.ndarray:
        return stepped(self._counts, self._variance)

    @cached_property
    def _far(self) -> Far:
        return Far(self._grid, [self._sharp, np.ones(self._grid.shape), *self._hides])

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self._grid, self._sharp, self._hides, most_records(self._counts, self._variance))

    def kernel_sum(self, Q: np.ndarray) -> np.ndarray:
        """The estimate of f(q) = Σₓ k(x, q) for each query; unbiased under the noise, so it may be negative."""
        return self.sums(Q)[0]

    def standard_error(self, Q: np.ndarray) -> np.ndarray:
        """The standard deviation of `kernel_sum`: noise and the places inside the cells together."""
        _, noise, places = self.estimate(Q)
        return np.sqrt(noise + places)

    def estimate(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The kernel sums, their variance from noise, and their variance from the places inside the cells."""
        terms = self._terms(np.asarray(Q, dtype=np.float64))
        return *self._summed(terms), np.maximum(terms.places, 0.0) + terms.together

    def sums(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of `estimate` the first two: the last is most of the work for the first few queries of a large grid."""
        return self._summed(self._terms(np.asarray(Q, dtype=np.float64), places=False))

    def sums_few(self, Q: np.ndarray) -> bool:
        """Whether these queries are so few, and the grid so large, that `sums` takes far less than `estimate`.

        What `sums` has found is kept: `estimate` then takes no longer than it would have.
        """
        return len(Q) <= AT_ONCE and self._grid.cells > SMALL and "_tables" not in vars(self)

    def _summed(self, terms: _Terms) -> tuple[np.ndarray, np.ndarray]:
        beta = self._beta(terms)
        noise = self._variance * np.maximum(terms.squares - beta * terms.ones, 0.0)
        return terms.total + beta * self._excess, noise

    def at_centres(self) -> np.ndarray:
        """The estimate at the centre of every cell, in the order of the counters, as the FFT has found it.

        Ridges of a kernel (Manhattan, products) are rounded off there.
        """
        inside = tuple(slice(int(m), int(m) + n) for m, n in zip(self._margin, self._grid.shape, strict=True))
        found = self._tables
        terms = _Terms(*(part[inside].ravel() for part in (found.total, found.ones, found.squares)), *np.zeros((2, 1)))
        return terms.total + self._beta(terms) * self._excess

    def on_page(self, keep: Callable[[np.ndarray], str]) -> dict[str, Any]:
        """What ``web/src/engine``, its twin, makes its tables of. `keep` stores an array and gives its name."""
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
            "reach": place_reach(grid).tolist(),
            "ridged": self._profile.ridged,
        }

    def _beta(self, terms: _Terms) -> np.ndarray:
        if not self._projected:
            return np.zeros_like(terms.ones)
        return self._variance * terms.ones / (self._variance * self._grid.cells + self._count_variance)

    # ---- the fast way: interpolation, exact near the query ----

    def _terms(self, Q: np.ndarray, places: bool = True) -> _Terms:
        """What queries need; without `places` where they take long."""
        grid, d = self._grid, len(self._grid.shape)
        out = _Terms(*np.empty((5, len(Q))))
        with np.errstate(over="ignore"):
            place = (Q - grid.start) / grid.step - 0.5
        inside = np.all((place >= 1 - self._margin) & (place < grid.shape + self._margin - 3), axis=1)
        tile = max(1, TILE // (d * len(self._near)))
        rows = np.flatnonzero(inside)
        for first in range(0, len(rows), tile):
            self._interpolate(place[rows[first : first + tile]], rows[first : first + tile], out, places)
        for row in np.flatnonzero(~inside):
            sizes = self._far.nodes(Q[row])
            if sizes is None:
                self._sum_all(Q[row], int(row), out)
            else:
                self._sum_nodes(Q[row], sizes, int(row), out)
        return out

    def _interpolate(self, place: np.ndarray, rows: np.ndarray, out: _Terms, places: bool) -> None:
        base = np.floor(place).astype(np.int64)
        cubic, linear = _weights(place - base)
        slopes = _slopes(place - base)
        weights = _outer(cubic)
        found = self._at_nodes(base, cubic, linear, slopes, places)
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

    def _at_nodes(
        self, base: np.ndarray, cubic: np.ndarray, linear: np.ndarray, slopes: np.ndarray, places: bool
    ) -> list[np.ndarray]:
        """The terms, interpolated: a few queries one by one, many from tables.

        Both are the same sum in another order: but for rounding, an answer does not depend on what else was asked.
        """
        keys = (
            []
            if len(base) > AT_ONCE
            else [(*place.tolist(), *weigh.flat) for place, weigh in zip(base, cubic, strict=True)]
        )
        new = set(keys) - self._told.keys()
        if "_tables" in vars(self) or self._grid.cells <= SMALL or not keys or len(self._told) + len(new) > AT_ONCE:
            return self._from_tables(base, cubic, linear, slopes)
        sloping = slopes[:, :, None, :] if self._stepped.any() else slopes[:, :, None, :][:, :, :0]
        several = places and len(set(keys) | self._told_places.keys()) > 1
        known = self._rough if several else None  # of all cells once, not around each of the queries
        kernel = self._kernel(base)
        for key, place, by_cubics, by_lines, by_slopes in zip(keys, base, cubic, linear, sloping, strict=True):
            if key not in self._told:
                *sums, changes = direct.sums(self._grid, self._counts, kernel, place, by_cubics, by_slopes)
                self._told[key] = (*sums, self._together(changes) if changes else 0.0)
            if places and key not in self._told_places:
                self._told_places[key] = direct.places(
                    self._grid, self._counts, self._variance, self._slab, kernel, place, by_lines, known
                )
        *found, together = np.array([self._told[key] for key in keys]).T
        return [*found, np.array([self._told_places.get(key, np.nan) for key in keys]), together]

    def _kernel(self, base: np.ndarray) -> direct.Kernel:
        if self._made is None or not np.array_equal(self._made[0], base):
            self._made = base, direct.Kernel(self._grid, base)
        return self._made[1]

    def _together(self, changes: Iterable[Any]) -> Any:
        """Σ share h²/12 (∂f)², from the changes of f by one step along each axis."""
        shares = self._stepped * self._grid.spread / 12.0
        return sum(share * change**2 for share, change in zip(shares.tolist(), changes, strict=True))

    def _from_tables(
        self, base: np.ndarray, cubic: np.ndarray, linear: np.ndarray, slopes: np.ndarray
    ) -> list[np.ndarray]:
        tables, weights = self._tables, _outer(cubic)
        nodes = _block(base + self._margin, NODES, tables.total.shape)
        beside = _block(base + self._margin, (0, 1), tables.total.shape)
        found = [_dot(weights, part.ravel()[nodes]) for part in (tables.total, tables.ones, tables.squares)]
        values = tables.total.ravel()[nodes]
        changes = [_dot(_outer(_sloping(cubic, slopes, axis)), values) for axis in range(cubic.shape[1])]
        return [*found, _dot(_outer(linear), tables.places.ravel()[beside]), self._together(changes)]

    def _around(self, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sharpened counters of the cells around each base; and of those within one cell less, which exist."""
        d, spread = base.shape[1], self._grid.spread
        raw, inside = _taken(self._counts, base, range(-REACH - 1, REACH + 3))
        wide = 2 * REACH + 4
        counts = sharpened(raw.reshape(-1, *[wide] * d), spread, first_axis=1).reshape(len(base), -1)
        inner = (slice(None), *[slice(2, -2)] * d)
        return counts, inside.reshape(-1, *[wide] * d)[inner].reshape(len(base), -1)

    # ---- the slow, obvious way: all cells ----

    def _sum_all(self, q: np.ndarray, row: int, out: _Terms) -> None:
        grid = self._grid
        axes = [q[j] - (grid.start[j] + (np.arange(-1, n + 1) + 0.5) * grid.step[j]) for j, n in enumerate(grid.shape)]
        k = self._profile(lattice(axes, np.ones(len(axes))))
        sharp = sharpened(k, grid.spread)
        out.total[row] = np.sum(self._sharp * k)
        out.ones[row], out.squares[row] = sharp.sum(), np.square(sharp).sum()
        out.places[row] = np.sum(self._hides * displacement(k))
        middle = (slice(1, -1),) * k.ndim
        sides = [
            [(*middle[:j], side, *middle[j + 1 :]) for side in (slice(None, -2), slice(2, None))] for j in range(k.ndim)
        ]
        out.together[row] = self._together([np.sum(self._counts * (k[low] - k[high])) / 2.0 for low, high in sides])

    def _sum_nodes(self, q: np.ndarray, sizes: tuple[int, ...], row: int, out: _Terms) -> None:
        """The same from afar: sharpened values and displacements come from the nodes' neighbours a step away."""
        places, step = self._far.places(sizes), self._grid.step
        counts, ones, *rough = self._far.moments(sizes)

        def kernel(axis: int = 0, shift: float = 0.0) -> np.ndarray:
            axes = [q[j] - place - (shift * step[j] if j == axis else 0.0) for j, place in enumerate(places)]
            return self._profile(lattice(axes, np.ones(len(axes))))

        k = kernel()
        sharp, moved, changes = k * (1.0 + np.sum(self._grid.spread) / 12.0), 0.0, np.zeros(len(places))
        for axis, spread in enumerate(self._grid.spread):
            for shift in (-1.0, 1.0):
                beside = kernel(axis, shift)
                sharp -= spread / 24.0 * beside
                changes[axis] += shift / 2.0 * float(np.sum(counts * beside))
                moved += float(np.sum(rough[axis] * np.square(beside - k))) / 24.0
        out.total[row], out.places[row], out.together[row] = np.sum(counts * k), moved, self._together(changes.tolist())
        out.ones[row], out.squares[row] = np.sum(ones * sharp), np.sum(ones * np.square(sharp))


def _weights(fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, axes, 4): Lagrange's weights of the nodes −1, 0, 1, 2; and (n, axes, 2): the linear ones of 0 and 1."""
    t = fraction[..., None]
    cubic = [
        -t * (t - 1) * (t - 2) / 6,
        (t + 1) * (t - 1) * (t - 2) / 2,
        -(t + 1) * t * (t - 2) / 2,
        (t + 1) * t * (t - 1) / 6,
    ]
    return np.concatenate(cubic, axis=-1), np.concatenate([1 - t, t], axis=-1)


def _slopes(fraction: np.ndarray) -> np.ndarray:
    """(n, axes, 4): how Lagrange's weights change by the step."""
    t = fraction[..., None]
    changes = [
        -(3 * t * t - 6 * t + 2) / 6,
        (3 * t * t - 4 * t - 1) / 2,
        -(3 * t * t - 2 * t - 2) / 2,
        (3 * t * t - 1) / 6,
    ]
    return np.concatenate(changes, axis=-1)


def _sloping(cubic: np.ndarray, slopes: np.ndarray, axis: int) -> np.ndarray:
    """The weights that tell the change along one axis."""
    out = cubic.copy()
    out[..., axis, :] = slopes[..., axis, :]
    return out


def _outer(weights: np.ndarray) -> np.ndarray:
    """(n, axes, m) → (n, mᵈ): products of one weight an axis."""
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
    """(n, len(offsets)ᵈ): a block of cells around each base, 0 where there is none; and whether there is one."""
    at, inside = np.zeros((len(base), 1), np.int64), np.ones((len(base), 1), bool)
    for axis, n in enumerate(values.shape):
        here = base[:, axis, None] + np.asarray(offsets)
        exists = (here >= 0) & (here < n)
        at = (at[:, :, None] * n + np.clip(here, 0, n - 1)[:, None, :]).reshape(len(base), -1)
        inside = (inside[:, :, None] & exists[:, None, :]).reshape(len(base), -1)
    return np.where(inside, values.ravel()[at], 0.0), inside


def _interpolation_table(small: np.ndarray, reach: int) -> np.ndarray:
    """(4ᵈ, cells): the kernel between each node and each near cell, so weights @ table interpolates it."""
    d, centre = small.ndim, small.shape[0] // 2
    gap = np.array(NODES)[:, None] - np.arange(-reach, reach + 2) + centre  # (nodes, cells) along one axis
    index = np.ix_(*[gap.ravel()] * d)
    block = small[index].reshape([n for _ in range(d) for n in gap.shape])
    return block.transpose([2 * j for j in range(d)] + [2 * j + 1 for j in range(d)]).reshape(len(NODES) ** d, -1)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)
