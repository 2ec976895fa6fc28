"""A column of numbers between two bounds."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.machine.later import pa
from scumble.schema import line
from scumble.schema.column import (
    BLANK,
    MISSING,
    MOST_LEVELS,
    ONE_VALUE,
    OUTSIDE,
    UNREADABLE,
    Column,
    Part,
    choice,
    count_of_cells,
    flag,
)
from scumble.schema.cuts import Cuts
from scumble.schema.edges import equal_cells, real_edges, require_rising, round_edges, whole_edges
from scumble.schema.kinds import shown
from scumble.schema.line import Span, Spans
from scumble.schema.numerals import number_written, values_of
from scumble.schema.spelling import numbers
from scumble.tables import cells as reading

MOST_WHOLE = 2**53 - 1
"""Whole numbers beyond are no longer all float64."""
MOST, LEAST = 1e300, 1e-200
"""Bounds of bounds; the latter on a logarithmic scale."""
MOST_PLAIN = 1e15
"""From here on numbers are written with a power of ten (:func:`scumble.errors.plain_number`)."""
ROUNDING = 1e-15
"""Of the larger bound: a number that is nearer to an edge is meant to be the edge."""

_OTHER_UNIT = "measure in another unit, so that the numbers are nearer to 1."


@dataclass(frozen=True, repr=False)
class Number(Column):
    """Numbers between public bounds, counted in cells.

    The bounds, like all of a schema, are public: what is known in advance (an age is at most 120), never the smallest
    and the largest number of the table. Cells are as fine as single numbers can be told apart later; how many are
    worth their noise in cross-tables is for the plan to choose.

    Each cell of the table is read for itself: integers of any size, floats, decimals, booleans (0 and 1) and text that
    says a number ("12", " 1.5e3 ", "true") become the nearest float64. A cell that is missing, no number or not finite
    has no value: it is counted as missing if ``missing=True``, and otherwise its record is refused or dropped.

    Parameters
    ----------
    low, high : float
        The bounds, both included. May be left out if there are `edges`.
    whole : bool
        Whole numbers: fractions are cut off (41.9 counts as 41), and synthetic ones are whole.
    scale : {"linear", "log"}
        "log" makes cells of equal ratio, for incomes and other long tails. Zero, if it is the lower bound, has a cell
        of its own; positive numbers below a millionth of `high` share one (if they are not whole). Numbers below zero
        have no logarithm: give `edges` for those.
    cells : int, {"round", "equal"} or None
        How many cells. None, or "round", is one for each of up to 128 whole numbers, and else about 64 whose edges are
        round numbers; "equal" makes 64 equal ones of these.
    edges : list of float or None
        The cells themselves, from `low` to `high`: each holds its lower edge, the last one also its upper.
    outside : {"clip", "drop"}
        What becomes of numbers outside the bounds: counted as the nearest bound, or their record left out.
    zeros : bool or None
        Whether zero, if it lies within the bounds, has a cell of its own beside the others. Of gains, fines and rain
        most are exactly 0, and evenly spread over a cell they would not be. By default it has if it is the lower bound
        and nobody says how many `cells` there are; not beside `edges`, and on a logarithmic scale always.
    missing : bool
        Whether cells without a number get a level of their own.

    Examples
    --------
    >>> age = Number(17, 90, whole=True)
    >>> age.size, age.levels[:2], age.encode([17, 41.9, "42", 120]).codes.tolist()
    (74, ('17', '18'), [0, 24, 25, 73])
    >>> Number(0, 99_999, scale="log", cells=4).levels
    ('0', '(0, 0.099999)', '[0.099999, 99.999)', '[99.999, 99999]')
    >>> Number(0, 100, cells=2).levels, Number(0, 100, cells=2, zeros=True).levels
    (('[0, 50)', '[50, 100]'), ('0', '(0, 50)', '[50, 100]'))
    >>> Number(-50, 100, cells=2, zeros=True).levels
    ('[-50, 0)', '0', '(0, 25)', '[25, 100]')
    """

    kind: ClassVar[str] = "number"
    role: ClassVar[str] = "number"
    ordered: ClassVar[bool] = True

    low: float | None = None
    high: float | None = None
    _: KW_ONLY
    whole: bool = False
    scale: str = "linear"
    cells: int | str | None = None
    edges: tuple[float, ...] | None = None
    outside: str = "clip"
    zeros: bool | None = None
    missing: bool = False
    cuts: Cuts = field(init=False, repr=False, compare=False)
    spread: Cuts = field(init=False, repr=False, compare=False)
    """The same cells on the line of floats, where whole numbers have fractions between them."""

    def __post_init__(self) -> None:
        put = self.__dict__.__setitem__  # frozen for everybody else
        put("whole", flag("whole", self.whole))
        put("scale", choice("scale", self.scale, ("linear", "log")))
        put("outside", choice("outside", self.outside, ("clip", "drop")))
        put("zeros", None if self.zeros is None else flag("zeros", self.zeros))
        put("missing", flag("missing", self.missing))
        put("cells", count_of_cells(self.cells))
        if self.edges is not None:
            put("edges", self._checked_edges(self.edges))
            for name, bound in (("low", self.edges[0]), ("high", self.edges[-1])):
                given = getattr(self, name)
                if given is not None and self._bound(name, given) != bound:
                    raise parameter(name, f"the outermost of `edges`, {_written(bound)!r}", given, "leave it out.")
                put(name, bound)
        for name in ("low", "high"):
            put(name, self._bound(name, getattr(self, name)))
        assert self.low is not None and self.high is not None
        if not self.low < self.high:
            must = f"above `low`, {shown(self.low, None, 12)}"
            hint = "exchange the two." if self.high < self.low else ONE_VALUE
            raise parameter("high", must, _written(self.high), hint)
        if self.scale == "log" and not (self.low == 0 or self.low >= LEAST):
            raise parameter("low", "zero or above on a logarithmic scale", _written(self.low), "give `edges` instead.")
        if self.scale == "log" and self.high < LEAST:
            raise parameter("high", f"at least {LEAST} on a logarithmic scale", self.high, _OTHER_UNIT)
        if self.cells == "equal":
            put("cells", equal_cells(self._wholes))
        put("zeros", (self._usual_zeros if self.zeros is None else self.zeros) if self._may_part else None)
        put("cuts", self._cut(self.low, self.high))
        edges = line.place(self.cuts.values(np.array(self.cuts.edges))).tolist()
        put("spread", Cuts(tuple(edges), real=True, log=self.cuts.log))

    def _bound(self, name: str, given: object) -> float:
        if given is None or (isinstance(given, str) and given == BLANK):
            what = "smallest" if name == "low" else "largest"
            raise ParameterError(
                f"`{name}` is still blank. Hint: put there the {what} number that the column can hold, known "
                "beforehand: never one looked up in the table."
            )
        found = number_written(given)
        if found is None or not abs(found) <= MOST:
            if found is None or not (math.isfinite(found) or isinstance(given, int)):
                hint = "write a number that is known beforehand, without quotes."
                raise parameter(name, "a finite number", given if found is None else float(found), hint)
            got = float(found) if math.isfinite(found) else "one of more than 300 digits"
            raise parameter(name, "between -1e300 and 1e300", got, _OTHER_UNIT)
        if not self.whole:
            return float(found)
        if found != int(found) or abs(found) > MOST_WHOLE:
            hint = "round it; or, without whole = true (whole=True), numbers of this column may have fractions."
            raise parameter(name, "a whole number below 2^53", given, hint)
        return int(found)

    def _checked_edges(self, given: object) -> tuple[float, ...]:
        if self.cells is not None:
            raise ParameterError("`cells` and `edges` exclude each other. Hint: leave out `cells`.")
        if not isinstance(given, list | tuple | np.ndarray | range) or not 2 <= len(given) < MOST_LEVELS:
            raise parameter("edges", f"a list of 2 to {MOST_LEVELS - 1} numbers", given, "edges=[0, 18, 65, 120].")
        found = tuple(self._bound(f"edges[{place}]", one) for place, one in enumerate(given))
        require_rising(found)
        return found

    def _cut(self, low: float, high: float) -> Cuts:
        log = self.scale == "log"
        if self.whole:
            first, last = int(low), int(high)
            if self.edges is not None:
                edges = [int(one) for one in self.edges[:-1]]
                edges += [1] if log and low == 0 and 1 not in edges and last >= 1 else []
                return Cuts((*sorted(edges), last + 1), real=False, log=log)
            if self._rounds:
                found = [int(edge) for edge in round_edges(first, last + 1, whole=True, log=log)]
            else:
                found = whole_edges(first, last, self._count or last - first + 1, log=log)
            return Cuts(tuple(sorted({*found, *self._around_zero})), real=False, log=log)
        if self._count is None:
            edges_ = self.edges or round_edges(low, high, whole=False, log=log)
        else:
            edges_ = real_edges(low, high, self._count, log=log)
        places = [line.place_of(edge) for edge in edges_[:-1]]
        if log and low == 0 and self._count != 1:
            places.append(1)  # on this scale zero always has a cell of its own
        return Cuts(tuple(sorted({*places, *self._around_zero, line.place_of(high) + 1})), real=True, log=log)

    @property
    def _may_part(self) -> bool:
        """Whether it is for `zeros` to say if zero has a cell of its own."""
        assert self.low is not None and self.high is not None
        if not self.low <= 0 <= self.high or self.scale == "log" or self.edges is not None:
            return False
        wholes = self._wholes
        return wholes is None or (self._count < wholes if self._count else self._rounds)

    @property
    def _count(self) -> int | None:
        """How many cells somebody asked for."""
        assert not isinstance(self.cells, str)
        return self.cells

    @property
    def _rounds(self) -> bool:
        """Whether its cells have round edges, and not each whole number one of its own."""
        return self.cells is None and self.edges is None and equal_cells(self._wholes) is not None

    @property
    def _wholes(self) -> int | None:
        """How many whole numbers it can hold, if they are whole."""
        assert self.low is not None and self.high is not None
        return int(self.high) - int(self.low) + 1 if self.whole else None

    @property
    def _usual_zeros(self) -> bool:
        """What `zeros` is where nobody says it: columns that merely cross zero have no more of it than of others."""
        return self.low == 0 and self.cells is None

    @property
    def zero_apart(self) -> bool:
        """Whether zero has a cell of its own beside cells that are all alike."""
        return bool(self.zeros)

    @property
    def zero_level(self) -> int | None:
        """Which level is zero's own, if it has one beside cells that are all alike."""
        return self.cuts.edges.index(0) if self.zero_apart else None

    @property
    def alike(self) -> tuple[int, ...]:
        """Where the cells that are all alike begin, and where the last one ends, by level: zero is part of one.

        >>> Number(0, 100, cells=2, zeros=True).alike, Number(-50, 100, cells=2, zeros=True).alike
        ((0, 2, 3), (0, 3, 4))
        """
        if not self.zero_apart:
            return tuple(range(self.cuts.size + 1))
        plain = {*replace(self, zeros=False).cuts.edges}
        return tuple(level for level, edge in enumerate(self.cuts.edges) if edge in plain)

    @property
    def _around_zero(self) -> tuple[int, ...]:
        """Where zero's cell begins and ends, if it has one of its own: the next number, the next place on the line."""
        return (0, 1) if self.zero_apart else ()

    # ---- levels ----

    @property
    def line(self) -> Span:
        return self.cuts.line

    @property
    def size(self) -> int:
        return self.cuts.size + self.missing

    @property
    def levels(self) -> tuple[str, ...]:
        edges = self.cuts.edges
        name = self._real_name if self.cuts.real else _whole_name
        names = [name(first, end, ".12g") for first, end in pairwise(edges)]
        if len({*names}) < len(names):  # cells too narrow for twelve digits
            names = [name(first, end, "") for first, end in pairwise(edges)]
        return (*names, MISSING) if self.missing else tuple(names)

    def _real_name(self, first: int, end: int, digits: str) -> str:
        if end == first + 1:
            return _digits(line.value(np.array([first]))[0], digits)
        last = end == self.cuts.edges[-1]
        low, high = line.value(np.array([first, end - last]))
        opened = "(0" if first == 1 else f"[{_digits(low, digits)}"
        return f"{opened}, {_digits(high, digits)}{']' if last else ')'}"

    @property
    def representative(self) -> np.ndarray:
        return np.append(self.cuts.means, np.nan) if self.missing else self.cuts.means

    def words(self) -> str:
        kind = " on a logarithmic scale" if self.scale == "log" else ""
        rest = "; outside dropped" * (self.outside == "drop") + "; missing" * self.missing
        assert self.low is not None and self.high is not None
        return f"{shown(self.low, None, 12)} to {shown(self.high, None, 12)}{kind}{rest}"

    # ---- cells to levels and back ----

    def _codes(self, column: reading.Column, label: str) -> tuple[np.ndarray, np.ndarray]:
        values = values_of(column, label)
        places = line.place(values)
        # A whole number is reached with all its fractions: nothing has to be rounded.
        codes = self.spread.find(places)
        outside = ~self.spread.holds(places)
        if self.outside == "drop":
            codes[outside] = OUTSIDE
        codes[~np.isfinite(values)] = UNREADABLE
        return codes, outside

    def refused(self, decimal: str = ".") -> str:
        return (
            f"not a number ({numbers(decimal, 'and')} are read; 12 kg and USD 12 are not, and a dash does not mean "
            "missing)"
        )

    @property
    def limits(self) -> tuple[float, float]:
        ends = np.array([self.low, self.high], np.float64)
        low, high = (self._among_cells(ends) if self.scale == "log" else ends).tolist()
        return low, high

    def _numbers(self, column: reading.Column, label: str) -> np.ndarray:
        """Themselves; on a logarithmic scale their place among the cells, straight within each."""
        values = values_of(column, label)
        values = np.where(np.isfinite(values), values, np.nan)
        values = np.floor(values) if self.whole else values
        if self.scale == "linear":
            return values
        beyond = np.sign(values - np.clip(values, self.low, self.high))
        return np.where(np.isnan(values), np.nan, self._among_cells(np.nan_to_num(values)) + beyond)

    def _among_cells(self, values: np.ndarray) -> np.ndarray:
        """No logarithm is taken of a record: those of two machines may differ in the last bit."""
        inside = np.clip(values, self.low, self.high)
        edges = self.cuts.values(np.array(self.cuts.edges))
        cell = self.spread.find(line.place(inside)).astype(np.int64)
        width = np.diff(edges)[cell]
        one_value = width < LEAST  # the cell of zero
        return cell + np.where(one_value, 0.0, (inside - edges[cell]) / np.where(one_value, 1.0, width))

    def cells_at(self, numbers: np.ndarray, gone: np.ndarray) -> pa.Array:
        if self.scale == "log":
            edges = self.cuts.values(np.array(self.cuts.edges))
            numbers = np.interp(numbers, np.arange(len(edges)), edges)
        found = np.clip(numbers, self.low, self.high)
        return self._held(np.rint(found).astype(np.int64) if self.whole else found, gone)

    def _draw(self, codes: np.ndarray, gone: np.ndarray, generator: np.random.Generator) -> pa.Array:
        return self._held(self.cuts.at(codes, generator.random(len(codes))), gone)

    def _held(self, values: np.ndarray, gone: np.ndarray) -> pa.Array:
        return pa.array(values, pa.int64() if self.whole else pa.float64(), mask=gone)

    def places(self, values: pa.ChunkedArray) -> np.ndarray:
        found = np.nan_to_num(values.to_numpy().astype(np.float64))
        return line.place(found) if self.cuts.real else found.astype(np.int64)

    # ---- what conditions ask for ----

    def span(self, literal: object) -> Span:
        found = None if isinstance(literal, bool | np.bool_) else number_written(literal)
        if found is None or math.isnan(found):
            meant = reading.number_in(literal.encode()) if isinstance(literal, str) else math.nan
            here = f", here {meant:.15g}" if math.isfinite(meant) else ""
            quotes = ", without quotes" if isinstance(literal, str) else ""
            raise ParameterError(f"it holds numbers; compare it with a number{quotes}{here}")
        if self.cuts.real:
            number = self._forgiven(min(max(float(found), -1e308), 1e308))  # infinite: beyond all bounds
            at = line.place_of(number)
            return self._edge_near(number, at), at + 1
        # Cut to beyond the bounds, so far that both of its sides are; and between two whole numbers there is none.
        low, high = self.line
        found = min(max(found, low - 2), high + 1)
        return math.ceil(found), math.floor(found) + 1

    @property
    def _rounding(self) -> float:
        """How far from an edge or a bound a number may be that is meant to be it; none if somebody gave the edges."""
        assert self.low is not None and self.high is not None
        counted = self.scale == "linear" and self.edges is None
        return ROUNDING * max(abs(self.low), abs(self.high)) if counted else 0.0

    def _forgiven(self, number: float) -> float:
        """A number that is beyond a bound by rounding alone is the bound: 0.1 + 0.2 is 0.3."""
        assert self.low is not None and self.high is not None
        nearest = min(max(number, self.low), self.high)
        return nearest if abs(number - nearest) <= self._rounding else number

    def _edge_near(self, number: float, at: int) -> int:
        """From where on a range begins, or up to where, that is to end at a number which stands at a place.

        Twenty-two cells from 49.9 to 51 have an edge at 50.199999999999996, and who asks for less than 50.2 means that.
        """
        inner = np.array([edge for edge in self.cuts.edges[1:-1] if edge not in self._around_zero], np.int64)
        off = np.abs(self.cuts.values(inner) - number)
        return int(inner[off.argmin()]) if len(inner) and off.min() <= self._rounding else at

    def equals(self, literal: object) -> Span:
        first, end = self.span(literal)
        first = end - 1 if self.cuts.real else first
        bound = self.outside == "clip" and first in (self.line[0], self.line[1] - 1)  # what lay beyond is there
        if self.cuts.real and not bound and not (first in self.cuts.edges and end in self.cuts.edges):
            cell = int(self.cuts.find(np.array([first]))[0])
            low, high = self.cuts.values(np.array(self.cuts.edges[cell : cell + 2]))
            above = f"{low:.12g} <=" if abs(low) >= LEAST or low == 0 else "0 <"
            raise ParameterError(
                "it holds numbers of any fraction, and its cells cannot tell a single one: ask for a range, such as "
                f"that of its cell, {above} x < {high:.12g} (only a schema that says whole = true, whole=True, "
                "when the table is built, tells whole numbers apart)"
            )
        return first, end

    def _shares(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        return self.cuts.shares(spans)

    def touched(self, part: Part) -> Part:
        return part._replace(spans=self.cuts.touched(line.common(part.spans, (self.line,))))

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rest: dict[str, Any] = {"whole": True} if self.whole else {}
        rest |= {"scale": "log"} if self.scale == "log" else {}
        rest |= {"cells": self.cells} if self.cells is not None else {}
        rest |= {"edges": list(self.edges)} if self.edges is not None else {}
        rest |= {"outside": "drop"} if self.outside == "drop" else {}
        rest |= {"zeros": self.zeros} if self._may_part and self.zeros != self._usual_zeros else {}
        return (self.low, self.high), rest | ({"missing": True} if self.missing else {})

    def to_dict(self) -> dict[str, Any]:
        told = self._may_part and (self.low == 0 or self.zeros)  # below zero, older files say nothing
        rounds = {"cells": "round"} if self._rounds else {}
        return super().to_dict() | rounds | ({"zeros": self.zeros} if told else {})


def _whole_name(first: int, end: int, digits: str) -> str:
    return str(first) if end == first + 1 else f"{first} to {end - 1}"


def _digits(number: float, form: str) -> str:
    """An edge as a condition writes it: without a power of ten while people do.

    >>> [_digits(edge, ".12g") for edge in (1e11, 1e12, 2.5e14, 1e15, 1.5e-7)]
    ['100000000000', '1000000000000', '250000000000000', '1e+15', '1.5e-07']
    """
    text = f"{number:{form}}"
    return f"{float(text):.0f}" if "e+" in text and abs(number) < MOST_PLAIN else text


def _written(number: float) -> float | int:
    """A bound as somebody would write it: 1901 and not 1901.0."""
    return int(number) if number == int(number) and abs(number) <= MOST_WHOLE else number
