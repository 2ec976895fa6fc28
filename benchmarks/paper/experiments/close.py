"""A hundred releases each where ten do not decide: one column, a δ, and the two rivals that come near.

The mean of ten releases has a standard error of up to a tenth of itself here, more than the best methods differ by.
Sets, queries, errors and settings are those above.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.paper import protocol
from benchmarks.paper.experiments import density
from benchmarks.paper.task import Task

NAME = "close"
CELLS = tuple((dataset, epsilon) for dataset in ("nyc", "sf") for epsilon in (0.03, 0.1, 0.3, 1.0, 3.0))
METHODS = ("scumble, δ = 1e-06", "Kernel mean embedding", "PFDA")
RELEASES = 10
"""In a row, which has their mean."""


def tasks(quick: bool) -> Iterable[Task]:
    cells = (("hills-1d", 1.0),) if quick else CELLS
    for dataset, epsilon in cells:
        for method in METHODS:
            for repetition in protocol.repetitions(quick):
                yield Task(NAME, dataset, method, epsilon, repetition)


def run(task: Task) -> dict[str, Any]:
    first = protocol.REPETITIONS + RELEASES * task.repetition  # seeds that the other experiment does not use
    errors = [
        density.run(task._replace(experiment=density.NAME, repetition=first + k))["relative_error"]
        for k in range(RELEASES)
    ]
    return {"relative_error": sum(errors) / RELEASES}
