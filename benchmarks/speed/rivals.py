"""The same job by other means, on the skin data (or a table of its shape): preparing, and asking.

What they compute differs, and the table says so: scikit-learn and DataSketches estimate a Gaussian density, without
privacy; NumPy and the loop fill the very counters that scumble fills.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import scumble
from benchmarks.paper import data
from benchmarks.speed.clock import seconds
from benchmarks.speed.shapes import BUCKETS, Shape
from scumble.counting import Hasher, cpu
from scumble.kernels import Records
from scumble.kernels.design import Design

ROWS, BANDWIDTH, QUERIES = 1000, 5.0, 100_000


def pixels() -> tuple[np.ndarray, str]:
    """The skin data if it is there, else whole numbers of the same shape and range, drawn at random."""
    try:
        return np.ascontiguousarray(data.load("skin")[["B", "G", "R"]].to_numpy(np.float64)), "skin"
    except (SystemExit, OSError):
        pass
    X = Shape("skin-like", 241_000, 3).values()
    return np.round(np.clip(X * 60 + 128, 0, 255)), "synthetic, in the shape of skin"


def plain_numpy(hasher: Hasher, X: np.ndarray, counts: np.ndarray) -> None:
    """What a careful NumPy user would write: one matrix product and one bincount a row."""
    parameters = hasher.parameters[0][:, 0]
    for r in range(len(parameters)):
        codes = np.floor(X @ parameters[r, 1:] + parameters[r, 0]).astype(np.int64).astype(np.uint64)
        h = (hasher.start[r] + codes * hasher.multipliers[r, 0]) >> np.uint64(32)
        counts[r] += np.bincount((h * np.uint64(BUCKETS)) >> np.uint64(32), minlength=BUCKETS)


def record_at_a_time(hasher: Hasher, X: np.ndarray, counts: np.ndarray) -> None:
    """As in research code: for each record, for each row, hash and increment, in plain Python."""
    parameters = hasher.parameters[0][:, 0].tolist()
    start, multipliers = hasher.start.tolist(), hasher.multipliers[:, 0].tolist()
    for x, y, z in X.tolist():
        for r, (b, p, q, s) in enumerate(parameters):
            code = int((b + x * p + y * q + z * s) // 1)
            h = ((start[r] + code * multipliers[r]) & 0xFFFFFFFFFFFFFFFF) >> 32
            counts[r, (h * BUCKETS) >> 32] += 1


def measure(quick: bool) -> list[dict[str, Any]]:
    from datasketches import GaussianKernel, density_sketch
    from sklearn.neighbors import KernelDensity

    X, source = pixels()
    if quick:
        X = X[::10]
    n = len(X)
    hasher = Hasher(scumble.EuclideanKernel(BANDWIDTH), Design("sobol", 7, ROWS), buckets=BUCKETS, width=3)
    counts = np.zeros((ROWS, BUCKETS), np.int64)
    cpu.count(hasher, [Records(X[:300])], counts)
    found = []

    def add(name: str, prepare: float, query: float | None, note: str = "") -> None:
        found.append({"name": name, "data": source, "prepare": prepare, "query": query, "note": note})

    release = scumble.Sketch(
        scumble.EuclideanKernel(BANDWIDTH), 3, rows=ROWS, buckets=BUCKETS, seed=7, design="sobol"
    ).update(X).release(1.0)  # fmt: skip
    Q = X[np.random.default_rng(0).integers(0, n, QUERIES)] + 0.5
    release.kernel_sum(Q[:300])
    asked = seconds(lambda: release.kernel_sum(Q)) / QUERIES
    for threads in dict.fromkeys((cpu.available_threads(), 1)):
        taken = seconds(lambda t=threads: cpu.count(hasher, [Records(X)], np.zeros_like(counts), t))
        add(
            f"scumble, {threads} threads" if threads > 1 else "scumble, 1 thread", taken, asked if threads > 1 else None
        )
    shuffled = X + np.random.default_rng(1).uniform(0.0, 0.5, X.shape)
    taken = seconds(lambda: cpu.count(hasher, [Records(shuffled)], np.zeros_like(counts)))
    add("scumble, no record twice", taken, None, "the same with a random half unit added")
    add("plain NumPy, a row at a time", seconds(lambda: plain_numpy(hasher, X, np.zeros_like(counts)), 1), None)
    few = min(200, n)
    taken = seconds(lambda: record_at_a_time(hasher, X[:few], np.zeros_like(counts)), 1) * n / few
    add("plain Python, a record at a time", taken, None, f"{few} records, scaled")
    tree = KernelDensity(bandwidth=BANDWIDTH, algorithm="kd_tree", rtol=0.01)
    fitted = seconds(lambda: tree.fit(X), 1)
    some = Q[:: QUERIES // 200]
    add(
        "scikit-learn KernelDensity",
        fitted,
        seconds(lambda: tree.score_samples(some), 1) / len(some),
        f"Gaussian, kd-tree, rtol 0.01, not private; {len(some)} queries",
    )
    part = X[:: max(1, n // 20_000)]
    sketch = density_sketch(100, 3, GaussianKernel(BANDWIDTH))
    filled = seconds(lambda: [sketch.update(x) for x in part], 1) * n / len(part)
    ask = seconds(lambda: [sketch.get_estimate(q) for q in some], 1) / len(some)
    add(
        "Apache DataSketches density_sketch",
        filled,
        ask,
        f"Gaussian, k = 100, not private; {len(part):,} records, scaled",
    )
    return found


def table(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Two columns for each machine: seconds to prepare, and microseconds for one query of many."""
    lines = {line["name"]: line["note"] for each in found.values() for line in each}
    heads = [f"{name}: {what}" for name in found for what in ("preparation, s", "query, µs")]
    out = [f"| | {' | '.join(heads)} | remarks |", "|---" + "|---:" * len(heads) + "|---|"]
    for name, note in lines.items():
        cells = []
        for each in found.values():
            line = next((line for line in each if line["name"] == name), None)
            cells.append("" if line is None else f"{line['prepare']:,.3g}")
            cells.append("" if line is None or line["query"] is None else f"{line['query'] * 1e6:,.1f}")
        out.append(f"| {name} | {' | '.join(cells)} | {note} |")
    return out
