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

import numpy as np

from scumble.views.coarsening import coarser
from scumble.views.descent import descent, distribution
from scumble.views.evidence import Evidence, simplex
from scumble.views.mixture import Mixture, together
from scumble.views.targets import Numbers, Targets

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
"""Who is not this near to the goal after half of the steps will not reach it: more components are tried at once, while
there may be more. The last fit takes all its steps."""
GOAL = 0.94
RATE = 0.2
SPREAD = 0.5
"""Standard deviation of the starting logarithms, in columns of which pairs were measured; others start independent."""


def begun(targets: Targets, components: int, generator: np.random.Generator) -> Numbers:
    """Logarithms of A and of w to start from."""
    usual = np.log(np.maximum(targets.singles, 1e-4))
    logs = np.empty((components, len(usual) + 1), np.float32)
    paired = targets.pair_precision.any(axis=1)
    logs[:, :-1] = usual + SPREAD * paired * generator.standard_normal((components, len(usual)))
    logs[:, -1] = 0.0
    return logs


def descend(
    targets: Targets, components: int, generator: np.random.Generator, *, goal: float = GOAL, near: float = NEAR
) -> tuple[Numbers, float]:
    """One fit, as logarithms: step until χ² per cell reaches the goal, or the steps are used up; and the χ² reached."""
    logs = begun(targets, components, generator)
    return logs, descent(targets, logs, goal=goal, steps=STEPS, rate=RATE, near=near)


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

    def fit(number: int, size: int) -> Numbers:
        while True:
            near, generator = NEAR if size < most else np.inf, np.random.default_rng([seed, number, size])
            found, chi = descend(targets, size, generator, goal=goal, near=near)
            if chi <= goal or size >= most:
                return found
            size = min(2 * size, most)

    first = fit(0, components)
    number = fits_for(len(targets.singles), len(first)) if fits is None else fits
    with ThreadPoolExecutor(THREADS) as pool:
        others = list(pool.map(lambda k: fit(k, len(first)), range(1, number)))
    return [_refined(distribution(targets, found), evidence) for found in (first, *others)]


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


def _refined(found: tuple[Numbers, Numbers], evidence: Evidence) -> Mixture:
    """Groups divided into their levels, by the shares that the single columns show.

    They are the same in all components. (Lines drawn from run to run instead of steps were tried, and were no better.)
    """
    weights, stack = found
    tables = np.split(stack.astype(float), np.cumsum(evidence.sizes)[:-1], axis=1)
    columns = [
        table[:, group] * shape for table, group, shape in zip(tables, evidence.groups, evidence.shapes, strict=True)
    ]
    return Mixture(weights.astype(float), tuple(columns))
