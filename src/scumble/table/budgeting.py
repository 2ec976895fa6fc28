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

**Which pairs.** With ε alone, the noise of a pair grows with their number, so a few pairs with `prior.LEVELS` per axis
are more informative than all pairs measured coarsely: as many are chosen as bear that many, and no more than there are
draws. Where columns have fewer levels, a chosen pair is taken to have the geometric mean of LEVELS² cells and its own,
or its own where as many would not join all columns. No view gets more than the claim was made for (`AdaptiveBudget`);
what a wide table leaves over goes to more pairs. Gaussian noise grows with the square root of the number only: all
pairs are measured as long as they bear two levels per axis. If pairs bear next to nothing, single columns get the whole
budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from scumble.table.prior import CHOOSING, DRAWS, EXTRA, LEVELS, SINGLES

Law = Literal["laplace", "gaussian"]
Choice = Literal["all pairs", "adaptive", "singles"]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """What all views together may spend, as the scale of the noise that one view alone would need: b = 1/ε, or σ at
    sensitivity 1."""

    law: Law
    scale: float

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
    """How a table's budget is spent, decided from public and noisy numbers only: the shares of single columns, of
    pairs with the cost of choosing them, and of triples; how many pairs and triples are measured at most (`rounds`,
    `triple_rounds`); and the most levels an axis has in a pair, after m* (`bearable`)."""

    singles: float
    pairs: float
    choice: Choice
    rounds: int
    levels: int
    bearable: float
    triples: float = 0.0
    triple_rounds: int = 0


def plan(count: float, columns: int, budget: Noise, most: float = 1, cells: float = LEVELS**2) -> Plan:
    """Decide the views of a table of about `count` records.

    No view may have more than one part in `most` of the budget. A pair has `cells` in the mean, no column having more
    than LEVELS levels.

    >>> plan(39_073, 15, Noise("gaussian", 4.22)).choice
    'all pairs'
    >>> plan(39_073, 15, Noise("laplace", 10.0)).choice             # ε = 0.1
    'adaptive'
    """
    rounds = pairs = columns * (columns - 1) // 2
    choice: Choice = "all pairs"
    if budget.law == "laplace" and (1 - SINGLES[choice]) / _fine(count, budget, LEVELS**2) < pairs:
        choice = "adaptive"
        rounds = int((1 - SINGLES[choice]) / _fine(count, budget, LEVELS * math.sqrt(cells)))
        if rounds < columns - 1:  # too few to join all columns
            rounds = int((1 - SINGLES[choice]) / _fine(count, budget, cells))
        if rounds:
            rounds = min(max(min(rounds, DRAWS), math.ceil((1 - SINGLES[choice]) * most)), pairs)
    share = 1 - SINGLES[choice]
    levels = math.sqrt(max(count, 0.0) / budget.deviation_at(share / rounds)) if rounds else 0.0
    if levels < 2:
        return Plan(1.0, 0.0, "singles", 0, 0, levels)
    return Plan(1 - share, share, choice, rounds, int(levels), levels)


def for_triples(count: float, triples: int, budget: Noise) -> tuple[float, int]:
    """The share of triples, and how many are chosen: one or two, as each makes fits slower, or none if they do not bear
    two levels per axis.

    >>> for_triples(39_073, 455, Noise("gaussian", 4.22)), for_triples(1_000, 455, Noise("gaussian", 4.22))
    ((0.03125, 2), (0.0, 0))
    """
    for rounds in range(min(2, triples), 0, -1):
        if cells_of_triples(count, budget.deviation_at(float(EXTRA * (1 - CHOOSING)) / rounds)) >= 8:
            return float(EXTRA), rounds
    return 0.0, 0


def cells_of_triples(count: float, deviation: float) -> float:
    """How many cells a triple gets: √(N/s), so that all their noise, some s · cells, is small next to the records, as
    what a triple may show beyond pairs must show to be worth its share."""
    return math.sqrt(max(count, 0.0) / max(deviation, 1e-12))


def _fine(count: float, budget: Noise, cells: float) -> float:
    """The share with which a pair bears so many cells: m*² = N/s = `cells`, s being the noise at that share."""
    return budget.deviation_at(1.0) * cells / max(count, 1e-9)
