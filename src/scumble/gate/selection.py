"""Choosing parameters privately: the best of a public list, for a small share of the budget.

**Report noisy max.** Each candidate has a score, a whole number that one record changes by at most Δ. Independent
discrete Laplace noise of scale b is added to every score; the one with the largest sum is named, ties to the first.
Nothing else is published, so the list may be long.

*Claim.* With b = 2Δ/ε the choice is ε-private; with b = Δ/ε if adding a record never lowers a score ("monotone").

*Proof.* Fix a candidate i and the noise of all others. i is chosen if its own noise Z is at least some whole number t,
the least one with which it wins (ties are settled by position, so a least one exists). On a neighboring table its score
may fall by Δ while the others rise by Δ, so there t′ ≤ t + 2Δ; if scores are monotone, either all fall or all rise, by
at most Δ each, and t′ ≤ t + Δ. The discrete Laplace law has P(Z ≥ t + c) ≥ e^(−c/b) P(Z ≥ t) for every t and c ≥ 0: its
tail falls by the factor e^(−1/b) per step for t ≥ 1 and more slowly below. So P(i | table′) ≥ e^(−ε) P(i | table), for
any noise of the others, hence on average. ∎ (Dwork & Roth 2014, Claim 3.9; Ding et al. 2021.)

**A score for kernels.** `credible_records` is the number of records that the best single row of a sketch would classify
correctly through the noise to come. A bucket's majority counts by its excess over a margin τ of about two standard
deviations; elsewhere one class c₀ is always guessed:

    score = max over c₀, r of Σ_buckets max(S_c₀, max_c S_c − τ).

A record raises one count S by one, hence one bucket's term and the score by 0 or 1: whole, monotone, Δ = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.privacy import audit_hooks
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number, as_count, as_fraction, float_up
from scumble.privacy.noise import discrete_laplace

if TYPE_CHECKING:
    from scumble.gate.secret import Secret


def noisy_best(
    scores: Sequence[int],
    epsilon: Number,
    *,
    sensitivity: int = 1,
    monotone: bool = False,
    handicaps: Sequence[int] = (),
    pure: bool = True,
) -> int:
    """The position of the best score, chosen ε-privately; the proof is in the module's documentation.

    `handicaps`, public whole numbers, are subtracted from the scores first. `pure`: whether the release is charged for
    it in ε, or as for a Gaussian shift (:mod:`scumble.gate.rows`).

    >>> noisy_best([10, 5000, 20], epsilon=1.0)         # any other with probability below exp(−1000)
    1
    """
    exact, taken_off = _whole(scores), _whole(handicaps) or [0] * len(scores)
    if not exact or len(taken_off) != len(exact):
        raise ParameterError("Give at least one score, and as many `handicaps` as `scores`.")
    apart = as_count("sensitivity", sensitivity) * (1 if monotone else 2)
    budget = as_fraction("epsilon", epsilon)
    if budget <= 0:
        raise parameter("epsilon", "positive", epsilon)
    scale = apart / budget
    total = discrete_laplace(scale, len(exact)) + np.array(exact, np.int64) - np.array(taken_off, np.int64)
    return audit_hooks.choose(int(np.argmax(total)), exact, scale, apart, pure=pure)


def claim_of_choice(epsilon: Fraction, neighbors: str, records_per_person: int) -> PrivacyClaim:
    """What `noisy_best` costs: ε as of one row, and ρ = ε²/2 as of any pure release (Bun & Steinke 2016)."""
    choice = Budget(epsilon, 0, neighbors, records_per_person, count_share=0)
    return replace(choice.claim(1), rho=float_up(epsilon**2 / 2))


def _whole(numbers: Sequence[int]) -> list[int]:
    """Whole numbers with room for noise. Scores are secret, so errors do not show them."""
    try:
        found = [int(one) for one in numbers]
        if all(a == b and abs(a) < 2**61 for a, b in zip(found, numbers, strict=True)):
            return found
    except Exception:
        pass
    raise ParameterError("`scores` and `handicaps` must be whole numbers below 2**61.") from None


def credible_records(secrets: Sequence[Secret], margin: int) -> int:
    """The score of a kernel from the secrets of all classes; see the module's documentation."""
    counts = np.stack([secret.counts for secret in secrets])
    credible = np.maximum(counts.max(axis=0) - int(margin), 0)
    return max(int(np.maximum(one, credible).sum(axis=1).max()) for one in counts)
