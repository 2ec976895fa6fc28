"""The hot loop: from records to counters, one engine per file.

The files::

    engines.py          what every engine offers; `MODULES`, the engines
    reference.py        the oracle: slow, obvious NumPy
    cpu.py              the compiled engine, on all cores
    early.py            its first, small batches, before anything is compiled
    exact.py            its loops in double precision, for any kernel
    quick/              its loops in single precision, for large batches
    turns.py            pieces of work that threads take in turn
    products.py         the products that project records, in vectors spelled out
    guard.py            how far single precision can be trusted
    repeats.py          records that occur several times are hashed once
    gpu.py              the engine for CUDA devices
    cuda/               its programs
    device.py           tables that already lie on a GPU
    hasher.py           all hash functions of a sketch, as plain arrays
    families.py         which compiled loop serves which kernel
    architectures.py    what differs between processors

All engines work on the same :class:`Hasher` and give the same counters (sensitivity.proof.md).
"""

from scumble.counting.engines import ENGINES, Engine, engine
from scumble.counting.hasher import Hasher

__all__ = ["ENGINES", "Engine", "Hasher", "engine"]
