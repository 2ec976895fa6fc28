"""Accuracy on a held-out fifth: nomao, occupancy, pulsar.

All methods get the same columns, scaled by public bounds, and have the same guarantee, ε with δ = 0. scumble's defaults
were developed on these three sets, so its figures are those of a method tuned to them; its kernel and rows were
chosen last, out of some fifty, by cross-validation within the training part of the first of these splits and on four
synthetic sets. The other splits redeal the same records. The rivals have no parameter but the least ridge of the
logistic regression, which uses other splits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.paper import data, protocol
from benchmarks.paper.classification import logistic, majority, naive_bayes, race, scumble
from benchmarks.paper.task import Task

NAME = "classification"
DATASETS = ("nomao", "occupancy", "pulsar")
METHODS = {
    method.name: method
    for method in (
        scumble.METHOD,
        scumble.ML,
        scumble.MAP,
        logistic.METHOD,
        naive_bayes.METHOD,
        race.METHOD,
        race.PUBLISHED,
        race.WITHOUT_NOISE,
        logistic.FLOOR,
        majority.METHOD,
    )
}
FLOORS = (race.WITHOUT_NOISE.name, logistic.FLOOR.name, majority.METHOD.name)
BANDWIDTHS = (race.METHOD.name, race.PUBLISHED.name, race.WITHOUT_NOISE.name)


def tasks(quick: bool) -> Iterable[Task]:
    return protocol.tasks(NAME, DATASETS[:1] if quick else DATASETS, METHODS, FLOORS, quick)


def run(task: Task) -> dict[str, Any]:
    X, y = data.classification(task.dataset)
    train, test = protocol.split(len(X), task.repetition)
    method = METHODS[task.method]
    reason = method.why_not(len(train), X.shape[1], task.epsilon)
    if reason is not None:
        return {"cannot": reason}
    more = {"bandwidth": race.BANDWIDTH[task.dataset]} if task.method in BANDWIDTHS else {}
    predict = method.fit(X[train], y[train], task.epsilon, protocol.seed(task.repetition), **more)
    return {"accuracy": float(np.mean(predict(X[test]) == y[test]))}
