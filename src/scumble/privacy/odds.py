"""What ε means for one person, in odds: how far a release can move anybody's belief about them.

Whoever thinks before a release, at odds p : 1 − p, that something is true of a person (that they are in the table, or
what their record says), thinks so afterwards at odds that are at most e^ε times as large: Bayes' rule and the
definition (NIST SP 800-226, section 2). With δ, except with probability δ.
"""

from __future__ import annotations

from math import exp

from scumble.privacy.exact import show


def belief(before: float, epsilon: float) -> float:
    """The most that a belief of this probability can become.

    >>> round(belief(0.5, 1.0), 2), round(belief(0.01, 1.0), 3)
    (0.73, 0.027)
    """
    odds = before / (1.0 - before) * exp(min(epsilon, 700.0))
    return odds / (1.0 + odds)


def in_words(epsilon: float, delta: float = 0.0, *, neighbors: str = "add-remove", records_per_person: int = 1) -> str:
    """The same as a sentence.

    >>> in_words(1.0)[-99:]
    'think it 73.2 % likely after the release, and no more; a suspicion of 1 % may become one of 2.68 %.'
    """
    whose = "one person's record" if records_per_person == 1 else f"one person's records (up to {records_per_person})"
    says = "is in the table" if neighbors == "add-remove" else "says a certain thing"
    if records_per_person > 1:
        says = says.replace("is in", "are in").replace("says", "say")
    even, small = (percent(belief(before, epsilon)) for before in (0.5, 0.01))
    failure = f" This may fail with a probability of {show(delta, digits=2)}." if delta else ""
    return (
        f"Whoever thinks it as likely as not (50 %) that {whose} {says} may think it {even} likely after the release, "
        f"and no more; a suspicion of 1 % may become one of {small}.{failure}"
    )


def percent(share: float) -> str:
    """A probability that is promised not to be exceeded: three digits, more where it is nearly certain, rounded up.

    >>> percent(0.7310585786), percent(0.9933071490757153), percent(0.99999)
    ('73.2 %', '99.34 %', 'over 99.99 %')
    """
    shown = show(100 * share, digits=3 if share < 0.99 else 4)
    return f"{shown} %" if float(shown) < 100 else "over 99.99 %"
