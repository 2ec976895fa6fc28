"""What "near" means: one kernel per file; each knows its hash and its exact collision probability.

The files::

    base.py         what every kernel is, and how to write one
    projection.py   what the Euclidean and the Manhattan kernel share
    euclidean.py    Gaussian projections cut into steps
    steps.py        its collision probability, in NumPy alone
    manhattan.py    Cauchy projections cut into steps
    angular.py      on which side of a random hyperplane
    folded.py       the same for a record and its mirror image: for regression
    column.py       one column at random, cut into steps
    hamming.py      one column at random, as it is: for categories
    jaccard.py      the first token in a random order: for sets
    product.py      kernels over columns of their own, multiplied: for mixed tables
"""

from scumble.kernels.angular import AngularKernel
from scumble.kernels.base import Kernel, Records
from scumble.kernels.column import ColumnKernel
from scumble.kernels.euclidean import EuclideanKernel
from scumble.kernels.folded import FoldedKernel
from scumble.kernels.hamming import HammingKernel
from scumble.kernels.jaccard import JaccardKernel
from scumble.kernels.manhattan import ManhattanKernel
from scumble.kernels.product import ProductKernel

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
