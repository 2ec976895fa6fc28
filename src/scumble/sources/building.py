"""From a source to a release, in one call and one pass."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, overload

from scumble import checks
from scumble.checks import Json
from scumble.columns.kinds import KINDS, bounds_by, declared, in_order, require_numbers, roles_by, roles_of
from scumble.columns.schema import Described, Schema
from scumble.density.bundle import Bundle, Label
from scumble.density.loading import released
from scumble.density.plan import Bounds, choose, rows_to_plan
from scumble.density.release import Release
from scumble.density.release_plan import Menu
from scumble.density.spec import Spec
from scumble.errors import CuratorWarning, ParameterError, PrivacyError, did_you_mean, parameter
from scumble.kernels import Kernel
from scumble.privacy.account import Account
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number
from scumble.sources.checkpoint import EVERY, Checkpoint
from scumble.sources.onepass import Report, one_pass
from scumble.sources.opening import _paths, open_source
from scumble.sources.paths import require_apart
from scumble.sources.people import PersonLimit
from scumble.sources.source import Source
from scumble.sources.tally import Labels, Tally
from scumble.table.discovery import divided
from scumble.table.release import TableRelease
from scumble.table.sketch import COUNT_SHARE, price
from scumble.table.spec import TableSpec


@overload
def build(source: object, kernel: None = None, *, schema: Described, **options: Any) -> TableRelease: ...
@overload
def build(source: object, kernel: Kernel, columns: Sequence[str] | None = None, **options: Any) -> Release: ...
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
    **options: Any,
) -> Release | TableRelease:
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
        synthetic rows. `target`, `levels`, `together` and `important` are those of
        :class:`scumble.TableSketch`.
    columns : sequence of str or None
        The columns to read, in order; None reads all that the source declares (JSON lines declare none).
    epsilon, delta, neighbors, records_per_person : float, {"add-remove", "replace"} or int
        The budget; see :meth:`scumble.Sketch.release`. Without one, ε is 1, with a warning.
    rho, mu : float or None
        The budget in another currency, instead of ε.
    rows, buckets, design : int, str or None
        The size. Without `rows`, up to 8,192 are counted, and the release decides from a few noisy facts how many to
        publish. Fix them to count faster. With classes, or noise first, they are planned for `n` and the budget.
    n : int or None
        Roughly how many records there are, if that is public: it improves the plan.
    bounds : pair of float, pair of array-like, mapping or None
        (low, high), public, or a pair by column, ``{"age": (0, 100)}``: for the grid.
    whole, dates, times, booleans : sequence of str or None
        Columns that hold whole numbers (fractions are cut off), dates (days since 1970-01-01), times (the same, with
        the time of day as a fraction), or booleans (0 and 1). Public, and part of the release. Bounds may be dates:
        ``bounds={"seen": ("2024-01-01", "2024-12-31")}``.
    seed : int
        The public seed of the hash functions.
    invalid : {"drop", "error"} or None
        What to do with records that have missing, infinite or unreadable values, or no class: leave them out (the
        default), or refuse the table, which reveals that it has such records. Under ``neighbors="replace"`` the number
        of records is public, and "error" is the default.
    threads : int or None
        How many cores to count with.
    checkpoint : str, path-like or None
        A secret file from which the same call resumes after a crash; deleted at the end.
    checkpoint_seconds : float
        How often it is written.
    person_column : str or None
        The column of persons: of each, only `records_per_person` records are counted (1 by default).
    noise_first : bool
        Draw the noise before the first record is read; see :meth:`scumble.Sketch.start_with_noise`.
    ledger, dataset, part : Ledger, str, path-like or None
        Charge the release to a :class:`scumble.Ledger` before noise is drawn.
    progress : callable or None
        Called with a :class:`Progress` after every batch.
    allow_empty : bool
        With ``invalid="error"``, also release a table without rows.
    format, delimiter, decimal, encoding : str or None
        How to read a file, if its name and content do not show it; `decimal` is "," for numbers such as 1.234,50.

    A :class:`scumble.errors.CuratorWarning` says, before any noise is drawn, how many rows were left out and why, and
    how many cells counted as missing, at a bound or as "(other)". That is as private as the table: a notebook keeps
    what it shows. `Build` has the same facts in `left_out` and `strays`.

    >>> import pyarrow as pa, scumble
    >>> table = pa.table({"age": [30.0, 41.0, 42.0] * 1000})
    >>> build(table, scumble.EuclideanKernel(bandwidth=5.0), epsilon=1.0).columns
    ('age',)
    """
    _require_callable(progress)
    if "label" in options or "classes" in options:
        raise ParameterError("`build` makes one release. Hint: `scumble.build_by` makes one per class.")
    options |= {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, "records_per_person": records_per_person}
    options |= {"rho": rho, "mu": mu}
    release: Release | TableRelease = Build(source, kernel, columns, **options).run(progress)
    return release


def build_by(
    source: object,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    label: str,
    classes: Sequence[Label] | None = None,
    progress: Report | None = None,
    **options: Any,
) -> Bundle:
    """One release per class, in one pass: like `build`, with each record's class in the column `label`.

    `classes` is public: each gets a release, even if it is empty. Each record has one class, so the bundle costs one
    budget. A record of no class is refused or dropped, as `invalid` says. A label that is yes or no needs no classes
    but ``booleans=["smoker"]``: they are False and True.
    """
    _require_callable(progress)
    bundle: Bundle = Build(source, kernel, columns, label=label, classes=classes, **options).run(progress)
    return bundle


def _require_callable(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise parameter("progress", "a function of a Progress", progress, "progress=print, for example.")


BOOK = ("ledger", "dataset", "part")
UNSAID = "No budget is given, so ε is 1 (epsilon=, rho= or mu= gives one)."


class Build:
    """A pass over a source, ready to run: everything that can be refused has been checked.

    `count` runs it, then `release` adds the noise. `tally` holds the secret sketches. The options are those of
    :func:`build` and `open_source`.
    """

    def __init__(
        self, source: object, kernel: Kernel | None = None, columns: Sequence[str] | None = None, **options: Any
    ) -> None:
        kinds = declared(**taken(options, *KINDS))
        asked = Options(**taken(options, *_MINE))
        label_kind = None if asked.label is None else kinds.pop(asked.label, None)
        boolean = label_kind == "boolean"
        labels = None if asked.label is None else Labels(asked.label, asked.classes, boolean=boolean)
        asked = replace(asked, bounds=bounds_by(kinds, asked.bounds))
        schema = asked.schema
        asked.require_one_of(kernel, columns, kinds)
        promised = taken(options, "epsilon", "delta", "neighbors", "records_per_person", "rho", "mu")
        self.unsaid = all(promised.get(currency) is None for currency in ("epsilon", "rho", "mu"))
        if self.unsaid:
            promised["epsilon"] = 1.0
        self.budget = Budget.of(**promised, count_share=None if schema is None else COUNT_SHARE)
        self.asked = asked = replace(asked, invalid=asked.invalid or self.budget.invalid)
        book = taken(options, *BOOK)
        asked.require_hidden(self.budget)
        self._require_apart(source, book.get("ledger"), options)
        people = None if asked.person_column is None else PersonLimit(self.budget.records_per_person)
        require_known(options)
        self.source: Source = open_source(source, **options)
        try:
            others = list(asked.others)
            names = self.source.columns(columns if schema is None else list(schema.declared), besides=others)
            self.source.require(others)
            self.source.require([*names, *others])
            asked.require_counted(names, self.source.names)
            roles = schema.roles if schema is not None else roles_of(kernel, names)  # type: ignore[arg-type]
            require_numbers(kinds, roles)
            self.roles = {**roles_by(kinds, roles), **asked.others}
            spec: Spec | TableSpec
            planned = 0
            if schema is not None:
                spec = asked.table_spec(schema)
                divided(spec, self.budget)  # words cannot be found with δ = 0
            else:
                # Noise first needs a fixed size, and classes have a sketch each in memory.
                later = not asked.noise_first and asked.label is None
                spec, planned = asked.spec(kernel, names, self.budget, kinds=kinds, later=later)  # type: ignore[arg-type]
            self.account = Account.of(**{**dict.fromkeys(BOOK), **book})
            goes_on = asked.checkpoint is not None and os.path.exists(asked.checkpoint)  # it may have been charged
            if self.account is not None and not goes_on:
                self.account.check(self.price_of(spec, planned))
            self.tally = Tally(
                spec,
                labels=labels,
                person=asked.person_column,
                people=people,
                noise=(self.budget, self.account) if asked.noise_first else None,
                invalid=asked.invalid,
                engine=asked.engine,
                threads=asked.threads,
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

    def _require_apart(self, source: object, ledger: object, reading: Json) -> None:
        """The checkpoint must be none of the files that are read."""
        if self.asked.checkpoint is None:
            return
        book = getattr(ledger, "path", ledger)
        inputs = {"the source": _paths(source) or [], "the ledger": [] if book is None else [checks.path(book)]}
        written = {"checkpoint": os.fsdecode(self.asked.checkpoint)}
        require_apart(written, inputs, every=reading.get("format") is not None)

    def _checkpoint(self, spec: Spec | TableSpec) -> Checkpoint | None:
        """The checkpoint of this very build."""
        if self.asked.checkpoint is None:
            return None
        about = {**spec.to_dict(), "classes": self.tally.classes}
        about |= {name: getattr(self.asked, name) for name in ("invalid", "label", "person_column", "noise_first")}
        about |= {name: getattr(self.budget, name) for name in ("epsilon", "delta", "neighbors", "records_per_person")}
        if self.tally.labels is not None and self.tally.labels.boolean:
            about["label_kind"] = "boolean"
        if self.budget.rho is not None:
            about["rho"] = str(self.budget.rho)
        return Checkpoint(self.asked.checkpoint, self.source.fingerprint(), about, self.asked.checkpoint_seconds)

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
        if self.asked.invalid == "error" and not self.asked.allow_empty:
            self.tally.require_some(self.source)
        return self.tally

    def left_out(self) -> list[str]:
        """Why rows were left out, and how many, the most frequent cause first: for the curator only.

        As private as the rows. Look at it after `count` and before `release`, which spends the budget.
        """
        return self.tally.left_out()

    def strays(self) -> list[str]:
        """Columns with cells that count as missing because they are unreadable, or at a bound, and how many.

        As private as `left_out`; empty with noise first.
        """
        return self.tally.astray(self.source)

    def run(self, progress: Report | None = None) -> Any:
        """Count and release, with warnings for the curator as described in :func:`build`."""
        if self.unsaid:
            warnings.warn(UNSAID, CuratorWarning, stacklevel=3)
        self.count(progress)
        if lines := self.tally.told(self.source):
            warnings.warn("\n".join(lines), CuratorWarning, stacklevel=3)
        return self.release()

    def _pass(self, progress: Any) -> None:
        one_pass(self.source, self.roles, self.tally, checkpoint=self.checkpoint, progress=progress)

    def discard_checkpoint(self) -> None:
        """Delete the counters before their release is given out."""
        if self.checkpoint is not None:
            self.checkpoint.discard()

    def release(self, pledged: Json | None = None) -> Release | Bundle | TableRelease:
        """Add the noise, once: a release, a bundle of one release per class, or the release of a table.

        The payment is written to the checkpoint first. The checkpoint is deleted, unless the release is `pledged` to a
        file (:mod:`scumble.gate.pledges`).
        """
        if self.checkpoint is not None:
            self.checkpoint.pledge(self.tally, pledged)
        if self.asked.noise_first:
            releases = [sketch.release() for sketch in self.tally.sketches]
        else:
            releases = released(self.tally.sketches, self.budget, self.account, n=self.asked.n)
        if pledged is None:
            self.discard_checkpoint()
        if self.tally.classes is not None:
            return Bundle(dict(zip(self.tally.classes, releases, strict=True)), label=self.tally.label)
        only: Release | TableRelease = releases[0]
        return only


def taken(options: Json, *names: str) -> Json:
    """The named keywords, which are removed from `options`."""
    return {name: options.pop(name) for name in names if name in options}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a build is asked for besides its source, kernel, columns and budget. The plan fills in None and "auto"."""

    rows: int | None = None
    buckets: int | None = None
    seed: int = 0
    design: str = "auto"
    bounds: Bounds | checks.Ranges = None
    n: int | None = None

    schema: Schema | None = None
    target: str | None = None
    levels: int | None = None
    together: Sequence[Sequence[str]] | None = None
    important: Sequence[str | Sequence[str]] | None = None

    label: str | None = None
    classes: Sequence[Label] | None = None
    person_column: str | None = None

    invalid: str | None = None
    engine: str = "auto"
    threads: int | None = None
    allow_empty: bool = False
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_seconds: float = EVERY
    noise_first: bool = False

    def __post_init__(self) -> None:
        checks.seed(self.seed)
        for name in ("n", "threads"):
            if getattr(self, name) is not None:
                checks.whole(name, getattr(self, name))
        rows_to_plan(self.design, self.rows)
        if self.invalid not in (None, "error", "drop"):
            raise parameter("invalid", "'error' or 'drop'", self.invalid)
        if self.checkpoint is not None:
            checks.path(self.checkpoint, "checkpoint")
        if self.classes is not None:
            if self.label is None:
                raise ParameterError("`classes` needs `label`, the column that holds them.")
            Labels(self.label, self.classes)  # refused before the source is opened
        if self.schema is not None:
            object.__setattr__(self, "schema", Schema.of(self.schema))

    def require_one_of(self, kernel: object, columns: object, kinds: Mapping[str, str]) -> None:
        """A kernel, or a schema without what goes with kernels."""
        if self.schema is None:
            for name in ("target", "levels", "together", "important"):
                if getattr(self, name) is not None:
                    raise ParameterError(f"`{name}` goes with `schema`. Hint: describe the table by a schema.")
            if not isinstance(kernel, Kernel):
                must = "a scumble kernel, such as scumble.EuclideanKernel(bandwidth=1.0)"
                hint = "or give schema=, for counts and synthetic rows of a whole table."
                raise parameter("kernel", must, kernel, hint)
            return
        if kernel is not None or columns is not None:
            raise ParameterError("Give `schema` or a kernel and columns, not both: a schema names the columns.")
        if (self.rows, self.buckets, self.design, self.seed) != (None, None, "auto", 0) or self.bounds is not None:
            raise ParameterError("rows, buckets, design, bounds and seed are those of kernels. Hint: leave them out.")
        if self.label is not None:
            raise ParameterError("`label` goes with kernels. Hint: give target=, one of the schema's columns.")
        if kinds:
            raise ParameterError("whole, dates, times and booleans go with kernels. Hint: the schema declares columns.")

    def require_hidden(self, budget: Budget) -> None:
        """Refuse what would publish an exact number: under replace, or with noise drawn first."""
        if self.noise_first and self.person_column is not None:
            raise PrivacyError("Noise first does not go with persons, whose table is exact. Hint: leave out one.")
        if self.noise_first and self.schema is not None:
            raise PrivacyError("Noise first does not go with a schema: noise merges cells. Hint: leave it out.")
        if budget.neighbors == "replace" and self.others:
            what, number = ("Classes do", "the size of each class")
            if self.label is None:
                what, number = ("A column of persons does", "how many records were counted")
            raise PrivacyError(f"{what} not go with neighbors='replace', which publishes {number}. Hint: 'add-remove'.")

    @property
    def others(self) -> dict[str, str]:
        """The columns of label and person, which are not counted, and how they are read."""
        found = {self.label: "word", self.person_column: "category"}
        return {name: role for name, role in found.items() if name is not None}

    def require_counted(self, columns: Sequence[str], known: Sequence[str]) -> None:
        """Refuse a column with two uses, and bounds of a column of the source that is not counted."""
        for name in self.others:
            if name in columns or self.label == self.person_column:
                use = "label" if name == self.label else "person"
                hint = "Hint: leave it out of the schema, or of --columns (columns=)."
                raise ParameterError(f"Column {name!r} is that of the {use}, and cannot be counted, too. {hint}")
        for name in self.bounds if isinstance(self.bounds, Mapping) else ():
            if name in known and name not in columns and name not in self.others:
                counted = ", ".join(columns)
                raise ParameterError(f"`bounds` names {name!r}, none of the columns {counted}. Hint: add the column.")

    def spec(
        self,
        kernel: Kernel,
        columns: Sequence[str],
        budget: Budget,
        *,
        kinds: Mapping[str, str] | None = None,
        later: bool = False,
    ) -> tuple[Spec, int]:
        """The public parameters of the sketch, and the plan of its release: 0 unless it decides the size `later`."""
        about: Json = {"columns": tuple(columns), "dimensions": len(columns), "kinds": kinds, "seed": self.seed}
        size: Json = {"rows": self.rows, "buckets": self.buckets, "design": self.design}
        bounds = in_order(self.bounds, kernel, columns)
        return choose(kernel, **about, **size, bounds=bounds, budget=budget, n=self.n, later=later)

    def table_spec(self, schema: Schema) -> TableSpec:
        """The public parameters of the sketch of a table."""
        sets = {"together": self.together or (), "important": self.important or ()}
        return TableSpec.of(schema, target=self.target, levels=self.levels, **sets)  # type: ignore[arg-type]


_MINE = [one.name for one in fields(Options)]
_TAKEN = ("epsilon", "delta", "neighbors", "records_per_person", "rho", "mu", *BOOK)
_READING = ("table", "query", "format", "delimiter", "decimal", "encoding")
"""Options of `open_source`."""


def require_known(options: Mapping[str, object]) -> None:
    """Refuse an unknown option.

    >>> require_known({"bound": (0, 100)})
    Traceback (most recent call last):
    TypeError: There is no option 'bound'. Did you mean 'bounds'?
    """
    for name in options.keys() - {*_READING}:
        known = [*_READING, *_TAKEN, *KINDS, *_MINE]
        raise TypeError(f"There is no option {name!r}.{did_you_mean(name, known)}")
