"""From records to counters, one engine per file.

The files::

    engines.py      what every engine offers; `MODULES`, the engines; tables that already lie on a GPU
    reference.py    the oracle: slow, obvious NumPy
    cpu.py          the compiled engine, on all cores
    exact.py        its loops in double precision, for any kernel
    quick.py        its loops in single precision, for large batches
    guard.py        how far single precision can be trusted
    products.py     the products that project records, in vectors spelled out
    turns.py        pieces of work that threads take in turn
    repeats.py      records that occur several times are hashed once
    gpu.py          the engine for CUDA devices
    cuda/           its programs
    hasher.py       all hash functions of a sketch, as plain arrays; which compiled loop serves which kernel

All engines work on the same :class:`Hasher` and give the same counters (sensitivity.proof.md).
"""

from scumble.counting.engines import ENGINES, Engine, engine
from scumble.counting.hasher import Hasher

__all__ = ["ENGINES", "Engine", "Hasher", "engine"]
