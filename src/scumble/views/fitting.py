"""A mixture of products that agrees with all noisy views.

**What is least.** χ² = Σ over cells of (n p(cell) − noisy count)² / variance. The stack A of all columns' tables (all
groups × K) gives every pair at once: their tables are the blocks of A diag(w) Aᵀ, one matrix product, and the gradient
is another. Adam (Kingma & Ba 2015) goes downhill in the logarithms of w and A (`descent`).

**Where to stop.** At the truth χ² is one per cell on average. A fit that is closer than that has begun to learn the
noise, so where there is nothing else to learn it ends when χ² per cell reaches one (`NEARLY`): where columns that are
taken for independent are as near to the views as that, or nearly (`PLAIN`). Else it goes on (`GOAL`), as one is the
mean of all cells. Those that are simple are soon closer than their noise, and pay for a few that are far off yet: a
measure that was taken in some years alone makes those years unlike all others in every column it hangs on. Of years and
energy used (4 columns, ten releases each) 99 and 95 of 120 intervals in such years held at ε = 1 and 3 when all fits
ended at one, and 114 and 117 do, with errors of 15 and 11 records instead of 22 and 15. On twelve tables (ε = 0.3, 1
and 3) counts of measured pairs err as before, and counts of three columns whose pairs all were by 8 % less.

If it comes near one and no further, K is too small and is doubled. Where noise is small beside what there is to tell, a
fit takes all its steps and does not come near. Fits from different starts err differently: the mean of several is
better than each.

Starts are derived from a seed: the same evidence and seed give the same mixture, on the same machine to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from scumble.views.coarsening import coarser
from scumble.views.descent import Slope, descent, distribution
from scumble.views.evidence import Evidence, simplex
from scumble.views.halving import Line, line_of
from scumble.views.mixture import Mixture, together
from scumble.views.raking import raked
from scumble.views.targets import Numbers, Targets

COMPONENTS, MANY, MOST_COMPONENTS = 50, 200, 400
"""The fewest; how many a fit begins with at most, half of the fits then being as good as all are of fewer; the most."""
NEAR = 2.0
"""Who comes this near to one, and misses it, has too few components. Who is farther off has too few steps, and more
components would not help it."""
FITS = 8
WIDE = 400
"""Groups of all columns together: from there on, a step takes a time that grows with their square."""
THREADS = 2
STEPS = 250
NEARLY, GOAL = 0.94, 0.7
"""χ² per cell to stop at, where there is nothing to tell, and where there is."""
PLAIN = 2.0
"""χ² per cell of independent columns: below, all is told by them."""
RATE = 0.2
RAREST = 1e-4
"""The least share that a fit starts from."""
SPREAD = 0.5
"""Standard deviation of the starting logarithms."""


def begun(targets: Targets, components: int, generator: np.random.Generator) -> Numbers:
    """Logarithms of A and, last, of w to start from."""
    usual = np.log(np.maximum(targets.singles, RAREST))
    logs = np.zeros((len(usual) + 1, components), np.float32)
    logs[:-1] = usual[:, None] + SPREAD * generator.standard_normal((len(usual), components))
    return logs


def descend(targets: Targets, components: int, generator: np.random.Generator, *, goal: float) -> tuple[Numbers, float]:
    """One fit, as logarithms: step until χ² per cell reaches the goal, or the steps are used up; and the χ² reached."""
    logs = begun(targets, components, generator)
    return logs, descent(targets, logs, goal=goal, steps=STEPS, rate=RATE)


def fitted(
    evidence: Evidence, seed: int, *, fits: int | None = None, components: int | None = None, goal: float = GOAL
) -> Mixture:
    """The mean of several fits, over all levels of all columns; see `several`."""
    return together(several(evidence, seed, fits=fits, components=components, goal=goal))


def several(
    evidence: Evidence, seed: int, *, fits: int | None = None, components: int | None = None, goal: float = GOAL
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
        How many; by default as `fits_for` says.
    components : int, optional
        Components of each; by default as `components_for` says.
    goal : float
        The χ² per cell to stop at, where there is something to tell; else it is farther by NEARLY / GOAL.

    Returns
    -------
    list of Mixture
        Their columns have all levels: those of a group have the shares that the single column shows.
    """
    evidence = coarser(evidence)
    if not evidence.paired:
        return [_refined(np.ones(1, np.float32), {}, evidence, lines_of(evidence))]
    targets = Targets.of(evidence)
    lines = lines_of(evidence)
    told = apart(targets)
    size = components_for(told) if components is None else components
    goal *= 1.0 if told > PLAIN else NEARLY / GOAL

    def fit(number: int) -> tuple[Numbers, float]:
        return descend(targets, size, np.random.default_rng([seed, number]), goal=goal)

    first, chi = fit(0)
    while components is None and max(goal, NEARLY) < chi <= NEAR * NEARLY and size < MOST_COMPONENTS:
        size *= 2
        first, chi = fit(0)
    number = fits_for(sum(evidence.sizes), size) if fits is None else fits
    with ThreadPoolExecutor(THREADS) as pool:
        found = [first, *(logs for logs, _ in pool.map(fit, range(1, number)))]
    mixtures = []
    for logs in found:
        weights, stack = distribution(targets, logs)
        tables = np.split(stack.T, np.cumsum(targets.sizes)[:-2], axis=1)
        mixtures.append(_refined(weights, dict(zip(sorted(evidence.tied), tables, strict=True)), evidence, lines))
    return mixtures


def apart(targets: Targets) -> float:
    """What there is to tell: the χ² per cell of independent columns."""
    alone = np.zeros((len(targets.shares), 1), np.float32)
    alone[:-1, 0] = np.log(np.maximum(targets.singles, RAREST))
    return Slope(targets, alone)()


def components_for(told: float) -> int:
    """How many components to begin with: 50, or 100 where there is much to tell (from 10 on), or 200 (from √1000 on).

    >>> [components_for(told) for told in (0.5, 9.0, 10.0, 32.0, 1e6)]
    [50, 50, 100, 200, 200]
    """
    return min(COMPONENTS << int(2 * np.log10(max(told, 10**0.5)) - 1), MANY)


def fits_for(groups: int, components: int = COMPONENTS) -> int:
    """How many fits a table gets: of many components half are as good, and all together should not take minutes."""
    most = FITS if components < MANY else FITS // 2
    return min(most, FITS if groups <= WIDE else max(2, FITS * WIDE // groups))


def lines_of(evidence: Evidence) -> dict[int, Line]:
    """Each column of numbers or dates, as its own views tell it."""
    return {j: line_of(evidence, j) for j, column in enumerate(evidence.columns) if column.ordered}


def _refined(weights: Numbers, tables: Mapping[int, Numbers], evidence: Evidence, lines: Mapping[int, Line]) -> Mixture:
    """Groups divided into their levels, by the shares that the single columns show.

    They are the same in all components. (Lines drawn from run to run instead of steps were tried, and were no better.)
    A column that nothing ties to another is what it shows alone. A fit has too many records in cells that are empty, so
    lines are brought to what they show alone, half the way (`halving`).
    """
    share, stacks = weights.astype(float), {j: table.astype(float) for j, table in tables.items()}
    known = {j: line.with_fit(share @ stacks[j]) for j, line in lines.items() if j in stacks}
    share, stacks = raked(share, stacks, known)
    columns = []
    for j, (group, shape) in enumerate(zip(evidence.groups, evidence.shapes, strict=True)):
        if j in stacks:
            columns.append(stacks[j][:, group] * (lines[j].within(group, shape) if j in lines else shape))
        else:
            alone = lines[j].shares if j in lines else simplex(evidence.single(j).counts / evidence.count)
            columns.append(np.tile(alone, (len(weights), 1)))
    return Mixture(share, tuple(columns))
