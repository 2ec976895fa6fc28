"""The hot loop: from records to counters, one engine per file.

``reference`` is slow, obvious NumPy, the oracle that tests compare every other engine with; ``cpu`` is compiled and
uses all cores; ``gpu`` is for CUDA devices. Every engine has the same two functions, on the same :class:`Hasher`:

``count(hasher, records, counts, threads)``  adds one to one counter per row for each record;
``lookup(hasher, records, counts, threads)`` reads the counter of each row for each record, (rows, n).
"""

from __future__ import annotations

import os
from types import ModuleType

from scumble.counting.hasher import Hasher
from scumble.errors import parameter

ENGINES = ("auto", "cpu", "gpu", "reference")

WORTH_A_DEVICE = 10**9
"""Hashes that take longer than sending the records to a device does."""

__all__ = ["ENGINES", "Hasher", "engine"]


def engine(name: str, work: int = 0) -> ModuleType:
    """The engine of that name, imported when first asked for; ``auto`` takes a GPU where one is there and worth it."""
    if name == "reference":
        from scumble.counting import reference

        return reference
    if name == "gpu" or (name == "auto" and work >= WORTH_A_DEVICE and _driver_present()):
        from scumble.counting import gpu

        if name == "gpu" or gpu.available():
            return gpu
        name = "cpu"
    if name in ("auto", "cpu"):
        from scumble.counting import cpu

        return cpu
    raise parameter("engine", f"one of {', '.join(ENGINES)}", name)


def _driver_present() -> bool:
    """Whether there may be a CUDA device at all: a look at the file system, so CuPy is not imported in vain."""
    return os.path.exists("/dev/nvidiactl") or os.path.exists(r"C:\Windows\System32\nvcuda.dll")
