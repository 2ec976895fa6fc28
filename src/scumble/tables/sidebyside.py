"""Columns side by side: a matrix in C order out of arrays of one axis.

A compiled loop writes row after row, eight columns at a time, which fill a line of cache, and lets go of the
interpreter's lock meanwhile. Until it is worth compiling, NumPy writes column after column, for some rows at a time:
three times as slowly, and each copy asks for the lock, for which many threads wait far longer than it takes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from scumble.machine.compiling import njit, read_only
from scumble.machine.patience import Patience

LINE, BLOCK = 8, 4096
"""Columns that fill a line of cache, and the rows for which they stay in it."""
COMPILING = 1 << 26
"""Numbers that NumPy copies in a sixth of a second, and to compile the loop takes half of one; it is then kept."""

numpy_first = Patience(0, COMPILING)


def write(columns: Sequence[np.ndarray], first: int, out: np.ndarray) -> None:
    """Write up to eight columns of float64, from column `first` of a matrix in C order on.

    >>> out = np.zeros((2, 3))
    >>> write([np.array([1.0, 2.0]), np.array([3.0, 4.0])], 1, out)
    >>> out
    array([[0., 1., 3.],
           [0., 2., 4.]])
    """
    if numpy_first.lasts(len(columns) * len(out), ready) or not all(column.flags.c_contiguous for column in columns):
        _by_numpy(columns, first, out)
    else:
        eight = [*columns, *[columns[-1]] * (LINE - len(columns))]
        _rows(*map(read_only, eight), len(columns), first, out)


def ready() -> bool:
    """Whether the loop is there, or on the disk: nothing is loaded to find out."""
    return "numba" in sys.modules and bool(getattr(_rows, "ready", True))


def _by_numpy(columns: Sequence[np.ndarray], first: int, out: np.ndarray) -> None:
    for start in range(0, len(out), BLOCK):
        some = slice(start, start + BLOCK)
        for k, column in enumerate(columns, first):
            out[some, k] = column[some]


@njit(nogil=True, cache=True, error_model="numpy", _nrt=False)
def _rows(a, b, c, d, e, f, g, h, many, first, out):
    """Write the first `many` of eight columns."""
    for i in range(out.shape[0]):
        out[i, first] = a[i]
        if many > 1:
            out[i, first + 1] = b[i]
        if many > 2:
            out[i, first + 2] = c[i]
        if many > 3:
            out[i, first + 3] = d[i]
        if many > 4:
            out[i, first + 4] = e[i]
        if many > 5:
            out[i, first + 5] = f[i]
        if many > 6:
            out[i, first + 6] = g[i]
        if many > 7:
            out[i, first + 7] = h[i]
