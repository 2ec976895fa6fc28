"""How private Laplace noise is beyond its pure ε: the whole curve δ(ε′), exactly.

**Idea.** Move a counter by one. Its discrete Laplace noise of scale s then betrays the move by a
privacy loss of |k| − |k − 1| over s, which for an integer k is +1/s or −1/s and nothing else: the
discrete Laplace law with a move of one *is* randomized response with ε = 1/s. R rows and the count
are R + 1 independent randomized responses, so the total loss is

    L = (2B − R)/s + (2b − 1)/s_N,   B ~ Binomial(R, p(1/s)),  b ~ Bernoulli(p(1/s_N)),  p(x) = 1/(1 + e^−x),

and δ(ε′) = E max(0, 1 − exp(ε′ − L)). The sum R/s + 1/s_N, the pure ε, is the worst case, met only if
all coins fall alike; with rare events excluded (δ), the typical loss counts, and that is far smaller.

For a person with m records a row's move is dominated by randomized response with m/s, however it is
spread over the row's counters: every ε-private law is (Kairouz, Oh & Viswanath 2015).
"""

from __future__ import annotations

import math

import numpy as np

from scumble.machine.functions import gammaln
from scumble.privacy.gaussian import renyi_delta

PADDING = 1 + 1e-6
"""Covers the float64 error of the logarithms of factorials of up to some 10⁷ rows."""


def laplace_delta(epsilon: float, coins: int, step: float, count_step: float, least: float) -> float:
    """Upper bound on δ(epsilon) for `coins` losses of ±`step` and one of ±`count_step` (0: none).

    Only B near its mean is summed; the tail beyond (Hoeffding: exp(−2t²/R)) is added to the answer.
    """
    chance = 1 / (1 + math.exp(-step))
    reach = math.sqrt(coins / 2 * (25 - math.log(least)))
    low = max(0, math.floor(coins * chance - reach))
    high = min(coins, math.ceil(coins * chance + reach))
    heads = np.arange(low, high + 1)
    log_weights = gammaln(coins + 1) - gammaln(heads + 1) - gammaln(coins - heads + 1)
    # ln p = −ln(1 + e^−step), ln(1 − p) = −step + ln p
    log_weights += -coins * math.log1p(math.exp(-step)) - (coins - heads) * step
    weights = np.exp(log_weights)
    losses = (2 * heads - coins) * step

    total = 2 * math.exp(-2 * reach * reach / coins) if high - low < coins else 0.0
    count_chance = 1 / (1 + math.exp(-count_step))
    for sign, share in ((1, count_chance), (-1, 1 - count_chance)):
        total += share * float(weights @ -np.expm1(np.minimum(0.0, epsilon - losses - sign * count_step)))
    return min(1.0, total * PADDING)


def unequal_delta(epsilon: float, coins: np.ndarray, steps: np.ndarray) -> float:
    """Upper bound on δ(epsilon) for `coins[i]` losses of ±`steps[i]`: rows with scales of their own.

    Their sums lie on no common lattice. Of order α, randomized response has the Rényi divergence
    ln(cosh((α − ½) step)/cosh(step/2))/(α − 1); divergences of independent losses add up, and every order is a proof.
    """

    def divergence(order: float) -> float:
        rises = _log_cosh((order - 0.5) * steps) - _log_cosh(steps / 2)
        return float(coins @ rises) / (order - 1)

    # Up to an order of a million: beyond, the rounding of (α − ½)·step would pass the padding.
    return min(1.0, renyi_delta(epsilon, divergence, 14.0) * PADDING)


def _log_cosh(x: np.ndarray) -> np.ndarray:
    return np.asarray(x + np.log1p(np.exp(-2 * x)) - math.log(2))
