"""A column of dates or times between two bounds."""

from __future__ import annotations

import calendar
import contextlib
import datetime
import re
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from scumble.errors import ParameterError, parameter
from scumble.machine.later import pa
from scumble.schema import clock, line
from scumble.schema.column import (
    BLANK,
    MISSING,
    MOST_LEVELS,
    ONE_VALUE,
    OUTSIDE,
    UNREADABLE,
    Column,
    Found,
    Part,
    choice,
    count_of_cells,
    flag,
)
from scumble.schema.cuts import Cuts
from scumble.schema.edges import equal_cells, require_rising, whole_edges
from scumble.schema.line import Span, Spans
from scumble.tables import cells as reading
from scumble.tables.containers import one_column
from scumble.tables.hashing import text_of

_ENDS = "leave out `low` and `high`: the first and the last of `edges` are the bounds."


@dataclass(frozen=True, repr=False)
class Date(Column):
    """Dates or times between public bounds, counted in cells.

    Each cell of the table is read for itself: dates, time stamps of any unit, and ISO 8601 text ("2024-02-29",
    "2024-02-29T12:30Z", "2024-02"). A month or a year alone counts on its first day, and a build tells the curator how
    many did. A time with a zone is brought to UTC, one without is taken as it stands. What is no date between the years
    1 and 9999 is counted as missing, or its record is refused or dropped.

    In conditions a date stands for the whole day, and "2024-02" for the month: ``seen <= '2024-02-29'`` includes the
    evening of that day.

    Parameters
    ----------
    low, high : str, date or datetime
        The bounds, both included, as ISO 8601 text (a year or a month stands for all of it) or Python's own. May be
        left out if there are `edges`.
    resolution : {"day", "hour", "minute", "second"} or None
        What is told apart at most; the rest is cut off. None means days, or seconds if a bound has a time of day.
    cells : int, {"year", "quarter", "month", "week", "day", "round", "equal"} or None
        How many cells, or what of the calendar each of them is. None, or "round", is one for each of up to 128 days
        (hours, …), and else about 64 that begin where minutes, hours, days, weeks, months or years do, one or several;
        "equal" makes 64 of equal length of these.
    edges : list or None
        The cells themselves, from `low` to `high`: each holds its lower edge (of a year or a month, its first day), the
        last one also its upper.
    outside : {"clip", "drop"}
        What becomes of dates outside the bounds: counted as the nearest bound, or their record left out.
    missing : bool
        Whether cells without a date get a level of their own.

    Examples
    --------
    >>> seen = Date("2024-01-01", "2024-12-31", edges=["2024-01-01", "2024-04-01", "2024-12-31"])
    >>> seen.levels, seen.encode(["2024-03-31T23:59", "2024-04-01"]).codes.tolist()
    (('2024-01-01 to 2024-03-31', '2024-04-01 to 2024-12-31'), [0, 1])
    """

    kind: ClassVar[str] = "date"
    role: ClassVar[str] = "word"  # text files give text, which each cell is read from
    refuses: ClassVar[str] = "not a date (ISO 8601, such as 2009-01-31, is read; a dash does not mean missing)"
    ordered: ClassVar[bool] = True

    low: str | None = None
    high: str | None = None
    _: KW_ONLY
    resolution: str | None = None
    cells: int | str | None = None
    edges: tuple[str, ...] | None = None
    outside: str = "clip"
    missing: bool = False
    cuts: Cuts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = self.__dict__.__setitem__  # frozen for everybody else
        put("outside", choice("outside", self.outside, ("clip", "drop")))
        put("missing", flag("missing", self.missing))
        if self.cells not in clock.CALENDAR:
            put("cells", _count_of_cells(self.cells))
        if self.edges is not None:
            put("edges", self._checked_edges(self.edges))
            put("low", self.edges[0] if self.low is None else _checked("low", self.low))
            put("high", self.edges[-1] if self.high is None else _checked("high", self.high))
        for name in ("low", "high"):
            put(name, _checked(name, getattr(self, name)))
        assert self.low is not None and self.high is not None
        if self.resolution is None:
            put("resolution", "second" if any("T" in bound for bound in self._bounds) else "day")
        put("resolution", choice("resolution", self.resolution, tuple(clock.SECONDS)))
        first, last = self._tick("low", self.low), self._tick("high", self.high)
        if not first < last:
            hint = "exchange the two." if last < first else ONE_VALUE
            raise parameter("high", f"after `low`, {self.low}", self.high, hint)
        if self.cells == "equal":
            put("cells", equal_cells(last - first + 1))
        put("cuts", self._cut(first, last))

    @property
    def _bounds(self) -> tuple[str, ...]:
        return self.edges or (self.low or "", self.high or "")

    @property
    def step(self) -> int:
        """The seconds of a tick."""
        return clock.SECONDS[self.resolution or "day"]

    def _checked_edges(self, given: object) -> tuple[str, ...]:
        if self.cells is not None:
            raise ParameterError("`cells` and `edges` exclude each other. Hint: leave out `cells`.")
        if not isinstance(given, list | tuple | np.ndarray) or not 2 <= len(given) < MOST_LEVELS:
            hint = "edges=['2020-01-01', '2020-07-01', '2020-12-31']."
            raise parameter("edges", f"a list of 2 to {MOST_LEVELS - 1} dates", given, hint)
        sides = ["low"] * (len(given) - 1) + ["high"]
        return tuple(_checked(side, one, f"edges[{k}]") for k, (side, one) in enumerate(zip(sides, given, strict=True)))

    def _tick(self, name: str, text: str) -> int:
        found = clock.seconds_in(text.encode("ascii"))
        assert found is not None
        # A day, as the upper bound of seconds, ends with its last second.
        last = name == "high" and found[1] - found[0] >= self.step
        second = found[1] - self.step if last else found[0]
        if second % self.step:
            raise parameter(name, f"a whole {self.resolution}", text, "write it so, or choose a finer `resolution`.")
        return second // self.step

    def _cut(self, first: int, last: int) -> Cuts:
        if isinstance(self.cells, str):
            begin = clock.starts(self.cells, first * self.step, (last + 1) * self.step)
            if len(begin) + 1 >= MOST_LEVELS:
                hint = "take longer ones, 'month' or 'year', or bounds nearer to each other."
                raise parameter("cells", f"fewer than {MOST_LEVELS:,}", f"{len(begin) + 1:,} of a {self.cells}", hint)
            return Cuts((first, *(second // self.step for second in begin), last + 1), real=False, log=False)
        if self.edges is None:
            if self.cells is None and equal_cells(last - first + 1) is not None:
                begin = clock.round_starts(first * self.step, (last + 1) * self.step, self.step)
                return Cuts((first, *(second // self.step for second in begin), last + 1), real=False, log=False)
            cells = self.cells or last - first + 1
            return Cuts(tuple(whole_edges(first, last, cells, log=False)), real=False, log=False)
        inner = [self._tick("edges", edge) for edge in self.edges[:-1]]
        edges = (*inner, last + 1)
        require_rising(edges)
        if inner[0] != first or self._tick("high", self.edges[-1]) != last:
            raise parameter("edges", f"from `low`, {self.low}, to `high`, {self.high}", list(self.edges), _ENDS)
        return Cuts(edges, real=False, log=False)

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
        names = [self.named(first, end) for first, end in pairwise(edges)]
        return (*names, MISSING) if self.missing else tuple(names)

    def named(self, first: int, end: int) -> str:
        """The days or times from one place on the line up to, and without, another."""
        return self._written(first) if end == first + 1 else f"{self._written(first)} to {self._written(end - 1)}"

    def moment(self, tick: int) -> datetime.date:
        """The day, or the time, of a place on the line."""
        found = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=tick * self.step)
        return found.date() if self.resolution == "day" else found

    def _written(self, tick: int) -> str:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=tick * self.step)
        if self.resolution == "day":
            return moment.date().isoformat()
        return moment.isoformat(timespec="seconds" if self.resolution == "second" else "minutes")

    @property
    def representative(self) -> np.ndarray:
        """For each level the mean of its times in seconds since 1970-01-01T00:00; NaN where there is none."""
        means = self.cuts.means * self.step
        return np.append(means, np.nan) if self.missing else means

    def words(self) -> str:
        rest = "; outside dropped" * (self.outside == "drop") + "; missing" * self.missing
        return f"{self.low} to {self.high}, {self.told_apart}{rest}"

    @property
    def told_apart(self) -> str:
        """What its cells are, in words.

        >>> Date("2024-01-01", "2024-12-31", cells="week").told_apart, Date("2024-01-01", "2024-03-31").told_apart
        ('by the week', 'by the day')
        >>> Date("2024-01-01", "2024-12-31").told_apart
        'in 52 cells of 7 to 9 days'
        """
        if isinstance(self.cells, str):
            return f"by the {self.cells}"
        lengths = np.diff(self.cuts.edges)
        least, most = int(lengths.min()), int(lengths.max())
        if most == 1:
            return f"by the {self.resolution}"
        unit = next(unit for unit, seconds in clock.SECONDS.items() if seconds <= least * self.step)
        ends = [f"{length * self.step / clock.SECONDS[unit]:,.0f}" for length in (least, most)]
        cells = f"in {self.cuts.size:,} cells of" if self.cuts.size > 1 else "in one cell of"
        return f"{cells} {' to '.join(dict.fromkeys(ends))} {unit}{'s' * (ends[-1] != '1')}"

    # ---- cells to levels and back ----

    def _codes(self, column: reading.Column, label: str) -> tuple[np.ndarray, np.ndarray]:
        ticks = clock.ticks_of(column, label, self.step)
        codes = self.cuts.find(ticks)
        outside = ~self.cuts.holds(ticks)
        if self.outside == "drop":
            codes[outside] = OUTSIDE
        codes[ticks == clock.NO_TIME] = UNREADABLE
        return codes, outside

    def find(self, values: object, label: str = "The column") -> Found:
        """As of every column; and which cells name more than a day, of which they have one level where others do."""
        found, wide = super().find(values, label), clock.wide(one_column(values, "values"))
        if wide is None:
            return found
        first, last = (self.cuts.find(seconds // self.step) for seconds in wide)
        return found._replace(coarse=first != last)

    @property
    def limits(self) -> tuple[float, float]:
        first, end = self.cuts.line
        return float(first), float(end - 1)

    def _numbers(self, column: reading.Column, label: str) -> np.ndarray:
        """Ticks of the clock since 1970."""
        ticks = clock.ticks_of(column, label, self.step)
        return np.where(ticks == clock.NO_TIME, np.nan, ticks)

    def cells_at(self, numbers: np.ndarray, gone: np.ndarray) -> pa.Array:
        return self._held(np.clip(np.rint(numbers), *self.limits).astype(np.int64), gone)

    def _draw(self, codes: np.ndarray, gone: np.ndarray, generator: np.random.Generator) -> pa.Array:
        return self._held(self.cuts.at(codes, generator.random(len(codes))), gone)

    def _held(self, values: np.ndarray, gone: np.ndarray) -> pa.Array:
        if self.resolution == "day":
            return pa.array(values.astype(np.int32), pa.int32(), mask=gone).cast(pa.date32())
        zone = "UTC" if any(bound.endswith("Z") for bound in self._bounds) else None
        return pa.array(values * self.step, pa.int64(), mask=gone).cast(pa.timestamp("s", tz=zone))

    def places(self, values: pa.ChunkedArray) -> np.ndarray:
        if self.resolution == "day":
            return np.asarray(values.cast(pa.int32()).fill_null(0).to_numpy().astype(np.int64))
        return np.asarray(values.cast(pa.int64()).fill_null(0).to_numpy() // self.step)

    # ---- what conditions ask for ----

    def span(self, literal: object) -> Span:
        found = clock.seconds_of(literal)
        if found is None:
            raise no_date(literal)
        first, end = found
        if first % self.step:
            raise ParameterError(
                f"it tells {self.resolution}s apart, nothing finer: compare it with a whole {self.resolution}"
            )
        return first // self.step, max(first // self.step + 1, end // self.step)

    def _shares(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        return self.cuts.shares(spans)

    def touched(self, part: Part) -> Part:
        return part._replace(spans=self.cuts.touched(line.common(part.spans, (self.line,))))

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rest: dict[str, Any] = {"resolution": self.resolution}
        rest |= {"cells": self.cells} if self.cells is not None else {}
        rest |= {"edges": list(self.edges)} if self.edges is not None else {}
        rest |= {"outside": "drop"} if self.outside == "drop" else {}
        return (self.low, self.high), rest | ({"missing": True} if self.missing else {})

    def to_dict(self) -> dict[str, Any]:
        first, end = self.line
        rounds = self.cells is None and self.edges is None and equal_cells(end - first) is not None
        return super().to_dict() | ({"cells": "round"} if rounds else {})


def no_date(literal: object) -> ParameterError:
    """The refusal of what a column of dates is compared with, if that is none.

    >>> print(no_date("31/12/2010"))
    it holds dates, and '31/12/2010' is none; write '2010-12-31', the year first
    """
    what = f"{literal[:40]!r} is none" if isinstance(literal, str) else "they stand in quotes"
    if no_day := _no_day(literal):
        return ParameterError(f"it holds dates, and {what}: {no_day}")
    return ParameterError(f"it holds dates, and {what}; write {_iso_of(literal)}, the year first")


def _no_day(literal: object) -> str:
    """Why what is written as a date is no day of the calendar; empty if it is not written so.

    >>> print(*map(_no_day, ("2023-02-30", "2023-13-01", "30.02.2023", "2023-02-28")), sep="; ")
    February 2023 has 28 days; there is no month 13; February 2023 has 28 days;
    """
    text = str(literal).strip()
    iso = re.match(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?![0-9])", text)
    point = re.fullmatch(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})", text)
    if iso is None and point is None:
        return ""
    year, month, day = map(int, iso.groups() if iso is not None else point.groups()[::-1])  # type: ignore[union-attr]
    if not 1 <= month <= 12:
        return f"there is no month {month}"
    if year < 1:
        return f"there is no year {year}"
    last = calendar.monthrange(year, month)[1]
    return "" if 1 <= day <= last else f"{calendar.month_name[month]} {year} has {last} days"


def _iso_of(literal: object) -> str:
    """The date that somebody has written, in quotes, or the two that it may be, else one for an example.

    >>> print(*map(_iso_of, ("31/12/2010", "6.12.2010", "2010/6/1", "soon", "6/12/2010")), sep=", ")
    '2010-12-31', '2010-12-06', '2010-06-01', '2024-02-29', '2010-06-12' or '2010-12-06'
    """
    if isinstance(literal, int) and not isinstance(literal, bool) and 1000 <= literal <= 9999:
        return repr(str(literal))
    year_first = re.fullmatch(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})", str(literal).strip())
    if year_first:
        return repr("{}-{:0>2}-{:0>2}".format(*year_first.groups()))
    found = re.fullmatch(r"([0-9]{1,2})([/.-])([0-9]{1,2})\2([0-9]{4})", str(literal).strip())
    if found:
        one, other, year = int(found[1]), int(found[3]), int(found[4])
        meant = []
        for month, day in [(other, one)] if found[2] == "." else [(one, other), (other, one)]:  # points are European
            with contextlib.suppress(ValueError):
                meant.append(repr(datetime.date(year, month, day).isoformat()))
        if meant:
            return " or ".join(dict.fromkeys(meant))
    return "'2024-02-29'"


def _count_of_cells(value: object) -> int | str | None:
    if isinstance(value, str) and value not in ("round", "equal"):
        listed = ", ".join(map(repr, clock.CALENDAR))
        raise parameter("cells", f"a whole number, or one of {listed}", value, "cells='month', for example.")
    return count_of_cells(value)


def _checked(side: str, given: object, name: str = "") -> str:
    """A bound in its one form: "2024-02-29", or "2024-02-29T12:30:00" with a "Z" if it has a zone.

    A year or a month, as the `side` "low", is its first day, and as "high" its last. Errors call it by its name.
    """
    name = name or side
    if isinstance(given, int) and 1000 <= given <= 9999 and not isinstance(given, bool):
        given = str(given)
    if given is None or (isinstance(given, str) and given == BLANK):
        what = "earliest" if side == "low" else "latest"
        raise ParameterError(
            f"`{name}` is still blank. Hint: put there the {what} date that the column can hold, known in advance: "
            "never one looked up in the table."
        )
    found = clock.seconds_of(given)
    if found is not None and found[1] - found[0] > 86_400:
        found = (found[0], found[0] + 86_400) if side == "low" else (found[1] - 86_400, found[1])
    if found is None or found[1] - found[0] not in (1, 60, 86_400):
        hint = _no_day(given) or f"write {_iso_of(given)}, the year first"
        raise parameter(name, "a date such as '2024-02-29' or a time such as '2024-02-29T12:30'", given, f"{hint}.")
    if found[1] - found[0] == 86_400:
        return datetime.date.fromordinal(found[0] // 86_400 + datetime.date(1970, 1, 1).toordinal()).isoformat()
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=found[0])
    return moment.isoformat() + ("Z" if clock.has_zone(text_of(given) or b"") else "")
