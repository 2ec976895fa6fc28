"""How cost grows: with records (to fifty million), rows and columns; and that memory does not."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np

import scumble
from benchmarks.speed.clock import seconds
from scumble.counting import Hasher, cpu
from scumble.kernels import Records
from scumble.kernels.design import Design

BATCH = 500_000


def _resident() -> float:
    """MiB of this process in memory now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def with_records(quick: bool) -> list[dict[str, float]]:
    """Batches of half a million through one sketch: seconds and memory at each number of records."""
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=(BATCH, 3)) for _ in range(2)]
    found = []
    for records in (10**6, 2 * 10**6) if quick else (10**6, 2 * 10**6, 5 * 10**6, 10**7, 2 * 10**7, 5 * 10**7):
        sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 3, rows=100, buckets=1024)
        sketch.update(batches[0][:1000])

        def work(sketch: scumble.Sketch = sketch, records: int = records) -> None:
            for k in range(records // BATCH):
                sketch.update(batches[k % 2])

        taken = seconds(work, 3 if records <= 10**7 else 1)
        found.append({"records": records, "seconds": taken, "resident_MiB": _resident()})
    return found


def with_size(quick: bool) -> dict[str, list[dict[str, float]]]:
    """Seconds as rows, columns and power grow, one at a time, from 20,000 records × 3 columns, 1,000 rows, power 1."""
    rng = np.random.default_rng(1)
    n = 2_000 if quick else 20_000

    def taken(columns: int, rows: int, power: int) -> float:
        X = rng.normal(size=(n, columns)) * (1.5 / np.sqrt(columns))
        kernel = scumble.EuclideanKernel(1.0, power=power)
        hasher = Hasher(kernel, Design("iid", 7, rows), buckets=1024, width=columns)
        counts = np.zeros((rows, 1024), np.int64)
        return seconds(lambda: cpu.count(hasher, [Records(X)], counts))

    return {
        "rows": [{"rows": r, "seconds": taken(3, r, 1)} for r in (100, 300, 1000, 3000, 10_000)],
        "columns": [{"columns": d, "seconds": taken(d, 1000, 1)} for d in (1, 3, 8, 26, 128, 384)],
        "power": [{"power": p, "seconds": taken(3, 1000, p)} for p in (1, 2, 4, 8)],
    }


def table(found: list[dict[str, float]]) -> list[str]:
    first = found[0]["seconds"] / found[0]["records"]
    out = ["| records | seconds | a record, of the first line | resident MiB |", "|---:|---:|---:|---:|"]
    for line in found:
        each = line["seconds"] / line["records"] / first
        out.append(f"| {line['records']:,} | {line['seconds']:.2f} | {each:.3f} | {line['resident_MiB']:.0f} |")
    return out


def plot(records: list[dict[str, float]], size: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Cost against records, rows, columns and power, each with a straight line through its last point."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    series: list[tuple[str, list[dict[str, Any]]]] = [("records", records), *size.items()]
    figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
    for axis, (name, points) in zip(axes, series, strict=True):
        x, y = (np.array([point[key] for point in points]) for key in (name, "seconds"))
        axis.loglog(x, y, "o-", color="#0072b2")
        axis.loglog(x, y[-1] * x / x[-1], "--", color="0.6", linewidth=1)
        axis.set_xlabel(name)
        axis.set_xticks(x, [f"{v:,.0f}" if v < 1e5 else f"{v / 1e6:.0f} M" for v in x], rotation=45, fontsize=7)
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("seconds")
    axes[0].annotate("dashed: proportional", (0.05, 0.9), xycoords="axes fraction", color="0.4", fontsize=8)
    figure.savefig(path)
    plt.close(figure)
