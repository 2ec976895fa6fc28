"""Evenly spaced points on a public interval, for the methods that work in one dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import fftconvolve

from benchmarks.paper.functions.box import sides
from benchmarks.paper.functions.method import Bounds
from benchmarks.paper.sums import of_distance
from scumble import EuclideanKernel


@dataclass(frozen=True)
class Line:
    """`nodes` points from the low to the high bound, both included."""

    bounds: Bounds
    nodes: int

    @property
    def step(self) -> float:
        low, high = sides(self.bounds, 1)
        return float((high - low)[0]) / (self.nodes - 1)

    def place(self, X: np.ndarray) -> np.ndarray:
        """Where records lie, in steps from the first node; those outside the bounds, at their ends."""
        low, _ = sides(self.bounds, 1)
        return np.clip((X[:, 0] - low[0]) / self.step, 0.0, self.nodes - 1.0)

    def shares(self, X: np.ndarray) -> np.ndarray:
        """Records at the nodes: each adds 1, divided between its two neighbors."""
        place = self.place(X)
        node = np.minimum(place.astype(np.int64), self.nodes - 2)
        part = place - node
        return np.bincount(node, 1.0 - part, self.nodes) + np.bincount(node + 1, part, self.nodes)

    def sums(self, kernel: EuclideanKernel, shares: np.ndarray) -> np.ndarray:
        """The kernel sums at the nodes."""
        profile = of_distance(kernel, np.abs(np.arange(1 - self.nodes, self.nodes)) * self.step)
        return fftconvolve(shares, profile)[self.nodes - 1 : 2 * self.nodes - 1]

    def bumps(self, kernel: EuclideanKernel, which: np.ndarray) -> np.ndarray:
        """One record's kernel values at all nodes, for a record at each of the nodes `which`."""
        profile = of_distance(kernel, np.arange(self.nodes) * self.step)
        return profile[np.abs(np.arange(self.nodes) - which[:, None])]

    def read(self, values: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Values at the nodes, interpolated at the places of X."""
        return np.interp(self.place(X), np.arange(self.nodes), values)
