"""The audit of the real thing: `Sketch.update` and `Sketch.release`, with any kernel, including yours.

>>> from scumble.kernels import EuclideanKernel
>>> audit_kernel(EuclideanKernel(1.0), epsilon=3.0, releases=400, pairs=20).passed
True
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from scumble.audit import FALSE_ALARM, audit, examine, full_size_findings
from scumble.audit.epsilon import collect, least_epsilon, p_value
from scumble.audit.mutants import Mutant
from scumble.audit.report import Finding, Options, Report
from scumble.audit.sensitivity import Columns, TableMaker, sensitivity_finding
from scumble.density.release import Release
from scumble.density.sketch import Sketch
from scumble.density.spec import Spec
from scumble.errors import DataError, ParameterError
from scumble.kernels import EuclideanKernel, HammingKernel, Kernel
from scumble.kernels.design import DESIGNS
from scumble.privacy.budget import calibrate
from scumble.privacy.exact import as_count

ROWS, BUCKETS = 4, 16
FULL_ROWS, FULL_BUCKETS, FULL_RELEASES = 200, 256, 3
SIZES = ((1, 1), (3, 2), (8, 7), (5, 64), (17, 1000))
"""Rows and buckets of the sketches whose exact counters are compared."""


def audit_kernel(
    kernel: Kernel | None = None,
    *,
    epsilon: float = 2.0,
    delta: float = 0.0,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    releases: int = 12_500,
    pairs: int = 300,
    seed: int = 0,
    false_alarm: float = FALSE_ALARM,
) -> Report:
    """Audit the release path with this kernel, in all three layers.

    Two synthetic neighboring tables are released thousands of times at four rows through the public API; a few
    releases of full size are examined row by row; and the exact counters of hundreds of hostile neighboring tables are
    compared, for several sizes and designs. `releases` are of each neighbor, `pairs` are for the third layer, and
    `seed` makes the tables; the noise has none. ε of 2 or 3 shows most in few releases.
    """
    kernel = EuclideanKernel(1.0) if kernel is None else kernel
    budget: Options = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbors": neighbors,
        "records_per_person": records_per_person,
    }
    maker = TableMaker(kernel, seed)
    spec, *tables = neighboring_tables(maker, budget)
    here, there = (collect(partial(_released, spec, budget), table, releases) for table in tables)
    exact = exact_counters(spec, tables[0]), exact_counters(spec, tables[1])
    found = examine(here, there, calibrate(spec.rows, **budget), exact=exact, alpha=false_alarm / 2)
    table = maker.table([maker.record(hostile=False) for _ in range(50)])
    spec = maker.spec(rows=FULL_ROWS, buckets=FULL_BUCKETS, seed=1, design="iid")
    samples = collect(partial(_released, spec, budget), table, FULL_RELEASES)
    claim = calibrate(spec.rows, **budget)
    found += full_size_findings(samples, exact_counters(spec, table), claim, alpha=false_alarm / 2)
    found += sensitivity_findings(maker, pairs, neighbors)
    people = f", {records_per_person} records per person" if records_per_person > 1 else ""
    promise = f"ε = {epsilon:g}, δ = {delta:g}, {neighbors}{people}"
    return Report(f"Sketch.release with {kernel!r}: {promise}", false_alarm, tuple(found))


def _released(spec: Spec, budget: Options, table: Columns) -> tuple[np.ndarray, int | None]:
    """One release of a table, by the public path."""
    release = Sketch.from_spec(spec, threads=1).update(table).release(**budget)
    return release.counts, release.metadata()["noisy_count"]


def exact_counters(spec: Spec, table: Columns) -> np.ndarray:
    """The exact counters of a table; records that cannot be read are dropped."""
    return Sketch.from_spec(spec, invalid="drop", threads=1).update(table).contents()[1]["counts"]


def neighboring_tables(maker: TableMaker, budget: Options) -> tuple[Spec, Columns, Columns]:
    """Nine equal records, and the same with one (or a person's) more or replaced by others.

    The hash seed is one under which the new record falls into empty cells, in different columns, if there is one:
    there most mistakes can be seen.
    """
    people = budget["records_per_person"]
    usual, new = maker.distinct()
    stays = 8 if budget["neighbors"] == "replace" else 8 + people
    here, there = maker.table([usual] * (8 + people)), maker.table([usual] * stays + [new] * people)

    def new_cells(spec: Spec) -> int:
        rows, buckets = np.nonzero((exact_counters(spec, here) == 0) & (exact_counters(spec, there) > 0))
        return len(set(rows.tolist())) + len(set(buckets.tolist()))

    specs = [maker.spec(rows=ROWS, buckets=BUCKETS, seed=seed, design="iid") for seed in range(64)]
    best = next((spec for spec in specs if new_cells(spec) == 2 * ROWS), None)
    return best or max(specs, key=new_cells), here, there


def sensitivity_findings(maker: TableMaker, pairs: int, neighbors: str) -> list[Finding]:
    """Layer 3 on this many pairs of neighboring tables, in sketches of several sizes and designs, and on a grid."""
    specs = [
        maker.spec(rows=rows, buckets=buckets, seed=rows, design=DESIGNS[k % len(DESIGNS)])
        for k, (rows, buckets) in enumerate(SIZES)
    ]
    specs += [gridded] if (gridded := maker.grid_spec()) is not None else []
    return [
        sensitivity_finding(
            partial(exact_counters, spec),
            maker.pairs(max(1, pairs // len(specs)), neighbors),
            name=f"{spec.rows} × {spec.buckets} {spec.design}",
            neighbors=neighbors,
        )
        for spec in specs
    ]


# ---- one release, many canaries ----


def audit_canaries(
    *,
    epsilon: float = 1.0,
    delta: float = 0.0,
    rho: float | None = None,
    count: int = 1000,
    mutant: str | None = None,
    false_alarm: float = FALSE_ALARM,
) -> Report:
    """A lower bound on ε from one release that has canaries in it; see :mod:`scumble.audit.epsilon`.

    A thousand usual records and `count` canaries, each of which is in or out by the toss of a coin, go through
    `Sketch.update` and `Sketch.release` at one row, where a record's whole budget is on one counter; then `kernel_sum`
    at each canary is the guess. With Gaussian noise only the third of the canaries whose answers are most extreme is
    guessed at. As a thousand canaries cannot rule out a thousand failures of probability δ, the claim is tested at a
    far smaller δ, with the larger ε that it implies there (`PrivacyClaim.equivalent`). A `mutant` releases in place of
    the real path.

    >>> audit_canaries(epsilon=1.0).passed
    True
    >>> audit_canaries(epsilon=1.0, mutant="scale-over-n").passed
    False
    """
    as_count("count", count, "1000 find what matters.")
    there = np.frombuffer(os.urandom(count), np.uint8) % 2 == 1
    names = np.array([f"canary {k}" for k in range(count)], object)
    usual = np.array([f"somebody {k % 20}" for k in range(1000)], object)
    spec = Spec(HammingKernel(), 1, ("name",), 1, 1 << 16, 7, "iid")
    table = {"name": np.concatenate([usual, names[there]])}
    if mutant is None:
        sketch = Sketch.from_spec(spec, threads=1).update(table)
        release = sketch.release(epsilon=epsilon if rho is None else None, delta=delta, rho=rho)
    else:
        exact = exact_counters(spec, {"name": usual}), exact_counters(spec, table)
        release = _mutated(mutant, spec, exact, epsilon, delta)
    scores = release.kernel_sum({"name": names}) - 0.5
    guessed = np.ones(count, bool)
    if not release.privacy.law.pure:
        guessed = np.abs(scores) >= np.quantile(np.abs(scores), 2.0 / 3.0)
    guesses, right = int(guessed.sum()), int(((scores > 0) == there)[guessed].sum())
    failure = min(delta, false_alarm / (4 * count))
    claimed = release.privacy.equivalent(failure)
    least = least_epsilon(count, guesses, right, failure, alpha=false_alarm)
    at = f" at δ = {failure:.1g}" if failure else ""
    found = Finding(
        1,
        "canaries",
        p_value(count, guesses, right, claimed, failure) >= false_alarm,
        f"{right} of {guesses} guesses right: ε is at least {least:.3g}; claimed {claimed:.3g}{at}",
        {"canaries": count, "guesses": guesses, "right": right, "epsilon": least, "claimed": claimed, "delta": failure},
    )
    subject = "one Sketch.release" if mutant is None else f"one release by the mutant {mutant!r}"
    return Report(f"{subject} with {count:,} canaries: ε = {epsilon:g}, δ = {delta:g}", false_alarm, (found,))


def _mutated(name: str, spec: Spec, exact: tuple[np.ndarray, np.ndarray], epsilon: float, delta: float) -> Release:
    """A release of the second table by a wrong mechanism."""
    claim = calibrate(spec.rows, epsilon=epsilon, delta=delta)
    samples = Mutant(name, exact, claim).many(exact[1], 1)
    return Release(
        spec,
        samples.counts[0],
        claim,
        noisy_count=None if samples.count is None else int(samples.count[0]),
        counter_variance=claim.counter_variance,
        count_variance=claim.count_variance or 0.0,
    )


# ---- anything else ----


def load_target(text: str) -> Any:
    """The object that ``module:name`` names: a kernel, a class of kernels, or a mechanism."""
    module, mark, name = text.partition(":")
    if not mark or not module or not name:
        raise ParameterError(f"{text!r} must look like module:name, such as mypackage.mechanisms:release.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as problem:
        raise DataError(f"Cannot find {text!r}: {problem}.") from problem
    if isinstance(found, type) and issubclass(found, Kernel):
        return found()
    if not isinstance(found, Kernel) and not callable(found):
        raise DataError(f"{text!r} must be a kernel or a function from a list of records to whole numbers.")
    return found


def audit_mechanism(
    mechanism: Callable[[Any], Any],
    *,
    epsilon: float,
    delta: float = 0.0,
    neighbors: str = "add-remove",
    releases: int = 12_500,
    false_alarm: float = FALSE_ALARM,
    subject: str = "a mechanism",
) -> Report:
    """Layer 1 on anybody's mechanism: it is given a list of numbers, nine zeros and one more that is 1 (or replaced).

    >>> from scumble.privacy import discrete_laplace
    >>> audit_mechanism(lambda data: [len(data) + discrete_laplace(0.5, 1)[0]], epsilon=1.0, releases=2000).passed
    False
    """
    here = [0.0] * 9
    there = [*here, 1.0] if neighbors == "add-remove" else [*here[:-1], 1.0]
    promise = (float(epsilon), float(delta))
    return audit(mechanism, here, there, promise, releases=releases, false_alarm=false_alarm, subject=subject)
