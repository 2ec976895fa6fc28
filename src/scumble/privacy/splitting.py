"""Noise from several custodians: each adds a share, and only the sum has the full noise.

With n custodians, t of whom may drop out or reveal their noise, every share is made for k = n − t: any k honest shares
carry the noise that the claim needs. For δ = 0, k differences of Pólya(1/k) variables add up to *exactly* a discrete
Laplace variable (`scumble.privacy.polya`). For δ > 0, k discrete Gaussians of variance σ²/k add up to *almost* a
discrete Gaussian: up to a factor e^±c at each point (Kairouz, Liu & Steinke 2021). The budget is calibrated with room
for c, and a request for which c is not negligible (shares with σ below about 2) is refused.

One share alone has too little noise: the claim holds against the aggregator only with secure aggregation. A person who
is with several custodians has `records_per_person` records in all. Proof: ``splitting.proof.md``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from scumble.checks import whole
from scumble.errors import PrivacyError, parameter
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import as_count, float_up
from scumble.privacy.laws.law import Size
from scumble.privacy.noise import Integers


def calibrate_shares(
    rows: int, budget: Budget, *, custodians: int, dropouts: int = 0, mechanism: str | None = None
) -> PrivacyClaim:
    """The claim of a sum of at least `custodians` − `dropouts` shares; its scales decide what a share is.

    >>> print(calibrate_shares(100, Budget(1), custodians=5, dropouts=1))
    ε = 1, ρ = 0.005409 (add-remove one record; discrete-laplace from 5 custodians, any 4 of them enough)
    """
    people = as_count("custodians", custodians)
    missing = whole("dropouts", dropouts, 0, people - 1)
    wanted = budget.claim(rows, mechanism=mechanism)
    slack = wanted.law.slack
    if not slack:
        return replace(wanted, custodians=people, dropouts=missing)
    # Room for the sum's distance from its ideal law: (ε − 2c, δ e^−c); c <= slack·min(1, ε). In ρ it is c.
    room, exact = 2 * Fraction(slack), Fraction(wanted.epsilon)
    less = room * min(Fraction(1), exact)
    lower = replace(budget, delta=Fraction(wanted.delta) * (1 - room))
    if budget.rho is None:
        ideal = replace(lower, epsilon=exact - less).claim(rows, mechanism=wanted.mechanism)
        stated = wanted.epsilon
    else:
        assert wanted.rho is not None
        ideal = replace(lower, rho=Fraction(wanted.rho) - less).claim(rows)
        stated = float_up(Fraction(ideal.epsilon) + less)
    claim = replace(ideal, epsilon=stated, delta=wanted.delta, custodians=people, dropouts=missing)
    distance = _distance(claim)
    if distance > slack * min(1.0, claim.epsilon):
        raise parameter(
            "custodians",
            "few enough that a share's σ is at least about 2",
            custodians,
            f"it would be {float(share_scale(claim)):.3g}; use a smaller epsilon, more rows or fewer custodians.",
        )
    # Kairouz, Liu & Steinke 2021: ½ε²-concentrated with ε² = Δ²/σ² + τd/2; their τ is at most 2.5 times our c a cell.
    assert claim.rho is not None
    return replace(claim, rho=float_up(Fraction(claim.rho) + Fraction(distance)))


def enough(claim: PrivacyClaim) -> int:
    """How many shares carry the full noise."""
    assert claim.custodians is not None and claim.dropouts is not None
    return claim.custodians - claim.dropouts


def share_scale(claim: PrivacyClaim, *, count: bool = False) -> Fraction:
    """The scale with which one share is drawn."""
    scale = claim.scales.count if count else claim.scales.counters
    assert scale is not None
    return claim.law.share(scale, enough(claim)).scale


def draw_counters_share(claim: PrivacyClaim, size: Size) -> Integers:
    """Fresh noise for one custodian's counters."""
    return claim.law.draw_share(claim.scales.counters, enough(claim), size)


def draw_count_share(claim: PrivacyClaim) -> int:
    """Fresh noise for one custodian's count."""
    if claim.scales.count is None:
        raise PrivacyError("This release has no noisy count.")
    return int(claim.law.draw_share(claim.scales.count, enough(claim), 1)[0])


def variances(claim: PrivacyClaim, arrived: int) -> tuple[float, float]:
    """Variance of the noise on a counter and on the count in the sum of `arrived` shares."""
    law, scales, k = claim.law, claim.scales, enough(claim)
    count = 0.0 if scales.count is None else law.share_variance(scales.count, k)
    return arrived * law.share_variance(scales.counters, k), arrived * count


def _distance(claim: PrivacyClaim) -> float:
    """c: how far, as a factor e^±c, the sum of the touched coordinates' noise may be from the ideal (Lemma 3)."""
    law, scales, k = claim.law, claim.scales, enough(claim)
    total = claim.moves.total * law.distance(scales.counters, k)
    return total if scales.count is None else total + law.distance(scales.count, k)
