"""Checks of arguments: each returns the plain value, or raises a ParameterError that helps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from inspect import signature
from numbers import Real
from typing import Any, ParamSpec, TypeVar

import numpy as np

from scumble.errors import ParameterError, did_you_mean, parameter, plain_number

P = ParamSpec("P")
T = TypeVar("T")

Json = dict[str, Any]
"""A JSON object, as files hold them."""
Sides = tuple[np.ndarray, np.ndarray]
"""The low and the high end of each column."""
Ranges = Mapping[str, tuple[float, float]]
"""Bounds by the names of their columns: {"age": (0, 100)}."""
LARGEST = 1e300
"""The limit of given bounds: values beyond it are not counted."""
LOW_AND_HIGH = "the least and the greatest value that the column can hold, known beforehand."


def keywords(function: Callable[P, T]) -> Callable[P, T]:
    """A method that says what it can be given, to a caller who gives it something else, or too little.

    >>> class Table:
    ...     @keywords
    ...     def count(self, where=None, *, by=None): ...
    >>> Table().count(wher="age > 3")
    Traceback (most recent call last):
    TypeError: `count`: got an unexpected keyword argument 'wher'. Did you mean 'where'? Hint: it takes where, by.
    """
    form = signature(function)
    _, *known = form.parameters
    owner, _, name = function.__qualname__.rpartition(".")

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        try:
            form.bind(*args, **options)
        except TypeError as problem:
            what = owner if name == "__init__" else name
            guess = "".join(did_you_mean(given, known) for given in options if given not in known)
            raise TypeError(f"`{what}`: {problem}.{guess} Hint: it takes {', '.join(known)}.") from None
        return function(*args, **options)

    return call


def path(value: object, name: str = "path") -> str:
    """Where a file is, as text.

    >>> path(b"people.csv")
    'people.csv'
    """
    try:
        found = os.fsdecode(value)  # type: ignore[arg-type]
    except TypeError:
        raise parameter(name, "a path", value, "'people.scumble', for example.") from None
    if not found or "\0" in found:
        raise parameter(name, "a path that is not empty and has no null character", found)
    return found


def names(name: str, value: object, example: str = "age") -> tuple[Any, ...]:
    """A list of names; a single name is refused.

    >>> names("columns", ["age", "income"])
    ('age', 'income')
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise parameter(name, f"a list of names, such as ['{example}']", value)
    return tuple(value)


def columns_named(what: str, given: Iterable[str], columns: Sequence[str]) -> None:
    """Refuse a setting for a column that does not exist.

    >>> columns_named("--units", {"age": "years"}, ["age", "income"])
    """
    for name in given:
        if name not in columns:
            raise ParameterError(f"{what} names {name!r}; the release has {', '.join(columns)}.")


def whole(
    name: str, value: object, least: int = 1, most: int | None = None, *, must: str | None = None, hint: str = ""
) -> int:
    """A whole number of at least `least` and, if that is given, at most `most`. Bools are refused.

    >>> whole("rows", 7)
    7
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    reach = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    raise parameter(name, must or reach, value, hint)


def number(name: str, value: object, must: str, good: Callable[[float], bool], hint: str = "") -> float:
    """A number for which `good` holds, as a float. Bools and NaN are refused.

    >>> number("tau", 3, "positive", lambda tau: tau > 0)
    3.0
    """
    with suppress(OverflowError):
        if isinstance(value, Real) and not isinstance(value, bool) and value == value and good(float(value)):
            return float(value)
    raise parameter(name, must, value, hint)


def seed(value: object, name: str = "seed") -> int:
    """A seed of hash functions: public, 64 bits."""
    return whole(name, value, 0, 2**64 - 1, must="a whole number from 0 to 2**64 - 1")


FINEST = 2.0**-53
"""1 − FINEST is the largest float below 1."""


def confidence(value: object) -> float:
    """Of an interval: a share, which 95 is none of. Below `FINEST` it is that, since 1 − share would be rounded to 1.

    >>> confidence(0.95)
    0.95
    """
    percent = isinstance(value, Real) and not isinstance(value, bool) and 1 < value <= 100  # type: ignore[operator]
    hint = "0.95 is 95 %." if percent else "0.95 is usual."
    return max(FINEST, number("confidence", value, "between 0 and 1", lambda share: 0 < share < 1, hint))


def sides(bounds: Any, dimensions: int) -> Sides:
    """Bounds as two arrays, low and high, a number for each column.

    An array of shape (columns, 2) is a pair for each column, unless there are two columns.

    >>> sides((0, [1.0, 10.0]), 2)
    (array([0., 0.]), array([ 1., 10.]))
    >>> sides([(0, 1), (0, 10), (-5, 5)], 3)
    (array([ 0.,  0., -5.]), array([ 1., 10.,  5.]))
    """
    try:
        by_pairs = len(bounds) == dimensions != 2 and all(np.shape(one) == (2,) for one in bounds)
        low, high = zip(*bounds, strict=True) if by_pairs else bounds
        both = [np.array(np.broadcast_to(np.asarray(side, float), (dimensions,))) for side in (low, high)]
    except (TypeError, ValueError):
        each = "a number" if dimensions == 1 else f"a number or {dimensions} numbers"
        must = f"a pair (low, high), each {each}, or a pair by column, {{'age': (0, 100)}}"
        raise parameter("bounds", must, bounds) from None
    with np.errstate(over="ignore", invalid="ignore"):
        good = np.isfinite(both[1] - both[0]) & (both[0] < both[1])
    if not good.all():
        raise ParameterError(  # without their names these may be records in the wrong place: whose, not what
            "`bounds` must be finite, with low below high in every column: "
            f"column {int(np.argmin(good))} of {dimensions} (counted from 0) has others. Hint: {LOW_AND_HIGH}"
        )
    return both[0], both[1]


def reversed_bounds(name: str, low: object, high: object) -> ParameterError:
    """The error of the bounds that somebody gave a column by its name: they are public."""
    told = " to ".join(plain_number(end, 12) if isinstance(end, float) else str(end) for end in (low, high))
    must = f"`bounds` of {name!r} must be finite, with low below high, and not too far apart for a float, got {told}."
    return ParameterError(f"{must} Hint: {LOW_AND_HIGH}")


def by_column(bounds: Any, columns: Sequence[str] | None, numbers: Sequence[str] | None = None) -> Any:
    """Bounds as a pair (low, high), if they are given by the names of columns; others as they are.

    Every column of `numbers` (None: every column) must have them. What is no number needs none, and gets 0 to 1.

    >>> by_column({"income": (0, 200_000), "age": (0, 100)}, ["age", "income"])
    ([0.0, 0.0], [100.0, 200000.0])
    """
    if not isinstance(bounds, Mapping):
        return bounds
    if columns is None:
        raise parameter("bounds", "a pair (low, high) where columns have no names", sorted(map(str, bounds)))
    for name in bounds:
        if name not in columns:
            raise ParameterError(
                f"`bounds` names {name!r}, which is none of the columns {', '.join(columns)}."
                f"{did_you_mean(name, columns)}"
            )
    for name in columns if numbers is None else numbers:
        if name not in bounds:
            raise ParameterError(
                f"`bounds` lacks {name!r}. Hint: bound every column of numbers, {name}=LOW:HIGH "
                f"({{{name!r}: (low, high)}}); name columns of text in --categories, or give them a Hamming kernel."
            )
    try:
        pairs = [tuple(map(float, bounds.get(name, (0.0, 1.0)))) for name in columns]
        low, high = ([pair[side] for pair in pairs if len(pair) == 2] for side in (0, 1))
    except (TypeError, ValueError):
        low = high = []
    if len(low) < len(columns):
        given = [(name, ends) for name, ends in bounds.items() if isinstance(ends, (list, tuple))]
        worded = [name for name, ends in given if any(isinstance(end, str) for end in ends)]
        hint = f"if {worded[0]!r} holds dates or times, say so: --dates or --times {worded[0]}." if worded else ""
        raise parameter("bounds", "a pair (low, high) for each column, such as {'age': (0, 100)}", dict(bounds), hint)
    for name, first, last in zip(columns, low, high, strict=True):
        if not (first < last and np.isfinite(last - first)):
            raise reversed_bounds(name, *bounds[name])
        if max(-first, last) > LARGEST:
            raise ParameterError(f"`bounds` of {name!r} must lie between -1e300 and 1e300: beyond, nothing is counted.")
    return low, high
