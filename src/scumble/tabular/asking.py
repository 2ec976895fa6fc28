"""The questions of a table's release, in the words of people who ask them. Everything here is post-processing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble import checks
from scumble.checks import keywords
from scumble.errors import warn
from scumble.schema import Number, Schema, condition
from scumble.tables.beside import free
from scumble.tabular import rows
from scumble.tabular.answers import Answers, over
from scumble.tabular.apart import not_counted_together
from scumble.tabular.drawing import batches, perhaps_nobody
from scumble.tabular.estimate import (
    Estimate,
    at_least,
    drawn,
    interval,
    of_records,
    part_of,
    possible,
    reaching,
    widened,
)
from scumble.tabular.faithfulness import Faithfulness, faithfulness
from scumble.tabular.frames import Framing, frame
from scumble.tabular.heaps import heaps, remark, shares_at_bounds
from scumble.tabular.pooled import counted_as_one
from scumble.tabular.quantiles import quantile as reached
from scumble.tabular.questions import (
    Floats,
    Part,
    Question,
    Where,
    extremes_of,
    mean_by_median,
    means_between,
    names_of,
    place_of,
    question,
    sums_between,
    values_of,
    with_order,
)
from scumble.tabular.rows import Format

By = str | Iterable[str] | None
ALL = Estimate(1.0, 1.0, 1.0, 0.0)
"""The share of all records."""
SURE = 0.95
"""With such a confidence a group has records, or whoever draws some of it is told."""


class Asking(Framing):
    """Counts, shares, sums, means, quantiles and tables, each with an interval; and synthetic rows."""

    if TYPE_CHECKING:

        @property
        def schema(self) -> Schema: ...

        @property
        def _answers(self) -> Answers: ...

    # ---- numbers ----

    @keywords
    def count(self, where: Where = None, *, by: By = None, confidence: float = 0.95) -> Any:
        """How many records there are.

        Parameters
        ----------
        where : str, mapping or None
            Which: "age >= 65 and sex == 'Female'", or {"age": (65, None), "sex": "Female"}; None for all.
        by : str or list of str, optional
            A column, or several: one number for each of their levels. Of a number or a date these are its cells; if
            they are more than 400, or all combinations more than 2,000, at most 400, or 20, runs of equally many cells.
            More than 2,000 combinations of these are refused.
        confidence : float
            Of the interval.

        Returns
        -------
        Estimate or DataFrame
            The number; with `by`, a row for each level that the condition allows, missing cells under ``(missing)``. A
            column keeps its name: beside one that is called `value`, the number is called `scumble_value`.
            Where a range cuts a cell, values are taken to lie evenly in it, and the interval allows for all of them
            lying on either side.
        """
        return self._each(where, by, lambda asked: self._count(asked, confidence))

    @keywords
    def share(self, where: Where = None, *, by: By = None, confidence: float = 0.95) -> Any:
        """Which share of all records meets a condition; as `count`, divided by the number of records, of which the
        interval allows for the noise, too."""
        total = self._answers.total
        all_of = interval(total.value, total.variance, checks.confidence(confidence), 0.0)

        def share(asked: Question) -> Estimate:
            return ALL if asked.everybody else part_of(self._count(asked, confidence), all_of)

        return self._each(where, by, share)

    @keywords
    def sum(self, column: str, where: Where = None, *, by: By = None, confidence: float = 0.95) -> Any:
        """The sum of a column of numbers; missing cells count nothing.

        Values are taken to lie evenly within their cells, and the interval allows for all of them lying elsewhere:
        it is as wide as cells are, and no wider where each number has a cell of its own. A few large values may hide
        below the noise: it reaches over what the column's own cells tell, too. The parameters are those of `count`.
        """
        place, values = self._valued(column, "sum")
        ends_of_cells = extremes_of(self.schema[column])
        numbers = isinstance(self.schema[column], Number)

        def total(asked: Question) -> Estimate:
            found, records = self._answers.sum(asked.even, place, values), self._answers.total.value
            table, few, many, lowest, highest = self._bounds(asked, place, column)
            least, most = sums_between(few, many, lowest, highest)
            middle = float(table @ np.nan_to_num(values))
            cells = {"below": records * (middle - least), "above": records * (most - middle)}
            smallest, largest = asked.ends(place, *ends_of_cells)
            sign = {"least": 0.0 if smallest >= 0 else -math.inf, "most": 0.0 if largest <= 0 else math.inf}
            sides = [self._answers.sum(side, place, values) for side in (asked.sure, asked.maybe) if asked.cuts]
            found = found.least_sure(sides)
            answer = drawn(over(found, confidence, **sign, **cells), found.impossible(**sign), records * middle)
            for side in sides:
                answer = reaching(answer, over(side, confidence, **sign))
            answer = of_records(
                answer, self._answers.counted(asked.even, confidence), float(lowest.min()), float(highest.max())
            )
            answer = possible(answer, **sign)
            if not (numbers and table.sum() > 0):
                return answer
            all_of = records * table.sum()
            median, mean = mean_by_median(table, lowest)
            return at_least(answer, all_of * median, all_of * mean, all_of * lowest[table > 0].min())

        self._tell_heaps([place])
        return self._each(where, by, total, place)

    @keywords
    def mean(self, column: str, where: Where = None, *, by: By = None, confidence: float = 0.95) -> Any:
        """The mean of a column of numbers, missing cells left out; of booleans, the share of the true ones.

        Values are taken to lie evenly within their cells, and the interval allows for all of them lying elsewhere:
        it is as wide as cells are, and no wider where each number has a cell of its own. A few large values may hide
        below the noise: it reaches over what the column's own cells tell, too. The parameters are those of `count`.
        Where the number of records that meet the condition, or of those with a value, is told as 0, the mean is NaN,
        and the interval all that is possible. As far as noise takes the mean beyond that, the model's mean is told in
        its place.
        """
        place, values = self._valued(column, "mean")
        ends_of_cells = extremes_of(self.schema[column])
        numbers = isinstance(self.schema[column], Number)

        def mean(asked: Question) -> Estimate:
            least, most = asked.ends(place, *ends_of_cells)
            found = self._answers.mean(asked.even, place, values)
            if math.isnan(found.value) or self._answers.nobody(asked.even, place, np.isfinite(values), confidence):
                return Estimate(math.nan, least, most, math.inf)
            table, few, many, lowest, highest = self._bounds(asked, place, column)
            low, high = means_between(few, many, lowest, highest)
            middle = float(table @ np.nan_to_num(values) / table.sum())
            ends = {"least": least, "most": most, "below": middle - low, "above": high - middle}
            answer = drawn(over(found, confidence, **ends), found.impossible(least, most), middle)
            return at_least(answer, *mean_by_median(table, lowest), least) if numbers else answer

        self._tell_heaps([place])
        return self._each(where, by, mean, place)

    @keywords
    def quantile(
        self,
        column: str,
        q: float | Iterable[float] = 0.5,
        where: Where = None,
        *,
        by: By = None,
        confidence: float = 0.95,
    ) -> Any:
        """The value below which a share `q` of the records lies: of numbers as they are, of dates in their own terms.

        Where in its cell a value lies is not known, so that intervals are made of whole cells. Where the number of
        records is told as 0 there is none, NaN or, of dates, NaT, as of means.

        Parameters
        ----------
        column : str
            The column.
        q : float or list of float
            The share, or several: then there is a row for each.
        where, by, confidence : str, dict, float or None
            As those of `count`.
        """
        place = place_of(self.schema, column)
        line = with_order(self.schema[column], column)
        self._tell_heaps([place])

        def at(share: float) -> Callable[[Question], Estimate]:
            return lambda asked: reached(
                self._answers, line, place, asked, self._between(asked, place), share, confidence
            )

        if isinstance(q, str) or not isinstance(q, Iterable):
            return self._each(where, by, at(_share(q)), place)
        names = [] if by is None else names_of(by)
        (which,) = free(["q"], names)
        rows, remarks = [], dict[str, None]()
        for share in map(_share, q):
            found = self._each(where, names or None, at(share), place)
            listed = [found.numbers()] if by is None else found.to_dict("records")
            remarks |= dict.fromkeys(found.remarks if by is None else found.attrs.get("remarks", ()))
            rows += [{which: share, **row} for row in listed]
        return frame(rows, tuple(remarks))

    # ---- rows ----

    @keywords
    def sample(self, n: int, random_state: Any = None, *, where: Where = None, format: Format = "pandas") -> Any:
        """Synthetic records, with the table's own columns, types and levels.

        Types follow from the schema alone: whole numbers are int64, words are categorical with all words of the
        vocabulary, dates and times are datetime64[s]; where cells can be missing, whole numbers and booleans are of
        pandas' own types with gaps, Int64 and boolean.

        Parameters
        ----------
        n : int
            How many.
        random_state : int or Generator, optional
            For the same ones again.
        where : str, mapping or None
            Only records that meet a condition; a warning says so if perhaps nobody does.
        format : {"pandas", "polars", "arrow"}
            What to hold them in.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            The records.
        """
        rows.require(format)
        return rows.held(rows.together(self.sample_batches(n, random_state, where=where)), self.schema, format)

    @keywords
    def sample_batches(self, n: int, random_state: Any = None, *, where: Where = None) -> Iterator[Any]:
        """The records of `sample` as Arrow tables, one after the other: any number of them in little memory."""
        asked, size = condition(self.schema, where), checks.whole("n", n, 0)
        if asked.columns and (told := perhaps_nobody(self._count(self._question(asked), SURE), SURE)):
            warn(told)
        return batches(self._answers.model, asked, size, random_state)

    def faithfulness(self) -> Faithfulness:
        """How faithful synthetic records are, by the release's own knowledge; ``print`` says it in words.

        Returns
        -------
        Faithfulness
            For columns and pairs the total variation to expect, how well the model agrees with each published table,
            and what was never measured.
        """
        return faithfulness(self._answers, self.schema)

    # ---- how ----

    def _count(self, asked: Question, confidence: float) -> Estimate:
        sides = (asked.even, asked.sure, asked.maybe) if asked.cuts else (asked.even,)
        found, *bounds = (self._answers.counted(side, confidence) for side in sides)
        if not bounds:
            return found
        few, many = bounds
        most = interval(self._answers.total.value, self._answers.total.variance, confidence).high
        return widened(found, few, replace(many, high=min(many.high, max(most, found.high))))  # unions may count twice

    def _valued(self, column: str, what: str) -> tuple[int, Floats]:
        place = place_of(self.schema, column)
        return place, values_of(self.schema[column], column, what)

    def _bounds(self, asked: Question, place: int, name: str) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """At the levels of a column that have a value: shares of the records that meet a condition, those that surely
        do, those that may, and the least and the largest value."""
        known = np.isfinite(self.schema[name].representative)
        lowest, highest = (np.where(known, side, 0.0) for side in extremes_of(self.schema[name]))
        table = np.maximum(self._answers.model.table([place], asked.even), 0.0)
        less, more = self._between(asked, place)
        return table * known, less * known, more * known, lowest, highest

    def _between(self, asked: Question, place: int) -> tuple[Floats, Floats]:
        """For each level of a column the shares of the records that surely meet a condition, and that may."""
        model = self._answers.model
        few, many = (np.maximum(model.table([place], side), 0.0) for side in (asked.sure, asked.maybe))
        return few, np.minimum(many, np.maximum(model.table([place]), 0.0))  # of a large union, some are counted twice

    def _each(self, where: Where, by: By, answer: Callable[[Question], Estimate], *of: int) -> Any:
        """The answer, or one for each level; `of` is the place of the column whose values are asked for."""
        asked = self._question(where)
        self._tell_heaps(place for _, product in asked.even for place in product)
        if by is None:
            return replace(answer(asked), remarks=self._remarks(asked, *of))
        return self._grouped_by(asked, names_of(by), answer, None, *of)

    def _question(self, where: Where) -> Question:
        return question(self.schema, where, self._at_bounds)

    def _at_bounds(self, name: str) -> tuple[float, float]:
        """Which share of the cell at either bound of a column lies at the bound itself, as far as that is known."""
        if name not in self._known_heaps:
            self._known_heaps[name] = shares_at_bounds(self._answers, place_of(self.schema, name), self.schema[name])
        return self._known_heaps[name]

    @cached_property
    def _known_heaps(self) -> dict[str, tuple[float, float]]:
        return {}

    def _remarks(self, asked: Question, *besides: int, parts: Iterable[tuple[int, Part]] = ()) -> tuple[str, ...]:
        """What must be known of the answer to a question about some columns more, or about each of some parts."""
        names, answers = list(self.schema), self._answers
        pairs = answers.not_measured(asked.even, besides)
        meant = [(place, np.asarray(weights)) for _, product in asked.even for place, weights in product.items()]
        meant += [(place, part.weights) for place, part in parts]
        pooled = (
            counted_as_one(names[one], self.schema[names[one]], answers.group_of(one), [names[j] for j in others])
            for one, others in answers.pooled(meant, besides).items()
        )
        return (*asked.remarks, *not_counted_together((names[one], names[two]) for one, two in pairs), *pooled)

    @cached_property
    def _looked_at(self) -> set[int]:
        """Columns that were looked at for heaps; those that have one were told of."""
        return set()

    def _tell_heaps(self, places: Iterable[int]) -> None:
        """Warn of columns whose bounds hold more than lies there, each once."""
        for place in {*places} - self._looked_at:
            self._looked_at.add(place)
            name, column = list(self.schema.items())[place]
            if ends := heaps(self._answers, place, column):
                warn(remark(name, ends))


def _share(q: object) -> float:
    return checks.number("q", q, "between 0 and 1", lambda share: 0 <= share <= 1, "0.5 is the median.")
