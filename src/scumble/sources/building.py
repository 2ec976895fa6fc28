"""From a source to a release, in one call and one pass."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scumble import checks
from scumble.bundle import Bundle, Label, plain
from scumble.errors import DataError, ParameterError, PrivacyError, parameter
from scumble.kernels import Kernel
from scumble.planning import DEFAULT_RECORDS, Bounds, plan, rows_to_plan
from scumble.privacy.calibration import calibrate
from scumble.release import Release
from scumble.releasing.gate import release_disjoint
from scumble.releasing.spending import charging
from scumble.sources.apart import require_apart
from scumble.sources.checkpoint import EVERY, Checkpoint
from scumble.sources.onepass import Report, one_pass
from scumble.sources.opening import _paths, open_source
from scumble.sources.people import DEFAULT_MEMORY, PersonLimit
from scumble.sources.source import Source
from scumble.sources.tally import Tally, class_numbers
from scumble.spec import Spec
from scumble.tables.roles import roles_of

if TYPE_CHECKING:
    from scumble.privacy.ledger import Ledger


class Build:
    """A pass over a source, ready to run: everything that can be refused has been checked.

    `count` runs it, then `release` (or `bundle`, with classes) adds the noise. `tally` holds the secret sketches.
    """

    def __init__(
        self,
        source: Any,
        kernel: Kernel,
        columns: Sequence[str] | None = None,
        *,
        label: str | None = None,
        classes: Sequence[Any] | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        rows: int | None = None,
        buckets: int | None = None,
        seed: int = 0,
        design: str = "auto",
        bounds: Bounds = None,
        n: int | None = None,
        invalid: str = "error",
        engine: str = "auto",
        threads: int | None = None,
        allow_empty: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = EVERY,
        person_column: str | None = None,
        person_memory: int = DEFAULT_MEMORY,
        noise_first: bool = False,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        dataset: str | None = None,
        part: str | None = None,
        **reading: Any,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise parameter("kernel", "a scumble kernel, such as scumble.EuclideanKernel(bandwidth=1.0)", kernel)
        if invalid not in ("error", "drop"):
            raise parameter("invalid", "'error' or 'drop'", invalid)
        checks.seed(seed)
        rows = rows_to_plan(design, rows)
        if threads is not None:
            checks.whole("threads", threads)
        labels = _checked_classes(label, classes, neighbors)
        self._budget = {
            "epsilon": epsilon,
            "delta": delta,
            "neighbors": neighbors,
            "records_per_person": records_per_person,
        }
        self._charging = {"ledger": ledger, "dataset": dataset, "part": part}
        self._noise_first = noise_first
        self._allow_empty = allow_empty
        if person_column is not None and neighbors == "replace":
            raise PrivacyError(
                "A column of persons does not go with neighbors='replace': how many records are counted then depends "
                "on whose they are, and that number would be public. Hint: use neighbors='add-remove'."
            )
        if noise_first and person_column is not None:
            raise PrivacyError(
                "Noise first and a column of persons do not go together: the table of persons would be there to steal. "
                "Hint: leave out one of them."
            )
        if checkpoint is not None:
            book: Any = getattr(ledger, "path", ledger)
            inputs = {"the source": _paths(source) or [], "the ledger": [] if book is None else [os.fsdecode(book)]}
            require_apart({"checkpoint": os.fsdecode(checkpoint)}, inputs, every=reading.get("format") is not None)
        people = None if person_column is None else PersonLimit(records_per_person, memory=person_memory)
        self.source: Source = open_source(source, **reading)
        try:
            others = [name for name in (label, person_column) if name is not None]
            names = self.source.columns(columns, besides=others)
            self.source.require([*names, *others])
            for name in others:
                if name in names or others.count(name) > 1:
                    raise parameter("columns", f"without {name!r}, which has another use", names)
            self.roles = roles_of(kernel, names)
            planned = plan(
                DEFAULT_RECORDS if n is None else n,
                len(names),
                kernel=kernel,
                bounds=bounds,
                columns=names,
                design=design,
                rows=rows,
                buckets=buckets,
                **self._budget,  # type: ignore[arg-type]
            )
            spec = Spec(
                kernel=kernel,
                dimensions=len(names),
                columns=tuple(names),
                rows=planned.rows,
                buckets=planned.buckets,
                seed=seed,
                design=planned.design,
                bounds=planned.bounds,
                shape=planned.shape,
            )
            for name in others:
                self.roles[name] = "category"
            where = charging(ledger, dataset, part)
            going_on = noise_first and checkpoint is not None and os.path.exists(checkpoint)  # charged already
            if where is not None and not going_on:
                where.check(calibrate(spec.rows, **self._budget).claim)  # type: ignore[arg-type]
            options = {"invalid": invalid, "engine": engine, "threads": threads}
            noise = {**self._budget, **self._charging} if noise_first else None
            self.tally = Tally(
                spec, label=label, classes=labels, person=person_column, people=people, noise=noise, **options
            )
            self.checkpoint = None
            if checkpoint is not None:
                about = {**spec.to_dict(), "invalid": invalid, "label": label, "classes": labels, **self._budget}
                about |= {"person_column": person_column, "noise_first": noise_first}
                fingerprint = self.source.fingerprint()
                self.checkpoint = Checkpoint(checkpoint, fingerprint, about, checkpoint_seconds)
        except BaseException:
            self.source.close()
            raise

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
        if self.tally.rows == 0 and not self._allow_empty:
            raise DataError(
                f"{self.source} has columns but no rows. Hint: was it written to the end? "
                "Pass --allow-empty (allow_empty=True) to release an empty table: it is only noise."
            )
        return self.tally

    def _pass(self, progress: Any) -> None:
        one_pass(self.source, self.roles, self.tally, checkpoint=self.checkpoint, progress=progress)

    def discard_checkpoint(self) -> None:
        """Before a release is given out: its counters must not be there for a second one."""
        if self.checkpoint is not None:
            self.checkpoint.discard()

    def release(self) -> Release | Bundle:
        """Add the noise, once: a release, or a bundle of one release per class."""
        if self._noise_first:
            releases = [sketch.release() for sketch in self.tally.sketches]
        else:
            releases = release_disjoint(self.tally.sketches, **self._budget, **self._charging)  # type: ignore[arg-type]
        if self.tally.classes is None:
            return releases[0]
        return Bundle(dict(zip(self.tally.classes, releases, strict=True)), label=self.tally.label)


def build(
    source: Any,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    epsilon: float = 1.0,
    delta: float = 0.0,
    neighbors: str = "add-remove",
    records_per_person: int = 1,
    progress: Report | None = None,
    **options: Any,
) -> Release:
    """A table of any size to a release, in one pass. The exact counters never touch the disk.

    Parameters
    ----------
    source : a file, a folder, a glob, a list of these, "-" for standard input, "sqlite:///file.db" or "postgresql://…"
        (with `table` or `query`); or a table in memory.
    kernel : what "near" means.
    columns : the columns to read, in order; None reads all that the source declares (JSON lines declare none).
    epsilon, delta, neighbors, records_per_person : the budget; see :meth:`scumble.Sketch.release`.
    rows, buckets, design : the size. None and "auto" let the plan choose, for the given budget.
    n : roughly how many records there are, if that is public: it improves the plan.
    bounds : (low, high), public, for `design="grid"`.
    seed : of the hash functions; public.
    invalid : what to do with rows that have missing, infinite or unreadable cells: "error" or "drop".
    threads : how many cores count.
    checkpoint : a secret file from which a killed build resumes, when called again in the same way; deleted at the end.
    checkpoint_seconds : how often it is written.
    person_column : the column that says whose record it is: of each person only `records_per_person` are counted.
    person_memory : bytes for the table of persons; see :class:`scumble.PersonLimit`.
    noise_first : draw the noise before the first record is read; see :meth:`scumble.Sketch.start_with_noise`.
    ledger, dataset, part : charge the release to a :class:`scumble.Ledger` before noise is drawn.
    progress : a function that is told, after every batch, a :class:`Progress`.
    allow_empty : also release a table without rows. (A refusal tells whoever learns of it that the table is empty.)
    format, delimiter, encoding : where a file's name and content do not tell.

    >>> import pyarrow as pa, scumble
    >>> table = pa.table({"age": [30.0, 41.0, 42.0] * 1000})
    >>> release = build(table, scumble.EuclideanKernel(bandwidth=5.0), epsilon=1.0)
    >>> release.columns
    ('age',)
    """
    budget: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbors": neighbors,
        "records_per_person": records_per_person,
    }
    if "label" in options or "classes" in options:
        raise ParameterError("`build` makes one release. Hint: `scumble.sources.build_by` makes one a class.")
    job = Build(source, kernel, columns, **budget, **options)
    job.count(progress)
    release = job.release()
    job.discard_checkpoint()
    assert isinstance(release, Release)
    return release


def build_by(
    source: Any,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    label: str,
    classes: Sequence[Any],
    progress: Report | None = None,
    **options: Any,
) -> Bundle:
    """One release per class, in one pass: like `build`, with the column `label` telling each record's class.

    `classes` is public: all of them get a release, even empty ones. Each record is in one class, so the whole
    bundle costs one budget. A record in none of them is refused or dropped, as `invalid` says.
    """
    job = Build(source, kernel, columns, label=label, classes=classes, **options)
    job.count(progress)
    bundle = job.release()
    job.discard_checkpoint()
    assert isinstance(bundle, Bundle)
    return bundle


def _checked_classes(label: str | None, classes: Sequence[Any] | None, neighbors: str) -> list[Label] | None:
    if label is None and classes is None:
        return None
    if label is None:
        raise ParameterError("`classes` needs `label`, the column that holds them (--label).")
    if classes is None or isinstance(classes, str) or not list(classes):
        raise PrivacyError(
            "`classes` must list all classes: reading them off the data would tell who is in it. "
            "Hint: pass classes=['bus', 'car'] (--classes bus,car)."
        )
    labels = [plain(one) for one in classes]
    class_numbers(labels)  # refused before the source is opened
    if neighbors == "replace":
        raise PrivacyError(
            "Classes do not go with neighbors='replace': the number of records of each class would be public. "
            "Hint: use neighbors='add-remove'."
        )
    return labels
