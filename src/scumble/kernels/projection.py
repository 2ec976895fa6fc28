"""Euclidean and Manhattan kernels: project on a random direction and cut the line into steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import factorial, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from scumble.checks import Json
from scumble.kernels.base import Columns, Kernel, Records, Scale, bandwidth_of, projected

if TYPE_CHECKING:
    from scumble.kernels.design import Draws


class ProjectionKernel(Kernel):
    """h(x) = ⌊(a·x + b)/w⌋: near records share a step of the line. The law of a decides the distance."""

    stationary = True

    def __init__(self, bandwidth: float = 1.0, power: int = 1, *, scale: Scale = None, columns: Columns = None) -> None:
        super().__init__(power=power, scale=scale, columns=columns)
        self.bandwidth = bandwidth_of(bandwidth)

    def settings(self) -> Json:
        return {"bandwidth": self.bandwidth}

    @abstractmethod
    def _direction(self, draws: Draws, dimensions: int) -> np.ndarray:
        """(rows, dimensions): one random direction per row."""

    @abstractmethod
    def profile(self, differences: np.ndarray) -> np.ndarray:
        """The collision probability of one hash as a function of x − y, for scaled columns (last axis)."""

    def collision(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return np.array([self.profile(x - Y) for x in X]).reshape(len(X), len(Y))

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
        return np.floor(projected(records.values, parameters[..., 1:], parameters[..., 0]))


TILE = 1 << 14
"""Values at a time: they stay in the processor's cache."""
FAR, MIDDLE, MOST = 1 / 32, 1 / 2, 1e30
"""The u up to which seven terms and fourteen suffice; the t beyond which k is 1."""
SERIES = [sqrt(2 / pi) * (-1) ** j / (factorial(j) * (2 * j + 1) * (2 * j + 2)) for j in range(14)]
SCALED = [
    0.23355990455943176, 0.19542595859149783, 0.07050636950069, 0.019410672535490787,
    0.003825085580490297, 0.00044068915658348725, -2.365858286052337e-06, -9.268063141205777e-06,
    -6.827907613259514e-07, 2.0229805272541236e-07, 2.4638995854234135e-08, -5.94902088197843e-09,
    -6.983833163996284e-10, 2.2267969367350707e-10, 1.3853566100214162e-11, -7.926520361877459e-12,
]  # fmt: skip
"""erfcx(t/√2) by powers of (50/(t + 4) − 7)/3, which goes from 1 at t = 1 to −1 at t = 8.5; the lowest first."""


def meeting(t: np.ndarray) -> np.ndarray:
    """The chance that Gaussian projections fall into one step, k(t), for t = step/distance, in NumPy alone.

        k(t) = erf(t/√2) − √(2/π) (1 − exp(−t²/2)) / t

    (Datar, Immorlica, Indyk & Mirrokni 2004, section 3.2). With u = t²/2, for u ≤ ½ the power series of both parts add
    up to t √(2/π) Σⱼ (−u)ʲ / (j! (2j + 1)(2j + 2)): nothing cancels. Nearer, erf(t/√2) = 1 − exp(−u) erfcx(t/√2), where
    erfcx is a Chebyshev interpolant in 1/(t + 4).

    >>> meeting(np.array([0.0, 0.1, 1.0, 10.0, np.inf])).round(6)
    array([0.      , 0.039861, 0.368746, 0.920212, 1.      ])
    """
    flat = np.minimum(t, MOST).reshape(-1)
    for first in range(0, flat.size, TILE):
        here = flat[first : first + TILE]
        u = 0.5 * np.square(here)
        if not (u > FAR).any():
            here *= _polynomial(SERIES[:7], u)
            continue
        for among, terms in ((u <= FAR, 7), ((u > FAR) & (u <= MIDDLE), 14)):
            if len(which := np.flatnonzero(among)):
                here[which] *= _polynomial(SERIES[:terms], u[which])
        if len(which := np.flatnonzero(u > MIDDLE)):
            near, fades = here[which], np.exp(-u[which])
            scaled = _polynomial(SCALED, (50.0 / (np.minimum(near, 8.5) + 4.0) - 7.0) / 3.0)
            here[which] = 1.0 - fades * scaled - sqrt(2 / pi) * (1.0 - fades) / near
    return flat.reshape(t.shape)


def _polynomial(coefficients: Sequence[float], x: np.ndarray) -> np.ndarray:
    """Horner's rule; the lowest power first."""
    out = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        out *= x
        out += coefficient
    return out


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

        return self._of_distance(cdist(X, Y, "euclidean"))

    def _of_distance(self, distance: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", over="ignore"):
            return meeting(self.bandwidth / distance)


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
