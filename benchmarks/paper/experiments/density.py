"""Function release: the error of the density at 2,000 held-out queries, by every method at the same budget.

`relative_error` is the mean of |estimate − truth|/truth, `l2_error` the root mean square of estimate − truth. All
methods hide whether a record is there, with N unknown, and their answers are cut to [0, 1], where densities lie.
LSQ by the fast Gauss transform knows the Gaussian kernel alone, exp(−c²/w²), and its errors are against the exact
density of that kernel; all others release the LSH kernel of the paper. The Gaussian has lighter tails, so remote
queries have far smaller densities, and the same noise a far larger relative error there.

scumble has nothing to choose: `plan` does, from public facts. For every other method the best of a list of parameters
is taken in hindsight for each set and budget, by its error at 500 of the records themselves, and nobody pays for that
look: a favor that no real user could have.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.paper import protocol
from benchmarks.paper.densities import PAPER, QUICK, SIZES, density_set, truth
from benchmarks.paper.functions import METHODS
from benchmarks.paper.functions.method import Method, Setting
from benchmarks.paper.task import Task

NAME = "density"
BY_NAME = {method.name: method for method in METHODS}
PILOT_SEEDS, PILOT_DRAWS = (900, 901), 3


def tasks(quick: bool) -> Iterable[Task]:
    for dataset in QUICK if quick else PAPER:
        for method in METHODS:
            budgets = protocol.budgets(quick)
            if method.private == "none":  # does not depend on ε
                budgets = budgets[-1:]
            repetitions = protocol.repetitions(quick)
            if method.why_not(*SIZES[dataset], budgets[-1]):
                budgets, repetitions = budgets[-1:], range(1)
            for repetition in repetitions:
                for epsilon in budgets:
                    yield Task(NAME, dataset, method.name, epsilon, repetition)


def run(task: Task) -> dict[str, Any]:
    data, method = density_set(task.dataset), BY_NAME[task.method]
    reason = method.why_not(*data.X.shape, task.epsilon)
    if reason is not None:
        return {"cannot": reason}
    setting = best_setting(task.dataset, method, task.epsilon)
    answer = released(task.dataset, method, task.epsilon, setting, protocol.seed(task.repetition))
    exact = truth(task.dataset, method.own_kernel(data.kernel))
    return {**errors(answer(data.Q), exact), **{f"setting_{name}": value for name, value in setting}}


def errors(estimate: np.ndarray, exact: np.ndarray) -> dict[str, float]:
    estimate = np.clip(estimate, 0.0, 1.0)
    return {
        "relative_error": float(np.mean(np.abs(estimate - exact) / exact)),
        "l2_error": float(np.sqrt(np.mean(np.square(estimate - exact)))),
    }


def released(dataset: str, method: Method, epsilon: float, setting: Setting, seed: int) -> Any:
    """In two steps, so a summary can serve several budgets."""
    data = density_set(dataset)
    summary = method.summarize(data.X, data.kernel, data.bounds, setting, seed)
    return method.publish(summary, epsilon, protocol.DELTA, np.random.default_rng([seed, 1]))


@lru_cache(maxsize=4096)
def best_setting(dataset: str, method: Method, epsilon: float) -> Setting:
    """The setting of least mean error at the pilots, over two seeds and three draws of noise for each."""
    data = density_set(dataset)
    settings = method.settings(*data.X.shape, epsilon)
    if len(settings) == 1:
        return settings[0]
    exact = truth(dataset, method.own_kernel(data.kernel), True)

    def error(setting: Setting) -> float:
        found = []
        for seed in PILOT_SEEDS:
            summary, rng = (
                method.summarize(data.X, data.kernel, data.bounds, setting, seed),
                np.random.default_rng(seed),
            )
            for _ in range(PILOT_DRAWS):
                answer = method.publish(summary, epsilon, protocol.DELTA, rng)
                found.append(errors(answer(data.pilots), exact)["relative_error"])
        return float(np.mean(found))

    return min(settings, key=error)
