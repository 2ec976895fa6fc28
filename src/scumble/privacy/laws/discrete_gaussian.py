"""The discrete Gaussian law, P(k) ∝ exp(−k²/(2σ²)): less noise on many rows, for a failure probability δ > 0.

**Scales.** With the L2 of the counters (`scumble.privacy.sensitivity`), m records per person and a share c of the
budget for the count: σ² = L2² σ₀²/(1 − c) and σ_N² = m² σ₀²/c, so L2²/σ² + m²/σ_N² = 1/σ₀². Here σ₀ is the analytic σ
for sensitivity 1 (Balle & Wang 2018), enlarged until the *discrete* law is certified (`scumble.privacy.gaussian`).
Rows that get unequal shares have a σ of their own: m² sides/σ_r² is the row's share of (1 − c)/σ₀².

**Shares.** A sum of k discrete Gaussians of variance σ²/k is *almost* one of variance σ²: up to a factor e^±c at each
point, with c vanishing like exp(−π²σ²/k) (Kairouz, Liu & Steinke 2021).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from scumble.privacy import noise
from scumble.privacy.exact import dyadic_below, float_down, float_up, root_above, simplest_above
from scumble.privacy.gaussian import (
    PADDING,
    Shift,
    analytic_gaussian_sigma,
    certified_delta,
    least_epsilon,
    smoothing_delta,
    zcdp_delta,
)
from scumble.privacy.laws.law import Drawn, Floats, Law, Shared, Size, require_scales
from scumble.privacy.sensitivity import Moves, Scales, by_scale, concentrated_cost

SHARE_SLACK = 1e-9
"""How far, as c in e^±c, a sum of shares may be from its ideal law (splitting.proof.md, Lemma 3)."""


class DiscreteGaussian(Law):
    """Gaussian noise on integers (Canonne, Kamath & Steinke 2020)."""

    name = "discrete-gaussian"
    family = "Gaussian"
    pure = False
    reach = 10.0
    slack = SHARE_SLACK

    def draw(self, scale: Fraction, size: Size, *, backend: str = "exact") -> noise.Integers:
        return noise.discrete_gaussian(scale, size, backend=backend)

    def variance(self, scale: Fraction) -> float:
        return noise.gaussian_variance(scale)

    def weights(self, sizes: noise.Integers, scale: float) -> Floats:
        steps = sizes / scale
        return np.exp(-0.5 * steps * steps)

    def tail(self, scale: Fraction, least: int) -> float:
        """That of the continuous law from least − 1 on (Canonne, Kamath & Steinke 2020, Proposition 25)."""
        return math.erfc((least - 1) / (float_up(scale) * math.sqrt(2))) / 2 * PADDING

    def share(self, scale: Fraction, enough: int) -> Drawn:
        """A discrete Gaussian of σ/√k: k of them add up to *almost* a discrete Gaussian of σ."""
        return Drawn(self.name, _share_sigma(scale, enough))

    def draw_share(self, scale: Fraction, enough: int, size: Size) -> noise.Integers:
        return noise.discrete_gaussian(_share_sigma(scale, enough), size)

    def share_variance(self, scale: Fraction, enough: int) -> float:
        return noise.gaussian_variance(_share_sigma(scale, enough))

    def distance(self, scale: Fraction, enough: int) -> float:
        return distance_of_sum(float_down(_share_sigma(scale, enough)), enough)

    def serves(self, epsilon: float, delta: float) -> bool:
        return delta > 0

    def scales(self, moves: Moves, epsilon: float, delta: float, count_share: Fraction, shares: Shared = ()) -> Scales:
        return _certified_scales(moves, epsilon, delta, count_share, shares)

    def scales_of_rho(self, moves: Moves, rho: Fraction, count_share: Fraction, shares: Shared = ()) -> Scales:
        """σ² = L2²/(2ρ (1 − c)) and σ_N² = m²/(2ρ c), rounded up: Σ move²/(2σ²) is ρ or a little less."""
        twice = 2 * rho
        count = simplest_above(root_above(moves.count_squared / (twice * count_share))) if count_share else None
        if not shares:
            return Scales(simplest_above(root_above(moves.squared / (twice * (1 - count_share)))), count)
        a_row = replace(moves, rows=1).squared / (twice * (1 - count_share))
        sigmas = {share: 1 / dyadic_below(1 / root_above(a_row / share)) for share in set(shares)}
        return Scales.of_rows([sigmas[share] for share in shares], count)

    def part(self, scale: Fraction, share: Fraction) -> Fraction:
        return 1 / dyadic_below(1 / (scale * root_above(1 / share)))

    def epsilon(self, moves: Moves, scales: Scales) -> None:
        return None

    def rho(self, moves: Moves, scales: Scales) -> Fraction:
        return concentrated_cost(moves, scales)

    def curve(self, moves: Moves, scales: Scales, delta: float) -> float:
        return _certified_epsilon(moves, scales, delta)

    def proves(self, moves: Moves, scales: Scales, epsilon: float, delta: float) -> bool:
        """By the certificate that `scales` asked for; a millionth more, for another machine's last digits."""
        return 0 < delta < 1 and delta * (1 + 1e-6) >= certified_delta(epsilon, *shifts(moves, scales), target=delta)

    def together(self, releases: Sequence[tuple[Moves, Scales]], delta: float) -> float:
        """One mechanism whose μ² is the sum of theirs (Dong, Roth & Su 2022)."""
        worst = [one for release in releases for one in shifts(*release)]
        # Tiny σ has no smooth bound; it has a ρ.
        rho = math.fsum(one.rho() for one in worst)
        return least_epsilon(lambda epsilon: min(smoothing_delta(epsilon, *worst), zcdp_delta(epsilon, rho)), delta)

    def spent(self, moves: Sequence[int], scale: Fraction) -> Fraction:
        return Fraction(sum(move * move for move in moves)) / (2 * scale**2)


def shift(moves: Moves, scales: Scales) -> Shift:
    """The worst move of a person's records: m in each row, taken out of one cell or spread over m."""
    # As floats, rounded down; what the last bit may change is within the certificates' padding.
    sigma, count_sigma = scales.rounded_down()
    return Shift(
        cells=moves.touched,
        squared=moves.squared,
        sigma=sigma,
        count=0 if count_sigma is None else moves.people,
        count_sigma=math.inf if count_sigma is None else count_sigma,
        stretch=moves.column.squared,
    )


def shifts(moves: Moves, scales: Scales) -> list[Shift]:
    """The worst move in the rows of each scale; with the first of them, the count's."""
    parts = by_scale(moves, scales)
    return [shift(part, Scales(scale, None if k else scales.count)) for k, (part, scale) in enumerate(parts)]


@lru_cache(maxsize=256)
def _certified_scales(moves: Moves, epsilon: float, delta: float, share: Fraction, shares: Shared) -> Scales:
    """σ for counters and count: analytic first, then as little larger as the certificate asks for."""
    base = math.sqrt(moves.column.squared) * analytic_gaussian_sigma(epsilon, delta)
    per_counter = moves.most * math.sqrt(moves.cells / (1 - share))
    per_count = moves.people / math.sqrt(share) if share else None

    a_row = moves.most * math.sqrt(moves.sides / (1 - share))
    rows = [a_row / math.sqrt(part) for part in shares]

    def scales(factor: float) -> Scales:
        count = None if per_count is None else simplest_above(Fraction(factor * base * per_count))
        if rows:
            sigmas = {one: 1 / dyadic_below(Fraction(1 / (factor * base * one))) for one in set(rows)}
            return Scales.of_rows([sigmas[one] for one in rows], count)
        return Scales(simplest_above(Fraction(factor * base * per_counter)), count)

    def certified(factor: float) -> bool:
        return certified_delta(epsilon, *shifts(moves, scales(factor)), target=delta) <= delta

    require_scales(scales(1.0), epsilon)  # before the certificates meet numbers beyond float64
    low, high = 0.0, 1e-9  # the factor is 1 + high
    while not certified(1 + high):
        low, high = high, 8 * high
    while low and high - low > 1e-2 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if certified(1 + middle) else (middle, high)
    return scales(1 + high)


@lru_cache(maxsize=256)
def _certified_epsilon(moves: Moves, scales: Scales, delta: float) -> float:
    worst = shifts(moves, scales)
    return least_epsilon(lambda epsilon: certified_delta(epsilon, *worst, target=delta), delta)


def _share_sigma(sigma: Fraction, enough: int) -> Fraction:
    """σ of one share: full σ over √k, rounded up by less than 10⁻²⁰."""
    square = sigma**2 / enough
    ten = 10**20
    return Fraction(math.isqrt(math.floor(square * ten**2)) + 1, ten)


def distance_of_sum(sigma: float, shares: int) -> float:
    """Σ over k of ln((1 + 2κ)/(1 − 2κ)), κ <= x/(1 − x), x = exp(−2π²σ² k/(k + 1)) (calibration.proof.md, Lemma 3)."""
    if shares == 1:
        return 0.0
    steps = np.arange(1, min(shares, 10**6)) / np.arange(2, min(shares, 10**6) + 1)
    x = np.exp(-2 * math.pi**2 * sigma**2 * steps)
    if x.max() > 0.1:
        return math.inf
    kappa = 2 * x / (1 - x)
    return float(np.sum(np.log1p(kappa) - np.log1p(-kappa))) * (1 + 1e-6) * max(1.0, shares / 10**6)
