"""The Euclidean kernel: Gaussian projections cut into steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scumble.kernels.projection import ProjectionKernel
from scumble.kernels.steps import meeting

if TYPE_CHECKING:
    from scumble.design import Draws


class EuclideanKernel(ProjectionKernel):
    """Near means a small Euclidean distance.

    The hash projects the record on a Gaussian direction and cuts the line into steps of the bandwidth w,
    h(x) = ⌊(a·x + b)/w⌋ with a ~ N(0, I) and b ~ U[0, w). With c = ‖x − y‖ and t = w/c, two records meet with
    probability (Datar, Immorlica, Indyk & Mirrokni 2004, section 3.2)

        k = 1 − 2Φ(−t) − (2 / (√(2π) t)) (1 − exp(−t²/2)).

    Parameters
    ----------
    bandwidth : float
        Distance at which k has fallen to 0.37 (for power 1).
    power : int
        How many hashes are concatenated; the kernel becomes kᵖᵒʷᵉʳ.
    scale : float, sequence of float, mapping or None
        Public divisors of the columns: a number, one per column, or a mapping from names.
    columns : sequence of str, sequence of int or None
        The columns it reads, by name or position; None means all.

    >>> kernel = EuclideanKernel(bandwidth=1.0)
    >>> kernel([[0.0, 0.0]], [[0.0, 0.0], [0.6, 0.8]]).round(4)
    array([[1.    , 0.3687]])
    """

    name = "euclidean"

    def _direction(self, draws: Draws, dimensions: int) -> np.ndarray:
        return draws.normal(dimensions)

    def profile(self, differences: np.ndarray) -> np.ndarray:
        return self._of_distance(np.sqrt(np.sum(np.square(differences), axis=-1)))

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        from scipy.spatial.distance import cdist

        return self._of_distance(cdist(X, Y))

    def _of_distance(self, distance: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", over="ignore"):
            return meeting(self.bandwidth / distance)
