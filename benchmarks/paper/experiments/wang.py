"""The regression rivals in the scaling of Wang (2018), next to his published figures.

Records have length 1, the target is centered within [−1, 1], there is no constant, and the error is that of ten-fold
cross-validation; a repetition is a fold. The paper also compares in this scaling, as it runs Wang's code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.paper import data, protocol
from benchmarks.paper.regression import adaops, adassp, least_squares, objective, ops, race, scumble, ssp
from benchmarks.paper.task import Task

NAME = "wang"
DATASETS = ("airfoil", "gas")
OURS = {method.name: method for method in (scumble.METHOD, scumble.PURE_METHOD, race.METHOD, race.PUBLISHED)}
RIVALS = {
    method.name: method
    for method in (
        ssp.METHOD,
        ssp.PUBLISHED,
        adassp.METHOD,
        adassp.TIGHT,
        ops.METHOD,
        adaops.METHOD,
        objective.METHOD,
        objective.PUBLISHED,
        least_squares.METHOD,
        least_squares.TRIVIAL,
    )
}
METHODS = {**OURS, **RIVALS}
FLOORS = (least_squares.METHOD.name, least_squares.TRIVIAL.name)
PUBLISHED = {
    ("airfoil", "AdaSSP", 0.1): 0.0912,
    ("airfoil", "AdaSSP", 1.0): 0.0588,
    ("airfoil", "AdaSSP", 10.0): 0.0534,
    ("airfoil", "least squares", 10.0): 0.0533,
}
"""Mean squared errors in the author's results. For the other methods he gives plots only, and of gas he uses all ten
batches, so no figure can be compared."""
EPSILONS = (0.01, 0.1, 1.0, 10.0)
FOLDS = 10


def tasks(quick: bool) -> Iterable[Task]:
    for dataset in DATASETS[:1] if quick else DATASETS:
        for name in METHODS:
            budgets = protocol.budgets(quick) if quick else EPSILONS
            for epsilon in budgets[-1:] if name in FLOORS else budgets:
                for repetition in protocol.repetitions(quick):
                    yield Task(NAME, dataset, name, epsilon, repetition)


def run(task: Task) -> dict[str, Any]:
    X, y = data.wang(task.dataset)
    folds = np.array_split(np.random.default_rng(protocol.FIRST_SEED).permutation(len(X)), FOLDS)
    test = folds[task.repetition]
    train = np.concatenate([fold for k, fold in enumerate(folds) if k != task.repetition])
    method, seed = METHODS[task.method], protocol.seed(task.repetition)
    if task.method in OURS:
        predicted = method.fit(X[train], y[train], task.epsilon, protocol.DELTA, seed)(X[test])
    else:
        rng = np.random.default_rng(seed)
        predicted = X[test] @ method.fit(X[train], y[train], task.epsilon, protocol.DELTA, rng)
    return {"mse": float(np.mean((predicted - y[test]) ** 2))}
