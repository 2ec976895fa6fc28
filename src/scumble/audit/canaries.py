"""ε from below, from one release alone: canaries (Steinke, Nasr & Jagielski 2023).

**Idea.** Invent m records that look like nobody, and toss a coin for each: in, or out. Release the table once. Then
guess from the release which canaries are in, and pass over those that it says nothing about. If the release is
ε-private, each guess is right with probability at most e^ε/(1 + e^ε), *whatever the other guesses were*: m neighbouring
pairs are tested by one release.

**The bound** (their Theorem 5.2, and the code of their Appendix D). Of r guesses let v be right. If the mechanism is
(ε, δ)-private, then with q = 1/(1 + e^(−ε)) and W ~ Binomial(r, q)

    P(at least v right) <= P(W >= v) + 2 m δ · max over i = 1 … v of P(v > W >= v − i)/i.

The bound holds given *which* canaries were guessed at, so the guesser may choose them by the release. So if the
right side at the claimed ε is below α, the claim is refuted, and an honest mechanism is accused with probability at
most α: that is the inequality itself. The largest ε whose right side is below α is a lower bound on the true one, with
confidence 1 − α.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from scumble.errors import parameter


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float = 0.0) -> float:
    """The most that P(at least `right` of `guesses` are right) can be for an (ε, δ)-private mechanism.

    >>> round(p_value(10, 10, 10, epsilon=0.0), 6) == round(0.5**10, 6)
    True
    """
    if not 0 <= right <= guesses <= canaries:
        raise parameter("right", "from 0 to the number of guesses, and these at most one per canary", right)
    q = 1.0 / (1.0 + math.exp(-epsilon))
    beta = float(binom.sf(right - 1, guesses, q))
    if delta == 0.0 or right == 0:
        return min(1.0, beta)
    below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, q))  # P(v > W >= v − i), i = 1 … v
    alpha = float(np.max(below / np.arange(1, right + 1)))
    return min(1.0, beta + 2.0 * canaries * delta * alpha)


def least_epsilon(canaries: int, guesses: int, right: int, delta: float = 0.0, *, alpha: float) -> float:
    """A lower bound on ε, wrong with probability at most `alpha`; 0 if the guesses tell nothing.

    >>> least_epsilon(1000, 1000, 520, alpha=1e-6)
    0.0
    >>> 2.0 < least_epsilon(1000, 1000, 970, alpha=1e-6) < math.log(970 / 30)
    True
    """
    if p_value(canaries, guesses, right, 0.0, delta) >= alpha:
        return 0.0
    low, high = 0.0, 1.0
    while high < 64.0 and p_value(canaries, guesses, right, high, delta) < alpha:
        low, high = high, 2.0 * high
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if p_value(canaries, guesses, right, middle, delta) < alpha else (low, middle)
    return low
