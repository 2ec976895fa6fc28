"""From one value a row to an estimate and its spread."""

from __future__ import annotations

import numpy as np


class RowMoments:
    """The mean over rows, and the variance of that mean from the spread of blocks of rows.

    Parameters
    ----------
    blocks : for each row, the number of its block, ascending; see :meth:`scumble.design.Design.blocks`.
    groups : None for the mean, or into how many groups of rows to go for the median of means (Alon, Matias & Szegedy
        1999; the paper's Lemma 2), which bounds the influence of a few rows with large counters.
    """

    def __init__(self, blocks: np.ndarray, groups: int | None = None) -> None:
        rows = len(blocks)
        self.starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        self.weights = np.diff(self.starts, append=rows) / rows
        self.degrees = float(max(len(self.starts) - 1, 1))
        self.groups = None if groups is None else np.arange(min(groups, rows)) * rows // min(groups, rows)

    def __call__(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate and variance of (rows, n) values, one of each a query."""
        rows = len(values)
        sums = np.add.reduceat(values, self.starts, axis=0)
        mean = sums.sum(axis=0) / rows
        means = sums / (self.weights * rows)[:, None]
        count = len(self.starts)
        if count > 1:
            spread = np.einsum("g,gn->n", self.weights**2, (means - mean) ** 2) * count / (count - 1)
        else:
            # A single row: its variance is at most (Σ √k)² (the paper's Theorem 2), of the order of the value squared.
            spread = mean**2
        if self.groups is not None:
            size = np.diff(self.groups, append=rows)
            mean = np.median(np.add.reduceat(values, self.groups, axis=0) / size[:, None], axis=0)
            spread = spread * np.pi / 2  # the median's variance for near-normal means
        return mean, spread
