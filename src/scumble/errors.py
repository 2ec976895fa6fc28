"""Every error scumble raises on purpose, and numbers and texts as messages show them.

Each message says what is wrong and what to do. Each class also derives from the built-in error that a caller would
expect, so ``except ValueError`` keeps working.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any

_HERE = os.path.dirname(__file__) + os.sep
_CONTEXT: Any = BaseException.__dict__["__context__"]


class ScumbleError(Exception):
    """The root: ``except scumble.ScumbleError`` catches whatever scumble raises on purpose.

    One that is raised ``from None`` has no context: another library's words may quote cells, and a logger that follows
    the chain must not find them. Its text is `readable`: names in it may come from anybody's file.
    """

    def __str__(self) -> str:
        return readable(super().__str__())

    @property
    def __context__(self) -> BaseException | None:
        return None if self.__suppress_context__ else _CONTEXT.__get__(self)

    @__context__.setter
    def __context__(self, other: BaseException | None) -> None:
        _CONTEXT.__set__(self, other)


class ParameterError(ScumbleError, ValueError):
    """An argument is out of its range or contradicts another."""


class ColumnError(ParameterError, KeyError):
    """There is no such column."""

    def __str__(self) -> str:
        return readable(Exception.__str__(self))  # a KeyError's would put the message in quotes


class DataError(ScumbleError, ValueError):
    """The table does not fit: wrong columns, wrong types, missing or infinite cells."""


class PrivacyError(ScumbleError, ValueError):
    """Refused, because going on would break a privacy promise."""


class BudgetError(PrivacyError):
    """The privacy budget is spent: a sketch can be released only once."""


class MergeError(ScumbleError, ValueError):
    """Two sketches or releases differ in a parameter that must be equal."""


class FileError(ScumbleError, OSError):
    """A file cannot be read as what it should be."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file, or no folder to write it to."""


class CorruptFileError(FileError):
    """The bytes are damaged: truncated, altered, or their checksum does not match."""


class ForeignFileError(FileError):
    """The file was not written by scumble, or holds another kind of content."""


class SecretFileError(FileError, PrivacyError):
    """The file holds exact counters where a public release was expected."""


class NewerFileError(FileError):
    """The file has a format version that this scumble does not know."""


class CuratorWarning(UserWarning):
    """For the holder of the table alone: what a build left out, or counted where it does not stand.

    Its numbers are exact, and as private as the table.
    """


UNPUBLISHED = "(do not publish this)"
"""What follows exact facts for the curator."""
MOST_SHOWN = 200
"""Letters of a text that was given in a wrong place."""
LONG = 20
"""Characters of a fraction that nobody reads any more."""


def readable(text: str) -> str:
    r"""Text for one line of a terminal: what does not print, or turns the direction of what does, as JSON writes it.

    >>> readable("Zürich\x1b[2K\u202e"), readable("two\nlines")
    ('Zürich\\u001b[2K\\u202e', 'two\\u000alines')
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _as_json(one) for one in text)


def _as_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def warn(told: str | Warning) -> None:
    """Warn the caller of scumble, at their own line, however deep in it the reason is found."""
    told = readable(told) if isinstance(told, str) else told
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(told, stacklevel=level)


def parameter(name: str, must: str, got: object, hint: str = "") -> ParameterError:
    """The one message form: what, what it must be, what it was, what to do."""
    message = f"`{name}` must be {must}, got {_shown(got)}."
    return ParameterError(f"{message} Hint: {hint}" if hint else message)


def plain_number(number: float, digits: int = 6) -> str:
    """A number as people write it: so many digits of it, thousands set apart, powers of ten for what has no name.

    >>> [plain_number(number) for number in (1e6, 0.25, -7703170.2, 1.5e-7, 2e15)], plain_number(1318.7, digits=3)
    (['1,000,000', '0.25', '-7,703,170', '1.5e-07', '2e+15'], '1,320')
    """
    told = f"{number:,.{digits}g}"
    return f"{float(f'{number:.{digits}g}'):,.0f}" if "e+" in told and abs(number) < 1e15 else told


def many(number: float, what: str, form: str = ",", *, digits: int | None = None) -> str:
    """So many of something, and one of it; or so many `digits` of the number.

    >>> many(1, "record"), many(1_200, "record"), many(0.99, "record", ".1g"), many(1318.7, "record", digits=3)
    ('1 record', '1,200 records', '1 record', '1,320 records')
    """
    shown = format(number, form) if digits is None else plain_number(number, digits)
    return f"{shown} {what}{'s' * (shown != '1')}"


_MOST = 15
"""Digits after the point; a float64 has no more."""


def places(width: float, digits: int) -> int:
    """How many digits after the point show `digits` of a width.

    >>> [places(width, 2) for width in (250.0, 2.5, 0.025, 0.0)]
    [0, 1, 3, 15]
    """
    if not 0.0 < width < math.inf:
        return _MOST if width == 0.0 else 0
    return min(max(0, digits - 1 - math.floor(math.log10(width))), _MOST)


def with_interval(value: float, low: float, high: float) -> list[str]:
    """A number and its interval as text, to the digits that tell the three apart; a large one to two of its standard
    error.

    >>> with_interval(1234.5, 1200.0, 1269.0), with_interval(0.14, -0.03, 0.31)
    (['1,234', '1,200', '1,269'], ['0.14', '-0.03', '0.31'])
    >>> with_interval(12.0, -0.001, 25.0), with_interval(1.5e-10, 1.4e-10, 1.6e-10)
    (['12', '0', '25'], ['1.5e-10', '1.4e-10', '1.6e-10'])
    >>> with_interval(478430.2, 448084.0, 508775.9)
    ['478,000', '448,000', '509,000']
    """
    width = high - low
    after = places(width or abs(value), 2)
    if after > 9:
        return [f"{number:.4g}" for number in (value, low, high)]
    if 400 <= width < math.inf:  # an interval is about four standard errors wide
        after = 1 - math.floor(math.log10(width / 4))
    return [f"{round(number, after) + 0.0:,.{max(after, 0)}f}" for number in (value, low, high)]  # + 0.0: no -0


def number_with_error(count: float, error: float) -> str:
    """A noisy number of records, and how far it may be off; nobody counts below none.

    >>> number_with_error(113.2, 35.4), number_with_error(500.0, 0.0), number_with_error(-3.1, 35.4)
    ('113 ± 69', '500', '0 ± 69')
    """
    number = f"{max(count, 0.0):,.0f}"
    return f"{number} ± {1.96 * error:,.0f}" if error else number


def nearest(word: object, known: Iterable[str]) -> str | None:
    """What somebody probably meant: in other capitals, begun, misspelt, or one part of a longer name; None if nothing.

    >>> [nearest(word, ("epsilon", "by", "help", "acc_state")) for word in ("EPS", "epsilno", "group-by", "state", "x")]
    ['epsilon', 'epsilon', 'by', 'acc_state', None]
    >>> nearest("person", ("person_column", "person_memory"))  # both begin so: the first that is known
    'person_column'
    """
    text = str(word)[:100].strip().lower()
    names = {one.strip().lower(): one for one in reversed([*known])}
    begun = [one for one in names if len(text) > 2 and one.startswith(text)]
    if text in names or begun:
        return names[text if text in names else min(reversed(begun), key=len)]  # of equals, the first
    if close := difflib.get_close_matches(text, names, n=1):
        return names[close[0]]
    parts = [one for one in names if text in re.split(r"[\W_]", one) or one in re.split(r"[\W_]", text)]
    return names[parts[-1]] if text and parts else None


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The question that follows a name that is not there, or nothing."""
    found = nearest(word, known)
    return "" if found is None else f" Did you mean {found!r}?"


def suggest_attribute(asked: object, name: str, others: Mapping[str, str]) -> object:
    """What ``__getattr__`` does on a class where people look for methods of others: a refusal that says what to call.

    It is an AttributeError, as any other name's: ``hasattr`` stays False.
    """
    if name in others:
        # Without the object: Python would add a guess of its own to what is said here.
        raise AttributeError(f"A {type(asked).__name__} has no `{name}`. Hint: {others[name]}.", name=name, obj=None)
    return object.__getattribute__(asked, name)


def _shown(got: object) -> str:
    """A number, a text, a path or a type as it is. All else may be records in the wrong place: its type, its length."""
    if isinstance(got, Fraction):  # as exact budgets are
        return about(got) if len(str(got)) > LONG else str(got)
    if isinstance(got, (str, bytes)) and len(got) > MOST_SHOWN:
        return f"{got[:MOST_SHOWN]!r}… of {len(got):,}"
    if got is None or isinstance(got, (str, bytes, Number, os.PathLike, type)):
        return repr(got)
    long = isinstance(got, (list, tuple, set, frozenset, dict))
    return f"a {type(got).__name__}" + (f" of {len(got)}" if long else "")  # type: ignore[arg-type]


def about(value: Fraction) -> str:
    """A fraction to be read: as it is, or three digits of it if it is long.

    >>> about(Fraction(1, 3)), about(Fraction(10) ** 400 / 7)
    ('1/3', '1.43e+399')
    """
    text = str(value)
    return text if len(text) <= LONG else f"{Decimal(value.numerator) / Decimal(value.denominator):.3g}"
