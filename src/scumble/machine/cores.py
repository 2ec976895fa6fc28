"""How many cores there are to use."""

from __future__ import annotations

import os

FEW_CORES = 4
"""Up to so many, threads that share one piece of work do better than threads that each have their own."""


def available_threads() -> int:
    """The cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
