"""What differs between processors, in one place, and what the counting does about it.

A record's bucket must be one function of its bytes: on x86-64, on ARM and on CUDA devices, in every engine. IEEE 754
fixes comparisons and + − × ÷ √ to the last bit. It leaves open:

**Conversion of floats to integers** that cannot hold them. NaN becomes INT_MIN on x86-64 and 0 on ARM; what is too
large becomes INT_MIN on x86-64 and the nearest end on ARM. To a compiler both are undefined. So nothing of the kind is
ever converted: arrays by :func:`whole` alone, which asks for a mask of what fits; in the compiled loops by
`exact._word`, after a comparison that is false for NaN, by `quick.cells.truncated` and `quick.again.repair`, whose
range `guard` shows, and in `grid.cells`, after cutting to the grid. Public numbers, such as the place of a column, fit
by their making.

**Fused multiply-add.** Processors have it or not, and compilers use it where they may. In double precision they may
not. In single precision they may: the bound in `guard` holds either way.

**Denormal numbers** are kept, unless some library, built with -ffast-math, has switched the process to taking them for
zero (MXCSR's FTZ and DAZ on x86-64, FPCR's FZ on ARM). Counting goes on then: that mode is no record's doing, and the
same for neighbouring tables. A record with denormal values, or with a projection of nearly nothing, may be counted in
another bucket than elsewhere, but in one, by a function of its own bytes, whatever else is in the batch: the bound in
`guard` also allows for flushing. Tests switch it on, and count.

**Widths.** C's `long` has 32 bits on Windows. Widths are always written out.

:data:`CONVERSIONS` are those rules as functions: tests run the loops with them, as another processor would.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def whole(values: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Numbers as int64 where they are `good`, that is whole and small enough; zero elsewhere."""
    return np.where(good, values, 0.0).astype(np.int64)


Conversion = Callable[[float, int], int]
"""From a float to a signed integer of so many bits, the fraction cut off."""


def _fits(value: float, bits: int) -> bool:
    return math.isfinite(value) and -(2 ** (bits - 1)) <= int(value) < 2 ** (bits - 1)


def _x86(value: float, bits: int) -> int:
    """CVTTSD2SI: what does not fit is "integer indefinite"."""
    return int(value) if _fits(value, bits) else -(2 ** (bits - 1))


def _arm(value: float, bits: int) -> int:
    """FCVTZS: what does not fit is the nearest end, NaN is 0."""
    if _fits(value, bits):
        return int(value)
    return 0 if math.isnan(value) else 2 ** (bits - 1) - 1 if value > 0.0 else -(2 ** (bits - 1))


def _trap(value: float, bits: int) -> int:
    """Of no processor: refuses what they disagree about."""
    if not _fits(value, bits):
        raise FloatingPointError(f"A float was converted to {bits} bits that do not hold it.")
    return int(value)


CONVERSIONS: dict[str, Conversion] = {"x86-64": _x86, "arm64": _arm, "trap": _trap}
