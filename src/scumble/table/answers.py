"""Answers out of a release: its posterior over tables, drawn when the first answer needs it and then kept.

Each statistic is computed on every draw (`table.posterior`); :meth:`Answers.told` turns the numbers into a value and an
interval. It is the one place where that happens.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.columns.column import Column
from scumble.columns.cuts import Positions
from scumble.columns.date import Date
from scumble.columns.line import Span
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.table.budgeting import Law
from scumble.table.estimate import Estimate, around, outward
from scumble.table.evidence import Evidence
from scumble.table.margins import level_variances, split
from scumble.table.mixture import Condition, Mixture, Obeyed
from scumble.table.posterior import Draws, Posterior, drawn_by_class, spread_evenly
from scumble.table.questions import Part, Question, spread
from scumble.table.remarks import is_part
from scumble.table.spec import TableSpec
from scumble.table.tokens import Counted

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
NONE = 0.5
"""A number of records below it counts as none: nothing can be said about their values."""


class Noisy(NamedTuple):
    """A number and the variance of its noise."""

    value: float
    variance: float


class Answers:
    """What the views of a table tell: `evidence` has the noisy views of each class, `law` is that of their noise. Draws
    are derived from the release's `identity`, so answers are the same each time."""

    def __init__(self, spec: TableSpec, evidence: Sequence[Evidence], law: Law, identity: str) -> None:
        self._spec, self.evidence, self.law, self.identity = spec, evidence, law, identity
        self._seed = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:6], "big")
        self._number = {j: k for k, j in enumerate(spec.counted)}
        self._derived = spec.schema.derived
        self.inferred: dict[tuple[int, int], None] = {}
        """Pairs of columns that were asked about together so far and that no view holds together."""
        self._posterior: Posterior | None = None
        self._within: dict[int, Floats] = {}
        self._lock = threading.Lock()

    @property
    def place(self) -> int | None:
        """Where the column stands whose classes have views of their own."""
        return self._spec.place

    @property
    def total(self) -> Noisy:
        """The number of records, by the sums of all views: no draw is needed."""
        return Noisy(
            *(float(sum(each)) for each in zip(*((e.count, e.count_variance) for e in self.evidence), strict=True))
        )

    @property
    def posterior(self) -> Posterior:
        """The draws, made at the first call."""
        with self._lock:
            if self._posterior is None:
                self._posterior = Posterior(
                    drawn_by_class(self.evidence, self.law, self._seed, self._rules), self.place, self._derived
                )
            return self._posterior

    def hold(self, classes: Sequence[Draws]) -> None:
        """Take draws out of a file, so that none has to be made."""
        obeying = [replace(one, rules=rules) for one, rules in zip(classes, self._rules, strict=True)]
        self._posterior = Posterior(obeying, self.place, self._derived)

    @cached_property
    def _rules(self) -> list[Obeyed]:
        """What the records of each class obey."""
        factors = self._spec.schema.constraints.factors
        return [Obeyed.of(factors, self._number, self.place, one) for one in range(self._spec.classes)]

    @cached_property
    def model(self) -> Mixture:
        """The mean of all draws: the distribution that synthetic rows follow."""
        return self.posterior.mean()

    @cached_property
    def lean(self) -> Floats:
        """(draws,) from −1 to 1: where in their cells the values of a draw lie, from all low to all high."""
        return 2 * spread_evenly(np.random.default_rng([self._seed, 3]), self.posterior.size, 1)[:, 0] - 1

    def uniform(self, *names: str) -> Floats:
        """(draws,) from 0 to 1: what is not known of some columns."""
        names_seed = int.from_bytes(hashlib.sha256(repr(sorted(names)).encode()).digest()[:6], "big")
        return spread_evenly(np.random.default_rng([self._seed, names_seed]), self.posterior.size, 1)[:, 0]

    def leaning(self, middle: Floats, low: Floats, high: Floats) -> Floats:
        """For each draw something between the least and the most that it can be, by where its values lie in cells."""
        lean = self.lean.reshape(-1, *[1] * (np.ndim(middle) - 1))
        return np.where(lean > 0, middle + lean * (high - middle), middle + lean * (middle - low))

    def within(self, column: int) -> Floats | None:
        """(draws, levels): how far up in each cell of a column its values lie on average, from 0 to 1; None if that
        was not counted.

        Positions are counted in classes of cells of about one width (`Positions`). Their noisy counts tell by how much
        the values of a class exceed the lower ends of its cells, up to a normal error of known variance; the prior of
        the mean share of a cell is that of half a column (`margins.split`). Cells of a class need not be alike: a
        cell's own mean differs from the class's by up to half of what it can, and these differences cancel.
        """
        positions = [*self._spec.schema.values()][column].positions
        if positions is None or (column, 0) not in self._spec.placed:
            return None
        if column not in self._within:
            self._within[column] = self._drawn_within(column, positions)
        return self._within[column]

    def _drawn_within(self, column: int, positions: Positions) -> Floats:
        digits = []
        for digit in range(positions.digits):
            views = [one.positions[self._number[column], digit] for one in self.evidence]
            counts = np.sum([view.counts for view in views], axis=0)[1:].reshape(len(positions.steps), -1)
            digits.append((counts, sum(view.variance for view in views)))
        size, records = self.posterior.size, self.posterior.cells([column])
        found, high = np.full(records.shape, 0.5), positions.longest
        for kind in range(len(positions.steps)):
            generator = np.random.default_rng([self._seed, 5, column, kind])
            cells = np.flatnonzero(positions.kind == kind)
            here = np.maximum(records[:, cells], NONE / len(cells))
            room = here @ high[cells]
            middle = (room / here.sum(axis=1) / 2)[:, None]
            share, variance = np.full(size, 0.5), np.zeros(size)
            one, two = positions.distances(kind)
            for (counts, noise), far in zip(digits, (one - (middle - two.mean()), two - two.mean()), strict=False):
                share += (far @ counts[kind, : far.shape[-1]]) / room
                variance += noise * (far**2).sum(axis=-1) / room**2
            uniforms = spread_evenly(generator, size, 1)[:, 0]
            mean = split(share, np.sqrt(np.maximum(variance, 1e-24)), np.ones(size), 0.5, uniforms)[:, None]
            own = spread_evenly(generator, size, len(cells)) - 0.5
            own -= ((here * high[cells] * own).sum(axis=1) / room)[:, None]
            found[:, cells] = np.clip(mean + own * np.minimum(mean, 1 - mean), 0.0, 1.0)
        return found

    def values(self, place: int, column: Column, span: Span | None = None) -> tuple[Floats, Floats]:
        """(draws, levels): the mean of the values at each level of a column, of those in a span of its line if one is
        given; and what is expected of it, (levels,). Nothing is known of where values lie in a part of a cell."""
        middle, low, high = spread(column, span)
        sides = (np.broadcast_to(side, (self.posterior.size, len(side))) for side in (middle, low, high))
        leaning, share = self.leaning(*sides), self.within(place)
        if share is None:
            return leaning, middle
        _, least, most = spread(column)
        cut, found = (least < low) | (high < most), low + share * (high - low)
        return np.where(cut, leaning, found), np.where(cut, middle, found.mean(axis=0))

    # ---- statistics of each draw ----

    def counts(self, asked: Question, *, even: bool = False) -> Floats:
        """(draws,): how many records are meant; on request with values spread evenly in the cells that are cut."""
        return self._each(asked, self.posterior.counts, even, self.posterior.totals)

    def levels(self, asked: Question, column: int, *, even: bool = False) -> Floats:
        """(draws, levels): how many of them each level of a column has."""
        found = self._each(asked, lambda side: self.posterior.cells([column], side), even, np.inf, column)
        return np.maximum(found, 0.0)

    def _each(
        self, asked: Question, of: Callable[[Condition], Floats], even: bool, most: npt.ArrayLike, *besides: int
    ) -> Floats:
        """Something of the records that are meant, which lies between that of those who surely are and who may be."""
        self._note(asked.even, *besides)
        middle = of(asked.even)
        if even or not asked.cuts:
            return middle
        return self.leaning(middle, np.minimum(of(asked.sure), middle), np.clip(of(asked.maybe), middle, most))

    def parts(self, asked: Question, column: int, parts: Sequence[Part], *, even: bool = False) -> Floats:
        """(draws, parts): `counts` of the records in each of some parts of a column."""
        self._note(asked.even, column)
        cut = not even and (asked.cuts or any(part.cuts for part in parts))
        tables = [self.posterior.cells([column], side) for side in (asked.even, asked.sure, asked.maybe)[: 1 + 2 * cut]]
        found = []
        for part in parts:
            middle, *ends = (table @ side for table, side in zip(tables, (part.weights, *part.bounds), strict=False))
            if cut:
                low, high = ends
                middle = self.leaning(middle, np.minimum(low, middle), np.clip(high, middle, self.posterior.totals))
            found.append(middle)
        return np.stack(found, axis=1)

    def told(
        self,
        each: Floats,
        confidence: float,
        least: float = -math.inf,
        most: float = math.inf,
        even: Floats | None = None,
    ) -> Estimate:
        """A statistic's value and interval out of its values on all draws, cut to what is possible.

        The value is the mean over draws (`estimate.around`); if `even` is given, that of the statistic where values are
        spread evenly in their cells."""
        known = each if even is None else even
        known = known[np.isfinite(known)]
        value = float(known.mean()) if len(known) else math.nan
        return around(value, each, checks.confidence(confidence), (), self.identity, least, most)

    def counted(self, each: Floats, confidence: float, even: Floats | None = None) -> Estimate:
        """The same of a number of records, which is whole."""
        return outward(self.told(each, confidence, 0.0, even=even))

    # ---- what was measured ----

    def of_levels(self, column: int) -> Floats:
        """The variance of the noise on each level of a column, by all its views."""
        if column == self.place:
            return np.array([one.count_variance for one in self.evidence])
        if column in self._derived:
            found = self._derived[column]
            return self.of_levels(found.root) @ found.onto
        each = [level_variances(one, self._number[column]) for one in self.evidence]
        return np.asarray(np.sum(each, axis=0))

    def singles(self, column: int) -> tuple[Floats, float]:
        """The noisy count of each level of a column alone, and the variance of one of them."""
        if column == self.place:
            return np.array([one.count for one in self.evidence]), max(one.count_variance for one in self.evidence)
        views = [one.single(self._number[column]) for one in self.evidence]
        return np.sum([view.counts for view in views], axis=0), sum(view.variance for view in views)

    def _root(self, column: int) -> int:
        """The column that is counted for it."""
        return self._derived[column].root if column in self._derived else column

    def _note(self, asked: Condition, *besides: int) -> None:
        self.inferred |= dict.fromkeys(self.not_measured(asked, besides))

    def not_measured(self, asked: Condition, besides: Iterable[int] = ()) -> Iterator[tuple[int, int]]:
        """Pairs of columns that a question joins, with each other or with some `besides`, and no view does."""
        for _, product in asked:
            for pair in itertools.combinations(sorted({*map(self._root, (*product, *besides))} - {self.place}), 2):
                if not self.together(pair):
                    yield pair

    def together(self, columns: Iterable[int]) -> bool:
        """Whether a view holds all these columns."""
        roots = {self._root(j) for j in columns} - {self.place}
        return self.evidence[0].together(self._number[j] for j in roots)

    def measured(self, columns: tuple[int, int]) -> bool:
        """Whether a view holds two columns together."""
        return self.place in [*map(self._root, columns)] or not any(self.not_measured([(1.0, {})], columns))

    def pooled(self, meant: Iterable[tuple[int, Floats]], besides: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """Columns of which levels are meant that pairs count as one with others; and which of all columns that are
        asked about they are measured with."""
        besides = [*map(self._root, besides)]
        those = [(j, weights) for j, weights in meant if j not in (self.place, *self._derived)]
        asked = sorted({*besides, *(j for j, _ in those)} - {self.place})
        apart = {frozenset(pair) for pair in self.not_measured([(1.0, {})], asked)}
        beside = {j: tuple(k for k in asked if k != j and frozenset((j, k)) not in apart) for j in asked}
        return {j: beside[j] for j, weights in those if beside[j] and is_part(weights, self.group_of(j))}

    def group_of(self, column: int) -> Integers:
        """The group of each level of a column in pairs, which classes have in common."""
        if column in self._derived:
            root, levels, size = self._derived[column]
            found = -1 - np.arange(size)
            found[levels] = self.group_of(root)
            return np.unique(found, return_inverse=True)[1]
        if column == self.place:
            return np.arange(self._spec.classes)
        return self.evidence[0].groups[self._number[column]]


def shares_at_bounds(answers: Answers, place: int, column: Column) -> tuple[float, float]:
    """Which share of its cell lies at the lower bound of a column, and at the upper one; nothing if that is not known.

    Where values outside the bounds count as the nearest bound, that is what its cell has more than those next to it let
    expect: as many as the next one has, or, if counts rise toward the bound, more by as much again; drawn to none as
    far as that may be noise (James & Stein 1961). Where zero is in the cell none is reckoned with: many columns are
    most crowded there. Cells must be alike but for their lengths, and so many that the next two tell what to expect.
    """
    line = column.size - column.missing
    if not isinstance(column, Number | Date) or column.outside != "clip" or column.edges is not None or line < 3:
        return 0.0, 0.0
    log = getattr(column, "scale", "linear") == "log"
    low = 0.0 if log or _holds_zero(column, 0) else _at_bound(answers, place, column, (0, 1, 2))
    cells = (line - 1, line - 2, line - 3)
    return low, 0.0 if _holds_zero(column, line - 1) else _at_bound(answers, place, column, cells)


def _holds_zero(column: Column, cell: int) -> bool:
    """Whether zero lies in a cell: what heaps there may be zeros."""
    if not isinstance(column, Number):
        return False
    least, most = (float(side[cell]) for side in column.cuts.extremes)
    return least <= 0 <= most


def _at_bound(answers: Answers, place: int, column: Number | Date, cells: tuple[int, int, int]) -> float:
    if getattr(column, "zero_level", None) in cells:  # which is next to the others
        return 0.0
    counts, variance = answers.singles(place)
    here, there, next_ = (float(counts[cell]) for cell in cells)
    longer = float(column.cuts.lengths[cells[0]] / column.cuts.lengths[cells[1]])
    error = math.sqrt(max(variance * (1 + longer**2), 1e-12))
    beside = max(there, 0.0)
    usual = longer * max(beside, beside**2 / max(next_, error))
    excess = max(here - usual, 0.0)
    return max(excess - error**2 / excess, 0.0) / here if excess else 0.0


class Released:
    """What the parts of a release share."""

    if TYPE_CHECKING:

        @property
        def identity(self) -> str: ...

        @property
        def schema(self) -> Schema: ...

        @property
        def _answers(self) -> Answers: ...

        @property
        def _large_shares(self) -> dict[str, list[str]]: ...

        def _sketched(self, column: str, confidence: float) -> Estimate: ...

        def _tokens(self, column: str, *, pairs: bool) -> Counted: ...


def drawn_alone(found: Estimate, usual: Estimate, draws: int, place: int, identity: str) -> Estimate:
    """An estimate whose error depends on no other's, with draws as others have, for what is computed of both.

    Its draws spread as its `usual` interval does, whatever confidence was asked for.
    """
    drawn = np.random.default_rng([place, crc32(identity.encode())]).standard_normal(draws)
    half = max(usual.high - usual.value, usual.value - usual.low)
    spread = half / NormalDist().inv_cdf((1 + usual.confidence) / 2)
    each = found.value + spread * (drawn - drawn.mean()) / drawn.std(ddof=1)
    return replace(found, draws=np.maximum(each, 0.0), identity=identity)
