"""From sums over rows to an estimate and its spread."""

from __future__ import annotations

import numpy as np


class RowMoments:
    """The mean over rows, and the variance of that mean from the spread of blocks of rows.

    Rows are added up by `lines`, runs of rows that belong together in every respect. What a row says is
    (counter − shift) · gain.

    Parameters
    ----------
    blocks : numpy.ndarray
        For each row, the number of its block, ascending; see :meth:`scumble.design.Design.blocks`.
    shift : numpy.ndarray
        What to take off each row's counters.
    gain : float
        What to multiply the rest by.
    groups : int or None
        None for the mean, or into how many groups of rows to go for the median of means (Alon, Matias & Szegedy 1999;
        the paper's Lemma 2), which bounds the influence of a few rows with large counters.
    """

    def __init__(self, blocks: np.ndarray, shift: np.ndarray, gain: float, groups: int | None = None) -> None:
        rows = len(blocks)
        block_starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        group_starts = np.arange(min(groups or 1, rows)) * rows // min(groups or 1, rows)
        self.starts = np.array(sorted({*block_starts.tolist(), *group_starts.tolist()}), dtype=np.intp)
        self.lines = np.searchsorted(self.starts, np.arange(rows), side="right") - 1
        self.shift = np.add.reduceat(shift, self.starts)[:, None]
        self.average = np.full(len(self.starts), gain / rows)
        self.blocks = np.searchsorted(self.starts, block_starts)
        sizes, count = np.diff(block_starts, append=rows), len(block_starts)
        self.average_of_blocks = (gain / sizes)[:, None]
        self.squares = (sizes / rows) ** 2 * (count / max(count - 1, 1))
        self.degrees = float(max(count - 1, 1))
        self.groups = None if groups is None else np.searchsorted(self.starts, group_starts)
        self.average_of_groups = (gain / np.diff(group_starts, append=rows))[:, None]

    def __call__(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate and variance of (lines, n) sums of counters over the rows of each line, one of each a query."""
        sums = sums - self.shift
        mean = self.average @ sums
        if len(self.blocks) > 1:
            apart = np.add.reduceat(sums, self.blocks, axis=0) if len(self.blocks) < len(sums) else sums
            apart = apart * self.average_of_blocks
            apart -= mean
            apart *= apart
            spread = self.squares @ apart
        else:
            # A single row: its variance is at most (Σ √k)² (the paper's Theorem 2), of the order of the value squared.
            spread = mean**2
        if self.groups is not None:
            mean = np.median(np.add.reduceat(sums, self.groups, axis=0) * self.average_of_groups, axis=0)
            spread = spread * np.pi / 2  # the median's variance for near-normal means
        return mean, spread
