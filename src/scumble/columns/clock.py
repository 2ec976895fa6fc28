"""Dates and times as ticks of a clock.

A tick is a whole number of days, hours, minutes or seconds since 1970-01-01T00:00, rounded down. A time with a zone is
converted to UTC; one without is taken as it is. Years go from 1 to 9999.
"""

from __future__ import annotations

import calendar
import datetime
import re
from fractions import Fraction

import numpy as np

from scumble.columns import cells
from scumble.columns.column import is_textual, wrong_type
from scumble.columns.cuts import nearest_to_fine
from scumble.columns.hashing import UnsupportedValue, text_of
from scumble.columns.line import Span
from scumble.errors import parameter
from scumble.files.lazy_modules import pa, pt

MONTHS = {"year": 12, "quarter": 3, "month": 1}
DAYS = {"week": 7, "day": 1}
CALENDAR = (*MONTHS, *DAYS)
ROUND_STEPS = [n * unit for unit in (1, 60) for n in (1, 2, 5, 10, 15, 30)] + [
    n * 3_600 for n in (1, 2, 3, 6, 12, 24, 168)
]
ROUND_MONTHS = [1, 3, *(12 * n * power for power in (1, 10, 100) for n in (1, 2, 5))]
"""Lengths of round cells in seconds, and in months."""
SECONDS_OF_400_YEARS = 146_097 * 86_400
"""The period of the calendar."""
SECONDS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
NO_TIME = np.iinfo(np.int64).min

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FIRST, _END = (1 - _EPOCH) * 86_400, (datetime.date.max.toordinal() + 1 - _EPOCH) * 86_400
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_PER_UNIT = {"D": 86_400, "h": 3_600, "m": 60}
_ISO = re.compile(
    r"(?P<year>[0-9]{4})(-(?P<month>[0-9]{2})(-(?P<day>[0-9]{2})"
    r"([T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(:(?P<second>[0-9]{2})(\.[0-9]+)?)?"
    r" ?(?P<zone>Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?)?)?\Z"
)

_PARTS = ("year", "month", "day", "hour", "minute", "second")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FORMATS = {
    "%Y": "(?P<year>[0-9]{4})",
    "%y": "(?P<short>[0-9]{2})",
    "%m": "(?P<month>[0-9]{1,2})",
    "%b": f"(?P<name>{'|'.join(_MONTHS)})",
    "%B": "(?P<name>january|february|march|april|may|june|july|august|september|october|november|december)",
    "%d": "(?P<day>[0-9]{1,2})",
    "%H": "(?P<hour>[0-9]{1,2})",
    "%I": "(?P<hour>[0-9]{1,2})",
    "%M": "(?P<minute>[0-9]{2})",
    "%S": r"(?P<second>[0-9]{2})(\.[0-9]+)?",
    "%p": "(?P<half>am|pm)",
    "%%": "%",
}
"""The parts of a date's format, as `strftime` has them; months are named in English."""


def starts(unit: str, first: int, end: int) -> list[int]:
    """The seconds at which years, quarters, months, weeks (on Mondays) or days begin, between `first` and `end`."""
    return _months(MONTHS[unit], first, end) if unit in MONTHS else _steps(SECONDS["day"] * DAYS[unit], first, end)


def round_starts(first: int, end: int, tick: int) -> list[int]:
    """The seconds at which about 64 round cells begin, at least half a cell from both ends."""
    steps = [step for step in ROUND_STEPS if step % tick == 0]
    months = {Fraction(months * SECONDS_OF_400_YEARS, 4800): months for months in ROUND_MONTHS}
    length = nearest_to_fine(Fraction(end - first), [*map(Fraction, steps), *months])
    found = _months(months[length], first, end) if length in months else _steps(int(length), first, end)
    return [second for second in found if first + length / 2 <= second <= end - length / 2]


def _steps(step: int, first: int, end: int) -> list[int]:
    monday = 4 * SECONDS["day"] if step == SECONDS["day"] * DAYS["week"] else 0  # 1970-01-05
    return list(range(first + step - (first - monday) % step, end, step))


def _months(months: int, first: int, end: int) -> list[int]:
    day = datetime.date.fromordinal(first // 86_400 + _EPOCH)
    number = (day.year * 12 + day.month - 1) // months * months
    found = []
    while (number := number + months) < 9999 * 12 + 12:
        second = (datetime.date(number // 12, number % 12 + 1, 1).toordinal() - _EPOCH) * 86_400
        if second >= end:
            break
        found.append(second)
    return found


def pattern_of(format: str) -> re.Pattern[str]:
    """What matches dates written in a format of `strftime`; a ParameterError if they could be taken for others."""
    parts = re.split("(%.)", format) if isinstance(format, str) else []
    unknown = any(part.startswith("%") and part not in _FORMATS for part in parts)
    names = re.findall(r"\?P<(\w+)>", "".join(_FORMATS.get(part, "") for part in parts))
    if unknown or not {"year", "short"} & {*names} or len({*names}) < len(names):
        known = ", ".join(part for part in _FORMATS if part != "%%")
        raise parameter("format", f"made of {known}, with a year", format, 'format="%m/%d/%Y", for example.')
    found = re.compile("".join(_FORMATS.get(part, re.escape(part)) for part in parts) + r"\Z", re.IGNORECASE)
    iso = "2001-02-03"
    if found.match(iso) and seconds_in(iso.encode(), found, only=True) != seconds_in(iso.encode()):
        raise parameter("format", "one that does not contradict ISO 8601", format, "give the column another text.")
    return found


def seconds_in(text: bytes, pattern: re.Pattern[str] | None = None, *, only: bool = False) -> Span | None:
    """The first second of an ISO 8601 text (a year, month, day, minute or second), and the one after its last; or None.

    Text of another `pattern` is read as well, or alone.
    """
    try:
        words = text.decode("ascii").strip()
        found = None if only else _ISO.match(words)
        if found is None and pattern is not None:
            found = pattern.match(words)
        if found is None:
            return None
        parts = {part: value for part, value in found.groupdict().items() if value is not None}
        if "name" in parts:
            parts["month"] = str(1 + _MONTHS.index(parts["name"][:3].lower()))
        numbers = [int(parts[part]) if part in parts else None for part in _PARTS]
        year, month, day, hour, minute, second = numbers
        if year is None:  # as POSIX has it
            year = int(parts["short"]) + (1900 if int(parts["short"]) >= 69 else 2000)
        if "half" in parts and hour is not None:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + 12 * (parts["half"].lower() == "pm")
        begin = datetime.date(year, 1 if month is None else month, 1 if day is None else day)
        first = (begin.toordinal() - _EPOCH) * 86_400
        if minute is not None:
            time = datetime.time(hour or 0, minute, second or 0)
            first += time.hour * 3_600 + time.minute * 60 + time.second
            first -= _offset(parts.get("zone"))
            width = 60 if second is None else 1
        else:
            months = range(1, 13) if month is None else [month]
            width = 86_400 * (sum(calendar.monthrange(year, one)[1] for one in months) if day is None else 1)
    except ValueError:  # no such day, no such hour, no ASCII
        return None
    return (first, first + width) if _FIRST <= first < _END else None


def has_zone(text: bytes) -> bool:
    """Whether a time has a zone."""
    found = _ISO.match(text.decode("ascii").strip())
    return found is not None and found["zone"] is not None


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)  # databases write +02
    if hours > 23 or minutes > 59:
        raise ValueError
    return (hours * 3_600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def seconds_of(literal: object) -> Span | None:
    """The seconds of a date, a time or a text, like `seconds_in`."""
    if isinstance(literal, bool | int | float | bytes | np.number):
        return None
    text = text_of(literal)
    found = None if text is None else seconds_in(text)
    if found is not None and isinstance(literal, datetime.datetime):  # midnight, not the day that begins with it
        return found[0], found[0] + 1
    return found


def ticks_of(column: cells.Column, label: str, step: int, pattern: re.Pattern[str] | None = None) -> np.ndarray:
    """The ticks of all cells as int64, `step` seconds each; `NO_TIME` where there is none."""
    if is_textual(column) or cells.is_numeric(column):  # pandas makes numbers of a column without dates
        return _by_text(column, label, step, pattern)
    if not cells.is_arrow(column):
        if column.dtype.kind != "M":
            raise wrong_type(column, label, "dates or times")
        unit, _ = np.datetime_data(column.dtype)
        quick = unit in _PER_SECOND or unit in _PER_UNIT
        return _ticks(column, step) if quick else _by_text(column, label, step)
    kind = cells.plain_type(column)
    if not (pt.is_date(kind) or pt.is_timestamp(kind)):
        raise wrong_type(column, label, "dates or times")
    return np.concatenate([np.empty(0, np.int64), *(_piece(piece, step) for piece in cells.chunks(column))])


def _piece(piece: pa.Array, step: int) -> np.ndarray:
    if not isinstance(piece, pa.DictionaryArray):
        return _ticks(cells.times_of(piece), step)
    known = np.append(_ticks(cells.times_of(piece.dictionary), step), NO_TIME)
    places = cells.buffer_of(piece.indices.cast(pa.int64()), np.int64)
    return known[np.where(cells.nulls_of(piece.indices), len(known) - 1, places)]


def _ticks(times: np.ndarray, step: int) -> np.ndarray:
    unit = np.datetime_data(times.dtype)[0]
    raw = np.ascontiguousarray(times, f"M8[{unit}]").view(np.int64)
    if unit in _PER_UNIT:
        per = _PER_UNIT[unit]
        bad = (raw < _FIRST // per) | (raw >= _END // per)
        found = raw * per // step
    else:
        per = _PER_SECOND[unit]
        bad = raw == NO_TIME if unit == "ns" else (raw < _FIRST * per) | (raw >= _END * per)
        found = raw // (per * step)
    return np.where(bad, NO_TIME, found)


def _by_text(column: cells.Column, label: str, step: int, pattern: re.Pattern[str] | None = None) -> np.ndarray:
    try:
        found, places = cells.texts(column)
    except UnsupportedValue:
        raise wrong_type(column, label, "dates or times") from None
    spans = [None if text is None else seconds_in(text, pattern) for text in found]
    return np.array([NO_TIME if span is None else span[0] // step for span in spans], np.int64)[places]
