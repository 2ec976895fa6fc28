"""The three rules of classification on the very same releases: what the rule alone is worth.

One sketch a class with the paper's kernel and its recommended least size, Sobol rows, ε with δ = 0; then maximum
likelihood, maximum a posteriori and ferns decide from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import scumble
from benchmarks.paper import data, protocol
from benchmarks.paper.classification.race import BANDWIDTH, BUCKETS, ROWS
from benchmarks.paper.task import Task
from scumble.density.bundle import Bundle
from scumble.learn import PrivateKDEClassifier

NAME = "ablations_learning"
DATASETS = tuple(BANDWIDTH)
RULES = ("ml", "map", "ferns")


def tasks(quick: bool) -> Iterable[Task]:
    for dataset in DATASETS[2:] if quick else DATASETS:
        for epsilon in protocol.budgets(quick):
            for repetition in protocol.repetitions(quick):
                yield Task(NAME, dataset, "rules", epsilon, repetition)


def run(task: Task) -> dict[str, Any]:
    X, y = data.classification(task.dataset)
    train, test = protocol.split(len(X), task.repetition)
    bundle = released(X[train], y[train], BANDWIDTH[task.dataset], task.epsilon, protocol.seed(task.repetition))
    found = {}
    for rule in RULES:
        model = PrivateKDEClassifier.from_release(bundle, rule=rule)
        found[rule] = float(np.mean(model.predict(X[test]) == y[test]))
    return found


def released(X: np.ndarray, y: np.ndarray, bandwidth: float, epsilon: float, seed: int) -> Bundle:
    kernel = scumble.EuclideanKernel(bandwidth)
    size: dict[str, Any] = {"rows": ROWS, "buckets": BUCKETS, "seed": seed, "design": "sobol"}
    return Bundle(
        {c: scumble.Sketch(kernel, X.shape[1], **size).update(X[y == c]).release(epsilon=epsilon) for c in (0, 1)}
    )
