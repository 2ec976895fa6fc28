"""Below which score does a share of the private records fall? Two ways to find a threshold.

*Grids: from the release.* The cells are ranked by their kernel sums, the counters summed down the ranks.

*Hashed rows: one more sketch.* A score under a release is a public function of a record, to the last bit: it is made of
whole numbers, looked-up numbers, and sums in one order. So the private records' own scores are counted, in one row of
counters, of which each record touches one.
"""

from __future__ import annotations

import numpy as np

from scumble.density.draws import masses
from scumble.density.release import Release
from scumble.density.sketch import Sketch
from scumble.kernels import EuclideanKernel
from scumble.privacy.exact import Number

CELLS, FEWEST, MOST = 4.0, 16, 1024
"""Cells for each √(εN), and their bounds. With more noise adds up, with fewer the quantile is lost."""
DEVIATIONS = 4.0
"""Of the noise below zero, where the first cell begins."""
TILE = 1 << 16


def on_grid(release: Release, share: float) -> float:
    """From the counters of a grid, or of any layout that has places."""
    (sums, counts), total = release._reader().places(), release.divisor
    order = np.argsort(-sums, kind="stable")
    counts = counts[order]
    above = np.cumsum(counts - (counts.sum() - total) / len(counts))
    # Noise makes the sum cross its mark more than once: as many cells as lie below it, wherever they are.
    cells = int(np.sum(above < (1.0 - share) * total))
    return float(sums[order[min(cells, len(order) - 1)]])


def counted(scores: np.ndarray, low: float, high: float, epsilon: Number, total: float) -> Sketch:
    """A sketch of its own, to be released for `epsilon`: the private records, `total` or so, by their scores."""
    cells = int(np.clip(CELLS * np.sqrt(float(epsilon) * max(total, 1.0)), FEWEST, MOST))
    sketch = Sketch(EuclideanKernel(high - low), 1, buckets=cells, bounds=(low, high), design="grid")
    return sketch.update(scores[:, None])


def roots(release: Release, X: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The signed roots of the records' kernel sums under a release, and between what they are to be counted.

    Roots resolve sparse places and crowds alike.
    """
    reader, layout = release._reader(), release.spec.layout
    found = np.empty(len(X))
    for first in range(0, len(X), TILE):
        parts, _ = layout.read(X[first : first + TILE], invalid="error")
        found[first : first + TILE] = root(reader.lone_sums(parts))
    return found, float(root(-DEVIATIONS * reader.lone_deviation)), float(root(release.divisor))


def of_counted(scores: Release, total: float, share: float) -> float:
    """The score that `share` of the records are below, from what `counted` released; `total` is how many there are.

    The counters become masses as in :func:`scumble.learn.sample`; between edges records are taken to lie evenly.
    """
    edges = scores.spec.layout.edges()[0]
    mass = masses(scores.counts[0].astype(float), scores.counter_variance, max(total, 1.0))
    return float(np.interp(share * mass.sum(), np.append(0.0, np.cumsum(mass)), edges))


def root(sums: np.ndarray | float) -> np.ndarray:
    """The signed root: in the order of the kernel sums, also below zero.

    >>> root(np.array([-4.0, 9.0]))
    array([-2.,  3.])
    """
    return np.sign(sums) * np.sqrt(np.abs(sums))
