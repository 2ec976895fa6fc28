"""What will come out: the plan that people ask for, made by what will decide.

A build that leaves its size open counts the most that could pay (:mod:`scumble.planning.start`), and its release
chooses from noisy facts what to publish (:mod:`scumble.planning.later`). `plan` asks the same two, with the facts
that so many records of such a density would have. So it tells what `build` will do; how far that is off depends on how
far the density is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod, sqrt
from typing import Any

from scumble import checks
from scumble.errors import ParameterError
from scumble.kernels import Kernel
from scumble.planning.later import Menu, noise_of_sums
from scumble.planning.plans import Bounds, Plan, best_count_share, counting_seconds, file_bytes, plan_within, rows_error
from scumble.planning.start import choose, spec_of
from scumble.planning.wanted import least
from scumble.privacy.budget import Budget
from scumble.reading.spread import row_spread
from scumble.schema.declarations import Declarations
from scumble.spec import Spec
from scumble.tables.roles import in_order


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
    """What `build` would publish of `n` records (roughly; a public number), and the error to expect.

    The budget is ε and δ, or `rho`, or `mu`, as of :meth:`scumble.Sketch.release`. Or give `error`, the relative error
    that is wanted (0.05 or "5%"): the plan then has the least ε with which that is to be expected.
    `refined` plans for answers that are refined (`scumble.learn.refine`, as `PrivateKDE` does): those need fewer rows.
    `declared` are columns that hold whole numbers, dates, times or booleans, by the options of :func:`scumble.build`:
    `whole`, `dates`, `times`, `booleans`.

    >>> from scumble.kernels import EuclideanKernel
    >>> chosen = plan(n=1_000_000, dimensions=8, epsilon=1.0, kernel=EuclideanKernel(1.0))
    >>> chosen.rows >= 256 and chosen.relative_error < 0.05
    True
    >>> plan(n=100_000, dimensions=8, error="2%", kernel=EuclideanKernel(1.0)).epsilon
    0.23
    """
    if kernel is None:
        raise ParameterError(
            "Give `kernel`: the plan depends on it, for example scumble.EuclideanKernel(bandwidth=1.0)."
        )
    given = Declarations.taken(declared)
    if declared:
        raise TypeError(f"plan() got an unexpected keyword argument {next(iter(declared))!r}")
    options: dict[str, Any] = {"columns": columns, "design": design, "rows": rows, "buckets": buckets}
    options |= {"density": density, "bounds": in_order(given.bounds(bounds), kernel, columns), "refined": refined}
    kinds = given.require_of(kernel, columns)

    def make(wanted: float | None) -> Plan:
        budget = Budget.of(wanted, delta, neighbors, records_per_person, rho=rho, mu=mu)
        return foretold(budget, n, dimensions, kernel, kinds, **options)

    if error is None:
        return make(epsilon)
    if (epsilon, rho, mu) != (None, None, None):
        raise ParameterError("Give a budget or `error`, the error that is wanted: the plan finds the other.")
    return least(make, error)


def foretold(budget: Budget, n: int, dimensions: int, kernel: Kernel, kinds: Mapping[str, str], **options: Any) -> Plan:
    """What a build with these options would publish of `n` records of this density."""
    chosen = _chosen(budget, n, dimensions, kernel, kinds, **options)
    noise = _noise_of_sums(chosen, kernel, options["columns"], budget.calibrate(chosen.rows).counter_variance)
    return replace(chosen, count_share=best_count_share(budget, chosen.rows, chosen.buckets, noise, n))


def _noise_of_sums(chosen: Plan, kernel: Kernel, columns: Sequence[str] | None, variance: float) -> float:
    """The relative standard error of a typical sum by noise of this variance on counters alone."""
    size: dict[str, Any] = {"rows": chosen.rows, "buckets": chosen.buckets, "design": chosen.design}
    cells = {"shape": chosen.shape, "bounds": chosen.bounds} if chosen.shape is not None else {}
    names = None if columns is None else tuple(columns)
    spec = Spec(kernel, chosen.dimensions, names, seed=0, **size, **cells)  # type: ignore[arg-type]
    return noise_of_sums(spec, variance, chosen.n, chosen.density)


def _chosen(budget: Budget, n: int, dimensions: int, kernel: Kernel, kinds: Mapping[str, str], **options: Any) -> Plan:
    """The same, but for the share of the count."""
    first = plan_within(budget, n, dimensions, kernel, **options)
    about: dict[str, Any] = {"dimensions": dimensions, "columns": options["columns"]}
    size = {name: options[name] for name in ("rows", "buckets", "design", "bounds")}
    fields, planned = choose(
        kernel, **about, **size, kinds=kinds, budget=budget, n=n, density=options["density"], refined=options["refined"]
    )
    if not planned and fields["shape"] == first.shape:
        return first
    names = None if about["columns"] is None else tuple(about["columns"])
    counted = spec_of(kernel, dimensions, names, tuple(kinds.items()), **fields)
    if not planned:
        claimed = budget.calibrate(counted.rows).counter_variance
        return replace(first, **_published(counted, claimed, n, first.density, options["refined"]))
    menu = Menu(counted, budget, planned, refined=options["refined"])
    chosen, error = menu.expected(n, first.density)
    made = _published(chosen, menu.noise_variance(chosen.rows), n, first.density, options["refined"], error)
    seconds = counting_seconds(kernel, n, counted.rows, gridded=counted.shape is not None)
    if counted.shape is not None and chosen.shape is None:
        seconds += counting_seconds(kernel, n, chosen.rows)  # its cells' records once more, at the release
    denser = menu.denser(n, first.density)
    later = {"denser": denser.shape or (denser.rows,), "denser_design": denser.design, "either": menu.either}
    return replace(first, **made, seconds=seconds, **later)  # type: ignore[arg-type]


def _published(
    spec: Spec, variance: float, n: int, density: float, refined: bool, relative: float | None = None
) -> dict[str, Any]:
    """The size of what is published, and the error to expect of it at this density."""
    f = density * n
    if spec.shape is None:
        about = (spec.kernel, spec.design, spec.rows, spec.buckets)
        if relative is None:
            relative = rows_error(*about, density, n, sqrt(variance / spec.rows), spec.dimensions if refined else None)
        error = sqrt((row_spread(spec.kernel, spec.design, spec.buckets, n, f) + f + variance) / spec.rows)
    else:
        relative = spec.layout.relative_error(variance, n, density) if relative is None else relative
        error = relative * f
    size = {"design": spec.design, "rows": spec.rows, "buckets": spec.buckets, "shape": spec.shape}
    sizes = {**size, "bytes": file_bytes(prod(spec.counters)), "bounds": spec.bounds}
    return {**sizes, "relative_error": relative, "standard_error": error}
