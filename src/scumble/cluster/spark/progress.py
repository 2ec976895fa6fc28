"""How far a job is, told by partitions: rows are counted where they lie, and their number stays there."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Partitions(NamedTuple):
    """Partitions counted so far, those of upstream stages and of merging included, of all that are known by now."""

    done: int
    of: int


Report = Callable[[Partitions], None]

EVERY = 0.5
"""Seconds between two looks."""


@contextlib.contextmanager
def watched(context: Any, report: Report | None) -> Iterator[None]:
    """Tell `report` of the jobs that this thread starts meanwhile.

    Jobs are known by their group, so a group that was set before is put aside; without `report` nothing changes.
    """
    if report is None or context is None:
        yield
        return
    group = f"scumble-{uuid.uuid4()}"
    keys = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    before = {key: context.getLocalProperty(key) for key in keys}
    context.setJobGroup(group, "scumble: counting partitions", interruptOnCancel=True)
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context.statusTracker(), group, report, stop), daemon=True)
    watcher.start()
    try:
        yield
    except KeyboardInterrupt:
        context.cancelJobGroup(group)
        raise
    finally:
        stop.set()
        watcher.join()
        for key, value in before.items():
            context.setLocalProperty(key, value)


def _watch(tracker: Any, group: str, report: Report, stop: threading.Event) -> None:
    last = None
    while not stop.wait(EVERY):
        state = _look(tracker, group)
        if state != last and state.of:
            report(state)
            last = state


def _look(tracker: Any, group: str) -> Partitions:
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    known = [info for info in map(tracker.getStageInfo, sorted(stages)) if info is not None]
    return Partitions(sum(info.numCompletedTasks for info in known), sum(info.numTasks for info in known))
