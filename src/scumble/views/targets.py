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

    The last row and column are those of one more group, which all records are in: the single columns. A column of no
    pair is not fitted, so nothing of it counts as measured.

    Attributes
    ----------
    sizes : ndarray of int
        How many groups each column has; one of the last.
    shares : ndarray of float32
        (S + 1, S + 1): noisy shares, symmetric.
    precision : ndarray of float32
        (S + 1, S + 1): twice their inverse variances over the number of measured cells; 0 where nothing was measured.
    """

    sizes: npt.NDArray[np.int64]
    shares: Numbers
    precision: Numbers

    @classmethod
    def of(cls, evidence: Evidence) -> Targets:
        """Shares of the number of records, and the inverse variances of those."""
        sizes = np.array([*evidence.sizes, 1])
        ends = np.cumsum(sizes)
        at = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        shares, precision = np.zeros((2, ends[-1], ends[-1]), np.float32)
        cells = sum(evidence.sizes[j] for j in evidence.tied)
        cells += sum(view.counts.size for view in evidence.views if len(view.columns) == 2)
        for view in evidence.views:
            variance = max(view.variance, 1e-6) / evidence.count**2 * cells / 2
            if len(view.columns) == 1:
                (j,) = view.columns
                one, two = at[j], at[-1]
                found = np.asarray(np.bincount(evidence.groups[j], view.counts)[:, None], float)
                sure = (j in evidence.tied) / (variance * np.bincount(evidence.groups[j])[:, None])
            elif len(view.columns) == 2:
                one, two = (at[j] for j in view.columns)
                found, sure = view.counts, np.array(1 / variance)
            else:
                continue
            shares[one, two], precision[one, two] = found / evidence.count, sure
            shares[two, one], precision[two, one] = shares[one, two].T, precision[one, two].T
        return cls(sizes, shares, precision)

    @property
    def singles(self) -> Numbers:
        """(S,): the noisy shares of the columns alone."""
        return self.shares[-1, :-1]

    @cached_property
    def column_of(self) -> npt.NDArray[np.int64]:
        """The column of each group."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def columns(self) -> Numbers:
        """(columns + 1, S + 1): one where a group is of a column. Times a matrix, the sums of each column's groups."""
        return np.eye(len(self.sizes), dtype=np.float32)[:, self.column_of]
