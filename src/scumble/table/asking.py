"""The questions of a table's release, in the words of people who ask them. Everything here is post-processing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.checks import keywords
from scumble.columns.category import Category
from scumble.columns.column import MISSING, OTHER, Column
from scumble.columns.conditions import all_of, condition
from scumble.columns.containers import free
from scumble.columns.date import Date
from scumble.columns.number import Number
from scumble.errors import ParameterError, parameter, warn
from scumble.files.lazy_modules import pa
from scumble.table import rows as _rows
from scumble.table.answers import NONE, Released, shares_at_bounds
from scumble.table.estimate import Estimate, around, outward, reach_of
from scumble.table.faithfulness import Faithfulness, faithfulness
from scumble.table.questions import (
    Floats,
    Part,
    Question,
    Where,
    names_of,
    parts,
    place_of,
    question,
    with_order,
    with_values,
)
from scumble.table.remarks import counted_as_one, not_counted_together, of_small, stand_together, zero_if_tiny
from scumble.table.rows import Format, RandomState, Statistic

if TYPE_CHECKING:
    from pandas import DataFrame
    from polars import DataFrame as PolarsFrame

Names = str | Iterable[str]
Answer = Callable[[Question], Any]
Answering = Callable[[Question, int, Sequence[Part]], Iterable[Any]]
"""Answers to a question about each of some parts of a column."""
Sums = tuple[Floats, Floats]
SURE = 0.95
"""With this confidence a group has records, or a warning says that it may have none."""
MOST_GROUPS = 2_000
MOST_WORDS = 10_000
"""Groups by one column: so many words take a second, and as many bytes as their number squared."""
BINS = 20
"""Parts of each line, where several columns would have too many groups by their cells."""


class Answered(NamedTuple):
    """Answers, each with the levels of columns that it is of, and what must be known of all of them."""

    rows: list[tuple[dict[str, object], Any]]
    remarks: tuple[str, ...] = ()


class Asking(Released):
    """Counts, shares, sums, means, quantiles and tables, each with an interval; and synthetic rows."""

    # ---- numbers ----

    @overload
    def count(self, where: Where = None, *, by: None = None, confidence: float = 0.95) -> Estimate: ...
    @overload
    def count(self, where: Where = None, *, by: Names, confidence: float = 0.95) -> DataFrame: ...
    @keywords
    def count(self, where: Where = None, *, by: Names | None = None, confidence: float = 0.95) -> Estimate | DataFrame:
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
            each = zip(found.words, found.estimates(confidence), strict=True)
            return frame((({by[0]: word}, one) for word, one in each), ())
        every = partial(self._count_each, confidence=confidence)
        return self._each(where, by, partial(self._count, confidence=confidence), every=every)

    @overload
    def share(
        self, condition: Where = None, where: Where = None, *, by: None = None, confidence: float = 0.95
    ) -> Estimate: ...
    @overload
    def share(
        self, condition: Where = None, where: Where = None, *, by: Names, confidence: float = 0.95
    ) -> DataFrame: ...
    @keywords
    def share(
        self, condition: Where = None, where: Where = None, *, by: Names | None = None, confidence: float = 0.95
    ) -> Any:
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
                return _nothing(0.0, 1.0, confidence)
            return _remarked(self._answers.told(each, confidence, 0.0, 1.0, even))

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
        place, one, asked = place_of(self.schema, column), self.schema[column], self._question(where)
        if isinstance(one, Number | Date) and not one.each_apart:
            raise ParameterError(f"The cells of {column!r} hold several values each. Hint: declare it as `Distinct`.")
        there = self._answers.levels(asked, place)[:, : one.size - one.missing]
        return self.levels_there(there, self._remarks(asked, place), confidence)

    def levels_there(self, records: Floats, remarks: Iterable[str], confidence: float) -> Estimate:
        """How many levels have a record: on each draw those with a count that rounds to one or more."""
        there = (records >= NONE).sum(axis=1).astype(float)
        found = self._answers.told(there, confidence, 0.0, float(records.shape[1]))
        return replace(found, remarks=tuple(dict.fromkeys(remarks)))

    @overload
    def sum(self, column: str, where: Where = None, *, by: None = None, confidence: float = 0.95) -> Estimate: ...
    @overload
    def sum(self, column: str, where: Where = None, *, by: Names, confidence: float = 0.95) -> DataFrame: ...
    @keywords
    def sum(
        self, column: str, where: Where = None, *, by: Names | None = None, confidence: float = 0.95
    ) -> Estimate | DataFrame:
        """The sum of a column of numbers; missing cells count nothing.

        The sum of all records is exact up to noise. For some of them, each cell's mean is taken to be that of all, and
        the interval allows for unlike cells; in a part of a cell, values may lie anywhere. The parameters are those of
        `count`.
        """
        place, valued = place_of(self.schema, column), with_values(self.schema[column], column, "sum")

        def total(asked: Question) -> Estimate:
            smallest, largest = asked.ends(place, valued)
            (_, each), (_, even) = self._summed(asked, place, valued)
            least, most = 0.0 if smallest >= 0 else -math.inf, 0.0 if largest <= 0 else math.inf
            return self._answers.told(each, confidence, least, most, even)

        return self._each(where, by, total, place)

    @overload
    def mean(self, column: str, where: Where = None, *, by: None = None, confidence: float = 0.95) -> Estimate: ...
    @overload
    def mean(self, column: str, where: Where = None, *, by: Names, confidence: float = 0.95) -> DataFrame: ...
    @keywords
    def mean(
        self, column: str, where: Where = None, *, by: Names | None = None, confidence: float = 0.95
    ) -> Estimate | DataFrame:
        """The mean of a column of numbers, missing cells left out; of booleans, the share of the true ones.

        Where the release shows no record, the mean is NaN and its interval all that is possible. See `sum`.
        """
        place, valued = place_of(self.schema, column), with_values(self.schema[column], column, "mean")

        def mean(asked: Question) -> Estimate:
            least, most = asked.ends(place, valued)
            (records, sums), (even_records, even_sums) = self._summed(asked, place, valued)
            if even_records.mean() < NONE:
                return _nothing(least, most, confidence)
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._answers.told(sums / records, confidence, least, most, even_sums / even_records)

        return self._each(where, by, mean, place)

    @overload
    def quantile(
        self, column: str, q: float = 0.5, where: Where = None, *, by: None = None, confidence: float = 0.95
    ) -> Estimate: ...
    @overload
    def quantile(
        self, column: str, q: Iterable[float], where: Where = None, *, by: Names | None = None, confidence: float = 0.95
    ) -> DataFrame: ...
    @overload
    def quantile(
        self, column: str, q: float = 0.5, where: Where = None, *, by: Names, confidence: float = 0.95
    ) -> DataFrame: ...
    @keywords
    def quantile(
        self,
        column: str,
        q: float | Iterable[float] = 0.5,
        where: Where = None,
        *,
        by: Names | None = None,
        confidence: float = 0.95,
    ) -> Estimate | DataFrame:
        """The value below which a share `q` of the records lies: of numbers as they are, of dates in their own terms.

        Intervals are made of cells, or of the parts that `where` keeps. Where the release shows no record there is no
        value: NaN or, of dates, NaT. Of several shares there is a row for each. The other parameters are those of
        `count`.
        """
        place, line = place_of(self.schema, column), with_order(self.schema[column], column)
        several = [*q] if isinstance(q, Iterable) and not isinstance(q, str) else None
        shares = [
            checks.number("q", one, "between 0 and 1", lambda one: 0 <= one <= 1, "0.5 is the median.")
            for one in ([q] if several is None else several)
        ]

        def reached(asked: Question) -> list[Estimate]:
            return self._reached(line, place, asked, shares, confidence)

        if several is None:
            return self._each(where, by, lambda asked: reached(asked)[0], place)
        asked, names = self._question(where), [] if by is None else names_of(by)
        if names:
            rows, remarks = self._by_levels(asked, names, one_by_one(reached), place)
        else:
            rows, remarks = [({}, reached(asked))], self._remarks(asked, place)
        (which,) = free(["q"], names)
        each = (({which: q} | labels, found[k]) for k, q in enumerate(shares) for labels, found in rows)
        return frame(each, remarks)

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
        declared, place, asked = self.schema[column], place_of(self.schema, column), self._question(where)
        if isinstance(bins, int | np.integer) and not declared.ordered:
            kind = declared.kind
            raise ParameterError(f"`bins` are for numbers and dates, and {column!r} is a {kind}. Hint: leave them out.")
        rows, levels = [], parts(declared, column, bins)
        for part, found in zip(levels, self._count_each(asked, place, levels, confidence), strict=True):
            ends = {} if part.ends is None else {"from": part.ends[0], "to": part.ends[1]}
            rows.append(({column: part.name}, ends | found.to_dict()))
        told = self._remarks(asked, place, meant=((place, part.weights) for part in levels))
        return frame(rows, (*told, *stand_together(declared, column, levels, bins)))

    @keywords
    def top(
        self, column: str, k: int = 10, where: Where = None, *, by: Names | None = None, confidence: float = 0.95
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
        most, sure = checks.whole("k", k), checks.confidence(confidence)
        if column in self.schema.tokens:
            self._of_tokens(column, where, by)
            first = self._tokens(column, pairs=False).ranked(sure)[:most]
            answers = ((word, one.to_dict() | {"rank_low": low, "rank_high": high}) for word, one, low, high in first)
            return frame((({column: word}, answer) for word, answer in answers), ())
        place, names = place_of(self.schema, column), [] if by is None else names_of(by)
        if column in names:
            raise parameter("by", "other columns than the one that is ranked", by)
        declared = self.schema[column]
        # Words as parts would take memory as the square of their number.
        runs = [] if isinstance(declared, Category) else parts(declared, column)
        shown = [part.name for part in runs] or [*declared.levels]
        starts = [int(part.weights.argmax()) for part in runs] or [*range(declared.size)]
        ranked = [k for k, name in enumerate(shown) if name not in (OTHER, MISSING)]
        levels = [parts(self.schema[name], name) for name in names]
        if names:
            require_few([min(most, len(ranked)), *map(len, levels)], "a smaller k, or fewer columns in by=")
        asked, rows, tops = self._question(where), [], dict[int, None]()
        for labels, mine in self._combined(asked, names, levels, not asked.possible):
            each, even = (
                np.add.reduceat(self._answers.levels(mine, place, even=side), starts, axis=1)[:, ranked]
                for side in (False, True)
            )
            for one in np.argsort(-even.mean(axis=0), kind="stable")[:most]:
                more = each - each[:, [one]]
                error = reach_of(len(each), sure) * more.std(axis=0, ddof=1)
                ahead, behind = (int((side * more.mean(axis=0) > error).sum()) for side in (1, -1))
                ranks = {"rank_low": 1 + ahead, "rank_high": len(ranked) - behind}
                found = self._answers.counted(each[:, one], sure, even[:, one])
                rows.append((labels | {column: shown[ranked[one]]}, found.to_dict() | ranks))
                tops.setdefault(ranked[one], None)
        groups, run = (
            [place_of(self.schema, name) for name in names],
            np.searchsorted(starts, np.arange(declared.size), "right"),
        )
        told = [(place, (run == k + 1).astype(float)) for k in tops]
        told += [(at, part.weights) for at, those in zip(groups, levels, strict=True) for part in those]
        return frame(rows, self._remarks(asked, place, *groups, meant=told))

    def describe(self) -> DataFrame:
        """What is usual in each column: a row for each, as `pandas.DataFrame.describe` has a column.

        Returns
        -------
        DataFrame
            The share of missing values, where a column may have some; of numbers the mean with its interval; of numbers
            and dates the quartiles; of others the most frequent level and its share.
        """
        rows = []
        for name, column in self.schema.items():
            row: dict[str, object] = {}
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
            rows.append(({"column": name}, row))
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
        each = partial(self._count_each, confidence=confidence)
        found = self._by_levels(self._question(where), [first, second], each, bins=bins, crossed=True)
        return frame(*found) if long else _crossed(found, margins, "all" if normalize is True else normalize)

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
        single, above = (one.estimates(confidence) for one in (alone, pairs._replace(counts=pairs.counts.ravel())))
        size = range(len(pairs.words))  # the first slot has the word that stands first in the vocabulary
        found = [single[j] if j == k else above[min(j, k) * len(size) + max(j, k)] for j in size for k in size]
        return _table(column, pairs.words, column, pairs.words, found)

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
        return _rows.estimated(self._answers, self.schema, statistic, checks.whole("rows", rows), confidence)

    @keywords
    def draws(self, m: int, random_state: RandomState = 0, *, rows: int | None = None) -> Iterator[DataFrame]:
        """Synthetic tables, each of another draw from the posterior, as pandas frames.

        Where `sample` mixes all draws, each of these is one: what differs between them is what the release leaves open.
        After all draws of the release, further tables have new rows of the same draws. Each has so many `rows`, or as
        many as the draw has records.
        """
        number = checks.whole("m", m, 0)
        size = None if rows is None else checks.whole("rows", rows, 0)
        return _rows.sampled(self._answers, self.schema, number, random_state, size)

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
    ) -> Any:
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
        _rows.require(format)
        if checks.whole("n", n, 0) > _rows.MOST_HELD:
            hint = "sample_batches gives any number, piece by piece."
            raise parameter("n", f"at most {_rows.MOST_HELD:,}, which one table may hold", n, hint)
        return _rows.held(_rows.together(self.sample_batches(n, random_state, where=where)), self.schema, format)

    @keywords
    def sample_batches(self, n: int, random_state: RandomState = None, *, where: Where = None) -> Iterator[pa.Table]:
        """The records of `sample` as Arrow tables, one after the other: any number of them in little memory."""
        asked, size = condition(self.schema, where), checks.whole("n", n, 0)
        if asked.columns and (told := _rows.perhaps_nobody(self._count(self._question(asked), SURE), SURE)):
            warn(told)
        powers = _rows.expected_powers(self._answers, self.schema)
        return _rows.batches(self._answers.model, asked, size, random_state, powers)

    def faithfulness(self) -> Faithfulness:
        """How faithful synthetic records are, by the release's own knowledge; ``print`` says it in words."""
        return faithfulness(self._answers, self.schema)

    # ---- how ----

    def _count(self, asked: Question, confidence: float) -> Estimate:
        each, even = (self._answers.counts(asked, even=side) for side in (False, True))
        return _remarked(self._answers.counted(each, confidence, even))

    def _count_each(self, asked: Question, place: int, parts: Sequence[Part], confidence: float) -> Iterator[Estimate]:
        """The number of records in each part of a column."""
        each, even = (self._answers.parts(asked, place, parts, even=side).T for side in (False, True))
        for one, other in zip(each, even, strict=True):
            yield _remarked(self._answers.counted(one, confidence, other))

    def _shares(self, asked: Question, among: Question | None, *, even: bool) -> Floats:
        """On each draw: which share of the records meant by `among` (None: of all) is `asked` for; NaN of none."""
        answers = self._answers
        totals = answers.posterior.totals if among is None else answers.counts(among, even=even)
        if among is not None and answers.counts(among, even=True).mean() < NONE:
            return np.full(len(totals), np.nan)
        return np.minimum(answers.counts(asked, even=even) / np.maximum(totals, 1e-300), 1.0)

    def _summed(self, asked: Question, place: int, column: Column) -> tuple[Sums, Sums]:
        """On each draw: how many records that are meant have a value, and the sum of their values; and the same with
        values spread evenly in their cells."""
        each, expected = self._answers.values(place, column, asked.spans.get(place))
        known = np.isfinite(expected)
        table, even = (self._answers.levels(asked, place, even=side)[:, known] for side in (False, True))
        sums = (table * each[:, known]).sum(axis=1)
        return (table.sum(axis=1), sums), (even.sum(axis=1), even @ expected[known])

    def _reached(
        self, column: Number | Date, place: int, asked: Question, shares: Sequence[float], confidence: float
    ) -> list[Estimate]:
        """The values of an ordered column up to which these shares of the records lie; places are counted in cells."""
        cuts, dated = column.cuts, isinstance(column, Date)
        table, even = (self._answers.levels(asked, place, even=side)[:, : cuts.size] for side in (False, True))

        def at(cells: Sequence[int], parts: Sequence[float]) -> list[Any]:
            """Values, each so far into what is meant of a cell."""
            found = asked.at(place, column, np.array(cells), np.array(parts))
            return [column.moment(int(tick)) if isinstance(column, Date) else zero_if_tiny(tick) for tick in found]

        def one(q: float) -> Estimate:
            if even.sum(axis=1).mean() < NONE:
                low, high = at([0, cuts.size - 1], [0.0, 1.0])
                nothing = _nothing(low, high, confidence)
                return replace(nothing, value=np.datetime64("NaT", "s")) if dated else nothing  # type: ignore[arg-type]
            cell, part = _reached(table, q)
            evenly = np.sum(_reached(even, q), axis=0)
            found = self._answers.told(cell + part, confidence, 0.0, float(cuts.size), evenly)
            cells = [min(int(end), cuts.size - 1) for end in found]
            value, low, high = at(cells, [found.value - cells[0], 0.0, 1.0])
            if dated:
                return Estimate(value, low, high, math.nan, confidence=confidence)
            each = np.asarray(asked.at(place, column, cell, part), float)
            return Estimate(value, low, high, float(each.std(ddof=1)), (), each, self._answers.identity, confidence)

        return [*map(one, shares)]

    def _each(
        self, where: Where, by: Names | None, answer: Answer, *of: int, every: Answering | None = None
    ) -> Estimate | DataFrame:
        """The answer, or one for each level; `of` is the place of the column whose values are asked for."""
        asked = self._question(where)
        if by is None:
            found = answer(asked)
            return replace(found, remarks=(*self._remarks(asked, *of), *_of_small([found], asked)))
        return frame(*self._by_levels(asked, names_of(by), every or one_by_one(answer), *of))

    def _by_levels(
        self,
        asked: Question,
        names: list[str],
        every: Answering,
        *of: int,
        bins: int | None = None,
        crossed: bool = False,
    ) -> Answered:
        """The answers for all combinations of levels; not for those that the question itself leaves out, but for a
        `crossed` table, or where it leaves out all. `every` answers about parts of the last column."""
        places, columns = [place_of(self.schema, name) for name in names], [(self.schema[name], name) for name in names]
        meant = [None if crossed else asked.meant(j, one.size) for j, (one, _) in zip(places, columns, strict=True)]
        levels = [parts(*one, bins, meant=those) for one, those in zip(columns, meant, strict=True)]
        if bins is None and len(names) > 1 and math.prod(map(len, levels)) > MOST_GROUPS:
            levels = [parts(*one, most=BINS, meant=those) for one, those in zip(columns, meant, strict=True)]
        joined = [told for one, each in zip(columns, levels, strict=True) for told in stand_together(*one, each, bins)]
        every_one = crossed or not asked.possible
        if not every_one:
            levels = [
                [part for part in each if asked.narrowed(place, part).possible]
                for place, each in zip(places, levels, strict=True)
            ]
        hint = "fewer columns in --by (by=), or a --where (where=) that leaves fewer of their levels"
        require_few(map(len, levels), "a smaller `bins`, or `count` with by= and where=" if crossed else hint)
        rows: list[tuple[dict[str, object], Estimate]] = []
        for labels, mine in self._combined(asked, names[:-1], levels[:-1], every_one):
            last = [part for part in levels[-1] if every_one or mine.narrowed(places[-1], part).possible]
            if last:
                found = every(mine, places[-1], last)
                rows += [(labels | {names[-1]: part.name}, one) for part, one in zip(last, found, strict=True)]
        each = ((place, part.weights) for place, those in zip(places, levels, strict=True) for part in those)
        small = () if crossed else _of_small((one for _, one in rows), asked)
        return Answered(rows, (*self._remarks(asked, *places, *of, meant=each), *joined, *small))

    def _combined(
        self, asked: Question, names: Sequence[str], levels: Sequence[Sequence[Part]], every: bool
    ) -> Iterator[tuple[dict[str, object], Question]]:
        """Each combination of levels that the question allows, and the question of its records."""
        for combination in itertools.product(*levels):
            mine = asked
            for name, part in zip(names, combination, strict=True):
                mine = mine.narrowed(place_of(self.schema, name), part)
            if every or mine.possible:
                yield {name: part.name for name, part in zip(names, combination, strict=True)}, mine

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

    def _remarks(
        self, asked: Question, *besides: int, meant: Iterable[tuple[int, npt.ArrayLike]] = ()
    ) -> tuple[str, ...]:
        """What must be known of the answer to a question about some columns more, or about each of some levels."""
        names, answers = list(self.schema), self._answers
        pairs = answers.not_measured(asked.even, besides)
        every = [(place, np.asarray(of)) for place, of in (*(one for _, p in asked.even for one in p.items()), *meant)]
        pooled = (
            counted_as_one(names[one], self.schema[names[one]], answers.group_of(one), [names[j] for j in others])
            for one, others in answers.pooled(every, besides).items()
        )
        about = sorted({*(place for _, product in asked.even for place in product), *besides})
        large = (remark for place in about for remark in self._large_shares.get(names[place], ()))
        return (*asked.remarks, *not_counted_together((names[one], names[two]) for one, two in pairs), *pooled, *large)


def one_by_one(answer: Answer) -> Answering:
    """Answers about parts of a column, each a question by itself."""
    return lambda asked, place, parts: (answer(asked.narrowed(place, part)) for part in parts)


def _remarked(found: Estimate) -> Estimate:
    """A count or a share, with a remark if it may be nothing."""
    return replace(found, remarks=of_small(found.low, found.high))


def _of_small(found: Iterable[Any], asked: Question) -> Iterable[str]:
    """The remarks on counts and shares, unless others on the question say already why intervals are wide."""
    each = (one.remarks for one in found if isinstance(one, Estimate) and not asked.remarks)
    return dict.fromkeys(remark for remarks in each for remark in remarks)


def _nothing(low: float, high: float, confidence: float) -> Estimate:
    """The answer about records of which the release shows none."""
    return Estimate(math.nan, low, high, math.inf, confidence=checks.confidence(confidence))


def _reached(table: Floats, q: float) -> tuple[npt.NDArray[np.int64], Floats]:
    """For each draw the cell of a line in which a share `q` of the records is reached, and how far into it."""
    upto = np.cumsum(table, axis=1)
    mark = q * upto[:, -1]
    cell = np.minimum((upto < mark[:, None]).sum(axis=1), table.shape[1] - 1)
    here = table[np.arange(len(cell)), cell]
    before = upto[np.arange(len(cell)), cell] - here
    return cell, np.clip(np.divide(mark - before, here, out=np.full(len(cell), 0.5), where=here > 0), 0.0, 1.0)


def require_few(sizes: Iterable[int], hint: str) -> None:
    """Refuse more groups than anybody reads, of columns with so many levels each; the hint says how to ask for fewer.

    >>> require_few([72, 32], "fewer columns")
    Traceback (most recent call last):
        ...
    scumble.errors.ParameterError: There would be more than 2,000 groups, 72 × 32. Hint: fewer columns.
    """
    each = [*sizes]
    most = MOST_WORDS if len(each) == 1 else MOST_GROUPS
    if math.prod(each) > most:
        raise ParameterError(
            f"There would be more than {most:,} groups, {' × '.join(f'{n:,}' for n in each)}. Hint: {hint}."
        )


def _crossed(found: Answered, margins: bool, normalize: str | bool) -> DataFrame:
    """Combinations of two columns' levels, row by row, as tables side by side."""
    first, second = found.rows[0][0]
    rows, columns = (list(dict.fromkeys(labels[name] for labels, _ in found.rows)) for name in (first, second))
    cells = [cell for _, cell in found.rows]
    both = np.array([[cell.value, *np.asarray(cell.draws)] for cell in cells]).reshape(len(rows), len(columns), -1)
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
    one, most = cells[0], 1.0 if normalize else math.inf
    told = [
        around(each[0], each[1:], one.confidence, (), one.identity, 0.0, most)
        for each in both[: len(rows), : len(columns)].reshape(-1, both.shape[2])
    ]
    crossed = _table(first, rows, second, columns, told if normalize else [*map(outward, told)])
    if found.remarks:
        crossed.attrs["remarks"] = [*found.remarks]
    return crossed


def _table(
    first: str, rows: Sequence[object], second: str, columns: Sequence[object], found: Sequence[Estimate]
) -> DataFrame:
    """Estimates, row by row, as tables side by side."""
    pandas, answers = _rows.library("pandas"), [*found[0].to_dict()]
    table = np.array([[*each.to_dict().values()] for each in found]).reshape(len(rows), len(columns), len(answers))
    crossed: DataFrame = pandas.DataFrame(
        np.concatenate(np.moveaxis(table, 2, 0), axis=1),
        index=pandas.Index(rows, name=first),
        columns=pandas.MultiIndex.from_product([answers, columns], names=[None, second]),
    )
    return crossed


def frame(rows: Iterable[tuple[Mapping[str, object], Any]], remarks: tuple[str, ...]) -> DataFrame:
    """A row for each answer, next to the levels of columns that it is of: a column keeps its name, whatever an answer
    is called. What must be known of them stands in its ``attrs``."""
    found = []
    for labels, answer in rows:
        answers = answer.to_dict() if isinstance(answer, Estimate) else answer
        found.append({**labels, **dict(zip(free(answers, labels), answers.values(), strict=True))})
    made: DataFrame = _rows.library("pandas").DataFrame(found)
    if remarks:
        made.attrs["remarks"] = list(remarks)
    return made
