"""Composition: what several releases cost together (proofs: ``calibration.proof.md``, *Merging*).

Releases that share nobody cost the largest of their costs; others the sum of ε and δ, or a tighter bound.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from scumble.errors import MergeError, ParameterError
from scumble.privacy.exact import float_down, float_up
from scumble.privacy.gaussian import least_epsilon, zcdp_delta
from scumble.privacy.laws import GAUSSIAN
from scumble.privacy.sensitivity import unit_of

if TYPE_CHECKING:
    from scumble.privacy.claim import PrivacyClaim

MERGED = "merged"
"""The mechanism of a claim that is made of others."""

HOW = {"rho": "added up by ρ", "gaussian": "Gaussian noise added up exactly"}
"""In words, how releases cost less together than the sum of their ε."""


def disjoint(claims: Iterable[PrivacyClaim]) -> PrivacyClaim:
    """The claim of several releases where each *person* is in at most one: the largest of their costs.

    Parallel composition (McSherry 2009). Under ``neighbors="replace"`` it holds only if a record's part does not depend
    on the record's values.
    """
    found = _compatible(claims)
    return found[0] if len(found) == 1 else _disjoint(found)


def overlapping(claims: Iterable[PrivacyClaim]) -> PrivacyClaim:
    """The claim of several releases that may all contain the same person: the costs add up.

    The δ add up, and ε is the least of three proven bounds: the sum of the ε (Dwork et al. 2006); what the sum of the ρ
    gives (Bun & Steinke 2016); Gaussian releases as one mechanism whose μ² is the sum of theirs (Dong, Roth & Su 2022),
    pure ones added. A sum of pure promises stays pure.

    >>> from scumble.privacy import calibrate
    >>> week = overlapping([calibrate(100, epsilon=1, delta=1e-6)] * 7)
    >>> round(week.epsilon, 2), week.delta, week.added_up
    (2.62, 7e-06, 'gaussian')
    """
    found = _compatible(claims)
    if len(found) == 1:
        return found[0]
    plain = _plain_sum(found)
    if not plain.delta:
        return plain
    epsilon, _ = _tightest(plain.parts, plain.delta)
    return dataclasses.replace(plain, epsilon=min(plain.epsilon, epsilon * (1 + ROOM)))


def of_disjoint_records(claims: Iterable[PrivacyClaim]) -> PrivacyClaim:
    """The claim of several releases that have no *record* in common: the largest cost, where records are protected.

    A person may have up to `records_per_person` records in each of them, so for a person the costs add up.
    """
    found = _compatible(claims)
    return disjoint(found) if min(claim.records_per_person for claim in found) == 1 else overlapping(found)


def curve(merged: PrivacyClaim, delta: float) -> float:
    """The least ε that is proven for all parts together at δ."""
    parts = merged.parts
    if merged.combination == "disjoint":
        return max(part.equivalent(delta) for part in parts)
    share = math.nextafter(delta / len(parts), 0)
    return min(_total(part.equivalent(share) for part in parts), _tightest(parts, delta)[0])


def way(merged: PrivacyClaim) -> str:
    """How the costs of the parts became one: "largest", "sum", "rho" or "gaussian"."""
    if merged.combination == "disjoint":
        return "largest"
    plain = merged.epsilon >= _total(part.epsilon for part in merged.parts)
    return "sum" if plain else _tightest(merged.parts, merged.delta)[1]


def follows(merged: PrivacyClaim) -> bool:
    """Whether a stored claim promises what its parts promise together, and no more."""
    if merged.combination == "disjoint":
        return merged == _disjoint(merged.parts)
    # Older files hold the plain sum, a weaker promise; other machines may differ in the last digit.
    plain = _plain_sum(merged.parts)
    least = _tightest(plain.parts, plain.delta)[0] if plain.delta else plain.epsilon
    enough = min(least, plain.epsilon) <= merged.epsilon <= plain.epsilon
    return enough and dataclasses.replace(merged, epsilon=plain.epsilon) == plain


def _compatible(claims: Iterable[PrivacyClaim]) -> tuple[PrivacyClaim, ...]:
    found = tuple(claims)
    if not found:
        raise ParameterError("`claims` must hold at least one claim, got none.")
    for claim in found[1:]:
        if claim.neighbors != found[0].neighbors:
            raise MergeError(f"Cannot merge: neighbors is {found[0].neighbors!r} here and {claim.neighbors!r} there.")
    return found


def _disjoint(claims: tuple[PrivacyClaim, ...]) -> PrivacyClaim:
    # Equal parts count once.
    parts = tuple(dict.fromkeys(_flat(claims, "disjoint")))
    rhos = [part.rho for part in parts if part.rho is not None]
    return _merged(
        parts,
        "disjoint",
        epsilon=max(part.epsilon for part in parts),
        delta=max(part.delta for part in parts),
        rho=max(rhos) if len(rhos) == len(parts) else None,
    )


@lru_cache(maxsize=256)
def _tightest(parts: tuple[PrivacyClaim, ...], delta: float) -> tuple[float, str]:
    """The least ε of all parts together at this δ, by ρ or with Gaussian noise as one mechanism; and which it was."""
    ways = [(math.inf, "sum")]
    rhos = [part.rho for part in parts]
    if None not in rhos:
        total = _total(one for one in rhos if one is not None)
        ways.append((least_epsilon(lambda epsilon: zcdp_delta(epsilon, total), delta), "rho"))
    gaussian = [part for part in parts if part.custodians is None and part.mechanism == GAUSSIAN.name]
    others = [part for part in parts if part not in gaussian]
    left = float_down(Fraction(delta) - sum(Fraction(part.exception) for part in gaussian))
    if gaussian and left > 0 and not any(part.delta for part in others):
        together = GAUSSIAN.together([(part.moves, part.scales) for part in gaussian], left)
        ways.append((_total([together, *(part.epsilon for part in others)]), "gaussian"))
    return min(ways)


ROOM = 1e-7
"""Relative room in a claim for a reader whose arithmetic differs in the last digits."""


def _plain_sum(claims: tuple[PrivacyClaim, ...]) -> PrivacyClaim:
    """Basic composition (Dwork et al. 2006): ε, δ and ρ each add up."""
    parts = _flat(claims, "overlapping")
    rhos = [part.rho for part in parts if part.rho is not None]
    return _merged(
        parts,
        "overlapping",
        epsilon=_total(part.epsilon for part in parts),
        delta=min(1.0, _total(part.delta for part in parts)),
        rho=_total(rhos) if len(rhos) == len(parts) else None,
    )


def _total(numbers: Iterable[float]) -> float:
    """Their exact sum, rounded up."""
    return float_up(sum(map(Fraction, numbers), Fraction(0)))


def _flat(claims: tuple[PrivacyClaim, ...], combination: str) -> tuple[PrivacyClaim, ...]:
    """Claims merged in the same way before are taken apart again: merging is associative."""
    found: list[PrivacyClaim] = []
    for claim in claims:
        found += claim.parts if claim.combination == combination else (claim,)
    return tuple(found)


def _merged(
    parts: tuple[PrivacyClaim, ...], combination: str, *, epsilon: float, delta: float, rho: float | None
) -> PrivacyClaim:
    # Every part protects a person with as many records as the least generous one.
    people = min(part.records_per_person for part in parts)
    # `type(...)`, as claim.py imports this module.
    return type(parts[0])(
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        neighbors=parts[0].neighbors,
        unit=unit_of(people),
        records_per_person=people,
        mechanism=MERGED,
        combination=combination,
        parts=parts,
    )
