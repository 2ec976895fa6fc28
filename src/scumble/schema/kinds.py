"""Columns of a kernel that hold more than plain numbers: whole numbers, dates, times, booleans, each as a number.

=========  ===========================================================================================================
"whole"    itself, rounded down (41.9 is 41, −0.5 is −1); back, the nearest integer
"date"     whole days since 1970-01-01 (2024-02-29 is 19782); back, a date
"time"     the same with the time of day as a fraction, in UTC where it has a zone; back, a time, to the second
"boolean"  1 for true, yes, y, t, on and 1, 0 for their opposites; back, true or false
=========  ===========================================================================================================

Each cell is read for itself, by the rules of the schema's own columns (:mod:`scumble.schema.clock`, `Boolean`). What is
none of these is a bad cell, NaN. The kinds are public: a build's caller declares them, and the release names them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from scumble.checks import reversed_bounds
from scumble.errors import ParameterError, plain_number
from scumble.machine.later import pa
from scumble.schema import clock
from scumble.schema.boolean import Boolean
from scumble.schema.spelling import OTHER_DATES, numbers_read
from scumble.tables import Table, cells

ROLES = {"whole": "number", "date": "word", "time": "word", "boolean": "word"}
"""What a source reads each kind as: text stays text until it is read here."""
ON_WHOLE_NUMBERS = frozenset(("whole", "date", "boolean"))
"""Kinds whose numbers are whole."""
DAY = clock.SECONDS["day"]
MOST_DAYS = 700_000
"""From 1970, to both sides, that a calendar knows."""

UNREAD = {
    "date": "not a date",
    "time": "not a time",
    "boolean": "neither true nor false",
    "category": "no word",
    "tokens": "no set of words",
}
"""What a bad cell is that is not merely no number."""
_MISSING = f"; in files {', '.join(filter(None, cells.NO_VALUE))} are missing cells"
_READ_AS = {
    "date": f"dates are read as ISO 8601 has them, 2009-01-31: write them so ({OTHER_DATES})",
    "time": "times are read as ISO 8601 has them, 2009-01-31T14:30: write them so",
    "boolean": "true and false, yes and no, 1 and 0 are read; columns of other words stand in --categories",
    "category": f"text, numbers, booleans, dates and times are words; a list or a dictionary is not{_MISSING}",
    "tokens": f"text is split into words at blanks, and lists are taken as they are; a dictionary is no set{_MISSING}",
}
"""How cells are written of declared columns and of those that a kernel does not read as numbers."""

Kinds = Mapping[str, str]
"""The kinds of some columns, by name."""


def read_as(kind: str | None, decimal: str = ".") -> str:
    """How cells of a declared column are written, where that stands before the decimals of numbers.

    >>> read_as("boolean")
    'true and false, yes and no, 1 and 0 are read; columns of other words stand in --categories'
    """
    if kind in _READ_AS:
        return _READ_AS[kind]
    return numbers_read(decimal) + ", and a fraction is cut off" * (kind == "whole")


def undeclared(name: str, decimal: str = ".") -> str:
    """What to say of a column that nobody declared, none of whose cells is a number."""
    return (
        f"what is {name!r}? Text: name it in --categories. Dates or times: --dates, --times (dates=, times=); yes and "
        f"no: --booleans; {numbers_read(decimal)}: write them so. Else leave it out of --columns (columns=)."
    )


def read(column: cells.Column, kind: str, label: str) -> np.ndarray:
    """The cells as float64, NaN for a bad one.

    >>> read(pa.array(["2024-02-29", "1970-01-01T18:00", "soon", None]), "time", "Column 'seen'").tolist()
    [19782.0, 0.75, nan, nan]
    >>> read(pa.array(["yes", "FALSE", "perhaps"]), "boolean", "Column 'smoker'").tolist()
    [1.0, 0.0, nan]
    """
    if kind == "whole":
        found: np.ndarray = np.floor(cells.numbers(column, label))
        return found
    if kind == "boolean":
        return Boolean().numbers(column, label)
    ticks = clock.ticks_of(column, label, DAY if kind == "date" else 1)
    return np.where(ticks == clock.NO_TIME, np.nan, ticks / (1 if kind == "date" else DAY))


def ends_by(kind: str, ends: Sequence[object]) -> tuple[Any, ...]:
    """Bounds that somebody wrote as numbers; what is one already stays.

    The upper one, a day, a month or a year, is all of it: to its last day, and of times to its last second. An integer
    of four digits is a year, as it is in a cell; days since 1970 are floats, as here and in a release.

    >>> ends_by("date", ("2024-01", "2024-02")), ends_by("time", ("1970-01-01", "1970-01-01"))
    ((19723.0, 19782.0), (0.0, 0.999988425925926))
    >>> ends_by("date", (2020, 2024)) == ends_by("date", ("2020-01-01", "2024-12-31")), ends_by("whole", (2020, 2024))
    (True, (2020, 2024))
    """
    return tuple(_end(one, kind, last=place == 1) for place, one in enumerate(ends))


def _end(literal: object, kind: str, *, last: bool) -> Any:
    found = clock.seconds_of(_dated(literal, kind)) if kind in ("date", "time") else None
    if found is None:
        return literal
    first, end = found
    seconds = end - 1 if last and end - first >= DAY else first
    return float(seconds // DAY) if kind == "date" else seconds / DAY


def _dated(literal: Any, kind: str | None) -> Any:
    """A year as text, which is read as its first moment; all else as it is."""
    year = kind in ("date", "time") and isinstance(literal, int | np.integer) and 1000 <= literal <= 9999
    return str(literal) if year else literal


def fixed_by(kinds: Kinds, at: Mapping[str, Any]) -> dict[str, Any]:
    """One value of some columns, as somebody wrote it: an integer of four digits is a year, as it is in bounds.

    >>> fixed_by({"seen": "date"}, {"seen": 2020, "income": 2020})
    {'seen': '2020', 'income': 2020}
    """
    return {name: _dated(value, kinds.get(name)) for name, value in at.items()}


def points(X: object, kinds: Kinds, columns: Sequence[str]) -> dict[str, cells.Column]:
    """The points of a question with dates, times and booleans as numbers; columns of numbers stay as they are."""
    table = Table.of(X, columns=columns, dimensions=len(columns))
    found = {}
    for j, name in enumerate(columns):
        column, kind = table.column(j), kinds.get(name, "whole")
        found[name] = column if kind == "whole" or _is_number(column) else _either(column, kind, table.label(j))
    return found


def records(X: object, kinds: Kinds, columns: Sequence[str]) -> dict[str, cells.Column]:
    """The columns of a table by name, the declared ones as numbers; the cells of others stay as they are.

    >>> records({"age": [41.9, None], "town": ["Ulm", "Bonn"]}, {"age": "whole"}, ["age", "town"])["age"].tolist()
    [41.0, nan]
    """
    table = Table.of(X, columns=columns, dimensions=len(columns))
    found = {}
    for j, name in enumerate(columns):
        column, kind = table.column(j), kinds.get(name)
        found[name] = column if kind is None else read(column, kind, table.label(j))
    return found


def roles_by(kinds: Kinds, roles: Mapping[str, str]) -> dict[str, str]:
    """What a source reads each column as: text that stands for a date stays text, until `records` reads it."""
    return {name: ROLES[kinds[name]] if name in kinds else role for name, role in roles.items()}


def _is_number(column: cells.Column) -> bool:
    if cells.is_arrow(column):
        return cells.arrow_is_numeric(cells.plain_type(column))
    return column.dtype.kind in "biuf"


def _either(column: cells.Column, kind: str, label: str) -> np.ndarray:
    """Among objects, each cell says whether it is a number or a date."""
    found = read(column, kind, label)
    if cells.is_arrow(column) or column.dtype != object:
        return found
    plain = cells.numbers(column, label)
    return np.where(np.isnan(plain), found, plain)


def nearest(numbers: np.ndarray, kind: str) -> np.ndarray:
    """The nearest numbers that the kind has."""
    if kind not in ON_WHOLE_NUMBERS:
        return numbers
    found: np.ndarray = np.rint(numbers)
    return np.clip(found, 0.0, 1.0) if kind == "boolean" else found


def values(numbers: np.ndarray, kind: str | None) -> pa.Array:
    """Numbers as what they stand for.

    >>> values(np.array([19782.2, 0.0]), "date").to_pylist()
    [datetime.date(2024, 2, 29), datetime.date(1970, 1, 1)]
    """
    if kind is None:
        return pa.array(numbers)
    found = nearest(numbers, kind)
    if kind == "time":
        return pa.array(np.rint(found * DAY).astype(np.int64)).cast(pa.timestamp("s"))
    if kind == "date":
        return pa.array(found.astype(np.int32)).cast(pa.date32())
    return pa.array(found.astype(np.bool_ if kind == "boolean" else np.int64))


def bounds_by(kinds: Kinds, bounds: Any) -> Any:
    """Bounds by column with their dates as numbers; those of a boolean are 0 and 1. A plain pair stays as it is.

    >>> bounds_by({"seen": "date", "smoker": "boolean"}, {"seen": ("2024-01-01", "2024-12-31")})
    {'smoker': (0.0, 1.0), 'seen': (19723.0, 20088.0)}
    """
    if not isinstance(bounds, Mapping):
        return bounds
    found = {name: (0.0, 1.0) for name, kind in kinds.items() if kind == "boolean"} | dict(bounds)
    for name, kind in kinds.items():
        ends = found.get(name)
        if isinstance(ends, list | tuple):
            found[name] = sides = ends_by(kind, ends)
            if len(sides) == 2 and all(isinstance(side, Real) for side in sides) and not sides[0] < sides[1]:
                raise reversed_bounds(name, *ends)  # while they still are dates
    return found


def ranges_by(kinds: Kinds, ranges: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """What to draw of columns, with its dates as numbers.

    >>> ranges_by({"seen": "date"}, {"age": (0, 99), "seen": ("2024-01-01", "2024-12-31")})
    {'age': (0.0, 99.0), 'seen': (19723.0, 20088.0)}
    """
    found = {}
    for name, ends in ranges.items():
        low, high = ends_by(kinds.get(name, ""), ends)
        if isinstance(low, str) or isinstance(high, str):
            known = ", ".join(one for one, kind in kinds.items() if kind in ("date", "time"))
            raise ParameterError(
                f"The range of {name!r} must be numbers, such as 0 to 100, got dates. Hint: dates are for columns that "
                f"were declared as such{f', here {known}' if known else '; this release has none'}."
            )
        found[name] = float(low), float(high)
    return found


def shown(value: float, kind: str | None, digits: int = 6) -> str:
    """A number of a column as people read it; one without a calendar, to so many `digits`. A year has no comma.

    >>> shown(19782.0, "date"), shown(19782.5, "time"), shown(20_000.5, None, 12), shown(1870.0, "whole")
    ('2024-02-29', '2024-02-29 12:00', '20,000.5', '1870')
    """
    if kind not in ("date", "time") or not abs(value) < MOST_DAYS:
        return (
            f"{value:.{digits}g}" if abs(value) < 10_000 else plain_number(value, digits)
        )  # four digits may be a year
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=round(value) if kind == "date" else value)
    return f"{moment:%Y-%m-%d}" if kind == "date" else f"{moment:%Y-%m-%d %H:%M}"


def unread(kinds: Iterable[str | None]) -> str:
    """What bad cells of columns of these kinds are, in words.

    >>> unread([None]), unread(["date"])
    ('missing, not a number or not finite', 'missing or not a date')
    """
    found = set(kinds)
    words = ["missing", *(word for kind, word in UNREAD.items() if kind in found)]
    *most, last = [*words, "not a number", "not finite"] if found - set(UNREAD) else words
    return f"{', '.join(most)} or {last}"


def checked(data: object, columns: Sequence[str] | None) -> dict[str, str]:
    """Kinds out of a file: a TypeError if they are none."""
    known = columns or ()
    if not isinstance(data, dict) or not all(name in known and kind in ROLES for name, kind in data.items()):
        raise TypeError("not the kinds of columns")
    return dict(data)


def require_numbers(kinds: Kinds, roles: Mapping[str, str]) -> None:
    """Refuse kinds of columns that are not there, or that the kernel does not read as numbers."""
    for name, kind in kinds.items():
        if name not in roles:
            raise ParameterError(f"{name!r}, declared as {kind}, is none of the columns {', '.join(roles)}.")
        if roles[name] != "number":
            raise ParameterError(
                f"{name!r} is declared as {kind} and the kernel reads it as {roles[name]}. Hint: declare it once."
            )
