"""The hot loop: from records to counters, one engine per file.

``reference`` is slow, obvious NumPy, the oracle that tests compare every other engine with; ``cpu`` is compiled and
uses all cores; ``gpu`` is for CUDA devices. All offer the functions of :class:`Engine`, on the same :class:`Hasher`,
and give the same counters. ``families`` knows which compiled loop serves which kernel.
"""

from scumble.counting.engines import ENGINES, Engine, engine
from scumble.counting.hasher import Hasher

__all__ = ["ENGINES", "Engine", "Hasher", "engine"]
