"""From a DataFrame to a sketch, a release, or one release per key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scumble.bundle import Bundle
from scumble.cluster.spark.counting import count
from scumble.cluster.spark.engine import quoted, require_frame
from scumble.cluster.spark.progress import Report
from scumble.errors import ParameterError, PrivacyError
from scumble.kernels import Kernel
from scumble.loading import sketch_of
from scumble.release import Release
from scumble.sketch import Sketch
from scumble.sources import Build
from scumble.sources.tally import Tally
from scumble.tabular.release import TableRelease


def sketch(
    df: Any,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    invalid: str = "error",
    engine: str = "auto",
    threads: int | None = None,
    progress: Report | None = None,
    **size: Any,
) -> Sketch:
    """The exact sketch of a Spark DataFrame: secret, and equal to the one that a single machine would make.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A DataFrame of any source.
    kernel : Kernel
        What "near" means.
    columns : sequence of str or None
        The columns to read, in order; None reads all.
    invalid : {"error", "drop"}
        What to do with rows that have missing, infinite or unreadable cells: "error" or "drop".
    engine, threads : str, int or None
        How each task counts; left out, with the cores that Spark gives it.
    progress : callable or None
        A function that is told :class:`Partitions` now and then.
    size : object
        `rows`, `buckets`, `seed`, `design`, `bounds`, `whole`, `dates`, `times`, `booleans` of :class:`scumble.Sketch`.
    """
    empty = columns_of(df, columns)
    options: dict[str, Any] = {"invalid": invalid, "engine": engine, "threads": threads}
    made = Sketch(kernel, columns=list(empty.column_names if columns is None else columns), **size, **options)
    made.update(empty)  # a column that is missing or of a wrong type shows here
    tally = Tally(made.spec, **options)
    tally.sketches = [made.empty()]
    count(df, tally, progress=progress)
    counted: Sketch = tally.sketches[0]
    return counted


def build(
    df: Any,
    kernel: Kernel | None = None,
    columns: Sequence[str] | None = None,
    *,
    progress: Report | None = None,
    **options: Any,
) -> Release | TableRelease:
    """A Spark DataFrame to a release. Noise is drawn once, on the driver; no exact counter is written to a file.

    The options are those of :func:`scumble.build`: `schema`, `target` and `levels` instead of a kernel and columns;
    `epsilon`, `delta` (or `rho`, or `mu`), `neighbors`, `records_per_person`, `rows`, `buckets`, `design`, `bounds`,
    `whole`, `dates`, `times`, `booleans`, `n`, `seed`, `invalid`, `person_column`, `ledger`, `dataset`, `part`,
    `allow_empty`, `engine`, `threads` (of each task). Of each person, other records may be counted than a single
    machine would choose.
    Spark itself does again what was lost: there is no `checkpoint`.
    """
    if "label" in options or "classes" in options:
        raise ParameterError("`build` makes one release. Hint: `scumble.cluster.spark.build_by` makes one per key.")
    job = ClusterBuild(df, kernel, columns, **options)
    job.warn_unsaid()
    job.count(progress)  # type: ignore[arg-type]
    job.warn()
    release = job.release()
    assert isinstance(release, Release | TableRelease)
    return release


def build_by(
    df: Any,
    key: str,
    kernel: Kernel,
    columns: Sequence[str] | None = None,
    *,
    classes: Sequence[Any],
    progress: Report | None = None,
    **options: Any,
) -> Bundle:
    """One release per key, in one pass: like `build`, with the column `key` telling each record's class.

    `classes` lists all keys and is public: each gets a release, even empty ones. Each record has one key, so the
    whole bundle costs one budget. A record of no such key is refused or dropped, as `invalid` says.
    """
    job = ClusterBuild(df, kernel, columns, label=key, classes=classes, **options)
    job.warn_unsaid()
    job.count(progress)  # type: ignore[arg-type]
    job.warn()
    bundle = job.release()
    assert isinstance(bundle, Bundle)
    return bundle


class ClusterBuild(Build):
    """A pass over a DataFrame, ready to run: everything that can be refused has been looked at.

    `file` has cells read as those of files: NA is a missing one. `text` says that all of them are text, also numbers.
    """

    def __init__(
        self,
        df: Any,
        kernel: Kernel | None = None,
        columns: Sequence[str] | None = None,
        *,
        file: bool = False,
        text: bool = False,
        **options: Any,
    ) -> None:
        if options.get("checkpoint") is not None:
            raise ParameterError("A cluster has no `checkpoint`: Spark itself does again what was lost.")
        if options.get("noise_first"):
            raise PrivacyError(
                "Noise first does not go with a cluster: there the counters of partitions are exact until they are "
                "merged. Hint: leave it out, or build on one machine."
            )
        others = [options[name] for name in ("label", "person_column") if options.get(name) is not None]
        schema = options.get("schema")
        wanted = columns if schema is None else list(schema)
        empty = columns_of(df, None if wanted is None else [*wanted, *others])
        super().__init__(empty, kernel, columns, **options)
        self._df, self._file = df, file
        if not text:
            sketch_of(self.tally.sketches[0].spec).update(empty)  # a column of a wrong type shows here

    def _pass(self, progress: Any) -> None:
        count(
            self._df,
            self.tally,
            person=self.groups.person_column,
            records_per_person=self.budget.records_per_person,
            roles=self.roles if self._file else None,
            progress=progress,
        )


def columns_of(df: Any, wanted: Sequence[str] | None = None) -> Any:
    """The DataFrame's columns without rows, as an Arrow table: Spark need not run for it.

    Only those `wanted`, if all of them are there: others may be of types that Arrow does not know.
    """
    require_frame(df)
    if wanted is not None and set(wanted) <= set(df.columns):
        df = df.select(*map(quoted, dict.fromkeys(wanted)))
    return df.limit(0).toArrow()
