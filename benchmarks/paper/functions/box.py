"""The public box that the rivals need, as the unit cube; records beyond it count on its surface."""

from __future__ import annotations

import numpy as np

from benchmarks.paper.functions.method import Bounds


def sides(bounds: Bounds, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Low and high ends, one per column."""
    if bounds is None:
        raise ValueError("This method needs public bounds.")
    low, high = (np.broadcast_to(np.asarray(side, np.float64), (d,)) for side in bounds)
    return low, high


def to_unit(X: np.ndarray, bounds: Bounds) -> np.ndarray:
    """The box to [0, 1]ᵈ."""
    low, high = sides(bounds, X.shape[1])
    return np.clip((X - low) / (high - low), 0.0, 1.0)


def from_unit(U: np.ndarray, bounds: Bounds) -> np.ndarray:
    """[0, 1]ᵈ to the box."""
    low, high = sides(bounds, U.shape[1])
    return low + U * (high - low)


def lattice(axis: np.ndarray, d: int) -> np.ndarray:
    """All points of axisᵈ, the last column fastest."""
    return np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
