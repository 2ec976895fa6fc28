"""Formal privacy for functional data (Mirshani, Reimherr & Slavković, ICML 2019).

A Gaussian process of covariance C is added to the function, smoothed first by λⱼ/(λⱼ + φ) along the eigenfunctions of
C. What counts is the sensitivity in the norm of C's own space: Δ² = sup over x of Σⱼ (λⱼ aⱼ(x)/(λⱼ + φ))²/λⱼ, with
aⱼ(x) the coefficients of k(x, ·). With σ for that sensitivity the function is (ε, δ)-private as a whole.

With C = k and φ = 0 it is the mechanism of Hall, Rinaldo & Wasserman (2013), and Δ = 1. The authors calibrate by
σ² = 2 log(2/δ) Δ²/ε², which holds up to ε = 1; the analytic σ used here is right for every ε, and smaller.

Function, eigenvectors and supremum are those of a lattice; a record between two nodes counts at both, as for the
Fourier series, so the supremum over the nodes is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from benchmarks.paper.functions.answer import density
from benchmarks.paper.functions.line import Line
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.functions.noise import gaussian_count, gaussian_sigma
from benchmarks.paper.sums import of_distance
from scumble import EuclideanKernel

NODES = 2048
COVARIANCES = ("kernel", "exponential", "matern")
PENALTIES = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
"""φ, in units of the trace of C."""
SMALLEST = 1e-12


class Summary(NamedTuple):
    coefficients: np.ndarray
    eigenvalues: np.ndarray
    vectors: np.ndarray
    n: int
    sensitivity: float
    line: Line


@dataclass(frozen=True)
class Pfda(Method):
    def why_not(self, n: int, d: int, epsilon: float) -> str | None:
        if d == 1:
            return None
        return (
            f"needs the eigenvectors of a covariance between all points of a lattice, {NODES:,} points an axis: a "
            f"matrix of {Decimal(NODES) ** (2 * d):.0e} numbers in {d} dimensions"
        )

    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        return tuple((("covariance", c), ("penalty", p)) for c in COVARIANCES for p in PENALTIES)

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        covariance, penalty = dict(setting)["covariance"], dict(setting)["penalty"]
        line = Line(bounds, NODES)
        eigenvalues, vectors, squares = eigen(kernel, line, covariance)
        smoothing = eigenvalues / (eigenvalues + penalty * eigenvalues.sum())
        greatest = float(np.sqrt(np.max((np.square(smoothing) / eigenvalues) @ squares)))
        coefficients = smoothing * (vectors.T @ line.sums(kernel, line.shares(X)))
        return Summary(coefficients, eigenvalues, vectors, len(X), greatest, line)

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        count = gaussian_count(summary.n, epsilon, delta, rng)
        sigma = gaussian_sigma(summary.sensitivity, epsilon, delta)
        noise = np.sqrt(summary.eigenvalues) * rng.normal(0.0, sigma, len(summary.eigenvalues))
        values = summary.vectors @ (summary.coefficients + noise)
        return lambda Q: density(summary.line.read(values, Q), count)


@remember(6)
def eigen(kernel: EuclideanKernel, line: Line, covariance: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of C on the nodes, and the squared coefficients of a record at each node.

    A stationary covariance on even nodes is the same read backwards, so its eigenvectors are even or odd: two
    problems of half the size.
    """
    half = line.nodes // 2
    C = _covariances(kernel, covariance, np.arange(line.nodes) * line.step)
    near, far = (
        C[np.abs(np.subtract.outer(np.arange(half), np.arange(half)))],
        C[line.nodes - 1 - np.add.outer(np.arange(half), np.arange(half))],
    )
    values, vectors = [], []
    for sign in (1.0, -1.0):
        value, vector = eigh(near + sign * far)
        values.append(value)
        vectors.append(np.vstack([vector, sign * vector[::-1]]) / np.sqrt(2.0))
    eigenvalues, basis = np.concatenate(values), np.hstack(vectors)
    good = eigenvalues > SMALLEST * eigenvalues.max()
    basis = basis[:, good]
    return eigenvalues[good], basis, np.square(basis.T @ line.bumps(kernel, np.arange(line.nodes)))


def _covariances(kernel: EuclideanKernel, name: str, distance: np.ndarray) -> np.ndarray:
    if name == "kernel":
        return of_distance(kernel, distance)
    t = distance / (2.0 * kernel.bandwidth)
    return np.exp(-t) if name == "exponential" else (1.0 + np.sqrt(3.0) * t) * np.exp(-np.sqrt(3.0) * t)


METHOD = Pfda("PFDA", "Mirshani, Reimherr & Slavković 2019", "approximate")
