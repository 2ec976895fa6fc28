"""Below which kernel sum does a share of the private records fall? Three ways to tell, for thresholds.

**Grids: from the release.** The cells are ranked by their kernel sums, the counters summed down the ranks.

**Hashed rows: one more sketch.** Rows of hashes have no cells, and their counters do not show how a crowd is spread
within a bandwidth. But a score under a release is a public function of a record, so the records' own scores can be
counted like any other column: in one row of counters, of which each record touches one. It costs its own
budget, no more (sequential composition), and is itself a :class:`~scumble.Release`, so its claim and its noise are
those of any release.

*Cells.* Kernel sums are counted by their signed roots, from the noise's lowest to √N. Roots resolve sparse
places and crowds alike. With more cells noise adds up, with fewer the quantile gets lost: 4 √(εN) of them were near the
best on fourteen synthetic shapes of 2,000 to 250,000 records. The column consists of the rows' counters, added up in
whole numbers, and is a function of the record alone, to the last bit: no other record, by its mere presence, moves this
one across an edge.

*Reading.* The counters become masses as in :func:`scumble.learn.sample`, none negative, summing to the count; between
edges records are taken to lie evenly.

**Hashed rows: from the release.** Without the records all that is left is to draw records from the release and to take
their kernel sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scumble.kernels import EuclideanKernel
from scumble.learn.sampling import Sampler
from scumble.reading.masses import masses
from scumble.release import Release
from scumble.sketch import Sketch

CELLS, FEWEST, MOST = 4.0, 16, 1024
"""Cells for each √(εN), and their bounds."""
DEVIATIONS = 4.0
"""Of the noise below zero, where the first cell begins."""
TILE = 1 << 16
DRAWS = 10_000


def on_grid(release: Release, share: float) -> float:
    """From the counters of a grid, or of any layout that has places."""
    (sums, counts), total = release._reader().places(), release.divisor
    order = np.argsort(-sums, kind="stable")
    counts = counts[order]
    above = np.cumsum(counts - (counts.sum() - total) / len(counts))
    # Noise makes the sum cross its mark more than once: as many cells as lie below it, wherever they are.
    cells = int(np.sum(above < (1.0 - share) * total))
    return float(sums[order[min(cells, len(order) - 1)]])


def counted(scores: np.ndarray, low: float, high: float, epsilon: Any, total: float) -> Sketch:
    """A sketch of its own, to be released for `epsilon`: the private records, `total` or so, by their scores."""
    cells = int(np.clip(CELLS * np.sqrt(float(epsilon) * max(total, 1.0)), FEWEST, MOST))
    sketch = Sketch(EuclideanKernel(high - low), 1, buckets=cells, bounds=(low, high), design="grid")
    return sketch.update(scores[:, None])


def roots(release: Release, X: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The signed roots of the records' kernel sums under a release, and between what they are to be counted."""
    reader, layout = release._reader(), release.spec.layout
    found = np.empty(len(X))
    for first in range(0, len(X), TILE):
        parts, _ = layout.read(X[first : first + TILE], invalid="error")
        found[first : first + TILE] = root(reader.lone_sums(parts))
    return found, float(root(-DEVIATIONS * reader.lone_deviation)), float(root(release.divisor))


def of_counted(scores: Release, total: float, share: float) -> float:
    """The score that `share` of the records are below, from what `counted` released; `total` is how many there are."""
    edges = scores.spec.layout.edges()[0]
    mass = masses(scores.counts[0].astype(float), scores.counter_variance, max(total, 1.0))
    return float(np.interp(share * mass.sum(), np.append(0.0, np.cumsum(mass)), edges))


def drawn(release: Release, *, bounds: Any, seed: int) -> np.ndarray:
    """Records drawn from a release of hashed rows: where there are no others, their scores must do."""
    return Sampler(release, np.random.default_rng(seed), bounds=bounds).draw(DRAWS)


def root(sums: Any) -> np.ndarray:
    """The signed root: in the order of the kernel sums, also below zero.

    >>> root(np.array([-4.0, 9.0]))
    array([-2.,  3.])
    """
    return np.sign(sums) * np.sqrt(np.abs(sums))
