"""A line on standard error that says how far a pass is, or what takes its time, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from scumble.cli.streams import PlainText
from scumble.errors import many
from scumble.machine.steps import watched

PATIENCE = 2.0
"""Seconds that nobody need be told about."""
REHEARSING = "Rehearsing, on made-up tables, how far answers may be off: this takes a while, once for each command …"


@contextlib.contextmanager
def waiting(quiet: bool, what: str = REHEARSING) -> Iterator[None]:
    """Say what is being done, if it takes longer than that, and how far it is; the line is cleared in the end."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    told = threading.Event()
    groups = GroupLine(told, what)

    def tell() -> None:
        told.set()
        _write(what)

    timer = threading.Timer(PATIENCE, tell)
    timer.daemon = True
    timer.start()
    try:
        with watched(groups):
            yield
    finally:
        timer.cancel()
        timer.join()
        if told.is_set():
            _write()


def _write(line: str = "") -> None:
    PlainText(getattr(sys.stderr, "stream", sys.stderr)).redraw(line)


class GroupLine:
    """How many groups are answered, and the time left, a few times a second, once patience is over.

    The first answer may be a long rehearsal, so time is taken from the second on. After the last, other work may
    follow: then it says again `what` is being done.
    """

    def __init__(self, told: threading.Event, what: str) -> None:
        self._told, self._what = told, what
        self._start = self._last = 0.0

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if done == of:
            if self._last:
                _write(self._what)
            self._last = 0.0
        elif done <= 1:
            self._start = now
        elif self._told.is_set() and now - self._last >= 0.2:
            self._last = now
            left = (now - self._start) / (done - 1) * (of - done)
            _write(f"{done / of:4.0%}  {done:,} of {of:,} groups  {_clock(left)} left")


class ProgressLine:
    """Rows, speed, share and time left, a few times a second. The number of rows is for the curator's eyes."""

    def __init__(self, quiet: bool) -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._last = 0.0

    def __call__(self, state: object) -> None:
        now = time.monotonic()
        if not self._on or now - self._last < 0.2:
            return
        self._last = now
        _write(words(state))

    def close(self) -> None:
        """Clear the line."""
        if self._on and self._last:
            _write()


def words(state: Any) -> str:
    """How far a pass is, in a line; on a cluster, by partitions.

    >>> from scumble.sources import Progress
    >>> words(Progress(1200, 400.0, 0.25, 9.0))
    ' 25%  1,200 rows  400 rows/s  0:09 left'
    """
    if hasattr(state, "of"):
        return f"{state.done / state.of:4.0%}  {state.done:,} of {state.of:,} partitions"
    parts = [many(state.rows, "row"), f"{state.rows_per_second:,.0f} rows/s"]
    if state.done is not None:
        parts.insert(0, f"{state.done:4.0%}")
    if state.seconds_left is not None:
        parts.append(f"{_clock(state.seconds_left)} left")
    return "  ".join(parts)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
