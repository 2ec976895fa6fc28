"""A privacy budget, and what becomes of it: exact noise scales and a claim (proof: ``calibration.proof.md``).

A `Budget` is what may be spent: public, frozen, and known before any record is read. It decides the law of the noise:
discrete Laplace for δ = 0; for δ > 0 the quieter of Laplace (then the claim has δ = 0) and Gaussian; Gaussian for a
budget in ρ. Scales are rounded up to short fractions, and the claim is computed from these and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from scumble.errors import ParameterError, PrivacyError, parameter
from scumble.privacy.claim import PrivacyClaim, stored_runs
from scumble.privacy.composition import overlapping
from scumble.privacy.exact import Number, as_count, as_fraction, float_down, float_up, show, sum_above
from scumble.privacy.gaussian import least_epsilon, zcdp_delta
from scumble.privacy.laws import GAUSSIAN, quietest
from scumble.privacy.laws.law import Law, Shared, require_scales
from scumble.privacy.sensitivity import NEIGHBORS, ONCE, ONE, Column, Moves, Reach, Scales, sides_of, unit_of

DEFAULT_COUNT_SHARE = Fraction(1, 25)
"""Share of the budget spent on the count: at ε = 1 its standard deviation is 35, at a cost of 4 %."""

DEFAULT_DELTA = 1e-6
"""The δ at which the ε of a budget in ρ is stated, unless said otherwise."""


def _shares(shares: Sequence[Number] | None, rows: int) -> Shared:
    """What each row gets of the whole; nothing if all get the same."""
    if shares is None:
        return ()
    found = [as_fraction("shares", share) for share in shares]
    if len(found) != rows or min(found) <= 0:
        raise parameter("shares", f"{rows:,} positive numbers, one for each row", f"{len(found):,}")
    total = sum(found, Fraction(0))
    return tuple(share / total for share in found) if len(set(found)) > 1 else ()


def _as_float(name: str, value: Number | None, hint: str) -> float:
    """The greatest float that is not above ε or ρ: the claim is a float and must not exceed the request."""
    try:
        budget = float_down(_positive(name, value, hint))
    except OverflowError:
        budget = math.inf
    if not 0 < budget < math.inf:
        raise parameter(name, "positive and finite", value, hint)
    return budget


def _positive(name: str, value: Number | None, hint: str = "") -> Fraction:
    exact = as_fraction(name, value, hint)
    if not 0 < exact < LARGEST:
        raise parameter(name, "positive" if exact <= 0 else f"below {LARGEST:g}", value, hint)
    return exact


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


LARGEST = 1e300  # floats hold it

CLOSER = Fraction(999_999, 1_000_000)
"""By how much more than needed ρ is lowered, so that a rounding does not ask for another turn."""

NEAR = Fraction(1001, 1000)
"""A ρ within this factor of the largest is near enough."""

WEAK_EPSILON, WEAK_DELTA = 10, Fraction(1, 10_000)
"""Above these, a warning says how little is promised."""


def weakness(epsilon: Number, delta: Number) -> str:
    """How little a large ε or δ promises, in a phrase; empty if neither is large.

    >>> weakness(10, "1e-4")
    ''
    >>> weakness(50, 0).split(":")[0]
    'an ε above 10 promises little'
    """
    warnings = []
    if (cost := as_fraction("epsilon", epsilon)) > WEAK_EPSILON:
        warnings.append(
            f"an ε above {WEAK_EPSILON} promises little: one record or person may change the probability of any "
            f"conclusion by a factor of e^{show(cost)}; 1 is usual"
        )
    failing = as_fraction("delta", delta)
    if failing > WEAK_DELTA:
        warnings.append(
            f"a δ above 1e-4 promises little: about one record in {max(1, round(1 / failing)):,} may be revealed "
            "entirely; 1e-6, far below one over the number of people, is usual"
        )
    return "; and ".join(warnings)


def unenforced(records_per_person: int) -> str:
    """A warning that `records_per_person` is not enforced, as a phrase; empty for one record each."""
    if records_per_person == 1:
        return ""
    return (
        f"nothing enforces {records_per_person} records per person, and anyone with more is protected less. "
        "Hint: --person-column (person_column=) drops further ones"
    )


@dataclass(frozen=True)
class Budget:
    """What one release, or several together, may cost.

    Parameters
    ----------
    epsilon, delta : float, Fraction, Decimal or str
        The cost; a fraction or a text is exact.
    neighbors : str
        "add-remove" hides whether a record is there; "replace" hides what it says, and N is public.
    records_per_person : int
        The most records that one person may own.
    count_share : float, Fraction, Decimal or str
        The share of the budget for the noisy count.
    rho : Number, optional
        The cost in zero-concentrated privacy, if that is the currency; `epsilon` is then what it implies at `delta`.

    >>> Budget(1.0).claim(rows=100).epsilon
    1.0
    """

    epsilon: Number
    delta: Number = 0.0
    neighbors: str = "add-remove"
    records_per_person: int = 1
    count_share: Number = DEFAULT_COUNT_SHARE
    rho: Number | None = None

    @staticmethod
    def of(
        epsilon: Number | None = None,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        count_share: Number | None = None,
        *,
        rho: Number | None = None,
        mu: Number | None = None,
    ) -> Budget:
        """The budget of a caller's keywords, in one form: ε (with δ), ρ, or μ, whose ρ is μ²/2.

        >>> Budget.of(mu=Fraction(1, 5)) == Budget.of(rho=Fraction(1, 50))
        True
        """
        for name, value in (("epsilon", epsilon), ("delta", delta), ("rho", rho), ("mu", mu)):
            if isinstance(value, str):
                raise parameter(name, "a number, not a text", value, "Decimal and Fraction are exact.")
        given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
        if not given:
            raise ParameterError("Give `epsilon`, the privacy budget. Hint: typical budgets are 0.1 to 3.")
        if len(given) > 1:
            raise ParameterError(
                f"Give the privacy budget in one form, got `{'` and `'.join(given)}`. "
                "Hint: `epsilon` (with `delta`), `rho` (zero-concentrated) or `mu` (Gaussian differential privacy)."
            )
        share = DEFAULT_COUNT_SHARE if count_share is None else count_share
        failure(delta)
        if epsilon is not None:
            _positive("epsilon", epsilon, "typical budgets are 0.1 to 3.")
            return Budget(epsilon, delta, neighbors, records_per_person, share)
        if mu is not None:
            rho = _positive("mu", mu) ** 2 / 2
        assert rho is not None
        return Budget(1, delta, neighbors, records_per_person, share).in_rho(_positive("rho", rho))

    def in_rho(self, rho: Fraction) -> Budget:
        """The same with this ρ, and the ε that it implies at δ."""
        delta = failure(self.delta) or DEFAULT_DELTA
        implied = float_up(rho)
        epsilon = least_epsilon(lambda epsilon: zcdp_delta(epsilon, implied), delta)
        return replace(self, epsilon=epsilon, delta=delta, rho=rho)

    @property
    def weakness(self) -> str:
        """How little it promises, as a phrase; empty unless it is large."""
        return weakness(self.epsilon, self.delta)

    @property
    def invalid(self) -> str:
        """The default for invalid records: "drop", so that no record decides whether there is a release; "error" under
        replace, where the number of records is public."""
        return "error" if self.neighbors == "replace" else "drop"

    @property
    def pure(self) -> bool:
        """Whether no exception is allowed: δ = 0."""
        return as_fraction("delta", self.delta) == 0

    def claim(
        self,
        rows: int,
        shares: Sequence[Number] | None = None,
        reach: Reach = ONE,
        *,
        column: Column = ONCE,
        mechanism: str | None = None,
    ) -> PrivacyClaim:
        """The claim of a release of so many rows with the least noise that costs no more than this.

        `shares`, one positive number per row, divide what the count leaves of the budget: 1/scale of Laplace noise is
        proportional to them, and 1/scale² of Gaussian noise. Without them, all rows get the same. `reach` says what a
        record adds to a row, and `column` to the numbers that a stream publishes of one counter. `mechanism` names the
        law of noise; by default the quieter one is taken.
        """
        touched, allowed = as_count("rows", rows), failure(self.delta)
        people = as_count("records_per_person", self.records_per_person, "the most records one person may have.")
        if self.neighbors not in NEIGHBORS:
            raise parameter("neighbors", "'add-remove' or 'replace'", self.neighbors)
        share = as_fraction("count_share", self.count_share)
        if not 0 <= share < 1:
            raise parameter("count_share", "at least 0 and below 1", self.count_share)
        if sides_of(self.neighbors) == 2:
            share = Fraction(0)  # N is public: nothing to pay for
        mechanism = reach.mechanism or mechanism
        moves, parts = Moves(touched, self.neighbors, people, column, reach), _shares(shares, touched)
        if self.rho is not None:
            if mechanism not in (None, GAUSSIAN.name):
                hint = "give epsilon, or moments for Gaussian noise."
                raise parameter("rho", "left out where noise must be Laplace's", self.rho, hint)
            law: Law = GAUSSIAN
            concentrated = Fraction(_as_float("rho", self.rho, "typical are 0.001 to 1."))
            scales = require_scales(GAUSSIAN.scales_of_rho(moves, concentrated, share, parts), self.rho, "rho")
            allowed = allowed or DEFAULT_DELTA
            stated = law.curve(moves, scales, allowed)
        else:
            budget = _as_float("epsilon", self.epsilon, "typical budgets are 0.1 to 3.")
            law, scales = quietest(moves, budget, allowed, share, parts, mechanism)
            pure = law.epsilon(moves, scales)
            stated, allowed = (budget, allowed) if pure is None else (float_up(pure), 0.0)
        counters, count = scales.counters, scales.count
        return PrivacyClaim(
            epsilon=stated,
            delta=allowed,
            rho=float_up(law.rho(moves, scales)),
            neighbors=self.neighbors,
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

    def share(
        self, epsilon: Number | Fraction, delta: Number | Fraction | None = None, *, count_share: Number | None = None
    ) -> Budget:
        """These shares of ε and of δ (by default that of ε). A budget in ρ shares ρ, and δ like ρ in any case.

        >>> Budget.of(rho=0.1, delta=1e-9).share(Fraction(1, 4), 0).delta == Fraction(1e-9) / 4
        True
        """
        of_epsilon = as_fraction("epsilon", epsilon)
        of_delta = of_epsilon if delta is None or self.rho is not None else as_fraction("delta", delta)
        part = replace(
            self,
            epsilon=as_fraction("epsilon", self.epsilon) * of_epsilon,
            delta=as_fraction("delta", self.delta) * of_delta,
            count_share=self.count_share if count_share is None else count_share,
        )
        if self.rho is None:
            return part
        rho = as_fraction("rho", self.rho) * of_epsilon
        return part.in_rho(rho) if rho else replace(part, rho=rho)

    def divide(
        self, shares: Sequence[Fraction], claims: Claims, failures: Sequence[Fraction] | None = None
    ) -> list[Budget]:
        """Budgets of these shares, for releases that together cost no more than the whole; `claims` is what they claim.
        δ has shares of its own if `failures` says so.

        Without δ, ε is shared out. With it, Gaussian releases add up to one whose ρ is the sum of theirs, so ρ is
        shared out, as much of it as ε and δ allow. A single release keeps its choice of noise.

        >>> from scumble.privacy.composition import overlapping
        >>> def claims(budgets):
        ...     return [budget.claim(100) for budget in budgets]
        >>> parts = Budget(1.0, 1e-6).divide([Fraction(1, 4), Fraction(3, 4)], claims)
        >>> [round(float(part.epsilon), 2) for part in parts], 0.999 < overlapping(claims(parts)).epsilon <= 1.0
        ([0.55, 0.94], True)
        """
        if len(shares) == 1 or self.pure or self.rho is not None:
            return [self.share(share) for share in shares]
        epsilon, delta = as_fraction("epsilon", self.epsilon), as_fraction("delta", self.delta)
        found = self.claim(1, mechanism=GAUSSIAN.name).rho
        assert found is not None

        def parts(rho: Fraction) -> list[Budget]:
            each = zip(shares, failures or shares, strict=True)
            return [replace(self, delta=delta * failing).in_rho(rho * share) for share, failing in each]

        def cost(rho: Fraction) -> Fraction:
            return Fraction(overlapping(claims(parts(rho))).epsilon)

        # ε grows at least as the root of ρ: what is lowered by the square of the excess is low enough, and maybe too
        # low. Then it grows nearly as a power of ρ.
        low = high = Fraction(found)
        little = most = cost(low)
        while little > epsilon:
            high, most, low = low, little, low * (epsilon / little) ** 2 * CLOSER
            little = cost(low)
        while high > low * NEAR and epsilon > little * NEAR:
            power = math.log(high / low) / math.log(most / little)
            middle = low * Fraction((epsilon / little) ** power) * CLOSER
            total = cost(middle)
            low, little, high, most = (middle, total, high, most) if total <= epsilon else (low, little, middle, total)
        return parts(low)


Claims = Callable[[Sequence[Budget]], Sequence[PrivacyClaim]]
"""What releases with these budgets will claim."""


def calibrate(
    rows: int,
    *,
    shares: Sequence[Number] | None = None,
    mechanism: str | None = None,
    column: Column = ONCE,
    reach: Reach = ONE,
    **budget: Any,
) -> PrivacyClaim:
    """`Budget.of` with these keywords, and its `claim` on so many rows.

    >>> plain = calibrate(1000, epsilon=1)
    >>> str(plain.scales.counters), str(plain.scales.count), plain.epsilon
    ('3125/3', '25', 1.0)
    >>> [str(scale) for scale in calibrate(2, epsilon=1, shares=[3, 1], count_share=0).row_scales]
    ['4/3', '4']
    """
    return Budget.of(**budget).claim(rows, shares, reach, column=column, mechanism=mechanism)


SPARE = Fraction(1, 2**16)
"""Share of the budget in the claim for the rows beyond `most`: it must count them all."""


def worst_case(rows: int, most: int) -> list[Fraction]:
    """Shares of `rows` rows to calibrate a claim for: `most` rows have nearly everything.

    >>> [float(share) for share in worst_case(3, 2)]
    [0.49999237060546875, 0.49999237060546875, 1.52587890625e-05]
    """
    few = as_count("most", most)
    if not few < rows:
        raise parameter("most", f"below {rows:,}, the number of rows", most)
    return [(1 - SPARE) / few] * few + [SPARE / (rows - few)] * (rows - few)


class AdaptiveBudget:
    """Scales for rows, one after the other, as long as the claim of a `worst_case` calibration lasts.

    No row gets more than 1/`most` of the whole.

    >>> from scumble.privacy import calibrate
    >>> budget = AdaptiveBudget(calibrate(10, epsilon=1, count_share=0, shares=worst_case(10, 2)), 2)
    >>> round(float(budget.pay("1/4")), 4)
    4.0001
    """

    def __init__(self, claim: PrivacyClaim, most: int) -> None:
        self._law, self._most = claim.law, most
        self._least = claim.row_scales[0]
        self._left = most * self._law.spent([1], self._least)

    def pay(self, share: Number, *, least: int = 1) -> Fraction:
        """The scale that this share of the whole pays for; at least `least` times the least one.

        The rounded scales themselves are added up, so rounding never overspends.
        """
        wanted = as_fraction("share", share)
        if wanted <= 0:
            raise parameter("share", "positive", share)
        scale = self._law.part(self._least, wanted * self._most)
        cost = self._law.spent([1], scale)
        if scale < least * self._least or cost > self._left:
            raise PrivacyError(
                "A row asks for more of the budget than the claim covers. "
                "Hint: shares may add up to 1, and none may exceed 1/most."
            )
        self._left -= cost
        return scale


def written(scales: Sequence[Fraction]) -> list[list[int | str]]:
    """Scales for a file: runs of rows with one fraction each."""
    return [[rows, str(scale)] for rows, scale in Scales.of_rows(scales, None).runs(len(scales))]


def read_back(data: Sequence[object], rows: int, claim: PrivacyClaim) -> tuple[Fraction, ...]:
    """The scales of so many rows from a file; refused if they cost more than the claim says."""
    runs = stored_runs(data) or ()
    if sum(count for count, _ in runs) != rows or min(count for count, _ in runs) < 1:
        raise parameter("scales", f"those of {rows:,} rows", len(runs))
    found = [(count, Fraction(scale)) for count, scale in runs]
    own = claim.scales
    spent = sum_above(count * claim.law.spent([1], scale) for count, scale in found)
    whole = sum_above(count * claim.law.spent([1], scale) for count, scale in own.runs(claim.rows or 1))
    if spent > whole or min(scale for _, scale in found) < own.counters:
        raise ParameterError("The rows have less noise than the privacy claim says.")
    return tuple(scale for count, scale in found for _ in range(count))
