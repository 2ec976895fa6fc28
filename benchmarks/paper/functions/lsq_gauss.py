"""Locality sensitive quantization by the fast Gauss transform (Wagner, Naamad & Mishra, ICML 2023).

For the Gaussian kernel exp(−‖x − q‖²/w²) alone, which at distance w equals ours to within 0.001; its error is against
the exact density of its own kernel. Space is cut into boxes of side r w. In one dimension, with c the center of the box
of x and lengths in units of w,

    exp(−(x − q)²) = Σᵢ fᵢ(x − c) gᵢ(q − c),    fᵢ(t) = tⁱ √(2ⁱ/i!),    gᵢ(t) = Hᵢ(t) exp(−t²)/√(2ⁱ i!),

cut off after `order` terms (Greengard & Strain 1991); in d dimensions the products of d such terms. A record adds to
the coefficients of its own box only, Πⱼ Σᵢ |fᵢ| in all. Every box within the bounds gets noise, empty ones too.

The terms are weighed before the noise so that its effect is least, by sᵢ = (∫gᵢ²/max |fᵢ|)^(1/3): a gift.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import factorial
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import hermite

from benchmarks.paper.functions.answer import density
from benchmarks.paper.functions.box import sides
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.functions.noise import laplace_count, laplace_scale
from benchmarks.paper.sums import GaussianKernel
from scumble import EuclideanKernel

SHAPES = {1: ((0.25, 1), (0.5, 1), (0.5, 2), (1.0, 3), (1.0, 4), (2.0, 5), (2.0, 8))}
SHAPES |= dict.fromkeys((2, 3), ((0.25, 1), (0.5, 1), (0.5, 2), (1.0, 3)))
"""For each number of dimensions: side of a box in bandwidths, and terms an axis."""
REACH = 3.5
"""Boxes whose nearest point is further than so many bandwidths are left out: exp(−3.5²) is 5e-6."""
MOST_COEFFICIENTS = 2**25
CHUNK = 100


class Summary(NamedTuple):
    coefficients: np.ndarray
    n: int
    side: float
    order: int
    low: np.ndarray
    bandwidth: float


@dataclass(frozen=True)
class LsqGauss(Method):
    def why_not(self, n: int, d: int, epsilon: float) -> str | None:
        if d in SHAPES:
            return None
        return (
            f"a query reads at least 3^{d} boxes of 2^{d} coefficients, {6.0**d:.0e} numbers, and every box within the "
            f"bounds needs noise: {10.0**d:.0e} of them, if there are ten an axis"
        )

    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        return tuple((("order", order), ("side", side)) for side, order in SHAPES[d])

    def own_kernel(self, kernel: EuclideanKernel) -> GaussianKernel:
        return GaussianKernel(kernel.bandwidth)

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        side, order = dict(setting)["side"], dict(setting)["order"]
        low, _ = sides(bounds, X.shape[1])
        coefficients = box_sums(X, kernel.bandwidth, bounds, side, order)
        return Summary(coefficients, len(X), side, order, low, kernel.bandwidth)

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        coefficients, order, side = summary.coefficients, summary.order, summary.side
        count = laplace_count(summary.n, epsilon, rng)
        scale = laplace_scale(sensitivity(side, order, coefficients.ndim), epsilon)
        noisy = coefficients + rng.laplace(0.0, scale, coefficients.shape)

        def answer(Q: np.ndarray) -> np.ndarray:
            place = (Q - summary.low) / summary.bandwidth
            parts = [_read(noisy, place[i : i + CHUNK], side, order) for i in range(0, len(place), CHUNK)]
            return density(np.concatenate(parts), count)

        return answer


def sensitivity(side: float, order: int, d: int) -> float:
    """What one record adds at most, in L1: the terms grow toward the edge of the box."""
    return float(np.sum(weights(side, order) * _f(np.array([side / 2.0]), order)[0])) ** d


@lru_cache(maxsize=32)
def weights(side: float, order: int) -> np.ndarray:
    """sᵢ: the coefficient of term i is kept as sᵢ fᵢ and read with gᵢ/sᵢ."""
    t = np.linspace(-8.0, 8.0, 4001)
    squares = np.square(_g(t, order)).sum(axis=0) * (t[1] - t[0])
    return (squares / _f(np.array([side / 2.0]), order)[0]) ** (1.0 / 3.0)


def _f(t: np.ndarray, order: int) -> np.ndarray:
    """(n, order): tⁱ √(2ⁱ/i!)."""
    i = np.arange(order)
    return t[:, None] ** i * np.sqrt(2.0**i / np.array([factorial(j) for j in i], float))


def _g(t: np.ndarray, order: int) -> np.ndarray:
    """(n, order): Hᵢ(t) exp(−t²)/√(2ⁱ i!)."""
    i = np.arange(order)
    return (
        hermite.hermvander(t, order - 1)
        * np.exp(-np.square(t))[:, None]
        / np.sqrt(2.0**i * np.array([factorial(j) for j in i], float))
    )


@remember(4)
def box_sums(X: np.ndarray, bandwidth: float, bounds: Bounds, side: float, order: int) -> np.ndarray:
    """Σ over records of s f, as an array of (boxes · order) along each axis."""
    low, high = sides(bounds, X.shape[1])
    boxes = np.floor((high - low) / bandwidth / side).astype(int) + 1
    if np.prod(boxes * float(order)) > MOST_COEFFICIENTS:
        raise ValueError(f"{np.prod(boxes * float(order)):.0e} coefficients do not fit.")
    records = np.clip(X, low, high)
    index, values = np.zeros((len(records), 1), np.int64), np.ones((len(records), 1))
    for j, number in enumerate(boxes):
        place = (records[:, j] - low[j]) / bandwidth
        box = np.minimum((place / side).astype(np.int64), number - 1)
        terms = weights(side, order) * _f(place - (box + 0.5) * side, order)
        here = box[:, None] * order + np.arange(order)
        index = (index[:, :, None] * (number * order) + here[:, None, :]).reshape(len(records), -1)
        values = (values[:, :, None] * terms[:, None, :]).reshape(len(records), -1)
    total = np.bincount(index.ravel(), values.ravel(), int(np.prod(boxes * order)))
    return total.reshape(boxes * order)


def _read(coefficients: np.ndarray, place: np.ndarray, side: float, order: int) -> np.ndarray:
    """The kernel sums at `place` (in bandwidths from the low corner): all boxes around, axis by axis."""
    reach = int(np.ceil(REACH / side))
    flat, index, factors = coefficients.ravel(), np.zeros((len(place), 1), np.int64), []
    for j, length in enumerate(coefficients.shape):
        box = np.floor(place[:, j] / side).astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
        t = place[:, j, None] - (box + 0.5) * side
        g = (_g(t.ravel(), order) / weights(side, order)).reshape(len(place), -1)
        here = (box[:, :, None] * order + np.arange(order)).reshape(len(place), -1)
        good = (here >= 0) & (here < length)
        factors.append(np.where(good, g, 0.0))
        index = (index[:, :, None] * length + np.where(good, here, 0)[:, None, :]).reshape(len(place), -1)
    block = flat[index].reshape(len(place), *(factor.shape[1] for factor in factors))
    for factor in reversed(factors):
        block = np.einsum("q...i,qi->q...", block, factor)
    return block


METHOD = LsqGauss(
    "LSQ, fast Gauss transform",
    "Wagner, Naamad & Mishra 2023",
    "pure",
    kernel="the Gaussian kernel exp(−c²/w²), against its own exact density",
)
