"""The folded kernel: sides of random hyperplanes, the same for a record and its mirror image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble.checks import whole
from scumble.kernels.angular import AngularKernel
from scumble.kernels.base import Columns, Kernel, Records, Scale

if TYPE_CHECKING:
    from scumble.design import Draws


class FoldedKernel(Kernel):
    """Near means a small angle up to sign: x and −x are one. The kernel behind private regression.

    The paper's regression inserts z and −z into a table of 2ᵐ counters. The code of −z is the complement of that of
    z, so the table can be folded instead: with m signs sᵢ = sign(aᵢ·z), a record is counted under the m − 1 bits
    [sᵢ ≠ sₘ], which −z shares. One increment per record, half the counters, half the sensitivity. At an angle θ, with
    τ = θ/π, two records meet if no hyperplane or every hyperplane separates them:

        k = (1 − τ)ᵐ + τᵐ.

    Parameters
    ----------
    projections : int
        m, the hyperplanes of one hash: 2 to 12.
    power : int
        How many such hashes are concatenated; the kernel becomes kᵖᵒʷᵉʳ.

    >>> FoldedKernel(projections=2)([[1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    array([[1. , 1. , 0.5]])
    """

    name = "folded"

    def __init__(self, projections: int = 2, power: int = 1, *, scale: Scale = None, columns: Columns = None) -> None:
        super().__init__(power=power, scale=scale, columns=columns)
        self.projections = whole("projections", projections, 2, 12)
        self.radix = 2 ** (self.projections - 1)  # type: ignore[misc]  # a fact of this one, not of all

    def settings(self) -> dict[str, Any]:
        return {"projections": self.projections}

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        return np.hstack([draws.normal(dimensions) for _ in range(self.projections)])

    def draw(self, draws: Draws, which: Sequence[int], names: Sequence[str] | None = None) -> np.ndarray:
        drawn = super().draw(draws, which)
        if self.scale is not None:
            drawn *= np.tile(self._inverse_scale(names, which), self.projections)
        return drawn

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        X = records.values
        rows, hashes, _ = parameters.shape
        directions = parameters.reshape(rows, hashes, self.projections, X.shape[1])
        t = np.zeros((len(X), rows, hashes, self.projections))
        for j in range(X.shape[1]):  # one column after the other: the same rounding as the compiled loop
            t += X[:, j, None, None, None] * directions[None, :, :, :, j]
        sides = t >= 0.0
        return (sides[..., :-1] != sides[..., -1:]) @ (2.0 ** np.arange(self.projections - 1))

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        apart = 1.0 - AngularKernel().collision(X, Y)
        return (1.0 - apart) ** self.projections + apart**self.projections
