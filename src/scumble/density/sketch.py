"""Sketches: exact, secret counters."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from scumble import checks, files
from scumble.checks import Json
from scumble.columns.kinds import bounds_by, declared, in_order, require_read
from scumble.counting import ENGINES
from scumble.counting.guard import Known
from scumble.density.answers import Answers
from scumble.density.layout import Estimate, Reader
from scumble.density.plan import Bounds, choose
from scumble.density.planned_release import publish_planned
from scumble.density.release import Release
from scumble.density.release_plan import Menu
from scumble.density.share import Share
from scumble.density.spec import Spec
from scumble.errors import CorruptFileError, MergeError, ParameterError, PrivacyError, parameter
from scumble.gate import gate
from scumble.gate.gate import Holder
from scumble.gate.secret import Secret, require_unreleased
from scumble.gate.spending import Prepaid
from scumble.kernels import Kernel, Records
from scumble.privacy.account import Account, Promise, charged
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number

if TYPE_CHECKING:
    from scumble.privacy.ledger import Ledger


class Readings(NamedTuple):
    """Records ready to be counted, one set per factor of the kernel; as secret as the table.

    `of` is the spec they were read with, `dropped` the number of dropped rows.
    """

    of: Spec
    records: list[Records]
    dropped: int

    def __repr__(self) -> str:
        return "Readings(secret)"


class Sketch(Holder, Answers):
    """R rows of W exact counters. Each record adds one to exactly one counter in every row.

    A sketch is secret: it is never printed, pickled or logged with its counts. Threads may share one.

    Parameters
    ----------
    kernel : Kernel
        What "near" means.
    dimensions : int or None
        How many columns a record has; may be left out if `columns` is given.
    columns : sequence of str or None
        The columns' names, in order; named tables are then read by name.
    rows, buckets : int, sequence of int or None
        The size. If `rows` (or the cells of a grid) are left out, the release decides from a few noisy facts how much
        to publish. For a grid, `buckets` may be the cells along each axis.
    seed : int
        The public seed of the hash functions; sketches merge only if their seeds are equal.
    design : {"auto", "iid", "sobol", "orthogonal", "grid"}
        How rows are drawn, or "grid" (needs `bounds`); "auto" lets the plan choose.
    bounds : pair of float, pair of array-like, mapping or None
        Public (low, high), each a number or one per column; or a pair by column, ``{"age": (0, 100)}``.
    whole, dates, times, booleans : sequence of str or None
        Columns that hold whole numbers, dates, times or booleans; see :func:`scumble.build`.
    invalid : {"error", "drop"}
        What to do with records that have missing, infinite or unreadable values.
    engine : {"auto", "cpu", "gpu", "reference"}
        What counts and answers queries. All give the same counters.
    threads : int or None
        How many threads count; None for one per core.

    >>> import numpy as np
    >>> from scumble.kernels import EuclideanKernel
    >>> sketch = Sketch(EuclideanKernel(bandwidth=2.0), dimensions=1, rows=64, buckets=128, seed=7)
    >>> sketch.update(np.arange(1000.0)).kernel_sum([[500.0]]).shape
    (1,)
    """

    _spec: Spec

    def __init__(
        self,
        kernel: Kernel,
        dimensions: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        rows: int | None = None,
        buckets: int | Sequence[int] | None = None,
        seed: int = 0,
        design: str = "auto",
        bounds: Bounds | checks.Ranges = None,
        whole: Sequence[str] | None = None,
        dates: Sequence[str] | None = None,
        times: Sequence[str] | None = None,
        booleans: Sequence[str] | None = None,
        invalid: str = "error",
        engine: str = "auto",
        threads: int | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise parameter("kernel", "a scumble kernel, such as scumble.EuclideanKernel(bandwidth=1.0)", kernel)
        seed = checks.seed(seed)
        names = None if columns is None else _names(columns)
        if dimensions is None and names is None:
            raise ParameterError("Give `dimensions`, the number of columns, or `columns`, their names.")
        width = checks.whole("dimensions", len(names or ()) if dimensions is None else dimensions)
        if names is not None and len(names) != width:
            raise parameter("dimensions", f"{len(names)}, the number of `columns`", width)
        kinds = declared(whole, dates, times, booleans)
        require_read(kinds, kernel, names)
        size: Json = {"rows": rows, "buckets": _buckets(buckets), "design": design, "seed": seed}
        ends = in_order(bounds_by(kinds, bounds), kernel, names)
        spec, planned = choose(kernel, dimensions=width, columns=names, kinds=kinds, bounds=ends, **size)
        self._start(spec, invalid, engine, threads, planned)

    def _start(self, spec: Spec, invalid: str, engine: str, threads: int | None, planned: int) -> None:
        if engine not in ENGINES:
            raise parameter("engine", f"one of {', '.join(ENGINES)}", engine)
        if threads is not None:
            checks.whole("threads", threads)
        if invalid not in ("error", "drop"):
            raise parameter("invalid", "'error' or 'drop'", invalid)
        self._spec, self._invalid, self._engine, self._threads = spec, invalid, engine, threads
        self._hold(Secret(spec, drops=invalid == "drop", planned=planned))
        spec.prepare()  # now, so bad parameters fail before the first record

    @staticmethod
    def from_spec(
        spec: Spec, *, invalid: str = "error", engine: str = "auto", threads: int | None = None, planned: int = 0
    ) -> Sketch:
        """An empty sketch with these parameters; `planned` says what its release decides (`Sketch.planned`)."""
        sketch = object.__new__(Sketch)
        sketch._start(spec, invalid, engine, threads, planned)
        return sketch

    def empty(self) -> Sketch:
        """A sketch with the same parameters and options, and no records."""
        options: Json = {"invalid": self._invalid, "engine": self._engine, "threads": self._threads}
        return Sketch.from_spec(self._spec, **options, planned=self.planned)

    @property
    def _counts(self) -> np.ndarray:
        return self.secret.counts

    @property
    def planned(self) -> int:
        """What the release decides: 0 nothing, 1 the number of rows or cells, 2 also whether a grid becomes rows."""
        return self.secret.planned

    def price(self, budget: Budget) -> PrivacyClaim:
        """The claim of a release for this budget, known before any noise."""
        return Menu(self._spec, budget, self.planned).price if self.planned else budget.claim(self._spec.rows)

    def update(self, X: object) -> Sketch:
        """Count the records of a table: NumPy, pandas, polars or Arrow. May be called repeatedly.

        If the table is refused, none of its records is counted.
        """
        with self.secret.lock:  # another thread may be half-way
            self.secret.require_open("update")
        return self.add(self.read(X))

    def read(self, X: object) -> Readings:
        """What `update` counts of a table: a function of its records alone. Thread-safe."""
        return Readings(self._spec, *self._spec.layout.read(self._spec.declared(X), invalid=self._invalid))

    def add(self, found: Readings) -> Sketch:
        """Count the result of this sketch's `read`."""
        self._require_mine(found)
        with self.secret.changing("update") as counts:
            self._spec.layout.count(found.records, counts, engine_name=self._engine, threads=self._threads)
            self.secret.counted(len(found.records[0]))
            self.dropped += found.dropped
        return self

    def count_aside(self, found: Readings, counts: np.ndarray, known: Known) -> None:
        """Count the result of this sketch's `read` by one thread into its own counters, from `Secret.aside`."""
        self._require_mine(found)
        self._spec.layout.count_aside(found.records, counts, known)

    def _require_mine(self, found: Readings) -> None:
        if found.of is not self._spec:
            raise PrivacyError("These records were read by another sketch. Hint: call `update` of this one.")

    def release(
        self,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        *,
        rho: Number | None = None,
        mu: Number | None = None,
        count_share: Number | None = None,
        backend: str = "exact",
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        part: str | None = None,
        keep: bool = False,
    ) -> Release:
        """Add exact noise to every counter, once, and give up the exact counters.

        If `rows` were left open, a few percent of the budget pay for the facts that decide; the claim covers any
        choice. A sketch begun with `start_with_noise` already has its noise and budget: call `release()`.

        Parameters
        ----------
        epsilon, delta : float, Fraction, Decimal, str or None
            The privacy budget. δ = 0 draws discrete Laplace noise; δ > 0 the quieter of discrete Laplace (few rows; its
            claim has δ = 0) and discrete Gaussian noise.
        neighbors : {"add-remove", "replace"}
            "add-remove" hides whether a record is there; "replace" hides its content, and N is public.
        records_per_person : int
            The most records that one person may own.
        rho, mu : float, Fraction, Decimal, str or None
            The budget as zero-concentrated or Gaussian differential privacy (ρ = μ²/2) instead of ε. The noise is
            discrete Gaussian; its ε is stated at `delta`, or at 1e-6.
        count_share : float, Fraction, Decimal, str or None
            The share of the budget for the noisy count.
        backend : {"exact", "opendp"}
            "exact", or "opendp" for OpenDP's samplers.
        ledger, dataset, part : Ledger, str, path-like or None
            Charge the release to this dataset of a `scumble.Ledger` (or its path) before noise is drawn; refused if too
            little is left. `part` names one of the dataset's disjoint parts.
        keep : bool
            Keep the exact counters for a further release, which needs its own budget. Needs a ledger.
        """
        if self.noisy:
            if any(given is not None for given in (epsilon, rho, mu, ledger)) or keep:
                raise ParameterError(
                    "This sketch started with noise, and its budget is spent. Hint: call release() without a budget."
                )
            return self._published(gate.finish(self.secret))
        budget = Budget.of(epsilon, delta, neighbors, records_per_person, count_share, rho=rho, mu=mu)
        account = Account.of(ledger, dataset, part)
        return release_disjoint([self], budget, account, backend=backend, keep=keep)[0]

    def _published(self, made: gate.Published, spec: Spec | None = None) -> Release:
        return Release(spec or self._spec, **made._asdict(), engine=self._engine)

    @contextmanager
    def _decided(self, budget: Budget) -> Iterator[None]:
        """Fix now what the release would have decided; undone if what follows is refused."""
        if not self.planned:
            yield
            return
        spec, choice = Menu(self._spec, budget, self.planned).beforehand()
        with self.secret.narrowed(spec, choice.rows, choice.groups):
            yield
            self._spec = spec

    def _decide(self, budget: Budget) -> None:
        """Fix it for good."""
        with self._decided(budget):
            pass

    def start_with_noise(
        self,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        *,
        backend: str = "exact",
        **promise: Unpack[Promise],
    ) -> Sketch:
        """Draw the noise now, into the empty counters, so raw counters never exist (pan-privacy; Dwork et al. 2010).

        The arguments are those of `release`, which later only wraps the counters: `release()`. Exact answers are not
        available, and the sketch does not merge. Open `rows` are fixed now, for this budget and 100,000 records. A
        stolen sketch is worth a release, under these conditions:

        - **One look.** Two snapshots, or a snapshot and the release, have the same noise: their difference is exact. If
          a snapshot was stolen, do not publish.
        - **One file, one release.** The sketch is kept in at most one file and released once; copies and forked
          children are refused.
        - A checkpoint states how far the source was read, which reveals roughly how many records there are.
        - The current batch is in memory while it is counted.
        """
        budget, account = charged(epsilon, delta, promise)
        with self._decided(budget):
            gate.begin_with_noise([self.secret], budget, account, backend=backend)
        return self

    def release_share(
        self,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        *,
        custodians: int,
        dropouts: int = 0,
        **promise: Unpack[Promise],
    ) -> Share:
        """Add this custodian's share of the noise, and give up the exact counters.

        The shares of all `custodians` (except up to `dropouts`) add up to a release with the full noise:
        :func:`scumble.combine`. One share alone does not keep the promise (:mod:`scumble.privacy.splitting`). All
        custodians must use the same parameters, those of `release`. The budget is that of the sum and is charged in
        full to this custodian's ledger, if any. `records_per_person` counts a person's records with all custodians
        together. Open `rows` are fixed by the budget, for 100,000 records.
        """
        budget, account = charged(epsilon, delta, promise)
        with self._decided(budget):
            made = gate.publish_share(self.secret, budget, account, custodians=custodians, dropouts=dropouts)
        return Share(self._spec, made.counts, made.noisy_count, made.privacy, made.identity)

    def _estimate(self, Q: object, method: str = "mean") -> Estimate:
        with self.secret.lock:  # a release in another thread would take the counters away
            return super()._estimate(Q, method)

    def _reader(self) -> Reader:
        self._require_exact("query")
        count = (float(self.count), 0.0)
        return self._spec.layout.reader(self.secret.counts, 0.0, count, engine_name=self._engine)

    @staticmethod
    def from_container(container: files.Container, **options: Any) -> Sketch:
        """A sketch from a secret file's content."""
        require_unreleased(container)
        try:
            spec = Spec.from_dict(container.metadata["spec"])
        except KeyError as problem:
            raise CorruptFileError(f"The file lacks a part of a sketch: {problem}.") from problem
        sketch = Sketch.from_spec(spec, **options)
        sketch.secret.fill(container)
        return sketch

    def __repr__(self) -> str:
        spec = self._spec
        state = "closed" if self.secret.closed else "secret"
        return f"<Sketch ({state}): {spec.rows} x {spec.buckets} counters, {spec.design}, {spec.kernel!r}>"


def release_disjoint(
    sketches: Sequence[Sketch],
    budget: Budget,
    payer: Account | Prepaid | None = None,
    *,
    backend: str = "exact",
    keep: bool = False,
    refined: bool = False,
) -> list[Release]:
    """Release sketches of disjoint records, one per class, for the price of one; see :func:`gate.publish`.

    If rows were left open, all get the same; `refined` says that answers will be refined.
    """
    secrets, options = [sketch.secret for sketch in sketches], {"backend": backend, "keep": keep}
    if len({bool(sketch.planned) for sketch in sketches}) > 1:
        raise MergeError("Cannot release together: some sketches leave their rows open, others do not.")
    least = min(sketch.planned for sketch in sketches)
    if not least:
        plain = gate.publish(secrets, budget, payer, **options)  # type: ignore[arg-type]
        return [sketch._published(made) for sketch, made in zip(sketches, plain, strict=True)]
    menu = Menu(sketches[0].spec, budget, least, refined=refined)
    planned = publish_planned(
        secrets,
        budget,
        payer,
        rows=menu.rows,
        choose=menu.choose,
        fold=menu.fold(),
        clumped=menu.clumped,
        **options,  # type: ignore[arg-type]
    )
    return [sketch._published(one.made, menu.chosen) for sketch, one in zip(sketches, planned, strict=True)]


def _buckets(value: object) -> int | tuple[int, ...] | None:
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        try:
            return tuple(checks.whole("buckets", cells) for cells in value)
        except ParameterError:  # it has words for one number; these may be a record
            raise parameter("buckets", "whole numbers of at least 1", value) from None
    return checks.whole("buckets", value)


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    found = checks.names("columns", columns)
    if not all(isinstance(name, str) for name in found) or len(set(found)) != len(found):
        raise parameter("columns", "a list of names that differ", list(found))
    return found
