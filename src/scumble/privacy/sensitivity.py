"""Sensitivity: how far one person can move a release, and what that costs at given noise scales.

One record adds one to one counter in each of R rows, and one to the count N.

| neighbors    | counters, L1 | counters, L2 | count          |
|--------------|--------------|--------------|----------------|
| add-remove   | R            | √R           | 1, hidden      |
| replace      | 2R           | √(2R)        | public, exact  |

A person with up to m records: m times as much. In a stream a record moves several published numbers for each of these,
by the entries of a `Column`. Moments add whole numbers of total size *step* to a row: their `Reach`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby

from scumble.errors import parameter
from scumble.privacy.exact import float_down, sum_above

NEIGHBORS = ("add-remove", "replace")


def sides_of(neighbors: str) -> int:
    """Counters that one record moves in a row: the one it joins or leaves; both if it is replaced."""
    return 2 if neighbors == "replace" else 1


def unit_of(records_per_person: int) -> str:
    """What is protected: a record, or a person who may have several."""
    return "record" if records_per_person == 1 else "person"


@dataclass(frozen=True)
class Column:
    """What a record of one period does to the numbers that a stream publishes of one counter, over all its periods.

    Whole numbers: how many of them it moves, and the sums of the moves and of their squares; each the largest of any
    period.
    """

    touched: int = 1
    total: int = 1
    squared: int = 1

    def __post_init__(self) -> None:
        sizes = 1 <= self.touched <= self.total <= self.squared < 1 << 128
        if not sizes or self.total**2 > self.touched * self.squared:  # Cauchy and Schwarz
            raise parameter("column", "three whole numbers: entries, their sum, and the sum of their squares", self)

    @property
    def plain(self) -> bool:
        """Whether every move is by one."""
        return self.squared == self.touched


ONCE = Column()
"""A single release: each record is in it once."""


@dataclass(frozen=True)
class Reach:
    """What one record adds to a row of counters: whole numbers of size at most `step` together.

    Size is the norm that the law of the noise hides: L1 for Laplace noise, L2 for Gaussian noise. Where the numbers are
    never negative (not `signed`), their L1 is at most `step`, which is enough for both.
    """

    step: int = 1
    signed: bool = False
    mechanism: str | None = None
    """The one law whose norm was bounded; None: either."""


ONE = Reach()
"""One is added to one counter: all sketches but moments."""


@dataclass(frozen=True)
class Moves:
    """The worst that a person with up to `people` records does to a release of `rows` rows.

    In a row, moves that add up to at most m have squares that add up to at most m².
    """

    rows: int
    neighbors: str
    people: int
    column: Column = ONCE
    reach: Reach = ONE

    @property
    def sides(self) -> int:
        """How often a replaced record counts in a row: it leaves here and joins there.

        Signed numbers of size s may leave and join the same counter: that is one move of size 2s.
        """
        return 1 if self.reach.signed else sides_of(self.neighbors)

    @property
    def most(self) -> int:
        """m: the size of a person's move in a row, on each of its sides."""
        twice = sides_of(self.neighbors) if self.reach.signed else 1
        return self.people * self.reach.step * twice

    @property
    def cells(self) -> int:
        """Moves of size `most`, on all sides of all rows: where that is 1, the counters that one record moves."""
        return self.sides * self.rows

    @property
    def total(self) -> int:
        """L1 of all counters."""
        return self.cells * self.most * self.column.total

    @property
    def touched(self) -> int:
        """The most numbers that are moved, the count's aside."""
        return self.cells * self.most * self.column.touched

    @property
    def squared(self) -> int:
        """L2² of all counters."""
        return self.cells * self.most**2 * self.column.squared

    @property
    def count_total(self) -> int:
        """L1 of the count."""
        return self.people * self.column.total

    @property
    def count_squared(self) -> int:
        """L2² of the count."""
        return self.people**2 * self.column.squared


Run = tuple[int, Fraction]
"""So many rows, one after the other, with one noise scale."""


@dataclass(frozen=True)
class Scales:
    """The exact noise scales of one release: of its counters, and of its count (None: no noisy count)."""

    counters: Fraction
    """Of every counter; the least of them where rows have scales of their own."""
    count: Fraction | None
    rows: tuple[Run, ...] = ()
    """The rows' own scales, in their order; empty if all have one."""

    def runs(self, rows: int) -> tuple[Run, ...]:
        """The scales of so many rows."""
        return self.rows or ((rows, self.counters),)

    def rounded_down(self) -> tuple[float, float | None]:
        """As floats, to the safe side: less noise than there is."""
        return float_down(self.counters), None if self.count is None else float_down(self.count)

    @staticmethod
    def of_rows(rows: Sequence[Fraction], count: Fraction | None) -> Scales:
        """One scale for each row."""
        runs = tuple((len(list(same)), scale) for scale, same in groupby(rows))
        return Scales(min(rows), count, runs if len(runs) > 1 else ())


def by_scale(moves: Moves, scales: Scales) -> list[tuple[Moves, Fraction]]:
    """The moves in the rows of each scale. A person moves every row, each by as much as its own bound allows."""
    return [(replace(moves, rows=rows), scale) for rows, scale in scales.runs(moves.rows)]


def pure_cost(moves: Moves, scales: Scales) -> Fraction:
    """Σ move/scale: ε, where the noise of each coordinate hides a move by one with an ε of 1/scale."""
    counters = sum_above(Fraction(part.total) / scale for part, scale in by_scale(moves, scales))
    return counters if scales.count is None else counters + Fraction(moves.count_total) / scales.count


def concentrated_cost(moves: Moves, scales: Scales) -> Fraction:
    """Σ move²/(2 scale²): ρ of Gaussian noise, and of Laplace noise.

    Gaussian: Canonne, Kamath & Steinke 2020, Theorem 4. Laplace: each coordinate, being εᵢ-private with
    εᵢ = move/scale, is εᵢ²/2-zCDP (Bun & Steinke 2016, Proposition 1.4), and these add up.
    """
    counters = sum_above(Fraction(part.squared) / (2 * scale**2) for part, scale in by_scale(moves, scales))
    return counters if scales.count is None else counters + Fraction(moves.count_squared) / (2 * scales.count**2)
