"""A line on standard error that says how far a pass is, on a terminal only."""

from __future__ import annotations

import sys
import time
from typing import Any


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
        sys.stderr.write("\r\x1b[K" + words(state))
        sys.stderr.flush()

    def close(self) -> None:
        """Clear the line."""
        if self._on and self._last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def words(state: Any) -> str:
    """How far a pass is, in a line; on a cluster, by partitions.

    >>> from scumble.sources import Progress
    >>> words(Progress(1200, 400.0, 0.25, 9.0))
    ' 25%  1,200 rows  400 rows/s  0:09 left'
    """
    if hasattr(state, "of"):
        return f"{state.done / state.of:4.0%}  {state.done:,} of {state.of:,} partitions"
    parts = [f"{state.rows:,} rows", f"{state.rows_per_second:,.0f} rows/s"]
    if state.done is not None:
        parts.insert(0, f"{state.done:4.0%}")
    if state.seconds_left is not None:
        parts.append(f"{_clock(state.seconds_left)} left")
    return "  ".join(parts)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
