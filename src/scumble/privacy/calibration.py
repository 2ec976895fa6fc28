"""Calibration: from a privacy budget to exact noise scales, and back to an honest claim.

**Scales.** With the sensitivities L1, L2 of the R rows (`scumble.privacy.sensitivity`), m records per
person, and a small share c of the budget (1/25) for the count:

- δ = 0, discrete Laplace:   s = m·L1/((1 − c) ε) and s_N = m/(c ε), so m·L1/s + m/s_N = ε;
- δ > 0, discrete Gaussian:  σ² = m²·L2² σ₀²/(1 − c) and σ_N² = m² σ₀²/c, so m²(L2²/σ² + 1/σ_N²) = 1/σ₀²,
  where σ₀ is the analytic σ for sensitivity 1 (Balle & Wang 2018), enlarged until the *discrete* law is
  certified (`scumble.privacy.gaussian`).

Scales are rounded up to short fractions; the claim is recomputed from these fractions and rounded up,
and is never above the request. The argument is in ``calibration.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from scumble.errors import PrivacyError, parameter
from scumble.privacy import noise
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number, as_count, as_fraction, float_down, simplest_above
from scumble.privacy.gaussian import analytic_gaussian_sigma, certified_delta
from scumble.privacy.sensitivity import (
    GAUSSIAN,
    LAPLACE,
    NEIGHBORS,
    costs,
    gaussian_shift,
    sides_of,
    unit_of,
)

__all__ = ["DEFAULT_COUNT_SHARE", "Calibration", "analytic_gaussian_sigma", "calibrate"]

DEFAULT_COUNT_SHARE = Fraction(1, 25)
"""Share of the budget spent on the count: at ε = 1 its standard deviation is 35, at a cost of 4 %."""


@dataclass(frozen=True)
class Calibration:
    """Exact noise scales for one release, and the claim that they justify.

    `count_scale` is None if no noisy count is released: because N is public (replace), or because
    `count_share` was 0.

    >>> calibration = calibrate(100, epsilon=1.0, delta=1e-6)
    >>> calibration.mechanism, round(calibration.counter_variance)
    ('discrete-gaussian', 1859)
    >>> calibration.draw_counters((100, 32)).shape
    (100, 32)
    """

    mechanism: str
    counter_scale: Fraction
    count_scale: Fraction | None
    claim: PrivacyClaim

    @property
    def counter_variance(self) -> float:
        """Exact variance of the noise on one counter."""
        return self._variance(self.counter_scale)

    @property
    def count_variance(self) -> float | None:
        """Exact variance of the noise on the count; None if no count is released."""
        return None if self.count_scale is None else self._variance(self.count_scale)

    def draw_counters(self, size: int | tuple[int, ...], *, backend: str = "exact") -> npt.NDArray[np.int64]:
        """Fresh noise for the counters."""
        return self._draw(self.counter_scale, size, backend)

    def draw_count(self, *, backend: str = "exact") -> int:
        """Fresh noise for the count."""
        if self.count_scale is None:
            # Not zero: a caller who added zero noise would publish N itself.
            raise PrivacyError(
                "This calibration releases no noisy count. Hint: pass a `count_share` above 0, or use "
                "neighbors='replace', where N is public."
            )
        return int(self._draw(self.count_scale, 1, backend)[0])

    def _variance(self, scale: Fraction) -> float:
        law = noise.laplace_variance if self.mechanism == LAPLACE else noise.gaussian_variance
        return law(scale)

    def _draw(self, scale: Fraction, size: int | tuple[int, ...], backend: str) -> npt.NDArray[np.int64]:
        law = noise.discrete_laplace if self.mechanism == LAPLACE else noise.discrete_gaussian
        return law(scale, size, backend=backend)


def calibrate(
    rows: int,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    count_share: Number = DEFAULT_COUNT_SHARE,
) -> Calibration:
    """The least noise that makes a release of `rows` rows and the count (epsilon, delta)-private.

    >>> plain = calibrate(1000, epsilon=1)
    >>> str(plain.counter_scale), str(plain.count_scale), plain.claim.epsilon
    ('3125/3', '25', 1.0)
    >>> calibrate(1000, epsilon="0.5", neighbors="replace").counter_scale
    Fraction(4000, 1)
    """
    touched = as_count("rows", rows)
    people = as_count("records_per_person", records_per_person, "the most records one person may have.")
    budget, failure = _budget(epsilon), _failure(delta)
    if neighbors not in NEIGHBORS:
        raise parameter("neighbors", "'add-remove' or 'replace'", neighbors)
    share = as_fraction("count_share", count_share)
    if not 0 <= share < 1:
        raise parameter("count_share", "at least 0 and below 1", count_share)
    sides = sides_of(neighbors)
    if sides == 2:
        share = Fraction(0)  # N is public: nothing to pay for

    if failure == 0:
        mechanism = LAPLACE
        exact = Fraction(budget)
        counters = simplest_above(sides * touched * people / ((1 - share) * exact))
        count = simplest_above(people / (share * exact)) if share else None
    else:
        mechanism = GAUSSIAN
        counters, count = _gaussian_scales(touched, budget, failure, neighbors, people, share)
    _refuse_extremes(counters, count, epsilon)

    pure, rho = costs(mechanism, touched, neighbors, people, counters, count)
    claim = PrivacyClaim(
        epsilon=budget if pure is None else pure,
        delta=failure,
        rho=rho,
        neighbors=neighbors,
        unit=unit_of(people),
        records_per_person=people,
        mechanism=mechanism,
        rows=touched,
        scale=float(counters),
        exact_scale=str(counters),
        count_scale=None if count is None else float(count),
        exact_count_scale=None if count is None else str(count),
    )
    return Calibration(mechanism, counters, count, claim)


@lru_cache(maxsize=256)
def _gaussian_scales(
    rows: int, epsilon: float, delta: float, neighbors: str, people: int, share: Fraction
) -> tuple[Fraction, Fraction | None]:
    """σ for counters and count: analytic first, then as little larger as the certificate asks for."""
    base = people * analytic_gaussian_sigma(epsilon, delta)
    sides = sides_of(neighbors)
    per_counter = math.sqrt(sides * rows / (1 - share))
    per_count = 1 / math.sqrt(share) if share else None

    def scales(factor: float) -> tuple[Fraction, Fraction | None]:
        sigma = simplest_above(Fraction(factor * base * per_counter))
        return sigma, None if per_count is None else simplest_above(Fraction(factor * base * per_count))

    def certified(factor: float) -> bool:
        sigma, count = scales(factor)
        # As floats, rounded down; what the last bit may change is within the certificates' padding.
        shown = float_down(sigma), None if count is None else float_down(count)
        return certified_delta(epsilon, gaussian_shift(rows, neighbors, people, *shown), delta) <= delta

    _refuse_extremes(*scales(1.0), epsilon)  # before the certificates meet numbers beyond float64
    low, high = 0.0, 1e-9  # the factor is 1 + high
    while not certified(1 + high):
        low, high = high, 8 * high
    while low and high - low > 1e-2 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if certified(1 + middle) else (middle, high)
    return scales(1 + high)


def _budget(epsilon: Number) -> float:
    """The greatest float that is not above ε: the claim is a float and must not exceed the request."""
    hint = "typical budgets are 0.1 to 10."
    exact = as_fraction("epsilon", epsilon, hint)
    if exact <= 0:
        raise parameter("epsilon", "positive", epsilon, hint)
    try:
        budget = float_down(exact)
    except OverflowError:
        budget = math.inf
    if not 0 < budget < math.inf:
        raise parameter("epsilon", "positive and finite", epsilon, hint)
    return budget


def _failure(delta: Number) -> float:
    hint = "0 for pure privacy, else far below one over the number of people, such as 1e-6."
    exact = as_fraction("delta", delta, hint)
    if not 0 <= exact < Fraction(1, 10):
        raise parameter("delta", "at least 0 and below 0.1", delta, hint)
    failure = float_down(exact)
    if exact > 0 and failure < 1e-300:
        raise parameter("delta", "0 or at least 1e-300", delta, hint)
    return failure


def _refuse_extremes(counters: Fraction, count: Fraction | None, epsilon: Number) -> None:
    scales = [counters] if count is None else [counters, count]
    if max(scales) > noise.LARGEST_SCALE:
        raise parameter(
            "epsilon",
            "large enough for a noise scale of at most 2**48",
            epsilon,
            f"the scale would be {float(max(scales)):.3g}; use a larger epsilon or fewer rows.",
        )
    if min(scales) < noise.SMALLEST_SCALE:
        raise parameter(
            "epsilon",
            "small enough for a noise scale of at least 2**-32",
            epsilon,
            "with so large a budget the counters would be published as they are.",
        )
