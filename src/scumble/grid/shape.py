"""How many cells: from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from scumble.errors import parameter
from scumble.grid.cells import aligned, checked_bounds
from scumble.grid.profile import Profile
from scumble.kernels import Kernel

# The error from the places inside the cells, as a share of f, is about CLUMPING[d] (1/k(step) − 1). Measured: 0.012
# (smooth salaries) and 0.09 (one value held by a fifth of all records) for d = 1; 0.001 (Gaussian) and 0.006 (colours)
# for d = 3. Chosen near the upper end: cells too small cost less than cells too large.
CLUMPING = (0.0, 0.08, 0.027, 0.009, 0.003)
# The FFT pads every axis to twice its length: this bounds its memory, which matters in four dimensions.
MAX_PADDED = 2**25
# Data fill about half of their public bounds along each axis.
FILLED = 0.5


def choose_shape(
    kernel: Kernel,
    low: np.ndarray | Sequence[float],
    high: np.ndarray | Sequence[float],
    *,
    n: int,
    epsilon: float = 1.0,
    delta: float = 0.0,
    counter_sd: float,
    width: int,
    names: Sequence[str] | None = None,
    max_cells: int = 2**22,
) -> tuple[tuple[int, ...], float]:
    """The best number of cells along each axis, and the mean relative error of a density to expect.

    Small cells know the places of the records, large ones gather less noise. The variance of the noise at a query is
    counter_sd² cells (mean k² − (mean k)²), means over the bounds; it falls with the volume of a cell. The error of the
    places grows with the step. Both are taken relative to f = n E k(x, y), for records spread evenly over half of the
    bounds along each axis. Steps are equal in units of the kernel's half-width. The data play no part.

    Parameters
    ----------
    n : about how many records; public.
    epsilon, delta : of the release; they count through `counter_sd` alone.
    counter_sd : standard deviation of the noise on one counter, √2/ε for pure ε.
    max_cells : the most that the grid may have.

    >>> from scumble.kernels import EuclideanKernel
    >>> choose_shape(EuclideanKernel(5.0), [0, 0, 0], [255, 255, 255], n=240_000, counter_sd=1.5, width=3)[0]
    (128, 128, 128)
    >>> choose_shape(EuclideanKernel(5.0), [0, 0, 0], [255, 255, 255], n=240_000, counter_sd=15, width=3)[0]
    (86, 86, 86)
    """
    if max_cells < 1:
        raise parameter("max_cells", "at least 1", max_cells)
    profile = Profile(kernel, width, names)
    lower, upper = checked_bounds(low, high, profile.dimensions)
    lengths, d = upper - lower, profile.dimensions
    typical, square, mean = _moments(profile, lengths)

    best: tuple[float, tuple[int, ...]] | None = None
    longest = max(1.0, float(np.max(lengths / profile.half_widths)))
    for step in np.geomspace(2.0 * longest, 1e-4, 60 * int(np.ceil(np.log10(longest) + 4))):
        axes = [_axis(*axis) for axis in zip(lower, upper, step * profile.half_widths, strict=True)]
        shape, steps = tuple(cells for cells, _ in axes), np.array([size for _, size in axes])
        if prod(shape) > max_cells or prod(2 * cells + 8 for cells in shape) > MAX_PADDED:
            break
        noise = counter_sd * np.sqrt(prod(shape) * (square - mean**2) + 1.0) / (max(n, 1) * typical)
        with np.errstate(divide="ignore", over="ignore"):
            places = CLUMPING[d] * np.sqrt(np.sum(np.square(1.0 / profile(np.diag(steps)) - 1.0)))
        error = float(np.hypot(noise, places))
        if best is None or error < best[0]:
            best = error, shape
    assert best is not None  # one cell always fits
    return best[1], best[0] * np.sqrt(2.0 / np.pi)


def _axis(low: float, high: float, step: float) -> tuple[int, float]:
    """Cells and true step along one axis: as near to the wish as bounds and whole numbers allow."""
    span = high - low
    if low.is_integer() and high.is_integer() and step >= 1e-3:  # so that `aligned` finds a whole step, or 1/whole
        cells = int(np.ceil((span + 1.0) / np.round(step))) if step >= 0.7 else int(span * np.round(1.0 / step)) + 1
    else:
        cells = max(1, int(np.round(span / step)))
    return cells, aligned(low, high, cells)[1]


def _moments(profile: Profile, lengths: np.ndarray) -> tuple[float, float, float]:
    """E k(x, y) between records, and the mean of k² and of k over the bounds, seen from their middle."""
    d = profile.dimensions
    nodes, weights = np.empty((2, d, {1: 400, 2: 100, 3: 40}.get(d, 16)))
    for j, (length, half) in enumerate(zip(lengths, profile.half_widths, strict=True)):
        # Geometric pieces from well inside the kernel to the end of the bounds: it may be any number of powers of ten.
        edges = np.append(0.0, np.geomspace(min(half, length) / 16.0, length, nodes.shape[1]))
        nodes[j], weights[j] = (edges[1:] + edges[:-1]) / 2.0, np.diff(edges) / length
    total = weights[0]
    for more in weights[1:]:
        total = np.multiply.outer(total, more)

    def along(scale: float) -> np.ndarray:
        return profile(np.stack(np.meshgrid(*(nodes * scale), indexing="ij"), axis=-1))

    triangle = [2.0 * (1.0 - nodes[j] / lengths[j]) for j in range(d)]  # the law of |x − y|, both uniform
    shape = triangle[0]
    for more in triangle[1:]:
        shape = np.multiply.outer(shape, more)
    half = along(0.5)
    return float(np.sum(total * shape * along(FILLED))), float(np.sum(total * half**2)), float(np.sum(total * half))
