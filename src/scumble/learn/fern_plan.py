"""What ferns look at: how finely columns are cut, and which columns, both settled before the ferns count anything.

**Counts first.** A small share of ε pays for the classes' noisy counts. All else here is planned with them and with
public facts, so it costs nothing more: cells must hold enough records of a class to be seen through the noise, and
that hangs on ε times the records of a class.

**Columns.** Of a wide table most columns may be idle, and rows that look at four at random then know nothing. So the
columns that tell classes apart best are chosen, one after the other, each the best of those that are left by
:func:`scumble.releasing.selection.noisy_best`. A column's score is the number of records that its histogram alone would
put right if the most frequent class of each cell c were guessed, with records of common classes counting less,

    score = Σ_cells max_c w_c n_c,      w_c ≤ 1 about inversely proportional to the class's noisy count:

for two classes, up to a constant and a factor, Σ_cells |n_c − π_c n|. *Claim.* Choosing k of the columns with ε/k each
is ε-private. *Proof.* The weights are functions of what was published before. A record raises one count n_c by one,
hence one cell's term by 0 to w_c, hence the score by 0 to 1: monotone, of sensitivity 1 (times the whole number ``ONE``
in which weights are told, and times the records of a person). Each choice is ε/k-private by the proof of `noisy_best`,
whatever was chosen before; k of them add up to ε. ∎

The choice is a second pass over the records, which `fit` has in memory.

**When.** By public facts: with δ = 0 (with a δ there are twice as many rows, and more of them find a column that is
not idle), two classes, from twice as many columns as are kept, and from ε times the records of
20,000 upwards, where their number is public; where it is not, as if there were 10,000. Many classes differ in many
columns; and with fewer records the choice is noise, which costs more than idle columns do where few are idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from scumble.kernels import ColumnKernel, Kernel
from scumble.learn.columns import Bounds
from scumble.releasing.selection import noisy_best

COUNTS = ColumnKernel(1.0, origin=0.0)
"""The sketch of a class's count: one counter."""
PLANNING_SHARE, CHOICE_SHARE = Fraction(1, 50), Fraction(3, 20)
"""Parts of ε for the counts and, where it pays, for the choice of columns."""
TOGETHER = 4
"""Columns that a row looks at together."""
KEPT = 16
"""Columns that are chosen, at most."""
CELLS = 5
"""Into so many cells columns are cut to be judged."""
ONE = 1 << 16
"""A weight of one."""
RAREST = 1 / 50
"""Classes that are rarer do not weigh more: an absent one would leave no weight to the others."""
ENOUGH = 10_000
"""More records were not seen to ask for finer cells; and so many are assumed where nobody knows."""
LEAST = 2 * ENOUGH
"""ε times records, at least, for a choice to be made."""


def pays(width: int, classes: int, epsilon: Fraction, records: int) -> bool:
    """Whether a choice of columns is worth its price, as far as public facts tell."""
    return classes == 2 and width >= 2 * KEPT and epsilon * records >= LEAST


def steps(epsilon: float, counts: np.ndarray) -> int:
    """Into how many steps columns are cut: 5 with 5,000 records a class at ε = 1, two fewer with a tenth of it."""
    each = min(float(counts.sum()), ENOUGH) / len(counts)
    return int(np.clip(np.round(5.0 + 2.0 * np.log10(epsilon * each / (ENOUGH / 2))), 2, 7))


def ferns_kernel(bounds: Bounds, epsilon: float, counts: np.ndarray, columns: Sequence[int] | None = None) -> Kernel:
    """Rows of four columns together, of these columns or of all."""
    places = slice(None) if columns is None else list(columns)
    low, high = (side[places] for side in bounds)
    return ColumnKernel(
        1.0 / steps(epsilon, counts), TOGETHER, scale=(high - low).tolist(), origin=low.tolist(), columns=columns
    )


def choose_columns(
    parts: Sequence[np.ndarray], bounds: Bounds, counts: np.ndarray, *, epsilon: Fraction, records_per_person: int
) -> list[int]:
    """Half of the columns, and `KEPT` at most: those that tell the classes apart best, chosen ε-privately."""
    low, high = bounds
    weights, scores = _weights(counts), []
    for j in range(len(low)):
        cells = [np.minimum((part[:, j] - low[j]) / (high[j] - low[j]) * CELLS, CELLS - 1) for part in parts]
        seen = np.stack([np.bincount(one.astype(np.int64), minlength=CELLS) for one in cells])
        scores.append(int((weights[:, None] * seen).max(axis=0).sum()))
    left, chosen = list(range(len(low))), []
    kept = min(KEPT, (len(low) + 1) // 2)
    for _ in range(kept):
        best = noisy_best(
            [scores[j] for j in left], epsilon / kept, sensitivity=ONE * records_per_person, monotone=True
        )
        chosen.append(left.pop(best))
    return sorted(chosen)


def _weights(counts: np.ndarray) -> np.ndarray:
    """Whole numbers, `ONE` for the rarest class."""
    rarest = max(float(counts.min()), RAREST * float(counts.sum()))
    return np.maximum(np.round(ONE * np.minimum(rarest / counts, 1.0)), 1.0).astype(np.int64)
