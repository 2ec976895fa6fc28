"""Plans: rows, buckets and design before the first record, from public facts alone, and the error to expect.

More rows hash better; with pure ε they also have more noise: the noise on a mean of R rows has a variance of about
2R/ε², and there is a best R. Discrete Gaussian noise has one that does not depend on R: there rows cost only space. How
good each is depends on the density of a typical query (:mod:`scumble.reading.spread`). Before the data is seen nobody
knows it. Where bounds are given, the plan takes what is usual within such (:func:`scumble.grid.usual_density`); else
0.1 at power 1.
Pass `density` if you know better, or leave rows open: a sketch then decides at its release
(:mod:`scumble.planning.later`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from math import hypot, log2, sqrt
from typing import Any, NamedTuple

import numpy as np

from scumble import checks, grid
from scumble.design import DESIGNS
from scumble.errors import ParameterError, parameter
from scumble.grid.finest import finest_shape
from scumble.kernels import Kernel
from scumble.privacy.budget import Budget
from scumble.privacy.calibration import DEFAULT_COUNT_SHARE
from scumble.privacy.exact import as_fraction
from scumble.privacy.laws import GAUSSIAN
from scumble.privacy.odds import in_words
from scumble.reading.spread import hashes, noise_error, row_error, row_spread, typical_density
from scumble.spec import CHEAP, MOST_DIMENSIONS, MOST_HASHES

Bounds = tuple[float | Sequence[float], float | Sequence[float]] | None
Fields = dict[str, Any]

COUNTER_BYTES = 4
"""Of a counter in a file: noisy counters nearly always fit into 32 bits."""
BESIDE_COUNTERS = 2_000
"""Bytes of a released file that are no counters, about."""
MOST_COUNTERS = 2**22
"""Counters of a planned sketch: 16 MiB in a file. Pure ε rarely wants more than a third of that."""
MOST_ROWS, MOST_COUNTED = 2**13, 2**23
"""Rows and counters that are counted where a release is to choose of them."""
SIZE, DESIGN = 1, 2
"""What a release may decide: how much of the rows or how coarse a grid; and whether a grid is published as rows."""

_FLAT = 1.02
"""Fewer rows are taken with pure ε if the error is nearly the same: the noise is known, the spread a guess."""

MOST_REFINED_ROWS = 4096
"""Beyond this, refining (`scumble.learn.refine`) has too few particles to gain by."""
LEAST_REFINED_ROWS = 64
"""Below, there is too little to refine from."""
TINY = 1e-300
"""No noise at all, where something is divided by it."""
SHARES = 2, 25
"""Hundredths of a budget that a count may get by a plan: a density is a guess."""
_NANOSECONDS = 3.0
"""A hash and an increment on one core of a small server."""


@dataclass(frozen=True)
class Plan:
    """What to build, and what to expect from it.

    `relative_error` is the mean of |error|/density to expect of queries like the records, `density` being the assumed
    density of a typical one and `density_from` where it comes from: "given", from the "bounds" (records fill about
    half of these along each axis), or the "default", 0.1 divided by the kernel's power. Where real queries lie less
    densely, errors are larger. `standard_error` is that of a typical query, in counts. `bytes` is the size of the
    released file, `seconds` the time to count on one core. What is published is decided
    after counting, by noisy numbers: `denser` are the cells along each axis, or the rows, that records ten times as
    dense would get, and `denser_design` says which; None if nothing is left to decide. With `either`, what comes out
    may be a grid or rows, whatever is foretold here. `count_share` is the part of the budget for the count with which
    densities err least, for a release of just these rows or cells:
    ``sketch.release(plan.epsilon, plan.delta, count_share=plan.count_share)``.
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
    density: float = 0.1
    density_from: str = "default"
    neighbors: str = "add-remove"
    records_per_person: int = 1
    denser: tuple[int, ...] | None = None
    denser_design: str | None = None
    either: bool = False
    count_share: float = float(DEFAULT_COUNT_SHARE)

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments that make this sketch: ``Sketch(kernel, dimensions=3, **plan.parameters())``."""
        if self.design == "grid":
            return {"design": "grid", "buckets": self.shape, "bounds": self.bounds}
        return {"design": self.design, "rows": self.rows, "buckets": self.buckets}

    def sentence(self) -> str:
        """What its ε means for one person, in odds."""
        who = {"neighbors": self.neighbors, "records_per_person": self.records_per_person}
        return in_words(self.epsilon, self.delta, **who)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return asdict(self)


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
    assumed = assume(n, dimensions, kernel, density=density, bounds=bounds, columns=columns, design=design)
    density, sides = assumed.density, assumed.sides
    shape = (n, dimensions, budget, kernel, density, design, rows, buckets)
    hashed = replace(_plan_rows(*shape, refined), density_from=assumed.source)
    if design not in ("auto", "grid") or rows is not None or sides is None:
        return hashed
    gridded = _plan_grid(n, dimensions, budget, kernel, density, sides, buckets, columns)
    if design == "grid" or gridded.relative_error <= hashed.relative_error:
        return replace(gridded, density_from=assumed.source)
    return hashed


class Assumed(NamedTuple):
    """The density that a plan takes a typical query to have, and where it has it from."""

    density: float
    source: str
    """ "given", "bounds" or "default"."""
    sides: tuple[tuple[float, ...], tuple[float, ...]] | None
    """The bounds, if a grid can serve."""


def assume(
    n: int,
    dimensions: int,
    kernel: Kernel,
    *,
    density: float | None = None,
    bounds: Bounds = None,
    columns: Sequence[str] | None = None,
    design: str = "auto",
) -> Assumed:
    """The density to plan for: the one that is given, else what is usual within such bounds, else at such a power."""
    if n < 1:
        raise parameter("n", "at least 1, roughly the number of records", n)
    require_dimensions(dimensions)
    if hashes(kernel) > MOST_HASHES:
        raise parameter("power", f"at most {MOST_HASHES:,} for all factors together", hashes(kernel))
    if density is not None and not 0.0 < density <= 1.0:
        raise parameter("density", "in (0, 1]", density)
    sides = None if bounds is None else plain_sides(checks.sides(bounds, dimensions))
    require_design(design)
    reason = "no `bounds` are given" if sides is None else grid.supports(kernel, dimensions, columns)
    if design == "grid" and sides is None:
        raise parameter("bounds", "given for a grid", bounds, "the least and the largest of each column, as is known.")
    if design == "grid" and reason:
        raise ParameterError(f"`design` cannot be 'grid' here: {reason}. Hint: leave it out, and rows are hashed.")
    sides = None if reason else sides
    if density is not None:
        return Assumed(density, "given", sides)
    if sides is None:
        return Assumed(typical_density(kernel), "default", None)
    return Assumed(_within(kernel, dimensions, sides, columns), "bounds", sides)


def require_dimensions(dimensions: int) -> None:
    """Refuse what no table has, before lists of that length are made."""
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise parameter("dimensions", f"from 1 to {MOST_DIMENSIONS:,}", dimensions)


def require_design(design: str) -> None:
    """Refuse a design that there is not."""
    if not isinstance(design, str) or design not in ("auto", "grid", *DESIGNS):
        raise parameter("design", f"one of auto, grid, {', '.join(DESIGNS)}", design)


def rows_to_plan(design: str, rows: int | None) -> int | None:
    """The rows to ask a plan for, once the design is known: a grid has one, and leaves them out."""
    require_design(design)
    if design != "grid":
        return rows
    if rows not in (None, 1):
        raise parameter("rows", "1 or left out with design='grid'", rows)
    return None


def plain_sides(sides: checks.Sides) -> tuple[tuple[float, ...], tuple[float, ...]]:
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
        design = good_rows(kernel, dimensions)
    if buckets is None:
        buckets = good_buckets(kernel)
    errors = {
        r: rows_error(kernel, design, r, buckets, density, n, noise_of(budget, r), dimensions if refined else None)
        for r in ladder(rows, design, buckets)
    }
    best = min(errors.values()) * (_FLAT if budget.pure else 1.0)
    chosen = min(r for r, error in errors.items() if error <= best)
    f = density * n
    return Plan(
        n=n,
        dimensions=dimensions,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        design=design,
        rows=chosen,
        buckets=buckets,
        shape=None,
        relative_error=errors[chosen],
        standard_error=hypot(sqrt((row_spread(kernel, design, buckets, n, f) + f) / chosen), noise_of(budget, chosen)),
        bytes=file_bytes(chosen * buckets),
        seconds=counting_seconds(kernel, n, chosen),
        density=density,
        neighbors=budget.neighbors,
        records_per_person=budget.records_per_person,
    )


def file_bytes(counters: int) -> int:
    """Of a released file with so many counters, about."""
    return COUNTER_BYTES * counters + BESIDE_COUNTERS


def counting_seconds(kernel: Kernel, n: int, rows: int, *, gridded: bool = False) -> float:
    """On one core: a record is hashed for every row, and goes to one cell of a grid."""
    return n * (1 if gridded else rows * hashes(kernel)) * _NANOSECONDS * 1e-9


def ladder(rows: int | None, design: str, buckets: int) -> list[int]:
    """The numbers of rows that a plan looks at: one, if it is given."""
    if rows is not None:
        return [rows]
    most = max(8, MOST_COUNTERS // buckets)
    found = [2**k for k in range(3, int(log2(most)) + 1)]
    # Sobol points are even in powers of two, and less so in between.
    return found if design == "sobol" else sorted([*found, *(3 * r // 2 for r in found[:-1])])


def noise_of(budget: Budget, rows: int) -> float:
    """The standard deviation of the noise on the mean of so many rows."""
    return sqrt(budget.calibrate(rows).counter_variance / rows)


def best_count_share(budget: Budget, rows: int, buckets: int, sum_error: float, n: float) -> float:
    """The part of a budget for the count with which a density f/N errs least, in hundredths.

    `sum_error` is the relative error of f by noise where the count has its usual part. The noise of both goes into the
    density. With a part s for the count, the variance of f's is as (1 − s)^−k and that of N's as s^−k, where k is 2 for
    Laplace noise and 1 for Gaussian. Each row adds up to N, too: few cells tell it as well as a count does.

    >>> budget = Budget(1.0, 1e-6)
    >>> [best_count_share(budget, 1024, 1024, sum_error, n=100_000) for sum_error in (0.001, 0.0002)]
    [0.04, 0.18]
    """
    usual = float(as_fraction("count_share", budget.count_share))
    found = budget.calibrate(rows)
    if not found.count_variance or not 0.0 < usual < 1.0:
        return usual
    power = 1 if found.law is GAUSSIAN else 2
    shares = np.arange(SHARES[0], SHARES[1] + 1) / 100.0
    louder, count = ((1.0 - usual) / (1.0 - shares)) ** power, found.count_variance * (usual / shares) ** power
    variance = sum_error**2 * louder + count_from(count, buckets / rows * found.counter_variance * louder) / n**2
    return float(shares[np.argmin(variance)])


def count_from(own: Any, sums: Any) -> Any:
    """The variance of a count that is made of its own noisy number and of the sums of rows."""
    return own * sums / (own + sums + TINY)


def rows_error(
    kernel: Kernel, design: str, rows: int, buckets: int, density: float, n: float, noise: float, refined: int | None
) -> float:
    """The relative error to expect of so many rows; `refined` is over how many columns answers are, None if not."""
    hashing = hashing_error(kernel, design, rows, buckets, density, refined)
    return hypot(hashing, noise_error(noise, density, n))


def hashing_error(kernel: Kernel, design: str, rows: int, buckets: int, density: float, refined: int | None) -> float:
    """The part of it that hashing makes."""
    hashing = row_error(kernel, design, buckets, density) / sqrt(rows)
    if refined is not None and design == "sobol" and LEAST_REFINED_ROWS <= rows <= MOST_REFINED_ROWS:
        hashing *= left_by_refining(rows, density, refined)
    return hashing


def left_by_refining(rows: int, density: float, dimensions: int) -> float:
    """What refining leaves of the hashing error, about.

    Measured (``python -m benchmarks.refining``), with 256 and 1,024 rows: along one column, where synthetic records lie
    as the real ones do, 0.04 (smooth salaries) and 0.11 to 0.18 (a fifth of them equal); 0.08 and 0.24 along three;
    0.56 along eight, where 0.23 to 0.33 are expected.
    """
    left = 0.25 * (0.1 / density * 512.0 / min(rows, 1024)) ** 0.25
    return float(min(1.0, 0.7 * left if dimensions == 1 else left))


def good_rows(kernel: Kernel, dimensions: int) -> str:
    """Sobol rows win in few dimensions, orthogonal Gaussian directions in many."""
    gaussian = all(factor.name in ("euclidean", "angular") for factor in kernel.factors)
    return "orthogonal" if gaussian and dimensions > 12 else "sobol"


def good_buckets(kernel: Kernel) -> int:
    """Enough that collisions are rare; all codes where they are few."""
    radices = [factor.radix for factor in kernel.factors for _ in range(factor.power)]
    codes = np.prod([float(radix or np.inf) for radix in radices])
    if codes <= 4096:
        return int(codes)
    return 1024


def _within(
    kernel: Kernel, dimensions: int, sides: tuple[tuple[float, ...], tuple[float, ...]], columns: Sequence[str] | None
) -> float:
    """The density at a record that is usual within such bounds."""
    which = kernel.which(dimensions, columns)
    low, high = (np.array([side[i] for i in which]) for side in sides)
    spread = grid.typical_density(kernel, low, high, width=dimensions, names=columns)
    return grid.usual_density(spread, len(which))


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
        density=density,
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
        bytes=file_bytes(cells),
        seconds=counting_seconds(kernel, n, 1, gridded=True),
        bounds=sides,
        density=density,
        neighbors=budget.neighbors,
        records_per_person=budget.records_per_person,
    )


def open_rows(kernel: Kernel, dimensions: int, buckets: int | None, design: str, *, pure: bool) -> Fields:
    """As many rows as could pay."""
    require_dimensions(dimensions)
    design = good_rows(kernel, dimensions) if design == "auto" else design
    wide = good_buckets(kernel) if buckets is None else buckets
    rows = _most_rows(kernel, dimensions, wide, pure)
    return {"bounds": None, "shape": None, "design": design, "rows": rows, "buckets": wide}


def _most_rows(kernel: Kernel, dimensions: int, buckets: int, pure: bool) -> int:
    """The greatest power of two that time, counters and hash functions allow, and at least 8."""
    widths = [dimensions if factor.columns is None else len(factor.columns) for factor in kernel.factors]
    numbers = sum(factor.power * (width + 2) for factor, width in zip(kernel.factors, widths, strict=True))
    most = min(MOST_ROWS, MOST_COUNTED // buckets, CHEAP // numbers) // (2 if pure else 1)
    return max(8, 1 << (most.bit_length() - 1)) if most > 0 else 8


@lru_cache(maxsize=16)
def finest(
    kernel: Kernel, dimensions: int, columns: tuple[str, ...] | None, bounds: tuple[tuple[float, ...], ...]
) -> tuple[int, ...]:
    """The cells of a grid along each axis, as small as could pay."""
    which = kernel.which(dimensions, columns)
    low, high = (np.array([side[i] for i in which]) for side in bounds)
    return finest_shape(kernel, low, high, width=dimensions, names=columns)
