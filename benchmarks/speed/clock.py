"""Time, threads and the machine, for every part of the suite."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import scumble
from scumble.counting.cpu import available_threads

SHORT, MOST = 0.3, 30
"""Short runs are repeated until so many seconds, or so many runs, have passed; a single one, never."""


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The best of some runs: what else the machine does can only slow it."""
    best, spent, runs = float("inf"), 0.0, 0
    while runs < repeats or (repeats > 1 and spent < SHORT and runs < MOST):
        start = time.perf_counter()
        work()
        taken = time.perf_counter() - start
        best, spent, runs = min(best, taken), spent + taken, runs + 1
    return best


def together(works: list[Callable[[], object]], repeats: int = 3) -> float:
    """Seconds until all are done, each in a thread of its own."""
    with ThreadPoolExecutor(len(works)) as pool:
        return seconds(lambda: [done.result() for done in [pool.submit(work) for work in works]], repeats)


def with_bytecode(folder: str) -> dict[str, str]:
    """Variables of a process that keeps Python's bytecode there: installers leave it, and a first run would make it."""
    return {"PYTHONPYCACHEPREFIX": os.path.join(folder, "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}


def machine() -> dict[str, Any]:
    """The machine's class, not its name."""
    return {
        "architecture": platform.machine(),
        "threads": available_threads(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba")},
        "scumble": scumble.__version__,
    }
