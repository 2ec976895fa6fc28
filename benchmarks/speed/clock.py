"""Time, threads and the machine, for every part of the suite."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

from scumble.counting.cpu import available_threads


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The best of some runs: what else the machine does can only slow it."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def together(works: list[Callable[[], object]], repeats: int = 3) -> float:
    """Seconds until all are done, each in a thread of its own."""
    with ThreadPoolExecutor(len(works)) as pool:
        return seconds(lambda: [done.result() for done in [pool.submit(work) for work in works]], repeats)


def machine() -> dict[str, Any]:
    """The machine's class, not its name."""
    return {
        "architecture": platform.machine(),
        "threads": available_threads(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "scumble")},
    }
