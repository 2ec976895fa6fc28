"""Trigonometric polynomials (Wang, Fan, Zhang & Wang, NIPS 2013: an efficient algorithm for smooth queries).

Records in [−1, 1]ᵈ become angles, x = cos θ. Released are the tᵈ sums Σₓ Πⱼ cos(rⱼ θⱼ), each with Laplace noise of
scale tᵈ/ε (a corner of the box has every cosine at ±1, so the L1 sensitivity is exactly tᵈ). A smooth query is a
combination of these cosines; here the kernel at q is replaced by the polynomial that agrees with it at the tᵈ Chebyshev
nodes, which makes the answer a weighted sum of kernel values at the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.paper.functions.answer import WeightedPoints
from benchmarks.paper.functions.box import from_unit, lattice, to_unit
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.functions.noise import laplace_count, laplace_scale
from benchmarks.paper.sums import distinct
from scumble import EuclideanKernel

DEGREES = {1: (8, 16, 32, 64, 128, 256, 512), 2: (4, 8, 16, 32, 64), 3: (3, 4, 8, 12, 16, 24)}
MOST_COSINES = 70_000
CHUNK = 20_000


class Summary(NamedTuple):
    sums: np.ndarray
    n: int
    kernel: EuclideanKernel
    bounds: Bounds


@dataclass(frozen=True)
class Trigonometric(Method):
    def why_not(self, n: int, d: int, epsilon: float) -> str | None:
        if 2**d <= MOST_COSINES:
            return None
        return f"the least polynomials, of two terms an axis, have 2^{d} = {2.0**d:.0e} coefficients"

    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        terms = DEGREES.get(d) or tuple(t for t in (1, 2, 3, 4) if t**d <= MOST_COSINES)
        return tuple((("terms", t),) for t in terms)

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        return Summary(cosine_sums(X, bounds, dict(setting)["terms"]), len(X), kernel, bounds)

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        terms, d = len(summary.sums), summary.sums.ndim
        count = laplace_count(summary.n, epsilon, rng)
        noisy = summary.sums + rng.laplace(0.0, laplace_scale(float(terms**d), epsilon), summary.sums.shape)
        # Σₓ p(x) for p = Σ cᵣ cos(r θ), cᵣ = (2 − [r = 0])/t Σᵢ f(zᵢ) cos(r θᵢ): the weight of node i, axis by axis.
        angles = np.pi * (np.arange(terms) + 0.5) / terms
        invert = np.cos(np.outer(angles, np.arange(terms))) * np.where(np.arange(terms) == 0, 1.0, 2.0) / terms
        for axis in range(d):
            noisy = np.moveaxis(np.tensordot(invert, noisy, axes=(1, axis)), 0, axis)
        nodes = from_unit(lattice((np.cos(angles) + 1.0) / 2.0, d), summary.bounds)
        return WeightedPoints(nodes, noisy.ravel(), summary.kernel, count)


@remember(8)
def cosine_sums(X: np.ndarray, bounds: Bounds, terms: int) -> np.ndarray:
    """Σₓ Πⱼ cos(rⱼ θⱼ) for all r in {0 … t − 1}ᵈ."""
    records, weights = distinct(X)
    n, d = records.shape
    total = np.zeros((terms ** ((d + 1) // 2), terms ** (d // 2)))
    for first in range(0, n, CHUNK):
        angles = np.arccos(2.0 * to_unit(records[first : first + CHUNK], bounds) - 1.0)
        cosines = np.cos(angles[:, :, None] * np.arange(terms))
        left, right = _products(cosines[:, : (d + 1) // 2]), _products(cosines[:, (d + 1) // 2 :])
        total += (left * weights[first : first + CHUNK, None]).T @ right
    return total.reshape((terms,) * d)


def _products(cosines: np.ndarray) -> np.ndarray:
    """(n, tᵏ): all products of one cosine a column."""
    out = np.ones((len(cosines), 1))
    for axis in range(cosines.shape[1]):
        out = (out[:, :, None] * cosines[:, axis, None, :]).reshape(len(out), -1)
    return out


METHOD = Trigonometric("Trigonometric polynomials", "Wang, Fan, Zhang & Wang 2013", "pure")
