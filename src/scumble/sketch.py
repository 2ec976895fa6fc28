"""The secret state: exact counters, one increment a row for each record."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, overload

import numpy as np

from scumble import files
from scumble.answers import Answers
from scumble.counting import ENGINES
from scumble.errors import BudgetError, CorruptFileError, MergeError, ParameterError, PrivacyError, parameter
from scumble.kernels import Kernel
from scumble.layout import Reader
from scumble.planning import Bounds, choose
from scumble.privacy.calibration import DEFAULT_COUNT_SHARE, calibrate
from scumble.privacy.noise import require_backend
from scumble.release import Release, merge_releases
from scumble.spec import Spec

_SPENT: set[str] = set()
"""Lineages released in this process: however sketches were merged, each record's budget is spent once."""


class Sketch(Answers):
    """R rows of W exact counters. Each record adds one to exactly one counter in every row.

    A sketch is secret: it is never printed, pickled or logged with its counts. `release` consumes it.

    Parameters
    ----------
    kernel : what "near" means.
    dimensions : how many columns a record has; may be left out if `columns` is given.
    columns : the columns' names, in order; named tables are then read by name.
    rows, buckets : the size. None lets the plan choose.
    seed : of the hash functions. Public; sketches merge only if their seeds are equal.
    design : "iid", "sobol", "orthogonal" rows, or "grid" (needs `bounds`); "auto" lets the plan choose.
    bounds : (low, high), public, each a number or one a column. Only the grid needs them.
    invalid : what to do with rows that have missing, infinite or unreadable cells: "error" or "drop".
    engine, threads : how to count. All engines give the same counters.

    >>> import numpy as np
    >>> from scumble.kernels import EuclideanKernel
    >>> sketch = Sketch(EuclideanKernel(bandwidth=2.0), dimensions=1, rows=64, buckets=128, seed=7)
    >>> sketch.update(np.arange(1000.0)).kernel_sum([[500.0]]).shape
    (1,)
    """

    def __init__(
        self,
        kernel: Kernel,
        dimensions: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        rows: int | None = None,
        buckets: int | None = None,
        seed: int = 0,
        design: str = "auto",
        bounds: Bounds = None,
        invalid: str = "error",
        engine: str = "auto",
        threads: int | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise parameter("kernel", "a scumble kernel, such as scumble.EuclideanKernel(bandwidth=1.0)", kernel)
        if invalid not in ("error", "drop"):
            raise parameter("invalid", "'error' or 'drop'", invalid)
        if engine not in ENGINES:
            raise parameter("engine", f"one of {', '.join(ENGINES)}", engine)
        if threads is not None:
            _whole("threads", threads, 1)
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
            raise parameter("seed", "a whole number from 0 to 2**64 - 1", seed)
        names = None if columns is None else _names(columns)
        if dimensions is None:
            if names is None:
                raise ParameterError("Give `dimensions`, the number of columns, or `columns`, their names.")
            dimensions = len(names)
        _whole("dimensions", dimensions, 1)
        if names is not None and len(names) != dimensions:
            raise parameter("dimensions", f"{len(names)}, the number of `columns`", dimensions)
        chosen = choose(
            kernel,
            dimensions=int(dimensions),
            columns=names,
            rows=None if rows is None else _whole("rows", rows, 1),
            buckets=None if buckets is None else _whole("buckets", buckets, 1),
            design=design,
            bounds=bounds,
        )
        self._start(Spec(kernel, int(dimensions), names, seed=int(seed), **chosen), invalid, engine, threads)

    def _start(self, spec: Spec, invalid: str, engine: str, threads: int | None) -> None:
        self._spec = spec
        self._invalid, self._engine, self._threads = invalid, engine, threads
        self._counts = np.zeros((spec.rows, spec.buckets), np.int64)
        self._lineage = {str(uuid.uuid4())}
        self._closed = ""
        self.dropped = 0
        """Rows dropped as invalid so far: for the curator only."""
        spec.layout  # noqa: B018  make the hash functions now, so that bad parameters fail before the first record

    @staticmethod
    def from_spec(spec: Spec, *, invalid: str = "error", engine: str = "auto", threads: int | None = None) -> Sketch:
        """An empty sketch with exactly these parameters."""
        sketch = object.__new__(Sketch)
        sketch._start(spec, invalid, engine, threads)
        return sketch

    spec = property(lambda self: self._spec, doc="All public parameters.")
    kernel = property(lambda self: self._spec.kernel, doc="What near means.")
    rows = property(lambda self: self._spec.rows, doc="How many rows.")
    buckets = property(lambda self: self._spec.buckets, doc="How many counters a row has.")
    dimensions = property(lambda self: self._spec.dimensions, doc="How many columns a record has.")
    columns = property(lambda self: self._spec.columns, doc="The columns' names, or None.")
    seed = property(lambda self: self._spec.seed, doc="The public seed of the hash functions.")
    design = property(lambda self: self._spec.design, doc="How the rows are drawn, or grid.")

    # ---- filling ----

    def update(self, X: Any) -> Sketch:
        """Count the records of a table: NumPy, pandas, polars, Arrow. Call it as often as you like.

        If the table is refused, none of its records is counted.
        """
        self._require_open("update")
        parts, dropped = self._spec.layout.read(X, invalid=self._invalid)
        self._closed = "An update was interrupted, so that some rows have counted more records than others."
        self._spec.layout.count(parts, self._counts, engine_name=self._engine, threads=self._threads)
        self._closed = ""
        self.dropped += dropped
        return self

    def merge(self, other: Sketch) -> Sketch:
        """Add another sketch's counters to this one's: exactly the sketch of both tables together."""
        if not isinstance(other, Sketch):
            raise parameter("other", "a Sketch", type(other).__name__, "two releases merge with Release.merge.")
        if other is self or self._lineage & other._lineage:
            raise MergeError("Cannot merge a sketch with itself: its records would count twice.")
        self._require_open("merge")
        other._require_open("merge")
        self._spec.require_equal(other._spec)
        self._counts += other._counts
        self._lineage |= other._lineage
        self.dropped += other.dropped
        return self

    def _require_open(self, verb: str) -> None:
        if self._closed:
            raise BudgetError(f"Cannot {verb}: {self._closed} Hint: start a new sketch.")

    # ---- releasing ----

    def release(
        self,
        epsilon: float,
        delta: float = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        *,
        count_share: float | None = None,
        backend: str = "exact",
    ) -> Release:
        """Add exact noise to every counter, once, and give up the exact counters.

        Parameters
        ----------
        epsilon, delta : the privacy budget. δ = 0 draws discrete Laplace noise, δ > 0 discrete Gaussian noise.
        neighbors : "add-remove" hides whether a record is there; "replace" hides its content, and N is public.
        records_per_person : the most records that one person may own.
        count_share : the part of the budget that pays for the noisy count.
        backend : "exact", or "opendp" for OpenDP's samplers.
        """
        self._require_open("release")
        if self._lineage & _SPENT:
            raise BudgetError(
                "Cannot release: records of this sketch were released before, as part of a merged one. "
                "A sketch is released once. Hint: query the release you have; that is free."
            )
        require_backend(backend)
        share = DEFAULT_COUNT_SHARE if count_share is None else count_share
        calibration = calibrate(
            self._spec.rows,
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            records_per_person=records_per_person,
            count_share=share,
        )
        # Charge first, then draw: whatever happens from here on, the budget is spent.
        _SPENT.update(self._lineage)
        self._closed = "This sketch has been released, and a sketch is released once."
        counts, self._counts = self._counts, np.zeros((0, 0), np.int64)
        total = int(counts[0].sum())
        counts += calibration.draw_counters(counts.shape, backend=backend)
        if calibration.count_scale is not None:
            noisy_count: int | None = total + calibration.draw_count(backend=backend)
        else:
            noisy_count = total if neighbors == "replace" else None
        return Release(
            self._spec,
            counts,
            calibration.claim,
            noisy_count=noisy_count,
            counter_variance=calibration.counter_variance,
            count_variance=calibration.count_variance or 0.0,
        )

    # ---- the curator's own answers ----

    @property
    def count(self) -> int:
        """The exact number of records: secret."""
        self._require_open("count")
        return int(self._counts[0].sum())

    def _reader(self) -> Reader:
        self._require_open("query")
        return self._spec.layout.reader(self._counts, 0.0, float(self.count))

    # ---- files ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the exact counters to a secret file, mode 0600, to merge them elsewhere. By custom ``.secret``."""
        files.write(path, "secret", *self.contents(), secret=True)

    def contents(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a secret file holds, metadata and arrays: for `save` and for checkpoints."""
        self._require_open("save")
        return {"spec": self._spec.to_dict(), "lineage": sorted(self._lineage)}, {"counts": self._counts}

    @staticmethod
    def from_container(container: files.Container, **options: Any) -> Sketch:
        """A sketch out of a secret file's content."""
        try:
            spec = Spec.from_dict(container.metadata["spec"])
            counts, lineage = container.arrays["counts"], container.metadata["lineage"]
        except KeyError as problem:
            raise CorruptFileError(f"The file lacks a part of a sketch: {problem}.") from problem
        if counts.shape != (spec.rows, spec.buckets) or counts.dtype != np.int64:
            raise CorruptFileError("The counters do not have the shape that the file's header states.")
        sketch = Sketch.from_spec(spec, **options)
        sketch._counts[:] = counts
        sketch._lineage = {str(part) for part in lineage}
        return sketch

    # ---- keeping the secret ----

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError(
            "A Sketch is not pickled or copied: it holds exact counters. "
            "Hint: `sketch.save('part.secret')` writes a secret file; `sketch.release(epsilon=...)` makes it public."
        )

    def __repr__(self) -> str:
        spec = self._spec
        state = "closed" if self._closed else "secret"
        return f"<Sketch ({state}): {spec.rows} x {spec.buckets} counters, {spec.design}, {spec.kernel!r}>"


@overload
def merge(parts: Iterable[Sketch]) -> Sketch: ...
@overload
def merge(parts: Iterable[Release], *, disjoint: bool = True) -> Release: ...
def merge(parts: Any, *, disjoint: bool = True) -> Any:
    """One sketch out of many, or one release out of many. The parts stay as they are."""
    parts = list(parts)
    if not parts:
        raise parameter("parts", "at least one sketch or release", parts)
    if all(isinstance(part, Release) for part in parts):
        return merge_releases(parts, disjoint=disjoint)
    if not all(isinstance(part, Sketch) for part in parts):
        kinds = sorted({type(part).__name__ for part in parts})
        raise parameter("parts", "all sketches or all releases", kinds)
    first = parts[0]
    total = Sketch.from_spec(first.spec, invalid=first._invalid, engine=first._engine, threads=first._threads)
    total._lineage = set()
    for part in parts:
        total.merge(part)
    return total


def load_secret(path: str | os.PathLike[str], **options: Any) -> Sketch:
    """Read a sketch's exact counters, to merge or release them. Keep the file as safe as the table itself."""
    return Sketch.from_container(files.read(path, expect="secret"), **options)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise parameter(name, f"a whole number of at least {least}", value)
    return int(value)


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise parameter("columns", "a list of names", columns)
    if len(set(columns)) != len(columns):
        raise parameter("columns", "names that differ", list(columns))
    return tuple(columns)
