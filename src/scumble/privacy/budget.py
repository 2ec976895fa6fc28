"""A privacy budget: what may be spent, and on whose account. Public, frozen, and known before any record is read.

Functions that people call take it as keywords (`epsilon=, delta=, neighbors=, …`); inside, one value travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from scumble.errors import ParameterError, parameter
from scumble.privacy.calibration import DEFAULT_COUNT_SHARE, DEFAULT_DELTA, Calibration, calibrate, failure
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.curve import least_epsilon
from scumble.privacy.exact import Number, as_fraction, float_up, show
from scumble.privacy.gaussian import zcdp_delta
from scumble.privacy.sensitivity import ONCE, ONE, Column, Reach, unit_of

LARGEST = 1e300
"""Nobody means to spend so much, and floats hold it."""

WEAK_EPSILON, WEAK_DELTA = 10, Fraction(1, 10_000)
"""Above these, people are told how little is promised."""


def weakness(epsilon: Number, delta: Number) -> str:
    """How little a large ε or δ promises, in a phrase; empty if neither is large.

    >>> weakness(10, "1e-4")
    ''
    >>> weakness(50, 0).split(":")[0]
    'an ε above 10 promises little'
    """
    told = []
    if (cost := as_fraction("epsilon", epsilon)) > WEAK_EPSILON:
        told.append(
            f"an ε above {WEAK_EPSILON} promises little: what anybody concludes may change by a factor of "
            f"e^{show(cost)} with one record or person; 1 is usual"
        )
    failing = as_fraction("delta", delta)
    if failing > WEAK_DELTA:
        told.append(
            f"a δ above 1e-4 promises little: about one record in {max(1, round(1 / failing)):,} may be given away "
            "whole; 1e-6, far below one over the number of people, is usual"
        )
    return "; and ".join(told)


def unenforced(records_per_person: int) -> str:
    """That nothing holds people to the records they are protected with, in a phrase; empty if it is one record each."""
    if records_per_person == 1:
        return ""
    return (
        f"nothing holds anybody to {records_per_person} records: that is your word, and who has more is protected "
        "less. Hint: --person-column (person_column=) leaves out further ones"
    )


@dataclass(frozen=True)
class Budget:
    """What one release, or several that belong together, may cost.

    Parameters
    ----------
    epsilon, delta : float, Fraction, Decimal or str
        The cost. Exact: a fraction or a text is taken as it is.
    neighbors : str
        "add-remove" hides whether a record is there; "replace" hides what it says, and N is public.
    records_per_person : int
        The most records that one person may own.
    count_share : float, Fraction, Decimal or str
        The part of the budget that pays for the noisy count.
    rho : Number, optional
        The cost in zero-concentrated privacy, which is then what counts; `epsilon` is what it implies at `delta`.

    >>> whole = Budget(1.0, 1e-6)
    >>> [str(part.epsilon) for part in whole.split(4)]
    ['1/4', '1/4', '1/4', '1/4']
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
        """The budget that a person asked for, in keywords; in one currency: ε (with δ), ρ, or μ, whose ρ is μ²/2.

        >>> Budget.of(mu="0.2") == Budget.of(rho="0.02")
        True
        """
        given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
        if not given:
            raise ParameterError("Give `epsilon`, the privacy budget. Hint: typical budgets are 0.1 to 3.")
        if len(given) > 1:
            raise ParameterError(
                f"Give the privacy budget in one currency, got `{'` and `'.join(given)}`. "
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
        """The same with this ρ, and with the ε that it implies at δ."""
        delta = failure(self.delta) or DEFAULT_DELTA
        implied = float_up(rho)
        epsilon = least_epsilon(lambda epsilon: zcdp_delta(epsilon, implied), delta)
        return replace(self, epsilon=epsilon, delta=delta, rho=rho)

    @property
    def weakness(self) -> str:
        """How little it promises, in a phrase, if it is large."""
        return weakness(self.epsilon, self.delta)

    @property
    def invalid(self) -> str:
        """What becomes of records that cannot be counted, unless somebody says it: they are left out, and no record
        decides whether there is a release. Where the number of records is public, none may be left out."""
        return "error" if self.neighbors == "replace" else "drop"

    @property
    def unit(self) -> str:
        """What is protected: a record, or a person who may have several."""
        return unit_of(self.records_per_person)

    @property
    def pure(self) -> bool:
        """Whether no exception is allowed: δ = 0."""
        return as_fraction("delta", self.delta) == 0

    def calibrate(
        self,
        rows: int,
        shares: Sequence[Number] | None = None,
        reach: Reach = ONE,
        *,
        column: Column = ONCE,
        mechanism: str | None = None,
    ) -> Calibration:
        """The least noise with which a release of so many rows costs no more than this.

        `shares`, one positive number for each row, say how the rows divide it; without them, all get the same. `reach`
        says what a record adds to a row. `column` is that of a stream, and `mechanism` its law of noise.
        """
        return calibrate(
            rows,
            epsilon=self.epsilon if self.rho is None else None,
            delta=self.delta,
            rho=self.rho,
            neighbors=self.neighbors,
            records_per_person=self.records_per_person,
            count_share=self.count_share,
            shares=shares,
            mechanism=mechanism,
            column=column,
            reach=reach,
        )

    def claim(self, rows: int, shares: Sequence[Number] | None = None, reach: Reach = ONE) -> PrivacyClaim:
        """What a release of so many rows will claim: its price, known before any noise."""
        return self.calibrate(rows, shares, reach).claim

    def share(
        self, epsilon: Number | Fraction, delta: Number | Fraction | None = None, *, count_share: Number | None = None
    ) -> Budget:
        """These parts of ε and of δ, which is shared as ε is unless said otherwise.

        A budget in ρ shares ρ, and its δ as ρ, whatever is said: with no δ nothing can be said of ρ.

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

    def split(self, parts: int) -> tuple[Budget, ...]:
        """So many equal parts, which add up to the whole."""
        return (self.share(Fraction(1, parts)),) * parts


def _positive(name: str, value: Number, hint: str = "") -> Fraction:
    exact = as_fraction(name, value, hint)
    if not 0 < exact < LARGEST:
        raise parameter(name, "positive" if exact <= 0 else f"below {LARGEST:g}", value, hint)
    return exact
