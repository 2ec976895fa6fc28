"""From one value a row to an estimate and its spread."""

from __future__ import annotations

import numpy as np


class RowMoments:
    """The mean over rows, and the variance of that mean from independent replicates of rows.

    Independent rows are their own replicates. Sobol rows are not independent: their spread overstates the error of the
    mean. They come in replicates with independent scrambles, and the spread of the replicates' means is honest.

    Parameters
    ----------
    replicates : for each row, the number of its replicate, ascending.
    groups : None for the mean, or into how many groups of rows to go for the median of means (Alon, Matias & Szegedy
        1999; the paper's Lemma 2), which bounds the influence of a few rows with large counters.
    """

    def __init__(self, replicates: np.ndarray, groups: int | None = None) -> None:
        rows = len(replicates)
        if replicates[-1] == 0:
            # One replicate cannot show a spread: rows stand in for replicates, and err on the wide side.
            replicates = np.arange(rows)
        self.starts = np.flatnonzero(np.diff(replicates, prepend=-1))
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
