"""Exact counters under lock and key, and all that decides whether they may be released.

A `Secret` is what a sketch holds. The gate (:mod:`scumble.releasing.gate`) knows secrets and nothing else of sketches.
"""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np

from scumble.errors import BudgetError, CorruptFileError, MergeError, PrivacyError
from scumble.files import Container
from scumble.files.headroom import fits
from scumble.privacy.claim import PrivacyClaim
from scumble.privacy.sensitivity import Reach
from scumble.releasing.pledges import became, require_free
from scumble.releasing.spending import leave_behind, may_lack_records

WORTH_A_THREAD = 1 << 17
"""Counters to add up that take longer than it takes to hand them out."""


class Shape(Protocol):
    """The public parameters of a sketch, as far as releasing needs them."""

    @property
    def rows(self) -> int:
        """Counters that one record touches."""

    @property
    def counters(self) -> tuple[int, ...]:
        """The shape of the array of counters: rows by buckets, or all of them in one line if rows differ in length."""

    @property
    def lengths(self) -> Sequence[int]:
        """How many counters each row has."""

    @property
    def reach(self) -> Reach:
        """What one record adds to a row; in the first row, numbers that add up to its `step`."""

    def require_equal(self, other: Any) -> None:
        """Refuse what does not add up."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""


@dataclass
class NoiseFirst:
    """What is known of counters whose noise was drawn first. `count` is the noisy count so far; None: there is none."""

    claim: PrivacyClaim
    identity: str
    count: int | None
    counter_variance: float
    count_variance: float
    finished: bool = False
    """Whether it was released: then no record can be added."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**vars(self), "claim": self.claim.to_dict()}

    @staticmethod
    def from_dict(data: Any, rows: int) -> NoiseFirst:
        """Read what `to_dict` wrote; what cannot be is refused."""
        try:
            found = NoiseFirst(**{**data, "claim": PrivacyClaim.from_dict(data["claim"])})
            if not all(
                type(v) in (int, float) and 0 <= v < 1e300 for v in (found.counter_variance, found.count_variance)
            ):
                raise TypeError
            if found.count is not None and (type(found.count) is not int or abs(found.count) >= 2**62):
                raise TypeError
            if type(found.identity) is not str or type(found.finished) is not bool or found.claim.rows != rows:
                raise TypeError
        except (KeyError, TypeError, ValueError, OverflowError):
            raise CorruptFileError("The file lacks a part of a sketch that began with noise.") from None
        return found


_LIVE: weakref.WeakSet[Secret] = weakref.WeakSet()


def _after_fork() -> None:
    """In the child: no thread holds a lock, and noise and records from before stay with the parent.

    What was empty is the child's own, whatever it counts.
    """
    for secret in list(_LIVE):
        secret.lock = threading.RLock()
        if secret.noise is not None:
            secret.give_up("Its noise was drawn before this process was forked, and stays with the other one.")
        elif secret.touched:
            leave_behind(secret.lineage)
        else:
            secret.lineage = {str(uuid.uuid4())}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Secret:
    """Exact counters, to which each record adds in every row as its spec's reach says: one to one of them, or moments.

    Parameters
    ----------
    spec : Shape
        The public parameters.
    drops : bool
        Whether records may be left out because of what they say.
    planned : int
        Whether a release publishes only as much of it as serves best (:mod:`scumble.releasing.planned`): not if 0, so
        much of its rows or cells if 1, and if 2, of a grid, maybe rows of its cells.
    """

    def __init__(self, spec: Shape, *, drops: bool, planned: int = 0) -> None:
        self.spec = spec
        self.drops = drops
        self.planned = int(planned)
        self.counts = np.zeros(spec.counters, np.int64)
        self.lineage = {str(uuid.uuid4())}
        """What it was made of: records that are in two secrets are released once."""
        self.closed = ""
        """Why it cannot be used; empty while it can."""
        self.touched = False
        """Whether anything was ever counted."""
        self.noise: NoiseFirst | None = None
        self.home: str | None = None
        """The file that its noise, if it came first, is kept in."""
        self.payment: str | None = None
        """Under what its release is charged, if its file says so: the same after a crash."""
        self.lock = threading.RLock()
        self._starts: np.ndarray | None = None
        _LIVE.add(self)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("Exact counters are not pickled or copied. Hint: `sketch.save('part.secret')` keeps them.")

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
        """While somebody else's code decides: whoever holds this secret finds no counters in it."""
        counts, self.counts = self.counts, np.zeros((0, 0), np.int64)
        try:
            yield
        finally:
            self.counts = counts

    def require_open(self, verb: str) -> None:
        """Refuse to go on with a secret that was released, or broken off half-way."""
        if self.closed:
            raise BudgetError(f"Cannot {verb}: {self.closed[0].lower()}{self.closed[1:]} Hint: start a new sketch.")

    def require_exact(self) -> None:
        """Refuse where there are no exact counters."""
        if self.noise is not None:
            raise PrivacyError(
                "This sketch began with noise, so exact answers do not exist. Hint: call release() and query that."
            )

    @contextmanager
    def changing(self, verb: str) -> Iterator[np.ndarray]:
        """Alone with the counters, which are half-way until the end: whatever breaks off here closes the secret."""
        with self.lock:
            self.require_open(verb)
            if self.noise is not None and self.noise.finished:
                raise BudgetError(f"Cannot {verb}: this sketch has been released. Hint: start a new sketch.")
            self.closed = f"Its last {verb} was interrupted, so some rows have counted more records than others."
            self.touched = True
            yield self.counts
            self.closed = ""

    def aside(self) -> np.ndarray:
        """Zeros for a thread to count in by itself; refused where noise came first, so exact counters do not exist."""
        with self.lock:
            self.require_open("update")
            self.require_exact()
            return np.zeros_like(self.counts)

    def take_in(self, aside: Sequence[np.ndarray], threads: int = 1) -> None:
        """Add what threads have counted aside, and clear it. They are integers: no order shows."""
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
        """So many records were added: a noisy count that is kept along counts them too."""
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
                raise MergeError(
                    "Cannot merge: one sketch leaves open how many rows are published, the other has fixed it. "
                    "Hint: build both with the same parameters."
                )
            if not fits(self.counts, other.counts):
                raise MergeError("Cannot merge: a counter could pass 2**62. Hint: is one of the parts damaged?")
            with self.changing("merge"):
                self.counts += other.counts
                self.lineage |= other.lineage
                self.drops |= other.drops
                self.planned = min(self.planned, other.planned)

    def add_to(self, noise: np.ndarray) -> int:
        """Add the exact counters to noise that is complete; gives the exact N.

        Noise is drawn before this: while something can still go wrong, no frame of a traceback holds exact counters.
        """
        noise += self.counts
        return self.total

    @contextmanager
    def narrowed(self, spec: Shape, rows: int, groups: np.ndarray | None = None) -> Iterator[None]:
        """Only the first rows, or the sums of groups of a grid's cells: fixed by public facts alone.

        If what is done with them is refused, all is as it was; once it has spent its budget, the others are wiped.
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
                if self.noise is not None and not self.closed:  # what is in the counters was paid for: no way back
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

    def contents(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
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
        return metadata, {"counts": self.counts}

    def fill(self, container: Container) -> None:
        """Take over what a file holds, beside the spec; what does not fit together is refused."""
        require_unreleased(container)
        try:
            counts, lineage = container.arrays["counts"], container.metadata["lineage"]
        except KeyError as problem:
            raise CorruptFileError(f"The file lacks a part of a sketch: {problem}.") from problem
        if counts.shape != self.counts.shape or counts.dtype != np.int64:
            raise CorruptFileError("The counters do not have the shape that the file's header states.")
        if not fits(counts):
            raise CorruptFileError("The file has counters beyond 2**62: no table has as many records.")
        if not isinstance(lineage, list) or not lineage:
            raise CorruptFileError("The file does not say which sketches it was made of.")
        self.counts[:] = counts
        self.touched = True
        self.lineage = {str(part) for part in lineage}
        self.drops |= container.metadata.get("drops") is not False  # a file that does not say may have
        self.planned = int(container.metadata.get("planned") is True)
        if self.planned and container.metadata.get("rehashed") is True:
            self.planned = 2
        if "noise_first" in container.metadata:
            self.noise = NoiseFirst.from_dict(container.metadata["noise_first"], self.spec.rows)


def require_unreleased(container: Container) -> None:
    """Refuse a part that was released before, or is promised to a release."""
    if "released" in container.metadata:
        raise BudgetError(
            f"The part was released before, as {became(container.metadata)}, and its counters are gone. "
            "A sketch can be released only once. Hint: query the release you have; that is free."
        )
    require_free(container.metadata)


@contextmanager
def held(secrets: Sequence[Secret]) -> Iterator[None]:
    """All locks of these secrets, always in the same order: two threads cannot wait for each other."""
    with ExitStack() as locks:
        for _, secret in sorted({id(secret): secret for secret in secrets}.items()):
            locks.enter_context(secret.lock)
        yield
