"""What a fit is to meet: the noisy views as matrices over all groups of the columns that were measured with others.

Of a wide table few pairs are measured, and most of such a matrix is empty. So it is cut into rows of blocks, each of
which knows the groups beside it that it has to do with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scumble.views.evidence import Evidence

Numbers = npt.NDArray[np.float32]
Groups = slice | npt.NDArray[np.int64]

BLOCK, SPARSE_BLOCK = 200, 48
"""Rows of the matrix at a time: where most of it was measured, and where not."""
DENSE = 0.25
"""The part of it that was measured, from where on nothing is left out."""


class Block(NamedTuple):
    """Some rows, and the columns in which something was measured beside them."""

    rows: slice
    beside: Groups
    """The rows' own groups, and then those to the right of them."""
    others: Groups
    """The latter."""
    shares: Numbers
    precision: Numbers


@dataclass(frozen=True)
class Targets:
    """Noisy shares, and how sure they are.

    The last row and column are those of one more group, which all records are in: the single columns. A column of no
    pair is not fitted, and is not in it.

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
        tied = sorted(evidence.tied)
        sizes = np.array([*(evidence.sizes[j] for j in tied), 1])
        ends = np.cumsum(sizes)
        at = {j: slice(end - size, end) for j, size, end in zip((*tied, -1), sizes, ends, strict=True)}
        shares, precision = np.zeros((2, ends[-1], ends[-1]), np.float32)
        cells = sum(evidence.sizes[j] for j in evidence.tied)
        cells += sum(view.counts.size for view in evidence.views if len(view.columns) == 2)
        for view in evidence.views:
            variance = max(view.variance, 1e-6) / evidence.count**2 * cells / 2
            if len(view.columns) == 1:
                (j,) = view.columns
                if j not in at:
                    continue
                one, two = at[j], at[-1]
                found = np.asarray(np.bincount(evidence.groups[j], view.counts)[:, None], float)
                sure = 1 / (variance * np.bincount(evidence.groups[j])[:, None])
            elif len(view.columns) == 2:
                one, two = (at[j] for j in view.columns)
                found, sure = view.counts, np.array(1 / variance)
            else:
                continue
            shares[one, two], precision[one, two] = found / evidence.count, sure
            shares[two, one], precision[two, one] = shares[one, two].T, precision[one, two].T
        return cls(sizes, shares, precision)

    @cached_property
    def blocks(self) -> list[Block]:
        """All that was measured, on the diagonal and to the right of it."""
        size, measured = len(self.shares), self.precision > 0
        dense = np.count_nonzero(measured) > DENSE * measured.size
        rows = BLOCK if dense else SPARSE_BLOCK
        found = []
        for first in range(0, size, rows):
            last = min(first + rows, size)
            others: Groups = last + np.flatnonzero(measured[first:last, last:].any(axis=0))
            beside: Groups = np.concatenate([np.arange(first, last), others])
            if dense:
                beside, others = slice(first, size), slice(last, size)
            shares, precision = (
                np.ascontiguousarray(part[first:last, beside]) for part in (self.shares, self.precision)
            )
            found.append(Block(slice(first, last), beside, others, shares, precision))
        return found

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
