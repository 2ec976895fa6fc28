"""Composition: what several releases cost together.

Releases that share nobody cost the largest of their costs, others the sum: of ε and δ, or less where more is known of
the noise. Each bound is proven in ``calibration.proof.md``, *Merging*.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeVar

from scumble.errors import MergeError, ParameterError
from scumble.privacy.curve import least_epsilon
from scumble.privacy.exact import float_up
from scumble.privacy.gaussian import zcdp_delta
from scumble.privacy.laws import LAWS
from scumble.privacy.sensitivity import Moves, Scales, unit_of

MERGED = "merged"
"""The mechanism of a claim that is made of others."""


class Promise(Protocol):
    """A claim (:class:`scumble.privacy.PrivacyClaim`), as far as adding it to others needs to know it."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def epsilon(self) -> float:
        """ε."""

    @property
    def delta(self) -> float:
        """δ."""

    @property
    def rho(self) -> float | None:
        """ρ, where it is known."""

    @property
    def neighbors(self) -> str:
        """What differs between two tables."""

    @property
    def records_per_person(self) -> int:
        """The most records that one person may own."""

    @property
    def mechanism(self) -> str:
        """The law of the noise, or "merged"."""

    @property
    def combination(self) -> str:
        """How its parts were put together, or "single"."""

    @property
    def parts(self) -> tuple[Promise, ...]:
        """The claims that it is made of."""

    @property
    def custodians(self) -> int | None:
        """How many made the noise together, or None."""

    @property
    def moves(self) -> Moves:
        """How far one person can move the release."""

    @property
    def scales(self) -> Scales:
        """The exact scales of its noise."""

    def equivalent(self, delta: float) -> float:
        """The ε of the same release at another δ."""


Claim = TypeVar("Claim", bound=Promise)

HOW = {"rho": "added up by ρ"} | {law.family.lower(): f"{law.family} noise added up exactly" for law in LAWS.values()}
"""How a sum of releases became less than the sum of their ε, in words."""


def disjoint(claims: Iterable[Claim]) -> Claim:
    """The claim of several releases where each *person* is in at most one: the largest of their costs.

    Parallel composition (McSherry 2009). Under ``neighbors="replace"`` it holds only if the part to which
    a record belongs does not depend on the record's values: a record that changes must stay where it is.
    """
    found = _compatible(claims)
    return found[0] if len(found) == 1 else _disjoint(found)


def overlapping(claims: Iterable[Claim]) -> Claim:
    """The claim of several releases that may all contain the same person: the costs add up.

    The δ add up, and ε is the least of three, all of them proven (calibration.proof.md, *Merging*): the sum of the ε
    (Dwork et al. 2006); what the sum of the ρ gives (Bun & Steinke 2016); Gaussian releases taken as one mechanism
    whose μ² is the sum of theirs (Dong, Roth & Su 2022), pure ones added. A sum of pure promises stays pure.

    >>> from scumble.privacy import calibrate
    >>> week = overlapping([calibrate(100, epsilon=1, delta=1e-6).claim] * 7)
    >>> round(week.epsilon, 2), week.delta, week.added_up
    (2.62, 7e-06, 'gaussian')
    """
    found = _compatible(claims)
    return found[0] if len(found) == 1 else _overlapping(found)


def of_disjoint_records(claims: Iterable[Claim]) -> Claim:
    """The claim of several releases that have no *record* in common.

    A record is in one of them: where records are protected, the cost is the largest of theirs. A person may have
    records in each of them, up to `records_per_person` every time: for a person the costs add up.
    """
    found = _compatible(claims)
    return disjoint(found) if min(claim.records_per_person for claim in found) == 1 else overlapping(found)


# -- reading a merged claim -------------------------------------------------------------------


def curve(merged: Claim, delta: float) -> float:
    """The least ε that is proven for all parts together at δ."""
    parts = merged.parts
    if merged.combination == "disjoint":
        return max(part.equivalent(delta) for part in parts)
    share = math.nextafter(delta / len(parts), 0)
    apart = float_up(sum((Fraction(part.equivalent(share)) for part in parts), Fraction(0)))
    return min(apart, _tightest(parts, delta)[0])


def way(merged: Claim) -> str:
    """How the costs of the parts became one: "largest", "sum", "rho" or the family of a law."""
    if merged.combination == "disjoint":
        return "largest"
    return "sum" if merged.epsilon >= _sum_of_epsilons(merged.parts) else _tightest(merged.parts, merged.delta)[1]


def follows(merged: Claim) -> bool:
    """Whether a stored claim promises what its parts promise together, and no more."""
    if merged.combination == "disjoint":
        return merged == _disjoint(merged.parts)
    # Older files hold the plain sum, a weaker promise; another machine may find another last digit.
    plain = _plain_sum(merged.parts)
    least = _tightest(plain.parts, plain.delta)[0] if plain.delta else plain.epsilon
    enough = min(least, plain.epsilon) <= merged.epsilon <= plain.epsilon
    return enough and dataclasses.replace(merged, epsilon=plain.epsilon) == plain


# -- arithmetic -------------------------------------------------------------------------------


def _compatible(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    found = tuple(claims)
    if not found:
        raise ParameterError("`claims` must hold at least one claim, got none.")
    for claim in found[1:]:
        if claim.neighbors != found[0].neighbors:
            raise MergeError(f"Cannot merge: neighbors is {found[0].neighbors!r} here and {claim.neighbors!r} there.")
    return found


def _disjoint(claims: tuple[Claim, ...]) -> Claim:
    # The largest does not care for repeats: a thousand equal parts stay one.
    parts = tuple(dict.fromkeys(_flat(claims, "disjoint")))
    rhos = [part.rho for part in parts if part.rho is not None]
    return _merged(
        parts,
        "disjoint",
        epsilon=max(part.epsilon for part in parts),
        delta=max(part.delta for part in parts),
        rho=max(rhos) if len(rhos) == len(parts) else None,
    )


def _overlapping(claims: tuple[Claim, ...]) -> Claim:
    plain = _plain_sum(claims)
    if not plain.delta:
        return plain
    epsilon, _ = _tightest(plain.parts, plain.delta)
    return dataclasses.replace(plain, epsilon=min(plain.epsilon, epsilon * (1 + ROOM)))


@lru_cache(maxsize=256)
def _tightest(parts: tuple[Claim, ...], delta: float) -> tuple[float, str]:
    """The least ε of all parts together at this δ, by ρ or with one law's noise as one mechanism; and which of them."""
    ways = [(math.inf, "sum")]
    rhos = [part.rho for part in parts]
    if None not in rhos:
        total = float_up(sum((Fraction(one) for one in rhos if one is not None), Fraction(0)))
        ways.append((least_epsilon(lambda epsilon: zcdp_delta(epsilon, total), delta), "rho"))
    for law in LAWS.values():
        alike = [part for part in parts if part.mechanism == law.name and part.custodians is None]
        others = [part for part in parts if part not in alike]
        if not alike or any(part.delta for part in others):
            continue
        together = law.together([(part.moves, part.scales) for part in alike], delta)
        if together is not None:
            total = float_up(sum((Fraction(part.epsilon) for part in others), Fraction(together)))
            ways.append((total, law.family.lower()))
    return min(ways)


ROOM = 1e-7
"""How much larger the claim is than what was found: a reader's arithmetic may differ in the last digits."""


def _plain_sum(claims: tuple[Claim, ...]) -> Claim:
    """Basic composition (Dwork et al. 2006): ε, δ and ρ each add up."""
    parts = _flat(claims, "overlapping")
    rhos = [Fraction(part.rho) for part in parts if part.rho is not None]
    return _merged(
        parts,
        "overlapping",
        epsilon=_sum_of_epsilons(parts),
        delta=min(1.0, float_up(sum((Fraction(part.delta) for part in parts), Fraction(0)))),
        rho=float_up(sum(rhos, Fraction(0))) if len(rhos) == len(parts) else None,
    )


def _sum_of_epsilons(parts: tuple[Claim, ...]) -> float:
    return float_up(sum((Fraction(part.epsilon) for part in parts), Fraction(0)))


def _flat(claims: tuple[Claim, ...], combination: str) -> tuple[Claim, ...]:
    """Claims merged in the same way before are taken apart again: merging is associative."""
    found: list[Claim] = []
    for claim in claims:
        found += claim.parts if claim.combination == combination else (claim,)  # type: ignore[arg-type]
    return tuple(found)


def _merged(parts: tuple[Claim, ...], combination: str, *, epsilon: float, delta: float, rho: float | None) -> Claim:
    # A person is protected everywhere only with as many records as every part allows.
    people = min(part.records_per_person for part in parts)
    # Claims are not imported here: they read their own sums with the help of this module.
    return type(parts[0])(  # type: ignore[call-arg]
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
