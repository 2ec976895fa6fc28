"""The first answer of a release, in a process of its own: CPU seconds and memory beyond the interpreter and the import.

`beside` is the source of another version: it is asked the same, in turn, and the table tells both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import scumble
from benchmarks.speed import tables
from benchmarks.speed.clock import with_bytecode

ASK = """
import contextlib, io, json, re, sys, time
def spent():
    with open("/proc/self/status") as status:  # getrusage would tell the peak of who started this process
        return time.process_time(), int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1024
import scumble
before, (path, at) = spent(), sys.argv[1:]
with contextlib.redirect_stdout(io.StringIO()):
    QUESTION
print(json.dumps([after - first for after, first in zip(spent(), before)]))
"""
NUMPY = "import numpy"
LINE = "from scumble.cli import main; main([{words}])"
OF_DENSITIES = {
    "`density`": "scumble.load(path).density([json.loads(at)])",
    "`interval`": "scumble.load(path).interval([json.loads(at)])",
    "`kernel_sum`": "scumble.load(path).kernel_sum([json.loads(at)])",
    "`scumble query`": LINE.format(
        words="'query', path, '--at', ','.join(f'{name}={x}' for name, x in zip('abcdef', json.loads(at)))"
    ),
    "`scumble info`": LINE.format(words="'info', path"),
}
OF_TABLES = {"`count`": "scumble.load(path).count(at)", "`scumble info`": LINE.format(words="'info', path")}
Found = dict[str, dict[str, list[list[float]]]]
"""Release, door: (CPU seconds, MiB) of this version, and of the other if there is one."""


def measure(quick: bool, beside: str | None = None) -> Found:
    sources = [str(Path(scumble.__file__).parents[1]), *([beside] if beside else [])]
    with tempfile.TemporaryDirectory() as folder:
        found: Found = {"NumPy's import": {"": [_best(NUMPY, folder + "/", "", source) for source in sources]}}
        for number, (name, make) in enumerate((_small() if quick else _releases()).items()):
            path = os.path.join(folder, f"{number}.scumble")
            release, at = make()
            release.save(path)
            doors = OF_TABLES if isinstance(release, scumble.TableRelease) else OF_DENSITIES
            found[name] = {
                door: [_best(question, path, at, source) for source in sources] for door, question in doors.items()
            }
    return found


def _best(question: str, path: str, at: str, source: str, times: int = 3) -> list[float]:
    """The least of some runs: what else the machine does can only slow it. Bytecode is kept, as installers keep it."""
    bytecode = with_bytecode(os.path.dirname(path))
    environment = {**os.environ, **bytecode, "PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-c", ASK.replace("QUESTION", question), path, at]
    runs = [subprocess.run(words, check=True, capture_output=True, text=True, env=environment) for _ in range(times)]
    return [min(values) for values in zip(*(json.loads(run.stdout) for run in runs), strict=True)]


def _small() -> dict[str, Callable[[], tuple[Any, str]]]:
    return {"grid, 8 × 8": lambda: _grid(8, 2), "rows, 16": lambda: _rows(16)}


def _releases() -> dict[str, Callable[[], tuple[Any, str]]]:
    return {
        "grid of one column, planned": lambda: _planned(0.5, 1),
        "grid, 128 × 128 × 128": lambda: _grid(128, 3),
        "grid, 31 × 31 × 31 × 31": lambda: _grid(31, 4),
        "grid of 3.6 million cells, planned": lambda: _planned(0.3, 3),
        "rows, 2,048 × 1,024, of a grid's cells": lambda: _rows(2048),
        "rows, 4,096 × 1,024, of a grid's cells": lambda: _rows(4096),
        "table, 48,842 × 15": _table,
    }


def _points(columns: int, records: int = 100_000) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(records, columns))


def _at(columns: int) -> str:
    return json.dumps([0.3 + 0.1 * column for column in range(columns)])


def _grid(cells: int, columns: int) -> tuple[Any, str]:
    made = scumble.Sketch(
        scumble.EuclideanKernel(1.0),
        columns=list("abcd"[:columns]),
        bounds=(-4, 4),
        design="grid",
        buckets=(cells,) * columns,
    )
    return made.update(_points(columns)).release(1.0), _at(columns)


def _planned(bandwidth: float, columns: int) -> tuple[Any, str]:
    """A large budget makes a fine grid."""
    made = scumble.Sketch(scumble.EuclideanKernel(bandwidth), columns=list("abcd"[:columns]), bounds=(-4, 4))
    return made.update(_points(columns)).release(100.0), _at(columns)


def _rows(rows: int) -> tuple[Any, str]:
    made = scumble.Sketch(scumble.EuclideanKernel(1.0, power=2), columns=list("abc"), rows=rows, buckets=1024)
    release = made.update(_points(3, 20_000)).release(1.0)
    spec = replace(release.spec, bounds=((-4.0,) * 3, (4.0,) * 3))  # as if a planned grid had become rows
    return release._with(spec=spec, counts=release.counts), _at(3)


def _table() -> tuple[Any, str]:
    """Of Adult's size."""
    columns, schema = tables.made(48_842, 6, 9)
    release = scumble.TableSketch(schema).update(columns).release(epsilon=1.0)
    return release, "n0 > 60 and c3 = 'v3'"


def table(found: Found) -> list[str]:
    doors = [*OF_DENSITIES, "`count`"]
    lines = [f"| | {' | '.join(doors)} | MiB |", "|---|" + "---:|" * (len(doors) + 1)]
    for name, by_door in found.items():
        told = [_told([one[0] for one in by_door[door]], "{:.2f}") if door in by_door else "" for door in doors]
        if "" in by_door:
            told[0] = _told([one[0] for one in by_door[""]], "{:.2f}")
        asked = [each for door, each in by_door.items() if door != "`scumble info`"]
        most = [max(one[version][1] for one in asked) for version in range(len(asked[0]))]
        lines.append(f"| {name} | {' | '.join(told)} | {_told(most, '{:.0f}')} |")
    return lines


def _told(values: list[float], form: str) -> str:
    """This version's value, and in brackets how many times as much the other took."""
    now, *before = values
    return form.format(now) + (f" ({before[0] / max(now, 1e-9):.1f})" if before else "")
