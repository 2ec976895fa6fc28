"""Multiplicative weights with the exponential mechanism (Hardt, Ligett & McSherry, NIPS 2012).

A distribution over the cells of a grid is improved in T rounds. Each round picks, by the exponential mechanism at
ε/(2T), one of a set of public queries on which the distribution is badly wrong, measures it with Laplace noise of
scale 2T/ε, and updates the weights; as the authors advise, past measurements are used again.

The queries are kernel sums at points spread evenly over the bounds; the true answers change by at most 1 with a record.
The authors' step, (goal − q·w)/(2N), is made for queries near 1. Kernel sums at far points are small, and it would need
thousands of passes; the step here is Newton's, toward the weights that agree with the measurement. That is a gift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
from scipy.stats import qmc

from benchmarks.paper.functions.answer import WeightedPoints
from benchmarks.paper.functions.box import from_unit, lattice
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.method import Answer, Bounds, Method, Setting
from benchmarks.paper.functions.noise import COUNT_SHARE, laplace_count
from benchmarks.paper.sums import distinct, kernel_matrix, kernel_sums
from scumble import EuclideanKernel

CELLS = {1: 1024, 2: 64, 3: 24, 4: 10, 5: 6, 6: 5, 7: 4, 8: 3}
"""Along each axis. The distribution lives on all of them: up to 14,000."""
QUERIES = 512
ROUNDS = (4, 16, 64)
EVERY, LAST = 8, 10
"""All past measurements are used again every eight rounds, and ten times at the end."""


class Summary(NamedTuple):
    truth: np.ndarray
    queries: np.ndarray
    cells: np.ndarray
    rounds: int
    n: int
    kernel: EuclideanKernel


@dataclass(frozen=True)
class Mwem(Method):
    def why_not(self, n: int, d: int, epsilon: float) -> str | None:
        if d in CELLS:
            return None
        return f"a distribution over a grid of three cells an axis has 3^{d} = {3.0**d:.0e} weights"

    def settings(self, n: int, d: int, epsilon: float) -> tuple[Setting, ...]:
        return tuple((("rounds", t),) for t in ROUNDS)

    def summarize(self, X: np.ndarray, kernel: EuclideanKernel, bounds: Bounds, setting: Setting, seed: int) -> Any:
        cells, points, queries = public(kernel, bounds, X.shape[1])
        return Summary(query_sums(kernel, X, points), queries, cells, dict(setting)["rounds"], len(X), kernel)

    def publish(self, summary: Summary, epsilon: float, delta: float, rng: np.random.Generator) -> Answer:
        count = laplace_count(summary.n, epsilon, rng)
        each = (1.0 - COUNT_SHARE) * epsilon / (2 * summary.rounds)
        weights = improve(summary.truth, summary.queries, count, summary.rounds, each, rng)
        return WeightedPoints(summary.cells, weights, summary.kernel, count)


def improve(
    truth: np.ndarray, queries: np.ndarray, count: float, rounds: int, each: float, rng: np.random.Generator
) -> np.ndarray:
    """Weights of the cells, of sum `count`; two mechanisms of budget `each` a round."""
    weights = np.full(queries.shape[1], count / queries.shape[1])
    measured: dict[int, float] = {}
    for turn in range(1, rounds + 1):
        wrong = np.abs(queries @ weights - truth)
        wrong[list(measured)] = -np.inf  # public: what has been measured is known
        chosen = int(np.argmax(each * wrong / 2.0 + rng.gumbel(size=len(wrong))))  # the exponential mechanism
        measured[chosen] = truth[chosen] + rng.laplace(0.0, 1.0 / each)
        which, goals = np.array(list(measured)), np.clip(list(measured.values()), 0.0, count)
        _update(weights, queries, which[-1:], goals[-1:], count)
        for _ in range(LAST if turn == rounds else turn % EVERY == 0):
            _update(weights, queries, which, goals, count)
    return weights


@numba.njit(cache=True)
def _update(weights: np.ndarray, queries: np.ndarray, which: np.ndarray, goals: np.ndarray, count: float) -> None:
    """Multiply the weights, in place, by exp(step q) for one measurement after the other."""
    for query, goal in zip(queries[which], goals):  # noqa: B905  numba knows no `strict`
        mean, square = 0.0, 0.0
        for cell in range(len(weights)):
            mean += weights[cell] * query[cell]
            square += weights[cell] * query[cell] ** 2
        longest = 1.0 / query.max()
        step = min(max((goal - mean) / max(square - mean**2 / count, 1e-9), -longest), longest)
        total = 0.0
        for cell in range(len(weights)):
            weights[cell] *= np.exp(step * query[cell])
            total += weights[cell]
        weights *= count / total


@remember(2)
def public(kernel: EuclideanKernel, bounds: Bounds, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells' centers, the query points, and the kernel between them."""
    cells = from_unit(lattice((np.arange(CELLS[d]) + 0.5) / CELLS[d], d), bounds)
    points = from_unit((qmc.Sobol(d, scramble=False).random(QUERIES) + 0.5 / QUERIES) % 1.0, bounds)
    return cells, points, kernel_matrix(kernel, points, cells)


@remember(8)
def query_sums(kernel: EuclideanKernel, X: np.ndarray, points: np.ndarray) -> np.ndarray:
    records, weights = distinct(X)
    return kernel_sums(kernel, records, points, weights)


METHOD = Mwem("MWEM", "Hardt, Ligett & McSherry 2012", "pure")
