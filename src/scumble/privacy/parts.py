"""One budget for several releases of the same people: what each of them gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.composition import overlapping
from scumble.privacy.exact import as_fraction
from scumble.privacy.laws import GAUSSIAN

CLOSER = Fraction(999_999, 1_000_000)
"""By how much more than needed ρ is lowered, so that a rounding does not ask for another turn."""

Claims = Callable[[Sequence[Budget]], Sequence[PrivacyClaim]]


def in_parts(whole: Budget, shares: Sequence[Fraction], claims: Claims) -> list[Budget]:
    """Budgets of these shares, for releases that together claim no more than the whole; `claims` is what they claim.

    Without δ, ε is shared out. With it, releases with Gaussian noise add up to one whose ρ is the sum of theirs, so ρ
    is shared out, as much of it as ε and δ allow: a sixteenth of ρ makes a fourth of the accuracy, where a sixteenth of
    ε would make a sixteenth. A budget in ρ is shared out as it is.

    >>> from scumble.privacy.composition import overlapping
    >>> def claims(budgets):
    ...     return [budget.claim(100) for budget in budgets]
    >>> whole = Budget(1.0, 1e-6)
    >>> parts = in_parts(whole, [Fraction(1, 4), Fraction(3, 4)], claims)
    >>> [round(float(part.epsilon), 2) for part in parts], 0.999 < overlapping(claims(parts)).epsilon <= 1.0
    ([0.52, 0.87], True)
    """
    if whole.pure or whole.rho is not None:
        return [whole.share(share) for share in shares]
    epsilon, delta = as_fraction("epsilon", whole.epsilon), as_fraction("delta", whole.delta)
    found = whole.calibrate(1, mechanism=GAUSSIAN.name).claim.rho
    assert found is not None
    rho = Fraction(found)
    while True:
        budgets = [replace(whole, delta=delta * share).in_rho(rho * share) for share in shares]
        total = Fraction(overlapping(claims(budgets)).epsilon)
        if total <= epsilon:
            return budgets
        rho *= (epsilon / total) ** 2 * CLOSER
