"""From a source to a release, in one call and one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, overload

from scumble.bundle import Bundle
from scumble.errors import ParameterError, parameter
from scumble.kernels import Kernel
from scumble.machine.later import pa
from scumble.privacy.exact import Number
from scumble.release import Release
from scumble.schema import Described
from scumble.sources.job import BOOK, LET_GO, Build, taken
from scumble.sources.onepass import Report
from scumble.sources.rehearsal import Rehearsal
from scumble.tables.containers import is_of
from scumble.tabular.release import TableRelease


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
    invalid : {"drop", "error"} or None
        What to do with rows that have missing, infinite or unreadable cells, or are of no class: leave them out, which
        is the default, or refuse the table. A refusal tells whoever learns of it that there are such rows. Under
        ``neighbors="replace"`` the number of rows is public, none may be left out, and "error" is the default.
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
        With ``invalid="error"``, also release a table without rows.
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
    _require_callable(progress)
    if "label" in options or "classes" in options:
        raise ParameterError("`build` makes one release. Hint: `scumble.build_by` makes one per class.")
    options |= {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, "records_per_person": records_per_person}
    options |= {"rho": rho, "mu": mu}
    if rehearse:
        return _unpaid(source, kernel, columns, options).rehearse(**taken(options, *BOOK))
    job = Build(source, kernel, columns, **options)
    job.warn_unsaid()
    job.count(progress)
    job.warn()
    release = job.release()
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
    _require_callable(progress)
    if rehearse:
        job = _unpaid(source, kernel, columns, {"label": label, "classes": classes, **options})
        return job.rehearse(**taken(options, *BOOK))
    job = Build(source, kernel, columns, label=label, classes=classes, **options)
    job.warn_unsaid()
    job.count(progress)
    job.warn()
    bundle = job.release()
    assert isinstance(bundle, Bundle)
    return bundle


def _require_callable(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise parameter("progress", "a function that is told how far it is", progress, "progress=print, for example.")


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
