"""All hash functions of a sketch as plain arrays: what the engines compute with.

From codes to buckets. A row has one code for each hash of each factor of its kernel: whole numbers v₁ … v_p. They
become one of W buckets by a strongly universal hash of the row's own, multilinear multiply-shift
(Dietzfelbinger 1996; Lemire & Kaser 2014):

    h = ((m₀ + Σ mⱼ vⱼ) mod 2⁶⁴) >> 32,      bucket = (h · W) >> 32,

with random 64-bit m. Two unequal code vectors meet with probability 1/W, to within W/2⁶⁴: that is what the estimate
undoes. A weaker mixing would leave an error that does not fall with the number of rows.

Codes are 32-bit words. A code beyond them (a huge value, the hash of a category) is mixed down to 32 bits first, so
that two of those meet with probability 2⁻³² more.

Where all codes of a row fit into W buckets (angular kernels), they are numbered instead: no rehash, no bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from math import prod

import numpy as np

from scumble.kernels import AngularKernel, ColumnKernel, FoldedKernel, HammingKernel, JaccardKernel, Kernel
from scumble.kernels.design import Design
from scumble.kernels.projection import ProjectionKernel


class Hasher:
    """The R hash functions of a sketch, made from kernel, design, seed and the columns' names."""

    @np.errstate(all="ignore")
    def __init__(
        self, kernel: Kernel, design: Design, *, buckets: int, width: int, names: Sequence[str] | None = None
    ) -> None:
        self.rows, self.buckets = design.rows, buckets
        self.factors = kernel.factors
        self.families = tuple(family(factor) for factor in self.factors)
        self.which = [factor.which(width, names) for factor in self.factors]
        draws = design.draws()
        # Arrays of one kind, whatever the kernel and the number of rows: compiled loops tell others apart.
        self.parameters = [
            np.require(factor.draw(draws, which, names), requirements=("C", "W"))
            for factor, which in zip(self.factors, self.which, strict=True)
        ]
        self.block = draws.block
        hashes = [parameters.shape[1] for parameters in self.parameters]
        radices = [factor.radix for factor, n in zip(self.factors, hashes, strict=True) for _ in range(n)]
        self.used = prod(radix or buckets + 1 for radix in radices)
        self.direct = self.used <= buckets
        if self.direct:
            strides = np.cumprod([1, *radices[:-1]]).astype(np.uint64)
            self.start = np.zeros(self.rows, np.uint64)
            self.multipliers = np.tile(strides, (self.rows, 1))
        else:
            words = design.rehash_coefficients(1 + sum(hashes))
            self.start, self.multipliers = words[:, 0].copy(), words[:, 1:].copy()
        first = np.cumsum([0, *hashes])
        self.slices = [slice(int(a), int(b)) for a, b in pairwise(first)]

    def some(self, rows: slice) -> Hasher:
        """The hash functions of a run of the rows, as if there were no others."""
        found = copy(self)
        for kept in ("_on_device", "_shape", "_batch"):  # what an engine has made of all rows
            found.__dict__.pop(kept, None)
        found.parameters = [np.ascontiguousarray(parameters[rows]) for parameters in self.parameters]
        found.start, found.multipliers = self.start[rows].copy(), self.multipliers[rows].copy()
        found.rows = len(found.start)
        return found

    def __repr__(self) -> str:
        return f"<{self.rows} hash functions into {self.buckets} buckets>"


def whole(values: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Numbers as int64 where they are `good`, that is whole and small enough; zero elsewhere."""
    return np.where(good, values, 0.0).astype(np.int64)


def to_words(codes: np.ndarray) -> np.ndarray:
    """Codes to 32-bit words, held as signed 64-bit numbers: small codes as they are, others mixed down."""
    small = np.abs(codes) < 2147483648.0
    if small.all():
        return whole(codes, small)
    bits = np.where(np.isfinite(codes), codes, np.inf).view(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    words = (mixed >> np.uint64(32)).astype(np.int64) - 2147483648
    return np.where(small, whole(codes, small), words)


FAMILIES: dict[type, str] = {
    ProjectionKernel: "floor",  # ⌊b + Σ aⱼ xⱼ⌋
    AngularKernel: "sign",  # [Σ aⱼ xⱼ ≥ 0]
    FoldedKernel: "folded",  # several signs, up to a common one
    ColumnKernel: "column",  # steps of one column
    HammingKernel: "pick",  # one column as it is
    JaccardKernel: "minimum",  # the first token in a random order
}
PYTHON = "python"


def family(kernel: Kernel) -> str:
    """The family of a kernel that is no product.

    >>> from scumble.kernels import EuclideanKernel
    >>> family(EuclideanKernel(1.0))
    'floor'
    """
    for ancestor in type(kernel).__mro__:
        if ancestor in FAMILIES:
            return FAMILIES[ancestor]
        if "code" in vars(ancestor):
            break
    return PYTHON
