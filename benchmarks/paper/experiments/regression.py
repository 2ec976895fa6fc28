"""Test error of linear regression: airfoil, naval, gas; columns and target within [−1, 1].

The rivals need records within the unit ball: [x, 1]/√(d + 1). All of them are (ε, δ)-private with δ = 1e-6, and so is
scumble; scumble and the paper's method are also shown with δ = 0. Predictions of all methods are clipped to the
target's public bounds. scumble's rows, penalty and anchor were developed on these sets with other splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.paper import data, protocol
from benchmarks.paper.method import Method
from benchmarks.paper.regression import adaops, adassp, least_squares, mean, objective, ops, race, scumble, ssp
from benchmarks.paper.task import Task

NAME = "regression"
DATASETS = ("airfoil", "naval", "gas")
OURS = {
    method.name: method
    for method in (scumble.METHOD, scumble.PURE_METHOD, race.METHOD, race.PUBLISHED, race.WITHOUT_NOISE)
}
RIVALS = {
    method.name: method
    for method in (
        ssp.METHOD,
        adassp.METHOD,
        adassp.TIGHT,
        ops.METHOD,
        adaops.METHOD,
        objective.METHOD,
        least_squares.METHOD,
        mean.METHOD,
    )
}
METHODS = {**OURS, **RIVALS}
FLOORS = (race.WITHOUT_NOISE.name, least_squares.METHOD.name, mean.METHOD.name)


def tasks(quick: bool) -> Iterable[Task]:
    return protocol.tasks(NAME, DATASETS[:1] if quick else DATASETS, METHODS, FLOORS, quick)


def run(task: Task) -> dict[str, Any]:
    X, y = data.regression(task.dataset)
    train, test = protocol.split(len(X), task.repetition)
    method = METHODS[task.method]
    reason = method.why_not(len(train), X.shape[1], task.epsilon)
    if reason is not None:
        return {"cannot": reason}
    predict = model(method, X[train], y[train], task)
    return {"mse": float(np.mean((np.clip(predict(X[test]), -1.0, 1.0) - y[test]) ** 2))}


def model(method: Method, X: np.ndarray, y: np.ndarray, task: Task) -> Callable[[np.ndarray], np.ndarray]:
    seed = protocol.seed(task.repetition)
    if task.method in OURS:
        return method.fit(X, y, task.epsilon, protocol.DELTA, seed)
    theta = method.fit(on_ball(X), y, task.epsilon, protocol.DELTA, np.random.default_rng(seed))
    return lambda Q: on_ball(Q) @ theta


def on_ball(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.ones(len(X))]) / np.sqrt(X.shape[1] + 1.0)
