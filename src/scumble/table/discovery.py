"""The release of a table with words that nobody declared: they are found first, and then the views are about them.

The secret sketch counts the column by buckets of words, a public function of each cell. Once words are public
(:mod:`scumble.gate.words`), each has the counters of its bucket, of which there are 2^20 in the column's own view, and
all other buckets are summed into "(other)". That only groups cells, so a view costs what it always costs.

A set of columns sees buckets in groups (`table.spec.axis`). A word that most of the records of a group belong to, as
far as words were found, is a level of its own there; the others are pooled with "(other)".

*Error.* A word's counter also holds the records of words that were not found and share its bucket: on average one in
2^20 of these records in the column's own view, and in a pair one for each of the axis's 32 m levels, m being the levels
of an axis of declared words (`TableSpec.levels`), up to one in 2^13; and in a pair up to a tenth of its own for others
that were found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from scumble.columns.category import HASHED, Category
from scumble.columns.column import MOST_LEVELS, Column
from scumble.columns.hashing import BUCKETS, bucket_of
from scumble.columns.schema import Schema
from scumble.errors import ParameterError
from scumble.gate.rows import Contest, Discovery, Groups, PublishedRows, Wanted
from scumble.gate.words import divided as divided_for_words
from scumble.privacy.budget import Budget
from scumble.privacy.claim import PrivacyClaim
from scumble.table.planner import Planner, shares_of_claim
from scumble.table.spec import USUAL, Integers, TableSpec

Ranked = Mapping[bytes, int]
"""Words with noisy numbers of records, the most frequent first."""
CLEAR = 10
"""A word is its own level if it has so many times the records of other words that were found and share its level."""


def usual(spec: TableSpec) -> TableSpec:
    """The same with as many declared words as a plan reckons with: what is public before words are found."""
    return _with(spec, {j: [f"word {k}" for k in range(USUAL)] for j in spec.hashed}, {}) if spec.hashed else spec


def _with(spec: TableSpec, words: Mapping[int, Sequence[str]], apart: Mapping[int, int]) -> TableSpec:
    columns: dict[str, Column] = dict(spec.schema.declared)
    for j, own in words.items():
        column = columns[name := spec.schema.names[j]]
        assert isinstance(column, Category)
        columns[name] = replace(column, values=own)
    return replace(spec, schema=Schema(columns, rules=spec.schema.rules), apart=dict(apart))


class Found:
    """The views of a table once its words are found, and a plan for them that asks the sketch which counted buckets."""

    def __init__(self, spec: TableSpec, columns: Sequence[Ranked], budget: Budget, n: int | None, most: int) -> None:
        self._old, words, apart = spec, dict[int, list[bytes]](), dict[int, int]()
        ruled = {name for rule in spec.schema.constraints.each for name in rule.columns}
        for j, ranked in zip(spec.hashed, columns, strict=True):  # rules have room for as many levels as were declared
            room = HASHED if spec.schema.names[j] in ruled else MOST_LEVELS - 2
            column = [*spec.schema.values()][j]
            assert isinstance(column, Category)
            held = [(word, number) for word, number in ranked.items() if column.finds(word)]
            words[j], apart[j] = self._ordered(j, dict(held[:room]))
        self.spec = _with(spec, {j: [word.decode() for word in own] for j, own in words.items()}, apart)
        self._words = words
        self.groups: Groups = {row: self._cells(row) for row in range(len(spec.lengths))}
        """For each row the new cell of each cell that was counted; None where these are the same."""
        self.planner = Planner(self.spec, budget, n, most)
        self._made: dict[tuple[int, int], tuple[Integers, Integers]] = {}

    def _ordered(self, j: int, ranked: Ranked) -> tuple[list[bytes], int]:
        """The words that sets tell apart, and then the others; and how many the former are."""
        sharing = Counter[int]()
        for word, number in ranked.items():
            sharing[self._place(j, word)] += number
        clear = [
            word for word, number in ranked.items() if sharing[self._place(j, word)] * CLEAR <= number * (CLEAR + 1)
        ]
        first = dict.fromkeys(clear[: self._old.levels - 1 - self._missing(j)])
        return [*first, *(word for word in ranked if word not in first)], len(first)

    def _place(self, j: int, word: bytes) -> int:
        """The level that a word was counted at on an axis."""
        return int(self._old.axes[j][bucket_of(word) % HASHED])

    def _missing(self, j: int) -> bool:
        return [*self._old.schema.values()][j].missing

    def _cells(self, row: int) -> Integers | None:
        if row in self._old.touches:
            return None
        view = [j for j in self._old.views[row] if j != self._old.place]
        if not {*view} & {*self._old.hashed}:
            return None
        first = [np.arange(self._old.classes)] if self._old.place is not None else []
        maps = [*first, *([self._alone(view[0])] if len(view) == 1 else map(self._level, view))]
        sizes = [int(one.max()) + 1 for one in maps]
        cells: Integers = np.ravel_multi_index(tuple(np.ix_(*maps)), sizes).ravel()
        return cells

    def _alone(self, j: int) -> Integers:
        words = self._words[j]
        found = np.full((BUCKETS // HASHED, HASHED + 1 + self._missing(j)), len(words))
        found[:, HASHED + 1 :] = len(words) + 1
        for k, word in enumerate(words):
            found[divmod(bucket_of(word), HASHED)] = k
        return found.ravel()

    def _level(self, j: int) -> Integers:
        """The level that each level of an axis has now."""
        size = int(self._old.axes[j].max()) + 1
        if j not in self._old.hashed:
            return np.arange(size)
        found = np.full(size, self.spec.apart[j])
        found[size - self._missing(j) :] += 1
        for k, word in enumerate(self._words[j][: self.spec.apart[j]]):
            found[self._place(j, word)] = k
        return found

    def __call__(self, published: PublishedRows, winners: tuple[int, ...]) -> Mapping[int, Wanted] | Contest:
        """What comes next, with groups of the cells that were counted."""
        step = self.planner(published, winners)
        if isinstance(step, Contest):
            cells = {row: self._composed(row, of) for row, of in step.groups.items()}
            return step._replace(groups={row: of for row, of in cells.items() if of is not None})
        return {row: one._replace(groups=self._composed(row, one.groups)) for row, one in step.items()}

    def _composed(self, row: int, groups: Integers | None) -> Integers | None:
        cells = self.groups[row]
        if cells is None or groups is None:
            return groups if cells is None else cells
        if (row, id(groups)) not in self._made:  # a plan that gives an array again gets the same one again
            self._made[row, id(groups)] = groups, groups[cells]
        return self._made[row, id(groups)][1]


def divided(spec: TableSpec, budget: Budget) -> tuple[Budget, Discovery | None]:
    """The budget of the views, and what finding words costs before them."""
    if not spec.hashed:
        return budget, None
    claim, rest = _divided(budget, len(spec.hashed), shares_of_claim(usual(spec), budget))
    return rest, Discovery(claim)


@lru_cache(maxsize=64)
def _divided(budget: Budget, columns: int, shares: tuple[Fraction, ...]) -> tuple[PrivacyClaim, Budget]:
    return divided_for_words(budget, columns, lambda rest: rest.claim(len(shares), shares))


def require_declared(spec: TableSpec, where: str) -> None:
    """Refuse columns whose words are still to be found."""
    if spec.hashed:
        raise ParameterError(f"Words cannot be found (discover=True) {where}. Hint: declare them.")
