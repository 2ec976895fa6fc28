"""One pair of columns beside the curves: which, chosen privately, and a table of what the curves leave over there.

A sum of curves cannot know that rain matters on working days only. So when the curves have been found, one pair of
columns is chosen, and the mean of what is left over is released for each cell of the two, a cell being the records that
are nearest to one knot of either column.

**The choice.** What is left over of a record, y − f(x), is clipped to a quarter of the target's range on either side,
and told as a whole number t from −B to B. The score of a pair is

    Σ over its cells of | Σ t over the records in the cell |,

and :func:`scumble.releasing.selection.noisy_best` names the best. *Claim.* One record moves a score by at most B, a
replaced one by at most 2B. *Proof.* The curves and the knots are released by then, and cell and t of a record are
functions of them and of that record, made by comparisons and by floating-point operations number by number in one
order. An added or removed record moves the sum of one cell by |t| ≤ B, a replaced one is removed and added. ∎

**The table** is a row of :class:`scumble.moments.hats.HatMoments`, of one column, the number of the cell, whose knots
are these numbers: it holds how many records each cell has, and their Σ t. The means are shrunk by the share of their
variance that is noise (James & Stein 1961), all of them to nothing if noise explains all of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np

from scumble.moments.fixed import Floats, Integers, steps
from scumble.moments.hats import TARGET_PARTS, HatMoments
from scumble.moments.release import MomentRelease
from scumble.moments.spec import Span
from scumble.privacy.budget import Budget
from scumble.privacy.exact import as_fraction
from scumble.releasing.selection import noisy_best

CHOICE_SHARE, TABLE_SHARE = Fraction(1, 20), Fraction(3, 20)
"""Parts of the budget for the choice, and for the table."""
KNOTS = 6
"""Cells of a column, at most."""
LEFT_OVER = 0.5
"""What counts of what is left over, at most, as a part of half the target's range."""
SPREAD = 0.4
"""Its usual standard deviation, as a part of that: records of a cell differ."""
LEAST, MOST_COLUMNS = Fraction(1, 10), 64
"""From which ε on, and up to how many columns, a pair is looked for."""


class Pair(NamedTuple):
    """Two columns, the knots whose nearest records are a cell, and what each cell adds to the target."""

    columns: tuple[int, int]
    knots: tuple[Floats, Floats]
    effects: Floats

    def __call__(self, X: Floats) -> Floats:
        """(n,) what the pair adds."""
        found: Floats = self.effects[
            tuple(cells(X[:, j], knots) for j, knots in zip(self.columns, self.knots, strict=True))
        ]
        return found


def pays(width: int, epsilon: Fraction) -> bool:
    """Whether a pair is worth its price, as far as public facts tell."""
    return 2 <= width <= MOST_COLUMNS and epsilon >= LEAST


def reach(target_bounds: Span) -> float:
    """How far what is left over counts."""
    low, high = target_bounds
    return LEFT_OVER * (high - low) / 2.0


def cells(values: Floats, knots: Floats) -> Integers:
    """The number of the knot that each value is nearest to: comparisons alone."""
    return np.searchsorted((knots[1:] + knots[:-1]) / 2.0, values, side="right")


def table_spec(size: int, pure: bool, target_bounds: Span) -> HatMoments:
    """A row of so many cells, for what is left over."""
    far = reach(target_bounds)
    return HatMoments(((0.0,), (size - 1.0,)), None, pure, (-far, far), (tuple(map(float, range(size))),))


def choice_epsilon(budget: Budget) -> Fraction:
    """What a choice may cost: a pure ε, of a budget in ρ the largest with ε²/2 ≤ ρ (Bun & Steinke 2016)."""
    if budget.rho is None:
        return as_fraction("epsilon", budget.epsilon)
    return Fraction(math.isqrt(math.floor(2 * as_fraction("rho", budget.rho) * 2**80)), 2**40)


def best_pair(
    codes: Integers, sizes: Sequence[int], left: Floats, far: float, *, epsilon: Fraction, moves: int
) -> tuple[int, int]:
    """The two columns whose cells show most of what is left over, chosen ε-privately.

    `codes` are the cells of each record in each column, (n, columns), and `moves` how many records come or go at most.
    """
    t = (2 * steps(left, -far, far, TARGET_PARTS) - TARGET_PARTS).astype(float)
    pairs, scores = list(combinations(range(len(sizes)), 2)), []
    for i, j in pairs:
        sums = np.bincount(codes[:, i] * sizes[j] + codes[:, j], t, sizes[i] * sizes[j])  # of whole numbers: exact
        scores.append(int(np.abs(sums).sum()))
    return pairs[noisy_best(scores, epsilon, sensitivity=TARGET_PARTS * moves)]


def effects(release: MomentRelease) -> Floats:
    """The mean of what is left over in each cell, as far as the noise lets it be believed."""
    spec = release.spec
    assert isinstance(spec, HatMoments)
    far, noise = spec.target_bounds[1], release.errors[1]
    low, high = release.rows[1].reshape(-1, 2)[: spec.sizes[0]].T
    records = np.maximum(low + high, noise)
    means = far * (high - low) / records
    variances = 2.0 * (far * noise / records) ** 2 + (SPREAD * far) ** 2 / records
    precision = 1.0 / variances**2
    signal = max(float(precision @ (means**2 - variances)) / float(precision.sum()), 0.0)
    found: Floats = np.clip(means * signal / (signal + variances), -far, far)
    return found
