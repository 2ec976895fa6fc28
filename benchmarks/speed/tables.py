"""What people wait for who release a table and ask it: wall-clock time, in a process that has asked nothing before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import scumble

ROUNDS = 3


def made(records: int, numbers: int, categories: int) -> tuple[dict[str, Any], scumble.Schema]:
    """Some numbers, some categories, all of them dependent."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=records)
    columns: dict[str, Any] = {
        f"n{j}": np.clip(50 + 12 * (common + rng.normal(size=records)), 0, 99) for j in range(numbers)
    }
    schema: dict[str, Any] = {name: scumble.Number(0, 100) for name in columns}
    for j in range(categories):
        most = 2 * (j % 9) + 2
        levels = np.clip(np.rint(common + rng.normal(size=records) + most / 2), 0, most).astype(int)
        columns[f"c{j}"] = np.array([f"v{level}" for level in levels])
        schema[f"c{j}"] = scumble.Category([f"v{level}" for level in range(most + 1)])
    return columns, scumble.Schema(**schema)


def measure(quick: bool) -> dict[str, float]:
    """Seconds: the least of some rounds, each with a release of its own."""
    found: dict[str, float] = {}
    for records, numbers, categories in [(500, 2, 3)] if quick else [(48_842, 6, 9), (20_000, 30, 30)]:
        columns, schema = made(records, numbers, categories)
        for _ in range(1 if quick else ROUNDS):
            for what, seconds in _once(columns, schema).items():
                name = f"table, {records:,} × {numbers + categories}: {what}"
                found[name] = min(seconds, found.get(name, seconds))
    return found


def _once(columns: dict[str, Any], schema: scumble.Schema) -> dict[str, float]:
    taken: dict[str, float] = {}

    def clocked(what: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        made = work()
        taken[what] = time.perf_counter() - began
        return made

    release = clocked(
        "from columns to a release", lambda: scumble.TableSketch(schema).update(columns).release(epsilon=1.0)
    )
    clocked("the first count of two columns", lambda: release.count("n0 > 60 and c1 = 'v3'"))
    clocked("a cross-table", lambda: release.crosstab("c1", "c2"))
    clocked("the median of each group", lambda: release.quantile("n0", 0.5, by="c2"))
    clocked("10,000 synthetic rows", lambda: release.sample(10_000, 0, format="arrow"))
    return taken
