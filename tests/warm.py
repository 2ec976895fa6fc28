"""Builds in processes of their own, forked from one that has imported this file: each starts in milliseconds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import scumble
import scumble.sources.database
import scumble.sources.opening
from scumble.sources import Build, source
from scumble.sources import arrow as parquet

KERNEL = scumble.EuclideanKernel(1.0, 2)

scumble.Sketch(KERNEL, 2, rows=16, buckets=64, design="iid", threads=1).update(np.ones((3, 2)))


def options(folder: Path, kind: str) -> dict:
    """The arguments of a build of one kind of source."""
    where = {"csv": "t.csv", "folder": "t", "jsonl": "t.jsonl"}
    if kind == "sqlite":
        return {"source": f"sqlite:///{folder / 't.db'}", "query": "SELECT * FROM t"}
    return {"source": str(folder / where[kind])}


def job(about: dict, **more: object) -> Build:
    settings: dict = {"rows": 16, "buckets": 64, "seed": 3, "design": "iid", "invalid": "drop", "threads": 1}
    settings |= about | more
    return Build(settings.pop("source"), KERNEL, ["x", "y"], **settings)


def run(about: dict, checkpoint: str, result: str) -> None:
    """A build in a process of its own: small batches, a checkpoint after each."""
    source.BATCH_ROWS, parquet.AT_ONCE = 64, 1
    one = job(about, checkpoint=checkpoint, checkpoint_seconds=0.0)
    tally = one.count()
    np.savez(result + ".part.npz", counts=tally.sketches[0]._counts, dropped=tally.dropped, rows=tally.rows)
    os.replace(result + ".part.npz", result)
