"""From kernel sums and a count to densities, the same way for every rival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.paper.sums import kernel_sums


def density(sums: np.ndarray, count: float) -> np.ndarray:
    """A mean of kernel values lies in [0, 1]: cutting off the rest costs no privacy."""
    return np.clip(sums / count, 0.0, 1.0)


@dataclass(frozen=True)
class WeightedPoints:
    """Public points with private weights: the density at q is Σ wₘ k(zₘ, q) / N."""

    points: np.ndarray
    weights: np.ndarray
    kernel: Any
    count: float

    def __call__(self, Q: np.ndarray) -> np.ndarray:
        return density(kernel_sums(self.kernel, self.points, Q, self.weights), self.count)
