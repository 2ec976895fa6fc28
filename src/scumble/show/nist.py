"""A release checked against NIST SP 800-226, *Guidelines for Evaluating Differential Privacy Guarantees* (2025).

Each applicable point is answered from the release or from properties of the code; what only the curator knows is left
blank.
"""

from __future__ import annotations

import datetime
import json
import re
from typing import NamedTuple

from scumble._version import __version__
from scumble.errors import many, plain_number, readable
from scumble.privacy.exact import show
from scumble.privacy.wording import belief, noise_of_law, percent, promise, protected
from scumble.show.usefulness import Facts, errors, group, noises

BLANK = "[for the curator to fill in]"


class Point(NamedTuple):
    """One point of the publication, and the answer."""

    level: str
    name: str
    answer: str


def points(facts: Facts, others: list[str] | None = None, dataset: str | None = None) -> list[Point]:
    """The answers to the facts of a card, from the top of the pyramid down.

    `others` are other releases of the same data as the ledger has them, None if no ledger was given.
    """
    levels = {
        "The guarantee": _numbers(facts),
        "Utility and bias": _use(facts),
        "What could undermine it": _undermining(facts, others, dataset),
        "Security and data collection": _below(facts),
    }
    return [Point(level, *answered) for level, answers in levels.items() for answered in answers]


def text(title: str, answers: list[Point]) -> str:
    """The points as a page of plain text."""
    import textwrap

    out = [f"{readable(title)} assessed against NIST SP 800-226", ""]
    level = ""
    for number, point in enumerate(answers, 1):
        if point.level != level:
            level = point.level
            out += [level.upper(), ""]
        out.append(f"{number:2}. {point.name}")
        out += textwrap.wrap(readable(point.answer), 96, initial_indent="    ", subsequent_indent="    ")
        out.append("")
    return "\n".join(out).rstrip()


def _numbers(facts: Facts) -> list[tuple[str, str]]:
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
        " RECORD LEVEL: this protects records, not people. A person with m records has m times the ε, and a larger δ. "
        "If people have several records, build with a person column and records per person."
        if facts["unit"] == "record"
        else f" Which of the two: {BLANK}."
    )
    return [
        ("Privacy loss, epsilon", f"{promise(facts['epsilon'], facts['delta'])}. {facts['meaning']} {odds}"),
        ("Delta", delta),
        ("Variant and conversions", f"{variant}{'; in other forms: ' + others if others else ''}."),
        ("Unit of privacy", f"{unit.rstrip('.')}.{warning}"),
        (
            "Neighboring datasets",
            "unbounded: with and without a unit (the number of records is protected as well)."
            if facts["neighbors"] == "add-remove"
            else "bounded: a unit's values replaced by others (the number of records is not protected).",
        ),
    ]


def _use(facts: Facts) -> list[tuple[str, str]]:
    name = noise_of_law(facts["mechanism"])
    moved = ", ".join(f"{plain_number(noise, 3)} {where}" for where, noise in noises(facts).items())
    about = f"about {many(facts['count'], 'record', ',.0f')}"
    seen = ", ".join(f"{group(error)} {where}" for where, error in errors(facts).items())
    return [
        (
            "Algorithm",
            f"integer counters to which each record adds a bounded whole number in every row, with {name} once. "
            "The noise is integer, exact in law, and drawn from the operating system's entropy.",
        ),
        (
            "Accuracy",
            f"each answer comes with an interval. {about[0].upper() + about[1:]}; standard deviation of the noise "
            f"in an answer, in records: {moved}."
            if moved
            else f"{about}; the effect of noise on a model learned from the sums depends on the model: {BLANK}.",
        ),
        (
            "Smallest group that is visible",
            f"in records: {seen}. Smaller groups are hidden by the noise; the release does not show that they do not "
            "exist."
            if seen
            else "none: sums over all records show no group.",
        ),
        (
            "Statistical bias",
            "the noise adds no bias to sums and counts; rounding to the cells of a grid, clipping, smoothing and "
            "fitting do, most for small groups. Bias in the data stays in the release.",
        ),
        (
            "Synthetic data",
            "rows sampled from this release are post-processing: as private as it is, and no more accurate. They show "
            "only what was counted.",
        ),
    ]


def _undermining(facts: Facts, others: list[str] | None, dataset: str | None) -> list[tuple[str, str]]:
    if others is None:
        told = f"unknown to the file. {BLANK}: list them; budgets of releases about the same people add up."
    else:
        told = "; ".join(others) or f"none of dataset {dataset!r} in the ledger that was given."
    return [
        ("Other releases of the same data", told),
        (
            "Choices made from the data",
            "columns, kernel or schema, bounds and size are public parameters; what scumble chooses from records is "
            f"paid for in ε. Whether the curator looked at the data first: {BLANK}.",
        ),
        (
            "Trust model",
            "central: the curator holds the records and is trusted; recipients of the release need not be.",
        ),
        ("Floating point", "no floating-point number touches the noise: integers and exact fractions throughout."),
        (
            "Timing and other side channels",
            "the release is made once, offline, and answers come from the file, so their timing reveals nothing. "
            "The duration of the build depends on the data and should not be published.",
        ),
        (
            "Implementation and its testing",
            f"scumble {__version__}, open source (Apache 2.0); proofs next to the code, exact tests of the "
            "noise, and an audit that replays the release path on neighboring tables (scumble audit --grey-box).",
        ),
    ]


def _below(facts: Facts) -> list[tuple[str, str]]:
    return [
        (
            "Access control",
            f"exact counters and checkpoints are files of mode 0600. Who may read the table itself: {BLANK}.",
        ),
        ("Data security and retention", f"{BLANK}: how the table is kept, and when it is deleted."),
        (
            "Data collection exposure",
            f"{BLANK}: how the records were collected, and whether with consent. The release has the columns "
            f"{', '.join(facts['columns'] or [str(facts.get('dimensions')) + ' unnamed ones'])}.",
        ),
    ]


def _odds(epsilon: float, delta: float) -> str:
    """How often the best guess at one unit's presence can be right, from even odds."""
    if epsilon > 50:
        return "This bound gives one person no meaningful protection."
    chance = percent(min(1.0, belief(0.5, epsilon) + delta))
    return f"A guess at even odds whether a person is in the table can be right in at most {chance} of cases."


# ---- an entry of OpenDP's public registry of deployments ----

ENTRY = """url_slug: {slug}
status: "Draft"
tier: 2
deployment:
  basic:
    name: {name} # fill in
    data_curators:
      - "" # fill in
    intended_use: "" # fill in
    data_product_type: "Summary statistics" # fill in
    data_product_region: "" # fill in
    description: {description}
    publication_date: {today} # fill in
  dp_variant:
    variant_name: {variant}
    data_domain: {domain} # fill in
    unprotected_quantities: {unprotected}
  privacy_loss:
    privacy_unit: {unit}
    privacy_unit_details: {protected}
    privacy_parameters:
      epsilon: {epsilon}{delta}
    privacy_parameters_details: {promise}
  deployment_model:
    model_name: "Central"
    actors: "the curator, who is trusted with the records; everybody else, who is not" # fill in
    release_type: "One release"
    release_type_details: "" # fill in: plans for further releases of the same data
    data_source_type: "Static" # fill in
    access_type: "Non-interactive"
    access_type_details: "one file; questions are answered from it without further privacy loss"
  accounting:
    post_processing: "all answers, models and synthetic rows are post-processing of the noisy counters"
    composition: "one mechanism over all rows of counters, accounted as a whole; classes, if any, are disjoint"
  implementation:
    preprocessing_and_hyperparameter_tuning: "parameters are public and not read off the data by the software" # fill in
    mechanisms: {mechanisms}
    justification: "" # fill in
  administrative:
    notes: {notes}
    registry_authors:
      - "" # fill in"""
"""YAML that validates as it is. What is to be filled in, only the curator knows."""


def entry(facts: Facts, name: str) -> str:
    """The entry for a file of this name, from the facts of its card."""
    columns = ", ".join(facts["columns"]) if facts["columns"] else many(facts["dimensions"], "column")
    read = {"table": "counts, means, synthetic rows and models", "moments": "linear models"}
    read_from = read.get(facts["kind"], "densities, modes, synthetic rows and models")
    rho = f"; ρ = {show(facts['rho'])}" if facts.get("rho") else ""
    hidden = facts["neighbors"] == "add-remove"
    texts = {
        "slug": re.sub(r"[^a-z0-9]+", "_", name.lower().removesuffix(".scumble")).strip("_") or "release",
        "name": name,
        "description": f"A scumble release: noisy counts of the columns {columns}, from which {read_from} are read.",
        "today": datetime.date.today().isoformat(),
        "variant": "Approximate DP" if facts["delta"] else "Pure DP",
        "domain": f"all tables with the columns {columns}",
        "unprotected": "none" if hidden else "the number of records (bounded neighbors)",
        "unit": facts["unit"],
        "protected": protected(facts["neighbors"], facts["unit"], facts["records_per_person"]),
        "promise": promise(facts["epsilon"], facts["delta"]) + rho,
        "mechanisms": f"{noise_of_law(facts['mechanism'])}, exact and integer, from the system's entropy; "
        f"scumble {__version__}",
        "notes": f"identity of the release: {facts.get('identity', 'a bundle')}",
    }
    delta = f"\n      delta: {_number(facts['delta'])}" if facts["delta"] else ""
    quoted = {key: _quoted(text) for key, text in texts.items()}
    return ENTRY.format(**quoted, epsilon=_number(facts["epsilon"]), delta=delta)


def _number(value: float) -> str:
    """A number with an exponent needs a point to be a number to every reader."""
    text = json.dumps(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _quoted(text: str) -> str:
    """Double quotes; whatever does not print, or would end the text, as an escape."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'
