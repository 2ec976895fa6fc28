"""What a sketch counts where its user left that open: the most that could pay.

Rows that are left open are counted up to a bound that depends on public parameters alone, so parts made anywhere merge;
a grid is counted as finely as could pay. How much of it is published is decided at the release
(:mod:`scumble.planning.later`), from noisy facts. Whether a grid or rows are counted cannot wait: it is decided here,
by the errors that a release would expect of the best of each, for 100,000 records, ε = 1 and records that fill half of
the bounds, where nothing else is known. But a grid of up to three axes may still be published as rows, where a δ is
allowed; so with these a δ plays no part here (with three axes it does where answers will be refined: cells are too
large then for what refining leaves).

The bound: 2²³ counters, 64 MiB, and 8,192 rows; half as much where the budget is known to be pure, for its noise drowns
what further rows would gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import floor, inf, prod
from typing import Any

from scumble import grid
from scumble.checks import sides as public_sides
from scumble.checks import whole as require
from scumble.errors import parameter
from scumble.kernels import Kernel
from scumble.planning.later import Menu
from scumble.planning.plans import (
    DESIGN,
    SIZE,
    Bounds,
    Fields,
    assume,
    finest,
    open_rows,
    plain_sides,
    plan_within,
    require_design,
    rows_to_plan,
)
from scumble.planning.plausible import AXES, DEFAULT_RECORDS
from scumble.privacy.budget import Budget
from scumble.schema.kinds import ON_WHOLE_NUMBERS
from scumble.spec import Spec


def choose(
    kernel: Kernel,
    *,
    dimensions: int,
    columns: Sequence[str] | None,
    rows: int | None,
    buckets: int | tuple[int, ...] | None,
    design: str,
    bounds: Bounds,
    kinds: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    n: int | None = None,
    density: float | None = None,
    later: bool = True,
    refined: bool = False,
) -> tuple[Fields, int]:
    """The fields of a sketch's spec that its caller left open, and what its release decides: nothing, SIZE or DESIGN.

    `buckets` as a tuple are the cells of a grid along each axis. Without `later`, everything is decided now, for `n`
    records and this budget. `refined` says that answers will be refined (`scumble.learn.refine`). Columns whose
    `kinds` are whole numbers get no cells between these.
    """
    whole = [name for name, kind in (kinds or {}).items() if kind in ON_WHOLE_NUMBERS]
    _require_whole(bounds, columns, whole)
    rows = rows_to_plan(design, rows)
    if isinstance(buckets, tuple):
        return _given_grid(kernel, dimensions, columns, buckets, design, bounds), 0
    if buckets is not None:
        require("buckets", buckets, hint="leave it out: the plan chooses; a grid's are a tuple, (64, 64).")
    pure = budget is not None and budget.pure
    later = later and rows is None
    ungridded = bounds is None or design != "auto" or grid.supports(kernel, dimensions, columns)
    if later and design != "grid" and ungridded:
        require_design(design)
        return open_rows(kernel, dimensions, buckets, design, pure=pure), SIZE
    budget = Budget(1.0) if budget is None else budget
    budget.calibrate(1)  # refuses, in words, what is no budget
    facts = {"bounds": bounds, "columns": columns, "design": design, "rows": rows, "buckets": buckets}
    facts["refined"] = refined
    axes = len(kernel.which(dimensions, columns))
    undecided = design == "auto" and later and buckets is None and axes <= AXES
    if undecided and not (refined and axes == AXES):
        budget = replace(budget, delta=0.0, rho=None)
    records = n or DEFAULT_RECORDS
    about = (kernel, dimensions, None if columns is None else tuple(columns))
    if later and buckets is None:
        assumed = assume(records, dimensions, kernel, bounds=bounds, columns=columns, design=design, density=density)
        sides = plain_sides(public_sides(bounds, dimensions))
        shape = _on_whole_numbers(finest(*about, sides), sides, kernel.which(dimensions, columns), columns, whole)
        gridded = {"bounds": sides, "design": "grid", "rows": 1, "shape": shape, "buckets": prod(shape)}
        hashed = open_rows(kernel, dimensions, buckets, "auto", pure=pure)

        def error(fields: Fields) -> float:
            spec = spec_of(*about, tuple((kinds or {}).items()), **fields)
            return Menu(spec, budget, refined=refined, gauged=False).expected(records, assumed.density)[1]

        if design == "grid" or error(gridded) <= error(hashed):
            return gridded, DESIGN if undecided else SIZE
        return hashed, SIZE
    plan = plan_within(budget, records, dimensions, kernel, density=density, **facts)  # type: ignore[arg-type]
    if plan.design != "grid" and later:
        return open_rows(kernel, dimensions, buckets, plan.design, pure=pure), SIZE
    fields = {"bounds": plan.bounds, "design": plan.design, "rows": plan.rows}
    if plan.shape is None or plan.bounds is None:
        return {**fields, "shape": None, "buckets": plan.buckets}, 0
    shape = _on_whole_numbers(plan.shape, plan.bounds, kernel.which(dimensions, columns), columns, whole)
    return {**fields, "shape": shape, "buckets": prod(shape)}, 0


@lru_cache(maxsize=4)
def spec_of(
    kernel: Kernel, dimensions: int, columns: tuple[str, ...] | None, kinds: tuple[tuple[str, str], ...], **fields: Any
) -> Spec:
    """What would be counted, with any seed; one for all budgets, so that hash functions are drawn once."""
    return Spec(kernel, dimensions, columns, seed=0, kinds=dict(kinds), **fields)


def _require_whole(bounds: Bounds, columns: Sequence[str] | None, whole: Sequence[str]) -> None:
    if bounds is None or columns is None or not whole:
        return
    for name, *ends in zip(columns, *public_sides(bounds, len(columns)), strict=True):
        if name in whole and any(end != floor(end) for end in ends):
            raise parameter("bounds", f"whole numbers for {name!r}, which holds such", tuple(map(float, ends)))


def _on_whole_numbers(
    shape: tuple[int, ...],
    bounds: tuple[tuple[float, ...], tuple[float, ...]],
    which: Sequence[int],
    columns: Sequence[str] | None,
    whole: Sequence[str],
) -> tuple[int, ...]:
    """The shape with no more cells along a column than it has whole numbers."""
    low, high = bounds
    most = [high[j] - low[j] + 1 if columns is not None and columns[j] in whole else inf for j in which]
    return tuple(int(min(both)) for both in zip(shape, most, strict=True))


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
    sides = plain_sides(public_sides(bounds, dimensions))
    return {"rows": 1, "buckets": prod(shape), "design": "grid", "bounds": sides, "shape": shape}
