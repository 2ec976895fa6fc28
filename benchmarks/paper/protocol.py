"""What all experiments share: the budgets, the repetitions and the splits."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from benchmarks.paper.task import Task

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
QUICK_EPSILONS = (1.0,)
REPETITIONS = 10
DELTA = 1e-6
"""Of all methods that need one."""
FIRST_SEED = 77_000
"""Of the splits: none of them was used while scumble's defaults were developed."""


def budgets(quick: bool) -> tuple[float, ...]:
    return QUICK_EPSILONS if quick else EPSILONS


def repetitions(quick: bool) -> range:
    return range(1 if quick else REPETITIONS)


def tasks(
    experiment: str, datasets: Iterable[str], methods: Iterable[str], floors: Collection[str], quick: bool
) -> Iterable[Task]:
    """Every method on every data set; `floors` do not depend on ε and run once for each split, at the largest."""
    for dataset in datasets:
        for name in methods:
            for repetition in repetitions(quick):
                for epsilon in budgets(quick)[-1:] if name in floors else budgets(quick):
                    yield Task(experiment, dataset, name, epsilon, repetition)


def seed(repetition: int) -> int:
    return FIRST_SEED + repetition


def split(n: int, repetition: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the training records and of the held-out fifth."""
    order = np.random.default_rng(seed(repetition)).permutation(n)
    return order[n // 5 :], order[: n // 5]
