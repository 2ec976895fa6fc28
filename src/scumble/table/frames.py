"""Frames of answers: a row for each level of a column, or for each combination of several columns' levels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble.checks import keywords
from scumble.columns.containers import free
from scumble.columns.date import Date
from scumble.columns.schema import Schema
from scumble.errors import ParameterError, parameter
from scumble.table.estimate import Estimate
from scumble.table.questions import Part, Question, Where, parts, place_of
from scumble.table.rows import library

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_GROUPS = 2_000
BINS = 20
"""Parts of each line, where several columns would have too many groups by their cells."""


class Framing:
    """Histograms, cross-tables, and answers by groups."""

    if TYPE_CHECKING:

        @property
        def schema(self) -> Schema: ...

        def _question(self, where: Where) -> Question: ...

        def _count(self, asked: Question, confidence: float) -> Estimate: ...

        def _remarks(
            self, asked: Question, *besides: int, parts: Iterable[tuple[int, Part]] = ()
        ) -> tuple[str, ...]: ...

        def _tell_heaps(self, places: Iterable[int]) -> None: ...

    @keywords
    def histogram(
        self, column: str, bins: int | Iterable[Any] | None = None, where: Where = None, *, confidence: float = 0.95
    ) -> DataFrame:
        """How many records each level of a column has.

        Parameters
        ----------
        column : str
            The column.
        bins : int or list, optional
            Of numbers and dates: how many bins, of as equal numbers of cells as can be (each cell is one if there are
            fewer); or the edges of the bins, such as ``[0, 18, 65]`` or ``["2020-01-01", "2022-07"]``. By default each
            cell is one, up to 400; of more, neighbours share one.
        where, confidence : str, dict, float or None
            As those of `count`.

        Returns
        -------
        DataFrame
            A row for each bin, with `value`, `low`, `high` and `standard_error`; missing cells, where there can be any,
            are the last, ``(missing)``. What lies beyond given edges is in none.
        """
        place, asked = place_of(self.schema, column), self._question(where)
        self._tell_heaps([place])
        if isinstance(bins, int | np.integer) and not self.schema[column].ordered:
            raise ParameterError(
                f"`bins` are for numbers and dates, and {column!r} is a {self.schema[column].kind}: each of its words "
                "is one. Hint: leave them out."
            )
        rows = []
        levels = parts(self.schema[column], column, bins)
        for part in levels:
            ends = {} if part.ends is None else {"from": part.ends[0], "to": part.ends[1]}
            found = self._count(asked.narrowed(place, part), confidence)
            rows.append(_row({column: part.name}, ends | found.to_dict()))
        joined = _joined(self.schema, {column: levels}) if bins is None else ()
        told = self._remarks(asked, place, parts=((place, part) for part in levels))
        return frame(rows, (*told, *joined))

    @keywords
    def crosstab(
        self,
        first: str,
        second: str | None = None,
        where: Where = None,
        *,
        bins: int | None = None,
        confidence: float = 0.95,
    ) -> DataFrame:
        """How many records have each combination of two columns' levels; of numbers and dates, of `bins` bins.

        Returns
        -------
        DataFrame
            A row for each combination, with `value`, `low`, `high` and `standard_error`; ``pivot`` makes it a table.
        """
        if second is None or first == second:
            raise parameter("second", "another column than the first", second, "histogram counts one.")
        names = [first, second]
        asked = self._question(where)
        return self._grouped_by(asked, names, lambda q: self._count(q, confidence), bins, all_levels=True)

    def _grouped_by(
        self,
        asked: Question,
        names: list[str],
        answer: Callable[[Question], Estimate],
        bins: int | None,
        *of: int,
        all_levels: bool = False,
    ) -> DataFrame:
        """A row for each combination of levels; not for those that the question itself leaves out, but for a table of
        `all_levels`, or where it leaves out all."""
        places = [place_of(self.schema, name) for name in names]
        self._tell_heaps(places)
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
        for combination in itertools.product(*levels):
            mine = asked
            for place, part in zip(places, combination, strict=True):
                mine = mine.narrowed(place, part)
            if asked.possible and not (all_levels or mine.possible):
                continue
            found = answer(mine)
            rows.append(_row(dict(_named(names, combination)), found.to_dict()))
        each = ((place, part) for place, those in zip(places, levels, strict=True) for part in those)
        return frame(rows, (*self._remarks(asked, *places, *of, parts=each), *joined))


def _joined(schema: Schema, levels: Mapping[str, Sequence[Part]]) -> Iterator[str]:
    """A remark on each column whose cells are so many that several stand together in a group, unasked."""
    for name, each in levels.items():
        column = schema[name]
        held = [int(np.count_nonzero(part.weights)) for part in each]
        cells, most = sum(held) - column.missing, max(held)
        if column.ordered and most > 1:
            unit = column.cells if isinstance(column, Date) and isinstance(column.cells, str) else None
            apart = f" In SQL, GROUP BY date_trunc('{unit}', {name}) tells each apart." if unit else ""
            asked = " that are asked for" if cells < column.size - column.missing else ""
            told = f"{name!r} has {cells:,} cells{asked}, too many for a group each: {most} stand together in one."
            yield told + apart


def require_few(sizes: Iterable[int], hint: str, *, together: bool = False) -> None:
    """Refuse more groups than anybody reads, of columns with so many levels each; the hint says how to ask for fewer.

    `together`: levels that have neighbours stand together already.

    >>> require_few([72, 32], "fewer columns")
    Traceback (most recent call last):
        ...
    scumble.errors.ParameterError: There would be more than 2,000 groups, 72 × 32. Hint: fewer columns.
    """
    each = [*sizes]
    if math.prod(each) > MOST_GROUPS:
        told = " × ".join(f"{size:,}" for size in each)
        runs = ", though neighbouring cells stand together" if together else ""
        raise ParameterError(f"There would be more than {MOST_GROUPS:,} groups, {told}{runs}. Hint: {hint}.")


def _named(names: list[str], combination: tuple[Part, ...]) -> Iterator[tuple[str, Any]]:
    for name, part in zip(names, combination, strict=True):
        yield name, part.name


def _row(labels: dict[str, Any], answers: dict[str, float]) -> dict[str, Any]:
    """Levels of columns, and the answers beside them: a column keeps its name, whatever an answer is called."""
    return labels | dict(zip(free(answers, labels), answers.values(), strict=True))


def frame(rows: list[dict[str, Any]], remarks: tuple[str, ...]) -> DataFrame:
    """The rows; what must be known of them stands in its ``attrs``."""
    found: DataFrame = library("pandas").DataFrame(rows)
    if remarks:
        found.attrs["remarks"] = list(remarks)
    return found
