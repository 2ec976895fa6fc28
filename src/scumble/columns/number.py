"""A column of numbers between two bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from scumble.columns import cells as reading
from scumble.columns import column as base
from scumble.columns import line
from scumble.columns.column import Arguments, Coded, Ordered
from scumble.columns.cuts import Cuts, Positions, equal_cells, real_edges, require_rising, round_edges, whole_edges
from scumble.columns.hashing import text_of
from scumble.columns.kinds import NUMBERS_READ, shown
from scumble.columns.line import Span
from scumble.errors import ParameterError, parameter
from scumble.files.lazy_modules import pa, pt

MOST_WHOLE = 2**53 - 1
"""Beyond, not every whole number is a float64."""
MOST, LEAST = 1e300, 1e-200
"""The largest bound, and the smallest positive one on a logarithmic scale."""
MOST_PLAIN = 1e15
"""From here on, numbers are written with a power of ten."""
EXCHANGED = bytes.maketrans(b",.", b".,")
ROUNDING = 1e-15
"""Relative to the larger bound: a number that is nearer than this to an edge means the edge."""


@dataclass(frozen=True, repr=False)
class Number(Ordered):
    """Numbers between public bounds, counted in cells.

    Use bounds that are known in advance (an age is at most 120), never the smallest and the largest number of the
    table. Integers, floats, decimals, booleans (0 and 1) and text such as "12", " 1.5e3 " or "true" are read. A cell
    without a finite number is counted as missing if ``missing=True``; otherwise its record is refused or dropped.

    Parameters
    ----------
    low, high : float
        The bounds, both included. May be left out if there are `edges`.
    whole : bool
        Whole numbers: fractions are cut off (41.9 counts as 41), and synthetic numbers are whole.
    scale : {"linear", "log"}
        "log" makes cells of equal ratio, for incomes and other long tails. Zero, if it is the lower bound, has a cell
        of its own; positive fractions below a millionth of `high` share one. For negative numbers, give `edges`.
    cells : int, {"round", "equal"} or None
        The number of cells. None, or "round", is one for each of up to 128 whole numbers, otherwise about 64 with
        round edges; "equal" makes these 64 equally wide.
    edges : list of float or None
        The cells themselves, from `low` to `high`: each holds its lower edge, the last one also its upper.
    outside : {"clip", "drop"}
        Numbers outside the bounds count as the nearest bound, or their record is left out.
    zeros : bool or None
        Whether zero has a cell of its own, for columns where many numbers are exactly 0. By default it has if it is
        the lower bound and neither `cells` nor `edges` are given, and always on a logarithmic scale.
    missing : bool
        Whether cells without a number have a level of their own.
    missing_words : list of str
        Words and numbers for a missing cell, such as "-" and "999".
    decimal : {".", ","}
        The decimal mark of numbers in text: with ",", "1.234,50 €" is 1234.5.
    step : float, optional
        Synthetic numbers are multiples of it: 0.01 gives them two decimals.

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
    nothing: ClassVar[float] = math.nan

    low: float | None = None
    high: float | None = None
    _: KW_ONLY
    whole: bool = False
    scale: str = "linear"
    cells: int | str | None = None
    edges: tuple[float, ...] | None = None
    missing_words: Sequence[str] = ()
    outside: str = "clip"
    zeros: bool | None = None
    missing: bool = False
    decimal: str = "."
    step: float | None = None
    cuts: Cuts = field(init=False, repr=False, compare=False)
    spread: Cuts = field(init=False, repr=False, compare=False)
    """The same cells on the line of floats, for whole numbers too."""

    def __post_init__(self) -> None:
        put = self.__dict__.__setitem__  # frozen for everybody else
        self._settle()
        put("zeros", None if self.zeros is None else base.flag("zeros", self.zeros))
        put("cells", base.count_of_cells(self.cells))
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
            hint = "swap the two." if self.high < self.low else base.ONE_VALUE
            raise parameter("high", must, _written(self.high), hint)
        if self.scale == "log" and not (self.low == 0 or self.low >= LEAST):
            raise parameter("low", "zero or above on a logarithmic scale", _written(self.low), "give `edges` instead.")
        if self.scale == "log" and self.high < LEAST:
            raise parameter("high", f"at least {LEAST} on a logarithmic scale", self.high, "use another unit.")
        if self.cells == "equal":
            put("cells", equal_cells(self._wholes))
        if self.step is not None:
            put("step", self._checked_step(self.step))
        put("zeros", (self._usual_zeros if self.zeros is None else self.zeros) if self._may_part else None)
        put("cuts", self._cut(self.low, self.high))
        edges = line.place(self.cuts.values(np.array(self.cuts.edges))).tolist()
        put("spread", Cuts(tuple(edges), real=True, log=self.cuts.log))

    def _bound(self, name: str, given: object) -> float:
        if given is None or (isinstance(given, str) and given == base.BLANK):
            hint = "write a number that is known in advance, not one looked up in the table."
            raise ParameterError(f"`{name}` is still blank. Hint: {hint}")
        found = number_written(given)
        if found is None or not abs(found) <= MOST:
            got = given if found is None else "a larger one" if isinstance(given, int) else float(found)
            raise parameter(name, "a finite number between -1e300 and 1e300", got, "write it without quotes.")
        if not self.whole:
            return float(found)
        if found != int(found) or abs(found) > MOST_WHOLE:
            raise parameter(name, "a whole number below 2^53", given, "round it, or leave out whole=True.")
        return int(found)

    def _checked_step(self, given: object) -> float:
        assert self.low is not None and self.high is not None
        found = number_written(given)
        if found is None or not 0 < found <= self.high - self.low or (self.whole and found != int(found)):
            kind = "whole " if self.whole else ""
            raise parameter("step", f"a positive {kind}number no larger than the range", given, "step=0.01 is usual.")
        return float(found)

    def _checked_edges(self, given: Sequence[object]) -> tuple[float, ...]:
        self._require_edges(given, "numbers", "[0, 18, 65, 120]")
        found = tuple(self._bound(f"edges[{place}]", one) for place, one in enumerate(given))
        require_rising(found)
        return found

    def _cut(self, low: float, high: float) -> Cuts:
        log, around_zero = self.scale == "log", {0, 1} if self.zeros else set[int]()
        count = self.cells if isinstance(self.cells, int) else None
        if self.whole:
            first, last = int(low), int(high)
            if self.edges is not None:
                edges = [int(one) for one in self.edges[:-1]]
                edges += [1] if log and low == 0 and 1 not in edges and last >= 1 else []
                return Cuts((*sorted(edges), last + 1), real=False, log=log)
            if self._rounds:
                found = [int(edge) for edge in round_edges(first, last + 1, whole=True, log=log)]
            else:
                found = whole_edges(first, last, count or last - first + 1, log=log)
            return Cuts(tuple(sorted({*found, *around_zero})), real=False, log=log)
        if count is None:
            edges_ = self.edges or round_edges(low, high, whole=False, log=log)
        else:
            edges_ = real_edges(low, high, count, log=log)
        places = [line.place_of(edge) for edge in edges_[:-1]]
        if log and low == 0 and count != 1:
            places.append(1)  # zero has a cell of its own
        return Cuts(tuple(sorted({*places, *around_zero, line.place_of(high) + 1})), real=True, log=log)

    @property
    def _may_part(self) -> bool:
        """Whether `zeros` matters."""
        assert self.low is not None and self.high is not None
        if not self.low <= 0 <= self.high or self.scale == "log" or self.edges is not None:
            return False
        wholes = self._wholes
        return wholes is None or (self.cells < wholes if isinstance(self.cells, int) else self._rounds)

    @property
    def _rounds(self) -> bool:
        """Whether its cells have round edges."""
        return self.cells is None and self.edges is None and equal_cells(self._wholes) is not None

    @property
    def _wholes(self) -> int | None:
        """How many whole numbers it can hold; None if it holds fractions."""
        assert self.low is not None and self.high is not None
        return int(self.high) - int(self.low) + 1 if self.whole else None

    @property
    def _usual_zeros(self) -> bool:
        """The default of `zeros`."""
        return self.low == 0 and self.cells is None

    @property
    def zero_level(self) -> int | None:
        """The level of zero alone, if there is one."""
        return self.cuts.edges.index(0) if self.zeros else None

    @property
    def alike(self) -> tuple[int, ...]:
        """The edges of the cells by level, if zero is counted as a part of its neighbor.

        >>> Number(0, 100, cells=2, zeros=True).alike, Number(-50, 100, cells=2, zeros=True).alike
        ((0, 2, 3), (0, 3, 4))
        """
        if not self.zeros:
            return tuple(range(self.cuts.size + 1))
        plain = {*replace(self, zeros=False).cuts.edges}
        return tuple(level for level, edge in enumerate(self.cuts.edges) if edge in plain)

    # ---- levels ----

    def _named(self) -> tuple[str, ...]:
        ends = [*pairwise(self.cuts.edges)]
        if self.cuts.real:
            names = [self._real_name(first, end, ".12g") for first, end in ends]
            if len({*names}) < len(names):  # twelve digits do not tell them apart
                names = [self._real_name(first, end, "") for first, end in ends]
        else:
            names = [str(first) if end == first + 1 else f"{first} to {end - 1}" for first, end in ends]
        return tuple(names)

    def _real_name(self, first: int, end: int, digits: str) -> str:
        if end == first + 1:
            return _digits(line.value(np.array([first]))[0], digits)
        last = end == self.cuts.edges[-1]
        low, high = line.value(np.array([first, end - last]))
        opened = "(0" if first == 1 else f"[{_digits(low, digits)}"
        return f"{opened}, {_digits(high, digits)}{']' if last else ')'}"

    def words(self) -> str:
        kind = " on a logarithmic scale" if self.scale == "log" else ""
        assert self.low is not None and self.high is not None
        return f"{shown(self.low, None, 12)} to {shown(self.high, None, 12)}{kind}{self._besides()}"

    # ---- cells to levels and back ----

    @property
    def read_as(self) -> str:
        return "word" if self.decimal == "," or self.missing_words else self.role

    def _read(self, column: reading.Column, label: str) -> np.ndarray:
        return values_of(column, label, self.decimal)

    def _codes(self, column: reading.Column, label: str) -> Coded:
        values = self._values(column, label)
        places = line.place(values)
        codes, outside = self._coded(places, self.spread, ~np.isfinite(values))
        if self.positions is None:
            return codes, outside, ()
        inside = np.clip(np.nan_to_num(values), self.low, self.high)
        return codes, outside, self.positions.find(np.floor(inside) if self.whole else inside, codes)

    @cached_property
    def positions(self) -> Positions | None:
        return Positions.of_cells(self.cuts)

    def refused(self, decimal: str = ".") -> str:
        read = NUMBERS_READ["," if self.decimal == "," else decimal]
        return f"not a number ({read} are read; 12 kg and USD 12 are not)"

    @property
    def limits(self) -> tuple[float, float]:
        ends = np.array([self.low, self.high], np.float64)
        low, high = (self._among_cells(ends) if self.scale == "log" else ends).tolist()
        return low, high

    def _numbers(self, column: reading.Column, label: str) -> np.ndarray:
        """The numbers; on a logarithmic scale, their place among the cells, linear within each."""
        values = self._values(column, label)
        values = np.where(np.isfinite(values), values, np.nan)
        values = np.floor(values) if self.whole else values
        if self.scale == "linear":
            return values
        beyond = np.sign(values - np.clip(values, self.low, self.high))
        return np.where(np.isnan(values), np.nan, self._among_cells(np.nan_to_num(values)) + beyond)

    def _among_cells(self, values: np.ndarray) -> np.ndarray:
        """Without a logarithm of the records, which may differ in the last bit between machines."""
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

    def _draw(self, codes: np.ndarray, gone: np.ndarray, share: np.ndarray) -> pa.Array:
        values = self.cuts.at(codes, share)
        return self._held(values if self.step is None else self._stepped(values, codes), gone)

    def _stepped(self, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The multiples of the step below values, or above them if those are in another cell; where neither is in the
        cell, the values themselves.

        >>> Number(0, 1, cells=3, step=0.25)._stepped(np.array([0.3, 0.34, 0.7, 0.99]), np.array([0, 1, 2, 2])).tolist()
        [0.25, 0.5, 0.75, 0.75]
        """
        assert self.step is not None
        decimals = max(0, -int(Decimal(repr(self.step)).normalize().as_tuple().exponent))
        steps, found = np.floor(values / self.step + ROUNDING), values.astype(np.float64)
        least, most = (side[codes] for side in self.cuts.extremes)
        for number in (steps + 1, steps):
            near = np.round(number * self.step, decimals)
            inside = (near >= least) & (near <= most)
            found[inside] = near[inside]
        return found.astype(values.dtype)

    def _held(self, values: np.ndarray, gone: np.ndarray) -> pa.Array:
        return pa.array(values, pa.int64() if self.whole else pa.float64(), mask=gone)

    def places(self, values: pa.ChunkedArray) -> np.ndarray:
        found = np.nan_to_num(values.to_numpy().astype(np.float64))
        return line.place(found) if self.cuts.real else found.astype(np.int64)

    # ---- what conditions ask for ----

    def span(self, literal: object) -> Span:
        found = None if isinstance(literal, bool | np.bool_) else number_written(literal)
        if found is None or math.isnan(found):
            raise ParameterError("it holds numbers; compare it with a number, without quotes")
        if self.cuts.real:
            number, first = self._first_meant(min(max(float(found), -1e308), 1e308))
            return first, line.place_of(number) + 1
        low, high = self.line
        found = min(max(found, low - 2), high + 1)  # infinite ones just beyond the bounds, on both of their sides
        return math.ceil(found), math.floor(found) + 1

    def _first_meant(self, number: float) -> tuple[float, int]:
        """The number and its place; or the bound or the inner edge that it means, from which rounding alone parts it.

        For example, 0.1 + 0.2 is the bound 0.3; 22 cells from 49.9 to 51 have an edge at 50.199999999999996, which is
        50.2. Edges that were given are meant exactly.
        """
        assert self.low is not None and self.high is not None
        counted = self.scale == "linear" and self.edges is None
        rounding = ROUNDING * max(abs(self.low), abs(self.high)) if counted else 0.0
        nearest = min(max(number, self.low), self.high)
        number = nearest if abs(number - nearest) <= rounding else number
        inner = np.array([edge for edge in self.cuts.edges[1:-1] if not (self.zeros and edge in (0, 1))], np.int64)
        off = np.abs(self.cuts.values(inner) - number)
        near = len(inner) and off.min() <= rounding
        return number, int(inner[off.argmin()]) if near else line.place_of(number)

    def equals(self, literal: object) -> Span:
        first, end = self.span(literal)
        first = end - 1 if self.cuts.real else first
        bound = self.outside == "clip" and first in (self.line[0], self.line[1] - 1)
        if self.cuts.real and not bound and not (first in self.cuts.edges and end in self.cuts.edges):
            cell = int(self.cuts.find(np.array([first]))[0])
            low, high = self.cuts.values(np.array(self.cuts.edges[cell : cell + 2]))
            above = f"{low:.12g} <=" if abs(low) >= LEAST or low == 0 else "0 <"
            raise ParameterError(
                f"its cells hold several numbers; ask for a range, such as that of the cell, {above} x < {high:.12g}"
            )
        return first, end

    def _arguments(self) -> Arguments:
        first, rest = super()._arguments()
        if self.zeros == self._usual_zeros:
            rest.pop("zeros", None)
        return first, rest

    def to_dict(self) -> dict[str, object]:
        rounds = {"cells": "round"} if self._rounds else {}
        zeros = {"zeros": self.zeros} if self._may_part and (self.low == 0 or self.zeros) else {}
        return super().to_dict() | rounds | zeros


def _digits(number: float, form: str) -> str:
    """An edge as a condition writes it, without a power of ten below `MOST_PLAIN`.

    >>> [_digits(edge, ".12g") for edge in (1e11, 1e12, 2.5e14, 1e15, 1.5e-7)]
    ['100000000000', '1000000000000', '250000000000000', '1e+15', '1.5e-07']
    """
    text = f"{number:{form}}"
    return f"{float(text):.0f}" if "e+" in text and abs(number) < MOST_PLAIN else text


def _written(number: float) -> float | int:
    """A bound as people write it: 1901 and not 1901.0."""
    return int(number) if number == int(number) and abs(number) <= MOST_WHOLE else number


# ---- reading numbers ----


def number_written(given: object) -> float | int | None:
    """A number given as a Python object; None if it is none."""
    if isinstance(given, bool | np.bool_) or not isinstance(given, reading.NUMBERS):
        return None
    if isinstance(given, int | np.integer):
        return int(given) if abs(int(given)) < 2**1000 else math.inf if given > 0 else -math.inf
    return float(given) if not isinstance(given, Decimal | Fraction) else reading.number(given)


def values_of(column: reading.Column, label: str, decimal: str = ".") -> np.ndarray:
    """The cells as float64, NaN for what is no number."""

    def number_in(text: bytes | None) -> float:
        return reading.number_in(text.translate(EXCHANGED) if text is not None and decimal == "," else text)

    def value(cell: object) -> float:
        return reading.number(cell) if isinstance(cell, reading.NUMBERS) else number_in(text_of(cell))

    kind = reading.plain_type(column) if reading.is_arrow(column) else column.dtype.kind
    if kind == "O":
        return np.fromiter(map(value, column), np.float64, len(column))
    fixed = reading.is_arrow(column) and pt.is_decimal(kind)  # Arrow's own conversion can be off by a bit
    if fixed:
        decimal = "."
    if fixed or base.is_textual(column):
        found, places = reading.texts(column)
        return np.array([number_in(text) for text in found], np.float64)[places]
    if not (reading.arrow_is_numeric(kind) if reading.is_arrow(column) else kind in "biuf"):
        raise base.wrong_type(column, label, "numbers")
    return reading.numbers(column, label)
