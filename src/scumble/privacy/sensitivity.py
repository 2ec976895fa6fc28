"""Sensitivity: how far one person can move a release, and what that costs at given noise scales.

One record adds one to one counter in each of R rows, and one to the count N.

| neighbors    | counters, L1 | counters, L2 | count          |
|--------------|--------------|--------------|----------------|
| add-remove   | R            | √R           | 1, hidden      |
| replace      | 2R           | √(2R)        | public, exact  |

A person with up to m records: m times as much. No bound on the data is needed.
"""

from __future__ import annotations

import math
from fractions import Fraction

from scumble.privacy.exact import float_up
from scumble.privacy.gaussian import Shift

NEIGHBORS = ("add-remove", "replace")
LAPLACE, GAUSSIAN, MERGED = "discrete-laplace", "discrete-gaussian", "merged"

SHARE_SLACK = 1e-9
"""How far, as c in e^±c, a sum of Gaussian shares may be from its ideal law (`scumble.privacy.splitting`)."""


def sides_of(neighbors: str) -> int:
    """Counters that one record moves in a row: the one it joins or leaves; both if it is replaced."""
    return 2 if neighbors == "replace" else 1


def unit_of(records_per_person: int) -> str:
    """What is protected: a record, or a person who may have several."""
    return "record" if records_per_person == 1 else "person"


def costs(
    mechanism: str, rows: int, neighbors: str, people: int, scale: Fraction, count: Fraction | None
) -> tuple[float | None, float]:
    """Pure ε (None for Gaussian noise) and zCDP ρ of a release with these exact scales, rounded up.

    Laplace: ε = L1/s, and each coordinate, being εᵢ-private, is εᵢ²/2-zCDP (Bun & Steinke 2016, Proposition
    1.4), which adds up to Σ move²/(2s²). Gaussian: Σ move²/(2σ²) as well (Canonne, Kamath & Steinke 2020,
    Theorem 4). In a row, moves that add up to at most m have squares that add up to at most m².
    """
    sides = sides_of(neighbors)
    rho = Fraction(sides * rows * people**2) / (2 * scale**2)
    if count is not None:
        rho += Fraction(people**2) / (2 * count**2)
    if mechanism == GAUSSIAN:
        return None, float_up(rho)
    epsilon = Fraction(sides * rows * people) / scale + (Fraction(people) / count if count is not None else 0)
    return float_up(epsilon), float_up(rho)


def gaussian_shift(rows: int, neighbors: str, people: int, sigma: float, count_sigma: float | None) -> Shift:
    """The worst move of a person's records: m records in each row, taken out of one cell or spread over m."""
    sides = sides_of(neighbors)
    return Shift(
        cells=sides * rows * people,
        squared=sides * rows * people**2,
        sigma=sigma,
        count=people if count_sigma is not None else 0,
        count_sigma=count_sigma if count_sigma is not None else math.inf,
    )
