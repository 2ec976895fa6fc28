"""What "near" means: one kernel per file; each knows its hash and its exact collision probability."""

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
