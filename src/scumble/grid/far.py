"""Sums over all cells for a query outside the grid: the kernel is smooth there, and a few nodes stand for all cells.

Seen from a q outside, k(q − c) is an analytic function of the cell's centre c. It is interpolated at m Chebyshev nodes
along each axis, so

    Σ_c S[c] k(q − c) ≈ Σ_nodes M[node] k(q − node),

where M, the counters spread over the nodes by the interpolation's weights, is computed once for all queries. The error
falls as ρ⁻ᵐ (Trefethen 2013, Theorem 8.2). ρ is the sum of the half-axes of the ellipse around the cells, stretched out
along one axis to the nearest point where k is not analytic: the complex c at distance 0 from q. m is taken so large
that the error is below 1e-12 of the sum of |S| k. Where that would need as many nodes as there are cells, and where the
kernel has ridges, the cells are summed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from scumble.grid.cells import Grid

SIZES = np.array([6, 9, 13, 19, 27, 38, 54, 76, 108])
"""Numbers of nodes along an axis: few different ones, so the moments are computed once."""
DIGITS = 35.0
"""−ln of the error asked of ρ⁻ᵐ: e⁻³⁵ leaves room for how the kernel grows on its way to where it breaks."""
WORTH = 8
"""Nodes must be so many times fewer than the cells."""


class Far:
    """Cells seen from afar. `weights` are functions on the cells, each (n₁, …, n_d) or one cell wider on every side."""

    def __init__(self, grid: Grid, weights: Sequence[np.ndarray]) -> None:
        self._grid, self._weights = grid, weights
        self._shape = np.array(grid.shape)
        self._low = grid.start - 0.5 * grid.step  # the centres of the outermost cells, one beyond the grid
        self._high = grid.start + (self._shape + 0.5) * grid.step
        self._moments: dict[tuple[int, ...], list[np.ndarray]] = {}

    def nodes(self, q: np.ndarray) -> tuple[int, ...] | None:
        """How many nodes along each axis a query needs; None if summing all cells is better."""
        if self._grid.profile.ridged:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = np.maximum(np.maximum(self._low - q, q - self._high), 0.0)
            outside = np.minimum(beyond / self._grid.profile.half_widths, 1e100)
            aside = np.sqrt(outside**2 @ (1.0 - np.eye(len(q)))) * self._grid.profile.half_widths
            half = (self._high - self._low) / 2.0
            across = np.minimum(np.abs(q - self._low - half) / half, 1e6)
            z = across + 1j * np.minimum(aside / half, 1e6)
        rho = np.maximum(np.abs(z + np.sqrt(z * z - 1.0)), 1.0 + 1e-9)
        least = np.minimum(DIGITS / np.log(rho), 1e6)
        if np.any(least > SIZES[-1]):
            return None
        sizes = tuple(int(size) for size in SIZES[np.searchsorted(SIZES, least)])
        return sizes if WORTH * prod(sizes) <= self._grid.cells else None

    def places(self, sizes: tuple[int, ...]) -> list[np.ndarray]:
        """The nodes along each axis."""
        half = (self._high - self._low) / 2.0
        return [self._low[j] + half[j] * (1.0 + _chebyshev(m)[0]) for j, m in enumerate(sizes)]

    def moments(self, sizes: tuple[int, ...]) -> list[np.ndarray]:
        """Each weight, spread over the nodes."""
        if sizes not in self._moments:
            self._moments[sizes] = [self._spread(weight, sizes) for weight in self._weights]
        return self._moments[sizes]

    def _spread(self, weight: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
        for axis, m in enumerate(sizes):
            n, wider = int(self._shape[axis]), (weight.shape[axis] - int(self._shape[axis])) // 2
            cells = np.arange(-wider, n + wider)
            # Cells −1 … n lie at −1 … 1.
            matrix = _lagrange(2.0 * (cells + 1.0) / (n + 1.0) - 1.0, m)
            weight = np.moveaxis(np.tensordot(matrix, weight, axes=(1, axis)), 0, axis)
        return weight


def _chebyshev(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of the first kind within [−1, 1], and their barycentric weights."""
    angle = (2.0 * np.arange(m) + 1.0) * np.pi / (2.0 * m)
    return np.cos(angle), np.sin(angle) * (-1.0) ** np.arange(m)


def _lagrange(x: np.ndarray, m: int) -> np.ndarray:
    """(m, len(x)): the polynomial that is 1 at one node and 0 at the others, for each node, at x."""
    nodes, weights = _chebyshev(m)
    gap = x[None, :] - nodes[:, None]
    hit = gap == 0.0
    terms = weights[:, None] / np.where(hit, 1.0, gap)
    out = terms / terms.sum(axis=0)
    on = hit.any(axis=0)
    out[:, on] = hit[:, on]
    return out
