"""How far a query's answer is to be expected off, before anything is seen of the data but how densely it lies.

All of it is relative to the density ρ of a typical query: one like the records themselves. Measured on 14 tables (1 to
25 columns, 1,400 to 60,000 records; ρ from 0.4 to 0.001; powers 1, 2 and 4; 16 to 8,192 rows), the mean of
|error|/density over queries is, within a factor of 1.3 at the median,

    α/√R  from hashing,      α² = (0.23 ρ^−(0.065 + 0.21 log₂ p))² + 3/(W ρ),
    κ √(2/π) σ/f  from noise of standard deviation σ on the answer f = ρ n,      κ = ρ^−0.08.

Rare places hash worse than dense ones, and the more so the higher the power p; 3/(W ρ) is for collisions, which come in
clumps; κ > 1 because some queries lie less densely than the typical one.
"""

from __future__ import annotations

from math import hypot, log2, pi, sqrt

from scumble.grid.shape import RARE
from scumble.kernels import Kernel

DENSITY = 0.1
"""Of a query at power 1: typical of a record's surroundings at a sensible bandwidth."""
_ROW, _SPARSE, _STEEPER, _CLUMPS = 0.23, 0.065, 0.21, 3.0
_DESIGN = {"sobol": 1.0, "orthogonal": 1.15, "iid": 1.35}
"""The same of other designs, relative to Sobol rows."""
_MEAN = sqrt(2.0 / pi)
"""The mean of |x| for a normal x of standard deviation 1."""


def hashes(kernel: Kernel) -> int:
    """Of a row: the powers of all factors together."""
    return sum(factor.power for factor in kernel.factors)


def typical_density(kernel: Kernel) -> float:
    """The density that plans and cards assume of a query, where nothing better is known."""
    return DENSITY / hashes(kernel)


def row_error(kernel: Kernel, design: str, buckets: int, density: float) -> float:
    """α: the relative error of one row from hashing; of R rows together, α/√R."""
    steep = _SPARSE + _STEEPER * min(log2(hashes(kernel)), 3.0)
    return hypot(_DESIGN[design] * _ROW * density**-steep, sqrt(_CLUMPS / (buckets * density)))


def noise_error(deviation: float, density: float, n: float) -> float:
    """The relative error from noise of this standard deviation on the answer to a query."""
    return float(density**-RARE * _MEAN * deviation / (density * n))


def row_spread(kernel: Kernel, design: str, buckets: int, n: float, f: float) -> float:
    """The variance of one row's answer f among n records, from hashing."""
    return float((row_error(kernel, design, buckets, min(f / n, 1.0)) * f / _MEAN) ** 2)
