"""One column at random: cut into steps, or as it is, for categories."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from scumble.checks import Json
from scumble.errors import parameter
from scumble.kernels.base import Columns, Kernel, Records, Scale, bandwidth_of

if TYPE_CHECKING:
    from scumble.kernels.design import Draws


class ColumnKernel(Kernel):
    """Near means equal in most columns, each up to a step: the kernel of random ferns.

    The hash picks a column j at random and cuts it into steps of the bandwidth w with a random offset, h(x) = ⌊xⱼ/w +
    b⌋. Two records meet with probability

        k = mean over j of max(0, 1 − |xⱼ − yⱼ|/w),

    the kernel of random binning features (Rahimi & Recht 2007) with one column per hash. With `origin` the columns are
    known to lie in [origin, origin + scale], and values outside are moved to the edge; codes are then few, and small
    powers need no rehash.

    Parameters
    ----------
    bandwidth : float
        The step, in units of `scale`.
    power : int
        How many columns one row looks at together.
    scale : float, sequence of float, mapping or None
        Public divisors of the columns: a number, one per column, or a mapping from names.
    origin : float, sequence of float or None
        Public lower ends, a number or one per column; None for columns without bounds.

    >>> ColumnKernel(bandwidth=2.0)([[0.0, 0.0]], [[0.0, 1.0], [1.0, 5.0]])
    array([[0.75, 0.25]])
    """

    name = "column"

    def __init__(
        self,
        bandwidth: float = 1.0,
        power: int = 1,
        *,
        scale: Scale = None,
        columns: Columns = None,
        origin: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(power=power, scale=scale, columns=columns)
        self.bandwidth = bandwidth_of(bandwidth)
        self.origin = _checked_origin(origin)
        if self.origin is not None:
            self.radix = ceil(1.0 / self.bandwidth) + 1  # type: ignore[misc]  # a fact of this one, not of all

    def settings(self) -> Json:
        origin = list(self.origin) if isinstance(self.origin, tuple) else self.origin
        return {"bandwidth": self.bandwidth} if origin is None else {"bandwidth": self.bandwidth, "origin": origin}

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        column = np.floor(draws.uniform(1) * dimensions)
        return np.hstack([np.minimum(column, dimensions - 1), draws.uniform(1)])

    def draw(self, draws: Draws, which: Sequence[int], names: Sequence[str] | None = None) -> np.ndarray:
        """Column, steps per unit, offset, lowest and highest code. Scale and origin go into them: records stay."""
        drawn = super().draw(draws, which)
        column = drawn[:, :, 0].astype(int)
        steps = (self._inverse_scale(names, which) / self.bandwidth)[column]
        offset, lowest, highest = drawn[:, :, 1], np.full(steps.shape, -np.inf), np.full(steps.shape, np.inf)
        if self.origin is not None:
            offset = offset - self._origins(len(which))[column] * steps
            lowest, highest = np.zeros(steps.shape), np.full(steps.shape, self.radix - 1.0)  # type: ignore[operator]
        return np.stack([drawn[:, :, 0], steps, offset, lowest, highest], axis=2)

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        steps, offset, lowest, highest = (parameters[None, :, :, k] for k in range(1, 5))
        values = records.values[:, parameters[:, :, 0].astype(int)]
        return within(np.floor(values * steps + offset), lowest, highest)

    def _scaled(self, records: Records, names: Sequence[str] | None, which: Sequence[int]) -> Records:
        values = records.values * self._inverse_scale(names, which)
        if self.origin is not None:
            values = np.clip(values - self._origins(len(which)) * self._inverse_scale(names, which), 0.0, 1.0)
        return Records(values)

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        apart = (np.abs(X[:, j, None] - Y[:, j]) for j in range(X.shape[1]))
        return sum(np.maximum(1.0 - one / self.bandwidth, 0.0) for one in apart) / X.shape[1]

    def _origins(self, width: int) -> np.ndarray:
        if isinstance(self.origin, tuple) and len(self.origin) != width:
            raise parameter("origin", f"one number for each of the {width} columns", list(self.origin))
        return np.broadcast_to(np.asarray(self.origin, float), (width,))


class HammingKernel(Kernel):
    """Near means equal in many columns: the kernel for categories.

    The hash picks one column at random and reads it, so k is the share of equal columns (Indyk & Motwani 1998).
    Values of any type are read as stable 53-bit hashes: no vocabulary has to be learned from the data.

    >>> HammingKernel()([["red", "car"]], [["red", "car"], ["red", "bus"]])
    array([[1. , 0.5]])
    """

    name = "hamming"
    reads = "category"

    def _draw_one(self, draws: Draws, dimensions: int) -> np.ndarray:
        return np.minimum(np.floor(draws.uniform(1) * dimensions), dimensions - 1)

    def codes(self, records: Records, parameters: np.ndarray) -> np.ndarray:
        return records.values[:, parameters[:, :, 0].astype(np.intp)]

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return sum(np.equal.outer(X[:, j], Y[:, j]) * 1.0 for j in range(X.shape[1])) / X.shape[1]


def within(codes: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """Codes between their ends, the lowest where they are not numbers."""
    return np.fmin(np.fmax(codes, lowest), highest)


def _checked_origin(origin: object) -> float | tuple[float, ...] | None:
    if origin is None:
        return None
    try:
        values = np.asarray(origin, float)
    except (TypeError, ValueError):  # NumPy's words would quote it
        values = np.array(np.nan)
    if values.ndim > 1 or not np.isfinite(values).all():
        raise parameter("origin", "a finite number, or one per column", origin)
    return values.tolist() if values.ndim == 0 else tuple(values.tolist())
