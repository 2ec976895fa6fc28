"""From sums over rows to an estimate and its spread."""

from __future__ import annotations

import numpy as np


class RowMoments:
    """The mean over rows, and the variance of that mean from the spread of blocks of rows.

    Rows are added up by `lines`, runs of rows that belong together in every respect.

    Parameters
    ----------
    blocks : for each row, the number of its block, ascending; see :meth:`scumble.design.Design.blocks`.
    groups : None for the mean, or into how many groups of rows to go for the median of means (Alon, Matias & Szegedy
        1999; the paper's Lemma 2), which bounds the influence of a few rows with large counters.
    """

    def __init__(self, blocks: np.ndarray, groups: int | None = None) -> None:
        self.rows = rows = len(blocks)
        block_starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        group_starts = np.arange(min(groups or 1, rows)) * rows // min(groups or 1, rows)
        self.starts = np.union1d(block_starts, group_starts)
        self.lines = np.searchsorted(self.starts, np.arange(rows), side="right") - 1
        self.blocks = np.searchsorted(self.starts, block_starts)
        self.weights = np.diff(block_starts, append=rows) / rows
        self.squares = self.weights**2
        self.sizes_of_blocks = (self.weights * rows)[:, None]
        self.degrees = float(max(len(block_starts) - 1, 1))
        self.groups = None if groups is None else np.searchsorted(self.starts, group_starts)
        self.sizes = np.diff(group_starts, append=rows)

    def __call__(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate and variance of (lines, n) sums over the rows of each line, one of each a query."""
        by_block = np.add.reduceat(sums, self.blocks, axis=0) if len(self.blocks) < len(sums) else sums
        mean = np.add.reduce(by_block, axis=0) / self.rows
        count = len(self.blocks)
        if count > 1:
            apart = by_block / self.sizes_of_blocks
            apart -= mean
            apart *= apart
            spread = self.squares @ apart * (count / (count - 1))
        else:
            # A single row: its variance is at most (Σ √k)² (the paper's Theorem 2), of the order of the value squared.
            spread = mean**2
        if self.groups is not None:
            mean = np.median(np.add.reduceat(sums, self.groups, axis=0) / self.sizes[:, None], axis=0)
            spread = spread * np.pi / 2  # the median's variance for near-normal means
        return mean, spread
