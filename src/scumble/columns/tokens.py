"""Columns of sets of words, such as tags: at most a given number of them are counted per record.

A record's tokens are those of its words that are in the vocabulary, and "(other)" if it has any else; each once. They
stand in the order of the vocabulary, and the first m of them are counted: a function of the record alone, and never
more than m. Tokens have *slots*: slot k holds the k-th of them, or level L + k if there are fewer, of L levels. So the
m slots of a record always have m different levels, and add one to m different counters of one row; and the pairs of
slots add one to m(m − 1)/2 different counters of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from scumble import checks
from scumble.columns import cells
from scumble.columns.category import Category
from scumble.columns.column import BLANK, MOST_LEVELS, UNREADABLE, Apart, Coded, Strays, wrong_type
from scumble.columns.containers import one_column
from scumble.columns.hashing import UnsupportedValue, text_of
from scumble.columns.line import Span
from scumble.columns.table import LISTS, entries, words
from scumble.errors import parameter

MOST_TOKENS = 64
"""Of a record: their pairs add one to 2,016 counters."""


class Slots(NamedTuple):
    """The level in each slot of each record, and for each record how many tokens it has, and whether one is other."""

    codes: np.ndarray
    numbers: np.ndarray
    other: np.ndarray

    def __repr__(self) -> str:
        return "Slots(secret)"

    def strays(self, dropped: np.ndarray | None = None) -> Strays:
        """What the curator learns of the records that are not dropped."""
        kept = slice(None) if dropped is None else ~dropped
        numbers, most = self.numbers[kept], self.codes.shape[1]
        beyond = int(np.maximum(numbers - most, 0).sum())
        return Strays(int(numbers.sum()), beyond=beyond, other=int(self.other[kept].sum()))


@dataclass(frozen=True, repr=False)
class Tokens(Apart):
    """Sets of words from a public vocabulary, such as the tags of an article, which are counted one by one.

    A release answers ``top``, ``count(by=)`` and, for pairs in one record, ``crosstab``. Cells are lists, or text that
    is split at a separator. Words are compared as those of a `Category`; a missing cell is an empty set.

    Parameters
    ----------
    values : list of str, int, float or bool
        The vocabulary. Words that are not in it count together as "(other)", once for each record.
    most : int
        The most tokens of a record that are counted: public, and the price of a record. Where one has more, those that
        come first in `values` are.
    separator : str
        What stands between the words of a text.
    ignore_case : bool
        Whether case is ignored.

    Examples
    --------
    >>> tags = Tokens(["python", "sql", "rust"], 2)
    >>> tags.slots(["sql; rust;python", ["sql", "sql"], None]).codes.tolist()
    [[0, 1], [1, 5], [4, 5]]
    """

    kind: ClassVar[str] = "tokens"
    role: ClassVar[str] = "list"
    asked: ClassVar[str] = "its tokens were counted one by one: ask `top` or `crosstab`"

    values: Sequence[str | int | float | bool] = field(default=BLANK, compare=False)
    most: int = 0
    _: KW_ONLY
    separator: str = ";"
    ignore_case: bool = False
    _category: Category = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = self.__dict__.__setitem__  # frozen for everybody else
        put("_category", Category(self.values, missing=False, ignore_case=self.ignore_case))
        put("values", self._category.values)
        put("most", checks.whole("most", self.most, 1, MOST_TOKENS))
        if not isinstance(self.separator, str) or not self.separator:
            raise parameter("separator", "text, such as ';' or ', '", self.separator)
        if self.size > MOST_LEVELS:
            raise parameter("values", f"a list of at most {MOST_LEVELS - self.most - 1} words", len(self.values))

    @property
    def line(self) -> Span:
        return 0, self._category.size

    @property
    def size(self) -> int:
        """The levels of a slot."""
        return self._category.size + self.most

    def _named(self) -> tuple[str, ...]:
        return self._category.levels

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """The words, and "(other)"."""
        return self._category.levels

    @property
    def unforeseen(self) -> int:
        return self._category.size - 1

    def words(self) -> str:
        return f"{self._category.words()}; at most {self.most} of a record"

    def axis(self, slot: int, finest: int) -> np.ndarray:
        """The level of each of a slot's levels if only the first `finest` words are distinguished."""
        levels = np.arange(self.size)
        return np.where(levels < finest, levels, finest + slot)

    def slots(self, values: object, label: str = "The column") -> Slots:
        """The tokens of each cell of an array, a series, an Arrow array or a list."""
        column, width, place = one_column(values, "values"), self._category.size, self._category.code_of
        try:
            texts, places, lengths, _ = entries(column, as_list)
        except UnsupportedValue:
            raise wrong_type(column, label, "lists of words, or text") from None
        apart = self.separator.encode()
        own = [[] if text is None else [*{place(one) for one in text.split(apart)} - {UNREADABLE}] for text in texts]
        sizes = np.array([len(one) for one in own], np.int64)
        flat = np.array([code for one in own for code in one], np.int64)
        times = sizes[places]
        row = np.repeat(np.repeat(np.arange(len(lengths)), lengths), times)
        first = np.repeat((np.cumsum(sizes) - sizes)[places] - (np.cumsum(times) - times), times)
        found = np.unique(row * width + flat[first + np.arange(len(first))])  # each once, in the vocabulary's order
        row, code = np.divmod(found, width)
        numbers = np.bincount(row, minlength=len(lengths))
        rank = np.arange(len(row)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
        codes = np.tile(np.arange(width, self.size, dtype=np.int32), (len(lengths), 1))
        kept = rank < self.most
        codes[row[kept], rank[kept]] = code[kept]
        return Slots(codes, numbers, np.bincount(row[code == self.unforeseen], minlength=len(lengths)) > 0)

    def _codes(self, column: cells.Column, label: str) -> Coded:
        return self.slots(column, label).codes[:, 0], None, ()


def as_list(cell: object) -> list[bytes | None] | None:
    """A cell as a source hands it on: text stays whole, to be split by the column that knows how."""
    if isinstance(cell, LISTS):
        return words(cell)
    text = text_of(cell)
    return None if text is None else [text]
