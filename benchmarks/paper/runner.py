"""Runs tasks in worker processes and writes each finished row down at once, so a killed run goes on where it was.

The journal is a file of JSON lines that only the parent writes: a line ``about`` for each start (versions, machine,
commit), then one line per row, flushed to the disk. What a kill leaves half written is cut off at the next start. A
worker gets all tasks of one method on one data set in one batch, as they share what is costly to prepare (one
repetition's where there are many workers), and has one core. Experiments that measure time come last and run alone.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib import import_module, metadata
from itertools import groupby
from multiprocessing.connection import Connection, wait
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import scumble
from benchmarks.paper import experiments, protocol
from benchmarks.paper.task import Task

HERE = Path(__file__).resolve().parent
JOURNAL = HERE / "results.partial.jsonl"
ALONE = ("timing",)
"""Experiments that measure time: nothing else runs then, and they may use every core."""
LIBRARIES = ("numpy", "scipy", "numba", "pandas", "scikit-learn")
Row = dict[str, Any]


def modules() -> dict[str, ModuleType]:
    """Every experiment, discovered: by its name, those that run alone last."""
    found = [import_module(f"{experiments.__name__}.{info.name}") for info in iter_modules(experiments.__path__)]
    return {module.NAME: module for module in sorted(found, key=lambda module: module.NAME in ALONE)}


def all_tasks(
    quick: bool, only: Sequence[str] = (), datasets: Sequence[str] = (), methods: Sequence[str] = ()
) -> list[Task]:
    """Tasks of the chosen experiments, data sets and methods; of all, where none is named."""
    chosen = [module for name, module in modules().items() if not only or name in only]
    return [
        task
        for module in chosen
        for task in module.tasks(quick)
        if (not datasets or task.dataset in datasets) and (not methods or task.method in methods)
    ]


# ---- the journal ----


class Journal:
    """Rows on the disk, by the keys of their tasks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        whole = 0
        if path.exists():
            for line in path.read_bytes().splitlines(keepends=True):
                if not line.endswith(b"\n"):
                    break  # the last line of a run that was killed
                whole += len(line)
                self._take(json.loads(line))
            os.truncate(path, whole)
        path.parent.mkdir(parents=True, exist_ok=True)

    def _take(self, entry: Row) -> None:
        if "about" in entry:
            self.runs[entry["run"]] = entry["about"]
        elif "forget" in entry:
            self.rows.pop(entry["forget"], None)
        else:
            self.rows[entry["key"]] = entry

    def write(self, entry: Row) -> None:
        self._take(entry)
        with self.path.open("ab") as file:
            file.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def about() -> dict[str, Any]:
    """What a number depends on besides its task; no name of a machine, person or folder.

    A copy of the sources that has no history takes its commit from SCUMBLE_COMMIT.
    """
    return {
        "commit": _git("rev-parse", "--short=12", "HEAD") or os.environ.get("SCUMBLE_COMMIT", "unknown"),
        "changed": bool(_git("status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks")),
        "python": platform.python_version(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "versions": {"scumble": scumble.__version__, **{name: metadata.version(name) for name in LIBRARIES}},
        "first_seed": protocol.FIRST_SEED,
        "noise": "rivals: seeded by the repetition; scumble: from the operating system, never seeded",
    }


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=HERE.parents[1], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


# ---- running ----


def run(tasks: Iterable[Task], journal: Journal, jobs: int) -> None:
    """Run all tasks that have no row yet."""
    left = [task for task in tasks if task.key not in journal.rows]
    if not left:
        return
    facts = about()
    started = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:8]
    journal.write({"run": started, "about": facts})
    progress = Progress(left, journal, jobs)
    together = [task for task in left if task.experiment not in ALONE]
    alone = [task for task in left if task.experiment in ALONE]
    for part, workers, pinned in ((together, jobs, True), (alone, 1, False)):
        for row in _rows(_batches(part, workers), workers, pinned):
            journal.write({**row, "run": started})
            progress.show(row)


def _batches(tasks: list[Task], workers: int) -> list[list[Task]]:
    """By method and data set; where that gives a worker fewer than two, each repetition by itself."""
    whole = [list(group) for _, group in groupby(tasks, key=lambda task: (task.experiment, task.dataset, task.method))]
    if len(whole) >= 2 * workers or workers == 1:
        return whole
    return [list(group) for batch in whole for _, group in groupby(batch, key=lambda task: task.repetition)]


def _rows(batches: list[list[Task]], workers: int, pinned: bool) -> Iterable[Row]:
    """Rows as they are finished, by processes that each work on one batch at a time."""
    context = multiprocessing.get_context("spawn")
    waiting = iter(batches)
    busy: dict[Connection, Any] = {}

    def start(core: int) -> None:
        mine, theirs = context.Pipe()
        with _threads(1 if pinned else None):
            process = context.Process(target=_work, args=(theirs, core if pinned else None), daemon=True)
            process.start()
        theirs.close()
        busy[mine] = process
        mine.send(next(waiting, None))

    try:
        for core in range(min(workers, len(batches))):
            start(core)
        while busy:
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                try:
                    message = connection.recv()
                except EOFError:
                    raise SystemExit("A worker ended without an answer (out of memory?). Run again to go on.") from None
                if message == "next":
                    batch = next(waiting, None)
                    connection.send(batch)
                    if batch is None:
                        busy.pop(connection).join()
                elif "error" in message:
                    raise SystemExit(f"{message['key']} failed:\n{message['error']}")
                else:
                    yield message
    finally:
        for process in busy.values():
            process.terminate()


class _threads:
    """The environment of a worker that is about to start: how many threads its libraries may use."""

    NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

    def __init__(self, count: int | None) -> None:
        self.count = count

    def __enter__(self) -> None:
        self.before = {name: os.environ.get(name) for name in self.NAMES}
        if self.count is not None:
            os.environ.update(dict.fromkeys(self.NAMES, str(self.count)))

    def __exit__(self, *_: object) -> None:
        for name, value in self.before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _work(connection: Connection, core: int | None) -> None:
    """A worker: batches in, rows out."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})
    known = modules()
    try:
        while (batch := connection.recv()) is not None:
            for task in batch:
                connection.send(_answer(known[task.experiment], task))
            connection.send("next")
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent is gone


def _answer(module: ModuleType, task: Task) -> Row:
    try:
        return _row(module, task)
    except Exception:
        return {"key": task.key, "error": traceback.format_exc()}


def _row(module: ModuleType, task: Task) -> Row:
    clock, cpu = time.perf_counter(), time.process_time()
    result = module.run(task)
    spent = {"seconds": round(time.perf_counter() - clock, 3), "cpu": round(time.process_time() - cpu, 3)}
    return {"key": task.key, **task._asdict(), "options": dict(task.options), "result": result, **spent}


class Progress:
    """One line on stderr every few seconds: how much is done, and how long the rest may take."""

    EVERY = 5.0

    def __init__(self, left: list[Task], journal: Journal, jobs: int) -> None:
        self.total, self.jobs, self.shown = len(left), jobs, 0.0
        self.left = {task.key: task for task in left}
        self.taken: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for row in journal.rows.values():
            self._learn(row)

    def show(self, row: Row) -> None:
        self.left.pop(row["key"])
        self._learn(row)
        if time.monotonic() - self.shown < self.EVERY and self.left:
            return
        self.shown = time.monotonic()
        minutes = sum(map(self._expected, self.left.values())) / self.jobs / 60.0
        done = f"{self.total - len(self.left):>6}/{self.total}"
        print(f"{done}  {row['key']:<70.70}  about {minutes:.0f} min left", file=sys.stderr, flush=True)

    def _learn(self, row: Row) -> None:
        self.taken[row["experiment"], row["dataset"], row["method"]].append(row["seconds"])
        self.taken[(row["experiment"],)].append(row["seconds"])

    def _expected(self, task: Task) -> float:
        """What its like have taken."""
        for key in ((task.experiment, task.dataset, task.method), (task.experiment,)):
            if self.taken.get(key):
                return sum(self.taken[key]) / len(self.taken[key])
        return 1.0
