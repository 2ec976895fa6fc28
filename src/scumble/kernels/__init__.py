"""What "near" means, and from a seed to hash functions.

The files::

    base.py         what every kernel is, how to write one, and products of kernels
    projection.py   Euclidean and Manhattan distance: projections cut into steps
    angular.py      sides of random hyperplanes, also up to sign for regression
    column.py       one column at random, cut into steps, or as it is: for categories
    jaccard.py      the first token in a random order: for sets

    design.py       from a seed to the random numbers of hash functions, row by row
    random.py       uniform, normal and Cauchy numbers that never change
    sobol.py        scrambled Sobol points
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
