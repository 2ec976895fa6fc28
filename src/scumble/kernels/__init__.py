"""What "near" means, and from a seed to hash functions.

`base.py` says what a kernel is, how to write one, and what a product is. The kernels: `projection.py` (Euclidean,
Manhattan), `angular.py` (also up to sign, for regression), `column.py` (one column; categories) and `jaccard.py`
(sets). From the seed: `design.py` gives each row its numbers, from `random.py` and the scrambled points of `sobol.py`.
"""

from scumble.kernels.angular import AngularKernel, FoldedKernel
from scumble.kernels.base import Kernel, ProductKernel, Records
from scumble.kernels.column import ColumnKernel, HammingKernel
from scumble.kernels.jaccard import JaccardKernel
from scumble.kernels.projection import EuclideanKernel, ManhattanKernel

__all__ = [
    "AngularKernel",
    "ColumnKernel",
    "EuclideanKernel",
    "FoldedKernel",
    "HammingKernel",
    "JaccardKernel",
    "Kernel",
    "ManhattanKernel",
    "ProductKernel",
    "Records",
]
