"""What each method is: reference, guarantee, and the way it is drawn, the same in every figure."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.paper import functions
from benchmarks.paper.experiments import classification, regression, wang

GUARANTEES = {"pure": "ε", "approximate": "ε, δ", "none": "no privacy", "not as claimed": "**not private at this ε**"}


class Look(NamedTuple):
    color: str
    marker: str = "o"
    line: str = "-"


# Okabe & Ito's eight colors, which all eyes can tell apart; where they do not suffice, the marker differs.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#C8B400",  # darker than theirs, for a white ground
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#888888"
LOOKS = {
    "scumble, δ = 0": Look(VERMILION, "o"),
    "scumble, δ = 1e-06": Look(VERMILION, "D", "--"),
    "scumble, δ = 0, ML": Look(ORANGE, "v"),
    "scumble, δ = 0, MAP": Look(ORANGE, "^", "--"),
    "Private RACE, Algorithms 1 and 2": Look(BLUE, "s"),
    "Private RACE, as published": Look(BLUE, "x", ":"),
    "Bernstein mechanism": Look(GREEN, "^"),
    "Fourier series": Look(PURPLE, "v"),
    "Trigonometric polynomials": Look(SKY, "P"),
    "PFDA": Look(YELLOW, "X"),
    "Kernel mean embedding": Look(ORANGE, "<"),
    "MWEM": Look(BLACK, ">"),
    "LSQ, random Fourier features": Look(SKY, "*", "--"),
    "LSQ, fast Gauss transform": Look(GREEN, "h", "--"),
    "logistic regression": Look(GREEN, "^"),
    "naive Bayes": Look(PURPLE, "v"),
    "SSP": Look(BLACK, ">"),
    "SSP, published code": Look(BLACK, "x", ":"),
    "AdaSSP": Look(GREEN, "^"),
    "AdaSSP, tight noise": Look(GREEN, "h", "--"),
    "OPS": Look(PURPLE, "v"),
    "AdaOPS": Look(PURPLE, "P", "--"),
    "objective perturbation": Look(SKY, "*"),
    "objective perturbation, published code": Look(SKY, "x", ":"),
}


def _known() -> dict[str, Any]:
    found = {method.name: method for method in functions.METHODS}
    for experiment in (classification, regression, wang):
        found |= experiment.METHODS
    return found


METHODS = _known()


def look(method: str) -> Look:
    return LOOKS.get(method, Look(GREY, "", "-."))


def guarantee(method: str) -> str:
    return GUARANTEES[METHODS[method].private] if method in METHODS else ""


OURS = ("scumble, δ = 0", "scumble, δ = 1e-06")
"""scumble as it comes: what takes part in comparisons. Where a δ is allowed, it may still be left unused."""


def is_ours(method: str) -> bool:
    return method in OURS


def competes(method: str, *, pure: bool) -> bool:
    """Whether it keeps its promise: ε alone, or also (ε, δ)."""
    return METHODS[method].private in (("pure",) if pure else ("pure", "approximate"))
