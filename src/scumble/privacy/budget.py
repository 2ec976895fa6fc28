"""A privacy budget: what may be spent, and on whose account. Public, frozen, and known before any record is read.

Functions that people call take it as keywords (`epsilon=, delta=, neighbors=, …`); inside, one value travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from scumble.errors import ParameterError
from scumble.privacy.calibration import DEFAULT_COUNT_SHARE, Calibration, calibrate
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number, as_fraction
from scumble.privacy.sensitivity import unit_of


@dataclass(frozen=True)
class Budget:
    """What one release, or several that belong together, may cost.

    Parameters
    ----------
    epsilon, delta : Number
        The cost. Exact: a fraction or a text is taken as it is.
    neighbors : str
        "add-remove" hides whether a record is there; "replace" hides what it says, and N is public.
    records_per_person : int
        The most records that one person may own.
    count_share : Number
        The part of the budget that pays for the noisy count.

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

    @staticmethod
    def of(
        epsilon: Number | None,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        count_share: Number | None = None,
    ) -> Budget:
        """The budget that a person asked for, in keywords."""
        if epsilon is None:
            raise ParameterError("Give `epsilon`, the privacy budget. Hint: typical budgets are 0.1 to 10.")
        share = DEFAULT_COUNT_SHARE if count_share is None else count_share
        return Budget(epsilon, delta, neighbors, records_per_person, share)

    @property
    def unit(self) -> str:
        """What is protected: a record, or a person who may have several."""
        return unit_of(self.records_per_person)

    @property
    def pure(self) -> bool:
        """Whether no exception is allowed: δ = 0."""
        return as_fraction("delta", self.delta) == 0

    def calibrate(self, rows: int, shares: Sequence[Number] | None = None) -> Calibration:
        """The least noise with which a release of so many rows costs no more than this.

        `shares`, one positive number for each row, say how the rows divide it; without them, all get the same.
        """
        return calibrate(
            rows,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=self.neighbors,
            records_per_person=self.records_per_person,
            count_share=self.count_share,
            shares=shares,
        )

    def claim(self, rows: int, shares: Sequence[Number] | None = None) -> PrivacyClaim:
        """What a release of so many rows will claim: its price, known before any noise."""
        return self.calibrate(rows, shares).claim

    def share(
        self, epsilon: Number | Fraction, delta: Number | Fraction | None = None, *, count_share: Number | None = None
    ) -> Budget:
        """These parts of ε and of δ, which is shared as ε is unless said otherwise."""
        of_epsilon = as_fraction("epsilon", epsilon)
        of_delta = of_epsilon if delta is None else as_fraction("delta", delta)
        return replace(
            self,
            epsilon=as_fraction("epsilon", self.epsilon) * of_epsilon,
            delta=as_fraction("delta", self.delta) * of_delta,
            count_share=self.count_share if count_share is None else count_share,
        )

    def split(self, parts: int) -> tuple[Budget, ...]:
        """So many equal parts, which add up to the whole."""
        return (self.share(Fraction(1, parts)),) * parts
