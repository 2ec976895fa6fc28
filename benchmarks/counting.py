"""How long the skin sketch takes (N = 245,057, d = 3, R = 1,000, W = 1,024), beside plain NumPy, in one run.

The paper needed 13 minutes for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import scumble
from benchmarks.paper.data import load
from scumble.counting import Hasher, cpu
from scumble.design import Design
from scumble.kernels import Records

ROWS, BUCKETS = 1000, 1024


def plain_numpy(hasher: Hasher, X: np.ndarray, counts: np.ndarray) -> None:
    """What a careful NumPy user would write: one matrix product and one bincount a row."""
    parameters = hasher.parameters[0][:, 0]
    for r in range(len(parameters)):
        codes = np.floor(X @ parameters[r, 1:] + parameters[r, 0]).astype(np.int64).astype(np.uint64)
        h = (hasher.start[r] + codes * hasher.multipliers[r, 0]) >> np.uint64(32)
        counts[r] += np.bincount((h * np.uint64(BUCKETS)) >> np.uint64(32), minlength=BUCKETS)


def python_loop(hasher: Hasher, X: np.ndarray, counts: np.ndarray) -> None:
    """A record at a time, as in research code: hash it in all rows, increment."""
    parameters = hasher.parameters[0][:, 0]
    rows = np.arange(len(parameters))
    with np.errstate(over="ignore"):
        for x in X:
            codes = np.floor(parameters[:, 1:] @ x + parameters[:, 0]).astype(np.int64).astype(np.uint64)
            h = (hasher.start + codes * hasher.multipliers[:, 0]) >> np.uint64(32)
            counts[rows, ((h * np.uint64(BUCKETS)) >> np.uint64(32)).astype(np.intp)] += 1


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    X = np.ascontiguousarray(load("skin")[["B", "G", "R"]].to_numpy(np.float64))
    kernel = scumble.EuclideanKernel(5.0)
    hasher = Hasher(kernel, Design("sobol", 7, ROWS), buckets=BUCKETS, width=3)
    ours, theirs, looped = (np.zeros((ROWS, BUCKETS), np.int64) for _ in range(3))
    cpu.count(hasher, [Records(X[:10])], np.zeros_like(ours))  # compile first

    times = {
        f"scumble, {cpu.available_threads()} threads": seconds(lambda: cpu.count(hasher, [Records(X)], ours)),
        "scumble, 1 thread": seconds(lambda: cpu.count(hasher, [Records(X)], np.zeros_like(ours), 1)),
        "plain NumPy, a row at a time": seconds(lambda: plain_numpy(hasher, X, theirs), 1),
        "a record at a time (2,000 of them, scaled)": seconds(lambda: python_loop(hasher, X[:2000], looped), 1)
        * len(X)
        / 2000,
    }
    same = np.count_nonzero(ours // 3 != theirs) / (len(X) * ROWS)
    best = min(times.values())
    print(f"{len(X):,} records, {ROWS:,} rows, {BUCKETS:,} buckets; differing increments: {same:.1e}")
    print(f"{'':45}{'seconds':>9}{'increments/s':>15}{'ratio':>9}")
    for name, taken in times.items():
        print(f"{name:45}{taken:9.3f}{len(X) * ROWS / taken:15.2e}{taken / best:9.1f}")
    print(f"the paper: 13 minutes = {13 * 60 / best:,.0f} times ours")

    sketch = scumble.Sketch(kernel, 3, rows=ROWS, buckets=BUCKETS, seed=7, design="sobol").update(X)
    release = sketch.release(1.0)
    Q = X[:: len(X) // 20_000][:20_000]
    release.kernel_sum(Q[:10])
    batch = seconds(lambda: release.kernel_sum(Q))
    single = seconds(lambda: [release.kernel_sum(Q[i : i + 1]) for i in range(100)]) / 100
    print(f"queries: {len(Q) / batch:,.0f} a second in a batch, {single * 1e6:.0f} µs for one (the paper: 400 µs)")


if __name__ == "__main__":
    main()
