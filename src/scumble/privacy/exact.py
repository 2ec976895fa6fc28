"""Exact numbers: from what a caller writes to a fraction, and from a fraction to a float on the safe side."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import SupportsFloat, TypeAlias

from scumble.checks import whole
from scumble.errors import parameter

Number: TypeAlias = Fraction | int | float | str | Decimal

ROUNDING = Fraction(1, 2**40)
"""How far, relatively, a noise scale may be enlarged to get a short fraction."""

LONGEST = 301
"""Numbers with fewer digits before and after the point are floats too, and can be shown."""


def as_fraction(name: str, value: object, hint: str = "") -> Fraction:
    """Read `value` as the exact number that it is; ``0.1`` the float is not ``"0.1"`` the text.

    >>> as_fraction("epsilon", "0.1"), as_fraction("epsilon", 0.25)
    (Fraction(1, 10), Fraction(1, 4))
    """
    try:
        if isinstance(value, bool) or value is None:
            raise TypeError
        plain = isinstance(value, float) or (isinstance(value, str) and "/" not in value)
        written = Decimal(value) if plain else value  # type: ignore[arg-type]
        if isinstance(written, Decimal) and abs(written.adjusted()) >= LONGEST:  # its digits could fill the memory
            raise OverflowError
        if isinstance(written, Fraction | int | float | Decimal | str):
            found = Fraction(written)
        elif hasattr(value, "__index__"):
            found = Fraction(operator.index(value))
        elif isinstance(value, SupportsFloat) and getattr(value, "shape", ()) == ():
            found = Fraction(float(value))  # NumPy's smaller floats: exact
        else:
            raise TypeError
        if abs(found) >= 10**LONGEST:
            raise OverflowError
        return found
    except (TypeError, ValueError, ArithmeticError):
        raise parameter(name, f"a finite number of at most {LONGEST - 1} digits", value, hint) from None


def as_count(name: str, value: object, hint: str = "") -> int:
    """Read `value` as a whole number of at least one."""
    return whole(name, operator.index(value) if hasattr(value, "__index__") and value is not True else value, hint=hint)


def float_up(value: Fraction) -> float:
    """The least float that is not below `value`."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_down(value: Fraction) -> float:
    """The greatest float that is not above `value`."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def simplest_above(value: Fraction) -> Fraction:
    """The fraction with the least denominator in [value, value (1 + 2⁻⁴⁰)].

    Rounded up, so that a scale is never below what the budget needs; the simplest, so that it is short.

    >>> simplest_above(Fraction(1000) / Fraction(0.1)), simplest_above(Fraction(2.5))
    (Fraction(10000, 1), Fraction(5, 2))
    """
    return _simplest_between(value, value * (1 + ROUNDING))


def dyadic_below(value: Fraction) -> Fraction:
    """The greatest binary fraction of 42 digits that is not above `value`: less than 2⁻⁴⁰ of it is lost.

    Sums of these are exact and short.

    >>> dyadic_below(Fraction(1, 4)), float(1 - 3 * dyadic_below(Fraction(1, 3))) < 2**-40
    (Fraction(1, 4), True)
    """
    step = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length() - 42)
    return value // step * step


def root_above(value: Fraction) -> Fraction:
    """√value, or above it by less than 10⁻²⁰ of it.

    >>> root_above(Fraction(25, 4)), root_above(Fraction(2)) ** 2 > 2
    (Fraction(5, 2), True)
    """
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom)
    digits = max(0, value.denominator.bit_length() - value.numerator.bit_length()) // 2 + 70
    square = (value.numerator << 2 * digits) // value.denominator
    return Fraction(math.isqrt(square) + 1, 1 << digits)


def sum_above(terms: Iterable[Fraction]) -> Fraction:
    """A sum that is never too small: one term, and binary fractions, exactly; others rounded up by 2⁻²⁵⁶ each.

    The exact sum of a hostile file's fractions could have millions of digits.

    >>> sum_above([Fraction(1, 3)]), sum_above([Fraction(1, 4), Fraction(1, 2)])
    (Fraction(1, 3), Fraction(3, 4))
    """
    found = list(terms)
    if len(found) == 1:
        return found[0]
    return Fraction(sum(-((-term.numerator << 256) // term.denominator) for term in found), 1 << 256)


def show(value: Fraction | float, *, up: bool = True, digits: int = 6) -> str:
    """Six digits, rounded up (or down): a promise is never shown smaller than it is. A float counts as its decimal.

    >>> show(Fraction(1, 3)), show(Fraction(1, 3), up=False), show(0.9999999999998637), show(0.1)
    ('0.333334', '0.333333', '1', '0.1')
    >>> show(148.41, digits=3), show(0.0012601, digits=4)
    ('149', '0.001261')
    """
    value = Fraction(str(value))
    if value == 0:
        return "0"
    near = Fraction(f"{float(value):.{digits}g}")
    if near == value or (near > value) == up:
        return f"{float(value):.{digits}g}"
    step = Fraction(10) ** (math.floor(math.log10(abs(float(value)))) - digits + 1)
    return f"{float(near + step if up else near - step):.{digits}g}"


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the least denominator in [low, high], by their continued fractions."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    below = whole - 1
    return below + 1 / _simplest_between(1 / (high - below), 1 / (low - below))
