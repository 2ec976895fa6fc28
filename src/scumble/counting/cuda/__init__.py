"""The programs that count on a CUDA device, each written for one shape of sketch and compiled at run time.

The programs, each next to its ``.cu``::

    steps.py     one projection per row, up to four columns: the steps themselves are counted, and hashed at the end
    halves.py    up to 32 columns: projected on the tensor cores, close calls decided in double precision
    long.py      more columns: projected by large matrix products, close calls as above
    fused.py     all the rest that fits into registers: products of kernels, categories, wide tables

``shape.py`` says what a program depends on, and divides its work. All give counters bit-identical to the CPU's: a
record's bucket is a function of that record alone.

Tables lie in shared memory while records stream past, and are added to the global ones at the end. A row's table needs
no copies where few buckets take all: the hardware adds up the lanes of a warp that meet in one counter, and such
increments run faster than spread ones, not slower (``benchmarks/speed/gpu.py`` measures both).
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from scumble.counting.cuda import fused, halves, steps
from scumble.counting.cuda.shape import LARGEST_RECORD, SHARED_BYTES, Division, Shape

PROGRAMS: tuple[ModuleType, ...] = (steps, halves, fused)


@cache
def program(shape: Shape, room: int = SHARED_BYTES) -> ModuleType | None:
    """The first program that fits, if any."""
    return next((each for each in PROGRAMS if each.fits(shape, room)), None)


__all__ = ["LARGEST_RECORD", "PROGRAMS", "SHARED_BYTES", "Division", "Shape", "program"]
