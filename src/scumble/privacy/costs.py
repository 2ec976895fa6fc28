"""The arithmetic of the ledger: what releases cost a dataset, in exact fractions.

An account follows one of two rules, chosen when it is opened: ``"pure"``, Σε ≤ ε and Σδ ≤ δ (basic composition, Dwork
et al. 2006), or ``"zcdp"``, Σρ ≤ ρ (Bun & Steinke 2016, Lemma 1.7) for the largest ρ that implies (ε, δ). Releases of
*disjoint parts* of the dataset cost the largest sum of any one part (parallel composition, McSherry 2009).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from scumble.checks import Json
from scumble.errors import ParameterError, parameter
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import ROUNDING, Number, _simplest_between, as_fraction, float_down, float_up, show
from scumble.privacy.gaussian import change, least_epsilon, zcdp_delta

COMPOSITIONS = ("pure", "zcdp")

_FINEST = 10**30
"""Fractions with large denominators are rounded up to a multiple of 1/_FINEST, so sums stay short."""


@dataclass(frozen=True)
class Cost:
    """What a release costs, exactly. `rho` is None if none is proven."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = Fraction(0)

    def __add__(self, other: Cost) -> Cost:
        rho = None if self.rho is None or other.rho is None else self.rho + other.rho
        return Cost(self.epsilon + other.epsilon, self.delta + other.delta, rho)

    @staticmethod
    def largest(costs: Iterable[Cost]) -> Cost:
        """The largest of each."""
        found = list(costs) or [Cost()]
        rhos = [cost.rho for cost in found if cost.rho is not None]
        return Cost(
            max(cost.epsilon for cost in found),
            max(cost.delta for cost in found),
            max(rhos) if len(rhos) == len(found) else None,
        )

    @staticmethod
    def of(claim: PrivacyClaim, *, rounded: bool = True) -> Cost:
        """The cost of a claim, from its exact scales.

        Scales were enlarged by up to 2⁻⁴⁰ to be short fractions; `rounded` rounds the cost up by as much, to the
        simplest fraction: 0.69999999999936 to 7/10.

        >>> from scumble.privacy import calibrate
        >>> Cost.of(calibrate(1000, epsilon=0.7)).epsilon
        Fraction(7, 10)
        """
        if claim.parts:
            costs = [Cost.of(part, rounded=rounded) for part in claim.parts]
            if claim.combination == "disjoint":
                return Cost.largest(costs)
            total = sum(costs, Cost())
            # The claim may add its parts up more tightly.
            return dataclasses.replace(total, epsilon=min(total.epsilon, Fraction(claim.epsilon)))
        law, moves, scales = claim.law, claim.moves, claim.scales
        epsilon, rho = law.epsilon(moves, scales), law.rho(moves, scales)
        short = _simple if rounded else _short
        if claim.threshold is not None:
            stated = Fraction(repr(claim.epsilon)) if epsilon is None else short(epsilon)
            return Cost(stated, Fraction(repr(claim.delta)), None)
        assert claim.rho is not None
        if claim.custodians is not None:
            rho = max(rho, Fraction(claim.rho))  # a sum of shares has a little more
        if epsilon is not None:
            return Cost(short(epsilon), Fraction(0), short(rho))
        # The certificate has room for the last digit of these floats, so their shortest decimal will do.
        return Cost(Fraction(repr(claim.epsilon)), Fraction(repr(claim.delta)), short(rho))


@dataclass(frozen=True)
class Charge:
    """One line of the ledger."""

    identity: str
    dataset: str
    part: str | None
    cost: Cost
    mechanism: str
    charged: str


@dataclass(frozen=True)
class Balance:
    """A dataset's total budget (in `rho` for ``composition="zcdp"``) and what has been charged to it."""

    dataset: str
    composition: str
    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    neighbors: str
    records_per_person: int
    parts: tuple[str, ...]
    charges: tuple[Charge, ...]
    opened: str

    @property
    def spent(self) -> Cost:
        """What the charges cost together, for the person most affected."""
        return self._spent_by(self.parts)

    def left(self, part: str | None = None) -> Cost:
        """What a further release (of the whole, or of one part) may cost."""
        spent = self._spent_by(self.parts if part is None else (part,))
        if self.composition == "pure":
            assert self.epsilon is not None
            return Cost(self.epsilon - spent.epsilon, self.delta - spent.delta, None)
        assert self.rho is not None and spent.rho is not None
        return Cost(rho=self.rho - spent.rho)

    def _spent_by(self, parts: tuple[str, ...]) -> Cost:
        def by(part: str | None) -> Cost:
            return sum((charge.cost for charge in self.charges if charge.part == part), Cost())

        return by(None) + Cost.largest(map(by, parts))

    def refusal(self, cost: Cost, part: str | None) -> str:
        """Why a charge does not fit; empty if it does."""
        left = self.left(part)
        if self.composition == "pure":
            if cost.epsilon <= left.epsilon and cost.delta <= left.delta:
                return ""
            return (
                f"it needs ε = {show(cost.epsilon)}, δ = {show(cost.delta)} and dataset {self.dataset!r} has "
                f"ε = {show(left.epsilon, up=False)}, δ = {show(left.delta, up=False)} left"
            )
        if cost.rho is None:
            return f"dataset {self.dataset!r} adds up ρ, and this release has no proven ρ"
        assert left.rho is not None
        if cost.rho <= left.rho:
            return ""
        return (
            f"it needs ρ = {show(cost.rho)} and dataset {self.dataset!r} has ρ = {show(left.rho, up=False)} left, "
            f"of ρ = {show(self.rho or Fraction(0), up=False)}"
        )

    def spent_epsilon(self) -> float:
        """The ε that has been spent, rounded up: Σε, or what Σρ means at the account's δ."""
        spent = self.spent
        if self.composition == "pure":
            return float_up(spent.epsilon)
        rho = float_up(spent.rho or Fraction(0))
        return least_epsilon(lambda epsilon: zcdp_delta(epsilon, rho), float_down(self.delta)) if rho else 0.0

    def to_dict(self) -> Json:
        """Plain JSON values: floats to read, fractions (as text) to check."""
        return {
            "dataset": self.dataset,
            "composition": self.composition,
            "neighbors": self.neighbors,
            "records_per_person": self.records_per_person,
            "opened": self.opened,
            "budget": _plain(Cost(self.epsilon or Fraction(0), self.delta, self.rho), up=False),
            "spent": _plain(self.spent) | {"epsilon_at_delta": self.spent_epsilon()},
            "left": _plain(self.left(), up=False),
            "parts": {part: _plain(self.left(part), up=False) for part in self.parts},
            "charges": [
                {name: getattr(one, name) for name in ("identity", "part", "mechanism", "charged")} | _plain(one.cost)
                for one in self.charges
            ],
        }


def _short(value: Fraction) -> Fraction:
    """The value itself if it is a short fraction or a decimal; else rounded up by less than 10⁻³⁰."""
    return value if value.denominator <= 10**9 else Fraction(math.ceil(value * _FINEST), _FINEST)


def _simple(value: Fraction) -> Fraction:
    """The simplest fraction that is not below, and above by at most twice the rounding of scales."""
    return _simplest_between(value, value * (1 + 2 * ROUNDING))


def _written(name: str, value: Number) -> Fraction:
    """The number as written: 0.3 is three tenths, not the nearest float."""
    return as_fraction(name, repr(value) if isinstance(value, float) else value)


def total_of(
    epsilon: Number | None, delta: Number, rho: Number | None, composition: str
) -> tuple[Fraction | None, Fraction, Fraction | None]:
    """A dataset's total (ε, δ, ρ), as written; ε or ρ is None if the account is not kept in it."""
    if composition not in COMPOSITIONS:
        raise parameter("composition", "'pure' or 'zcdp'", composition)
    failure = _written("delta", delta)
    if not 0 <= failure < 1:
        raise parameter("delta", "at least 0 and below 1", delta)
    if rho is not None and (composition == "pure" or epsilon is not None):
        raise ParameterError("`rho` is for composition='zcdp', and stands instead of `epsilon`.")
    if rho is None and epsilon is None:
        raise ParameterError("Give `epsilon`, the total budget (or `rho`). Hint: typical totals are 1 to 3.")
    name, given = ("rho", rho) if epsilon is None else ("epsilon", epsilon)
    assert given is not None
    total = _written(name, given)
    if total <= 0:
        raise parameter(name, "positive", given)
    if composition == "pure":
        return total, failure, None
    if failure == 0:
        raise parameter("delta", "positive for composition='zcdp'", delta, "such as 1e-6.")
    if epsilon is None:
        return None, failure, total
    return total, failure, Fraction(_rho_of(float_down(total), float_down(failure)))


def _rho_of(epsilon: float, delta: float) -> float:
    """The largest ρ, to nine digits and never above it, that implies (epsilon, delta)."""
    return change(lambda rho: not zcdp_delta(epsilon, rho) <= delta, 1e-300)[0]


def _plain(cost: Cost, *, up: bool = True) -> Json:
    bound = float_up if up else float_down
    out: Json = {}
    for field in dataclasses.fields(cost):
        value = getattr(cost, field.name)
        out[field.name] = None if value is None else bound(value)
        out[f"exact_{field.name}"] = None if value is None else str(value)
    return out


def budget_text(account: Balance) -> str:
    """An account's budget and what it protects, in words."""
    pure = account.composition == "pure"
    total, delta = show((account.epsilon if pure else account.rho) or 0.0, up=False), show(account.delta, up=False)
    text = f"ε = {total}, δ = {delta}, pure" if pure else f"ρ = {total} at δ = {delta}, zcdp"
    return f"{text}, {account.neighbors}, {account.records_per_person} record(s) per person"
