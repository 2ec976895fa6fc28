"""What can be asked of a table: conditions by position, and the parts that a column falls into.

A question is a list of products of weights with coefficients, as the model takes it (`table.mixture`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from scumble import checks
from scumble.columns.column import Column
from scumble.columns.conditions import Condition, bounds, condition, heaped
from scumble.columns.date import Date
from scumble.columns.grammar import Atom, Junction, Tree
from scumble.columns.line import Span, common
from scumble.columns.number import Number
from scumble.columns.schema import Derived, Schema
from scumble.errors import ParameterError, parameter, warn
from scumble.table import mixture
from scumble.table.remarks import cut, ends_of_run, name_of_run

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Where = str | Mapping[str, object] | Tree | Condition | None
"""Which records are meant; see :func:`scumble.columns.conditions.condition`."""
BINS = "a number of bins, or the rising edges of a column of numbers or dates"
LEVELS = 400
"""Parts of a line, where nobody says how many: each cell, up to so many. A year has fewer days."""


@dataclass(frozen=True)
class Part:
    """Some levels of a column that stand together in an answer."""

    name: object
    weights: Floats
    ends: tuple[float, float] | None = None
    """From where to where, of a number."""
    least: Floats | None = None
    """What surely is meant of each level, if that is not what `weights` tell."""
    most: Floats | None = None
    """What may be."""

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """What surely is meant of each level, and what may be."""
        least = np.floor(self.weights) if self.least is None else self.least
        return least, np.ceil(self.weights) if self.most is None else self.most

    @property
    def cuts(self) -> bool:
        """Whether it cuts a cell."""
        return not np.array_equal(*self.bounds)


@dataclass(frozen=True)
class Question:
    """Which records are meant, by positions of columns; and if cells are cut, what is known of it all the same."""

    even: mixture.Condition
    """With values lying evenly in the cells that are cut."""
    sure: mixture.Condition
    """Who meets it wherever values lie in their cells."""
    maybe: mixture.Condition
    """Who meets it if values lie as may be."""
    remarks: tuple[str, ...] = ()
    """What must be known of it."""
    derived: Mapping[int, Derived] = field(default_factory=dict)
    """Columns that follow from others: products name those others alone."""
    spans: Mapping[int, Span] = field(default_factory=dict)
    """Of columns whose cells are cut: from where to before where on their lines records are meant."""

    @property
    def cuts(self) -> bool:
        """Whether it cuts a cell."""
        return self.sure is not self.even

    def at(self, place: int, column: Number | Date, cell: Integers, share: Floats) -> npt.NDArray[Any]:
        """The value below which a share of the records that are meant in a cell lies."""
        if place not in self.spans:
            return column.cuts.at(cell, share)
        span, line = self.spans[place], column.line[0]
        low, high = (np.clip(column.cuts.shares(((line, end),))[0].sum() - cell, 0.0, 1.0) for end in span)
        found = column.cuts.at(cell, low + share * (high - low))
        return np.asarray(np.clip(found, *column.cuts.values(np.array([span[0], span[1] - 1]))))

    def ends(self, place: int, column: Column) -> tuple[float, float]:
        """The least and the largest value of a column that may be meant."""
        _, lowest, highest = spread(column, self.spans.get(place))
        meant = self.meant(place, len(lowest))
        if not (meant & np.isfinite(lowest)).any():
            meant[:] = True
        return float(np.nanmin(lowest[meant])), float(np.nanmax(highest[meant]))

    def meant(self, column: int, size: int) -> npt.NDArray[np.bool_]:
        """Which of so many levels of a column may be meant."""
        if column in self.derived:
            root, levels, _ = self.derived[column]
            return np.bincount(levels[self.meant(root, len(levels))], minlength=size) > 0
        found = np.zeros(size, bool)
        for _, product in self.maybe:
            found |= np.asarray(product.get(column, np.ones(size))) > 0
        return found

    @property
    def possible(self) -> bool:
        """Whether some record may meet it."""
        return any(all(np.any(np.asarray(weights) > 0) for weights in product.values()) for _, product in self.maybe)

    def narrowed(self, column: int, part: Part) -> Question:
        """The same question, of a part of one more column alone."""
        weights = [part.weights, *part.bounds]
        if column in self.derived:
            weights = [one[self.derived[column].levels] for one in weights]
            column = self.derived[column].root
        even = narrowed(self.even, column, weights[0])
        if not (self.cuts or part.cuts):
            return replace(self, even=even, sure=even, maybe=even)
        sure, maybe = narrowed(self.sure, column, weights[1]), narrowed(self.maybe, column, weights[2])
        return replace(self, even=even, sure=sure, maybe=maybe)


def question(schema: Schema, where: Where, heaps: Callable[[str], tuple[float, float]] | None = None) -> Question:
    """A condition by positions of columns. A question beyond a column's bounds warns and is remarked on, or, if the
    records there were left out, refused. `heaps` tells which share of the cells at a column's bounds lies at the bound
    itself."""
    found = condition(schema, where)
    if not found.possible and any(remark.left_out for remark in found.remarks):
        raise ParameterError(f"{' '.join(map(str, found.remarks))} Hint: ask within the bounds.")
    told = tuple(remark.text for remark in found.remarks)
    for text in told:
        warn(text)
    even = _placed(heaped(found, {name: heaps(name) for name in found.partly}) if heaps and found.partly else found)
    if found.exact and found.beyond is None:
        return Question(even, even, even, told, schema.derived)
    sure, maybe = map(_placed, bounds(found))
    return Question(even, sure, maybe, (*told, *cut(found)), schema.derived, dict(_spans(found)))


def _spans(found: Condition) -> Iterator[tuple[int, Span]]:
    """From where to before where a condition asks, of each column whose cells it cuts."""
    for name in found.partly:
        column = found.schema[name]
        each = [common(part[name].spans, (column.line,)) if name in part else (column.line,) for part in found.parts]
        if ends := [end for spans in each for span in spans for end in span]:
            yield place_of(found.schema, name), (min(ends), max(ends))


def _placed(found: Condition) -> mixture.Condition:
    places = {name: j for j, name in enumerate(found.schema)}
    placed = [(1.0, {places[name]: weights for name, weights in term.items()}) for term in found.terms]
    return mixture.folded(placed, found.schema.derived)


def narrowed(asked: mixture.Condition, column: int, weights: Floats) -> mixture.Condition:
    """The same question, with weights on the levels of one more column."""
    return [
        (c, {**product, column: np.asarray(product[column], float) * weights if column in product else weights})
        for c, product in asked
    ]


def place_of(schema: Schema, name: object) -> int:
    """Where a column stands."""
    return schema.names.index(schema.known(name))


def names_of(by: str | Iterable[str], argument: str = "by") -> list[str]:
    """One name or several, as an argument gives them."""
    names = [by] if isinstance(by, str) else list(by) if isinstance(by, Iterable) else []
    if not names:
        raise parameter(argument, "a column, or several", by)
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ParameterError(f"--{argument} ({argument}=) names {name!r} twice. Hint: name each column once.")
    return names


def parts(
    column: Column,
    name: str,
    bins: int | Iterable[object] | None = None,
    most: int = LEVELS,
    meant: npt.NDArray[np.bool_] | None = None,
) -> list[Part]:
    """A column in parts: its words; its cells, or if they are more than `bins`, so many runs of them; or what lies
    between given edges. Without bins there are at most `most`, equally long but for the last, from the first cell that
    is `meant` to the last. Zero, where it has a cell of its own, is part of the run that it lies in."""
    if bins is not None and not isinstance(bins, int | np.integer):
        return [*_between(column, name, bins), *_gone(column)]
    line = column.size - column.missing
    alike = column.alike if isinstance(column, Number) else range(line + 1)
    first, end = 0, line
    if meant is not None and column.ordered and bins is None and meant[:line].any():
        first, end = int(meant[:line].argmax()), line - int(meant[:line][::-1].argmax())
    if not column.ordered or (bins is None and end - first <= most):
        cuts = [*range(first, end + 1)]
    elif bins is None:
        edges = [first, *(cut for cut in alike if first < cut < end), end]
        cuts = [*edges[: -1 : -(-(len(edges) - 1) // most)], end]
    else:
        cells = len(alike) - 1
        runs = min(checks.whole("bins", bins), cells)
        cuts = [alike[-(-cells * run // runs)] for run in range(runs + 1)]
    found = []
    for first, end in pairwise(cuts):
        weights = np.zeros(column.size)
        weights[first:end] = 1.0
        found.append(Part(name_of_run(column, first, end), weights, ends_of_run(column, first, end)))
    return [*found, *_gone(column)]


def _gone(column: Column) -> list[Part]:
    """The missing cells, if there can be any."""
    return [Part(column.levels[-1], mixture.at_level(-1, column.size))] if column.missing else []


def with_values(column: Column, name: str, what: str) -> Column:
    """A column whose levels have numbers; `what` is asked of them."""
    if column.kind not in ("number", "boolean"):
        dated = column.kind == "date" and what == "mean"
        hint = f"`quantile({name!r}, 0.5)` is the middle one, in SQL its median" if dated else "ask for counts"
        raise ParameterError(f"Column {name!r} is a {column.kind} and has no {what}. Hint: {hint}.")
    return column


def spread(column: Column, span: Span | None = None) -> tuple[Floats, Floats, Floats]:
    """The mean, the least and the largest of the values that each level of a column stands for, NaN where there is
    none; if a span of its line is given, of those in it. In a part of a cell values lie as in the whole."""
    middle = np.asarray(column.representative, float)
    if not isinstance(column, Number):
        return middle, middle, middle
    low, high = (np.append(side, [np.nan] * column.missing) for side in column.cuts.extremes)
    if span is None:
        return middle, low, high
    least, most = (np.clip(side, *column.cuts.values(np.array([span[0], span[1] - 1]))) for side in (low, high))
    part = np.divide(most - least, high - low, out=np.zeros(len(low)), where=high > low)
    return least + part * (middle - low), least, most


def with_order(column: Column, name: str) -> Number | Date:
    """A column that has quantiles."""
    if not column.ordered:
        raise ParameterError(f"Column {name!r} is a {column.kind} and has no quantiles. Hint: ask for counts.")
    assert isinstance(column, Number | Date)
    return column


def _between(column: Column, name: str, given: object) -> list[Part]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise parameter("bins", BINS, given, "leave it out, and each cell is one.")
    edges = list(given)
    try:
        starts = [column.span(edge)[0] for edge in edges] if column.ordered else []
    except ParameterError as problem:
        raise ParameterError(f"`bins` must be {BINS}. Of {name!r}, {problem}.") from None
    if len(starts) < 2 or any(a >= b for a, b in pairwise(starts)):
        raise parameter("bins", BINS, edges)
    return list(_ranges(Schema({name: column}), name, edges))


def _ranges(schema: Schema, name: str, edges: list[Any]) -> Iterator[Part]:
    column = schema[name]
    for number, (low, high) in enumerate(pairwise(edges)):
        last = number == len(edges) - 2 and column.span(high)[1] >= column.line[1]
        upto = Atom(name, "<=" if last else "<", (high,))
        asked = condition(schema, Junction(True, (Atom(name, ">=", (low,)), upto)))
        for remark in asked.remarks:
            warn(remark.text)
        even, least, most = (_of_levels(found, name) for found in (asked, *bounds(asked)))
        if isinstance(column, Date):
            days = column.named(column.span(low)[0], column.span(high)[last])
            yield Part(days, even, None, least, most)
        else:
            yield Part(f"[{low:.12g}, {high:.12g}{']' if last else ')'}", even, (float(low), float(high)), least, most)


def _of_levels(found: Condition, name: str) -> Floats:
    """The weight of each level of one column in a condition on it alone."""
    return sum((np.asarray(term[name], float) for term in found.terms), np.zeros(found.schema[name].size))
