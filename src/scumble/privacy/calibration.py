"""Calibration: from a privacy budget to exact noise scales, and back to an honest claim.

The budget decides the law of the noise (`scumble.privacy.laws`): discrete Laplace for δ = 0; for δ > 0 the quieter one,
which for few rows is discrete Laplace (and the claim has δ = 0) and else discrete Gaussian; discrete Gaussian for a
budget in ρ (zero-concentrated privacy). The law finds its least scales, with a small share of the budget (1/25) for the
count. Scales are rounded up to short fractions; the claim is recomputed from these fractions and rounded up, and is
never above the request. The argument is in ``calibration.proof.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from scumble.errors import ParameterError, PrivacyError, parameter
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number, as_count, as_fraction, float_down, float_up
from scumble.privacy.gaussian import analytic_gaussian_sigma
from scumble.privacy.laws import GAUSSIAN, LAWS, quietest
from scumble.privacy.laws.law import Law, Shared, Size, require_scales
from scumble.privacy.noise import Integers
from scumble.privacy.sensitivity import NEIGHBORS, ONCE, ONE, Column, Moves, Reach, sides_of, unit_of

__all__ = ["DEFAULT_COUNT_SHARE", "Calibration", "analytic_gaussian_sigma", "calibrate"]

DEFAULT_COUNT_SHARE = Fraction(1, 25)
"""Share of the budget spent on the count: at ε = 1 its standard deviation is 35, at a cost of 4 %."""

DEFAULT_DELTA = 1e-6
"""The δ at which the ε of a budget in ρ is stated, unless said otherwise."""


@dataclass(frozen=True)
class Calibration:
    """Exact noise scales for one release, and the claim that they justify.

    `counter_scale` is that of every counter, and the least where rows have scales of their own (`row_scales`).
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
    def law(self) -> Law:
        """The law of the noise."""
        return LAWS[self.mechanism]

    @property
    def counter_variance(self) -> float:
        """Exact variance of the noise on one counter, where all rows have the same."""
        return self.law.variance(self._one_scale)

    @property
    def row_scales(self) -> tuple[Fraction, ...]:
        """The exact scale of each row."""
        return self.claim.row_scales

    @property
    def count_variance(self) -> float | None:
        """Exact variance of the noise on the count; None if no count is released."""
        return None if self.count_scale is None else self.law.variance(self.count_scale)

    def draw_counters(self, size: Size, *, backend: str = "exact") -> Integers:
        """Fresh noise for the counters, where all rows have the same."""
        return self._draw(self._one_scale, size, backend)

    @property
    def _one_scale(self) -> Fraction:
        if self.claim.exact_scales is not None:
            raise PrivacyError("The rows of this calibration have scales of their own. Hint: ask for `row_scales`.")
        return self.counter_scale

    def draw_count(self, *, backend: str = "exact") -> int:
        """Fresh noise for the count."""
        if self.count_scale is None:
            # Not zero: a caller who added zero noise would publish N itself.
            raise PrivacyError(
                "This calibration releases no noisy count. Hint: pass a `count_share` above 0, or use "
                "neighbors='replace', where N is public."
            )
        return int(self._draw(self.count_scale, 1, backend)[0])

    def _draw(self, scale: Fraction, size: Size, backend: str) -> Integers:
        return self.law.draw(scale, size, backend=backend)


def calibrate(
    rows: int,
    *,
    epsilon: Number | None = None,
    delta: Number = 0.0,
    rho: Number | None = None,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    count_share: Number = DEFAULT_COUNT_SHARE,
    shares: Sequence[Number] | None = None,
    mechanism: str | None = None,
    column: Column = ONCE,
    reach: Reach = ONE,
) -> Calibration:
    """The least noise that makes a release of `rows` rows and the count (epsilon, delta)-private.

    `rho` may stand instead of ε: Gaussian noise of just that ρ, whose ε is claimed at `delta` (1e-6 if that is 0).
    `mechanism` names the law of noise; without it, the quieter one for so many rows is taken. `reach` says what a
    record adds to a row, if that is not one; a law that it names is taken.
    `column` says what a record does to the numbers that a stream publishes of one counter (:mod:`scumble.continual`).

    `shares`, one positive number for each row, say how the rows divide what the count leaves of the budget: with
    Laplace noise 1/scale is proportional to them, with Gaussian noise 1/scale². Without them, all rows get the same.

    >>> plain = calibrate(1000, epsilon=1)
    >>> str(plain.counter_scale), str(plain.count_scale), plain.claim.epsilon
    ('3125/3', '25', 1.0)
    >>> calibrate(1000, epsilon="0.5", neighbors="replace").counter_scale
    Fraction(4000, 1)
    >>> [str(scale) for scale in calibrate(2, epsilon=1, shares=[3, 1], count_share=0).row_scales]
    ['4/3', '4']
    """
    touched = as_count("rows", rows)
    people = as_count("records_per_person", records_per_person, "the most records one person may have.")
    if epsilon is not None and rho is not None:
        raise ParameterError("Give `epsilon` or `rho`, one of them.")
    allowed = failure(delta)
    if neighbors not in NEIGHBORS:
        raise parameter("neighbors", "'add-remove' or 'replace'", neighbors)
    share = as_fraction("count_share", count_share)
    if not 0 <= share < 1:
        raise parameter("count_share", "at least 0 and below 1", count_share)
    if sides_of(neighbors) == 2:
        share = Fraction(0)  # N is public: nothing to pay for

    mechanism = reach.mechanism or mechanism
    moves, parts = Moves(touched, neighbors, people, column, reach), _shares(shares, touched)
    if rho is not None:
        if mechanism not in (None, GAUSSIAN.name):
            hint = "give epsilon, or moments for Gaussian noise."
            raise parameter("rho", "left out where noise must be Laplace's", rho, hint)
        law: Law = GAUSSIAN
        concentrated = Fraction(_positive("rho", rho, "typical are 0.001 to 1."))
        scales = require_scales(GAUSSIAN.scales_of_rho(moves, concentrated, share, parts), rho, "rho")
        allowed = allowed or DEFAULT_DELTA
        stated = law.curve(moves, scales, allowed)
    else:
        budget = _positive("epsilon", epsilon, "typical budgets are 0.1 to 3.")
        law = _law(mechanism, moves, budget, allowed, share)
        scales = require_scales(law.scales(moves, budget, allowed, share, parts), budget)
        pure = law.epsilon(moves, scales)
        stated, allowed = (budget, allowed) if pure is None else (float_up(pure), 0.0)
    counters, count = scales.counters, scales.count
    claim = PrivacyClaim(
        epsilon=stated,
        delta=allowed,
        rho=float_up(law.rho(moves, scales)),
        neighbors=neighbors,
        unit=unit_of(people),
        records_per_person=people,
        mechanism=law.name,
        rows=touched,
        scale=None if scales.rows else float(counters),
        exact_scale=None if scales.rows else str(counters),
        count_scale=None if count is None else float(count),
        exact_count_scale=None if count is None else str(count),
        exact_scales=tuple((rows, str(scale)) for rows, scale in scales.rows) or None,
        column=None if column == ONCE else (column.touched, column.total, column.squared),
        step=reach.step,
        signed=reach.signed,
    )
    return Calibration(law.name, counters, count, claim)


def _shares(shares: Sequence[Number] | None, rows: int) -> Shared:
    """What each row gets of the whole; nothing if all get the same."""
    if shares is None:
        return ()
    found = [as_fraction("shares", share) for share in shares]
    if len(found) != rows or min(found) <= 0:
        raise parameter("shares", f"{rows:,} positive numbers, one for each row", f"{len(found):,}")
    total = sum(found, Fraction(0))
    return tuple(share / total for share in found) if len(set(found)) > 1 else ()


def _law(mechanism: str | None, moves: Moves, epsilon: float, delta: float, count_share: Fraction) -> Law:
    if mechanism is None:
        return quietest(moves, epsilon, delta, count_share)
    if mechanism not in LAWS or not LAWS[mechanism].serves(epsilon, delta):
        raise parameter("mechanism", "a law of noise that serves this budget, such as 'discrete-laplace'", mechanism)
    return LAWS[mechanism]


def _positive(name: str, value: Number | None, hint: str) -> float:
    """The greatest float that is not above ε or ρ: the claim is a float and must not exceed the request."""
    exact = as_fraction(name, value, hint)
    if exact <= 0:
        raise parameter(name, "positive", value, hint)
    try:
        budget = float_down(exact)
    except OverflowError:
        budget = math.inf
    if not 0 < budget < math.inf:
        raise parameter(name, "positive and finite", value, hint)
    return budget


def failure(delta: Number) -> float:
    """δ as a float that is not above the request."""
    hint = "0 for pure privacy, else far below one over the number of people, such as 1e-6."
    exact = as_fraction("delta", delta, hint)
    if not 0 <= exact < Fraction(1, 10):
        raise parameter("delta", "at least 0 and below 0.1", delta, hint)
    allowed = float_down(exact)
    if exact > 0 and allowed < 1e-300:
        raise parameter("delta", "0 or at least 1e-300", delta, hint)
    return allowed
