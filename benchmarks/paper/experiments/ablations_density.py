"""What each of scumble's choices is worth for densities, one at a time, on the paper's sets.

Named by `method`; errors are mean relative errors of the density at the held-out queries.

rows
    Independent, Sobol and orthogonal rows, with discrete Laplace noise and without any.
count
    The count of Algorithm 2, from all counters, and the one released on its own: from the very same release.
noise
    The floor of Laplace noise (Algorithm 1), discrete Laplace and discrete Gaussian noise, on the very same counters.
rehash
    Two codes to a bucket (power 2) by a weak hash, v₁ + 31 v₂ modulo W, and by scumble's; no noise.
sweep rows, sweep buckets
    Measured errors and what `plan` predicts: for the density it assumes before it knows the data, and for the true
    median density of the queries. A prediction is a standard error; the mean error of a normal law is 0.8 of that.
theorem 3
    Algorithm 1 and the median of means. `violations` is the share of queries whose error is above the bound of the
    paper's Theorem 3 at δ = 0.05, which must be at most that; `slack` the median of bound/error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import scumble
from benchmarks.paper import protocol
from benchmarks.paper.densities import PAPER, QUICK, DensitySet, density_set, truth
from benchmarks.paper.experiments.density import errors
from benchmarks.paper.functions.memo import remember
from benchmarks.paper.functions.tables import Table, exact_table
from benchmarks.paper.sums import RootKernel
from benchmarks.paper.task import Task
from scumble.privacy import analytic_gaussian_sigma
from scumble.privacy.noise import discrete_gaussian, discrete_laplace

NAME = "ablations_density"
BUCKETS = 1024
DESIGNS = ("iid", "sobol", "orthogonal")
FAILURE = 0.05
"""δ of Theorem 3, a probability of failure; nothing to do with privacy."""


def tasks(quick: bool) -> Iterable[Task]:
    for dataset in QUICK if quick else PAPER:
        for method, epsilons, options in _cases(quick):
            for repetition in range(1 if quick else 5):
                for epsilon in epsilons:
                    yield Task(NAME, dataset, method, epsilon, repetition, options)


def _cases(quick: bool) -> Iterable[tuple[str, tuple[float, ...], tuple[tuple[str, object], ...]]]:
    sizes = (64, 256) if quick else (64, 256, 1024)
    budgets = (1.0,) if quick else (0.1, 1.0, 10.0)
    for rows in sizes:
        for design in DESIGNS:
            yield "rows", (1.0,), (("design", design), ("rows", rows))
    yield "count", budgets, (("rows", 256),)
    yield "noise", budgets, (("rows", 256),)
    for rows in sizes:
        yield "rehash", (1.0,), (("rows", rows),)
        yield "theorem 3", budgets, (("rows", rows),)
    for rows in sizes if quick else (16, 64, 256, 1024, 4096):
        yield "sweep rows", budgets, (("rows", rows),)
    for buckets in (64, 256) if quick else (64, 256, 1024, 4096):
        yield "sweep buckets", (1.0,), (("buckets", buckets),)


def run(task: Task) -> dict[str, Any]:
    return EXPERIMENTS[task.method](task, density_set(task.dataset), protocol.seed(task.repetition))


def _relative(estimate: np.ndarray, data: DensitySet, kernel: scumble.EuclideanKernel | None = None) -> float:
    return errors(estimate, truth(data.name, kernel or data.kernel))["relative_error"]


def _number(task: Task, name: str) -> int:
    return int(str(task.option(name)))


def _sketch(data: DensitySet, seed: int, **options: Any) -> scumble.Sketch:
    return scumble.Sketch(data.kernel, data.X.shape[1], seed=seed, **options).update(data.X)


def rows(task: Task, data: DensitySet, seed: int) -> dict[str, float]:
    sketch = _sketch(data, seed, design=str(task.option("design")), rows=_number(task, "rows"), buckets=BUCKETS)
    silent = sketch.kernel_sum(data.Q) / len(data.X)
    return {
        "relative_error": _relative(sketch.release(task.epsilon).density(data.Q), data),
        "without_noise": _relative(silent, data),
    }


def count(task: Task, data: DensitySet, seed: int) -> dict[str, float]:
    release = _sketch(data, seed, design="sobol", rows=_number(task, "rows"), buckets=BUCKETS).release(task.epsilon)
    sums, n = release.kernel_sum(data.Q), len(data.X)
    theirs = max(1.0, float(release.counts.sum()) / len(release.counts))
    return {
        "count_error_algorithm_2": abs(theirs - n) / n,
        "count_error_own": abs(release.count - n) / n,
        "relative_error_algorithm_2": _relative(sums / theirs, data),
        "relative_error_own": _relative(sums / max(1.0, release.count), data),
    }


def noise(task: Task, data: DensitySet, seed: int) -> dict[str, float]:
    number = _number(task, "rows")
    table = _remembered(data.X, data.kernel, number, BUCKETS, seed, "sobol", "universal")
    shape, scale = table.counts.shape, number / task.epsilon
    sigma = analytic_gaussian_sigma(task.epsilon, protocol.DELTA, np.sqrt(number))
    laws = {
        "floor_of_laplace": np.floor(np.random.default_rng(seed).laplace(0.0, scale, shape)),
        "discrete_laplace": discrete_laplace(scale, shape),
        "discrete_gaussian": discrete_gaussian(sigma, shape),
    }
    found = {}
    for name, drawn in laws.items():
        noisy = Table(table.hasher, table.counts + drawn)
        found[name] = _relative(_unbiased(noisy, data.Q) / len(data.X), data)
        found[f"count_shift_{name}"] = float(drawn.sum() / number)
    return found


def rehash(task: Task, data: DensitySet, seed: int) -> dict[str, float]:
    kernel = scumble.EuclideanKernel(data.kernel.bandwidth, power=2)
    found = {}
    for name, kind in (("weak", "modulo"), ("universal", "universal")):
        table = exact_table(data.X, kernel, _number(task, "rows"), BUCKETS, seed, design="sobol", rehash=kind)
        found[name] = _relative(_unbiased(table, data.Q) / len(data.X), data, kernel)
    return found


def sweep_rows(task: Task, data: DensitySet, seed: int) -> dict[str, float]:
    return _against_plan(task, data, seed, rows=_number(task, "rows"), buckets=BUCKETS)


def sweep_buckets(task: Task, data: DensitySet, seed: int) -> dict[str, float]:
    return _against_plan(task, data, seed, rows=1024, buckets=_number(task, "buckets"))


def _against_plan(task: Task, data: DensitySet, seed: int, **size: int) -> dict[str, float]:
    n, d = data.X.shape
    sketch = _sketch(data, seed, design="sobol", **size)
    median = float(np.median(truth(data.name, data.kernel)))
    planned = [
        scumble.plan(n, d, task.epsilon, kernel=data.kernel, density=density, design="sobol", **size)
        for density in (None, median)
    ]
    return {
        "relative_error": _relative(sketch.release(task.epsilon).density(data.Q), data),
        "planned": planned[0].relative_error,
        "planned_at_median_density": planned[1].relative_error,
    }


def theorem_3(task: Task, data: DensitySet, seed: int) -> dict[str, float]:
    number, n = _number(task, "rows"), len(data.X)
    table = _remembered(data.X, data.kernel, number, BUCKETS, seed, "iid", "modulo")
    rng = np.random.default_rng(seed)
    noisy = np.floor(table.counts + rng.laplace(0.0, number / task.epsilon, table.counts.shape))
    values = Table(table.hasher, noisy).read(data.Q)
    groups = np.array_split(values, round(8.0 * np.log(1.0 / FAILURE)))
    estimate = np.median([group.mean(axis=0) for group in groups], axis=0)
    gap = np.abs(estimate - truth(data.name, data.kernel) * n)
    spread = truth(data.name, RootKernel(data.kernel)) * n
    variance = np.square(spread) / number + 2.0 * number / task.epsilon**2
    bound = np.sqrt(variance * 32.0 * np.log(1.0 / FAILURE))
    return {"violations": float(np.mean(gap > bound)), "slack": float(np.median(bound / np.maximum(gap, 1e-9)))}


def _unbiased(table: Table, Q: np.ndarray) -> np.ndarray:
    """Kernel sums freed of the collisions that a rehash brings: each row's S/W is taken off."""
    buckets = table.counts.shape[1]
    collisions = table.counts.sum(axis=1) / buckets
    return (table.read(Q) - collisions[:, None]).mean(axis=0) / (1.0 - 1.0 / buckets)


@remember(4)
def _remembered(
    X: np.ndarray, kernel: scumble.EuclideanKernel, rows: int, buckets: int, seed: int, design: str, rehash: str
) -> Table:
    return exact_table(X, kernel, rows, buckets, seed, design=design, rehash=rehash)


EXPERIMENTS = {
    "rows": rows,
    "count": count,
    "noise": noise,
    "rehash": rehash,
    "sweep rows": sweep_rows,
    "sweep buckets": sweep_buckets,
    "theorem 3": theorem_3,
}
