"""What each column of a source is read as, and kinds that a kernel reads as numbers.

Files say too little (CSV) or too much (types); the kernel or the schema knows. "number" is read as numbers, "category"
is only compared, "tokens" are sets, and so is "list", whose text a schema splits. "word" is text that a schema, a
calendar or a list of classes reads, and "any" is passed on. The caller may declare a kind for a column of numbers,
which is public and named by the release:

=========  ===========================================================================================================
"whole"    itself, rounded down (41.9 is 41, −0.5 is −1); back, the nearest integer
"date"     whole days since 1970-01-01 (2024-02-29 is 19782); back, a date
"time"     the same with the time of day as a fraction, in UTC where it has a zone; back, a time, to the second
"boolean"  1 for true, yes, y, t, on and 1, 0 for their opposites; back, true or false
=========  ===========================================================================================================
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from scumble import checks
from scumble.checks import by_column
from scumble.columns import cells, clock
from scumble.columns.category import Boolean
from scumble.columns.cells import DRESS, DRESSED_NUMBER, NO_VALUE
from scumble.columns.table import Table
from scumble.errors import ParameterError, parameter, plain_number
from scumble.files.lazy_modules import pa, pc, pt

if TYPE_CHECKING:
    from scumble.kernels import Kernel

Kinds = Mapping[str, str]
"""The kinds of some columns, by name."""
Roles = Mapping[str, str]
ROLES = {"whole": "number", "date": "word", "time": "word", "boolean": "word"}
"""What a source reads each kind as."""
ON_WHOLE_NUMBERS = frozenset(("whole", "date", "boolean"))
"""Kinds whose numbers are whole."""
DAY = clock.SECONDS["day"]
MOST_DAYS = 700_000
"""The calendar's range on either side of 1970."""

HOW = {
    "date": ("not a date", "dates are read as ISO 8601, 2009-01-31"),
    "time": ("not a time", "times are read as ISO 8601, 2009-01-31T14:30"),
    "boolean": (
        "neither true nor false",
        "true and false, yes and no, 1 and 0 are read; name columns of other words in --categories",
    ),
    "category": ("no word", "text, numbers, booleans, dates and times are read"),
    "tokens": ("no set of words", "text is split into words at blanks, and lists are taken as they are"),
}
"""What is wrong with a bad cell, by kind or role, and how cells must be written."""
NUMBERS_READ = {".": "1234.5, $1,234.50 and 12 %, and 1.234,50 with --decimal ,", ",": "1234,5, €1.234,50 and 12,5 %"}
"""Examples of numbers by the decimal point of a CSV file."""


def read_as(kind: str | None, decimal: str = ".") -> str:
    """How cells of a declared column must be written."""
    return HOW[kind][1] if kind in HOW else f"numbers are read as {NUMBERS_READ[decimal]}"


def undeclared(name: str, decimal: str = ".") -> str:
    """What to do about a column of numbers with cells that hold none."""
    return (
        f"declare {name!r} in --categories, --dates, --times or --booleans, leave it out of --columns, or "
        f"correct it ({read_as(None, decimal)})"
    )


def read(column: cells.Column, kind: str, label: str) -> np.ndarray:
    """The cells as float64, NaN for a bad one."""
    if kind == "whole":
        found: np.ndarray = np.floor(cells.numbers(column, label))
        return found
    if kind == "boolean":
        return Boolean().numbers(column, label)
    ticks = clock.ticks_of(column, label, DAY if kind == "date" else 1)
    return np.where(ticks == clock.NO_TIME, np.nan, ticks / (1 if kind == "date" else DAY))


def ends_by(kind: str, ends: Sequence[object]) -> tuple[Any, ...]:
    """Bounds as numbers. An upper bound that is a day, a month or a year includes all of it.

    An integer of four digits is a year; days since 1970 are floats.
    """
    found = []
    for place, literal in enumerate(ends):
        span = clock.seconds_of(_dated(literal, kind)) if kind in ("date", "time") else None
        if span is None:
            found.append(literal)
            continue
        second = span[1] - 1 if place == 1 and span[1] - span[0] >= DAY else span[0]
        found.append(float(second // DAY) if kind == "date" else second / DAY)
    return tuple(found)


def _dated(literal: object, kind: str | None) -> Any:
    """A year as text; all else as it is."""
    year = kind in ("date", "time") and isinstance(literal, int | np.integer) and 1000 <= literal <= 9999
    return str(literal) if year else literal


def fixed_by(kinds: Kinds, at: Mapping[str, Any]) -> dict[str, Any]:
    """Values by column, with integers of four digits as years in columns of dates or times."""
    return {name: _dated(value, kinds.get(name)) for name, value in at.items()}


def points(X: object, kinds: Kinds, columns: Sequence[str]) -> dict[str, cells.Column]:
    """The points of a question, with dates, times and booleans as numbers."""
    return records(X, {name: kind for name, kind in kinds.items() if kind != "whole"}, columns, _either)


def records(
    X: object,
    kinds: Kinds,
    columns: Sequence[str],
    read: Callable[[cells.Column, str, str], np.ndarray] = read,
) -> dict[str, cells.Column]:
    """The columns of a table by name, the declared ones as numbers."""
    table = Table.of(X, columns=columns, dimensions=len(columns))
    found = {name: table.column(j) for j, name in enumerate(columns)}
    for j, name in enumerate(columns):
        if name in kinds:
            found[name] = read(found[name], kinds[name], table.label(j))
    return found


def _either(column: cells.Column, kind: str, label: str) -> np.ndarray:
    """The numbers of a column that may hold numbers or, say, dates."""
    if cells.is_numeric(column):
        return cells.numbers(column, label)
    found = read(column, kind, label)
    if cells.is_arrow(column) or column.dtype != object:
        return found
    plain = cells.numbers(column, label)
    return np.where(np.isnan(plain), found, plain)


def roles_by(kinds: Kinds, roles: Mapping[str, str]) -> dict[str, str]:
    """What a source reads each column as, where dates stay text until `records` reads them."""
    return {name: ROLES[kinds[name]] if name in kinds else role for name, role in roles.items()}


def nearest(numbers: np.ndarray, kind: str) -> np.ndarray:
    """The nearest numbers that are values of the kind."""
    if kind not in ON_WHOLE_NUMBERS:
        return numbers
    found: np.ndarray = np.rint(numbers)
    return np.clip(found, 0.0, 1.0) if kind == "boolean" else found


def values(numbers: np.ndarray, kind: str | None) -> pa.Array:
    """The values that numbers stand for."""
    if kind is None:
        return pa.array(numbers)
    found = nearest(numbers, kind)
    if kind == "time":
        return pa.array(np.rint(found * DAY).astype(np.int64)).cast(pa.timestamp("s"))
    if kind == "date":
        return pa.array(found.astype(np.int32)).cast(pa.date32())
    return pa.array(found.astype(np.bool_ if kind == "boolean" else np.int64))


def bounds_by(kinds: Kinds, bounds: Any) -> Any:
    """Bounds by column, with dates as numbers and 0 and 1 for booleans. A plain pair stays as it is."""
    if not isinstance(bounds, Mapping) or not kinds:
        return bounds
    found = {name: (0.0, 1.0) for name, kind in kinds.items() if kind == "boolean"} | dict(bounds)
    for name, kind in kinds.items():
        ends = found.get(name)
        if isinstance(ends, list | tuple):
            found[name] = sides = ends_by(kind, ends)
            if len(sides) == 2 and all(isinstance(side, Real) for side in sides) and not sides[0] < sides[1]:
                raise checks.reversed_bounds(name, *ends)
    return found


def ranges_by(kinds: Kinds, ranges: Mapping[str, Sequence[object]]) -> dict[str, tuple[float, float]]:
    """Ranges by column, with dates as numbers."""
    found = {}
    for name, ends in ranges.items():
        low, high = ends_by(kinds.get(name, ""), ends)
        if isinstance(low, str) or isinstance(high, str):
            raise ParameterError(f"The range of {name!r} must be numbers. Hint: dates need columns declared as dates.")
        found[name] = float(low), float(high)
    return found


def shown(value: float, kind: str | None, digits: int = 6) -> str:
    """A number of a column in words: a date, a time, or a number of `digits` digits. Years, and other numbers of four
    digits, have no comma.

    >>> shown(19782.0, "date"), shown(19782.5, "time"), shown(20_000.5, None, 12), shown(1870.0, "whole")
    ('2024-02-29', '2024-02-29 12:00', '20,000.5', '1870')
    """
    if kind not in ("date", "time") or not abs(value) < MOST_DAYS:
        return f"{value:.{digits}g}" if abs(value) < 10_000 else plain_number(value, digits)
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=round(value) if kind == "date" else value)
    return f"{moment:%Y-%m-%d}" if kind == "date" else f"{moment:%Y-%m-%d %H:%M}"


def unread(kinds: Iterable[str | None]) -> str:
    """What is wrong with bad cells of columns of these kinds.

    >>> unread([None]), unread(["date"])
    ('missing, not a number or not finite', 'missing or not a date')
    """
    found = set(kinds)
    words = ["missing", *(wrong for kind, (wrong, _) in HOW.items() if kind in found)]
    *most, last = [*words, "not a number", "not finite"] if found - set(HOW) else words
    return f"{', '.join(most)} or {last}"


def checked(data: object, columns: Sequence[str] | None) -> dict[str, str]:
    """The kinds in a file; a TypeError if they are none."""
    known = columns or ()
    if not isinstance(data, dict) or not all(name in known and kind in ROLES for name, kind in data.items()):
        raise TypeError("not the kinds of columns")
    return dict(data)


def require_numbers(kinds: Kinds, roles: Mapping[str, str]) -> None:
    """Refuse kinds of columns that are missing, or that the kernel does not read as numbers."""
    for name, kind in kinds.items():
        if name not in roles:
            raise ParameterError(f"{name!r}, declared as {kind}, is not among the columns {', '.join([*roles][:10])}.")
        if roles[name] != "number":
            raise ParameterError(f"{name!r} is declared {kind}, and read as {roles[name]}. Hint: declare it once.")


KINDS = {"whole": "whole", "dates": "date", "times": "time", "booleans": "boolean"}
"""The kind that each option declares."""
_EXAMPLES = {"whole": "age", "dates": "born", "times": "seen", "booleans": "smoker"}


def declared(
    whole: Sequence[str] | None = None,
    dates: Sequence[str] | None = None,
    times: Sequence[str] | None = None,
    booleans: Sequence[str] | None = None,
) -> dict[str, str]:
    """The kind of each column that a caller declares.

    >>> declared(whole=["age"], dates=["seen"])
    {'age': 'whole', 'seen': 'date'}
    """
    kinds: dict[str, str] = {}
    for (option, kind), given in zip(KINDS.items(), (whole, dates, times, booleans), strict=True):
        named = checks.names(option, given or (), _EXAMPLES[option])
        if not all(isinstance(name, str) for name in named):
            raise parameter(option, f"a list of names, such as ['{_EXAMPLES[option]}']", given)
        for name in named:
            if (other := kinds.setdefault(name, kind)) != kind:
                raise ParameterError(f"{name!r} is declared as {other} and as {kind}. Hint: declare it once.")
    return kinds


def require_read(kinds: Kinds, kernel: Kernel, columns: Sequence[str] | None) -> None:
    """Refuse kinds of columns that the kernel does not read as numbers."""
    if kinds and columns is None:
        raise ParameterError("Declared columns need names. Hint: pass `columns`.")
    require_numbers(kinds, roles_of(kernel, columns or ()) if kinds else {})


NO_WORDS = {"category": NO_VALUE, "tokens": tuple(word for word in NO_VALUE if word)}
"""Words for a missing cell, by role. Empty text is an empty set of tokens."""
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def roles_of(kernel: Kernel, columns: Sequence[str]) -> dict[str, str]:
    """What the kernel reads each column as."""
    roles: dict[str, str] = {}
    for factor in kernel.factors:
        which = factor.which(len(columns), columns)
        # Several columns of sets hold zeros and ones.
        role = "number" if factor.reads == "tokens" and len(which) > 1 else factor.reads
        for name in (columns[j] for j in which):
            if roles.setdefault(name, role) != role:
                raise ParameterError(f"The kernel reads {name!r} as {roles[name]} and {role}. Hint: name it once.")
    return {name: roles.get(name, "any") for name in columns}


def in_order(bounds: Any, kernel: Kernel, columns: Sequence[str] | None) -> Any:
    """Bounds by name as a pair (low, high) in the order of columns, for all that the kernel reads as numbers."""
    named = columns is not None and isinstance(bounds, Mapping)
    wanted = [name for name, role in roles_of(kernel, columns or ()).items() if role == "number"] if named else None
    return by_column(bounds, columns, wanted)


def numbers_from_text(column: pa.Array) -> pa.Array:
    """Text cells as float64; what is no number becomes null."""
    text = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    dressed = pc.match_substring_regex(text, DRESSED_NUMBER)
    text = pc.if_else(dressed, pc.replace_substring_regex(text, DRESS, ""), text)
    text = pc.replace_substring_regex(text, r"^\+([^+-])", r"\1")  # Arrow reads no plus sign
    text = pc.if_else(pc.equal(text, "true"), "1", pc.if_else(pc.equal(text, "false"), "0", text))
    readable = pc.match_substring_regex(text, _NUMBER)
    return pc.cast(pc.if_else(readable, text, pa.scalar(None, text.type)), pa.float64())


def converted(batch: pa.RecordBatch, roles: Roles) -> pa.RecordBatch:
    """The batch with text as numbers where needed: NaN if it is none, null if it is missing."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        text = pt.is_string(column.type) or pt.is_large_string(column.type)
        columns.append(_numbers(column) if text and roles.get(name) == "number" else column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def without_words(batch: pa.RecordBatch, roles: Roles) -> pa.RecordBatch:
    """The batch of a file with words for a missing cell as nulls, in categories and sets."""
    if NO_WORDS.keys().isdisjoint(roles.values()):
        return batch
    columns = [
        _without(column, NO_WORDS[roles[name]]) if roles.get(name) in NO_WORDS else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def says_nothing(cell: object, role: str) -> bool:
    """Whether text stands for a missing cell in a column of this role."""
    return isinstance(cell, str) and cell in NO_WORDS.get(role, ())


def _numbers(column: pa.Array) -> pa.Array:
    found = numbers_from_text(column)
    if found.null_count == column.null_count:
        return found
    words = pa.array(NO_VALUE, column.type)
    empty = pc.is_in(pc.utf8_trim_whitespace(column), value_set=words, skip_nulls=False)
    gone = pc.or_(empty, pc.is_null(column))
    return pc.if_else(pc.and_(pc.is_null(found), pc.invert(gone)), pa.scalar(math.nan, pa.float64()), found)


def _without(column: pa.Array, words: Sequence[str]) -> pa.Array:
    """Text with cells that are one of the words as nulls."""
    column = cells.without_views(*cells.chunks(column))
    kind = cells.plain_type(column)
    if not (cells.is_text(kind) or pt.is_binary(kind) or pt.is_large_binary(kind)):
        return column
    gone = pc.is_in(column, value_set=pa.array(words, pa.string()).cast(kind))
    return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column
