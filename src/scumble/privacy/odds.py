"""What ε means for one person, in odds: how far a release can move anybody's belief about them.

Whoever thinks before a release, at odds p : 1 − p, that something is true of a person (that they are in the table, or
what their record says), thinks so afterwards at odds that are at most e^ε times as large: Bayes' rule and the
definition (NIST SP 800-226, section 2). With δ, except with probability δ.
"""

from __future__ import annotations

from math import exp


def belief(before: float, epsilon: float) -> float:
    """The most that a belief of this probability can become.

    >>> round(belief(0.5, 1.0), 2), round(belief(0.01, 1.0), 3)
    (0.73, 0.027)
    """
    odds = before / (1.0 - before) * exp(min(epsilon, 700.0))
    return odds / (1.0 + odds)


def in_words(epsilon: float, delta: float = 0.0, *, neighbors: str = "add-remove", records_per_person: int = 1) -> str:
    """The same as a sentence.

    >>> in_words(1.0)[-100:]
    'may think it 73 % likely after the release, and no more; a suspicion of 1 % may become one of 2.7 %.'
    """
    whose = "one person's record" if records_per_person == 1 else f"one person's records (up to {records_per_person})"
    says = "is in the table" if neighbors == "add-remove" else "says a certain thing"
    if records_per_person > 1:
        says = says.replace("is in", "are in").replace("says", "say")
    even, small = (_percent(belief(before, epsilon)) for before in (0.5, 0.01))
    failure = f" This may fail with a probability of {delta:.2g}." if delta else ""
    return (
        f"Whoever thinks it as likely as not (50 %) that {whose} {says} may think it {even} likely after the release, "
        f"and no more; a suspicion of 1 % may become one of {small}.{failure}"
    )


def _percent(share: float) -> str:
    """Two digits; more where it is nearly certain."""
    if share < 0.99:
        return f"{100 * share:.1f} %" if share < 0.095 else f"{100 * share:.0f} %"
    return f"{100 * share:.4g} %" if share < 0.99995 else "over 99.99 %"
