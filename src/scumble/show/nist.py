"""A release held against NIST SP 800-226, *Guidelines for Evaluating Differential Privacy Guarantees* (2025).

The publication builds a pyramid: the numbers on top, what can undermine them below, how the data was collected at the
bottom. Each of its points that applies is answered here: by the release where it knows, by scumble where it is a
property of the code, and by a blank where only the curator can.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scumble._version import __version__
from scumble.errors import many, plain_number, readable
from scumble.privacy.exact import show
from scumble.privacy.odds import belief, percent
from scumble.show.usefulness import errors, group, noises
from scumble.show.wording import noise_of_law, promise, protected

BLANK = "[for the curator to fill in]"


class Point(NamedTuple):
    """One point of the publication, and the answer."""

    level: str
    name: str
    answer: str


def points(facts: dict[str, Any], others: list[str] | None = None, dataset: str | None = None) -> list[Point]:
    """The answers, in the order of the pyramid, from its top.

    Parameters
    ----------
    facts : dict
        The facts of the release's card.
    others : list of str, optional
        Other releases of the same data, as the ledger has them; None if no ledger was given.
    dataset : str, optional
        The data's name in the ledger.

    Returns
    -------
    list of Point
        Nineteen of them.
    """
    return [*_numbers(facts), *_use(facts), *_undermining(facts, others, dataset), *_below(facts)]


def text(title: str, answers: list[Point]) -> str:
    """The points as a page of plain text."""
    import textwrap

    out = [f"{readable(title)}, held against NIST SP 800-226", ""]
    level = ""
    for number, point in enumerate(answers, 1):
        if point.level != level:
            level = point.level
            out += [level.upper(), ""]
        out.append(f"{number:2}. {point.name}")
        out += textwrap.wrap(readable(point.answer), 96, initial_indent="    ", subsequent_indent="    ")
        out.append("")
    return "\n".join(out).rstrip()


def _numbers(facts: dict[str, Any]) -> list[Point]:
    level = "The guarantee"
    odds = _odds(facts["epsilon"], facts["delta"])
    delta = (
        f"{show(facts['delta'], digits=3)}. With this probability the bound may not hold; it should be far below one "
        "divided by the number of people."
        if facts["delta"]
        else "0: the bound has no exceptions."
    )
    others = "; ".join(
        f"{name} = {show(facts[key], digits=4)}"
        for key, name in (("rho", "ρ (zCDP)"), ("mu", "μ (Gaussian DP)"))
        if facts.get(key)
    )
    variant = "pure differential privacy" if not facts["delta"] else "approximate differential privacy"
    unit = protected(facts["neighbors"], facts["unit"], facts["records_per_person"])
    warning = (
        " RECORD LEVEL: this protects rows, not people. Who has several rows in the table is protected less: for m "
        "rows the bound is m times ε, and δ grows faster. If rows are not people, build with a person column and "
        "records per person."
        if facts["unit"] == "record"
        else f" Which of the two: {BLANK}."
    )
    return [
        Point(
            level, "Privacy loss, epsilon", f"{promise(facts['epsilon'], facts['delta'])}. {facts['meaning']} {odds}"
        ),
        Point(level, "Delta", delta),
        Point(level, "Variant and conversions", f"{variant}{'; in other currencies: ' + others if others else ''}."),
        Point(level, "Unit of privacy", f"{unit.rstrip('.')}.{warning}"),
        Point(
            level,
            "Neighbouring datasets",
            "unbounded: with and without a unit (the number of records is protected as well)."
            if facts["neighbors"] == "add-remove"
            else "bounded: a unit's values replaced by others (the number of records is not protected).",
        ),
    ]


def _use(facts: dict[str, Any]) -> list[Point]:
    level = "Utility and bias"
    name = noise_of_law(facts["mechanism"])
    moved = ", ".join(f"{plain_number(noise, 3)} {where}" for where, noise in noises(facts).items())
    about = f"about {many(facts['count'], 'record', ',.0f')}"
    seen = ", ".join(f"{group(error)} {where}" for where, error in errors(facts).items())
    return [
        Point(
            level,
            "Algorithm",
            f"integer counters to which each record adds a bounded whole number in every row, with {name} once. "
            "The noise is integer, exact in law, and drawn from the operating system's entropy.",
        ),
        Point(
            level,
            "Accuracy",
            f"each answer comes with an interval. {about[0].upper() + about[1:]}; noise alone moves an answer by "
            f"about so many of them (one standard deviation): {moved}."
            if moved
            else f"{about}; how far noise moves a model that is learnt from the sums depends on the model: {BLANK}.",
        ),
        Point(
            level,
            "Smallest group that is visible",
            f"of about so many records alike: {seen}. Smaller groups drown in the noise: the release must not be read "
            "as saying that they do not exist."
            if seen
            else "none: sums over all records tell of no group.",
        ),
        Point(
            level,
            "Statistical bias",
            "sums and counts straight from the counters are unbiased under the noise, but for where records lie in "
            "the cells of a grid (a kernel sum at a place that many share is too low); whatever is clipped, smoothed "
            "or fitted to be readable is not, and small groups suffer most. Bias that is in the data stays in the "
            "release.",
        ),
        Point(
            level,
            "Synthetic data",
            "rows sampled from this release are post-processing: as private as it is, and no more accurate. They show "
            "only what was counted.",
        ),
    ]


def _undermining(facts: dict[str, Any], others: list[str] | None, dataset: str | None) -> list[Point]:
    level = "What could undermine it"
    if others is None:
        told = f"unknown to the file. {BLANK}: list them; budgets of releases about the same people add up."
    else:
        told = "; ".join(others) or f"none of dataset {dataset!r} in the ledger that was given."
    return [
        Point(level, "Other releases of the same data", told),
        Point(
            level,
            "Choices made from the data",
            "columns, kernel or schema, bounds and size are public parameters that scumble never reads off records; "
            f"what it chooses from them is paid for in ε. Whether the curator looked first: {BLANK}.",
        ),
        Point(
            level,
            "Trust model",
            "central: the curator holds the records and is trusted; whoever gets the release need not be. "
            "(Custodians who draw shares of the noise need not trust each other alone.)",
        ),
        Point(
            level,
            "Floating point",
            "no floating-point number touches the noise: integers and exact fractions throughout, so that low-order "
            "bits tell nothing.",
        ),
        Point(
            level,
            "Timing and other side channels",
            "the release is made once, offline; answering needs only the released file, so its timing tells nothing. "
            "How long the build took depends on the data and should not be published.",
        ),
        Point(
            level,
            "Implementation and its testing",
            f"scumble {__version__}, open source (Apache 2.0); proofs beside the code, exact laws in tests, and an "
            "audit that replays the release path on neighbouring tables (scumble audit --grey-box).",
        ),
    ]


def _below(facts: dict[str, Any]) -> list[Point]:
    level = "Security and data collection"
    return [
        Point(
            level,
            "Access control",
            f"exact counters and checkpoints are files of mode 0600. Who may read the table itself: {BLANK}.",
        ),
        Point(level, "Data security and retention", f"{BLANK}: how the table is kept, and when it is deleted."),
        Point(
            level,
            "Data collection exposure",
            f"{BLANK}: how the records were collected, and whether with consent. The release has the columns "
            f"{', '.join(facts['columns'] or [str(facts.get('dimensions')) + ' unnamed ones'])}.",
        ),
    ]


def _odds(epsilon: float, delta: float) -> str:
    """What the best guess at one unit's presence may become, from even odds."""
    if epsilon > 50:
        return "For one person this bound is as good as none."
    chance = percent(min(1.0, belief(0.5, epsilon) + delta))
    return f"Who guesses, at even odds, whether somebody is in the table may be right in {chance} of cases."
