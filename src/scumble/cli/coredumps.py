"""No core dumps: the memory of a verb that counts holds exact counters, and a core file would keep them on the disk."""

from __future__ import annotations

import contextlib
import sys


def switch_off() -> None:
    """For this process, for good. A program that uses the library decides for itself."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    if sys.platform == "linux":
        # A handler that the kernel pipes cores to (systemd-coredump) does not ask for the limit, but for this. It also
        # keeps other processes of the same user from reading the memory.
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
