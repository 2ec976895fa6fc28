"""Which compiled loops serve which kernel: the engines' own knowledge, of which kernels know nothing.

A family is a hash that the engines have loops for, with parameters of one form. A kernel belongs to the family of the
nearest class it inherits from that is listed here. Every other kernel, and every class that brings a `code` of its own,
is of the family ``python``: the engines compile its `code`, or, slowly, ask for its `codes`.

To give a kernel loops of its own: a line here, and the loops in ``exact.py``; in ``quick/`` with their bounds in
``guard.py``, and in ``cuda``, where they are worth it.
"""

from __future__ import annotations

from functools import cache

from scumble.kernels import AngularKernel, ColumnKernel, FoldedKernel, HammingKernel, JaccardKernel, Kernel
from scumble.kernels.projection import ProjectionKernel

FAMILIES: dict[type, str] = {
    ProjectionKernel: "floor",  # ⌊b + Σ aⱼ xⱼ⌋
    AngularKernel: "sign",  # [Σ aⱼ xⱼ ≥ 0]
    FoldedKernel: "folded",  # several signs, up to a common one
    ColumnKernel: "column",  # steps of one column
    HammingKernel: "pick",  # one column as it is
    JaccardKernel: "minimum",  # the first token in a random order
}
PYTHON = "python"


def family(kernel: Kernel) -> str:
    """The family of a kernel that is no product.

    >>> from scumble.kernels import EuclideanKernel
    >>> family(EuclideanKernel(1.0))
    'floor'
    """
    return _family(type(kernel))


@cache
def _family(kind: type) -> str:
    for ancestor in kind.__mro__:
        if ancestor in FAMILIES:
            return FAMILIES[ancestor]
        if "code" in vars(ancestor):
            break
    return PYTHON
