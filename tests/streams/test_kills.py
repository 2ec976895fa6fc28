"""A stream that is killed, night after night, at another step each time: it goes on to the very same stream.

The noise of each period is read from the secret file while the period is open, before the night that closes it. A
machine that knows nothing of kills is fed with it. Whatever the stream publishes must be what that machine says.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import scumble
from processes import before_each_line, in_child
from scumble import files
from scumble.files import disk, format, places
from scumble.streams import published, stream
from scumble.streams.published import name_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
KERNEL = scumble.EuclideanKernel(1.0)
SIZE: dict[str, Any] = {"columns": ["x"], "rows": 2, "buckets": 4, "seed": 3, "design": "iid"}
WATCHED = [stream, places, disk, format, published]
NIGHTS = {"toeplitz": 44, "bridge": 36, "daily": 36}
"""Each is killed once, but for four at most of each method: 100 kills, together."""


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Kill the work before the step-th line of the watched files; False if it came to its end before."""
    lines = itertools.count(1)

    def traced() -> None:
        with before_each_line(WATCHED, lambda _: next(lines) == step and os.kill(os.getpid(), signal.SIGKILL)):
            work()

    code = in_child(traced)
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def day(number: int) -> pa.Table:
    return pa.table({"x": np.random.default_rng(number).normal(0.0, 2.0, 5)})


def night(home: Path, number: int) -> None:
    """What a cron job does, however often it is run: count the day's batch once, close its period once."""
    here = scumble.load_stream(home)
    try:
        if here.periods == number:
            here.update(day(number), batch=f"day {number}")
            here.save()
            here.close_period(number + 1)
    finally:
        here.close()


class Witness:
    """A machine next to the stream's, with the noise that lies in the stream's file."""

    def __init__(self, made: scumble.Stream) -> None:
        self._machine, self._method = made._method.machine(made._nodes.size), made._method
        self._spec, self._noise = made.spec, np.zeros(0)

    def look(self, home: Path, number: int) -> None:
        """Before the night: the period is open."""
        arrays = files.read(home, expect="stream").arrays
        stored = {name[8:]: array for name, array in arrays.items() if name.startswith("machine.")}
        block = getattr(self._method, "block", 1)

        def draw(node: str) -> np.ndarray:
            kind, place = node.split()
            if "leaves" not in stored:
                return stored["noise"].copy()
            if kind == "period":
                return stored["leaves"][int(place) % block].astype(np.int64)
            return stored["pinned"] + stored["leaves"].sum(axis=0, dtype=np.int64)

        self._machine.open(number, draw, lambda _, __, left: left)

    def expect(self, number: int) -> np.ndarray:
        """After the night: the total that must be published."""
        counts = scumble.Sketch(KERNEL, **SIZE).update(day(number)).secret.counts.ravel()
        self._machine.close(number, np.append(counts, 5), lambda _, noise, numbers: noise + numbers)
        return self._machine.total(number)


@pytest.mark.parametrize("method", NIGHTS)
def test_killed_every_night(method: str, tmp_path: Path) -> None:
    nights, home, out = NIGHTS[method], tmp_path / "s.secret", tmp_path / "out"
    made = scumble.Stream(KERNEL, periods=nights, epsilon=1.0, delta=1e-6, method=method, folder=out, **SIZE)
    witness = Witness(made)
    made.save(home)
    made.close()
    steps = _steps(home)
    kills = 0
    for number in range(nights):
        witness.look(home, number)
        kills += killed_at(1 + number * steps // nights, lambda number=number: night(home, number))
        closed = files.read(home, expect="stream").metadata["closed"]
        totals = sorted(file.name for file in out.iterdir() if not file.name.startswith("."))
        assert len(totals) <= closed <= number + 1, "nothing is given out before the file says so"
        night(home, number)
        release = scumble.load(out / name_of(number + 1))
        found = np.append(release.counts.ravel(), release.noisy_count)
        assert np.array_equal(found, witness.expect(number)), (method, number)
    assert kills >= nights - 4, "most kills hit"
    assert sorted(os.listdir(out)) == [name_of(number + 1) for number in range(nights)]
    assert sorted(os.listdir(tmp_path)) == ["out", "s.secret"], "no leftovers"


def _steps(home: Path) -> int:
    """How many lines of the watched files a night has, but for its first look at the file."""
    lines = itertools.count()
    other = home.parent / "other.secret"
    folder = home.parent / "others"
    size = {**SIZE, "folder": folder}
    made = scumble.Stream(KERNEL, periods=2, epsilon=1.0, delta=1e-6, method="daily", **size)
    made.save(other)
    made.close()
    with before_each_line(WATCHED, lambda _: next(lines)):
        night(other, 0)
    other.unlink()
    (folder / name_of(1)).unlink()
    folder.rmdir()
    return next(lines)
