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
import math
from fractions import Fraction

import numpy as np

from scumble.errors import PrivacyError, parameter
from scumble.privacy import noise
from scumble.privacy.calibration import DEFAULT_COUNT_SHARE, calibrate
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number, as_count, as_fraction, float_down, float_up
from scumble.privacy.polya import laplace_share
from scumble.privacy.sensitivity import LAPLACE, SHARE_SLACK, sides_of


def calibrate_shares(
    rows: int,
    *,
    custodians: int,
    dropouts: int = 0,
    epsilon: Number,
    delta: Number = 0.0,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    count_share: Number = DEFAULT_COUNT_SHARE,
) -> PrivacyClaim:
    """The claim of a sum of at least `custodians` − `dropouts` shares; its scales decide what a share is.

    >>> print(calibrate_shares(100, custodians=5, dropouts=1, epsilon=1))
    ε = 1, ρ = 0.005408 (add-remove one record; discrete-laplace from 5 custodians, any 4 of them enough)
    """
    people = as_count("custodians", custodians)
    missing = _dropouts(dropouts, people)
    common = {"neighbors": neighbors, "records_per_person": records_per_person, "count_share": count_share}
    if as_fraction("delta", delta) == 0:
        plain = calibrate(rows, epsilon=epsilon, delta=delta, **common).claim  # type: ignore[arg-type]
        return dataclasses.replace(plain, custodians=people, dropouts=missing)
    wanted = calibrate(rows, epsilon=epsilon, delta=delta, **common).claim  # type: ignore[arg-type]
    room = 2 * Fraction(SHARE_SLACK)
    exact = Fraction(wanted.epsilon)
    # Room for the sum's distance from its ideal law: (ε − 2c, δ e^−c), not (ε, δ); c <= SHARE_SLACK·min(1, ε).
    ideal = calibrate(
        rows,
        epsilon=exact - room * min(Fraction(1), exact),
        delta=Fraction(wanted.delta) * (1 - room),
        **common,  # type: ignore[arg-type]
    ).claim
    claim = dataclasses.replace(ideal, epsilon=wanted.epsilon, delta=wanted.delta, custodians=people, dropouts=missing)
    distance = _distance(claim)
    if distance > SHARE_SLACK * min(1.0, claim.epsilon):
        raise parameter(
            "custodians",
            "few enough that a share's σ is at least 2 or so",
            custodians,
            f"it would be {float(share_scale(claim)):.3g}; use a smaller epsilon, more rows or fewer custodians.",
        )
    # Kairouz, Liu & Steinke 2021: ½ε²-concentrated with ε² = Δ²/σ² + τd/2; their τ is at most 2.5 times our c a cell.
    assert claim.rho is not None
    return dataclasses.replace(claim, rho=float_up(Fraction(claim.rho) + Fraction(distance)))


def share_scale(claim: PrivacyClaim, *, count: bool = False) -> Fraction:
    """σ of one Gaussian share: full σ over √k, rounded up by less than 10⁻²⁰."""
    text = claim.exact_count_scale if count else claim.exact_scale
    assert text is not None
    square = Fraction(text) ** 2 / enough(claim)
    ten = 10**20
    return Fraction(math.isqrt(math.floor(square * ten**2)) + 1, ten)


def enough(claim: PrivacyClaim) -> int:
    """How many shares carry the full noise."""
    if claim.custodians is None or claim.dropouts is None:
        raise PrivacyError("This claim is not about shares of several custodians.")
    return claim.custodians - claim.dropouts


def draw_counters_share(claim: PrivacyClaim, size: int | tuple[int, ...]) -> noise.Integers:
    """Fresh noise for one custodian's counters."""
    if claim.mechanism == LAPLACE:
        assert claim.exact_scale is not None
        return laplace_share(Fraction(claim.exact_scale), enough(claim), size)
    return noise.discrete_gaussian(share_scale(claim), size)


def draw_count_share(claim: PrivacyClaim) -> int:
    """Fresh noise for one custodian's count."""
    if claim.exact_count_scale is None:
        raise PrivacyError("This claim is of a release without a noisy count.")
    if claim.mechanism == LAPLACE:
        return int(laplace_share(Fraction(claim.exact_count_scale), enough(claim), 1)[0])
    return int(noise.discrete_gaussian(share_scale(claim, count=True), 1)[0])


def variances(claim: PrivacyClaim, arrived: int) -> tuple[float, float]:
    """Variance of the noise on a counter and on the count in the sum of `arrived` shares."""
    if claim.mechanism == LAPLACE:
        assert claim.exact_scale is not None
        counter = noise.laplace_variance(Fraction(claim.exact_scale)) / enough(claim)
        count = claim.exact_count_scale and noise.laplace_variance(Fraction(claim.exact_count_scale)) / enough(claim)
    else:
        counter = noise.gaussian_variance(share_scale(claim))
        count = claim.exact_count_scale and noise.gaussian_variance(share_scale(claim, count=True))
    return arrived * counter, arrived * (count or 0.0)


def _distance(claim: PrivacyClaim) -> float:
    """c: how far, as a factor e^±c, the sum of the touched coordinates' noise may be from the ideal (Lemma 3)."""
    assert claim.rows is not None
    cells = sides_of(claim.neighbors) * claim.rows * claim.records_per_person
    total = cells * _distance_of_one(float_down(share_scale(claim)), enough(claim))
    if claim.exact_count_scale is not None:
        total += _distance_of_one(float_down(share_scale(claim, count=True)), enough(claim))
    return total


def _distance_of_one(sigma: float, shares: int) -> float:
    """Σ over k of ln((1 + 2κ)/(1 − 2κ)), κ <= x/(1 − x), x = exp(−2π²σ² k/(k + 1)) (calibration.proof.md, Lemma 3)."""
    if shares == 1:
        return 0.0
    steps = np.arange(1, min(shares, 10**6)) / np.arange(2, min(shares, 10**6) + 1)
    x = np.exp(-2 * math.pi**2 * sigma**2 * steps)
    if x.max() > 0.1:
        return math.inf
    kappa = 2 * x / (1 - x)
    return float(np.sum(np.log1p(kappa) - np.log1p(-kappa))) * (1 + 1e-6) * max(1.0, shares / 10**6)


def _dropouts(value: object, custodians: int) -> int:
    missing = (
        0 if isinstance(value, int) and not isinstance(value, bool) and value == 0 else as_count("dropouts", value)
    )
    if missing >= custodians:
        raise parameter("dropouts", f"below {custodians}, the number of custodians", value)
    return missing
