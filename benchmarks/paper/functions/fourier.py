"""A cosine series of the density, its coefficients released with Laplace noise.

The orthogonal series estimator of Wasserman & Zhou (2010) and Hall, Rinaldo & Wasserman (2013): the function on its
interval is expanded in cosines, the first m coefficients get Laplace noise, and the rest is dropped.

The function is evaluated on a lattice. A record between two lattice points counts at both, in the shares of linear
interpolation; so what a record can change is a mean of what lattice points can, and the greatest L1 norm among lattice
points is the exact sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from scipy import fft

from benchmarks.paper.functions.answer import density
from benchmarks.paper.functions.line import Line
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.functions.noise import laplace_count, laplace_scale
from scumble import EuclideanKernel

NODES = 8192
TERMS = (8, 16, 32, 64, 128, 256, 512, 1024)


class Summary(NamedTuple):
    coefficients: np.ndarray
    n: int
    sensitivity: float
    line: Line


@dataclass(frozen=True)
class Fourier(Method):
    def why_not(self, n: int, d: int, epsilon: float) -> str | None:
        if d == 1:
            return None
        return (
            f"needs the density on a lattice over the whole box, {NODES:,} points an axis: "
            f"{Decimal(NODES) ** d:.0e} points in {d} dimensions"
        )

    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        return tuple((("terms", m),) for m in TERMS)

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        terms = dict(setting)["terms"]
        line = Line(bounds, NODES)
        values = line.sums(kernel, line.shares(X))
        coefficients = fft.dct(values, norm="ortho")[:terms]
        return Summary(coefficients, len(X), float(norms(kernel, line, TERMS[-1])[terms - 1]), line)

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        count = laplace_count(summary.n, epsilon, rng)
        scale = laplace_scale(summary.sensitivity, epsilon)
        noisy = summary.coefficients + rng.laplace(0.0, scale, len(summary.coefficients))

        def answer(Q: np.ndarray) -> np.ndarray:
            angle = np.pi * (summary.line.place(Q) + 0.5) / NODES
            basis = np.cos(np.outer(angle, np.arange(len(noisy)))) * np.sqrt(2.0 / NODES)
            basis[:, 0] = np.sqrt(1.0 / NODES)
            return density(basis @ noisy, count)

        return answer


@remember(4)
def norms(kernel: EuclideanKernel, line: Line, most: int) -> np.ndarray:
    """For each number of terms, the greatest L1 norm of one record's coefficients."""
    best = np.zeros(most)
    for first in range(0, line.nodes // 2, 256):  # the other half is its mirror image, with the same norms
        bumps = line.bumps(kernel, np.arange(first, first + 256))
        best = np.maximum(best, np.cumsum(np.abs(fft.dct(bumps, norm="ortho")[:, :most]), axis=1).max(axis=0))
    return best


METHOD = Fourier("Fourier series", "Wasserman & Zhou 2010; Hall, Rinaldo & Wasserman 2013", "pure")
