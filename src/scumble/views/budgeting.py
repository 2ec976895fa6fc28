"""How much of the budget each view gets, and how many levels an axis can bear.

**Shares.** A record adds one to one cell of every view, so views share one budget. With Laplace noise of scale b_r on
view r the release costs Σ 1/b_r = ε; with Gaussian noise, Σ 1/σ_r² = 1/σ², where σ is what one view alone would need.
A view that gets the share t_r of it has b_r = 1/(t_r ε), or σ_r = σ/√t_r, and Σ t_r = 1.

The summed squared error of a view of c cells is 2c·b_r² or c·σ_r². So the least sum over all views is

- Laplace: minimise Σ c_r/t_r². Lagrange: c_r/t_r³ is the same for all r, hence t_r ∝ c_r^⅓;
- Gaussian: minimise Σ c_r/t_r. Lagrange: c_r/t_r² is the same for all r, hence t_r ∝ c_r^½.

(The least summed *absolute* error would give c_r^½ and c_r^⅔. It is the better rule for views that are read one by one;
a model of all views draws more from the sharp ones. Adult, four releases each, ε = 1: random conjunctions of at least
0.1 % err by 8.7 % with exponent ½ and 8.1 % with ¼ for Laplace noise, 4.3 % with ⅔ and 4.2 % with ½ for Gaussian.)

**Levels.** A pair of axes with m levels each has m² cells of N/m² records on average. Where that falls below the
deviation s of a cell's noise, a finer table shows noise alone; hence at most m* = √(N/s) levels an axis, s taken at
equal shares of all pairs. Rarer levels are pooled (`grouping`).

**Which pairs.** With ε alone the noise of a pair grows with their number, and a few well chosen pairs, each with
FINE levels an axis, tell more than all of them would coarsely: as many are chosen as bear that, up to two for each
column. If that is all of them, nothing needs to be chosen. Where columns have fewer levels, a chosen pair is reckoned
with the geometric mean of FINE² cells and its own: with FINE² too few were chosen, with its own too many where nothing
hangs together. (Counts of two columns, ε = 0.3, four releases each, FINE² and the mean, root mean square error and
half-width: olympiads in mathematics 7 and 10 pairs, 2.9 and 2.2 %, 3.7 and 3.2 %; twelve columns of up to 8 levels in a
chain 6 and 24, 2.7 and 1.1 %, 4.6 and 2.7 %; such that do not hang together 6 and 24, 0.3 and 0.6 %, 3.4 and 2.3 %.
Where all pairs are measured as soon as they bear that, single columns have less, and err by up to twice as much: Adult,
ε = 1.) If it is next to none, pairs may still bear all the levels that their columns have, which may be few; only if
that is next to none, too, do single columns have everything.
No view may have more than the claim was made for (`privacy.purse`), which in a wide table is less than a few pairs
would take: then more pairs are chosen, less finely, until the budget is spent. (31 to 40 columns, four tables, three or
four releases each, ε = 1: with what was left over before, the error of pairs fell by 2 to 9 %.)
Gaussian noise grows with the square root of the number only: there all pairs are best until m* is 3, and below no pair
is. The constants were chosen on Adult, COMPAS, bank marketing, credit default, diamonds, SmokeBan and synthetic tables.
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
        sizes = np.asarray(cells, float) ** (1 / 3 if self.law == "laplace" else 1 / 2)
        return np.asarray(total * sizes / sizes.sum())


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
    """

    singles: float
    pairs: float
    choice: Choice
    rounds: int
    levels: int
    bearable: float


def plan(count: float, columns: int, budget: Noise, most: int = 1, cells: float = FINE**2) -> Plan:
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


def spending(share: float, most: int) -> int:
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
