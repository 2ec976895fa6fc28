"""Answers that noise has drowned, drawn towards the mean of those that are asked together.

**Idea.** Of many answers, each off by noise of known variance v, the spread tells how far apart the truths are: its
square, less the mean of v, is about theirs, s². An answer is nearer to its truth on average if it keeps s²/(s² + v) of
its distance from the mean (empirical Bayes; James & Stein 1961). s² is itself in doubt, by about √(2/n) of v for n
answers; that much is added, so few answers are drawn less than many.

**Where it is done.** Only where noise is larger than the spread, so that answers would keep less than half of their
distance: elsewhere they stay as they are, and so do one or two by themselves. And no answer moves by more than 1.96
standard errors of its noise: it stays within its own 95 % interval, and what stands out from all others goes on to do
so (a limited translation; Efron & Morris 1972).
"""

from __future__ import annotations

import numpy as np

REACH = 1.959964
"""Standard errors that an answer may move by: half of a 95 % interval."""


def shrunk(values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """The answers; where noise drowns them, drawn towards their mean.

    >>> shrunk(np.array([1.0, 9.0, 5.0]), np.full(3, 0.5))              # clear: they stay
    array([1., 9., 5.])
    >>> shrunk(np.array([-70.0, 90.0, 30.0, -10.0]), np.full(4, 1e4)).round(1)
    array([-23.1,  43.1,  18.3,   1.7])
    >>> shrunk(np.array([0.0] * 99 + [900.0]), np.full(100, 1e4)).round()[[0, -1]]      # and one that stands out
    array([  8., 704.])
    """
    if not len(values):
        return values
    noise = float(np.mean(variances))
    spread = max(float(np.var(values)) - noise, 0.0) + noise * np.sqrt(2.0 / len(values))
    if spread >= noise:
        return values
    weights = 1.0 / (spread + variances)
    middle = max(float(weights @ values / weights.sum()), 0.0)
    reach = REACH * np.sqrt(variances)
    return values + np.clip((1.0 - spread * weights) * (middle - values), -reach, reach)
