"""The secret state: exact counters, one increment per row for each record."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np

from scumble import checks, files
from scumble.counting import ENGINES
from scumble.counting.headroom import fits
from scumble.errors import BudgetError, CorruptFileError, MergeError, ParameterError, PrivacyError, parameter
from scumble.kernels import Kernel
from scumble.machine.places import home_of
from scumble.planning import Bounds, choose
from scumble.privacy.exact import Number
from scumble.reading.answers import Answers
from scumble.reading.layout import Estimate, Reader
from scumble.release import Disjoint, Release, merge_releases
from scumble.releasing.gate import (
    NoiseFirst,
    begin_with_noise,
    finish,
    held,
    keep_noise,
    release_disjoint,
    release_share,
)
from scumble.releasing.pledges import require_free
from scumble.releasing.share import Share
from scumble.releasing.spending import may_lack_records
from scumble.spec import Spec

if TYPE_CHECKING:
    from scumble.privacy.ledger import Ledger

_LIVE: weakref.WeakSet[Sketch] = weakref.WeakSet()


def _after_fork() -> None:
    """In the child: no thread holds a lock, and noise that was drawn before stays with the parent."""
    for sketch in list(_LIVE):
        sketch._lock = threading.RLock()
        if sketch._noise is not None:
            sketch._give_up("Its noise was drawn before this process was forked, and stays with the other one.")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Sketch(Answers):
    """R rows of W exact counters. Each record adds one to exactly one counter in every row.

    A sketch is secret: it is never printed, pickled or logged with its counts. `release` consumes it. Threads may share
    one: they count, merge and release one after the other.

    Parameters
    ----------
    kernel : what "near" means.
    dimensions : how many columns a record has; may be left out if `columns` is given.
    columns : the columns' names, in order; named tables are then read by name.
    rows, buckets : the size. None lets the plan choose. For a grid, `buckets` may be the cells along each axis.
    seed : of the hash functions. Public; sketches merge only if their seeds are equal.
    design : "iid", "sobol", "orthogonal" rows, or "grid" (needs `bounds`); "auto" lets the plan choose.
    bounds : (low, high), public, each a number or one per column. Only the grid needs them.
    invalid : what to do with rows that have missing, infinite or unreadable cells: "error" or "drop".
    engine, threads : how to count. All engines give the same counters.

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
        chosen = choose(
            kernel,
            dimensions=int(dimensions),
            columns=names,
            rows=None if rows is None else checks.whole("rows", rows),
            buckets=_buckets(buckets),
            design=design,
            bounds=bounds,
        )
        self._start(Spec(kernel, int(dimensions), names, seed=int(seed), **chosen), invalid, engine, threads)

    def _start(self, spec: Spec, invalid: str, engine: str, threads: int | None) -> None:
        self._spec = spec
        self._invalid, self._engine, self._threads = invalid, engine, threads
        self._drops = invalid == "drop"
        self._counts = np.zeros(spec.layout.counters, np.int64)
        self._lineage = {str(uuid.uuid4())}
        self._closed = ""
        self._touched = False
        self._noise: NoiseFirst | None = None
        self._home: str | None = None  # the file that its noise, if it came first, is kept in
        self._lock = threading.RLock()
        _LIVE.add(self)
        self.dropped = 0
        """Rows dropped as invalid so far: for the curator only."""
        spec.prepare()  # now, so bad parameters fail before the first record

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
        with self._lock:  # another thread may be half-way
            self._require_open("update")
        parts, dropped = self._spec.layout.read(X, invalid=self._invalid)
        with self._changing("update"):
            self._spec.layout.count(parts, self._counts, engine_name=self._engine, threads=self._threads)
            if self._noise is not None and self._noise.count is not None:
                self._noise.count += len(parts[0])
            self.dropped += dropped
        return self

    def merge(self, other: Sketch) -> Sketch:
        """Add another sketch's counters to this one's: exactly the sketch of both tables together."""
        if not isinstance(other, Sketch):
            raise parameter("other", "a Sketch", type(other).__name__, "two releases merge with Release.merge.")
        with held([self, other]):
            self._require_open("merge")
            other._require_open("merge")
            if other is self or self._lineage & other._lineage:
                raise MergeError("Cannot merge a sketch with itself: its records would count twice.")
            if self._noise is not None or other._noise is not None:
                raise MergeError("A sketch that began with noise does not merge. Hint: merge the releases.")
            self._spec.require_equal(other._spec)
            if not fits(self._counts, other._counts):
                raise MergeError("Cannot merge: a counter could pass 2**62. Hint: is one of the parts damaged?")
            with self._changing("merge"):
                self._counts += other._counts
                self._lineage |= other._lineage
                self._drops |= other._drops
                self.dropped += other.dropped
        return self

    @contextmanager
    def _changing(self, verb: str) -> Iterator[None]:
        """Alone with the counters, which are half-way until the end: whatever breaks off here closes the sketch."""
        with self._lock:
            self._require_open(verb)
            if self._noise is not None and self._noise.finished:
                raise BudgetError(f"Cannot {verb}: this sketch has been released. Hint: start a new sketch.")
            self._closed = f"Its last {verb} was interrupted, so that some rows have counted more records than others."
            self._touched = True
            yield
            self._closed = ""

    def _require_open(self, verb: str) -> None:
        if self._closed:
            raise BudgetError(f"Cannot {verb}: {self._closed} Hint: start a new sketch.")

    # ---- releasing ----

    def release(
        self,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        *,
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
        epsilon, delta : the privacy budget. δ = 0 draws discrete Laplace noise, δ > 0 discrete Gaussian noise.
        neighbors : "add-remove" hides whether a record is there; "replace" hides its content, and N is public.
        records_per_person : the most records that one person may own.
        count_share : the part of the budget that pays for the noisy count.
        backend : "exact", or "opendp" for OpenDP's samplers.
        ledger, dataset, part : charge the release to this dataset of a `scumble.Ledger` (or its path) before noise is
            drawn; refused if too little is left. `part` names one of the dataset's disjoint parts.
        keep : keep the exact counters for a further release. Each needs its own budget, so this needs a ledger.

        A sketch begun with `start_with_noise` already has its noise and budget: call `release()`.
        """
        if self._noise is not None:
            if epsilon is not None or ledger is not None or keep:
                raise ParameterError(
                    "The noise of this sketch was drawn before its first record, and its budget is spent. "
                    "Hint: call release() without a budget."
                )
            return finish(self)
        return release_disjoint(
            [self],
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            records_per_person=records_per_person,
            count_share=count_share,
            backend=backend,
            ledger=ledger,
            dataset=dataset,
            part=part,
            keep=keep,
        )[0]

    def start_with_noise(
        self,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        *,
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

        >>> import numpy as np
        >>> from scumble.kernels import EuclideanKernel
        >>> sketch = Sketch(EuclideanKernel(2.0), dimensions=1, rows=8, buckets=16).start_with_noise(epsilon=1.0)
        >>> release = sketch.update(np.arange(1000.0)).release()
        >>> release.privacy.epsilon
        1.0
        """
        begin_with_noise(
            [self],
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            records_per_person=records_per_person,
            count_share=count_share,
            backend=backend,
            ledger=ledger,
            dataset=dataset,
            part=part,
        )
        return self

    @property
    def noisy(self) -> bool:
        """Whether the noise is in already, by `start_with_noise`."""
        return self._noise is not None

    def release_share(
        self,
        epsilon: Number,
        delta: Number = 0.0,
        neighbors: str = "add-remove",
        records_per_person: int = 1,
        *,
        custodians: int,
        dropouts: int = 0,
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
        records with all custodians together.
        """
        return release_share(
            self,
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            records_per_person=records_per_person,
            custodians=custodians,
            dropouts=dropouts,
            count_share=count_share,
            ledger=ledger,
            dataset=dataset,
            part=part,
        )

    def _add_to(self, noise: np.ndarray) -> int:
        """Add the exact counters to noise that is complete; gives the exact N.

        Noise is drawn before this: while something can still go wrong, no frame of a traceback holds exact counters.
        """
        noise += self._counts
        return int(self._counts[0].sum())

    def _give_up(self, why: str) -> None:
        """Wipe the exact counters."""
        self._closed = why
        counts, self._counts = self._counts, np.zeros((0, 0), np.int64)
        counts.fill(0)

    # ---- the curator's own answers ----

    @property
    def count(self) -> int:
        """The exact number of records: secret."""
        with self._lock:
            self._require_open("count")
            self._require_exact()
            return int(self._counts[0].sum())

    def _estimate(self, Q: Any, method: str) -> Estimate:
        with self._lock:  # a release in another thread would take the counters away
            return super()._estimate(Q, method)

    def _reader(self) -> Reader:
        self._require_open("query")
        self._require_exact()
        return self._spec.layout.reader(self._counts, 0.0, (float(self.count), 0.0))

    def _require_exact(self) -> None:
        if self._noise is not None:
            raise PrivacyError(
                "This sketch began with noise, so that exact answers do not exist. Hint: call release() and query that."
            )

    # ---- files ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the exact counters to a secret file, mode 0600, to merge them elsewhere. By convention ``.secret``."""
        with self._lock:
            home = home_of(path)
            if self._home not in (None, home):
                raise PrivacyError(
                    f"The noise of this sketch was drawn first, and it is kept in {self._home!r} already: a second "
                    "file would be a second look. Hint: save it there."
                )
            if self._home is not None:
                keep_noise(self, home)
                return
            files.write(path, "secret", *self.contents(), secret=True, bound=self.noisy)
            if self._noise is not None:
                self._home = home

    def to_bytes(self) -> bytes:
        """The bytes that `save` would write: secret."""
        if self._noise is not None:
            raise PrivacyError("The noise of this sketch was drawn first: it is kept in one file, by `save`.")
        return files.to_bytes("secret", *self.contents())

    def contents(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a secret file holds, metadata and arrays: for `save` and for checkpoints."""
        self._require_open("save")
        drops = self._drops or may_lack_records()
        metadata = {"spec": self._spec.to_dict(), "lineage": sorted(self._lineage), "drops": drops}
        if self._noise is not None:
            metadata["noise_first"] = self._noise.to_dict()
        return metadata, {"counts": self._counts}

    @staticmethod
    def from_container(container: files.Container, **options: Any) -> Sketch:
        """A sketch out of a secret file's content."""
        if "released" in container.metadata:
            raise BudgetError(
                f"The part was released before, as {container.metadata['released']!r}, and its counters are gone. "
                "A sketch is released once. Hint: query the release you have; that is free."
            )
        require_free(container.metadata)
        try:
            spec = Spec.from_dict(container.metadata["spec"])
            counts, lineage = container.arrays["counts"], container.metadata["lineage"]
        except KeyError as problem:
            raise CorruptFileError(f"The file lacks a part of a sketch: {problem}.") from problem
        if counts.shape != spec.layout.counters or counts.dtype != np.int64:
            raise CorruptFileError("The counters do not have the shape that the file's header states.")
        if not fits(counts):
            raise CorruptFileError("The file has counters beyond 2**62: no table has as many records.")
        sketch = Sketch.from_spec(spec, **options)
        sketch._counts[:] = counts
        sketch._touched = True
        if not isinstance(lineage, list) or not lineage:
            raise CorruptFileError("The file does not say which sketches it was made of.")
        sketch._lineage = {str(part) for part in lineage}
        sketch._drops |= container.metadata.get("drops") is not False  # a file that does not say may have
        if "noise_first" in container.metadata:
            sketch._noise = NoiseFirst.from_dict(container.metadata["noise_first"], spec.rows)
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
def merge(parts: Iterable[Release], *, disjoint: Disjoint = None) -> Release: ...
def merge(parts: Any, *, disjoint: Disjoint = None) -> Any:
    """One sketch out of many, or one release out of many. The parts stay as they are.

    Sketches add up exactly, whatever they hold. For releases, `disjoint` declares what they have in common (see
    :meth:`Release.merge`); without it, a person may be in all of them, and their costs add up.
    """
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
    sketch = Sketch.from_container(files.read(path, expect="secret"), **options)
    if sketch._noise is not None:
        sketch._home = os.path.realpath(path)
    return sketch


def _buckets(value: Any) -> int | tuple[int, ...] | None:
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        return tuple(checks.whole("buckets", cells) for cells in value)
    return checks.whole("buckets", value)


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise parameter("columns", "a list of names", columns)
    if len(set(columns)) != len(columns):
        raise parameter("columns", "names that differ", list(columns))
    return tuple(columns)
