"""Exact counters under lock and key, and all that decides whether they may be released.

A `Secret` is what a sketch holds; the gate (:mod:`scumble.gate.gate`) knows nothing else of sketches.
"""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np

from scumble.checks import Json
from scumble.errors import BudgetError, CorruptFileError, MergeError, PrivacyError
from scumble.files import Container
from scumble.files.format import fits
from scumble.gate.pledges import became, require_free
from scumble.gate.spending import leave_behind, may_lack_records
from scumble.gate.words import MOST_RECORDS, STORED, Words
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.sensitivity import Reach

WORTH_A_THREAD = 1 << 17
"""Counters that are worth a thread to add up."""


class Shape(Protocol):
    """The public parameters of a sketch, as far as releasing needs them."""

    @property
    def rows(self) -> int:
        """Counters that one record touches: the number of rows, but where it `touches` several of one."""

    @property
    def counters(self) -> tuple[int, ...]:
        """The shape of the counters: rows by buckets, or flat if rows differ in length."""

    @property
    def lengths(self) -> Sequence[int]:
        """How many counters each row has."""

    @property
    def reach(self) -> Reach:
        """What one record adds to a row; in the first row, exactly its `step`."""

    @property
    def occupancies(self) -> Mapping[int, np.ndarray]:
        """Rows that are published only as the number of nonzero counters per part: the part of each counter."""

    @property
    def touches(self) -> Mapping[int, int]:
        """Rows in which a record adds one to several different counters: to how many, at most. Not the first."""

    def require_equal(self, other: Any) -> None:
        """Refuse a spec whose counters cannot be added to these."""

    def to_dict(self) -> Json:
        """As JSON values."""


@dataclass
class NoiseFirst:
    """Counters whose noise was drawn first: claim, identity, variances, and the noisy count so far (None: no count)."""

    claim: PrivacyClaim
    identity: str
    count: int | None
    counter_variance: float
    count_variance: float
    finished: bool = False
    """Whether it was released, so that no record can be added."""

    def to_dict(self) -> Json:
        """As JSON values."""
        return {**vars(self), "claim": self.claim.to_dict()}

    @staticmethod
    def from_dict(data: Any, rows: int) -> NoiseFirst:
        """Read what `to_dict` wrote; refuse impossible values."""
        try:
            found = NoiseFirst(**{**data, "claim": PrivacyClaim.from_dict(data["claim"])})
            variances = found.counter_variance, found.count_variance
            good = all(type(v) in (int, float) and 0 <= v < 1e300 for v in variances)
            good = good and (found.count is None or (type(found.count) is int and abs(found.count) < 2**62))
            if not good or type(found.identity) is not str or type(found.finished) is not bool:
                raise TypeError
            if found.claim.rows != rows:
                raise TypeError
        except (KeyError, TypeError, ValueError, OverflowError):
            raise CorruptFileError("The file lacks a part of a sketch that began with noise.") from None
        return found


_LIVE: weakref.WeakSet[Secret] = weakref.WeakSet()


def _after_fork() -> None:
    """In the child, locks are new, and noise and records stay with the parent; empty secrets become the child's own."""
    for secret in list(_LIVE):
        secret.lock, secret.payment = threading.RLock(), None
        if secret.noise is not None:
            secret.give_up("Its noise was drawn before this process was forked, and stays with the other one.")
        elif secret.touched:
            leave_behind(secret.lineage)
        else:
            secret.lineage = {str(uuid.uuid4())}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Secret:
    """Exact counters of the given `spec`, to which each record adds in every row as the spec's reach says.

    `drops`: whether records may be left out because of their content. `planned`: what a release may choose to publish
    (:mod:`scumble.density.planned_release`): 0 everything, 1 some of the rows or cells, 2 also rows of a grid's cells.
    """

    def __init__(self, spec: Shape, *, drops: bool, planned: int = 0, words: int = 0) -> None:
        self.spec = spec
        self.drops = drops
        self.planned = int(planned)
        self.counts = np.zeros(spec.counters, np.int64)
        self.words = tuple(Words() for _ in range(words))
        """Candidates of columns whose words are still to be found."""
        self.lineage = {str(uuid.uuid4())}
        """The sketches it was made of: no record may be released twice."""
        self.closed = ""
        """Why it cannot be used; empty while it can."""
        self.touched = False
        """Whether anything was counted."""
        self.noise: NoiseFirst | None = None
        self.home: str | None = None
        """The file of a secret that began with noise."""
        self.payment: str | None = None
        """The UUID under which its release is charged: what its file names, or an attempt that was interrupted."""
        self.lock = threading.RLock()
        self._starts: np.ndarray | None = None
        _LIVE.add(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PrivacyError("Exact counters cannot be pickled or copied. Hint: `sketch.save('part.secret')` keeps them.")

    @property
    def total(self) -> int:
        """The exact number of records."""
        return int(self.row(0).sum()) // self.spec.reach.step

    def row(self, number: int) -> np.ndarray:
        """The exact counters of one row; not a copy."""
        if self.counts.ndim > 1:
            row: np.ndarray = self.counts[number]
            return row
        if self._starts is None:
            self._starts = np.concatenate([[0], np.cumsum(self.spec.lengths, dtype=np.int64)])
        return self.counts[self._starts[number] : self._starts[number + 1]]

    @contextmanager
    def out_of_sight(self) -> Iterator[None]:
        """Hide the counters while a caller's code runs."""
        counts, self.counts = self.counts, np.zeros((0, 0), np.int64)
        try:
            yield
        finally:
            self.counts = counts

    def require_open(self, verb: str) -> None:
        """Refuse a secret that was released or interrupted."""
        if self.closed:
            raise BudgetError(f"Cannot {verb}: {self.closed[0].lower()}{self.closed[1:]} Hint: start a new sketch.")

    def require_exact(self) -> None:
        """Refuse a secret that began with noise."""
        if self.noise is not None:
            raise PrivacyError("This sketch began with noise: it has no exact answers. Hint: query its release().")

    @contextmanager
    def changing(self, verb: str) -> Iterator[np.ndarray]:
        """The counters, locked for a change; an interruption inside closes the secret."""
        with self.lock:
            self.require_open(verb)
            if self.noise is not None and self.noise.finished:
                raise BudgetError(f"Cannot {verb}: this sketch has been released. Hint: start a new sketch.")
            self.closed = f"Its last {verb} was interrupted, so its rows differ in their records."
            self.touched = True
            yield self.counts
            self.closed = ""

    def aside(self) -> np.ndarray:
        """Zeros for one thread to count in; refused for a secret that began with noise."""
        with self.lock:
            self.require_open("update")
            self.require_exact()
            return np.zeros_like(self.counts)

    def take_in(self, aside: Sequence[np.ndarray], threads: int = 1) -> None:
        """Add and clear the counts of threads; they are integers, so the order does not matter."""
        if not aside:
            return
        with self.changing("update") as counts, ThreadPoolExecutor(threads) as pool:
            whole, *parts = (np.frombuffer(one, one.dtype) for one in (counts, *aside))  # refused if not of one piece
            size = max(WORTH_A_THREAD // len(parts), -(-whole.size // threads))

            def add(first: int) -> None:
                mine = slice(first, first + size)
                for part in parts:
                    whole[mine] += part[mine]
                    part[mine] = 0

            for _ in pool.map(add, range(0, whole.size, size)):
                pass

    def counted(self, records: int) -> None:
        """Add so many records to the noisy count, if there is one."""
        if self.noise is not None and self.noise.count is not None:
            self.noise.count += records

    def merge(self, other: Secret) -> None:
        """Add another's counters: exactly the secret of both tables together."""
        with held([self, other]):
            self.require_open("merge")
            other.require_open("merge")
            if other is self or self.lineage & other.lineage:
                raise MergeError("Cannot merge a sketch with itself: its records would count twice.")
            if self.noise is not None or other.noise is not None:
                raise MergeError("A sketch that began with noise does not merge. Hint: merge the releases.")
            self.spec.require_equal(other.spec)
            if bool(self.planned) != bool(other.planned):
                raise MergeError("Cannot merge: one leaves its number of rows open. Hint: build both alike.")
            words = [*zip(self.words, other.words, strict=True)]
            most = max((mine.records + its.records for mine, its in words), default=0)
            if not fits(self.counts, other.counts) or most > MOST_RECORDS:
                raise MergeError("Cannot merge: a counter could exceed 2**62. Hint: check whether a part is damaged.")
            with self.changing("merge"):
                self.counts += other.counts
                for mine, its in words:
                    mine.merge(its)
                self.lineage |= other.lineage
                self.drops |= other.drops
                self.planned = min(self.planned, other.planned)

    def add_to(self, noise: np.ndarray) -> int:
        """Add the exact counters to complete noise, and return the exact N.

        Noise is drawn before this, so that no traceback of a failed draw holds exact counters.
        """
        noise += self.counts
        return self.total

    @contextmanager
    def narrowed(self, spec: Shape, rows: int, groups: np.ndarray | None = None) -> Iterator[None]:
        """Only the first rows, or the sums of groups of a grid's cells, as public facts say.

        After a refusal, everything is restored; once the budget is spent, the other counters are wiped.
        """
        with self.lock:
            self.require_open("release")
            before = self.spec, self.counts, self.planned
            narrow = np.zeros(spec.counters, np.int64)
            if groups is None:
                narrow += self.counts[:rows]
            else:
                np.add.at(narrow[0], groups, self.counts[0])
            try:
                self.spec, self.counts, self.planned = spec, narrow, 0
                yield
            except BaseException:
                if self.noise is not None and not self.closed:  # the noise in the counters was paid for
                    self.give_up("It was interrupted when its noise was drawn.")
                if not self.closed:
                    self.spec, self.counts, self.planned = before
                    narrow.fill(0)
                else:
                    before[1].fill(0)
                raise
            before[1].fill(0)

    def give_up(self, why: str) -> None:
        """Wipe the exact counters."""
        self.closed = why
        counts, self.counts = self.counts, np.zeros((0, 0), np.int64)
        counts.fill(0)
        for words in self.words:
            words.clear()

    def contents(self) -> tuple[Json, dict[str, np.ndarray]]:
        """What a secret file holds, metadata and arrays."""
        self.require_open("save")
        drops = self.drops or may_lack_records()
        metadata = {"spec": self.spec.to_dict(), "lineage": sorted(self.lineage), "drops": drops}
        if self.planned:
            metadata["planned"] = True
        if self.planned > 1:
            metadata["rehashed"] = True
        if self.noise is not None:
            metadata["noise_first"] = self.noise.to_dict()
        listed = [(k, name, part) for k, words in enumerate(self.words) for name, part in words.to_arrays().items()]
        return metadata, {"counts": self.counts, **{f"{name}.{k}": part for k, name, part in listed}}

    def fill(self, container: Container) -> None:
        """Load a file's counters and lineage; refuse what does not fit the spec."""
        require_unreleased(container)
        try:
            counts, lineage = container.arrays["counts"], container.metadata["lineage"]
            names = STORED if "votes.0" in container.arrays else STORED[:3]  # of older files
            words = [[container.arrays[f"{name}.{k}"] for name in names] for k in range(len(self.words))]
        except KeyError as problem:
            raise CorruptFileError(f"The file lacks a part of a sketch: {problem}.") from problem
        if counts.shape != self.counts.shape or counts.dtype != np.int64:
            raise CorruptFileError("The counters do not have the shape that the file's header states.")
        if not fits(counts):
            raise CorruptFileError("The file is damaged: it has counters beyond 2**62.")
        if not isinstance(lineage, list) or not lineage:
            raise CorruptFileError("The file is damaged: it lacks the sketches that it was made of.")
        self.words = tuple(Words.from_arrays(*arrays) for arrays in words)
        self.counts[:] = counts
        self.touched = True
        self.lineage = {str(part) for part in lineage}
        self.drops |= container.metadata.get("drops") is not False  # older files do not say
        self.planned = int(container.metadata.get("planned") is True)
        if self.planned and container.metadata.get("rehashed") is True:
            self.planned = 2
        if "noise_first" in container.metadata:
            self.noise = NoiseFirst.from_dict(container.metadata["noise_first"], self.spec.rows)


def require_unreleased(container: Container) -> None:
    """Refuse a part that was released, or is pledged to a release."""
    if "released" in container.metadata:
        raise BudgetError(f"The part was released before, as {became(container.metadata)}. Hint: query that release.")
    require_free(container.metadata)


@contextmanager
def held(secrets: Sequence[Secret]) -> Iterator[None]:
    """Hold the locks of all these secrets, taken in one order to avoid a deadlock."""
    with ExitStack() as locks:
        for _, secret in sorted({id(secret): secret for secret in secrets}.items()):
            locks.enter_context(secret.lock)
        yield
