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

NEAR = Fraction(1001, 1000)
"""As near the largest ρ as this is near enough."""

Claims = Callable[[Sequence[Budget]], Sequence[PrivacyClaim]]


def in_parts(whole: Budget, shares: Sequence[Fraction], claims: Claims) -> list[Budget]:
    """Budgets of these shares, for releases that together claim no more than the whole; `claims` is what they claim.

    Without δ, ε is shared out. With it, releases with Gaussian noise add up to one whose ρ is the sum of theirs, so ρ
    is shared out, as much of it as ε and δ allow: a sixteenth of ρ makes a fourth of the accuracy, where a sixteenth of
    ε would make a sixteenth. A budget in ρ is shared out as it is, and a single release keeps its choice of noise.

    >>> from scumble.privacy.composition import overlapping
    >>> def claims(budgets):
    ...     return [budget.claim(100) for budget in budgets]
    >>> whole = Budget(1.0, 1e-6)
    >>> parts = in_parts(whole, [Fraction(1, 4), Fraction(3, 4)], claims)
    >>> [round(float(part.epsilon), 2) for part in parts], 0.999 < overlapping(claims(parts)).epsilon <= 1.0
    ([0.55, 0.94], True)
    """
    if len(shares) == 1 or whole.pure or whole.rho is not None:
        return [whole.share(share) for share in shares]
    epsilon, delta = as_fraction("epsilon", whole.epsilon), as_fraction("delta", whole.delta)
    found = whole.calibrate(1, mechanism=GAUSSIAN.name).claim.rho
    assert found is not None

    def parts(rho: Fraction) -> list[Budget]:
        return [replace(whole, delta=delta * share).in_rho(rho * share) for share in shares]

    def cost(rho: Fraction) -> Fraction:
        return Fraction(overlapping(claims(parts(rho))).epsilon)

    # ε grows at least as the root of ρ: what is lowered by the square of the excess is low enough, and maybe too low.
    low = high = Fraction(found)
    while (total := cost(low)) > epsilon:
        high, low = low, low * (epsilon / total) ** 2 * CLOSER
    while high > low * NEAR:
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= epsilon else (low, middle)
    return parts(low)
