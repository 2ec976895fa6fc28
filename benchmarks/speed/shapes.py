"""The tables that are counted: the paper's shapes, and large ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import scumble
from scumble.counting import Hasher
from scumble.kernels import Kernel
from scumble.kernels.design import Design

BUCKETS = 1024


@dataclass(frozen=True)
class Shape:
    """A table to be counted, and the kernel to count it with."""

    name: str
    records: int
    columns: int
    angular: bool = False

    def kernel(self, power: int) -> Kernel:
        # A hash of the Euclidean kernel cuts standard normal columns into some ten steps.
        return scumble.AngularKernel(power=power) if self.angular else scumble.EuclideanKernel(1.0, power=power)

    def values(self, records: int | None = None) -> np.ndarray:
        """Standard normal columns, stretched so that records lie a few bandwidths apart whatever their number."""
        rng = np.random.default_rng(self.columns)
        X = rng.standard_normal((records or self.records, self.columns))
        return X if self.angular else X * (1.5 / np.sqrt(self.columns))

    def hasher(self, rows: int, power: int) -> Hasher:
        return Hasher(self.kernel(power), Design("iid", 7, rows), buckets=BUCKETS, width=self.columns)


SHAPES = (
    Shape("1-d", 25_000, 1),
    Shape("skin-like", 241_000, 3),
    Shape("codrna-like", 57_000, 8),
    Shape("nomao-like", 34_000, 26),
    Shape("gas-like", 100_000, 128),
    Shape("large", 10_000_000, 8),
    Shape("embeddings", 1_000_000, 384, angular=True),
)
