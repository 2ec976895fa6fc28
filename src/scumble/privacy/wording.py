"""Budgets and claims in words, for all cards; and what ε means for one person, in odds."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from scumble.checks import Json
from scumble.privacy.budget import weakness
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import show
from scumble.privacy.laws import LAWS


def promised(claim: PrivacyClaim) -> Json:
    """What a claim says, as JSON values, the same on every card; ε and δ rounded up, as they are shown."""
    return {
        "epsilon": float(show(claim.epsilon)),
        "delta": float(show(claim.delta)),
        "rho": claim.rho,
        "mu": claim.mu,
        "neighbors": claim.neighbors,
        "unit": claim.unit,
        "records_per_person": claim.records_per_person,
        "meaning": claim.sentence(),
    }


def promise(epsilon: float, delta: float) -> str:
    """The budget, and how little it promises if it is large."""
    weak = weakness(epsilon, delta)
    exceptions = f"δ = {show(delta)}" if delta else "δ = 0 (no exceptions)"
    return f"ε = {show(epsilon)}, {exceptions}" + (f". Weak: {weak}" if weak else "")


def protected(neighbors: str, unit: str, people: int) -> str:
    """Who, and from what; a file does not say who held people to so many records."""
    if unit == "record":
        hidden = "whether it is in the table at all" if neighbors == "add-remove" else "what it says"
        return f"every record: {hidden} (neighbors: {neighbors}; unit: {unit})"
    hidden = "whether they are in the table at all" if neighbors == "add-remove" else "what their records say"
    held = (
        "Further records of a person were left out and count nowhere, or the curator vouches that there are none. "
        "The file does not say which."
    )
    records = "one record" if people == 1 else f"{people} records"
    return f"every person with up to {records}: {hidden} (neighbors: {neighbors}; unit: {unit}). {held}"


def noise_of_law(mechanism: str) -> str:
    """What the noise is called: of one law, of either of two, or of several releases together."""
    laws = [LAWS[name] for name in mechanism.split(" or ") if name in LAWS]
    return " or ".join(law.title for law in laws) or "the noise of several releases, merged"


def belief(before: float, epsilon: float) -> float:
    """The most that a belief of this probability can become: its odds grow by e^ε at most (NIST SP 800-226, section 2).

    >>> round(belief(0.5, 1.0), 2), round(belief(0.01, 1.0), 3)
    (0.73, 0.027)
    """
    odds = before / (1.0 - before) * exp(min(epsilon, 700.0))
    return odds / (1.0 + odds)


def odds_in_words(
    epsilon: float, delta: float = 0.0, *, neighbors: str = "add-remove", records_per_person: int = 1
) -> str:
    """The same as a sentence.

    >>> odds_in_words(1.0).partition(" is in ")[2]
    'the table can be at most 73.2 % sure after the release; a suspicion of 1 % can become one of 2.68 %.'
    """
    whose = "one person's record" if records_per_person == 1 else f"one person's records (up to {records_per_person})"
    says = "is in the table" if neighbors == "add-remove" else "says a certain thing"
    if records_per_person > 1:
        says = says.replace("is in", "are in").replace("says", "say")
    even, small = (percent(belief(before, epsilon)) for before in (0.5, 0.01))
    failure = f" This may fail with a probability of {show(delta, digits=2)}." if delta else ""
    return (
        f"Someone who is 50 % sure that {whose} {says} can be at most {even} sure after the release; "
        f"a suspicion of 1 % can become one of {small}.{failure}"
    )


def percent(share: float) -> str:
    """A probability that is promised not to be exceeded: three digits, more where it is nearly certain, rounded up.

    >>> percent(0.7310585786), percent(0.9933071490757153), percent(0.99999)
    ('73.2 %', '99.34 %', 'over 99.99 %')
    """
    shown = show(100 * share, digits=3 if share < 0.99 else 4)
    return f"{shown} %" if float(shown) < 100 else "over 99.99 %"


def human_bytes(count: float) -> str:
    """A size for people, such as 1.5 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    raise AssertionError


AS_USUAL = (
    "Records are assumed to be as dense and as clustered as is typical within these bounds. Relative errors are "
    "smaller where records are dense."
)
"""What a plan within bounds knows of records."""


def sized(sides: Sequence[int], design: str | None) -> str:
    """The cells along each axis of a grid, or the rows."""
    return f"{' × '.join(f'{side:,}' for side in sides)} {'cells' if design == 'grid' else 'rows'}"


def decided_later(told: str, denser: str, either: bool) -> str:
    """That the size `told` is only predicted; `denser` is that of denser records. With `either`, so is the design."""
    size = "the same" if told == denser else f"about {denser}"
    what = "Design and size are predictions: they are" if either else "The size is a prediction: it is"
    return (
        f"{what} decided after counting, by noisy numbers. If records are clustered, with ten times as many near each "
        f"other, the size is {size}."
    )
