"""The sets on which densities are released: records, held-out queries, public bounds and the exact answers.

The four sets of the paper with its bandwidths, and 2,000 queries held out. Bounds are public: what a salary or a color
can be; for codrna, whose columns are standardized, five standard deviations either way (a few records lie beyond, and
count at the edge). ``hills-1d`` and ``hills-3d`` are synthetic, small, and need no files: for quick runs and tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.paper.data import load
from benchmarks.paper.sums import distinct, kernel_sums
from scumble import EuclideanKernel

PAPER = ("nyc", "sf", "skin", "codrna")
QUICK = ("hills-1d", "hills-3d")
SIZES = {
    "nyc": (15_125, 1),
    "sf": (28_347, 1),
    "skin": (243_057, 3),
    "codrna": (57_535, 8),
    "hills-1d": (4_000, 1),
    "hills-3d": (4_000, 3),
}
"""Records and columns, known before a file is opened."""
PILOTS = 500
QUERIES = 2000
BOUNDS = {"nyc": (0.0, 250_000.0), "sf": (0.0, 400_000.0), "skin": (0.0, 255.0), "codrna": None}
"""Public: what a salary or a color can be."""
BANDWIDTH = {"nyc": 5000.0, "sf": 5000.0, "skin": 5.0, "codrna": 0.5}


def records(name: str) -> np.ndarray:
    frame = load(name)
    if name in ("nyc", "sf"):
        return frame[["salary"]].to_numpy(np.float64)
    if name == "skin":
        return frame[["B", "G", "R"]].to_numpy(np.float64)
    X = frame[[f"f{i}" for i in range(1, 9)]].to_numpy(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def split(name: str, queries: int = QUERIES) -> tuple[np.ndarray, np.ndarray]:
    """Records to sketch, and held-out queries."""
    X = records(name)
    order = np.random.default_rng(20201116).permutation(len(X))
    return np.ascontiguousarray(X[order[queries:]]), X[order[:queries]]


@dataclass(frozen=True, eq=False)
class DensitySet:
    """`pilots` are some of the records themselves: rivals' parameters are chosen on them, never on the queries."""

    name: str
    X: np.ndarray
    Q: np.ndarray
    kernel: EuclideanKernel
    bounds: tuple[float, float]

    @property
    def pilots(self) -> np.ndarray:
        return self.X[:PILOTS]


@lru_cache(maxsize=2)
def density_set(name: str) -> DensitySet:
    if name in QUICK:
        return _hills(name, 1 if name == "hills-1d" else 3)
    X, Q = split(name)
    bounds = BOUNDS[name] or (-5.0, 5.0)
    return DensitySet(name, X, Q, EuclideanKernel(BANDWIDTH[name]), bounds)


def _hills(name: str, d: int) -> DensitySet:
    """Three round hills and a spike."""
    rng = np.random.default_rng(20201116)
    centers, widths = np.array([20.0, 45.0, 70.0, 33.0]), np.array([4.0, 8.0, 3.0, 0.0])
    which = rng.choice(4, 4400, p=[0.3, 0.4, 0.2, 0.1])
    points = centers[which, None] + widths[which, None] * rng.normal(size=(len(which), d))
    X = np.clip(points, 0.0, 100.0)
    return DensitySet(name, X[400:], X[:400], EuclideanKernel(5.0), (0.0, 100.0))


@lru_cache(maxsize=16)
def truth(name: str, kernel: Any, pilots: bool = False) -> np.ndarray:
    """The exact densities at the queries, or at the pilots."""
    data = density_set(name)
    records, weights = distinct(data.X)
    return kernel_sums(kernel, records, data.pilots if pilots else data.Q, weights) / len(data.X)
