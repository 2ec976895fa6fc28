"""Noise from several custodians: each adds a share, and only the sum has the full noise.

Hospitals that may not show each other their counters can still publish one sketch of all their patients: each adds a
*share* of the noise to its own counters, and an aggregator adds up the shares. With n custodians of whom t may drop out
(or reveal their noise to the aggregator), every share is made for k = n − t: any k honest shares carry the noise that
the promise needs, further ones only add to it.

- δ = 0: a share is a difference of two Pólya(1/k) variables, and k of them add up to *exactly* a discrete Laplace
  variable of the full scale (`scumble.privacy.polya`).
- δ > 0: a share is a discrete Gaussian with variance σ²/k. Their sum is *almost* a discrete Gaussian: up to a factor
  e^±c at each point, with c vanishing like exp(−π²σ²/k) (Kairouz, Liu & Steinke 2021). The budget is calibrated with
  room for c, and a request for which c is not negligible (shares with σ below 2 or so) is refused.

What is *not* promised: one share alone has too little noise. Against the aggregator, the promise holds only if it sees
nothing but the sum, that is, with secure aggregation: shares are 64-bit integers for that reason, and any protocol that
adds vectors modulo 2^64 will do. A person who is with several custodians has `records_per_person` records in all.

The argument is in ``splitting.proof.md``.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

from scumble.errors import PrivacyError, parameter
from scumble.privacy.calibration import DEFAULT_COUNT_SHARE, calibrate
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number, as_count, float_up
from scumble.privacy.laws.law import Shares, Size
from scumble.privacy.noise import Integers


def calibrate_shares(
    rows: int,
    *,
    custodians: int,
    dropouts: int = 0,
    epsilon: Number | None = None,
    delta: Number = 0.0,
    rho: Number | None = None,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    count_share: Number = DEFAULT_COUNT_SHARE,
    mechanism: str | None = None,
) -> PrivacyClaim:
    """The claim of a sum of at least `custodians` − `dropouts` shares; its scales decide what a share is.

    >>> print(calibrate_shares(100, custodians=5, dropouts=1, epsilon=1))
    ε = 1, ρ = 0.005409 (add-remove one record; discrete-laplace from 5 custodians, any 4 of them enough)
    """
    people = as_count("custodians", custodians)
    missing = _dropouts(dropouts, people)
    common: dict[str, Any] = {
        "neighbors": neighbors,
        "records_per_person": records_per_person,
        "count_share": count_share,
    }
    wanted = calibrate(rows, epsilon=epsilon, delta=delta, rho=rho, mechanism=mechanism, **common).claim
    slack = shares_of(wanted).slack
    if slack == 0:
        return dataclasses.replace(wanted, custodians=people, dropouts=missing)
    room = 2 * Fraction(slack)
    exact = Fraction(wanted.epsilon)
    # Room for the sum's distance from its ideal law: (ε − 2c, δ e^−c), not (ε, δ); c <= slack·min(1, ε). In ρ it is c.
    less = room * min(Fraction(1), exact)
    if rho is None:
        budget: dict[str, Any] = {"epsilon": exact - less, "mechanism": wanted.mechanism}
    else:
        assert wanted.rho is not None
        budget = {"rho": Fraction(wanted.rho) - less}
    ideal = calibrate(rows, delta=Fraction(wanted.delta) * (1 - room), **budget, **common).claim
    stated = wanted.epsilon if rho is None else float_up(Fraction(ideal.epsilon) + less)
    claim = dataclasses.replace(ideal, epsilon=stated, delta=wanted.delta, custodians=people, dropouts=missing)
    distance = _distance(claim)
    if distance > slack * min(1.0, claim.epsilon):
        raise parameter(
            "custodians",
            "few enough that a share's σ is at least 2 or so",
            custodians,
            f"it would be {float(share_scale(claim)):.3g}; use a smaller epsilon, more rows or fewer custodians.",
        )
    # Kairouz, Liu & Steinke 2021: ½ε²-concentrated with ε² = Δ²/σ² + τd/2; their τ is at most 2.5 times our c a cell.
    assert claim.rho is not None
    return dataclasses.replace(claim, rho=float_up(Fraction(claim.rho) + Fraction(distance)))


def shares_of(claim: PrivacyClaim) -> Shares:
    """How the law of this claim splits."""
    if claim.law.shares is None:
        raise PrivacyError(f"Several custodians cannot draw {claim.law.title} together. Hint: use another budget.")
    return claim.law.shares


def enough(claim: PrivacyClaim) -> int:
    """How many shares carry the full noise."""
    if claim.custodians is None or claim.dropouts is None:
        raise PrivacyError("This claim is not about shares of several custodians.")
    return claim.custodians - claim.dropouts


def share_scale(claim: PrivacyClaim, *, count: bool = False) -> Fraction:
    """The scale with which one share is drawn."""
    return shares_of(claim).drawn(_full_scale(claim, count=count), enough(claim)).scale


def draw_counters_share(claim: PrivacyClaim, size: Size) -> Integers:
    """Fresh noise for one custodian's counters."""
    return shares_of(claim).draw(claim.scales.counters, enough(claim), size)


def draw_count_share(claim: PrivacyClaim) -> int:
    """Fresh noise for one custodian's count."""
    if claim.scales.count is None:
        raise PrivacyError("This claim is of a release without a noisy count.")
    return int(shares_of(claim).draw(claim.scales.count, enough(claim), 1)[0])


def variances(claim: PrivacyClaim, arrived: int) -> tuple[float, float]:
    """Variance of the noise on a counter and on the count in the sum of `arrived` shares."""
    shares, scales = shares_of(claim), claim.scales
    counter = shares.variance(scales.counters, enough(claim))
    count = 0.0 if scales.count is None else shares.variance(scales.count, enough(claim))
    return arrived * counter, arrived * count


def _full_scale(claim: PrivacyClaim, *, count: bool) -> Fraction:
    scale = claim.scales.count if count else claim.scales.counters
    assert scale is not None
    return scale


def _distance(claim: PrivacyClaim) -> float:
    """c: how far, as a factor e^±c, the sum of the touched coordinates' noise may be from the ideal (Lemma 3)."""
    shares, scales = shares_of(claim), claim.scales
    total = claim.moves.total * shares.distance(scales.counters, enough(claim))
    return total if scales.count is None else total + shares.distance(scales.count, enough(claim))


def _dropouts(value: object, custodians: int) -> int:
    missing = (
        0 if isinstance(value, int) and not isinstance(value, bool) and value == 0 else as_count("dropouts", value)
    )
    if missing >= custodians:
        raise parameter("dropouts", f"below {custodians}, the number of custodians", value)
    return missing
