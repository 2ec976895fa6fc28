"""The Manhattan kernel: Cauchy projections cut into steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scumble.kernels.projection import ProjectionKernel

if TYPE_CHECKING:
    from scumble.design import Draws


class ManhattanKernel(ProjectionKernel):
    """Near means a small Manhattan distance, the sum of the columns' differences.

    h(x) = ⌊(a·x + b)/w⌋ as in the Euclidean kernel, but with Cauchy numbers a, which are 1-stable. With
    c = ‖x − y‖₁ and t = w/c (Datar et al. 2004, section 3.2)

        k = (2/π) arctan(t) − ln(1 + t²) / (π t).

    Parameters: as for :class:`EuclideanKernel`.

    >>> ManhattanKernel(bandwidth=2.0)([[0.0, 0.0]], [[0.5, 0.5], [30.0, 1.0]]).round(4)
    array([[0.4487, 0.0205]])
    """

    name = "manhattan"

    def _direction(self, draws: Draws, dimensions: int) -> np.ndarray:
        return draws.cauchy(dimensions)

    def profile(self, differences: np.ndarray) -> np.ndarray:
        return self._of_distance(np.sum(np.abs(differences), axis=-1))

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        from scipy.spatial.distance import cdist

        return self._of_distance(cdist(X, Y, "cityblock"))

    def _of_distance(self, distance: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            t = self.bandwidth / distance
            # ln(1 + t²) = 2 ln √(1 + t²), which cannot overflow; for small t the direct form is the exact one.
            log = np.where(t < 1.0, np.log1p(np.square(np.minimum(t, 1.0))), 2.0 * np.log(np.hypot(1.0, t)))
            k = 2.0 / np.pi * np.arctan(t) - log / (np.pi * t)
        return np.where(distance == 0.0, 1.0, np.where(t == 0.0, 0.0, k))
