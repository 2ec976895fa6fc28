"""A column of dates or times between two bounds."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np

from scumble.columns import cells as reading
from scumble.columns import clock
from scumble.columns import column as base
from scumble.columns.column import Coded, Ordered
from scumble.columns.cuts import Cuts, equal_cells, require_rising, whole_edges
from scumble.columns.hashing import text_of
from scumble.columns.line import Span
from scumble.errors import ParameterError, parameter
from scumble.files.lazy_modules import pa


@dataclass(frozen=True, repr=False)
class Date(Ordered):
    """Dates or times between public bounds, counted in cells.

    Dates, time stamps of any unit, and ISO 8601 text ("2024-02-29", "2024-02-29T12:30Z", "2024-02") are read, and text
    in another `format`. A month
    or a year alone counts on its first day. A time with a zone is converted to UTC, one without is taken as it is. Any
    other cell, or one outside the years 1 to 9999, is counted as missing, or its record is refused or dropped.

    In conditions a date means the whole day, and "2024-02" the month: ``seen <= '2024-02-29'`` includes the evening of
    that day.

    Parameters
    ----------
    low, high : str, date or datetime
        The bounds, both included, as ISO 8601 text (a year or a month means all of it) or Python's own. May be left
        out if there are `edges`.
    resolution : {"day", "hour", "minute", "second"} or None
        The length of a tick; the rest is cut off. None means days, or seconds if a bound has a time of day.
    cells : int, {"year", "quarter", "month", "week", "day", "round", "equal"} or None
        The number of cells, or the calendar unit of each. None, or "round", is one for each of up to 128 ticks,
        otherwise about 64 that begin where minutes, hours, days, weeks, months or years do; "equal" makes these 64
        equally long.
    edges : list or None
        The cells themselves, from `low` to `high`: each holds its lower edge (the first day of a year or a month), the
        last one also its upper.
    outside : {"clip", "drop"}
        Dates outside the bounds count as the nearest bound, or their record is left out.
    missing : bool
        Whether cells without a date have a level of their own.
    missing_words : list of str
        Words and dates for a missing cell, such as "unknown" and "1900-01-01".
    format : str, optional
        How dates are written, besides ISO 8601: "%m/%d/%Y", or "%d.%m.%Y %H:%M". Made of %Y, %y (1969 to 2068), %m, %b,
        %B (months in English), %d, %H, %I, %M, %S, %p and what stands between them.

    Examples
    --------
    >>> seen = Date("2024-01-01", "2024-12-31", edges=["2024-01-01", "2024-04-01", "2024-12-31"])
    >>> seen.levels, seen.encode(["2024-03-31T23:59", "2024-04-01"]).codes.tolist()
    (('2024-01-01 to 2024-03-31', '2024-04-01 to 2024-12-31'), [0, 1])
    """

    kind: ClassVar[str] = "date"
    role: ClassVar[str] = "word"
    nothing: ClassVar[float] = clock.NO_TIME

    low: str | None = None
    high: str | None = None
    _: KW_ONLY
    resolution: str | None = None
    cells: int | str | None = None
    edges: tuple[str, ...] | None = None
    missing_words: Sequence[str] = ()
    outside: str = "clip"
    format: str | None = None
    missing: bool = False
    pattern: re.Pattern[str] | None = field(init=False, repr=False, compare=False)
    cuts: Cuts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = self.__dict__.__setitem__  # frozen for everybody else
        self._settle()
        put("pattern", None if self.format is None else clock.pattern_of(self.format))
        if self.cells not in clock.CALENDAR:
            put("cells", base.count_of_cells(self.cells, clock.CALENDAR))
        if self.edges is not None:
            put("edges", self._checked_edges(self.edges))
            put("low", self.edges[0] if self.low is None else _checked("low", self.low))
            put("high", self.edges[-1] if self.high is None else _checked("high", self.high))
        for name in ("low", "high"):
            put(name, _checked(name, getattr(self, name)))
        assert self.low is not None and self.high is not None
        if self.resolution is None:
            put("resolution", "second" if any("T" in bound for bound in self._bounds) else "day")
        put("resolution", base.choice("resolution", self.resolution, tuple(clock.SECONDS)))
        first, last = self._tick("low", self.low), self._tick("high", self.high)
        if not first < last:
            hint = "swap the two." if last < first else base.ONE_VALUE
            raise parameter("high", f"after `low`, {self.low}", self.high, hint)
        if self.cells == "equal":
            put("cells", equal_cells(last - first + 1))
        put("cuts", self._cut(first, last))

    @property
    def _bounds(self) -> tuple[str, ...]:
        return self.edges or (self.low or "", self.high or "")

    @property
    def step(self) -> int:
        """The length of a tick in seconds."""
        return clock.SECONDS[self.resolution or "day"]

    def _checked_edges(self, given: Sequence[object]) -> tuple[str, ...]:
        self._require_edges(given, "dates", "['2020-01-01', '2020-07-01', '2020-12-31']")
        sides = ["low"] * (len(given) - 1) + ["high"]
        return tuple(_checked(side, one, f"edges[{k}]") for k, (side, one) in enumerate(zip(sides, given, strict=True)))

    def _tick(self, name: str, text: str) -> int:
        found = clock.seconds_in(text.encode("ascii"))
        assert found is not None
        last = name == "high" and found[1] - found[0] >= self.step
        second = found[1] - self.step if last else found[0]
        if second % self.step:
            raise parameter(name, f"a whole {self.resolution}", text, "choose a finer `resolution`.")
        return second // self.step

    def _cut(self, first: int, last: int) -> Cuts:
        step, whole = self.step, last - first + 1
        if self.edges is not None:
            inner = [self._tick("edges", edge) for edge in self.edges[:-1]]
            edges = (*inner, last + 1)
            require_rising(edges)
            if inner[0] != first or self._tick("high", self.edges[-1]) != last:
                must = f"from `low`, {self.low}, to `high`, {self.high}"
                raise parameter("edges", must, list(self.edges), "leave out `low` and `high`.")
        elif isinstance(self.cells, str) or (self.cells is None and equal_cells(whole) is not None):
            if isinstance(self.cells, str):
                begin = clock.starts(self.cells, first * step, (last + 1) * step)
            else:
                begin = clock.round_starts(first * step, (last + 1) * step, step)
            if len(begin) + 1 >= base.MOST_LEVELS:
                raise parameter("cells", f"fewer than {base.MOST_LEVELS:,}", f"{len(begin) + 1:,}", "take longer ones.")
            edges = (first, *(second // step for second in begin), last + 1)
        else:
            edges = tuple(whole_edges(first, last, self.cells or whole, log=False))
        return Cuts(edges, real=False, log=False)

    # ---- levels ----

    def _named(self) -> tuple[str, ...]:
        return tuple(self.named(first, end) for first, end in pairwise(self.cuts.edges))

    def named(self, first: int, end: int) -> str:
        """The days or times from one place on the line up to another, which is excluded."""
        return self._written(first) if end == first + 1 else f"{self._written(first)} to {self._written(end - 1)}"

    def moment(self, tick: int) -> datetime.date:
        """The day or time of a place on the line."""
        found = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=tick * self.step)
        return found.date() if self.resolution == "day" else found

    def _written(self, tick: int) -> str:
        moment = self.moment(tick)
        if not isinstance(moment, datetime.datetime):
            return moment.isoformat()
        return moment.isoformat(timespec="seconds" if self.resolution == "second" else "minutes")

    def _means(self) -> np.ndarray:
        """In seconds since 1970-01-01T00:00."""
        return self.cuts.means * self.step

    def words(self) -> str:
        return f"{self.low} to {self.high}, {self.told_apart}{self._besides()}"

    @property
    def told_apart(self) -> str:
        """Its cells, in words.

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

    def refused(self, decimal: str = ".") -> str:
        also = f" and {self.format} are" if self.format else " is"
        return f"not a date (ISO 8601, such as 2009-01-31,{also} read)"

    def _read(self, column: reading.Column, label: str) -> np.ndarray:
        return clock.ticks_of(column, label, self.step, self.pattern)

    def _codes(self, column: reading.Column, label: str) -> Coded:
        ticks = self._values(column, label)
        return *self._coded(ticks, self.cuts, ticks == clock.NO_TIME), ()

    @property
    def limits(self) -> tuple[float, float]:
        first, end = self.cuts.line
        return float(first), float(end - 1)

    def _numbers(self, column: reading.Column, label: str) -> np.ndarray:
        """Ticks since 1970."""
        ticks = self._values(column, label)
        return np.where(ticks == clock.NO_TIME, np.nan, ticks)

    def cells_at(self, numbers: np.ndarray, gone: np.ndarray) -> pa.Array:
        return self._held(np.clip(np.rint(numbers), *self.limits).astype(np.int64), gone)

    def _draw(self, codes: np.ndarray, gone: np.ndarray, share: np.ndarray) -> pa.Array:
        return self._held(self.cuts.at(codes, share), gone)

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
                f"it has the resolution {self.resolution!r}; compare it with a whole {self.resolution}"
            )
        return first // self.step, max(first // self.step + 1, end // self.step)

    def to_dict(self) -> dict[str, object]:
        first, end = self.line
        rounds = self.cells is None and self.edges is None and equal_cells(end - first) is not None
        return super().to_dict() | ({"cells": "round"} if rounds else {})


def no_date(literal: object) -> ParameterError:
    """The error for a value that is compared with a column of dates."""
    return ParameterError(f"it holds dates, and {str(literal)[:40]!r} is not one; write it as '2024-02-29', in quotes")


def _checked(side: str, given: object, name: str = "") -> str:
    """A bound as "2024-02-29", or "2024-02-29T12:30:00" with a "Z" if it has a zone; `name` is for errors.

    A year or a month is its first day as the `side` "low", its last day as "high".
    """
    name = name or side
    if isinstance(given, int) and 1000 <= given <= 9999 and not isinstance(given, bool):
        given = str(given)
    if given is None or (isinstance(given, str) and given == base.BLANK):
        hint = "write a date that is known in advance, not one looked up in the table."
        raise ParameterError(f"`{name}` is still blank. Hint: {hint}")
    found = clock.seconds_of(given)
    if found is not None and found[1] - found[0] > 86_400:
        found = (found[0], found[0] + 86_400) if side == "low" else (found[1] - 86_400, found[1])
    if found is None or found[1] - found[0] not in (1, 60, 86_400):
        raise parameter(name, "a date such as '2024-02-29' or a time such as '2024-02-29T12:30'", given)
    if found[1] - found[0] == 86_400:
        return datetime.date.fromordinal(found[0] // 86_400 + datetime.date(1970, 1, 1).toordinal()).isoformat()
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=found[0])
    return moment.isoformat() + ("Z" if clock.has_zone(text_of(given) or b"") else "")
