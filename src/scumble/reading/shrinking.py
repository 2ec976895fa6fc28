"""Answers that noise has drowned, drawn towards the mean of those that are asked together.

**Idea.** Of many answers, each off by an error of known variance v, the spread tells how far apart the truths are: its
square, less the mean of v, is about theirs, s². An answer is nearer to its truth on average if it keeps s²/(s² + v) of
its distance from the mean (empirical Bayes; James & Stein 1961). s² is itself in doubt, by about √(2/n) of v for n
answers; that much is added, so few answers are drawn less than many, and one not at all.
"""

from __future__ import annotations

import numpy as np


def shrunk(values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """The answers, each drawn towards their mean by as much as its variance is of the whole.

    >>> shrunk(np.array([1.0, 9.0]), np.array([0.0, 0.0]))              # nothing is in doubt
    array([1., 9.])
    >>> shrunk(np.array([-70.0, 90.0, 30.0, -10.0]), np.full(4, 1e4)).round(1)
    array([-23.1,  43.1,  18.3,   1.7])
    """
    if not len(values):
        return values
    doubt = float(np.mean(variances)) * np.sqrt(2.0 / len(values))
    spread = max(float(np.mean((values - values.mean()) ** 2 - variances)), 0.0) + doubt
    if spread == 0.0:
        return values
    weights = 1.0 / (spread + variances)
    middle = max(float(weights @ values / weights.sum()), 0.0)
    return middle + spread * weights * (values - middle)
