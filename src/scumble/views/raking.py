"""A mixture of products, changed as little as can be so that some columns have shares that are known of them.

Each column in turn is multiplied by what its shares are off (Deming & Stephan 1940), which keeps a mixture of products
one: components are weighed anew, and in each the column is made to sum to one. Of all distributions with such shares,
it leads to the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SWEEPS = 5
"""Of all columns."""
MOST = 1e4
"""Times that a share may grow at once."""
LEAST = 1e-300
"""A share to divide by, where there is none."""


def raked(
    weights: Floats, stacks: Mapping[int, Floats], known: Mapping[int, Floats]
) -> tuple[Floats, dict[int, Floats]]:
    """The weights and the columns of a mixture, some of which have the shares that are known of them.

    >>> stacks = {0: np.array([[0.5, 0.5], [1.0, 0.0]]), 1: np.eye(2)}
    >>> weights, found = raked(np.full(2, 0.5), stacks, {0: np.full(2, 0.5)})
    >>> (weights @ found[0]).round(3).tolist(), weights.round(3).tolist()
    ([0.5, 0.5], [0.667, 0.333])
    """
    found = dict(stacks)
    for _ in range(SWEEPS):
        for j, shares in known.items():
            table = found[j] * np.minimum(shares / np.maximum(weights @ found[j], LEAST), MOST)
            sums = table.sum(axis=1)
            if not weights @ sums > 0:
                continue
            found[j] = np.where(sums[:, None] > 0, table / np.where(sums > 0, sums, 1.0)[:, None], shares)
            weights = weights * sums / (weights @ sums)
    return weights, found
