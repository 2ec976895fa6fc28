"""From counted events to a statement about ε that is wrong with a stated probability only.

**Idea** (Ding et al. 2018; Jagielski, Ullman & Oprea 2020). Release two neighbouring tables n times each, and count how
often an event S happens: k times and k′ times. Privacy promises P(S) <= e^ε P′(S) + δ for every event. With the exact
bounds of Clopper & Pearson 1934,

    lower(k, n) > e^ε upper(k′, n) + δ

is a violation, except with the probability that one of the two bounds fails. The difference P(S) − e^ε P′(S), the
hockey-stick divergence if S is the best event, may be at most δ: δ = 0 and δ > 0 are the same test.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv


def lower(successes: np.ndarray, trials: int, alpha: float) -> np.ndarray:
    """The exact lower bound of a probability: it is above the truth with probability at most `alpha`.

    >>> lower(np.array([0, 50, 100]), 100, 0.025).round(4)
    array([0.    , 0.3983, 0.9638])
    """
    k = np.asarray(successes, dtype=float)
    # The α quantile of Beta(k, n − k + 1).
    return np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1.0), trials - k + 1.0, alpha))


def upper(successes: np.ndarray, trials: int, alpha: float) -> np.ndarray:
    """The exact upper bound: the lower one of the opposite event.

    >>> upper(np.array([0, 50, 100]), 100, 0.025).round(4)
    array([0.0362, 0.6017, 1.    ])
    """
    return 1.0 - lower(trials - np.asarray(successes), trials, alpha)


def excess(
    k: np.ndarray, other: np.ndarray, trials: int, epsilon: float, delta: float, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """By how much the events certainly exceed the promise (positive: violated), and the ε that they certainly show.

    `alpha` is the probability of error for each event.
    """
    low, high = lower(k, trials, alpha / 2), upper(other, trials, alpha / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.where(low > delta, np.log(np.maximum(low - delta, 0.0)) - np.log(high), 0.0)
    # exp may overflow to infinity: then nothing can exceed it unless `high` is 0, which it never is.
    with np.errstate(over="ignore"):
        return low - np.exp(epsilon) * high - delta, np.maximum(shown, 0.0)
