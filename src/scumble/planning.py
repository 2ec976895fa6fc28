"""Choosing rows, buckets and design before the first record, from public facts alone.

The paper's Theorem 3 with the true noise: averaged over R rows, a kernel sum f has the variance

    v(R) = (c² f² + f + n f/W) / R + V_noise(R) / R.

c² f² is the hashing variance of a row (c f is at most f̃ = Σ √k), f that of single records, n f/W that of clumped
collisions in the same bucket. Discrete Laplace noise has V/R = 2R/ε², so more rows hash better and drown sooner:
there is a best R. Discrete Gaussian noise has V/R independent of R: there rows cost only space.

Before the data is seen, nobody knows f. The plan assumes a query of density 0.1 (at power 1), typical of a record's
surroundings at a sensible bandwidth; pass `density` if you know better. The optimum is flat: half or twice as many rows
cost a quarter more error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import log2, prod, sqrt
from typing import Any

import numpy as np

from scumble import checks, grid
from scumble.design import DESIGNS
from scumble.errors import ParameterError, parameter
from scumble.kernels import Kernel
from scumble.privacy.budget import Budget
from scumble.privacy.calibration import DEFAULT_COUNT_SHARE
from scumble.reading.spread import hashes, row_spread, typical_density
from scumble.spec import MOST_DIMENSIONS, MOST_HASHES

Bounds = tuple[float | Sequence[float], float | Sequence[float]] | None

DEFAULT_RECORDS = 100_000
MOST_COUNTERS = 2**22
"""Counters of a planned sketch: a released file of 32 MiB. Pure ε rarely wants more than a third of that."""

_FLAT = 1.02
"""Fewer rows are taken with pure ε if the error is nearly the same: the noise is known, the spread a guess."""

_REFINED, _REFINED_ROWS = 0.4, 512
"""What refining (`scumble.learn.refine`) leaves of c, and at how many rows: its error falls faster, like R^-3/4."""
MOST_REFINED_ROWS = 2048
"""Beyond this, the hashing variance that is left is not worth the time."""
_NANOSECONDS = 3.0
"""A hash and an increment on one core of a small server."""


@dataclass(frozen=True)
class Plan:
    """What to build, and what to expect from it.

    `relative_error` is the expected standard error of a density, relative to it, for a query of the assumed density;
    `standard_error` the same in counts. `bytes` is the size of the released file, `seconds` the time to
    count on one core.
    """

    n: int
    dimensions: int
    epsilon: float
    delta: float
    design: str
    rows: int
    buckets: int
    shape: tuple[int, ...] | None
    relative_error: float
    standard_error: float
    bytes: int
    seconds: float
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments that make this sketch: ``Sketch(kernel, dimensions=3, **plan.parameters())``."""
        if self.design == "grid":
            return {"design": "grid", "buckets": self.shape, "bounds": self.bounds}
        return {"design": self.design, "rows": self.rows, "buckets": self.buckets}

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return asdict(self)


def plan(
    n: int,
    dimensions: int,
    epsilon: float | None = None,
    delta: float = 0.0,
    kernel: Kernel | None = None,
    *,
    rho: float | None = None,
    mu: float | None = None,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    density: float | None = None,
    bounds: Bounds = None,
    columns: Sequence[str] | None = None,
    design: str = "auto",
    rows: int | None = None,
    buckets: int | None = None,
    refined: bool = False,
) -> Plan:
    """Rows, buckets and design for `n` records (roughly; a public number), and the error to expect.

    The budget is ε and δ, or `rho`, or `mu`, as of :meth:`scumble.Sketch.release`.
    `refined` plans for answers that are refined (`scumble.learn.refine`, as `PrivateKDE` does): those need fewer rows.

    >>> from scumble.kernels import EuclideanKernel
    >>> chosen = plan(n=1_000_000, dimensions=8, epsilon=1.0, kernel=EuclideanKernel(1.0))
    >>> chosen.rows >= 256 and chosen.relative_error < 0.05
    True
    """
    if kernel is None:
        raise ParameterError(
            "Give `kernel`: the plan depends on it, for example scumble.EuclideanKernel(bandwidth=1.0)."
        )
    budget = Budget.of(epsilon, delta, neighbors, records_per_person, rho=rho, mu=mu)
    options = {"columns": columns, "design": design, "rows": rows, "buckets": buckets, "refined": refined}
    return plan_within(budget, n, dimensions, kernel, density=density, bounds=bounds, **options)  # type: ignore[arg-type]


def plan_within(
    budget: Budget,
    n: int,
    dimensions: int,
    kernel: Kernel,
    *,
    density: float | None = None,
    bounds: Bounds = None,
    columns: Sequence[str] | None = None,
    design: str = "auto",
    rows: int | None = None,
    buckets: int | None = None,
    refined: bool = False,
) -> Plan:
    """`plan`, for a budget that is a value already."""
    # In floats, as plans are shown; and with the usual share for the count.
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    budget = replace(budget, epsilon=epsilon, delta=delta, count_share=DEFAULT_COUNT_SHARE)
    if n < 1:
        raise parameter("n", "at least 1, roughly the number of records", n)
    require_dimensions(dimensions)
    if hashes(kernel) > MOST_HASHES:
        raise parameter("power", f"at most {MOST_HASHES:,} for all factors together", hashes(kernel))
    if density is None:
        density = typical_density(kernel)
    if not 0.0 < density <= 1.0:
        raise parameter("density", "in (0, 1]", density)
    sides = None if bounds is None else _plain(checks.sides(bounds, dimensions))
    _require_design(design)
    shape = (n, dimensions, budget, kernel, density, design, rows, buckets)
    hashed = _plan_rows(*shape, refined)
    reason = "no `bounds` are given" if sides is None else grid.supports(kernel, dimensions, columns)
    if design == "grid" and reason:
        raise parameter("design", "another than 'grid' here", design, f"A grid cannot serve: {reason}.")
    if design not in ("auto", "grid") or rows is not None or reason:
        return hashed
    assert sides is not None
    gridded = _plan_grid(n, dimensions, budget, kernel, density, sides, buckets, columns)
    # Against plain rows: how far refining gets depends on the data, and a grid needs none of its time.
    plain = _plan_rows(*shape, False) if refined else hashed
    return gridded if design == "grid" or gridded.relative_error < plain.relative_error else hashed


def require_dimensions(dimensions: int) -> None:
    """Refuse what no table has, before lists of that length are made."""
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise parameter("dimensions", f"from 1 to {MOST_DIMENSIONS:,}", dimensions)


def _require_design(design: str) -> None:
    if not isinstance(design, str) or design not in ("auto", "grid", *DESIGNS):
        raise parameter("design", f"one of auto, grid, {', '.join(DESIGNS)}", design)


def rows_to_plan(design: str, rows: int | None) -> int | None:
    """The rows to ask a plan for, once the design is known: a grid has one, and leaves them out."""
    _require_design(design)
    if design != "grid":
        return rows
    if rows not in (None, 1):
        raise parameter("rows", "1 or left out with design='grid'", rows)
    return None


def choose(
    kernel: Kernel,
    *,
    dimensions: int,
    columns: Sequence[str] | None,
    rows: int | None,
    buckets: int | tuple[int, ...] | None,
    design: str,
    bounds: Bounds,
) -> dict[str, Any]:
    """The fields of a sketch's spec that its caller left open, for 100,000 records and ε = 1.

    `buckets` as a tuple are the cells of a grid along each axis.
    """
    rows = rows_to_plan(design, rows)
    if isinstance(buckets, tuple):
        return _given_grid(kernel, dimensions, columns, buckets, design, bounds)
    chosen = plan(
        DEFAULT_RECORDS,
        dimensions,
        1.0,
        kernel=kernel,
        bounds=bounds,
        columns=columns,
        design=design,
        rows=rows,
        buckets=buckets,
    )
    return {
        "rows": chosen.rows,
        "buckets": chosen.buckets,
        "design": chosen.design,
        "bounds": chosen.bounds,
        "shape": chosen.shape,
    }


def _given_grid(
    kernel: Kernel,
    dimensions: int,
    columns: Sequence[str] | None,
    shape: tuple[int, ...],
    design: str,
    bounds: Bounds,
) -> dict[str, Any]:
    reason = "no `bounds` are given" if bounds is None else grid.supports(kernel, dimensions, columns)
    if reason or design not in ("auto", "grid"):
        raise parameter(
            "buckets", "one number here", shape, f"Cells along each axis are for a grid: {reason or design}."
        )
    if len(shape) != len(kernel.which(dimensions, columns)):
        raise parameter("buckets", "one number of cells for each column that the kernel reads", shape)
    sides = _plain(checks.sides(bounds, dimensions))
    return {"rows": 1, "buckets": prod(shape), "design": "grid", "bounds": sides, "shape": shape}


def _plain(sides: checks.Sides) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Bounds as a spec holds them."""
    return tuple(sides[0].tolist()), tuple(sides[1].tolist())


def _plan_rows(
    n: int,
    dimensions: int,
    budget: Budget,
    kernel: Kernel,
    density: float,
    design: str,
    rows: int | None,
    buckets: int | None,
    refined: bool,
) -> Plan:
    if design in ("auto", "grid"):
        design = _good_rows(kernel, dimensions)
    f = density * n
    if buckets is None:
        buckets = _good_buckets(kernel, budget)
    luck = row_spread(kernel, design, buckets, n, f)

    def variance(r: int) -> float:
        left = (
            _REFINED**2 * sqrt(_REFINED_ROWS / r) if refined and design == "sobol" and r <= MOST_REFINED_ROWS else 1.0
        )
        return (left * luck + f + budget.calibrate(r).counter_variance) / r

    if rows is None:
        most = max(8, MOST_COUNTERS // buckets)
        candidates = [2**k for k in range(3, int(log2(most)) + 1)]
        if design != "sobol":  # Sobol points are even in powers of two, and less so in between
            candidates += [3 * c // 2 for c in candidates[:-1]]
        least = min(map(variance, candidates)) * (_FLAT**2 if budget.pure else 1.0)
        rows = min(r for r in candidates if variance(r) <= least)
    error = sqrt(variance(rows))
    return Plan(
        n=n,
        dimensions=dimensions,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        design=design,
        rows=rows,
        buckets=buckets,
        shape=None,
        relative_error=error / f,
        standard_error=error,
        bytes=8 * rows * buckets,
        seconds=n * rows * hashes(kernel) * _NANOSECONDS * 1e-9,
    )


def _good_rows(kernel: Kernel, dimensions: int) -> str:
    """Sobol rows win in few dimensions, orthogonal Gaussian directions in many."""
    gaussian = all(factor.name in ("euclidean", "angular") for factor in kernel.factors)
    return "orthogonal" if gaussian and dimensions > 12 else "sobol"


def _good_buckets(kernel: Kernel, budget: Budget) -> int:
    """Enough that collisions are rare: all codes where they are few; half as many where rows are free."""
    radices = [factor.radix for factor in kernel.factors for _ in range(factor.power)]
    codes = np.prod([float(radix or np.inf) for radix in radices])
    if codes <= 4096:
        return int(codes)
    return 1024 if budget.pure else 512


def _plan_grid(
    n: int,
    dimensions: int,
    budget: Budget,
    kernel: Kernel,
    density: float,
    sides: tuple[tuple[float, ...], tuple[float, ...]],
    buckets: int | None,
    columns: Sequence[str] | None,
) -> Plan:
    which = kernel.which(dimensions, columns)
    low, high = (np.array([side[i] for i in which]) for side in sides)
    counter_sd = sqrt(budget.calibrate(1).counter_variance)
    shape, relative = grid.choose_shape(
        kernel,
        low,
        high,
        n=n,
        counter_sd=counter_sd,
        width=dimensions,
        names=columns,
        **({} if buckets is None else {"max_cells": buckets}),
    )
    cells = int(np.prod(shape))
    return Plan(
        n=n,
        dimensions=dimensions,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        design="grid",
        rows=1,
        buckets=cells,
        shape=tuple(int(side) for side in shape),
        relative_error=relative,
        standard_error=relative * density * n,
        bytes=8 * cells,
        seconds=n * _NANOSECONDS * 1e-9,
        bounds=sides,
    )
