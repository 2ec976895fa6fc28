"""Tables of RACE counters with every choice open: how rows are drawn, how codes become buckets.

`modulo` is the code modulo W, which leaves codes as they are while their range fits into W; several codes are summed
with the multipliers 1, 31, 961, … first, the same for all rows: a weak hash. `universal` is scumble's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scumble import EuclideanKernel
from scumble.counting import Hasher, cpu
from scumble.kernels import Records
from scumble.kernels.design import Design


class Table(NamedTuple):
    """Counters, R rows of W, and the hash functions that lead to them."""

    hasher: Hasher
    counts: np.ndarray

    def read(self, Q: np.ndarray) -> np.ndarray:
        """(R, n): the counter of each row for each query."""
        return cpu.sums(self.hasher, [Records(np.ascontiguousarray(Q))], self.counts)


def exact_table(
    X: np.ndarray,
    kernel: EuclideanKernel,
    rows: int,
    buckets: int,
    seed: int,
    *,
    design: str = "iid",
    rehash: str = "modulo",
) -> Table:
    """Count the records: plain RACE."""
    hasher = Hasher(kernel, Design(design, seed, rows), buckets=buckets, width=X.shape[1])
    if rehash == "modulo":
        if buckets & (buckets - 1):
            raise ValueError("A modulo by multiply-shift needs a power of two.")
        hasher.start = np.zeros_like(hasher.start)
        codes = np.array([31**j % buckets for j in range(hasher.multipliers.shape[1])], np.uint64)
        hasher.multipliers = np.tile(codes * np.uint64(2**64 // buckets), (rows, 1))
    counts = np.zeros((rows, buckets), np.int64)
    cpu.count(hasher, [Records(np.ascontiguousarray(X))], counts, None)
    return Table(hasher, counts)
