"""The Hamming kernel: one column at random, for categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scumble.errors import parameter
from scumble.kernels.base import Columns, Kernel, Records

if TYPE_CHECKING:
    from scumble.kernels.design import Draws


class HammingKernel(Kernel):
    """Near means equal in many columns: the kernel for categories.

    The hash picks one column at random and reads it, so k is the share of equal columns (Indyk & Motwani 1998).
    Values of any type are read as stable 53-bit hashes: no vocabulary has to be learnt from the data.

    >>> HammingKernel()([["red", "car"]], [["red", "car"], ["red", "bus"]])
    array([[1. , 0.5]])
    """

    name = "hamming"
    reads = "category"

    def __init__(self, power: int = 1, *, columns: Columns = None, scale: None = None) -> None:
        if scale is not None:
            raise parameter("scale", "left out: categories have no scale", scale)
        super().__init__(power=power, columns=columns)

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        return np.minimum(np.floor(draws.uniform(1) * dimensions), dimensions - 1)

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        return records.values[:, parameters[:, :, 0].astype(np.intp)]

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        equal = np.zeros((len(X), len(Y)))
        for j in range(X.shape[1]):
            equal += X[:, j, None] == Y[None, :, j]
        return equal / X.shape[1]
