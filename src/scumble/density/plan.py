"""`plan`: what a build will count and publish, and the expected error; and what a sketch counts where its size is open.

Both ask the search that decides at a release (:mod:`scumble.density.release_plan`). With pure ε, the mean of R rows has
a noise variance of about 2R/ε² and less hashing error, so there is a best R; Gaussian noise does not depend on R.

Where the size is left open, a sketch counts the most that could be useful by public parameters alone, so parts merge.
It counts a grid or rows by the expected error of the best of each, for 100,000 records and ε = 1 if these are unknown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import floor, inf, prod, sqrt
from typing import Any

import numpy as np

from scumble import checks
from scumble.checks import Json
from scumble.columns.kinds import KINDS, ON_WHOLE_NUMBERS, bounds_by, in_order, require_read
from scumble.columns.kinds import declared as kinds_of
from scumble.density.expected_error import box_of, default_density, hashes, on_whole_numbers, row_spread
from scumble.density.grid_cells import supports
from scumble.density.release_plan import (
    DEFAULT_RECORDS,
    DENSITIES,
    DESIGN,
    SIZE,
    Menu,
    good_rows,
    most_rows,
)
from scumble.density.spec import Spec, require_moderate
from scumble.errors import ParameterError, parameter
from scumble.kernels import Kernel
from scumble.kernels.design import DESIGNS
from scumble.privacy.budget import Budget
from scumble.privacy.wording import odds_in_words

Bounds = tuple[float | Sequence[float], float | Sequence[float]] | None
PlainSides = tuple[tuple[float, ...], tuple[float, ...]]

MOST_AXES = 3
"""The most axes of a grid that may become rows."""
NANOSECONDS = 3.0
"""One hash and one increment on one core."""


@dataclass(frozen=True)
class Plan:
    """What to build, and what to expect from it.

    `relative_error` is the expected mean of |error|/density for queries like the records. `density` is the assumed
    density of a typical query and `density_from` its origin: "given", "bounds" or "default". `standard_error` is that
    of a typical query, in counts; `seconds` the counting time on one core. If the release decides the size, `denser`
    holds the cells per axis (or the rows) for records ten times as dense, `denser_design` their design, and `either`
    says that the release may be a grid or rows.
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
    bounds: PlainSides | None = None
    density: float = 0.1
    density_from: str = "default"
    neighbors: str = "add-remove"
    records_per_person: int = 1
    denser: tuple[int, ...] | None = None
    denser_design: str | None = None
    either: bool = False

    def parameters(self) -> Json:
        """The keyword arguments that make this sketch: ``Sketch(kernel, dimensions=3, **plan.parameters())``."""
        if self.design == "grid":
            return {"design": "grid", "buckets": self.shape, "bounds": self.bounds}
        return {"design": self.design, "rows": self.rows, "buckets": self.buckets}

    def sentence(self) -> str:
        """What its ε means for one person, in odds."""
        whom = {"neighbors": self.neighbors, "records_per_person": self.records_per_person}
        return odds_in_words(self.epsilon, self.delta, **whom)  # type: ignore[arg-type]

    def to_dict(self) -> Json:
        """The plan as JSON values."""
        return asdict(self)


def plan(
    n: int,
    dimensions: int,
    epsilon: float | None = None,
    delta: float = 0.0,
    kernel: Kernel | None = None,
    *,
    error: float | str | None = None,
    rho: float | None = None,
    mu: float | None = None,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    density: float | None = None,
    bounds: Bounds | checks.Ranges = None,
    columns: Sequence[str] | None = None,
    design: str = "auto",
    rows: int | None = None,
    buckets: int | None = None,
    refined: bool = False,
    **declared: Any,
) -> Plan:
    """What `build` would publish of about `n` records (a public number), and the expected error.

    The budget is ε and δ, or `rho`, or `mu`, as in :meth:`scumble.Sketch.release`. Or give `error`, the relative error
    that you want (0.05 or "5%"): the plan then finds the least ε. `refined` plans for refined answers
    (`scumble.learn.refine`, as in `PrivateKDE`), which need fewer rows. `declared` takes the options of
    :func:`scumble.build` for columns of whole numbers, dates, times or booleans: `whole`, `dates`, `times`, `booleans`.

    >>> from scumble.kernels import EuclideanKernel
    >>> chosen = plan(n=1_000_000, dimensions=8, epsilon=1.0, kernel=EuclideanKernel(1.0))
    >>> chosen.rows >= 256 and chosen.relative_error < 0.05
    True
    >>> plan(n=100_000, dimensions=8, error="2%", kernel=EuclideanKernel(1.0)).epsilon
    0.23
    """
    if kernel is None:
        raise ParameterError("Give `kernel`, for example scumble.EuclideanKernel(bandwidth=1.0).")
    kinds = kinds_of(**{name: declared.pop(name) for name in KINDS if name in declared})
    if declared:
        raise TypeError(f"plan() got an unexpected keyword argument {next(iter(declared))!r}")
    require_read(kinds, kernel, columns)
    options: Json = {"columns": columns, "kinds": kinds, "design": design}
    options |= {"bounds": in_order(bounds_by(kinds, bounds), kernel, columns), "rows": rows, "buckets": buckets}

    def make(wanted: float | None) -> Plan:
        budget = Budget.of(wanted, delta, neighbors, records_per_person, rho=rho, mu=mu)
        return plan_within(budget, n, dimensions, kernel, density=density, refined=refined, **options)

    if error is None:
        return make(epsilon)
    if (epsilon, rho, mu) != (None, None, None):
        raise ParameterError("Give a budget or `error`, not both: the plan finds the other.")
    return least(make, error)


def plan_within(
    budget: Budget,
    n: int,
    dimensions: int,
    kernel: Kernel,
    *,
    density: float | None = None,
    refined: bool = False,
    **options: Any,
) -> Plan:
    """`plan` for a `Budget`; `options` are those of `choose`."""
    if n < 1:
        raise parameter("n", "at least 1, roughly the number of records", n)
    about: Json = {"budget": budget, "n": n, "density": density, "refined": refined}
    counted, planned = choose(kernel, dimensions=dimensions, **about, **options)
    assumed, source = _assumed(counted, options.get("bounds"), density)
    menu = Menu(counted, budget, planned, refined=refined)
    made, error = menu.expected(n, assumed, lambda spec: bool(planned) or spec == counted)
    f, work = assumed * n, 1 if counted.shape is not None else counted.rows * hashes(kernel)
    later: Json = {}
    if planned:
        denser, _ = menu.expected(n, min(10.0 * assumed, float(DENSITIES[-1])))
        later = {
            "denser": denser.shape or (denser.rows,),
            "denser_design": denser.design,
            "either": menu.hashed is not None,
        }
        if counted.shape is not None and made.shape is None:  # its cells' records once more, at the release
            work += made.rows * hashes(kernel)
    deviation = error * f
    if made.shape is None:
        deviation = sqrt((row_spread(made, n, f) + f + menu.noise_variance(made.rows)) / made.rows)
    return Plan(
        n=n,
        dimensions=dimensions,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        design=made.design,
        rows=made.rows,
        buckets=made.buckets,
        shape=made.shape,
        relative_error=error,
        standard_error=deviation,
        bytes=file_bytes(prod(made.counters)),
        seconds=n * NANOSECONDS * 1e-9 * work,
        bounds=made.bounds,
        density=assumed,
        density_from=source,
        neighbors=budget.neighbors,
        records_per_person=budget.records_per_person,
        **later,
    )


def _assumed(spec: Spec, bounds: Bounds, density: float | None) -> tuple[float, str]:
    """The density to plan for, and its origin: the given one, else a typical one within the bounds, else a default."""
    if density is not None:
        if not 0.0 < density <= 1.0:
            raise parameter("density", "in (0, 1]", density)
        return density, "given"
    if bounds is None or supports(spec.kernel, spec.dimensions, spec.columns):
        return default_density(spec.kernel), "default"
    return box_of(replace(spec, bounds=plain_sides(bounds, spec.dimensions))).density, "bounds"


def choose(
    kernel: Kernel,
    *,
    dimensions: int,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
    buckets: int | tuple[int, ...] | None = None,
    design: str = "auto",
    bounds: Bounds = None,
    kinds: Mapping[str, str] | None = None,
    seed: int = 0,
    budget: Budget | None = None,
    n: int | None = None,
    density: float | None = None,
    later: bool = True,
    refined: bool = False,
) -> tuple[Spec, int]:
    """What a sketch counts, and what its release decides: nothing, SIZE or DESIGN.

    `buckets` as a tuple are the cells of a grid along each axis, as a number the most cells or the buckets of a row.
    Without `later`, everything is decided now, for `n` records and this budget. Columns whose `kinds` are whole numbers
    get no cells between these.
    """
    require_moderate(kernel, dimensions)
    rows = rows_to_plan(design, rows if rows is None else checks.whole("rows", rows))
    names = None if columns is None else tuple(columns)
    axes = len(kernel.which(dimensions, names))
    sides = None if bounds is None else plain_sides(bounds, dimensions)
    empty = Spec(kernel, dimensions, names, rows=1, buckets=1, seed=seed, design="sobol", kinds=dict(kinds or {}))
    if sides is not None:
        _require_whole(sides, empty)

    def grid(shape: tuple[int, ...]) -> Spec:
        return replace(empty, design="grid", rows=1, buckets=prod(shape), shape=shape, bounds=sides)

    reason = "no `bounds` are given" if sides is None else supports(kernel, dimensions, names)
    if isinstance(buckets, tuple):
        if reason or design not in ("auto", "grid"):
            must = f"Cells along each axis are for a grid: {reason or design}."
            raise parameter("buckets", "one number here", buckets, must)
        if len(buckets) != axes:
            raise parameter("buckets", "one number of cells for each column that the kernel reads", buckets)
        return grid(buckets), 0
    if buckets is not None:
        checks.whole("buckets", buckets, hint="leave it out, or give a grid's cells as a tuple such as (64, 64).")
    if design == "grid" and sides is None:
        raise parameter("bounds", "given for a grid", bounds, "the public minimum and maximum of each column.")
    if design == "grid" and reason:
        raise ParameterError(f"`design` cannot be 'grid' here: {reason}. Hint: leave it out.")
    counted = []
    if not reason and rows is None and design in ("auto", "grid"):
        box = box_of(replace(empty, bounds=sides))
        most_of = np.where(on_whole_numbers(empty), box.high - box.low + 1, inf)  # a cell per whole number
        counted.append(grid(tuple(np.minimum(box.finest, most_of).astype(int).tolist())))
    if design != "grid":
        hashed = good_rows(empty, design, buckets)
        pure = budget is not None and budget.pure
        counted.append(most_rows(hashed, pure=pure) if rows is None else replace(hashed, rows=rows))
    open_size = later and rows is None
    either = open_size and design == "auto" and buckets is None and 0 < axes <= MOST_AXES
    if len(counted) == 1 and (rows is not None or (open_size and (buckets is None or design != "grid"))):
        return counted[0], SIZE if open_size else 0
    budget = Budget(1.0) if budget is None else budget
    budget.claim(1)  # refuses, in words, what is no budget
    scored = replace(budget, delta=0.0, rho=None) if either else budget
    found, most = [], inf if buckets is None else buckets
    for spec in counted:
        open_now = open_size and (spec.shape is None or buckets is None)
        typical, _ = _assumed(spec, bounds, density)
        menu = Menu(spec, scored, SIZE if open_now else 0, refined=refined)
        made, error = menu.expected(n or DEFAULT_RECORDS, typical, lambda one: one.buckets <= most)
        found.append((error, spec if open_now else made, open_now))
    _, spec, open_now = min(found, key=lambda one: one[0])
    return spec, 0 if not open_now else DESIGN if either and spec.shape is not None else SIZE


def rows_to_plan(design: str, rows: int | None) -> int | None:
    """The rows to plan for; None for a grid, which has one. An unknown design is refused."""
    if design not in ("auto", "grid", *DESIGNS):
        raise parameter("design", f"one of auto, grid, {', '.join(DESIGNS)}", design)
    if design == "grid" and rows not in (None, 1):
        raise parameter("rows", "1 or left out with design='grid'", rows)
    return None if design == "grid" else rows


def plain_sides(bounds: Bounds, dimensions: int) -> PlainSides:
    """Bounds as a spec stores them."""
    low, high = checks.sides(bounds, dimensions)
    return tuple(low.tolist()), tuple(high.tolist())


def _require_whole(sides: PlainSides, spec: Spec) -> None:
    for name, *ends in zip(spec.columns or (), *sides, strict=False):
        if spec.kinds.get(name) in ON_WHOLE_NUMBERS and any(end != floor(end) for end in ends):
            raise parameter("bounds", f"whole numbers for {name!r}, a column of whole numbers", tuple(ends))


def file_bytes(counters: int) -> int:
    """Approximate size of a released file: noisy counters nearly always fit into 32 bits."""
    return 4 * counters + 2_000


EPSILONS = [float(f"{digits}e{power}") for power in range(-4, 1) for digits in range(10, 100)] + [100.0]
SHOWN = (0.1, 0.3, 1.0, 3.0, 10.0)
"""The budgets of `by_epsilon`."""


def least(make: Callable[[float], Plan], error: object) -> Plan:
    """The plan with the least ε of two digits whose expected error is at most `error`; `make` plans for an ε."""
    wanted = as_error(error)
    if (best := make(EPSILONS[-1])).relative_error > wanted:
        must = f"at least {best.relative_error:.2%}, the least at any ε"
        raise parameter("error", must, error, "use more records, a wider kernel or δ > 0.")
    place = bisect_left(EPSILONS, -wanted, key=lambda epsilon: -make(epsilon).relative_error)
    return make(EPSILONS[place])


def by_epsilon(make: Callable[[float], Plan]) -> dict[float, float]:
    """The expected error at a few budgets."""
    return {epsilon: make(epsilon).relative_error for epsilon in SHOWN}


def as_error(value: object) -> float:
    """A relative error: 0.05, or "5%".

    >>> as_error("5%"), as_error(0.02)
    (0.05, 0.02)
    """
    text = str(value).strip()
    try:
        found = float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        found = 0.0
    if not 0.0 < found < (10.0 if text.endswith("%") else 1.0):
        raise parameter("error", "a relative error above 0 and below 1, such as 0.05 or '5%'", value)
    return found
