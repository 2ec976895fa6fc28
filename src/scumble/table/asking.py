"""The questions of a table's release, in the words of people who ask them. Everything here is post-processing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.checks import keywords
from scumble.columns.category import Category
from scumble.columns.column import MISSING, OTHER
from scumble.columns.conditions import all_of, condition
from scumble.columns.containers import free
from scumble.columns.date import Date
from scumble.columns.number import Number
from scumble.columns.schema import Schema
from scumble.errors import ParameterError, parameter, warn
from scumble.files.lazy_modules import pa
from scumble.table import mixture, rows
from scumble.table.answers import NONE, Released, shares_at_bounds
from scumble.table.estimate import Estimate, around, reach_of
from scumble.table.faithfulness import Faithfulness, faithfulness
from scumble.table.questions import (
    Floats,
    Part,
    Question,
    Where,
    extremes_of,
    names_of,
    parts,
    place_of,
    question,
    values_of,
    with_order,
)
from scumble.table.remarks import counted_as_one, not_counted_together, zero_if_tiny
from scumble.table.rows import (
    Format,
    RandomState,
    Statistic,
    batches,
    estimated,
    expected_powers,
    library,
    perhaps_nobody,
    sampled,
)

if TYPE_CHECKING:
    from pandas import DataFrame
    from polars import DataFrame as PolarsFrame

By = str | Iterable[str] | None
SURE = 0.95
"""With this confidence a group has records, or a warning says that it may have none."""
NO_DATE: Any = np.datetime64("NaT", "s")


Answering = Callable[[Question, int, Sequence[Part]], Iterable[Estimate]]
"""Answers to a question about each of some parts of a column."""
MOST_GROUPS = 2_000
MOST_WORDS = 10_000
"""Groups by one column: so many words take a second, and as many bytes as their number squared."""
BINS = 20
"""Parts of each line, where several columns would have too many groups by their cells."""


class Asking(Released):
    """Counts, shares, sums, means, quantiles and tables, each with an interval; and synthetic rows."""

    # ---- numbers ----

    @overload
    def count(self, where: Where = None, *, by: None = None, confidence: float = 0.95) -> Estimate: ...
    @overload
    def count(self, where: Where = None, *, by: str | Iterable[str], confidence: float = 0.95) -> DataFrame: ...
    @keywords
    def count(self, where: Where = None, *, by: By = None, confidence: float = 0.95) -> Estimate | DataFrame:
        """How many records there are.

        Parameters
        ----------
        where : str, mapping or None
            Which: "age >= 65 and sex == 'Female'", or {"age": (65, None), "sex": "Female"}; None for all.
        by : str or list of str, optional
            A column, or several: one number for each of their levels. Of a number or a date these are its cells, or at
            most 400, or 20 of several columns, runs of them.
        confidence : float
            Of the interval.

        Returns
        -------
        Estimate or DataFrame
            The number; with `by`, a row for each level that the condition allows, missing cells under ``(missing)``.
            Where a range cuts a cell, values are taken to lie evenly in it, and the interval allows for others.
        """
        by = None if by is None else names_of(by)
        if by and len(by) == 1 and by[0] in self.schema.tokens:
            self._of_tokens(by[0], where)
            found = self._tokens(by[0], pairs=False)
            answers = zip(found.words, found.estimates(confidence), strict=True)
            return frame([_row({by[0]: word}, one.to_dict()) for word, one in answers], ())
        each = partial(self._count_each, confidence=confidence)
        return self._each(where, by, lambda asked: self._count(asked, confidence), every=each)

    @overload
    def share(
        self, condition: Where = None, where: Where = None, *, by: None = None, confidence: float = 0.95
    ) -> Estimate: ...
    @overload
    def share(
        self, condition: Where = None, where: Where = None, *, by: str | Iterable[str], confidence: float = 0.95
    ) -> DataFrame: ...
    @keywords
    def share(self, condition: Where = None, where: Where = None, *, by: By = None, confidence: float = 0.95) -> Any:
        """Which share of the records meets a condition; the other parameters are those of `count`.

        Parameters
        ----------
        condition : str, mapping or None
            What the share is of: "smoker".
        where : str, mapping or None
            Among which records: "age >= 65"; None for all. Given alone, it is the condition.
        """
        if condition is None:
            condition, where = where, None
        among = None if where is None else self._question(where)

        def share(asked: Question) -> Estimate:
            each, even = (self._shares(asked, among, even=side) for side in (False, True))
            if not np.isfinite(even).any():
                return Estimate(math.nan, 0.0, 1.0, math.inf, confidence=confidence)
            return self._answers.told(each, confidence, 0.0, 1.0, even)

        return self._each(all_of(self.schema, condition, where), by, share)

    @keywords
    def distinct(self, column: str, where: Where = None, *, confidence: float = 0.95) -> Estimate:
        """How many different values a column has; missing cells are no value.

        Of a column declared as `Distinct`, of all records. Of any other, the levels that have a record, cell by cell of
        a number or a date; other words are one.

        Parameters
        ----------
        column : str
            The column.
        where : str, mapping or None
            Among which records.
        confidence : float
            Of the interval.
        """
        if column in self.schema.distinct:
            if where is not None:
                raise ParameterError(f"Distinct values of {column!r} are of all records. Hint: leave out `where`.")
            return self._sketched(column, checks.confidence(confidence))
        place, one = place_of(self.schema, column), self.schema[column]
        if isinstance(one, Number | Date) and not one.each_apart:
            raise ParameterError(f"The cells of {column!r} hold several values each. Hint: declare it as `Distinct`.")
        asked, given = (
            self._question(where),
            [part for part in parts(one, column, most=one.size) if part.name != MISSING],
        )
        there = self._answers.parts(asked, place, given)
        return self.levels_there(there, self._remarks(asked, place), confidence)

    def levels_there(self, records: Floats, remarks: Iterable[str], confidence: float) -> Estimate:
        """How many levels have a record: on each draw those with a count that rounds to one or more."""
        found = self._answers.told(
            (records >= NONE).sum(axis=1).astype(float), confidence, 0.0, float(records.shape[1])
        )
        return replace(found, remarks=tuple(dict.fromkeys(remarks)))

    @overload
    def sum(self, column: str, where: Where = None, *, by: None = None, confidence: float = 0.95) -> Estimate: ...
    @overload
    def sum(
        self, column: str, where: Where = None, *, by: str | Iterable[str], confidence: float = 0.95
    ) -> DataFrame: ...
    @keywords
    def sum(self, column: str, where: Where = None, *, by: By = None, confidence: float = 0.95) -> Estimate | DataFrame:
        """The sum of a column of numbers; missing cells count nothing.

        The sum of all records is exact up to noise. For some of them, each cell's mean is taken to be that of all, and
        the interval allows for unlike cells. The parameters are those of `count`.
        """
        place, values, extremes = self._valued(column, "sum")

        def total(asked: Question) -> Estimate:
            smallest, largest = asked.ends(place, *extremes)
            least, most = 0.0 if smallest >= 0 else -math.inf, 0.0 if largest <= 0 else math.inf
            (_, each), (_, even) = self._summed(asked, place, values, extremes)
            return self._answers.told(each, confidence, least, most, even)

        return self._each(where, by, total, place)

    @overload
    def mean(self, column: str, where: Where = None, *, by: None = None, confidence: float = 0.95) -> Estimate: ...
    @overload
    def mean(
        self, column: str, where: Where = None, *, by: str | Iterable[str], confidence: float = 0.95
    ) -> DataFrame: ...
    @keywords
    def mean(
        self, column: str, where: Where = None, *, by: By = None, confidence: float = 0.95
    ) -> Estimate | DataFrame:
        """The mean of a column of numbers, missing cells left out; of booleans, the share of the true ones.

        Where the release shows no record, the mean is NaN and its interval all that is possible. See `sum`.
        """
        place, values, extremes = self._valued(column, "mean")

        def mean(asked: Question) -> Estimate:
            least, most = asked.ends(place, *extremes)
            (records, sums), (even_records, even_sums) = self._summed(asked, place, values, extremes)
            if even_records.mean() < NONE:
                return Estimate(math.nan, least, most, math.inf, confidence=confidence)
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._answers.told(sums / records, confidence, least, most, even_sums / even_records)

        return self._each(where, by, mean, place)

    @overload
    def quantile(
        self, column: str, q: float = 0.5, where: Where = None, *, by: None = None, confidence: float = 0.95
    ) -> Estimate: ...
    @overload
    def quantile(
        self, column: str, q: Iterable[float], where: Where = None, *, by: By = None, confidence: float = 0.95
    ) -> DataFrame: ...
    @overload
    def quantile(
        self, column: str, q: float = 0.5, where: Where = None, *, by: str | Iterable[str], confidence: float = 0.95
    ) -> DataFrame: ...
    @keywords
    def quantile(
        self,
        column: str,
        q: float | Iterable[float] = 0.5,
        where: Where = None,
        *,
        by: By = None,
        confidence: float = 0.95,
    ) -> Estimate | DataFrame:
        """The value below which a share `q` of the records lies: of numbers as they are, of dates in their own terms.

        Intervals are made of whole cells. Where the release shows no record there is no value: NaN or, of dates, NaT.
        Of several shares there is a row for each. The other parameters are those of `count`.
        """
        place = place_of(self.schema, column)
        line = with_order(self.schema[column], column)

        def at(share: float) -> Callable[[Question], Estimate]:
            return lambda asked: self._reached(line, place, asked, share, confidence)

        if isinstance(q, str) or not isinstance(q, Iterable):
            return self._each(where, by, at(_share(q)), place)
        names = [] if by is None else names_of(by)
        (which,) = free(["q"], names)
        rows, remarks = [], dict[str, None]()
        for share in map(_share, q):
            found: Any = self._each(where, names or None, at(share), place)
            listed = [found.to_dict()] if by is None else found.to_dict("records")
            remarks |= dict.fromkeys(found.remarks if by is None else found.attrs.get("remarks", ()))
            rows += [{which: share, **row} for row in listed]
        return frame(rows, tuple(remarks))

    # ---- frames ----

    @keywords
    def histogram(
        self, column: str, bins: int | Iterable[object] | None = None, where: Where = None, *, confidence: float = 0.95
    ) -> DataFrame:
        """How many records each level of a column has.

        Parameters
        ----------
        column : str
            The column.
        bins : int or list, optional
            Of numbers and dates: how many bins, of as equal numbers of cells as can be; or their edges, such as
            ``[0, 18, 65]`` or ``["2020-01-01", "2022-07"]``. By default each cell is one, up to 400.
        where, confidence : str, dict, float or None
            As those of `count`.

        Returns
        -------
        DataFrame
            A row for each bin, with `value`, `low`, `high` and `standard_error`; missing cells, where there can be any,
            are the last, ``(missing)``. What lies beyond given edges is in none.
        """
        place, asked = place_of(self.schema, column), self._question(where)
        if isinstance(bins, int | np.integer) and not self.schema[column].ordered:
            kind = self.schema[column].kind
            raise ParameterError(f"`bins` are for numbers and dates, and {column!r} is a {kind}. Hint: leave them out.")
        rows = []
        levels = parts(self.schema[column], column, bins)
        for part, found in zip(levels, self._count_each(asked, place, levels, confidence), strict=True):
            ends = {} if part.ends is None else {"from": part.ends[0], "to": part.ends[1]}
            rows.append(_row({column: part.name}, ends | found.to_dict()))
        joined = _joined(self.schema, {column: levels}) if bins is None else ()
        told = self._remarks(asked, place, parts=((place, part) for part in levels))
        return frame(rows, (*told, *joined))

    @keywords
    def top(
        self, column: str, k: int = 10, where: Where = None, *, by: By = None, confidence: float = 0.95
    ) -> DataFrame:
        """The most frequent levels of a column, each with its count and rank.

        Parameters
        ----------
        column : str
            The column. Missing cells, and the words that share ``(other)``, have no rank.
        k : int
            How many levels.
        where, by, confidence : str, dict, list or float
            As those of `count`; with `by`, there are `k` for each of its levels.

        Returns
        -------
        DataFrame
            A row for each, most frequent first, with `value`, `low`, `high`, `standard_error`, and in `rank_low` and
            `rank_high` the ranks that it may have, by intervals of the differences of counts.

        Examples
        --------
        >>> import scumble
        >>> sketch = scumble.TableSketch(scumble.Schema(town=scumble.Category(["Ulm", "Bonn", "Jena"])))
        >>> release = sketch.update({"town": ["Ulm"] * 5000 + ["Bonn"] * 9000}).release(epsilon=1.0)
        >>> release.top("town", 2)[["town", "rank_low", "rank_high"]].values.tolist()
        [['Bonn', 1, 1], ['Ulm', 2, 2]]
        """
        if column in self.schema.tokens:
            self._of_tokens(column, where, by)
            first = self._tokens(column, pairs=False).ranked(checks.confidence(confidence))[: checks.whole("k", k)]
            return frame(
                [
                    _row({column: word}, one.to_dict() | {"rank_low": low, "rank_high": high})
                    for word, one, low, high in first
                ],
                (),
            )
        place, most, sure = place_of(self.schema, column), checks.whole("k", k), checks.confidence(confidence)
        names = [] if by is None else names_of(by)
        if column in names:
            raise parameter("by", "other columns than the one that is ranked", by)
        declared = self.schema[column]
        runs = [] if isinstance(declared, Category) else parts(declared, column)
        shown = [part.name for part in runs] if runs else [*declared.levels]
        ranked = [k for k, name in enumerate(shown) if name not in (OTHER, MISSING)]
        levels = [parts(self.schema[name], name) for name in names]
        if names:
            require_few([min(most, len(ranked)), *map(len, levels)], "a smaller k, or fewer columns in by=")
        asked, rows, groups = self._question(where), [], [place_of(self.schema, name) for name in names]
        tops: dict[int, None] = {}
        for combination in itertools.product(*levels):
            mine = asked
            for group, part in zip(groups, combination, strict=True):
                mine = mine.narrowed(group, part)
            if asked.possible and not mine.possible:
                continue
            labels = {name: part.name for name, part in zip(names, combination, strict=True)}
            if runs:
                both = [self._answers.parts(mine, place, runs, even=side) for side in (False, True)]
            else:  # as parts they would take memory as the square of their number
                both = [self._answers.levels(mine, place, even=side) for side in (False, True)]
            each, even = (answers[:, ranked] for answers in both)
            for one in np.argsort(-even.mean(axis=0), kind="stable")[:most]:
                more = each - each[:, [one]]
                error = reach_of(len(each), sure) * more.std(axis=0, ddof=1)
                ahead, behind = (int((side * more.mean(axis=0) > error).sum()) for side in (1, -1))
                ranks = {"rank_low": 1 + ahead, "rank_high": len(ranked) - behind}
                found = self._answers.told(each[:, one], sure, 0.0, even=even[:, one])
                rows.append(_row(labels | {column: shown[ranked[one]]}, found.to_dict() | ranks))
                tops.setdefault(ranked[one], None)
        named = [runs[k] if runs else Part(shown[k], mixture.at_level(k, declared.size)) for k in tops]
        told = ((at, part) for at, those in zip([place, *groups], [named, *levels], strict=True) for part in those)
        return frame(rows, self._remarks(asked, place, *groups, parts=told))

    def describe(self) -> DataFrame:
        """What is usual in each column: a row for each, as `pandas.DataFrame.describe` has a column.

        Returns
        -------
        DataFrame
            The share of missing values, where a column may have some; of numbers the mean with its interval; of numbers
            and dates the quartiles; of others the most frequent level and its share.
        """
        rows: list[dict[str, object]] = []
        for name, column in self.schema.items():
            row: dict[str, object] = {"column": name}
            if column.missing:
                row["missing"] = self.share({name: None}).value
            if column.ordered and isinstance(column, Number):
                row |= dict(zip(("mean", "low", "high"), self.mean(name), strict=True))
            if column.ordered:
                quartiles = self.quantile(name, [0.25, 0.5, 0.75])
                row |= dict(zip(("25%", "50%", "75%"), quartiles["value"], strict=True))
            else:
                for _, first in self.top(name, 1).iterrows():
                    row |= {"top": first[name], "share": first.drop(name).iloc[0] / max(self.count().value, 1.0)}
            rows.append(row)
        return frame(rows, ()).set_index("column")

    @keywords
    def crosstab(
        self,
        first: str,
        second: str | None = None,
        where: Where = None,
        *,
        margins: bool = False,
        normalize: bool | str = False,
        long: bool = False,
        bins: int | None = None,
        confidence: float = 0.95,
    ) -> DataFrame:
        """How many records have each combination of two columns' levels; of numbers and dates, of `bins` bins.

        Parameters
        ----------
        first, second : str
            The columns: one for the rows, one for the columns of the table.
        where, confidence : str, mapping or float
            As those of `count`.
        margins : bool
            Whether to add totals, under "All".
        normalize : bool or {"all", "index", "columns"}
            Shares of all records, of each row or of each column, instead of counts.
        long : bool
            A row for each combination instead of a table.
        bins : int, optional
            How many runs of the cells of a number or a date.

        Returns
        -------
        DataFrame
            Tables in the shape of `pandas.crosstab` side by side: ``found["value"]``, ``found["low"]``,
            ``found["high"]`` and ``found["standard_error"]``.
        """
        if first in self.schema.tokens and second in (None, first):
            self._of_tokens(first, where, margins, normalize, long, bins)
            return self._co_occurrence(first, confidence)
        if second is None or first == second:
            raise parameter("second", "another column than the first", second, "histogram counts one.")
        if normalize not in (False, True, "all", "index", "columns"):
            raise parameter("normalize", "True, 'all', 'index' or 'columns'", normalize)
        if long and (margins or normalize):
            raise ParameterError("`margins` and `normalize` are of a table. Hint: leave out long=True.")
        cells: list[Estimate] = []

        def counted(asked: Question, place: int, parts: Sequence[Part]) -> list[Estimate]:
            cells.extend(self._count_each(asked, place, parts, confidence))
            return cells[-len(parts) :]

        listed = self._grouped_by(self._question(where), [first, second], counted, bins, all_levels=True)
        return listed if long else _crossed(listed, cells, margins, "all" if normalize is True else normalize)

    def _of_tokens(self, column: str, *others: object) -> None:
        """Refuse what was not counted."""
        if any(others):
            raise ParameterError(
                f"Tokens of {column!r} were counted by themselves. Hint: give k= and confidence= alone."
            )

    def _co_occurrence(self, column: str, confidence: float) -> DataFrame:
        if self.schema.tokens[column].most == 1:
            raise ParameterError(f"No pairs of tokens in {column!r} were counted. Hint: declare most=2 or more.")
        alone, pairs = (self._tokens(column, pairs=both) for both in (False, True))
        size = range(len(pairs.words))
        single = alone.estimates(confidence)
        above = {  # the first slot has the word that stands first in the vocabulary
            (j, k): one
            for j in size
            for k, one in enumerate(pairs._replace(counts=pairs.counts[j]).estimates(confidence))
        }
        found = [single[j] if j == k else above[min(j, k), max(j, k)] for j in size for k in size]
        return _table(column, pairs.words, column, pairs.words, found)

    def _grouped_by(
        self,
        asked: Question,
        names: list[str],
        answers: Answering,
        bins: int | None,
        *of: int,
        all_levels: bool = False,
    ) -> DataFrame:
        """A row for each combination of levels; not for those that the question itself leaves out, but for a table of
        `all_levels`, or where it leaves out all. `answers` has one for each of some parts of a column."""
        places = [place_of(self.schema, name) for name in names]
        columns = [(self.schema[name], name) for name in names]
        meant = [
            None if all_levels else asked.meant(place, column.size)
            for place, (column, _) in zip(places, columns, strict=True)
        ]
        levels = [parts(*one, bins, meant=those) for one, those in zip(columns, meant, strict=True)]
        if bins is None and len(names) > 1 and math.prod(map(len, levels)) > MOST_GROUPS:
            levels = [parts(*one, most=BINS, meant=those) for one, those in zip(columns, meant, strict=True)]
        joined = [*_joined(self.schema, dict(zip(names, levels, strict=True)))] if bins is None else []
        if asked.possible and not all_levels:
            levels = [
                [part for part in each if asked.narrowed(place, part).possible]
                for place, each in zip(places, levels, strict=True)
            ]
        hint = "fewer columns in --by (by=), or a --where (where=) that leaves fewer of their levels"
        if all_levels:
            with_one_bin = [1 if of.ordered else len(each) for (of, _), each in zip(columns, levels, strict=True)]
            hint = f"`count` by={names}, with a where= that leaves fewer of their levels"
            hint = "a smaller `bins`" if 2 * math.prod(with_one_bin) <= MOST_GROUPS else hint
        require_few(map(len, levels), hint, together=bool(joined))
        rows = []
        for combination in itertools.product(*levels[:-1]):
            mine = asked
            for place, part in zip(places, combination, strict=False):
                mine = mine.narrowed(place, part)
            last = levels[-1]
            if asked.possible and not all_levels:
                last = [part for part in last if mine.narrowed(places[-1], part).possible]
            for part, found in zip(last, answers(mine, places[-1], last) if last else (), strict=True):
                labels = [one.name for one in (*combination, part)]
                rows.append(_row(dict(zip(names, labels, strict=True)), found.to_dict()))
        each = ((place, part) for place, those in zip(places, levels, strict=True) for part in those)
        return frame(rows, (*self._remarks(asked, *places, *of, parts=each), *joined))

    # ---- any statistic ----

    @keywords
    def estimate(self, statistic: Statistic, *, rows: int = 100_000, confidence: float = 0.95) -> Estimate | DataFrame:
        """Any statistic of the table, with an interval.

        The statistic is computed on synthetic tables, two for each draw from the posterior: the spread between draws is
        its error, and the chance of drawing rows is taken out. See ``docs/limitations.md``.

        Parameters
        ----------
        statistic : callable
            Takes a pandas frame with the table's columns; returns a number, or a Series or a dict of numbers.
        rows : int
            The most rows of a frame; there are no more than the release has records.
        confidence : float
            Of the interval.

        Returns
        -------
        Estimate or DataFrame
            The number; or, of several, a frame with `value`, `low`, `high` and `standard_error`.

        Examples
        --------
        >>> import scumble
        >>> schema = scumble.Schema(age=scumble.Number(0, 99, whole=True), smoker=scumble.Boolean())
        >>> sketch = scumble.TableSketch(schema).update({"age": [20, 40] * 5000, "smoker": [True, False] * 5000})
        >>> release = sketch.release(epsilon=1.0)
        >>> bool(abs(release.estimate(lambda t: t["age"].std(), rows=5000).value - 10) < 5)
        True
        """
        return estimated(self._answers, self.schema, statistic, checks.whole("rows", rows), confidence)

    @keywords
    def draws(self, m: int, random_state: RandomState = 0, *, rows: int | None = None) -> Iterator[DataFrame]:
        """Synthetic tables, each of another draw from the posterior, as pandas frames.

        Where `sample` mixes all draws, each of these is one: what differs between them is what the release leaves open.
        After all draws of the release, further tables have new rows of the same draws. Each has so many `rows`, or as
        many as the draw has records.
        """
        number = checks.whole("m", m, 0)
        size = None if rows is None else checks.whole("rows", rows, 0)
        return sampled(self._answers, self.schema, number, random_state, size)

    # ---- rows ----

    @overload
    def sample(
        self, n: int, random_state: RandomState = None, *, where: Where = None, format: Literal["pandas"] = "pandas"
    ) -> DataFrame: ...
    @overload
    def sample(
        self, n: int, random_state: RandomState = None, *, where: Where = None, format: Literal["polars"]
    ) -> PolarsFrame: ...
    @overload
    def sample(
        self, n: int, random_state: RandomState = None, *, where: Where = None, format: Literal["arrow"]
    ) -> pa.Table: ...
    @keywords
    def sample(
        self, n: int, random_state: RandomState = None, *, where: Where = None, format: Format = "pandas"
    ) -> Estimate | DataFrame:
        """Synthetic records, with the table's own columns, types and levels.

        Types follow from the schema alone: words are categorical with all words of the vocabulary; where cells can be
        missing, whole numbers and booleans are Int64 and boolean.

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
        """
        rows.require(format)
        if checks.whole("n", n, 0) > rows.MOST_HELD:
            hint = "sample_batches gives any number, piece by piece."
            raise parameter("n", f"at most {rows.MOST_HELD:,}, which one table may hold", n, hint)
        return rows.held(rows.together(self.sample_batches(n, random_state, where=where)), self.schema, format)

    @keywords
    def sample_batches(self, n: int, random_state: RandomState = None, *, where: Where = None) -> Iterator[pa.Table]:
        """The records of `sample` as Arrow tables, one after the other: any number of them in little memory."""
        asked, size = condition(self.schema, where), checks.whole("n", n, 0)
        if asked.columns and (told := perhaps_nobody(self._count(self._question(asked), SURE), SURE)):
            warn(told)
        return batches(self._answers.model, asked, size, random_state, expected_powers(self._answers, self.schema))

    def faithfulness(self) -> Faithfulness:
        """How faithful synthetic records are, by the release's own knowledge; ``print`` says it in words."""
        return faithfulness(self._answers, self.schema)

    # ---- how ----

    def _count(self, asked: Question, confidence: float) -> Estimate:
        each, even = (self._answers.counts(asked, even=side) for side in (False, True))
        return self._answers.told(each, confidence, 0.0, even=even)

    def _count_each(self, asked: Question, place: int, parts: Sequence[Part], confidence: float) -> Iterator[Estimate]:
        """The number of records in each part of a column."""
        each, even = (self._answers.parts(asked, place, parts, even=side).T for side in (False, True))
        for one, other in zip(each, even, strict=True):
            yield self._answers.told(one, confidence, 0.0, even=other)

    def _shares(self, asked: Question, among: Question | None, *, even: bool) -> Floats:
        """On each draw: which share of the records meant by `among` (None: of all) is `asked` for; NaN of none."""
        answers = self._answers
        totals = answers.posterior.totals if among is None else answers.counts(among, even=even)
        if among is not None and answers.counts(among, even=True).mean() < NONE:
            return np.full(len(totals), np.nan)
        return np.minimum(answers.counts(asked, even=even) / np.maximum(totals, 1e-300), 1.0)

    def _valued(self, column: str, what: str) -> tuple[int, Floats, tuple[Floats, Floats]]:
        """Where a column stands, and the value of each of its levels: the usual one, the least and the largest."""
        place = place_of(self.schema, column)
        return place, values_of(self.schema[column], column, what), extremes_of(self.schema[column])

    def _summed(
        self, asked: Question, place: int, values: Floats, extremes: tuple[Floats, Floats]
    ) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """On each draw: how many records that are meant have a value, and the sum of their values; and the same with
        values spread evenly in their cells."""
        known = np.isfinite(values)
        table, even = (self._answers.levels(asked, place, even=side)[:, known] for side in (False, True))
        each, expected = (side[..., known] for side in self._answers.values(place, values, *extremes))
        return (table.sum(axis=1), (table * each).sum(axis=1)), (even.sum(axis=1), even @ expected)

    def _reached(self, column: Number | Date, place: int, asked: Question, q: float, confidence: float) -> Estimate:
        """The value of an ordered column up to which a share `q` of the records lies; places are counted in cells."""
        cuts = column.cuts
        table, even = (self._answers.levels(asked, place, even=side)[:, : cuts.size] for side in (False, True))
        if even.sum(axis=1).mean() < NONE:
            low, high = _at(column, [0, cuts.size - 1], [0.0, 1.0])
            nothing = NO_DATE if column.kind == "date" else math.nan
            return Estimate(nothing, low, high, math.inf, confidence=confidence)
        cell, part = _reached(table, q)
        found = self._answers.told(cell + part, confidence, 0.0, float(cuts.size), np.sum(_reached(even, q), axis=0))
        cells = [min(int(end), cuts.size - 1) for end in (found.value, found.low, found.high)]
        value, low, high = _at(column, cells, [found.value - cells[0], 0.0, 1.0])
        if column.kind != "number":
            return Estimate(value, low, high, math.nan, confidence=confidence)
        each = np.asarray(cuts.at(cell, part), float)
        return Estimate(value, low, high, float(each.std(ddof=1)), (), each, self._answers.identity, confidence)

    def _each(
        self, where: Where, by: By, answer: Callable[[Question], Estimate], *of: int, every: Answering | None = None
    ) -> Estimate | DataFrame:
        """The answer, or one for each level, which `every` may give for all at once; `of` is the place of the column
        whose values are asked for."""
        asked = self._question(where)
        if by is None:
            return replace(answer(asked), remarks=self._remarks(asked, *of))

        def one_by_one(asked: Question, place: int, parts: Sequence[Part]) -> Iterator[Estimate]:
            return (answer(asked.narrowed(place, part)) for part in parts)

        return self._grouped_by(asked, names_of(by), every or one_by_one, None, *of)

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


def _reached(table: Floats, q: float) -> tuple[npt.NDArray[np.int64], Floats]:
    """For each draw the cell of a line in which a share `q` of the records is reached, and how far into it."""
    upto = np.cumsum(table, axis=1)
    mark = q * upto[:, -1]
    cell = np.minimum((upto < mark[:, None]).sum(axis=1), table.shape[1] - 1)
    here = table[np.arange(len(cell)), cell]
    before = upto[np.arange(len(cell)), cell] - here
    return cell, np.clip(np.divide(mark - before, here, out=np.full(len(cell), 0.5), where=here > 0), 0.0, 1.0)


def _share(q: object) -> float:
    return checks.number("q", q, "between 0 and 1", lambda share: 0 <= share <= 1, "0.5 is the median.")


def _at(column: Number | Date, cells: list[int], shares: list[float]) -> list[Any]:
    """Values of a column, each so far into a cell."""
    found = column.cuts.at(np.array(cells), np.array(shares))
    return (
        [column.moment(int(tick)) for tick in found] if isinstance(column, Date) else [zero_if_tiny(x) for x in found]
    )


def _joined(schema: Schema, levels: Mapping[str, Sequence[Part]]) -> Iterator[str]:
    """A remark on each column whose cells are so many that several stand together in a group, unasked."""
    for name, each in levels.items():
        column = schema[name]
        held = [int(np.count_nonzero(part.weights)) for part in each]
        cells, most = sum(held) - column.missing, max(held)
        if column.ordered and most > 1:
            unit = column.cells if isinstance(column, Date) and isinstance(column.cells, str) else None
            apart = f" In SQL, GROUP BY date_trunc('{unit}', {name}) separates them." if unit else ""
            asked = " that are asked for" if cells < column.size - column.missing else ""
            told = f"{name!r} has {cells:,} cells{asked}, too many for a group each: {most} stand together in one."
            yield told + apart


def require_few(sizes: Iterable[int], hint: str, *, together: bool = False) -> None:
    """Refuse more groups than anybody reads, of columns with so many levels each; the hint says how to ask for fewer.

    `together`: levels that have neighbors stand together already.

    >>> require_few([72, 32], "fewer columns")
    Traceback (most recent call last):
        ...
    scumble.errors.ParameterError: There would be more than 2,000 groups, 72 × 32. Hint: fewer columns.
    """
    each = [*sizes]
    most = MOST_WORDS if len(each) == 1 else MOST_GROUPS
    if math.prod(each) > most:
        told = " × ".join(f"{size:,}" for size in each)
        runs = ", though neighboring cells stand together" if together else ""
        raise ParameterError(f"There would be more than {most:,} groups, {told}{runs}. Hint: {hint}.")


def _row(labels: dict[str, object], answers: dict[str, float]) -> dict[str, object]:
    """Levels of columns, and the answers next to them: a column keeps its name, whatever an answer is called."""
    return labels | dict(zip(free(answers, labels), answers.values(), strict=True))


def _crossed(listed: DataFrame, cells: list[Estimate], margins: bool, normalize: str | bool) -> DataFrame:
    """Combinations of two columns' levels, row by row, as tables side by side."""
    (first, rows), (second, columns) = ((name, list(dict.fromkeys(listed[name]))) for name in listed.columns[:2])
    shape = len(rows), len(columns)
    values = np.reshape([cell.value for cell in cells], (*shape, 1))
    both = np.concatenate([values, np.reshape([np.asarray(cell.draws) for cell in cells], (*shape, -1))], axis=2)
    both = np.concatenate([both, both.sum(axis=0, keepdims=True)], axis=0)
    both = np.concatenate([both, both.sum(axis=1, keepdims=True)], axis=1)
    of = {"all": both[-1:, -1:], "index": both[:, -1:], "columns": both[-1:]}
    if normalize:
        with np.errstate(divide="ignore", invalid="ignore"):
            both = both / of[str(normalize)]
    if margins and normalize != "columns":
        rows.append("All")
    if margins and normalize != "index":
        columns.append("All")
    one = cells[0]
    found = [
        around(each[0], each[1:], one.confidence, (), one.identity, 0.0, 1.0 if normalize else math.inf)
        for each in both[: len(rows), : len(columns)].reshape(-1, both.shape[2])
    ]
    crossed = _table(first, rows, second, columns, found)
    crossed.attrs.update(listed.attrs)
    return crossed


def _table(
    first: str, rows: Sequence[object], second: str, columns: Sequence[object], found: Sequence[Estimate]
) -> DataFrame:
    """Estimates, row by row, as tables side by side."""
    pandas, answers = library("pandas"), [*found[0].to_dict()]
    table = np.array([[*each.to_dict().values()] for each in found]).reshape(len(rows), len(columns), len(answers))
    crossed: DataFrame = pandas.DataFrame(
        np.concatenate(np.moveaxis(table, 2, 0), axis=1),
        index=pandas.Index(rows, name=first),
        columns=pandas.MultiIndex.from_product([answers, columns], names=[None, second]),
    )
    return crossed


def frame(rows: list[dict[str, object]], remarks: tuple[str, ...]) -> DataFrame:
    """The rows; what must be known of them stands in its ``attrs``."""
    found: DataFrame = library("pandas").DataFrame(rows)
    if remarks:
        found.attrs["remarks"] = list(remarks)
    return found
