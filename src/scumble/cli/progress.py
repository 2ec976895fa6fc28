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

    def __call__(self, state: Any) -> None:
        now = time.monotonic()
        if not self._on or now - self._last < 0.2:
            return
        self._last = now
        parts = [f"{state.rows:,} rows", f"{state.rows_per_second:,.0f} rows/s"]
        if state.done is not None:
            parts.insert(0, f"{state.done:4.0%}")
        if state.seconds_left is not None:
            parts.append(f"{_clock(state.seconds_left)} left")
        sys.stderr.write("\r\x1b[K" + "  ".join(parts))
        sys.stderr.flush()

    def close(self) -> None:
        if self._on and self._last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
