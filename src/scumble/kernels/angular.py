"""The angular kernel: on which side of a random hyperplane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scumble.checks import Json, whole
from scumble.kernels.base import Columns, Kernel, Records, Scale, projected

if TYPE_CHECKING:
    from scumble.kernels.design import Draws


class AngularKernel(Kernel):
    """Near means a small angle, whatever the lengths: the kernel for embeddings and directions.

    The hash is the side of a random hyperplane, h(x) = [a·x ≥ 0] with a ~ N(0, I), and two records at an angle θ
    meet with probability k = 1 − θ/π (Goemans & Williamson 1995; Charikar 2002). The zero vector counts as
    orthogonal to every other. With power p there are 2ᵖ codes; with at least that many buckets, no rehash is needed.

    >>> AngularKernel(power=2)([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    array([[1.  , 0.25, 0.  ]])
    """

    name = "angular"
    radix = 2

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        return draws.normal(dimensions)

    def draw(self, draws: Draws, which: Sequence[int], names: Sequence[str] | None = None) -> np.ndarray:
        return super().draw(draws, which) * self._inverse_scale(names, which)

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        return (projected(records.values, parameters) >= 0.0).astype(np.float64)

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        from scipy.spatial.distance import cdist

        U, V = _unit(X), _unit(Y)
        # The chord gives small angles exactly, where the arc cosine of the product would lose half the digits.
        k = 1.0 - 2.0 / np.pi * np.arcsin(np.clip(cdist(U, V) / 2.0, 0.0, 1.0))
        zero_x, zero_y = ~X.any(axis=1), ~Y.any(axis=1)
        k[zero_x] = k[:, zero_y] = 0.5
        k[np.ix_(zero_x, zero_y)] = 1.0
        return k


def _unit(X: np.ndarray) -> np.ndarray:
    """The rows at length 1, safe for huge and tiny numbers; zero rows stay zero."""
    largest = np.max(np.abs(X), axis=1, keepdims=True, initial=0.0)
    X = np.divide(X, largest, out=np.zeros_like(X), where=largest > 0.0)
    length = np.sqrt(np.sum(X * X, axis=1, keepdims=True))
    return np.divide(X, length, out=X, where=length > 0.0)


class FoldedKernel(Kernel):
    """Near means a small angle up to sign: x and −x are one. The kernel behind private regression.

    The paper's regression inserts z and −z into a table of 2ᵐ counters. With m signs sᵢ = sign(aᵢ·z), a record is
    counted under the m − 1 bits [sᵢ ≠ sₘ], which −z shares: one increment, half the counters, half the sensitivity. At
    an angle θ, with τ = θ/π, two records meet if no hyperplane or every hyperplane separates them: k = (1 − τ)ᵐ + τᵐ.

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

    def settings(self) -> Json:
        return {"projections": self.projections}

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        return np.hstack([draws.normal(dimensions) for _ in range(self.projections)])

    def draw(self, draws: Draws, which: Sequence[int], names: Sequence[str] | None = None) -> np.ndarray:
        drawn = super().draw(draws, which)
        if self.scale is not None:
            drawn *= np.tile(self._inverse_scale(names, which), self.projections)
        return drawn

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        directions = parameters.reshape(*parameters.shape[:2], self.projections, -1)
        sides = projected(records.values, directions) >= 0.0
        return (sides[..., :-1] != sides[..., -1:]) @ (2.0 ** np.arange(self.projections - 1))

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        apart = 1.0 - AngularKernel().collision(X, Y)
        return (1.0 - apart) ** self.projections + apart**self.projections
