"""The hot loop: from records to counters, one engine a file.

``reference`` is slow, obvious NumPy, the oracle that tests compare every other engine with; ``cpu`` is compiled and
uses all cores. Every engine has the same two functions, on the same :class:`Hasher`:

``count(hasher, records, counts, threads)``  adds one to one counter a row for each record;
``lookup(hasher, records, counts, threads)`` reads the counter of each row for each record, (rows, n).
"""

from __future__ import annotations

from types import ModuleType

from scumble.counting.hasher import Hasher
from scumble.errors import parameter

ENGINES = ("auto", "cpu", "reference")

__all__ = ["ENGINES", "Hasher", "engine"]


def engine(name: str) -> ModuleType:
    """The engine of that name; the compiled one is imported when first asked for."""
    if name == "reference":
        from scumble.counting import reference

        return reference
    if name in ("auto", "cpu"):
        from scumble.counting import cpu

        return cpu
    raise parameter("engine", f"one of {', '.join(ENGINES)}", name)
