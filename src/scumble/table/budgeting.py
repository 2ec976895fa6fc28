"""How much of the budget each view gets, and how many levels an axis can bear.

**Shares.** A record adds one to one cell of every view, so views share one budget. With Laplace noise of scale b_r on
view r the release costs Σ 1/b_r = ε; with Gaussian noise, Σ 1/σ_r² = 1/σ², where σ is what one view alone would need.
A view that gets the share t_r of it has b_r = 1/(t_r ε), or σ_r = σ/√t_r, and Σ t_r = 1.

The summed squared error of a view of c cells is 2c·b_r² or c·σ_r². So the least sum over all views is

- Laplace: minimize Σ c_r/t_r². Lagrange: c_r/t_r³ is the same for all r, hence t_r ∝ c_r^⅓;
- Gaussian: minimize Σ c_r/t_r. Lagrange: c_r/t_r² is the same for all r, hence t_r ∝ c_r^½.

**Levels.** A pair of axes with m levels each has m² cells of N/m² records on average. Where that falls below the
deviation s of a cell's noise, a finer table shows noise alone; hence at most m* = √(N/s) levels an axis, s taken at
equal shares of all pairs. Rarer levels are pooled (`grouping`).

**Which pairs.** With ε alone, the noise of a pair grows with their number, so a few pairs with FINE levels per axis
are more informative than all pairs measured coarsely: as many are chosen as bear that many levels, up to two per
column. Where columns have fewer levels, a chosen pair is taken to have the geometric mean of FINE² cells and its own.
If pairs bear next to nothing, single columns get the whole budget. No view gets more than the claim was made for
(`AdaptiveBudget`); what a wide table leaves over goes to more pairs. Gaussian noise grows with the square root
of the number only: all pairs are measured as long as they bear three levels per axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from scumble.errors import parameter

Law = Literal["laplace", "gaussian"]
Choice = Literal["all pairs", "adaptive", "singles"]
Floats = npt.NDArray[np.float64]

SINGLES_SHARE = 0.15
SINGLES_SHARE_OF_COARSE_PAIRS = 0.30
SINGLES_SHARE_OF_CHOSEN_PAIRS = 0.50
FEW_LEVELS = 10
"""Where pairs bear fewer levels than this, single columns matter more."""

ALL_PAIRS_FROM = 3.0
"""Levels an axis, with Gaussian noise."""
FINE = 18.0
"""Levels an axis that chosen pairs bear, with Laplace noise."""
FEWEST_ROUNDS, ROUNDS_PER_COLUMN = 4, 2
"""Fewer pairs are not worth their share; more than two for each column add noise rather than knowledge."""
CHOOSING = Fraction(1, 10)
"""The part of a chosen pair's share that pays for the choice (AIM: McKenna, Mullins, Sheldon & Miklau 2022)."""

FAVORED = Fraction(1, 4)
"""The share of what the curator has named, above what it would have otherwise."""
TRIPLES_SHARE = 0.04
"""The share of triples that are chosen. Where none is found, the noise on pairs is larger by 2 %, or 4 % (Laplace)."""
MOST_TRIPLES = 2
"""As many are chosen at most: each makes a fit slower, and the share of one is halved for two."""
CHOOSING_TRIPLES = Fraction(1, 4)
"""The part of a triple's share that pays for the choice, which is among many."""
SEEN = 0.1
"""All cells of a triple together have noise of at most this part of the records: what a triple may show beyond pairs
and must show to be worth its share."""


@dataclass(frozen=True)
class Noise:
    """What all views together may spend, as the noise that one view alone would have.

    Parameters
    ----------
    law : {"laplace", "gaussian"}
        The law of the noise.
    scale : float
        What one view alone would need: b = 1/ε, or σ at sensitivity 1.
    """

    law: Law
    scale: float

    def __post_init__(self) -> None:
        if self.law not in ("laplace", "gaussian"):
            raise parameter("law", '"laplace" or "gaussian"', self.law)
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise parameter("scale", "positive and finite", self.scale)

    def scale_at(self, share: float) -> float:
        """The scale of the noise (b or σ) of a view that gets this share."""
        return self.scale / (share if self.law == "laplace" else math.sqrt(share))

    def deviation_at(self, share: float) -> float:
        """The standard deviation of that noise."""
        return self.scale_at(share) * (math.sqrt(2.0) if self.law == "laplace" else 1.0)

    def shares(self, cells: Sequence[int], total: float = 1.0) -> Floats:
        """Shares of `total` among views of so many cells, for the least summed squared error.

        >>> Noise("laplace", 1.0).shares([8, 125])                  # as 2 to 5
        array([0.28571429, 0.71428571])
        """
        sizes = np.array([self.weight(each) for each in cells])
        return np.asarray(total * sizes / sizes.sum())

    def weight(self, cells: float) -> float:
        """What the share of a view of so many cells is in proportion to."""
        return float(cells ** (1 / 3 if self.law == "laplace" else 1 / 2))


@dataclass(frozen=True)
class Plan:
    """How a table's budget is spent, decided from public and noisy numbers only.

    Attributes
    ----------
    singles : float
        The share of all single columns together, of what the count leaves.
    pairs : float
        The share of pairs, with the cost of choosing them where they are chosen.
    choice : {"all pairs", "adaptive", "singles"}
        Which pairs are measured.
    rounds : int
        How many pairs.
    levels : int
        The most levels an axis may have in a pair.
    bearable : float
        m*, which decided all that.
    triples : float
        The share of triples that are chosen, with the cost of choosing them.
    triple_rounds : int
        How many of them, at most.
    """

    singles: float
    pairs: float
    choice: Choice
    rounds: int
    levels: int
    bearable: float
    triples: float = 0.0
    triple_rounds: int = 0


def plan(count: float, columns: int, budget: Noise, most: float = 1, cells: float = FINE**2) -> Plan:
    """Decide the views of a table.

    Parameters
    ----------
    count : float
        The number of records, as far as it is public: a noisy count, or a guess.
    columns : int
        How many columns the table has.
    budget : Noise
        What all views together may spend.
    most : int
        No view may have more than one part in so many of it.
    cells : float
        How many cells a pair of columns has, in the mean, no column having more than FINE levels.

    Examples
    --------
    >>> plan(39_073, 15, Noise("gaussian", 4.22)).choice
    'all pairs'
    >>> plan(39_073, 15, Noise("laplace", 10.0)).choice             # ε = 0.1
    'adaptive'
    """
    pairs = columns * (columns - 1) // 2
    if not pairs:
        return Plan(1.0, 0.0, "singles", 0, 0, 0.0)
    singles = SINGLES_SHARE
    if _bearable(count, pairs, 1 - singles, budget) < FEW_LEVELS:
        singles = SINGLES_SHARE_OF_COARSE_PAIRS
    choice: Choice = "all pairs"
    rounds, levels = pairs, _bearable(count, pairs, 1 - singles, budget)
    if budget.law == "laplace" and (1 - singles) / _fine(count, budget, FINE**2) < pairs:
        choice = "adaptive"
        singles = SINGLES_SHARE_OF_CHOSEN_PAIRS
        rounds = _rounds(1 - singles, _fine(count, budget, FINE * math.sqrt(cells)), pairs, columns)
        if rounds < min(FEWEST_ROUNDS, pairs):
            rounds = _rounds(1 - singles, _fine(count, budget, cells), pairs, columns)
        if rounds < min(FEWEST_ROUNDS, pairs):
            return Plan(1.0, 0.0, "singles", 0, 0, 0.0)
        rounds = min(max(rounds, spending(1 - singles, most)), pairs)
        levels = _bearable(count, rounds, 1 - singles, budget)
    if levels < ALL_PAIRS_FROM:
        return Plan(1.0, 0.0, "singles", 0, 0, levels)
    return Plan(singles, 1 - singles, choice, rounds, int(levels), levels)


@dataclass(frozen=True)
class Triples:
    """The share of triples, and how many it pays for."""

    share: float
    rounds: int


def for_triples(count: float, triples: int, budget: Noise) -> Triples:
    """As many triples as bear two levels per axis, or none.

    >>> for_triples(39_073, 455, Noise("gaussian", 4.22)), for_triples(1_000, 455, Noise("gaussian", 4.22))
    (Triples(share=0.04, rounds=2), Triples(share=0.0, rounds=0))
    """
    for rounds in range(min(MOST_TRIPLES, triples), 0, -1):
        deviation = budget.deviation_at(TRIPLES_SHARE / rounds * float(1 - CHOOSING_TRIPLES))
        if cells_of_triples(count, deviation) >= 8:
            return Triples(TRIPLES_SHARE, rounds)
    return Triples(0.0, 0)


def cells_of_triples(count: float, deviation: float) -> float:
    """How many cells of a triple bear such noise: E|noise| of all of them is √(2/π) · deviation · cells."""
    return SEEN * max(count, 0.0) / (math.sqrt(2 / math.pi) * max(deviation, 1e-12))


def spending(share: float, most: float) -> int:
    """How many views it takes to spend a share, if none may have more than one part in `most` of the whole."""
    return math.ceil(share * most)


def _bearable(count: float, views: int, share: float, budget: Noise) -> float:
    """m* = √(N/s), where the views have equal parts of the share."""
    return math.sqrt(max(count, 0.0) / budget.deviation_at(share / views))


def _rounds(share: float, each: float, pairs: int, columns: int) -> int:
    """How many pairs a share pays for."""
    return min(int(share / each), pairs, ROUNDS_PER_COLUMN * columns)


def _fine(count: float, budget: Noise, cells: float) -> float:
    """The share with which a pair bears so many cells: m*² = N/s = `cells`, s being the noise at that share."""
    return budget.deviation_at(1.0) * cells / max(count, 1e-9)
