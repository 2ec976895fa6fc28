"""How far the model is off in the cells of a measured pair.

Each rehearsal tells it for every cell, so for any question that the pair's groups tell: the model's counts less the
true ones, weighed and summed. Such a question's own square scatters, and a law of the view's own smooths it. Beside the
noise of a view's cells all its questions err alike: with s the deviation of that noise in a question, p the records
that it may miss (its own, or all others if these are fewer) and c how many cells it has,

    log E[error²]/s² = β₀ + β₁ log(p/s + 0.3) + β₂ log²(p/s + 0.3) + β₃ log c,

fitted to single cells and to random blocks of them; below a sixth of s an error is as good as none (`LITTLE`), or the
many cells that are surely empty would bend the law. The variance is the mean of the own square, of this law's value,
and of the larger of this law's and that of the whole table (`intervals`), which knows shares and no cells.

**Why a law for each view.** The law of the whole table is that of random questions about one to four columns, and the
same below 0.3 % of the records: of most cells. With the views' own, 17,131 of 17,893 intervals of measured cells with
20 records or more held, where 16,964 had (18 releases of eight tables that this was chosen on), and 4,815 of 5,040,
where 4,790 had (eight releases of four others, which only `LITTLE` was chosen on). Root mean square errors of cells are
1.5 and 3 % less, as cells and model are weighed more justly, and intervals 1 % narrower.

**What rehearsals have lost.** A rehearsal's world was fitted to noisy counts, and where noise hides a tie that world
has none: of two booleans that exclude each other, or of a word that all but determines another, rehearsals then tell
that a model without the tie is hardly off. But the view itself shows more. The interaction of its cells (`interaction`)
is farther from the model than it was in rehearsals, and the mean square of that distance is larger by just what the
model is off more. So the view's errors are raised by it, as far as it is positive (`lost`): by chance a little in half
of all views, by much where a tie was lost.

It was chosen, with the reading of `interaction` and `USUAL` of `intervals`, on six tables (Adult, and five made, at
ε = 0.3, 1 and 3). On four others, drawn anew from the laws of those, 451 of 484 intervals of tied booleans held, and
2,487 of 2,656 of booleans without ties; 449 and 2,576 did when all pairs of up to eight cells had half of the vote by a
rule, with intervals 1.6 and 1.7 times as wide, and root mean square errors of 83 and 60 instead of 49 and 45. Of cells
with 20 to 500 records of a species and what hangs together with it 4,669 of 4,997 held, and 4,578 before, at the same
width; of Adult's measured cells 3,875 of 3,994, and 3,888, 6 % narrower, with errors of 65 instead of 72.

**What cells and model share.** The same noise is in both, and the closer the model follows the cells, the less the mean
of the two is surer than either. Of errors of deviations s, t and correlation ρ the square of the distance is
s² + t² − 2ρst. In the interaction all but ρ is known: s exactly, t by rehearsals, the distance by the view (`shared`).
Where a view has few cells the model nearly is the view, and ρ is 0.9 and more. Answers are weighed as if it were a
half; their variance is that of ρ, if it is more. Of cells of three made tables of words (four releases of each at ε = 1
and 3) 2,947 of 3,104 intervals held, where 2,915 had when ρ was a half always, at 1.05 times the width; of counts and
means within words of the list in which it was found (16 releases at ε = 1 and 3) 1,087 of 1,152, and 1,060, at 1.13.

**What was tried beside it, and left out.** A mixture for each cell, of a model that is off as usual and, in one cell of
a hundred, by three deviations of the noise more, given the cell's own count. Fitted to each release, its chance was
nought in most: a misfit is seldom larger than noise is now and then. With that chance fixed, cells whose own count was
far from the model were covered better (535 of 588, and 522 without), but blocks of cells erred more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scumble.views.evidence import Evidence, View
from scumble.views.interaction import interaction
from scumble.views.mixture import Mixture
from scumble.views.rehearsal import Rehearsal, in_groups
from scumble.views.smoothing import gamma_regression, mean_squares

Floats = npt.NDArray[np.float64]

CELLS, BLOCKS = 300, 150
"""Questions that the law of a view is fitted to."""
NEAR_NONE, LITTLE = 0.3, 0.03
LEAST = 1e-12
"""A variance to divide by, where there is none."""


@dataclass(frozen=True)
class Misfit:
    """Errors of the model in the cells of a view.

    Parameters
    ----------
    errors : ndarray of float
        (rehearsals, groups, groups): the model's counts less the true ones.
    noise : float
        The variance of a cell's noise.
    law : ndarray of float
        β of the view's law.
    shared : float
        The correlation of the model's errors with the noise of the cells.
    """

    errors: Floats
    noise: float
    law: Floats
    shared: float

    def off(self, cells: Floats) -> Floats:
        """By how many records a count of weighed cells is off, in each rehearsal."""
        return np.asarray(np.einsum("rgh,gh->r", self.errors, cells))

    def smoothed(self, cells: Floats, missed: float) -> float:
        """The law's squared error of a count of weighed cells that may miss so many records."""
        squares = float((cells**2).sum())
        if not squares > 0:
            return 0.0
        noise = max(self.noise, LEAST) * squares
        number = float(np.abs(cells).sum()) ** 2 / squares
        return noise * float(np.exp(_inputs(np.array([missed]), np.array([noise]), np.array([number]))[0] @ self.law))


def misfit_of(
    view: View, evidence: Evidence, fits: Sequence[Mixture], rehearsals: Sequence[Rehearsal], seed: int
) -> Misfit:
    """What rehearsals tell of a view's cells; `fits` are those that the model is the mean of."""
    one, two = view.columns
    pair = (one, two)
    errors = np.array([rehearsal.cell_errors(pair) for rehearsal in rehearsals])
    tables = np.array([in_groups(fit, evidence, pair) for fit in fits]) * evidence.count
    rows, across = _questions(view.counts.shape, np.random.default_rng([seed, CELLS, *pair]))
    off, told = (np.einsum("qg,rgh,qh->rq", rows, tables, across, optimize=True) for tables in (errors, tables))
    between = told.var(axis=0, ddof=1) if len(told) > 1 else np.zeros(len(rows))
    number = rows.sum(axis=1) * across.sum(axis=1)
    noise = max(view.variance, LEAST) * number
    records = told.mean(axis=0)
    inputs = _inputs(np.minimum(records, evidence.count - records), noise, number)
    law = gamma_regression(inputs, np.maximum(mean_squares(off, between, len(told)) / noise, LITTLE))
    usual = max(view.variance, LEAST) * float(np.exp(inputs[number == 1] @ law).mean())
    rehearsed = [rehearsal.residuals(pair) for rehearsal in rehearsals]
    wider = 1.0 + lost(view.counts - tables.mean(axis=0), rehearsed) / usual
    errors, law = errors * np.sqrt(wider), law + np.log(wider) * (np.arange(len(law)) == 0)
    return Misfit(errors, view.variance, law, shared(view, tables, errors))


def lost(residuals: Floats, rehearsed: Sequence[Floats]) -> float:
    """By how much the mean square misfit of a cell is larger than rehearsals tell, as the interaction shows it.

    Parameters
    ----------
    residuals : ndarray of float
        The view's noisy cells less the model's.
    rehearsed : sequence of ndarray of float
        The same in each rehearsal.

    >>> tie = np.array([[3.0, -3.0], [-3.0, 3.0]])
    >>> lost(tie + 50.0, [tie / 3]), lost(tie / 3, [tie])
    (8.0, 0.0)
    """
    squares = [float((interaction(one) ** 2).mean()) for one in (residuals, *rehearsed)]
    return max(squares[0] - float(np.mean(squares[1:])), 0.0)


def shared(view: View, fits: Floats, errors: Floats) -> float:
    """The correlation of the cells' noise and the model's errors, as far as cells and model are apart.

    Parameters
    ----------
    view : View
        The noisy cells.
    fits : ndarray of float
        The cells of each of the fits that the model is the mean of.
    errors : ndarray of float
        The model's cells less the true ones, in each rehearsal.

    >>> tie = np.array([[3.0, -3.0], [-3.0, 3.0]])
    >>> [shared(View((0, 1), far * tie, 36.0), 0 * tie[None], tie[None]) for far in (0, 1, 2)]
    [1.0, 0.5, -1.0]
    """
    apart, off, each = (
        np.array([interaction(one).ravel() for one in cells]) for cells in ([view.counts - fits.mean(0)], errors, fits)
    )
    noise = view.variance * float(np.prod([1 - 1 / size for size in view.counts.shape]))
    between = each.var(axis=0, ddof=1) if len(each) > 1 else np.zeros(each.shape[1])
    square = float(mean_squares(off, between, len(each)).mean())
    size = 2 * np.sqrt(noise * square)
    return float(np.clip((noise + square - (apart**2).mean()) / size, -1.0, 1.0)) if size > 0 else 0.0


def _inputs(missed: Floats, noise: Floats, number: Floats) -> Floats:
    """What the law is linear in."""
    size = np.log(np.maximum(missed, 0.0) / np.sqrt(noise) + NEAR_NONE)
    return np.stack([np.ones_like(size), size, size**2, np.log(number)], axis=1)


def _questions(shape: tuple[int, ...], generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Single cells, and blocks of random rows and columns: for each the weights of all rows, and of all columns."""
    cells = generator.permutation(shape[0] * shape[1])[:CELLS]
    chosen = []
    for size, single in zip(shape, np.unravel_index(cells, shape), strict=True):
        blocks = generator.random((BLOCKS, size)) < generator.random((BLOCKS, 1))
        blocks[np.arange(BLOCKS), generator.integers(size, size=BLOCKS)] = True
        chosen.append(np.concatenate([np.eye(size)[single], blocks.astype(float)]))
    return chosen[0], chosen[1]
