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
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scumble.views.evidence import Evidence, simplex
from scumble.views.mixture import Mixture, together

Singles = npt.NDArray[np.float32]

COMPONENTS = 50
MOST_COMPONENTS = 400
FITS = 8
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
    """One fit on its way: logarithms of w and A, and Adam's moments of their gradients."""

    def __init__(self, targets: Targets, components: int, generator: np.random.Generator) -> None:
        self._targets = targets
        self._sizes = np.diff(np.append(targets.starts, len(targets.singles)))
        usual = np.log(np.maximum(targets.singles, 1e-4))
        self.logs = np.empty((components, len(usual) + 1), np.float32)
        paired = targets.pair_precision.any(axis=1)
        self.logs[:, :-1] = usual + SPREAD * paired * generator.standard_normal((components, len(usual)))
        self.logs[:, -1] = 0.0
        self._first = np.zeros_like(self.logs)
        self._second = np.zeros_like(self.logs)
        self._steps = 0

    def distribution(self) -> tuple[Singles, Singles]:
        """w and the stack A."""
        weights = np.exp(self.logs[:, -1] - self.logs[:, -1].max())
        stack = np.exp(self.logs[:, :-1])
        stack /= np.repeat(np.add.reduceat(stack, self._targets.starts, axis=1), self._sizes, axis=1)
        return weights / weights.sum(), stack

    def gradient(self) -> tuple[float, Singles]:
        """χ² per cell and its gradient in the logarithms."""
        targets = self._targets
        weights, stack = self.distribution()
        weighed = stack * weights[:, None]
        off_pairs = stack.T @ weighed - targets.pairs
        off_singles = weights @ stack - targets.singles
        pull = targets.pair_precision * off_pairs  # half of the gradient in each table, which holds every pair twice
        pull_singles = targets.single_precision * off_singles
        chi = 0.5 * float(np.vdot(pull, off_pairs)) + float(np.vdot(pull_singles, off_singles))
        by_pairs = stack @ pull
        slope = (2 * (by_pairs + pull_singles)) * weighed  # A · ∂/∂A
        by_weight = np.einsum("ks,ks->k", by_pairs + 2 * pull_singles, stack)  # ∂/∂w
        gradient = np.empty_like(self.logs)
        within = np.add.reduceat(slope, targets.starts, axis=1)
        gradient[:, :-1] = slope - stack * np.repeat(within, self._sizes, axis=1)
        gradient[:, -1] = weights * (by_weight - weights @ by_weight)
        gradient /= targets.cells
        return chi / targets.cells, gradient

    def step(self, rate: float) -> float:
        """One step of Adam; χ² per cell before it."""
        chi, gradient = self.gradient()
        self._steps += 1
        self._first += 0.1 * (gradient - self._first)
        self._second += 0.01 * (gradient * gradient - self._second)
        first, second = 1 - 0.9**self._steps, 1 - 0.99**self._steps
        self.logs -= (rate / first) * self._first / (np.sqrt(self._second / second) + 1e-12)
        np.clip(self.logs, -30.0, 30.0, out=self.logs)
        return chi


def descend(
    targets: Targets, components: int, generator: np.random.Generator, *, goal: float = GOAL
) -> tuple[Descent, float]:
    """One fit: step until χ² per cell reaches the goal, or the steps are used up; the χ² reached."""
    fit = Descent(targets, components, generator)
    chi = np.inf
    for number in range(STEPS):
        chi = fit.step(RATE * min(1.0, 2.2 - 2 * number / STEPS))  # smaller steps at the end
        if chi <= goal or (number == STEPS // 2 and chi > NEAR * goal):
            break
    return fit, chi


def fitted(
    evidence: Evidence,
    seed: int,
    *,
    fits: int = FITS,
    components: int = COMPONENTS,
    most: int = MOST_COMPONENTS,
    goal: float = GOAL,
) -> Mixture:
    """The mean of several fits, over all levels of all columns.

    Small products are not worth a second thread: call this within `one_thread`, where BLAS has several.

    Parameters
    ----------
    evidence : Evidence
        The noisy views.
    seed : int
        Where starts are derived from: a number that the release fixes.
    fits : int
        How many fits.
    components, most : int
        Components of each, to begin with and at most.
    goal : float
        The χ² per cell to stop at.

    Returns
    -------
    Mixture
        Its columns have all levels: those of a group have the shares that the single column shows.
    """
    targets = Targets.of(evidence)
    if not targets.pair_precision.any():  # nothing ties columns together
        return Mixture(
            np.ones(1),
            tuple(simplex(evidence.single(j).counts / evidence.count)[None] for j in range(len(evidence.columns))),
        )
    parts = []
    size = components
    for number in range(fits):
        while True:
            fit, chi = descend(targets, size, np.random.default_rng([seed, number, size]), goal=goal)
            if chi <= goal or size >= most:
                break
            size = min(2 * size, most)
        parts.append(_refined(fit, evidence))
    return together(parts)


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, BLAS uses one thread: for small products a second one costs more than it brings."""
    from threadpoolctl import threadpool_limits

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
