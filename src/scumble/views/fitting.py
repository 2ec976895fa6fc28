"""A mixture of products that agrees with all noisy views.

**What is least.** χ² = Σ over cells of (n p(cell) − noisy count)² / variance. The stack A of all columns' tables (K ×
all groups) gives every pair at once: their tables are the blocks of Aᵀ diag(w) A, one matrix product, and the gradient
is another. Adam (Kingma & Ba 2015) goes downhill in the logarithms of w and A.

**Where to stop.** At the truth χ² is one per cell on average. A fit that is closer than that has begun to learn the
noise, so it ends when χ² per cell reaches one. If it does not come there, K is too small and is doubled. Fits from
different starts err differently: the mean of four is better than each.

Starts are derived from a seed: the same evidence and seed give the same mixture, on the same machine to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scumble.views.coarsening import coarser
from scumble.views.descent import descent, slope
from scumble.views.evidence import Evidence, simplex
from scumble.views.mixture import Mixture, together

Singles = npt.NDArray[np.float32]

COMPONENTS = 50
MOST_COMPONENTS = 400
FITS = 8
WIDE = 400
"""Groups of all columns together: from there on, a step takes a time that grows with their square."""
MANY = 200
"""Components of a table with much to fit: half of the fits are then as good as all were of fewer."""
THREADS = 2
STEPS = 400
NEAR = 1.25
"""Who is not this near to the goal after half of the steps will not reach it."""
GOAL = 0.94
RATE = 0.2
SPREAD = 0.5
"""Standard deviation of the starting logarithms, in columns of which pairs were measured; others start independent."""


@dataclass(frozen=True)
class Targets:
    """The evidence as matrices over all groups of all columns.

    Attributes
    ----------
    starts : ndarray of int
        Where each column's groups begin in the stack.
    pairs, pair_precision : ndarray of float32
        (S, S): noisy shares and inverse variances, symmetric; precision 0 where nothing was measured.
    singles, single_precision : ndarray of float32
        (S,): the same of the columns alone.
    cells : int
        How many cells were measured.
    """

    starts: npt.NDArray[np.int64]
    pairs: Singles
    pair_precision: Singles
    singles: Singles
    single_precision: Singles
    cells: int

    @classmethod
    def of(cls, evidence: Evidence) -> Targets:
        """Shares of the number of records, and the inverse variances of those."""
        ends = np.cumsum(evidence.sizes, dtype=np.int64)
        starts = ends - np.array(evidence.sizes)
        total, count = int(ends[-1]), evidence.count
        pairs, pair_precision = np.zeros((2, total, total))
        singles, single_precision = np.zeros((2, total))
        cells = 0
        for view in evidence.views:
            variance = max(view.variance, 1e-6) / count**2
            if len(view.columns) == 1:
                (j,) = view.columns
                at = slice(starts[j], ends[j])
                singles[at] = np.bincount(evidence.groups[j], view.counts) / count
                single_precision[at] = 1 / (variance * np.bincount(evidence.groups[j]))
                cells += evidence.sizes[j]
            elif len(view.columns) == 2:
                one, two = (slice(starts[c], ends[c]) for c in view.columns)
                pairs[one, two], pairs[two, one] = view.counts / count, view.counts.T / count
                pair_precision[one, two] = pair_precision[two, one] = 1 / variance
                cells += view.counts.size
        y, p, y1, p1 = (x.astype(np.float32) for x in (pairs, pair_precision, singles, single_precision))
        return cls(starts, y, p, y1, p1, cells)


class Descent:
    """One fit on its way: logarithms of w and A."""

    def __init__(self, targets: Targets, components: int, generator: np.random.Generator) -> None:
        self._targets = targets
        self._sizes = np.diff(np.append(targets.starts, len(targets.singles)))
        usual = np.log(np.maximum(targets.singles, 1e-4))
        self.logs = np.empty((components, len(usual) + 1), np.float32)
        paired = targets.pair_precision.any(axis=1)
        self.logs[:, :-1] = usual + SPREAD * paired * generator.standard_normal((components, len(usual)))
        self.logs[:, -1] = 0.0

    def distribution(self) -> tuple[Singles, Singles]:
        """w and the stack A."""
        weights = np.exp(self.logs[:, -1] - self.logs[:, -1].max())
        stack = np.exp(self.logs[:, :-1])
        stack /= np.repeat(np.add.reduceat(stack, self._targets.starts, axis=1), self._sizes, axis=1)
        return weights / weights.sum(), stack

    def gradient(self) -> tuple[float, Singles]:
        """χ² per cell and its gradient in the logarithms."""
        gradient = np.empty_like(self.logs)
        chi = slope(*self._given, self.logs, gradient)
        return float(chi), gradient

    def descend(self, goal: float) -> float:
        """Step until χ² per cell reaches the goal, or the steps are used up; the χ² reached."""
        return float(descent(*self._given, self.logs, goal, STEPS, RATE, NEAR))

    @property
    def _given(self) -> tuple[Any, ...]:
        t = self._targets
        return t.starts, t.pairs, t.pair_precision, t.singles, t.single_precision, t.cells


def descend(
    targets: Targets, components: int, generator: np.random.Generator, *, goal: float = GOAL
) -> tuple[Descent, float]:
    """One fit: step until χ² per cell reaches the goal, or the steps are used up; the χ² reached."""
    fit = Descent(targets, components, generator)
    return fit, fit.descend(goal)


def fitted(
    evidence: Evidence,
    seed: int,
    *,
    fits: int | None = None,
    components: int = COMPONENTS,
    most: int = MOST_COMPONENTS,
    goal: float = GOAL,
) -> Mixture:
    """The mean of several fits, over all levels of all columns; see `several`."""
    return together(several(evidence, seed, fits=fits, components=components, most=most, goal=goal))


def several(
    evidence: Evidence,
    seed: int,
    *,
    fits: int | None = None,
    components: int = COMPONENTS,
    most: int = MOST_COMPONENTS,
    goal: float = GOAL,
) -> list[Mixture]:
    """Fits from different starts, the first by itself and the others on all cores.

    Small products are not worth a second thread: call this within `one_thread`, where BLAS has several.

    Parameters
    ----------
    evidence : Evidence
        The noisy views.
    seed : int
        Where starts are derived from: a number that the release fixes.
    fits : int, optional
        How many fits; by default FITS, and fewer for wide tables.
    components, most : int
        Components of each, to begin with and at most.
    goal : float
        The χ² per cell to stop at.

    Returns
    -------
    list of Mixture
        Their columns have all levels: those of a group have the shares that the single column shows.
    """
    evidence = coarser(evidence)
    targets = Targets.of(evidence)
    if not targets.pair_precision.any():  # nothing ties columns together
        alone = [simplex(evidence.single(j).counts / evidence.count)[None] for j in range(len(evidence.columns))]
        return [Mixture(np.ones(1), tuple(alone))]

    def fit(number: int, size: int) -> Descent:
        while True:
            found, chi = descend(targets, size, np.random.default_rng([seed, number, size]), goal=goal)
            if chi <= goal or size >= most:
                return found
            size = min(2 * size, most)

    first = fit(0, components)
    number = fits_for(len(targets.singles), len(first.logs)) if fits is None else fits
    with ThreadPoolExecutor(THREADS) as pool:
        others = list(pool.map(lambda k: fit(k, len(first.logs)), range(1, number)))
    return [_refined(found, evidence) for found in (first, *others)]


def fits_for(groups: int, components: int = COMPONENTS) -> int:
    """How many fits a table of so many groups gets: all together, they should not take minutes."""
    most = FITS if components < MANY else FITS // 2
    return min(most, FITS if groups <= WIDE else max(2, FITS * WIDE // groups))


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, BLAS uses one thread: for small products a second one costs more than it brings."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:  # who has NumPy alone waits a little longer
        yield
        return
    with threadpool_limits(1, "blas"):
        yield


def _refined(fit: Descent, evidence: Evidence) -> Mixture:
    """Groups divided into their levels, by the shares that the single columns show.

    They are the same in all components. (Lines drawn from run to run instead of steps were tried, and were no better.)
    """
    weights, stack = fit.distribution()
    tables = np.split(stack.astype(float), np.cumsum(evidence.sizes)[:-1], axis=1)
    columns = [
        table[:, group] * shape for table, group, shape in zip(tables, evidence.groups, evidence.shapes, strict=True)
    ]
    return Mixture(weights.astype(float), tuple(columns))
