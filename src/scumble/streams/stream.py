"""Stream: records arrive in periods, and after each of them a release is published. All of it costs one budget."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from scumble import files
from scumble.checks import Json, whole
from scumble.columns.curator import left_out, no_record_in
from scumble.columns.kinds import roles_by, roles_of
from scumble.density.release import Release, Span
from scumble.density.sketch import Sketch
from scumble.density.spec import Spec
from scumble.errors import (
    BudgetError,
    CorruptFileError,
    DataError,
    FileError,
    ForeignFileError,
    MergeError,
    ParameterError,
    PrivacyError,
    parameter,
)
from scumble.files.format import fits
from scumble.files.interrupts import Unbroken
from scumble.files.places import Owned, Place, clear_leftovers, in_turn
from scumble.gate.gate import Nodes, begin
from scumble.gate.spending import may_lack_records, require_public_count, spend_in_stream
from scumble.kernels import Kernel
from scumble.privacy.account import Promise, charged
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.exact import Number
from scumble.sources.onepass import Report, one_pass
from scumble.sources.opening import _paths, open_source
from scumble.sources.people import PersonLimit
from scumble.sources.tally import Tally
from scumble.streams.choosing import Expected, chosen, method_of
from scumble.streams.method import Method
from scumble.streams.published import StreamRelease, name_of, release_of, require_folder

NOTE = "SECRET: exact counters and noise. Keep this file as safe as the records themselves; never copy it."


class State:
    """A stream's secret file: all that it goes on from, written in one step; mode 0600. Symbolic links are followed.

    It is written when a period has been closed and the next one's noise is drawn, *before* the closed one's release is
    given out: noise that is lost with a killed process nobody has seen. Two processes with one file would publish two
    things with one noise, so it is locked while a stream is open and bound to its place: copies and second names are
    refused.

    The first version is written before the stream is charged, and says under what: a place that cannot be written costs
    nothing, and a start that is killed and repeated is charged once.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = Owned(path, only=True)
        self.path = self._file.path
        self._new = False

    def claim(self) -> str:
        """Claim a place where no stream is yet, with a file that says under what the stream is charged, and no more.

        One that a killed run has left is taken over.
        """
        with in_turn(self.path):
            clear_leftovers(self.path)
            if self.begun() is not None:
                if not self._file.take():
                    raise self._taken()
                if (payment := self.begun()) is not None:  # now that it is locked
                    return payment
            payment = str(uuid.uuid4())
            if not self._file.write(files.bytes_of("stream", {"note": NOTE}, {}, bound=True, payment=payment)):
                raise self._taken()
            self._new = True
            return payment

    def begun(self) -> str | None:
        """Under what a start that was interrupted is charged; None if there is no file. Any other file is refused."""
        with contextlib.suppress(FileError):
            if (payment := files.read(self.path, expect="stream").payment) is not None:
                return payment
        if not os.path.lexists(self.path):
            return None
        self.let_go()
        hint = "Hint: choose another name, or scumble stream append (scumble.load_stream)."
        raise PrivacyError(f"There is a file {self.path!r} already, and a stream begins with its own. {hint}")

    def reserve(self, metadata: Json, arrays: dict[str, np.ndarray]) -> None:
        """Prove that a next version of this size can be written."""
        self._file.reserve(len(self._bytes(metadata, arrays)("0" * 64)))

    def read(self) -> files.Container:
        """Take the file, and read it."""
        if not self._file.take():
            raise self._taken()
        clear_leftovers(self.path)
        try:
            found = files.read(self.path, expect="stream")
            if found.payment is not None:
                raise BudgetError(f"The stream in {self.path!r} has not begun. Hint: start it again; that is free.")
            return found
        except BaseException:
            self.let_go()
            raise

    def write(self, metadata: Json, arrays: dict[str, np.ndarray]) -> None:
        """The next version, whole or not at all."""
        if not self._file.write(self._bytes(metadata, arrays)):
            hint = "Hint: put it back where it was, with one name."
            raise BudgetError(f"The stream's file {self.path!r} was moved or replaced, or has a second name. {hint}")

    @staticmethod
    def _bytes(metadata: Json, arrays: dict[str, np.ndarray]) -> Callable[[str], bytes]:
        return files.bytes_of("stream", {"note": NOTE, **metadata}, arrays, bound=True)

    def _taken(self) -> BudgetError:
        return BudgetError(f"Another process is at work on the stream in {self.path!r}. Hint: wait for it.")

    def let_go(self, *, withdraw: bool = False) -> None:
        """Others may go on from it; a place that this process claimed, and where nothing has begun, is given up."""
        if withdraw and self._new:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
        self._file.let_go()


MOST_RECORDS = 1 << 38
"""In one counter, over all periods: what is published is up to 2²⁴ times as large, and must fit into 64 bits."""


class Stream:
    """Records that arrive in periods. After each, a release is published, and all releases cost one budget together.

    A stream is secret; what `close_period` gives out is public. The noise of the running total grows with a logarithm
    of the number of periods: after a year of days it is 2.7 times that of a single release (with δ; daily releases
    added up: 13.5 times).

    Parameters
    ----------
    kernel, dimensions : Kernel, int or None
        As for :class:`scumble.Sketch`.
    periods : int
        The most periods that there will be. Public; declare it generously: ten times as many cost about a sixth.
    epsilon, delta : float, Fraction, Decimal, str or None
        The privacy budget of all releases together. With δ > 0 the running total is much quieter.
    method : {"auto", "toeplitz", "bridge", "daily"}
        How it is published. "auto" takes the quietest for the running total; "daily" is for single periods.
    backend : {"exact", "opendp"}
        What draws the noise.
    folder : str, path-like or None
        Where the releases go, one file each. Without it they are kept in memory, all of them.
    file : str, path-like or None
        The secret file, as for `save`, written before anything is charged: the same call after a crash is not charged
        again.
    person_column : str or None
        Whose record it is: of each person only `records_per_person` (1 unless you say) are counted, over all periods.
    options : object
        Those of :meth:`scumble.Sketch.release`, charged now; and the size and options of :class:`scumble.Sketch`.

    >>> import numpy as np, scumble
    >>> stream = scumble.Stream(scumble.EuclideanKernel(2.0), 1, periods=30, epsilon=1.0, delta=1e-6, rows=50)
    >>> for day in range(3):
    ...     _ = stream.update(np.full((1000, 1), float(day)))
    ...     release = stream.close_period()
    >>> bool(abs(release.count - 3000) < 1000), stream.window(2).stream.first
    (True, 2)
    """

    def __init__(
        self,
        kernel: Kernel,
        dimensions: int | None = None,
        *,
        periods: int,
        epsilon: Number | None = None,
        delta: Number = 0.0,
        method: str = "auto",
        backend: str = "exact",
        folder: str | os.PathLike[str] | None = None,
        file: str | os.PathLike[str] | None = None,
        person_column: str | None = None,
        **options: Any,
    ) -> None:
        promise = {name: options.pop(name) for name in Promise.__annotations__ if name in options}
        budget, account = charged(epsilon, delta, promise)  # type: ignore[arg-type]
        sketch = Sketch(kernel, dimensions, **{**options, "invalid": options.get("invalid") or budget.invalid})
        sketch._decide(budget)  # rows that were left open: every period has the same
        if person_column is not None and (sketch.columns is None or person_column in sketch.columns):
            raise ParameterError("`person_column` goes with `columns`, and is none of them. Hint: name the columns.")
        expected = chosen(method, periods, sketch.rows, budget)
        if file is not None:
            State(file).begun()  # refuses another file
        path = None if folder is None else require_folder(folder)
        if path is not None and any(name.startswith("total-") for name in os.listdir(path)):
            raise parameter("folder", "one in which no stream has published", path, "a folder of its own.")
        if path is not None:
            Place(os.path.join(path, name_of(1))).close()  # a folder that cannot be written is refused now
        self._begin(sketch, expected.method, expected.calibration, person_column, path, backend)
        with Unbroken():
            payment = None if file is None else self._claim(file)
            try:
                self._go_on(begin(sketch.secret, expected.calibration, account, payment), 0)
                self._machine.open(0, self._nodes.draw, self._nodes.pin)
                self._keep()
            except BaseException as problem:
                if self._state is not None:  # what was not refused may have been charged
                    self._state.let_go(withdraw=isinstance(problem, BudgetError | ParameterError))
                raise

    def _begin(
        self, sketch: Sketch, method: Method, claim: PrivacyClaim, person: str | None, folder: str | None, backend: str
    ) -> None:
        sketch.secret.drops |= person is not None
        self._sketch, self._method, self._calibration = sketch, method, claim
        self._person, self._people = person, None if person is None else PersonLimit(claim.records_per_person)
        self._folder, self._backend = folder, backend
        self._kept: dict[int, Release] = {}
        self._batches: set[bytes] = set()
        self._merged: set[str] = set()  # the lineages of sketches that were merged into it
        self._most = 0  # no counter has more records from the closed periods
        self._state: State | None = None
        self._broken = ""
        self._told: list[str] = []
        self._lock, self._process = threading.RLock(), os.getpid()

    def _go_on(self, identity: str, closed: int) -> None:
        self._identity, self._closed = identity, closed
        self._nodes = Nodes(self._calibration, self._sketch.spec.counters, identity, self._backend)
        self._machine = self._method.machine(self._nodes.size)

    def _claim(self, file: str | os.PathLike[str]) -> str:
        """The secret file, with room for the noise of the first period; gives under what the stream is charged."""
        state = State(file)
        payment, self._state = state.claim(), state
        try:
            self._go_on(payment, 0)
            wide = np.full(self._nodes.size, 1 << 40)  # no noise takes more room
            self._machine.open(0, lambda _: wide.copy(), lambda *_: wide.copy())
            state.reserve(*self._contents())
        except BaseException:
            state.let_go(withdraw=True)
            raise
        return payment

    @property
    def privacy(self) -> PrivacyClaim:
        """What is promised to each record's owner, for all releases together."""
        return self._calibration

    @property
    def expected(self) -> Expected:
        """How noisy totals, windows and periods will be; public."""
        return Expected.of(self._method, self._calibration)

    @property
    def spec(self) -> Spec:
        """All public parameters of the sketches."""
        return self._sketch._spec

    @property
    def identity(self) -> str:
        """The stream's UUID."""
        return self._identity

    @property
    def periods(self) -> int:
        """How many periods have been closed and published."""
        return self._closed

    @property
    def horizon(self) -> int:
        """The most periods that there will be."""
        return self._method.periods

    @property
    def folder(self) -> str | None:
        """Where the releases are published; None if they are kept in memory."""
        return self._folder

    @property
    def counting(self) -> Json:
        """How records are counted: `invalid`, `engine`, `threads`."""
        return {name: getattr(self._sketch, f"_{name}") for name in ("invalid", "engine", "threads")}

    def update(
        self,
        X: object,
        *,
        batch: str | None = None,
        invalid: str | None = None,
        progress: Report | None = None,
        **reading: Any,
    ) -> bool:
        """Count records in the open period; gives whether they were counted. If the table is refused, none of them is.

        What was counted since the last `save` or `close_period` is lost with the process.

        Parameters
        ----------
        X : table, str or path-like
            A table, as for `Sketch.update`; or, if the stream has named columns, whatever `scumble.build` reads.
        batch : str or None
            A name for these records. A batch whose name is known is passed over, so a repeated run counts it once.
        invalid : {"error", "drop"} or None
            What to do with rows whose cells are missing, infinite or unreadable; None: as the stream was begun.
        progress, reading : callable, object or None
            As for :func:`scumble.build`: called with how far a source is read; `format`, `delimiter` and the like.
        """
        name = None if batch is None else _name(batch)
        with self._alone("update"):
            self._require_period()
            self._told = []
            if name in self._batches:
                return False
            like = self._sketch if invalid in (None, self._sketch._invalid) else self._with(invalid)
            part, told = self._counted(like, X, reading, progress)
            self._add(part)
            self._told = told
            if name is not None:
                self._batches.add(name)
            return True

    def _counted(self, like: Sketch, X: object, reading: Json, progress: Report | None) -> tuple[Sketch, list[str]]:
        """A new sketch like that one, of a table in memory or of whatever a source reads; or an error, and nothing
        changed. With it come lines for the curator (`Tally.told`)."""
        person, people, columns = self._person, self._people, like.columns
        if person is None and _paths(X) is None and not reading:
            made = like.empty().update(X)
            return made, [left_out(made.dropped)] if made.dropped else []
        if columns is None:
            raise ParameterError(
                "Files and persons need the columns' names. Hint: begin the stream with columns=[...]."
            )
        before = None if people is None else people.contents()
        tally = Tally(like.spec, person=person, people=people, **{**self.counting, "invalid": like._invalid})
        source = open_source(X, **reading)
        try:
            others = [] if person is None else [person]
            source.require(others)  # by itself: a column that is counted may be what was meant
            source.require([*columns, *others])
            roles = roles_by(like.spec.kinds, roles_of(like.spec.kernel, columns))
            one_pass(source, {**roles, **dict.fromkeys(others, "category")}, tally, progress=progress)
        except BaseException:
            if people is not None and before is not None:
                people.restore(*before)
            raise
        finally:
            source.close()
        return tally.sketches[0], tally.told(source)

    def _with(self, invalid: str | None) -> Sketch:
        """A sketch like that of the period, but for what it does with bad rows; refused where their number is public.

        That this stream may lack records is remembered before the first of them is read.
        """
        like = Sketch.from_spec(self.spec, **{**self.counting, "invalid": invalid})
        require_public_count(self.privacy, [like.secret])
        self._sketch.secret.drops |= like.secret.drops
        return like

    @property
    def told(self) -> list[str]:
        """Lines for the curator about the last `update` or `close_period`: rows left out, a period without a record."""
        return list(self._told)

    def knows(self, batch: str) -> bool:
        """Whether a batch of this name was counted, in this period or in one before."""
        return _name(batch) in self._batches

    def merge(self, sketch: Sketch, *, batch: str | None = None) -> bool:
        """Count what a sketch has counted elsewhere, in the open period; gives whether it was. The sketch is emptied.

        It must have the stream's own parameters (`Sketch.from_spec(stream.spec)`) and never have been released. `batch`
        names its records; see `update`.
        """
        name = None if batch is None else _name(batch)
        with self._alone("merge"), sketch.secret.lock:
            self._require_period()
            if name in self._batches:
                return False
            if self._person is not None:
                raise PrivacyError("A sketch does not know whose records it holds. Hint: give the records to `update`.")
            sketch.secret.require_open("merge")
            sketch.secret.require_exact()
            self.spec.require_equal(sketch.spec)
            require_public_count(self.privacy, [sketch.secret])
            if self._merged & sketch.secret.lineage:
                raise MergeError("Cannot merge: this stream has records of that sketch already.")
            spend_in_stream(sketch.secret)
            self._merged |= sketch.secret.lineage
            self._sketch.secret.drops |= sketch.secret.drops
            self._add(sketch)
            if name is not None:
                self._batches.add(name)
            return True

    def _add(self, part: Sketch) -> None:
        secret = self._sketch.secret
        if self._most + int(secret.counts.max()) + int(part.secret.counts.max()) > MOST_RECORDS:
            raise DataError("A counter would pass 2**38 records, more than a stream can publish exactly.")
        with secret.changing("update") as counts:
            counts += part.secret.counts
        part.secret.give_up("It was added to its stream.")

    def close_period(self, period: int | None = None) -> Release:
        """Close the open period, and publish: the release of the running total.

        If `period`, from 1 on, is closed already, its release is given again and nothing is done. If the stream has a
        file (`save`), it is written first: killed at any moment, the stream goes on to the very same releases.
        """
        with self._alone("close_period"):
            if period is not None and whole("period", period, 1, self.horizon) <= self._closed:
                return self.total(period)
            if period is not None and period > self._closed + 1:
                opened = self._closed + 1
                raise ParameterError(f"Period {opened} is open, before period {period}. Hint: publish that one first.")
            self._require_period()
            require_public_count(self.privacy, [self._sketch.secret])
            self._told = [] if self._sketch.secret.counts.any() else [no_record_in(self._closed + 1)]
            with self._half_way("close_period"):
                numbers = self._nodes.exact(self._sketch.secret)
                self._most += int(self._sketch.secret.counts.max())
                self._machine.close(self._closed, numbers, self._nodes.publish)
                numbers.fill(0)
                following, old = self._sketch.empty(), self._sketch
                following.secret.drops = old.secret.drops
                self._sketch = following
                old.secret.give_up("Its period was closed.")
                self._closed += 1
                if self._closed < self.horizon:
                    self._machine.open(self._closed, self._nodes.draw, self._nodes.pin)
                self._keep()  # before anything is given out
                return self._give_out()

    def _give_out(self) -> Release:
        """The release of the last period that was closed: the same, however often it is asked for."""
        span = Span(self._identity, 1, self._closed, self._method.to_dict())
        numbers = self._machine.total(self._closed - 1)
        release = release_of(self.spec, self.privacy, span, numbers, engine=self._sketch._engine)
        if self._folder is None:
            self._kept[self._closed] = release
        else:
            path = os.path.join(self._folder, name_of(self._closed))
            clear_leftovers(path)
            if not os.path.lexists(path):
                release.save(path)
            elif not np.array_equal(_counts_at(path), release.counts):
                hint = "Hint: this stream is a copy of the one that published it; use that one."
                raise BudgetError(f"{path!r} holds another release of this period. {hint}")
        return release

    def published(self) -> StreamRelease:
        """All that has been published so far."""
        return StreamRelease(self._kept if self._folder is None else self._folder)

    def total(self, upto: int | None = None) -> Release:
        """The running total; see :meth:`StreamRelease.total`."""
        return self.published().total(upto)

    def window(self, width: int | None = None, *, first: int | None = None, last: int | None = None) -> Release:
        """Several periods; see :meth:`StreamRelease.window`."""
        return self.published().window(width, first=first, last=last)

    def period(self, number: int) -> Release:
        """One period; see :meth:`StreamRelease.period`."""
        return self.published().period(number)

    def save(self, path: str | os.PathLike[str] | None = None) -> None:
        """Write all that the stream goes on from to its one secret file, mode 0600; `scumble.load_stream` reads it.

        The first call gives the `path`. From then on `close_period` writes the file, too.
        """
        with self._alone("save"):
            if self._state is None:
                if path is None:
                    raise ParameterError("Give `path`, the secret file, such as 'trips.secret'.")
                state = State(path)
                state.claim()
                self._state = state
            elif path is not None and State(path).path != self._state.path:
                raise PrivacyError(f"It is kept in {self._state.path!r}: no second file. Hint: save() without a path.")
            with self._half_way("save"):
                self._keep()

    def close(self) -> None:
        """Let go of the file: another process may go on from it, and this one no more."""
        self._broken = self._broken or "it was closed."
        if self._state is not None:
            self._state.let_go()

    def _keep(self) -> None:
        if self._state is not None:
            self._state.write(*self._contents())

    def _contents(self) -> tuple[Json, dict[str, np.ndarray]]:
        """All that a stream goes on from: SECRET."""
        metadata = {
            "spec": self.spec.to_dict(),
            "claim": self.privacy.to_dict(),
            "method": self._method.to_dict(),
            "identity": self._identity,
            "closed": self._closed,
            "most": self._most,
            "folder": self._folder,
            "backend": self._backend,
            "invalid": self._sketch._invalid,
            "drops": self._sketch.secret.drops or may_lack_records(),
            "person_column": self._person,
            "merged": sorted(self._merged),
        }
        arrays = {f"machine.{name}": array for name, array in self._machine.arrays.items()}
        arrays["counts"] = self._sketch.secret.counts
        arrays["batches"] = np.frombuffer(b"".join(sorted(self._batches)), np.uint8).reshape(-1, 16)
        if self._people is not None:
            metadata["people"], people = self._people.contents()
            arrays |= people
        return metadata, arrays

    def _restore(
        self, data: Json, arrays: dict[str, np.ndarray], folder: str | os.PathLike[str] | None, **options: Any
    ) -> None:
        """Go on from what `_contents` gave."""
        try:
            spec, claim = Spec.from_dict(data["spec"]), PrivacyClaim.from_dict(data["claim"])
            method, closed, most = method_of(data["method"]), data["closed"], data["most"]
            person, counts, batches = data["person_column"], arrays["counts"], arrays["batches"]
            where = data["folder"] if folder is None else require_folder(folder)
            fitting = (
                claim.moves.column == method.column and claim.rows == spec.rows and claim.exact_scale is not None,
                where is None or (type(where) is str and "\0" not in where),
                type(closed) is int and 0 <= closed <= method.periods,
                type(most) is int and 0 <= most <= MOST_RECORDS,
                counts.shape == spec.counters and counts.dtype == np.int64 and fits(counts),
                batches.ndim == 2 and batches.shape[1] == 16 and batches.dtype == np.uint8,
                isinstance(data["merged"], list),
            )
            if not all(fitting):
                raise TypeError
            sketch = Sketch.from_spec(spec, invalid=data["invalid"], **options)
            self._begin(sketch, method, claim, person, where, str(data["backend"]))
            if self._people is not None:
                self._people.restore(data["people"], arrays)
            self._go_on(str(uuid.UUID(str(data["identity"]))), closed)
            self._machine.restore({name[8:]: array for name, array in arrays.items() if name.startswith("machine.")})
            self._most, self._merged = most, {str(one) for one in data["merged"]}
            self._batches = {bytes(row) for row in batches}
            sketch.secret.counts[:] = counts
            sketch.secret.touched = True
            sketch.secret.drops |= data["drops"] is not False
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            if isinstance(problem, FileError | DataError):
                raise
            raise CorruptFileError("The file lacks a part of a stream, or its parts do not fit together.") from None

    @contextlib.contextmanager
    def _alone(self, verb: str) -> Iterator[None]:
        if self._process != os.getpid():
            raise BudgetError(f"Cannot {verb}: the stream's noise stays with the process that drew or loaded it.")
        with self._lock:
            if self._broken:
                raise BudgetError(f"Cannot {verb}: {self._broken} Hint: go on from its file, with scumble.load_stream.")
            yield

    @contextlib.contextmanager
    def _half_way(self, verb: str) -> Iterator[None]:
        """Whatever breaks off here closes this stream: its file, if it has one, is as it was or as it will be."""
        self._broken = f"its last {verb} was interrupted."
        try:
            yield
        except BaseException:
            if self._state is not None:
                self._state.let_go()
            raise
        self._broken = ""

    def _require_period(self) -> None:
        if self._closed >= self.horizon:
            hint = "Hint: start a new one, with more periods: ten times as many cost about a sixth."
            raise BudgetError(f"All {self.horizon:,} periods of this stream have been published. {hint}")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("A Stream is not pickled or copied: it holds exact counters. Hint: `stream.save(...)`.")

    def __repr__(self) -> str:
        return f"<Stream (secret): {self._closed} of {self.horizon} periods, {self._method.name}, {self.privacy}>"


def _counts_at(path: str) -> Any:
    """What the release of the last period holds; one that cannot be read can be written again."""
    try:
        return files.read(path, expect="release").arrays.get("counts")
    except (CorruptFileError, ForeignFileError) as problem:
        hint = "Hint: move it away, and try again: the stream writes it again."
        raise type(problem)(f"The release of the last period, {path!r}, is damaged or none. {hint}") from None


def _name(batch: str) -> bytes:
    return hashlib.sha256(batch.encode()).digest()[:16]


def load_stream(
    path: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    engine: str = "auto",
    threads: int | None = None,
) -> Stream:
    """Go on from the secret file that `Stream.save` wrote, to the very same releases.

    The file is locked until the stream is closed. `folder` is where the published releases have moved; `engine` and
    `threads` are this process's own.
    """
    state = State(path)
    container = state.read()
    try:
        stream = object.__new__(Stream)
        stream._restore(container.metadata, container.arrays, folder, engine=engine, threads=threads)
    except BaseException:
        state.let_go()
        raise
    stream._state = state
    if stream._closed and stream._folder is not None:
        stream._give_out()  # if the run before was killed just then
    return stream
