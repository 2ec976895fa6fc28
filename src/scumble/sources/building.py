"""From a source to a release, in one call and one pass."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from scumble.bundle import Bundle
from scumble.errors import CuratorWarning, DataError, ParameterError, PrivacyError, parameter
from scumble.kernels import Kernel
from scumble.loading import released
from scumble.machine.later import pa
from scumble.planning.later import Menu
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number
from scumble.release import Release
from scumble.schema import Described
from scumble.schema.declarations import Declarations
from scumble.schema.kinds import require_numbers, roles_by
from scumble.sources.apart import require_apart
from scumble.sources.checkpoint import Checkpoint
from scumble.sources.onepass import Report, one_pass
from scumble.sources.opening import _paths, open_source
from scumble.sources.rehearsal import NO_BUDGET, Rehearsal
from scumble.sources.rehearsal import rehearse as rehearsed
from scumble.sources.settings import Groups, Running, Size, Views, require_known, sorted_out
from scumble.sources.source import Source
from scumble.sources.strays import declared
from scumble.sources.tally import Tally
from scumble.spec import Spec
from scumble.tables.containers import is_of
from scumble.tables.roles import roles_of
from scumble.tabular.publishing import COUNT_SHARE, price
from scumble.tabular.release import TableRelease
from scumble.tabular.spec import TableSpec

BOOK = ("ledger", "dataset", "part")
LET_GO = ("checkpoint", *BOOK)
"""What a build would write or charge, and its rehearsal does not."""
UNSAID = f"{NO_BUDGET[0].upper()}{NO_BUDGET[1:]}."


class Build:
    """A pass over a source, ready to run: everything that can be refused has been checked.

    `count` runs it, then `release` adds the noise. `tally` holds the secret sketches. The options are those of
    :func:`build`, by topic: `Size`, `Groups`, `Running` (:mod:`scumble.sources.settings`), the budget, the account,
    and what `open_source` takes.
    """

    def __init__(
        self, source: object, kernel: Kernel | None = None, columns: Sequence[str] | None = None, **options: Any
    ) -> None:
        self.running = sorted_out(Running, options)
        self.declared = Declarations.taken(options)
        self.size = sorted_out(Size, options)
        self.groups = sorted_out(Groups, options)
        labels = self.groups.labels(boolean=self.declared.drop(self.groups.label) == "boolean")
        self.size = replace(self.size, bounds=self.declared.bounds(self.size.bounds))
        self.views = sorted_out(Views, options)
        self.views.require_alone(kernel, columns, self.size, self.groups)
        schema = self.views.schema
        if schema is not None and self.declared.kinds:
            raise ParameterError("whole, dates, times and booleans go with kernels. Hint: the schema declares columns.")
        if schema is None and not isinstance(kernel, Kernel):
            must = "a scumble kernel, such as scumble.EuclideanKernel(bandwidth=1.0)"
            raise parameter("kernel", must, kernel, "or give schema=, for counts and synthetic rows of a whole table.")
        promised = _taken(options, "epsilon", "delta", "neighbors", "records_per_person", "rho", "mu")
        self.unsaid = all(promised.get(currency) is None for currency in ("epsilon", "rho", "mu"))
        if self.unsaid:
            promised["epsilon"] = 1.0
        self.budget = Budget.of(**promised, count_share=None if schema is None else COUNT_SHARE)
        book = _taken(options, "ledger", "dataset", "part")
        self.groups.require_hidden(self.budget)
        if self.running.noise_first and self.groups.person_column is not None:
            raise PrivacyError(
                "Noise first and a column of persons do not go together: the table of persons would be there to steal. "
                "Hint: leave out one of them."
            )
        if self.running.noise_first and schema is not None:
            raise PrivacyError(
                "Noise first does not go with a table: which of its cells are added up depends on the first noise. "
                "Hint: leave it out."
            )
        self._require_apart(source, book.get("ledger"), options)
        people = self.groups.people(self.budget.records_per_person)
        require_known(options)
        self.source: Source = open_source(source, **options)
        try:
            others = self.groups.columns
            names = self.source.columns(columns if schema is None else list(schema), besides=others)
            self.source.require(others)  # by themselves: one that is counted may be what was meant
            self.source.require([*names, *others])
            self.groups.require_beside(names)
            roles = schema.roles if schema is not None else roles_of(kernel, names)  # type: ignore[arg-type]
            require_numbers(self.declared.kinds, roles)
            self.roles = {**roles_by(self.declared.kinds, roles), **dict.fromkeys(others, "category")}
            spec: Spec | TableSpec
            planned = 0
            if schema is not None:
                spec = self.views.spec()
            else:
                # Noise that comes first goes to rows that will be published; and classes have a sketch each in memory.
                later = not self.running.noise_first and self.groups.label is None
                kinds = self.declared.kinds
                spec, planned = self.size.spec(kernel, names, self.budget, kinds=kinds, later=later)  # type: ignore[arg-type]
            self.account = Account.of(**{"ledger": None, "dataset": None, "part": None, **book})
            if self.account is not None and not self.running.goes_on:
                self.account.check(self.price_of(spec, planned))
            self.tally = Tally(
                spec,
                labels=labels,
                person=self.groups.person_column,
                people=people,
                noise=(self.budget, self.account) if self.running.noise_first else None,
                **self.running.counting,
            )
            for sketch in self.tally.sketches:
                sketch.secret.planned = planned
            self.checkpoint = self._checkpoint(spec)
        except BaseException:
            self.source.close()
            raise

    def price_of(self, spec: Spec | TableSpec, planned: int) -> PrivacyClaim:
        """What the release will claim."""
        if isinstance(spec, TableSpec):
            return price(spec, self.budget)
        return Menu(spec, self.budget, planned).price if planned else self.budget.claim(spec.rows)

    def _require_apart(self, source: object, ledger: object, reading: dict[str, Any]) -> None:
        """The checkpoint is written: it must be none of the files that are read."""
        if self.running.checkpoint is None:
            return
        book: Any = getattr(ledger, "path", ledger)
        inputs = {"the source": _paths(source) or [], "the ledger": [] if book is None else [os.fsdecode(book)]}
        written = {"checkpoint": os.fsdecode(self.running.checkpoint)}
        require_apart(written, inputs, every=reading.get("format") is not None)

    def _checkpoint(self, spec: Spec | TableSpec) -> Checkpoint | None:
        """The file that a killed build goes on from, for this very build and no other."""
        if self.running.checkpoint is None:
            return None
        about = {
            **spec.to_dict(),
            "invalid": self.running.invalid,
            "label": self.groups.label,
            "classes": self.tally.classes,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "neighbors": self.budget.neighbors,
            "records_per_person": self.budget.records_per_person,
            "person_column": self.groups.person_column,
            "noise_first": self.running.noise_first,
        }
        if self.tally.labels is not None and self.tally.labels.boolean:
            about["label_kind"] = "boolean"
        if self.budget.rho is not None:
            about["rho"] = str(self.budget.rho)
        return Checkpoint(self.running.checkpoint, self.source.fingerprint(), about, self.running.checkpoint_seconds)

    def count(self, progress: Report | None = None) -> Tally:
        """Count every row of the source once."""
        try:
            self._pass(progress)
        except BaseException:
            if self.checkpoint is not None:
                self.checkpoint.let_go()
            raise
        finally:
            self.source.close()
        if self.tally.rows == 0 and not self.running.allow_empty:
            raise DataError(
                f"There are columns but no rows in {self.source}. Hint: was it written to the end? "
                "Pass --allow-empty (allow_empty=True) to release an empty table: it is only noise."
            )
        if self.running.invalid == "error":
            spec = self.tally.sketches[0].spec
            self.tally.strays.require_readable(declared(spec), self.source.place, self.source.decimal)
        return self.tally

    def left_out(self) -> list[str]:
        """Why rows were left out so far, and how many, the most frequent cause first: for the curator alone.

        As private as the rows: it belongs in nothing that is kept. After `count` and before `release` it comes in time
        to mend a misspelt class or a column of a wrong kind, before anything is spent.
        """
        return self.tally.left_out()

    def strays(self) -> list[str]:
        """Which columns have cells that count as missing since they could not be read, or at a bound they lie beyond.

        How many there are of each, and where in the source the first unreadable one is; as private as `left_out`.
        (Where noise comes first, nothing is known beside it.)
        """
        return self.tally.astray(self.source)

    def warn_unsaid(self) -> None:
        """Warn whoever named no budget of the one that is taken, before anything is read or spent."""
        if self.unsaid:
            warnings.warn(UNSAID, CuratorWarning, stacklevel=3)

    def warn(self) -> None:
        """Warn the curator, between `count` and `release`, of all that the command line tells; see :func:`build`."""
        told = self.tally.told(self.source)
        if told:
            warnings.warn("\n".join(told), CuratorWarning, stacklevel=3)

    def _pass(self, progress: Any) -> None:
        one_pass(self.source, self.roles, self.tally, checkpoint=self.checkpoint, progress=progress)

    def rehearse(self, **book: Any) -> Rehearsal:
        """What would come out, from the public arguments alone; the build then has no further use.

        `book` is the ledger that the build would be charged to, with the dataset and its part: it is only read.
        """
        self.source.close()
        return rehearsed(self, book)

    def discard_checkpoint(self) -> None:
        """Before a release is given out: its counters must not be there for a second one."""
        if self.checkpoint is not None:
            self.checkpoint.discard()

    def release(self) -> Release | Bundle | TableRelease:
        """Add the noise, once: a release, a bundle of one release per class, or the release of a table."""
        if self.running.noise_first:
            releases = [sketch.release() for sketch in self.tally.sketches]
        else:
            releases = released(self.tally.sketches, self.budget, self.account, n=self.size.n)
        if self.tally.classes is None:
            only: Release | TableRelease = releases[0]
            return only
        return Bundle(dict(zip(self.tally.classes, releases, strict=True)), label=self.tally.label)


@overload
def build(
    source: Any,
    kernel: Kernel | None = None,
    columns: Sequence[str] | None = None,
    *,
    rehearse: Literal[True],
    **options: Any,
) -> Rehearsal: ...
@overload
def build(source: Any, kernel: None = None, *, schema: Described, **options: Any) -> TableRelease: ...
@overload
def build(source: Any, kernel: Kernel, columns: Sequence[str] | None = None, **options: Any) -> Release: ...
def build(
    source: object,
    kernel: Kernel | None = None,
    columns: Sequence[str] | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0.0,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    rho: Number | None = None,
    mu: Number | None = None,
    progress: Report | None = None,
    rehearse: bool = False,
    **options: Any,
) -> Release | TableRelease | Rehearsal:
    """A table of any size to a release, in one pass. The exact counters never touch the disk.

    Parameters
    ----------
    source : str, path-like, list, table or iterable of table
        A file, a folder, a glob, a list of these, "-" for standard input, "sqlite:///file.db" or "postgresql://…" (with
        `table` or `query`); or a table in memory.
    kernel : Kernel or None
        What "near" means, for densities.
    schema : Schema, mapping, str or PathLike
        Instead of a kernel, the columns of a table, or the path of the file that describes them: for counts, means and
        synthetic rows. `target` and `levels` are those of :class:`scumble.TableSketch`.
    columns : sequence of str or None
        The columns to read, in order; None reads all that the source declares (JSON lines declare none).
    epsilon, delta, neighbors, records_per_person : float, {"add-remove", "replace"} or int
        The budget; see :meth:`scumble.Sketch.release`. ε is 1 unless said; a
        warning says so, and a rehearsal.
    rho, mu : float or None
        The budget in another currency, instead of ε.
    rows, buckets, design : int, str or None
        The size. Where `rows` are left out, the most that could pay are counted (up to 8,192), and the release decides
        from a few noisy facts how many to publish. Fix them to count faster. With classes, or noise first, they are
        planned beforehand, for `n` and the budget.
    n : int or None
        Roughly how many records there are, if that is public: it improves the plan.
    bounds : pair of float, pair of array-like, mapping or None
        (low, high), public, or a pair by column, ``{"age": (0, 100)}``: for the grid.
    whole, dates, times, booleans : sequence of str or None
        Columns that hold whole numbers (fractions are cut off; cells and samples are whole), dates (days since
        1970-01-01), times (the same, with the time of day as a fraction), or booleans (0 and 1). Public; the release
        names them, so points are asked for, and samples drawn, in dates. Bounds may be dates:
        ``bounds={"seen": ("2024-01-01", "2024-12-31")}``.
    seed : int
        The public seed of the hash functions.
    invalid : {"error", "drop"}
        What to do with rows that have missing, infinite or unreadable cells: "error" or "drop".
    threads : int or None
        How many cores to count with.
    checkpoint : str, path-like or None
        A secret file from which a killed build resumes, when called again in the same way; deleted at the end.
    checkpoint_seconds : float
        How often it is written.
    person_column : str or None
        The column that says whose record it is: of each person only `records_per_person` are counted,
        which is 1 unless you say.
    person_memory : int
        Bytes for the table of persons; see :class:`scumble.PersonLimit`.
    noise_first : bool
        Draw the noise before the first record is read; see :meth:`scumble.Sketch.start_with_noise`.
    ledger, dataset, part : Ledger, str, path-like or None
        Charge the release to a :class:`scumble.Ledger` before noise is drawn.
    progress : callable or None
        A function that is told, after every batch, a :class:`Progress`.
    rehearse : bool
        Only tell what would come out, as a `Rehearsal`: its kind, its size, the error to expect at typical places,
        which column decides, and advice. It reads the public arguments and the names of the columns, makes up
        records within the bounds, and spends, writes and charges nothing.
    allow_empty : bool
        Also release a table without rows. (A refusal tells whoever learns of it that the table is empty.)
    format, delimiter, decimal, encoding : str or None
        What a file's name and content do not tell; `decimal` is "," for numbers such as 1.234,50 in a CSV file.

    A :class:`scumble.errors.CuratorWarning` tells, before any noise is drawn, how many rows were left out and why, and
    how many cells counted as missing, at a bound or as "(other)", as the command line does. That is as private as the
    table: a notebook keeps what it shows. A program asks `Build`, between its steps, by `left_out` and `strays`.

    >>> import pyarrow as pa, scumble
    >>> table = pa.table({"age": [30.0, 41.0, 42.0] * 1000})
    >>> build(table, scumble.EuclideanKernel(bandwidth=5.0), epsilon=1.0).columns
    ('age',)
    """
    if "label" in options or "classes" in options:
        raise ParameterError("`build` makes one release. Hint: `scumble.build_by` makes one per class.")
    options |= {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, "records_per_person": records_per_person}
    options |= {"rho": rho, "mu": mu}
    if rehearse:
        return _unpaid(source, kernel, columns, options).rehearse(**_taken(options, *BOOK))
    job = Build(source, kernel, columns, **options)
    job.warn_unsaid()
    job.count(progress)
    job.warn()
    release = job.release()
    job.discard_checkpoint()
    assert isinstance(release, Release | TableRelease)
    return release


@overload
def build_by(
    source: Any,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    label: str,
    classes: Sequence[Any] | None = None,
    rehearse: Literal[True],
    **options: Any,
) -> Rehearsal: ...
@overload
def build_by(
    source: Any,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    label: str,
    classes: Sequence[Any] | None = None,
    **options: Any,
) -> Bundle: ...
def build_by(
    source: object,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    label: str,
    classes: Sequence[Any] | None = None,
    progress: Report | None = None,
    rehearse: bool = False,
    **options: Any,
) -> Bundle | Rehearsal:
    """One release per class, in one pass: like `build`, with the column `label` telling each record's class.

    `classes` is public: all of them get a release, even empty ones. Each record is in one class, so the whole
    bundle costs one budget. A record in none of them is refused or dropped, as `invalid` says. A label that is
    yes or no needs no classes, but its declaration, ``booleans=["smoker"]``: they are False and True, however its cells
    write them.
    """
    if rehearse:
        job = _unpaid(source, kernel, columns, {"label": label, "classes": classes, **options})
        return job.rehearse(**_taken(options, *BOOK))
    job = Build(source, kernel, columns, label=label, classes=classes, **options)
    job.warn_unsaid()
    job.count(progress)
    job.warn()
    bundle = job.release()
    job.discard_checkpoint()
    assert isinstance(bundle, Bundle)
    return bundle


def _unpaid(source: object, kernel: Kernel | None, columns: Sequence[str] | None, options: dict[str, Any]) -> Build:
    """The same build without what it would write or charge, and without rows where they are not there yet."""
    if isinstance(source, Iterator | pa.RecordBatchReader):
        raise ParameterError(
            "A rehearsal would take the first table out of this iterator, only for the names of its columns. "
            "Hint: rehearse with an empty table of these columns."
        )
    if is_of(source, "polars", "LazyFrame"):
        import polars

        source = polars.DataFrame(schema=source.collect_schema())  # type: ignore[attr-defined]
    elif is_of(source, "duckdb", "DuckDBPyRelation"):
        source = source.limit(0)  # type: ignore[attr-defined]
    kept = {name: value for name, value in options.items() if name not in (*LET_GO, "checkpoint_seconds")}
    return Build(source, kernel, columns, **kept)


def _taken(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """These of the keywords, which are then gone from the others."""
    return {name: options.pop(name) for name in names if name in options}
