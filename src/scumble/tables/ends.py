"""The ends of columns: the least and the greatest value of each, as secret as the records."""

from __future__ import annotations

import numpy as np

Ends = tuple[np.ndarray, np.ndarray]
"""Of each column the least value, and of each the greatest."""

LONG = 1024
"""Values of a line that NumPy goes through quickly."""


def ends(values: np.ndarray) -> Ends:
    """Those of a matrix, NaN where a column has one.

    NumPy is quick on long lines, so as many rows as make one are looked at together.

    >>> ends(np.array([[1.0, 5.0], [3.0, np.nan], [2.0, 4.0]]))
    (array([ 1., nan]), array([ 3., nan]))
    """
    n, d = values.shape
    many = max(1, min(n, LONG // max(1, d)))
    whole = n - n % many
    lines, rest = values[:whole].reshape(-1, many * d), values[whole:]
    low, high = (
        end(np.concatenate([end(lines, axis=0).reshape(-1, d), rest]), axis=0) for end in (np.min, np.max)
    )  # fmt: skip
    return low, high
