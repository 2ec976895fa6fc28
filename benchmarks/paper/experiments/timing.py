"""How long a release takes to prepare, and a query to answer: all methods in one run, and how the time grows.

On skin, and on nyc for the methods of one dimension: every method with the parameters that are best there at ε = 1
(the search for them is not counted). Then the same with fewer records of skin, and on synthetic records of 1 to 128
columns, where the method takes the middle one of its settings.

`seconds_prepare` goes from the records to what is published, `seconds_open` is the analyst's first query (some methods
turn what was published into something that answers quickly), `seconds_query` a further one, of a thousand asked
together. Compilation is not counted: each method runs once before, on a few records.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.paper import protocol
from benchmarks.paper.densities import PAPER, DensitySet, density_set
from benchmarks.paper.experiments.density import BY_NAME, best_setting
from benchmarks.paper.functions import METHODS
from benchmarks.paper.functions.memo import forget
from benchmarks.paper.functions.method import Method, Setting
from benchmarks.paper.task import Task
from scumble import EuclideanKernel

NAME = "timing"
EPSILON = 1.0
RECORDS, QUICK_RECORDS = (1_000, 4_000, 16_000, 64_000), (1_000,)
COLUMNS, QUICK_COLUMNS = (1, 2, 3, 4, 6, 8, 16, 32, 64, 128), (1, 8)
SYNTHETIC = "normal"
WARM_UP = 300


def tasks(quick: bool) -> Iterable[Task]:
    whole, growing = (("hills-1d", "hills-3d"), "hills-3d") if quick else (("nyc", "skin"), "skin")
    for repetition in range(1 if quick else 3):
        for dataset in whole:
            for method in METHODS:
                yield Task(NAME, dataset, method.name, EPSILON, repetition)
    for method in METHODS:
        for n in QUICK_RECORDS if quick else RECORDS:
            yield Task(NAME, growing, method.name, EPSILON, 0, (("records", n),))
        for d in QUICK_COLUMNS if quick else COLUMNS:
            n = 1_000 if quick else 10_000
            yield Task(NAME, SYNTHETIC, method.name, EPSILON, 0, (("columns", d), ("records", n)))


def run(task: Task) -> dict[str, Any]:
    method = BY_NAME[task.method]
    data = _data(task)
    reason = method.why_not(*data.X.shape, EPSILON)
    if reason is not None:
        return {"cannot": reason}
    setting = _setting(task, method, data)
    _release(method, data, data.X[:WARM_UP], setting)(data.Q[:10])
    forget()
    seconds, cpu = perf_counter(), process_time()
    answer = _release(method, data, data.X, setting)
    prepared, prepared_cpu = perf_counter() - seconds, process_time() - cpu
    first, more = data.Q[:1], data.Q[1:1001]
    forget()
    seconds = perf_counter()
    answer(first)
    opened = perf_counter() - seconds
    forget()
    seconds = perf_counter()
    answer(more)
    return {
        "seconds_prepare": prepared,
        "cpu_prepare": prepared_cpu,
        "seconds_open": opened,
        "seconds_query": (perf_counter() - seconds) / len(more),
        **{f"setting_{name}": value for name, value in setting},
    }


def _release(method: Method, data: DensitySet, X: np.ndarray, setting: Setting) -> Any:
    seed = protocol.seed(0)
    return method.release(X, data.kernel, EPSILON, protocol.DELTA, seed, data.bounds, setting)


def _setting(task: Task, method: Method, data: DensitySet) -> Setting:
    if task.dataset not in PAPER:  # synthetic: no search
        settings = method.settings(*data.X.shape, EPSILON)
        return settings[len(settings) // 2]
    return best_setting(task.dataset, method, EPSILON)


def _data(task: Task) -> DensitySet:
    if task.dataset == SYNTHETIC:
        d, n = int(str(task.option("columns"))), int(str(task.option("records")))
        X = np.clip(np.random.default_rng(d).normal(size=(n + 2000, d)), -4.0, 4.0)
        return DensitySet(SYNTHETIC, X[2000:], X[:2000], EuclideanKernel(float(np.sqrt(d))), (-4.0, 4.0))
    data = density_set(task.dataset)
    n = int(str(task.option("records", len(data.X))))
    return DensitySet(data.name, data.X[:n], data.Q, data.kernel, data.bounds)
