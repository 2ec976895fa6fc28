"""The secret state: exact counters, one increment per row for each record."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scumble import checks, files
from scumble.counting import ENGINES
from scumble.counting.guard import Known
from scumble.errors import CorruptFileError, MergeError, ParameterError, PrivacyError, parameter
from scumble.kernels import Kernel, Records
from scumble.planning import Bounds
from scumble.planning.later import Menu
from scumble.planning.start import choose
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number
from scumble.reading.answers import Answers
from scumble.reading.layout import Estimate, Reader
from scumble.release import Release
from scumble.releasing import gate
from scumble.releasing.holder import Holder
from scumble.releasing.planned import publish_planned
from scumble.releasing.secret import Secret, require_unreleased
from scumble.releasing.share import Share
from scumble.releasing.spending import Prepaid
from scumble.schema.declarations import Declarations
from scumble.spec import Spec
from scumble.tables.roles import in_order

if TYPE_CHECKING:
    from scumble.privacy.ledger import Ledger


class Readings(NamedTuple):
    """Records, ready to be counted; as secret as they are."""

    of: Spec
    """Whose readings they are."""
    records: list[Records]
    """One set for each factor of the kernel."""
    dropped: int
    """How many rows were."""

    def __repr__(self) -> str:
        return "Readings(secret)"


class Sketch(Holder, Answers):
    """R rows of W exact counters. Each record adds one to exactly one counter in every row.

    A sketch is secret: it is never printed, pickled or logged with its counts. `release` consumes it. Threads may share
    one: they count, merge and release one after the other.

    Parameters
    ----------
    kernel : Kernel
        What "near" means.
    dimensions : int or None
        How many columns a record has; may be left out if `columns` is given.
    columns : sequence of str or None
        The columns' names, in order; named tables are then read by name.
    rows, buckets : int, sequence of int or None
        The size. Where `rows` are left out (and the cells of a grid), the most that could pay are counted, up to 2²³
        counters, and the release decides from a few noisy facts how much of it to publish, up to 16 MB where that makes
        an error of 0.5 %: neither the number of records nor the budget need be known now. For a grid, `buckets` may be
        the cells along each axis.
    seed : int
        The public seed of the hash functions; sketches merge only if their seeds are equal.
    design : {"auto", "iid", "sobol", "orthogonal", "grid"}
        "iid", "sobol", "orthogonal" rows, or "grid" (needs `bounds`); "auto" lets the plan choose.
    bounds : pair of float, pair of array-like, mapping or None
        (low, high), public, each a number or one per column; or a pair by column, ``{"age": (0, 100)}``. Only the grid
        needs them.
    whole, dates, times, booleans : sequence of str or None
        Columns that hold whole numbers, dates, times or booleans; see :func:`scumble.build`.
    invalid : {"error", "drop"}
        What to do with rows that have missing, infinite or unreadable cells: "error" or "drop".
    engine : {"auto", "cpu", "gpu", "reference"}
        What counts and answers queries, here and in the release: "auto", "cpu", "gpu" or "reference". All give the same
        counters.
    threads : int or None
        How many count; None for one per core.

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
        if engine not in ENGINES:
            raise parameter("engine", f"one of {', '.join(ENGINES)}", engine)
        if threads is not None:
            checks.whole("threads", threads)
        seed = checks.seed(seed)
        names = None if columns is None else _names(columns)
        if dimensions is None:
            if names is None:
                raise ParameterError("Give `dimensions`, the number of columns, or `columns`, their names.")
            dimensions = len(names)
        checks.whole("dimensions", dimensions)
        if names is not None and len(names) != dimensions:
            raise parameter("dimensions", f"{len(names)}, the number of `columns`", dimensions)
        declared = Declarations(whole=whole, dates=dates, times=times, booleans=booleans)
        kinds = dict(declared.require_of(kernel, names))
        chosen, planned = choose(
            kernel,
            kinds=kinds,
            dimensions=int(dimensions),
            columns=names,
            rows=None if rows is None else checks.whole("rows", rows),
            buckets=_buckets(buckets),
            design=design,
            bounds=in_order(declared.bounds(bounds), kernel, names),
        )
        spec = Spec(kernel, int(dimensions), names, seed=int(seed), **chosen, kinds=kinds)
        self._start(spec, invalid, engine, threads, planned)

    def _start(self, spec: Spec, invalid: str, engine: str, threads: int | None, planned: int) -> None:
        if invalid not in ("error", "drop"):
            raise parameter("invalid", "'error' or 'drop'", invalid)
        self._spec = spec
        self._invalid, self._engine, self._threads = invalid, engine, threads
        self._hold(Secret(spec, drops=invalid == "drop", planned=planned))
        spec.prepare()  # now, so bad parameters fail before the first record

    @staticmethod
    def from_spec(
        spec: Spec,
        *,
        invalid: str = "error",
        engine: str = "auto",
        threads: int | None = None,
        planned: int = 0,
    ) -> Sketch:
        """An empty sketch with exactly these parameters; if `planned`, its release decides how much is published.

        If that is 2, it may also publish a grid as rows.
        """
        sketch = object.__new__(Sketch)
        sketch._start(spec, invalid, engine, threads, planned)
        return sketch

    def empty(self) -> Sketch:
        """A sketch with the same parameters and options, and no records."""
        options: dict[str, Any] = {"invalid": self._invalid, "engine": self._engine, "threads": self._threads}
        return Sketch.from_spec(self._spec, **options, planned=self.planned)

    @property
    def _counts(self) -> np.ndarray:
        return self.secret.counts

    spec = property(lambda self: self._spec, doc="All public parameters.")
    kernel = property(lambda self: self._spec.kernel, doc="What near means.")
    rows = property(lambda self: self._spec.rows, doc="How many rows.")
    buckets = property(lambda self: self._spec.buckets, doc="How many counters a row has.")
    dimensions = property(lambda self: self._spec.dimensions, doc="How many columns a record has.")
    columns = property(lambda self: self._spec.columns, doc="The columns' names, or None.")
    seed = property(lambda self: self._spec.seed, doc="The public seed of the hash functions.")
    design = property(lambda self: self._spec.design, doc="How the rows are drawn, or grid.")

    @property
    def planned(self) -> int:
        """Whether the release decides how many of the rows, or how coarse a grid, to publish.

        0: no. 2: it may also publish a grid's records in rows.
        """
        return self.secret.planned

    def price(self, budget: Budget) -> PrivacyClaim:
        """What a release for this budget will claim: known before any noise."""
        return Menu(self._spec, budget, self.planned).price if self.planned else budget.claim(self._spec.rows)

    # ---- filling ----

    def update(self, X: object) -> Sketch:
        """Count the records of a table: NumPy, pandas, polars, Arrow. Call it as often as you like.

        If the table is refused, none of its records is counted.
        """
        with self.secret.lock:  # another thread may be half-way
            self.secret.require_open("update")
        return self.add(self.read(X))

    def read(self, X: object) -> Readings:
        """What `update` counts of a table: a function of its records alone. Threads may ask at the same time."""
        return Readings(self._spec, *self._spec.layout.read(self._spec.declared(X), invalid=self._invalid))

    def add(self, found: Readings) -> Sketch:
        """Count what `read` of this very sketch has found."""
        self._require_mine(found)
        with self.secret.changing("update") as counts:
            self._spec.layout.count(found.records, counts, engine_name=self._engine, threads=self._threads)
            self.secret.counted(len(found.records[0]))
            self.dropped += found.dropped
        return self

    def count_aside(self, found: Readings, counts: np.ndarray, known: Known) -> None:
        """Count what `read` of this very sketch has found, but by one thread and in counters of its own.

        They come from `Secret.aside` and go to `Secret.take_in`. Any number of threads may count so at the same time,
        with what is `known` to all of them.
        """
        self._require_mine(found)
        self._spec.layout.count_aside(found.records, counts, known)

    def _require_mine(self, found: Readings) -> None:
        if found.of is not self._spec:
            raise PrivacyError("These are the records of another sketch. Hint: `update` this one with them.")

    # ---- releasing ----

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

        Parameters
        ----------
        epsilon, delta : float, Fraction, Decimal, str or None
            The privacy budget. δ = 0 draws discrete Laplace noise; δ > 0 the quieter of discrete Laplace (few rows; its
            claim has δ = 0) and discrete Gaussian noise.
        rho, mu : float, Fraction, Decimal, str or None
            The budget in another currency, instead of ε: zero-concentrated or Gaussian differential privacy (ρ = μ²/2).
            The noise is discrete Gaussian; its ε is stated at `delta`, or at 1e-6.
        neighbors : {"add-remove", "replace"}
            "add-remove" hides whether a record is there; "replace" hides its content, and N is public.
        records_per_person : int
            The most records that one person may own.
        count_share : float, Fraction, Decimal, str or None
            The part of the budget that pays for the noisy count. Where rows are left open and get Gaussian noise, a
            second count beside them takes the same part of what is left.
        backend : {"exact", "opendp"}
            "exact", or "opendp" for OpenDP's samplers.
        ledger, dataset, part : Ledger, str, path-like or None
            Charge the release to this dataset of a `scumble.Ledger` (or its path) before noise is drawn; refused if too
            little is left. `part` names one of the dataset's disjoint parts.
        keep : bool
            Keep the exact counters for a further release. Each needs its own budget, so this needs a ledger.

        A sketch begun with `start_with_noise` already has its noise and budget: call `release()`.

        Where `rows` were left open, 2 % of the budget pays for the typical density (beside the count, which any release
        has); by both, the rows to publish are chosen, and the claim covers whatever could have been chosen.
        """
        if self.noisy:
            if any(given is not None for given in (epsilon, rho, mu, ledger)) or keep:
                raise ParameterError(
                    "The noise of this sketch was drawn before its first record, and its budget is spent. "
                    "Hint: call release() without a budget."
                )
            return self._published(gate.finish(self.secret))
        budget = Budget.of(epsilon, delta, neighbors, records_per_person, count_share, rho=rho, mu=mu)
        account = Account.of(ledger, dataset, part)
        return release_disjoint([self], budget, account, backend=backend, keep=keep)[0]

    def _published(self, made: gate.Published, spec: Spec | None = None) -> Release:
        return Release(spec or self._spec, **made._asdict(), engine=self._engine)

    @contextmanager
    def _decided(self, budget: Budget) -> Iterator[None]:
        """Fix now what the release would have decided: where noise comes first, or from several custodians.

        If what follows is refused, nothing is fixed.
        """
        if not self.planned:
            yield
            return
        spec, choice = Menu(self._spec, budget, self.planned).beforehand()
        with self.secret.narrowed(spec, choice.rows, choice.groups):
            yield
            self._spec = spec

    def _decide(self, budget: Budget) -> None:
        """Fix it for good: nothing follows that could be refused."""
        with self._decided(budget):
            pass

    def start_with_noise(
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
    ) -> Sketch:
        """Draw the noise now, into the empty counters, before the first record: raw counters then never exist.

        The arguments are those of `release`, which later only wraps what is there: `release()`. Exact answers are not
        available, and the sketch does not merge. Whoever steals such a sketch, from memory or from a file, has a
        release and no more, *under the following conditions* (Dwork et al. 2010 call this pan-privacy):

        - **One look, not two.** Two snapshots of one sketch have the same noise: their difference is the exact count
          of what came in between. A snapshot and the finished release are also two looks. If one was stolen, do not
          publish: start over.
        - **One sketch, one release.** Such a sketch is kept in one file at most, and released once, by whichever
          process does so first; a forked child cannot. A copy of the file is refused: it is another look.
        - A checkpoint says how far the source has been read, in the clear. That is harmless if the number of records is
          public (``neighbors="replace"``); otherwise it reveals roughly how many there are.
        - The current batch is, of course, in memory while it is counted.

        Where `rows` were left open they are fixed now, for this budget and 100,000 records: noise goes to rows that
        will be published.

        >>> import numpy as np
        >>> from scumble.kernels import EuclideanKernel
        >>> sketch = Sketch(EuclideanKernel(2.0), dimensions=1, rows=8, buckets=16).start_with_noise(epsilon=1.0)
        >>> release = sketch.update(np.arange(1000.0)).release()
        >>> release.privacy.epsilon
        1.0
        """
        budget = Budget.of(epsilon, delta, neighbors, records_per_person, count_share, rho=rho, mu=mu)
        account = Account.of(ledger, dataset, part)
        with self._decided(budget):
            gate.begin_with_noise([self.secret], budget, account, backend=backend)
        return self

    def release_share(
        self,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        *,
        custodians: int,
        dropouts: int = 0,
        rho: Number | None = None,
        mu: Number | None = None,
        count_share: Number | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        part: str | None = None,
    ) -> Share:
        """Add this custodian's share of the noise, and give up the exact counters.

        The shares of all `custodians` (up to `dropouts` of them may be missing, or may reveal their noise) add up to a
        release with the full noise: :func:`scumble.combine`. One share alone does not keep the promise; see
        :mod:`scumble.privacy.splitting`. All custodians must use the same parameters. The budget is that of the sum,
        and is charged in full to this custodian's ledger, if there is one. `records_per_person` counts a person's
        records with all custodians together. Where `rows` were left open, they are fixed by the budget, for 100,000
        records, alike with all custodians.
        """
        budget = Budget.of(epsilon, delta, neighbors, records_per_person, count_share, rho=rho, mu=mu)
        account = Account.of(ledger, dataset, part)
        with self._decided(budget):
            made = gate.publish_share(self.secret, budget, account, custodians=custodians, dropouts=dropouts)
        return Share(self._spec, made.counts, made.noisy_count, made.privacy, made.identity)

    # ---- the curator's own answers ----

    def _estimate(self, Q: object, method: str) -> Estimate:
        with self.secret.lock:  # a release in another thread would take the counters away
            return super()._estimate(Q, method)

    def _reader(self) -> Reader:
        self._require_exact("query")
        count = (float(self.count), 0.0)
        return self._spec.layout.reader(self.secret.counts, 0.0, count, engine_name=self._engine)

    # ---- files ----

    @staticmethod
    def from_container(container: files.Container, **options: Any) -> Sketch:
        """A sketch out of a secret file's content."""
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

    Where rows were left open, all are published with the same; `refined` says that answers will be refined.
    """
    secrets, options = [sketch.secret for sketch in sketches], {"backend": backend, "keep": keep}
    if len({bool(sketch.planned) for sketch in sketches}) > 1:
        raise MergeError("Cannot release as disjoint: some of the sketches leave their rows open, others do not.")
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
        clumping=menu.clumping,
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
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise parameter("columns", "a list of names", columns)
    if len(set(columns)) != len(columns):
        raise parameter("columns", "names that differ", list(columns))
    return tuple(columns)
