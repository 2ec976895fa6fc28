"""Columns side by side, as a matrix in C order, and the smallest and largest value of each.

A compiled loop writes eight columns at a time, which fill a line of cache, without the interpreter's lock. Until it is
worth compiling, NumPy writes column after column.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from scumble.files.compiling import Patience, njit, read_only

LINE, BLOCK = 8, 4096
"""Columns that fill a line of cache, and rows that NumPy copies at a time."""
COMPILING = 1 << 26
"""Numbers that NumPy copies before the loop is compiled."""
LONG = 1024
"""Values of a row that NumPy reduces quickly."""

Ends = tuple[np.ndarray, np.ndarray]
"""The smallest value of each column, and the largest. They are as secret as the records."""

numpy_first = Patience(0, COMPILING)


def ends(values: np.ndarray) -> Ends:
    """Those of a matrix, NaN where a column has one. NumPy is quick on long rows, so several are reduced as one.

    >>> ends(np.array([[1.0, 5.0], [3.0, np.nan], [2.0, 4.0]]))
    (array([ 1., nan]), array([ 3., nan]))
    """
    n, d = values.shape
    many = max(1, min(n, LONG // max(1, d)))
    whole = n - n % many
    lines, rest = values[:whole].reshape(-1, many * d), values[whole:]
    low, high = (np.concatenate([end(lines, axis=0).reshape(-1, d), rest]) for end in (np.min, np.max))
    return np.min(low, axis=0), np.max(high, axis=0)


def no_ends(columns: int) -> np.ndarray:
    """(2, columns): the ends of empty columns."""
    return np.array([[np.inf] * columns, [-np.inf] * columns])


def write(columns: Sequence[np.ndarray], first: int, out: np.ndarray, ends: np.ndarray) -> None:
    """Write up to eight columns of float64 into a matrix in C order, from column `first` on, and widen its ends.

    If some cell is NaN, the ends of all these columns are NaN, and remain so.

    >>> out, ends = np.zeros((2, 3)), no_ends(3)
    >>> write([np.array([1.0, 2.0]), np.array([3.0, 4.0])], 1, out, ends)
    >>> out
    array([[0., 1., 3.],
           [0., 2., 4.]])
    >>> ends
    array([[ inf,   1.,   3.],
           [-inf,   2.,   4.]])
    """
    if numpy_first.lasts(len(columns) * len(out), ready) or not all(column.flags.c_contiguous for column in columns):
        _by_numpy(columns, first, out, ends)
    else:
        eight = [*columns, *[columns[-1]] * (LINE - len(columns))]
        _rows(*map(read_only, eight), len(columns), first, out, ends)


def ready() -> bool:
    """Whether the loop is compiled, without importing numba."""
    return "numba" in sys.modules and bool(getattr(_rows, "ready", True))


def _by_numpy(columns: Sequence[np.ndarray], first: int, out: np.ndarray, ends: np.ndarray) -> None:
    mine = ends[:, first : first + len(columns)]
    for start in range(0, len(out), BLOCK):
        some = slice(start, start + BLOCK)
        for k, column in enumerate(columns):
            out[some, first + k] = column[some]
            mine[0, k], mine[1, k] = (
                np.minimum(mine[0, k], column[some].min()),
                np.maximum(mine[1, k], column[some].max()),
            )
    if np.isnan(mine).any():
        mine[:] = np.nan


@njit(cache=True, inline="always")
def _wider(x, low, high):
    """Ends widened by x, unless it is NaN."""
    return x if x < low else low, x if x > high else high


@njit(nogil=True, cache=True, error_model="numpy", _nrt=False)
def _rows(a, b, c, d, e, f, g, h, many, first, out, ends):
    """Write the first `many` of eight columns."""
    a0 = b0 = c0 = d0 = e0 = f0 = g0 = h0 = np.inf
    a1 = b1 = c1 = d1 = e1 = f1 = g1 = h1 = -np.inf
    odd = False
    for i in range(out.shape[0]):
        p, q, r, s, t, u, v, w = a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i]
        out[i, first] = p
        if many > 1:
            out[i, first + 1] = q
        if many > 2:
            out[i, first + 2] = r
        if many > 3:
            out[i, first + 3] = s
        if many > 4:
            out[i, first + 4] = t
        if many > 5:
            out[i, first + 5] = u
        if many > 6:
            out[i, first + 6] = v
        if many > 7:
            out[i, first + 7] = w
        a0, a1 = _wider(p, a0, a1)
        b0, b1 = _wider(q, b0, b1)
        c0, c1 = _wider(r, c0, c1)
        d0, d1 = _wider(s, d0, d1)
        e0, e1 = _wider(t, e0, e1)
        f0, f1 = _wider(u, f0, f1)
        g0, g1 = _wider(v, g0, g1)
        h0, h1 = _wider(w, h0, h1)
        odd |= (p != p) | (q != q) | (r != r) | (s != s) | (t != t) | (u != u) | (v != v) | (w != w)
    low, high = (a0, b0, c0, d0, e0, f0, g0, h0), (a1, b1, c1, d1, e1, f1, g1, h1)
    for k in range(many):
        least, most = ends[0, first + k], ends[1, first + k]  # NaN stays: it compares as false
        ends[0, first + k] = np.nan if odd else low[k] if low[k] < least else least
        ends[1, first + k] = np.nan if odd else high[k] if high[k] > most else most
