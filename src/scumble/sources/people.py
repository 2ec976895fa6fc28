"""Person-level privacy: at most m records of each person are counted, enforced while the records stream by.

**Idea.** A promise to *people* rather than to records needs a bound m on how many records one person adds.
`PersonLimit` keeps it: of each person the first m records pass, the rest are dropped. It remembers a 128-bit keyed hash
of each person's name and a count, in a table of bounded size; the key is random, secret, and new for every limit.

**Why a table and not a smaller filter.** What one person does must not change which records of *others* are counted: if
Ann's presence pushes out a record of Bob, then removing Ann changes two people's records, and noise for m records is
too little. Bloom and count-min filters have this very flaw, however conservative they are: they bound each person, but
they make people interfere. Here every decision depends on the person's own records alone (two persons meet only if 128
random bits agree: below 10⁻²⁰ for a billion persons), so adding or removing a person with any number of records
moves the counters by at most m records.

**Memory** is bounded beforehand: 20 bytes per slot (30 while the table grows), three quarters of which may be taken. If
there are more persons than that, the limit refuses to continue; it never silently forgets a person.

**Several parts.** Each limit starts anew, so a person may pass m times in *each* part that has its own: after
merging k parts a person may have k·m records, and that is the `records_per_person` to release with. Only if the parts
are made by person (each person in one part) does it stay m.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np

from scumble.checks import whole
from scumble.errors import CorruptFileError, DataError, PrivacyError
from scumble.machine.compiling import njit
from scumble.releasing.spending import filtered_by_hand
from scumble.tables.cells import describe, texts
from scumble.tables.containers import one_column
from scumble.tables.hashing import UnsupportedValue

DEFAULT_MEMORY = 256 * 2**20
"""256 MiB: six million persons."""

_PLACE = (
    30  # bytes: two words of the hash, four bytes of the count, and half as much again of the old table while it grows
)


class PersonLimit:
    """Lets at most `records_per_person` records of each person pass, in fixed memory.

    >>> limit = PersonLimit(2)
    >>> limit.keep(["ann", "bob", "ann", "ann"]).tolist()
    [True, True, True, False]
    >>> limit.keep(["ann", "bob", "bob"]).tolist()      # it remembers
    [False, True, False]

    Parameters
    ----------
    records_per_person : int
        m, the most records of one person that are counted.
    memory : int
        Bytes that the table may take.
    """

    def __init__(self, records_per_person: int, *, memory: int = DEFAULT_MEMORY) -> None:
        self.records_per_person = whole("records_per_person", records_per_person, 1, 2**31 - 1)
        self._most_places = 1 << (whole("memory", memory, 1024, must="at least 1024 bytes") // _PLACE).bit_length() - 1
        self._key = os.urandom(32)
        self._make(min(1024, self._most_places))

    def _make(self, places: int) -> None:
        self._hashes = np.zeros((places, 2), np.uint64)
        self._counts = np.zeros(places, np.int32)
        self._persons = 0

    def keep(self, persons: object) -> np.ndarray:
        """For a column of persons, which records pass. A missing person is a `DataError`: drop those first.

        The column may be a list, or an array or column of text, numbers or dates: 7, 7.0 and "7" are one person.

        How many records pass depends on whose they are. Under ``neighbors="replace"`` that number would be published:
        a process that has called this releases nothing under replace.
        """
        filtered_by_hand("PersonLimit")
        return self.pass_on(persons)

    def pass_on(self, persons: object) -> np.ndarray:
        """`keep`, for those who tell the sketch themselves that records may be left out."""
        column = one_column(persons, "persons")
        try:
            names, places = texts(column)
        except UnsupportedValue:
            raise DataError(f"A person must be named by text, numbers or dates, got {describe(column)}.") from None
        if len(places) == 0:
            return np.zeros(0, bool)
        used, places = np.unique(places, return_inverse=True)
        known: dict[bytes, int] = {}  # by the canonical text and by nothing else: equal cells may be two persons
        which = np.array([known.setdefault(_named(names[k]), len(known)) for k in used.tolist()], np.int64)[places]
        hashes = np.frombuffer(b"".join(map(self._hash, known)), np.uint64).reshape(-1, 2)
        while 4 * (self._persons + len(hashes)) > 3 * len(self._counts):
            if len(self._counts) < self._most_places:
                self._grow()
                continue
            if 4 * (self._persons + self._new_persons(hashes)) <= 3 * len(self._counts):
                break
            raise DataError(
                f"There are more persons than the limit has room for ({3 * len(self._counts) // 4:,}). "
                "Hint: give it more `memory`, or split the table by person."
            )
        places, fresh = _find(self._hashes, self._counts, hashes, True)
        self._persons += int(fresh)
        kept: np.ndarray = _pass(self._counts, places, which, self.records_per_person)
        return kept

    def rows_of_each(self) -> np.ndarray:
        """How many records of each person have passed. Secret."""
        return self._counts[self._counts > 0]

    def _new_persons(self, hashes: np.ndarray) -> int:
        return int((_find(self._hashes, self._counts, hashes, False)[0] < 0).sum())

    def _grow(self) -> None:
        hashes, counts, persons = self._hashes, self._counts, self._persons
        self._make(2 * len(counts))
        taken = counts != 0
        places, _ = _find(self._hashes, self._counts, hashes[taken], True)
        self._counts[places] = counts[taken]
        self._persons = persons

    def _hash(self, name: bytes) -> bytes:
        return hashlib.blake2b(name, digest_size=16, key=self._key).digest()

    # ---- checkpoints ----

    def contents(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything, for a checkpoint: a build that goes on must remember whom it has counted. Secret."""
        taken = self._counts != 0
        about = {"records_per_person": self.records_per_person, "key": self._key.hex()}
        return about, {"people.hashes": self._hashes[taken], "people.counts": self._counts[taken]}

    def restore(self, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Go on from there."""
        try:
            hashes, counts = arrays["people.hashes"], arrays["people.counts"]
            if about["records_per_person"] != self.records_per_person:
                raise ValueError
            if hashes.shape != (len(counts), 2) or hashes.dtype != np.uint64 or counts.dtype != np.int32:
                raise ValueError
            self._key = bytes.fromhex(about["key"])
        except (KeyError, TypeError, ValueError):
            raise CorruptFileError("The checkpoint lacks the table of persons.") from None
        places = 1024
        while 4 * len(counts) > 3 * places:
            places *= 2
        self._make(places)
        found, _ = _find(self._hashes, self._counts, hashes, True)
        self._counts[found] = counts
        self._persons = len(counts)

    def __reduce_ex__(self, protocol: object) -> Any:
        raise PrivacyError("A PersonLimit is not pickled or copied: it knows who is in the table.")

    def __repr__(self) -> str:
        return f"PersonLimit({self.records_per_person})"


def _named(name: bytes | None) -> bytes:
    if name is None:
        raise DataError(
            "A person is missing, or not named by text, a number or a date. "
            "Hint: drop such records first, or give each a name of its own."
        )
    return name


@njit(cache=True)
def _find(table: np.ndarray, counts: np.ndarray, hashes: np.ndarray, add: bool) -> tuple[np.ndarray, int]:
    """The place of each hash, by linear probing; −1 if it has none (and `add` is false). A place is taken if its
    count is not 0; a new one is marked with −1, "no record yet"."""
    mask = np.uint64(len(counts) - 1)
    places = np.empty(len(hashes), np.int64)
    fresh = 0
    for k in range(len(hashes)):
        at = hashes[k, 0] & mask
        while counts[at] != 0 and not (table[at, 0] == hashes[k, 0] and table[at, 1] == hashes[k, 1]):
            at = (at + np.uint64(1)) & mask
        if counts[at] == 0:
            if not add:
                places[k] = -1
                continue
            table[at, 0], table[at, 1] = hashes[k, 0], hashes[k, 1]
            counts[at] = -1
            fresh += 1
        places[k] = at
    return places, fresh


@njit(cache=True)
def _pass(counts: np.ndarray, places: np.ndarray, which: np.ndarray, most: int) -> np.ndarray:
    """The first `most` records of each person, in order."""
    out = np.zeros(len(which), np.bool_)
    for k in range(len(which)):
        at = places[which[k]]
        before = max(counts[at], 0)
        if before < most:
            counts[at] = before + 1
            out[k] = True
    return out
