"""Person-level privacy: at most m records of each person are counted (people.proof.md).

The first m records of each person pass, the rest are dropped. The limit stores a 128-bit keyed hash of each person's
name and a count; the key is random, secret, and new for every limit. So each decision depends on the person's own
records alone. The table grows by 27 to 80 bytes for each person.

Each limit starts anew: after merging k parts with limits of their own, a person may have k·m records, and that is the
`records_per_person` to release with, unless each person is in one part only.
"""

from __future__ import annotations

import hashlib
import os
from typing import NoReturn

import numpy as np

from scumble.checks import Json, whole
from scumble.columns.cells import describe, texts
from scumble.columns.containers import one_column
from scumble.columns.hashing import UnsupportedValue
from scumble.errors import CorruptFileError, DataError, PrivacyError
from scumble.files.compiling import njit
from scumble.gate.spending import filtered_by_hand


class PersonLimit:
    """Lets at most `records_per_person` records of each person pass.

    >>> limit = PersonLimit(2)
    >>> limit.keep(["ann", "bob", "ann", "ann"]).tolist()
    [True, True, True, False]
    >>> limit.keep(["ann", "bob", "bob"]).tolist()      # it remembers
    [False, True, False]

    Parameters
    ----------
    records_per_person : int
        m, the most records of one person that are counted.
    """

    def __init__(self, records_per_person: int) -> None:
        self.records_per_person = whole("records_per_person", records_per_person, 1, 2**31 - 1)
        self._key = os.urandom(32)
        self._hold(np.zeros((0, 2), np.uint64), np.zeros(0, np.int32))

    def _hold(self, hashes: np.ndarray, counts: np.ndarray, more: int = 0) -> None:
        """Make a table of these, with room for `more`."""
        places = 1024
        while 4 * (len(counts) + more) > 3 * places:
            places *= 2
        self._hashes, self._counts = np.zeros((places, 2), np.uint64), np.zeros(places, np.int32)
        found, _ = _find(self._hashes, self._counts, hashes)
        self._counts[found] = counts
        self._persons = len(counts)

    def keep(self, persons: object) -> np.ndarray:
        """For a column of persons, which records pass. A missing person is a `DataError`: drop those first.

        The column may hold text, numbers or dates: 7, 7.0 and "7" are one person.

        How many records pass depends on whose they are, and ``neighbors="replace"`` would publish that number, so a
        process that has called this releases nothing under replace.
        """
        filtered_by_hand("PersonLimit")
        return self.pass_on(persons)

    def pass_on(self, persons: object) -> np.ndarray:
        """`keep`, for callers that note in the sketch that records may be left out."""
        column = one_column(persons, "persons")
        try:
            names, places = texts(column)
        except UnsupportedValue:
            raise DataError(f"A person must be named by text, numbers or dates, got {describe(column)}.") from None
        if len(places) == 0:
            return np.zeros(0, bool)
        used, places = np.unique(places, return_inverse=True)
        known: dict[bytes, int] = {}  # by canonical text only
        which = np.array([known.setdefault(_named(names[k]), len(known)) for k in used.tolist()], np.int64)[places]
        hashes = np.frombuffer(b"".join(map(self._hash, known)), np.uint64).reshape(-1, 2)
        if 4 * (self._persons + len(hashes)) > 3 * len(self._counts):
            taken = self._counts != 0
            self._hold(self._hashes[taken], self._counts[taken], len(hashes))
        places, fresh = _find(self._hashes, self._counts, hashes)
        self._persons += int(fresh)
        kept: np.ndarray = _pass(self._counts, places, which, self.records_per_person)
        return kept

    def rows_of_each(self) -> np.ndarray:
        """How many records of each person have passed. Secret."""
        return self._counts[self._counts > 0]

    def _hash(self, name: bytes) -> bytes:
        return hashlib.blake2b(name, digest_size=16, key=self._key).digest()

    # ---- checkpoints ----

    def contents(self) -> tuple[Json, dict[str, np.ndarray]]:
        """Everything, for a checkpoint. Secret."""
        taken = self._counts != 0
        about = {"records_per_person": self.records_per_person, "key": self._key.hex()}
        return about, {"people.hashes": self._hashes[taken], "people.counts": self._counts[taken]}

    def restore(self, about: Json, arrays: dict[str, np.ndarray]) -> None:
        """Continue from a checkpoint."""
        try:
            hashes, counts = arrays["people.hashes"], arrays["people.counts"]
            if about["records_per_person"] != self.records_per_person:
                raise ValueError
            if hashes.shape != (len(counts), 2) or hashes.dtype != np.uint64 or counts.dtype != np.int32:
                raise ValueError
            self._key = bytes.fromhex(about["key"])
        except (KeyError, TypeError, ValueError):
            raise CorruptFileError("The checkpoint lacks the table of persons.") from None
        self._hold(hashes, counts)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PrivacyError("A PersonLimit is not pickled or copied: it knows who is in the table.")

    def __repr__(self) -> str:
        return f"PersonLimit({self.records_per_person})"


def _named(name: bytes | None) -> bytes:
    if name is None:
        raise DataError("A person is missing, or neither text, number nor date. Hint: drop such records first.")
    return name


@njit(cache=True)
def _find(table: np.ndarray, counts: np.ndarray, hashes: np.ndarray) -> tuple[np.ndarray, int]:
    """The place of each hash, by linear probing, and how many are new.

    A place is taken if its count is not 0; a new one has −1, "no record yet".
    """
    mask = np.uint64(len(counts) - 1)
    places = np.empty(len(hashes), np.int64)
    fresh = 0
    for k in range(len(hashes)):
        at = hashes[k, 0] & mask
        while counts[at] != 0 and not (table[at, 0] == hashes[k, 0] and table[at, 1] == hashes[k, 1]):
            at = (at + np.uint64(1)) & mask
        if counts[at] == 0:
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
