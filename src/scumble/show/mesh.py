"""Where a density is looked at for a picture: on a mesh as fine as the release's cells, and on the peaks between.

A mesh that is coarser than the kernel steps over peaks, and the scale of colours would end far below them. So each
point of the mesh that is higher than those around it stands for the highest place between them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

FINER = 3
"""So many times as fine as was asked for a mesh is at most."""
PEAKS = 32
"""So many of the highest are looked at closely."""
WITHIN = 9
"""Points along each side of the square around a peak, from its one neighbour to the other."""


def axis(view: Any, name: str, points: int) -> np.ndarray:
    """Points along a column: at least so many, and one for each cell of a grid if `FINER` times as many suffice."""
    release = view.release
    shape = getattr(getattr(release, "spec", None), "shape", None)
    if shape is None or release.bounds is None:
        return np.asarray(view.axis(name, points))
    column = view.names.index(name)
    low, high = (float(side[column]) for side in release.bounds)
    start, end = view.ranges[name]
    cells = math.ceil(min(shape[column] * (end - start) / (high - low), FINER * points))
    return np.asarray(view.axis(name, max(points, cells)))


def surface(view: Any, first: str, second: str, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The points along two columns, and the density and its standard error on the mesh, peaks and all."""
    x, y = axis(view, first, points), axis(view, second, points)
    values, error = _looked(view, {first: np.tile(x, len(y)), second: np.repeat(y, len(x))})
    values, error = values.reshape(len(y), len(x)), error.reshape(len(y), len(x))
    rows, columns = _peaks(values)
    if not len(rows):
        return x, y, values, error
    steps = np.linspace(-1.0, 1.0, WITHIN)
    across = _around(x, columns, steps)[:, None, :].repeat(WITHIN, axis=1).reshape(len(rows), -1)
    up = _around(y, rows, steps)[:, :, None].repeat(WITHIN, axis=2).reshape(len(rows), -1)
    density = view.release.density(view.table({first: across.ravel(), second: up.ravel()}), shrink=False).reshape(
        across.shape
    )
    highest = np.arange(len(rows)), density.argmax(axis=1)
    values[rows, columns], error[rows, columns] = _looked(view, {first: across[highest], second: up[highest]})
    return x, y, values, error


def _looked(view: Any, places: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    table = view.table(places)
    return view.release.density(table, shrink=False), view.release.standard_error(table) / view.release.divisor


def _peaks(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the highest points that are higher than nothing and as high as all around them.

    >>> _peaks(np.array([[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0]]))
    (array([0, 0]), array([3, 1]))
    """
    around = sliding_window_view(np.pad(values, 1), (3, 3)).max(axis=(2, 3))
    rows, columns = np.nonzero((values >= around) & (values > 0.0))
    highest = np.argsort(-values[rows, columns], kind="stable")[:PEAKS]
    return rows[highest], columns[highest]


def _around(line: np.ndarray, places: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """From one neighbour of each place on a line to the other, within its ends."""
    return np.asarray(np.clip(line[places][:, None] + steps * (line[1] - line[0]), line[0], line[-1]))
