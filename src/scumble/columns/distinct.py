"""Columns whose distinct values are counted, such as customers: each cell is hashed to one cell of a sketch.

The hash of a value (`columns.hashing`) names a level and one of B buckets on it. A level is reached by a quarter of the
values of the one before: a value is on level l with probability 3/4 · 4⁻ˡ, and on the last one with 4⁻ˡ. Equal values
share a bucket, so the number of occupied buckets tells how many different ones there are (`table.distinct`).

**What is published.** The sketch counts records in buckets, so it merges by addition. Of each level, a release has the
number of buckets that are not empty, plus noise. A further record turns at most one counter from 0 to 1: it adds one to
at most one of these numbers. One record less takes one from at most one of them, k records do it k times, and a record
that is replaced does both. So the row of numbers has the sensitivity of a row of counters, in L1 and in L2, whatever is
hashed, and needs no noise but that of its share of the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scumble.columns import cells
from scumble.columns.column import UNREADABLE, Apart, Coded, by_text
from scumble.columns.hashing import hash_of
from scumble.columns.line import Span

BUCKETS, LEVELS = 8191, 8
"""Hashing alone errs by 1 %. Cells have 16-bit numbers, and ten million values still leave empty buckets on two levels;
400 million fill the last one."""
CHANCES = np.append(0.75 * 0.25 ** np.arange(LEVELS - 1), 0.25 ** (LEVELS - 1))
"""Of a level, for a value."""
PARTS = np.append(np.repeat(np.arange(LEVELS), BUCKETS), LEVELS)
"""The level of each cell; missing cells have one of their own, which is not read."""
_BITS = 53


@dataclass(frozen=True, repr=False)
class Distinct(Apart):
    """A column whose distinct values are counted, such as customers or orders, and nothing else.

    Its values are compared by their canonical text, without blanks at the ends. They need not be known in advance, and
    a release has neither them nor any count of theirs. Missing cells are no value.

    Examples
    --------
    >>> from scumble.columns.number import Number
    >>> from scumble.columns.schema import Schema
    >>> schema = Schema(customer=Distinct(), price=Number(0, 100))
    >>> list(schema), list(schema.distinct)
    (['price'], ['customer'])
    """

    kind: ClassVar[str] = "distinct"
    role: ClassVar[str] = "word"
    refuses: ClassVar[str] = "not a word (text, numbers, booleans, dates and times are read)"
    asked: ClassVar[str] = "only its distinct values were counted: ask `distinct`"

    @property
    def line(self) -> Span:
        return 0, len(PARTS) - 1

    def _named(self) -> tuple[str, ...]:
        return ()

    def words(self) -> str:
        return "distinct values are counted"

    def _codes(self, column: cells.Column, label: str) -> Coded:
        return by_text(column, label, cell_of, "categories"), None, ()

    def cells_of(self, words: Sequence[bytes | None]) -> np.ndarray:
        """The cell of each word, as its column compares words; None is a missing one."""
        return np.array([self.size - 1 if word is None else _cell(word) for word in words], np.int32)


def cell_of(text: bytes) -> int:
    """The cell of the sketch for a canonical text.

    >>> [cell_of(text) for text in (b"17", b" 17 ", b"NA")]
    [12536, 12536, -1]
    """
    if text.isascii():
        word = text.strip()
    else:
        word = text.decode("utf-8", "surrogateescape").strip(cells.BLANKS).encode("utf-8", "surrogateescape")
    if cells.says_nothing(word):
        return UNREADABLE
    return _cell(word)


def _cell(word: bytes) -> int:
    drawn = int(hash_of(word))
    level = min((_BITS - drawn.bit_length()) // 2, LEVELS - 1)
    return level * BUCKETS + drawn % BUCKETS
