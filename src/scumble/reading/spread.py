"""How far a row of hashes is to be expected off, before anything is seen of the data.

A row's estimate of a kernel sum f among n records varies by about c² f² (hashing; c f is at most f̃ = Σ √k) and by
n f/W (clumped collisions in the same of W buckets); see :mod:`scumble.planning`.
"""

from __future__ import annotations

from math import sqrt

from scumble.kernels import Kernel

DENSITY = 0.1
"""Of a query at power 1: typical of a record's surroundings at a sensible bandwidth."""
_ROW_SPREAD = 0.6
"""c at power 1 for independent rows: 0.4 to 1.8 on the paper's sets and on Gaussian data; it grows with √power."""
_GAIN = {"iid": 1.0, "sobol": 0.6, "orthogonal": 0.75}
"""How far each design reduces c, on the same data."""


def hashes(kernel: Kernel) -> int:
    """Of a row: the powers of all factors together."""
    return sum(factor.power for factor in kernel.factors)


def typical_density(kernel: Kernel) -> float:
    """The density that plans and cards assume of a query."""
    return DENSITY / hashes(kernel)


def row_spread(kernel: Kernel, design: str, buckets: int, n: int, f: float) -> float:
    """c² f² + n f/W: the hashing variance of one row at a kernel sum f among n records."""
    spread = _ROW_SPREAD * _GAIN[design] * sqrt(hashes(kernel)) * f
    return spread**2 + n * f / buckets
