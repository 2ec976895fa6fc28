"""The audit of the real thing: `Sketch.update` and `Sketch.release`, with any kernel, including yours.

``scumble.audit`` knows mechanisms and laws but neither sketches nor kernels. Here they meet:

1. two synthetic neighbouring tables are released thousands of times at four rows through the public API;
2. a few releases of full size are also examined, row by row;
3. hundreds of nasty neighbouring tables (NaN, infinity, 1e308, −0.0, mixed types, empty sets) are counted, for
   several sizes and designs, and the exact counters compared.

`audit_canaries` asks for less and sees less: one release, and how many canaries in it can be told apart.
:mod:`scumble.audit.greybox` looks at every path there is, with the noise played back.

>>> from scumble.kernels import EuclideanKernel
>>> report = audit_kernel(EuclideanKernel(1.0), epsilon=3.0, releases=400, pairs=20)
>>> report.passed
True
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from scumble import grid
from scumble.audit import (
    FALSE_ALARM,
    Finding,
    Report,
    Samples,
    collect,
    examine,
    full_size_findings,
    sensitivity_finding,
)
from scumble.audit.canaries import least_epsilon, p_value
from scumble.design import DESIGNS
from scumble.design.random import to_unit, words
from scumble.errors import DataError, ParameterError
from scumble.kernels import EuclideanKernel, HammingKernel, Kernel
from scumble.privacy.calibration import calibrate
from scumble.privacy.exact import as_count
from scumble.release import Release
from scumble.sketch import Sketch
from scumble.spec import Spec

ROWS, BUCKETS = 4, 16
FULL_ROWS, FULL_BUCKETS, FULL_RELEASES = 200, 256, 3
MOST_RECORDS = 12

Columns = dict[str, Any]


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
    """Audit the release path with this kernel: all three layers.

    Parameters
    ----------
    kernel : Kernel or None
        Any scumble kernel; its columns are filled with synthetic records.
    epsilon, delta, neighbors, records_per_person : float, {"add-remove", "replace"} or int
        The promise to be tested. ε of 2 or 3 shows most in few releases.
    releases : int
        How many, of each of the two neighbours.
    pairs : int
        How many pairs of neighbouring tables, for the third layer.
    seed : int
        The seed of the synthetic tables. The noise has none.
    """
    kernel = EuclideanKernel(1.0) if kernel is None else kernel
    budget: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbors": neighbors,
        "records_per_person": records_per_person,
    }
    maker = TableMaker(kernel, seed)
    promise = f"ε = {epsilon:g}, δ = {delta:g}, {neighbors}"
    people = f", {records_per_person} records per person" if records_per_person > 1 else ""
    found = [
        *small_findings(maker, budget, releases, false_alarm / 2),
        *_full_size(maker, budget, false_alarm / 2),
        *_sensitivity(maker, pairs, neighbors),
    ]
    return Report(f"Sketch.release with {kernel!r}: {promise}{people}", false_alarm, tuple(found))


class ReleasePath:
    """The public path from a table to a release, as a mechanism.

    With δ > 0 the search for σ takes longer than all the rest, and every release would search for the same σ: `many`
    then calibrates once and draws for all. The full-size releases of the audit take the public path in either case.
    """

    def __init__(self, spec: Spec, budget: dict[str, Any]) -> None:
        self._spec, self._budget = spec, budget

    def exact(self, table: Columns) -> np.ndarray:
        """The exact counters."""
        return exact_counters(self._spec, table)

    def __call__(self, table: Columns) -> tuple[np.ndarray, int | None]:
        release = Sketch.from_spec(self._spec, threads=1).update(table).release(**self._budget)
        return release.counts, release.metadata()["noisy_count"]

    def many(self, table: Columns, n: int) -> Samples:
        """Many releases of one table; under Gaussian noise from one calibration, for that is what takes time."""
        if self._budget["delta"] == 0.0:
            return collect(self.__call__, table, n)
        exact = self.exact(table)
        calibration = calibrate(self._spec.rows, **self._budget)
        counts = exact + calibration.draw_counters((n, *exact.shape))
        if calibration.count_scale is None:
            return Samples(counts)
        return Samples(counts, exact[0].sum() + np.array([calibration.draw_count() for _ in range(n)]))


def exact_counters(spec: Spec, table: Columns) -> np.ndarray:
    """The exact counters of a table; records that cannot be read are dropped."""
    return Sketch.from_spec(spec, invalid="drop", threads=1).update(table).contents()[1]["counts"]


# ---- one release, many canaries ----

CANARIES, CANARY_ROWS, CANARY_BUCKETS = 1000, 1, 1 << 16
"""One row: there a record's whole budget is on one counter, and the guesses are as good as ε allows."""


def audit_canaries(
    *,
    epsilon: float = 1.0,
    delta: float = 0.0,
    rho: float | None = None,
    count: int = CANARIES,
    mutant: str | None = None,
    false_alarm: float = FALSE_ALARM,
) -> Report:
    """A lower bound on ε from one release that has canaries in it; see :mod:`scumble.audit.canaries`.

    A thousand usual records and `count` canaries, each of which is in or out by the toss of a coin, go through
    `Sketch.update` and `Sketch.release`; then `kernel_sum` at each canary is the guess. With Gaussian noise only the
    third of the canaries whose answers are most extreme is guessed at: in the middle it says next to nothing. And as a
    thousand canaries cannot rule out a thousand failures of probability δ, the claim is tested at a far smaller δ, with
    the larger ε that the same claim implies there (`PrivacyClaim.equivalent`).

    Parameters
    ----------
    epsilon, delta : float
        The promise to be tested, under add-remove.
    rho : float or None
        A promise in ρ instead of ε: its noise is Gaussian.
    count : int
        How many canaries.
    mutant : str or None
        The name of a wrong mechanism (:mod:`scumble.audit.mutants`) to release in place of ours.

    >>> audit_canaries(epsilon=1.0).passed
    True
    >>> audit_canaries(epsilon=1.0, mutant="scale-over-n").passed
    False
    """
    as_count("count", count, "1000 find what matters.")
    there = np.frombuffer(os.urandom(count), np.uint8) % 2 == 1
    names = np.array([f"canary {k}" for k in range(count)], object)
    usual = np.array([f"somebody {k % 20}" for k in range(1000)], object)
    spec = Spec(HammingKernel(), 1, ("name",), CANARY_ROWS, CANARY_BUCKETS, 7, "iid")
    sketch = Sketch.from_spec(spec, threads=1).update({"name": np.concatenate([usual, names[there]])})
    if mutant is None:
        release = sketch.release(epsilon=epsilon if rho is None else None, delta=delta, rho=rho)
    else:
        release = _mutated(mutant, spec, {"name": usual}, sketch, epsilon, delta)
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


def _mutated(name: str, spec: Spec, usual: Columns, sketch: Sketch, epsilon: float, delta: float) -> Release:
    """A release by a wrong mechanism."""
    from scumble.audit.mutants import Mutant

    calibration = calibrate(spec.rows, epsilon=epsilon, delta=delta)
    exact = sketch.contents()[1]["counts"]
    samples = Mutant(name, (exact_counters(spec, usual), exact), calibration).many(exact, 1)
    return Release(
        spec,
        samples.counts[0],
        calibration.claim,
        noisy_count=None if samples.count is None else int(samples.count[0]),
        counter_variance=calibration.counter_variance,
        count_variance=calibration.count_variance or 0.0,
    )


# ---- layers 1 and 2 ----


def small_findings(maker: TableMaker, budget: dict[str, Any], releases: int, alpha: float) -> list[Finding]:
    """Thousands of releases of two neighbours at four rows, through the public API."""
    spec, here, there = neighbouring_tables(maker, budget)
    path = ReleasePath(spec, budget)
    exact = path.exact(here), path.exact(there)
    claim = calibrate(spec.rows, **budget).claim
    samples = [collect(path, table, releases) for table in (here, there)]
    return examine(samples[0], samples[1], claim, exact=exact, alpha=alpha)


def neighbouring_tables(maker: TableMaker, budget: dict[str, Any]) -> tuple[Spec, Columns, Columns]:
    """Nine equal records, and the same with one (or a person's) more or replaced by others.

    The hash seed is searched for one under which the new record falls into empty cells, in different columns: there
    most mistakes can be seen.
    """
    people, base = budget["records_per_person"], 8 + budget["records_per_person"]
    usual, new = maker.distinct()
    best: tuple[int, Spec] | None = None
    stays = base - people if budget["neighbors"] == "replace" else base
    here, there = [usual] * base, [usual] * stays + [new] * people
    tables = maker.table(here), maker.table(there)
    for seed in range(64):
        spec = maker.spec(rows=ROWS, buckets=BUCKETS, seed=seed, design="iid")
        one, two = exact_counters(spec, tables[0]), exact_counters(spec, tables[1])
        rows, buckets = np.nonzero((one == 0) & (two > 0))
        score = len(set(rows.tolist())) + len(set(buckets.tolist()))
        if best is None or score > best[0]:
            best = score, spec
        if score == 2 * ROWS:
            break
    assert best is not None
    return best[1], *tables


def _full_size(maker: TableMaker, budget: dict[str, Any], alpha: float) -> list[Finding]:
    table = maker.table([maker.record(hostile=False) for _ in range(50)])
    spec = maker.spec(rows=FULL_ROWS, buckets=FULL_BUCKETS, seed=1, design="iid")
    path = ReleasePath(spec, budget)
    claim = calibrate(spec.rows, **budget).claim
    # Not by `many`: these releases take the public path whatever δ is.
    samples = collect(path.__call__, table, FULL_RELEASES)
    return full_size_findings(samples, path.exact(table), claim, alpha=alpha)


# ---- layer 3 ----


def _sensitivity(maker: TableMaker, pairs: int, neighbors: str) -> list[Finding]:
    sizes = [(1, 1), (3, 2), (8, 7), (5, 64), (17, 1000)]
    specs = [
        maker.spec(rows=rows, buckets=buckets, seed=rows, design=DESIGNS[k % len(DESIGNS)])
        for k, (rows, buckets) in enumerate(sizes)
    ]
    if (gridded := maker.grid_spec()) is not None:
        specs.append(gridded)
    each = max(1, pairs // len(specs))
    found = []
    for spec in specs:

        def count(table: Columns, spec: Spec = spec) -> np.ndarray:
            return exact_counters(spec, table)

        found.append(
            sensitivity_finding(
                count,
                maker.pairs(each, neighbors),
                name=f"{spec.rows} × {spec.buckets} {spec.design}",
                neighbors=neighbors,
            )
        )
    return found


# ---- synthetic tables ----

_NUMBERS: Sequence[float] = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, -1e-308, 2.0**31, -(2.0**31), 2.0**53, 1e15, 1e300, -1e300, 1e308, -1e308),
    *(np.inf, -np.inf, np.nan),
)
_CATEGORIES: Sequence[Any] = ("a", "b", "", "1", 1, 1.0, True, 2**70, -0.0, 0, 0.1, "ä", None, float("nan"), "nan")
_TOKENS: Sequence[Any] = ([], ["a"], ["b", "a"], ["a", "a"], "a b", "", None, ["a", None], [1, "1"], ["x"] * 50)


class TableMaker:
    """Synthetic tables that a kernel can read, from a seed: harmless ones, and as nasty as they come."""

    def __init__(self, kernel: Kernel, seed: int = 0) -> None:
        self.kernel = kernel
        self._seed, self._drawn = seed, 0
        self._ahead: list[int] = []
        self.names = _names_of(kernel)
        self._values = {name: _values_of(kernel, self.names, name) for name in self.names}

    def spec(self, *, rows: int, buckets: int, seed: int, design: str) -> Spec:
        """The parameters of a sketch of these columns."""
        return Spec(self.kernel, len(self.names), tuple(self.names), rows, buckets, seed, design)

    def grid_spec(self) -> Spec | None:
        """A grid of four cells along each axis, if the kernel can have one."""
        width = len(self.names)
        if grid.supports(self.kernel, width, self.names):
            return None
        shape, bounds = (4,) * len(self.kernel.which(width, self.names)), ((-10.0,) * width, (10.0,) * width)
        return Spec(self.kernel, width, tuple(self.names), 1, 4 ** len(shape), 0, "grid", bounds, shape)

    def below(self, n: int) -> int:
        """A random whole number below n."""
        if not self._ahead:
            self._ahead = words(self._seed, 0xA0D17, 64, first=self._drawn + 1).tolist()[::-1]
            self._drawn += 64
        return self._ahead.pop() % n

    def record(self, *, hostile: bool = True) -> dict[str, Any]:
        """A random record; `hostile` ones hold odd cells."""
        return {name: self._cell(kind, hostile) for name, kind in self._values.items()}

    def _cell(self, kind: str, hostile: bool) -> Any:
        if kind == "tokens":
            return _TOKENS[self.below(len(_TOKENS))] if hostile else [f"t{self.below(20)}" for _ in range(3)]
        if kind == "category":
            return _CATEGORIES[self.below(len(_CATEGORIES))] if hostile else f"c{self.below(20)}"
        if kind == "flag":
            return (0.0, 1.0, np.nan)[self.below(3 if hostile else 2)]
        if hostile and self.below(2):
            return _NUMBERS[self.below(len(_NUMBERS))]
        return 20.0 * float(to_unit(np.array([self.below(2**63)], np.uint64) << np.uint64(1))[0]) - 10.0

    def distinct(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Two records that have little in common."""
        far: dict[str, Any] = {
            "number": (-31.7, 47.3),
            "flag": (1.0, 0.0),
            "category": ("left", "right"),
            "tokens": (["l"], ["r"]),
        }
        one, two = ({name: far[kind][k] for name, kind in self._values.items()} for k in (0, 1))
        # Directions must differ too, for kernels that only see those.
        for k, name in enumerate(self.names):
            if self._values[name] == "number" and k % 2:
                two[name] = -two[name] / 3.0
        return one, two

    def table(self, records: Sequence[dict[str, Any]]) -> Columns:
        """Records as columns: numbers as float64, all else as objects."""
        columns: Columns = {}
        for name, kind in self._values.items():
            column = np.empty(len(records), np.float64 if kind in ("number", "flag") else object)
            for i, record in enumerate(records):
                column[i] = record[name]
            columns[name] = column
        return columns

    def pairs(self, count: int, neighbors: str) -> Iterator[tuple[Columns, Columns]]:
        """Neighbouring tables: one record less, or another one in its place.

        Where replacing makes N public the records are readable ones: one that is dropped would change N.
        """
        for _ in range(count):
            hostile = neighbors == "add-remove"
            records = [self.record(hostile=hostile) for _ in range(1 + self.below(MOST_RECORDS))]
            i = self.below(len(records))
            rest = records[:i] + records[i + 1 :]
            other = rest if neighbors == "add-remove" else [*records[:i], self.record(hostile=False), *records[i + 1 :]]
            yield self.table(records), self.table(other)


def _names_of(kernel: Kernel) -> list[str]:
    """Names for the columns that the kernel reads: its own where it has some, else three."""
    named = [c for factor in kernel.factors for c in factor.columns or () if isinstance(c, str)]
    places = [c for factor in kernel.factors for c in factor.columns or () if not isinstance(c, str)]
    if named and places:
        raise ParameterError("The kernel names some columns and numbers others. Hint: use names throughout.")
    if named:
        return list(dict.fromkeys(named))
    return [f"column {k}" for k in range(max(places, default=2) + 1)]


def _values_of(kernel: Kernel, names: Sequence[str], name: str) -> str:
    """What a column must hold: the first kind of cell that all factors which read it accept."""
    j = names.index(name)
    mine = [factor for factor in kernel.factors if j in factor.which(len(names), names)]
    if any(factor.reads == "tokens" for factor in mine):
        alone = all(len(factor.which(len(names), names)) == 1 for factor in mine)
        return "tokens" if alone else "flag"
    if mine and all(factor.reads == "category" for factor in mine):
        return "category"
    return "number"


# ---- anything else ----


def load_target(text: str) -> Any:
    """The object that ``module:name`` names: a kernel, a class of kernels, or a mechanism."""
    import importlib
    import os
    import sys

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
    from scumble.audit import audit

    here = [0.0] * 9
    there = [*here, 1.0] if neighbors == "add-remove" else [*here[:-1], 1.0]
    promise = (float(epsilon), float(delta))
    return audit(mechanism, here, there, promise, releases=releases, false_alarm=false_alarm, subject=subject)
