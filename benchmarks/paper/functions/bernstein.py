"""The Bernstein mechanism (Aldà & Rubinstein, AAAI 2017).

The kernel sums on a lattice of (K + 1)ᵈ points over the unit cube get Laplace noise, and Bernstein polynomials of
degree K interpolate them, iterated h times to reduce their bias (their Algorithm 1).

The authors' noise has the scale (K + 1)ᵈ/ε: each value may change by 1. Here it has the scale of the true L1
sensitivity, sup over x of Σ over lattice points k(x, p), which is up to fifty times smaller, since a record matters
little to far lattice points. That is a gift to the method. The supremum is bounded from above by cutting the cells of
the lattice into pieces and taking, for every lattice point, the piece's nearest distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from benchmarks.paper.functions.answer import density
from benchmarks.paper.functions.box import from_unit, lattice, sides, to_unit
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.functions.noise import laplace_count, laplace_scale
from benchmarks.paper.sums import distinct, kernel_sums, of_distance
from scumble import EuclideanKernel

DEGREES = {1: (32, 128, 512, 2048), 2: (8, 16, 32, 64), 3: (8, 20, 40)}
ORDERS = (1, 4, 16)
PIECES = {1: 64, 2: 8, 3: 4}
MOST_POINTS = 70_000


class Summary(NamedTuple):
    values: np.ndarray
    n: int
    order: int
    sensitivity: float
    bounds: Bounds


@dataclass(frozen=True)
class Bernstein(Method):
    def why_not(self, n: int, d: int, epsilon: float) -> str | None:
        if 2**d <= MOST_POINTS:
            return None
        return f"a lattice of the least degree, 1, has 2^{d} = {2.0**d:.0e} points, each summed over all records"

    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        degrees = DEGREES.get(d) or tuple(k for k in (1, 2, 3, 4) if (k + 1) ** d <= MOST_POINTS)
        return tuple((("degree", k), ("order", h)) for k in degrees for h in ORDERS)

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        degree, order = dict(setting)["degree"], dict(setting)["order"]
        values = _lattice_sums(kernel, X, bounds, degree)
        return Summary(values, len(X), order, sensitivity(kernel, bounds, X.shape[1], degree), bounds)

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        count = laplace_count(summary.n, epsilon, rng)
        scale = laplace_scale(summary.sensitivity, epsilon)
        noisy = _iterated(summary.values + rng.laplace(0.0, scale, summary.values.shape), summary.order)

        def answer(Q: np.ndarray) -> np.ndarray:
            U = to_unit(Q, summary.bounds)
            out = _along(noisy, _basis(U[:, 0], len(noisy) - 1))
            for axis in range(1, noisy.ndim):
                out = np.einsum("qi,qi...->q...", _basis(U[:, axis], len(noisy) - 1), out)
            return density(out, count)

        return answer


@remember(8)
def _lattice_sums(kernel: EuclideanKernel, X: np.ndarray, bounds: Bounds, degree: int) -> np.ndarray:
    d = X.shape[1]
    points = from_unit(lattice(np.linspace(0.0, 1.0, degree + 1), d), bounds)
    records, weights = distinct(from_unit(to_unit(X, bounds), bounds))
    return kernel_sums(kernel, records, points, weights).reshape((degree + 1,) * d)


@remember(64)
def sensitivity(kernel: EuclideanKernel, bounds: Bounds, d: int, degree: int) -> float:
    """An upper bound of sup over x of Σₚ k(x, p).

    For x in a piece of a cell, a lattice point p is at least as far as the piece's nearest point, in every column. Of
    the lattice, degree + 1 points lie along a column; whichever they are, their distances are at least the degree + 1
    least ones. k falls with the distance in every column.
    """
    low, high = sides(bounds, d)
    step = (high - low) / degree
    if np.ptp(step) > 1e-9 * step[0]:
        raise ValueError("The lattice must have the same step along every axis.")
    pieces = PIECES.get(d, 1)
    nearest = np.array([_nearest(piece, pieces, degree) for piece in range(pieces)]) * step[0]
    axes = {tuple(row): row for row in nearest}  # mirrored pieces are the same
    best = 0.0
    for chosen in combinations_with_replacement(axes.values(), d):
        square = np.zeros(())
        for row in chosen:
            square = np.add.outer(square, np.square(row))
        best = max(best, float(of_distance(kernel, np.sqrt(square)).sum()))
    return min(best, float((degree + 1) ** d))


def _nearest(piece: int, pieces: int, degree: int) -> np.ndarray:
    """The degree + 1 least distances, in steps, from lattice points to a piece of a cell, along one axis."""
    start, end = piece / pieces, (piece + 1) / pieces
    places = np.arange(-degree - 1, degree + 3)
    return np.sort(np.maximum(0.0, np.maximum(start - places, places - end)))[: degree + 1]


def _iterated(values: np.ndarray, order: int) -> np.ndarray:
    """I − (I − B)ʰ as a polynomial in B, short of its last B: Σᵢ C(h, i) (−1)ⁱ⁻¹ Bⁱ⁻¹ v."""
    out, power = np.zeros_like(values), values
    degree = len(values) - 1
    basis = _basis(np.linspace(0.0, 1.0, degree + 1), degree) if order > 1 else None
    for i in range(1, order + 1):
        out += comb(order, i) * (-1.0) ** (i - 1) * power
        if i < order:
            for axis in range(values.ndim):
                power = np.moveaxis(_along(np.moveaxis(power, axis, 0), basis), 0, axis)
    return out


def _along(values: np.ndarray, basis: np.ndarray) -> np.ndarray:
    return np.tensordot(basis, values, axes=1)


@remember(8)
def _basis(u: np.ndarray, degree: int) -> np.ndarray:
    """(n, degree + 1): the Bernstein basis, which is the binomial law."""
    return binom.pmf(np.arange(degree + 1), degree, u[:, None])


METHOD = Bernstein("Bernstein mechanism", "Aldà & Rubinstein 2017", "pure")
