"""As many processes as cores, each with its share of the work and one thread: what the machine has to give.

They share no interpreter, no memory and no lock. What they take longer than one process alone would for a share is the
machine's: its clock, its caches, its memory, and other programs on it. Threads cannot be asked for more.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from scumble.counting import cpu

ROUNDS = 3
"""Each number of threads, and of processes, has its turn so many times: what else the machine does slows all alike."""
What = TypeVar("What")
Maker = Callable[[What, int, Path], Callable[[int], Any]]
"""From a case, its number of records and a folder to work that takes a number of threads."""


def apart(make: Maker[What], case: What, records: int, processes: int) -> dict[str, float]:
    """Seconds until a process is done, in the mean, and until the last one is; of some rounds that of least mean."""
    spawn = mp.get_context("spawn")
    gate, told = spawn.Barrier(processes), spawn.Queue()
    cores = sorted(os.sched_getaffinity(0))
    each = [
        spawn.Process(target=_one, args=(make, case, records // processes, core, gate, told))
        for core in cores[:processes]
    ]
    for process in each:
        process.start()
    rounds = list(zip(*(told.get() for _ in each), strict=True))
    for process in each:
        process.join()
    best = min(rounds, key=sum)
    return {"mean": sum(best) / processes, "last": max(best)}


def _one(make: Maker[What], case: What, records: int, core: int, gate: Any, told: Any) -> None:
    """One process: prepare, warm up, and work whenever all are ready."""
    os.sched_setaffinity(0, {core})
    cpu.numpy_first.limits = cpu.exact_first.limits = (0, 0)
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        work = make(case, records, Path(folder))
        work(1)
        for _ in range(ROUNDS):
            gate.wait()
            began = time.perf_counter()
            work(1)
            taken.append(time.perf_counter() - began)
    told.put(taken)
