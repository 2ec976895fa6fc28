"""What people wait for: importing, the command line, the first update, one query, noise, a whole build."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import scumble
from benchmarks.speed import tables
from benchmarks.speed.clock import seconds, with_bytecode
from scumble.privacy.noise import discrete_laplace

IMPORT = "import time; start = time.perf_counter(); import scumble; print(time.perf_counter() - start)"
FIRST_RESULT = """
import time
import numpy as np
start = time.perf_counter()
import scumble
X = np.random.default_rng(0).normal(size=({records}, 3))
sketch = scumble.Sketch(scumble.EuclideanKernel(1.0), 3, {options}).update(X)
sketch.release(1.0).kernel_sum(X[:5])
print(time.perf_counter() - start)
"""
ROWS, GRID = "rows=256, buckets=256", "bounds=([-4.0] * 3, [4.0] * 3)"
FIRST = {
    "first result, 1,000 records, rows": FIRST_RESULT.format(records=1_000, options=ROWS),
    "first result, 1,000 records, a planned grid": FIRST_RESULT.format(records=1_000, options=GRID),
    "first result, 1,000 records, a planned sketch": FIRST_RESULT.format(records=1_000, options=""),
    "first result, 1,000,000 records, rows": FIRST_RESULT.format(records=1_000_000, options=ROWS),
}
"""From the import to the first answers of a release."""


def _process(*command: str, environment: dict[str, str] | None = None) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **(environment or {})})
    return time.perf_counter() - start


def _told(program: str, environment: dict[str, str]) -> float:
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    return float(done.stdout)


def _build(folder: str, environment: dict[str, str]) -> float:
    """Of a table of 1,000 rows."""
    table, out = (os.path.join(folder, name) for name in ("table.csv", "out.scumble"))
    np.savetxt(table, np.random.default_rng(0).normal(size=(1000, 3)), delimiter=",", header="a,b,c", comments="")
    command = (sys.executable, "-m", "scumble", "build", table, "--bandwidth", "1", "--epsilon", "1", "--quiet")
    return _process(*command, "--out", out, environment=environment)


def _of_processes() -> dict[str, float]:
    """Each in a process of its own; Python's bytecode is there, and numba's loops are compiled where it says so."""
    with tempfile.TemporaryDirectory() as folder:
        bytecode = with_bytecode(folder)

        def cold(work: Callable[[str, dict[str, str]], float]) -> tuple[float, float]:
            """With an empty cache of loops, and again; by who has run the same before, with another cache."""
            taken = []
            for _ in range(2):
                with tempfile.TemporaryDirectory() as empty:
                    taken = [work(empty, {**bytecode, "NUMBA_CACHE_DIR": empty}) for _ in range(4)]
            return taken[0], min(taken[1:])

        found = {"import scumble": min(_told(IMPORT, bytecode) for _ in range(3))}
        command = sys.executable, "-m", "scumble", "--help"
        found["scumble --help"] = seconds(lambda: _process(*command, environment=bytecode))
        for what, program in FIRST.items():
            first, again = cold(lambda _, environment, program=program: _told(program, environment))  # type: ignore[misc]
            found |= {f"{what}, nothing compiled before": first, f"{what}, again": again}
        found["scumble build, 1,000 rows of CSV, nothing compiled before"] = cold(_build)[0]
        return found


def measure(quick: bool) -> dict[str, float]:
    found = _of_processes() | tables.measure(quick)
    discrete_laplace(1000, 100)
    found["noise for 10 million counters"] = seconds(lambda: discrete_laplace(1000, 10_000_000))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3))
    release = scumble.Sketch(scumble.EuclideanKernel(1.0), 3, rows=1000, buckets=1024).update(X).release(1.0)
    one = _each(release.kernel_sum, X)
    found["one query, R = 1,000"] = one
    found["one query with its interval, R = 1,000"] = _each(release.interval, X)
    return found


def _each(ask: Callable[[np.ndarray], Any], X: np.ndarray) -> float:
    ask(X[:1])
    return seconds(lambda: [ask(X[i : i + 1]) for i in range(200)], 5) / 200


def table(found: dict[str, dict[str, float]]) -> list[str]:
    """A column for each machine."""

    def shown(value: float | None) -> str:
        if value is None:
            return ""
        return f"{value * 1e6:.0f} µs" if value < 1e-3 else f"{value:.2f} s"

    names = dict.fromkeys(name for times in found.values() for name in times)
    rows = [[name, *(shown(times.get(name)) for times in found.values())] for name in names]
    return [
        f"| | {' | '.join(found)} |",
        "|---" + "|---:" * len(found) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
