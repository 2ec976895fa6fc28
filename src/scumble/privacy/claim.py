"""PrivacyClaim: what a release promises, as a value that can be read, stored, compared and combined."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from scumble.errors import MergeError, ParameterError, parameter
from scumble.privacy.curve import least_epsilon
from scumble.privacy.exact import as_fraction, float_down, float_up
from scumble.privacy.gaussian import Shift, certified_delta, smoothing_delta, zcdp_delta
from scumble.privacy.laplace import laplace_delta
from scumble.privacy.sensitivity import (
    GAUSSIAN,
    LAPLACE,
    MERGED,
    NEIGHBORS,
    SHARE_SLACK,
    costs,
    gaussian_shift,
    sides_of,
    unit_of,
)


@dataclass(frozen=True)
class PrivacyClaim:
    """The privacy cost of a release, with everything needed to check it.

    **Meaning.** For any two tables that differ in one `unit` (a record, or a person with up to
    `records_per_person` of them) in the sense of `neighbors`, and for any set S of releases,

        P(release in S) <= e^epsilon · P'(release in S) + delta          (Dwork et al. 2006).

    `rho` is the zero-concentrated cost (Bun & Steinke 2016), which adds up more tightly.
    All three are upper bounds, computed from the exact scales and rounded up.

    `scale` and `count_scale` are the noise's parameters (Laplace scale or Gaussian σ) of counters and of
    the count, for reading; `exact_scale` and `exact_count_scale` are the same as fractions, for
    checking. `rows` counters are touched by one record. A merged release keeps the claims it was
    made of in `parts`, and `added_up` says how they became one. If several custodians have made the
    noise together, `custodians` says how many and `dropouts` how many of them may be missing or may
    not be trusted (`scumble.privacy.splitting`).

    >>> from scumble.privacy import calibrate
    >>> claim = calibrate(1000, epsilon=1).claim
    >>> print(claim)
    ε = 1, ρ = 0.001261 (add-remove one record; discrete-laplace)
    >>> round(claim.equivalent(delta=1e-6), 3)
    0.146
    """

    epsilon: float
    delta: float
    rho: float | None
    neighbors: str
    unit: str
    records_per_person: int
    mechanism: str
    rows: int | None = None
    scale: float | None = None
    exact_scale: str | None = None
    count_scale: float | None = None
    exact_count_scale: str | None = None
    combination: str = "single"
    parts: tuple[PrivacyClaim, ...] = ()
    custodians: int | None = None
    dropouts: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise parameter("epsilon", "zero or positive", self.epsilon)
        if not 0 <= self.delta <= 1:
            raise parameter("delta", "between 0 and 1", self.delta)
        if self.rho is not None and not (math.isfinite(self.rho) and self.rho >= 0):
            raise parameter("rho", "zero or positive, or None", self.rho)
        if self.neighbors not in NEIGHBORS:
            raise parameter("neighbors", f"one of {NEIGHBORS}", self.neighbors)
        if self.records_per_person < 1:
            raise parameter("records_per_person", "at least 1", self.records_per_person)
        if self.unit != unit_of(self.records_per_person):
            raise parameter("unit", repr(unit_of(self.records_per_person)), self.unit)
        if self.mechanism == MERGED:
            if self.combination not in ("disjoint", "overlapping") or len(self.parts) < 1:
                raise parameter("combination", "'disjoint' or 'overlapping', with parts", self.combination)
        elif self.mechanism not in (LAPLACE, GAUSSIAN):
            raise parameter("mechanism", f"one of {(LAPLACE, GAUSSIAN, MERGED)}", self.mechanism)
        elif self.rows is None or self.rows < 1 or self.exact_scale is None:
            raise parameter("rows", "given, with an exact scale", self.rows)
        elif self.combination != "single" or self.parts:
            # Merging takes a merged claim apart: one without parts, or with others', would cost nothing, or their cost.
            raise parameter("combination", "'single', without parts, for the noise of one release", self.combination)
        if (self.custodians is None) != (self.dropouts is None):
            raise parameter("dropouts", "given together with `custodians`", self.dropouts)
        if self.custodians is not None and (
            self.mechanism == MERGED or not 0 <= (self.dropouts or 0) < self.custodians
        ):
            raise parameter("dropouts", "at least 0 and below `custodians`", self.dropouts)

    # -- reading ------------------------------------------------------------------------------

    def equivalent(self, delta: float = 1e-6) -> float:
        """The ε′ for which this same release is also (ε′, delta)-private; an upper bound.

        A pure-ε release is also approximately private with a far smaller ε′ if many rows
        share the budget: see `scumble.privacy.laplace`. For Gaussian noise this walks along its curve.
        """
        target = float_down(as_fraction("delta", delta))
        if not 0 <= target < 1:
            raise parameter("delta", "at least 0 and below 1", delta)
        best = self.epsilon if self.delta <= target else math.inf
        if target > 0:
            best = min(best, self._curve(target))
        if math.isinf(best):
            raise parameter("delta", f"positive for {self.mechanism} noise", delta)
        return best

    def _curve(self, delta: float) -> float:
        if self.combination == "disjoint":
            return max(part.equivalent(delta) for part in self.parts)
        if self.combination == "overlapping":
            share = math.nextafter(delta / len(self.parts), 0)
            apart = float_up(sum((Fraction(p.equivalent(share)) for p in self.parts), Fraction(0)))
            return min(apart, _tightest(self.parts, delta)[0])
        assert self.rows is not None and self.exact_scale is not None
        people = self.records_per_person
        scale = float_down(Fraction(self.exact_scale))
        count = float_down(Fraction(self.exact_count_scale)) if self.exact_count_scale else None
        if self.mechanism == LAPLACE:
            coins, count_step = sides_of(self.neighbors) * self.rows, people / count if count else 0.0
            return least_epsilon(
                lambda epsilon: laplace_delta(epsilon, coins, people / scale, count_step, delta), delta
            )
        shift = self._shift()
        if self.custodians is not None:
            # A sum of shares is a discrete Gaussian up to e^±c, c at most SHARE_SLACK (splitting.proof.md, Lemma 3).
            delta *= 1 - 2 * SHARE_SLACK
            exact = least_epsilon(lambda epsilon: certified_delta(epsilon, shift, delta), delta)
            return exact + 2 * SHARE_SLACK * min(1.0, self.epsilon)
        return least_epsilon(lambda epsilon: certified_delta(epsilon, shift, delta), delta)

    def _shift(self) -> Shift:
        """What one person does to Gaussian counters and count, with scales rounded to the safe side."""
        assert self.rows is not None and self.exact_scale is not None
        sigma = float_down(Fraction(self.exact_scale))
        count = float_down(Fraction(self.exact_count_scale)) if self.exact_count_scale else None
        return gaussian_shift(self.rows, self.neighbors, self.records_per_person, sigma, count)

    @property
    def added_up(self) -> str:
        """How the costs of the parts became one; empty for a single release.

        "largest" of disjoint parts; of overlapping ones the "sum" of ε and δ, or what is less at the same δ: by "rho",
        or "gaussian", Gaussian noise as one mechanism and the rest by its sum.
        """
        if self.mechanism != MERGED:
            return ""
        if self.combination == "disjoint":
            return "largest"
        return "sum" if self.epsilon >= _sum_of_epsilons(self.parts) else _tightest(self.parts, self.delta)[1]

    def sentence(self) -> str:
        """What it means for one person, in one plain sentence."""
        who = "one record" if self.unit == "record" else f"one person's records (up to {self.records_per_person})"
        change = "adding or removing" if self.neighbors == "add-remove" else "changing"
        factor = f"{math.exp(self.epsilon):.3g}" if self.epsilon < 700 else f"e^{self.epsilon:.4g}"
        failure = f", except with a probability of at most {self.delta:.3g}" if self.delta else ""
        return (
            f"Whatever anyone may conclude from this release, {change} {who} would have changed the "
            f"probability of that conclusion by a factor of at most {factor}{failure}."
        )

    def __str__(self) -> str:
        delta = f", δ = {self.delta:.4g}" if self.delta else ""
        rho = f", ρ = {self.rho:.4g}" if self.rho is not None else ""
        kind = self.mechanism if self.combination == "single" else f"{self.combination} releases"
        if self.added_up in _HOW:
            kind += f", {_HOW[self.added_up]}"
        if self.custodians is not None:
            kind += f" from {self.custodians} custodians, any {self.custodians - (self.dropouts or 0)} of them enough"
        return f"ε = {self.epsilon:.6g}{delta}{rho} ({self.neighbors} one {self.unit}; {kind})"

    # -- storing ------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; `from_dict` gives an equal claim back."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        values["parts"] = [part.to_dict() for part in self.parts]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PrivacyClaim:
        """Read what `to_dict` wrote; anything missing, unknown, of another type or inconsistent is refused."""
        if not isinstance(values, Mapping):
            raise parameter("claim", "a mapping", type(values).__name__)
        names = set(_TYPES)
        if set(values) != names:
            raise parameter("claim", f"given by exactly {sorted(names)}", ", ".join(sorted(map(str, values))))
        for name, types in _TYPES.items():
            if isinstance(values[name], bool) or not isinstance(values[name], types):
                raise parameter(f"claim[{name!r}]", f"of type {types}", values[name])
        floats = {name: float(values[name]) for name in _FLOATS if values[name] is not None}
        parts = tuple(cls.from_dict(part) for part in values["parts"])
        claim = cls(**{**values, **floats, "parts": parts})
        claim._check()
        return claim

    def _check(self) -> None:
        """A stored claim may not promise more than its own exact scales give."""
        if self.mechanism == MERGED:
            if self.combination == "disjoint":
                follows = self == _disjoint(self.parts)
            else:
                # Older files hold the plain sum, a weaker promise; another machine may find another last digit.
                plain = _plain_sum(self.parts)
                least = _tightest(plain.parts, plain.delta)[0] if plain.delta else plain.epsilon
                follows = min(least, plain.epsilon) <= self.epsilon <= plain.epsilon
                follows = follows and dataclasses.replace(self, epsilon=plain.epsilon) == plain
            if not follows:
                raise ParameterError("The claim of a merged release does not follow from its parts.")
            return
        assert self.rows is not None and self.exact_scale is not None
        exact = _stored_fraction(self.exact_scale)
        count = None if self.exact_count_scale is None else _stored_fraction(self.exact_count_scale)
        shown = (self.scale, self.count_scale)
        if shown != (float(exact), None if count is None else float(count)):
            raise ParameterError("The claim's scales differ from its exact scales.")
        epsilon, rho = costs(self.mechanism, self.rows, self.neighbors, self.records_per_person, exact, count)
        too_small = self.rho is None or self.rho < rho or (epsilon is not None and self.epsilon < epsilon)
        if self.mechanism == GAUSSIAN and not too_small:
            # By the certificate that `calibrate` asked for; a millionth more, for another machine's last digits.
            too_small = not 0 < self.delta < 1
            too_small = too_small or self.delta * (1 + 1e-6) < certified_delta(self.epsilon, self._shift(), self.delta)
        if too_small:
            raise ParameterError("The claim promises more privacy than its noise scales give.")


def _stored_fraction(text: str) -> Fraction:
    # Only digits, and not too many: Fraction("1e999999999") would fill the memory of whoever opens a file.
    if not re.fullmatch(r"[1-9][0-9]{0,39}(/[1-9][0-9]{0,39})?", text, re.ASCII):
        raise parameter("exact scale", "a positive fraction such as '3125/3'", text[:100])
    return Fraction(text)


_OPTIONAL_FLOAT = (float, int, type(None))
_TYPES: dict[str, tuple[type, ...]] = {
    "epsilon": (float, int),
    "delta": (float, int),
    "rho": _OPTIONAL_FLOAT,
    "neighbors": (str,),
    "unit": (str,),
    "records_per_person": (int,),
    "mechanism": (str,),
    "rows": (int, type(None)),
    "scale": _OPTIONAL_FLOAT,
    "exact_scale": (str, type(None)),
    "count_scale": _OPTIONAL_FLOAT,
    "exact_count_scale": (str, type(None)),
    "combination": (str,),
    "parts": (list, tuple),
    "custodians": (int, type(None)),
    "dropouts": (int, type(None)),
}
_FLOATS = ("epsilon", "delta", "rho", "scale", "count_scale")


# -- combining --------------------------------------------------------------------------------


def disjoint(claims: Iterable[PrivacyClaim]) -> PrivacyClaim:
    """The claim of several releases where each *person* is in at most one: the largest of their costs.

    Parallel composition (McSherry 2009). Under ``neighbors="replace"`` it holds only if the part to which
    a record belongs does not depend on the record's values: a record that changes must stay where it is.
    """
    found = _compatible(claims)
    return found[0] if len(found) == 1 else _disjoint(found)


def overlapping(claims: Iterable[PrivacyClaim]) -> PrivacyClaim:
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


def of_disjoint_records(claims: Iterable[PrivacyClaim]) -> PrivacyClaim:
    """The claim of several releases that have no *record* in common.

    A record is in one of them: where records are protected, the cost is the largest of theirs. A person may have
    records in each of them, up to `records_per_person` every time: for a person the costs add up.
    """
    found = _compatible(claims)
    return disjoint(found) if min(claim.records_per_person for claim in found) == 1 else overlapping(found)


def _compatible(claims: Iterable[PrivacyClaim]) -> tuple[PrivacyClaim, ...]:
    found = tuple(claims)
    if not found:
        raise ParameterError("`claims` must hold at least one claim, got none.")
    for claim in found[1:]:
        if claim.neighbors != found[0].neighbors:
            raise MergeError(f"Cannot merge: neighbors is {found[0].neighbors!r} here and {claim.neighbors!r} there.")
    return found


def _disjoint(claims: tuple[PrivacyClaim, ...]) -> PrivacyClaim:
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


def _overlapping(claims: tuple[PrivacyClaim, ...]) -> PrivacyClaim:
    plain = _plain_sum(claims)
    if not plain.delta:
        return plain
    epsilon, _ = _tightest(plain.parts, plain.delta)
    return dataclasses.replace(plain, epsilon=min(plain.epsilon, epsilon * (1 + ROOM)))


@lru_cache(maxsize=256)
def _tightest(parts: tuple[PrivacyClaim, ...], delta: float) -> tuple[float, str]:
    """The least ε of all parts together at this δ, by ρ or with Gaussian noise as one mechanism; and which of them."""
    ways = [(math.inf, "sum")]
    rhos = [part.rho for part in parts]
    if None not in rhos:
        total = float_up(sum((Fraction(one) for one in rhos if one is not None), Fraction(0)))
        ways.append((least_epsilon(lambda epsilon: zcdp_delta(epsilon, total), delta), "rho"))
    gaussian = [part for part in parts if part.mechanism == GAUSSIAN and part.custodians is None]
    others = [part for part in parts if part not in gaussian]
    if gaussian and not any(part.delta for part in others):
        shifts = [part._shift() for part in gaussian]
        # Tiny σ has no smooth bound; it has a ρ.
        rho = math.fsum(shift.rho() for shift in shifts)
        together = least_epsilon(
            lambda epsilon: min(smoothing_delta(epsilon, *shifts), zcdp_delta(epsilon, rho)), delta
        )
        ways.append((float_up(sum((Fraction(part.epsilon) for part in others), Fraction(together))), "gaussian"))
    return min(ways)


ROOM = 1e-7
"""How much larger the claim is than what was found: a reader's arithmetic may differ in the last digits."""

_HOW = {"rho": "added up by ρ", "gaussian": "Gaussian noise added up exactly"}


def _plain_sum(claims: tuple[PrivacyClaim, ...]) -> PrivacyClaim:
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


def _sum_of_epsilons(parts: tuple[PrivacyClaim, ...]) -> float:
    return float_up(sum((Fraction(part.epsilon) for part in parts), Fraction(0)))


def _flat(claims: tuple[PrivacyClaim, ...], combination: str) -> tuple[PrivacyClaim, ...]:
    """Claims merged in the same way before are taken apart again: merging is associative."""
    return tuple(part for claim in claims for part in (claim.parts if claim.combination == combination else (claim,)))


def _merged(
    parts: tuple[PrivacyClaim, ...], combination: str, *, epsilon: float, delta: float, rho: float | None
) -> PrivacyClaim:
    # A person is protected everywhere only with as many records as every part allows.
    people = min(part.records_per_person for part in parts)
    return PrivacyClaim(
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
