"""The discrete Laplace law, P(k) ∝ exp(−|k|/s): pure privacy.

**Scales.** With the L1 of the counters (`scumble.privacy.sensitivity`), m records per person and a share c of ε for the
count: s = L1/((1 − c) ε) and s_N = m/(c ε), so L1/s + m/s_N = ε, exactly. Scales are rounded up to short fractions.
Rows that get unequal shares of ε have scales of their own: 1/s_r is the row's share, rounded down to a binary fraction.

It is infinitely divisible: shares of several custodians add up to it exactly (`scumble.privacy.polya`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from scumble.privacy import noise
from scumble.privacy.exact import dyadic_below, float_down, float_up, simplest_above
from scumble.privacy.gaussian import gammaln, least_epsilon, renyi_delta
from scumble.privacy.laws.law import Drawn, Floats, Law, Shared, Size
from scumble.privacy.polya import laplace_share
from scumble.privacy.sensitivity import ONCE, Moves, Scales, by_scale, concentrated_cost, pure_cost

PADDING = 1 + 1e-6
"""Covers the float64 error of the logarithms of factorials of up to some 10⁷ rows."""


class DiscreteLaplace(Law):
    """Laplace noise on integers (Ghosh, Roughgarden & Sundararajan 2009)."""

    name = "discrete-laplace"
    family = "Laplace"
    pure = True
    reach = 45.0

    def draw(self, scale: Fraction, size: Size, *, backend: str = "exact") -> noise.Integers:
        return noise.discrete_laplace(scale, size, backend=backend)

    def variance(self, scale: Fraction) -> float:
        return noise.laplace_variance(scale)

    def weights(self, sizes: noise.Integers, scale: float) -> Floats:
        return np.exp(-(sizes / scale))

    def tail(self, scale: Fraction, least: int) -> float:
        return math.exp(-least / float_up(scale)) / (1 + math.exp(-1 / float_down(scale))) * PADDING

    def share(self, scale: Fraction, enough: int) -> Drawn:
        """A difference of two Pólya(1/k) variables: k of them add up to *exactly* a discrete Laplace variable."""
        return Drawn("laplace-share", scale, enough)

    def draw_share(self, scale: Fraction, enough: int, size: Size) -> noise.Integers:
        return laplace_share(scale, enough, size)

    def share_variance(self, scale: Fraction, enough: int) -> float:
        return noise.laplace_variance(scale) / enough

    def serves(self, epsilon: float, delta: float) -> bool:
        return True

    def scales(self, moves: Moves, epsilon: float, delta: float, count_share: Fraction, shares: Shared = ()) -> Scales:
        exact = Fraction(epsilon)
        count = simplest_above(moves.count_total / (count_share * exact)) if count_share else None
        if not shares:
            return Scales(simplest_above(moves.total / ((1 - count_share) * exact)), count)
        a_row = (1 - count_share) * exact / replace(moves, rows=1).total
        return Scales.of_rows([1 / dyadic_below(a_row * share) for share in shares], count)

    def part(self, scale: Fraction, share: Fraction) -> Fraction:
        return 1 / dyadic_below(share / scale)

    def epsilon(self, moves: Moves, scales: Scales) -> Fraction:
        return pure_cost(moves, scales)

    def rho(self, moves: Moves, scales: Scales) -> Fraction:
        """Σ move²/(2 scale²); of a stream, ε²/2.

        A stream's blocks say something of noise to come, so someone who waits before adding a record may choose a time
        at which losses add up badly. What ε bounds outcome by outcome holds then, too (continual.proof.md).
        """
        if moves.column != ONCE:
            return self.epsilon(moves, scales) ** 2 / 2
        return concentrated_cost(moves, scales)

    def curve(self, moves: Moves, scales: Scales, delta: float) -> float:
        """With rare events excluded, the typical loss counts, not the worst: see `laplace_delta`."""
        scale, count = scales.rounded_down()
        step, count_step = moves.most / scale, moves.people / count if count else 0.0
        if moves.column != ONCE:  # one coin that tells all: see `rho`
            whole = float_up(self.epsilon(moves, scales))
            return least_epsilon(lambda epsilon: laplace_delta(epsilon, 1, whole, 0.0, delta), delta)
        if scales.rows:
            parts = by_scale(moves, scales)
            coins = np.array([part.cells for part, _ in parts] + [1], np.float64)
            steps = np.array([moves.most / float_down(own) for _, own in parts] + [count_step])
            return least_epsilon(lambda epsilon: unequal_delta(epsilon, coins, steps), delta)
        return least_epsilon(lambda epsilon: laplace_delta(epsilon, moves.cells, step, count_step, delta), delta)

    def proves(self, moves: Moves, scales: Scales, epsilon: float, delta: float) -> bool:
        return epsilon >= float_up(self.epsilon(moves, scales))

    def spent(self, moves: Sequence[int], scale: Fraction) -> Fraction:
        return Fraction(sum(map(abs, moves))) / scale


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
        rises = _log_twice_cosh((order - 0.5) * steps) - _log_twice_cosh(steps / 2)
        return float(coins @ rises) / (order - 1)

    # Up to an order of a million: beyond, the rounding of (α − ½)·step would pass the padding.
    return min(1.0, renyi_delta(epsilon, divergence, 14.0) * PADDING)


def _log_twice_cosh(x: np.ndarray) -> np.ndarray:
    return np.asarray(x + np.log1p(np.exp(-2 * x)))
