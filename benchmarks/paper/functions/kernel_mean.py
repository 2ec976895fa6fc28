"""The kernel mean embedding on synthetic points (Balog, Tolstikhin & Schölkopf, ICML 2018, Algorithm 1).

The kernel mean Σ k(x, ·) is projected on the span of k(z₁, ·) … k(z_M, ·) for public points z. In an orthonormal basis
of that span its coefficients have L2 sensitivity √k(x, x) = 1 at most, whatever M is; they get Gaussian noise and go
back to weights on the points. The authors' σ for replacing a record, √(8 ln(1.25/δ))/(Nε), holds up to ε = 1; here it
is the analytic one for adding or removing.

Without public records the points fill the bounds evenly, which is the authors' case without a public subset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.stats import qmc

from benchmarks.paper.functions.answer import WeightedPoints
from benchmarks.paper.functions.box import from_unit
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.functions.noise import gaussian_count, gaussian_sigma
from benchmarks.paper.sums import distinct, kernel_matrix, kernel_sums
from scumble import EuclideanKernel

POINTS = (64, 256, 1024, 2048)
SMALLEST = 1e-10


class Summary(NamedTuple):
    coefficients: np.ndarray
    to_weights: np.ndarray
    points: np.ndarray
    n: int
    kernel: EuclideanKernel


@dataclass(frozen=True)
class KernelMean(Method):
    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        return tuple((("points", m),) for m in POINTS if m <= n // 4)

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        points, to_weights = basis(kernel, bounds, X.shape[1], dict(setting)["points"])
        return Summary(to_weights.T @ point_sums(kernel, X, points), to_weights, points, len(X), kernel)

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        count = gaussian_count(summary.n, epsilon, delta, rng)
        sigma = gaussian_sigma(1.0, epsilon, delta)
        noisy = summary.coefficients + rng.normal(0.0, sigma, len(summary.coefficients))
        return WeightedPoints(summary.points, summary.to_weights @ noisy, summary.kernel, count)


@remember(8)
def basis(kernel: EuclideanKernel, bounds: Bounds, d: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Public points, and the matrix V S^(−1/2) from orthonormal coefficients to weights on them."""
    unit = qmc.Sobol(d, scramble=False).random(number) + 0.5 / number if d > 1 else _even(number)
    points = from_unit(unit % 1.0, bounds)
    eigenvalues, vectors = eigh(kernel_matrix(kernel, points, points))
    good = eigenvalues > SMALLEST * eigenvalues[-1]
    return points, vectors[:, good] / np.sqrt(eigenvalues[good])


def _even(number: int) -> np.ndarray:
    return ((np.arange(number) + 0.5) / number)[:, None]


@remember(8)
def point_sums(kernel: EuclideanKernel, X: np.ndarray, points: np.ndarray) -> np.ndarray:
    records, weights = distinct(X)
    return kernel_sums(kernel, records, points, weights)


METHOD = KernelMean("Kernel mean embedding", "Balog, Tolstikhin & Schölkopf 2018", "approximate")
