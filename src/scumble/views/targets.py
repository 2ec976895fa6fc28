"""What a fit is to meet: the noisy views as matrices over all groups of all columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scumble.views.evidence import Evidence

Numbers = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Targets:
    """Noisy shares, and how sure they are.

    Attributes
    ----------
    starts : ndarray of int
        Where each column's groups begin in the stack.
    pairs, pair_precision : ndarray of float32
        (S, S): noisy shares and inverse variances, symmetric; precision 0 where nothing was measured.
    singles, single_precision : ndarray of float32
        (S,): the same of the columns alone.
    cells : int
        How many cells were measured.
    """

    starts: npt.NDArray[np.int64]
    pairs: Numbers
    pair_precision: Numbers
    singles: Numbers
    single_precision: Numbers
    cells: int

    @classmethod
    def of(cls, evidence: Evidence) -> Targets:
        """Shares of the number of records, and the inverse variances of those."""
        ends = np.cumsum(evidence.sizes, dtype=np.int64)
        starts = ends - np.array(evidence.sizes)
        total, count = int(ends[-1]), evidence.count
        pairs, pair_precision = np.zeros((2, total, total))
        singles, single_precision = np.zeros((2, total))
        cells = 0
        for view in evidence.views:
            variance = max(view.variance, 1e-6) / count**2
            if len(view.columns) == 1:
                (j,) = view.columns
                at = slice(starts[j], ends[j])
                singles[at] = np.bincount(evidence.groups[j], view.counts) / count
                single_precision[at] = 1 / (variance * np.bincount(evidence.groups[j]))
                cells += evidence.sizes[j]
            elif len(view.columns) == 2:
                one, two = (slice(starts[c], ends[c]) for c in view.columns)
                pairs[one, two], pairs[two, one] = view.counts / count, view.counts.T / count
                pair_precision[one, two] = pair_precision[two, one] = 1 / variance
                cells += view.counts.size
        y, p, y1, p1 = (x.astype(np.float32) for x in (pairs, pair_precision, singles, single_precision))
        return cls(starts, y, p, y1, p1, cells)

    @cached_property
    def column_of(self) -> npt.NDArray[np.int64]:
        """The column of each group."""
        sizes = np.diff(self.starts, append=len(self.singles))
        return np.repeat(np.arange(len(sizes)), sizes)
