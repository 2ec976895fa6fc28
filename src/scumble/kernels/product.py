"""Products of kernels, each over its own columns: for mixed tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble.errors import parameter
from scumble.kernels.base import Kernel
from scumble.tables import Table

if TYPE_CHECKING:
    from scumble.design import Draws


class ProductKernel(Kernel):
    """The product of kernels: the hash codes are concatenated, so the collision probabilities multiply.

    Written ``k1 * k2``. Give each factor its columns; a factor without them reads all.

    >>> from scumble.kernels import EuclideanKernel, HammingKernel
    >>> near = EuclideanKernel(2.0, columns=[0]) * HammingKernel(columns=[1])
    >>> near([[0.0, 7]], [[0.0, 7], [0.0, 8]])
    array([[1., 0.]])
    """

    name = "product"

    def __init__(self, *factors: Kernel) -> None:
        if len(factors) < 2:
            raise parameter("factors", "at least two kernels", factors)
        super().__init__()
        self._factors = tuple(factor for kernel in factors for factor in kernel.factors)

    @property
    def factors(self) -> tuple[Kernel, ...]:
        return self._factors

    def _evaluate(self, X: Table, Y: Table) -> np.ndarray:
        out = self._factors[0]._evaluate(X, Y)
        for factor in self._factors[1:]:
            out = out * factor._evaluate(X, Y)
        return out

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        raise TypeError("A product has no hash of its own: ask its factors.")

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self._evaluate(Table.of(X), Table.of(Y))

    def which(self, width: int, names: Sequence[str] | None) -> list[int]:
        return sorted({i for factor in self._factors for i in factor.which(width, names)})

    def to_dict(self) -> dict[str, Any]:
        return {"kernel": self.name, "factors": [factor.to_dict() for factor in self._factors]}

    @classmethod
    def _from_settings(cls, values: dict[str, Any]) -> Kernel:
        return cls(*(Kernel.from_dict(factor) for factor in values["factors"]))

    def __repr__(self) -> str:
        return " * ".join(map(repr, self._factors))
