"""What the Euclidean and the Manhattan kernel share: project on a random direction, cut into steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble.kernels.base import Columns, Kernel, Records, Scale, bandwidth_of

if TYPE_CHECKING:
    from scumble.design import Draws


class ProjectionKernel(Kernel):
    """h(x) = ⌊(a·x + b)/w⌋: near records share a step of the line. The law of a decides the distance."""

    stationary = True

    def __init__(self, bandwidth: float = 1.0, power: int = 1, *, scale: Scale = None, columns: Columns = None) -> None:
        super().__init__(power=power, scale=scale, columns=columns)
        self.bandwidth = bandwidth_of(bandwidth)

    def settings(self) -> dict[str, Any]:
        return {"bandwidth": self.bandwidth}

    @abstractmethod
    def _direction(self, draws: Draws, dimensions: int) -> np.ndarray:
        """(rows, dimensions): one random direction per row."""

    @abstractmethod
    def profile(self, differences: np.ndarray) -> np.ndarray:
        """The collision probability of one hash as a function of x − y, for scaled columns (last axis)."""

    def _inverse_scale(self, names: Sequence[str] | None, which: Sequence[int]) -> np.ndarray:
        return super()._inverse_scale(names, which) / self.bandwidth

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        # The offset comes first: the early coordinates of a Sobol set are the best spread.
        offset = draws.uniform(1)
        return np.hstack([offset, self._direction(draws, dimensions)])

    def draw(self, draws: Draws, which: Sequence[int], names: Sequence[str] | None = None) -> np.ndarray:
        """Offset, then direction. Scale and bandwidth go into the direction, so records stay as they are."""
        parameters = super().draw(draws, which)
        parameters[:, :, 1:] *= self._inverse_scale(names, which)
        return parameters

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        X = records.values
        t = np.broadcast_to(parameters[None, :, :, 0], (len(X), *parameters.shape[:2])).copy()
        for j in range(X.shape[1]):  # one column after the other: the same rounding as the compiled loop
            t += X[:, j, None, None] * parameters[None, :, :, 1 + j]
        return np.floor(t)
