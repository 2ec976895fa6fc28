"""Sums over records on every draw from a release's posterior, and the statistics that are made of them.

Σ xᵃ yᵇ over the records that meet a condition is a sum over components of products, one factor for each column, so a
draw has it in closed form. Variances, correlations and lines of regression need nothing else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from scumble.relational.cells import both
from scumble.relational.values import Branch, Polynomial, Value, times
from scumble.schema import condition
from scumble.schema.grammar import Tree
from scumble.schema.number import Number
from scumble.tabular.answers import NONE
from scumble.tabular.estimate import Estimate
from scumble.tabular.questions import Question, extremes_of, narrowed, place_of, question
from scumble.tabular.release import TableRelease

Floats = npt.NDArray[np.float64]


class Moments:
    """Moments of one or two numbers of the records that meet a condition and have both, on every draw."""

    def __init__(self, release: TableRelease, where: Tree, values: Sequence[Value]) -> None:
        self._release, self._answers, schema = release, release._answers, release.schema
        self._parts: list[tuple[Question, tuple[str, ...], tuple[Branch, ...]]] = []
        remarks: dict[str, None] = {}
        for branches in itertools.product(*values):
            found = condition(schema, both(where, *(branch.where for branch in branches)))
            if not found.possible:
                question(schema, found)  # which warns, or refuses what was left out
                continue
            columns = tuple(dict.fromkeys(name for branch in branches for name in branch.columns))
            places = [place_of(schema, name) for name in columns]
            asked = release._question(found)
            release._tell_heaps([*places, *(place for _, product in asked.even for place in product)])
            remarks |= dict.fromkeys(release._remarks(asked, *places))
            self._parts.append((asked, columns, branches))
        self.remarks = tuple(remarks)
        self._weights = cache(self._weighed)

    @property
    def count(self) -> Floats:
        """How many records there are."""
        return self._total(lambda *_: (((), 1.0),))

    def sum(self, one: int) -> Floats:
        """The sum of a number."""
        return self._total(lambda *terms: terms[one])

    def about(self, one: int, two: int) -> Floats:
        """Σ (x − x̄)(y − ȳ)."""
        found = self._total(lambda *terms: times(terms[one], terms[two]))
        found -= np.nan_to_num(_over(self.sum(one) * self.sum(two), self.count))
        return np.maximum(found, 0.0) if one == two else found

    def ends(self, one: int) -> tuple[float, float]:
        """The least and the largest that a number may be."""
        lows, highs = [], []
        for asked, _, branches in self._parts:
            sums = np.zeros(2)
            for columns, factor in branches[one].terms:
                ranges = [self._range(asked, name) for name in columns]
                corners = [factor * math.prod(corner) for corner in itertools.product(*ranges)]
                sums += [min(corners), max(corners)]
            lows.append(sums[0])
            highs.append(sums[1])
        return (float(min(lows)), float(max(highs))) if lows else (-math.inf, math.inf)

    def _range(self, asked: Question, name: str) -> tuple[float, float]:
        return asked.ends(place_of(self._release.schema, name), *extremes_of(self._release.schema[name]))

    def _total(self, wanted: Callable[..., Polynomial]) -> Floats:
        """The sum of a polynomial over all records."""
        found = np.zeros(self._answers.posterior.size)
        for asked, columns, branches in self._parts:
            for powers, factor in wanted(*(branch.terms for branch in branches)):
                if factor:
                    found += factor * self._moment(asked, columns, powers)
        return found

    def _moment(self, asked: Question, columns: tuple[str, ...], powers: tuple[str, ...]) -> Floats:
        """Σ of a product of columns, over the records that are meant and have all of `columns`."""
        answers, sides = self._answers, []
        for side in (asked.even, asked.sure, asked.maybe) if asked.cuts else (asked.even,):
            for name in columns:
                side = narrowed(side, place_of(self._release.schema, name), self._weights(name, powers.count(name)))
            sides.append(answers.posterior.counts(side))
        answers.inferred |= dict.fromkeys(answers.not_measured(side))
        return answers.leaning(*sides) if asked.cuts else sides[0]

    def _weighed(self, name: str, power: int) -> Floats:
        """The mean of a power of the values in each level of a column: by draw, where that depends on where in their
        cells values lie."""
        column: Any = self._release.schema[name]
        middle = np.asarray(column.representative, float)
        known = np.isfinite(middle)
        if power == 0:
            return np.asarray(known, float)
        low, high = extremes_of(column)
        wide = known & (low < high)
        values = np.where(known, middle, 0.0)
        if not wide.any():
            return np.asarray(values**power)
        shape = (self._answers.posterior.size, len(middle))
        sides = (np.broadcast_to(np.where(wide, side, values), shape) for side in (middle, low, high))
        values = self._answers.leaning(*sides)
        if power == 1:
            return np.asarray(values)
        whole = isinstance(column, Number) and column.whole
        table = self._answers.posterior.cells([place_of(self._release.schema, name)])[:, wide]
        return np.asarray(
            values**2 + np.where(wide, _within(table, middle[wide], (high - low + whole)[wide], whole), 0.0)
        )


def _within(table: Floats, middle: Floats, width: Floats, whole: bool) -> Floats:
    """(draws, 1): what the spread of values within cells adds to a variance, given the records of each cell.

    Where values lie evenly in each cell that is w²/12, and (n² − 1)/12 of n whole numbers. But where a density falls,
    more values lie in that half of a cell that is nearer to the mean (Sheppard 1898). So the density is taken to be
    straight in each cell, with the slope between its neighbours, as long as it is not negative.
    """
    even = (width**2 - whole) / 12
    height = np.maximum(table, 0.0) / width
    slope = np.gradient(height, middle, axis=1) if len(middle) > 1 else np.zeros_like(height)
    tilt = np.clip(slope, -2 * height / width, 2 * height / width) * width**3 / 12
    records = np.maximum(table.sum(axis=1, keepdims=True), NONE)
    mean = (table * middle).sum(axis=1, keepdims=True) / records
    return np.asarray((table * even + 2 * tilt * (middle - mean)).sum(axis=1, keepdims=True) / records)


def _spread(moments: Moments, less: float) -> Floats:
    return _over(moments.about(0, 0), moments.count - less)


def _over(one: Floats, two: Floats) -> Floats:
    """A quotient, where there is one: not of fewer records than one, or of no spread."""
    return np.asarray(np.divide(one, two, out=np.full(len(one), math.nan), where=two > 0))


def _correlation(moments: Moments) -> Floats:
    return _over(moments.about(0, 1), np.sqrt(moments.about(0, 0) * moments.about(1, 1)))


def _slope(moments: Moments) -> Floats:
    """Of the line that tells the first number from the second, as in SQL."""
    return _over(moments.about(0, 1), moments.about(1, 1))


def _mean(moments: Moments, one: int = 0) -> Floats:
    return _over(moments.sum(one), moments.count)


STATISTICS: dict[str, Callable[[Moments], Floats]] = {
    "sum": lambda m: m.sum(0),
    "mean": _mean,
    "variance": lambda m: _spread(m, 1.0),
    "variancepop": lambda m: _spread(m, 0.0),
    "stddev": lambda m: np.sqrt(_spread(m, 1.0)),
    "stddevsamp": lambda m: np.sqrt(_spread(m, 1.0)),
    "stddevpop": lambda m: np.sqrt(_spread(m, 0.0)),
    "covarpop": lambda m: _over(m.about(0, 1), m.count),
    "covarsamp": lambda m: _over(m.about(0, 1), m.count - 1.0),
    "corr": _correlation,
    "regrslope": _slope,
    "regrintercept": lambda m: _mean(m) - _slope(m) * _mean(m, 1),
    "regrr2": lambda m: _correlation(m) ** 2,
    "regrcount": lambda m: m.count,
    "regravgy": _mean,
    "regravgx": lambda m: _mean(m, 1),
}
"""By the names that sqlglot has for them."""
_ENDS = {"corr": (-1.0, 1.0), "regrr2": (0.0, 1.0), "regrcount": (0.0, math.inf)}


def statistic(release: TableRelease, name: str, values: Sequence[Value], where: Tree, confidence: float) -> Estimate:
    """A statistic of the numbers of records that meet a condition."""
    moments = Moments(release, where, values)
    least, most = _ENDS.get(name, (0.0 if name.startswith(("var", "std")) else -math.inf, math.inf))
    if name == "mean":
        least, most = moments.ends(0)
    if name == "sum":
        low, high = moments.ends(0)
        least, most = 0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf
    elif name != "regrcount" and moments.count.mean() < NONE:
        return Estimate(math.nan, least, most, math.inf, moments.remarks)
    found = release._answers.told(STATISTICS[name](moments), confidence, least, most)
    return replace(found, remarks=moments.remarks)
