"""A competitor in a process of its own: what it makes of a table, and the CPU and memory that it takes.

Ours and rivals alike run on one core, from the integer codes to their result, imports and compilation included. The
limit is one of CPU, so that a busy machine is no excuse.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.tables.data import Table
from benchmarks.tables.protocol import Rows
from benchmarks.tables.rivals import RIVALS
from scumble.table.grouping import Column
from scumble.table.mixture import Mixture

LIMIT = 1800
"""CPU seconds for a fit and its rows."""
OURS = ("joint", "per_class")
ALONE = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""One core for everybody."""

PROGRAM = """
import sys, numpy as np
from benchmarks.tables import releasing
from benchmarks.tables.measuring import budget
from benchmarks.tables.running import given
made = getattr(releasing, "{method}")(given(sys.argv[1]), budget({epsilon}, {delta}))
rows = [made.model.weights, *made.model.columns]
"""
EPILOGUE = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
parts = rows if isinstance(rows, list) else [rows.astype(np.int32)]
np.savez(sys.argv[2], *parts, cpu=used.ru_utime + used.ru_stime, mib=used.ru_maxrss / 1024)
"""


@dataclass(frozen=True)
class Made:
    """The result, and what it took."""

    distribution: Mixture | Rows
    cpu: float
    mib: float

    def draw(self, number: int) -> np.ndarray:
        """As many synthetic rows."""
        generator = np.random.default_rng(0)
        if isinstance(self.distribution, Mixture):
            return self.distribution.draw(number, generator)
        return generator.permutation(self.distribution.codes)[:number]


def run(method: str, table: Table, epsilon: float, delta: float, limit: int = LIMIT) -> Made | str:
    """What `method` makes of the private rows, or why there is nothing."""
    rival = RIVALS.get(method)
    if rival is not None and not (delta or rival.pure):
        return "needs a δ"
    try:
        python = rival.python() if rival else sys.executable
    except (subprocess.CalledProcessError, OSError) as problem:
        return _why(problem)
    ours = PROGRAM.format(method=method, epsilon=epsilon, delta=delta)
    program = rival.script(epsilon, delta) if rival else ours
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "codes.npz"), Path(folder, "made.npz")
        groups = [grouped(column, rival.cells if rival else None) for column in table.columns]
        codes = np.stack([group[table.codes[:, j]] for j, group in enumerate(groups)], 1)
        ordered = [column.ordered for column in table.columns]
        sizes = [int(group[-1]) + 1 for group in groups]
        np.savez(before, codes=codes, sizes=sizes, ordered=ordered, target=table.target)
        try:
            subprocess.run(
                [python, "-c", program + EPILOGUE, before, after],
                check=True,
                capture_output=True,
                env=os.environ | ALONE,
                preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (limit, limit + 5)),
            )
        except (subprocess.CalledProcessError, OSError) as problem:
            if getattr(problem, "returncode", 0) in (-24, -9):
                return f"not ended in {limit:,} s of one core"
            return _why(problem)
        with np.load(after) as made:
            parts = [made[f"arr_{i}"] for i in range(len(made.files) - 2)]
            taken = float(made["cpu"]), float(made["mib"])
    if rival is None:
        return Made(Mixture(parts[0], tuple(parts[1:])), *taken)
    return Made(Rows(divided(parts[0], groups), tuple(len(group) for group in groups)), *taken)


def grouped(column: Column, cells: int | None) -> np.ndarray:
    """The group of each level, groups being numbered from zero: neighboring cells of a number, `cells` at most."""
    width = 1 if cells is None else max(1, math.ceil(column.ordered / cells))
    runs = np.arange(column.ordered) // width
    return np.concatenate([runs, math.ceil(column.ordered / width) + np.arange(column.levels - column.ordered)])


def divided(rows: np.ndarray, groups: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of levels from rows of groups, each level of a group as likely as the others."""
    generator = np.random.default_rng(0)
    columns = []
    for group, found in zip(groups, rows.T, strict=True):
        first, size = np.searchsorted(group, found), np.bincount(group)[found]
        columns.append(first + generator.integers(0, size))
    return np.stack(columns, 1)


def given(path: str) -> Table:
    """The table that a competitor of ours was given."""
    with np.load(path) as file:
        columns = tuple(Column(int(s), int(o)) for s, o in zip(file["sizes"], file["ordered"], strict=True))
        return Table("", (), columns, (), file["codes"], int(file["target"]))


def _why(problem: Exception) -> str:
    """The last line of what went wrong."""
    told = getattr(problem, "stderr", None) or str(problem).encode()
    return "failed: " + told.decode(errors="replace").strip().splitlines()[-1][:100].replace("|", "/")
